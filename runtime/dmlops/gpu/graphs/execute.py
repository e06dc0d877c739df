"""Programs on a device: memory, pipelines, and one command buffer that every run submits again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ...graph import Graph
from ...safe_text import shown
from .. import byte_code
from ..commands import barrier, clear, copy
from ..device import Device
from ..errors import OutOfMemory, Unsupported
from ..memory import array_of, tensor_bytes
from ..pipelines import BoundPipeline, Pipeline
from ..resources import Binding, Buffer
from ..vulkan_api import vk
from .arena import Arena
from .program import End, Program, Region, Step, program
from .shaders import Shader

Progress = Callable[[int, int], None]
"""Called with the number of shaders that are compiled, and of all."""

Between = Callable[[Any, int], None]
"""Records commands before the first step and after each, given the number of steps so far."""


class Memory(NamedTuple):
    """Bytes of device memory: the arena, the least that lifetimes allow for it, and the constants of the
    graph."""

    peak: int
    lower_bound: int
    weights: int


class Compiled:
    """A graph on a device. Calling it runs the graph: arrays by name in, arrays by name out.

    The arrays of inputs are those of `dmlops.reference.run`. Calls from several threads take turns.
    """

    def __init__(
        self,
        program: Program,
        device: Device,
        progress: Progress | None = None,
        between: Between | None = None,
    ) -> None:
        """`between` can record commands, such as those that measure time.

        Raises Unsupported if the device cannot run a shader or a tensor is too large for it, and OutOfMemory.
        """
        self.program = program
        self.device = device
        self._resources = ExitStack()
        for step in program.steps:
            try:
                device.check_sizes(region.size for region in step.regions)
            except Unsupported as error:
                raise Unsupported(f"{program.nodes[step.node].name}: {error}") from error
        try:
            pipelines = compiled(program.shaders, device, progress)
            with device.turn(), self._room():
                self._allocate()
                self._record(pipelines, between)
        except BaseException:
            self.close()
            raise

    @property
    def memory(self) -> Memory:
        """The device memory that it takes."""
        arena: Arena = self.program.arena
        return Memory(arena.size, arena.bound, self.program.weights.size)

    def __call__(self, arrays: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """The outputs by name. Raises ValueError for arrays that are missing or do not fit, or once it is
        closed, OutOfMemory, and GpuUnavailable if the device fails."""
        given = arrays or {}
        contents = [(self._place(end, uploads=True), content(end, given)) for end in self.program.inputs]
        with self.device.turn(), self._room():
            if self._commands is None:
                raise ValueError("the compiled graph is closed")
            for place, data in contents:
                self._upload.mapped[place : place + len(data)] = data
            self.device.start(self._commands)
            return {
                end.name: self._result(end.tensor, self._place(end, uploads=False), end.region.size)
                for end in self.program.outputs
            }

    def read(self, region: Region, tensor: Any) -> np.ndarray:
        """A tensor as the last run left it. Its memory may serve others since, unless the program keeps
        all."""
        with self.device.turn():
            memory = self._memory[region.memory]
            return array_of(tensor, self.device.download(memory, region.size, region.offset))

    def close(self) -> None:
        """Frees its memory on the device."""
        self._commands: Any = None
        if self.device.is_usable():
            with self.device.lock:
                self._resources.close()

    def __enter__(self) -> Compiled:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _result(self, tensor: Any, place: int, size: int) -> np.ndarray:
        return array_of(tensor, memoryview(self._download.mapped)[place : place + size])

    def _place(self, end: End, uploads: bool) -> int:
        """The offset of an input or output in the memory that the host sees."""
        return (self._inputs if uploads else self._outputs)[end]

    def _allocate(self) -> None:
        """The memories of the program, and those through which the host exchanges inputs and outputs."""
        found, device = self.program, self.device
        shared = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        near = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        cached = shared | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
        *inputs, uploads = device.layout([end.region.size for end in found.inputs])
        *outputs, downloads = device.layout([end.region.size for end in found.outputs])
        self._inputs = dict(zip(found.inputs, inputs, strict=True))
        self._outputs = dict(zip(found.outputs, outputs, strict=True))
        wanted: dict[str, tuple[int, tuple[int, ...]]] = {
            "arena": (found.arena.size, (near,)),
            "weights": (found.weights.size, (near,)),
            "constants": (len(found.constants), (near | shared, shared)),
            "upload": (uploads, (cached, shared)),
            "download": (downloads, (cached, shared)),
        }
        needed = found.arena.size + found.weights.size + len(found.constants)
        if needed > device.memory_size:
            raise OutOfMemory(f"{self._needs()}; {device.name} has {device.memory_size} bytes")
        self._memory: dict[str, Buffer] = {}
        for name, (size, kinds) in wanted.items():
            self._memory[name] = device.buffer(max(size, 16), *kinds)
            self._resources.callback(self._memory[name].close)
        self._upload, self._download = self._memory["upload"], self._memory["download"]
        self._memory["constants"].mapped[: len(found.constants)] = found.constants
        for start in range(0, found.weights.size, _PIECE):
            piece = found.weights.read(start, min(_PIECE, found.weights.size - start))
            device.upload(self._memory["weights"], piece, start)

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Raises OutOfMemory in place of the errors for that."""
        try:
            yield
        except (Unsupported, vk.VkErrorOutOfDeviceMemory, vk.VkErrorOutOfHostMemory) as error:
            reason = error if isinstance(error, Unsupported) else f"{self.device.name} has no memory left"
            raise OutOfMemory(f"{self._needs()}; {reason}") from error

    def _needs(self) -> str:
        arena, weights = self.program.arena, self.program.weights.size
        sizes = f"{arena.size} for tensors, {weights} for its constants"
        fullest = "".join(
            f"; most are in use at {one.name}" for one in self.program.nodes[arena.fullest :][:1]
        )
        return f"the graph takes {arena.size + weights} bytes: {sizes}{fullest}"

    def _record(self, pipelines: Sequence[Pipeline], between: Between | None) -> None:
        found, device = self.program, self.device
        bound: list[BoundPipeline | None] = []
        for step in (*found.once, *found.steps):
            if step.shader is not None and step.constants is not None:
                places = [self._binding(one) for one in (*step.regions, step.constants)]
                bound.append(self._resources.enter_context(pipelines[step.shader].bind(places)))
            else:
                bound.append(None)

        if found.once:
            device.submit(partial(self._record_steps, steps=found.once, bound=bound[: len(found.once)]))

        def record(commands: Any) -> None:
            arena = self._memory["arena"]
            for end in found.inputs:
                size, place = end.region.size, self._place(end, uploads=True)
                copy(commands, self._upload, arena, size, place, end.region.offset)
            barrier(commands)
            if between is not None:
                between(commands, 0)
            self._record_steps(commands, found.steps, bound[len(found.once) :], between)
            barrier(commands)
            for end in found.outputs:
                source, place = self._memory[end.region.memory], self._place(end, uploads=False)
                copy(commands, source, self._download, end.region.size, end.region.offset, place)

        self._commands = device.record(record)
        self._resources.callback(device.forget, self._commands)

    def _record_steps(
        self,
        commands: Any,
        steps: Sequence[Step],
        bound: Sequence[BoundPipeline | None],
        between: Between | None = None,
    ) -> None:
        for done, (step, pipeline) in enumerate(zip(steps, bound, strict=True), 1):
            if step.waits:
                barrier(commands)
            if pipeline is None:
                clear(commands, self._binding(step.regions[0]))
            else:
                pipeline.record(commands, (*step.groups, 1))
            if between is not None:
                between(commands, done)

    def _binding(self, region: Region) -> Binding:
        return Binding(self._memory[region.memory], region.offset, region.size)


