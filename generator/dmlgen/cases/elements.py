"""Arithmetic of single tensor elements, with a bound on the error that an implementation can make.

Floats are computed in double precision, as close to the true result as that allows; `error` is how far off a
device can be that rounds every operation to the element's data type. Integers are exact and wrap around in 32
bits, or 64 for 64-bit types. What no source defines still has a value, and leaves a note.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dmlgen.registry import EnumEntry, Registry, integer_range

NAN = "NaN"
INFINITY = "infinities"
OVERFLOW = "integers that overflow"
DIVISION = "integers divided by 0"
CONVERSION = "numbers that the type they are converted to cannot hold"
FRACTION = "fractions cut off from scaled integers"
HALF = "halves of odd integers"
ORIGIN = "the angle of the origin"
RANGE = "indices out of range"
UNSTABLE = "results that hang on a rounding error"
EMPTY = "the greatest or least of nothing"
CHOICES = frozenset(
    {NAN, INFINITY, OVERFLOW, DIVISION, CONVERSION, FRACTION, HALF, ORIGIN, RANGE, UNSTABLE, EMPTY}
)
"""Values that no source defines; they are this registry's choice."""

POWER = "powers of integers with negative or fractional exponents"
SHIFT = "shifts by as many bits as an element has, or more"
OUTSIDE = "reads outside of a tensor"
LARGE = "integers of more than 64 bits"
EITHER = "the larger of NaN and another number"
NEVER = frozenset({SHIFT, POWER, OUTSIDE, LARGE, EITHER})
"""Elements without a value here, so no data may depend on them."""

_ROUNDED = 1  # units in the last place for any rounding: not every implementation rounds to nearest
_FUNCTION = {16: 4, 32: 32, 64: 32}  # units by which a function such as exp may be off, by bits


class Result(NamedTuple):
    """An element as it is stored."""

    value: int | float
    error: float


class Number:
    """An element in a computation. Supports Python's operators, with another one or a plain number."""

    __slots__ = ("_arithmetic", "error", "type", "value")

    def __init__(self, arithmetic: Arithmetic, value: Any, type_: EnumEntry, error: float = 0.0) -> None:
        self._arithmetic, self.value, self.type, self.error = arithmetic, value, type_, error

    @property
    def is_float(self) -> bool:
        return self.type.kind == "float"

    @property
    def interval(self) -> tuple[float, float]:
        return self.value - self.error, self.value + self.error

    def like(self, other: Any) -> Number:
        """Another number with the type of this one."""
        if isinstance(other, Number):
            return other
        return self._arithmetic.converted(other, self.type)

    def __add__(self, other: Any) -> Number:
        return self._arithmetic.sum(self, self.like(other))

    def __neg__(self) -> Number:
        return self._arithmetic.made(-self.value, self)

    def __sub__(self, other: Any) -> Number:
        subtracted = self.like(other)
        if self.is_float:
            return self + -subtracted
        return self._arithmetic.made(self.value - subtracted.value, self)

    def __mul__(self, other: Any) -> Number:
        return self._arithmetic.product(self, self.like(other))

    def __truediv__(self, other: Any) -> Number:
        return self._arithmetic.quotient(self, self.like(other))

    def __abs__(self) -> Number:
        return self._arithmetic.made(abs(self.value), self)

    def __and__(self, other: Any) -> Number:
        return self._arithmetic.of_bits(operator.and_, self, self.like(other))

    def __or__(self, other: Any) -> Number:
        return self._arithmetic.of_bits(operator.or_, self, self.like(other))

    def __xor__(self, other: Any) -> Number:
        return self._arithmetic.of_bits(operator.xor, self, self.like(other))

    def __lshift__(self, other: Any) -> Number:
        return self._arithmetic.shifted(self, self.like(other), left=True)

    def __rshift__(self, other: Any) -> Number:
        return self._arithmetic.shifted(self, self.like(other), left=False)

    def __eq__(self, other: object) -> bool:
        return self._arithmetic.compared(operator.eq, self, self.like(other))

    def __lt__(self, other: Any) -> bool:
        return self._arithmetic.compared(operator.lt, self, self.like(other))

    def __le__(self, other: Any) -> bool:
        return self._arithmetic.compared(operator.le, self, self.like(other))

    def __gt__(self, other: Any) -> bool:
        return self._arithmetic.compared(operator.gt, self, self.like(other))

    def __ge__(self, other: Any) -> bool:
        return self._arithmetic.compared(operator.ge, self, self.like(other))


