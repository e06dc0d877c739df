"""Tensors that need no operator, since their readers can find the elements where they are.

An operator is a view if its definition copies elements, and the place of each is a sum of coordinates times
strides. Its readers then get these strides and the offset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ...coordinates import Coordinates
from ...description import Description
from ...paths import path_of, value_at
from ...tensor import TensorDesc
from .. import plan
from ..errors import Unsupported
from ..planner_helpers import Planner
from ..planner_inputs import planner_of
from ..plans.capabilities import NO_CAPABILITIES, Capability
from .net import Net, Source, with_tensors


class View(NamedTuple):
    """The location of an output's elements: in an input, `offset` and `strides` in elements."""

    input: str
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """An element of a tensor: its offset, in elements."""

    tensor: str
    offset: int


def alias(net: Net, alignment: int, capabilities: Capability = NO_CAPABILITIES) -> None:
    """Leaves out views whose readers can all take the strides and the offset.

    Offsets must be multiples of `alignment`, in bytes. An operator with several outputs stays unless all of
    them can be left out.
    """
    readers = net.readers()
    for at in list(net.order):
        found = _redirected(net, at, readers, alignment, capabilities)
        if found is not None:
            descs, reads, ends = found
            net.descs |= descs
            net.reads |= reads
            net.ends = [ends.get(number, end) for number, end in enumerate(net.ends)]
            net.order.remove(at)
            for number, _, _, source in net.inputs(at):
                readers[source[:2]].remove((at, number))
            for reading, source in reads.items():
                readers[source[:2]].append(reading)


def _redirected(
    net: Net,
    at: int,
    readers: Mapping[tuple[int, int], Sequence[tuple[int, int]]],
    alignment: int,
    capabilities: Capability,
) -> Any:
    """The changes if a view is left out: descriptions of its readers, their sources, and outputs of the
    graph; None if it has to stay."""
    outputs = list(net.outputs(at))
    seen_as = [view(net.descs[at], name, number) for number, (_, name, _) in enumerate(outputs)]
    if None in seen_as:
        return None
    sources = {name: (tensor, source) for _, name, tensor, source in net.inputs(at)}
    tensors: dict[int, dict[str, TensorDesc]] = {}
    reads: dict[tuple[int, int], Source] = {}
    ends: dict[int, tuple[Source, TensorDesc]] = {}
    for seen, (number, _, written) in zip(filter(None, seen_as), outputs, strict=True):
        base, source = sources[seen.input]
        offset = source.offset + seen.offset * base.DataType.bits // 8
        if offset % alignment or written.DataType != base.DataType:
            return None
        moved = source._replace(offset=offset)
        for reader, slot in readers.get((at, number), []):
            _, label, tensor, _ = next(one for one in net.inputs(reader) if one[0] == slot)
            strides = recast(written, seen.strides, tensor)
            if strides is None or tensor.DataType != written.DataType or net.reads[reader, slot].offset:
                return None
            tensors.setdefault(reader, {})[label] = with_strides(tensor, strides)
            reads[reader, slot] = moved
        for place, (end, tensor) in enumerate(net.ends):
            if end[:2] == (at, number):
                if written.Strides is not None or moved.node < 0:
                    return None  # callers get what is packed, and not an input
                ends[place] = moved, with_strides(tensor, seen.strides)
    descs = {reader: with_tensors(net.descs[reader], changed) for reader, changed in tensors.items()}
    if all(is_as_fast(net.descs[reader], desc, capabilities) for reader, desc in descs.items()):
        return descs, reads, ends
    return None


def view(desc: Description, output: str, number: int = 0) -> View | None:
    """The view that an output of an operator is, the `number`th of an array; None if it is none."""
    planner = planner_of(desc.OPERATOR)
    if planner.shader is None or planner.shader.map.is_placed:
        return None
    tensor = tensor_of(desc, output)
    found = copied(desc, planner, len(tensor.Sizes), number)
    is_outside = found is None or found.offset < 0 or min(found.strides, default=0) < 0
    return None if is_outside or tensor.DataType.bits < 8 else found


