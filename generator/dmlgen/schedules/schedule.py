"""Schedules: a scan or an algorithm, and faster forms of definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from dmlgen.expr import ir


@dataclass(frozen=True)
class Schedule:
    """A fast way to compute an operator without passes of its definition: a scan, or its algorithm.

    Each form has its own function of the `roles`: tensors, and expressions of the description. An algorithm
    may store elements from the coordinate `place` on. A scan combines elements by its `operation`.
    """

    form: str
    output: str
    place: ir.Expr | None = None
    roles: Mapping[str, ir.Expr] = field(default_factory=dict)
    operation: str = ""


@dataclass(frozen=True)
class FastForm:
    """A faster way to compute what a definition says, besides following the definition."""

    @property
    def roles(self) -> Mapping[str, str]:
        """The tensors that it is about, by role."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in values if isinstance(value, str)}
