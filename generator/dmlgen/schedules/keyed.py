"""Intermediate tensors whose entries are maxima over all elements that name their place: a scatter with max.

As written, every entry looks at every element. Instead, each element goes to the one entry that it names. A
maximum of integers does not depend on their order, so neither does the result.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.defined import is_known, uses_at
from dmlgen.registry import Intermediate


@dataclass(frozen=True)
class Keyed:
    """The maximum of 0 and of `value` over the coordinates `variable` of a box of `sizes` whose `key` is the
    entry's index."""

    variable: ir.Local
    sizes: ir.Expr
    key: ir.Expr
    value: ir.Expr


def keyed(tensor: Intermediate) -> Keyed | None:
    """A tensor in the form `max(max(value for p in box(sizes) if key == flat(at, own sizes)), 0)`."""
    match tensor.value:
        case ir.Call(
            "max",
            (
                ir.Fold(
                    kind="max",
                    loops=(ir.Each(variable, None, sizes),),
                    condition=ir.Compare("==", key, ir.Call("ravel_index", (ir.Local("at"), own))),
                    body=value,
                ),
                ir.Number(0),
            ),
        ) if own == tensor.sizes and is_known(sizes) and not (tensor.along or uses_at(key) or uses_at(value)):
            return Keyed(variable, sizes, key, value)
    return None
