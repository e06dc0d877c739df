"""Names in shaders: which are taken, and what tensors, functions and constants are called."""

from __future__ import annotations

import re

from dmlgen.expr import ir
from dmlgen.names import HLSL_WORDS, shader_variable, words

WORDS = HLSL_WORDS | words(
    """activations best column count first found group groupColumns item lower position rank result row
    scratch sizes thread value"""
)
"""Words of HLSL, its functions that shaders call, and names in the text around an expression."""

HELPERS = words(
    """List Elements ListOf Join Part Entry Align Replace RavelIndex UnravelIndex UnravelIndexBy
    InBounds Added Multiplied FloorQuotient FloorRemainder FloorQuotientBy FloorRemainderBy
    WideFloorQuotient WideFloorRemainder Narrow IsBox
    RowOf RowEnd AdvanceRow Activate Activation Dimension DivideBySize Numbered CSMain
    LoadReal LoadLong LoadBool LoadInt LoadPacked StoreReal StoreLong StoreBool StoreInt"""
)
"""Names in the text around functions."""


def local(name: str) -> str:
    """A parameter or a loop variable in HLSL."""
    return f"{name}_" if name in WORDS else name


def pascal(name: str) -> str:
    """A name of a spec in Pascal case: strided_position, StridedPosition."""
    return "".join(part[0].upper() + part[1:] for part in name.split("_") if part)


def word(node: ir.Expr) -> str:
    """The name of a value of the description: that of what it is, or of the first thing that it is computed
    from."""
    match node:
        case ir.Definition(name=name) | ir.Member(name=name) | ir.Local(name="index" as name):
            return name
        case ir.Apply(function=function):
            return function.name
        case ir.Part(member=member, name=name):
            return member.name + name
        case ir.Field(tensor=tensor, name=name):
            return plain(tensor.entry) + name
        case ir.Tensor(name=name):
            return plain(name)
        case ir.Call(function="convert" | "element", arguments=(item, *_)):
            return word(item)
        case ir.Call(function=name):
            return name
        case ir.Compare():
            return "Is" + word(node.right)
        case ir.EnumValue(name=name):
            return name.capitalize()
        case ir.Index(sequence=sequence):
            return word(sequence) + "Entry"
    return next((word(child) for child in ir.children(node)), "Number")


def plain(tensor: str) -> str:
    """A tensor's name without the word: InputTensor becomes Input, InputTensors[1] becomes Input1."""
    found = ir.Tensor.of(tensor)
    name = found.name.removesuffix("Tensors").removesuffix("Tensor") or found.name
    return name + ("" if found.place is None else str(found.place))


def camel(name: str) -> str:
    """A name of the ABI as a variable of a shader: InputTensor becomes inputTensor."""
    return shader_variable(name[0].lower() + name[1:])


def macro(name: str) -> str:
    """A name of the ABI as a macro: ScaleBias becomes SCALE_BIAS."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
