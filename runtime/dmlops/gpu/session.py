"""Several operators in one submission, over arrays that stay on the device.

Operators are recorded as they are called, and submitted together when a result is read. There is a barrier
only where an operator reads a buffer that has been written since the last one, or writes a buffer that has
been used since.

Memory comes in size classes. Within a recording, the memory of scratch and of outputs without handles is
reused for later outputs, in an order that a replay repeats. All other memory of a recording stays allocated
as long as the recording exists, since replays access it again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from ..arrays import checked, fitting, of_tensor
from ..description import Description
from ..safe_text import shown
from ..tensor import TensorDesc
from ..validation import tensor_violations
from ..value import WRONG_TYPE
from . import by_member, program_of, shared_buffers
from .commands import barrier, clear
from .device import Device
from .errors import Unsupported
from .memory import array_of, buffer_size, tensor_bytes
from .pipelines import BoundPipeline
from .pool import Pool, size_class
from .programs import Program
from .resources import Binding
from .vulkan_api import vk
from .work import Dispatch


class _Owner:
    """An owner that frees memory or commands of a device when it is collected; a copy would free them
    twice."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} objects cannot be copied or pickled")


class Array(_Owner):
    """A tensor in a buffer on a session's device; `tensor` is its layout."""

    def __init__(self, session: Session, memory: _Memory, tensor: TensorDesc, reach: int) -> None:
        self.tensor = tensor
        self._session = session
        self._memory = memory
        self._reach = reach  # size of the tensor in bytes

    def __del__(self) -> None:
        self._session._gone.append(self._memory)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The logical array. Recorded operators run first if they use the buffer.

        Raises ValueError once the session is closed.
        """
        return self._session._read(self)

    def write(self, values: np.ndarray[Any, Any]) -> None:
        """Replaces the contents. Recorded operators run first if they use the buffer.

        Raises ValueError if the array does not fit the tensor, and once the session is closed.
        """
        self._session._write(self, values)

    def __repr__(self) -> str:
        return f"Array({self.tensor!r})"


class Recording(_Owner):
    """Commands that a session has run once, and that `replay` runs again over the same buffers.

    Its inputs and outputs keep their handles: `write` new contents to the inputs, replay, and read the
    outputs. An input that was changed in place is changed again. The recording keeps its memory as long as it
    exists, or until its session is closed.
    """

    def __init__(self, session: Session, sealed: _Sealed) -> None:
        self._session = session
        self._sealed = sealed

    def __del__(self) -> None:
        self._session._gone.append(self._sealed)

    def replay(self) -> None:
        """Runs the commands again, after everything recorded so far.

        Raises ValueError once the session is closed.
        """
        self._session._replay(self._sealed.commands)


class Session(_Owner):
    """Records operators, and runs them on one device over arrays that stay there.

    `run` is called like `gpu.run`, with handles in place of arrays; `array` makes them from NumPy arrays, and
    their `numpy` reads them back. `device` is as for `gpu.run`. Use it in a `with` statement: `close` frees
    all memory. Threads take turns. A call that raises leaves the session unchanged.
    """

    def __init__(self, device: Device | str | int | None = None) -> None:
        self._device = Device.open(device)
        self._closed = False
        shared = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        near = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | shared
        self._memory = Pool(lambda size: self._device.buffer(size))
        self._constants = Pool(lambda size: self._device.buffer(size, near, shared))
        self._sealed: set[_Sealed] = set()
        self._gone: deque[_Memory | _Sealed] = deque()  # of handles and recordings that no longer exist
        self._pending = _Pending()

    @property
    def allocated(self) -> int:
        """The bytes of device memory for arrays and scratch buffers, including memory kept for reuse."""
        return self._memory.allocated

    def array(self, values: np.ndarray[Any, Any], tensor: TensorDesc | None = None) -> Array:
        """Uploads an array; `tensor` is its layout, packed by default.

        Raises ValueError if the array does not fit the tensor, and Unsupported if the device has no room for
        it.
        """
        if tensor is None:
            if not isinstance(values, np.ndarray):
                raise ValueError(f"the array must be a NumPy array; it is {shown(values)}")
            tensor = TensorDesc.of(values)
        _check_tensor(tensor)
        array = fitting("the array", tensor, values)
        self._device.check_sizes([buffer_size(tensor)])
        content = tensor_bytes("the array", tensor, array)
        with self._turn():
            memory = self._take(len(content))
            made = self._handle(memory, tensor, tensor.size_in_bytes)
            self._device.upload(memory.place.buffer, content, memory.place.offset)
            return made

    def run(
        self,
        desc: Description,
        inputs: Mapping[str, Any],
        in_place: str | Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Records an operator, and returns the handles of its outputs by name.

        A tensor of the description may be another view of its handle's buffer, for example of other sizes or
        with strides of 0: it must have the same data type, and no more bytes than the handle's tensor;
        otherwise ValueError is raised. Bytes between elements are undefined. After an in-place operator the
        handle of the input has the new contents, too. Apart from that, `desc`, `in_place` and errors are as
        for `gpu.run`.
        """
        program = program_of(desc, self._device)
        arrays = checked(desc, inputs, partial(self._bound, program))
        if not program.compiled:  # every output is absent
            return {}
        given: dict[str, Array] = {name: of_tensor(arrays, name) for name in program.inputs}
        shared = {} if in_place is None else shared_buffers(desc, in_place)
        _check_shared(desc, program, given, shared)
        with self._turn():
            made = self._record(program, given, shared)
            handles = {
                name: self._handle(made[name], tensor, program.reaches[name])
                for name, tensor in program.outputs.items()
            }
            return by_member(desc, handles)

    def submit(self) -> Recording:
        """Runs what has been recorded since the last submission, waits for it, and returns a recording for
        replays.

        Reading a result also submits if necessary, but keeps no recording.
        """
        with self._turn():
            if not self._pending.operators:
                raise ValueError("nothing has been recorded since the last submission")
            sealed = _Sealed(self._device, self._constants, self._pending)
            self._sealed.add(sealed)
            self._pending = _Pending()
            recording = Recording(self, sealed)
            self._device.start(sealed.commands)
            return recording

    def close(self) -> None:
        """Frees all memory; what was recorded but not submitted never runs."""
        if not self._device.is_usable():  # a forked process has nothing to free
            return
        with self._device.lock:
            self._closed = True
            for sealed in self._sealed:
                sealed.close()
            self._memory.close()
            self._constants.close()
            self._sealed.clear()
            self._gone.clear()
            self._pending = _Pending()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Exclusive use of the device. Raises ValueError once the session is closed, and the errors of
        `Device.turn`."""
        with self._device.turn():
            if self._closed:
                raise ValueError("the session is closed")
            yield

    def _bound(self, program: Program, name: str, tensor: TensorDesc, given: Any) -> Array:
        """The handle of an input, provided its buffer can be viewed as the description says."""
        if not isinstance(given, Array):
            raise ValueError(
                f"{name} must be an array of the session, made by Session.array or run; it is {shown(given)}"
            )
        handle: Array = given
        if handle._session is not self:
            raise ValueError(f"{name} is an array of another session")
        if tensor.DataType != handle.tensor.DataType:
            raise ValueError(
                f"{name} has elements of {tensor.DataType.name}; "
                f"the array bound to it has {handle.tensor.DataType.name}"
            )
        if program.reaches[name] > handle._reach:
            raise ValueError(
                f"{name} reaches over {program.reaches[name]} bytes; "
                f"the array bound to it has {handle._reach}"
            )
        return handle

    def _record(
        self, program: Program, given: Mapping[str, Array], shared: Mapping[str, str]
    ) -> dict[str, _Memory]:
        """Adds the operator to what is pending; returns the memory of its buffers by name."""
        sizes = program.sizes
        memories = {name: handle._memory for name, handle in given.items()}
        memories |= {name: memories[source] for name, source in shared.items()}
        taken: list[_Memory] = []
        try:
            for name in [name for name in sizes if name not in memories]:
                memories[name] = self._take(sizes[name], self._pending)
                taken.append(memories[name])
        except BaseException:
            for memory in taken:
                self._settle(memory)
            raise
        places = {name: memories[name].place.first(size) for name, size in sizes.items()}
        written = {id(memories[name]) for name in sizes if name not in given}
        used = {id(memory) for memory in memories.values()}
        waits = self._pending.waits(used - written, written)
        self._pending.operators.append(_Operator(program, places, waits))
        for memory in memories.values():
            self._pending.hold(memory)
        for name in program.work.scratch:
            self._settle(memories[name])
        return memories

    def _handle(self, memory: _Memory, tensor: TensorDesc, reach: int) -> Array:
        memory.handles += 1
        return Array(self, memory, tensor, reach)

    def _let_go(self) -> None:
        """Releases what handles and recordings needed that no longer exist."""
        while self._gone:
            gone = self._gone.popleft()
            if isinstance(gone, _Memory):
                gone.handles -= 1
                self._settle(gone)
                continue
            gone.close()
            self._sealed.discard(gone)
            for memory in gone.memories:
                memory.recordings -= 1
                self._settle(memory)

    def _settle(self, memory: _Memory) -> None:
        """Makes memory that nothing needs any more available: to all, or to the recording that it was taken
        for."""
        if memory.handles:
            return
        if memory.recordings == 0:
            self._memory.give_back(memory.place)
        elif memory.recordings == 1 and memory.taken_by is self._pending:
            self._pending.free[memory.place.size].append(memory)

    def _take(self, size: int, pending: _Pending | None = None) -> _Memory:
        """Memory of at least `size` bytes that is used by nothing but the recording it is taken for."""
        self._let_go()
        free = pending.free[size_class(size)] if pending else None
        return free.popleft() if free else _Memory(self._memory.take(size), pending)

    def _read(self, handle: Array) -> np.ndarray[Any, Any]:
        with self._turn():
            self._finish(handle._memory)
            place = handle._memory.place
            content = self._device.download(place.buffer, buffer_size(handle.tensor), place.offset)
        return array_of(handle.tensor, content)

    def _write(self, handle: Array, values: Any) -> None:
        content = tensor_bytes("the array", handle.tensor, fitting("the array", handle.tensor, values))
        with self._turn():
            self._finish(handle._memory)
            self._device.upload(handle._memory.place.buffer, content, handle._memory.place.offset)

    def _replay(self, commands: Any) -> None:
        with self._turn():
            if self._pending.operators:
                self.submit()
            self._device.start(commands)

    def _finish(self, memory: _Memory) -> None:
        """Submits what is recorded, if it uses this memory."""
        if id(memory) in self._pending.memories:
            self.submit()


@dataclass(eq=False)
class _Memory:
    """A piece of memory, the recording that it was taken for, and how many handles and recordings need it."""

    place: Binding
    taken_by: _Pending | None
    handles: int = 0
    recordings: int = 0


@dataclass(frozen=True)
class _Operator:
    """An operator's program and the buffers that it names; `waits`: a barrier comes first."""

    program: Program
    places: Mapping[str, Binding]
    waits: bool


