"""The combinations of dimension counts that an operator's tensors can have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dmlgen.expr import ir
from dmlgen.expr.ranks import Counts, combinations
from dmlgen.registry import Member, Rule, Support


def dimension_counts(
    members: Mapping[str, Member], resolved: Iterable[Rule], support: Mapping[str, tuple[Support, ...]]
) -> list[Counts]:
    """The combinations of dimension counts that a valid description can have."""
    ranks: dict[str, set[int]] = {}
    for row in (row for rows in support.values() for row in rows):
        if members[row.tensor].count is None:  # rules apply to an array's entries inside loops
            ranks.setdefault(row.tensor, set()).update(row.ranks)
    arrays = {name: member.count for name, member in members.items() if member.count and not member.is_tensor}
    always = (rule for rule in resolved if rule.until is None and not rule.advice)
    conditions = tuple(
        check.condition
        for rule in always
        for check in rule.checks
        if not check.loops and (check.guard is None or isinstance(check.guard, ir.Present))
    )
    return combinations({name: tuple(sorted(all_)) for name, all_ in ranks.items()}, arrays, conditions)
