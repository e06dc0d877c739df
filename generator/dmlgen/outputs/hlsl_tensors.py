"""Tensors of shaders: their names there, and the types that their elements may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_names import camel, macro, plain
from dmlgen.outputs.hlsl_types import HlslType, hlsl_type
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class ShaderTensor:
    """A tensor in a shader: `node` in expressions, whose buffer is that of `member`. `name` is that of the
    resource; other names start with `macro` or contain `function`.

    `local` is the variable for an element, `types` are the data types it may have, `bits` their sizes,
    `values` the HLSL types in which its elements are computed. `is_optional`: it may be absent.
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

    @property
    def is_packed(self) -> bool:
        """Whether it may have elements of which a word holds several."""
        return any(bits < 16 for bits in self.bits)

    @property
    def usual_type(self) -> str:
        """A data type that it may have, on every device if there is one; absent tensors have it."""
        return min(self.types, key=lambda name: (name.endswith("64"), name == "FLOAT64"))

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

    def data_types(self, others: Collection[str] = ()) -> list[HlslType]:
        """The data types of the tensors, and `others`."""
        names = {*others, *(name for tensor in self.tensors for name in tensor.types)}
        names |= {f"UINT{bits}" for one in self.tensors if one.member in self.moves for bits in one.bits}
        return [one for name, one in self.known.items() if name in names]


def tensor_of(registry: Registry, operator: Operator, member: str) -> ShaderTensor:
    """A tensor member as a shader names it."""
    node = ir.Tensor.of(member)
    types, described = _types(operator, node.name), operator.member[node.name]
    entries = [registry.data_type[name] for name in types]
    short = plain(member)
    return ShaderTensor(
        member=member,
        node=node,
        name=re.sub(r"[\[\]]", "", camel(member)),
        local=camel(short),
        macro=macro(short),
        function=short,
        types=types,
        bits=tuple(sorted({entry.bits for entry in entries})),
        values=frozenset(hlsl_type(entry).value for entry in entries),
        is_optional=described.optional or member != node.name,  # by number, an array may have fewer
    )


def _types(operator: Operator, tensor: str) -> tuple[str, ...]:
    """The data types that a tensor may have at any level, in the order of the tables."""
    rows = [row for table in operator.support.values() for row in table if row.tensor == tensor]
    widest = max(rows, key=lambda row: len(row.types)).types
    return tuple(dict.fromkeys((*widest, *(name for row in rows for name in row.types))))


def in_float16(tensors: Iterable[ShaderTensor]) -> str:
    """The condition under which these are float16, so that functions need only be as exact."""
    return " && ".join(f"{tensor.macro}_SIGNIFICAND == 11" for tensor in tensors)


def in_double(outputs: Iterable[ShaderTensor]) -> str:
    """The condition under which floats are computed in double precision: an output is FLOAT64. "" if none may
    be."""
    return " || ".join(f"{one.macro}_SIGNIFICAND == 53" for one in outputs if "double" in one.values)


def value_types(tensors: Iterable[ShaderTensor]) -> set[str]:
    """The types in which a shader computes elements."""
    return {value for tensor in tensors for value in tensor.values}