_PIECE = 64 << 20  # bytes of weights that are uploaded at once


def compile_graph(
    graph: Graph,
    device: Device,
    progress: Progress | None = None,
    packed: bool = False,
    keep: bool = False,
    kind: type[Compiled] = Compiled,
) -> Compiled:
    """The graph on a device; `packed` and `keep` are as for `program`."""

    def codes(shaders: Sequence[Shader]) -> list[bytes]:
        return [one.code for one in compiled(shaders, device, progress)]

    found = program(graph, device.alignment, device.capabilities, packed, keep, codes)
    return kind(found, device, progress)


def content(end: End, arrays: Mapping[str, Any]) -> memoryview | bytes:
    """The bytes of an input. Raises ValueError if its array is missing or does not fit."""
    if end.name not in arrays:
        raise ValueError(f"{end.name} is missing from the inputs")
    array = arrays[end.name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{end.name} must be a NumPy array; it is {shown(array)}")
    tensor = end.tensor
    if tensor is not None and array.dtype == tensor.DataType.numpy:
        if array.shape == tensor.Sizes and tensor.Strides is not None:
            return tensor_bytes(end.name, tensor, array)
        if tensor.DataType.bits < 8 and array.size == int(np.prod(tensor.Sizes)):
            return tensor_bytes(end.name, tensor, array.reshape(tensor.Sizes))
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if data.size > end.region.size:
        raise ValueError(f"{end.name} has {end.region.size} bytes; {data.size} are given")
    return data.data


def compiled(shaders: Sequence[Shader], device: Device, progress: Progress | None = None) -> list[Pipeline]:
    """The pipelines of shaders. Several threads compile.

    Raises Unsupported for what the device lacks.
    """

    def compile_one(one: Shader) -> Pipeline:
        code = byte_code(device, one.operator, one.source, one.defines, one.buffers)
        return device.pipeline(code, one.buffers)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(compile_one, one) for one in shaders]
        try:
            for done, one in enumerate(as_completed(waiting), 1):
                one.result()
                if progress is not None:
                    progress(done, len(shaders))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [one.result() for one in waiting]
