"""The contents of spec files, as written: a dataclass for every mapping, with a field for every key.

The shape of a spec is defined here and nowhere else. `decode` reads files by it, and `dmlgen schema` prints
it as the JSON Schemas in specs/schema, with which editors complete and check specs. `shape` explains the
annotations. A `Scalar` keeps its position, because `resolve` binds its name or parses its expression. What
needs no more than that is the registry's own record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from dmlgen.registry import (
    Constant,
    DataConstraint,
    Enum,
    Erratum,
    ExampleTensor,
    InBox,
    Interface,
    InterfaceName,
    Level,
    MemberWord,
    NumberType,
    Slug,
    Source,
    UpperCase,
)
from dmlgen.shape import OTHERS, Pattern, Range, Record, Size
from dmlgen.source import Node, Scalar
from dmlgen.text import NO_TEXT, Text

# Names.

_TYPE = Pattern(r"[A-Z][A-Z0-9_]*", "upper case with underscores, as in GATHER_ND")
_NEW_MEMBER = Pattern(
    r"([A-Z]|(?=.*[a-z])[A-Z][A-Za-z0-9]{1,60})",
    "a member's name, which begins with a capital and is not all capitals, as in InputTensor",
)
_FILE = Pattern(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", "lower case, words joined by '-', as in window")

LevelName: TypeAlias = Annotated[
    Scalar[str], Pattern(r"[1-9]\.[0-9]", 'a feature level, as in "4.1"'), 'A feature level, as in "4.1".'
]
UpperName: TypeAlias = Annotated[Scalar[str], UpperCase, Size(most=80)]
TypeName: TypeAlias = Annotated[Scalar[str], _TYPE, Size(most=80)]
MemberName: TypeAlias = Annotated[Scalar[str], MemberWord]
NewMember: TypeAlias = Annotated[Scalar[str], _NEW_MEMBER]
SharedFile: TypeAlias = Annotated[Scalar[str], _FILE, Size(most=60)]
Page: TypeAlias = Annotated[str, Pattern(r"[a-z0-9_-]+", "the name of a page, lower case"), Size(most=100)]
Identifier: TypeAlias = Annotated[Scalar[str], Pattern(r"DML-[A-Z][A-Z0-9_]*-[a-z0-9-]+")]
RuleId: TypeAlias = Annotated[
    Scalar[str], Slug, Size(most=60), "Part of a stable identifier: lower case, words joined by '-'."
]

Address: TypeAlias = Annotated[str, Pattern(r"https://[a-z0-9./-]+/"), Size(most=200)]

# Texts.

Callers: TypeAlias = Annotated[
    Text, "Shipping callers that break what the page says, and where; such a rule is advice."
]

# Texts in which expressions in braces are replaced by values.

Template: TypeAlias = Annotated[Scalar[str], Size(1, 400)]
MessageText: TypeAlias = Annotated[
    Scalar[str],
    Pattern(r'[^\\%"]+'),
    Size(most=200),
    "What the violation says; names in braces stand for values.",
]

# Expressions.

Expression: TypeAlias = Annotated[
    Scalar[str | int | bool],
    Pattern(r"[\x20-\x7e\n]+", "an expression in plain ASCII"),
    Size(most=1000),
    "An expression of the rule language.",
]
Let: TypeAlias = Annotated[
    Mapping[Annotated[Scalar[str], Pattern(r"[A-Za-z][A-Za-z0-9]{0,40}")], Expression],
    Size(1),
    "Names for expressions, usable below.",
]
Inferred: TypeAlias = Annotated[
    Scalar[str],
    Pattern(
        r"[A-Z][A-Za-z0-9]*\.(Sizes|DataType) *= *[^=].*",
        "an output's field, as OutputTensor.Sizes = expression",
    ),
    Size(most=1000),
]
Errata: TypeAlias = Annotated[
    tuple[Erratum, ...], Size(1), "Where public sources are wrong or leave something open."
]


# specs/feature_levels.yaml


@dataclass(frozen=True, kw_only=True)
class FeatureLevel(Record):
    """A feature level, and the releases that include it."""

    value: Annotated[
        str,
        Pattern(r"0x[0-9a-f]{4}", 'a 16-bit number as in the header, such as "0x4100"'),
        "The value of its enumerator in DML_FEATURE_LEVEL.",
    ]
    directml: Annotated[str, Pattern(r"\d+\.\d+\.\d+"), "The first version of DirectML with this level."]
    in_box: Annotated[InBox, "The first Windows release that includes it."] | None = None
    ntddi: (
        Annotated[str, Pattern(r"NTDDI_[A-Z0-9_]+"), "The NTDDI_VERSION from which DirectML.h declares it."]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True)
class FeatureLevels(Record):
    """Feature levels, in ascending order."""

    declared: Annotated[LevelName, "The target version from which on DirectML.h declares DML_FEATURE_LEVEL."]
    feature_levels: Annotated[
        Mapping[LevelName, FeatureLevel], Size(1), "The feature levels by name, ascending."
    ]
    errata: Errata = ()


# specs/constants.yaml


@dataclass(frozen=True, kw_only=True)
class Constants(Record):
    """Constants and number types."""

    constants: Annotated[
        Mapping[Annotated[str, Pattern(r"DML_[A-Z0-9_]+")], Constant], Size(1), "Constants by name."
    ]
    types: Annotated[
        Mapping[Annotated[str, Pattern(r"[A-Z][A-Z0-9_]*")], NumberType], Size(1), "Number types by name."
    ]
    pages: Annotated[Address, "The prefix of the addresses of documentation pages."]
    guides: Annotated[Address, "The prefix of guides."]
    foreign: Annotated[
        Mapping[
            Annotated[str, Pattern(r"D3D12_[A-Z0-9_]+")],
            Annotated[
                Mapping[
                    Annotated[str, Pattern(r"[a-z]{1,60}")],
                    Annotated[Scalar[str], Pattern(r"[A-Z][A-Z0-9_]*")],
                ],
                Size(1, 1),
            ],
        ],
        "Structs of another header, with their only member and its type.",
    ] = field(default_factory=dict)
    interfaces: Annotated[
        tuple[Annotated[str, Pattern(r"I[A-Z][A-Za-z0-9]{1,60}")], ...],
        Size(unique=True),
        "Interfaces to which structs hold pointers.",
    ] = ()
    errata: Errata = ()


# specs/enums.yaml


@dataclass(frozen=True, kw_only=True)
class Enums(Record):
    """Enumerations."""

    enums: Annotated[Mapping[Annotated[str, UpperCase], Enum], Size(1), "Enumerations by name, without DML_."]
    errata: Errata = ()


# specs/structs.yaml


@dataclass(frozen=True, kw_only=True)
class AnyMember(Record):
    """The common part of members of descriptions and of other structs."""

    count: Annotated[MemberName, "The member that gives the number of entries of an array."] | None = None
    pointer: Annotated[bool, "Whether the struct has a pointer to it."] = False
    optional: Annotated[bool, "Whether it may be null."] = False
    summary: Annotated[Text, "What it is, in one sentence."] = NO_TEXT


@dataclass(frozen=True, kw_only=True)
class StructMember(AnyMember):
    """A member of a struct other than an operator's description."""

    type: Annotated[Scalar[str], Pattern(r"([A-Z][A-Za-z0-9_]*|void|char)"), "Its type in C, without DML_."]
    length: Annotated[int, Range(1), "The number of entries of an array inside the struct itself."] | None = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class Struct(Record):
    """A struct other than an operator's description."""

    since: Level
    page: Annotated[Page, "Its page in the documentation."] | None = None
    summary: Annotated[Text, "What it describes, in one sentence."]
    members: Annotated[Mapping[NewMember, StructMember], Size(1), "Its members in order."]
    union: Annotated[bool, "Whether it is a union."] = False
    by_address: Annotated[bool, "Whether members of this type are pointers."] = False


