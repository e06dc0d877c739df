"""What every operator's description can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .enums import FeatureLevel, TensorDataType
from .member import Member
from .tensor import TensorDesc
from .violation import Violation

if TYPE_CHECKING:
    import ctypes


@dataclass(frozen=True, slots=True)
class Support:
    """What a tensor may be at a feature level: dimension counts and data types."""

    ranks: tuple[int, ...]
    types: tuple[TensorDataType, ...]


Tables = Mapping[FeatureLevel, Mapping[str, Support]]


class Description:
    """The base of all operator descriptions: immutable, with the ABI's member names.

    `OPERATOR` is the name without prefix, `SINCE` the feature level that brought it, `SUPPORT` the table of
    each level from then on, by tensor. `LEVELS` are the levels at which a table or a rule changes.
    """

    __slots__ = ()

    OPERATOR: ClassVar[str]
    SINCE: ClassVar[FeatureLevel]
    MEMBERS: ClassVar[tuple[Member, ...]]
    SUPPORT: ClassVar[Tables]
    LEVELS: ClassVar[tuple[FeatureLevel, ...]]

    def validate(self, level: FeatureLevel | str) -> list[Violation]:
        """The rules that the description breaks at a feature level, in the order in which to mend them.

        Raises ValueError for a level that does not exist.
        """
        raise NotImplementedError

    def infer(self) -> Self:
        """The description with the sizes and data types of its outputs filled in.

        Raises ValueError when an input that they follow from is absent.
        """
        raise NotImplementedError

    def min_feature_level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts the description; None if none does."""
        return next((level for level in self.LEVELS if not self.validate(level)), None)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, which `dmlops.from_json` reads."""
        from .json_form import to_json

        return to_json(self)

    def to_ctypes(self) -> ctypes.Structure:
        """The DML_OPERATOR_DESC, which keeps all that it points to alive.

        Raises ValueError when a member does not fit its C type.
        """
        from .abi import operator_desc

        return operator_desc(self)


def given(desc: Description, name: str) -> TensorDesc:
    """A tensor that must be there; ValueError if it is not."""
    tensor: TensorDesc | None = getattr(desc, name)
    if tensor is None:
        raise ValueError(f"{name} is absent; the outputs of {desc.OPERATOR} follow from it")
    return tensor
