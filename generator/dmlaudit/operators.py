"""Compares an operator's page with its spec: members, tables, constraints, levels, shared buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmlaudit.constraints import compare_constraints
from dmlaudit.sentences import InPlace, Introduced, NegativeIndices
from dmlaudit.stated import Stated
from dmlaudit.structs import compare_members
from dmlaudit.tables import SupportRow, SupportTable, counts_of
from dmlaudit.verdict import Verdict
from dmlgen.diagnostics import Position
from dmlgen.expr import ir
from dmlgen.registry import FeatureLevel, Member, Operator, Registry, Support


def compare_operator(registry: Registry, operator: Operator, stated: Stated) -> Iterator[Verdict]:
    """Everything that is stated about the operator, and what its lists and tables leave out."""
    names = (operator.c_name, operator.c_alias)
    for listed in stated.declared:
        if listed.struct in names:
            yield from compare_members(registry, operator.members, listed, operator.places["members"])
    if stated.described:
        yield from compare_members(registry, operator.members, stated.described, operator.places["members"])
    else:
        yield Verdict(1, "no members", f"{len(operator.members)} members", operator.places["members"])
    yield from _Tables(registry, operator, stated).verdicts()
    yield from compare_constraints(operator, stated.constraints)
    yield from _availability(registry, operator, stated)
    yield from _in_place(operator, stated.in_place)
    yield from _negative_indices(operator, stated.negative_indices)


class _Tables:
    def __init__(self, registry: Registry, operator: Operator, stated: Stated) -> None:
        self._registry = registry
        self._operator = operator
        self._year = stated.date[-4:]
        self._tables = stated.tables
        self._blocks = _blocks(operator)

    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts, cell by cell; then what tables leave out."""
        stated: set[str] = set()
        for table, level in self._with_levels():
            stated.add(level)
            yield Verdict(table.named, f"table of {level}", self._fault_of(level), self._place)
            if level in self._operator.support:
                yield from self._table(table, level, self._operator.support[level])
        dated = f" on a page of {self._year}" if self._year else ""
        line = self._tables[0].line if self._tables else 1
        for level, rows in self._blocks.items():
            if level not in stated:
                place = rows[0].position or self._place
                yield Verdict(line, f"no table of {level}{dated}", f"a table of {level}", place)

    def _fault_of(self, level: str) -> str:
        """Why there should be no separate table for a level; "" if there should."""
        if level not in self._registry.level:
            return "there is no such level"
        if level not in self._operator.support:
            return f"the operator came with {self._operator.since.name}"
        rules = {one.name for rule in self._operator.rules for one in (rule.since, rule.until) if one}
        return "" if level in self._blocks or level in rules else "nothing changes at that level"

    @property
    def _place(self) -> Position:
        return self._operator.places["support"]

    def _with_levels(self) -> Iterator[tuple[SupportTable, str]]:
        """Each table with its level.

        If none is stated, the last table is that of the level that introduced the operator, and those above
        it belong to the next levels that have one.
        """
        unstated = [table for table in self._tables if table.level is None]
        oldest_first = [*self._blocks, *("?" for _ in unstated)]
        taken = dict(zip(map(id, reversed(unstated)), oldest_first, strict=False))
        for table in self._tables:
            yield table, table.level or taken[id(table)]

    def _table(self, table: SupportTable, level: str, rows: tuple[Support, ...]) -> Iterator[Verdict]:
        about = f"table of {level}" + (f" for {', '.join(table.cases)}" if table.cases else "")
        seen: set[str] = set()
        for row in table.rows:
            if row.tensor in seen:
                yield Verdict(row.line, f"{about}: {row.tensor} twice", "one row for a tensor", self._place)
            seen.add(row.tensor)
            ours = [one for one in rows if one.tensor == row.tensor]
            if not ours:
                yield Verdict(row.line, f"{about}: {row.tensor}", "there is no such tensor", self._place)
                continue
            for case in table.cases or ("",):
                fitting = [one for one in ours if _fits(one.when, case)]
                if len(fitting) == 1:
                    yield from self._row(
                        self._registry.level[level], f"{about}: {row.tensor}", row, fitting[0]
                    )
                else:
                    holds = f"{len(fitting)} rows apply" + (f" to {case}" if case else "")
                    yield Verdict(row.line, f"{about}: {row.tensor}", holds, self._place)
        for name in dict.fromkeys(one.tensor for one in rows if one.tensor not in seen):
            place = next(one.position for one in rows if one.tensor == name) or self._place
            yield Verdict(table.line, f"{about}: no row of {name}", f"a row of {name}", place)

    def _row(self, level: FeatureLevel, about: str, row: SupportRow, ours: Support) -> Iterator[Verdict]:
        place = ours.position or self._place
        if row.kind:
            member = self._operator.member[row.tensor]
            kind = _kind(self._operator, member, level)
            holds = "" if row.kind.casefold() == kind else kind
            yield Verdict(row.line, f"{about}: {row.kind.casefold()}", holds, member.position)
        if row.ranks is not None:
            holds = "" if row.ranks == ours.ranks else _counts(ours.ranks)
            yield Verdict(row.line, f"{about}: {_counts(row.ranks)}", holds, place)
        if row.types is not None:
            holds = "" if set(row.types) == set(ours.types) else ", ".join(ours.types)
            yield Verdict(row.line, f"{about}: {', '.join(row.types) or 'no data types'}", holds, place)
        counts = None if row.dimensions is None else counts_of(row.dimensions)
        if counts is not None:
            holds = "" if counts == ours.ranks else _counts(ours.ranks)
            yield Verdict(row.line, f"{about}: {row.dimensions}, {_counts(counts)}", holds, place)