@dataclass(frozen=True, kw_only=True)
class Structs(Record):
    """Structs other than operator descriptions."""

    structs: Annotated[Mapping[Annotated[str, UpperCase], Struct], Size(1), "Structs by name, without DML_."]
    errata: Errata = ()


# specs/rules.yaml, and the rules of operators


@dataclass(frozen=True, kw_only=True)
class GeneralRule(Record):
    """A rule on every operator, which each output checks in its own way."""

    id: RuleId
    summary: Annotated[Text, "What it requires, in one sentence."]
    applies_to: (
        Annotated[
            Literal["json", "abi", "python"], "The form of descriptions that it applies to, if not all."
        ]
        | None
    ) = None
    message: MessageText
    hint: MessageText | None = None


@dataclass(frozen=True, kw_only=True)
class Hints(Record):
    """Hints in messages, for mistakes that are the same with every operator."""

    broadcast: MessageText
    axis: MessageText
    negative: MessageText
    rank: MessageText


@dataclass(frozen=True, kw_only=True)
class AnyRule(Record):
    """The common part of the rules of tensors and of operators."""

    because: (
        Annotated[
            Template,
            "The reason, at the end of a generated message; an expression in braces stands for its value.",
        ]
        | None
    ) = None
    message: (
        Annotated[
            Template,
            "The whole message, if not the generated one; an expression in braces stands for its value.",
        ]
        | None
    ) = None
    since: Level | None = None
    until: Level | None = None
    when: Expression | None = None
    applies_to: (
        Annotated[Literal["json", "abi"], "The form of descriptions that it applies to, if not all."] | None
    ) = None
    stage: (
        Annotated[
            Literal["structure", "counts", "arrays", "values"],
            "When it is checked, if not at the stage that follows from what it reads.",
        ]
        | None
    ) = None
    summary: Annotated[Text, "The text of the rule, if not the generated one."] = NO_TEXT
    advice: Annotated[bool, "Whether a description that breaks the rule is nevertheless valid."] = False
    broken_by: Callers = NO_TEXT
    require: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class TensorRule(AnyRule):
    """A rule on every buffer tensor; without `require`, each output checks it in its own way."""

    id: RuleId
    source: Annotated[Source, "The header by default; advice must state its source."] = "header"
    message: MessageText | None = None


