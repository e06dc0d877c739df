"""Chains of element-wise operators as one dispatch: no result in between is written to memory.

An operator joins those that read its result if nobody else does, and if they read all of it, each element at
the coordinate where they write: then its definition stands in place of what they read. Where the first of
them reads what a product computes, in the same way, the chain becomes the epilogue of that product. Nothing
here knows an operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from ...enums import TensorDataType
from ...tensor import TensorDesc
from .. import plan, shader
from ..errors import Unsupported
from ..planner_helpers import Planner
from ..planner_inputs import planner_of
from ..plans.capabilities import NO_CAPABILITIES, Capability
from ..plans.definition_types import Activation, Definition, DefinitionShader, MapPass
from ..plans.map import plan_map
from ..plans.operands import Buffer, Tensor
from ..plans.planning import Planning, Refused
from ..work import Dispatch, Work
from .chain_text import NOT_FOLLOWED, Epilogue, Part, followed, text
from .net import Chain, Net, Source, phases, with_tensors
from .shaders import Shader
from .views import is_as_fast, recast, with_strides

MOST_INPUTS = 8  # a device may limit how many buffers a shader has
MOST_OPERATORS = 32  # so that a shader compiles soon
WIDTHS = (8, 16, 32)  # bits of elements that chains can take


class _Input(NamedTuple):
    """The source of an operator of a chain, at these strides for the coordinates of the chain."""

    source: Source
    data_type: TensorDataType
    tensor: Tensor
    strides: tuple[int, ...]

    def seen(self) -> _Input:
        """The input, whichever operator reads it as which of its tensors."""
        plain = self.tensor._replace(macro="", buffer=Buffer(0, 0), sizes=(), strides=())
        return self._replace(tensor=plain)


class _Member(NamedTuple):
    """An operator of a chain, and its inputs in the order in which its function takes them; None for one
    that is absent."""

    planner: Planner
    op: Definition
    inputs: Sequence[_Input | None]


class _Group(NamedTuple):
    """The operators of a chain, the last one first; its coordinates are those of the last one's output."""

    sizes: tuple[int, ...]
    members: dict[int, _Member]

    def sources(self) -> dict[_Input, int]:
        """The inputs from outside, numbered."""
        found = (
            one.seen()
            for at in reversed(self.members)
            for one in self.members[at].inputs
            if one is not None and one.source.node not in self.members
        )
        return {one: number for number, one in enumerate(dict.fromkeys(found))}


def chain(net: Net, capabilities: Capability = NO_CAPABILITIES) -> None:
    """Joins operators as far as they go. Each one is looked at once, after all that read from it."""
    readers = net.readers()
    kept = {source[:2] for source, _ in net.ends}
    phase_of = phases(net)
    groups: dict[int, _Group] = {}
    for at in reversed(net.order):
        if not net.is_element_wise(at):
            continue
        ((slot, _, written),) = net.outputs(at)
        readings = readers.get((at, slot), [])
        group = next((groups[reader] for reader, _ in readings if reader in groups), None)
        if group is not None and (at, slot) not in kept and _joins(net, at, group, readings):
            groups[at] = group
        elif written.DataType.bits > 8:  # a word of several bytes has several writers
            member = _member(net, at, written.Sizes, written.element_strides)
            if member is not None:
                groups[at] = _Group(written.Sizes, {at: member})
    for at in list(net.order):
        if at not in groups or next(iter(groups[at].members)) != at:
            continue
        group = groups[at]
        replaced = set(group.members) - {at}
        for first in _leaders(net, group, readers, kept, phase_of):
            made = _behind(net, group, first, capabilities)
            if made is not None:
                replaced.add(first)
                break
        else:
            made = _chain(net, group, capabilities) if replaced else None
        if made is not None:
            net.chains[at] = made
            net.order = [one for one in net.order if one not in replaced]


def _joins(net: Net, at: int, group: _Group, readings: Sequence[tuple[int, int]]) -> bool:
    """Whether an operator can join a group, which it then does."""
    ((slot, _, written),) = net.outputs(at)
    if not all(reader in group.members for reader, _ in readings) or len(group.members) == MOST_OPERATORS:
        return False
    reads = [
        one
        for reader in dict(readings)
        for one in group.members[reader].inputs
        if one is not None and one.source[:2] == (at, slot)
    ]
    count = prod(written.Sizes)
    is_whole = all(
        one.source.offset == 0
        and prod(one.tensor.sizes) == count
        and one.tensor.bits == written.DataType.bits
        for one in reads
    )
    if not is_whole or prod(group.sizes) != count or len({one.strides for one in reads}) != 1:
        return False
    member = _member(net, at, group.sizes, reads[0].strides)
    if member is None:
        return False
    group.members[at] = member
    if len(group.sources()) > MOST_INPUTS:
        del group.members[at]
    return at in group.members


