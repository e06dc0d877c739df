"""Definitions whose outputs are sums of few of many terms: of those that pass tests, most of which depend on
only one coordinate of the element. A gradient of sampling, for instance, adds up what reached the element.

For each coordinate along each dimension tested, one bit per term indicates whether the tests of that
dimension hold. The terms of an element are then those whose bits are set in all of these, and are found
without testing the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.pattern import Unfit, fit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import dimensions
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts
from dmlgen.sugar import conjunction, conjuncts

_SUM = "sum(term for r in range(count) for p in ndindex(box) if condition)"

_TRUE = ir.Number(True, ir.BOOL)
TERM = ir.Local("term", ir.INTS, varies=True)
TOTAL = ir.Local("total", ir.FLOAT, varies=True)


@dataclass(frozen=True)
class SparseSum(FastForm):
    """A faster way to compute an output from a sum of selected terms (`schedules`).

    The terms are those of a box, whose sizes are `terms`, the same for all elements; in expressions, TERM is
    the coordinate of one. `tests` has the conditions that depend on one coordinate of the element at most, by
    the number of its dimension; a term that passes them is added if `condition` also holds, if any. No test
    depends on dimension `apart`, so that its elements can share what is found. `value` is the output's, as a
    function of TOTAL.
    """

    output: str
    terms: ir.Expr
    tests: dict[int, ir.Expr]
    apart: int
    condition: ir.Expr | None
    term: ir.Expr
    value: ir.Expr


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> SparseSum | None:
    """The sum of selected terms that the first output of a definition amounts to."""
    output, value = next(iter(defines.outputs.items()))
    if facts.members[output].count is not None or facts.may_be(output, "float", 64):
        return None
    folds = list(filter(ir.is_fold, ir.walk(value)))
    found = fit(_SUM, folds[0] if len(folds) == 1 else None)
    of_term: dict[ir.Expr, ir.Expr] = {
        found.r: ir.Index(TERM, ir.ZERO),
        found.p: ir.Slice(TERM, ir.ONE, None),
    }
    by_dimensions: dict[frozenset[int], list[ir.Expr]] = {}
    for test in conjuncts(found.condition):
        by_dimensions.setdefault(dimensions(test), []).append(ir.substitute(test, of_term))
    tested = sorted(d for one in by_dimensions if len(one) == 1 for d in one)
    untested = [d for d in range(facts.rank(output) or 0) if d not in tested]
    are_known = is_known(found.count) and is_known(found.box)
    if len(tested) < 2 or not untested or folds[0].type != ir.FLOAT or not are_known:
        raise Unfit
    return SparseSum(
        output=output,
        terms=ir.Binary("+", ir.ListOf((found.count,)), found.box, ir.INTS),
        tests={d: conjunction(by_dimensions[frozenset({d})]) or _TRUE for d in tested},
        apart=untested[-1],
        condition=conjunction(t for one, tests in by_dimensions.items() if len(one) != 1 for t in tests),
        term=ir.substitute(found.term, of_term),
        value=ir.substitute(value, {folds[0]: TOTAL}),
    )
