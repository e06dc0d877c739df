"""The functions of the expression language: names, argument and result types, meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dmlgen.expr.ir import BOOL, FLOATS, INT, INTS, TENSOR, TENSORS, Type

DATA_TYPE = Type("enum", "TENSOR_DATA_TYPE")
OPERATOR = Type("struct", "OPERATOR_DESC")  # a fused activation


@dataclass(frozen=True, slots=True)
class Function:
    """A function's signature; `arguments` lists the accepted types of each argument.

    `is_a` says what holds if it is true, after "it is ..." and "it must be ...". A definition cannot use what
    is `only_of_rules`.
    """

    arguments: tuple[tuple[Type, ...], ...]
    result: Type
    meaning: str
    is_a: str = ""
    only_of_rules: bool = False

    @property
    def of_values(self) -> bool:
        """Whether its arguments are single values."""
        return not any({INTS, FLOATS, TENSORS} & set(argument) for argument in self.arguments)


FUNCTIONS: dict[str, Function] = {
    "abs": Function(((INT,),), INT, "magnitude"),
    "min": Function(((INT,), (INT,)), INT, "the smaller of two"),
    "max": Function(((INT,), (INT,)), INT, "the larger of two"),
    "product": Function(((INTS,),), INT, "product of all entries; 1 if there are none"),
    "sum": Function(((INTS,),), INT, "sum of all entries"),
    "len": Function(((INTS, FLOATS, TENSORS),), INT, "number of entries"),
    "align": Function(
        ((INTS,), (INT,), (INT,)),
        INTS,
        "the array right-aligned to that length: leading entries are dropped or added",
    ),
    "replace": Function(((INTS,), (INT,), (INT,)), INTS, "the array with one entry replaced"),
    "bits": Function(((DATA_TYPE,),), INT, "bits per element; 0 for an unknown type", only_of_rules=True),
    "signed": Function(((DATA_TYPE,),), BOOL, "whether the type is a signed integer", only_of_rules=True),
    "power_of_two": Function(
        ((INT,),),
        BOOL,
        "whether the integer is a power of two",
        is_a="a power of two",
        only_of_rules=True,
    ),
}
"""A function of numbers is in `arithmetic` under its name, and in C `dmlops_` comes before it."""

PREDICATES = {name: one.is_a for name, one in FUNCTIONS.items() if one.is_a}


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A name for an expression that specs need repeatedly.

    In rules it is expanded, so no target needs to know it; in a definition it is a function like those of
    `let`. A loop variable in it is named `d`.
    """

    parameters: Mapping[str, Type]
    text: str
    meaning: str


SHORTHANDS: Mapping[str, Shorthand] = {
    "is_scalar": Shorthand(
        {"T": TENSOR}, "all(T.Sizes[d] == 1 for d in axes(T))", "whether all sizes are 1: T is a single value"
    ),
    "broadcasts": Shorthand(
        {"T": TENSOR, "U": TENSOR},
        "all(T.Sizes[d] == U.Sizes[d] for d in axes(T) if T.Sizes[d] != 1)",
        "whether each size of T is that of U, or 1",
    ),
    "per_axis": Shorthand(
        {"T": TENSOR, "axis": INT, "n": INT},
        "T.Sizes[axis] in (1, n) and all(T.Sizes[d] == 1 for d in axes(T) if d != axis)",
        "whether T is a single value, or n values along one axis",
    ),
    "leading_ones": Shorthand(
        {"sizes": INTS, "n": INT},
        "all(sizes[d] == 1 for d in range(max(n, 0)))",
        "whether the first n sizes are 1; true if n is negative",
    ),
    "row_axis": Shorthand(
        {"T": TENSOR},
        "max(T.DimensionCount - 2, 0)",
        "the row axis of a matrix, the second to last",
    ),
    "column_axis": Shorthand({"T": TENSOR}, "T.DimensionCount - 1", "the column axis of a matrix, the last"),
    "channel_axis": Shorthand({"T": TENSOR}, "min(T.DimensionCount - 1, 1)", "the channel axis, the second"),
    "windows": Shorthand(
        {"size": INT, "window": INT, "stride": INT},
        "max(size - window, 0) // stride + 1",
        "the number of positions of a window that slides over that size; at least one",
    ),
}

PRELUDE: Mapping[str, Shorthand] = {
    "broadcast": Shorthand(
        {"T": TENSOR},
        "T[[at[d] if T.Sizes[d] != 1 else 0 for d in axes(T)]]",
        "the element of T at `at`, with T broadcast",
    ),
    "pick": Shorthand(
        {"T": TENSOR, "d": INT, "i": INT},
        "T[[i if e == d and T.Sizes[e] != 1 else 0 for e in axes(T)]]",
        "the element of T with index i along axis d, or the only one there",
    ),
}
"""More of them, for definitions only."""