def _member(net: Net, at: int, sizes: Sequence[int], strides: Sequence[int]) -> _Member | None:
    """An operator whose elements the coordinates of a chain find at these strides; None if they do not find
    those that it reads, or if a chain does not take its types."""
    ((_, _, written),) = net.outputs(at)
    given = {name: (tensor, source) for _, name, tensor, source in net.inputs(at)}
    coordinates = TensorDesc(written.DataType, tuple(sizes), Strides=tuple(strides))
    desc = net.descs[at]
    planner = planner_of(desc.OPERATOR)
    assert planner.shader is not None, "it is element-wise"
    op = planner.inputs(desc, 0)
    if any(one.bits not in WIDTHS or not one.is_native for one in op.tensors):
        return None
    inputs: list[_Input | None] = []
    for place, one in enumerate(op.tensors[:-1]):
        if not one.is_present:
            inputs.append(None)
            continue
        tensor, source = given[desc.MEMBERS[one.buffer.member].name]
        found: tuple[int, ...] | None = (0,) * len(sizes)
        if not planner.shader.map.single >> place & 1:
            found = recast(written, tensor.element_strides, coordinates)
        if found is None:
            return None
        steps = tuple(0 if size == 1 else step for size, step in zip(sizes, found, strict=True))
        inputs.append(_Input(source, tensor.DataType, one, steps))
    return _Member(planner, op, inputs)


def _chain(net: Net, group: _Group, capabilities: Capability) -> Chain | None:
    """The group as one dispatch; None if that would lose the blocks in which an operator transposes, or if
    one has no plan."""
    sources = group.sources()
    *_, output = next(iter(group.members.values())).op.tensors
    tensors = [
        one.tensor._replace(
            macro=f"X{number}", buffer=Buffer(number, 0), sizes=group.sizes, strides=one.strides
        )
        for one, number in sources.items()
    ]
    target = output._replace(macro="OUTPUT", buffer=Buffer(len(tensors), 0))
    out = Planning(capabilities)
    try:
        plan_map(out, Definition([*tensors, target]), DefinitionShader(map=MapPass(over=len(tensors))))
        parts = list(_parts(net, group, sources, capabilities))
    except (Refused, Unsupported):
        return None
    ((defines, _, reads, constants, groups, *_),) = out.steps
    if defines["BLOCKS"]:
        return None
    ((_, written, _),) = net.outputs(next(iter(group.members)))
    inputs = _inputs(group, list(sources))
    labels = tuple(label for label, *_ in inputs)
    names = (*labels, written)
    dispatch = Dispatch({}, names, reads, constants, (groups.columns, groups.rows))
    threads = (("NUM_THREADS", defines["NUM_THREADS"]),)
    one = Shader(parts[-1].operator, threads, len(names), text(parts, tensors, defines))
    return Chain(tuple(_operators(net, group)), inputs, labels, Work((dispatch,)), (one,))


def _operators(net: Net, group: _Group) -> Iterator[str]:
    return (net.descs[at].OPERATOR for at in reversed(group.members))


def _inputs(group: _Group, sources: Sequence[_Input]) -> tuple[tuple[str, TensorDesc, Source], ...]:
    """The inputs of a chain, for the coordinates of its output."""
    return tuple(
        (f"X{number}", with_strides(TensorDesc(one.data_type, group.sizes), one.strides), one.source)
        for number, one in enumerate(sources)
    )


def _leaders(
    net: Net,
    group: _Group,
    readers: Mapping[tuple[int, int], Sequence[tuple[int, int]]],
    kept: Collection[tuple[int, int]],
    phase_of: Mapping[int, int],
) -> Iterator[int]:
    """The operators whose only result is read by nothing but the group, and that come after all else that it
    reads: any other would have to wait for what it can overlap with."""
    sources = {one.source.node for one in group.sources()} & phase_of.keys()
    for at in sources - net.chains.keys():
        key, *others = [(at, slot) for slot, *_ in net.outputs(at)]
        is_alone = not others and key not in kept and all(one in group.members for one, _ in readers[key])
        is_last = all(phase_of[one] < phase_of[at] for one in sources - {at})
        if is_alone and is_last and not planner_of(net.descs[at].OPERATOR).is_map:
            yield at


