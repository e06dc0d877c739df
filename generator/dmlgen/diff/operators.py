"""Changes of operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from dmlgen.diff.change import At, Change
from dmlgen.diff.general import come_and_gone, declared, page, told
from dmlgen.diff.meaning import Meaning
from dmlgen.diff.members import member_changes, renamed_members
from dmlgen.diff.places import Sides, Step, with_value
from dmlgen.diff.rules import Rules, rule_changes
from dmlgen.diff.support import support_changes
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Erratum, FeatureLevel, Inference, Operator


def operator_changes(sides: Sides, values: Mapping[str, str]) -> Iterator[Change]:
    """Changes of all operators, by value; `values` gives the new names of enumerators."""
    before, after = sides.old.registry.operator, sides.new.registry.operator

    def at(name: str) -> At:
        return sides.shown(
            before[name].position if name in before else None,
            after[name].position if name in after else None,
        )

    yield from come_and_gone("operator", "the operator", before, after, at)
    for name, now in after.items():
        if name in before:
            yield from member_changes(sides, name, before[name].members, now.members)
            pair = _Operator(sides, before[name], now, values)
            yield from pair.rules()
            yield from support_changes(sides, before[name], now, pair.renamed)
            yield from pair.changes()


class _Operator:
    """An operator that both sides have."""

    def __init__(self, sides: Sides, was: Operator, now: Operator, values: Mapping[str, str]) -> None:
        self.sides, self.was, self.now, self.name = sides, was, now, now.name
        self.renamed = {**values, **renamed_members(was.members, now.members)}
        self.old, self.new = Meaning(self.renamed), Meaning({})

    def rules(self) -> Iterator[Change]:
        was = {self.renamed.get(member.name, member.name): member for member in self.was.members}
        pairs = [(was[member.name], member) for member in self.now.members if member.name in was]
        given = {
            name for one, other in pairs if one.optional != other.optional for name in (one.name, other.name)
        }
        yield from rule_changes(
            self.sides,
            Rules(self.was.rules, Meaning(self.renamed, given)),
            Rules(self.now.rules, Meaning({}, given)),
            same_types=all(one.type == other.type for one, other in pairs),
        )

    def changes(self) -> Iterator[Change]:
        """Changes other than those of members, rules and tables."""
        yield from self._header()
        yield from self._inferences()
        yield from self._fusions()
        yield from self._in_place()
        yield from self._definition()
        yield from self._defaults()
        yield from self._texts()
        yield from self._worked()
        yield from self._errata()

    def _at(self, *steps: Step) -> At:
        return self.sides.of(self.was, self.now, *steps)

    def _header(self) -> Iterator[Change]:
        was, now, name = self.was, self.now, self.name
        if was.value != now.value:
            numbers = str(was.value), str(now.value)
            yield Change("operator-value", name, f"{name} is another number", self._at("value"), numbers)
        if was.since.name != now.since.name:
            kind = "operator-later" if now.since.value > was.since.value else "operator-earlier"
            text, levels = f"{name} comes with another feature level", (was.since.name, now.since.name)
            yield Change(kind, name, text, self._at("since"), levels)
        if (was.struct_since.name, now.struct_since.name) != (was.since.name, now.since.name):  # not as it
            yield from declared(
                f"{name}'s struct", (was.struct_since, now.struct_since), self._at("struct_since")
            )
        if was.alias != now.alias:
            for alias, kind, text in ((was.alias, "removed", "no longer is"), (now.alias, "added", "is")):
                if alias:
                    text = f"{alias} {text} another name of {name}"
                    yield Change(f"alias-{kind}", name, text, self._at("alias"))

    def _inferences(self) -> Iterator[Change]:
        """Changes of inferences that no rule requires: required ones change with the rule."""
        before, after = _open(self.was, self.old), _open(self.now, self.new)
        for field in dict.fromkeys((*before, *after)):
            was, now = before.get(field, []), after.get(field, [])
            values = (
                [[*map(meaning.print, one.expressions)] for one in inferences]
                for meaning, inferences in ((self.old, was), (self.new, now))
            )
            if next(values) != next(values):
                kind = _kind(was, now)
                text = f"what {self.name}.{field} is where a description leaves it open: {kind}"
                texts = "; ".join(map(_inferred, was)), "; ".join(map(_inferred, now))
                yield Change(
                    f"inference-{kind}", f"{self.name}.{field}", text, self._at("default_outputs"), texts
                )

    def _fusions(self) -> Iterator[Change]:
        before, after = self.was.fusible_into, self.now.fusible_into
        for name in sorted({*before, *after}):
            was, now = before.get(name), after.get(name)
            if _first(was) != _first(now):
                kind = "gained" if _first(now) < _first(was) else "lost"
                other = "any operator with a place for one" if name == "any" else name
                text = f"{other} takes {self.name} as fused activation at other levels"
                at = self._at("fusible_into", name)
                yield Change(f"fusion-{kind}", self.name, text, at, (_from(was), _from(now)))

    def _in_place(self) -> Iterator[Change]:
        before, after = {self.renamed.get(name, name) for name in self.was.in_place}, {*self.now.in_place}
        for name in sorted(before ^ after):
            kind, text = ("lost", "no longer share") if name in before else ("gained", "share")
            text = f"an output may {text} the buffer of {self.name}.{name}"
            yield Change(f"in-place-{kind}", f"{self.name}.{name}", text, self._at("in_place"))

    def _definition(self) -> Iterator[Change]:
        was, now = self.old.words("\n".join(_computed(self.was))).splitlines(), [*_computed(self.now)]
        one, other = self.was.defines, self.now.defines
        if one is not None and other is not None:
            same = self.old.definition(one) == self.new.definition(other)
        else:
            same = was == now
        if not same:
            kind = _kind(was, now)
            text = f"what {self.name} computes: {kind}"
            texts = (
                "\n".join(line for line in side if line not in other)
                for side, other in ((was, now), (now, was))
            )
            yield Change(
                f"definition-{kind}", self.name, text, self._at("compute"), (next(texts), next(texts))
            )

    def _defaults(self) -> Iterator[Change]:
        before = {
            self.renamed.get(name, name): self.renamed.get(str(value), str(value))
            for name, value in self.was.defaults.items()
        }
        after = {name: str(value) for name, value in self.now.defaults.items()}
        for name in sorted({*before, *after}):
            was, now = before.get(name, ""), after.get(name, "")
            if was != now:
                kind, subject = _kind(was, now), f"{self.name}.{name}"
                text = f"what {subject} is where a caller leaves it out: {kind}"
                yield Change(f"default-{kind}", subject, text, self._at("defaults", name), (was, now))

    def _texts(self) -> Iterator[Change]:
        was, now, name = self.was, self.now, self.name
        yield from told(name, (was.summary, now.summary), self._at("summary"))
        yield from page(name, (was.page, now.page), self._at("page"))
        if was.family != now.family:
            at = self.sides.shown(was.position, now.position)
            yield Change("family-changed", name, f"{name} is in another family", at, (was.family, now.family))
        if {self.renamed.get(one, one) for one in was.unconstrained} != {*now.unconstrained}:
            free = ", ".join(was.unconstrained), ", ".join(now.unconstrained)
            yield Change(
                "free-changed", name, f"{name} has other free members", self._at("unconstrained"), free
            )

    def _worked(self) -> Iterator[Change]:
        """Changes of worked examples, and of constraints on data."""
        for kind, key in (("example", "examples"), ("data", "data_constraints")):
            was, now = ({one.id: repr(one) for one in getattr(side, key)} for side in (self.was, self.now))
            for id_ in dict.fromkeys((*was, *now)):
                if self.old.words(was.get(id_, "")) != now.get(id_, ""):
                    what = f"the worked example {id_}" if kind == "example" else f"what {id_} says of data"
                    text = f"{what}: {_kind(was.get(id_), now.get(id_))}"
                    yield Change(f"{kind}-changed", self.name, text, self._at(key, with_value("id", id_)))

    def _errata(self) -> Iterator[Change]:
        """Changes of errata, matched by the place on the page; several for one place are matched in order."""
        old = {self.old.words(repr(one)): one for one in self.was.errata}
        new = {repr(one): one for one in self.now.errata}
        gone = [one for text, one in old.items() if text not in new]
        come = [one for text, one in new.items() if text not in old]
        for where in dict.fromkeys(one.where.plain for one in (*gone, *come)):
            sides = ([one for one in errata if one.where.plain == where] for errata in (gone, come))
            for one, other in zip_longest(*sides):
                at = self._at("errata", with_value("where", where))
                at = (at[0] if one else None, at[1] if other else None)
                kind, texts = _kind(one, other), (_erratum(one), _erratum(other))
                yield Change(f"erratum-{kind}", self.name, f"the erratum of {where}: {kind}", at, texts)


def _kind(was: object, now: object) -> str:
    return "changed" if was and now else "removed" if was else "added"


def _open(operator: Operator, meaning: Meaning) -> dict[str, list[Inference]]:
    """What is inferred but not required, by field, with new names."""
    found: dict[str, list[Inference]] = {}
    for one in operator.inferences:
        if not one.demanded:
            found.setdefault(f"{meaning.words(one.tensor)}.{one.field}", []).append(one)
    return found


def _inferred(one: Inference) -> str:
    when = f", when {SOURCE.print(one.when)}" if one.when is not None else ""
    return f"{SOURCE.print(one.value)}{when}"


def _computed(operator: Operator) -> Iterator[str]:
    """What an operator computes, as text; for an algorithm, its roles."""
    algorithm = operator.algorithm
    if operator.defines is not None:
        yield from operator.defines.lines
    elif algorithm is not None:
        yield f"{algorithm.output} by the algorithm {algorithm.name}"
        yield from (f"{one.name} = {SOURCE.print(one.value)}" for one in algorithm.definitions)
        yield from (f"{name}: {SOURCE.print(role)}" for name, role in algorithm.roles.items())
        if algorithm.place is not None:
            yield f"place: {SOURCE.print(algorithm.place)}"


def _first(level: FeatureLevel | None) -> float:
    return float("inf") if level is None else level.value


def _from(level: FeatureLevel | None) -> str:
    return "at no level" if level is None else f"from {level.name} on"


def _erratum(one: Erratum | None) -> str:
    return "" if one is None else f"{one.sentence}; here: {one.registry.plain} ({one.source})"