class Arithmetic:
    """The functions of elements, by their names in specs; `notes` collects what came up."""

    def __init__(self, registry: Registry) -> None:
        self.types = {entry.value: entry for entry in registry.data_types}
        self.notes: set[str] = set()

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions that the expression evaluator calls, by name."""
        unary: dict[str, Callable[[float], float]] = {
            "exp": math.exp, "expm1": math.expm1, "log": math.log, "log1p": math.log1p,
            "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos,
            "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh,
            "acosh": math.acosh, "atanh": math.atanh, "erf": math.erf, "gelu": _gelu, "softplus": _softplus,
        }  # fmt: skip
        steps: dict[str, Callable[[float], float]] = {
            "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round_even": round,
            "round_away": lambda x: math.trunc(x + math.copysign(0.5, x)),
        }  # fmt: skip
        named = {name: self._function(function) for name, function in unary.items()}
        named |= {name: self._step(function) for name, function in steps.items()}
        own = (
            "sign min max larger sqrt mean pow atan2 modulus_truncate modulus_floor scaled is_nan "
            "is_infinity above below bit_not bit_count convert quantize"
        )
        return named | {name: getattr(self, f"_{name}") for name in own.split()}

    def load(self, value: Any, data_type: int) -> Number:
        """An element of a tensor."""
        return Number(self, value, self.types[data_type])

    def stored(self, value: Any, data_type: int) -> Result:
        """A value as an element of a tensor."""
        type_ = self.types[data_type]
        number = value if isinstance(value, Number) else self.converted(value, type_)
        if number.type.kind == "unsigned" and type_.kind != "unsigned":  # raw bits
            return Result(_of_bits(number.value, type_), 0.0)
        if type_.kind == "float":
            nearest = rounded(float(number.value), type_)
            if not math.isfinite(nearest):
                return Result(nearest, 0.0)
            inexact = abs(nearest - number.value)
            return Result(nearest, number.error + (inexact + self.unit(nearest, type_) if inexact else 0.0))
        if not fits(number.value, type_.bits, type_):
            self.notes.add(OVERFLOW)
        return Result(cut(number.value, type_.bits, type_), 0.0)

    def converted(self, value: Any, type_: EnumEntry) -> Number:
        """A plain number as an element of that type: in integers truncated toward 0."""
        if type_.kind == "float":
            return Number(self, float(value), type_)
        if not math.isfinite(value):
            self.notes.add(CONVERSION)
            return Number(self, 0 if math.isnan(value) else _limited(value, type_), type_)
        return Number(self, _limited(math.trunc(value), type_), type_)

    def made(self, value: Any, like: Number) -> Number:
        """A number as exact as another: its magnitude, its negation, its bits rearranged."""
        if like.is_float:
            self.look(like)
            return Number(self, value, like.type, like.error)
        bits = max(like.type.bits, 32)
        if not fits(value, bits, like.type):
            self.notes.add(OVERFLOW)
        return Number(self, cut(value, bits, like.type), like.type)

    def sum(self, x: Number, y: Number) -> Number:
        if not x.is_float:
            return self.made(x.value + y.value, x)
        self.look(x, y)
        return self._real(x.value + y.value, x, x.error + y.error)

    def product(self, x: Number, y: Number) -> Number:
        if not x.is_float:
            return self.made(x.value * y.value, x)
        self.look(x, y)
        return self._real(x.value * y.value, x, _finite(abs(x.value) * y.error + abs(y.value) * x.error))

    def quotient(self, x: Number, y: Number) -> Number:
        """For floats, with the error of a division that may be inexact; for integers truncated toward 0."""
        if not x.is_float:
            if y.value == 0:
                self.notes.add(DIVISION)
                return self.made(0, x)
            return self.made(_quotient(x.value, y.value), x)
        self.look(x, y)
        if y.value == 0:
            sign = math.copysign(1, y.value)
            infinite = x.value and not math.isnan(x.value)
            return Number(self, math.copysign(math.inf, x.value) * sign if infinite else math.nan, x.type)
        value = x.value / y.value
        passed_on = _finite((x.error + abs(value) * y.error) / abs(y.value))
        return self._real(value, x, passed_on, _ROUNDED)

    def of_bits(self, function: Callable[..., int], *numbers: Number) -> Number:
        """A function on the raw bits of elements: a number of the unsigned type of that size."""
        bits = numbers[0].type.bits
        type_ = next(one for one in self.types.values() if one.kind == "unsigned" and one.bits == bits)
        values = (_bits(number) for number in numbers)
        return Number(self, cut(function(*values), bits, type_), type_)

    def shifted(self, x: Number, y: Number, *, left: bool) -> Number:
        if not 0 <= y.value < x.type.bits:
            self.notes.add(SHIFT)
            return x
        bits = max(x.type.bits, 32)
        value = _bits(x)  # for any type
        shifted = value << y.value if left else value >> y.value
        return Number(self, cut(shifted, bits, x.type), x.type)

    def compared(self, compare: Callable[[Any, Any], bool], x: Number, y: Number) -> bool:
        self.look(x, y)
        if x.error + y.error and abs(x.value - y.value) <= x.error + y.error:
            self.notes.add(UNSTABLE)
        return compare(x.value, y.value)

    def inexact(self, x: Number) -> Number:
        """A float that had to be rounded to its type."""
        return self._real(x.value, x, x.error, _ROUNDED)

    def look(self, *numbers: Number) -> None:
        """Notes the properties of numbers from which something is computed."""
        for number in numbers:
            if number.is_float and not math.isfinite(number.value):
                self.notes.add(NAN if math.isnan(number.value) else INFINITY)

    def unit(self, value: float, type_: EnumEntry) -> float:
        """The unit in the last place; for subnormal numbers, which can become 0, the least normal number."""
        magnitude = abs(value)
        smallest = 2.0**type_.least_exponent
        return smallest if magnitude < smallest else magnitude * 2.0 ** (1 - type_.significand)

    def _real(self, value: float, like: Number, passed_on: float, units: int = 0) -> Number:
        """A float with propagated error and, if units are given or it is rounded, its own error."""
        if not math.isfinite(value):
            return Number(self, value, like.type)
        if not units and rounded(value, like.type) == value:
            return Number(self, value, like.type, passed_on)
        error = passed_on + max(units, _ROUNDED) * self.unit(value, like.type)
        return Number(self, value, like.type, error)

    def _function(self, function: Callable[[float], float]) -> Callable[[Any], Number]:
        def call(x: Number) -> Number:
            self.look(x)
            value = _called(function, x.value)
            ends = (_called(function, end) for end in x.interval) if x.error else ()
            passed_on = max((abs(end - value) for end in ends), default=0.0)
            return self._real(value, x, _finite(passed_on), _FUNCTION[x.type.bits])

        return call

    def _step(self, function: Callable[[float], float]) -> Callable[[Any], Number]:
        """A discontinuous function, such as `floor`."""

        def call(x: Number) -> Number:
            self.look(x)
            if not x.is_float:
                return self.made(function(x.value), x)
            if not math.isfinite(x.value):
                return x
            if x.error and len({function(end) for end in x.interval}) > 1:
                self.notes.add(UNSTABLE)
            return Number(self, math.copysign(float(function(x.value)), x.value), x.type)

        return call

    def _sign(self, x: Number) -> Number:
        self.look(x)
        return x.like((x.value > 0) - (x.value < 0))

    def _min(self, x: Any, y: Any) -> Any:
        return self._extreme(x, y, min)

    def _max(self, x: Any, y: Any) -> Any:
        return self._extreme(x, y, max)

    def _extreme(self, x: Any, y: Any, choose: Callable[..., Any]) -> Any:
        """Also for integers of a description; for elements NaN if either is, and -0 is less than 0."""
        if not isinstance(x, Number) and not isinstance(y, Number):
            return choose(x, y)
        x, y = (x, x.like(y)) if isinstance(x, Number) else (y.like(x), y)
        self.look(x, y)
        if math.isnan(x.value) or math.isnan(y.value):
            return Number(self, math.nan, x.type)
        chosen = choose(x, y, key=lambda one: (one.value, math.copysign(1, one.value)))
        return Number(self, chosen.value, x.type, max(x.error, y.error))

    def _larger(self, x: Number, y: Number) -> Number:
        if math.isnan(x.value) != math.isnan(x.like(y).value):
            self.notes.add(EITHER)
        return self._extreme(x, y, max)  # type: ignore[no-any-return]

    def _sqrt(self, x: Number) -> Number:
        self.look(x)
        value = _called(math.sqrt, x.value)
        passed_on = x.error / (2 * value) if value else math.sqrt(x.error)
        return self._real(value, x, _finite(passed_on), _ROUNDED)

    def _mean(self, x: Number, y: Number) -> Number:
        if x.is_float:
            return (x + y) * 0.5
        if (x.value + y.value) % 2:
            self.notes.add(HALF)
        if not fits(x.value + y.value, x.type.bits, x.type):
            self.notes.add(OVERFLOW)
        return self.made(_quotient(x.value + y.value, 2), x)

    def _pow(self, x: Number, y: Any) -> Number:
        self.look(x, *((y,) if isinstance(y, Number) else ()))
        exponent = y.value if isinstance(y, Number) else y
        if x.is_float:
            value = _called(math.pow, x.value, float(exponent))
            if x.value < 0 and isinstance(y, Number) and y.error:
                self.notes.add(UNSTABLE)  # odd, even or not an integer
            exponents = y.interval if isinstance(y, Number) and y.error else (float(exponent),)
            bases = x.interval if x.error else (x.value,)
            ends = (_called(math.pow, base, end) for base in bases for end in exponents)
            passed_on = max((abs(end - value) for end in ends), default=0.0)
            return self._real(value, x, _finite(passed_on), _FUNCTION[x.type.bits])
        if not math.isfinite(exponent) or exponent < 0 or exponent != math.trunc(exponent):
            self.notes.add(POWER)
            return x
        if abs(x.value) > 1 and exponent > 64:
            self.notes.add(OVERFLOW)
            return self.made(pow(x.value, int(exponent), 1 << 64), x)
        return self.made(x.value ** int(exponent), x)

    def _atan2(self, y: Number, x: Number) -> Number:
        self.look(x, y)
        if x.value == y.value == 0:
            self.notes.add(ORIGIN)
        return self._real(math.atan2(y.value, x.value), y, 0.0, _FUNCTION[y.type.bits])

    def _modulus_truncate(self, x: Number, y: Number) -> Number:
        return self._modulus(x, y, lambda a, b: a - b * _quotient(a, b), math.fmod)

    def _modulus_floor(self, x: Number, y: Number) -> Number:
        return self._modulus(x, y, operator.mod, operator.mod)

    def _modulus(
        self, x: Number, y: Number, whole: Callable[[int, int], int], real: Callable[[float, float], float]
    ) -> Number:
        self.look(x, y)
        if x.is_float:
            value = _called(real, x.value, y.value) if y.value and math.isfinite(x.value) else math.nan
            if not math.isfinite(value) or not x.error + y.error:
                return self._real(value, x, 0.0)
            quotients = {math.floor(end / divisor) for end in x.interval for divisor in y.interval if divisor}
            if len(quotients) > 1:
                self.notes.add(UNSTABLE)
            return self._real(value, x, _finite(x.error + max(map(abs, quotients)) * y.error))
        if y.value == 0:
            self.notes.add(DIVISION)
            return self.made(0, x)
        return self.made(whole(x.value, y.value), x)

    def _scaled(self, x: Number, scale: Any, bias: Any) -> Number:
        if x.is_float:
            found: Number = x * scale + bias
            return found
        value = x.value * float(scale) + float(bias)
        if value != math.trunc(value):
            self.notes.add(FRACTION)
        if not fits(math.trunc(value), x.type.bits, x.type):
            self.notes.add(CONVERSION)
        return Number(self, _limited(math.trunc(value), x.type), x.type)

    def _is_nan(self, x: Number) -> bool:
        return math.isnan(x.value)

    def _is_infinity(self, x: Any) -> bool:
        return math.isinf(x.value)

    def _above(self, x: Number, limit: Any) -> bool:
        self.look(x)
        return bool(x.value > limit)

    def _below(self, x: Number, limit: Any) -> bool:
        self.look(x)
        return bool(x.value < limit)

    def _bit_not(self, x: Number) -> Number:
        return self.of_bits(operator.invert, x)

    def _bit_count(self, x: Number) -> Number:
        return self.of_bits(int.bit_count, x)

    def _convert(self, x: Any, tensor: Any) -> Number:
        type_ = self.types[tensor.DataType]
        if type_.kind == "float":  # which may be computed in a wider type, and round and overflow later
            value, error = (x.value, x.error) if isinstance(x, Number) else (x, 0.0)
            return self._real(float(value), Number(self, 0.0, type_), error)
        if not isinstance(x, Number):
            if not (math.isfinite(x) and fits(math.trunc(x), type_.bits, type_)):
                self.notes.add(CONVERSION)
            return Number(self, cut(self.converted(x, type_).value, type_.bits, type_), type_)
        if x.is_float:
            if not math.isfinite(x.value):
                self.notes.add(CONVERSION)
            elif len({math.trunc(end) for end in x.interval}) > 1:
                self.notes.add(UNSTABLE)
            return self._convert(x.value, tensor)
        if not fits(x.value, type_.bits, type_):
            self.notes.add(CONVERSION)
        return Number(self, cut(x.value, type_.bits, type_), type_)

    def _quantize(self, x: Number, tensor: Any) -> Number:
        type_ = self.types[tensor.DataType]
        self.look(x)
        value = 0.0 if math.isnan(x.value) else x.value
        least, most = limits(type_.bits, type_)
        limited = min(max(value, least), most)
        if x.error and len({round(min(max(end, least), most)) for end in x.interval}) > 1:
            self.notes.add(UNSTABLE)
        return Number(self, round(limited), type_)


def _called(function: Callable[..., float], *arguments: float) -> float:
    """The function's value; NaN if it has none, and infinity if it is too large, or at a pole."""
    try:
        return function(*arguments)
    except OverflowError:
        negative = function in (math.sinh, math.pow) and arguments[0] < 0
        odd = function is not math.pow or arguments[1] % 2 == 1
        return -math.inf if negative and odd else math.inf
    except (ValueError, ZeroDivisionError):
        x = arguments[0]
        if function is math.pow:
            return math.copysign(math.inf, x if arguments[1] % 2 == 1 else 1) if x == 0 else math.nan
        if function is math.atanh:
            return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
        poles = {math.log: 0, math.log1p: -1}
        return -math.inf if function in poles and x == poles[function] else math.nan


