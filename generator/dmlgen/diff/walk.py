"""Finds changes: a walk over the records of two registries, with a table of the kinds of change by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dmlgen import registry as r
from dmlgen.diagnostics import Position
from dmlgen.diff.change import KINDS, Change
from dmlgen.diff.meaning import Meaning
from dmlgen.diff.rules import rule_changes
from dmlgen.diff.support import support_changes
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.mappings import Operation
from dmlgen.text import Text

Facts: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Ordered:
    """A level or a truth value: the kinds of change to a higher one and to a lower one."""

    higher: str
    lower: str


@dataclass(frozen=True)
class Each:
    """A field of facts with names, each of which can come, go or change.

    Kinds are `kind` with one of `words`, or with "changed". `named` gives the facts by name. The subject of a
    change is the name, `within` the owner; if that is None, the owner itself.
    """

    kind: str
    named: Callable[[Any], Facts]
    within: bool | None = True
    words: tuple[str, str] = ("added", "removed")


How: TypeAlias = str | Ordered | tuple[Each, ...]


def _by_name(records: tuple[Any, ...]) -> Facts:
    return {one.name: one for one in records}


def _by_id(records: tuple[Any, ...]) -> Facts:
    return {one.id: one for one in records}


def _names(names: tuple[str, ...]) -> Facts:
    return dict.fromkeys(filter(None, names), "")


def _only(fact: object | None) -> Facts:
    return {} if fact is None else {"of outputs": fact}


def _open(inferences: tuple[r.Inference, ...]) -> Facts:
    """The parts that no rule requires, by field: the rest changes with its rules."""
    found: Facts = {}
    for one in inferences:
        if not one.demanded:
            found.setdefault(f"{one.tensor}.{one.field}", []).append(one)
    return found


def _errata(errata: tuple[r.Erratum, ...]) -> Facts:
    """By the place on the page; several for one place by their order, too."""
    found: Facts = {}
    for one in errata:
        number = sum(name.partition("#")[0] == one.where.plain for name in found)
        found[one.where.plain + (f"#{number + 1}" if number else "")] = one
    return found


def _signatures(covered: bool) -> Callable[[tuple[Operation, ...]], Facts]:
    """Those that something computes, or those that nothing does."""
    return lambda operations: {
        f"{_operation(one)} from version {signature.first} on": signature
        for one in operations
        for signature in one.signatures
        if covered == bool(signature.forms or signature.expands or signature.host)
    }


def _operation(one: Operation) -> str:
    return f"{one.interface}:{one.domain + '.' if one.domain else ''}{one.name}"


_DECLARED = Ordered("declared-later", "declared-earlier")
_GAINED = ("gained", "lost")

FIELDS: Mapping[type, Mapping[str, How]] = {
    r.Registry: {
        "levels": (Each("level", _by_name, within=False),),
        "levels_declared": "level-declared",
        "types": (Each("type", dict, within=False),),
        "pages": "page-changed",
        "foreign": (Each("type", dict, within=False),),
        "enums": (Each("enum", dict, within=False),),
        "constants": (Each("constant", _by_name, within=False),),
        "structs": (Each("struct", dict, within=False),),
        "hints": (Each("hint", dict, within=False),),
        "errata": (Each("erratum", _errata, within=None),),
        "interfaces": (Each("interface", dict, within=False),),
        "operators": (Each("operator", _by_name, within=False),),
    },
    r.FeatureLevel: {
        "value": "level-value",
        "ntddi": "level-declared",
        "directml": "level-release",
        "in_box": "level-release",
    },
    r.Constant: {"value": "constant-value", "since": _DECLARED, "summary": "summary-changed"},
    r.Enum: {
        "prefix": "enum-changed",
        "flags": "enum-changed",
        "since": _DECLARED,
        "summary": "summary-changed",
        "values": (Each("enum-value", dict),),
    },
    r.EnumEntry: {
        "value": "enum-value-number",
        "bits": "enum-value-element",
        "kind": "enum-value-element",
        "significand": "enum-value-element",
        "since": _DECLARED,
        "summary": "summary-changed",
    },
    r.Struct: {
        "union": "struct-layout",
        "since": _DECLARED,
        "summary": "summary-changed",
        "page": "page-changed",
        "members": (Each("member", _by_name),),
    },
    r.Member: {
        "type": "member-type",
        "typed_by": "member-type",
        "role": "member-role",
        "count": "member-array",
        "pointer": "member-array",
        "length": "member-array",
        "optional": Ordered("member-optional", "member-required"),
        "summary": "summary-changed",
    },
    r.TensorRules: {"defaults": (Each("default", dict),)},
    r.Operator: {
        "members": (Each("member", _by_name),),
        "value": "operator-value",
        "since": Ordered("operator-later", "operator-earlier"),
        "struct_since": _DECLARED,
        "alias": (Each("alias", lambda alias: _names((alias,)), within=None),),
        "inferences": (Each("inference", _open),),
        "fusible_into": (Each("fusion", dict, within=None, words=_GAINED),),
        "integer_operators": "integers-changed",
        "in_place": (Each("in-place", _names, words=_GAINED),),
        "defines": (Each("definition", _only, within=None),),
        "algorithm": (Each("definition", _only, within=None),),
        "defaults": (Each("default", dict),),
        "summary": "summary-changed",
        "page": "page-changed",
        "family": "family-changed",
        "unconstrained": "free-changed",
        "examples": (Each("example", _by_id, within=None),),
        "data_constraints": (Each("data", _by_id, within=None),),
        "errata": (Each("erratum", _errata, within=None),),
    },
    r.Counterparts: {
        "operations": (
            Each("counterpart", _signatures(True), within=False),
            Each("counterpart-note", _signatures(False), within=False),
            Each("counterpart-note", lambda some: {_operation(one): one.note for one in some}, within=False),
        ),
        "activations": "counterpart-changed",
        "data_types": "counterpart-changed",
        "operand_types": "counterpart-changed",
        "domains": "counterpart-note",
        "directmlx": "counterpart-changed",
        "registrations": "counterpart-note",
        "without": "counterpart-note",
        "sources": "counterpart-note",
    },
}
"""The kinds of change of each field of a record. A field that is not listed affects nobody by itself; rules
and support tables have their own walks."""

_KEYS = {"inferences": "default_outputs", "defines": "compute", "algorithm": "compute"}  # in specs
_FILES = {"hints": "rules", "defaults": "rules", "interfaces": "interfaces"}  # of facts without a position


class Walk:
    """A walk over two registries, whose specs are in `folders`."""

    def __init__(self, was: r.Registry, now: r.Registry, folders: tuple[str, str]) -> None:
        self._was, self._now, self._folders = was, now, folders
        self._new = Meaning({})

    def changes(self) -> Iterator[Change]:
        """Every change, general ones first, then operators by value."""
        was, now = self._was, self._now
        old = Meaning(_renamed_values(was, now))
        yield from _identifiers(was, now)
        for some, others in zip(_general_rules(was), _general_rules(now), strict=True):
            yield from rule_changes(some, others, old, was.hints == now.hints, now.retired)
        yield from self._record("TENSOR", was.tensor, now.tensor, old)
        yield from self._record("levels", was, now, old)
        yield from self._record("counterparts", was.counterparts, now.counterparts, old)

    def _record(
        self, subject: str, was: Any, now: Any, old: Meaning, owners: tuple[Any, Any] | None = None
    ) -> Iterator[Change]:
        """Changes of a record that both sides have, and that belongs to `owners`."""
        if isinstance(now, r.Operator | r.Struct):
            old = Meaning({**old.renamed, **_renamed_members(was.members, now.members)})
        found: set[str] = set()
        for name, how in FIELDS[type(now)].items():
            a, b = getattr(was, name), getattr(now, name)
            if isinstance(how, tuple):
                for each in how:
                    yield from self._each(subject, name, each, was, now, old)
            elif how is _DECLARED and _follows(was, now, name, owners):
                continue
            elif old.text(a) != self._new.text(b):
                kind = how if isinstance(how, str) else how.higher if _height(b) > _height(a) else how.lower
                if kind not in found:
                    text = f"the {name.replace('_', ' ')} of {subject} is another one"
                    at = self._place(0, was, name), self._place(1, now, name)
                    yield Change(kind, subject, text, at, _shown(a, b))
                found.add(kind)
        if isinstance(now, r.Operator):
            yield from self._rules_and_tables(was, now, old)

    def _rules_and_tables(self, was: r.Operator, now: r.Operator, old: Meaning) -> Iterator[Change]:
        before = {old.words(member.name): member for member in was.members}
        pairs = [(before[one.name], one) for one in now.members if one.name in before]
        given = {name for a, b in pairs if a.optional != b.optional for name in (a.name, b.name)}
        with_hints = all(a.type == b.type for a, b in pairs) and self._was.hints == self._now.hints
        meaning = Meaning(old.renamed, given)
        yield from rule_changes(was.rules, now.rules, meaning, with_hints, self._now.retired)
        yield from support_changes(was, now, old)

    def _each(self, owner: str, field: str, how: Each, was: Any, now: Any, old: Meaning) -> Iterator[Change]:
        """Changes of the named facts in a field."""
        before = {old.words(name): (name, fact) for name, fact in how.named(getattr(was, field)).items()}
        after = how.named(getattr(now, field))
        for name in dict.fromkeys((*before, *after)):
            called, a = before.get(name, (name, None))
            b: Any = after.get(name)
            subject = owner if how.within is None else f"{owner}.{name}" if how.within else name
            what = f"the {how.kind} {subject}" + (f": {name}," if how.within is None else "")
            at = (
                self._place(0, was, field, a) if name in before else None,
                self._place(1, now, field, b) if name in after else None,
            )
            if name not in before or name not in after:
                text = f"{what} is {'new' if name in after else 'gone'}"
                word = how.words[0 if name in after else 1]
                yield Change(_kind(how, word), subject, text, at, _shown(a, b))
                continue
            if called != name and f"{how.kind}-renamed" in KINDS:
                yield Change(f"{how.kind}-renamed", subject, f"{called} is called {name}", at, (called, name))
            if how.kind == "fusion":
                if a != b:
                    word = how.words[0 if _height(b) < _height(a) else 1]
                    text = f"{what} begins at another level"
                    yield Change(_kind(how, word), subject, text, at, _shown(a, b))
            elif isinstance(b, r.Operator) and a.digest == b.digest:
                continue
            elif type(b) in FIELDS:
                yield from self._record(subject, a, b, old, (was, now))
            elif self._names_of(a, old).text(a) != self._new.text(b):
                yield Change(_kind(how, "changed"), subject, f"{what} is another one", at, _shown(a, b))
        kept = [name for name in before if name in after], [name for name in after if name in before]
        if f"{how.kind}-order" in KINDS and kept[0] != kept[1]:
            at = self._place(0, was, field), self._place(1, now, field)
            texts = ", ".join(kept[0]), ", ".join(kept[1])
            yield Change(f"{how.kind}-order", owner, f"the {field} have another order", at, texts)

    def _names_of(self, fact: object, old: Meaning) -> Meaning:
        """The names in a fact; those in a signature are of the operators that it maps to."""
        if not isinstance(fact, r.Signature):
            return old
        sides = self._was.operator, self._now.operator
        both = [[side[name].members for side in sides] for name in fact.operators if name in sides[1]]
        members = {was: now for a, b in both for was, now in _renamed_members(a, b).items()}
        return Meaning({**old.renamed, **members})

    def _place(self, side: int, record: Any, field: str, fact: object = None) -> Position:
        """The position of a fact: its own, that of its key, of its record, or its file."""
        own = None if isinstance(record, r.Operator) and isinstance(fact, r.FeatureLevel) else fact
        key = record.places.get(_KEYS.get(field, field)) if isinstance(record, r.Operator) else None
        found: Position | None = getattr(own, "position", key) or key or getattr(record, "position", None)
        other = "counterparts/onnx" if isinstance(record, r.Counterparts) else "constants"
        return found or Position(f"{self._folders[side]}/{_FILES.get(field, other)}.yaml")


def _identifiers(was: r.Registry, now: r.Registry) -> Iterator[Change]:
    """Identifiers that are used again, or in no list. Others are reported with their rules."""
    at = was.identifiers_position, now.identifiers_position
    for name in sorted(was.retired & now.identifiers):
        yield Change("identifier-reused", name, f"the retired identifier {name} is in use again", at)
    for name in sorted((was.identifiers | was.retired) - (now.identifiers | now.retired)):
        yield Change("identifier-forgotten", name, f"{name} is neither active nor retired any more", at)


def _general_rules(registry: r.Registry) -> list[tuple[r.Rule, ...]]:
    owners = (registry.tensor, registry.graphs, registry.bindings)
    return [registry.operator_rules, *(one.rules for one in owners), registry.calls]


def _renamed_values(was: r.Registry, now: r.Registry) -> dict[str, str]:
    """New names of enumerators: those whose number has another name now, while the old name is gone."""
    renamed = {}
    for name, enum in now.enums.items():
        before = {one.value: one.name for one in (was.enums[name].entries if name in was.enums else ())}
        names = {one.name for one in enum.entries}
        for entry in enum.entries:
            old = before.get(entry.value, entry.name)
            if old not in names and entry.name not in before.values():
                renamed[old] = entry.name
    return renamed


def _renamed_members(was: tuple[r.Member, ...], now: tuple[r.Member, ...]) -> dict[str, str]:
    """New names of members: at the position of one that is gone is a new one of the same kind."""
    before, after = ({member.name for member in members} for members in (was, now))
    kinds = (
        [(one.type, one.role, one.pointer, one.length, one.count is None) for one in side]
        for side in (was, now)
    )
    return {
        a.name: b.name
        for a, b, kind, other in zip(was, now, *kinds, strict=False)
        if a.name not in after and b.name not in before and kind == other
    }


def _follows(was: Any, now: Any, field: str, owners: tuple[Any, Any] | None) -> bool:
    """Whether a level is that of the whole on both sides, whose change is reported."""
    whole = (was, now) if field != "since" or owners is None else owners
    levels = getattr(was, field), getattr(now, field)
    return levels == tuple(getattr(one, "since", None) for one in whole)


def _kind(how: Each, word: str) -> str:
    """The kind of a change; facts whose coming and going concerns only readers have one kind."""
    return next(kind for kind in (f"{how.kind}-{word}", f"{how.kind}-changed", how.kind) if kind in KINDS)


def _height(value: r.FeatureLevel | bool) -> int:
    return value.value if isinstance(value, r.FeatureLevel) else int(value)


def _shown(was: object, now: object) -> tuple[str, str]:
    """Both texts, as far as there is something to read; of several lines those that differ."""
    a, b = list(_lines(was)), list(_lines(now))
    if max(len(a), len(b)) > 1:
        a, b = [line for line in a if line not in b], [line for line in b if line not in a]
    return "\n".join(a), "\n".join(b)


def _lines(value: object) -> Iterator[str]:
    match value:
        case Text():
            yield value.plain
        case r.FeatureLevel():
            yield value.name
        case r.OutputDefinitions():
            yield from value.lines
        case r.Erratum():
            yield f"{value.sentence}; here: {value.registry.plain} ({value.source})"
        case r.Inference(value=inferred, when=when):
            yield SOURCE.print(inferred) + (f", when {SOURCE.print(when)}" if when is not None else "")
        case tuple() | list():
            for one in value:
                yield from _lines(one)
        case str() | int() | float():
            yield str(value)
        case _ if isinstance(value, ir.Expr):
            yield SOURCE.print(value)