@dataclass(frozen=True, kw_only=True)
class TensorRules(Record):
    """The rules on every buffer tensor, and the values of fields that the JSON form leaves out."""

    defaults: Annotated[
        Mapping[MemberName, Expression], Size(1), "Values of fields that JSON leaves out."
    ] = field(default_factory=dict)
    let: Let = field(default_factory=dict)
    rules: Annotated[tuple[TensorRule, ...], Size(1), "The rules, in the order of checking."]


@dataclass(frozen=True, kw_only=True)
class Rules(Record):
    """Rules on every operator and every tensor."""

    operator: Annotated[tuple[GeneralRule, ...], Size(1), "Rules on every operator."]
    hints: Annotated[Hints, "Additions to messages that are the same for every operator."]
    tensor: Annotated[TensorRules, "Rules on every tensor."]


# specs/graphs.yaml

Broken: TypeAlias = Annotated[
    Mapping[Annotated[str, Pattern(r"[A-Za-z0-9.\[\]]+", "a path, as in Nodes[0].name")], Node],
    "How the example breaks the rule: what stands at each path instead. null removes an entry.",
]


@dataclass(frozen=True, kw_only=True)
class StatedRule(Record):
    """The common part of the rules of graphs, bindings and calls."""

    id: RuleId
    summary: Annotated[Text, "What it requires, in one sentence."]
    source: Source
    advice: Annotated[bool, "Whether what breaks the rule is nevertheless valid."] = False


@dataclass(frozen=True, kw_only=True)
class GraphRule(StatedRule):
    """The common part of all rules of graphs."""

    broken: Broken = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GraphCheck(GraphRule):
    """A rule that needs more of a graph than two tensors, which each output checks in its own way."""

    message: MessageText
    applies_to: (
        Annotated[Literal["abi"], "The form of descriptions that it applies to, if not all."] | None
    ) = None
    broken_by: Callers = NO_TEXT
    at: Annotated[Level, "The feature level at which the example breaks the rule."] | None = None


@dataclass(frozen=True, kw_only=True)
class PairRule(GraphRule):
    """A rule on two tensors that a graph joins."""

    require: Expression
    message: Annotated[
        Template, "The message; an expression in braces stands for its value, a tensor for its path."
    ]


@dataclass(frozen=True, kw_only=True)
class EdgeRule(PairRule):
    """A rule on the tensors From and To that an intermediate edge joins."""

    from_: (
        Annotated[Literal["operator", "constant"], "Limits the rule to edges from nodes of this type."] | None
    ) = None


