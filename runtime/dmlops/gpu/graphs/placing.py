"""Tensors that are written where an operator would copy them, such as the inputs of a JOIN into its output.

An operator places its inputs if its definition copies their elements, and the place of each is a sum of
coordinates times strides. What writes such an input then gets these strides, what else reads it does so, too,
and the copy is left out. Nothing here knows an operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import NamedTuple

from ...description import Description
from ...tensor import TensorDesc
from .. import plan
from ..planner_helpers import Planner
from ..planner_inputs import planner_of
from ..plans.capabilities import NO_CAPABILITIES, Capability
from .net import INPUTS, Net, Source, with_tensors
from .views import View, copied, is_as_fast, recast, relocated, tensor_of, with_strides

NARROWEST = 16  # bits of elements that a store does not share with others


class _Part(NamedTuple):
    """Inputs of an operator, by name, that are one part of its output, as they are one part of a tensor: from
    `start` elements on in `tensor`'s layout there, and in the output from `offset` on, at `strides`."""

    inputs: tuple[str, ...]
    source: tuple[int, int]
    tensor: TensorDesc
    start: int
    strides: tuple[int, ...]
    offset: int


def place_parts(net: Net, alignment: int, capabilities: Capability = NO_CAPABILITIES) -> Net:
    """Places what it can without taking more memory, at multiples of `alignment` bytes.

    Later operators come first, since a place in their outputs decides where those of earlier ones are; and so
    do parts that are written late, since the first to be written determines how long the output takes memory.
    """
    most: int | None = None
    steps = {at: step for step, at in enumerate(net.order)}
    for at in reversed(net.order):
        for part in sorted(_parts(net, at), key=lambda part: -steps.get(part.source[0], 0)):
            placed = _placed(net, at, part, alignment, capabilities)
            if placed is None:
                continue
            most = most or net.least_bytes()
            if placed.least_bytes() <= most:
                net = placed
    return net


def _parts(net: Net, at: int) -> Iterator[_Part]:
    """The inputs that an operator copies; those that are neighbors in a tensor and in the output as one."""
    planner = planner_of(net.descs[at].OPERATOR)
    if planner.shader is None or not planner.shader.map.is_placed or plan(net.descs[at]).zero_initialize:
        return
    last: _Part | None = None
    for number, name, tensor, source in net.inputs(at):
        found = _place_of(net.descs[at], planner, number, name)
        if found is None or tensor.DataType.bits < NARROWEST:
            return
        part = _Part((name,), source[:2], tensor, source.offset * 8 // tensor.DataType.bits, *found)
        both = None if last is None else _joined(last, part)
        if last is not None and both is None:
            yield last
        last = both or part
    if last is not None:
        yield last


def _place_of(
    desc: Description, planner: Planner, number: int, name: str
) -> tuple[tuple[int, ...], int] | None:
    """Strides and offset in the output at which an operator stores the elements of an input, if it does no
    more than that."""
    (output,) = (member.name for member in desc.MEMBERS if member.role == "output")
    tensor, strides = tensor_of(desc, name), tensor_of(desc, output).element_strides
    if copied(desc, planner, len(tensor.Sizes), number) != View(name, 0, tensor.element_strides):
        return None
    begin = planner.inputs(desc, number).begin
    return strides, sum(entry * stride for entry, stride in zip(begin, strides, strict=True))


def _joined(first: _Part, second: _Part) -> _Part | None:
    """Two parts as one, if the second continues the first along a dimension in both layouts."""
    one, two = first.tensor, second.tensor
    steps = one.element_strides
    if (first.source, steps, first.strides) != (second.source, two.element_strides, second.strides):
        return None
    for axis, size in enumerate(one.Sizes):
        sizes = (*one.Sizes[:axis], size + two.Sizes[axis], *one.Sizes[axis + 1 :])
        if (
            (*one.Sizes[:axis], *one.Sizes[axis + 1 :]) == (*two.Sizes[:axis], *two.Sizes[axis + 1 :])
            and first.start + size * steps[axis] == second.start
            and first.offset + size * first.strides[axis] == second.offset
        ):
            tensor = TensorDesc(one.DataType, sizes, Strides=steps)
            return first._replace(inputs=first.inputs + second.inputs, tensor=tensor)
    return None


def _placed(net: Net, at: int, part: _Part, alignment: int, capabilities: Capability) -> Net | None:
    """The operators if a part is written in its place; None if it cannot be.

    Nothing but operators of the graph must see where it is, and none may lose its shader by that.
    """
    ((_, _, output),) = net.outputs(at)
    writer, slot = part.source
    is_outside = writer == INPUTS or part.source in {source[:2] for source, _ in net.ends}
    if is_outside or writer not in net.order or part.source in net.places:
        return None
    name, written = next((name, tensor) for number, name, tensor in net.outputs(writer) if number == slot)
    strides = recast(part.tensor, part.strides, written)
    width = output.DataType.bits // 8
    if (
        strides is None
        or part.start
        or part.offset * width % alignment
        or 0 in part.tensor.element_strides
        or prod(written.Sizes) != prod(part.tensor.Sizes)
        or {written.DataType, part.tensor.DataType} != {output.DataType}
        or name in plan(net.descs[writer], capabilities).zero_initialize
    ):
        return None
    tensors: dict[int, dict[str, TensorDesc]] = {writer: {name: with_strides(written, strides)}}
    reads: dict[tuple[int, int], Source] = {}
    for reader, number in net.readers()[part.source]:
        _, label, tensor, source = next(one for one in net.inputs(reader) if one[0] == number)
        found = relocated(written, strides, tensor, source.offset // width)
        is_copied = reader != at or label not in part.inputs
        if (
            found is None
            or tensor.DataType != output.DataType
            or (is_copied and found[1] * width % alignment)
        ):
            return None
        tensors.setdefault(reader, {})[label] = with_strides(tensor, found[0])
        reads[reader, number] = source._replace(offset=found[1] * width)
    descs = {node: with_tensors(net.descs[node], changed) for node, changed in tensors.items()}
    if not all(is_as_fast(net.descs[node], desc, capabilities) for node, desc in descs.items()):
        return None
    return replace(
        net,
        descs=net.descs | descs,
        reads=net.reads | reads,
        places=net.places | {part.source: Source(at, 0, part.offset * width)},
        placed=net.placed | {at: net.placed.get(at, frozenset()).union(part.inputs)},
    )
