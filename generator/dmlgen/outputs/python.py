"""The Python package: what its templates print of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias, cast

from dmlgen.banner import head
from dmlgen.expr import ir
from dmlgen.expr.functions import CONVERSIONS, ELEMENT_FUNCTIONS
from dmlgen.expr.printer import SOURCE
from dmlgen.names import field_local, pascal, python_variable
from dmlgen.outputs import dxdispatch
from dmlgen.outputs.python_printer import InferencePrinter, PythonPrinter, opposite
from dmlgen.outputs.python_soundness import Soundness, SoundnessView
from dmlgen.outputs.render import Templates, python_string
from dmlgen.project import LICENSE
from dmlgen.reads import reads
from dmlgen.registry import (
    Check,
    Definition,
    Enum,
    FeatureLevel,
    Inference,
    Member,
    Operator,
    Registry,
    Rule,
    Stage,
    Support,
)
from dmlgen.sentence import sentence
from dmlgen.show import condition_text
from dmlgen.text import Text

TENSOR, OPERATOR = "BUFFER_TENSOR_DESC", "OPERATOR_DESC"

Imports: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files of the package, by path below generated/."""
    files = {
        f"python/{path}": head(path, f"templates/python/{path}").encode() + data
        for path, data in templates.plain_files("python").items()
    }
    files["python/LICENSE"] = LICENSE.read_bytes()
    package = "python/dmlops"
    enums, tensor, values = _enums(registry), _tensor(registry), _values(registry)
    operators = [_operator(registry, operator) for operator in registry.operators]
    files[f"{package}/__init__.py"] = templates.render(
        "python/dmlops/__init__.py.j2",
        enum_names=sorted([*(enum.python for enum in enums), "OperatorType", "FeatureLevel"]),
        structs=values,
        operators=operators,
    )
    files[f"{package}/enums.py"] = templates.render(
        "python/dmlops/enums.py.j2",
        enums=enums,
        levels=registry.levels,
        operators=operators,
        data_types=registry.data_types,
    )
    files[f"{package}/registry.py"] = templates.render(
        "python/dmlops/registry.py.j2", registry=registry, operators=operators, structs=_structs(registry)
    )
    files[f"{package}/make.py"] = templates.render("python/dmlops/make.py.j2", operators=operators)
    files[f"{package}/dxdispatch/versions.py"] = templates.render(
        "python/dmlops/dxdispatch/versions.py.j2", cases=dxdispatch.CASES, results=dxdispatch.RESULTS
    )
    files[f"{package}/structs.py"] = templates.render("python/dmlops/structs.py.j2", structs=values)
    files[f"{package}/rule_texts.py"] = templates.render(
        "python/dmlops/rule_texts.py.j2", rules=_rule_texts(registry), registry=registry
    )
    for name in ("tensor", "tensor_rules"):
        files[f"{package}/{name}.py"] = templates.render(f"python/dmlops/{name}.py.j2", tensor=tensor)
    for operator in operators:
        files[f"{package}/operators/{operator.slug}.py"] = templates.render(
            "python/dmlops/operators/operator.py.j2", operator=operator
        )
    return files


# Views.


@dataclass(frozen=True)
class EnumView:
    name: str
    python: str
    summary: Text
    spec: Enum


@dataclass(frozen=True)
class LoopView:
    variable: str
    range: str


@dataclass(frozen=True)
class CheckView:
    """A condition whose `failure` is a violation: its `member` and `message` are Python string literals.

    The message shows the value of the variable `hint`, where there is one.
    """

    rule: str
    loops: tuple[LoopView, ...]
    failure: str
    member: str
    message: str
    hint: str | None


@dataclass(frozen=True)
class RuleView:
    id: str
    checks: tuple[CheckView, ...]


@dataclass(frozen=True)
class RuleTextView:
    """What is said of a rule: a sentence, the conditions in the language of specs, and where it is from."""

    id: str
    operator: str | None
    text: Text
    formulas: tuple[str, ...]
    source: str
    page: str | None
    since: FeatureLevel
    until: FeatureLevel | None


@dataclass(frozen=True)
class AssignmentView:
    name: str
    value: str


@dataclass(frozen=True)
class StageView:
    """A stage's rules, the variables that they need first, and the members that all of it reads."""

    members: frozenset[str]
    assignments: tuple[AssignmentView, ...]
    rules: tuple[RuleView, ...]
    depends_on_level: bool


