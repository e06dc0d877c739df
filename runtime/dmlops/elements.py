"""Arithmetic of tensor elements in NumPy, used by the modules in `compute`.

Elements are computed in the type that `computed` gives: FLOAT16 in float32, integers of fewer than 32 bits in
32, all others in their own type. Integer results wrap around; a result is rounded, or its high bits cut off,
only when it is stored. Functions take arrays or NumPy scalars of such types and return the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from .enums import TensorDataType

_LIMITS = {np.dtype(kind + size): np.iinfo(kind + size) for kind in ("int", "uint") for size in ("32", "64")}


def computed_type(data_type: TensorDataType) -> np.dtype[Any]:
    """The NumPy type in which elements of a data type are computed."""
    prefix = {"float": "float", "signed": "int", "unsigned": "uint"}[data_type.kind]
    return np.dtype(f"{prefix}{max(data_type.bits, 32)}")


def computed(array: Any, data_type: TensorDataType) -> Any:
    """Elements of a tensor, converted to the type they are computed in."""
    return np.asarray(array).astype(computed_type(data_type), copy=False)


def stored(value: Any, data_type: TensorDataType) -> Any:
    """Results as elements of a tensor: floats rounded to nearest, integers truncated to their bits."""
    if data_type.bits == 4:  # unpacked to bytes
        low = np.asarray(value).astype(np.int64) & 15
        value = (low ^ 8) - 8 if data_type.kind == "signed" else low
    return np.asarray(value).astype(data_type.numpy)


def elements_of(numbers: Any, data_type: TensorDataType) -> np.ndarray:
    """Numbers as elements of a tensor: floats rounded to nearest.

    Raises OverflowError for an integer out of range, TypeError or ValueError for what is no number.
    """
    if data_type.kind == "float":
        return np.asarray(stored(np.array(numbers, np.float64), data_type))
    return np.array(numbers, data_type.numpy)


def bits_of(array: Any) -> Any:
    """The bits of elements as unsigned 32- or 64-bit integers."""
    bits = np.asarray(array).view(f"u{array.dtype.itemsize}")
    return bits.astype(np.uint64 if array.dtype.itemsize == 8 else np.uint32)


def from_bits(value: Any, data_type: TensorDataType) -> Any:
    """The elements with these bits; excess bits are cut off."""
    return np.asarray(value).astype(f"u{data_type.numpy.itemsize}").view(data_type.numpy)


def single(value: float) -> Any:
    """A FLOAT member in single precision, as the ABI stores it."""
    with np.errstate(over="ignore"):
        return np.float32(value)


def part(struct: Any, name: str) -> Any:
    """A field of an optional struct; 0 if the struct is absent."""
    return getattr(struct, name) if struct is not None else 0


def convert(value: Any, data_type: TensorDataType) -> Any:
    """A number converted to the type in which elements of `data_type` are computed.

    Floats are truncated toward 0; values out of an integer type's range become its nearest limit, and NaN
    becomes 0 (Direct3D 11.3 functional specification, "ftoi" and "ftou"). FLOAT64 is rounded to narrower
    floats directly, which avoids double rounding.
    """
    target = computed_type(data_type)
    array = np.asarray(_real(value) if type(value) is int and target.kind == "f" else value)
    if array.dtype == object:  # an integer beyond all NumPy types
        array = np.asarray(_real(value))
    if array.dtype == np.float64 and target.kind == "f":
        return computed(stored(array, data_type), data_type)[()]
    if array.dtype.kind != "f" or target.kind == "f":
        return array.astype(target)[()]
    return _limited(array, target)


def _real(number: int) -> float:
    """The nearest FLOAT64; infinite beyond its range."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _limited(array: Any, target: np.dtype[Any]) -> Any:
    """Floats as integers: truncated toward 0, clamped to the type's limits, 0 for NaN."""
    limits, whole = _LIMITS[target], np.where(np.isnan(array), 0, np.trunc(array))
    inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1)
    # In single precision, the upper limit itself rounds up to the first number that is too large.
    inside &= whole.astype(np.float64) < float(limits.max) + (target.itemsize == 4)
    limit = np.where(whole < 0, target.type(limits.min), target.type(limits.max))
    return np.where(inside, np.where(inside, whole, 0).astype(target), limit)[()]


def extremes(data_type: TensorDataType) -> tuple[float, float]:
    """The least and the greatest finite element."""
    if data_type.kind == "float":
        significand = 2 - 2.0 ** (1 - data_type.significand)
        greatest = math.ldexp(significand, 2 ** (data_type.bits - data_type.significand - 1) - 1)
        return -greatest, greatest
    signed = data_type.kind == "signed"
    return -(1 << data_type.bits - 1) if signed else 0, (1 << data_type.bits - signed) - 1


def quantize(value: Any, data_type: TensorDataType) -> Any:
    """The nearest integer, ties to even, within the range of an integer type; 0 for NaN."""
    array, target = np.asarray(value), computed_type(data_type)
    if array.dtype.kind == "f":
        array = np.asarray(_limited(np.rint(array), target))
    return array.clip(*extremes(data_type)).astype(target)


# Booleans, as scalars or arrays.


where, opposite = np.where, np.logical_not


def both(*tests: Any) -> Any:
    """Whether both are true."""
    return reduce(_and, tests)


def either(*tests: Any) -> Any:
    """Whether either is true."""
    return reduce(_or, tests)


def every(tests: Iterable[Any]) -> Any:
    """Whether all are true."""
    return reduce(_and, tests, True)


def some(tests: Iterable[Any]) -> Any:
    """Whether any is true."""
    return reduce(_or, tests, False)


def _and(test: Any, other: Any) -> Any:
    return test and other if type(test) is type(other) is bool else np.logical_and(test, other)


