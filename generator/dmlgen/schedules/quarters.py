"""Outputs whose elements take little more than finding where to read: they fold nothing.

A thread can then compute four of them, a quarter of a dimension apart: it finds the other coordinates once,
and has four reads in flight, while neighbouring threads still read and write neighbouring elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.defined import walk_through
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.described import Described
from dmlgen.schedules.keyed import keyed
from dmlgen.schedules.schedule import FastForm


@dataclass(frozen=True)
class Quarters(FastForm):
    """An output of which a thread can compute four elements."""

    output: str


def recognise(defines: OutputDefinitions, described: Described) -> Quarters | None:
    """The only output of a definition, if neither it nor an intermediate tensor folds anything; maxima that
    elements name the place of are not found by folding."""
    output, *others = defines.outputs
    if others or not described.is_certain(output) or any(keyed(one) is None for one in defines.tensors):
        return None
    folds = any(isinstance(part, ir.Fold) for part in walk_through(defines.outputs[output]))
    return None if folds else Quarters(output)