@dataclass(frozen=True)
class FieldView:
    """A field of a tensor: `default` is the text of its default; `computed` when None is worked out."""

    name: str
    local: str
    enum: str | None
    array: bool
    optional: bool
    default: str | None
    computed: bool


@dataclass(frozen=True)
class TensorStageView:
    """A stage's rules on a tensor, with the fields and definitions that they read; `stops` at the first."""

    fields: tuple[FieldView, ...]
    assignments: tuple[AssignmentView, ...]
    rules: tuple[RuleView, ...]
    stops: bool = False


@dataclass(frozen=True)
class TensorView:
    """Tensors: fields, the enumerations of these, the rules by stage, and how the size is worked out."""

    fields: tuple[FieldView, ...]
    enums: tuple[str, ...]
    size: TensorStageView
    structure: TensorStageView
    values: TensorStageView
    soundness: SoundnessView
    reads: tuple[tuple[str, str], ...]
    enum_values: tuple[AssignmentView, ...]
    imports: Imports


@dataclass(frozen=True)
class IntegerView:
    """An integer, or the integers of an array: the expression that gives it, and its range."""

    text: str
    least: int
    most: int


@dataclass(frozen=True)
class ValueView:
    """A struct that is a member's value: its fields have a number type each, `float` or `int` in Python."""

    name: str
    python: str
    summary: Text
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MemberView:
    """A member of an operator.

    `local` is its variable and `python` the class of an enumeration or struct. `kind` is tensor, operator,
    scalar (a union), enum, struct, boolean, integer or float, with an s for arrays. `may_be_absent` says that
    the class has a default. `counted` are the arrays that have as many entries as this member says. `default`
    is a literal: what `make` takes where a caller gives nothing.
    """

    name: str
    local: str
    python: str
    kind: str
    may_be_absent: bool
    summary: Text
    integers: tuple[IntegerView, ...]
    counted: tuple[str, ...]
    default: str | None
    spec: Member

    @property
    def hides_class(self) -> bool:
        return self.name == self.python

    @property
    def required(self) -> bool:
        return self.spec.pointer and not self.spec.optional


@dataclass(frozen=True)
class RowView:
    """What one or more tensors may be: dimension counts and names of data types."""

    name: str
    ranks: tuple[int, ...]
    types: tuple[str, ...]


Choices: TypeAlias = tuple[tuple[int, str], ...]  # cases and the row that holds in each


@dataclass(frozen=True)
class TableView:
    """The support table that holds from a level on: for each tensor the name of its row.

    Where that depends on other members, `cases` has the rows by case, and `rows` those of all together.
    """

    since: FeatureLevel
    name: str
    rows: tuple[tuple[str, str], ...]
    cases: tuple[tuple[str, Choices], ...]


