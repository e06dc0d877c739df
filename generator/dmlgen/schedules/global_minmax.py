"""Intermediate tensors of one entry that depend on the least or the greatest of all elements of a tensor,
such as the range of its values.

The order of elements does not matter to these two, so that many threads can share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import TooLarge, written
from dmlgen.schedules.pattern import match
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

TAKEN = ir.Local("taken", ir.INTS, varies=True)
"""The coordinate of a reduced element."""


@dataclass(frozen=True)
class Total:
    """The local `name`: the least or the greatest (`kind`) of `term`, a function of TAKEN."""

    name: str
    kind: str
    term: ir.Expr


@dataclass(frozen=True)
class Totals(FastForm):
    """A faster way to compute intermediate tensors from `totals` over all elements of `tensor`; `values` are
    theirs, as functions of these."""

    tensor: str
    totals: tuple[Total, ...]
    values: Mapping[str, ir.Expr]


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Totals | None:
    """The first intermediate tensors that depend on totals of the same tensor."""
    tensor = ""
    totals: list[Total] = []
    values: dict[str, ir.Expr] = {}
    for one in defines.tensors:
        try:
            value = _value(one)
        except TooLarge:
            return None
        folds = [part for part in ir.walk(value) if isinstance(part, ir.Fold)]
        names = {_whole(fold) for fold in folds}
        if len(names) != 1 or "" in names or (tensor and tensor not in names):
            continue
        (name,) = names
        new: dict[ir.Expr, ir.Expr] = {}
        for fold in folds:
            total = Total(f"total{len(totals)}", fold.kind, _term(fold))
            totals.append(total)
            new[fold] = ir.Local(total.name, ir.FLOAT, varies=True)
        made = ir.substitute(value, new)
        if any(isinstance(part, ir.Entry | ir.Load) or part == ir.AT for part in ir.walk(made)):
            return None
        tensor = name
        values[one.name] = made
    if not tensor or not facts.is_certain(tensor):
        return None
    return Totals(tensor, tuple(totals), values)


def _value(tensor: Intermediate) -> ir.Expr:
    """The value of a tensor of one float, written out; of any other, nothing that matters here."""
    is_one = written(tensor.sizes, {}) == ir.ListOf((ir.ONE,))
    if tensor.type != ir.FLOAT or not is_one or tensor.along:
        return ir.ONE
    return written(tensor.value, {})


def _whole(fold: ir.Fold) -> str:
    """The tensor whose elements all count, or ""."""
    found = match(f"{fold.kind}(term for p in ndindex(Whole.Sizes))", fold)
    if found is None or fold.kind not in ("min", "max") or fold.type != ir.FLOAT or found.Whole.index:
        return ""
    is_plain = not any(isinstance(part, ir.Entry | ir.Fold) or part == ir.AT for part in ir.walk(found.term))
    return str(found.Whole.name) if is_plain else ""


def _term(fold: ir.Fold) -> ir.Expr:
    return ir.substitute(fold.body, {fold.loops[0].variable: TAKEN})
