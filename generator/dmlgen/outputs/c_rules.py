"""The part of the C header that validates.

Rules are programs, members and support are tables, and what an output is inferred from is a program again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from dmlgen.diagnostics import fault
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.outputs.c_program import AS_GIVEN, TENSOR, CheckView, Code, ProgramView
from dmlgen.outputs.c_types import StructView, c_type, struct_view
from dmlgen.outputs.same_field import same_field
from dmlgen.registry import Check, FeatureLevel, Member, Operator, Registry, Rule, Stage

_OPERATOR = "OPERATOR_DESC"
_AS_GIVEN = ir.Constant("DMLOPS_AS_GIVEN", AS_GIVEN)


@dataclass(frozen=True)
class RuleView:
    """A line of a rule: the member, the message and the start of the program; `reads` is the start of the
    list of what it reads.

    Without a program, the field that must be the `same` of two members, by position. `fused` is true for
    rules that also apply to a fused activation, `limits` for rules on the count of an array of numbers that
    can be checked before outputs are known.
    """

    id: str
    reads: int
    member: str = ""
    format: str = ""
    start: int = 0
    operands: tuple[int, int] = (0, 0)
    same: str = ""
    fused: bool = False
    limits: bool = False


@dataclass(frozen=True)
class TensorRulesView:
    """The rules on every tensor, structure rules first, each with the bits of the fields that it reads, as C.

    `structure` is the number of structure rules, `demanded` that of all but the advice, and `size_start` is
    the start of the program for a tensor's size in bytes.
    """

    programs: tuple[ProgramView, ...]
    rules: tuple[tuple[CheckView, str], ...]
    structure: int
    demanded: int
    size_start: int


@dataclass(frozen=True)
class TypeListView:
    """Data types, by their values, in the order in which a support table lists them."""

    values: tuple[int, ...]
    mask: int


@dataclass(frozen=True)
class SupportView:
    """The support of a tensor from a level on: a bit mask of dimension counts, names of data types.

    `condition` is the number of the operator's condition under which the row applies, counted from 1; 0 for
    always.
    """

    since: FeatureLevel
    ranks: int
    types: tuple[str, ...]
    condition: int


@dataclass(frozen=True)
class MemberView:
    """A member, with what it can be, depending on its kind.

    That is the lines of a table, newest level first, or the names and levels of activations. `enum` is the
    name of its enumeration, `type` that of a number or of what an address leads to, `entry` the latter in C,
    and `typed_by` the member that says the type. `infers` is true for a member that must be given for outputs
    to be inferred, `in_place` for a tensor to whose range an output can be written.
    """

    name: str
    kind: str
    count: str | None
    optional: bool
    is_input: bool
    infers: bool
    in_place: bool
    support: tuple[SupportView, ...] = ()
    activations: tuple[tuple[str, int], ...] = ()
    enum: str = ""
    type: str = ""
    entry: str = ""
    typed_by: str | None = None


@dataclass(frozen=True)
class OutputView:
    """An output and what its type and sizes are inferred from: members by position, or the starts of
    programs.

    A given type or sizes are kept if no rule requires others.
    """

    member: int
    type_from: int | None
    sizes_from: int | None
    type_start: int | None
    sizes_start: int | None
    keeps_type: bool
    keeps_sizes: bool


@dataclass(frozen=True)
class OperatorView:
    name: str
    struct: StructView
    members: tuple[MemberView, ...]
    conditions: tuple[int, ...]  # the start of the program of each case of the support tables
    rules: tuple[RuleView, ...]  # in the order in which they are checked
    firsts: tuple[int, ...]  # the first rule of each stage, and their number
    programs: tuple[ProgramView, ...]
    outputs: tuple[OutputView, ...]
    lists: int  # that names denote
    longest_list: int  # that a rule computes


class Tables:
    """Tables shared by operators: of support, lists of data types, of activations; equal ones once."""

    def __init__(self, operators: Iterable[OperatorView]) -> None:
        self._starts: dict[tuple[SupportView, ...], int] = {}
        self.types: dict[tuple[str, ...], int] = {}
        self.activations: dict[tuple[tuple[str, int], ...], int] = {}
        end = 0
        for member in (member for operator in operators for member in operator.members):
            if member.kind == "ACTIVATION":
                self.activations.setdefault(member.activations, len(self.activations))
            if member.kind == "TENSOR" and member.support not in self._starts:
                self._starts[member.support] = end
                end += len(member.support) + 1
                for line in sorted(member.support, key=lambda line: line.since.ordinal):
                    self.types.setdefault(line.types, len(self.types))

    @property
    def support(self) -> list[tuple[int, tuple[SupportView, ...]]]:
        """The tables with the index of the first line of each; each ends with a line without a level."""
        return [(start, lines) for lines, start in self._starts.items()]

    def detail(self, member: MemberView, struct: str) -> str:
        """The start of a member's table, its activations, its enumeration, the size of an entry, or the
        offset of the member of `struct` that says its type, as C."""
        match member.kind:
            case "TENSOR":
                return str(self._starts[member.support])
            case "ACTIVATION":
                return str(self.activations[member.activations])
            case "ENUM":
                return f"DMLOPS_ENUM_{member.enum}"
            case "ADDRESS":
                return f"sizeof({member.entry})"
        return f"offsetof({struct}, {member.typed_by})" if member.typed_by else "0"

    def type_lists(self, registry: Registry) -> list[TypeListView]:
        lists = [tuple(registry.data_type[name].value for name in names) for names in self.types]
        return [TypeListView(values, sum(1 << value for value in values)) for values in lists]


class OperatorCode(Code):
    """The programs of an operator, with what they print and read."""

    operator: Operator

    def __init__(self, registry: Registry, operator: Operator) -> None:
        super().__init__(registry, operator)
        self._reads: dict[tuple[str, ...], int] = {}

    def rule(self, rule: Rule, check: Check) -> RuleView:
        """The line that checks a condition."""
        reads, view = self.reads(rule), self.check(rule, check)
        fused, limits = rule.concerns_attributes, _limits(self.registry, self.operator, rule)
        return RuleView(rule.id, reads, view.member, view.format, view.start, fused=fused, limits=limits)

    def reads(self, rule: Rule) -> int:
        """The start of the list of what a rule reads: members by position, each with bits of fields."""
        positions = [member.name for member in self.operator.members]
        fields: dict[str, list[str]] = {}
        for path in sorted(rule.reads):
            owner, _, field = path.partition(".")
            fields.setdefault(owner, []).append(field)
        code: list[str] = []
        for owner in sorted(fields, key=positions.index):
            code += [f"{positions.index(owner)} /* {owner} */", field_bits(self.registry, fields[owner])]
        key = (*code, "DMLOPS_END")
        if key not in self._reads:
            self._reads[key] = self.data("", key)
        return self._reads[key]


def operator_view(registry: Registry, operator: Operator) -> OperatorView:
    """Everything that validates an operator, and what its outputs are inferred from."""
    code = OperatorCode(registry, operator)
    members, conditions = _members(registry, operator)
    places = {member.name: place for place, member in enumerate(members)}
    stages: dict[Stage, list[RuleView]] = {stage: [] for stage in Stage if stage is not Stage.STRUCTURE}
    for rule in operator.rules:
        if rule.applies_to != "json" and rule.checks:
            if rule.stage is Stage.STRUCTURE:
                message = f"{rule.id}: a rule of an operator is judged with counts, arrays or values"
                raise fault(rule.position, "c-output", message)
            stages[rule.stage] += [
                _same_field(code, rule, check, places) or code.rule(rule, check) for check in rule.checks
            ]
    starts = [code.value(f"case {number}", condition) for condition, number in conditions.items()]
    outputs = _outputs(code, places)
    return OperatorView(
        name=operator.name,
        struct=struct_view(registry, operator),
        members=members,
        conditions=tuple(starts),
        rules=tuple(chain.from_iterable(stages.values())),
        firsts=tuple(accumulate(map(len, stages.values()), initial=0)),
        programs=tuple(code.programs),
        outputs=outputs,
        lists=code.lists,
        longest_list=longest_list(operator.rules),
    )


def tensor_rules_view(registry: Registry, code: Code) -> TensorRulesView:
    """The rules on every tensor."""
    known = [one for one in registry.tensor.rules if one.checks and one.applies_to != "json"]
    rules: list[tuple[CheckView, str]] = []
    ends: dict[Stage, int] = {}
    for stage in (Stage.STRUCTURE, Stage.VALUES, Stage.ADVICE):
        for rule in (one for one in known if one.stage is stage):
            bits = field_bits(registry, rule.reads)
            rules += [(code.check(rule, check), bits) for check in rule.checks]
        ends[stage] = len(rules)
    size = code.value("bytes of a tensor", registry.tensor.defaults["TotalTensorSizeInBytes"])
    structure, demanded = ends[Stage.STRUCTURE], ends[Stage.VALUES]
    return TensorRulesView(tuple(code.programs), tuple(rules), structure, demanded, size)


def field_bits(registry: Registry, fields: Iterable[str]) -> str:
    """The bits, as C, for what is wrong or read: fields of a tensor, or another member."""
    known = {member.name for member in registry.structs[TENSOR].members}
    bits = sorted({f"DMLOPS_BIT_{field if field in known else 'MEMBER'}" for field in fields})
    return " | ".join(bits) or "0"


def positions(registry: Registry) -> list[int]:
    """The index of each operator, by type from 0 on, counted from 1; 0 for an unknown type."""
    types = [operator.value for operator in registry.operators]
    return [types.index(type_) + 1 if type_ in types else 0 for type_ in range(max(types) + 1)]


def longest_list(rules: Iterable[Rule]) -> int:
    """The most entries of any array that a rule computes."""
    arrays = (
        node for rule in rules for part in rule.expressions for node in ir.walk(part) if node.type == ir.INTS
    )
    return max((BOUNDS.length(node)[1] for node in arrays), default=MAX_RANK)


def _members(registry: Registry, operator: Operator) -> tuple[tuple[MemberView, ...], dict[ir.Expr, int]]:
    """The members in struct order, and the conditions of support tables with their numbers."""
    conditions: dict[ir.Expr, int] = {}
    members: list[MemberView] = []
    inferring = _inferring(operator)
    activations = tuple((name, since.value) for name, since in registry.fusable(operator).items())
    for member in operator.members:
        view = plain_member(registry, member)
        members.append(
            replace(
                view,
                is_input=member.role == "input",
                infers=member.pointer and not member.optional and member.name in inferring,
                in_place=member.name in operator.in_place,
                support=_table(registry, operator, member.name, conditions) if member.is_tensor else (),
                activations=activations if view.kind == "ACTIVATION" else (),
            )
        )
    return tuple(members), conditions


def plain_member(registry: Registry, member: Member) -> MemberView:
    """A member by itself, without what its operator says of it."""
    kind = _member_kind(registry, member)
    return MemberView(
        member.name,
        kind,
        member.count,
        member.optional,
        is_input=False,
        infers=False,
        in_place=False,
        enum=member.type if kind == "ENUM" else "",
        type=member.type if kind in ("ADDRESS", "BY_VALUE") else "",
        entry=c_type(registry, replace(member, pointer=False)) if kind == "ADDRESS" else "",
        typed_by=member.typed_by,
    )


def _member_kind(registry: Registry, member: Member) -> str:
    """The kind of check; BY_VALUE has none, since its type allows any value."""
    if member.is_tensor:
        return "TENSOR"
    if member.type == _OPERATOR:
        return "ACTIVATION"
    if member.type in registry.enums:
        return "ENUM"
    return "ADDRESS" if member.pointer else "BY_VALUE"


def _table(
    registry: Registry, operator: Operator, tensor: str, conditions: dict[ir.Expr, int]
) -> tuple[SupportView, ...]:
    """A tensor's table: newest level first, without levels that repeat the next."""
    levels: list[tuple[SupportView, ...]] = []
    for name, rows in operator.support.items():
        lines = tuple(
            SupportView(
                registry.level[name],
                sum(1 << rank for rank in row.ranks),
                row.types,
                0 if row.when is None else conditions.setdefault(row.when, len(conditions) + 1),
            )
            for row in rows
            if row.tensor == tensor
        )
        if not levels or [replace(line, since=levels[0][0].since) for line in lines] != [*levels[0]]:
            levels.insert(0, lines)
    return tuple(line for lines in levels for line in lines)