@dataclass(frozen=True)
class CasesView:
    """The conditions under which rows of support tables hold, and the members that they read."""

    assignments: tuple[AssignmentView, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class InferenceView:
    """How outputs follow from the rest: members that must be there, variables, and each output's fields.

    An output that must be there is among `outputs` although none of its fields follows. `choosable` are
    outputs that may be absent by choice: they stay so. `defaults` are the fields that stay where they are
    given.
    """

    needed: tuple[MemberView, ...]
    assignments: tuple[AssignmentView, ...]
    outputs: Mapping[str, tuple[AssignmentView, ...]]
    choosable: tuple[str, ...]
    defaults: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class OperatorView:
    name: str
    slug: str
    python: str
    value: int
    since: FeatureLevel
    in_place: tuple[str, ...]
    axes: tuple[str, ...]
    summary: Text
    data: tuple[Text, ...]
    members: tuple[MemberView, ...]
    rules: tuple[Rule, ...]
    reads: tuple[tuple[str, str], ...]  # for each rule the paths that it reads, with spaces between
    rows: tuple[RowView, ...]
    tables: tuple[TableView, ...]
    levels: tuple[tuple[FeatureLevel, str], ...]
    cases: CasesView | None
    turning_points: tuple[FeatureLevel, ...]
    fusable: Mapping[str, FeatureLevel]
    attribute_rules: StageView | None
    attribute_advice: StageView | None
    counts: StageView
    arrays: StageView
    values: StageView
    advice: StageView
    inference: InferenceView
    enum_values: tuple[AssignmentView, ...]
    imports: Imports

    @property
    def tensors(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.spec.is_tensor)

    @property
    def inputs(self) -> tuple[MemberView, ...]:
        """The inputs in the order of the struct, those that may be absent last."""
        inputs = [member for member in self.tensors if member.spec.role == "input"]
        return tuple(sorted(inputs, key=lambda member: member.may_be_absent))

    @property
    def outputs(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.tensors if member.spec.role == "output")

    @property
    def attributes(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if not member.spec.is_tensor)

    @property
    def judged(self) -> tuple[MemberView, ...]:
        """The members that validation reads."""
        named = self.counts.members | self.arrays.members | self.values.members
        tested = ("tensor", "enum", "scalar", "operator")
        return tuple(
            member
            for member in self.members
            if member.required or member.integers or member.kind in tested or member.name in named
        )


def _enums(registry: Registry) -> tuple[EnumView, ...]:
    return tuple(EnumView(name, pascal(name), enum.summary, enum) for name, enum in registry.enums.items())


def _values(registry: Registry) -> tuple[ValueView, ...]:
    """The structs that are values of members; a union is a plain number in Python."""
    members = [member for operator in registry.operators for member in operator.members]
    used = {m.type for m in members if m.type in registry.structs and m.type != OPERATOR and not m.typed_by}
    return tuple(
        ValueView(
            name,
            pascal(name),
            registry.structs[name].summary,
            tuple(
                (field.name, "float" if registry.types[field.type].kind == "float" else "int")
                for field in registry.structs[name].members
            ),
        )
        for name in sorted(used)
    )


def _structs(registry: Registry) -> tuple[tuple[str, tuple[Member, ...]], ...]:
    """The structs that descriptions are made of."""
    types = {member.type for operator in registry.operators for member in operator.members}
    used = {TENSOR, "TENSOR_DESC", OPERATOR, *types}
    return tuple((struct.c_name, struct.members) for name, struct in registry.structs.items() if name in used)


def _rule_texts(registry: Registry) -> list[RuleTextView]:
    """All rules, those of every operator first."""
    general = ((rule, None) for rule in (*registry.operator_rules, *registry.tensor.rules))
    own = ((rule, operator) for operator in registry.operators for rule in operator.rules)
    return [_rule_text(registry, rule, operator) for rule, operator in (*general, *own)]


def _rule_text(registry: Registry, rule: Rule, operator: Operator | None) -> RuleTextView:
    definitions = operator.definitions if operator is not None else registry.tensor.definitions
    used = used_definitions(definitions, [part for check in rule.checks for part in check.read])
    named = [f"{definition.name} = {SOURCE.print(definition.value)}" for definition in used]
    since = max(rule.since, operator.since, key=lambda level: level.ordinal) if operator else rule.since
    return RuleTextView(
        id=rule.id,
        operator=operator.name if operator is not None else None,
        text=sentence(rule),
        formulas=(*map(condition_text, rule.checks), *named),
        source=rule.source,
        page=registry.pages + operator.page if operator is not None else None,
        since=since,
        until=rule.until,
    )


# Tensors.


def _tensor(registry: Registry) -> TensorView:
    fields = tuple(_field(registry, field) for field in registry.structs[TENSOR].members)
    printers = {stage: PythonPrinter(registry, None, stage) for stage in (Stage.STRUCTURE, Stage.VALUES)}
    printer = printers[Stage.VALUES]

    def stage_view(stage: Stage) -> TensorStageView:
        rules = [rule for rule in registry.tensor.rules if rule.stage is stage and rule.checks]
        parts = [part for rule in rules for check in rule.checks for part in _parts(check)]
        definitions = used_definitions(registry.tensor.definitions, parts)
        views = tuple(_rule(rule, printers[stage], of_tensor=True) for rule in rules)
        assignments = assignments_of(printers[stage], definitions)
        return TensorStageView(_read(fields, parts), assignments, views, stops=stage is Stage.STRUCTURE)

    structure, values = stage_view(Stage.STRUCTURE), stage_view(Stage.VALUES)
    needed = [value for value in registry.tensor.defaults.values() if isinstance(value, ir.Definition)]
    unchecked = InferencePrinter(registry, None, Stage.VALUES)
    sizes = assignments_of(unchecked, used_definitions(registry.tensor.definitions, needed))
    soundness = Soundness(registry).view()
    enum_values = {**printers[Stage.STRUCTURE].enum_values, **printer.enum_values}
    used = soundness.used.union(unchecked.used, *(printer.used for printer in printers.values()))
    return TensorView(
        fields=tuple(sorted(_given(registry, fields), key=lambda field: field.default is not None)),
        enums=tuple(sorted(field.enum for field in fields if field.enum)),
        size=TensorStageView(_read(fields, needed), sizes, ()),
        structure=structure,
        values=values,
        soundness=soundness,
        reads=_reads(registry.tensor.rules),
        enum_values=tuple(
            AssignmentView(name, f"{pascal(value.type.name or '')}.{value.name}")
            for name, value in sorted(enum_values.items())
        ),
        imports=imports_of(
            {
                "typing": ["TYPE_CHECKING"],
                ".value": ["SOUND_INPUT", "SOUND_OUTPUT", "set_state"],
                ".violation": ["Violation"],
                ".enums": [pascal(v.type.name or "") for v in enum_values.values()],
            },
            used,
            ".",
        ),
    )


def _given(registry: Registry, fields: Iterable[FieldView]) -> list[FieldView]:
    """The fields that a Python description gives: counts follow from arrays."""
    counts = {field.count for field in registry.structs[TENSOR].members}
    return [field for field in fields if field.name not in counts]


def _read(fields: tuple[FieldView, ...], expressions: Iterable[ir.Expr]) -> tuple[FieldView, ...]:
    """The fields of the tensor under judgement that the expressions read."""
    names = {node.name for e in expressions for node in ir.walk(e) if isinstance(node, ir.Field)}
    return tuple(field for field in fields if field.name in names)


def _field(registry: Registry, field: Member) -> FieldView:
    default = registry.tensor.defaults.get(field.name)
    text: str | None = "None" if field.optional else None
    match default:
        case ir.EnumValue(name=name):
            text = f"{pascal(field.type)}.{name}"
        case ir.Number(value=value):
            text = repr(value)
        case ir.Definition():
            text = "None"
    return FieldView(
        name=field.name,
        local=field_local("", field.name),
        enum=pascal(field.type) if field.type in registry.enums else None,
        array=field.count is not None,
        optional=text == "None",
        default=text,
        computed=isinstance(default, ir.Definition),
    )


# Rules.


def _rule(rule: Rule, printer: PythonPrinter, of_tensor: bool = False) -> RuleView:
    return RuleView(rule.id, tuple(_check(rule, check, printer, of_tensor) for check in rule.checks))


def _check(rule: Rule, check: Check, printer: PythonPrinter, of_tensor: bool) -> CheckView:
    with printer.bounds.inside(*check.loops):
        conditions = _in_force(rule, printer.operator)
        conditions += [loop.condition for loop in check.loops if loop.condition is not None]
        conditions += [check.guard] if check.guard is not None else []
        failure = printer.print(_all([*conditions, opposite(check.condition)]))
        member = f'f"{{path}}.{check.member}"' if of_tensor else f'"{check.member}"'
        loops = tuple(
            LoopView(python_variable(loop.variable.name), printer.range(loop)) for loop in check.loops
        )
        hint = printer.hint(check.hint) if check.hint is not None else None
        return CheckView(rule.id, loops, failure, member, printer.message(check), hint)


def _in_force(rule: Rule, operator: Operator | None) -> list[ir.Expr]:
    """The conditions on the feature level under which the rule is judged."""
    conditions: list[ir.Expr] = []
    for bound, op in ((rule.since, ">="), (rule.until, "<")):
        if bound is not None and bound.ordinal > (operator.since.ordinal if operator is not None else 0):
            value = ir.EnumValue(f"LEVEL_{bound.name.replace('.', '_')}", bound.value, _LEVEL.type)
            conditions.append(ir.Compare(cast(ir.CompareOp, op), _LEVEL, value))
    return conditions


def _all(conditions: Sequence[ir.Expr]) -> ir.Expr:
    return conditions[0] if len(conditions) == 1 else ir.Logic("and", tuple(conditions))


def _parts(check: Check) -> list[ir.Expr]:
    """Every expression of a check."""
    return [*check.shown, *check.read]


def axes_of(operator: Operator) -> tuple[str, ...]:
    """The members that number dimensions: a rule says that they are less than a dimension count."""
    axes: set[str] = set()
    for check in (check for rule in operator.rules for check in rule.checks):
        match check.condition:
            case ir.Compare(
                op="<",
                left=ir.Member(name=name) | ir.Index(sequence=ir.Member(name=name)),
                right=ir.Field(name="DimensionCount"),
            ):
                axes.add(name)
    return tuple(member.name for member in operator.members if member.name in axes)


def _reads(rules: Iterable[Rule]) -> tuple[tuple[str, str], ...]:
    return tuple((rule.id, " ".join(sorted(reads(rule)))) for rule in rules if rule.checks)


def used_definitions(definitions: Iterable[Definition], expressions: Iterable[ir.Expr]) -> list[Definition]:
    """The definitions that the expressions use, directly or through others, in their own order."""
    names = {node.name for e in expressions for node in ir.walk(e) if isinstance(node, ir.Definition)}
    return [definition for definition in definitions if definition.name in names]


def assignments_of(printer: PythonPrinter, definitions: Iterable[Definition]) -> tuple[AssignmentView, ...]:
    return tuple(AssignmentView(python_variable(d.name), printer.print(d.value)) for d in definitions)


# Operators.


def _operator(registry: Registry, operator: Operator) -> OperatorView:
    members = tuple(_member(registry, operator, member) for member in operator.members)
    printers: list[PythonPrinter] = []
    stages: dict[Stage, StageView] = {}
    assigned = {field_local(t.name, name) for t in operator.tensors if not t.count for name in _HOISTED}
    for stage in (Stage.COUNTS, Stage.ARRAYS, Stage.VALUES, Stage.ADVICE):
        printers.append(PythonPrinter(registry, operator, stage))
        rules = [rule for rule in operator.rules if rule.stage is stage]
        stages[stage] = _stage(
            operator, rules, printers[-1], assigned if stage is not Stage.ADVICE else set()
        )
    alone = _without_tensors(operator) if operator.fused_into else []
    printers.append(PythonPrinter(registry, operator, Stage.COUNTS))
    attribute_rules, attribute_advice = (
        _stage(operator, some, printers[-1], set()) if some else None
        for some in (
            [rule for rule in alone if not rule.advice],
            [rule for rule in alone if rule.advice],
        )
    )
    rows, tables, levels, conditions = _tables(registry, operator)
    printers.append(PythonPrinter(registry, operator, Stage.COUNTS))
    cases = _cases(conditions, printers[-1]) if conditions else None
    printers.append(InferencePrinter(registry, operator, Stage.COUNTS))
    inference = _inference(operator, members, printers[-1])
    enum_values = {name: value for printer in printers for name, value in printer.enum_values.items()}
    used = set().union(*(printer.used for printer in printers))
    takes_activations = any(member.type == OPERATOR for member in operator.members)
    fusable = registry.fusable(operator) if takes_activations else {}
    return OperatorView(
        name=operator.name,
        slug=operator.slug,
        python=pascal(operator.name),
        value=operator.value,
        since=operator.since,
        in_place=operator.in_place,
        axes=axes_of(operator),
        summary=operator.summary,
        data=tuple(requirement.text for requirement in operator.data),
        members=members,
        rules=operator.rules,
        reads=_reads(operator.rules),
        rows=rows,
        tables=tables,
        levels=levels,
        cases=cases,
        turning_points=_turning_points(registry, operator, tables, fusable),
        fusable=fusable,
        attribute_rules=attribute_rules,
        attribute_advice=attribute_advice,
        counts=stages[Stage.COUNTS],
        arrays=stages[Stage.ARRAYS],
        values=stages[Stage.VALUES],
        advice=stages[Stage.ADVICE],
        inference=inference,
        enum_values=tuple(
            AssignmentView(name, f"{pascal(value.type.name or '')}.{value.name}")
            for name, value in sorted(enum_values.items())
        ),
        imports=_operator_imports(operator, members, inference, cases, enum_values.values(), used),
    )


def _stage(
    operator: Operator, rules: Sequence[Rule], printer: PythonPrinter, assigned: set[str]
) -> StageView:
    """The rules, and the variables that they need beside those `assigned`, which grow by them."""
    parts = [part for rule in rules for check in rule.checks for part in _parts(check)]
    definitions = [
        d for d in used_definitions(operator.definitions, parts) if python_variable(d.name) not in assigned
    ]
    read = [*parts, *(d.value for d in definitions)]
    fields = [a for a in _fields(operator, read) if a.name not in assigned]
    assignments = (*fields, *assignments_of(printer, definitions))
    assigned |= {assignment.name for assignment in assignments}
    named = ir.Member | ir.Tensor | ir.Tensors
    return StageView(
        members=frozenset(node.name for part in parts for node in ir.walk(part) if isinstance(node, named)),
        assignments=assignments,
        rules=tuple(_rule(rule, printer) for rule in rules),
        depends_on_level=any(_in_force(rule, operator) for rule in rules),
    )


def _without_tensors(operator: Operator) -> list[Rule]:
    """The rules that speak of no tensor: those that hold of a fused activation too."""
    tensors = ir.Tensor | ir.Tensors
    return [
        rule
        for rule in operator.rules
        if not any(
            isinstance(node, tensors)
            for check in rule.checks
            for part in _parts(check)
            for node in ir.walk(part)
        )
    ]


def _turning_points(
    registry: Registry,
    operator: Operator,
    tables: Sequence[TableView],
    fusable: Mapping[str, FeatureLevel],
) -> tuple[FeatureLevel, ...]:
    """The levels at which what is accepted may change."""
    levels = {table.since for table in tables} | {*fusable.values()}
    rules = [
        *operator.rules,
        *(rule for name in fusable for rule in _without_tensors(registry.operator[name])),
    ]
    bounds = (bound for rule in rules if not rule.advice for bound in (rule.since, rule.until))
    levels |= {bound for bound in bounds if bound is not None}
    return tuple(level for level in registry.levels[operator.since.ordinal :] if level in levels)


def _operator_imports(
    operator: Operator,
    members: tuple[MemberView, ...],
    inference: InferenceView,
    cases: CasesView | None,
    enum_values: Iterable[ir.EnumValue],
    used: set[str],
) -> Imports:
    kinds = {member.kind for member in members}
    description = {"Description", "Rule", "Support", "Tables", "valid", "well_typed"}
    if inference.needed or any(output.count for output in operator.outputs):
        description.add("given")
    if cases:
        description.add("Cases")
    optional = [t for t in operator.tensors if t.optional and not t.count]
    enums = {"NEWEST", "FeatureLevel", "TensorDataType"}
    if any(_in_force(rule, operator) for rule in operator.rules):
        enums.add("feature_level")
    enums |= {member.python for member in members if member.kind == "enum"}
    enums |= {pascal(value.type.name or "") for value in enum_values}
    sound = {f"SOUND_{tensor.role.upper()}" for tensor in operator.tensors}
    return imports_of(
        {
            "collections.abc": [
                *(["Iterable"] if any(member.spec.count for member in members) else []),
                *(["Mapping"] if operator.rules or kinds & {"operator", "operators"} else []),
            ],
            "dataclasses": ["dataclass"],
            "typing": ["Any", "ClassVar", "final", *_accepted_types(kinds)],
            "..": ["judgement", *_hidden_modules(members)],
            "..description": description,
            "..enums": enums,
            "..member": ["Member"],
            "..structs": [member.python for member in members if member.kind == "struct"],
            "..tensor": [
                "TensorDesc",
                *(["ABSENT"] if optional else []),
                *(
                    "inferred_if_given" if name in inference.choosable else "inferred"
                    for name in inference.outputs
                ),
            ],
            "..tensor_rules": ["is_sound"],
            "..value": [*sound, "WRONG_TYPE", "opened", "settle", *_array_tests(kinds)],
            "..violation": ["Violation"],
        },
        used,
        "..",
    )


def _accepted_types(kinds: Iterable[str]) -> list[str]:
    """The protocols of the numbers that members may be made from."""
    names = {"integer": "SupportsIndex", "float": "SupportsFloat", "scalar": "SupportsFloat"}
    return [names[kind] for kind in {kind.removesuffix("s") for kind in kinds} if kind in names]


def _hidden_modules(members: Iterable[MemberView]) -> list[str]:
    """The modules of classes that parameters of the same name hide."""
    return ["enums" if member.kind == "enum" else "structs" for member in members if member.hides_class]


def _array_tests(kinds: set[str]) -> list[str]:
    return [name for kind, name in (("integers", "INTEGERS"), ("floats", "FLOATS")) if kind in kinds]


def _member(registry: Registry, operator: Operator, member: Member) -> MemberView:
    kind, local = _kind(registry, member), python_variable(member.name)
    integers: list[IntegerView] = []
    if kind in ("integer", "boolean", "integers"):
        integers.append(IntegerView(local, *registry.types[member.type].range))
    elif kind == "struct" and not member.optional:
        fields = [(f.name, registry.types[f.type]) for f in registry.structs[member.type].members]
        integers += [IntegerView(f"{local}.{n}", *t.range) for n, t in fields if t.kind != "float"]
    by_choice = member.optional or member.role == "output" or (member.is_tensor and operator.fused_into)
    return MemberView(
        name=member.name,
        local=local,
        python=pascal(member.type),
        kind=kind,
        may_be_absent=bool(by_choice),
        summary=member.summary,
        integers=tuple(integers),
        counted=tuple(other.name for other in operator.members if other.count == member.name),
        default=_literal(operator.defaults[member.name]) if member.name in operator.defaults else None,
        spec=member,
    )


def _literal(value: int | float | str) -> str:
    return python_string(value) if isinstance(value, str) else repr(value)


def _kind(registry: Registry, member: Member) -> str:
    if member.type in registry.types:
        number = registry.types[member.type]
        kind = "float" if number.kind == "float" else "boolean" if number.name == "BOOL" else "integer"
    elif member.is_tensor:
        kind = "tensor"
    elif member.type == OPERATOR:
        kind = "operator"
    elif member.typed_by:
        kind = "scalar"
    else:
        kind = "enum" if member.type in registry.enums else "struct"
    return f"{kind}s" if member.count else kind


def _fields(operator: Operator, expressions: Iterable[ir.Expr]) -> tuple[AssignmentView, ...]:
    """Assignments of the tensor fields that expressions read, ranks apart, in order of appearance."""
    fields: dict[str, str] = {}
    for expression in expressions:
        for node in ir.walk(expression):
            if isinstance(node, ir.Field) and node.tensor.index is None and node.tensor.name:
                tensor = python_variable(node.tensor.name)
                if operator.member[node.tensor.name].optional:
                    tensor = f"({tensor} or ABSENT)"
                fields[field_local(node.tensor.name, node.name)] = f"{tensor}.{node.name}"
    return tuple(AssignmentView(name, value) for name, value in fields.items())


def _inference(operator: Operator, members: tuple[MemberView, ...], printer: PythonPrinter) -> InferenceView:
    """How outputs follow from the rest."""
    values = [expression for inference in operator.inferences for expression in inference.expressions]
    nodes = [node for value in values for node in ir.walk(value)]
    read = {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors | ir.Member)}
    needed = tuple(member for member in members if member.name in read)
    definitions = used_definitions(operator.definitions, values)
    assignments = (
        *(AssignmentView(m.local, f"self.{m.name}") for m in needed if not m.required),
        *_fields(operator, values),
        *assignments_of(printer, definitions),
    )
    outputs: dict[str, tuple[AssignmentView, ...]] = {
        output.name: () for output in operator.outputs if not output.optional and not output.count
    }
    values_of: list[AssignmentView] = []
    for (tensor, field), inferences in groupby(
        sorted(operator.inferences, key=lambda one: (one.tensor, one.field)),
        key=lambda one: (one.tensor, one.field),
    ):
        value = _first_that_applies(list(inferences), printer)
        if not value.isidentifier():
            values_of.append(AssignmentView(field_local(tensor, field), value))
            value = values_of[-1].name
        outputs[tensor] = (*outputs.get(tensor, ()), AssignmentView(field, value))
    return InferenceView(
        needed=tuple(member for member in needed if member.required),
        assignments=(*assignments, *values_of),
        outputs=outputs,
        choosable=tuple(name for name in outputs if operator.member[name].optional),
        defaults={
            name: tuple(field.name for field in fields if operator.is_default(name, field.name))
            for name, fields in outputs.items()
        },
    )


