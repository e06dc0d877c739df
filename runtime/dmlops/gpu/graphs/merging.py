"""Products of one tensor with several constants as a single product, such as those for queries, keys and
values.

The constants are joined along the dimension that only they have in common with the result, and each result
becomes a part of the whole, which its readers see by strides. Nothing here knows an operator.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from ...description import Description
from ...graph import Node
from ...tensor import TensorDesc
from .. import plan
from ..errors import Unsupported
from ..memory import array_of
from ..planner_inputs import einsum
from ..plans.capabilities import NO_CAPABILITIES, Capability
from ..programs import key_of
from .net import INPUTS, Net, Source, with_tensors
from .views import is_as_fast, relocated, with_strides


class _Product(NamedTuple):
    """A product by the names of tensors: `left`, which others may share, and its source; the output, with the
    dimension that only constants index; and these constants, with their own dimensions for that."""

    left: str
    tensor: TensorDesc
    source: Source
    output: str
    axis: int
    constants: tuple[tuple[str, int], ...]

    def key(self, desc: Description) -> Hashable:
        """A key that is equal for products that can become one."""
        apart = [name for name, _ in self.constants]
        return self, key_of(with_tensors(desc, dict.fromkeys([*apart, self.output], self.tensor)))


def merge(net: Net, alignment: int, capabilities: Capability = NO_CAPABILITIES) -> Net:
    """Merges products where that takes fewer thread groups, since tiles are larger or fewer of them are
    partial, and no more memory. Offsets must be multiples of `alignment`, in bytes."""
    alike: dict[Hashable, list[int]] = {}
    products: dict[int, _Product] = {}
    for at in net.order:
        found = _product(net, at)
        if found is not None:
            products[at] = found
            alike.setdefault(found.key(net.descs[at]), []).append(at)
    for members in alike.values():
        if len(members) > 1:
            merged = _merged(net, members, products[members[0]], alignment, capabilities)
            if merged is not None and merged.least_bytes() <= net.least_bytes():
                net = merged
    return net


def _product(net: Net, at: int) -> _Product | None:
    """An operator as a product of a tensor with constants, whose result only operators read."""
    found = einsum(net.descs[at])
    outputs = list(net.outputs(at))
    if found is None or len(outputs) > 1 or (at, outputs[0][0]) in {source[:2] for source, _ in net.ends}:
        return None
    ((_, output, result),) = outputs
    rank = len(result.Sizes)
    own = [axis for axis in found.right_axes if axis < rank and axis not in found.left_axes]
    if len(own) != 1 or result.Sizes[own[0]] == 1:
        return None
    (axis,) = own
    constants = {found.right: found.right_axes.index(axis)}
    for _, name, tensor, source in net.inputs(at):
        if name == found.left:
            left = tensor, source
            continue
        node = None if source.node == INPUTS else net.graph.nodes[source.node]
        is_alike = name == found.right or tensor.Sizes == result.Sizes
        if node is None or node.data is None or not is_alike or tensor.DataType.bits < 8:
            return None
        constants.setdefault(name, axis)
    return _Product(found.left, *left, output, axis, tuple(constants.items()))


def _merged(
    net: Net, members: Sequence[int], product: _Product, alignment: int, capabilities: Capability
) -> Net | None:
    """The operators with one product in place of several; None if a reader cannot take its part or may be an
    epilogue of one of them, or if that takes as many thread groups."""
    first, axis = members[0], product.axis
    written = [next(net.outputs(at)) for at in members]
    sizes = list(written[0][2].Sizes)
    sizes[axis] = sum(tensor.Sizes[axis] for *_, tensor in written)
    whole = TensorDesc(written[0][2].DataType, sizes)
    tensors: dict[int, dict[str, TensorDesc]] = {}
    reads: dict[tuple[int, int], Source] = {}
    readers, start = net.readers(), 0
    for at, (slot, _, result) in zip(members, written, strict=True):
        for reader, number in readers.get((at, slot), []):
            _, name, tensor, source = next(one for one in net.inputs(reader) if one[0] == number)
            width = tensor.DataType.bits // 8
            if tensor.DataType != result.DataType or net.is_element_wise(reader):
                return None
            found = relocated(result, whole.element_strides, tensor, source.offset // width)
            if found is None or (start + found[1]) * width % alignment:
                return None
            tensors.setdefault(reader, {})[name] = with_strides(tensor, found[0])
            reads[reader, number] = Source(first, slot, (start + found[1]) * width)
        start += result.Sizes[axis] * whole.element_strides[axis]
    given = [{name: (tensor, source) for _, name, tensor, source in net.inputs(at)} for at in members]
    shapes = {product.output: whole}
    for name, along in product.constants:
        joined = _joined([one[name][0] for one in given], along)
        if joined is None:
            return None
        shapes[name] = joined
    descs = {at: with_tensors(net.descs[at], changed) for at, changed in tensors.items()}
    merged = with_tensors(net.descs[first], shapes)
    apart = [net.descs[at] for at in members]
    if _groups([merged], capabilities) >= _groups(apart, capabilities) or not all(
        is_as_fast(net.descs[at], desc, capabilities) for at, desc in descs.items()
    ):
        return None
    nodes, labels, places = list(net.graph.nodes), list(net.labels), dict(product.constants)
    for number, name, _, _ in net.inputs(first):
        if name in places:
            arrays = [_array(net, *one[name], places[name]) for one in given]
            data = np.concatenate(arrays, places[name]).tobytes()
            reads[first, number] = Source(len(nodes), 0)
            nodes.append(Node(None, name, len(data), data))
            labels.append(name)
    return replace(
        net,
        graph=replace(net.graph, nodes=tuple(nodes)),
        labels=labels,
        order=[at for at in net.order if at == first or at not in members],
        descs=net.descs | descs | {first: merged},
        reads=net.reads | reads,
    )


def _once(tensor: TensorDesc, axis: int) -> tuple[int, ...]:
    """The sizes of a tensor without what strides of 0 repeat in dimensions other than `axis`."""
    steps = enumerate(zip(tensor.Sizes, tensor.element_strides, strict=True))
    return tuple(size if step or d == axis else 1 for d, (size, step) in steps)


def _joined(tensors: Sequence[TensorDesc], axis: int) -> TensorDesc | None:
    """Tensors as one along a dimension; None if others are repeated in some of them only."""
    first, shapes = tensors[0], [list(_once(tensor, axis)) for tensor in tensors]
    total = sum(shape[axis] for shape in shapes)
    for shape in shapes:
        shape[axis] = total
    if any(shape != shapes[0] for shape in shapes):
        return None
    steps = TensorDesc(first.DataType, shapes[0]).element_strides
    sizes = tuple(total if d == axis else size for d, size in enumerate(first.Sizes))
    strides = tuple(step if size > 1 else 0 for step, size in zip(steps, shapes[0], strict=True))
    return with_strides(TensorDesc(first.DataType, sizes), strides)


def _array(net: Net, tensor: TensorDesc, source: Source, axis: int) -> np.ndarray:
    """The elements of a constant, each once."""
    kept = TensorDesc(tensor.DataType, _once(tensor, axis), Strides=tensor.element_strides)
    data = net.graph.nodes[source.node].data
    assert data is not None, "as _product has seen"
    return array_of(kept, memoryview(data)[source.offset :])


def _groups(descs: Sequence[Description], capabilities: Capability) -> float:
    """The thread groups that operators take."""
    try:
        works = [plan(desc, capabilities) for desc in descs]
    except Unsupported:
        return inf
    return sum(one.groups[0] * one.groups[1] for work in works for one in work.dispatches)
