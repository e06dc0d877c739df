"""An operator in Python: its members, its tables, its rules by stage, and how its outputs are inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.names import field_local, pascal, python_variable
from dmlgen.outputs.python_printer import InferencePrinter, PythonPrinter
from dmlgen.outputs.python_rules import (
    Assignments,
    RuleView,
    assignments_of,
    constants_of,
    in_force,
    parts_of,
    reads_of,
    rule_view,
    used_definitions,
)
from dmlgen.outputs.render import python_string
from dmlgen.registry import FeatureLevel, Inference, Member, Operator, Registry, Rule, Stage, Support

OPERATOR = "OPERATOR_DESC"
_HOISTED = ("Sizes", "DimensionCount", "DataType")  # fields of every tensor that validation reads anyway


@dataclass(frozen=True)
class StageView:
    """A stage's rules, the variables that they need first, and the members that the whole stage reads."""

    members: frozenset[str]
    assignments: Assignments
    rules: tuple[RuleView, ...]
    depends_on_level: bool


@dataclass(frozen=True)
class IntegerView:
    """An integer, or the integers of an array: the expression for it, and its range."""

    text: str
    least: int
    most: int


@dataclass(frozen=True)
class MemberView:
    """A member of an operator.

    `local` is its variable. `kind` is tensor, operator, scalar (a union), enum, struct, boolean, integer or
    float, with an s for arrays; `python` names the class for an enum or a struct. `may_be_absent` means that
    the class has a default. `counted` are the arrays whose number of entries this member gives. `default` is
    a literal: the value that `make` uses if a caller gives none.
    """

    spec: Member
    local: str
    python: str
    kind: str
    may_be_absent: bool
    integers: tuple[IntegerView, ...]
    counted: tuple[str, ...]
    default: str | None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def required(self) -> bool:
        return self.spec.pointer and not self.spec.optional


@dataclass(frozen=True)
class RowView:
    """What one or more tensors support: dimension counts and names of data types."""

    name: str
    ranks: tuple[int, ...]
    types: tuple[str, ...]


Choices: TypeAlias = tuple[tuple[int, str], ...]  # cases and the row that applies in each


@dataclass(frozen=True)
class TableView:
    """The support table that applies from a level on: for each tensor the name of its row.

    If that depends on other members, `cases` has the rows by case, and `rows` the union of all cases.
    """

    since: FeatureLevel
    name: str
    rows: tuple[tuple[str, str], ...]
    cases: tuple[tuple[str, Choices], ...]


@dataclass(frozen=True)
class TablesView:
    """The distinct rows, the distinct tables of them, the table of each level, and the tables' conditions."""

    rows: tuple[RowView, ...]
    tables: tuple[TableView, ...]
    levels: tuple[tuple[FeatureLevel, str], ...]
    conditions: tuple[ir.Expr, ...]


@dataclass(frozen=True)
class CasesView:
    """The conditions under which rows of support tables apply, and the members that they read."""

    assignments: Assignments
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class InferenceView:
    """How outputs are inferred: required members, variables, and each output's fields.

    A required output is among `outputs` even if none of its fields is inferred. `choosable` are outputs that
    can be left out by choice, and then stay absent. `defaults` are the fields that are kept if they are
    given.
    """

    needed: tuple[MemberView, ...]
    assignments: Assignments
    outputs: Mapping[str, Assignments]
    choosable: tuple[str, ...]
    defaults: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class OperatorView:
    """The view of an operator for its template, in addition to its spec."""

    spec: Operator
    python: str  # its class
    axes: tuple[str, ...]
    members: tuple[MemberView, ...]
    reads: Assignments
    tables: TablesView
    cases: CasesView | None
    turning_points: tuple[FeatureLevel, ...]
    fusable: Mapping[str, FeatureLevel]
    fused_rules: StageView | None
    fused_advice: StageView | None
    counts: StageView
    arrays: StageView
    values: StageView
    advice: StageView
    inference: InferenceView
    constants: Assignments

    @property
    def tensors(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.spec.is_tensor)

    @property
    def inputs(self) -> tuple[MemberView, ...]:
        """The inputs in struct order, optional ones last."""
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


