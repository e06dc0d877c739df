"""The `compute` section of a spec that defines each output: `let`, `tensors` and `outputs`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from dmlgen import written
from dmlgen.analysis.classes import element_classes
from dmlgen.diagnostics import Position, fault
from dmlgen.expr import ir
from dmlgen.expr.bits import has_bits, taken, tensors_of_bits, works_on_bits
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, Definer, Formula, signature, varies
from dmlgen.expr.definition_queries import entries_of, is_host_computed, walk_through
from dmlgen.expr.functions import FUNCTIONS, PREDEFINED
from dmlgen.expr.parse import Scope
from dmlgen.expr.precise_floats import deciding_tensors
from dmlgen.registry import Intermediate, Member, OutputDefinitions, Rule, Support
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.resolve.lengths import Lengths, combinations
from dmlgen.resolve.recurrences import recurrence_faults
from dmlgen.source import Scalar, Value

_TYPES = {"float": ir.FLOAT, "int": ir.INT, "bool": ir.BOOL}


def resolve_definition(
    node: written.Definition,
    file: str,
    members: Mapping[str, Member],
    resolved: tuple[Rule, ...],
    support: Mapping[str, tuple[Support, ...]],
    definer: Definer,
) -> OutputDefinitions:
    """The definition of each output in a spec; `file` is the operator's own, in addition to those it uses."""
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    faults = Faults()
    for name, one in node.tensors.items():
        with faults:
            if name.value in definer.scope.names or name.value in definer.formulas:
                raise fault(name.position, "name-clash", f"the name {name.value} is already taken")
            definer.kept[name.value] = _TYPES[one.type]
    faults.stop()
    kept: list[Intermediate] = []
    for name, one in node.tensors.items():
        with faults:
            kept.append(_intermediate(one, name.value, definer))
    places = {name.value: one.value.position for name, one in node.tensors.items()}
    places |= {name.value: value.position for name, value in node.outputs.items()}
    _check_order(kept, places, faults)
    outputs: dict[str, ir.Expr] = {}
    for name, value in node.outputs.items():
        with faults:
            outputs[name.value] = _output(name, value, tensors, definer)
    missing = [m.name for m in tensors.values() if m.role == "output" and m.name not in outputs]
    if missing and not faults:
        raise fault(node.place("outputs"), "output-undefined", f"nothing defines {missing[0]}")
    values = (*(one.value for one in kept), *outputs.values())
    read = set().union(*map(entries_read, values))
    texts = [*node.let.values(), *node.outputs.values()]
    texts += [text for one in node.tensors.values() for text in (one.sizes, one.value)]
    unused_names(file, [*node.let, *node.tensors], {*definer.used, *read}, texts, faults)
    faults.stop()
    for where, (part, misfit) in _misfits(kept, outputs, combinations(members, resolved, support)).items():
        faults.report(definer.place(part), "coordinate-length", f"{misfit}, in {where}")
    for where, expression in [*((one.name, one.value) for one in kept), *outputs.items()]:
        for misread in _misreads(expression, members, where in outputs):
            faults.report(places[where], "expression-form", f"{misread}, in {where}")
    for where, part, misused in _misused_bits({**{one.name: one.value for one in kept}, **outputs}):
        load = next((one for one in walk_through(part) if isinstance(one, ir.Load)), None)
        place = places[where] if load is None else definer.place(load)
        faults.report(place, "expression-type", f"{misused}, in {where}")
    faults.stop()
    decides = deciding_tensors(kept, outputs.values())
    kept = [replace(one, decides=one.name in decides) for one in kept]
    defines = OutputDefinitions(tuple(kept), outputs, definer.scope.elements)
    for of, reading, what in recurrence_faults(defines):
        place = places[of] if reading is None else definer.place(reading)
        faults.report(place, "recurrence", f"{what}, in {of}")
    faults.stop()
    return defines


