"""Element-wise arithmetic in the reference and in shaders, against NumPy's doubles and Python's integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
import operator_runs
from dmlops import gpu
from dmlops.gpu.plans.loops import MULTIPROCESSORS
from dmlops.gpu.plans.map import ELEMENTWISE_THREADS
from gpu_device import alternatives, device, flushed
from whole_registry import whole_registry

__all__ = ["device"]

REGISTRY = whole_registry()
SCALE_BIAS = {"Scale": 1.5, "Bias": -0.25}
FLOATS = ("FLOAT32", "FLOAT16")

Oracle = Callable[..., Any]


def rounded_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def minimum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x) | np.signbit(y), -0.0, 0.0), np.minimum(x, y))


def maximum(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x) & np.signbit(y), -0.0, 0.0), np.maximum(x, y))


EXACT_UNARY: dict[str, Oracle] = {
    "ABS": np.abs,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "IDENTITY": np.positive,
    "NEGATE": np.negative,
    "SIGN": lambda x: np.where(np.isnan(x), 0, np.sign(x) + 0.0),
    "SQRT": np.sqrt,
}
UNARY: dict[str, Oracle] = EXACT_UNARY | {
    "ACOS": np.arccos,
    "ACOSH": np.arccosh,
    "ASIN": np.arcsin,
    "ASINH": np.arcsinh,
    "ATAN": np.arctan,
    "ATANH": np.arctanh,
    "COS": np.cos,
    "COSH": np.cosh,
    "ERF": np.vectorize(math.erf),
    "EXP": np.exp,
    "LOG": np.log,
    "RECIP": np.reciprocal,
    "SIN": np.sin,
    "SINH": np.sinh,
    "TAN": np.tan,
    "TANH": np.tanh,
}
EXACT_BINARY: dict[str, Oracle] = {
    "ADD": np.add,
    "SUBTRACT": np.subtract,
    "MULTIPLY": np.multiply,
    "MAX": maximum,
    "MIN": minimum,
    "MODULUS_FLOOR": np.mod,
    "MODULUS_TRUNCATE": np.fmod,
}
BINARY: dict[str, Oracle] = EXACT_BINARY | {
    "ATAN_YX": np.arctan2,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,  # of single precision: each step rounds
    "DIVIDE": np.divide,
    "MEAN": lambda a, b: (a + b) / 2,
}
STEPWISE = {"DIFFERENCE_SQUARE": 2, "MEAN": 1, "DIVIDE": 3, "RECIP": 3}  # bounds in ulp
ULP = 4  # of functions that are approximated


def cut(x: int, y: int) -> int:
    """The quotient of integers, cut toward 0; 0 for the divisor 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def power(x: int, y: int) -> int:
    return x**y if y >= 0 else cut(1, x ** (2 - y % 2))  # any such power of |x| > 1 makes 0


INTEGER_UNARY: dict[str, Callable[[int], int]] = {
    "ABS": abs,
    "IDENTITY": lambda x: x,
    "NEGATE": lambda x: -x,
    "SIGN": lambda x: (x > 0) - (x < 0),
}
INTEGER_BINARY: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIVIDE": cut,
    "MAX": max,
    "MIN": min,
    "MEAN": lambda a, b: cut(a + b, 2),
    "MODULUS_FLOOR": lambda a, b: a % b if b else 0,
    "MODULUS_TRUNCATE": lambda a, b: a - cut(a, b) * b if b else 0,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
}


def spec(name: str) -> Any:
    names = (f"ELEMENT_WISE_{name}", name)
    return next(operator for operator in REGISTRY.operators if operator.name in names)


def types_of(name: str, tensor: str) -> tuple[str, ...]:
    """The data types in the newest table."""
    return operator_runs.types_of(spec(name).name, tensor)


