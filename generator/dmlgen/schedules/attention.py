"""Definitions of attention: means of rows of values, weighted by exponentials of scores.

A score is a function of the dot product of a query and a key; the maximum score of each query is subtracted
before the exponential, and the weights are divided by their sum. The mask may depend on anything that a score
may. Queries, keys and values are intermediate tensors, so it does not matter where their elements come from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.defined import entries_of, free_locals
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import TooLarge, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.sets import AT, ZERO

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The dot product of a query and a key, in scores."""

_NOTHING = ir.Number(0.0, ir.FLOAT)
_ROW = ir.Slice(AT, None, ir.Number(3, ir.INT))
"""Batch, head and index of a query."""


@dataclass(frozen=True)
class Attention(FastForm):
    """A faster way to compute an intermediate tensor: attention in one pass that stores no scores
    (`schedules`).

    All tensors have four dimensions: batch, head, row, element. A row of `target`, one per `query`, is the
    mean of the rows of `value`, weighted by the exponentials of scores; a `score` is a function of the local
    `total`, the dot product of the query and a row of `key`, at batch, head, query and key in `at`.
    `key_head` and `value_head` are the batch and the head to read for those of the query in `at`. Each
    `shared` adjacent heads of queries read the same head; 0 if that is not known. `counts` is the mask: which
    keys are used; None if all do. Without the tensors that it reads, a score is `multiple` times `total`;
    None if it is anything else.
    """

    target: str
    query: str
    key: str
    value: str
    key_head: ir.ListOf
    value_head: ir.ListOf
    shared: ir.Expr
    score: ir.Expr
    counts: ir.Expr | None
    multiple: ir.Expr | None

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        return {self.target: (self.query, self.key, self.value)}


def recognize(defines: OutputDefinitions, described: Described) -> Attention | None:
    """The attention that an intermediate tensor of a definition amounts to."""
    if any(described.may_be(output, "FLOAT64") for output in defines.outputs):
        return None
    tensors = {one.name: one for one in defines.tensors}
    for one in defines.tensors:
        if one.type == ir.FLOAT and not one.along and not one.decides and entries_of(one.value):
            try:
                return _Reader(tensors).attention(one)
            except (Unfit, TooLarge):
                continue
    return None


class _Reader:
    """Reads the definitions of intermediate tensors."""

    def __init__(self, tensors: Mapping[str, Intermediate]) -> None:
        self._tensors = tensors

    def attention(self, target: Intermediate) -> Attention:
        match written(target.value, {}):
            case ir.Binary(
                "/",
                ir.Fold(
                    "sum",
                    (ir.Each(variable=ir.Local(type=ir.INT) as key, first=None, last=keys) as loop,),
                    condition,
                    ir.Binary("*", weight, ir.Entry(tensor=value, coordinate=ir.ListOf(value_place))),
                ),
                ir.Entry(tensor=total, coordinate=row),
            ) if row == _ROW:
                pass
            case _:
                raise Unfit
        score, peak = _exponential(weight, key)
        score_at = ir.Entry(score, _one_more(AT, key), ir.FLOAT)
        shifted = ir.Binary("-", score_at, ir.Entry(peak, AT, ir.FLOAT), ir.FLOAT)
        exponential = ir.Call("exp", (shifted,), ir.FLOAT)
        wanted = {
            peak: ir.Fold("max", (loop,), condition, score_at, ir.FLOAT, False),
            total: ir.Fold("sum", (loop,), condition, exponential, ir.FLOAT, False),
        }
        if any(self._value(name) != value_ for name, value_ in wanted.items()):
            raise Unfit
        product, whole = self._score(score)
        match product:
            case ir.Fold(
                "sum",
                (ir.Each(variable=ir.Local(type=ir.INT) as depth, first=None, last=deep),),
                None,
                ir.Binary(
                    "*",
                    ir.Entry(tensor=query, coordinate=query_place),
                    ir.Entry(tensor=matched, coordinate=ir.ListOf(key_place)),
                ),
            ) if query_place == _one_more(_ROW, depth):
                pass
            case _:
                raise Unfit
        of_query, of_key, of_value = map(self._sizes, (query, matched, value))
        if key_place[2:] != (ir.Index(AT, ir.Number(3, ir.INT)), depth):
            raise Unfit
        if value_place[2:] != (key, ir.Index(AT, ir.Number(3, ir.INT))):
            raise Unfit
        if (of_query[3], of_key[2], of_key[3], of_value[2]) != (deep, keys, deep, keys):
            raise Unfit
        if self._sizes(target.name) != (*of_query[:3], of_value[3]):
            raise Unfit
        counts = None
        if condition is not None:
            counts = ir.substitute(condition, {key: ir.Index(AT, ir.Number(3, ir.INT))})
        key_head, value_head = _head(key_place), _head(value_place)
        return Attention(
            target=target.name,
            query=query,
            key=matched,
            value=value,
            key_head=key_head,
            value_head=value_head,
            shared=_shared(key_head) if key_head == value_head else ZERO,
            score=whole,
            counts=counts,
            multiple=_multiple(whole),
        )

    def _value(self, name: str) -> ir.Expr:
        """The value of a tensor that attention may compute in parts, written out."""
        tensor = self._tensors[name]
        if tensor.type != ir.FLOAT or tensor.along or tensor.decides:
            raise Unfit
        return written(tensor.value, {})

    def _sizes(self, name: str) -> tuple[ir.Expr, ...]:
        match written(self._tensors[name].sizes, {}):
            case ir.ListOf(items) if len(items) == 4:
                return items
        raise Unfit

    def _score(self, name: str) -> tuple[ir.Expr, ir.Expr]:
        """The sum that a score depends on, and the score as a function of `TOTAL` and of no intermediate
        tensor."""
        whole = self._value(name)
        while inner := entries_of(whole):  # ends: tensors read only earlier ones
            if any(part.coordinate != AT for part in inner):
                break
            whole = ir.substitute(whole, {part: self._value(part.tensor) for part in inner})
            if any(isinstance(part, ir.Fold) and not part.unrolled for part in ir.walk(whole)):
                break
        folds = {part for part in ir.walk(whole) if isinstance(part, ir.Fold) and not part.unrolled}
        if len(folds) != 1:
            raise Unfit
        (product,) = folds
        made = ir.substitute(whole, {product: TOTAL})
        if entries_of(made):
            raise Unfit
        return product, made


