"""Dispatches whose results are the same in every run, such as those that reorder the filters of a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..work import Work
from .net import INPUTS, Net
from .shaders import Compile, Shader
from .usage import usage

MOST_PASSES = 8  # of an operator that is looked at; a recurrence has hundreds of them, one for each step


class Fixed(NamedTuple):
    """The numbers of an operator's dispatches that run once, and the scratch that they write."""

    dispatches: frozenset[int] = frozenset()
    scratch: frozenset[str] = frozenset()


NOTHING = Fixed()


def fixed(net: Net, works: Mapping[int, Work], compiled: Compile) -> dict[int, Fixed]:
    """The work that runs once, by node: dispatches that read only constants of the graph, or scratch that
    others of them write, and that write only scratch that no other dispatch writes.

    Which buffers a dispatch uses is read from its compiled shader.
    """
    constants = {at: _constants(net, at) for at in net.order}
    candidates = [at for at in net.order if constants[at] and 1 < len(works[at].dispatches) <= MOST_PASSES]
    shaders: dict[Shader, None] = {}
    for at in candidates:
        shaders |= dict.fromkeys(net.shaders(at, works[at]))
    uses = dict(zip(shaders, map(usage, compiled(list(shaders))), strict=True))
    found: dict[int, Fixed] = {}
    for at in candidates:
        named: list[tuple[frozenset[str], frozenset[str]]] = []
        for dispatch, one in zip(works[at].dispatches, net.shaders(at, works[at]), strict=True):
            read, written = (
                frozenset(dispatch.buffers[place] for place in places if place < len(dispatch.buffers))
                for places in uses[one]
            )
            named.append((read, written))
        found[at] = of_operator(works[at], named, constants[at])
    return found


def of_operator(
    work: Work, named: list[tuple[frozenset[str], frozenset[str]]], constants: frozenset[str]
) -> Fixed:
    """The dispatches of one operator that run once, given what each dispatch reads and writes. One that is
    no longer among them can only exclude others, so that this ends."""
    own = work.scratch.keys() - set(work.zero_initialize)
    kept = frozenset(range(len(named)))
    while True:
        others = {name for number, (_, made) in enumerate(named) if number not in kept for name in made}
        scratch = frozenset(name for number in kept for name in named[number][1] if name in own) - others
        still = frozenset(
            number
            for number in kept
            if named[number][0] <= constants | scratch and named[number][1] <= scratch
        )
        if still == kept:
            return Fixed(kept, scratch)
        kept = still


def _constants(net: Net, at: int) -> frozenset[str]:
    """The inputs of a node that are constants of the graph."""
    return frozenset(
        name
        for _, name, _, source in net.inputs(at)
        if source.node != INPUTS and net.graph.nodes[source.node].desc is None
    )