def _limits(registry: Registry, operator: Operator, rule: Rule) -> bool:
    """Whether a rule limits the count of an array of numbers and concerns no output."""
    nodes = [node for part in rule.expressions for node in ir.walk(part)]
    counts = {
        member.count for member in operator.attributes if member.count and member.type in registry.types
    }
    outputs = {member.name for member in operator.outputs}
    tensors = {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors)}
    members = {node.name for node in nodes if isinstance(node, ir.Member)}
    return rule.stage is Stage.COUNTS and bool(counts & members) and not outputs & tensors


def _same_field(code: OperatorCode, rule: Rule, check: Check, places: dict[str, int]) -> RuleView | None:
    """A line for a check that a shared function makes."""
    same = same_field(code.operator, rule, check)
    if same is None:
        return None
    members = places[same.tensor], places[same.other]
    return RuleView(rule.id, code.reads(rule), operands=members, same=same.field)


def _inferring(operator: Operator) -> set[str]:
    """The members from which outputs are inferred."""
    expressions = (one for inference in operator.inferences for one in inference.expressions)
    nodes = (node for expression in expressions for node in ir.walk(expression))
    return {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors | ir.Member)}


def _outputs(code: OperatorCode, places: dict[str, int]) -> tuple[OutputView, ...]:
    """The outputs in struct order."""
    operator = code.operator
    views = []
    for output in operator.outputs:
        data_type, sizes = (_inferred(operator, output.name, field) for field in ("DataType", "Sizes"))
        type_from, sizes_from = _field_of_member(data_type), _field_of_member(sizes)
        type_start = sizes_start = None
        if data_type is not None and type_from is None:
            type_start = code.value(f"{output.name}.DataType", data_type)
        if sizes is not None and sizes_from is None:
            sizes_start = code.value(f"{output.name}.Sizes", sizes)
        views.append(
            OutputView(
                places[output.name],
                None if type_from is None else places[type_from],
                None if sizes_from is None else places[sizes_from],
                type_start,
                sizes_start,
                operator.is_default(output.name, "DataType"),
                operator.is_default(output.name, "Sizes"),
            )
        )
    return tuple(views)


def _inferred(operator: Operator, tensor: str, field: str) -> ir.Expr | None:
    """The expression from which an output's field is inferred; a marker for the given value if it cannot be
    inferred."""
    found: ir.Expr | None = None
    for one in reversed([one for one in operator.inferences if (one.tensor, one.field) == (tensor, field)]):
        if one.when is None:
            found = one.value
        else:
            as_given = _AS_GIVEN if field == "DataType" else ir.ListOf((_AS_GIVEN,))
            found = ir.Conditional(one.when, one.value, found or as_given)
    return found


def _field_of_member(value: ir.Expr | None) -> str | None:
    """The member of which an expression is just a field; for an array, of its first tensor."""
    match value:
        case ir.Field(tensor=ir.Tensor(name=name, index=None | ir.Number(value=0))):
            return name
    return None