def definer_of(
    compute: written.Definition,
    members: Mapping[str, Member],
    resolved: tuple[Rule, ...],
    support: Mapping[str, tuple[Support, ...]],
    kinds: Mapping[str, str],
    scope: Scope,
) -> Definer:
    """Types the expressions of a `compute` section, with the names of its `let`.

    `kinds` gives the kind of every data type: "float" or an integer kind.
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
    formulas = _formulas(compute.let, scope, faults)
    faults.stop()
    return Definer(scope, _kinds(support, kinds), formulas, compute.node.position)


def unused_names(
    file: str,
    names: Iterable[Scalar[str]],
    used: Collection[str],
    texts: Iterable[Scalar[Value]],
    faults: Faults,
) -> None:
    """Reports names that the operator's own file defines but nothing uses.

    If there are other errors, not everything has been analysed; then a name is only reported if no text in
    the whole section mentions it.
    """
    if faults:
        used = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", str(text.value))}
    for key in names:
        name = signature(key.value)[0]
        if key.position.file == file and name not in used:
            faults.report(key.position, "unused-definition", f"nothing uses {name}")


def _formulas(let: written.Formulas, scope: Scope, faults: Faults) -> list[Formula]:
    """The entries of `let`, which are typed where they are used."""
    formulas: dict[str, Formula] = {}
    reserved = {*FOLDS, *PLACES, *NUMBERS, *PREDEFINED, "ndindex", "at"}
    for key, value in let.items():
        with faults:
            name, parameters = signature(key.value)
            where = key.position
            if scope.has(name) or name in reserved or name in formulas:
                raise fault(where, "name-clash", f"the name {name} is already taken")
            for parameter in parameters:
                if not re.fullmatch(r"[A-Za-z]\w*", parameter) or keyword.iskeyword(parameter):
                    raise fault(where, "expression-form", f"{parameter!r} cannot name a parameter")
                if parameter in scope.names or parameters.count(parameter) > 1:
                    raise fault(where, "name-clash", f"parameter {parameter!r} hides another name")
            formulas[name] = Formula(name, parameters, str(value.value), value.at)
    return list(formulas.values())


def _kinds(support: Mapping[str, tuple[Support, ...]], kinds: Mapping[str, str]) -> dict[str, ir.Type]:
    """The tensors whose elements are floats, or integers, in every support table."""
    found: dict[str, set[str]] = {}
    for rows in support.values():
        for row in rows:
            found.setdefault(row.tensor, set()).update(kinds[type_] for type_ in row.types)
    floats = {name: ir.FLOAT for name, all_ in found.items() if all_ == {"float"}}
    return floats | {name: ir.INT for name, all_ in found.items() if "float" not in all_}


def _intermediate(node: written.Intermediate, name: str, definer: Definer) -> Intermediate:
    type_ = definer.kept[name]
    shape = definer.parse(str(node.sizes.value), node.sizes.at, ir.INTS)
    if not is_host_computed(shape):
        message = (
            "sizes are what the description gives, said as rules say it: without floats, elements or `at`"
        )
        raise fault(node.sizes.position, "expression-form", message)
    return Intermediate(
        name=name,
        type=type_,
        sizes=shape,
        along=node.recurrent,
        value=definer.parse(str(node.value.value), node.value.at, type_),
    )


def _check_order(kept: list[Intermediate], places: Mapping[str, Position], faults: Faults) -> None:
    """Checks the order: a tensor reads those above it, in a recurrent group any of it at earlier steps."""
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
                    f"{one.name} reads itself; a recurrence says `recurrent: true`"
                    if name == one.name
                    else f"{one.name} reads {name}, which stands below it"
                )
                faults.report(places[one.name], "cycle", message)


def entries_read(node: ir.Expr) -> set[str]:
    """The intermediate tensors that an expression reads, including in functions."""
    return {part.tensor for part in entries_of(node)}


def _misreads(value: ir.Expr, members: Mapping[str, Member], is_output: bool) -> Iterator[str]:
    """Reads of elements, and functions, that no target supports."""
    for part in walk_through(value):
        match part:
            case ir.Load(tensor=ir.Tensor(name=name)) if members[name].role == "output":
                yield f"{name} is an output, and those are never read"
            case ir.Load(tensor=ir.Tensor(name=name, index=index)) if not isinstance(index, ir.Number | None):
                yield f"which of {name} is read must be a written number"
            case ir.Index(sequence=ir.ListOf(), index=index) if varies(index):
                yield "which entry of a list is taken differs from element to element"
            case ir.Call(function=name) if name in FUNCTIONS and FUNCTIONS[name].only_of_rules:
                yield f"{name}() is a function of rules; definitions cannot use it"
            case ir.Call(function="concat") if part is not value or not is_output:
                yield "joined() is the whole value of an output"
            case ir.Call("concat", (ir.Tensors(name=name), _)) if members[name].role == "output":
                yield f"{name} is an output, and those are never read"


def _misused_bits(values: Mapping[str, ir.Expr]) -> Iterator[tuple[str, ir.Expr, str]]:
    """The first part of each value that mixes raw bits and numbers."""
    of_bits = tensors_of_bits(values.values())
    for name, value in values.items():
        for node, as_bits in taken(value):
            misused = _misused(node, as_bits, of_bits)
            if misused:
                yield name, node, misused
                break


def _misused(node: ir.Expr, as_bits: bool, of_bits: Collection[str]) -> str:
    if as_bits:
        return "" if has_bits(node) else "the other choice is bits, and this is a number"
    if works_on_bits(node):
        return "this gives bits, which are no number: other operations on bits and outputs take them"
    names = [node.tensor.entry] if isinstance(node, ir.Load) else []
    names += [node.type.name] if node.type.name else []
    shared = next((one for one in names if one in of_bits), "")
    return f"elements of {shared} are taken as bits elsewhere, and here as numbers" if shared else ""


def _misfits(
    kept: list[Intermediate], outputs: Mapping[str, ir.Expr], every: Iterable[Lengths]
) -> dict[str, tuple[ir.Expr, str]]:
    """The first read of each value whose coordinate has the wrong length."""
    values = {**{one.name: one.value for one in kept}, **outputs}
    found: dict[str, tuple[ir.Expr, str]] = {}
    for one in every:
        lengths = one.with_counts({each.name: one.certain(each.sizes) for each in kept})
        for name in values.keys() - found.keys():
            for misfit in lengths.with_locals({"at": lengths.counts.get(name)}).misfits(values[name]):
                found.setdefault(name, misfit)
    return found


def _output(
    name: Scalar[str], value: Scalar[Value], tensors: Mapping[str, Member], definer: Definer
) -> ir.Expr:
    outputs = [one for one, member in tensors.items() if member.role == "output"]
    check_known(name, outputs, f"{name.value!r} is not an output of the operator")
    output = ir.Tensor(name.value)
    stored = dict.fromkeys((definer.element(output), ir.BOOL, definer.scope.element(output)))
    return definer.parse(str(value.value), value.at, *stored)