def _exponential(weight: ir.Expr, key: ir.Local) -> tuple[str, str]:
    """The names of the tensors of the scores, and of what is subtracted from them."""
    match weight:
        case ir.Call("exp", (ir.Binary("-", ir.Entry(score, place), ir.Entry(peak, row)),)) if (
            place == _one_more(_ROW, key) and row == _ROW
        ):
            return score, peak
    raise Unfit


def _multiple(score: ir.Expr) -> ir.Expr | None:
    """The factor of `TOTAL` that a score is if none of the tensors that it reads is present."""
    read = {part.tensor for part in ir.walk(score) if isinstance(part, ir.Load)}
    match _without(score, read):
        case ir.Binary("*", factor, product) if product == TOTAL and not free_locals(factor):
            return factor
    return None


def _without(value: ir.Expr, absent: Collection[ir.Tensor]) -> ir.Expr:
    """A value if these tensors are absent: conditionals and sums are simplified, as far as that goes."""
    match value:
        case ir.Conditional(ir.Present(tensor), _, other) if tensor in absent:
            return _without(other, absent)
        case ir.Conditional(ir.Not(ir.Present(tensor)), other, _) if tensor in absent:
            return _without(other, absent)
        case ir.Binary("+", left, right) if _without(right, absent) == _NOTHING:
            return _without(left, absent)
    return value


def _one_more(row: ir.Expr, entry: ir.Expr) -> ir.Expr:
    return ir.Binary("+", row, ir.ListOf((entry,)), ir.INTS)


def _head(place: tuple[ir.Expr, ...]) -> ir.ListOf:
    """The first two entries of the coordinate of a key or a value, which depend on the head alone."""
    whole = ir.ListOf(place[:2])
    of_head: dict[ir.Expr, ir.Expr] = {
        ir.Index(AT, ir.Number(number, ir.INT)): ir.Number(0, ir.INT) for number in range(2)
    }
    if free_locals(ir.substitute(whole, of_head)):
        raise Unfit
    return whole


def _shared(head: ir.ListOf) -> ir.Expr:
    """How many adjacent heads of queries share each head; 0 if that is not known."""
    match head.items:
        case (
            ir.Index(first, ir.Number(0)),
            ir.Index(
                ir.Call("unravel_index", (ir.Index(second, ir.Number(1)), ir.ListOf((_, each)))), ir.Number(0)
            ),
        ) if first == second == AT:
            return each
    return ZERO
