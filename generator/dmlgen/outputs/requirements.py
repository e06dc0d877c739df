"""Requirements of shaders on a device, by data type: options of Direct3D 12, as planners reject devices
without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.reads import moved_as_bits, moves, tensors_read, widened
from dmlgen.registry import EnumEntry, Operator, Registry
from dmlgen.schedules import form_of, forms_of, schedule_of
from dmlgen.schedules.elementwise import Elementwise

SHORT, DOUBLES = "Native16BitShaderOpsSupported", "DoublePrecisionFloatShaderOps"


@dataclass(frozen=True)
class Requirement:
    """An option that data types need: of any tensor, or only of `tensor`; `member`: if that is present."""

    option: str
    types: tuple[str, ...]
    tensor: str | None = None
    member: str | None = None


def requirements(registry: Registry, operator: Operator) -> tuple[Requirement, ...]:
    """All of an operator, apart from 64-bit integers (Int64ShaderOps): shaders compute places with them."""
    types: dict[str, list[EnumEntry]] = {}
    for row in (row for table in operator.support.values() for row in table):
        types.setdefault(row.tensor, []).extend(registry.data_type[name] for name in row.types)
    as_bits = _taken_as_bits(registry, operator)
    computed = [one for name, some in types.items() if name not in as_bits for one in some]
    every = [one for some in types.values() for one in some]
    found = [
        Requirement(SHORT, _names(one for one in every if one.bits == 16)),
        Requirement(DOUBLES, _names(one for one in computed if one.bits == 64 and one.kind == "float")),
        *_widened(registry, operator, types),
    ]
    return tuple(one for one in found if one.types)


def _widened(
    registry: Registry, operator: Operator, types: dict[str, list[EnumEntry]]
) -> Iterator[Requirement]:
    """Of tensors whose integers are computed in double precision."""
    form = form_of(registry, operator, Elementwise)
    if form is None:
        return
    tensors = tensors_read(operator, [form.value])
    match widened(form.value, tensors):
        case ir.Number(value=mask):
            member = None
        case ir.Conditional(ir.Present(ir.Member(name=member)), ir.Number(value=mask)):
            pass
    for place, name in enumerate(tensors):
        if int(mask) >> place & 1:
            yield Requirement(
                DOUBLES, _names(one for one in types[name] if one.kind != "float"), name, member
            )


def _taken_as_bits(registry: Registry, operator: Operator) -> tuple[str, ...]:
    """The tensors of which only the size of elements matters."""
    schedule = schedule_of(registry, operator)
    if operator.defines is not None and schedule is None:
        return moved_as_bits(operator, operator.defines, forms_of(registry, operator))
    if schedule is None:
        return tuple(member.name for member in operator.members if member.is_tensor)
    return moves(schedule)


def _names(types: Iterator[EnumEntry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.name for one in types))