def _first_that_applies(inferences: list[Inference], printer: PythonPrinter) -> str:
    """The text of a field's value; None where nothing tells it."""
    text = "None"
    for one in reversed(inferences):
        value = printer.print(one.value)
        text = value if one.when is None else f"{value} if {printer.print(one.when)} else {text}"
    return text


def _cases(conditions: Sequence[ir.Expr], printer: PythonPrinter) -> CasesView:
    """The conditions, in terms of members that are no tensors."""
    nodes = [node for condition in conditions for node in ir.walk(condition)]
    names = dict.fromkeys(node.name for node in nodes if isinstance(node, ir.Member))
    read = [AssignmentView(python_variable(name), f"self.{name}") for name in names]
    holds = [AssignmentView(f"case_{i}", printer.print(condition)) for i, condition in enumerate(conditions)]
    return CasesView((*read, *holds), tuple(assignment.name for assignment in holds))


def _tables(
    registry: Registry, operator: Operator
) -> tuple[
    tuple[RowView, ...],
    tuple[TableView, ...],
    tuple[tuple[FeatureLevel, str], ...],
    tuple[ir.Expr, ...],
]:
    """The distinct rows, the distinct tables of them, the table of each level, and the tables' conditions."""
    rows: dict[tuple[tuple[int, ...], tuple[str, ...]], RowView] = {}
    cases = {row.when: None for table in operator.support.values() for row in table if row.when is not None}
    conditions = tuple(cases)

    def row_of(supports: Sequence[Support]) -> str:
        row = _union(supports)
        return rows.setdefault(row, RowView(f"_ROW_{len(rows) + 1}", *row)).name

    tables: list[TableView] = []
    levels: list[tuple[FeatureLevel, str]] = []
    for level in registry.levels[operator.since.ordinal :]:
        by_tensor = {
            tensor.name: [row for row in operator.support[level.name] if row.tensor == tensor.name]
            for tensor in operator.tensors
        }
        whole = tuple((tensor, row_of(supports)) for tensor, supports in by_tensor.items())
        choices = tuple(
            (tensor, tuple((_case(conditions, row), row_of([row])) for row in supports))
            for tensor, supports in by_tensor.items()
        )
        if not tables or (tables[-1].rows, tables[-1].cases) != (whole, choices if conditions else ()):
            name = f"_SINCE_{level.name.replace('.', '_')}"
            tables.append(TableView(level, name, whole, choices if conditions else ()))
        levels.append((level, tables[-1].name))
    return tuple(rows.values()), tuple(tables), tuple(levels), conditions


