"""The registry: everything known about DirectML's operators, resolved, typed and frozen.

The `repr` of anything in it expresses its whole meaning, but not its position in a file.

Nothing is implicit: support tables are complete for every feature level, defaults are filled in, names are
bound, rules are in the order in which they are checked. Outputs read this and nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from itertools import groupby
from typing import Annotated, Literal, TypeAlias

from dmlgen import mappings, source
from dmlgen.diagnostics import Position
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.mappings import Operation
from dmlgen.shape import INHERITED, LEVEL, NAME, Choices, Pattern, Range, Record, Size
from dmlgen.text import NO_TEXT, Message, Text

Provenance: TypeAlias = Literal["docs", "header", "observed", "ours"]
Source: TypeAlias = Annotated[
    Provenance,
    "Where the fact is from: the documentation, the header, observed behavior, or our own decision.",
]
Reference: TypeAlias = Annotated[
    str,
    Pattern(
        r"[A-Za-z0-9-]+/[A-Za-z0-9_.-]+(#[0-9]+|:[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*)",
        "an issue or a file on GitHub, as in microsoft/DirectML#205 or microsoft/DirectML:README.md",
    ),
    Size(most=200),
]
Role: TypeAlias = Literal["input", "output", "attribute"]
AppliesTo: TypeAlias = Literal["any", "json", "abi", "python"]
Kind: TypeAlias = Literal["float", "signed", "unsigned"]
Phase: TypeAlias = Literal["execute", "initialize"]
BindingRole: TypeAlias = Literal["input", "output", "persistent", "temporary"]


@dataclass(frozen=True)
class InBox:
    """A Windows release that includes a feature level."""

    build: Annotated[int, "Its build, such as 22621."]
    name: Annotated[Text, "Its name."]
    source: Annotated[
        Literal["docs", "header"],
        "Whether the docs name the build, or the header declares the level for its SDK.",
    ]


@dataclass(frozen=True)
class FeatureLevel:
    """A feature level. `ordinal` counts from 0, `value` is the header's number, such as 0x6400."""

    name: str
    value: int
    ordinal: int
    directml: str
    in_box: InBox | None
    ntddi: str | None
    position: Position | None = field(default=None, repr=False, compare=False)

    @property
    def constant(self) -> str:
        """The header's name, `DML_FEATURE_LEVEL_6_4`."""
        return f"DML_FEATURE_LEVEL_{self.name.replace('.', '_')}"


