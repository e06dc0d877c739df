"""The definition that a shader follows: that of the spec, without what no pass has to write."""

from __future__ import annotations

from dataclasses import replace

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, walk_through
from dmlgen.registry import Intermediate, Operator, OutputDefinitions
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.cases import written


def lowered(operator: Operator, attention: Attention) -> Operator:
    """The operator with only those intermediate tensors that lead to outputs.

    A tensor that merely has the entries of another one at other coordinates is replaced by reads of that one.
    What only a pass that attention replaces would need is dropped.
    """
    defines = operator.defines
    assert defines is not None
    tensors, outputs = list(defines.tensors), dict(defines.outputs)
    for view in defines.tensors:
        whole = _viewed(view)
        readers = [one.value for one in tensors] + list(outputs.values())
        if whole is not None and all(_reads_directly(value, view.name) for value in readers):
            tensors = [replace(one, value=_through(one.value, view.name, whole)) for one in tensors]
            outputs = {name: _through(value, view.name, whole) for name, value in outputs.items()}
    reads = {one.name: {part.tensor for part in entries_of(one.value)} for one in tensors}
    reads |= {name: set(read) for name, read in attention.reads.items()}
    wanted: set[str] = set()
    new = {part.tensor for value in outputs.values() for part in entries_of(value)}
    while new:  # ends: a tensor is new only once
        wanted |= new
        new = set().union(*map(reads.__getitem__, new)) - wanted
    kept = tuple(one for one in tensors if one.name in wanted)
    return replace(operator, defines=OutputDefinitions(kept, outputs, defines.classes))


def _viewed(tensor: Intermediate) -> ir.Entry | None:
    """The entry of another tensor that a tensor consists of at `at`, if that is all."""
    try:
        value = tensor.value if tensor.along else written(tensor.value, {})
    except Unfit:
        return None
    return value if isinstance(value, ir.Entry) and not tensor.along else None


def _reads_directly(value: ir.Expr, name: str) -> bool:
    """Whether no function reads a tensor, since another coordinate could not be substituted in one."""
    seen = sum(isinstance(part, ir.Entry) and part.tensor == name for part in walk_through(value))
    return seen == sum(isinstance(part, ir.Entry) and part.tensor == name for part in ir.walk(value))


def _through(value: ir.Expr, name: str, whole: ir.Entry) -> ir.Expr:
    """A value with reads of a tensor replaced by reads of its source."""
    reads = [part for part in ir.walk(value) if isinstance(part, ir.Entry) and part.tensor == name]
    return ir.substitute(value, {part: ir.substitute(whole, {ir.AT: part.coordinate}) for part in reads})