@dataclass(frozen=True, kw_only=True)
class Graphs(Record):
    """Rules of graphs, and a valid graph, whose operators and edges are given by their ABI indices."""

    page: Annotated[Page, "The page of graphs in the documentation."]
    graph: Annotated[tuple[GraphCheck, ...], Size(1), "Rules on a graph as a whole."]
    let: Let = field(default_factory=dict)
    edge: Annotated[tuple[EdgeRule, ...], "Rules on the two tensors of an intermediate edge."]
    input: Annotated[tuple[PairRule, ...], "Rules on tensors that one graph input binds."]
    example: Annotated[Mapping[str, Node], "A valid graph, which the cases of the rules break."]
    errata: Errata = ()


# specs/bindings.yaml


@dataclass(frozen=True, kw_only=True)
class BindingRule(StatedRule):
    """The common part of all rules of bindings."""

    page: Annotated[Page, "The page that states the rule, if it is not that of the file."] | None = None
    guide: Annotated[Page, "The guide that states it, instead of a page."] | None = None
    broken: Broken = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BindingCheck(BindingRule):
    """A rule that needs more than one range of a buffer, which each output checks in its own way."""

    phases: Annotated[
        tuple[Literal["execute", "initialize"], ...],
        Size(1, unique=True),
        "Whether the rule is about executing or about initializing; it breaks the example of the first one.",
    ]
    message: MessageText


@dataclass(frozen=True, kw_only=True)
class RangeRule(BindingRule):
    """A rule on one range of a buffer."""

    roles: Annotated[
        tuple[Literal["input", "output", "persistent", "temporary"], ...],
        Size(1, unique=True),
        "What the range is bound as.",
    ]
    require: Expression
    message: Annotated[Template, "The message; Range stands for its path, Slot for the name of the tensor."]


@dataclass(frozen=True, kw_only=True)
class BindingExamples(Record):
    """Valid bindings for an operator and for an initializer, as JSON."""

    execute: Annotated[Mapping[str, Node], "Bindings of an operator."]
    initialize: Annotated[Mapping[str, Node], "Bindings of its initializer."]


@dataclass(frozen=True, kw_only=True)
class Bindings(Record):
    """Rules of bindings, and valid bindings."""

    page: Annotated[Page, "The page that states a rule, if the rule names no other."]
    heaps: Annotated[Mapping[UpperName, int], Size(1), "D3D12_HEAP_TYPE, without prefixes."]
    bound_heaps: Annotated[tuple[UpperName, ...], Size(1), "The heaps that can be bound."]
    owned_heaps: Annotated[
        tuple[UpperName, ...], Size(1), "The heaps from which a tensor OWNED_BY_DML can be initialized."
    ]
    dimensions: Annotated[Mapping[UpperName, int], Size(1), "D3D12_RESOURCE_DIMENSION, without prefixes."]
    bindings: Annotated[tuple[BindingCheck, ...], Size(1), "Rules on several ranges."]
    range: Annotated[tuple[RangeRule, ...], Size(1), "Rules on one range."]
    examples: Annotated[BindingExamples, "Valid bindings, which the cases of the rules break."]
    errata: Errata = ()


# specs/interfaces.yaml


@dataclass(frozen=True, kw_only=True)
class CallRule(StatedRule):
    """A rule on calls, which a checking device judges."""

    page: Annotated[Page, "The page that states it."] | None = None
    message: MessageText


@dataclass(frozen=True, kw_only=True)
class Interfaces(Record):
    """Interfaces of the header, and rules on calls of their methods."""

    interfaces: Annotated[Mapping[InterfaceName, Interface], Size(1), "The interfaces by name."]
    calls: Annotated[tuple[CallRule, ...], Size(1), "The rules on calls."]


# specs/identifiers.yaml


@dataclass(frozen=True, kw_only=True)
class Identifiers(Record):
    """Identifiers of rules."""

    active: Annotated[tuple[Identifier, ...], Size(unique=True), "Identifiers of existing rules."]
    retired: Annotated[
        tuple[Identifier, ...], Size(unique=True), "Identifiers of rules that are gone, never used again."
    ]


# specs/operators/<family>/<operator>.yaml


@dataclass(frozen=True, kw_only=True)
class Member(AnyMember):
    """A member of a description: a tensor has a role, anything else a type."""

    role: Annotated[Literal["input", "output"], "Of a tensor: how the operator uses it."] | None = None
    type: Annotated[Scalar[str], _TYPE, "Of anything else: its type, without DML_."] | None = None
    typed_by: (
        Annotated[MemberName, "The data type member or tensor that selects the type of a union."] | None
    ) = None