PREDEFINED = {**SHORTHANDS, **PRELUDE}
"""The functions of every definition that are written in the language."""


@dataclass(frozen=True, slots=True)
class ElementFunction:
    """A function of elements in computations; the result has their type unless stated otherwise.

    All `element` arguments have the same type. `any` arguments can have any type, including FLOAT members;
    `float` arguments are FLOAT members or numbers, `activation` ones fused activations.
    `of_integers`: it is also defined for integers; `widens`: those are computed in double precision.
    """

    arguments: tuple[Literal["element", "any", "float", "activation"], ...]
    meaning: str
    result: Literal["element", "bool"] = "element"
    of_integers: bool = True
    widens: bool = False


def _unary(meaning: str) -> ElementFunction:
    return ElementFunction(("element",), meaning)


def _real(meaning: str) -> ElementFunction:
    return ElementFunction(("element",), meaning, of_integers=False)


def _binary(meaning: str) -> ElementFunction:
    return ElementFunction(("element", "element"), meaning)


ELEMENT_FUNCTIONS: Mapping[str, ElementFunction] = {
    "abs": _unary("magnitude; the least signed integer is unchanged"),
    "sign": _unary("-1, 0 or 1; 0 for NaN"),
    "floor": _real("rounded down"),
    "ceil": _real("rounded up"),
    "trunc": _real("rounded toward 0"),
    "round_even": _real("rounded to the nearest integer, ties to even"),
    "round_away": _real("rounded to the nearest integer, ties away from 0"),
    "sqrt": _real("square root"),
    "exp": _real("e to that power"),
    "expm1": _real("exp(x) - 1, exact near 0"),
    "log": _real("natural logarithm"),
    "log1p": _real("log(1 + x), exact near 0"),
    "sin": _real("sine"),
    "cos": _real("cosine"),
    "tan": _real("tangent"),
    "asin": _real("arc sine"),
    "acos": _real("arc cosine"),
    "atan": _real("arc tangent"),
    "sinh": _real("hyperbolic sine"),
    "cosh": _real("hyperbolic cosine"),
    "tanh": _real("hyperbolic tangent"),
    "asinh": _real("inverse hyperbolic sine"),
    "acosh": _real("inverse hyperbolic cosine"),
    "atanh": _real("inverse hyperbolic tangent"),
    "erf": _real("error function"),
    "gelu": _real("x / 2 * (1 + erf(x * sqrt(1 / 2))), but 0 where the sum is 0, exact below -5"),
    "softplus": _real("log(1 + exp(x)), without overflow"),
    "bit_not": _unary("every bit inverted"),
    "bit_count": _unary("the number of bits set"),
    "min": _binary("the smaller; NaN if either is"),
    "max": _binary("the larger; NaN if either is"),
    "larger": _binary("the larger; either one if one is NaN"),
    "mean": _binary("half of the sum; for integers without overflow, truncated toward 0"),
    "pow": ElementFunction(
        ("element", "any"),
        "the first to the power of the second; for integers truncated toward 0, and exact if both are",
        widens=True,
    ),
    "atan2": ElementFunction(("element", "element"), "angle of the point (second, first)", of_integers=False),
    "modulus_truncate": _binary("remainder with the sign of the dividend"),
    "modulus_floor": _binary("remainder with the sign of the divisor"),
    "scaled": ElementFunction(
        ("element", "float", "float"), "x * scale + bias; for integer types truncated toward 0", widens=True
    ),
    "is_nan": ElementFunction(("element",), "whether it is NaN", "bool", of_integers=False),
    "is_infinity": ElementFunction(("element",), "whether it is infinite", "bool", of_integers=False),
    "above": ElementFunction(
        ("element", "float"), "whether it is greater than a number, which can be fractional", "bool"
    ),
    "below": ElementFunction(
        ("element", "float"), "whether it is less than a number, which can be fractional", "bool"
    ),
    "apply_activation": ElementFunction(
        ("element", "activation"), "the result of a fused activation; unchanged without one"
    ),
}

CONVERSIONS: Mapping[str, str] = {
    "convert": "in the type of another tensor: floats are truncated toward 0 and clamped to 32 bits "
    "(64 for 64-bit types), NaN becomes 0, and then high bits are cut off",
    "quantize": "a float in the type of another tensor: rounded to the nearest integer, ties to even, and "
    "clamped to its range; NaN becomes 0",
}
"""Functions of a number and a tensor, whose element type the result has."""
