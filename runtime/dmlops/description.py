"""The common base of all operators' descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from .data import operator_data
from .enums import NEWEST, FeatureLevel, LevelLike, feature_level
from .errors import InvalidDescription
from .facts import Cases, Rule, Tables, fusable_into, rules_of, support_of, together, turning_points
from .member import Member, members_of
from .value import WRONG_TYPE, Value, repr_of
from .violation import Violation

if TYPE_CHECKING:
    import ctypes

    from .tensor import TensorDesc


class Description(Value):
    """The base class of all operator descriptions: immutable, with the member names of the ABI.

    `OPERATOR` is the name without prefix, `SINCE` the feature level that introduced it, and `SUPPORT` the
    table of each level from then on, by tensor. `LEVELS` are the levels at which a table or a rule changes.
    If tables depend on other members, `SUPPORT` has everything that any description can use, and `CASES` has
    the rows by the index of the condition under which they apply, -1 for always. `FUSABLE` are the operators
    accepted as fused activation, each with the level from which they are. `READS` has what each
    rule reads.

    Members can be given as lists, NumPy numbers and enumerator names ("FLOAT32"). A value of the wrong type
    is kept, and `validate` reports it. An output that is left out is None until `infer` fills it in.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if any("OPERATOR" in base.__dict__ for base in cls.__mro__[1:]):
            raise TypeError(f"{cls.__bases__[0].__name__} is final")
        facts = operator_data()[cls.OPERATOR]
        cls.SINCE = feature_level(facts["since"])
        cls.MEMBERS = members_of(facts)
        cls.TENSORS = tuple(member for member in cls.MEMBERS if member.type == "tensor")
        cls.RULES = rules_of(facts)
        cls.READS = {rule.id: rule.reads for rule in cls.RULES if rule.reads}
        cls.SUPPORT, cls.CASES = support_of(facts)
        cls.FUSABLE = fusable_into(facts)
        cls.LEVELS = turning_points(facts)
        cls.AXES = tuple(facts.get("axes", ()))
        cls.IN_PLACE = tuple(facts.get("in_place", ()))

    OPERATOR: ClassVar[str]
    SINCE: ClassVar[FeatureLevel]
    MEMBERS: ClassVar[tuple[Member, ...]]
    TENSORS: ClassVar[tuple[Member, ...]]  # the members that are tensors or arrays of them
    RULES: ClassVar[tuple[Rule, ...]]
    READS: ClassVar[Mapping[str, tuple[str, ...]]]
    SUPPORT: ClassVar[Tables]
    CASES: ClassVar[Cases]
    FUSABLE: ClassVar[Mapping[str, FeatureLevel]]
    LEVELS: ClassVar[tuple[FeatureLevel, ...]]
    AXES: ClassVar[tuple[str, ...]]  # the members that are indices of dimensions
    IN_PLACE: ClassVar[tuple[str, ...]]  # the inputs whose buffer an output may share

    def validate(self, level: LevelLike = NEWEST) -> list[Violation]:
        """The rules that the description breaks at a feature level, in the order in which to fix them.

        A rule is skipped if it reads a value that an earlier one has found to be wrong. Raises ValueError for
        a level that does not exist.
        """
        violations: list[Violation] = _validation().validate(self, level)
        return violations

    def advice(self, level: LevelLike = NEWEST) -> list[Violation]:
        """Advice on the description at a feature level at which it is valid.

        Advice comes from rules that no page and no header requires, or that shipping software breaks. An
        invalid description draws no advice. Raises ValueError for a level that does not exist.
        """
        violations: list[Violation] = _validation().advice(self, level)
        return violations

    # The rules, stage by stage. Each method adds the violations that it finds. A description has passed what
    # comes before it: the rules on types and on tensors' arrays come before `check_counts`.

    def check_counts(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The rules on counts, such as tensors' dimension counts and axes."""

    def check_arrays(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The rules on arrays that others read entry by entry."""

    def check_values(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The rules on everything else."""

    def check_fused(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The rules that also apply to a fused activation, whose tensors are what it is applied to."""

    def advise(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The advice on a valid description."""

    def advise_fused(self, level: FeatureLevel, violations: list[Violation]) -> None:
        """The advice that also applies to a fused activation."""

    def support(self) -> Tables:
        """The tables that apply to descriptions like this one."""
        if not self.CASES or self._state & WRONG_TYPE:
            return self.SUPPORT
        return self._tables_in_case(self.case())

    @classmethod
    @cache
    def _tables_in_case(cls, holds: tuple[bool, ...]) -> Tables:
        """The tables if those conditions hold, including the rows without a condition."""
        return {
            level: {
                tensor: together(row for case, row in rows if case < 0 or holds[case])
                for tensor, rows in table.items()
            }
            for level, table in cls.CASES.items()
        }

    def case(self) -> tuple[bool, ...]:
        """The conditions of support table rows that hold; () if there are none."""
        return ()

    def infer(self) -> Self:
        """The description with the sizes and data types of its outputs filled in, as far as they can be
        inferred.

        If one of the two is the caller's choice, such as the data type of a CAST's output or the sizes of a
        SLICE1's, give the output with just that: TensorDesc(FLOAT16, ()) or TensorDesc(UNKNOWN, (2, 3)). An
        absent optional output stays absent.

        Raises ValueError if a member that outputs depend on is absent, or if the sizes or the data type can
        neither be inferred nor are given. Raises InvalidDescription, a subclass of ValueError, with the
        broken rules if the result is not valid at the newest level.
        """
        well_typed(self)
        arrays = [one.name for one in self.MEMBERS if one.role == "output" and one.count]
        outputs: Any = {**self.infer_outputs(), **{name: given(self, name) for name in arrays}}
        return valid(replace(self, **outputs))  # type: ignore[type-var]  # like all, it is a dataclass

    def infer_outputs(self) -> Mapping[str, TensorDesc | None]:
        """The outputs, filled in as far as they follow from the rest; ValueError if something is missing."""
        raise NotImplementedError

    def __repr__(self) -> str:
        arrays = [(one.count, getattr(self, one.name)) for one in self.MEMBERS if one.count]
        lengths = {count: count_of(array) for count, array in arrays}
        counts = {name: getattr(self, name) for name in lengths}
        given_by_arrays = [name for name, one in counts.items() if type(one) is int and one == lengths[name]]
        members = [one.name for one in self.MEMBERS if one.name not in given_by_arrays]
        values = [(name, getattr(self, name)) for name in members]
        text = ", ".join(f"{name}={repr_of(value)}" for name, value in values if value is not None)
        return f"{type(self).__name__}({text})"

    def min_feature_level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts the description; None if none does."""
        return next((level for level in self.LEVELS if not self.validate(level)), None)

    def to_json(self) -> dict[str, Any]:
        """The JSON form that `dmlops.from_json` reads. ValueError for excessively nested activations."""
        from .json_form import to_json

        try:
            return to_json(self)
        except RecursionError:
            raise ValueError("activations are nested too deep") from None

    def to_ctypes(self) -> ctypes.Structure:
        """The DML_OPERATOR_DESC, which keeps everything it points to alive.

        Raises ValueError if a member does not fit its C type.
        """
        from .abi import operator_desc

        try:
            return operator_desc(self)
        except RecursionError:
            raise ValueError("activations are nested too deep") from None


Inferred = TypeVar("Inferred", bound=Description)


def well_typed(desc: Description) -> None:
    """Raises InvalidDescription if a member has a value of the wrong type."""
    if desc._state & WRONG_TYPE:
        raise InvalidDescription(desc, _validation().wrong_types(desc))


def given(desc: Description, name: str) -> Any:
    """The value of a required member; ValueError if it is absent, or an array without tensors."""
    value = getattr(desc, name)
    is_tensor = any(member.name == name and member.type == "tensor" for member in desc.MEMBERS)
    if value is None or (is_tensor and value == ()):
        raise ValueError(f"{name} is absent; the outputs of {desc.OPERATOR} do not follow without it")
    return value


def valid(inferred: Inferred) -> Inferred:
    """Returns a description whose outputs have been inferred; InvalidDescription if it breaks a rule."""
    violations = _validation().why_invalid(inferred)
    if violations:
        raise InvalidDescription(inferred, violations)
    return inferred


def count_of(*arrays: Any) -> int:
    """The length of the first array that is given; 0 if none is."""
    return next((len(array) for array in arrays if type(array) is tuple), 0)


@cache
def _validation() -> Any:
    """The module that validates. It needs this one, so it is loaded on first use."""
    from . import validation

    return validation
