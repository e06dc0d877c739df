"""An operator in Python: its members, its rules by stage, and how its outputs are inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dmlgen.expr import ir
from dmlgen.names import pascal, python_variable
from dmlgen.outputs.python_printer import InferencePrinter, PythonPrinter
from dmlgen.outputs.python_rules import (
    Assignments,
    RuleView,
    assignments_of,
    constants_of,
    parts_of,
    rule_view,
    used_definitions,
)
from dmlgen.outputs.render import python_string
from dmlgen.registry import Inference, Member, Operator, Registry, Rule, Stage

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

    `kind` is tensor, operator, scalar (a union), enum, struct, boolean, integer or float, with an s for
    arrays; `python` names the class for an enum or a struct. `may_be_absent` means that the class has a
    default. `counted` are the arrays whose number of entries this member gives. `default` is a literal: the
    value that `make` uses if a caller gives none.
    """

    spec: Member
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
    members: tuple[MemberView, ...]
    cases: CasesView | None
    stages: tuple[StageView, ...]
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


def operator_view(registry: Registry, operator: Operator) -> OperatorView:
    members = tuple(_member(registry, operator, member) for member in operator.members)
    printers = {stage: PythonPrinter(registry, operator, stage) for stage in Stage}
    for_inference = InferencePrinter(registry, operator, Stage.COUNTS)
    stages = [
        _stage(operator, method, summary, rules, printers[stage])
        for method, summary, stage, rules in _rules_by_method(operator)
        if rules
    ]
    return OperatorView(
        spec=operator,
        python=pascal(operator.name),
        members=members,
        cases=_cases(operator, printers[Stage.COUNTS]),
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


def _member(registry: Registry, operator: Operator, member: Member) -> MemberView:
    kind = _kind(registry, member)
    by_choice = member.optional or member.role == "output" or (member.is_tensor and operator.fusible_into)
    return MemberView(
        spec=member,
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


def _cases(operator: Operator, printer: PythonPrinter) -> CasesView | None:
    """The conditions of support tables, over members other than tensors, in order of appearance."""
    rows = [row for table in operator.support.values() for row in table]
    conditions = list(dict.fromkeys(row.when for row in rows if row.when is not None))
    if not conditions:
        return None
    nodes = [node for condition in conditions for node in ir.walk(condition)]
    names = dict.fromkeys(node.name for node in nodes if isinstance(node, ir.Member))
    read = [(python_variable(name), f"self.{name}") for name in names]
    return CasesView(tuple(read), tuple(map(printer.print, conditions)))
