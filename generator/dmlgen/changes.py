"""Changes of a description: what is judged, and single moves from one to another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from dmlgen.description import Description
from dmlgen.registry import FeatureLevel


class State(NamedTuple):
    """A description and the feature level at which it is judged."""

    level: FeatureLevel
    description: Description

    @property
    def key(self) -> Hashable:
        """Equal for equal states."""
        return (self.level.ordinal, *self.description.values())


class Place(NamedTuple):
    """What a move changes: a member, its field or part, an array's entry; no member: the feature level.

    `at` is the place in an array of tensors. In proposals from rules of tensors the member is "", the
    tensor under judgement.
    """

    member: str | None
    at: int | None = None
    field: str | None = None
    entry: int | None = None

    @property
    def whole(self) -> Place:
        """The member or field, for an array's entry too."""
        return self._replace(entry=None)


class Move(NamedTuple):
    """A change. A member that counts arrays changes their lengths too, and they it; unless it is `alone`."""

    place: Place
    value: Any
    alone: bool = False
