"""Definitions of attention: means of rows of values, weighted by exponentials of scores.

A score is a function of the dot product of a query and a key; the maximum score of each query is subtracted
before the exponential, and the weights are divided by their sum. The mask may depend on anything that a score
may. Queries, keys and values are intermediate tensors, so it does not matter where their elements come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, free_locals
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import folds_of, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The dot product of a query and a key, in scores."""

_TARGET = (
    "sum(exp(Scores[at[:3] + [key]] - Peaks[at[:3]]) * Value[[batch, head, key, at[3]]]"
    " for key in range(keys) if counts) / Totals[at[:3]]"
)
_PEAK = "max(Scores[at + [key]] for key in range(keys) if counts)"
_TOTAL = "sum(exp(Scores[at + [key]] - Peaks[at]) for key in range(keys) if counts)"
_PRODUCT = "sum(Query[at[:3] + [element]] * Key[[batch, head, at[3], element]] for element in range(depth))"
_SIZES = {
    "Query": "[batches, heads, rows, depth]",
    "Key": "[key_batches, key_heads, keys, depth]",
    "Value": "[value_batches, value_heads, keys, width]",
    "Target": "[batches, heads, rows, width]",
}


@dataclass(frozen=True)
class Attention(FastForm):
    """A faster way to compute an intermediate tensor: attention in one pass that stores no scores
    (`schedules`).

    All tensors have four dimensions: batch, head, row, element. A row of `target`, one per `query`, is the
    mean of the rows of `value`, weighted by the exponentials of scores; a `score` is a function of the local
    `total`, the dot product of the query and a row of `key`, at batch, head, query and key in `at`.
    `head` has the batch and the head of keys and values for those of the query in `at`. Each `shared`
    adjacent heads of queries read the same one; 0 if that is not known. `counts` is the mask: which keys are
    used; None if all do.
    """

    target: str
    query: str
    key: str
    value: str
    head: ir.ListOf
    shared: ir.Expr
    score: ir.Expr
    counts: ir.Expr | None

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        return {self.target: (self.query, self.key, self.value)}


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Attention | None:
    """The attention that an intermediate tensor of a definition amounts to."""
    if any(facts.may_be(output, "FLOAT64") for output in defines.outputs):
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
    head = _head(found.batch, found.head)
    groups = match("[at[0], unravel_index(at[1], [groups, each])[0]]", head)
    return Attention(
        target=target,
        query=found.Query.name,
        key=found.Key.name,
        value=found.Value.name,
        head=head,
        shared=groups.each if groups else ir.ZERO,
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


def _head(batch: ir.Expr, head: ir.Expr) -> ir.ListOf:
    """The first two entries of the coordinate of a key or a value, which depend only on the head."""
    whole = ir.ListOf((batch, head))
    if free_locals(ir.substitute(whole, {ir.at(0): ir.ZERO, ir.at(1): ir.ZERO})):
        raise Unfit
    return whole
