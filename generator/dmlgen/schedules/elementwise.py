"""Definitions of one output whose elements are each computed from few others, without loops over those."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.registry import Compute, Member, OutputDefinitions


def recognise(defines: OutputDefinitions, members: Mapping[str, Member]) -> Compute | None:
    """The computation of a definition of this form."""
    return None
