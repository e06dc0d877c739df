"""Definitions that fold a sliding window over one tensor, as poolings do.

The window moves over all dimensions but the first two; taps outside of the tensor are ignored. What is folded
is a function of one element, or an integer element minus its zero point, which may depend on the channel.
The output is a function of the result. If there are other outputs, such as where the greatest element is, the
pass suits descriptions without these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.analysis.pattern import Unfit, fit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import linear, loads_of
from dmlgen.schedules.cases import has_folds, total_of, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_TAPS = "term - (less or 0) for w in ndindex(sizes) if in_bounds(place, WholeTensor.Sizes[2:])"


@dataclass(frozen=True)
class Sliding(FastForm):
    """A faster way to compute `output` from a fold over a window of `tensor` (`schedules`).

    `window` has the fields of the planners' record, `fold` is the fold as defined, `term` what is folded, as
    a function of the local `element`, from which `less` is subtracted, and `value` is the output as a
    function of the local `total`.
    """

    output: str
    tensor: str
    window: Mapping[str, ir.Expr]
    fold: ir.Reduce
    element: ir.Local
    term: ir.Expr
    less: ir.Expr
    value: ir.Expr


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sliding | None:
    """The fold over a window that the first output of a definition amounts to."""
    output, whole = next(iter(defines.outputs.items()))
    fold, value = total_of(written(whole, {}, has_folds))
    found = fit(f"{fold.kind}({_TAPS})", fold)
    loads = loads_of(found.term)
    if len(loads) != 1:
        raise Unfit
    (load,) = loads
    tensor = fit("WholeTensor[at[:2] + place]", load, **vars(found)).WholeTensor
    window = {"sizes": found.sizes, **linear("right", found.place, found.w)}
    element = ir.Local("element", load.type, varies=True)
    term, less = ir.substitute(found.term, {load: element}), found.less
    rest = (term, ir.substitute(less, {ir.at(1): ir.ZERO}))
    if (
        defines.tensors
        or fold.kind not in ("sum", "product", "min", "max")
        or not all(map(facts.is_certain, (output, tensor.name)))
        or not is_known(found.sizes)
        or (less != ir.ZERO and term != element)
        or any(part in (found.w, ir.AT, tensor) for one in rest for part in ir.walk(one))
        or any(one.tensor == tensor for one in loads_of(value))
    ):
        raise Unfit
    return Sliding(output, tensor.name, window, fold, element, term, less, value)
