"""The `compute` section of a spec that defines each output: `let`, `tensors` and `outputs`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from collections.abc import Mapping as Map
from dataclasses import replace

from dmlgen.analysis.counts import dimension_counts
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.deciding import deciding_tensors
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, PRELUDE, Definer, Formula, signature
from dmlgen.expr.parse import Scope
from dmlgen.expr.ranks import Counts, Lengths
from dmlgen.registry import Intermediate, Member, OutputDefinitions, Rule, Support
from dmlgen.resolve.compute import element_classes
from dmlgen.resolve.nodes import Faults, fault, integer, mapping, place, required, scalar, text
from dmlgen.source import Entry, Mapping, Scalar

_TYPES = {"float": ir.FLOAT, "int": ir.INT, "bool": ir.BOOL}
_KERNEL_KEYS = ("kernel", "output", "over", "value", "place", "with", "steps")


def is_definition(node: Mapping) -> bool:
    """Whether a spec's `compute` section defines outputs, rather than naming a kernel."""
    return mapping(node, "compute").get("outputs") is not None


def resolve_definition(
    node: Mapping,
    members: Map[str, Member],
    resolved: tuple[Rule, ...],
    support: Map[str, tuple[Support, ...]],
    kinds: Map[str, str],
    scope: Scope,
) -> OutputDefinitions:
    """What a spec says of each output; `kinds` gives the kind of every data type, "float" or an integer's."""
    compute = mapping(node, "compute")
    for key in _KERNEL_KEYS:
        if compute.get(key) is not None:
            message = f"{key!r} belongs to a kernel; a definition has let, tensors and outputs"
            raise fault(place(compute, key), "compute-form", message)
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    classes = element_classes(members.values(), resolved)
    scope = replace(scope, elements=classes)
    scope = scope.with_names({"at": ir.Local("at", ir.INTS)})
    faults = Faults()
    formulas = list(_formulas(mapping(compute, "let"), scope, faults))
    definer = Definer(scope, _kinds(support, kinds), formulas, compute.position)
    listed = mapping(compute, "tensors")
    for entry in listed.entries:
        with faults:
            if entry.name in scope.names or entry.name in definer.formulas:
                raise fault(entry.key.position, "name-clash", f"{entry.name} is a name already")
            definer.kept[entry.name] = _TYPES[text(mapping(listed, entry.name), "type", "float")]
    faults.stop()
    kept: list[Intermediate] = []
    for entry in listed.entries:
        with faults:
            kept.append(_intermediate(mapping(listed, entry.name), entry.name, definer))
    _check_order(listed, kept, faults)
    outputs: dict[str, ir.Expr] = {}
    for entry in mapping(compute, "outputs").entries:
        with faults:
            outputs[entry.name] = _output(entry, tensors, definer)
    missing = [m.name for m in tensors.values() if m.role == "output" and m.name not in outputs]
    if missing and not faults:
        message = f"nothing defines {missing[0]}"
        raise fault(place(compute, "outputs"), "output-undefined", message)
    for entry in mapping(compute, "let").entries:
        shared = entry.key.position.file != node.position.file
        if not faults and not shared and signature(entry.name)[0] not in definer.used:
            with faults:
                raise fault(entry.key.position, "unused-definition", f"nothing uses {entry.name}")
    faults.stop()
    counts = dimension_counts(members, resolved, support)
    for name, node_, misfit in _misfits(kept, outputs, counts):
        with faults:
            raise fault(definer.place(node_), "coordinate-length", f"{misfit}, in {name}")
    faults.stop()
    decides = deciding_tensors(kept, outputs.values())
    kept = [replace(one, decides=one.name in decides) for one in kept]
    return OutputDefinitions(tuple(kept), outputs, classes)


def _formulas(node: Mapping, scope: Scope, faults: Faults) -> list[Formula]:
    """The entries of `let`, which are typed where they are used."""
    formulas: dict[str, Formula] = {}
    reserved = {*FOLDS, *PLACES, *NUMBERS, *(signature(key)[0] for key in PRELUDE), "box", "at"}
    for entry in node.entries:
        with faults:
            name, parameters = signature(entry.name)
            where = entry.key.position
            if name in scope.names or name in reserved or name in formulas:
                raise fault(where, "name-clash", f"{name} is a name already")
            for parameter in parameters:
                if not re.fullmatch(r"[A-Za-z]\w*", parameter) or keyword.iskeyword(parameter):
                    raise fault(where, "expression-form", f"{parameter!r} cannot name a parameter")
                if parameter in scope.names or parameters.count(parameter) > 1:
                    raise fault(where, "name-clash", f"parameter {parameter!r} hides another name")
            value = entry.value
            assert isinstance(value, Scalar)
            formulas[name] = Formula(name, parameters, str(value.value), value.at)
    return list(formulas.values())


