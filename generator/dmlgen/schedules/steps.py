"""Intermediate tensors that one thread can write together."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dmlgen.analysis.keyed import keyed
from dmlgen.expr import ir
from dmlgen.registry import Intermediate
from dmlgen.resolve.recurrences import reads_by_step


def in_step(tensors: Iterable[Intermediate], alone: Collection[str] = ()) -> list[list[Intermediate]]:
    """The intermediate tensors that each pass writes: consecutive ones in which no element needs another
    thread's.

    Each of those that are `alone` has its own pass.
    """
    passes: list[list[Intermediate]] = []
    for tensor in tensors:
        apart = passes and (tensor.name in alone or passes[-1][0].name in alone)
        if passes and not apart and _goes_with(tensor, passes[-1]):
            passes[-1].append(tensor)
        else:
            passes.append([tensor])
    return passes


def _goes_with(tensor: Intermediate, others: list[Intermediate]) -> bool:
    """Whether a thread can compute an element right after those of others at the same coordinate."""
    alike = all(
        (one.sizes, one.along, keyed(one)) == (tensor.sizes, tensor.along, None) for one in (tensor, *others)
    )
    names = {one.name for one in others}
    return alike and all(
        read.coordinate == ir.AT or (tensor.along and step is not None and step < 0)
        for read, step in reads_by_step(tensor.value)
        if read.tensor in names
    )
