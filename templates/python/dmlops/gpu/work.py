"""What a device is asked to do: dispatches of an operator's shader over named buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ..description import Description
from ..judgement import tensors
from ..tensor import TensorDesc
from .errors import Unsupported

MAX_GROUPS = 65535  # in one dimension: the limit of Direct3D 12 and of many Vulkan drivers


@dataclass(frozen=True)
class Dispatch:
    """One run of the operator's shader, or of that of the operator whose name is `shader`.

    `buffers` are the names of what its resources are, in the order of their bindings: tensors by member, as
    "InputTensor" or "InputTensors[1]", or scratch buffers. `defines` are the shader's macros, `constants` the
    bytes of its `Params`, `groups` the thread groups along x and y.
    """

    defines: Mapping[str, int | str]
    buffers: tuple[str, ...]
    constants: bytes
    groups: tuple[int, int]
    shader: str | None = None

    def renamed(self, places: Mapping[str, str]) -> Dispatch:
        """The same over other buffers: `places` gives the new names of some."""
        return replace(self, buffers=tuple(places.get(name, name) for name in self.buffers))


@dataclass(frozen=True)
class Work:
    """Dispatches, each of which sees what those before it wrote.

    `scratch` gives the sizes in bytes of buffers that are no tensors; buffers in `cleared` start as zeros,
    the content of other scratch buffers and of outputs is undefined.
    """

    dispatches: tuple[Dispatch, ...]
    scratch: Mapping[str, int] = field(default_factory=dict)
    cleared: tuple[str, ...] = ()

    def renamed(self, places: Mapping[str, str]) -> Work:
        """The same over other buffers: `places` gives the new names of some."""
        return Work(
            tuple(dispatch.renamed(places) for dispatch in self.dispatches),
            {places.get(name, name): size for name, size in self.scratch.items()},
            tuple(places.get(name, name) for name in self.cleared),
        )


def work_of(computation: Any) -> Work:
    """The work that a computation is on a GPU: each module of `kernels` has one of the same name here.

    Raises Unsupported for what the shaders cannot do.
    """
    kernel = type(computation).__module__.rpartition(".")[2]
    work: Work = import_module(f"{__package__}.{kernel}").work(computation)
    return work


def tensor_names(desc: Description, role: str) -> Iterator[tuple[str, TensorDesc]]:
    """The tensors of a role that are there, with their names as buffers."""
    for name, member, tensor in tensors(desc):
        if member.role == role:
            yield name, tensor


def grid(threads: int, num_threads: int) -> tuple[int, int]:
    """Thread groups along x and y, enough for that many threads; Unsupported if 32 bits cannot count them."""
    groups = -(-threads // num_threads)
    rows = -(-groups // MAX_GROUPS)
    columns = -(-groups // rows)
    if threads >= 2**32 or rows * columns * num_threads > 2**32:
        raise Unsupported(f"{threads} threads are more than one dispatch can count in 32 bits")
    return columns, rows
