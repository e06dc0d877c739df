"""The tensors of a node in the order in which edges count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..enums import TensorDataType
from ..inference import ABSENT
from ..tensor import TensorDesc
from ..value import WRONG_TYPE

if TYPE_CHECKING:
    from .model import Node


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor of a node, which can be absent: a member, or an entry of one that is an array.

    `at` is the node's position in the graph, `number` that of the tensor among its inputs or outputs. The
    output of a constant has no member, and a tensor without data type and sizes, whose TotalTensorSizeInBytes
    is the constant's DataSize.
    """

    node: Node
    at: int
    is_input: bool
    number: int
    member: str
    entry: int | None
    tensor: TensorDesc | None
    is_optional: bool

    @property
    def place(self) -> tuple[int, int]:
        """The node and the number, which edges name."""
        return self.at, self.number

    @property
    def is_constant(self) -> bool:
        return not self.member

    @property
    def given(self) -> TensorDesc:
        """The tensor, or one without dimensions if it is absent."""
        return self.tensor or ABSENT

    @property
    def name(self) -> str:
        """The member, with the index of an entry."""
        return self.member if self.entry is None else f"{self.member}[{self.entry}]"

    @property
    def path(self) -> str:
        return self._below(f"Nodes[{self.at}]")

    @property
    def label(self) -> str:
        """The path with the node's name."""
        return self._below(self.node.label(self.at))

    def _below(self, node: str) -> str:
        return f"{node}.{self.name}" if self.member else node


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a node that edges can join. All absent tensors count, and all entries of arrays."""

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]


def slots(node: Node, at: int) -> Slots | None:
    """The slots of a node; None if its description has members of the wrong type."""
    desc = node.desc
    if desc is None:
        tensor = TensorDesc(TensorDataType.UNKNOWN, (), TotalTensorSizeInBytes=node.size)
        return Slots((), (Slot(node, at, False, 0, "", None, tensor, True),))
    if desc._state & WRONG_TYPE:
        return None
    inputs: list[Slot] = []
    outputs: list[Slot] = []
    for member in desc.TENSORS:
        is_input, value = member.role == "input", getattr(desc, member.name)
        found = inputs if is_input else outputs
        for entry, tensor in enumerate(value or ()) if member.count else [(None, value)]:
            found.append(Slot(node, at, is_input, len(found), member.name, entry, tensor, member.optional))
    return Slots(tuple(inputs), tuple(outputs))
