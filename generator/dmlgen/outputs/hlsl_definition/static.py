"""Constants of a definition's shader, the same for all descriptions, as planners have it in Python and in
C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dmlgen.outputs.hlsl_activation import ActivationText
from dmlgen.outputs.hlsl_definition.form import NONE
from dmlgen.outputs.hlsl_definition.shader import HlslDefinition
from dmlgen.outputs.hlsl_map import MapText
from dmlgen.plans.model import BOOL, INT, TEXT, ListOf, Plans, Record, Type

Known: TypeAlias = int | str | Sequence[str]
"""A number, a truth value or a text; the name of a tensor, or names of several, which become a bit mask."""
Value: TypeAlias = Known | Mapping[str, Known]
"""Such a value, or those of a record's fields."""


@dataclass(frozen=True)
class StaticField:
    """A field's name, its type or that of its entries, and its values: one, unless it `is_list`. A record has
    the values of its fields."""

    name: str
    type: str
    is_list: bool
    values: tuple[int | str | tuple[int | str, ...], ...]

    @property
    def is_empty(self) -> bool:
        """Whether that is the default: no entries, 0, or a form that the shader does not have."""
        if self.is_list:
            return not self.values
        value = self.values[0]
        return value[0] == NONE if isinstance(value, tuple) else value == 0


Static: TypeAlias = Mapping[str, StaticField]
"""The fields of planners' `DefinitionShader`, in their order."""


def static_of(shader: HlslDefinition, plans: Plans) -> Static:
    """These fields for the shader of a definition."""
    constants = shader.printer.constants
    known_lists = constants.known("ints", "floats")
    lists = [*shader.sizes_and_strides, *(one.name for one in known_lists)]
    tensors = [one.member for one in shader.tensors]
    places = {
        name: number
        for names in (tensors, [one.member for one in shader.kept])
        for number, name in enumerate(names)
    }
    known: dict[str, int | Sequence[Value]] = {
        "optional": sum(1 << number for number, one in enumerate(shader.tensors) if one.is_optional),
        "sized": sum(1 << tensors.index(one.member) for one in shader.sized),
        "lists": [one.macro for one in known_lists],
        "boxes": sum(1 << n for n, one in enumerate(known_lists) if one.name in constants.boxes),
        "divisors": list(map(lists.index, constants.divisors)),
        "bounds": [one.macro for one in constants.known("bound")],
        "is_fused": bool(shader.activations),
        "writes_pairs": shader.writes_pairs,
        "activations": [one.value for one in shader.activations],
        "kept": [
            {"macro": one.macro, "is_real": one.type == "REAL_VALUE", "is_wide": one.type == "int64_t"}
            for one in shader.kept
        ],
        "passes": [*(one for form in shader.forms for one in form.intermediate), *_passes(shader)],
        **{one.field: one.records for one in shader.forms},
    }
    return _static(plans, known, places)


def static_of_map(
    text: MapText, one: Mapping[str, int], activations: Sequence[ActivationText], plans: Plans
) -> Static:
    """These fields for the shader of a map, with those of its pass."""
    known: dict[str, int | Sequence[Value]] = {
        "bounds": [one.name for one in text.constants.known("switch")],
        "is_fused": bool(text.fused),
        "activations": [one.value for one in activations],
        "map": [one],
    }
    return _static(plans, known, {})


def _static(plans: Plans, known: Mapping[str, int | Sequence[Value]], places: Mapping[str, int]) -> Static:
    """All fields; what is not `known` is empty."""
    static: dict[str, StaticField] = {}
    for field in plans.record("DefinitionShader").fields:
        is_list = isinstance(field.type, ListOf)
        type_ = field.type.element if isinstance(field.type, ListOf) else field.type
        assert not isinstance(type_, ListOf)
        found = known.get(field.name, () if is_list else (_nothing(type_),))
        entries = (found,) if isinstance(found, int) else found
        values = tuple(_value(places, type_, one) for one in entries)
        static[field.name] = StaticField(field.name, type_.name, is_list, values)
    return static


def _nothing(type_: Type) -> Value:
    """0, or the record of a form that a shader does not have."""
    if not isinstance(type_, Record):
        return 0
    return {one.name: NONE if one.type == INT else 0 for one in type_.fields}


def _passes(shader: HlslDefinition) -> Iterator[Mapping[str, Known]]:
    """The passes of the definition itself."""
    kept, tensors = [one.member for one in shader.kept], [one.member for one in shader.tensors]
    for number, one in enumerate(shader.passes):
        first = one.targets[0]
        yield {
            "number": number,
            "writes_kept": first in kept,
            "target": first,
            "writes": [name for name in one.targets if name in kept],
            "outputs": [name for name in one.targets if name in tensors],
            "reads": one.reads,
            "is_along": one.along,
            "box": "" if one.keyed is None else one.keyed.box,
            "axis": NONE if one.vector is None else one.vector.axis,
        }


def _value(places: Mapping[str, int], type_: Type, known: Value) -> int | str | tuple[int | str, ...]:
    """A value as planners have it; NONE for a tensor that is absent."""
    if isinstance(known, Mapping):
        assert isinstance(type_, Record)
        return tuple(_item(places, one.type, known[one.name]) for one in type_.fields)
    return _item(places, type_, known)


def _item(places: Mapping[str, int], type_: Type, known: Known) -> int | str:
    if isinstance(known, int):
        return bool(known) if type_ == BOOL else known
    if isinstance(known, str):
        return known if type_ == TEXT else places.get(known, NONE)
    return sum(1 << places[name] for name in known)
