"""Passes of definitions: which of them lead to outputs, with faster ones in place of some, and the box that
each visits."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .attention import FEW_QUERIES, AttentionSplit, no_split, split_attention
from .attention_sources import KEY_STORED, OUTPUT, Sources, kept_of, sources_of
from .definition_types import Definition, DefinitionShader, Pass, Passes
from .loops import SATURATING_THREADS, ceil_div, element_count
from .operands import NONE, Eight, Sizes, Tensors
from .planning import Planning
from .separable import separable_place
from .sums import SumsTile, sums_tile

SEARCHED = 64
"elements up to which those of a small output search for what is scattered to them"

Tiles = Annotated[list[SumsTile], 32]


class PassSelection(NamedTuple):
    """The computation of outputs: the passes, the first with tiles, those of sums; the intermediate tensors
    that they write, as bits; those that any passes to outputs write (`led`); how groups share attention, and
    what it accesses directly. `separable`: the pass of taps that takes the place of the output's, or NONE."""

    passes: Passes
    tiles: Tiles
    wanted: int
    led: int
    split: AttentionSplit
    sources: Sources
    separable: int


def box_of(op: Definition, one: Pass) -> Sizes:
    """The sizes of the box that a pass visits."""
    if one.box != NONE:
        return op.tensors[one.box].sizes
    return op.kept_sizes[one.target] if one.writes_kept else op.tensors[one.target].sizes


def present(tensors: Tensors) -> int:
    """The tensors that are present, as bits."""
    found = 0
    for place, tensor in enumerate(tensors):
        if tensor.is_present:
            found = found | 1 << place
    return found


def is_needed(one: Pass, there: int, wanted: int) -> bool:
    """Whether a pass writes an output that is present, or an intermediate tensor that is wanted."""
    return one.writes & wanted != 0 or one.outputs & there != 0


def leading(passes: Passes, there: int) -> int:
    """The intermediate tensors that lead to some passes, if the tensors in `there` are present. Goes
    backwards, since passes read what earlier ones write; only recurrences are circular. Ends because
    bits are only ever added."""
    wanted, before = 0, -1
    is_circular = True
    while is_circular and before != wanted:
        before = wanted
        is_circular = False
        for place in range(len(passes)):
            one = passes[len(passes) - 1 - place]
            if is_needed(one, there, wanted):
                wanted = wanted | one.reads | one.writes
                is_circular = is_circular or one.is_along
    return wanted


def passes_with(shader: DefinitionShader, sources: Sources) -> Passes:
    """All passes, if attention accesses these tensors of the description directly: it reads fewer
    intermediate ones, and other passes do not write what it writes."""
    read, written = 0, 0
    for role, kept in enumerate(kept_of(shader)):
        if sources[role].tensor != NONE:
            is_output = role == OUTPUT or role >= KEY_STORED
            read = read | (0 if is_output else 1 << kept)
            written = written | (1 << sources[role].tensor if is_output else 0)
    passes: Passes = []
    for one in shader.passes:
        if one.number == shader.attention.number:
            writes = one.writes if sources[OUTPUT].tensor == NONE else 0
            reads = one.reads - (one.reads & read)
            passes.append(one._replace(writes=writes, outputs=written, reads=reads))
        else:
            passes.append(one._replace(outputs=one.outputs - (one.outputs & written)))
    return passes


def shape_of_threads(sizes: Sizes, axis: int, elements: int) -> Eight:
    """The threads along each dimension of a tensor if each computes that many elements along one of them."""
    shape: Eight = []
    shape.extend(sizes)
    shape[axis] = ceil_div(shape[axis], elements)
    return shape


def is_searched(op: Definition, shader: DefinitionShader) -> bool:
    """Whether elements search for what would be scattered to them: there are few of either."""
    for one in shader.passes:
        if one.box != NONE:
            output = op.tensors[shader.passes[-1].target]
            is_small = element_count(output.sizes) <= SATURATING_THREADS
            return is_small and element_count(op.tensors[one.box].sizes) <= SEARCHED
    return False


def select_passes(out: Planning, op: Definition, shader: DefinitionShader) -> PassSelection:
    """The passes that lead to outputs: attention without copies, and sums shared by groups, where these
    suit."""
    attention = shader.attention
    sources: Sources = []
    every: Passes = []
    for place, one in enumerate(shader.passes):  # those of sums come first
        if place >= len(shader.sums) or op.sums[place] == 1:
            every.append(one)
    there = present(op.tensors)
    led = leading(every, there)
    wanted, split = led, no_split()
    if attention.number != NONE:
        split = split_attention(out, op, shader, there)
        sources = sources_of(op, shader, there, split.vector, split.kernel == FEW_QUERIES)
        every = passes_with(shader, sources)
        wanted = leading(every, there)
    separable = separable_place(op, shader)
    if separable != NONE or is_searched(op, shader):
        wanted = 0  # entries are computed where they are read
    passes: Passes = [one for one in every if is_needed(one, there, wanted)]
    tiles: Tiles = [
        sums_tile(out, shader.sums[one.number], op.tensors, op.kept_sizes[one.target], one.is_along)
        for one in passes
        if one.number < len(shader.sums)
    ]
    return PassSelection(passes, tiles, wanted, led, split, sources, separable)