def _blocks(operator: Operator) -> dict[str, tuple[Support, ...]]:
    """The levels at which the spec has a table, each with it, lowest first."""
    found: dict[str, tuple[Support, ...]] = {}
    for level, rows in operator.support.items():
        if not found or [one.position for one in rows] != [one.position for one in list(found.values())[-1]]:
            found[level] = rows
    return found


def _fits(when: ir.Expr | None, case: str) -> bool:
    """Whether a row of the spec concerns an enumerator."""
    match when:
        case None:
            return True
        case ir.OneOf(choices=choices):
            return any(isinstance(one, ir.EnumValue) and one.name == case for one in choices)
        case ir.Compare(op="==", right=ir.EnumValue(name=name)):
            return name == case
        case _:
            return False


def _kind(operator: Operator, member: Member, level: FeatureLevel) -> str:
    """A table's description of the tensor; one that rules require at the level is not optional there."""
    if member.count:
        return f"array of {member.role}s"
    demanded = (
        check.guard is None and check.condition == ir.Present(ir.Tensor(member.name))
        for rule in operator.rules
        if rule.since.ordinal <= level.ordinal and (rule.until is None or level.ordinal < rule.until.ordinal)
        for check in rule.checks
    )
    return f"optional {member.role}" if member.optional and not any(demanded) else member.role


def _counts(ranks: tuple[int, ...]) -> str:
    if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]} to {ranks[-1]} dimensions"
    return f"{' or '.join(map(str, ranks))} dimensions"


def _availability(registry: Registry, operator: Operator, stated: Stated) -> Iterator[Verdict]:
    place = operator.places.get("since", operator.position)
    since = operator.since
    for one in stated.introduced:
        if one.newer:
            yield from _newer(registry, one, place)
        elif one.level is not None:
            holds = "" if one.level == since.name else f"introduced in {since.name}"
            yield Verdict(one.line, f"introduced in {one.level}", holds, place)
        elif one.version is not None:
            holds = "" if one.version == since.directml else f"introduced in DirectML {since.directml}"
            yield Verdict(one.line, f"introduced in DirectML {one.version}", holds, place)
    for line, version in stated.packages:
        holds = "" if _same_version(version, since.directml) else f"DirectML {since.directml}"
        yield Verdict(line, f"{since.name} is in packages from {version} on", holds, since.position or place)
    for line, what, build in stated.builds:
        boxes = (level.in_box for level in registry.levels[since.ordinal :])
        first = next((box.build for box in boxes if box is not None), None)
        holds = "" if build == first else f"build {first}" if first else "no Windows build"
        yield Verdict(line, f"{what.lower()} is build {build}", holds, since.position or place)


def _newer(registry: Registry, one: Introduced, place: Position) -> Iterator[Verdict]:
    """The level that introduced another operator."""
    others = [other for other in registry.operators if one.newer in (other.c_name, other.c_constant)]
    says = f"{one.newer} introduced in {one.level or f'DirectML {one.version}'}"
    for other in others:
        holds = "" if one.level == other.since.name else f"introduced in {other.since.name}"
        yield Verdict(one.line, says, holds, other.places["since"])
    if not others:
        yield Verdict(one.line, says, "there is no such operator", place)


def _same_version(stated: str, ours: str) -> bool:
    """Whether 1.4 and 1.4.0 are the same version."""
    return f"{stated}.0.0".split(".")[:3] == ours.split(".")


def _in_place(operator: Operator, stated: Sequence[InPlace]) -> Iterator[Verdict]:
    place = operator.places.get("in_place", operator.position)
    holds = f"in place: {', '.join(operator.in_place) or 'nothing'}"
    outputs = {member.name for member in operator.outputs}
    for one in stated:
        for name in one.outputs:
            reason = "" if name in outputs else f"the outputs are {', '.join(sorted(outputs))}"
            yield Verdict(one.line, f"in place: {name} is an output", reason, operator.places["members"])
        inputs = one.inputs or tuple(m.name for m in operator.inputs if m.name != one.exception)
        says = f"in place: {', '.join(inputs)}"
        yield Verdict(one.line, says, "" if set(inputs) == set(operator.in_place) else holds, place)
    if not stated:
        yield Verdict(1, "in place: nothing", holds if operator.in_place else "", place)


def _negative_indices(operator: Operator, stated: Sequence[NegativeIndices]) -> Iterator[Verdict]:
    place = operator.places.get("data_constraints", operator.position)
    levels = {
        (one.since or operator.since).name
        for one in operator.data_constraints
        if one.id.startswith("negative-")
    }
    for one in stated:
        holds = "" if levels == {one.level} else f"negative indices from {', '.join(levels) or 'none'} on"
        yield Verdict(one.line, f"negative indices from {one.level} on", holds, place)
    if not stated and levels:
        yield Verdict(1, "no negative indices", f"negative indices from {', '.join(levels)} on", place)
