"""The Python package: what its templates print of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.outputs.python_printer import (
    ComputePrinter,
    InferencePrinter,
    PythonPrinter,
    field_local,
    opposite,
    pascal,
    snake,
)
from dmlgen.outputs.python_soundness import Soundness, SoundnessView
from dmlgen.outputs.render import Templates
from dmlgen.registry import (
    Check,
    Definition,
    Enum,
    FeatureLevel,
    Member,
    Operator,
    Registry,
    Rule,
    Stage,
    Support,
)

TENSOR = "BUFFER_TENSOR_DESC"

Imports: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files of the package, by path below generated/."""
    files = {f"python/{path}": data for path, data in templates.plain_files("python").items()}
    package = "python/dmlops"
    enums, tensor = _enums(registry), _tensor(registry)
    operators = [_operator(registry, operator) for operator in registry.operators]
    files[f"{package}/__init__.py"] = templates.render(
        "python/dmlops/__init__.py.j2",
        enum_names=sorted([*(enum.python for enum in enums), "OperatorType", "FeatureLevel"]),
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
    for name in ("tensor", "tensor_rules"):
        files[f"{package}/{name}.py"] = templates.render(f"python/dmlops/{name}.py.j2", tensor=tensor)
    for operator in operators:
        files[f"{package}/operators/{operator.slug}.py"] = templates.render(
            "python/dmlops/operators/operator.py.j2", operator=operator
        )
    return files


def _prose(text: str) -> str:
    """A text that cannot end the docstring it stands in."""
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")


# Views.


@dataclass(frozen=True)
class EnumView:
    name: str
    python: str
    summary: str
    spec: Enum


@dataclass(frozen=True)
class LoopView:
    variable: str
    range: str


@dataclass(frozen=True)
class CheckView:
    """A condition whose `failure` is a violation: its `member` and `message` are Python string literals."""

    rule: str
    loops: tuple[LoopView, ...]
    failure: str
    member: str
    message: str


@dataclass(frozen=True)
class RuleView:
    id: str
    checks: tuple[CheckView, ...]


@dataclass(frozen=True)
class AssignmentView:
    name: str
    value: str


@dataclass(frozen=True)
class StageView:
    """A stage's rules, and the variables that they need first."""

    assignments: tuple[AssignmentView, ...]
    rules: tuple[RuleView, ...]


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
    enum_values: tuple[AssignmentView, ...]
    imports: Imports


@dataclass(frozen=True)
class MemberView:
    """A member of an operator: `local` is its variable, `integers` the range of an integer type."""

    name: str
    local: str
    role: str
    type: str
    optional: bool
    summary: str
    integers: tuple[int, int] | None
    spec: Member


@dataclass(frozen=True)
class RowView:
    """What one or more tensors may be: dimension counts and names of data types."""

    name: str
    ranks: tuple[int, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class TableView:
    """The support table that holds from a level on: for each tensor the name of its row."""

    since: FeatureLevel
    name: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class InferenceView:
    """How outputs follow from the rest: tensors that must be there, variables, and each output's fields."""

    tensors: tuple[MemberView, ...]
    assignments: tuple[AssignmentView, ...]
    outputs: Mapping[str, tuple[AssignmentView, ...]]


@dataclass(frozen=True)
class ComputeView:
    output: str
    assignments: tuple[AssignmentView, ...]
    value: str
    used: tuple[str, ...]


@dataclass(frozen=True)
class OperatorView:
    name: str
    slug: str
    python: str
    value: int
    since: FeatureLevel
    summary: str
    data: tuple[str, ...]
    members: tuple[MemberView, ...]
    rules: tuple[str, ...]
    rows: tuple[RowView, ...]
    tables: tuple[TableView, ...]
    levels: tuple[tuple[FeatureLevel, str], ...]
    counts: StageView
    values: StageView
    inference: InferenceView
    compute: ComputeView | None
    imports: Imports

    @property
    def tensors(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.type == "tensor")

    @property
    def attributes(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.type != "tensor")


def _enums(registry: Registry) -> tuple[EnumView, ...]:
    return tuple(
        EnumView(name, pascal(name), _prose(enum.summary), enum) for name, enum in registry.enums.items()
    )


def _structs(registry: Registry) -> tuple[tuple[str, tuple[Member, ...]], ...]:
    return tuple((struct.c_name, struct.members) for struct in registry.structs.values())


# Tensors.


def _tensor(registry: Registry) -> TensorView:
    fields = tuple(_field(registry, field) for field in registry.structs[TENSOR].members)
    printers = {stage: PythonPrinter(registry, None, stage) for stage in (Stage.STRUCTURE, Stage.VALUES)}
    printer = printers[Stage.VALUES]

    def stage_view(stage: Stage) -> TensorStageView:
        rules = [rule for rule in registry.tensor.rules if rule.stage is stage and rule.checks]
        parts = [part for rule in rules for check in rule.checks for part in _parts(check)]
        definitions = _used(registry.tensor.definitions, parts)
        views = tuple(_rule(rule, printers[stage], of_tensor=True) for rule in rules)
        assignments = _assignments(printers[stage], definitions)
        return TensorStageView(_read(fields, parts), assignments, views, stops=stage is Stage.STRUCTURE)

    structure, values = stage_view(Stage.STRUCTURE), stage_view(Stage.VALUES)
    needed = [value for value in registry.tensor.defaults.values() if isinstance(value, ir.Definition)]
    unchecked = InferencePrinter(registry, None, Stage.VALUES)
    sizes = _assignments(unchecked, _used(registry.tensor.definitions, needed))
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
        enum_values=tuple(
            AssignmentView(name, f"{pascal(value.type.name or '')}.{value.name}")
            for name, value in sorted(enum_values.items())
        ),
        imports=_imports(
            {
                "typing": ["TYPE_CHECKING"],
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
    if rule.until is not None or rule.since.ordinal != 0:
        raise NotImplementedError(f"{rule.id}: rules of some feature levels only")
    with printer.inside(*check.loops):
        conditions = [loop.condition for loop in check.loops if loop.condition is not None]
        conditions += [check.guard] if check.guard is not None else []
        failure = printer.print(_all([*conditions, opposite(check.condition)]))
        member = f'f"{{path}}.{check.member}"' if of_tensor else f'"{check.member}"'
        loops = tuple(LoopView(snake(loop.variable.name), printer.range(loop)) for loop in check.loops)
        return CheckView(rule.id, loops, failure, member, printer.message(check.message))


def _all(conditions: Sequence[ir.Expr]) -> ir.Expr:
    return conditions[0] if len(conditions) == 1 else ir.Logic("and", tuple(conditions))


def _parts(check: Check) -> list[ir.Expr]:
    """Every expression of a check."""
    parts = [check.condition, *(part for part in check.message if not isinstance(part, str))]
    if check.guard is not None:
        parts.append(check.guard)
    for loop in check.loops:
        parts += [loop.lower, loop.upper, *([] if loop.condition is None else [loop.condition])]
    return parts


def _used(definitions: Iterable[Definition], expressions: Iterable[ir.Expr]) -> list[Definition]:
    """The definitions that the expressions use, directly or through others, in their own order."""
    names = {node.name for e in expressions for node in ir.walk(e) if isinstance(node, ir.Definition)}
    return [definition for definition in definitions if definition.name in names]


def _assignments(printer: PythonPrinter, definitions: Iterable[Definition]) -> tuple[AssignmentView, ...]:
    return tuple(AssignmentView(snake(d.name), printer.print(d.value)) for d in definitions)


# Operators.


def _operator(registry: Registry, operator: Operator) -> OperatorView:
    members = tuple(_member(registry, member) for member in operator.members)
    used: set[str] = set()
    stages: dict[Stage, StageView] = {}
    assigned = {field_local(t.name, name) for t in operator.tensors for name in _HOISTED}
    for stage in (Stage.COUNTS, Stage.VALUES):
        printer = PythonPrinter(registry, operator, stage)
        rules = [rule for rule in operator.rules if rule.stage is stage]
        parts = [part for rule in rules for check in rule.checks for part in _parts(check)]
        definitions = [d for d in _used(operator.definitions, parts) if snake(d.name) not in assigned]
        fields = [a for a in _fields([*parts, *(d.value for d in definitions)]) if a.name not in assigned]
        assignments = (*fields, *_assignments(printer, definitions))
        assigned |= {assignment.name for assignment in assignments}
        stages[stage] = StageView(assignments, tuple(_rule(rule, printer) for rule in rules))
        used |= printer.used
    inference, names = _inference(registry, operator, members)
    compute = _compute(registry, operator)
    rows, tables, levels = _tables(registry, operator)
    return OperatorView(
        name=operator.name,
        slug=operator.slug,
        python=pascal(operator.name),
        value=operator.value,
        since=operator.since,
        summary=_prose(operator.summary),
        data=tuple(_prose(requirement.text) for requirement in operator.data),
        members=members,
        rules=tuple(rule.id for rule in operator.rules),
        rows=rows,
        tables=tables,
        levels=levels,
        counts=stages[Stage.COUNTS],
        values=stages[Stage.VALUES],
        inference=inference,
        compute=compute,
        imports=_imports(
            {
                "dataclasses": ["dataclass"],
                "typing": ["ClassVar", *(["Any"] if compute else [])],
                "..": ["judgement"],
                "..coordinates": ["Coordinates", "Load"] if compute else [],
                "..description": [
                    "Description",
                    "Support",
                    "Tables",
                    *(["given"] if inference.outputs else []),
                ],
                "..enums": ["FeatureLevel", "TensorDataType"],
                "..member": ["Member"],
                "..tensor": ["TensorDesc", *(["inferred"] if inference.outputs else [])],
                "..tensor_rules": ["SOUND_INPUT", "SOUND_OUTPUT", "is_sound"],
                "..violation": ["Violation"],
            },
            {*used, *names, *(compute.used if compute else ())},
            "..",
        ),
    )


def _member(registry: Registry, member: Member) -> MemberView:
    number = registry.types.get(member.type)
    return MemberView(
        name=member.name,
        local=snake(member.name),
        role=member.role,
        type=member.type,
        optional=member.optional,
        summary=_prose(member.summary),
        integers=number.range if number is not None and number.kind != "float" else None,
        spec=member,
    )


def _fields(expressions: Iterable[ir.Expr]) -> tuple[AssignmentView, ...]:
    """Assignments of the tensor fields that expressions read, ranks apart, in order of appearance."""
    fields: dict[str, str] = {}
    for expression in expressions:
        for node in ir.walk(expression):
            if isinstance(node, ir.Field) and node.tensor.index is None and node.tensor.name:
                name = field_local(node.tensor.name, node.name)
                fields[name] = f"{snake(node.tensor.name)}.{node.name}"
    return tuple(AssignmentView(name, value) for name, value in fields.items())


def _inference(
    registry: Registry, operator: Operator, members: tuple[MemberView, ...]
) -> tuple[InferenceView, set[str]]:
    """How outputs follow from the rest, and the names that the text uses."""
    printer = InferencePrinter(registry, operator, Stage.COUNTS)
    values = [inference.value for inference in operator.inferences]
    nodes = [node for value in values for node in ir.walk(value)]
    read = {node.tensor.name for node in nodes if isinstance(node, ir.Field)}
    attributes = dict.fromkeys(node.name for node in nodes if isinstance(node, ir.Member))
    assignments = (
        *(AssignmentView(snake(name), f"self.{name}") for name in attributes),
        *_fields(values),
        *_assignments(printer, _used(operator.definitions, values)),
    )
    outputs: dict[str, tuple[AssignmentView, ...]] = {}
    for inference in operator.inferences:
        field = AssignmentView(inference.field, printer.print(inference.value))
        outputs[inference.tensor] = (*outputs.get(inference.tensor, ()), field)
    tensors = tuple(member for member in members if member.name in read)
    return InferenceView(tensors, assignments, outputs), printer.used


def _compute(registry: Registry, operator: Operator) -> ComputeView | None:
    if operator.compute is None:
        return None
    printer = ComputePrinter(registry, operator)
    definitions = (*operator.definitions, *operator.compute.definitions)
    assignments = _assignments(printer, _used(definitions, [operator.compute.value]))
    value = printer.print(operator.compute.value)
    return ComputeView(operator.compute.output, assignments, value, tuple(sorted(printer.used)))


def _tables(
    registry: Registry, operator: Operator
) -> tuple[tuple[RowView, ...], tuple[TableView, ...], tuple[tuple[FeatureLevel, str], ...]]:
    """The distinct rows, the distinct tables of them, and for each level the name of its table."""
    rows: dict[tuple[tuple[int, ...], tuple[str, ...]], RowView] = {}
    tables: list[TableView] = []
    levels: list[tuple[FeatureLevel, str]] = []
    for level in registry.levels[operator.since.ordinal :]:
        table: list[tuple[str, str]] = []
        for tensor in operator.tensors:
            row = _union([row for row in operator.support[level.name] if row.tensor == tensor.name])
            table.append((tensor.name, rows.setdefault(row, RowView(f"_ROW_{len(rows) + 1}", *row)).name))
        if not tables or tables[-1].rows != tuple(table):
            tables.append(TableView(level, f"_SINCE_{level.name.replace('.', '_')}", tuple(table)))
        levels.append((level, tables[-1].name))
    return tuple(rows.values()), tuple(tables), tuple(levels)


def _union(rows: Sequence[Support]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """What any of the rows has, in the order in which it is written."""
    if any(row.when is not None for row in rows):
        raise NotImplementedError(f"{rows[0].tensor}: support rows with a condition")
    ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
    return tuple(ranks), tuple(dict.fromkeys(name for row in rows for name in row.types))


_HOISTED = ("Sizes", "DimensionCount", "DataType")  # fields of every tensor that validation reads anyway
_MODULE_OF = {
    "align": "coordinates",
    "replace": "coordinates",
    "wrap": "coordinates",
    "entry": "arithmetic",
    "power_of_two": "arithmetic",
    "quotient": "arithmetic",
    "remainder": "arithmetic",
    "saturate": "arithmetic",
}


def _imports(fixed: Mapping[str, Iterable[str]], used: Iterable[str], package: str) -> Imports:
    """The imports of a module, sorted: `fixed`, and the names that expressions use."""
    modules: dict[str, set[str]] = {module: set(names) for module, names in fixed.items() if names}
    for name in used:
        module = "math" if name == "prod" else package + _MODULE_OF.get(name, "enums")
        modules.setdefault(module, set()).add(name)

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    by_place = sorted(modules.items(), key=lambda item: (item[0].startswith("."), item[0]))
    return tuple((module, tuple(sorted(names, key=lambda n: (kind(n), n)))) for module, names in by_place)
