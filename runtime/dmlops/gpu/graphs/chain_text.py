"""The HLSL of a chain of element-wise operators: their own functions, each called with results of others.

What an element-wise operator computes is the function Compute of its shader. The text of that function, and
of those that it calls, is put into its own namespace. A chain is a separate shader, or the epilogue of
the operator that it follows, in place of that one's function Finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from string import Template
from struct import pack
from typing import NamedTuple

from ...hlsl_types import HLSL_TYPES, HlslType
from .. import shader
from ..plans.operands import Tensor
from ..plans.tensors import unsigned_name
from ..preprocessing import function, resolved

_COMPUTE = re.compile(r"(?m)^(float|double) Compute\(")
_PRECISE = r"precise \1 Compute("
_BINDING = re.compile(r"\[\[vk::binding\((\d+), 0\)\]\]")
_OVER_RESULTS = re.compile(r"\[unroll\](\n *for .*\n.*\bFinished\()")
_ROUND = """\
// x rounded to float16. NVIDIA's driver drops conversions to float16 and back, unless something may change
// the bits between them: here, one NaN becomes another.
float RoundToFloat16(float x)
{
    return (float)asfloat16((uint16_t)(asuint16((float16_t)x) ^ (uint16_t)(asuint(x) == 0x7fedcba9u)));
}"""
_RESOURCE = r"\[\[vk::binding\({}, 0\)\]\] .*> (\w+) : register"
_CONSTANTS = re.compile(r"(\[\[vk::binding\(\d+, 0\)\]\] cbuffer Params [^}]*)\}")
_FINISHED = re.compile(
    r"^(\w+ )Finished(\((List|uint) at, \w+ total\))(?: \{.*|\n\{\n(?:.*\n)*?)\}\n", re.MULTILINE
)


class Part(NamedTuple):
    """An operator of a chain: its macros, the constants that its function reads, as declarations, and its
    tensors, the output last.

    `operands` are what it is called with: inputs of the chain by number, followed by the result of the
    operator that the chain follows, if any, and those of the parts before it; None represents an absent
    tensor.
    """

    operator: str
    defines: tuple[tuple[str, int | str], ...]
    constants: tuple[str, ...]
    tensors: Sequence[Tensor]
    operands: Sequence[int | None]


def text(parts: Sequence[Part], inputs: Sequence[Tensor], defines: Mapping[str, int | str]) -> str:
    """A shader whose only macro is NUM_THREADS. The planner has `defines` for inputs X0, X1 and so on and an
    OUTPUT."""
    count, vector, output = len(inputs), int(defines["VECTOR"]), parts[-1].tensors[-1]
    reads = [_read(number, one, int(defines[f"X{number}_VECTOR"])) for number, one in enumerate(inputs)]
    names = _names(parts)
    entries, stored = _entries(output, vector), _type(output).stored
    resources = [
        *(read.resource for read in reads),
        f"[[vk::binding({count}, 0)]] RWStructuredBuffer<{entries}> outputTensor : register(u0);",
    ]
    values = [*_elements(inputs, reads), *_calls(parts, inputs, names)]
    values.append(f"results[k] = ({stored})v{count + len(parts) - 1};")
    results = ", ".join(f"results[{k}]" for k in range(vector))
    _, _, body = files(__package__).joinpath("chain.hlsl").read_text("utf-8").partition("\n\n")
    return Template(body).substitute(
        quarters=(count + 6) // 4,
        resources="\n".join(resources),
        constants=count + 1,
        head=(count + 5) // 4,
        functions=_functions(parts, names),
        rank=defines["RANK"],
        vectors=defines["VECTORS"],
        loaded="\n".join(f"    {read.loaded}[{defines['VECTORS']}];" for read in reads if read.load),
        loads="\n".join(f"        {read.load}" for read in reads if read.load),
        stored=stored,
        result=f"{entries.strip()}({results})" if vector > 1 else results,
        vector=vector,
        loop=_treatment(names),
        values=_lines(values, 12),
        output=_place(count),
    )


class Epilogue(NamedTuple):
    """A chain that takes the results of an operator, which are stored in the layout of `result`, and tensors
    with strides for the same coordinates; `steps` are those for the coordinates that the operator itself has,
    None where there are none."""

    parts: Sequence[Part]
    inputs: Sequence[Tensor]
    result: Tensor
    steps: Sequence[tuple[int, ...] | None]


class Followed(NamedTuple):
    """A shader, and the constants that it has after its own, which end at a multiple of 16 bytes."""

    text: str
    constants: bytes


NOT_FOLLOWED = Followed("", b"")
"""Of a shader that does not write the output."""


def followed(
    source: str, macros: Mapping[str, int | str], output: int, epilogue: Epilogue
) -> Followed | None:
    """A shader whose results go through a chain before it stores them.

    It has its output as binding `output`, the first one after those that it reads; the inputs of the chain
    come before that. None if the shader stores results in other ways than by the function Finished, or if
    offsets in the output do not lead to the inputs.
    """
    parts, inputs, result, steps = epilogue
    own = _resolved(source, tuple(macros.items()))
    found, resource = _FINISHED.search(own), re.search(_RESOURCE.format(output), own)
    if found is None:
        is_elsewhere = resource is None or len(re.findall(rf"\b{resource[1]}\b", own)) == 1
        return NOT_FOLLOWED if is_elsewhere else None
    head, parameters, kind = found.groups()
    places = _by_coordinate(steps) if kind == "List" else _by_offset(inputs, result)
    if places is None:
        return None
    names, count = _names(parts), len(inputs)
    reads = [
        _behind(number, one, place, output)
        for number, (one, place) in enumerate(zip(inputs, places.of, strict=True))
    ]
    values = [
        *_elements(inputs, reads),
        f"const {_type(result).value} v{count} = FinishedAlone(at, total);",
        *_calls(parts, [*inputs, result], names, count),
        f"return {_converted(f'v{count + len(parts)}', parts[-1].tensors[-1], result)};",
    ]
    functions = (
        f"{found[0].replace('Finished', 'FinishedAlone', 1)}\n{_functions(parts, names)}\n\n"
        f"// After the chain\n{head}Finished{parameters}\n{{\n{_lines(values, 4)}\n}}\n"
    )
    own = own[: found.start()] + functions + own[found.end() :]
    if kind == "uint":  # products keep their sums in registers, which only unrolled loops can address
        own = _OVER_RESULTS.sub(rf"[{_treatment(names)}]\1", own)
    own = _BINDING.sub(lambda one: _shifted(int(one[1]), output, count), own)
    resources = "".join(f"{read.resource}\n" for read in reads)
    words = len(places.words)
    constants = f"    uint4 chain[{words // 4}];  // {places.meaning}\n" if words else ""
    text = _CONSTANTS.sub(rf"{resources}\n\1{constants}}}", own, count=1)
    return Followed(text, pack(f"<{words}I", *places.words))


class _Places(NamedTuple):
    """The offset of an element in each input of a chain, as expressions, and their constants."""

    of: list[str]
    words: list[int]
    meaning: str


def _by_coordinate(steps: Sequence[tuple[int, ...] | None]) -> _Places | None:
    """From the coordinate of a result; None if an input has no strides for that."""
    places = _Places([], [], "strides of the chain's inputs")
    for strides in steps:
        if strides is None:
            return None
        first = len(places.words)
        terms = [f"(uint)at.entries[{d}] * {_word(first + d)}" for d in range(len(strides))]
        places.of.append(" + ".join(terms))
        places.words.extend([*strides, *[0] * (-len(strides) % 4)])
    return places


def _by_offset(inputs: Sequence[Tensor], result: Tensor) -> _Places | None:
    """From the offset of a result; None if the dimensions of its tensor do not lie within each other.

    A dimension's coordinate is what is left of the offset within the next outer one, divided by the stride.
    """
    places = _Places([], [], "modulus, divisor and stride of dimensions, for the chain's inputs")
    for one in inputs:
        steps = list(zip(result.strides, result.sizes, one.strides, strict=True))
        if all(own == stride for own, size, stride in steps if size > 1):
            places.of.append("at")
            continue
        outer = 2**32 - 1
        found: list[tuple[int, int, int]] = []
        for own, size, stride in sorted((step for step in steps if step[1] > 1), reverse=True):
            modulus = outer
            if own * size > outer:
                return None
            if found and found[-1][1:] == (own * size, stride * size):  # the two are one
                modulus = found.pop()[0]
            found.append((modulus, own, stride))
            outer = own
        terms = []
        for *divided, stride in found:
            if stride:
                x, y, z = (_word(len(places.words) + k) for k in range(3))
                terms.append(f"at % {x} / {y} * {z}")
                places.words.extend([*divided, stride, 0])
        places.of.append(" + ".join(terms) or "0")
    return places


def _word(number: int) -> str:
    return f"chain[{number // 4}].{'xyzw'[number % 4]}"


@lru_cache(maxsize=64)
def _resolved(source: str, macros: tuple[tuple[str, int | str], ...]) -> str:
    """The text of a variant, of which the layers of a model share a few."""
    return resolved(source, dict(macros))


def _behind(number: int, one: Tensor, place: str, output: int) -> _Read:
    """An input of a chain that follows an operator."""
    at = output + number
    resource = f"[[vk::binding({at}, 0)]] StructuredBuffer<{_entries(one, 1)}> x{number} : register(t{at});"
    return _Read(resource, _element(one, f"x{number}", place))


def _shifted(binding: int, output: int, count: int) -> str:
    return f"[[vk::binding({binding + (count if binding >= output else 0)}, 0)]]"


def _names(parts: Sequence[Part]) -> dict[str, str]:
    """A namespace for each function of a chain."""
    names: dict[str, str] = {}
    for part in parts:
        body = _function(part.operator, part.defines, part.constants)
        names.setdefault(body, f"{part.operator.lower()}_{len(names)}")
    return names


def _treatment(names: Mapping[str, str]) -> str:
    """How loops over elements compile: a driver that vectorizes unrolled iterations may drop `precise`."""
    return "loop" if any("precise " in body.lower() for body in names) else "unroll"


def _functions(parts: Sequence[Part], names: Mapping[str, str]) -> str:
    """The functions of parts, in their namespaces, and what rounds results of float16.

    They and their results are precise, so that each operator gives what its own shader gives: compilers would
    take x - x for 0 and exp(log(x)) for x, also where x is NaN. DXC looks at what a function returns for
    SPIR-V, and at the variable that takes it for DXIL.
    """
    has_float16 = any(tensor.type_name == "FLOAT16" for part in parts for tensor in part.tensors)
    namespaces = (f"namespace {name}\n{{\n{_COMPUTE.sub(_PRECISE, body)}}}" for body, name in names.items())
    return "\n\n".join([*([_ROUND] if has_float16 else []), *namespaces])


def _lines(values: Sequence[str], indent: int) -> str:
    return "\n".join(f"{'':{indent}}{line}" for line in values)


class _Read(NamedTuple):
    """The declaration of an input, its element k, and what is loaded for each vector u, if anything."""

    resource: str
    element: str
    loaded: str = ""
    load: str = ""


def _read(number: int, one: Tensor, vector: int) -> _Read:
    name, place, value = f"x{number}", _place(number), _type(one).value
    binding = f"[[vk::binding({number}, 0)]] StructuredBuffer<{_entries(one, vector)}> {name}"
    resource = f"{binding} : register(t{number});"
    if one.bits == 8 and vector > 1:
        load = f"word{number}[u] = {name}[{place} / 4] >> ({place} % 4 * 8);"
        return _Read(
            resource, f"({value})(word{number}[u] << (24 - 8 * k)) >> 24", f"uint word{number}", load
        )
    if vector > 1:
        load = f"vector{number}[u] = {name}[{place} / {vector}];"
        loaded = f"{_entries(one, vector)}vector{number}"
        return _Read(resource, f"({value})vector{number}[u][k]", loaded, load)
    step = f"{place} + k * head[{(number + 2) // 4}].{'xyzw'[(number + 2) % 4]}"
    return _Read(resource, _element(one, name, step))


def _element(one: Tensor, name: str, place: str) -> str:
    """An element of a buffer that has one per entry, or bytes in words."""
    value = _type(one).value
    if one.bits == 8:
        return f"({value})({name}[({place}) / 4] << (24 - ({place}) % 4 * 8)) >> 24"
    return f"({value}){name}[{place}]"


def _elements(inputs: Sequence[Tensor], reads: Sequence[_Read]) -> Iterator[str]:
    """A line for each input."""
    for at, (one, read) in enumerate(zip(inputs, reads, strict=True)):
        yield f"const {_type(one).value} v{at} = {read.element};"


def _calls(
    parts: Sequence[Part], before: Sequence[Tensor], names: Mapping[str, str], loaded: int | None = None
) -> Iterator[str]:
    """A line for each part; of the tensors before them, the first are `loaded`, all if None."""
    written = [*before, *(part.tensors[-1] for part in parts)]
    for at, part in enumerate(parts, len(before)):
        name = names[_function(part.operator, part.defines, part.constants)]
        operands = [
            "0"
            if operand is None
            else f"v{operand}"
            if operand < (len(before) if loaded is None else loaded)
            else _converted(f"v{operand}", written[operand], tensor)
            for operand, tensor in zip(part.operands, part.tensors, strict=False)
        ]
        kind = _type(written[at])
        treatment = "precise" if kind.is_float else "const"
        yield f"{treatment} {kind.value} v{at} = {name}::Compute({', '.join(operands)});"


def _converted(value: str, written: Tensor, read: Tensor) -> str:
    """A result as an operator sees it that reads it from memory: rounded to the type of the tensor."""
    bits, found, wanted = written.bits, _type(written), _type(read)
    if bits == 8:
        return f"({wanted.value})({wanted.value})((uint){value} << 24) >> 24"
    if found.is_float and wanted.is_float and bits == 16:
        return f"RoundToFloat16({value})"
    if found.is_float == wanted.is_float:
        return f"({wanted.value})({wanted.stored}){value}"
    if found.is_float:
        return f"asuint({value})" if bits == 32 else f"(uint)asuint16((float16_t){value})"
    return f"asfloat({value})" if bits == 32 else f"(float)asfloat16((uint16_t){value})"


def _type(one: Tensor) -> HlslType:
    return HLSL_TYPES[unsigned_name(one.bits) if one.as_bits else one.type_name]


def _entries(one: Tensor, vector: int) -> str:
    """The type of a buffer's entries, with a space that keeps two angle brackets apart."""
    stored = _type(one).stored
    return f"vector<{stored}, {vector}> " if vector > 1 and one.bits >= 16 else stored


def _place(number: int) -> str:
    """The offset of the first element of vector u in a tensor."""
    return f"places[u][{(number + 2) // 4}].{'xyzw'[(number + 2) % 4]}"


@lru_cache(maxsize=512)
def _function(operator: str, defines: tuple[tuple[str, int | str], ...], constants: tuple[str, ...]) -> str:
    body = function(shader(operator), dict(defines), "Compute")
    return "".join(f"static const {one};\n" for one in constants) + body
