"""Planner inputs of a form: a decision that most values of a record depend on is made only once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir

Values = Mapping[str, ir.Expr]
"""Values of a record, by path."""


@dataclass(frozen=True)
class Decision:
    """The values of a record where a test holds, and where it does not."""

    test: ir.Expr
    then: Values | Decision
    otherwise: Values | Decision


def by_record(operands: Values) -> Mapping[str, Values | Decision]:
    """The operands of each record, by its path. Only records without inner ones are decided as a whole."""
    records: dict[str, dict[str, ir.Expr]] = {}
    for path, node in operands.items():
        records.setdefault(path.rpartition(".")[0], {})[path] = node
    return {
        path: values if any(other.startswith(f"{path}.") for other in records) else _decided(values)
        for path, values in records.items()
    }


def _decided(values: Values) -> Values | Decision:
    """The values, or the decision that most of them depend on. Ends: each decision removes conditionals."""
    for node in values.values():
        if isinstance(node, ir.Conditional):
            then, otherwise = (
                {path: _branch(one, node.test, holds) for path, one in values.items()}
                for holds in (True, False)
            )
            if 2 * sum(then[path] != one for path, one in values.items()) > len(values) > 1:
                return Decision(node.test, _decided(then), _decided(otherwise))
    return values


def _branch(node: ir.Expr, test: ir.Expr, holds: bool) -> ir.Expr:
    """A value if the test holds, or if it does not."""
    if isinstance(node, ir.Conditional) and node.test == test:
        return _branch(node.then if holds else node.otherwise, test, holds)
    inner = ir.outermost(node, ir.Conditional)
    return ir.substitute(node, {one: _branch(one, test, holds) for one in inner})