def _gelu(x: float) -> float:
    return x / 2 * math.erfc(-x * math.sqrt(0.5)) if x > -40 else 0.0 * x if math.isnan(x) else 0.0


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _finite(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _quotient(x: int, y: int) -> int:
    """Truncated toward 0."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def rounded(value: float, type_: EnumEntry) -> float:
    """The nearest number of a float type, ties to even; infinite beyond its range."""
    if not math.isfinite(value):
        return value
    step = max(math.frexp(value)[1] - 1, type_.least_exponent) + 1 - type_.significand
    nearest = math.copysign(math.ldexp(round(math.ldexp(value, -step)), step), value)
    beyond = math.frexp(nearest)[1] > 2 - type_.least_exponent
    return math.copysign(math.inf, value) if beyond else nearest


def _bits(number: Number) -> int:
    """The raw bits of an element, as an unsigned integer."""
    type_, value = number.type, number.value
    if not number.is_float:
        return int(value) % (1 << type_.bits)
    stored = type_.significand - 1
    top = (1 << type_.bits - 1 - stored) - 1
    if math.isnan(value):
        magnitude = top << stored | 1 << stored - 1
    elif math.isinf(value):
        magnitude = top << stored
    else:
        least = type_.least_exponent
        exponent = max(math.frexp(value)[1] - 1, least) if value else least
        magnitude = int(math.ldexp(abs(value), stored - exponent)) + (exponent - least << stored)
    return magnitude | (math.copysign(1, value) < 0) << type_.bits - 1


def _of_bits(value: int, type_: EnumEntry) -> int | float:
    """The element with these raw bits."""
    if type_.kind != "float":
        return cut(value, type_.bits, type_)
    stored = type_.significand - 1
    magnitude, fraction = value & (1 << type_.bits - 1) - 1, value & (1 << stored) - 1
    exponent, top = magnitude >> stored, (1 << type_.bits - 1 - stored) - 1
    if exponent == top:
        element = math.nan if fraction else math.inf
    else:
        whole = fraction | (1 << stored if exponent else 0)
        element = math.ldexp(whole, max(exponent, 1) - 1 + type_.least_exponent - stored)
    return math.copysign(element, -1 if value >> type_.bits - 1 else 1)


def limits(bits: int, type_: EnumEntry) -> tuple[int, int]:
    return integer_range(bits, type_.kind)


def fits(value: int, bits: int, type_: EnumEntry) -> bool:
    least, most = limits(bits, type_)
    return least <= value <= most


def cut(value: int, bits: int, type_: EnumEntry) -> int:
    """The integer with these bits."""
    least, _ = limits(bits, type_)
    return (value - least) % (1 << bits) + least


def _limited(value: Any, type_: EnumEntry) -> int:
    """A whole number or an infinity clamped to 32 bits, or to 64 for types that have them."""
    least, most = limits(max(type_.bits, 32), type_)
    return least if value < least else most if value > most else int(value)