def with_types(names: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    """Operators with the data types, floating-point or not, of the newest table."""
    return [
        (name, type_)
        for name in names
        for type_ in types_of(name, spec(name).inputs[0].name)
        if (type_ in FLOATS) == (kind == "float") and type_ != "FLOAT64"
    ]


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(name.lower())


def float_values(type_: str) -> np.ndarray:
    kind = np.finfo(numpy_type(type_))
    special: list[Any] = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1e-3, 0.3, -0.7, 10, -100]
    special += [math.inf, -math.inf, math.nan]
    special += [kind.max, kind.min, kind.tiny, -kind.tiny, 1 + kind.eps, 1 - kind.epsneg]
    special += [kind.smallest_subnormal, -kind.smallest_subnormal, kind.tiny * 0.75]
    random = np.random.default_rng(4)
    drawn = [*random.normal(size=40), *random.uniform(-40, 40, 20), *random.uniform(0, 2, 20)]
    return np.array([*special, *drawn], numpy_type(type_))


def integer_values(type_: str) -> np.ndarray:
    limits = np.iinfo(numpy_type(type_))
    ends = (limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2)
    near = {-3, -2, -1, 0, 1, 2, 3, 7, 10, 100, *ends}
    random = np.random.default_rng(5).integers(limits.min, limits.max, 12, limits.dtype, endpoint=True)
    return np.array([*(x for x in sorted(near) if limits.min <= x <= limits.max), *random], limits.dtype)


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each value beside each other one."""
    first, second = np.meshgrid(values, values)
    return first.ravel(), second.ravel()


def run(
    device: Any, operator: str, *arrays: np.ndarray, output: str = "", **members: Any
) -> list[np.ndarray]:
    """The output is of the last input's type, or of a power's first, unless another is given."""
    given = {member.name: array for member, array in zip(spec(operator).inputs, arrays, strict=True)}
    output = output or arrays[-2 if operator == "POW" else -1].dtype.name.upper()
    return operator_runs.run(device, spec(operator).name, given, (output, arrays[0].shape), members)


def order(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats, neighbors next to each other; both zeros are 0."""
    bits = x.view(f"int{x.dtype.itemsize * 8}").astype(np.int64)
    return np.where(bits < 0, -(bits & ((1 << x.dtype.itemsize * 8 - 1) - 1)), bits)


def is_near(found: np.ndarray, expected: Any, ulp: int) -> np.ndarray:
    """Where found is what the expected numbers round to, up to some units in the last place."""
    with np.errstate(over="ignore"):
        wanted = np.asarray(expected).astype(found.dtype)
    is_nan = np.isnan(wanted)
    near = np.abs(order(found) - order(wanted)) <= ulp
    if ulp == 0:
        near &= np.signbit(found) == np.signbit(wanted)
    return np.where(is_nan, np.isnan(found), near & ~np.isnan(found))


def assert_near(
    found: np.ndarray, expected: Any, ulp: int, inputs: Sequence[np.ndarray] = (), others: Sequence[Any] = ()
) -> None:
    """Equal to what the expected numbers round to, up to some units in the last place; each may be that of
    others instead."""
    bad = ~np.any([is_near(found, one, ulp) for one in (expected, *others)], axis=0)
    at = np.flatnonzero(bad)[:5]
    wanted = np.asarray(expected)[at]
    assert not bad.any(), (
        f"{[x[at] for x in inputs]}: {found[at]} instead of {wanted} ({bad.sum()} of {bad.size})"
    )


def assert_both_near(device: Any, founds: list[np.ndarray], oracle: Oracle, ulp: int, *inputs: Any) -> None:
    """Of what the reference and the shader give, which may flush subnormal numbers."""
    with np.errstate(all="ignore"):
        expected, *others = alternatives(device, oracle, *inputs)
    reference, shader = founds
    assert_near(reference, expected, ulp, inputs)
    assert_near(shader, expected, ulp, inputs, others)


def assert_equal(found: np.ndarray, expected: Sequence[int]) -> None:
    """Equal to integers whose high bits are cut off."""
    bits = found.dtype.itemsize * 8
    low = [int(x) & (1 << bits) - 1 for x in expected]
    wanted = [x - (1 << bits) if found.dtype.kind == "i" and x >> bits - 1 else x for x in low]
    assert found.tolist() == wanted


