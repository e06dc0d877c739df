"""Definitions of attention: means of rows of values, weighted by exponentials of scores.

A score is a function of the dot product of a query and a key; the maximum score of each query is subtracted
before the exponential, and the weights are divided by their sum. The mask may depend on anything that a score
may. Queries, keys and values are intermediate tensors, so it does not matter where their elements come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from dmlgen.analysis.pattern import Unfit, fit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import folds_of, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The dot product of a query and a key, in scores."""

_HEAD = "unravel_index(at[1], [groups, heads // groups])[0]"
_TARGET = (
    f"sum(exp(Scores[at[:3] + [key]] - Peaks[at[:3]]) * Value[[at[0], {_HEAD}, key, at[3]]]"
    " for key in range(keys) if counts) / Totals[at[:3]]"
)
_PEAK = "max(Scores[at + [key]] for key in range(keys) if counts)"
_TOTAL = "sum(exp(Scores[at + [key]] - Peaks[at]) for key in range(keys) if counts)"
_PRODUCT = (
    f"sum(Query[at[:3] + [element]] * Key[[at[0], {_HEAD}, at[3], element]] for element in range(depth))"
)
_SIZES = {
    "Query": "[batches, heads, rows, depth]",
    "Key": "[batches, groups, keys, depth]",
    "Value": "[batches, groups, keys, width]",
    "Target": "[batches, heads, rows, width]",
}


@dataclass(frozen=True)
class Attention(FastForm):
    """A faster way to compute an intermediate tensor: attention in one pass that stores no scores
    (`schedules`).

    All tensors have four dimensions: batch, head, row, element. A row of `target`, one per `query`, is the
    mean of the rows of `value`, weighted by the exponentials of scores; a `score` is a function of the local
    `total`, the dot product of the query and a row of `key`, at batch, head, query and key in `at`. As many
    adjacent heads of queries share each head of keys and values. `counts` is the mask: which keys are used;
    None if all are.
    """

    target: str
    query: str
    key: str
    value: str
    score: ir.Expr
    counts: ir.Expr | None

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        return {self.target: (self.query, self.key, self.value)}


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Attention | None:
    """The attention that an intermediate tensor of a definition amounts to."""
    if any(facts.may_be(output, "float", 64) for output in defines.outputs):
        return None
    # Attention may compute these in parts.
    values = {
        one.name: written(one.value, {})
        for one in defines.tensors
        if one.type == ir.FLOAT and not one.along and not one.decides
    }
    sizes = {one.name: written(one.sizes, {}) for one in defines.tensors}
    for target in values:
        with suppress(Unfit, KeyError):
            return _attention(target, values, sizes)
    return None


def _attention(target: str, values: Mapping[str, ir.Expr], sizes: Mapping[str, ir.Expr]) -> Attention:
    """The attention that a tensor amounts to. Raises KeyError where it needs another tensor's value."""
    mean = fit(_TARGET, values[target])
    fit(_PEAK, values[mean.Peaks.name], **vars(mean))
    fit(_TOTAL, values[mean.Totals.name], **vars(mean))
    product, score = _score(values[mean.Scores.name], values)
    found = fit(_PRODUCT, product, Target=ir.Tensor(target), **vars(mean))
    for role, form in _SIZES.items():
        found = fit(form, sizes[getattr(found, role).name], **vars(found))
    return Attention(
        target=target,
        query=found.Query.name,
        key=found.Key.name,
        value=found.Value.name,
        score=score,
        counts=found.counts and ir.substitute(found.counts, {found.key: ir.at(3)}),
    )


def _score(whole: ir.Expr, values: Mapping[str, ir.Expr]) -> tuple[ir.Expr, ir.Expr]:
    """The sum that a score depends on, and the score as a function of `TOTAL` and of no intermediate
    tensor."""
    while not (folds := folds_of(whole)) and (
        inner := entries_of(whole)
    ):  # ends: tensors read only earlier ones
        if any(part.coordinate != ir.AT for part in inner):
            raise Unfit
        whole = ir.substitute(whole, {part: values[part.tensor] for part in inner})
    if len(folds) != 1:
        raise Unfit
    (product,) = folds
    made = ir.substitute(whole, {product: TOTAL})
    if entries_of(made):
        raise Unfit
    return product, made
