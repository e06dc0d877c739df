"""Definitions of outputs, evaluated in NumPy: the functions used by the modules in `compute`.

A value is a number or an array. An output is computed in blocks of coordinates: `at` is an open grid with one
array per dimension, so that a value that depends on some dimensions is computed only for those. A loop adds
axes in front of these, one for a range and one per dimension of a box, and its reduction removes them again;
broadcasting does the rest. Long loops run in parts, so that block times part stays below `BUDGET`.

Floats that decide nothing are double; those that do have the type `real`. Values excluded by a condition are
computed too, but reads stay in bounds: coordinates are clamped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partialmethod, reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import arithmetic, elements
from .compute import computation
from .description import Description
from .enums import TensorDataType
from .paths import member_of
from .tensor import TensorDesc
from .validation import tensors

BLOCK, BUDGET = 1 << 18, 1 << 22
"""Elements of a block; elements of a block times turns of its loops."""
WIDE = 512
"""Elements of a row from which on rows are combined one by one: `accumulate` strides through memory."""


class Intermediate(NamedTuple):
    """An intermediate tensor: its NumPy type, its sizes, and its value at a coordinate.

    With `along`, entries depend on those at smaller indices of axis 0. With `keyed`, the coordinates are
    those of another box, each of which names an entry; an entry is the greatest value of those that name it,
    or 0.
    """

    type: Any
    sizes: Callable[[], Sequence[int]]
    value: Callable[[Any], Any]
    along: bool = False
    keyed: Keyed | None = None


class Keyed(NamedTuple):
    """The sizes of a box, and the row-major index of the entry that each of its coordinates names."""

    sizes: Callable[[], Sequence[int]]
    key: Callable[[Any], Any]


class Range(NamedTuple):
    """The integers from `first` up to, but not including, `last`; either can be an array."""

    first: Any
    last: Any

    @property
    def axes(self) -> list[tuple[Any, Any]]:
        return [(self.first, self.last)]

    def variable(self, axes: Sequence[Any]) -> Any:
        """The loop variable, given its values along each axis."""
        return axes[0]

    @property
    def next(self) -> Any:
        """The end of the first iteration."""
        return self.first + 1


class Box(NamedTuple):
    """The coordinates from `first` up to, but not including, `last` in every dimension."""

    first: Sequence[Any]
    last: Sequence[Any]

    @property
    def axes(self) -> list[tuple[Any, Any]]:
        return list(zip(self.first, self.last, strict=True))

    def variable(self, axes: Sequence[Any]) -> Any:
        return tuple(axes)

    @property
    def next(self) -> Any:
        return tuple(first + 1 for first in self.first)


class Evaluation:
    """One evaluation of an operator's definition on arrays."""

    def __init__(self, desc: Description, arrays: Mapping[str, Any]) -> None:
        self.desc = desc
        self.tensors: Mapping[str, Intermediate] = {}
        self.outputs: Mapping[str, Callable[[Any], Any]] = {}
        self.bits: Sequence[str] = ()  # tensors whose elements are read as raw bits
        self.index = 0  # of the current output in an array of outputs
        outputs = [tensor for _, member, tensor in tensors(desc) if member.role == "output"]
        doubles = any(tensor.DataType == TensorDataType.FLOAT64 for tensor in outputs)
        self.real: Any = np.float64 if doubles else np.float32
        self._arrays = arrays
        self._kept: dict[str, np.ndarray] = {}
        self._rows: dict[str, np.ndarray] = {}
        self._depth, self._volume = 0, 1  # dimensions and elements of the grid to which values broadcast

    # Whole tensors.

    def output(self, name: str) -> np.ndarray:
        """An output, shaped as its Sizes; for an array of outputs, the current one."""
        tensor = self.tensor(name)
        result = np.zeros(tensor.Sizes, tensor.DataType.numpy)
        store = elements.from_bits if name in self.bits else elements.stored
        self._fill(result, self.outputs[name], lambda value: store(value, tensor.DataType))
        return result

    def tensor(self, name: str) -> Any:
        """A tensor of the description, or None: "X[1]" is one of an array, "X" its current one."""
        return self._one(name, lambda member: getattr(self.desc, member))

    def _array(self, name: str) -> Any:
        return self._one(name, self._arrays.get)

    def _one(self, name: str, get: Callable[[str], Any]) -> Any:
        member, index = member_of(name)
        found = get(member)
        if not isinstance(found, tuple | list):
            return found
        number = self.index if index is None else index
        return found[number] if number < len(found) else None

    def _fill(
        self,
        array: np.ndarray,
        value: Callable[[Any], Any],
        store: Callable[[Any], Any],
        step: int | None = None,
    ) -> None:
        """Computes each entry of an array, or each one at index `step` of axis 0, from its coordinate."""
        sizes = array.shape if step is None else (1, *array.shape[1:])
        for part in _parts(sizes, BLOCK):
            place = part if step is None else (slice(step, step + 1), *part[1:])
            with self._grid(array.ndim, int(np.prod([p.stop - p.start for p in part], dtype=object))):
                array[place] = store(value(tuple(np.ogrid[place])))

    def _entries(self, name: str) -> np.ndarray:
        """An intermediate tensor, evaluated on first read, along with the recurrent ones in its group."""
        if name not in self._kept:
            names = list(self.tensors)
            first = last = names.index(name)
            if self.tensors[name].along:
                while first > 0 and self.tensors[names[first - 1]].along:
                    first -= 1
                while last + 1 < len(names) and self.tensors[names[last + 1]].along:
                    last += 1
            group = {one: self.tensors[one] for one in names[first : last + 1]}
            for one, kept in group.items():
                type_ = self.real if kept.type is None else kept.type
                self._kept[one] = np.zeros(tuple(map(int, kept.sizes())), type_)
            steps = range(self._kept[name].shape[0]) if self.tensors[name].along else (None,)
            for step in steps:
                for one, kept in group.items():
                    array = self._kept[one]
                    if kept.keyed is None:
                        self._fill(array, kept.value, np.asarray, step)
                    else:
                        self._raise(array, kept.value, kept.keyed)
        return self._kept[name]

    def _raise(self, array: np.ndarray, value: Callable[[Any], Any], keyed: Keyed) -> None:
        """Raises each entry to the values that name it; a value that names none is dropped."""
        sizes = tuple(map(int, keyed.sizes()))
        for part in _parts(sizes, BLOCK):
            with self._grid(len(sizes), int(np.prod([p.stop - p.start for p in part], dtype=object))):
                at = tuple(np.ogrid[part])
                keys, values = np.broadcast_arrays(keyed.key(at), value(at))
            inside = (keys >= 0) & (keys < array.size)
            np.maximum.at(array.reshape(-1), keys[inside], values[inside])

    @contextmanager
    def _grid(self, depth: int, volume: int) -> Iterator[None]:
        before = self._depth, self._volume
        self._depth, self._volume = depth, volume
        yield
        self._depth, self._volume = before

    # Reads.

    def element(self, name: str, at: Sequence[Any]) -> Any:
        """Elements of an input, in the type they are computed in; 0 if it is absent."""
        array = self._array(name)
        if array is not None and name in self.bits:
            return elements.bits_of(_read(array, at))
        return self._entry(name, at)

    def concat(self, name: str, axis: int, at: Sequence[Any]) -> Any:
        """Elements of an array of tensors, concatenated along an axis."""
        result, start = None, 0
        for number, tensor in enumerate(getattr(self.desc, name)):
            inside = (*at[:axis], at[axis] - start, *at[axis + 1 :])
            element = self.element(f"{name}[{number}]", inside)
            result = element if result is None else np.where(inside[axis] >= 0, element, result)
            start += tensor.Sizes[axis]
        return result

    def integer(self, name: str, at: Sequence[Any]) -> Any:
        """Elements of an integer tensor."""
        return _signed(self._entry(name, at))

    def single(self, name: str, at: Sequence[Any]) -> Any:
        """Elements as floats that decide."""
        return self._entry(name, at).astype(self.real)

    def double(self, name: str, at: Sequence[Any]) -> Any:
        """Elements as floats that decide nothing."""
        return self._entry(name, at).astype(np.float64)

    def truth(self, name: str, at: Sequence[Any]) -> Any:
        """Truth values of an intermediate tensor."""
        return self._entry(name, at)

    def _entry(self, name: str, at: Sequence[Any]) -> Any:
        if name in self.tensors:
            return _read(self._entries(name), at)
        array, tensor = self._array(name), self.tensor(name)
        if array is None or tensor is None:
            return np.zeros((), self.real)
        return elements.computed(_read(array, at), tensor.DataType)

    def previous_contents(self, name: str, at: Sequence[Any]) -> Any:
        """The previous content of an output; unknown here, so it is 0."""
        return np.zeros(())

    # Numbers.

    def as_single(self, value: Any) -> Any:
        """A number as a float that decides."""
        return np.asarray(value).astype(self.real)[()]

    def as_integer(self, value: Any) -> Any:
        """Elements of an integer type as an integer with the same bits."""
        return np.asarray(value).astype(np.int64)[()]

    def as_double(self, value: Any) -> Any:
        """A number as a float that decides nothing."""
        return np.asarray(value).astype(np.float64)[()]

    def min_value(self, name: str) -> Any:
        """The least value of a tensor's data type."""
        return self._extremes(name)[0]

    def max_value(self, name: str) -> Any:
        """The greatest value of a tensor's data type."""
        return self._extremes(name)[1]

    def _extremes(self, name: str) -> tuple[Any, Any]:
        data_type = self.tensor(name).DataType
        return (-np.inf, np.inf) if data_type.kind == "float" else elements.extremes(data_type)

    def activated(self, value: Any, activation: Any, tensor: str | None = None, at: Any = ()) -> Any:
        """The result of an activation on floats, which the intermediate tensor `tensor` has at `at`."""
        if activation is None:
            return value
        if tensor is None:
            array = np.asarray(value)
            return _whole(activation, array.reshape(-1), alone=True).reshape(array.shape)
        if tensor not in self._rows:
            self._rows[tensor] = _whole(activation, self._entries(tensor).astype(np.float64))
        return _read(self._rows[tensor], at)

    def activated_by(self, value: Any, activations: Any, number: Any) -> Any:
        """The result of one of several activations on floats."""
        result: Any = value
        for one in np.unique(number):
            result = np.where(number == one, self.activated(value, activations[int(one)]), result)
        return result

    def converted(self, value: Any, name: str) -> Any:
        """`elements.convert` to a tensor's type; bits of integers that do not fit are cut off."""
        data_type = self.tensor(name).DataType
        converted = elements.convert(value, data_type)
        return converted if data_type.kind == "float" else _cut(converted, data_type)

    def quantized(self, value: Any, name: str) -> Any:
        """`elements.quantize` to a tensor's type; floats stay unchanged if the type is floating-point."""
        data_type = self.tensor(name).DataType
        if data_type.kind == "float":
            return value
        return _cut(elements.quantize(value, data_type), data_type)

    # Loops.

    def sum(
        self, body: Callable[..., Any], *loops: Range | Box, where: Callable[..., Any] | None = None
    ) -> Any:
        """The sum; the sum of products if `body` gives a pair of factors."""
        running = self._running(np.add, 0, body, loops, where)
        if running is not None:
            return running
        total: Any = None
        for count, _, mask, value in self._turns(body, loops, where):
            part = self._summed(value, mask, count)
            total = part if total is None else total + part
        return 0 if total is None else total

    def _folded(
        self,
        combine: np.ufunc,
        nothing: Any,
        body: Callable[..., Any],
        *loops: Range | Box,
        where: Callable[..., Any] | None = None,
        initial: Any = None,
    ) -> Any:
        """All values combined; `nothing`, or `initial`, if there are none."""
        nothing = initial if nothing is None else nothing
        running = self._running(combine, nothing, body, loops, where)
        if running is not None:
            return running
        result: Any = nothing
        for count, _, mask, value in self._turns(body, loops, where):
            one = self._masked(_of_type(value, nothing), mask, nothing)
            if combine is np.multiply:
                one = np.broadcast_to(one, self._shape(value, mask, count))
            result = combine(result, combine.reduce(one, axis=tuple(range(len(count)))))
        return result

    def _running(
        self,
        combine: np.ufunc,
        nothing: Any,
        body: Callable[..., Any],
        loops: Sequence[Range | Box],
        where: Callable[..., Any] | None,
    ) -> Any:
        """A fold of a range that starts or ends at a coordinate, from the totals on the way to its other end.

        None if it does neither, or both, or if its values depend on that coordinate.
        """
        if len(loops) > 1 or not isinstance(loops[0], Range) or where is not None:
            return None
        first, last = loops[0]
        low, high = int(np.min(first)), int(np.max(last))
        if (np.size(first) > 1) == (np.size(last) > 1) or high <= low:
            return None
        is_forward = np.size(last) > 1
        ends = _deep(last if is_forward else first, self._depth)

        def values(count: int) -> np.ndarray:
            parts = self._in_parts(body, loops, None, [(low, high)], iter([(slice(0, count),)]))
            ((*_, value),) = parts
            found: np.ndarray = value[0] * value[1] if isinstance(value, tuple) else value
            return found

        if any(n > 1 and m > 1 for n, m in zip(values(1).shape[1:], ends.shape, strict=True)):
            return None
        value = _of_type(values(high - low), nothing)
        type_ = np.dtype(np.int64) if value.dtype.kind == "b" and combine is np.add else value.dtype
        totals = np.empty((high - low + 1, *value.shape[1:]), np.float64 if type_.kind == "f" else type_)
        totals[0] = nothing
        every = np.broadcast_to(value, totals[1:].shape)[:: 1 if is_forward else -1]
        if totals[0].size < WIDE:
            combine.accumulate(every, axis=0, out=totals[1:])
        else:
            for before, one, after in zip(totals, every, totals[1:], strict=False):
                combine(before, one, out=after)
        counts = ends - low if is_forward else high - ends
        combined = np.ogrid[tuple(map(slice, value.shape[1:]))]
        return _read(totals, (counts, *combined)).astype(type_)

    product = partialmethod(_folded, np.multiply, 1)
    any = partialmethod(_folded, np.logical_or, False)
    all = partialmethod(_folded, np.logical_and, True)
    max = partialmethod(_folded, np.maximum, None)  # NaN if any is
    min = partialmethod(_folded, np.minimum, None)

    def _chosen(
        self,
        better: np.ufunc,
        body: Callable[..., Any],
        loop: Range | Box,
        where: Callable[..., Any] | None = None,
    ) -> Any:
        """The position of the first value that is better than all others, or NaN; the loop's first value if
        there are none."""
        found: Any = np.zeros((), bool)
        best: Any = None
        place = [np.asarray(first) for first, _ in loop.axes]
        # Parts come in loop order, so a later one has to be strictly better to win.
        for count, axes, mask, value in self._turns(body, (loop,), where):
            shape = self._shape(value, mask, count)
            turns = int(np.prod(count))
            values = np.broadcast_to(value, shape).reshape(turns, *shape[len(count) :])
            valid = np.broadcast_to(mask, shape).reshape(values.shape)
            extreme = np.where(valid, values, -np.inf if better is np.greater else np.inf)
            if values.dtype.kind != "f":
                limits = np.iinfo(values.dtype)
                extreme = np.where(valid, values, limits.min if better is np.greater else limits.max)
            top = extreme.max(axis=0) if better is np.greater else extreme.min(axis=0)  # NaN if any is
            number = (valid & ((values == top) | np.isnan(extreme))).argmax(axis=0)
            here = valid.any(axis=0)
            if best is None:
                best = top
            ahead = here & (~found | better(top, best) | (np.isnan(top) & ~np.isnan(best)))
            ahead &= ~(found & np.isnan(best))
            # Flat: NumPy 2.4 gets elements past 8192 wrong where the last of several dimensions is 1.
            turn = np.unravel_index(number.ravel(), tuple(count))
            for axis, along in enumerate(axes):
                first = _deep(along, len(shape))[(0,) * len(count)]
                place[axis] = np.where(ahead, first + turn[axis].reshape(number.shape), place[axis])
            best, found = np.where(ahead, top, best), found | here
        return loop.variable(place)

    argmax = partialmethod(_chosen, np.greater)
    argmin = partialmethod(_chosen, np.less)

    def _turns(
        self, body: Callable[..., Any], loops: Sequence[Range | Box], where: Callable[..., Any] | None
    ) -> Iterator[tuple[tuple[int, ...], list[Any], Any, Any]]:
        """The parts of a loop nest: iterations along each axis, values of the variables, mask and body."""
        bounds = [pair for loop in loops for pair in loop.axes]
        trips = [max(int(np.max(np.subtract(last, first), initial=0)), 0) for first, last in bounds]
        turns, room = int(np.prod(trips, dtype=object)), BUDGET // max(self._volume, 1)
        if turns > max(room, 1):  # the factors of a product can be far smaller than their product grid
            room = self._room(body, loops, room)
        yield from self._in_parts(body, loops, where, bounds, _parts(trips, max(room, 1)))

    def _room(self, body: Callable[..., Any], loops: Sequence[Range | Box], room: int) -> int:
        """The number of iterations within the budget, by the size of the body's factors in the first one."""
        first = tuple(loop._replace(last=loop.next) for loop in loops)
        bounds = [pair for loop in first for pair in loop.axes]
        *_, value = next(
            iter(self._in_parts(body, first, None, bounds, iter([(slice(0, 1),) * len(bounds)])))
        )
        return BUDGET // max(factor.size for factor in value) if isinstance(value, tuple) else room

    def _in_parts(
        self,
        body: Callable[..., Any],
        loops: Sequence[Range | Box],
        where: Callable[..., Any] | None,
        bounds: Sequence[tuple[Any, Any]],
        parts: Iterator[tuple[slice, ...]],
    ) -> Iterator[tuple[tuple[int, ...], list[Any], Any, Any]]:
        depth = self._depth + len(bounds)
        for part in parts:
            count = tuple(one.stop - one.start for one in part)
            axes: list[Any] = []
            mask: Any = np.ones((1,) * depth, bool)
            for axis, ((first, last), one) in enumerate(zip(bounds, part, strict=True)):
                step = np.arange(one.start, one.stop).reshape((-1,) + (1,) * (depth - 1 - axis))
                axes.append(step + first)
                if np.ndim(first) or np.ndim(last):
                    mask = mask & (axes[-1] < last)
            variables, taken = [], 0
            for loop in loops:
                width = len(loop.axes)
                variables.append(loop.variable(axes[taken : taken + width]))
                taken += width
            with self._grid(depth, self._volume * int(np.prod(count, dtype=object))):
                if where is not None:
                    mask = mask & _deep(where(*variables), depth)
                value = body(*variables)
            if isinstance(value, tuple):
                yield count, axes, mask, tuple(_deep(factor, depth) for factor in value)
            else:
                yield count, axes, mask, _deep(value, depth)

    def _masked(self, value: Any, mask: Any, other: Any) -> np.ndarray:
        return value if mask.size == 1 and mask.all() else elements_where(mask, value, other)

    def _shape(self, value: Any, mask: Any, count: Sequence[int]) -> tuple[int, ...]:
        """The shape of a value with all iterations of its loops."""
        shape = np.broadcast_shapes(np.shape(value), np.shape(mask))
        return (*count, *shape[len(count) :])

    def _summed(self, value: Any, mask: Any, count: Sequence[int]) -> Any:
        axes = tuple(range(len(count)))
        if isinstance(value, tuple):
            left, right = value
            if left.dtype.kind != "f":  # summed in double precision, if that is exact
                largest = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0))
                if largest * float(np.prod(count, dtype=object)) >= 2.0**53:
                    return self._summed(left * right, mask, count)
            if mask.size > 1 or not mask.all():
                if left.dtype.kind == "f" and not np.isfinite(right).all():
                    return self._summed(left * right, mask, count)  # 0 times infinity is not 0
                left = elements_where(mask, left, 0)
            return contracted(left, right, count)
        value = self._masked(value, mask, 0)
        repeats = int(np.prod([n for n, m in zip(count, value.shape, strict=False) if m == 1], dtype=object))
        if value.dtype.kind == "f":
            return value.sum(axis=axes, dtype=np.float64) * repeats
        type_ = np.dtype(np.int64) if value.dtype.kind == "b" else value.dtype
        return value.sum(axis=axes, dtype=type_) * type_.type(repeats)


