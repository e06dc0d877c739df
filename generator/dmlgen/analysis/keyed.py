"""Intermediate tensors whose entries are maxima over all elements that name their place: a scatter with max.

As written, every entry looks at every element. Instead, each element goes to the one entry that it names. A
maximum of integers does not depend on their order, so neither does the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known, uses_at
from dmlgen.registry import Intermediate

_FORM = "max(max(value for p in ndindex(sizes) if key == ravel_index(at, own)), 0)"


@dataclass(frozen=True)
class Keyed:
    """The maximum of 0 and of `value` over the coordinates `variable` of a box of `sizes` whose `key` is the
    entry's index."""

    variable: ir.Local
    sizes: ir.Expr
    key: ir.Expr
    value: ir.Expr


def keyed(tensor: Intermediate) -> Keyed | None:
    """The parts of a tensor of that form; None if it has another one."""
    found = match(_FORM, tensor.value, own=tensor.sizes)
    if found is None or tensor.along or not is_known(found.sizes):
        return None
    if uses_at(found.key) or uses_at(found.value):
        return None
    return Keyed(found.p, found.sizes, found.key, found.value)
