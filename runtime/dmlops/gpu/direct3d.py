"""The inputs of Direct3D 12 to run a plan: the compiler's arguments, and the resources that a shader uses.

The compiler drops a resource that no instruction accesses, and a root signature derived from the compiled
shader, as in DxDispatch, has no slot for it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from . import compiler, shader
from .work import Dispatch

CONSTANTS = "Params"  # the constant buffer of every shader

_RESOURCE = re.compile(r"\[\[vk::binding\((\d+), 0\)\]\] (?:\w+ )?(?:RW)?StructuredBuffer<[^>]*> (\w+)")
_BINDING = re.compile(
    r"(\[\[vk::binding\((\d+), 0\)\]\] (?:\w+ )?)(?:RW)?(StructuredBuffer<.*> \w+) : register\(\w+\)"
)
_REGISTER = re.compile(r" : register\([a-z]\d+\)")
_STRUCTURE = re.compile(r"^; Resource bind info for (\w+)\n(?:;.*\n)*?;.*\$Element\b.*Size: +(\d+)$", re.M)
_BOUND = re.compile(r"^; (\w+) +(cbuffer|texture|UAV) ", re.M)


class Resource(NamedTuple):
    """A structured buffer of a compiled shader: its name there, the plan's buffer, and bytes per
    structure."""

    name: str
    buffer: str
    stride: int


class Shader(NamedTuple):
    """A compiled dispatch. `has_constants`: the shader reads its constant buffer."""

    arguments: list[str]
    resources: list[Resource]
    has_constants: bool


def source(operator: str) -> str:
    """The HLSL of an operator, with registers left to the compiler.

    It numbers the resources that a variant uses, of each kind, from 0 on without gaps.
    """
    return _REGISTER.sub("", shader(operator))


def writable(text: str) -> str:
    """HLSL in which every buffer is one that can be written, at register u0 and so on in the order of
    bindings: a resource with buffers of both kinds would have to be in two states at once."""
    return _BINDING.sub(r"\1RW\3 : register(u\2)", text)


def compiled(operator: str, dispatch: Dispatch) -> Shader:
    """The shader of a dispatch, as compiled. Raises GpuUnavailable without a compiler."""
    text = source(dispatch.shader or operator)
    code = compiler.compile(text, dispatch.defines, "dxil")
    listing = compiler.find().disassemble(code)
    bound = {name for name, _ in _BOUND.findall(listing.partition("; Resource Bindings:")[2])}
    strides = {name: int(size) for name, size in _STRUCTURE.findall(listing)}
    resources = [
        Resource(name, dispatch.buffers[int(place)], strides[name])
        for place, name in _RESOURCE.findall(text)
        if name in bound
    ]
    return Shader(compiler.arguments(dispatch.defines, "dxil"), resources, CONSTANTS in bound)