def _cut(value: Any, data_type: TensorDataType) -> Any:
    """Integers truncated to the bits of a data type."""
    return elements.computed(elements.stored(value, data_type), data_type)


def _whole(activation: Any, array: np.ndarray, alone: bool = False) -> np.ndarray:
    """The result of an activation on a whole tensor, or on independent elements if `alone`."""
    data_type = TensorDataType.FLOAT64 if array.dtype == np.float64 else TensorDataType.FLOAT32
    tensor = TensorDesc(data_type, array.shape)
    work = computation(replace(activation, InputTensor=tensor, OutputTensor=tensor))
    evaluation = work.evaluation({"InputTensor": array})
    if alone and evaluation.tensors:
        raise NotImplementedError(f"{activation.OPERATOR} needs a whole row; this is one element")
    result: np.ndarray = evaluation.output("OutputTensor")
    return result


def _of_type(value: Any, limit: Any) -> Any:
    """A value as a float if its limit is one: an empty product has no type of its own."""
    return value.astype(np.float64) if isinstance(limit, float) and value.dtype.kind != "f" else value


def elements_where(mask: Any, value: Any, other: Any) -> np.ndarray:
    """`value` where the mask holds, in its own type."""
    return np.where(mask, value, np.asarray(other).astype(value.dtype))


