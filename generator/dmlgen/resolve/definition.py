"""The `compute` section of a spec that defines each output: `let`, `tensors` and `outputs`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator
from collections.abc import Mapping as Map
from dataclasses import replace

from dmlgen.analysis.counts import dimension_counts
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.deciding import deciding_tensors
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, PRELUDE, Definer, Formula, signature
from dmlgen.expr.defined import is_told, walk_through
from dmlgen.expr.parse import Scope
from dmlgen.expr.ranks import Counts, Lengths
from dmlgen.registry import Intermediate, Member, OutputDefinitions, Rule, Support
from dmlgen.resolve.classes import element_classes
from dmlgen.resolve.nodes import Faults, fault, integer, mapping, place, required, scalar, text
from dmlgen.source import Entry, Mapping, Scalar

_TYPES = {"float": ir.FLOAT, "int": ir.INT, "bool": ir.BOOL}


def resolve_definition(
    node: Mapping,
    members: Map[str, Member],
    resolved: tuple[Rule, ...],
    support: Map[str, tuple[Support, ...]],
    definer: Definer,
) -> OutputDefinitions:
    """What a spec says of each output."""
    compute = mapping(node, "compute")
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    faults = Faults()
    listed = mapping(compute, "tensors")
    for entry in listed.entries:
        with faults:
            if entry.name in definer.scope.names or entry.name in definer.formulas:
                raise fault(entry.key.position, "name-clash", f"the name {entry.name} is already taken")
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
    values = (*(one.value for one in kept), *outputs.values())
    unused_names(node, definer, faults, set().union(*map(entries_read, values)))
    faults.stop()
    counts = dimension_counts(members, resolved, support)
    for name, node_, misfit in _misfits(kept, outputs, counts):
        with faults:
            raise fault(definer.place(node_), "coordinate-length", f"{misfit}, in {name}")
    for name, value in [*((one.name, one.value) for one in kept), *outputs.items()]:
        for misread in _misreads(value, members, name in outputs):
            with faults:
                group = mapping(compute, "outputs" if name in outputs else "tensors")
                raise fault(place(group, name), "expression-form", f"{misread}, in {name}")
    faults.stop()
    decides = deciding_tensors(kept, outputs.values())
    kept = [replace(one, decides=one.name in decides) for one in kept]
    return OutputDefinitions(tuple(kept), outputs, definer.scope.elements)


def definer_of(
    compute: Mapping,
    members: Map[str, Member],
    resolved: tuple[Rule, ...],
    support: Map[str, tuple[Support, ...]],
    kinds: Map[str, str],
    scope: Scope,
) -> Definer:
    """What types the expressions of a `compute` section, with the names of its `let`.

    `kinds` gives the kind of every data type, "float" or an integer's.
    """
    classes = element_classes(members.values(), resolved)
    unions = {
        member.name: ir.Member(member.name, ir.element_of(classes[member.typed_by]))
        for member in members.values()
        if member.typed_by in classes
    }
    scope = replace(scope, elements=classes).with_names({**unions, "at": ir.Local("at", ir.INTS)})
    if any(member.is_tensor and member.role == "output" and member.count for member in members.values()):
        scope = scope.with_names({"index": ir.Local("index", ir.INT)})
    faults = Faults()
    formulas = _formulas(mapping(compute, "let"), scope, faults)
    faults.stop()
    return Definer(scope, _kinds(support, kinds), formulas, compute.position)


def unused_names(node: Mapping, definer: Definer, faults: Faults, kept: Collection[str] = ()) -> None:
    """A name of an operator's own `let` that nothing uses is a fault, and so is a tensor of its own.

    `kept` are the tensors that are read. Where there are faults, not everything has been looked at; then a
    name is at fault if no other text has it.
    """
    compute = mapping(node, "compute")
    written = {word for text_ in _texts(compute) for word in re.findall(r"[A-Za-z_]\w*", text_)}
    used: Collection[str] = definer.used
    named = [(entry, signature(entry.name)[0], used) for entry in mapping(compute, "let").entries]
    named += [(entry, entry.name, kept) for entry in mapping(compute, "tensors").entries]
    broken = bool(faults)
    for entry, name, read in named:
        own = entry.key.position.file == node.position.file
        if own and name not in (written if broken else read):
            with faults:
                raise fault(entry.key.position, "unused-definition", f"nothing uses {name}")


def _texts(node: Mapping) -> Iterator[str]:
    """All texts below a mapping, its keys apart."""
    for entry in node.entries:
        if isinstance(entry.value, Mapping):
            yield from _texts(entry.value)
        elif isinstance(entry.value, Scalar):
            yield str(entry.value.value)


def _formulas(node: Mapping, scope: Scope, faults: Faults) -> list[Formula]:
    """The entries of `let`, which are typed where they are used."""
    formulas: dict[str, Formula] = {}
    reserved = {*FOLDS, *PLACES, *NUMBERS, *(signature(key)[0] for key in PRELUDE), "box", "at"}
    for entry in node.entries:
        with faults:
            name, parameters = signature(entry.name)
            where = entry.key.position
            if name in scope.names or name in reserved or name in formulas:
                raise fault(where, "name-clash", f"the name {name} is already taken")
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
    shape = definer.parse(str(sizes.value), sizes.at, ir.INTS)
    if not is_told(shape):
        message = (
            "sizes are what the description gives, said as rules say it: without floats, elements or `at`"
        )
        raise fault(sizes.position, "expression-form", message)
    return Intermediate(
        name=name,
        type=type_,
        sizes=shape,
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
    return {part.tensor for part in walk_through(node) if isinstance(part, ir.Entry)}


def _misreads(value: ir.Expr, members: Map[str, Member], is_output: bool) -> Iterator[str]:
    """Reads of elements that no target has."""
    for part in walk_through(value):
        match part:
            case ir.Load(tensor=ir.Tensor(name=name)) if members[name].role == "output":
                yield f"{name} is an output, and those are never read"
            case ir.Load(tensor=ir.Tensor(name=name, index=index)) if not isinstance(index, ir.Number | None):
                yield f"which of {name} is read must be a written number"
            case ir.Call(function="joined") if part is not value or not is_output:
                yield "joined() is the whole value of an output"
            case ir.Call("joined", (ir.Tensors(name=name), _)) if members[name].role == "output":
                yield f"{name} is an output, and those are never read"


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
    output = ir.Tensor(entry.name)
    stored = dict.fromkeys((definer.element(output), ir.BOOL, definer.scope.element(output)))
    return definer.parse(str(value.value), value.at, *stored)
