"""What every operator's description can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from .enums import NEWEST, FeatureLevel, TensorDataType
from .errors import InvalidDescription
from .member import Member
from .value import Value, repr_of
from .violation import Violation

if TYPE_CHECKING:
    import ctypes


@dataclass(frozen=True, slots=True)
class Support:
    """What a tensor may be at a feature level: dimension counts and data types."""

    ranks: tuple[int, ...]
    types: tuple[TensorDataType, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an operator: judged from `since` on (None: always), up to, not including, `until`.

    `source` says where it is from: "docs" the public pages, "header" DirectML.h, "observed" what was seen
    DirectML do, "ours" a decision of this registry. What is `advice` is never a violation.
    """

    id: str
    source: str
    since: FeatureLevel | None = None
    until: FeatureLevel | None = None
    advice: bool = False


Tables = Mapping[FeatureLevel, Mapping[str, Support]]
Cases = Mapping[FeatureLevel, Mapping[str, tuple[tuple[int, Support], ...]]]


class Description(Value):
    """The base of all operator descriptions: immutable, with the ABI's member names.

    `OPERATOR` is the name without prefix, `SINCE` the feature level that brought it, `SUPPORT` the table of
    each level from then on, by tensor. `LEVELS` are the levels at which a table or a rule changes. Where
    tables depend on other members, `SUPPORT` has what any description may use, and `CASES` has the rows by
    the position of the condition under which they hold, -1 for always. `FUSABLE` are the operators that it
    takes as activation, each with the level from which it does. `READS` has for each rule the members and
    fields that it reads, with spaces between.

    Members may be given as lists, NumPy numbers and names of enumerators ("FLOAT32"). A value of a wrong type
    stays, and `validate` reports it. An output that is left out is None until `infer` fills it in.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if any("OPERATOR" in base.__dict__ for base in cls.__mro__[1:]):
            raise TypeError(f"{cls.__bases__[0].__name__} is final")

    OPERATOR: ClassVar[str]
    SINCE: ClassVar[FeatureLevel]
    MEMBERS: ClassVar[tuple[Member, ...]]
    RULES: ClassVar[tuple[Rule, ...]]
    READS: ClassVar[Mapping[str, str]] = {}
    SUPPORT: ClassVar[Tables]
    LEVELS: ClassVar[tuple[FeatureLevel, ...]]
    CASES: ClassVar[Cases] = {}
    FUSABLE: ClassVar[Mapping[str, FeatureLevel]] = {}
    AXES: ClassVar[tuple[str, ...]] = ()  # the members that number dimensions
    IN_PLACE: ClassVar[tuple[str, ...]] = ()  # the inputs whose buffer an output may share

    def validate(self, level: FeatureLevel | str = NEWEST) -> list[Violation]:
        """The rules that the description breaks at a feature level, in the order to fix them.

        A rule keeps silent where it reads a value that an earlier one has found wrong. Raises ValueError
        for a level that does not exist.
        """
        raise NotImplementedError

    def advice(self, level: FeatureLevel | str = NEWEST) -> list[Violation]:
        """What is doubtful in the description at a feature level, although it is valid there.

        No page and no header demands it, or shipping software does otherwise. An invalid description draws no
        advice. Raises ValueError for a level that does not exist.
        """
        from .judgement import advice

        return advice(self, level)

    def own_advice(self, level: FeatureLevel | str) -> list[Violation]:
        """The same of a description known to be valid, its fused activations apart."""
        return []

    def attribute_advice(self, level: FeatureLevel | str) -> list[Violation]:
        """The advice that speaks of no tensor: what a fused activation can draw."""
        return []

    def support(self) -> Tables:
        """The tables that hold for descriptions like this one."""
        return tables_in_case(self, self.case()) if self.CASES and not self._state else self.SUPPORT

    def case(self) -> tuple[bool, ...]:
        """Which of the conditions hold under which rows of support tables do; () where there are none."""
        return ()

    def attribute_violations(self, level: FeatureLevel | str) -> list[Violation]:
        """The rules that speak of no tensor: those that hold of a fused activation too."""
        return []

    def infer(self) -> Self:
        """The description with those sizes and data types of its outputs filled in that follow from the rest.

        Where one of the two is a choice, as the type of a CAST's output or the sizes of a SLICE1's, give the
        output with no more than that: TensorDesc(FLOAT16, ()) or TensorDesc(UNKNOWN, (2, 3)). An output that
        may be absent stays so. Raises ValueError when a member that outputs follow from is absent and when
        one of the two neither follows nor is given; InvalidDescription, which is one, with the rules that are
        broken where the result is not valid at the newest level.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        arrays = [(one.count, getattr(self, one.name)) for one in self.MEMBERS if one.count]
        lengths = {count: count_of(array) for count, array in arrays}
        counts = {name: getattr(self, name) for name in lengths}
        told_by_arrays = [name for name, one in counts.items() if type(one) is int and one == lengths[name]]
        members = [one.name for one in self.MEMBERS if one.name not in told_by_arrays]
        told = [(name, getattr(self, name)) for name in members]
        text = ", ".join(f"{name}={repr_of(value)}" for name, value in told if value is not None)
        return f"{type(self).__name__}({text})"

    def min_feature_level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts the description; None if none does."""
        return next((level for level in self.LEVELS if not self.validate(level)), None)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, which `dmlops.from_json` reads. ValueError for activations nested beyond all use."""
        from .json_form import to_json

        try:
            return to_json(self)
        except RecursionError:
            raise ValueError("activations are nested too deep") from None

    def to_ctypes(self) -> ctypes.Structure:
        """The DML_OPERATOR_DESC, which keeps all that it points to alive.

        Raises ValueError when a member does not fit its C type.
        """
        from .abi import operator_desc

        try:
            return operator_desc(self)
        except RecursionError:
            raise ValueError("activations are nested too deep") from None


Inferred = TypeVar("Inferred", bound=Description)


def well_typed(desc: Description) -> None:
    """Raises InvalidDescription if a member holds something of a wrong type."""
    if desc._state:
        from .judgement import wrong_types

        raise InvalidDescription(desc, wrong_types(desc))


def given(desc: Description, name: str) -> Any:
    """The value of a member that must be there; ValueError if it is not, or is an array without tensors."""
    value = getattr(desc, name)
    is_tensor = any(member.name == name and member.type == "tensor" for member in desc.MEMBERS)
    if value is None or (is_tensor and value == ()):
        raise ValueError(f"{name} is absent; the outputs of {desc.OPERATOR} do not follow without it")
    return value


def valid(inferred: Inferred) -> Inferred:
    """A description whose outputs have been inferred; raises InvalidDescription if it breaks a rule."""
    from .judgement import why_invalid

    violations = why_invalid(inferred)
    if violations:
        raise InvalidDescription(inferred, violations)
    return inferred


def count_of(*arrays: Any) -> int:
    """The length of the first array that is given; 0 if none is."""
    return next((len(array) for array in arrays if type(array) is tuple), 0)


def tables_in_case(desc: Description, holds: tuple[bool, ...]) -> Tables:
    """The tables of an operator when those conditions hold; rows without a condition are in them too."""
    return {
        level: {
            tensor: _together([row for case, row in rows if case < 0 or holds[case]])
            for tensor, rows in table.items()
        }
        for level, table in desc.CASES.items()
    }


def _together(rows: list[Support]) -> Support:
    ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
    return Support(tuple(ranks), tuple(dict.fromkeys(one for row in rows for one in row.types)))