@dataclass(eq=False)
class _Pending:
    """The commands recorded but not submitted.

    `free` is memory that only earlier operators of it use. `read` and `written` are the memory used since the
    last barrier between operators, by `id`.
    """

    operators: list[_Operator] = field(default_factory=list)
    memories: dict[int, _Memory] = field(default_factory=dict)
    free: defaultdict[int, deque[_Memory]] = field(default_factory=lambda: defaultdict(deque))
    read: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)

    def waits(self, read: set[int], written: set[int]) -> bool:
        """Whether an operator that reads and writes this memory has to wait for earlier ones."""
        needed = bool(written & (self.read | self.written) or read & self.written)
        if needed:
            self.read, self.written = set(), set()
        self.read |= read
        self.written |= written
        return needed

    def hold(self, memory: _Memory) -> None:
        """Counts the recording among those that need the memory, once."""
        if id(memory) not in self.memories:
            self.memories[id(memory)] = memory
            memory.recordings += 1


class _Sealed:
    """The objects of a recording on the device: a command buffer, bound pipelines and their constants."""

    def __init__(self, device: Device, pool: Pool, pending: _Pending) -> None:
        """`pool` has memory that the host can write."""
        self.memories = list(pending.memories.values())
        self._resources = ExitStack()
        try:
            self.commands = self._prepare(device, pool, pending.operators)
        except BaseException:
            self.close()
            raise

    def _prepare(self, device: Device, pool: Pool, operators: Sequence[_Operator]) -> Any:
        # Dispatches with the same constants share them, so that these stay in a cache.
        constants = list(
            dict.fromkeys(dispatch.constants for one in operators for _, dispatch in one.program.compiled)
        )
        *offsets, end = device.layout(list(map(len, constants)))
        piece = pool.take(end)
        self._resources.callback(pool.give_back, piece)
        places = {
            data: Binding(piece.buffer, piece.offset + at, len(data))
            for at, data in zip(offsets, constants, strict=True)
        }
        for data, place in places.items():
            piece.buffer.mapped[place.offset : place.offset + place.size] = data

        def bound(one: _Operator, code: bytes, dispatch: Dispatch) -> BoundPipeline:
            bindings = [*(one.places[name] for name in dispatch.buffers), places[dispatch.constants]]
            pipeline = device.pipeline(code, len(dispatch.buffers))
            return self._resources.enter_context(pipeline.bind(bindings))

        pipelines = [[bound(one, *compiled) for compiled in one.program.compiled] for one in operators]

        def record(commands: Any) -> None:
            for one, own in zip(operators, pipelines, strict=True):
                if one.waits:
                    barrier(commands)
                cleared = one.program.work.zero_initialize
                for name in cleared:
                    clear(commands, one.places[name])
                if cleared:
                    barrier(commands)
                for (_, dispatch), pipeline in zip(one.program.compiled, own, strict=True):
                    if dispatch.needs_barrier:
                        barrier(commands)
                    pipeline.record(commands, (*dispatch.groups, 1))

        commands = device.record(record)
        self._resources.callback(device.forget, commands)
        return commands

    def close(self) -> None:
        self._resources.close()


