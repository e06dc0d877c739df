"""Tensors of shaders: their names there, and the types that their elements may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_names import camel, macro, plain
from dmlgen.outputs.hlsl_types import HlslType, hlsl_type, hlsl_types
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class ShaderTensor:
    """A tensor in a shader: `node` in expressions, whose buffer is that of `member`. `name` is that of the
    resource; other names start with `macro` or contain `function`.

    `local` is the variable for an element, `types` are the data types it may have, `bits` their sizes,
    `values` the HLSL types in which its elements are computed. `is_optional`: it may be absent. `known` are
    these types in HLSL, or unsigned ones where its elements are moved as raw bits. `facts`: those of them
    that the text has named so far, by macros. These start with `typed_by`: its own `macro`, or that of a
    tensor that is always there and always has the same data type.
    """

    member: str
    node: ir.Tensor
    name: str
    local: str
    macro: str
    function: str
    types: tuple[str, ...]
    bits: tuple[int, ...]
    values: frozenset[str]
    is_optional: bool
    known: tuple[HlslType, ...]
    typed_by: str
    facts: set[str] = field(default_factory=set, compare=False)

    def fact(self, name: str) -> str:
        """A fact of its data type, a field of `HlslType`, in the text of the shader: a macro, unless all that
        it may have agree."""
        found = {getattr(one, name) for one in self.known}
        if len(found) == 1:
            return str(*found)
        self.facts.add(name)
        return f"{self.typed_by}_{name.upper()}"

    @property
    def has_own_type(self) -> bool:
        """Whether plans name its data type."""
        return self.typed_by == self.macro

    @property
    def stored(self) -> str:
        """The type of its elements in a buffer."""
        return self.fact("stored")

    @property
    def value(self) -> str:
        """The type in which they are computed."""
        return self.fact("value")

    @property
    def is_packed(self) -> bool:
        """Whether it may have elements of which a word holds several."""
        return any(bits < 16 for bits in self.bits)

    @property
    def usual_type(self) -> str:
        """A data type that it may have, on every device if there is one; absent tensors have it."""
        return min(
            (one.name for one in self.known), key=lambda name: (name.endswith("64"), name == "FLOAT64")
        )

    @property
    def has_wide_values(self) -> bool:
        """Whether it may have floats, or integers that FLOAT32 does not represent."""
        return any(bits > 16 for bits in self.bits) or "float" in self.values

    @property
    def is_unpacked(self) -> bool:
        """Whether it may have others."""
        return any(bits >= 16 for bits in self.bits)


class WithTensors:
    """A shader with tensors, of which it `moves` some as raw bits."""

    moves: tuple[str, ...]
    known: Mapping[str, HlslType]  # all data types

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        raise NotImplementedError

    def facts(self, others: Collection[str] = ()) -> list[str]:
        """The facts of data types that the text has named, and `others`, in the order of `HlslType`."""
        named = set(others).union(*(tensor.facts for tensor in self.tensors))
        return [one for one in HlslType._fields if one in named]

    def data_types(self, others: Collection[str] = ()) -> list[HlslType]:
        """The data types of the tensors of which facts were named, and `others`."""
        names = {*others, *(one.name for tensor in self.tensors if tensor.facts for one in tensor.known)}
        return [one for name, one in self.known.items() if name in names]


_RUNS = (16, 32, 64, 128)
"""Bits of runs of elements that are moved as one."""


def tensor_of(
    registry: Registry, operator: Operator, member: str, moves: Collection[str], in_runs: bool = False
) -> ShaderTensor:
    """A tensor member as a shader names it; those of `moves` are moved as raw bits, perhaps in runs."""
    node = ir.Tensor.of(member)
    types, described = _types(operator, node.name), operator.member[node.name]
    entries = [registry.data_type[name] for name in types]
    short, known = plain(member), hlsl_types(registry)
    bits = sorted({one.bits for one in entries})
    moved = sorted({*bits, *_RUNS}) if in_runs else bits
    return ShaderTensor(
        member=member,
        node=node,
        name=re.sub(r"[\[\]]", "", camel(member)),
        local=camel(short),
        macro=macro(short),
        function=short,
        types=types,
        bits=tuple(bits),
        values=frozenset(hlsl_type(entry).value for entry in entries),
        is_optional=described.optional or member != node.name,  # by number, an array may have fewer
        known=tuple(known[one] for one in ([f"UINT{n}" for n in moved] if member in moves else types)),
        typed_by=macro(short),
    )


def _types(operator: Operator, tensor: str) -> tuple[str, ...]:
    """The data types that a tensor may have at any level, in the order of the tables."""
    rows = [row for table in operator.support.values() for row in table if row.tensor == tensor]
    widest = max(rows, key=lambda row: len(row.types)).types
    return tuple(dict.fromkeys((*widest, *(name for row in rows for name in row.types))))


def with_shared_types(
    tensors: Mapping[str, ShaderTensor], classes: Mapping[str, str]
) -> dict[str, ShaderTensor]:
    """Tensors of a shader, by name, with the macros of one data type where rules demand the same: `classes`
    has a representative of those for each."""

    def shared(tensor: ShaderTensor) -> ShaderTensor:
        first = tensors.get(classes.get(tensor.member, ""), tensor)
        is_same = not first.is_optional and first.known == tensor.known
        return replace(tensor, typed_by=first.macro, facts=first.facts) if is_same else tensor

    return {name: shared(tensor) for name, tensor in tensors.items()}


def only_halves(tensors: Sequence[ShaderTensor]) -> Sequence[ShaderTensor]:
    """These tensors, if all of them may be float16."""
    return tensors if all("FLOAT16" in one.types for one in tensors) else ()


def in_float16(tensors: Iterable[ShaderTensor]) -> str:
    """The condition under which these are float16, so that functions need only be as exact."""
    found = (tensor.fact("significand") for tensor in tensors)
    return " && ".join(f"{one} == 11" for one in dict.fromkeys(found))


def in_double(outputs: Iterable[ShaderTensor]) -> str:
    """The condition under which floats are computed in double precision: an output is FLOAT64. "" if none may
    be."""
    doubles = (one.fact("significand") for one in outputs if "double" in one.values)
    return " || ".join(f"{one} == 53" for one in dict.fromkeys(doubles))


def value_types(tensors: Iterable[ShaderTensor]) -> set[str]:
    """The types in which a shader computes elements."""
    return {value for tensor in tensors for value in tensor.values}
