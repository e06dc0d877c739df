"""Tensors in Python: their fields, and the rules on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.names import field_local, pascal, python_variable
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
from dmlgen.registry import Member, Registry, Stage

TENSOR = "BUFFER_TENSOR_DESC"
_STAGES = (Stage.STRUCTURE, Stage.VALUES, Stage.ADVICE)


@dataclass(frozen=True)
class FieldView:
    """A field of a tensor: the text of its `default`, and the variable with what is `computed` for None."""

    name: str
    local: str
    enum: str | None
    array: bool
    optional: bool
    default: str | None
    computed: str | None


@dataclass(frozen=True)
class TensorStageView:
    """A stage's rules on a tensor, with the fields and definitions that they read; some stop at the first."""

    fields: tuple[FieldView, ...]
    assignments: Assignments
    rules: tuple[RuleView, ...]
    stops: bool = False


@dataclass(frozen=True)
class TensorView:
    """Tensors: fields, their enumerations, the rules by stage, and how the size is computed."""

    fields: tuple[FieldView, ...]
    enums: tuple[str, ...]
    size: TensorStageView
    structure: TensorStageView
    values: TensorStageView
    advice: TensorStageView
    constants: Assignments


def tensor_view(registry: Registry) -> TensorView:
    fields = tuple(_field(registry, field) for field in registry.structs[TENSOR].members)
    printers = {stage: PythonPrinter(registry, None, stage) for stage in _STAGES}

    def stage_view(stage: Stage) -> TensorStageView:
        rules = [rule for rule in registry.tensor.rules if rule.stage is stage and rule.checks]
        parts = [part for rule in rules for check in rule.checks for part in parts_of(check)]
        computed = [registry.tensor.defaults[field.name] for field in _read(fields, parts) if field.computed]
        definitions = used_definitions(registry.tensor.definitions, [*parts, *computed])
        views = tuple(rule_view(rule, printers[stage], of_tensor=True) for rule in rules)
        assignments = assignments_of(printers[stage], definitions)
        return TensorStageView(_read(fields, parts), assignments, views, stops=stage is Stage.STRUCTURE)

    structure, values, advice = map(stage_view, _STAGES)
    counts = {field.count for field in registry.structs[TENSOR].members}
    given = (field for field in fields if field.name not in counts)  # in Python, counts follow from arrays
    needed = [value for value in registry.tensor.defaults.values() if isinstance(value, ir.Definition)]
    unchecked = InferencePrinter(registry, None, Stage.VALUES)
    sizes = assignments_of(unchecked, used_definitions(registry.tensor.definitions, needed))
    return TensorView(
        fields=tuple(sorted(given, key=lambda field: field.default is not None)),
        enums=tuple(sorted(field.enum for field in fields if field.enum)),
        size=TensorStageView(_read(fields, needed), sizes, ()),
        structure=structure,
        values=values,
        advice=advice,
        constants=constants_of(*printers.values()),
    )


def _read(fields: tuple[FieldView, ...], expressions: Iterable[ir.Expr]) -> tuple[FieldView, ...]:
    """The fields of the tensor being checked that the expressions read."""
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
        computed=python_variable(default.name) if isinstance(default, ir.Definition) else None,
    )
