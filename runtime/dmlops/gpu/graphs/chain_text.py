"""The HLSL of a chain of element-wise operators: their own functions, each called with results of others.

What an element-wise operator computes is the function Compute of its shader. The text of that function, and
of those that it calls, is put into a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import NamedTuple

from .. import shader
from ..plans.operands import Tensor
from ..plans.types import stored_type, value_type
from ..preprocessing import function


class Part(NamedTuple):
    """An operator of a chain: its macros, the constants that its function reads, as declarations, and its
    tensors, the output last.

    `operands` are what it is called with: inputs of the chain by number, followed by the results of the
    parts before it; None stands for a tensor that is absent.
    """

    operator: str
    defines: tuple[tuple[str, int | str], ...]
    constants: tuple[str, ...]
    tensors: Sequence[Tensor]
    operands: Sequence[int | None]


def text(parts: Sequence[Part], inputs: Sequence[Tensor], defines: Mapping[str, int | str]) -> str:
    """A shader without macros. The planner has `defines` for inputs X0, X1 and so on and an OUTPUT."""
    count, vector, output = len(inputs), int(defines["VECTOR"]), parts[-1].tensors[-1]
    reads = [_read(number, one, int(defines[f"X{number}_VECTOR"])) for number, one in enumerate(inputs)]
    names: dict[str, str] = {}
    for part in parts:
        body = _function(part.operator, part.defines, part.constants)
        names.setdefault(body, f"{part.operator.lower()}_{len(names)}")
    entries, stored = _entries(output, vector), stored_type(*_type(output))
    resources = [
        *(read.resource for read in reads),
        f"[[vk::binding({count}, 0)]] RWStructuredBuffer<{entries}> outputTensor : register(u0);",
    ]
    values = [
        f"const {value_type(*_type(one))} v{at} = {reads[at].element};" for at, one in enumerate(inputs)
    ]
    values += _calls(parts, inputs, names)
    values.append(f"results[k] = ({stored})v{count + len(parts) - 1};")
    results = ", ".join(f"results[{k}]" for k in range(vector))
    _, _, body = files(__package__).joinpath("chain.hlsl").read_text("utf-8").partition("\n\n")
    return Template(body).substitute(
        quarters=(count + 4) // 4,
        resources="\n".join(resources),
        constants=count + 1,
        head=(count + 5) // 4,
        functions="\n\n".join(f"namespace {name}\n{{\n{body}}}" for body, name in names.items()),
        threads=defines["NUM_THREADS"],
        rank=defines["RANK"],
        loads="\n".join(f"    {read.load}" for read in reads if read.load),
        stored=stored,
        result=f"{entries.strip()}({results})" if vector > 1 else results,
        vector=vector,
        # a driver that vectorizes unrolled iterations may drop `precise`
        loop="loop" if any("precise " in body.lower() for body in names) else "unroll",
        values="\n".join(f"        {line}" for line in values),
        output=_place(count),
    )


class _Read(NamedTuple):
    """The declaration of an input, what is loaded for a whole vector, if anything, and its element k."""

    resource: str
    load: str
    element: str


def _read(number: int, one: Tensor, vector: int) -> _Read:
    name, place, value = f"x{number}", _place(number), value_type(*_type(one))
    binding = f"[[vk::binding({number}, 0)]] StructuredBuffer<{_entries(one, vector)}> {name}"
    resource = f"{binding} : register(t{number});"
    step = f"{place} + k * head[{(number + 2) // 4}].{'xyzw'[(number + 2) % 4]}"
    if one.bits == 8 and vector > 1:
        load = f"const uint word{number} = {name}[{place} / 4] >> ({place} % 4 * 8);"
        return _Read(resource, load, f"({value})(word{number} << (24 - 8 * k)) >> 24")
    if one.bits == 8:
        return _Read(resource, "", f"({value})({name}[({step}) / 4] << (24 - ({step}) % 4 * 8)) >> 24")
    if vector > 1:
        load = f"const {_entries(one, vector)}vector{number} = {name}[{place} / {vector}];"
        return _Read(resource, load, f"({value})vector{number}[k]")
    return _Read(resource, "", f"({value}){name}[{step}]")


def _calls(parts: Sequence[Part], inputs: Sequence[Tensor], names: Mapping[str, str]) -> Iterator[str]:
    """A line for each part."""
    written = [*inputs, *(part.tensors[-1] for part in parts)]
    for at, part in enumerate(parts, len(inputs)):
        name = names[_function(part.operator, part.defines, part.constants)]
        operands = [
            "0"
            if operand is None
            else f"v{operand}"
            if operand < len(inputs)
            else _converted(f"v{operand}", written[operand], tensor)
            for operand, tensor in zip(part.operands, part.tensors, strict=False)
        ]
        yield f"const {value_type(*_type(written[at]))} v{at} = {name}::Compute({', '.join(operands)});"


def _converted(value: str, written: Tensor, read: Tensor) -> str:
    """A result as an operator sees it that reads it from memory: rounded to the type of the tensor."""
    (bits, is_float, _), wanted = _type(written), _type(read)
    stored, own = stored_type(*wanted), value_type(*wanted)
    if bits == 8:
        return f"({own})({own})((uint){value} << 24) >> 24"
    if is_float == wanted[1]:
        return f"({own})({stored}){value}"
    if is_float:
        return f"asuint({value})" if bits == 32 else f"(uint)asuint16((float16_t){value})"
    return f"asfloat({value})" if bits == 32 else f"(float)asfloat16((uint16_t){value})"


def _type(one: Tensor) -> tuple[int, bool, bool]:
    """Bits, and whether elements are floats or signed as they are computed."""
    return one.bits, one.is_float and not one.as_bits, one.is_signed and not one.as_bits


def _entries(one: Tensor, vector: int) -> str:
    """The type of a buffer's entries, with a space that keeps two angle brackets apart."""
    stored = stored_type(*_type(one))
    return f"vector<{stored}, {vector}> " if vector > 1 and one.bits >= 16 else stored


def _place(number: int) -> str:
    """The offset of a vector's first element in a tensor."""
    return f"places[{number // 4}].{'xyzw'[number % 4]}"


@lru_cache(maxsize=512)
def _function(operator: str, defines: tuple[tuple[str, int | str], ...], constants: tuple[str, ...]) -> str:
    body = function(shader(operator), dict(defines), "Compute")
    return "".join(f"static const {one};\n" for one in constants) + body
