"""An operator in Python: its members, its tables, its rules by stage, and how its outputs are inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.names import pascal, python_variable
from dmlgen.outputs.python_printer import InferencePrinter, PythonPrinter
from dmlgen.outputs.python_rules import (
    Assignments,
    RuleView,
    assignments_of,
    constants_of,
    parts_of,
    reads_of,
    rule_view,
    used_definitions,
)
from dmlgen.outputs.render import python_string
from dmlgen.registry import FeatureLevel, Inference, Member, Operator, Registry, Rule, Stage, Support

OPERATOR = "OPERATOR_DESC"


@dataclass(frozen=True)
class StageView:
    """A method that checks rules: its name and what it does, the variables it needs, and the rules."""

    method: str
    summary: str
    assignments: Assignments
    rules: tuple[RuleView, ...]


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
    counted: tuple[str, ...]
    default: str | None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def required(self) -> bool:
        return self.spec.pointer and not self.spec.optional


@dataclass(frozen=True)
class SupportView:
    """The support of a tensor: the names of sets of dimension counts and of data types (python_support)."""

    ranks: str
    types: str


Rows: TypeAlias = tuple[tuple[int, SupportView], ...]  # each with its condition's index; -1 for always


@dataclass(frozen=True)
class TableView:
    """The rows of the tensors whose support changes at a level."""

    since: FeatureLevel
    rows: tuple[tuple[str, Rows], ...]


@dataclass(frozen=True)
class CasesView:
    """The conditions under which rows of support tables apply, and the members that they read."""

    assignments: Assignments
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class InferenceView:
    """The inference of outputs: variables, and each output's fields.

    A required output is among `outputs` even if none of its fields is inferred. `choosable` are outputs that
    can be left out by choice, and then stay absent. `defaults` are the fields that are kept if they are
    given.
    """

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
    reads: Mapping[str, str]
    support: tuple[TableView, ...]
    cases: CasesView | None
    turning_points: tuple[FeatureLevel, ...]
    fusable: Mapping[str, FeatureLevel]
    stages: tuple[StageView, ...]
    inference: InferenceView
    constants: Assignments

    @property
    def tensors(self) -> tuple[MemberView, ...]:
        return tuple(member for member in self.members if member.spec.is_tensor)

    @property
    def sets(self) -> list[str]:
        """The names of the sets that support tables use."""
        rows = (row for table in self.support for _, rows in table.rows for _, row in rows)
        return sorted({name for row in rows for name in (row.ranks, row.types)})

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


def operator_view(registry: Registry, operator: Operator) -> OperatorView:
    members = tuple(_member(registry, operator, member) for member in operator.members)
    printers = {stage: PythonPrinter(registry, operator, stage) for stage in Stage}
    for_inference = InferencePrinter(registry, operator, Stage.COUNTS)
    takes_activations = any(member.type == OPERATOR for member in operator.members)
    fusable = registry.fusable(operator) if takes_activations else {}
    conditions = conditions_of(operator)
    support = _support(registry, operator, conditions)
    stages = [
        _stage(operator, method, summary, rules, printers[stage])
        for method, summary, stage, rules in _rules_by_method(operator)
        if rules
    ]
    return OperatorView(
        spec=operator,
        python=pascal(operator.name),
        axes=axes_of(operator),
        members=members,
        reads=reads_of(operator.rules),
        support=support,
        cases=_cases(conditions, printers[Stage.COUNTS]) if conditions else None,
        turning_points=_turning_points(registry, operator, support, fusable),
        fusable=fusable,
        stages=tuple(stages),
        inference=_inference(operator, members, for_inference),
        constants=constants_of(*printers.values(), for_inference),
    )


def _rules_by_method(operator: Operator) -> list[tuple[str, str, Stage, list[Rule]]]:
    """For each method that checks rules its name, what it does, the stage it relies on, and the rules."""

    def of_stage(stage: Stage) -> list[Rule]:
        return [rule for rule in operator.rules if rule.stage is stage]

    fused = _rules_when_fused(operator)
    return [
        ("check_counts", "The rules on counts.", Stage.COUNTS, of_stage(Stage.COUNTS)),
        ("check_arrays", "The rules on arrays.", Stage.ARRAYS, of_stage(Stage.ARRAYS)),
        ("check_values", "The rules on values.", Stage.VALUES, of_stage(Stage.VALUES)),
        (
            "check_fused",
            "The rules that also apply to a fused activation, whose tensors are what it is applied to.",
            Stage.COUNTS,
            [rule for rule in fused if not rule.advice],
        ),
        ("advise", "The advice on a valid description.", Stage.ADVICE, of_stage(Stage.ADVICE)),
        (
            "advise_fused",
            "The advice that also applies to a fused activation.",
            Stage.COUNTS,
            [rule for rule in fused if rule.advice],
        ),
    ]


def _stage(
    operator: Operator, method: str, summary: str, rules: Sequence[Rule], printer: PythonPrinter
) -> StageView:
    views = tuple(rule_view(rule, printer) for rule in rules)
    own = [rule for rule, view in zip(rules, views, strict=True) if not view.same]
    parts = [part for rule in own for check in rule.checks for part in parts_of(check)]
    definitions = used_definitions(operator.definitions, parts)
    read = [*parts, *(definition.value for definition in definitions)]
    return StageView(
        method,
        summary,
        (*_variables(operator, read), *assignments_of(printer, definitions)),
        views,
    )


def _variables(operator: Operator, expressions: Iterable[ir.Expr]) -> Assignments:
    """The members that expressions read; ABSENT represents an optional tensor that is not given."""
    named = ir.Member | ir.Tensor | ir.Tensors
    names = {
        node.name for one in expressions for node in ir.walk(one) if isinstance(node, named) and node.name
    }
    read = [member for member in operator.members if member.name in names]
    return tuple((python_variable(member.name), _value(operator, member)) for member in read)


def _value(operator: Operator, member: Member) -> str:
    by_choice = member.optional or (operator.fusible_into and member.role == "input")
    may_be_absent = member.is_tensor and not member.count and by_choice
    return f"self.{member.name} or ABSENT" if may_be_absent else f"self.{member.name}"


def _rules_when_fused(operator: Operator) -> list[Rule]:
    """The rules, including advice, that also apply where the operator is a fused activation."""
    return [rule for rule in operator.rules if operator.fusible_into and rule.concerns_attributes]


def _turning_points(
    registry: Registry,
    operator: Operator,
    support: Sequence[TableView],
    fusable: Mapping[str, FeatureLevel],
) -> tuple[FeatureLevel, ...]:
    """The levels at which validity can change."""
    levels = {table.since for table in support} | {*fusable.values()}
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
    by_choice = member.optional or member.role == "output" or (member.is_tensor and operator.fusible_into)
    return MemberView(
        spec=member,
        local=local,
        python=pascal(member.type),
        kind=kind,
        may_be_absent=bool(by_choice),
        counted=tuple(other.name for other in operator.members if other.count == member.name),
        default=_literal(kind, operator.defaults[member.name]) if member.name in operator.defaults else None,
    )


def _literal(kind: str, value: int | float | str) -> str:
    if isinstance(value, str):
        return python_string(value)
    return repr(bool(value) if kind == "boolean" else value)


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


def _inference(operator: Operator, members: tuple[MemberView, ...], printer: PythonPrinter) -> InferenceView:
    """The inference of outputs from the rest."""
    values = [expression for inference in operator.inferences for expression in inference.expressions]
    definitions = used_definitions(operator.definitions, values)
    required = {python_variable(one.name): one.name for one in members if one.required}
    assignments = (
        *(
            (local, f'given(self, "{required[local]}")' if local in required else value)
            for local, value in _variables(operator, values)
        ),
        *assignments_of(printer, definitions),
    )
    outputs: dict[str, Assignments] = {
        output.name: () for output in operator.outputs if not output.optional and not output.count
    }
    for (tensor, field), inferences in groupby(
        sorted(operator.inferences, key=lambda one: (one.tensor, one.field)),
        key=lambda one: (one.tensor, one.field),
    ):
        value = _first_that_applies(list(inferences), printer)
        outputs[tensor] = (*outputs.get(tensor, ()), (field, value))
    return InferenceView(
        assignments=assignments,
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


def conditions_of(operator: Operator) -> tuple[ir.Expr, ...]:
    """The conditions of rows of support tables."""
    rows = [row for table in operator.support.values() for row in table]
    return tuple(dict.fromkeys(row.when for row in rows if row.when is not None))


def _support(registry: Registry, operator: Operator, conditions: Sequence[ir.Expr]) -> tuple[TableView, ...]:
    tables: list[TableView] = []
    known: dict[str, Rows] = {}
    for level in registry.levels[operator.since.ordinal :]:
        rows: dict[str, Rows] = {
            tensor.name: tuple(
                (_case(conditions, row), SupportView(ranks_name(row.ranks), types_name(row.types)))
                for row in operator.support[level.name]
                if row.tensor == tensor.name
            )
            for tensor in operator.tensors
        }
        changed = tuple((name, row) for name, row in rows.items() if known.get(name) != row)
        if changed or not tables:
            tables.append(TableView(level, changed))
        known = rows
    return tuple(tables)


def _case(conditions: Sequence[ir.Expr], row: Support) -> int:
    """The index of the row's condition; -1 for a row that always applies."""
    return -1 if row.when is None else conditions.index(row.when)


def ranks_name(ranks: Sequence[int]) -> str:
    """The name of a set of dimension counts: RANKS_1_TO_8, RANKS_1_2_4, RANK_4."""
    if len(ranks) > 2 and tuple(ranks) == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"RANKS_{ranks[0]}_TO_{ranks[-1]}"
    return f"RANK{'S' * (len(ranks) > 1)}_{'_'.join(map(str, ranks))}"


def types_name(types: Sequence[str]) -> str:
    """The name of a set of data types, sizes after each kind: FLOAT_32_16_UINT_8."""
    kinds = groupby(types, key=lambda name: name.rstrip("0123456789"))
    return "_".join("_".join((kind, *(one.removeprefix(kind) for one in names))) for kind, names in kinds)


def support_sets(registry: Registry) -> tuple[Mapping[str, Sequence[int]], Mapping[str, Sequence[str]]]:
    """The sets of dimension counts and of data types in support tables, by name."""
    rows = [row for one in registry.operators for table in one.support.values() for row in table]
    ranks = {ranks_name(row.ranks): row.ranks for row in rows}
    types = {types_name(row.types): row.types for row in rows}
    return dict(sorted(ranks.items())), dict(sorted(types.items()))