@dataclass(frozen=True, kw_only=True)
class Defaults(Record):
    """The values of members that a caller leaves out, and the source of these defaults."""

    source: Annotated[Literal["DirectMLX", "ONNX", "docs"], "Where the defaults are from."]
    values: Annotated[
        Mapping[
            Annotated[Scalar[str], Pattern(MemberWord.text, "a member's name, as in InputTensor, or source")],
            Scalar[float | bool | str],
        ],
        Size(1),
        OTHERS,
    ]


@dataclass(frozen=True, kw_only=True)
class Hint(Record):
    """An addition to a message, for a common mistake."""

    when: Expression
    message: Annotated[Template, "The text of the addition; an expression in braces stands for its value."]


Field: TypeAlias = Literal["DataType", "DimensionCount", "Sizes"]


@dataclass(frozen=True, kw_only=True)
class Rule(AnyRule):
    """A rule of an operator, in one of four forms: `require`, `same`, `shape` or `infer`.

    `same` may list several fields: that is a rule for each of them, and their identifiers follow.
    """

    id: RuleId | None = None
    source: Annotated[Source, "The documentation by default; advice must state its source."] = "docs"
    hint: Annotated[Hint, "An addition to the message, for a common mistake."] | None = None
    same: (
        Annotated[
            Field | Annotated[tuple[Field, ...], Size(1, 3, unique=True)],
            "A field that must be equal, or several: rules named same-rank, same-type and same-sizes.",
        ]
        | None
    ) = None
    of: Annotated[
        tuple[MemberName, ...],
        Size(1, unique=True),
        "The tensors that `same` compares; for an array, all its entries.",
    ] = ()
    infer: Annotated[Inferred, "The required value of an output's field, which infer() fills in."] | None = (
        None
    )
    shape: Annotated[MemberName, "A tensor whose sizes are `sizes`."] | None = None
    sizes: Annotated[
        tuple[Scalar[int | str], ...],
        Size(1, 8),
        "For each dimension a number, an expression, or a name; new names stand for that size below.",
    ] = ()


Rank: TypeAlias = Annotated[int, Range(1, 8)]


@dataclass(frozen=True, kw_only=True)
class SupportRow(Record):
    """The support of some tensors at a feature level."""

    tensors: Annotated[tuple[MemberName, ...], Size(1, unique=True), "The tensors of the row."]
    ranks: Annotated[
        Rank
        | Annotated[str, Pattern(r"[1-8]\.\.[1-8]", "a range of dimension counts, as in 1..8")]
        | Annotated[tuple[Rank, ...], Size(1, unique=True)],
        "A dimension count, a list of them, or a range a..b.",
    ]
    types: Annotated[tuple[TypeName, ...], Size(1, unique=True), "Their data types."]
    when: Expression | None = None


Formulas: TypeAlias = Annotated[
    Mapping[
        Annotated[Scalar[str], Pattern(r"[A-Za-z][A-Za-z0-9_]{0,40}(\([A-Za-z0-9_, ]{1,60}\))?")],
        Annotated[Expression, "An expression of the definition language."],
    ],
    Size(1),
    "Names for expressions, and functions.",
]


@dataclass(frozen=True, kw_only=True)
class Algorithm(Record):
    """The computation of an operator, by an algorithm of the catalog and its roles."""

    algorithm: Annotated[Scalar[str], "An algorithm of the catalog (dmlgen/catalog.py)."]
    # The catalog says what each role takes, also to who gives it a list or a mapping.
    roles: Annotated[
        Mapping[
            Annotated[Scalar[str], Pattern(r"[a-z][a-z_]{0,30}", "the name of a role, as in input")],
            Expression | tuple[Node, ...] | Mapping[str, Node],
        ],
        OTHERS,
    ]


@dataclass(frozen=True, kw_only=True)
class Intermediate(Record):
    """An intermediate tensor: its sizes, and its value at each coordinate `at`."""

    sizes: Expression
    type: Annotated[Literal["float", "int", "bool"], "The type of its entries; float by default."] = "float"
    recurrent: Annotated[bool, "Whether it reads its own entries, at smaller indices of axis 0."] = False
    value: Expression


Intermediates: TypeAlias = Annotated[
    Mapping[Annotated[Scalar[str], Pattern(r"[A-Z][A-Za-z0-9]{0,40}")], Intermediate],
    Size(1),
    "Intermediate tensors: sizes, and the value at each coordinate `at`.",
]


