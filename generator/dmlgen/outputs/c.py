"""The C header: what its template prints of the registry."""

from __future__ import annotations

import string
from dataclasses import dataclass
from itertools import groupby

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK, upper_bound
from dmlgen.message import explain
from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.outputs.c_printer import TENSOR, CPrinter, escaped, parts
from dmlgen.outputs.render import Templates
from dmlgen.registry import (
    Check,
    Enum,
    EnumEntry,
    FeatureLevel,
    Member,
    Operator,
    Registry,
    Rule,
    Stage,
    Struct,
)

_SHARED = ("DimensionCount", "DataType", "Sizes")  # fields with a function that compares them


@dataclass(frozen=True)
class ConstantView:
    name: str
    value: int
    since: FeatureLevel


@dataclass(frozen=True)
class EnumView:
    """An enumeration; `groups` are its constants by the level at which DirectML.h declares them."""

    c_name: str
    since: FeatureLevel
    groups: tuple[tuple[FeatureLevel, tuple[ConstantView, ...]], ...]


@dataclass(frozen=True)
class FieldView:
    """A member of a struct: its C type, and its offset for each size of a pointer."""

    name: str
    type: str
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class StructView:
    """A struct, with its size for each size of a pointer."""

    c_name: str
    since: FeatureLevel
    summary: str
    fields: tuple[FieldView, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class FunctionView:
    """The function that judges a rule, and the tensor members that it reads."""

    name: str
    rule: str
    tensors: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True)
class RuleView:
    """A rule of an operator and what judges it; a shared function is given two tensors, by position."""

    id: str
    judge: str
    tensors: tuple[int, int]


@dataclass(frozen=True)
class MessagePart:
    """A piece of a general rule's message: a text, then the value of that name, if any."""

    text: str
    name: str | None


@dataclass(frozen=True)
class GeneralRuleView:
    """A rule that is judged by tables. The second message is that of a value which a higher level takes."""

    id: str
    message: tuple[MessagePart, ...]
    message_with_hint: tuple[MessagePart, ...]


@dataclass(frozen=True)
class TypeListView:
    """Data types, by their values, in the order in which a support table names them."""

    values: tuple[int, ...]
    mask: int


@dataclass(frozen=True)
class SupportView:
    """What a tensor may be from a level on: a bit mask of dimension counts, the index of a type list."""

    since: FeatureLevel
    ranks: int
    types: int


@dataclass(frozen=True)
class TensorView:
    """A tensor member, and the index of its support table."""

    name: str
    is_input: bool
    table: int


@dataclass(frozen=True)
class OperatorView:
    spec: Operator
    struct: StructView
    tensors: tuple[TensorView, ...]
    counts: tuple[RuleView, ...]
    values: tuple[RuleView, ...]
    functions: tuple[FunctionView, ...]


