"""Coordinates of sets: the elements of a tensor that differ only in their coordinates along some axes.

A definition spells them as lists over the dimensions, `[... if C(d) else ... for d in axes(T)]`, where C
tests whether a dimension is one of the axes, or as `replace(at, Axis, ...)`; loops run over the box of a set,
or along the single axis. Everything here is as `cases` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

from dmlgen.expr import ir
from dmlgen.schedules.pattern import match

_SINGLE = ir.Local("d", ir.INT)  # the dimension that `replace` names


class _ByAxis(NamedTuple):
    """A list with one entry per `dimension`: `along` for axes, `other` for the rest."""

    axes: ir.Expr
    dimension: ir.Local
    along: ir.Expr
    other: ir.Expr


def _by_axis(node: ir.Expr) -> _ByAxis | None:
    if found := match("[along if test else other for d in range(Whole.DimensionCount)]", node):
        axes = _axes(found.test, found.d)
        return None if axes is None else _ByAxis(axes, found.d, found.along, found.other)
    if found := match("replace(list_, axis, entry)", node):
        return _ByAxis(ir.ListOf((found.axis,)), _SINGLE, found.entry, ir.Index(found.list_, _SINGLE))
    return None


def _axes(test: ir.Expr, d: ir.Local) -> ir.Expr | None:
    """The list of dimensions for which a test of `d` holds."""
    if found := match("any(axes[i] == d for i in range(len(axes)))", test, d=d):
        return found.axes if isinstance(found.axes, ir.Member) else None
    if found := match("axis == d", test, d=d):
        is_local = any(isinstance(part, ir.Local) for part in ir.walk(found.axis))
        return None if is_local else ir.ListOf((found.axis,))
    return None


@dataclass(frozen=True)
class Sets:
    """The sets of a tensor along axes: a list of dimensions, which may contain duplicates."""

    tensor: str
    axes: ir.Expr

    def size(self, dimension: ir.Expr) -> ir.Expr:
        return ir.Index(ir.Field(ir.Tensor(self.tensor), "Sizes", ir.INTS), dimension)

    def is_extent(self, node: ir.Expr) -> bool:
        """Whether these are the sizes of a set: 1 in dimensions that are not axes."""
        found = _by_axis(node)
        return found is not None and found == (self.axes, d := found.dimension, self.size(d), ir.ONE)

    def is_kept(self, node: ir.Expr) -> bool:
        """Whether these are the sizes of a tensor with one entry per set."""
        found = _by_axis(node)
        return found is not None and found == (self.axes, d := found.dimension, ir.ONE, self.size(d))

    def is_here(self, node: ir.Expr) -> bool:
        """Whether this is the coordinate, in such a tensor, for the set of the element at `at`."""
        found = _by_axis(node)
        return found is not None and found == (self.axes, d := found.dimension, ir.ZERO, ir.Index(ir.AT, d))

    def is_own(self, node: ir.Expr) -> bool:
        """Whether this is the coordinate, within its set, of the element at `at`."""
        found = _by_axis(node)
        if isinstance(self.axes, ir.ListOf) and node == ir.Index(ir.AT, *self.axes.items):
            return True
        return found is not None and found == (self.axes, d := found.dimension, ir.Index(ir.AT, d), ir.ZERO)

    def is_over(self, node: ir.Expr, variable: ir.Local, backward: bool) -> bool:
        """Whether this is the coordinate of the current element of a loop over the set at `at`.

        A loop that goes `backward` starts with the last element.
        """
        found = _by_axis(node)
        if found is None:
            return False
        d = found.dimension
        size, entry = self.size(d), cast(ir.Expr, ir.Index(variable, d))
        if isinstance(self.axes, ir.ListOf) and variable.type == ir.INT:
            size, entry = self.size(*self.axes.items), variable
        along = _from_end(size, entry) if backward else entry
        return found == (self.axes, d, along, ir.Index(ir.AT, d))

    def turned(self, node: ir.Expr) -> ir.Expr | None:
        """The mirrored coordinate in a set: as far from its first element as this one is from the last."""
        if found := match("[size - 1 - entry[d] for d in range(rank)]", node):
            listed = ir.Reduce("list", ir.Loop(found.d, ir.ZERO, found.rank, None), found.size, ir.INTS)
            return found.entry if self.is_extent(listed) else None
        found = match("size - 1 - entry", node)
        return found.entry if found and self == _along(found.size) else None


def _from_end(size: ir.Expr, entry: ir.Expr) -> ir.Expr:
    return ir.Binary("-", ir.Binary("-", size, ir.ONE, ir.INT), entry, ir.INT)


def _along(size: ir.Expr) -> Sets | None:
    """The sets along one axis, given the size of that dimension."""
    found = match("Whole.Sizes[axis]", size)
    return Sets(found.Whole.name, ir.ListOf((found.axis,))) if found and not found.Whole.index else None


def sets_of(fold: ir.Fold) -> Sets | None:
    """The sets that a loop iterates over completely."""
    match fold.loops:
        case (ir.Each(variable=variable, first=None, last=last),) if fold.condition is None:
            if variable.type == ir.INT:
                return _along(last)
            found = _by_axis(last)
            sets = None if found is None else _along(found.along)
            if found is not None and sets is not None:
                sets = Sets(sets.tensor, found.axes)
                return sets if sets.is_extent(last) else None
    return None
