"""Passes of definitions: which of them lead to outputs, and the box that each visits."""

from __future__ import annotations

from .attention import Source, Sources
from .definition_types import Definition, DefinitionShader, Pass, Passes
from .loops import ceil_div
from .operands import NONE, Eight, Sizes, Tensors


def box_of(op: Definition, one: Pass) -> Sizes:
    """The sizes of the box that a pass visits."""
    if one.box_list != NONE:
        return op.lists[one.box_list]
    if one.box_tensor != NONE:
        return op.tensors[one.box_tensor].sizes
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


def needed(tensors: Tensors, shader: DefinitionShader) -> int:
    """The intermediate tensors that lead to outputs, and those written along with them, as bits."""
    return leading(list(shader.passes), present(tensors))


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
    attention = shader.attention
    read = bit_of(sources.query, attention.query) | bit_of(sources.key, attention.key)
    read = read | bit_of(sources.value, attention.value)
    output, key, value = sources.output, sources.key_stored, sources.value_stored
    written = bit_of(output, output.tensor) | bit_of(key, key.tensor) | bit_of(value, value.tensor)
    passes: Passes = []
    for one in shader.passes:
        if one.number == attention.number:
            writes = one.writes if output.tensor == NONE else 0
            reads = one.reads - (one.reads & read)
            passes.append(one._replace(writes=writes, outputs=written, reads=reads))
        elif one.outputs & written != 0:
            passes.append(one._replace(outputs=one.outputs - (one.outputs & written)))
        else:
            passes.append(one)
    return passes


def bit_of(source: Source, bit: int) -> int:
    """The bit, if there is a source."""
    return 0 if source.tensor == NONE else 1 << bit


def in_lanes(sizes: Sizes, apart: int, lanes: int) -> Eight:
    """The sizes of a tensor of which each thread computes that many elements along one dimension."""
    shape: Eight = []
    shape.extend(sizes)
    shape[apart] = ceil_div(shape[apart], lanes)
    return shape