class _Tables:
    """The support tables of all operators, equal ones once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.types: dict[tuple[str, ...], int] = {}
        self.tables: dict[tuple[SupportView, ...], int] = {}

    def table(self, operator: Operator, tensor: str) -> int:
        """The index of a tensor's table: newest level first, each line with other content than the next."""
        lines: list[SupportView] = []
        for name, rows in operator.support.items():
            fitting = [row for row in rows if row.tensor == tensor]
            if len(fitting) != 1 or fitting[0].when is not None:
                message = (
                    f"the table of {tensor} at {name} depends on other members; C has no form for that yet"
                )
                raise SpecError([Finding(operator.position, "c-output", message)])
            ranks = sum(1 << rank for rank in fitting[0].ranks)
            types = self.types.setdefault(fitting[0].types, len(self.types))
            if not lines or (lines[0].ranks, lines[0].types) != (ranks, types):
                lines.insert(0, SupportView(self._registry.level[name], ranks, types))
        return self.tables.setdefault(tuple(lines), len(self.tables))

    def type_lists(self) -> list[TypeListView]:
        lists = [tuple(self._registry.data_type[name].value for name in names) for names in self.types]
        return [TypeListView(values, sum(1 << value for value in values)) for values in lists]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The header."""
    tables = _Tables(registry)
    functions: set[str] = set()
    operators = [_operator(registry, operator, tables, functions) for operator in registry.operators]
    general = (*registry.operator_rules, *(rule for rule in registry.tensor.rules if not rule.checks))
    header = templates.render(
        "c/dmlops.h.j2",
        number_types=[(name, _number(number.bits, number.kind)) for name, number in registry.types.items()],
        constants=registry.constants,
        enums=[_enum(enum) for enum in _enums(registry)],
        names=_names(registry),
        data_types=registry.data_types,
        structs=[_struct(registry, struct) for struct in registry.structs.values()],
        tensor_fields=[
            member.name for name in ("TENSOR_DESC", TENSOR) for member in registry.structs[name].members
        ],
        operators=operators,
        structure=_tensor_rules(registry, Stage.STRUCTURE, functions),
        values=_tensor_rules(registry, Stage.VALUES, functions),
        functions=functions,
        list_capacity=_longest_list(registry),
        general={rule.id: _general(rule) for rule in general},
        buffer=next(e.value for e in registry.enums["TENSOR_TYPE"].entries if e.name == "BUFFER"),
        type_lists=tables.type_lists(),
        tables=list(tables.tables),
    )
    return {"include/dmlops.h": header}


# Declarations.


def _enums(registry: Registry) -> list[Enum]:
    """The enumerations of the header, with those that are put together from operators and levels."""
    lowest = registry.levels[0]
    operators = (
        EnumEntry("INVALID", 0, lowest, ""),
        *(EnumEntry(operator.name, operator.value, operator.since, "") for operator in registry.operators),
    )
    declared = registry.levels_declared
    levels = tuple(
        EnumEntry(level.name.replace(".", "_"), level.value, declared, "") for level in registry.levels
    )
    return [
        *registry.enums.values(),
        Enum("OPERATOR_TYPE", "DML_OPERATOR_", False, lowest, "", operators),
        Enum("FEATURE_LEVEL", "DML_FEATURE_LEVEL_", False, declared, "", levels),
    ]


def _names(registry: Registry) -> dict[str, list[tuple[int, str]]]:
    """The values of each enumeration as messages show them."""
    names = {enum.name: [(entry.value, entry.name) for entry in enum.entries] for enum in _enums(registry)}
    return {**names, "FEATURE_LEVEL": [(level.value, level.name) for level in registry.levels]}


def _enum(enum: Enum) -> EnumView:
    entries = sorted(enum.entries, key=lambda entry: entry.since.ordinal)
    return EnumView(
        enum.c_name,
        enum.since,
        tuple(
            (since, tuple(ConstantView(enum.prefix + entry.name, entry.value, since) for entry in group))
            for since, group in groupby(entries, key=lambda entry: entry.since)
        ),
    )


def _struct(registry: Registry, struct: Struct | Operator) -> StructView:
    layouts = [layout(registry, struct.members, size) for size in POINTER_SIZES]
    return StructView(
        struct.c_name,
        struct.since,
        struct.summary,
        tuple(
            FieldView(member.name, _c_type(registry, member), tuple(one.offsets[i] for one in layouts))
            for i, member in enumerate(struct.members)
        ),
        tuple(one.size for one in layouts),
    )


def _number(bits: int, kind: str) -> str:
    return "float" if kind == "float" else f"{'u' * (kind == 'unsigned')}int{bits}_t"


def _c_type(registry: Registry, member: Member) -> str:
    if member.type in registry.types or member.type == "void":
        name = member.type
    else:
        name = "DML_TENSOR_DESC" if member.is_tensor else f"DML_{member.type}"
    return f"const {name}*" if member.pointer else name


# Rules.


def _operator(registry: Registry, operator: Operator, tables: _Tables, functions: set[str]) -> OperatorView:
    for member in operator.members:
        if member.optional or member.count or (member.pointer and not member.is_tensor):
            message = f"{member.name} is optional or an array; C has no form for that yet"
            raise SpecError([Finding(operator.position, "c-output", message)])
    stages: dict[Stage, list[RuleView]] = {Stage.COUNTS: [], Stage.VALUES: []}
    own: list[FunctionView] = []
    for rule in operator.rules:
        if rule.form != "json":
            same = [_same_field(operator, rule, check) for check in rule.checks]
            lines = [line for line in same if line is not None]
            if len(lines) < len(same):
                own.append(_function(registry, operator, rule, functions))
                lines = [RuleView(rule.id, own[-1].name, (0, 0))]
            stages[rule.stage] += lines
    return OperatorView(
        spec=operator,
        struct=_struct(registry, operator),
        tensors=tuple(
            TensorView(tensor.name, tensor.role == "input", tables.table(operator, tensor.name))
            for tensor in operator.tensors
        ),
        counts=tuple(stages[Stage.COUNTS]),
        values=tuple(stages[Stage.VALUES]),
        functions=tuple(own),
    )


def _same_field(operator: Operator, rule: Rule, check: Check) -> RuleView | None:
    """The line of a check that only compares a field of two tensors, for which there are shared functions."""
    if check.loops or check.guard is not None or rule.since.ordinal or rule.until is not None:
        return None
    match check.condition:
        case ir.Compare(
            op="==",
            left=ir.Field(tensor=ir.Tensor(name=left, index=None), name=field),
            right=ir.Field(tensor=ir.Tensor(name=right, index=None), name=other),
        ) if field == other and field in _SHARED and check.message == explain(check.condition, None):
            names = [tensor.name for tensor in operator.tensors]
            return RuleView(rule.id, f"dmlops_same_{field}", (names.index(left), names.index(right)))
    return None


def _function(registry: Registry, operator: Operator, rule: Rule, functions: set[str]) -> FunctionView:
    """The function that judges a rule; `functions` grows by the helpers that it calls."""
    printer = CPrinter(registry, operator)
    statements = [line for check in rule.checks for line in printer.check(rule, check)]
    functions |= printer.functions
    name = f"dmlops_{operator.slug}_{rule.slug.replace('-', '_')}"
    return FunctionView(name, rule.id, tuple(printer.tensors), tuple(statements))


def _tensor_rules(registry: Registry, stage: Stage, functions: set[str]) -> dict[str, list[str]]:
    """The rules of every tensor, by identifier, as the statements of one function."""
    printer = CPrinter(registry, None)
    fitting = [r for r in registry.tensor.rules if r.stage is stage and r.checks and r.form != "json"]
    rules = {
        rule.id: [line for check in rule.checks for line in printer.check(rule, check)] for rule in fitting
    }
    functions |= printer.functions
    return rules


def _longest_list(registry: Registry) -> int:
    """The most entries of any array that a rule computes."""
    rules = (*registry.tensor.rules, *(rule for operator in registry.operators for rule in operator.rules))
    arrays = (
        node
        for rule in rules
        for check in rule.checks
        for part in parts(check)
        for node in ir.walk(part)
        if node.type == ir.INTS
    )
    return max((upper_bound(node) or 0 for node in arrays), default=MAX_RANK)


# Messages.


def _general(rule: Rule) -> GeneralRuleView:
    return GeneralRuleView(rule.id, _pieces(rule.message), _pieces(rule.message + rule.hint))


def _pieces(message: str) -> tuple[MessagePart, ...]:
    parsed = string.Formatter().parse(message)
    return tuple(MessagePart(escaped(text), name) for text, name, _, _ in parsed)
