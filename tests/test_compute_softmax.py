"""SOFTMAX, LOG_SOFTMAX and HARDMAX, in the reference and in shaders, against double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from gpu_device import device
from operator_runs import description, like
from test_compute_reduce import results

__all__ = ["device"]

FUNCTIONS = ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX")
TOLERANCE = {"float16": 1e-3, "float32": 1e-6}


def described(
    function: str,
    data_type: str,
    sizes: Sequence[int],
    axes: Sequence[int] | None = None,
    strides: dict[str, Sequence[int]] | None = None,
) -> dmlops.Description:
    """A description of the operator that takes axes, or, without any, of the one of rows."""
    arrays = dict.fromkeys(("InputTensor", "OutputTensor"), like(data_type, sizes))
    members = {} if axes is None else {"AxisCount": len(axes), "Axes": list(axes)}
    return description(f"ACTIVATION_{function}{'1' if members else ''}", members, arrays, strides or {})


def expected(function: str, data: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The function in double precision."""
    x = data.astype(np.float64)
    if function == "HARDMAX":
        axes = sorted(set(axes))
        kept = [d for d in range(x.ndim) if d not in axes]
        turned = x.transpose(*kept, *axes)
        sets = turned.reshape(math.prod(turned.shape[: len(kept)]), -1)
        ones = np.zeros_like(sets)
        ones[np.arange(len(sets)), sets.argmax(axis=1)] = 1
        return ones.reshape(turned.shape).transpose(np.argsort([*kept, *axes]))
    logarithms = x - np.logaddexp.reduce(x, axis=tuple(set(axes)), keepdims=True)
    return np.exp(logarithms) if function == "SOFTMAX" else logarithms


def check(result: np.ndarray, exact: np.ndarray) -> None:
    tolerance = TOLERANCE[result.dtype.name]
    np.testing.assert_allclose(result.astype(np.float64), exact, 4 * tolerance, tolerance)


SHAPES = [
    ((1,), [0]),
    ((7,), [0]),
    ((40, 3), [1]),  # a thread a set
    ((3, 2100), [1]),  # many threads a set, all of it at once
    ((2, 9004), [1]),  # in several blocks
    ((2, 70004), [1]),  # in parts, two passes
    ((3, 30005), [1]),
    ((70, 45), [0]),  # neighboring sets side by side
    ((5, 70, 24), [1]),
    ((9000, 8), [0]),
    ((3, 4, 5, 6), [1, 3]),
    ((3, 4, 5, 8), [0, 2]),
    ((2, 3, 2, 3, 2, 2, 3, 4), [1, 2, 7, 5]),
    ((3, 5), [1, 1]),
    ((3, 5), []),
]


