"""Operators on the CPU, by their plans and the DXIL that the package's compiler makes of their shaders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dmlops import gpu
from dmlops.arrays import checked
from dmlops.gpu import compiler
from dmlops.gpu.memory import array_of, buffer_size
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.work import Dispatch, Work, tensor_names
from dxil.execute import FILLS, WAVE, Buffer, Mistake, Shaders

Key = tuple[str, tuple[tuple[str, int | str], ...]]


class Plans:
    """The plans of descriptions, with all their shaders compiled together; their texts may be others."""

    def __init__(
        self,
        descs: Iterable[Any],
        capabilities: Capability = NO_CAPABILITIES,
        text_of: Callable[[str], str] = gpu.shader,
    ) -> None:
        self.works = [(desc, gpu.plan(desc, capabilities)) for desc in descs]
        keys = dict.fromkeys(
            key_of(desc, dispatch) for desc, work in self.works for dispatch in work.dispatches
        )
        self._numbers = {key: number for number, key in enumerate(keys)}
        self._shaders = Shaders(
            [compiler.compile(text_of(operator), dict(defines), "dxil") for operator, defines in keys]
        )

    def is_loose(self, number: int) -> bool:
        """Whether a description has floats that may be computed in another way."""
        desc, work = self.works[number]
        return any(self._shaders.is_loose(self._numbers[key_of(desc, one)]) for one in work.dispatches)

    def run(
        self, number: int, arrays: Mapping[str, Any], is_loose: bool = False, lanes: int = WAVE
    ) -> dict[str, np.ndarray]:
        """The outputs of one description by name.

        Raises Mistake, also if an input or a byte between elements is written, or if the result depends on
        the order of threads or on memory that nobody has written.
        """
        desc, work = self.works[number]
        given = {
            name: np.frombuffer(content, np.uint8)
            for name, content in gpu.input_bytes(desc, checked(desc, arrays))
        }
        first, second = (
            self._ran(desc, work, given, is_loose=is_loose, downwards=downwards, lanes=lanes)
            for downwards in (False, True)
        )
        results = {}
        for name, tensor in tensor_names(desc, "output"):
            (content, written), other = first[name], second[name]
            if written is not None and (written != other.written).any():
                raise Mistake(f"which bytes of {name} are written depends on the order of threads")
            touched = content if written is None else written
            if tensor.DataType.bits >= 8 and touched[gaps(tensor, content)].any():
                raise Mistake(f"bytes between the elements of {name} are written")
            rest = bytes(buffer_size(tensor) - content.size)
            results[name], again = (
                array_of(tensor, bytearray(one.content) + rest) for one in (first[name], other)
            )
            if results[name].tobytes() != again.tobytes():
                raise Mistake(f"{name} depends on the order of threads, or on memory that nobody has written")
        return results

    def _ran(
        self, desc: Any, work: Work, given: Mapping[str, np.ndarray], *, downwards: bool, **how: Any
    ) -> dict[str, Buffer]:
        """All buffers, after all dispatches."""
        inputs = dict(tensor_names(desc, "input"))
        sizes = {name: words(tensor) for name, tensor in tensor_names(desc, "output")} | dict(work.scratch)
        memory = {name: Buffer(given[name][: words(tensor)].copy()) for name, tensor in inputs.items()}
        for name, size in sizes.items():
            if name in work.zero_initialize:
                memory[name] = Buffer(np.zeros(size, np.uint8))
            else:
                memory[name] = Buffer(np.full(size, FILLS[downwards], np.uint8), np.zeros(size, np.uint8))
        for one in work.dispatches:
            number, buffers = self._numbers[key_of(desc, one)], [memory[name] for name in one.buffers]
            reads, writes = buffers[: one.reads], buffers[one.reads :]
            self._shaders.run(number, one.constants, reads, writes, one.groups, downwards=downwards, **how)
        for name in inputs:
            if (memory[name].content != given[name][: memory[name].content.size]).any():
                raise Mistake(f"{name} is an input, but written")
        return memory


def key_of(desc: Any, dispatch: Dispatch) -> Key:
    """The source of a dispatch's shader."""
    return dispatch.shader or desc.OPERATOR, tuple(dispatch.defines.items())


def words(tensor: Any) -> int:
    """The bytes of a buffer for a tensor: whole words, as in DirectML's TotalTensorSizeInBytes."""
    return -(-int(tensor.size_in_bytes) // 4) * 4


def gaps(tensor: Any, content: np.ndarray) -> np.ndarray:
    """The positions of bytes of a buffer that belong to no element."""
    size = tensor.DataType.numpy.itemsize
    found = np.ones((-(-content.size // size), size), bool)
    grid = np.ix_(*map(range, tensor.Sizes))
    found[sum(i * step for i, step in zip(grid, tensor.element_strides, strict=True))] = False
    return found.ravel()[: content.size]