@dataclass(frozen=True, kw_only=True)
class Definitions(Record):
    """Names and tensors; those that several operators use are in files of specs/shared/definitions."""

    let: Formulas = field(default_factory=dict)
    tensors: Intermediates = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Definition(Definitions):
    """The computation of an operator, by a definition of its outputs."""

    uses: Annotated[
        tuple[SharedFile, ...],
        Size(1, unique=True),
        "Files of shared/definitions with names and tensors; the operator's own entries replace theirs.",
    ] = ()
    outputs: Annotated[
        Mapping[MemberName, Expression],
        Size(1),
        "The value of every output at each of its coordinates `at`.",
    ]


@dataclass(frozen=True, kw_only=True)
class Example(Record):
    """A worked example of the documentation."""

    id: RuleId
    where: Annotated[Text, "Which example of the page it is."]
    members: Annotated[Mapping[Scalar[str], Node], "Members other than tensors."] = field(
        default_factory=dict
    )
    tensors: Annotated[
        Mapping[
            MemberName,
            Annotated[
                ExampleTensor | Annotated[tuple[ExampleTensor, ...], Size(1)],
                "A tensor, or a list of them if the member is an array.",
            ],
        ],
        Size(1),
        "The tensors by member.",
    ]


@dataclass(frozen=True, kw_only=True)
class Operator(Record):
    """An operator."""

    operator: Annotated[UpperName, "Name without DML_OPERATOR_."]
    extends: (
        Annotated[
            SharedFile,
            "A file of specs/shared whose entries this operator takes over. It adds to rules, let, compute, "
            "default_outputs, data_constraints, examples and errata; its own value of any other key replaces "
            "the shared one.",
        ]
        | None
    ) = None
    value: Annotated[int, Range(1, 65535), "Value in DML_OPERATOR_TYPE."]
    since: Level
    struct_since: (
        Annotated[
            Level,
            "The target version from which DirectML.h declares the struct, if it differs from since.",
        ]
        | None
    ) = None
    alias: (
        Annotated[UpperName, "Another name that DirectML.h declares for type and struct, from since on."]
        | None
    ) = None
    summary: Annotated[Text, "One sentence in our own words."]
    page: Annotated[Page, "Its page in the documentation: the end of the address."]
    in_place: Annotated[
        tuple[MemberName, ...],
        Size(1, unique=True),
        "The input tensors whose buffer an output may share.",
    ] = ()
    fusible_into: Annotated[
        Mapping[
            Annotated[Scalar[str], Pattern(r"([A-Z][A-Z0-9_]*|any)", "an operator's name, or any")], LevelName
        ],
        Size(1),
        "Operators that take this one as fused activation, each with the feature level from which it does; "
        "any stands for all that take a fused activation.",
    ] = field(default_factory=dict)
    integer_operators: Annotated[
        tuple[Scalar[str], ...],
        Size(1, unique=True),
        "Operators that compute the same of integers, in tensors of the same names.",
    ] = ()
    members: Annotated[Mapping[NewMember, Member], Size(1, 64), "Members in the order of the struct."]
    defaults: (
        Annotated[
            Defaults,
            "The values of members that a caller leaves out (each entry of an array, the data type of an "
            "output), and the source of these defaults.",
        ]
        | None
    ) = None
    unconstrained: Annotated[
        tuple[MemberName, ...],
        Size(1, unique=True),
        "Outputs whose sizes the caller chooses, and integers for which any value is fine.",
    ] = ()
    let: Let = field(default_factory=dict)
    rules: Annotated[tuple[Rule, ...], Size(1, 100), "Its rules, in the order in which to fix them."] = ()
    default_outputs: Annotated[
        tuple[Inferred, ...],
        Size(1),
        "Default fields of outputs, as in OutputTensor.Sizes = expression, which the caller can override: "
        "no rule requires them.",
    ] = ()
    data_constraints: Annotated[
        tuple[DataConstraint, ...], Size(1), "Constraints on the contents of tensors."
    ] = ()
    support: Annotated[
        Mapping[LevelName, Annotated[tuple[SupportRow, ...], Size(1)]],
        Size(1),
        "A block for each feature level at which the table changes.",
    ]
    compute: (
        Annotated[
            Algorithm | Definition,
            "What the operator computes: a definition of its `outputs`, or an `algorithm` and its roles.",
        ]
        | None
    ) = None
    examples: Annotated[tuple[Example, ...], Size(1), "Worked examples of the page."] = ()
    errata: Errata = ()


