"""How definitions write the coordinates of rows.

A row has the elements of a tensor that differ only in their coordinates along some dimensions.

A definition spells their coordinates as lists over the dimensions, `[... if test(d) else ... for d in
axes(T)]`, and loops run over the box of a row. The only row of a whole tensor needs no such lists.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.schedules.cases import written

ITEM = ir.Local("item", ir.INTS)
"""The variable of a loop over a row."""

_D = ir.Local("v0", ir.INT)  # a dimension, as `normal` names the variable of a list
_TRUE = ir.Number(True, ir.BOOL)

_LISTS = {
    "extent": ("Own.Sizes[d] if test else 1", "Own.Sizes"),
    "kept": ("1 if test else Own.Sizes[d]", "[1]"),
    "here": ("0 if test else at[d]", "[0]"),
    "own": ("at[d] if test else 0", "at"),
    "over": ("item[d] if test else at[d]", "item"),
    "backward": ("Own.Sizes[d] - 1 - item[d] if test else at[d]", "None"),
}
"""The entries of lists, and what stands in their place if a whole tensor is one row: the sizes of a row, and
those of a tensor with one entry per row; the coordinate in it for the row of the element at `at`, and that of
the element within its row; that of the current element of a loop over the row, and of one that starts with
the last element."""


@dataclass(frozen=True)
class RowCoordinates:
    """The rows of a tensor along the dimensions for which a test of `_D` holds."""

    tensor: str
    test: ir.Expr = _TRUE

    @property
    def is_whole(self) -> bool:
        """Whether all elements of the tensor are one row."""
        return self.test == _TRUE

    @property
    def flags(self) -> ir.Expr:
        """A list that has 1 for each dimension that rows run along, else 0."""
        rank = ir.Field(ir.Tensor(self.tensor), "DimensionCount", ir.INT)
        flag = ir.Conditional(self.test, ir.ONE, ir.ZERO)
        return normal(ir.Reduce("list", (ir.Loop(_D, ir.ZERO, rank),), flag, ir.INTS))

    def matches(self, name: str, node: ir.Expr) -> bool:
        """Whether this is the list of that name in `_LISTS`."""
        entry, whole = _LISTS[name]
        pattern = whole if self.is_whole else f"[{entry} for d in range(Own.DimensionCount)]"
        known = {"Own": ir.Tensor(self.tensor), "test": self.test, "d": _D, "item": ITEM}
        return match(pattern, normal(node), **known) is not None

    def mirrored(self, node: ir.Expr) -> ir.Expr | None:
        """The coordinate in a row that is as far from its first element as a given one from the last."""
        found = match("[size - 1 - entry[d] for d in range(rank)]", node)
        if found is None:
            return None
        sizes = ir.Reduce("list", (ir.Loop(found.d, ir.ZERO, found.rank),), found.size, ir.INTS)
        return found.entry if self.matches("extent", sizes) else None


def rows_of(fold: ir.Reduce) -> RowCoordinates | None:
    """The rows that a loop iterates over completely."""
    match fold.loops:
        case (ir.Loop(variable, ir.ZERO, last, None),) if variable.type == ir.INTS:
            if (found := match("Whole.Sizes", last)) and not found.Whole.index:
                return RowCoordinates(found.Whole.name)
            found = match(f"[{_LISTS['extent'][0]} for d in range(Own.DimensionCount)]", normal(last), d=_D)
            if found and not found.Own.index and is_known(ir.substitute(found.test, {_D: ir.ZERO})):
                return RowCoordinates(found.Own.name, found.test)
    return None


def normal(node: ir.Expr) -> ir.Expr:
    """A list with its variables renumbered, so that equal lists compare equal wherever they occur."""
    return written(node, {})
