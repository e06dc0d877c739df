"""The places for ranges in a binding table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .model import Binding, Bindings, Range, Target
from .requirements import Requirement

Part: TypeAlias = Literal["Inputs", "Outputs", "Persistent", "Temporary"]
Role: TypeAlias = Literal["input", "output", "persistent", "temporary"]

PARTS: tuple[Part, ...] = ("Inputs", "Outputs", "Persistent", "Temporary")

_END = (1 << 63) - 1  # no buffer has more bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a range, in the binding with this index of a part.

    `path` is where it is in the table, and `label` the name of its tensor, or the path if it has none.
    `target` is what it is bound to; the persistent resource of an initializer is bound to nothing. A
    temporary or persistent resource has no `requirement`; `required_size` is in bytes.
    """

    part: Part
    role: Role
    index: int
    path: str
    label: str
    target: Target | None
    requirement: Requirement | None
    required_size: int
    range: Range | None

    @property
    def given(self) -> Range:
        """The range, which must be there."""
        assert self.range is not None
        return self.range

    @property
    def offset(self) -> int:
        return self.given.offset

    @property
    def size_in_bytes(self) -> int:
        return self.given.size

    @property
    def width(self) -> int:
        return self.given.width

    @property
    def guaranteed_base_offset_alignment(self) -> int:
        return 0 if self.requirement is None else self.requirement.alignment

    @property
    def end_of_buffer(self) -> int:
        """The size of the buffer, or what no buffer exceeds."""
        return self.given.width or _END

    @property
    def is_within(self) -> bool:
        """Whether the range is within its buffer."""
        return self.given.offset + self.given.size <= self.end_of_buffer <= _END


def bindings_of(bindings: Bindings, part: Part) -> tuple[Binding, ...]:
    """The binding of a part."""
    if part in ("Inputs", "Outputs"):
        return bindings.inputs if part == "Inputs" else bindings.outputs
    return (bindings.persistent if part == "Persistent" else bindings.temporary,)


def count_of(bindings: Bindings, part: Part) -> int:
    """The number of bindings that a part must have."""
    if part not in ("Inputs", "Outputs"):
        return 1
    if bindings.phase == "initialize":
        return len(bindings.targets)
    requirements = bindings.targets[0].requirements
    return len(requirements.inputs if part == "Inputs" else requirements.outputs)


def is_array(bindings: Bindings, part: Part) -> bool:
    """Whether bindings of a part are of type BUFFER_ARRAY."""
    return part == "Inputs" and bindings.phase == "initialize"


def slots(bindings: Bindings, part: Part, index: int, binding: Binding) -> Iterator[Slot]:
    """The slots of a binding, of a part that has as many as it must; none if its type or length is wrong."""
    if not is_array(bindings, part):
        if binding is None or isinstance(binding, Range):
            yield _slot(bindings, part, index, binding)
        return
    target = bindings.targets[index]
    if isinstance(binding, Range):
        return
    count = len(target.requirements.inputs)
    entries = binding or (None,) * count
    if len(entries) == count:
        for at, requirement in enumerate(target.requirements.inputs):
            path = f"Inputs[{index}].Bindings[{at}]"
            label, size = requirement.name or path, requirement.size
            yield Slot(part, "input", index, path, label, target, requirement, size, entries[at])


def _slot(bindings: Bindings, part: Part, index: int, bound: Range | None) -> Slot:
    initializes = bindings.phase == "initialize"
    path = f"{part}[{index}]" if part in ("Inputs", "Outputs") else part
    if part == "Temporary":
        return Slot(part, "temporary", index, path, path, None, None, bindings.temporary_size, bound)
    if part == "Persistent" and initializes:
        return Slot(part, "persistent", index, path, path, None, None, 0, bound)
    target = bindings.targets[index if initializes else 0]
    if part == "Persistent" or initializes:
        return Slot(part, "persistent", index, path, path, target, None, target.persistent_size, bound)
    inputs, outputs = target.requirements
    requirement = inputs[index] if part == "Inputs" else outputs[index]
    role: Role = "input" if part == "Inputs" else "output"
    label, size = requirement.name or path, requirement.size
    return Slot(part, role, index, path, label, target, requirement, size, bound)