# specs/counterparts/<interface>.yaml

_NAME = Pattern(r"[A-Za-z_][A-Za-z0-9_]*", "a name")

Name: TypeAlias = Annotated[str, _NAME, Size(most=80)]
NodeName: TypeAlias = Annotated[Scalar[str], _NAME, Size(most=80)]
NodeTensor: TypeAlias = Annotated[
    str,
    Pattern(r"[A-Za-z_][A-Za-z0-9_]*[?*]?", "a name, with ? if it is optional, * if there can be several"),
    Size(most=60),
]
OperatorName: TypeAlias = Annotated[
    Scalar[str], Pattern(r"[A-Z][A-Z0-9_]*", "an operator's name, as in GATHER"), Size(most=80)
]
NodeExpression: TypeAlias = Annotated[
    Scalar[str | int | float | bool | None],
    Size(most=1000),
    "An expression, in the language of counterparts.",
]
NodeLet: TypeAlias = Annotated[
    Mapping[NodeName, NodeExpression], "Names for expressions; each may use those above it."
]
Desc: TypeAlias = Annotated[Mapping[Scalar[str], NodeExpression], Size(1), "An expression for each member."]
Over: TypeAlias = Annotated[
    NodeName, "An input that is a list: the operator combines its tensors, `so_far` and `each`."
]


@dataclass(frozen=True, kw_only=True)
class Step(Record):
    """One operator of a sequence; left out if `when` does not hold."""

    when: NodeExpression | None = None
    operator: Annotated[OperatorName, "The operator to run."]
    desc: Desc
    over: Over | None = None


@dataclass(frozen=True, kw_only=True)
class Between(Record):
    """Data type and sizes of a tensor."""

    type: NodeExpression
    sizes: NodeExpression


Betweens: TypeAlias = Annotated[Mapping[NodeName, Between], "Data type and sizes of tensors, by name."]


@dataclass(frozen=True, kw_only=True)
class NodeForm(Record):
    """One operator, or a sequence of them, that computes an operation."""

    when: NodeExpression | None = None
    operator: Annotated[OperatorName, "The only operator to run."] | None = None
    desc: Desc = field(default_factory=dict)
    steps: Annotated[tuple[Step, ...], Size(1, 40), "A sequence of operators."] = ()
    tensors: Betweens = field(default_factory=dict)
    let: NodeLet = field(default_factory=dict)
    over: Over | None = None


@dataclass(frozen=True, kw_only=True)
class Limit(Record):
    """A feature that cannot be mapped, and when."""

    when: NodeExpression | None = None
    because: Annotated[Text, "Why it cannot be mapped."]


@dataclass(frozen=True, kw_only=True)
class Signature(NodeForm):
    """An operation in some versions of its operator set."""

    opsets: Annotated[
        str,
        Pattern(r"[1-9][0-9]{0,2}(-([1-9][0-9]{0,2})?)?", "versions, as in 13-, 7-12 or 9"),
        "The versions of the operator set that it describes.",
    ] = "1-"
    extends: Annotated[NodeName, "An entry of `shared` whose keys it takes over."] | None = None
    inputs: Annotated[tuple[NodeTensor, ...], Size(most=20), "The inputs of the node, in order."] = ()
    outputs: Annotated[tuple[NodeTensor, ...], Size(most=20), "The outputs of the node, in order."] = ()
    attributes: Annotated[
        Mapping[
            Name,
            str | int | float | bool | tuple[str | float, ...] | None,
        ],
        "Defaults by name, null if there is none.",
    ] = field(default_factory=dict)
    ignored: Annotated[
        tuple[NodeName, ...], "Attributes that do not affect the result, or repeat what inputs and sizes say."
    ] = ()
    limits: Annotated[tuple[Limit, ...], "Features that cannot be mapped."] = ()
    example: Annotated[
        Mapping[NodeName, NodeExpression],
        "Sizes of inputs and values of attributes that are valid, by the `rank` of what has any.",
    ] = field(default_factory=dict)
    forms: Annotated[
        tuple[NodeForm, ...],
        Size(1, 12),
        "Of those whose `when` holds, the one with the lowest feature level is used.",
    ] = ()
    infers: Betweens = field(default_factory=dict)
    expands: (
        Annotated[Literal[True], "Whether ONNX defines it by other operations, which are mapped."] | None
    ) = None
    none: Annotated[Text, "Why there is no mapping."] = NO_TEXT
    host: Annotated[Text, "Why it needs no operator: what the host computes."] = NO_TEXT


