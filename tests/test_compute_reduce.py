"""Reductions, in the reference and in shaders, against NumPy in double precision and Python's integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu, reference
from gpu_device import device, run_in_guard_zones
from operator_runs import description, like
from whole_registry import whole_registry

__all__ = ["device"]

OPERATORS = [
    operator for operator in whole_registry().operators if operator.name in ("REDUCE", "ARGMAX", "ARGMIN")
]
TYPES = [type_.name for type_ in dmlops.TensorDataType if type_.name != "UNKNOWN"]
FUNCTIONS = [function.name for function in dmlops.ReduceFunction]
INDICES = ("INT64", "INT32", "UINT64", "UINT32")
TOLERANCE = {"float16": 1e-3, "float32": 2e-6}


def described(
    function: str,
    data_type: str,
    sizes: Sequence[int],
    axes: Sequence[int],
    output_type: str | None = None,
    strides: dict[str, Sequence[int]] | None = None,
    operator: str = "REDUCE",
) -> dmlops.Description:
    """A description of REDUCE, or of an operator whose AxisDirection `function` is."""
    if output_type is None:
        output_type = "UINT32" if function in ("ARGMAX", "ARGMIN") else data_type
    kept = [1 if d in axes else size for d, size in enumerate(sizes)]
    arrays = {"InputTensor": like(data_type, sizes), "OutputTensor": like(output_type, kept)}
    members = {"AxisCount": len(axes), "Axes": list(axes)}
    members["Function" if operator == "REDUCE" else "AxisDirection"] = function
    types = {"InputTensor": data_type, "OutputTensor": output_type}
    return description(operator, members, arrays, strides or {}, types)


def results(desc: dmlops.Description, data: np.ndarray, device: Any) -> list[np.ndarray]:
    """The outputs of the reference and the shader."""
    assert desc.validate("6.4") == []
    inputs = {"InputTensor": data}
    return [
        reference.run(desc, inputs)["OutputTensor"],
        run_in_guard_zones(device, desc, inputs)["OutputTensor"],
    ]


def expected(function: str, data: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The result, exact but for rounding: in double precision, and of integers modulo 2**64."""
    floats = data.dtype.kind == "f"
    x = data.astype(np.float64 if floats else data.dtype.kind + "8")
    over: dict[str, Any] = {"axis": tuple(sorted(set(axes))), "keepdims": True}
    match function:
        case "AVERAGE":
            return x.mean(**over)
        case "L1":
            return np.abs(x).sum(**over)
        case "L2":
            return np.sqrt((x * x).sum(**over))
        case "LOG_SUM":
            return np.log(x.sum(**over))
        case "LOG_SUM_EXP":
            return np.log(np.exp(x).sum(**over))
        case "MAX":
            return x.max(**over)
        case "MIN":
            return x.min(**over)
        case "MULTIPLY":
            return np.multiply.reduce(x, **over)
        case "SUM":
            return x.sum(**over)
        case "SUM_SQUARE":
            return (x * x).sum(**over)
    return chosen(function, data, axes, last=False)


def chosen(function: str, data: np.ndarray, axes: Sequence[int], last: bool) -> np.ndarray:
    """The index that ARGMAX or ARGMIN gives."""
    axes = sorted(set(axes))
    kept = [d for d in range(data.ndim) if d not in axes]
    rows = data.transpose(*kept, *axes).reshape(*(data.shape[d] for d in kept), -1)
    find = np.argmax if function == "ARGMAX" else np.argmin
    index = rows.shape[-1] - 1 - find(rows[..., ::-1], axis=-1) if last else find(rows, axis=-1)
    return index.reshape([1 if d in axes else size for d, size in enumerate(data.shape)])


def numbers(data_type: str, sizes: Sequence[int], seed: int = 0) -> np.ndarray:
    """Data of which sums of a few hundred neither overflow nor cancel much."""
    rng = np.random.default_rng(seed)
    type_ = np.dtype(data_type.lower())
    if type_.kind == "f":
        return rng.uniform(0.5, 1.5, sizes).astype(type_)
    limits = np.iinfo(type_)
    return rng.integers(limits.min, limits.max, sizes, type_, endpoint=True)


def check(result: np.ndarray, exact: np.ndarray, scale: float = 1) -> None:
    if result.dtype.kind != "f":
        assert result.tolist() == exact.astype(result.dtype).tolist()
        return
    tolerance = TOLERANCE[result.dtype.name] * scale
    np.testing.assert_allclose(result.astype(np.float64), exact, tolerance, tolerance)


