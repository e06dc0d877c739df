"""Definitions that copy elements from places that other tensors name."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.registry import Compute, Member, OutputDefinitions


def recognise(defines: OutputDefinitions, members: Mapping[str, Member]) -> Compute | None:
    """The computation of a definition of this form."""
    return None