@dataclass(frozen=True, kw_only=True)
class Operation(Signature):
    """An operation: its newest signature, and those before it."""

    note: Annotated[Text, "A remark for the tables."] = NO_TEXT
    older: Annotated[tuple[Signature, ...], "Earlier versions of the operator set, newest first."] = ()


@dataclass(frozen=True, kw_only=True)
class Activation(Record):
    """An activation that recurrent networks of ONNX name."""

    operator: Annotated[OperatorName, "The activation in DirectML."]
    members: Annotated[
        Mapping[
            Scalar[str],
            float | Annotated[Mapping[Literal["alpha", "beta"], float | None], Size(1, 1)],
        ],
        "A number, or the parameter that a member comes from, with its default.",
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Without(Record):
    """Operators without a counterpart."""

    operators: Annotated[tuple[OperatorName, ...], Size(1), "The operators."]
    because: Annotated[Text, "Why they have none."]


@dataclass(frozen=True, kw_only=True)
class Registration(Record):
    """The registrations of ONNX Runtime's provider for an operator."""

    versions: Annotated[
        tuple[Annotated[int, Range(1, 999)], ...], Size(1), "The versions that are registered."
    ]
    types: Annotated[NodeName, "The set of data types, from `types`."] | None = None


DmlxFunction: TypeAlias = Annotated[str, Pattern(r"[A-Z][A-Za-z0-9]*")]


@dataclass(frozen=True, kw_only=True)
class Counterparts(Record):
    """The counterparts of DirectML's operators in another interface."""

    sources: Annotated[tuple[Text, ...], Size(1), "Where the mappings are from."]
    shared: Annotated[Mapping[Name, Signature], "What several operations have in common."] = field(
        default_factory=dict
    )
    operations: Annotated[
        Mapping[
            Annotated[
                str,
                Pattern(
                    r"([a-z]+(\.[a-z]+)*\.)?[A-Za-z][A-Za-z0-9]*",
                    "a name, preceded by its domain unless that is ONNX's own",
                ),
                Size(most=80),
            ],
            Operation,
        ],
        "The mappings, by operation.",
    ] = field(default_factory=dict)
    activations: Annotated[Mapping[Name, Activation], "Activations of recurrent networks, by name."] = field(
        default_factory=dict
    )
    functions: Annotated[
        Mapping[Scalar[str], DmlxFunction | tuple[DmlxFunction, ...]], "Functions of DirectMLX, by operator."
    ] = field(default_factory=dict)
    without: Annotated[tuple[Without, ...], "Operators without a counterpart."] = ()
    data_types: Annotated[
        Mapping[Scalar[str], Annotated[int, Range(1, 99)]], "Numbers of data types in the interface."
    ] = field(default_factory=dict)
    operand_types: Annotated[tuple[OperatorName, ...], "The data types of the interface."] = ()
    domains: Annotated[Mapping[str, Text], "Domains of operations, and what they are."] = field(
        default_factory=dict
    )
    types: Annotated[
        Mapping[
            Name,
            Annotated[tuple[OperatorName, ...], Size(1)],
        ],
        "Sets of data types, by name.",
    ] = field(default_factory=dict)
    registrations: Annotated[
        Mapping[str, Registration], "What ONNX Runtime's provider registers, by operation."
    ] = field(default_factory=dict)
    readings: Annotated[Mapping[Scalar[str], Text], "Where the provider differs, by operation."] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class General:
    """The files that every registry has, by their names."""

    feature_levels: FeatureLevels
    constants: Constants
    enums: Enums
    structs: Structs
    rules: Rules
    graphs: Graphs
    bindings: Bindings
    interfaces: Interfaces
    identifiers: Identifiers


# By the names of their schemas.
FILES: Mapping[str, type] = {
    "feature_levels": FeatureLevels,
    "constants": Constants,
    "enums": Enums,
    "structs": Structs,
    "rules": Rules,
    "graphs": Graphs,
    "bindings": Bindings,
    "interfaces": Interfaces,
    "identifiers": Identifiers,
    "operator": Operator,
    "definitions": Definitions,
    "counterparts": Counterparts,
}