def operator_view(registry: Registry, operator: Operator) -> OperatorView:
    members = tuple(_member(registry, operator, member) for member in operator.members)
    printers = {stage: PythonPrinter(registry, operator, stage) for stage in Stage}
    stages = _stages(operator, printers)
    fused = _rules_when_fused(operator)
    apart = PythonPrinter(registry, operator, Stage.COUNTS)
    tables = _tables(registry, operator)
    for_inference = InferencePrinter(registry, operator, Stage.COUNTS)
    takes_activations = any(member.type == OPERATOR for member in operator.members)
    fusable = registry.fusable(operator) if takes_activations else {}
    inference = _inference(operator, members, for_inference)
    cases = _cases(tables.conditions, apart) if tables.conditions else None
    fused_rules, fused_advice = (
        _stage_apart(operator, [one for one in fused if one.advice is is_advice], apart)
        for is_advice in (False, True)
    )
    return OperatorView(
        spec=operator,
        python=pascal(operator.name),
        axes=axes_of(operator),
        members=members,
        reads=reads_of(operator.rules),
        tables=tables,
        cases=cases,
        turning_points=_turning_points(registry, operator, tables.tables, fusable),
        fusable=fusable,
        fused_rules=fused_rules,
        fused_advice=fused_advice,
        counts=stages[Stage.COUNTS],
        arrays=stages[Stage.ARRAYS],
        values=stages[Stage.VALUES],
        advice=stages[Stage.ADVICE],
        inference=inference,
        constants=constants_of(*printers.values(), apart, for_inference),
    )


def _stages(operator: Operator, printers: Mapping[Stage, PythonPrinter]) -> dict[Stage, StageView]:
    """The stages in which operators are checked; each but advice can use the variables of those before it."""
    assigned = {field_local(t.name, name) for t in operator.tensors if not t.count for name in _HOISTED}
    stages: dict[Stage, StageView] = {}
    for stage in (Stage.COUNTS, Stage.ARRAYS, Stage.VALUES, Stage.ADVICE):
        rules = [rule for rule in operator.rules if rule.stage is stage]
        known = assigned if stage is not Stage.ADVICE else set()
        stages[stage] = _stage(operator, rules, printers[stage], known)
    return stages


def _stage_apart(operator: Operator, rules: Sequence[Rule], printer: PythonPrinter) -> StageView | None:
    """Rules that are checked separately, if there are any."""
    return _stage(operator, rules, printer, set()) if rules else None


def _stage(
    operator: Operator, rules: Sequence[Rule], printer: PythonPrinter, assigned: set[str]
) -> StageView:
    """The rules, and the variables that they need besides those `assigned`, to which these are added."""
    parts = [part for rule in rules for check in rule.checks for part in parts_of(check)]
    definitions = [
        d for d in used_definitions(operator.definitions, parts) if python_variable(d.name) not in assigned
    ]
    read = [*parts, *(d.value for d in definitions)]
    fields = [(name, value) for name, value in _fields(operator, read) if name not in assigned]
    assignments = (*fields, *assignments_of(printer, definitions))
    assigned |= {name for name, _ in assignments}
    named = ir.Member | ir.Tensor | ir.Tensors
    return StageView(
        members=frozenset(node.name for part in parts for node in ir.walk(part) if isinstance(node, named)),
        assignments=assignments,
        rules=tuple(rule_view(rule, printer) for rule in rules),
        depends_on_level=any(in_force(rule, operator) for rule in rules),
    )


def _rules_when_fused(operator: Operator) -> list[Rule]:
    """The rules, including advice, that also apply where the operator is a fused activation."""
    return [rule for rule in operator.rules if operator.fused_into and rule.concerns_attributes]


def _turning_points(
    registry: Registry,
    operator: Operator,
    tables: Sequence[TableView],
    fusable: Mapping[str, FeatureLevel],
) -> tuple[FeatureLevel, ...]:
    """The levels at which validity can change."""
    levels = {table.since for table in tables} | {*fusable.values()}
    rules = [
        *operator.rules,
        *(rule for name in fusable for rule in _rules_when_fused(registry.operator[name])),
    ]
    bounds = (bound for rule in rules if not rule.advice for bound in (rule.since, rule.until))
    levels |= {bound for bound in bounds if bound is not None}
    return tuple(level for level in registry.levels[operator.since.ordinal :] if level in levels)


