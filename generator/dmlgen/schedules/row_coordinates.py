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


@dataclass(frozen=True)
class RowCoordinates:
    """The rows of a tensor, which run along the dimensions for which `test` holds. Lists are as `normal`
    writes them."""

    tensor: str
    test: ir.Expr

    def _list(self, along: ir.Expr, other: ir.Expr) -> ir.Expr:
        """A list with one entry along rows and another elsewhere."""
        rank = ir.Field(ir.Tensor(self.tensor), "DimensionCount", ir.INT)
        entry = ir.Conditional(self.test, along, other)
        return normal(ir.Reduce("list", ir.Loop(_D, ir.ZERO, rank, None), entry, ir.INTS))

    @property
    def size(self) -> ir.Expr:
        """The tensor's size along a dimension."""
        return ir.Index(ir.Field(ir.Tensor(self.tensor), "Sizes", ir.INTS), _D)

    @property
    def flags(self) -> ir.Expr:
        """A 1 for each dimension that rows run along, else 0."""
        return self._list(ir.ONE, ir.ZERO)

    @property
    def extent(self) -> ir.Expr:
        """The sizes of a row."""
        return self._list(self.size, ir.ONE)

    @property
    def kept(self) -> ir.Expr:
        """The sizes of a tensor with one entry per row."""
        return self._list(ir.ONE, self.size)

    @property
    def here(self) -> ir.Expr:
        """The coordinate, in such a tensor, for the row of the element at `at`."""
        return self._list(ir.ZERO, ir.Index(ir.AT, _D))

    @property
    def own(self) -> ir.Expr:
        """The coordinate, within its row, of the element at `at`."""
        return self._list(ir.Index(ir.AT, _D), ir.ZERO)

    @property
    def over(self) -> ir.Expr:
        """The coordinate of the current element of a loop over the row at `at`."""
        return self._list(ir.Index(ITEM, _D), ir.Index(ir.AT, _D))

    @property
    def backward(self) -> ir.Expr:
        """The coordinate of the current element of a loop that starts with the last element."""
        last = ir.Binary("-", self.size, ir.ONE, ir.INT)
        return self._list(ir.Binary("-", last, ir.Index(ITEM, _D), ir.INT), ir.Index(ir.AT, _D))

    def mirrored(self, node: ir.Expr) -> ir.Expr | None:
        """The coordinate in a row that is as far from its first element as a given one from the last."""
        found = match("[size - 1 - entry[d] for d in range(rank)]", node)
        if found is None:
            return None
        sizes = ir.Reduce("list", ir.Loop(found.d, ir.ZERO, found.rank, None), found.size, ir.INTS)
        return found.entry if normal(sizes) == self.extent else None


@dataclass(frozen=True)
class Whole(RowCoordinates):
    """The only row of a tensor: all of its elements."""

    @property
    def extent(self) -> ir.Expr:
        return ir.Field(ir.Tensor(self.tensor), "Sizes", ir.INTS)

    @property
    def kept(self) -> ir.Expr:
        return ir.ListOf((ir.ONE,))

    @property
    def here(self) -> ir.Expr:
        return ir.ListOf((ir.ZERO,))

    @property
    def own(self) -> ir.Expr:
        return ir.AT

    @property
    def over(self) -> ir.Expr:
        return ITEM


def rows_of(fold: ir.Fold) -> RowCoordinates | None:
    """The rows that a loop iterates over completely."""
    match fold.loops:
        case (ir.Each(first=None, last=last),) if fold.condition is None:
            if (found := match("Whole.Sizes", last)) and not found.Whole.index:
                return Whole(found.Whole.name, ir.Number(True, ir.BOOL))
            extent = "[Whole.Sizes[d] if test else 1 for d in range(Whole.DimensionCount)]"
            found = match(extent, normal(last), d=_D)
            if found and not found.Whole.index and is_known(ir.substitute(found.test, {_D: ir.ZERO})):
                return RowCoordinates(found.Whole.name, found.test)
    return None


def normal(node: ir.Expr) -> ir.Expr:
    """A list with its variables renumbered, so that equal lists compare equal wherever they occur."""
    return written(node, {})
