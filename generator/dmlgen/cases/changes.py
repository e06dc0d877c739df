"""Changes to descriptions: the state that is validated, and single moves from one state to another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from dmlgen.registry import FeatureLevel

if TYPE_CHECKING:
    from dmlops import Description


class State(NamedTuple):
    """A description and the feature level at which it is validated."""

    level: FeatureLevel
    description: Description

    @property
    def key(self) -> Hashable:
        """Equal for equal states."""
        return self.level.ordinal, self.description


class Slot(NamedTuple):
    """A member, or one entry of an array of tensors."""

    member: str
    at: int | None = None

    @property
    def path(self) -> str:
        return self.member if self.at is None else f"{self.member}[{self.at}]"


NOWHERE = Slot("")


class Place(NamedTuple):
    """The target of a move: a member, its field or part, or an array's entry; without a member, the level.

    `at` is the index in an array of tensors. In proposals from rules on tensors, the member is "", the tensor
    being checked.
    """

    member: str | None
    at: int | None = None
    field: str | None = None
    entry: int | None = None

    @property
    def whole(self) -> Place:
        """The whole member or field, also for an array's entry."""
        return self._replace(entry=None)


class Move(NamedTuple):
    """A change. A member that counts arrays changes along with their lengths, unless the move is `alone`."""

    place: Place
    value: Any
    alone: bool = False
