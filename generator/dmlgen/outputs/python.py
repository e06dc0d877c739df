"""The Python package: what its templates print of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.python_printer import ComputePrinter, PythonPrinter, field_local, pascal, snake
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


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files of the package, by path below generated/."""
    files = {f"python/{path}": data for path, data in templates.plain_files("python").items()}
    package = "python/dmlops"
    enums, tensor = _enums(registry), _tensor(registry)
    operators = [_operator(registry, operator) for operator in registry.operators]
    files[f"{package}/__init__.py"] = templates.render(
        "python/dmlops/__init__.py.j2", enums=enums, operators=operators
    )
    files[f"{package}/enums.py"] = templates.render(
        "python/dmlops/enums.py.j2", enums=enums, levels=registry.levels, operators=operators
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


# Views.


@dataclass(frozen=True)
class EnumView:
    name: str
    python: str
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
    """A field of a tensor: `default` is the Python text of its default, `computed` that of one that is worked out."""

    name: str
    local: str
    summary: str
    enum: str | None
    array: bool
    optional: bool
    default: str | None
    computed: str | None


@dataclass(frozen=True)
class TensorView:
    fields: tuple[FieldView, ...]
    definitions: tuple[AssignmentView, ...]
    structure: StageView
    values: StageView
    enum_values: tuple[AssignmentView, ...]
    data_types: tuple[str, ...]
    bits: tuple[tuple[str, int], ...]
    used: frozenset[str]


@dataclass(frozen=True)
class MemberView:
    """A member of an operator: `local` is its variable, `integers` the range of its C type if that is an integer."""

    name: str
    local: str
    role: str
    type: str
    count: str | None
    optional: bool
    summary: str
    integers: tuple[int, int] | None


@dataclass(frozen=True)
class TableView:
    """The support table that holds from a level on."""

    since: FeatureLevel
    name: str
    rows: tuple[Support, ...]


@dataclass(frozen=True)
class OutputView:
    """How an output tensor follows from the rest."""

    tensor: str
    local: str
    fields: tuple[AssignmentView, ...]


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
    tables: tuple[TableView, ...]
    levels: tuple[tuple[FeatureLevel, str], ...]
    locals: tuple[AssignmentView, ...]
    counts: StageView
    values: StageView
    inputs_of_inference: tuple[MemberView, ...]
    inference: tuple[AssignmentView, ...]
    outputs: tuple[OutputView, ...]
    compute: ComputeView | None
    imports: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def tensors(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.type == "tensor")

    @property
    def attributes(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.type != "tensor")


def _enums(registry: Registry) -> tuple[EnumView, ...]:
    return tuple(EnumView(name, pascal(name), enum) for name, enum in registry.enums.items())


def _structs(registry: Registry) -> tuple[tuple[str, tuple[Member, ...]], ...]:
    return tuple((struct.c_name, struct.members) for struct in registry.structs.values())


# Tensors.


def _tensor(registry: Registry) -> TensorView:
    structure = PythonPrinter(registry, None, Stage.STRUCTURE)
    values = PythonPrinter(registry, None, Stage.VALUES)
    rules = {
        stage: tuple(
            _rule(rule, printer, of_tensor=True)
            for rule in registry.tensor.rules
            if rule.stage is stage and rule.checks
        )
        for stage, printer in ((Stage.STRUCTURE, structure), (Stage.VALUES, values))
    }
    parts = [part for rule in registry.tensor.rules for check in rule.checks for part in _parts(check)]
    local = _assignments(values, _used(registry.tensor.definitions, parts))
    needed = [value for value in registry.tensor.defaults.values() if not isinstance(value, ir.Number)]
    sizes = _assignments(values, _used(registry.tensor.definitions, needed))
    enum_values = {**structure.enum_values, **values.enum_values}
    return TensorView(
        fields=tuple(_field(registry, field) for field in registry.structs[TENSOR].members),
        definitions=sizes,
        structure=StageView((), rules[Stage.STRUCTURE]),
        values=StageView(local, rules[Stage.VALUES]),
        enum_values=tuple(
            AssignmentView(name, f"{pascal(value.type.name or '')}.{value.name}")
            for name, value in sorted(enum_values.items())
        ),
        data_types=tuple(entry.name for entry in registry.data_types),
        bits=tuple((entry.name, entry.bits) for entry in registry.data_types),
        used=frozenset(structure.used | values.used),
    )


def _field(registry: Registry, field: Member) -> FieldView:
    default = registry.tensor.defaults.get(field.name)
    text: str | None = None
    computed: str | None = None
    match default:
        case ir.EnumValue(name=name):
            text = f"{pascal(field.type)}.{name}"
        case ir.Number(value=value):
            text = repr(value)
        case ir.Definition(name=name):
            text, computed = "None", snake(name)
        case _ if field.optional:
            text = "None"
    return FieldView(
        name=field.name,
        local=field_local("", field.name),
        summary=field.summary,
        enum=pascal(field.type) if field.type in registry.enums else None,
        array=field.count is not None,
        optional=text == "None",
        default=text,
        computed=computed,
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
        failure = printer.failure(check.condition)
        if conditions:
            failure = f"{printer.print(_all(conditions), 2)} and {failure}"
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
    assigned: set[str] = {field_local(tensor.name, "DimensionCount") for tensor in operator.tensors}
    assigned |= {field_local(tensor.name, "DataType") for tensor in operator.tensors}
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
    inputs, inference, outputs = _inference(registry, operator, members, used)
    compute = _compute(registry, operator)
    tables, levels = _tables(registry, operator)
    return OperatorView(
        name=operator.name,
        slug=operator.slug,
        python=pascal(operator.name),
        value=operator.value,
        since=operator.since,
        summary=operator.summary,
        data=tuple(requirement.text for requirement in operator.data),
        members=members,
        rules=tuple(rule.id for rule in operator.rules),
        tables=tables,
        levels=levels,
        locals=(),
        counts=stages[Stage.COUNTS],
        values=stages[Stage.VALUES],
        inputs_of_inference=inputs,
        inference=inference,
        outputs=outputs,
        compute=compute,
        imports=_imports(used, compute),
    )


def _member(registry: Registry, member: Member) -> MemberView:
    number = registry.types.get(member.type)
    return MemberView(
        name=member.name,
        local=snake(member.name),
        role=member.role,
        type=member.type,
        count=member.count,
        optional=member.optional,
        summary=member.summary,
        integers=number.range if number is not None and number.kind != "float" else None,
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
    registry: Registry, operator: Operator, members: tuple[MemberView, ...], used: set[str]
) -> tuple[tuple[MemberView, ...], tuple[AssignmentView, ...], tuple[OutputView, ...]]:
    """The inputs that must be given, the variables, and the outputs; nothing is known to be valid here."""
    printer = PythonPrinter(registry, operator, Stage.STRUCTURE)
    values = [inference.value for inference in operator.inferences]
    definitions = _used(operator.definitions, values)
    read = {node.tensor.name for v in values for node in ir.walk(v) if isinstance(node, ir.Field)}
    assignments = []
    for assignment in _fields(values):
        assignments.append(_rank_from_sizes(assignment))
    for node in {n.name: n for v in values for n in ir.walk(v) if isinstance(n, ir.Member)}.values():
        assignments.append(AssignmentView(snake(node.name), f"self.{node.name}"))
    outputs: dict[str, list[AssignmentView]] = {}
    for inference in operator.inferences:
        value = AssignmentView(inference.field, printer.print(inference.value))
        outputs.setdefault(inference.tensor, []).append(value)
    result = (
        tuple(member for member in members if member.name in read),
        (*assignments, *_assignments(printer, definitions)),
        tuple(OutputView(tensor, snake(tensor), tuple(fields)) for tensor, fields in outputs.items()),
    )
    used |= printer.used
    return result


def _rank_from_sizes(assignment: AssignmentView) -> AssignmentView:
    return assignment


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
) -> tuple[tuple[TableView, ...], tuple[tuple[FeatureLevel, str], ...]]:
    """The distinct tables, and for each level the name of its table."""
    tables: list[TableView] = []
    levels: list[tuple[FeatureLevel, str]] = []
    for level in registry.levels[operator.since.ordinal :]:
        rows = operator.support[level.name]
        if any(row.when is not None for row in rows):
            raise NotImplementedError(f"{operator.name}: support rows with a condition")
        if not tables or tables[-1].rows != rows:
            tables.append(TableView(level, f"_SINCE_{level.name.replace('.', '_')}", rows))
        levels.append((level, tables[-1].name))
    return tuple(tables), tuple(levels)


_MODULES = {
    "coordinates": ("align", "replace", "wrap"),
    "enums": ("TensorDataType", "TensorFlags"),
}


def _imports(used: set[str], compute: ComputeView | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ()
