"""Constants of a definition's shader, the same for all descriptions, as planners have it in Python and in
C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.outputs.hlsl_definition.shader import DefinitionShader
from dmlgen.plans.model import BOOL, ListOf, Plans, Record, Type

NONE = -1
"""In place of the number of a tensor or a pass."""

Entry = tuple[str | int, ...]
"""The fields of a record, in their order."""


@dataclass(frozen=True)
class FormRecords:
    """The field of planners' `DefinitionShader` with the passes of a faster form: one record, or a list."""

    field: str
    record: str
    is_list: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Static:
    """The fields of planners' `DefinitionShader`; `forms` are the last ones."""

    kept: tuple[Entry, ...]
    passes: tuple[Entry, ...]
    ranks: int
    lists: tuple[str, ...]
    float_lists: int
    boxes: int
    divisors: tuple[int, ...]
    bounds: tuple[str, ...]
    float_numbers: int
    is_fused: bool
    writes_pairs: bool
    activations: tuple[int, ...]
    forms: tuple[FormRecords, ...]


def static_of(shader: DefinitionShader, plans: Plans) -> Static:
    """These fields for a shader."""
    lists = [*shader.sizes_and_strides, *(one.name for one in shader.known_lists)]
    kept, tensors = [one.member for one in shader.kept], [one.member for one in shader.tensors]
    passes: list[Entry] = []
    for number, one in enumerate(shader.passes):
        first, box = one.targets[0], shader.box(one)
        passes.append(
            (
                number,
                first in kept,
                (kept if first in kept else tensors).index(first),
                sum(1 << kept.index(name) for name in one.targets if name in kept),
                sum(1 << tensors.index(name) for name in one.targets if name in tensors),
                sum(1 << kept.index(name) for name in one.reads),
                one.along,
                *(box[1] if box and box[0] == kind else NONE for kind in ("list", "tensor")),
                NONE if one.lanes is None else one.lanes.apart,
            )
        )
    return Static(
        kept=tuple((one.macro, one.type == "REAL_VALUE", one.type == "int64_t") for one in shader.kept),
        passes=tuple(passes),
        ranks=sum(1 << tensors.index(one.member) for one in shader.ranked),
        lists=tuple(one.macro for one in shader.known_lists),
        float_lists=sum(1 << n for n, one in enumerate(shader.known_lists) if one.kind == "floats"),
        boxes=sum(1 << n for n, one in enumerate(shader.known_lists) if one.name in shader.boxes),
        divisors=tuple(map(lists.index, shader.divisors)),
        bounds=tuple(one.macro for one in shader.bounds),
        float_numbers=sum(1 << n for n, one in enumerate(shader.known_scalars) if one.kind == "float"),
        is_fused=bool(shader.fused),
        writes_pairs=shader.writes_pairs,
        activations=tuple(one.value for one in shader.activations),
        forms=tuple(_forms(shader, plans)),
    )


def _forms(shader: DefinitionShader, plans: Plans) -> Iterator[FormRecords]:
    """Passes of faster forms, in the order of the planners' fields; NONE for absent ones."""
    forms = {one.field: one.records for one in shader.forms}
    places: Mapping[str, int] = {
        **{tensor.member: number for number, tensor in enumerate(shader.tensors)},
        **{kept.member: number for number, kept in enumerate(shader.kept)},
    }
    for one in plans.record("DefinitionShader").fields:
        record = one.type.element if isinstance(one.type, ListOf) else one.type
        if isinstance(record, Record) and one.name not in ("kept", "passes"):
            is_list = record is not one.type
            none: Mapping[str, int] = dict.fromkeys((field.name for field in record.fields), NONE)
            entries = (
                tuple(_value(places, field.type, known[field.name]) for field in record.fields)
                for known in forms.get(one.name, () if is_list else (none,))
            )
            yield FormRecords(one.name, record.name, is_list, tuple(entries))


def _value(places: Mapping[str, int], type_: Type, known: int | str | Sequence[str]) -> int:
    """A truth value, a number, the number of a tensor, a bit mask of several tensors, or NONE."""
    if isinstance(known, int):
        return bool(known) if type_ == BOOL else known
    if isinstance(known, str):
        return places.get(known, NONE)
    return sum(1 << places[name] for name in known)