MemberWord = Pattern(r"[A-Z][A-Za-z0-9]{0,60}", "a member's name, as in InputTensor")
Slug = Pattern(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", "lower case, words joined by '-', as in axis-range")
UpperCase = Pattern(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", "upper case with underscores, as in GATHER_ND")
Level: TypeAlias = Annotated[
    FeatureLevel,
    LEVEL,
    Pattern(r"[1-9]\.[0-9]", 'a feature level, as in "4.1"'),
    'A feature level, as in "4.1".',
]


@dataclass(frozen=True, kw_only=True)
class EnumEntry(Record):
    """A value of an enumeration; tensor data types have bits and a kind, floats a significand, too."""

    name: Annotated[str, NAME]
    value: Annotated[int, Range(0, 0x7FFFFFFF), "Its value in the header."]
    since: Annotated[Level, INHERITED]
    summary: Annotated[Text, "What it means, in one sentence."] = NO_TEXT
    bits: Annotated[int, Choices((4, 8, 16, 32, 64)), "The size of an element of this type."] = 0
    kind: Annotated[Kind, "Whether elements are signed, unsigned or floats."] | None = None
    significand: Annotated[
        int, Range(2, 53), "Bits of a float's significand, including the leading one, which is not stored."
    ] = 0

    @cached_property
    def least_exponent(self) -> int:
        """The exponent of the least positive normal number of a float type."""
        return int(2 - 2 ** (self.bits - self.significand - 1))

    @property
    def digits(self) -> int:
        """The decimal digits that identify a number of a float type."""
        return math.ceil(1 + self.significand * math.log10(2))


@dataclass(frozen=True, kw_only=True)
class Enum(Record):
    """An enumeration of the header."""

    name: Annotated[str, NAME]
    since: Level
    prefix: Annotated[str, Pattern(r"DML_[A-Z0-9_]+_"), "The prefix of the values' names in the header."]
    flags: Annotated[bool, "Whether its values can be combined."] = False
    summary: Annotated[Text, "What it selects, in one sentence."]
    values: Annotated[
        Mapping[
            Annotated[str, Pattern(UpperCase.text, "upper case with single underscores, as in OWNED_BY_DML")],
            EnumEntry,
        ],
        Size(1),
        "Its values by name, without the prefix.",
    ]

    @property
    def entries(self) -> tuple[EnumEntry, ...]:
        return tuple(self.values.values())

    @property
    def c_name(self) -> str:
        return f"DML_{self.name}"


@dataclass(frozen=True, kw_only=True)
class Constant(Record):
    """A constant of the header."""

    name: Annotated[str, NAME]
    value: Annotated[int, Range(0, 0xFFFFFFFF), "Its value."]
    since: Level
    summary: Annotated[Text, "What it limits or means."]


def integer_range(bits: int, kind: Kind | None) -> tuple[int, int]:
    """The smallest and the largest integer of so many bits, signed or unsigned."""
    half = 1 << (bits - 1)
    return (-half, half - 1) if kind == "signed" else (0, 2 * half - 1)


@dataclass(frozen=True, kw_only=True)
class NumberType(Record):
    """A number type of the C structs."""

    name: Annotated[str, NAME]
    bits: Annotated[Literal[8, 16, 32, 64], "Its size in bits."]
    kind: Annotated[Kind, "Whether it is signed, unsigned or a float."]
    pointer_sized: Annotated[
        bool, "Whether it is as large as a pointer; `bits` is then its size on 64-bit systems."
    ] = False

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        return integer_range(self.bits, self.kind)


@dataclass(frozen=True)
class Member:
    """A member of a struct.

    `type` names a number type, an enumeration or a struct, or is "void" or "tensor". If this member points to
    an array, `count` names the member with the number of entries. `pointer` is true for every pointer.
    `length` is the number of entries of an array inside the struct itself. For a union of number types,
    `typed_by` names the data type member or tensor that selects the type.
    """

    name: str
    role: Role
    type: str
    count: str | None
    pointer: bool
    optional: bool
    summary: Text
    position: Position = field(repr=False, compare=False)
    typed_by: str | None = None
    length: int | None = None

    @property
    def is_tensor(self) -> bool:
        return self.type == "tensor"


@dataclass(frozen=True)
class Struct:
    """A struct of the header other than an operator's description; in a union, all members overlap."""

    name: str
    since: FeatureLevel
    summary: Text
    members: tuple[Member, ...]
    page: str | None
    union: bool = False
    position: Position | None = field(default=None, repr=False, compare=False)

    @property
    def c_name(self) -> str:
        return f"DML_{self.name}"


@dataclass(frozen=True)
class Declaration:
    """A name that the header declares, for what, and where in the specs."""

    name: str
    owner: str
    position: Position


class Stage(IntEnum):
    """Rules are checked in stages, in the order in which a person would fix them.

    A stage is checked only if all earlier ones pass, so its rules can rely on them: after STRUCTURE, arrays
    exist, and after COUNTS, ranks and counts agree, so arrays have as many entries as their counts say.
    ARRAYS are rules on these entries on which values rely. A rule at ADVICE is never a violation, and is
    checked only if no other rule is broken.
    """

    STRUCTURE = 0
    COUNTS = 1
    ARRAYS = 2
    VALUES = 3
    ADVICE = 4


@dataclass(frozen=True)
class Hint:
    """An addition to a message, shown if a condition indicates a common mistake."""

    when: ir.Expr
    message: tuple[str | ir.Expr, ...]


COMPARED = frozenset({"int", "float", "ints", "enum"})
"""The kinds of values of which violations state what was found and what was expected."""


@dataclass(frozen=True)
class Check:
    """One condition of a rule, in the form that every target prints.

    If `guard` holds, then `condition` must hold for every combination of the `loops` (outermost first). The
    first combination that fails is reported for `member`, with `message`: alternating texts and expressions.
    In a rule on every tensor, `member` is a field, and `ir.Tensor("")` in the message is the tensor's path.
    `place` is the path of what is wrong, with its indices. `worded` is true if the spec gives the message,
    which is otherwise generated from the condition.
    """

    member: str
    place: tuple[str | ir.Expr, ...]
    loops: tuple[ir.Loop, ...]
    guard: ir.Expr | None
    condition: ir.Expr
    message: tuple[str | ir.Expr, ...]
    hint: Hint | None = None
    worded: bool = False

    @property
    def shown(self) -> tuple[ir.Expr, ...]:
        """The expressions whose values the message shows, and the condition of its hint."""
        hint = () if self.hint is None else (self.hint.when, *self.hint.message)
        return tuple(part for part in (*self.place, *self.message, *hint) if not isinstance(part, str))

    @property
    def values(self) -> tuple[ir.Expr, ...]:
        """The value found and the one expected, if the condition compares two that a message can show."""
        match self.condition:
            case ir.Compare(op="!=", left=left) if left.type.kind in COMPARED:
                return (left,)
            case ir.Compare(left=left, right=right) if {left.type.kind, right.type.kind} <= COMPARED:
                return left, right
        return ()

    @property
    def read(self) -> tuple[ir.Expr, ...]:
        """The expressions that decide whether the condition holds, without those of the message."""
        loops = tuple(part for loop in self.loops for part in ir.children(loop))
        return (self.condition, *([] if self.guard is None else [self.guard]), *loops)


@dataclass(frozen=True)
class Rule:
    """A rule that depends only on the description.

    `id` is stable and public, such as DML-GATHER-axis-range. A rule without checks is one of the general
    rules that outputs check with the operator's tables; `message` is its message then, and `hint` a possible
    addition to it. `because` is the reason given in the spec, with expressions in braces. The rule applies
    from `since` up to, but not including, `until`. `applies_to` says whether only JSON and Python
    descriptions, or only C structs, can break it. `broken_by` names shipping callers that break what a page
    says, and where they do.
    """

    id: str
    slug: str
    stage: Stage
    summary: Text
    checks: tuple[Check, ...]
    since: FeatureLevel
    until: FeatureLevel | None
    applies_to: AppliesTo
    source: Provenance
    position: Position = field(repr=False)
    message: Message = ()
    hint: Message = ()
    because: Text = NO_TEXT
    broken_by: Text = NO_TEXT

    @property
    def advice(self) -> bool:
        """Whether a description that breaks it is nevertheless valid."""
        return self.stage is Stage.ADVICE

    @property
    def reads_tensors(self) -> bool:
        """Whether it names a tensor."""
        parts = (part for expression in self.expressions for part in ir.walk(expression))
        return any(isinstance(part, ir.Tensor | ir.Tensors) for part in parts)

    @property
    def reads(self) -> frozenset[str]:
        """The members and fields of tensors that its conditions read.

        Paths are those of violations without indices: `InputTensor.Sizes`, `Axis`; for a rule on every
        tensor, only the field: `Sizes`. If an earlier rule has found one of them to be wrong, it is skipped.
        """
        parts = (part for check in self.checks for one in check.read for part in ir.walk(one))
        return frozenset(path for part in parts if (path := _path(part)))

    @property
    def expressions(self) -> Iterator[ir.Expr]:
        """Everything that its checks read and show."""
        return (part for check in self.checks for part in (*check.read, *check.shown))

    @property
    def concerns_attributes(self) -> bool:
        """Whether it names a member other than a tensor.

        If so, it also applies to a fused activation, whose tensors are the result that it is applied to.
        """
        parts = (part for expression in self.expressions for part in ir.walk(expression))
        return any(isinstance(part, ir.Member) for part in parts)


def _path(node: ir.Expr) -> str:
    match node:
        case ir.Field(tensor=tensor, name=name):
            return f"{tensor.name}.{name}" if tensor.name else name
        case ir.Member(name=name) | ir.Tensors(name=name) | ir.Present(item=ir.Tensor(name=name)):
            return name
    return ""


@dataclass(frozen=True)
class Inference:
    """An output tensor's field that is inferred from the rest of the description, if `when` holds.

    Of several for one field, the first that applies counts. If no rule requires the value, it is a default,
    and a value given in the description is kept.
    """

    tensor: str
    field: str
    value: ir.Expr
    when: ir.Expr | None = None
    demanded: bool = True

    @property
    def expressions(self) -> tuple[ir.Expr, ...]:
        return (self.value,) if self.when is None else (self.value, self.when)


@dataclass(frozen=True)
class Support:
    """The support of one tensor: dimension counts and data types (names), if `when` holds."""

    tensor: str
    ranks: tuple[int, ...]
    types: tuple[str, ...]
    when: ir.Expr | None
    position: Position | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Definition:
    """A name in a `let` block; one created by a schedule has no position."""

    name: str
    value: ir.Expr
    position: Position | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class AlgorithmUse:
    """An algorithm of the catalog that computes an operator, and what each of its roles is.

    `roles` are tensors and expressions of the description, by name.
    """

    name: str
    output: str
    roles: Mapping[str, ir.Expr]


@dataclass(frozen=True)
class Intermediate:
    """An intermediate tensor: at each coordinate `at` of a box of `sizes` it holds `value`.

    It reads inputs and the intermediate tensors above it. With `along`, and only then, it also reads itself
    and its neighbors with `along` at smaller indices of axis 0, and those above it also at the same index.
    `decides`: it is read in an index, a condition, a bound or a rounding to integers, so its floats are
    computed in single precision, in the written order.
    """

    name: str
    type: ir.Type  # FLOAT, INT or BOOL
    sizes: ir.Expr
    along: bool
    value: ir.Expr
    decides: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class OutputDefinitions:
    """The computation of an operator: the value of every output at each of its coordinates `at`.

    Values read inputs and intermediate tensors, never outputs. Every output has a value, which is not
    evaluated if the output is absent. `classes` maps every tensor and data type member to a representative of
    all those that have the same data type by the rules.
    """

    tensors: tuple[Intermediate, ...]
    outputs: Mapping[str, ir.Expr]
    classes: Mapping[str, str]

    @property
    def recurrences(self) -> tuple[tuple[Intermediate, ...], ...]:
        """The groups of neighbors with `along`."""
        runs = groupby(self.tensors, lambda tensor: tensor.along)
        return tuple(tuple(group) for along, group in runs if along)

    @cached_property
    def functions(self) -> tuple[ir.Function, ...]:
        """The functions that it uses, without duplicates."""
        todo = [part for tensor in self.tensors for part in (tensor.sizes, tensor.value)]
        todo += self.outputs.values()
        found: dict[ir.Function, None] = {}
        for value in todo:  # grows by the bodies; functions cannot be recursive
            for part in ir.walk(value):
                if isinstance(part, ir.Apply) and part.function not in found:
                    found[part.function] = None
                    todo.append(part.function.body)
        return tuple(found)

    @property
    def whole(self) -> Iterator[ir.Expr]:
        """All expressions without duplicates, including the bodies of functions."""
        for tensor in self.tensors:
            yield tensor.sizes
            yield tensor.value
        yield from self.outputs.values()
        yield from (function.body for function in self.functions)

    @property
    def lines(self) -> Iterator[str]:
        """The whole definition in the spec language, without the types of functions."""
        yield from dict.fromkeys(map(_function_text, self.functions))
        for tensor in self.tensors:
            along = ", along 0" if tensor.along else ""
            sizes, value = SOURCE.print(tensor.sizes), SOURCE.print(tensor.value)
            yield f"{tensor.name}: {tensor.type}{along}, sizes {sizes} = {value}"
        for name, value_ in self.outputs.items():
            yield f"{name} = {SOURCE.print(value_)}"

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputDefinitions) and repr(self) == repr(other)


def _function_text(function: ir.Function) -> str:
    parameters = ", ".join(parameter.name for parameter in function.parameters)
    return f"{function.name}{f'({parameters})' if parameters else ''} = {SOURCE.print(function.body)}"


@dataclass(frozen=True, kw_only=True)
class ExampleTensor(Record):
    """A tensor of a worked example; without data if the page only works out sizes."""

    type: Annotated[
        str,
        Pattern(r"[A-Z][A-Z0-9_]*", "upper case with underscores, as in GATHER_ND"),
        Size(most=80),
        "Its data type.",
    ]
    sizes: Annotated[tuple[Annotated[int, Range(1)], ...], "Its sizes."]
    data: Annotated[tuple[float, ...], "Its elements in order, the last dimension fastest."] | None = None


@dataclass(frozen=True)
class Example:
    """A worked example of the documentation, with the errata applied.

    A member that is an array of tensors has a tuple of them. If the page only works out sizes, no tensor has
    data.
    """

    id: str
    where: Text
    members: Mapping[str, object]
    tensors: Mapping[str, ExampleTensor | tuple[ExampleTensor, ...]]

    @property
    def has_data(self) -> bool:
        tensors = (one if isinstance(one, tuple) else (one,) for one in self.tensors.values())
        return all(tensor.data is not None for group in tensors for tensor in group)


@dataclass(frozen=True, kw_only=True)
class DataConstraint(Record):
    """A rule on the values in a tensor, which a description does not contain."""

    id: Annotated[str, Slug, Size(most=60), "Part of a stable identifier: lower case, words joined by '-'."]
    tensor: Annotated[str, MemberWord, "The tensor whose contents it constrains."]
    since: Level | None = None  # the first level at which it holds, if later than that of the operator
    text: Annotated[Text, "The constraint, in one or two sentences."]


@dataclass(frozen=True, kw_only=True)
class Erratum(Record):
    """A place where a public source is wrong (`says`) or leaves something open (`unspecified`)."""

    where: Annotated[Text, "The part of a page or header: a member, a table, an example."]
    says: Annotated[Text, "What the source says, if it is wrong."] = NO_TEXT
    unspecified: Annotated[
        Text, "What the source does not specify, if it leaves something open, as in: how ties round."
    ] = NO_TEXT
    registry: Annotated[Text, "What this registry states instead."]
    source: Source
    overrules: Annotated[
        tuple[Text, ...],
        Size(1, 64, unique=True),
        "The page statements that this erratum overrules, exactly as dmlgen audit reports them.",
    ] = ()
    seen: Annotated[
        tuple[Reference, ...],
        Size(1, 8, unique=True),
        "The public places that show what was observed.",
    ] = ()

    @property
    def sentence(self) -> str:
        """The source's statement or gap, for listings in plain text."""
        return f"does not specify {self.unspecified.plain}" if self.unspecified else f"says {self.says.plain}"


@dataclass(frozen=True, eq=False)
class Operator:
    """One complete operator.

    DirectML.h declares the type at target versions from `since` on, and the struct from `struct_since` on.
    `alias` is another name for both, which it declares from `since` on; "" if there is none.
    """

    name: str
    alias: str
    family: str
    value: int
    since: FeatureLevel
    struct_since: FeatureLevel
    summary: Text
    page: str
    in_place: tuple[str, ...]  # inputs whose buffer an output may share
    fusible_into: Mapping[str, FeatureLevel]  # operators that accept it as activation; "any" for all that can
    integer_operators: tuple[str, ...]  # those that compute the same of integers
    members: tuple[Member, ...]
    defaults: Mapping[str, int | float | str]  # values of members that a caller leaves out
    unconstrained: tuple[str, ...]  # outputs whose sizes the caller chooses, integers without restrictions
    definitions: tuple[Definition, ...]
    rules: tuple[Rule, ...]
    inferences: tuple[Inference, ...]
    support: Mapping[str, tuple[Support, ...]]  # by feature level name, for every level from `since` on
    defines: OutputDefinitions | None
    algorithm: AlgorithmUse | None  # instead of a definition
    examples: tuple[Example, ...]
    data_constraints: tuple[DataConstraint, ...]
    errata: tuple[Erratum, ...]
    position: Position = field(repr=False)
    places: Mapping[str, Position] = field(repr=False, compare=False)  # of the parts of its file, by key

    @property
    def c_name(self) -> str:
        """The name of the description's struct."""
        return f"DML_{self.name}_OPERATOR_DESC"

    @property
    def c_alias(self) -> str:
        """The struct's other name, if it has one."""
        return f"DML_{self.alias}_OPERATOR_DESC" if self.alias else ""

    @property
    def c_constant(self) -> str:
        """The value of DML_OPERATOR_TYPE."""
        return f"DML_OPERATOR_{self.name}"

    @property
    def slug(self) -> str:
        """The name of the operator's files."""
        return self.name.lower()

    @property
    def tensors(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.is_tensor)

    @property
    def inputs(self) -> tuple[Member, ...]:
        return tuple(member for member in self.tensors if member.role == "input")

    @property
    def outputs(self) -> tuple[Member, ...]:
        return tuple(member for member in self.tensors if member.role == "output")

    @property
    def attributes(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if not member.is_tensor)

    @cached_property
    def member(self) -> Mapping[str, Member]:
        return {member.name: member for member in self.members}

    @property
    def axes(self) -> tuple[str, ...]:
        """The members that index dimensions: a rule says that they are less than a dimension count."""
        axes: set[str] = set()
        for check in (check for rule in self.rules for check in rule.checks):
            match check.condition:
                case ir.Compare(
                    op="<",
                    left=ir.Member(name=name) | ir.Index(sequence=ir.Member(name=name)),
                    right=ir.Field(name="DimensionCount"),
                ):
                    axes.add(name)
        return tuple(member.name for member in self.members if member.name in axes)

    @cached_property
    def digest(self) -> str:
        """A digest of its whole meaning, as expressed by its `repr`."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def __getstate__(self) -> dict[str, object]:
        """Pickles the digest too, because computing it takes longer than loading all the rest."""
        return {**vars(self), "digest": self.digest}

    def is_default(self, tensor: str, field: str) -> bool:
        """Whether an output's field is inferred but not required."""
        found = [one for one in self.inferences if (one.tensor, one.field) == (tensor, field)]
        return bool(found) and not any(one.demanded for one in found)


@dataclass(frozen=True)
class TensorRules:
    """The rules on every buffer tensor; `defaults` has the fields that the JSON form can leave out."""

    definitions: tuple[Definition, ...]
    rules: tuple[Rule, ...]
    defaults: Mapping[str, ir.Expr]


@dataclass(frozen=True, slots=True)
class Signature(mappings.Signature):
    """A signature, and where it is in the specs."""

    position: Position = field(repr=False)


@dataclass(frozen=True)
class FusedName:
    """An activation that ONNX's recurrent networks name.

    It has an operator, members set by alpha and beta with their defaults, and members that are fixed.
    """

    name: str
    operator: str
    members: Mapping[str, tuple[Literal["alpha", "beta"], float | None]]
    fixed: Mapping[str, float]


@dataclass(frozen=True)
class Registration:
    """The registrations of ONNX Runtime's provider for an operator.

    That is the versions at which a registration begins, and the data types of the newest one; None if they
    are not recorded. `reading` is our interpretation of a difference.
    """

    domain: str
    name: str
    versions: tuple[int, ...]
    types: tuple[str, ...] | None
    reading: Text


@dataclass(frozen=True)
class Counterparts:
    """The counterparts of DirectML's operators in other interfaces.

    `directmlx` has the functions of DirectMLX.h by operator; `without` lists, by interface ("onnx", "webnn",
    "directmlx"), the operators without a counterpart there, and why.
    """

    operations: tuple[Operation, ...]
    activations: tuple[FusedName, ...]
    data_types: Mapping[str, int]  # ONNX's numbers for DirectML's data types
    operand_types: tuple[str, ...]  # WebNN's data types
    domains: Mapping[str, Text]  # domains of ONNX in which nothing has a counterpart, and why
    directmlx: Mapping[str, tuple[str, ...]]
    registrations: tuple[Registration, ...]
    without: Mapping[str, Mapping[str, Text]]
    sources: Mapping[str, tuple[Text, ...]]

    def of(self, operator: str) -> tuple[Operation, ...]:
        """The operations that a DirectML operator computes, or helps to compute."""
        return tuple(self._by_operator.get(operator, ()))

    @cached_property
    def _by_operator(self) -> Mapping[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for one in self.operations:
            for name in one.operators:
                found.setdefault(name, []).append(one)
        return found


NO_COUNTERPARTS = Counterparts((), (), {}, (), {}, {}, (), {}, {})


@dataclass(frozen=True)
class StatedRule(Rule):
    """A rule of graphs, bindings or calls, and the address of the page that states it, if that is its own.

    A rule on an edge can be limited to those from nodes of type `writer`, one on bindings to phases, one on a
    range of a buffer to what it is bound as. `broken` says how an example breaks it: what stands at each path
    instead. A graph does so at the level `broken_at`, if not the newest, bindings do in the first phase.
    """

    page: str | None = None
    writer: Literal["operator", "constant"] | None = None
    phases: tuple[Phase, ...] = ()
    roles: tuple[BindingRole, ...] = ()
    broken: Mapping[str, object] = field(default_factory=dict)
    broken_at: FeatureLevel | None = None


@dataclass(frozen=True)
class Graphs:
    """The rules of graphs, which exist from `since` on and can have constants from `constants_since` on.

    `checks` are rules without conditions, which outputs check in their own ways. In a condition on an edge,
    the tensors are From and To; in one on an input of the graph, One and Other. `example` is a valid graph.
    """

    page: str
    since: FeatureLevel
    constants_since: FeatureLevel
    checks: tuple[StatedRule, ...]
    definitions: tuple[Definition, ...]
    edges: tuple[StatedRule, ...]
    inputs: tuple[StatedRule, ...]
    example: Mapping[str, object]

    @property
    def rules(self) -> tuple[StatedRule, ...]:
        return (*self.checks, *self.edges, *self.inputs)


@dataclass(frozen=True)
class Bindings:
    """The rules of what is bound to operators, to graphs and to initializers.

    `checks` are rules without conditions, which outputs check in their own ways; `ranges` are conditions on
    one range of a buffer. `heaps` and `dimensions` are enumerations of d3d12.h; `bound_heaps` can be bound,
    `owned_heaps` if they hold a tensor that is OWNED_BY_DML, for initialization.
    """

    heaps: Mapping[str, int]
    bound_heaps: tuple[str, ...]
    owned_heaps: tuple[str, ...]
    dimensions: Mapping[str, int]
    checks: tuple[StatedRule, ...]
    ranges: tuple[StatedRule, ...]
    examples: Mapping[Phase, Mapping[str, object]]

    @property
    def rules(self) -> tuple[StatedRule, ...]:
        return (*self.checks, *self.ranges)


InterfaceName: TypeAlias = Annotated[str, Pattern(r"I[A-Z][A-Za-z0-9]*", "an interface, as in IDMLDevice")]


@dataclass(frozen=True, kw_only=True)
class Interface(Record):
    """An interface of the header."""

    name: Annotated[str, NAME]
    since: Level
    base: Annotated[InterfaceName, "The interface that it extends, if not IUnknown."] | None = None
    iid: Annotated[
        str,
        Pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case"),
        "Its identifier.",
    ]
    methods: Annotated[
        tuple[Annotated[str, Pattern(r"[A-Z][A-Za-z0-9]*")], ...],
        Size(1, unique=True),
        "Its own methods, in the order of the table of functions.",
    ] = ()


@dataclass(frozen=True)
class Registry:
    """The complete registry. Sequences have a fixed order: levels ascending, operators by value."""

    levels: tuple[FeatureLevel, ...]
    levels_declared: FeatureLevel  # the first level at which DirectML.h declares the enumeration of levels
    types: Mapping[str, NumberType]
    pages: str  # the prefix of the addresses of documentation pages
    foreign: Mapping[str, tuple[str, str]]  # structs of d3d12.h, with their only member and its type
    enums: Mapping[str, Enum]
    constants: tuple[Constant, ...]
    structs: Mapping[str, Struct]
    operator_rules: tuple[Rule, ...]  # for every operator: DML-OPERATOR-...
    hints: Mapping[str, Message]  # for mistakes that are the same with every operator
    tensor: TensorRules  # for every tensor of every operator: DML-TENSOR-...
    graphs: Graphs = field(repr=False)  # DML-GRAPH-...; no operator depends on them
    bindings: Bindings = field(repr=False)  # DML-BINDING-...; no operator depends on them
    interfaces: Mapping[str, Interface]
    calls: tuple[StatedRule, ...]  # DML-CALL-...
    operators: tuple[Operator, ...]
    errata: tuple[Erratum, ...]  # those that concern no single operator
    counterparts: Counterparts
    identifiers: frozenset[str]
    retired: frozenset[str]
    identifiers_position: Position = field(repr=False)
    declared: tuple[Declaration, ...] = field(repr=False)  # in the general files
    by_definition: bool = False  # outputs follow definitions as written, without the generator's schedules

    @cached_property
    def level(self) -> Mapping[str, FeatureLevel]:
        return {level.name: level for level in self.levels}

    @cached_property
    def operator(self) -> Mapping[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def declared_enums(self) -> tuple[Enum, ...]:
        """The enumerations of the header, including those derived from operators and levels."""
        lowest, declared = self.levels[0], self.levels_declared
        operators = [entry("INVALID", 0, lowest)]
        operators += (entry(one.name, one.value, one.since, one.position) for one in self.operators)
        levels = [
            entry(one.name.replace(".", "_"), one.value, declared, one.position or NOWHERE)
            for one in self.levels
        ]
        return (
            *self.enums.values(),
            _derived("OPERATOR_TYPE", lowest, operators),
            _derived("FEATURE_LEVEL", declared, levels),
        )

    @cached_property
    def data_types(self) -> tuple[EnumEntry, ...]:
        """Tensor data types that have elements, without UNKNOWN."""
        return tuple(entry for entry in self.enums["TENSOR_DATA_TYPE"].entries if entry.bits)

    @cached_property
    def data_type(self) -> Mapping[str, EnumEntry]:
        return {entry.name: entry for entry in self.data_types}

    @cached_property
    def bits(self) -> Mapping[int, int]:
        """Bits per element, by the data type's value."""
        return {entry.value: entry.bits for entry in self.data_types}

    @cached_property
    def signed(self) -> frozenset[int]:
        """Values of the signed integer data types."""
        return frozenset(entry.value for entry in self.data_types if entry.kind == "signed")

    def fusable(self, operator: Operator) -> Mapping[str, FeatureLevel]:
        """The operators that can be the activation of `operator`, each with its level."""
        levels = {
            other.name: other.fusible_into.get(operator.name) or other.fusible_into.get("any")
            for other in self.operators
        }
        return {name: since for name, since in levels.items() if since is not None}

    @cached_property
    def general(self) -> Registry:
        """The part that applies to every operator: the registry without operators, and what names or counts
        them."""
        return replace(
            self,
            operators=(),
            errata=(),
            counterparts=NO_COUNTERPARTS,
            identifiers=frozenset(),
            retired=frozenset(),
            declared=(),
        )

    def near(self, operator: Operator) -> Registry:
        """The dependencies of one operator: itself, what can be fused into it, and what applies to all."""
        names = {operator.name, *self.fusable(operator)}
        return replace(self.general, operators=tuple(one for one in self.operators if one.name in names))

    def digest(self, operator: Operator) -> str:
        """A digest of the whole meaning of what is `near` an operator."""
        near = (one.digest for one in self.near(operator).operators)
        return hashlib.sha256(" ".join([operator.name, self._general_digest, *near]).encode()).hexdigest()

    @cached_property
    def _general_digest(self) -> str:
        return hashlib.sha256(repr(self.general).encode()).hexdigest()

    def rules_of(self, operator: Operator) -> tuple[Rule, ...]:
        """Every rule that a description of the operator can break, stage by stage; advice comes last."""
        rules = (*self.operator_rules, *self.tensor.rules, *operator.rules)
        return tuple(sorted(rules, key=lambda rule: rule.stage))


NOWHERE = Position("")


def entry(name: str, value: int, since: FeatureLevel, position: Position = NOWHERE) -> EnumEntry:
    """An enumerator that no file of enumerations has."""
    return EnumEntry(source.Mapping(position, ()), name=name, value=value, since=since)


def _derived(name: str, since: FeatureLevel, entries: list[EnumEntry]) -> Enum:
    """An enumeration of what other files list."""
    return Enum(
        source.Mapping(NOWHERE, ()),
        name=name,
        since=since,
        prefix=f"DML_{name.removesuffix('_TYPE')}_",
        summary=NO_TEXT,
        values={one.name: one for one in entries},
    )
