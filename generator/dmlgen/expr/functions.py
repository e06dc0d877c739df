"""The functions of the expression language: names, argument and result types, meaning."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr.ir import BOOL, ELEMENT, INT, INTS, Type

DATA_TYPE = Type("enum", "TENSOR_DATA_TYPE")


@dataclass(frozen=True, slots=True)
class Function:
    """A function's signature; `arguments` lists the accepted types of each argument."""

    arguments: tuple[tuple[Type, ...], ...]
    result: Type
    meaning: str


FUNCTIONS: dict[str, Function] = {
    "abs": Function(((INT,),), INT, "magnitude"),
    "min": Function(((INT,), (INT,)), INT, "the smaller of two"),
    "max": Function(((INT,), (INT,)), INT, "the larger of two"),
    "product": Function(((INTS,),), INT, "product of all entries; 1 of none"),
    "sum": Function(((INTS,),), INT, "sum of all entries"),
    "len": Function(((INTS,),), INT, "number of entries"),
    "align": Function(
        ((INTS,), (INT,), (INT,)),
        INTS,
        "the array at that length, right-aligned: leading entries are cut, or added",
    ),
    "replace": Function(((INTS,), (INT,), (INT,)), INTS, "the array with one entry replaced"),
    "wrap": Function(
        ((ELEMENT,), (INT,)),
        INT,
        "an index into that many: negative counts from the end, then clamped into range",
    ),
    "bits": Function(((DATA_TYPE,),), INT, "bits of one element; 0 of an unknown type"),
    "signed": Function(((DATA_TYPE,),), BOOL, "whether the type is a signed integer"),
    "power_of_two": Function(((INT,),), BOOL, "whether the integer is a power of two"),
}
