"""The output of a planner: macros, resources, constants, dispatches and scratch buffers. The header has the
same in C."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from .capabilities import NO_CAPABILITIES, Capability
from .operands import NO_MEMBER, PLACEHOLDER, SCRATCH, Buffer, Groups
from .reasons import Reason

_PLACEHOLDER = Buffer(PLACEHOLDER, 0)


class Scratch(NamedTuple):
    """A buffer of a plan's own: its size in bytes, and whether it is zero-initialized."""

    size: int
    zero_initialize: bool


@dataclass(frozen=True)
class Refused(Exception):
    """Raised if there is no plan: the reason, the place of the member concerned, if any, and a number."""

    reason: Reason
    member: int
    number: int


class Step(NamedTuple):
    """A dispatch: the shader's macros, its resources, its constants as bytes, and thread groups.

    The first `reads` resources are read, the others written. `needs_barrier`: it uses what earlier dispatches
    wrote, or writes what they use. `shader` is the operator that the shader belongs to, if it is another one.
    """

    defines: dict[str, int | str]
    buffers: tuple[Buffer, ...]
    reads: int
    constants: bytes
    groups: Groups
    needs_barrier: bool
    shader: str | None


class Planning:
    """A plan in the making, for a device with these capabilities.

    Macros and resources added before `share` apply to all dispatches after it.
    """

    def __init__(self, capabilities: Capability = NO_CAPABILITIES) -> None:
        self._capabilities = capabilities
        self.steps: list[Step] = []
        self.scratches: list[Scratch] = []
        self.read_write_outputs: list[Buffer] = []
        self.places: dict[Buffer, Buffer] = {}
        self._owner: int | None = None
        self._shader: str | None = None
        self._waits = False
        self._shared: dict[str, int | str] = {}
        self._shared_buffers: list[Buffer] = []
        self._shared_reads = 0
        self._defines: dict[str, int | str] = {}
        self._buffers: list[Buffer] = []
        self._reads = 0

    def has(self, capability: Capability) -> bool:
        """Whether the device has that capability."""
        return capability in self._capabilities

    def define(self, name: str, value: int) -> None:
        """Defines a macro of the next dispatch."""
        self._defines[name] = value

    def define_text(self, name: str, value: str) -> None:
        """Defines a macro of the next dispatch as a text."""
        self._defines[name] = value

    def read(self, buffer: Buffer) -> None:
        """Binds the next resource of the next dispatch, which reads it."""
        assert self._reads == len(self._buffers), "what is read comes before what is written"
        self._reads += 1
        self.write(buffer)

    def write(self, buffer: Buffer) -> None:
        """Binds the next resource of the next dispatch, which writes it."""
        self._buffers.append(self.places.get(buffer, buffer) if self.places else buffer)

    def scratch(self, size: int, zero_initialize: bool = False) -> Buffer:
        """A new buffer of `size` bytes."""
        self.scratches.append(Scratch(size, zero_initialize))
        return Buffer(SCRATCH, len(self.scratches) - 1)

    def read_write(self, buffer: Buffer) -> None:
        """Notes that the old content of an output is read."""
        self.read_write_outputs.append(self.places.get(buffer, buffer))

    def begin(self) -> None:
        """Forgets what is shared, before the next entry of an array of tensors."""
        self._shared, self._shared_buffers, self._shared_reads = {}, [], 0
        self._defines, self._buffers, self._reads = {}, [], 0

    def share(self) -> None:
        """Keeps the macros and resources so far for all following dispatches."""
        self._shared, self._shared_buffers, self._shared_reads = self._defines, self._buffers, self._reads
        self._restart()

    def dispatch(self, params: NamedTuple, groups: Groups, needs_barrier: bool) -> None:
        """Adds a dispatch, with the macros and resources added since the last one."""
        words: list[int] = []
        _put(words, params)
        words += _PADDING[len(words) % 4]
        try:
            constants = struct.pack(f"<{len(words)}I", *words)
        except struct.error:
            wrong = next(word for word in words if not 0 <= word < 2**32)
            raise Refused(Reason.LARGE_NUMBER, NO_MEMBER, wrong) from None
        needs_barrier, self._waits = needs_barrier or self._waits, False
        buffers = self._bound()
        self.steps.append(
            Step(self._defines, buffers, self._reads, constants, groups, needs_barrier, self._shader)
        )
        self._restart()

    def _bound(self) -> tuple[Buffer, ...]:
        """The resources of the next dispatch, without placeholders."""
        read, written = self._buffers[: self._reads], self._buffers[self._reads :]
        return (*self._without_placeholders(read), *self._without_placeholders(written))

    def _without_placeholders(self, buffers: list[Buffer]) -> list[Buffer]:
        """Buffers that are all read or all written, with the first other one, or scratch, in place of
        placeholders: those never make a buffer both read and written."""
        if _PLACEHOLDER not in buffers:
            return buffers
        other = next((buffer for buffer in buffers if buffer != _PLACEHOLDER), None) or self.scratch(16)
        return [other if buffer == _PLACEHOLDER else buffer for buffer in buffers]

    def _restart(self) -> None:
        """Starts the next dispatch with what is shared."""
        self._defines, self._buffers = dict(self._shared), list(self._shared_buffers)
        self._reads = self._shared_reads

    def refuse(self, reason: Reason, member: int, number: int) -> NoReturn:
        """Ends planning: there is no plan."""
        known = member if member == NO_MEMBER or self._owner is None else self._owner
        raise Refused(reason, known, number)

    def follow(self, shader: str, places: dict[Buffer, Buffer], owner: int) -> None:
        """Lets the next dispatches use another operator's shader, and read what has been written so far.

        `places` are the buffers that replace its own; `owner` is the member to name in place of its own.
        """
        self.begin()
        self._shader, self.places, self._owner, self._waits = shader, places, owner, True


def _put(words: list[int], record: Any) -> None:
    """The words of a record, and of records in it: consecutive numbers; those in lists are aligned to vectors
    of four words."""
    for value in record:
        if type(value) is int:
            words.append(value)
        elif hasattr(value, "_fields"):
            _put(words, value)
        elif value and type(value[0]) is not int:
            words += _PADDING[len(words) % 4]
            for item in value:
                _put(words, item)
                words += _PADDING[len(words) % 4]
        else:
            words += value


_PADDING = ((), (0, 0, 0), (0, 0), (0,))  # by the number of words already in the vector