def axes_of(operator: Operator) -> tuple[str, ...]:
    """The members that index dimensions: a rule says that they are less than a dimension count."""
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
        spec=member,
        local=local,
        python=pascal(member.type),
        kind=kind,
        may_be_absent=bool(by_choice),
        integers=tuple(integers),
        counted=tuple(other.name for other in operator.members if other.count == member.name),
        default=_literal(operator.defaults[member.name]) if member.name in operator.defaults else None,
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


def _fields(operator: Operator, expressions: Iterable[ir.Expr]) -> Assignments:
    """Assignments of the tensor fields that expressions read, except ranks, in order of appearance."""
    fields: dict[str, str] = {}
    for expression in expressions:
        for node in ir.walk(expression):
            if isinstance(node, ir.Field) and node.tensor.index is None and node.tensor.name:
                tensor = python_variable(node.tensor.name)
                if operator.member[node.tensor.name].optional:
                    tensor = f"({tensor} or ABSENT)"
                fields[field_local(node.tensor.name, node.name)] = f"{tensor}.{node.name}"
    return tuple(fields.items())


def _inference(operator: Operator, members: tuple[MemberView, ...], printer: PythonPrinter) -> InferenceView:
    """How outputs are inferred from the rest."""
    values = [expression for inference in operator.inferences for expression in inference.expressions]
    nodes = [node for value in values for node in ir.walk(value)]
    read = {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors | ir.Member)}
    needed = tuple(member for member in members if member.name in read)
    definitions = used_definitions(operator.definitions, values)
    assignments = (
        *((one.local, f"self.{one.name}") for one in needed if not one.required),
        *_fields(operator, values),
        *assignments_of(printer, definitions),
    )
    outputs: dict[str, Assignments] = {
        output.name: () for output in operator.outputs if not output.optional and not output.count
    }
    values_of: list[tuple[str, str]] = []
    for (tensor, field), inferences in groupby(
        sorted(operator.inferences, key=lambda one: (one.tensor, one.field)),
        key=lambda one: (one.tensor, one.field),
    ):
        value = _first_that_applies(list(inferences), printer)
        if not value.isidentifier():
            values_of.append((field_local(tensor, field), value))
            value = field_local(tensor, field)
        outputs[tensor] = (*outputs.get(tensor, ()), (field, value))
    return InferenceView(
        needed=tuple(member for member in needed if member.required),
        assignments=(*assignments, *values_of),
        outputs=outputs,
        choosable=tuple(name for name in outputs if operator.member[name].optional),
        defaults={
            name: tuple(field for field, _ in fields if operator.is_default(name, field))
            for name, fields in outputs.items()
        },
    )


def _first_that_applies(inferences: list[Inference], printer: PythonPrinter) -> str:
    """The text of a field's value; None if it cannot be inferred."""
    text = "None"
    for one in reversed(inferences):
        value = printer.print(one.value)
        text = value if one.when is None else f"{value} if {printer.print(one.when)} else {text}"
    return text


def _cases(conditions: Sequence[ir.Expr], printer: PythonPrinter) -> CasesView:
    """The conditions, over members other than tensors."""
    nodes = [node for condition in conditions for node in ir.walk(condition)]
    names = dict.fromkeys(node.name for node in nodes if isinstance(node, ir.Member))
    read = [(python_variable(name), f"self.{name}") for name in names]
    return CasesView(tuple(read), tuple(map(printer.print, conditions)))


def _tables(registry: Registry, operator: Operator) -> TablesView:
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
    return TablesView(tuple(rows.values()), tuple(tables), tuple(levels), conditions)


def _case(conditions: Sequence[ir.Expr], row: Support) -> int:
    """The index of the row's condition; -1 for a row that always applies."""
    return -1 if row.when is None else conditions.index(row.when)


def _union(rows: Sequence[Support]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The union of the rows, in the order in which it is written."""
    ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
    return tuple(ranks), tuple(dict.fromkeys(name for row in rows for name in row.types))
