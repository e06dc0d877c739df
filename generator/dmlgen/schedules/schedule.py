"""Schedules: a form that definitions may have, or an algorithm, and the parts in which operators differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from dmlgen.expr import ir


@dataclass(frozen=True)
class Schedule:
    """A fast way to compute an operator: a form of its definition, or its algorithm.

    The form "map" works element by element: at each coordinate `at` of `over` (the output, or an array of
    tensors, each in turn as number `index`) it stores `value` in `output`, from the coordinate `place` on
    (None: all 0). Every other form has its own function of the `roles`: tensors, and expressions of the
    description. A scan combines elements by its `operation`.
    """

    form: str
    output: str
    over: str
    value: ir.Expr | None = None
    place: ir.Expr | None = None
    roles: Mapping[str, ir.Expr] = field(default_factory=dict)
    operation: str = ""

    @property
    def expressions(self) -> tuple[ir.Expr, ...]:
        """All of its expressions of the description and of elements."""
        return tuple(node for node in (self.value, self.place, *self.roles.values()) if node is not None)


@dataclass(frozen=True)
class FastForm:
    """A faster way to compute what a definition says, besides following the definition."""

    @property
    def roles(self) -> Mapping[str, str]:
        """The tensors that it is about, by role."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in values if isinstance(value, str)}