def contracted(left: np.ndarray, right: np.ndarray, count: Sequence[int]) -> Any:
    """The sum of left * right over the `count` leading axes, as a matrix product.

    Every other axis belongs to the result: it comes from both factors, or from only one of them. The sum of
    integers must be less than 2**53.
    """
    if left.dtype.kind != "f":
        return contracted(left.astype(np.float64), right.astype(np.float64), count).astype(left.dtype)
    loops = len(count)
    factor = 1
    for axis, turns in enumerate(count):
        n, m = left.shape[axis], right.shape[axis]
        if n == m == 1:
            factor *= turns
        elif m == 1:
            left = left.sum(axis=axis, keepdims=True)
        elif n == 1:
            right = right.sum(axis=axis, keepdims=True)
    rest = range(loops, left.ndim)
    both = [a for a in rest if left.shape[a] > 1 and right.shape[a] > 1]
    ours = [a for a in rest if left.shape[a] > 1 and a not in both]
    theirs = [a for a in rest if right.shape[a] > 1 and a not in both]
    summed = [a for a in range(loops) if left.shape[a] > 1]

    def sizes(array: np.ndarray, axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(array.shape[a] for a in axes)

    def matrix(array: np.ndarray, *groups: Sequence[int]) -> np.ndarray:
        kept = [a for group in groups for a in group]
        moved = array.transpose(*kept, *(a for a in range(array.ndim) if a not in kept))
        return moved.reshape([int(np.prod(sizes(array, group))) for group in groups])

    result = matrix(left, both, ours, summed) @ matrix(right, both, summed, theirs)
    order = [*both, *ours, *theirs]
    shaped = result.reshape((*sizes(left, both), *sizes(left, ours), *sizes(right, theirs)))
    shaped = shaped.transpose([order.index(a) for a in sorted(order)])
    whole = [max(left.shape[a], right.shape[a]) for a in rest]
    return shaped.reshape(whole) * factor


def _deep(value: Any, depth: int) -> np.ndarray:
    """A value with as many axes as its grid."""
    array = np.asarray(value)
    return array.reshape((1,) * (depth - array.ndim) + array.shape)


def _read(array: np.ndarray, at: Sequence[Any]) -> Any:
    """Entries of an array at coordinates, which are clamped: a mask may have excluded those out of bounds.

    Where coordinates vary along different axes of the grid, a box of entries is sliced, not gathered.
    """
    if len(at) != array.ndim:
        raise AssertionError(f"a coordinate of {len(at)} entries for {array.ndim} dimensions")
    shapes = [np.shape(c) for c in at]
    axes = [[axis for axis in range(-len(shape), 0) if shape[axis] > 1] for shape in shapes]
    varying = {axis: dimension for dimension, along in enumerate(axes) for axis in along}
    if len(varying) < sum(map(len, axes)) or any(len(along) > 1 for along in axes):
        return np.asarray(array[tuple(np.clip(c, 0, n - 1) for c, n in zip(at, array.shape, strict=True))])
    entries = array
    for dimension, (coordinates, size) in enumerate(zip(at, array.shape, strict=True)):
        place = (slice(None),) * dimension
        entries = entries[(*place, _interval(np.ravel(coordinates), size))]
    order = [varying[axis] for axis in sorted(varying)]
    turned = entries.transpose(*order, *(d for d in range(array.ndim) if d not in order))
    grid = range(-max(map(len, shapes), default=0), 0)
    return turned.reshape([entries.shape[varying[axis]] if axis in varying else 1 for axis in grid])


def _interval(indices: np.ndarray, size: int) -> Any:
    """Indices of a dimension of some size, clamped: as a slice if they are in steps of one length."""
    first, last, count = int(indices[0]), int(indices[-1]), len(indices)
    if count == 1:
        first = min(max(first, 0), size - 1)
        return slice(first, first + 1)
    step = int(indices[1]) - first
    within = min(first, last) >= 0 and max(first, last) < size
    if not (within and step and last - first == step * (count - 1) and (np.diff(indices) == step).all()):
        return np.clip(indices, 0, size - 1)
    end = last + step
    return slice(first, end if end >= 0 else None, step)


def _parts(sizes: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Splits a box into parts of at most so many coordinates, in row-major order."""
    steps: list[int] = []
    for axis in range(len(sizes)):
        rest = int(np.prod(sizes[axis + 1 :], dtype=object))
        steps.append(max(min(most // max(rest, 1), sizes[axis]), 1))
        most //= steps[-1]
    ranges = (range(0, size, step) for size, step in zip(sizes, steps, strict=True))
    for starts in product(*ranges):
        bounds = zip(starts, sizes, steps, strict=True)
        yield tuple(slice(start, min(start + step, size)) for start, size, step in bounds)


# Coordinates, and numbers that can be arrays.


def is_number(value: Any) -> bool:
    """Whether a value is a single number rather than an array."""
    return type(value) is int or np.ndim(value) == 0


def ndindex(sizes: Sequence[Any]) -> Box:
    """The coordinates of a box of these sizes."""
    return Box((0,) * len(sizes), sizes)


def in_bounds(at: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """Whether a coordinate is inside a box of these sizes."""
    return reduce(np.logical_and, ((c >= 0) & (c < n) for c, n in zip(at, sizes, strict=True)), True)


def ravel_index(at: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """The row-major index of a coordinate."""
    number: Any = 0
    for c, size in zip(at, sizes, strict=True):
        number = number * size + c
    return number


def unravel_index(number: Any, sizes: Sequence[Any]) -> tuple[Any, ...]:
    """The coordinate with that row-major index; always 0 in dimensions of size 1."""
    at: list[Any] = []
    for size in reversed(sizes):
        single = is_number(size) and size == 1
        at.append(0 if single else remainder(number, size))
        number = number if single else quotient(number, size)
    return tuple(reversed(at))


def sizes_of(tensor: TensorDesc | None) -> tuple[int, ...]:
    """The sizes of a tensor; empty if it is absent."""
    return () if tensor is None else tensor.Sizes


def rank_of(tensor: TensorDesc | None) -> int:
    """The dimension count of a tensor; 0 if it is absent."""
    return len(sizes_of(tensor))


def entry(sequence: Sequence[Any], index: Any) -> Any:
    """One entry of an array, or those at several indices; 0 if an index is out of range."""
    if type(index) is int or is_number(index):
        return arithmetic.entry(sequence, index)
    return np.asarray([*sequence, 0])[np.where((index >= 0) & (index < len(sequence)), index, -1)]


def quotient(a: Any, b: Any) -> Any:
    """a // b, rounded down; 0 if b is 0."""
    if is_number(a) and is_number(b):
        return arithmetic.quotient(a, b)
    return np.floor_divide(a, b)


def remainder(a: Any, b: Any) -> Any:
    """a % b, with the sign of b; 0 if b is 0."""
    if is_number(a) and is_number(b):
        return arithmetic.remainder(a, b)
    return np.mod(a, b)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """The value limited to low and high; low if high is less."""
    return np.maximum(np.minimum(x, high), low)


def smaller(a: Any, b: Any) -> Any:
    """The smaller integer."""
    return min(a, b) if is_number(a) and is_number(b) else np.minimum(a, b)


def larger(a: Any, b: Any) -> Any:
    """The larger integer."""
    return max(a, b) if is_number(a) and is_number(b) else np.maximum(a, b)


def whole(x: Any) -> Any:
    """A float as an integer: truncated toward 0, at most 2**62, which leaves room for sums; NaN is 0."""
    array = np.asarray(x)
    if array.dtype.kind != "f":
        return _signed(array)
    return np.clip(elements.convert(array, TensorDataType.INT64), -(2**62), 2**62)


def _signed(array: Any) -> Any:
    """Integers as signed 64-bit integers; larger ones become the greatest."""
    return (np.minimum(array, 2**63 - 1) if array.dtype == np.uint64 else array).astype(np.int64)


def choose(test: Any, then: Any, otherwise: Any) -> Any:
    """One of two values, element by element; for two coordinates, in each dimension."""
    if is_number(test):
        return then if test else otherwise
    if isinstance(then, tuple):
        return tuple(np.where(test, a, b) for a, b in zip(then, otherwise, strict=True))
    return np.where(test, then, otherwise)


total, multiplied = sum, prod  # of several values
least_of, greatest_of = elements.least, elements.greatest


class Defined(NamedTuple):
    """A computation by definition: `define` gives an evaluation its tensors and outputs.

    Elements of the tensors in `bits` are read as raw bits.
    """

    desc: Description
    define: Callable[[Evaluation, Any], None]
    bits: tuple[str, ...]

    def evaluation(self, arrays: Mapping[str, Any]) -> Evaluation:
        """An evaluation on arrays, with its tensors and outputs."""
        evaluation = Evaluation(self.desc, arrays)
        evaluation.bits = self.bits
        self.define(evaluation, self.desc)
        return evaluation

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs that are present, shaped as their Sizes; arrays of outputs as lists."""
        evaluation = self.evaluation(arrays)
        results: dict[str, Any] = {}
        for name in evaluation.outputs:
            match getattr(self.desc, name):
                case tuple() as several:
                    results[name] = []
                    for evaluation.index in range(len(several)):
                        results[name].append(evaluation.output(name))
                case TensorDesc():
                    results[name] = evaluation.output(name)
        return results