@pytest.mark.parametrize(("sizes", "axes"), SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_shapes(function: str, sizes: tuple[int, ...], axes: list[int], device: Any) -> None:
    data_type = "FLOAT16" if sizes[0] % 2 else "FLOAT32"
    data = np.random.default_rng(len(sizes)).normal(0, 3, sizes).astype(data_type.lower())
    for result in results(described(function, data_type, sizes, axes), data, device):
        assert (result.dtype, result.shape) == (data.dtype, sizes)
        check(result, expected(function, data, axes))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("data_type", ["FLOAT16", "FLOAT32"])
def test_parts_of_a_long_row(function: str, data_type: str, device: Any) -> None:
    """What is infinite, no number, or far from all else, in some of the parts; the same in two runs."""
    data = np.random.default_rng(5).normal(0, 3, (7, 40000)).astype(data_type.lower())
    data[0, :20000] = -math.inf
    data[1, 100] = math.inf
    data[2, 39999] = math.nan
    data[3, :30000] -= 20000
    data[4] = -math.inf
    data[5, [7, 33333]] = 60000
    data[6] -= 200  # below the logarithm of the least float
    data[6, 100:] = -math.inf
    desc = described(function, data_type, data.shape, [1])
    with np.errstate(all="ignore"):
        wanted, found = results(desc, data, device)
    assert found.tobytes() == gpu.run(desc, {"InputTensor": data}, device)["OutputTensor"].tobytes()
    tolerance = TOLERANCE[found.dtype.name]
    np.testing.assert_allclose(found, wanted, 4 * tolerance, tolerance)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("axes", "strides"),
    [
        ([2], {"InputTensor": (1, 4, 24), "OutputTensor": (48, 8, 1)}),
        ([2], {"OutputTensor": (100, 12, 1)}),
        ([1], {"InputTensor": (0, 8, 1), "OutputTensor": (1, 4, 24)}),
        ([0, 1], {"InputTensor": (8, 0, 1)}),
    ],
)
def test_strides(function: str, axes: list[int], strides: dict[str, Sequence[int]], device: Any) -> None:
    """Bytes between the elements of the output stay as they are."""
    data = np.random.default_rng(1).normal(0, 3, (4, 6, 8)).astype(np.float16)
    data[:] = data[:1] if strides.get("InputTensor", (1,))[0] == 0 else data
    data[:] = data[:, :1] if strides.get("InputTensor", (1, 1))[1] == 0 else data
    for result in results(described(function, "FLOAT16", data.shape, axes, strides), data, device):
        check(result, expected(function, data, axes))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("rank", range(1, 9))
def test_rows(function: str, rank: int, device: Any) -> None:
    """The operators without axes: those of the last dimension."""
    sizes = ((1,) * 6 + (3, 20))[-rank:]
    data = np.random.default_rng(rank).normal(0, 3, sizes).astype(np.float32)
    for result in results(described(function, "FLOAT32", sizes), data, device):
        check(result, expected(function, data, [rank - 1]))


def test_large_inputs(device: Any) -> None:
    """Exponentials neither overflow nor vanish together; what is far below the largest element is 0."""
    data = np.array([[1e4, 1e4, -1e4, 1e4], [-3e38, -3e38, 3e38, 0], [-1e4, -1e4, -1e4, -1e4]], np.float32)
    wanted = [[1 / 3, 1 / 3, 0, 1 / 3], [0, 0, 1, 0], [1 / 4] * 4]
    for result in results(described("SOFTMAX", "FLOAT32", data.shape), data, device):
        np.testing.assert_allclose(result, wanted, 1e-6)
    for result in results(described("LOG_SOFTMAX", "FLOAT32", data.shape), data, device):
        np.testing.assert_allclose(
            result[0], [-math.log(3), -math.log(3), -2e4 - math.log(3), -math.log(3)], 1e-6
        )
        np.testing.assert_allclose(result[2], [-math.log(4)] * 4, 1e-6)


def test_nan_and_infinities(device: Any) -> None:
    """As the formulas have it."""
    inf, nan = math.inf, math.nan
    data = np.array([[1, nan, 2], [1, inf, 2], [-inf, 0, 0], [-inf, -inf, -inf]], np.float32)
    wanted = {
        "SOFTMAX": [[nan] * 3, [0, nan, 0], [0, 0.5, 0.5], [nan] * 3],
        "LOG_SOFTMAX": [[nan] * 3, [-inf, nan, -inf], [-inf, -math.log(2), -math.log(2)], [nan] * 3],
        "HARDMAX": [[0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]],
    }
    for function, rows in wanted.items():
        for result in results(described(function, "FLOAT32", data.shape), data, device):
            np.testing.assert_allclose(result, rows, 1e-6, err_msg=function)


def test_the_first_of_equal_elements(device: Any) -> None:
    data = np.zeros((2, 9000), np.float16)
    data[1, [100, 8000]] = 1
    for result in results(described("HARDMAX", "FLOAT16", data.shape, [1]), data, device):
        assert np.flatnonzero(result).tolist() == [0, 9100]
