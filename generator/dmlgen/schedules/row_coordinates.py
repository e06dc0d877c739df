"""How definitions write the coordinates of rows.

A row has the elements of a tensor that differ only in their coordinates along some dimensions.

A definition spells their coordinates as lists over the dimensions, `[... if test(d) else ... for d in
axes(T)]`, and loops run over the box of a row. The only row of a whole tensor needs no such lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.schedules.cases import written

ITEM = ir.Local("item", ir.INTS)
"""The variable of a loop over a row."""

_D = ir.Local("v0", ir.INT)  # a dimension, as `normal` names the variable of a list


@dataclass(frozen=True)
class RowCoordinates:
    """The rows of a tensor, by the lists that describe them, as `normal` writes them.

    `flags` has a 1 for each dimension that rows run along, else 0. `extent` are the sizes of a row, `kept`
    those of a tensor with one entry per row, and `here` is the coordinate in it for the row of the element at
    `at`. `own` is the coordinate of that element within its row; `over` is that of the current element of a
    loop over the row, and `backward` that of a loop that starts with the last element.
    """

    tensor: str
    flags: ir.Expr
    extent: ir.Expr
    kept: ir.Expr
    here: ir.Expr
    own: ir.Expr
    over: ir.Expr
    backward: ir.Expr

    @property
    def is_whole(self) -> bool:
        """Whether all elements of the tensor are one row."""
        return self.own == ir.AT

    def mirrored(self, node: ir.Expr) -> ir.Expr | None:
        """The coordinate in a row that is as far from its first element as a given one from the last."""
        found = match("[size - 1 - entry[d] for d in range(rank)]", node)
        if found is None:
            return None
        sizes = ir.Reduce("list", (ir.Loop(found.d, ir.ZERO, found.rank),), found.size, ir.INTS)
        return found.entry if normal(sizes) == self.extent else None


def rows_of(fold: ir.Reduce) -> RowCoordinates | None:
    """The rows that a loop iterates over completely."""
    match fold.loops:
        case (ir.Loop(variable, ir.ZERO, last, None),) if variable.type == ir.INTS:
            if (found := match("Whole.Sizes", last)) and not found.Whole.index:
                along = rows_along(found.Whole.name, ir.Number(True, ir.BOOL))
                one, zero = (ir.ListOf((number,)) for number in (ir.ONE, ir.ZERO))
                return replace(along, extent=last, kept=one, here=zero, own=ir.AT, over=ITEM)
            extent = "[Own.Sizes[d] if test else 1 for d in range(Own.DimensionCount)]"
            found = match(extent, normal(last), d=_D)
            if found and not found.Own.index and is_known(ir.substitute(found.test, {_D: ir.ZERO})):
                return rows_along(found.Own.name, found.test)
    return None


def rows_along(tensor: str, test: ir.Expr) -> RowCoordinates:
    """The rows of a tensor along the dimensions for which a test of `_D` holds."""
    rank = ir.Field(ir.Tensor(tensor), "DimensionCount", ir.INT)
    size = ir.Index(ir.Field(ir.Tensor(tensor), "Sizes", ir.INTS), _D)
    here, item = ir.Index(ir.AT, _D), ir.Index(ITEM, _D)
    last = ir.Binary("-", size, ir.ONE, ir.INT)

    def listed(along: ir.Expr, other: ir.Expr) -> ir.Expr:
        entry = ir.Conditional(test, along, other)
        return normal(ir.Reduce("list", (ir.Loop(_D, ir.ZERO, rank),), entry, ir.INTS))

    return RowCoordinates(
        tensor,
        flags=listed(ir.ONE, ir.ZERO),
        extent=listed(size, ir.ONE),
        kept=listed(ir.ONE, size),
        here=listed(ir.ZERO, here),
        own=listed(here, ir.ZERO),
        over=listed(item, here),
        backward=listed(ir.Binary("-", last, item, ir.INT), here),
    )


def normal(node: ir.Expr) -> ir.Expr:
    """A list with its variables renumbered, so that equal lists compare equal wherever they occur."""
    return written(node, {})