def _or(test: Any, other: Any) -> Any:
    return test or other if type(test) is type(other) is bool else np.logical_or(test, other)


def least(values: Iterable[Any]) -> Any:
    """The smallest."""
    return reduce(np.minimum, values)


def greatest(values: Iterable[Any]) -> Any:
    """The largest."""
    return reduce(np.maximum, values)


# Functions of elements.

absolute = np.abs
floor, ceil, trunc, round_even = np.floor, np.ceil, np.trunc, np.rint
sqrt, exp, expm1, log, log1p = np.sqrt, np.exp, np.expm1, np.log, np.log1p
sin, cos, tan, asin, acos, atan, atan2 = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2
sinh, cosh, tanh, asinh, acosh, atanh = np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh
is_nan, is_infinity = np.isnan, np.isinf
bit_not = np.invert
modulus_truncate = np.fmod  # with the sign of the dividend; for integers 0 if the divisor is 0
modulus_floor = np.mod  # with the sign of the divisor; likewise
_ERF = np.vectorize(math.erf, otypes=[np.float64])
_ERFC = np.vectorize(math.erfc, otypes=[np.float64])


def minimum(x: Any, y: Any) -> Any:
    """The smaller; NaN if either is, and -0 if either of two zeros is."""
    return np.where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


def maximum(x: Any, y: Any) -> Any:
    """The larger; NaN if either is, and 0 if either of two zeros is."""
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


larger = np.maximum


def mean(x: Any, y: Any) -> Any:
    """Half of the sum; for integers without overflow, truncated toward 0."""
    if np.result_type(x, y).kind == "f":
        return (x + y) / np.result_type(x, y).type(2)
    down = (x & y) + ((x ^ y) >> 1)
    return down + ((down < 0) & (x ^ y) & 1).astype(down.dtype)


def sign(x: Any) -> Any:
    """-1, 0 or 1; 0 of NaN."""
    return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(np.result_type(x))


def round_away(x: Any) -> Any:
    """The nearest integer, ties away from 0."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x).astype(np.result_type(x)), whole)


def divide(x: Any, y: Any) -> Any:
    """The quotient; for integers truncated toward 0, and 0 if the divisor is 0."""
    if np.result_type(x, y).kind == "f":
        return np.true_divide(x, y)
    quotient = np.floor_divide(x, y)  # NumPy also gives 0 where y is 0
    return quotient + ((quotient * y != x) & ((x < 0) != (y < 0)) & (y != 0))


divide_exactly = divide  # NumPy divides floats exactly, which hardware may not


def pow(x: Any, y: Any) -> Any:
    """x to the power of y, in the type of x.

    With integers the result is exact, with high bits cut off, and for a negative y it is the quotient 1 / x
    ** -y, truncated toward 0. An integer x with a float y is computed in double precision and truncated as by
    `convert`, except that a result within rounding error of an integer is that integer.
    """
    kind = np.result_type(x)
    if np.result_type(y) == kind and kind.kind == "f":
        return np.power(x, np.zeros_like(x) + y)  # a scalar 0.5 would be a root: NaN for -inf
    if "f" in (kind.kind, np.result_type(y).kind):
        power = np.power(np.asarray(x, np.float64), np.asarray(y, np.float64))
        if kind.kind == "f":
            return power.astype(kind)
        nearest = np.rint(power)
        return _limited(np.where(np.abs(power - nearest) <= np.abs(power) * 2.0**-50, nearest, power), kind)
    power = np.power(x.astype(np.uint64), np.where(y < 0, 0, y).astype(np.uint64)).astype(kind)
    return np.where((y >= 0) | (x == 1), power, np.where(x == -1, np.where(y & 1, x, 1), 0)).astype(kind)


def scaled(x: Any, scale: Any, bias: Any) -> Any:
    """x * scale + bias; integers via double precision, truncated toward 0 and clamped to their type."""
    if np.result_type(x).kind == "f":
        return x * np.asarray(scale).astype(x.dtype) + np.asarray(bias).astype(x.dtype)
    return _limited(x.astype(np.float64) * float(scale) + float(bias), x.dtype)


def difference(x: Any, y: Any, data_type: TensorDataType) -> Any:
    """x - y, exact for integers of up to 32 bits, as elements of `data_type`."""
    return convert(np.subtract(x, y, dtype=np.int64), data_type)


def above(x: Any, limit: Any) -> Any:
    """Whether it is greater than a number; integers of up to 32 bits are exact in double precision."""
    return np.asarray(x).astype(np.float64) > float(limit)


def below(x: Any, limit: Any) -> Any:
    """Whether it is less than a number; integers of up to 32 bits are exact in double precision."""
    return np.asarray(x).astype(np.float64) < float(limit)


def bit_count(x: Any) -> Any:
    """The number of bits set."""
    return np.bitwise_count(x).astype(x.dtype)


def erf(x: Any) -> Any:
    """The error function, in double precision."""
    found, kind = _ERF(np.asarray(x, np.float64)), np.result_type(x)
    return found.astype(kind) if kind.kind == "f" else found


def softplus(x: Any) -> Any:
    """ln(1 + e^x), without overflow."""
    return np.logaddexp(x, np.zeros_like(x))


def gelu(x: Any) -> Any:
    """x 0.5 (1 + erf(x sqrt(0.5))), in double precision, by erfc: the sum loses all digits below -5."""
    wide = np.asarray(x, np.float64)
    weight = 0.5 * _ERFC(-wide * math.sqrt(0.5))
    with np.errstate(invalid="ignore"):  # minus infinity times 0 is NaN
        return np.where(weight == 0, 0, wide * weight).astype(np.result_type(x))
