"""Definitions that fold a sliding window over one tensor, as poolings do.

The window moves over all dimensions but the first two; taps outside of the tensor are ignored. What is folded
is a function of one element, or an integer element minus its zero point, which may depend on the channel.
The output is a function of the result. If there are other outputs, such as
where the greatest element is, the pass suits descriptions without these.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import Window, linear, loads_of
from dmlgen.schedules.cases import folds_of, has_folds, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_TAPS = "term for w in ndindex(sizes) if in_bounds(place, WholeTensor.Sizes[2:])"


@dataclass(frozen=True)
class Sliding(FastForm):
    """A faster way to compute `output` from a fold over a window of `tensor` (`schedules`).

    `fold` is the fold as defined, `term` what is folded, as a function of the local `element`, from which
    `less` is subtracted unless it is None, and `value` is the output as a function of the local `total`.
    """

    output: str
    tensor: str
    window: Window
    fold: ir.Reduce
    element: ir.Local
    term: ir.Expr
    less: ir.Expr | None
    value: ir.Expr


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sliding | None:
    """The fold over a window that the first output of a definition amounts to."""
    output, value = next((name, written(value, {}, has_folds)) for name, value in defines.outputs.items())
    folds = dict.fromkeys(folds_of(value))
    totals = [one for one in folds if one.kind in ("sum", "product", "min", "max") and loads_of(one.body)]
    if defines.tensors or len(totals) != 1 or not facts.is_certain(output):
        return None
    fold = written(totals[0], {})  # numbers variables as if it stood alone
    assert isinstance(fold, ir.Reduce)
    found = fit(f"{fold.kind}({_TAPS})", fold)
    difference = match("term - less", found.term) if fold.type == ir.INT else None
    term, less = (difference.term, difference.less) if difference else (found.term, None)
    loads = loads_of(term)
    if len(loads) != 1:
        raise Unfit
    (load,) = loads
    fit("WholeTensor[at[:2] + place]", load, **vars(found))
    place = linear(found.place, found.w)
    is_certain = facts.is_certain(load.tensor.name) and load.tensor.index is None
    if not is_certain or not is_known(found.sizes) or (less is not None and term != load):
        raise Unfit
    element = ir.Local("element", load.type, varies=True)
    term = ir.substitute(term, {load: element})
    of_channel = ir.ONE if less is None else ir.substitute(less, {ir.at(1): ir.ZERO})
    if any(part in (found.w, ir.AT, load.tensor) for one in (term, of_channel) for part in ir.walk(one)):
        raise Unfit
    total = ir.Local("total", fold.type, varies=True)
    value = ir.substitute(value, {one: total for one in folds if written(one, {}) == fold})
    if any(one.tensor == load.tensor for one in loads_of(value)):
        raise Unfit
    return Sliding(
        output=output,
        tensor=load.tensor.name,
        window=Window(found.sizes, place.first, place.steps, place.taps),
        fold=fold,
        element=element,
        term=term,
        less=less,
        value=value,
    )