def wide(*arrays: np.ndarray) -> list[np.ndarray]:
    return [array.astype(np.float64) for array in arrays]


@pytest.mark.parametrize(("operator", "type_"), with_types(UNARY, "float"))
def test_unary(device: Any, operator: str, type_: str) -> None:
    x = float_values(type_)
    ulp = 0 if operator in EXACT_UNARY else STEPWISE.get(operator, ULP)
    assert_both_near(device, run(device, operator, x), lambda x: UNARY[operator](*wide(x)), ulp, x)


@pytest.mark.parametrize(("operator", "type_"), with_types(BINARY, "float"))
def test_binary(device: Any, operator: str, type_: str) -> None:
    a, b = pairs(float_values(type_))
    kind = np.float32 if operator in STEPWISE else np.float64
    ulp = 0 if operator in EXACT_BINARY else STEPWISE.get(operator, ULP)

    def oracle(a: np.ndarray, b: np.ndarray) -> Any:
        return BINARY[operator](a.astype(kind), b.astype(kind))

    assert_both_near(device, run(device, operator, a, b), oracle, ulp, a, b)


@pytest.mark.parametrize(("operator", "type_"), with_types(INTEGER_UNARY, "integer"))
def test_unary_of_integers(device: Any, operator: str, type_: str) -> None:
    x = integer_values(type_)
    for found in run(device, operator, x):
        assert_equal(found, [INTEGER_UNARY[operator](v) for v in x.tolist()])