VALID = [
    (function, data_type)
    for function in FUNCTIONS
    for data_type in TYPES
    if described(function, data_type, (1,), [0]).validate("6.4") == []
]


@pytest.mark.parametrize("axes", [[0, 2], [1]])
@pytest.mark.parametrize(("function", "data_type"), VALID)
def test_every_data_type(function: str, data_type: str, axes: list[int], device: Any) -> None:
    sizes = (3, 2, 36)
    data = numbers(data_type, sizes)
    for result in results(described(function, data_type, sizes, axes), data, device):
        check(result, expected(function, data, axes))


def test_all_functions_have_types() -> None:
    assert {function for function, _ in VALID} == set(FUNCTIONS)
    assert len(VALID) == 2 * 10 + 4 * 2 + 4 * 6 + 2 * 10


SHAPES = [
    ((1,), [0]),
    ((7,), [0]),
    ((300, 3), [1]),  # a thread a row
    ((3, 2100), [1]),  # many threads a row, all of it at once
    ((2, 9001), [1]),  # in several blocks
    ((40000,), [0]),  # in parts, two passes
    ((2, 30001), [1]),
    ((70, 45), [0]),  # neighboring rows side by side
    ((70, 48), [0]),
    ((4, 21, 10, 6), [1]),
    ((5000, 4), [0]),
    ((9000, 5), [0]),
    ((3, 4, 5, 6), [1, 3]),
    ((3, 4, 5, 6), [0, 2]),
    ((2, 3, 2, 3, 2, 2, 3, 2), [0, 2, 4, 6]),
    ((2, 1, 3, 1, 2, 1, 2, 40), [1, 7]),
    ((4, 1, 6), [1]),  # rows of one element
    ((3, 5), []),
]


@pytest.mark.parametrize(("sizes", "axes"), SHAPES)
@pytest.mark.parametrize("function", ["SUM", "LOG_SUM_EXP", "ARGMAX"])
def test_shapes(function: str, sizes: tuple[int, ...], axes: list[int], device: Any) -> None:
    data_type = "FLOAT32" if function == "LOG_SUM_EXP" else "INT32"
    data = numbers(data_type, sizes, len(sizes)) if function != "ARGMAX" else small(sizes)
    for result in results(described(function, data_type, sizes, axes), data, device):
        check(result, expected(function, data, axes))


def small(sizes: Sequence[int]) -> np.ndarray:
    """Integers that are often equal."""
    return np.random.default_rng(1).integers(-9, 9, sizes, np.int32)


@pytest.mark.parametrize("function", ["SUM", "MAX", "ARGMIN"])
@pytest.mark.parametrize(
    ("sizes", "axes", "strides"),
    [
        ((4, 6, 8), [1], {"InputTensor": (1, 4, 24)}),  # permuted
        ((4, 6, 8), [0, 2], {"InputTensor": (1, 4, 24), "OutputTensor": (9, 3, 2)}),
        ((4, 6, 8), [2], {"InputTensor": (100, 12, 1), "OutputTensor": (1, 4, 1)}),
        ((4, 6, 8), [1], {"InputTensor": (0, 8, 1)}),  # one row for all
        ((4, 6, 8), [0, 1], {"InputTensor": (0, 0, 1), "OutputTensor": (0, 0, 3)}),
    ],
)
def test_strides(
    function: str, sizes: tuple[int, ...], axes: list[int], strides: dict[str, Sequence[int]], device: Any
) -> None:
    """Bytes between the elements of the output stay as they are: also those of a shared word."""
    data_type = {"SUM": "INT32", "MAX": "INT8", "ARGMIN": "UINT16"}[function]
    data = small(sizes).astype(data_type.lower())
    data[:] = data[:1] if strides["InputTensor"][0] == 0 else data
    data[:] = data[:, :1] if strides["InputTensor"][1] == 0 else data
    for result in results(described(function, data_type, sizes, axes, strides=strides), data, device):
        check(result, expected(function, data, axes))