def _case(conditions: Sequence[ir.Expr], row: Support) -> int:
    """The position of the row's condition; -1 of a row that always holds."""
    return -1 if row.when is None else conditions.index(row.when)


def _union(rows: Sequence[Support]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """What any of the rows has, in the order in which it is written."""
    ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
    return tuple(ranks), tuple(dict.fromkeys(name for row in rows for name in row.types))


_LEVEL = ir.Local("level", ir.Type("enum", "FEATURE_LEVEL"))
_HOISTED = ("Sizes", "DimensionCount", "DataType")  # fields of every tensor that validation reads anyway
_MODULE_OF = {
    "align": "coordinates",
    "replace": "coordinates",
    "entry": "arithmetic",
    "power_of_two": "arithmetic",
    "quotient": "arithmetic",
    "remainder": "arithmetic",
    "replaced": "arithmetic",
    "saturate": "arithmetic",
    "as_float": "arithmetic",
    "tensor_at": "tensor",
    "ABSENT": "tensor",
    **dict.fromkeys(
        (
            *ELEMENT_FUNCTIONS,
            *CONVERSIONS,
            "absolute",
            "minimum",
            "maximum",
            "divide",
            "divide_exactly",
            "difference",
            "single",
            "part",
            "where",
        ),
        "elements",
    ),
    **dict.fromkeys(("both", "either", "opposite", "every", "some", "least", "greatest", "gelu"), "elements"),
    "wrap": "coordinates",
    **dict.fromkeys(("activated", "activation_type", "activation_parameter"), "fused"),
}


def imports_of(fixed: Mapping[str, Iterable[str]], used: Iterable[str], package: str) -> Imports:
    """The imports of a module, sorted: `fixed`, and the names that expressions use."""
    modules: dict[str, set[str]] = {module: set(names) for module, names in fixed.items() if names}
    for name in used:
        module = "math" if name == "prod" else package + _MODULE_OF.get(name, "enums")
        modules.setdefault(module, set()).add(name)

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    by_place = sorted(modules.items(), key=lambda item: (item[0].startswith("."), item[0]))
    return tuple((module, tuple(sorted(names, key=lambda n: (kind(n), n)))) for module, names in by_place)