def _check_tensor(tensor: TensorDesc) -> None:
    """Raises ValueError for what is not a tensor that an operator could read."""
    if not isinstance(tensor, TensorDesc) or tensor._state & WRONG_TYPE:
        raise ValueError(f"{shown(tensor)} does not describe a tensor")
    violations = tensor_violations(tensor, "the tensor", is_input=True)
    if violations:
        raise ValueError("; ".join(map(str, violations)))


def _check_shared(
    desc: Description, program: Program, given: Mapping[str, Array], shared: Mapping[str, str]
) -> None:
    """Raises if an output cannot take over the memory of an input, because it is also used in another way."""
    inputs = program.inputs
    for output, source in shared.items():
        if output in program.work.zero_initialize:
            raise Unsupported(f"{desc.OPERATOR} starts from an {output} of zeros, so it cannot run in place")
        if given[source]._reach < program.reaches[output]:
            raise ValueError(f"{output} has more bytes than the array bound to {source}")
        for name, handle in given.items():
            if handle._memory is not given[source]._memory or name == source:
                continue
            same = inputs[name].Sizes, inputs[name].element_strides
            if name not in desc.IN_PLACE or same != (inputs[source].Sizes, inputs[source].element_strides):
                raise ValueError(f"{output} cannot take the buffer of {source}: {name} is another view of it")
            if name in shared.values():
                raise ValueError(f"{output} cannot take the buffer of {source}: another takes it from {name}")