def copied(desc: Description, planner: Planner, rank: int, number: int) -> View | None:
    """The elements that an operator copies, for coordinates of the tensor that it visits, or of the
    `number`th of an array; None if it computes anything else."""
    element, several = planner.element, (number,) if planner.each else ()
    if element is None:
        return None

    load = partial(_read, desc)
    try:  # what is a sum of coordinates times strides follows from the first one and those next to it
        first, *others = (
            element(desc, tuple(int(e == d) for e in range(rank)), load, *several) for d in range(-1, rank)
        )
    except (AttributeError, TypeError, ValueError):  # computes with elements
        return None
    if not isinstance(first, Place):  # a constant
        return None
    return View(first.tensor, first.offset, tuple(one.offset - first.offset for one in others))


def _read(desc: Description, name: str, at: Coordinates, entry: int | None = None) -> Place:
    """The element of a description's tensor, or of an entry of an array of them."""
    tensor, label = getattr(desc, name), name
    if entry is not None:
        tensor, label = tensor[entry], f"{name}[{entry}]"
    return Place(label, sum(one * stride for one, stride in zip(at, tensor.element_strides, strict=True)))


def recast(written: TensorDesc, strides: Sequence[int], read: TensorDesc) -> tuple[int, ...] | None:
    """The strides with which `read`, a tensor over the bytes of `written`, finds its elements if those of
    `written` are at `strides` instead; None if no strides do."""
    found = relocated(written, strides, read, 0)
    return None if found is None else found[0]


def relocated(
    written: TensorDesc, strides: Sequence[int], read: TensorDesc, offset: int
) -> tuple[tuple[int, ...], int] | None:
    """The strides as `recast` finds them, and the new offset, of a tensor from an offset on in `written`.

    Dimensions of `written` that lie within each other in both layouts are one. A step of `read` must stay
    within one dimension, and all steps together must not leave it.
    """
    if read.Sizes == written.Sizes and read.element_strides == written.element_strides and offset == 0:
        return tuple(strides), 0
    merged: list[list[int]] = []  # size, stride as written, stride in place; outermost first
    for size, own, other in zip(written.Sizes, written.element_strides, strides, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == size * own and merged[-1][2] == size * other:
            merged[-1] = [merged[-1][0] * size, own, other]
        else:
            merged.append([size, own, other])
    reached, start = [0] * len(merged), 0  # coordinates
    for place, (most, own, other) in sorted(enumerate(merged), key=lambda entry: -entry[1][1]):
        reached[place], offset = divmod(offset, own) if own else (0, offset)
        start += reached[place] * other
        if reached[place] >= most:
            return None
    if offset:
        return None
    found: list[int] = []
    for size, step in zip(read.Sizes, read.element_strides, strict=True):
        if size == 1 or step == 0:
            found.append(0)
            continue
        for place, (most, own, other) in enumerate(merged):
            if own and step % own == 0 and reached[place] + step // own * (size - 1) < most:
                reached[place] += step // own * (size - 1)
                found.append(step // own * other)
                break
        else:
            return None
    return tuple(found), start


def is_packed(tensor: TensorDesc) -> bool:
    """Whether its elements are contiguous, in the order of its dimensions."""
    return with_strides(tensor, tensor.element_strides).Strides is None


def is_as_fast(old: Description, new: Description, capabilities: Capability) -> bool:
    """Whether an operator takes other strides without losing its shader; one that is element-wise may lose
    it, since it replaces a copy that would read the same strides."""
    if new.validate():
        return False
    try:
        now = plan(new, capabilities)
        return planner_of(new.OPERATOR).is_map or [_variant(one) for one in now.dispatches] == [
            _variant(one) for one in plan(old, capabilities).dispatches
        ]
    except Unsupported:
        return False


def _variant(dispatch: Any) -> Any:
    return dispatch.shader, dict(dispatch.defines)


def with_strides(tensor: TensorDesc, strides: tuple[int, ...]) -> TensorDesc:
    changed = replace(tensor, Strides=strides, TotalTensorSizeInBytes=None)
    packed = replace(changed, Strides=None)
    kept = zip(tensor.Sizes, strides, packed.element_strides, strict=True)
    return packed if all(size == 1 or one == other for size, one, other in kept) else changed


def tensor_of(desc: Description, name: str) -> TensorDesc:
    """A tensor of a description, by a name such as "InputTensors[1]"."""
    tensor: TensorDesc = value_at(desc, path_of(name))
    return tensor