@pytest.mark.parametrize(("operator", "type_"), with_types(INTEGER_BINARY, "integer"))
def test_binary_of_integers(device: Any, operator: str, type_: str) -> None:
    a, b = pairs(integer_values(type_))
    for found in run(device, operator, a, b):
        assert_equal(
            found, [INTEGER_BINARY[operator](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        )


@pytest.mark.parametrize("type_", types_of("IDENTITY", "InputTensor"))
def test_scale_and_bias(device: Any, type_: str) -> None:
    """Floats in their own precision, each step rounded; integers as doubles, cut and limited to words."""
    kind = numpy_type(type_)
    if kind.kind == "f":
        values = [0.0, -0.0, 1.0, 3.75, -1e3, math.inf, -math.inf, math.nan, float(np.finfo(kind).max)]
        x = np.array(values, kind)
        precise = np.float64 if type_ == "FLOAT64" else np.float32
        with np.errstate(all="ignore"):
            expected = x.astype(precise) * precise(1.5) - precise(0.25)
        for found in run(device, "IDENTITY", x, ScaleBias=SCALE_BIAS):
            assert_near(found, expected, 0, [x])
        return
    x = integer_values(type_)
    limits = np.iinfo(f"{kind.kind}{max(kind.itemsize, 4)}")
    scaled = [min(max(int(v * 1.5 - 0.25), limits.min), limits.max) for v in x.tolist()]
    for found in run(device, "IDENTITY", x, ScaleBias=SCALE_BIAS):
        assert_equal(found, scaled)


@pytest.mark.parametrize("operator", ["EXP", "RECIP", "CLIP", "CLIP1", "THRESHOLD", "POW", "CONSTANT_POW"])
def test_the_input_is_scaled_first(device: Any, operator: str) -> None:
    x = np.array([-4, -1.25, 0, 0.5, 2], np.float32)
    members = {"CLIP": {"Min": -1, "Max": 1}, "THRESHOLD": {"Min": 0}, "CONSTANT_POW": {"Exponent": 2}}
    members["CLIP1"] = {"MinMaxDataType": "FLOAT32", **members["CLIP"]}
    given = [x, np.full(5, 3, np.float32)] if operator == "POW" else [x]
    scaled = [x * np.float32(1.5) - np.float32(0.25), *given[1:]]
    plain = members.get(operator, {})
    for found, expected in zip(
        run(device, operator, *given, **plain, ScaleBias=SCALE_BIAS),
        run(device, operator, *scaled, **plain),
        strict=True,
    ):
        assert found.tobytes() == expected.tobytes()


LIMITS = {"FLOAT": (-1.5, 2.0), "INT": (-3, 100), "UINT": (2, 100)}  # Min, Max


def limits_of(type_: str) -> tuple[float, float]:
    return LIMITS[type_.rstrip("0123456789")]


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("type_", types_of("CLIP1", "InputTensor"))
def test_clip(device: Any, type_: str, crossed: bool) -> None:
    low, high = limits_of(type_)[:: -1 if crossed else 1]
    x = float_values(type_) if type_ in FLOATS else integer_values(type_)
    expected = [v if v != v else max(low, min(high, v)) for v in x.tolist()]
    fractions = 0.5 if type_ not in FLOATS else 0  # which are cut off toward 0
    members = {"Min": low + math.copysign(fractions, low), "Max": high + math.copysign(fractions, high)}
    founds = run(device, "CLIP", x, **members)
    founds += run(device, "CLIP1", x, MinMaxDataType=type_, Min=low, Max=high)
    for found in founds:
        np.testing.assert_array_equal(found, np.array(expected, x.dtype))


@pytest.mark.parametrize("type_", types_of("THRESHOLD", "InputTensor"))
def test_threshold(device: Any, type_: str) -> None:
    low = limits_of(type_)[0]
    x = float_values(type_) if type_ in FLOATS else integer_values(type_)
    expected = [v if v != v else max(low, v) for v in x.tolist()]
    for found in run(device, "THRESHOLD", x, Min=low):
        np.testing.assert_array_equal(found, np.array(expected, x.dtype))


@pytest.mark.parametrize("type_", types_of("CLIP_GRAD1", "InputTensor"))
def test_clip_gradients(device: Any, type_: str) -> None:
    low, high = limits_of(type_)
    x = float_values(type_) if type_ in FLOATS else integer_values(type_)
    x = np.append(x, np.array([low, high], x.dtype))
    gradient = np.arange(1, x.size + 1).astype(x.dtype)
    expected = [0 if v <= low or v >= high else g for v, g in zip(x.tolist(), gradient.tolist(), strict=True)]
    founds = run(device, "CLIP_GRAD", x, gradient, Min=low, Max=high)
    founds += run(device, "CLIP_GRAD1", x, gradient, MinMaxDataType=type_, Min=low, Max=high)
    for found in founds:
        assert found.tolist() == expected


@pytest.mark.parametrize("type_", types_of("ACTIVATION_RELU_GRAD", "InputTensor"))
def test_relu_gradient(device: Any, type_: str) -> None:
    x = float_values(type_) if type_ in FLOATS else integer_values(type_)
    gradient = np.arange(1, x.size + 1).astype(x.dtype)
    founds = run(device, "ACTIVATION_RELU_GRAD", x, gradient)
    if type_ in FLOATS:
        assert_both_near(device, founds, lambda x, g: np.where(x > 0, g, 0), 0, x, gradient)
        return
    for found in founds:
        assert found.tolist() == np.where(x > 0, gradient, 0).tolist()


@pytest.mark.parametrize("type_", types_of("IF", "ATensor"))
def test_if_moves_bits(device: Any, type_: str) -> None:
    kind = numpy_type(type_)
    random = np.random.default_rng(6)
    a, b = (np.frombuffer(random.bytes(64 * kind.itemsize), kind) for _ in range(2))  # signalling NaNs, too
    condition = random.choice(np.array([0, 0, 1, 2, 255], np.uint8), 64)
    expected = [x.tobytes() if c else y.tobytes() for c, x, y in zip(condition, a, b, strict=True)]
    for found in run(device, "IF", condition, a, b):
        assert found.tobytes() == b"".join(expected)


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize(
    ("mode", "oracle"),
    [("HALVES_TO_NEAREST_EVEN", np.rint), ("TOWARD_ZERO", np.trunc), ("TOWARD_INFINITY", rounded_away)],
)
def test_round(device: Any, mode: str, oracle: Oracle, type_: str) -> None:
    x = np.append(float_values(type_), np.arange(-5, 5, 0.25, numpy_type(type_)))
    for found in run(device, "ROUND", x, RoundingMode=mode):
        assert_near(found, oracle(*wide(x)), 0, [x])


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("exponent", [2, -1, 0.5, 3.25, 0, math.inf])
def test_constant_power(device: Any, exponent: float, type_: str) -> None:
    x = float_values(type_)
    founds = run(device, "CONSTANT_POW", x, Exponent=exponent)
    assert_both_near(device, founds, lambda x: np.power(*wide(x), np.full(x.shape, exponent)), ULP, x)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        *(("FLOAT32", type_) for type_ in types_of("POW", "ExponentTensor")),
        *(("FLOAT16", type_) for type_ in ("FLOAT16", "INT32")),
    ],
)
def test_power_of_floats(device: Any, base: str, exponent: str) -> None:
    values = float_values(exponent) if exponent in FLOATS else integer_values(exponent)
    x, y = (a.ravel() for a in np.meshgrid(float_values(base), values))
    founds = run(device, "POW", x, y)
    assert_both_near(device, founds, lambda x, y: np.power(*wide(x, y)), ULP, x, y)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        *((type_, type_) for type_ in types_of("POW", "InputTensor") if type_ not in FLOATS),
        *[("INT32", "UINT32"), ("UINT8", "INT8"), ("INT16", "UINT8"), ("UINT32", "INT32")],
    ],
)
def test_power_of_integers(device: Any, base: str, exponent: str) -> None:
    low, high = np.iinfo(numpy_type(exponent)).min, np.iinfo(numpy_type(exponent)).max
    exponents = np.array(
        [e for e in (-5, -4, -1, 0, 1, 2, 3, 7, 13, 40) if low <= e <= high], exponent.lower()
    )
    x, y = (a.ravel() for a in np.meshgrid(integer_values(base), exponents))
    for found in run(device, "POW", x, y):
        assert_equal(found, [power(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        *[("INT32", "FLOAT32"), ("UINT32", "FLOAT32"), ("INT8", "FLOAT16")],
        *((type_, None) for type_ in types_of("CONSTANT_POW", "InputTensor") if type_ not in FLOATS),
    ],
)
def test_power_of_integers_with_floats(device: Any, base: str, exponent: str | None) -> None:
    kind = numpy_type(base)
    for e in (1, 2, 3, 6, 0.5, 1.5, -1, 0):
        x = np.array([0, 1, 2, 3, 4, 7, 9, 16, 25, 100, 127], kind)
        exact = [math.isqrt(v ** int(2 * e)) if e > 0 else int(v == 1 or e == 0) for v in x.tolist()]
        if e < 0:
            exact[0] = np.iinfo(np.uint32 if kind.kind == "u" else np.int32).max  # 1 / 0 is infinite
        top = np.iinfo(np.uint32 if kind.kind == "u" else np.int32).max
        if exponent is None:
            results = run(device, "CONSTANT_POW", x, Exponent=e)
        else:
            results = run(device, "POW", x, np.full(x.shape, e, numpy_type(exponent)))
        for found in results:
            assert_equal(found, [min(v, top) for v in exact])


@pytest.mark.parametrize("base", ["INT8", "INT16", "INT32"])
def test_roots_of_negative_integers_are_no_numbers(device: Any, base: str) -> None:
    """NaN as an integer is 0; whole powers keep their sign."""
    x = np.array([-1, -8, -27, -100, 27], numpy_type(base))
    for exponent, expected in ((1 / 3, [0, 0, 0, 0, 3]), (0.5, [0, 0, 0, 0, 5]), (1.0, x.tolist())):
        for found in (
            *run(device, "POW", x, np.full(x.shape, exponent, np.float32)),
            *run(device, "CONSTANT_POW", x, Exponent=exponent),
        ):
            assert_equal(found, expected)


# Truths and bits.

TRUTHS: dict[str, Oracle] = {
    "LOGICAL_EQUALS": np.equal, "LOGICAL_GREATER_THAN": np.greater, "LOGICAL_LESS_THAN": np.less,
    "LOGICAL_GREATER_THAN_OR_EQUAL": np.greater_equal, "LOGICAL_LESS_THAN_OR_EQUAL": np.less_equal,
    "LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or, "LOGICAL_XOR": np.logical_xor,
    "LOGICAL_NOT": np.logical_not, "IS_NAN": np.isnan,
}  # fmt: skip


def shifted(shift: Oracle) -> Oracle:
    """Zeros where bits go further than there are any."""
    return lambda x, y: np.where(y < 8 * x.itemsize, shift(x, y % x.dtype.type(8 * x.itemsize)), 0)


BITS: dict[str, Oracle] = {
    "BIT_AND": np.bitwise_and, "BIT_OR": np.bitwise_or, "BIT_XOR": np.bitwise_xor, "BIT_NOT": np.invert,
    "BIT_SHIFT_LEFT": shifted(np.left_shift), "BIT_SHIFT_RIGHT": shifted(np.right_shift),
    "BIT_COUNT": np.vectorize(int.bit_count, otypes=[int]),
}  # fmt: skip


def every_type(names: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Operators with the data types of the newest table."""
    return [(name, type_) for name in names for type_ in types_of(name, spec(name).inputs[0].name)]


def bits_of(type_: str) -> np.ndarray:
    """Any bits, and numbers of places, as unsigned integers."""
    size = numpy_type(type_).itemsize
    places = (0, 1, 7, 8 * size - 1, 8 * size, 8 * size + 1, 31, 32, 33, 63, 64, 65, 2 ** (8 * size) - 1)
    random = np.frombuffer(np.random.default_rng(7).bytes(30 * size), f"u{size}")
    return np.append(random, np.array(places, f"u{size}"))


def combined(operator: str, values: np.ndarray) -> Sequence[np.ndarray]:
    return pairs(values) if len(spec(operator).inputs) == 2 else (values,)


@pytest.mark.parametrize(("operator", "type_"), every_type(TRUTHS))
def test_truths(device: Any, operator: str, type_: str) -> None:
    """Also of NaN and zeros of both signs; any number but 0 is true."""
    values = float_values(type_) if type_ in FLOATS else integer_values(type_)
    given = combined(operator, values[(flushed(values) == values) | (values != values)])
    expected = TRUTHS[operator](*given)
    is_logic = operator in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR", "LOGICAL_NOT")
    for output in (type_,) if is_logic else types_of(operator, "OutputTensor"):
        for found in run(device, operator, *given, output=output):
            np.testing.assert_array_equal(found, expected.astype(numpy_type(output)), strict=True)


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("mode", ["EITHER", "POSITIVE", "NEGATIVE"])
def test_infinities(device: Any, type_: str, mode: str) -> None:
    x = float_values(type_)
    wanted = {"EITHER": np.isinf, "POSITIVE": np.isposinf, "NEGATIVE": np.isneginf}[mode](x)
    for found in run(device, "IS_INFINITY", x, output="UINT8", InfinityMode=mode):
        assert found.tolist() == wanted.astype(int).tolist()


@pytest.mark.parametrize(("operator", "type_"), every_type(BITS))
def test_bits_of_any_type(device: Any, operator: str, type_: str) -> None:
    given = combined(operator, bits_of(type_))
    typed = [array.view(numpy_type(type_)) for array in given]
    for output in types_of(operator, "OutputTensor") if operator == "BIT_COUNT" else (type_,):
        for found in run(device, operator, *typed, output=output):
            expected = BITS[operator](*given).astype(f"u{numpy_type(output).itemsize}")
            np.testing.assert_array_equal(found.view(expected.dtype), expected, strict=True)


def layouts() -> list[tuple[str, str, tuple[int, ...], dict[str, tuple[int, ...]]]]:
    """Operator, data type, sizes, and strides of the tensors that are not packed."""
    return [
        ("ADD", "FLOAT32", (6,), {"BTensor": (0,)}),
        ("ADD", "FLOAT16", (3, 8), {"ATensor": (1, 3), "BTensor": (0, 1)}),
        ("ADD", "FLOAT16", (1, 4108), {}),  # the last thread has less than the others
        ("ADD", "INT8", (2, 3, 4), {"OutputTensor": (16, 5, 1)}),
        ("ADD", "UINT8", (2, 3, 4), {"ATensor": (12, 0, 1), "OutputTensor": (12, 1, 3)}),
        ("ADD", "INT16", (2, 3, 4, 4), {"OutputTensor": (64, 20, 4, 1), "BTensor": (0, 0, 0, 0)}),
        ("ADD", "UINT64", (2, 1, 3, 2, 2), {"ATensor": (30, 7, 10, 5, 2)}),
        ("ADD", "INT32", (2, 2, 2, 2, 2, 2), {"OutputTensor": (1, 2, 4, 8, 16, 32)}),
        ("IF", "FLOAT16", (1, 2, 3, 1, 2, 2, 4), {"ConditionTensor": (0, 8, 0, 0, 0, 4, 1)}),
        ("IF", "INT8", (2, 1, 3, 1, 2, 2, 2, 4), {"ATensor": (1, 1, 2, 1, 6, 12, 24, 48)}),
        ("POW", "UINT16", (2, 3, 5), {"ExponentTensor": (0, 1, 0), "OutputTensor": (1, 2, 6)}),
    ]


@pytest.mark.parametrize("multiprocessors", [0, MULTIPROCESSORS])
@pytest.mark.parametrize(("operator", "type_", "sizes", "strides"), layouts())
def test_layouts(
    device: Any,
    monkeypatch: pytest.MonkeyPatch,
    operator: str,
    type_: str,
    sizes: tuple[int, ...],
    strides: dict[str, tuple[int, ...]],
    multiprocessors: int,
) -> None:
    """Also in vectors, as large tensors are."""
    monkeypatch.setattr("dmlops.gpu.plans.map.MULTIPROCESSORS", multiprocessors)
    random = np.random.default_rng(7)
    arrays = {}
    for member in spec(operator).inputs:
        kind = np.dtype(np.uint8) if member.name == "ConditionTensor" else numpy_type(type_)
        shape = [
            1 if stride == 0 else size
            for size, stride in zip(sizes, strides.get(member.name, sizes), strict=True)
        ]
        arrays[member.name] = np.broadcast_to(random.integers(0, 4, shape).astype(kind), sizes).copy()
    first, second, *third = arrays.values()
    expected = {"ADD": np.add, "POW": np.power, "IF": np.where}[operator](first, second, *third)
    for found in operator_runs.run(device, spec(operator).name, arrays, (type_, sizes), layouts=strides):
        assert found.tolist() == expected.tolist()


def test_threads_compute_one_element_where_there_are_few() -> None:
    """This does not apply where a word holds several elements."""

    def vector(operator: Any, data_type: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
        desc = operator(InputTensor=dmlops.TensorDesc(data_type, sizes, Strides=strides)).infer()
        return int(gpu.plan(desc).dispatches[0].defines["VECTOR"])

    most = MULTIPROCESSORS * ELEMENTWISE_THREADS
    few, more = (1, most), (1, most + 4)
    assert vector(dmlops.ActivationTanh, "FLOAT32", few, None) == 1
    assert vector(dmlops.ActivationTanh, "FLOAT32", more, None) == 4
    assert vector(dmlops.ActivationTanh, "FLOAT16", few, None) == 4
    assert vector(dmlops.ElementWiseIdentity, "FLOAT32", (64, 64), (1, 64)) == 1
    assert vector(dmlops.ElementWiseIdentity, "FLOAT32", (256, 256), (1, 256)) == 4
