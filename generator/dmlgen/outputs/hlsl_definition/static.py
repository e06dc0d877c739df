"""Constants of a definition's shader, the same for all descriptions, as planners have it in Python and in
C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from dmlgen.outputs.hlsl_definition.form import NONE
from dmlgen.outputs.hlsl_definition.shader import HlslDefinition
from dmlgen.plans.model import BOOL, TEXT, ListOf, Plans, Record, Type

Static: TypeAlias = Mapping[str, Any]
"""The fields of planners' `DefinitionShader` that are not empty: numbers, truth values and texts; tuples for
lists and for records, which have the values of all their fields."""


def static_of(shader: HlslDefinition, plans: Plans) -> Static:
    """These fields for the shader of a definition."""
    constants = shader.printer.constants
    known_lists = constants.known("ints", "floats")
    lists = [*shader.sizes_and_strides, *(one.name for one in known_lists)]
    tensors, kept = [one.member for one in shader.tensors], [one.member for one in shader.kept]
    known: dict[str, Any] = {
        "kept": [
            {"macro": one.macro, "is_real": one.kind == "Real", "is_wide": one.kind == "Long"}
            for one in shader.kept
        ],
        "passes": list(_passes(shader)),
        "typed": [one.member for one in shader.tensors if one.has_own_type],
        "optional": [one.member for one in shader.tensors if one.is_optional],
        "sized": [one.member for one in shader.sized],
        "lists": [one.macro for one in known_lists],
        "boxes": sum(1 << n for n, one in enumerate(known_lists) if one.name in constants.boxes),
        "divisors": list(map(lists.index, constants.divisors)),
        "bounds": [one.macro for one in constants.known("bound")],
        "writes_vectors": shader.writes_vectors,
        "activations": [one.value for one in shader.activations],
        "views": [view for one in shader.forms for view in one.views],
        **{one.field: one.records for one in shader.forms},
    }
    places = {name: place for some in (tensors, kept) for place, name in enumerate(some)}
    # In their order; a record is known as a list of one.
    return {
        field.name: _value(field.type, found[0] if isinstance(field.type, Record) else found, places)
        for field in plans.record("DefinitionShader").fields
        if (found := known.get(field.name))
    }


def _passes(shader: HlslDefinition) -> Iterator[Mapping[str, Any]]:
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


def _value(type_: Type, known: Any, places: Mapping[str, int]) -> Any:
    """A value as planners have it. The name of a tensor stands for its number, or NONE if it is absent, and
    names of several for a bit mask."""
    match type_:
        case ListOf(element=element):
            return tuple(_value(element, one, places) for one in known)
        case Record(fields=fields):
            return tuple(_value(one.type, known[one.name], places) for one in fields)
    if isinstance(known, int):
        return bool(known) if type_ == BOOL else known
    if isinstance(known, str):
        return known if type_ == TEXT else places.get(known, NONE)
    return sum(1 << places[name] for name in known)
