"""Compares what a page says about equal tensor fields and ranges with the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dmlaudit.equal import Equalities, bounds, rule_but_axis
from dmlaudit.sentences import Bound, Constraint, Crossed, Same, SameButAxis, Unread
from dmlaudit.verdict import Verdict
from dmlgen.registry import Operator

_LISTED = ("DataType", "DimensionCount")  # pages list these; how they explain sizes is not parsed here


def compare_constraints(operator: Operator, stated: Sequence[Constraint]) -> Iterator[Verdict]:
    """Each constraint of a known form; then what the rules require of data types and ranks beyond these."""
    equalities = Equalities(operator)
    place = operator.places.get("rules", operator.position)
    for one in stated:
        match one:
            case Same():
                yield _same(operator, equalities, one.with_input(operator.inputs))
            case SameButAxis(line, axis, tensors):
                rule = rule_but_axis(operator, axis, tensors)
                says = f"same Sizes of {', '.join(tensors)} but along {axis}"
                where = rule.position if rule else place
                yield Verdict(line, says, "" if rule else "no rule demands so much", where)
            case Crossed(line, tensor, field, other):
                yield Verdict(line, f"{field} of {tensor} matches {other}", "they are not of one kind", place)
            case Bound():
                yield _bound(operator, equalities, one)
            case Unread():
                pass
    same = [one.with_input(operator.inputs) for one in stated if isinstance(one, Same)]
    yield from _unstated(equalities, same)


def _same(operator: Operator, equalities: Equalities, one: Same) -> Verdict:
    unknown = [name for name in one.tensors if name not in operator.member]
    place = equalities.position(one.field, one.tensors)
    holds = "" if equalities.are_equal(one.field, one.tensors) else "no rule demands so much"
    if unknown:
        holds = f"there is no tensor {unknown[0]}"
    return Verdict(one.line, f"same {one.field} of {', '.join(one.tensors)}", holds, place)


def _bound(operator: Operator, equalities: Equalities, one: Bound) -> Verdict:
    tensor, dot, field = one.bound.partition(".")
    equal = equalities.all_equal(field, tensor) if dot else [tensor]
    found = [ours for name in equal for ours in bounds(operator, one.member, f"{name}{dot}{field}")]
    if not found:
        place = operator.places.get("rules", operator.position)
        return Verdict(one.line, one.text, "no rule compares the two", place)
    ours = dict.fromkeys(f"{one.member} {op} {one.bound}" for op, _ in found)
    return Verdict(one.line, one.text, "" if one.text in ours else " and ".join(ours), found[0][1].position)


def _unstated(equalities: Equalities, stated: Iterable[Same]) -> Iterator[Verdict]:
    """Tensors that rules tie to each other although no statement on the page does."""
    for field in _LISTED:
        groups = [
            set(one.tensors) for one in stated if one.field in (field, "Sizes"[: 5 * (field != "DataType")])
        ]
        for names in equalities.demanded(field):
            joined = {names[0]}
            while more := [group for group in groups if group & joined and not group <= joined]:
                joined = joined.union(*more)
            apart = [name for name in names if name not in joined]
            if apart:
                says = f"does not require the same {field} of {', '.join(names)}"
                yield Verdict(1, says, "the rules demand it", equalities.position(field, tuple(names)))
