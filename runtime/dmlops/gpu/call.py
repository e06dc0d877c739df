"""A program over the buffers that all calls of `gpu.run` share, recorded once and replayed with new
contents."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .commands import barrier, clear, copy
from .pipelines import BoundPipeline
from .programs import Program
from .resources import Binding, Bytes
from .vulkan_api import vk
from .work import Dispatch

if TYPE_CHECKING:
    from .device import Device


class Call:
    """Commands that copy contents and constants to the device, compute, and copy results back.

    One buffer holds the inputs and the constants, which are uploaded, followed by everything else. `shared`
    maps outputs to the inputs whose buffers they share. Once the device replaces a buffer that calls share, a
    call is of no use any more.
    """

    def __init__(self, device: Device, program: Program, shared: Mapping[str, str]) -> None:
        self._device = device
        self._resources = ExitStack()
        # Dispatches with the same constants share them, so that these stay in a cache.
        constants = list(dict.fromkeys(dispatch.constants for _, dispatch in program.compiled))
        others = [name for name in program.sizes if name not in program.inputs and name not in shared]
        lengths = [program.sizes[name] for name in program.inputs]
        lengths += [*map(len, constants), *(program.sizes[name] for name in others)]
        *offsets, end = device.layout(lengths)
        first = len(program.inputs) + len(constants)  # of what is not uploaded
        uploaded = offsets[first] if first < len(offsets) else end
        sources = [shared.get(name, name) for name in program.outputs]
        *results, result_end = device.layout([program.sizes[name] for name in sources])

        work = device.reused("work", end)
        self._upload, download = device.staging("upload", uploaded), device.staging("download", result_end)
        places = [Binding(work, at, length) for at, length in zip(offsets, lengths, strict=True)]
        named = dict(zip([*program.inputs, *constants, *others], places, strict=True))
        named |= {output: named[source] for output, source in shared.items()}
        self._inputs = {name: (named[name].offset, named[name].size) for name in program.inputs}
        self._constants = [(named[data].offset, data) for data in constants]
        self._download = download
        self._results = {
            name: (at, program.sizes[source])
            for name, source, at in zip(program.outputs, sources, results, strict=True)
        }

        def bound(code: bytes, dispatch: Dispatch) -> BoundPipeline:
            bindings = [*(named[name] for name in dispatch.buffers), named[dispatch.constants]]
            pipeline = device.pipeline(code, len(dispatch.buffers)).bind(bindings)
            return self._resources.enter_context(pipeline)

        def record(commands: Any) -> None:
            copy(commands, self._upload, work, uploaded)
            for name in program.work.zero_initialize:
                clear(commands, named[name])
            barrier(commands, vk.VK_ACCESS_UNIFORM_READ_BIT)  # for the constants, which have also been copied
            for (_, dispatch), pipeline in zip(program.compiled, pipelines, strict=True):
                if dispatch.needs_barrier:
                    barrier(commands)
                pipeline.record(commands, (*dispatch.groups, 1))
            barrier(commands)
            for name, (at, size) in self._results.items():
                copy(commands, work, download, size, named[name].offset, at)

        try:
            pipelines = [bound(*compiled) for compiled in program.compiled]
            self._commands = device.record(record)
        except BaseException:
            self.close()
            raise
        self._resources.callback(device.forget, self._commands)

    def run(self, contents: Mapping[str, Bytes]) -> dict[str, bytearray]:
        """Runs on the contents of the inputs, and returns those of the outputs, both by name."""
        upload, download = self._upload.mapped, memoryview(self._download.mapped)
        for name, (at, size) in self._inputs.items():
            upload[at : at + size] = contents[name]
        for at, data in self._constants:
            upload[at : at + len(data)] = data
        self._device.start(self._commands)
        return {name: bytearray(download[at : at + size]) for name, (at, size) in self._results.items()}

    def close(self) -> None:
        self._resources.close()