def _behind(net: Net, group: _Group, first: int, capabilities: Capability) -> Chain | None:
    """The group as the epilogue of an operator; None if that has none, or if the coordinates of its result do
    not find the group's elements."""
    ((_, name, result),) = net.outputs(first)
    ((_, written, output),) = net.outputs(next(iter(group.members)))
    others = [one for one in group.sources() if one.source.node != first]
    own = [one for one in group.sources() if one.source.node == first]
    *steps, stored = _seen_from(
        result, group.sizes, own, [*(one.strides for one in others), output.element_strides]
    )
    if stored is None or output.DataType != result.DataType:
        return None
    desc = with_tensors(net.descs[first], {name: with_strides(result, stored)})
    if desc != net.descs[first] and not is_as_fast(net.descs[first], desc, capabilities):
        return None
    numbers = {one: number for number, one in enumerate(others)} | dict.fromkeys(own, len(others))
    try:
        work, parts = plan(desc, capabilities), list(_parts(net, group, numbers, capabilities))
    except Unsupported:
        return None
    inputs = [one.tensor._replace(strides=one.strides) for one in others]
    stored_as = own[0].tensor._replace(as_bits=False, sizes=group.sizes, strides=output.element_strides)
    epilogue = Epilogue(parts, inputs, stored_as, steps)
    labels = [f"X{number}" for number in range(len(others))]
    dispatches, shaders = [], []
    for dispatch in work.dispatches:
        source, reads = dispatch.shader or desc.OPERATOR, dispatch.reads
        writes = name in dispatch.buffers
        made = followed(shader(source), dispatch.defines, reads, epilogue) if writes else NOT_FOLLOWED
        if made is None:
            return None
        buffers = [written if one == name else one for one in dispatch.buffers]
        if made.text:
            buffers[reads:reads] = labels
            constants = dispatch.constants + bytes(-len(dispatch.constants) % 16) + made.constants
            dispatch = dispatch._replace(reads=reads + len(labels), constants=constants)
        dispatches.append(dispatch._replace(buffers=tuple(buffers)))
        shaders.append(Shader(source, tuple(dispatch.defines.items()), len(buffers), made.text))
    if work.zero_initialize or not any(one.text for one in shaders):
        return None
    given = tuple((label, tensor, source) for _, label, tensor, source in net.inputs(first))
    operators = desc.OPERATOR, *_operators(net, group)
    work = work._replace(dispatches=tuple(dispatches))
    return Chain(operators, (*given, *_inputs(group, others)), tuple(labels), work, tuple(shaders))


def _seen_from(
    result: TensorDesc, sizes: tuple[int, ...], own: Sequence[_Input], strides: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...] | None]:
    """For `strides` for the coordinates of a group, those with which the coordinates of `result`, which the
    group reads as `own`, find the same elements; None if there are none, or if the group does not read each
    element once."""
    nothing: list[tuple[int, ...] | None] = [None] * len(strides)
    ways = {(one.source, one.data_type, one.strides) for one in own}
    if len(ways) > 1 or own[0].source.offset or own[0].data_type != result.DataType:
        return nothing
    if prod(sizes) != prod(result.Sizes) or not all(
        step or size == 1 for size, step in zip(sizes, own[0].strides, strict=True)
    ):
        return nothing
    read = TensorDesc(result.DataType, sizes, Strides=own[0].strides)
    return [recast(read, one, result) for one in strides]


def _parts(
    net: Net, group: _Group, sources: Mapping[_Input, int], capabilities: Capability
) -> Iterator[Part]:
    """The operators in order, each called with inputs of the chain or results of those before it."""
    order, before = list(reversed(group.members)), len(set(sources.values()))
    for at in order:
        member, desc = group.members[at], net.descs[at]
        operands = [
            None
            if one is None
            else before + order.index(one.source.node)
            if one.source.node in group.members
            else sources[one.seen()]
            for one in member.inputs
        ]
        ((defines, *_),) = plan(desc, capabilities).dispatches
        constants = tuple(_constants(member.planner, member.op))
        yield Part(desc.OPERATOR, tuple(defines.items()), constants, member.op.tensors, operands)


def _constants(planner: Planner, op: Definition) -> Iterator[str]:
    """Declarations of what is the same for all elements."""
    words = [f"{low}u, {high}u" for low, high in zip(op.elements[::2], op.elements[1::2], strict=True)]
    words += [f"{number % 2**32}u" for number in op.numbers]
    for declared, word in zip(planner.constants, words, strict=True):
        kind = declared.partition(" ")[0]
        yield f"{declared} = {'asfloat' if kind == 'float' else kind}({word})"
    if planner.shader is not None and planner.shader.activations:
        activation = next(iter(op.activations), Activation(0, 0, 0))
        yield f"int4 activations[1] = {{ int4({', '.join(f'{word}u' for word in activation)}, 0) }}"