def _kinds(support: Map[str, tuple[Support, ...]], kinds: Map[str, str]) -> dict[str, ir.Type]:
    """The tensors whose elements are floats, or integers, in every support table."""
    found: dict[str, set[str]] = {}
    for rows in support.values():
        for row in rows:
            found.setdefault(row.tensor, set()).update(kinds[type_] for type_ in row.types)
    floats = {name: ir.FLOAT for name, all_ in found.items() if all_ == {"float"}}
    return floats | {name: ir.INT for name, all_ in found.items() if "float" not in all_}


def _intermediate(node: Mapping, name: str, definer: Definer) -> Intermediate:
    sizes, value = required(node, "sizes"), required(node, "value")
    along = scalar(node, "along")
    if along is not None and integer(node, "along", -1) != 0:
        raise fault(along.position, "expression-form", "a recurrence runs along axis 0")
    type_ = definer.kept[name]
    return Intermediate(
        name=name,
        type=type_,
        sizes=definer.parse(str(sizes.value), sizes.at, ir.INTS),
        along=along is not None,
        value=definer.parse(str(value.value), value.at, type_),
    )


def _check_order(listed: Mapping, kept: list[Intermediate], faults: Faults) -> None:
    """A tensor reads those above it; in a group with `along`, also any of the group at an earlier step."""
    group: dict[str, int] = {}
    number = 0
    for one, after in zip(kept, [None, *kept], strict=False):
        number += not (one.along and after is not None and after.along)
        group[one.name] = number
    place_of = {one.name: number for number, one in enumerate(kept)}
    for one in kept:
        for name in entries_read(one.value):
            together = one.along and group.get(name) == group[one.name]
            if place_of.get(name, -1) >= place_of[one.name] and not together:
                message = (
                    f"{one.name} reads itself; a recurrence says `along: 0`"
                    if name == one.name
                    else f"{one.name} reads {name}, which stands below it"
                )
                with faults:
                    raise fault(place(mapping(listed, one.name), "value"), "cycle", message)


def entries_read(node: ir.Expr) -> set[str]:
    """The intermediate tensors that an expression reads, functions included."""
    found: set[str] = set()
    seen: set[ir.Function] = set()
    todo = [node]
    while todo:  # each function is looked into once
        for part in ir.walk(todo.pop()):
            if isinstance(part, ir.Entry):
                found.add(part.tensor)
            elif isinstance(part, ir.Apply) and part.function not in seen:
                seen.add(part.function)
                todo.append(part.function.body)
    return found


def _misfits(
    kept: list[Intermediate], outputs: Map[str, ir.Expr], counts: list[Counts]
) -> Iterator[tuple[str, ir.Expr, str]]:
    """The first read of each value whose coordinate is too long or too short."""
    values = {**{one.name: one.value for one in kept}, **outputs}
    done: set[str] = set()
    for combination in counts:
        sizes: dict[str, int | None] = {}
        lengths = Lengths(combination, sizes)
        for one in kept:
            sizes[one.name] = lengths.length(one.sizes, {})
        for name, value in values.items():
            own = sizes[name] if name in sizes else combination.ranks.get(name)
            for node, misfit in lengths.misfits(value, {"at": own}):
                if name not in done:
                    yield name, node, misfit
                done.add(name)


def _output(entry: Entry, tensors: Map[str, Member], definer: Definer) -> ir.Expr:
    outputs = [name for name, member in tensors.items() if member.role == "output"]
    if entry.name not in outputs:
        message = f"{entry.name!r} is not an output of the operator"
        raise fault(entry.key.position, "unknown-name", message, nearest(entry.name, outputs))
    value = entry.value
    assert isinstance(value, Scalar)
    return definer.parse(str(value.value), value.at, definer.element(ir.Tensor(entry.name)), ir.BOOL)