@pytest.mark.parametrize("operator", ["ARGMAX", "ARGMIN"])
@pytest.mark.parametrize("direction", ["INCREASING", "DECREASING"])
def test_which_of_equal_elements(operator: str, direction: str, device: Any) -> None:
    """Also of NaN of any kind, which comes before any number."""
    sizes, axes = (3, 5000), [1]
    data = small(sizes).astype(np.float32)
    data[1, [17, 300, 4000]] = np.array([0x7FC00000, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    data[2] = 0
    data[2, ::2] = -0.0
    for number, output_type in enumerate(INDICES):
        desc = described(direction, "FLOAT32", sizes, axes, output_type, operator=operator)
        for result in results(desc, data, device)[: 2 if number < 2 else 1]:
            assert result.dtype == output_type.lower()
            check(result, chosen(operator, data, axes, last=direction == "DECREASING"))


@pytest.mark.parametrize("operator", ["ARGMAX", "ARGMIN"])
@pytest.mark.parametrize("data_type", ["FLOAT16", "INT64", "UINT64", "INT8"])
def test_extremes_are_chosen(operator: str, data_type: str, device: Any) -> None:
    type_ = np.dtype(data_type.lower())
    limits = np.finfo(type_) if type_.kind == "f" else np.iinfo(type_)
    data = np.array([[0, limits.max, limits.min, 1], [limits.min, 0, limits.max, limits.max]], type_)
    desc = described("INCREASING", data_type, data.shape, [1], "INT64", operator=operator)
    for result in results(desc, data, device):
        check(result, chosen(operator, data, [1], last=False))


def test_nan_and_infinities(device: Any) -> None:
    inf, nan = math.inf, math.nan
    rows = np.array(
        [[1, nan, 3], [1, inf, 2], [1, -inf, 2], [inf, -inf, 0], [-inf, -inf, -inf], [-0.0, -0.0, -0.0]],
        np.float32,
    )
    wanted = {
        "MAX": [nan, inf, 2, inf, -inf, -0.0],
        "MIN": [nan, 1, -inf, -inf, -inf, -0.0],
        "SUM": [nan, inf, -inf, nan, -inf, -0.0],
        "L1": [nan, inf, inf, inf, inf, 0],
        "LOG_SUM_EXP": [nan, inf, 2.3132617, inf, -inf, 1.0986123],
        "LOG_SUM": [nan, inf, nan, nan, nan, -inf],
        "AVERAGE": [nan, inf, -inf, nan, -inf, -0.0],
    }
    for function, values in wanted.items():
        for result in results(described(function, "FLOAT32", rows.shape, [1]), rows, device):
            assert result[:, 0].tolist() == pytest.approx(values, rel=1e-6, nan_ok=True), function


def test_exponentials_overflow_and_vanish(device: Any) -> None:
    """As DirectML's do; also where a row is reduced in parts, of which one has only -infinity."""
    data = np.full((4, 40000), -math.inf, np.float32)
    data[0] = 100
    data[1, 20000:] = -110
    data[2, ::7] = 3
    for result in results(described("LOG_SUM_EXP", "FLOAT32", data.shape, [1]), data, device):
        assert result[[0, 1, 3], 0].tolist() == [math.inf, -math.inf, -math.inf]
        assert result[2, 0] == pytest.approx(3 + math.log(5715), rel=2e-6)


def test_half_precision_is_left_only_at_the_end(device: Any) -> None:
    data = np.full((2, 4096), 100, np.float16)
    for function, value in (("AVERAGE", 100), ("L2", 6400), ("SUM", math.inf), ("LOG_SUM", 12.92)):
        for result in results(described(function, "FLOAT16", data.shape, [1]), data, device):
            assert result.ravel().tolist() == pytest.approx([value] * 2, rel=1e-3)


def test_errors_of_long_sums_stay_small(device: Any) -> None:
    data = np.random.default_rng(3).uniform(0, 1, 1 << 20).astype(np.float32)
    for result in results(described("SUM", "FLOAT32", data.shape, [0]), data, device):
        np.testing.assert_allclose(result, data.sum(dtype=np.float64, keepdims=True), 1e-6)


def test_an_axis_given_twice(device: Any) -> None:
    data = small((3, 4))
    for result in results(described("SUM", "INT32", data.shape, [1, 1]), data, device):
        check(result, expected("SUM", data, [1]))


def test_sets_beyond_32_bits_are_refused() -> None:
    desc = described("SUM", "FLOAT32", (1 << 30, 3), [0, 1], strides={"InputTensor": (0, 0)})
    assert desc.validate("6.4") == []
    with pytest.raises(gpu.Unsupported, match="3221225472 elements"):
        gpu.plan(desc)
