"""The C header: what its template prints of the registry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.expr.printer import SOURCE
from dmlgen.lint import all_rules
from dmlgen.message import explain
from dmlgen.outputs.c_dispatch import dispatches
from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.outputs.c_printer import CPrinter, field_bit, parts
from dmlgen.outputs.c_program import ENTRY, OPERATIONS, REDUCTIONS, SLOT, SMALL, VALUES, WORD, Program, Slots
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import plans_of
from dmlgen.reads import reads
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
from dmlgen.sentence import sentence
from dmlgen.sugar import broadcasts
from dmlgen.text import NO_TEXT, Message, Text

# Number types that C has by another name. BOOL differs from one set of headers to another (signed on Windows,
# unsigned in DirectX-Headers for Linux), so any declaration of ours would clash with some of them.
_STANDARD = {"SIZE_T": "size_t", "BOOL": "int32_t"}
_OPERATOR = "OPERATOR_DESC"
_OPERATOR_TYPE = "OPERATOR_TYPE"
_ALWAYS = (  # helpers that programs call, whatever the rules of tensors call
    *("add", "subtract", "multiply", "divide", "modulo", "min", "max", "abs"),
    *("bits", "signed", "power_of_two", "unsigned"),
)
_AS_GIVEN = -(1 << 63)  # no value that programs work out: these end at -(2^63 - 1)
_AS_GIVEN_SIZES = ir.ListOf((ir.Number(_AS_GIVEN, ir.INT),))
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
    """A member of a struct: C type, entries of an array inside it, offset for each size of a pointer."""

    name: str
    type: str
    length: int | None
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class StructView:
    """A struct or union, with its size for each size of a pointer.

    DirectML.h declares it as `declared_name` from the target version `since` on; `other_name` is another name
    that it may have there, or "".
    """

    keyword: str
    c_name: str
    declared_name: str
    other_name: str
    needs_d3d12: bool
    since: FeatureLevel
    summary: Text
    fields: tuple[FieldView, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class ProgramView:
    """A program: what it is, as a comment, and its bytes."""

    title: str
    code: tuple[str, ...]


@dataclass(frozen=True)
class PhraseView:
    """What a program that finds a violation says: of which member, and the format of the message."""

    member: str
    format: str


@dataclass(frozen=True)
class RuleView:
    """A line of a rule and what judges it; `reads` is where the members that it reads are listed.

    A shared function is given two members, by position; a program, where it starts, the number of its phrase.
    `alone` holds for rules that speak of no tensor: they hold of a fused activation too. `limits` holds for
    those on the count of an array of numbers that can be judged before outputs are known.
    """

    id: str
    judge: str
    start: int
    reads: int
    members: tuple[int, int]
    alone: bool
    limits: bool


@dataclass(frozen=True)
class GeneralRuleView:
    """A rule that is judged by tables. The second message is that of a value which a higher level takes."""

    id: str
    message: Message
    message_with_hint: Message


@dataclass(frozen=True)
class TypeListView:
    """Data types, by their values, in the order in which a support table names them."""

    values: tuple[int, ...]
    mask: int


@dataclass(frozen=True)
class SupportView:
    """What a tensor may be from a level on: a bit mask of dimension counts, the index of a type list.

    `condition` is the number of the operator's condition under which it may, counted from 1; 0 for always.
    """

    since: FeatureLevel
    ranks: int
    types: int
    condition: int


@dataclass(frozen=True)
class MemberView:
    """A member to look at; `detail` is where its table starts, its enumeration, its list of activations.

    `infers` holds for one that must be given for outputs to follow from it.
    """

    name: str
    kind: str
    count: str | None
    optional: bool
    is_input: bool
    infers: bool
    detail: int


@dataclass(frozen=True)
class OutputView:
    """An output and what its type and sizes follow from: members by position, or where programs start.

    A type or sizes that no rule demands stay where they are given.
    """

    member: int
    type_from: int | None
    sizes_from: int | None
    type_start: int | None
    sizes_start: int | None
    keeps_type: bool
    keeps_sizes: bool


@dataclass(frozen=True)
class ValueView:
    """Statements, and the text of a value after them."""

    statements: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class OperatorView:
    spec: Operator
    struct: StructView
    members: tuple[MemberView, ...]
    conditions: tuple[int, ...]  # where the program of each case of the support tables starts
    counts: tuple[RuleView, ...]
    arrays: tuple[RuleView, ...]
    values: tuple[RuleView, ...]
    advice: tuple[RuleView, ...]
    programs: tuple[ProgramView, ...]
    phrases: tuple[PhraseView, ...]
    outputs: tuple[OutputView, ...]

    @property
    def rules(self) -> tuple[RuleView, ...]:
        """All of them, in the order of judgement."""
        return self.counts + self.arrays + self.values + self.advice


class _Tables:
    """What operators have in common: support tables, lists of data types, of activations; equal ones once."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._starts: dict[tuple[SupportView, ...], int] = {}
        self._end = 0
        self.types: dict[tuple[str, ...], int] = {}
        self.activations: dict[tuple[tuple[int, int], ...], int] = {}
        self.enums = {name: number for number, name in enumerate(registry.enums)}

    @property
    def support(self) -> list[tuple[int, tuple[SupportView, ...]]]:
        """The tables with the index of the first line of each; a line that is no level ends them."""
        return [(start, lines) for lines, start in self._starts.items()]

    def table(self, operator: Operator, tensor: str, conditions: dict[ir.Expr, int]) -> int:
        """Where a tensor's table starts: newest level first, each level with other lines than the next."""
        levels: list[tuple[SupportView, ...]] = []
        for name, rows in operator.support.items():
            lines = tuple(
                SupportView(
                    self._registry.level[name],
                    sum(1 << rank for rank in row.ranks),
                    self.types.setdefault(row.types, len(self.types)),
                    0 if row.when is None else conditions.setdefault(row.when, len(conditions) + 1),
                )
                for row in rows
                if row.tensor == tensor
            )
            if not levels or [replace(line, since=levels[0][0].since) for line in lines] != [*levels[0]]:
                levels.insert(0, lines)
        table = tuple(line for lines in levels for line in lines)
        if table not in self._starts:
            self._starts[table] = self._end
            self._end += len(table) + 1
        return self._starts[table]

    def fusable(self, operator: Operator) -> int:
        """The index of the list of what the operator takes as fused activation."""
        fusable = self._registry.fusable(operator)
        activations = tuple((self._registry.operator[name].value, fusable[name].value) for name in fusable)
        return self.activations.setdefault(activations, len(self.activations))

    def type_lists(self) -> list[TypeListView]:
        lists = [tuple(self._registry.data_type[name].value for name in names) for names in self.types]
        return [TypeListView(values, sum(1 << value for value in values)) for values in lists]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The header."""
    tables = _Tables(registry)
    functions = set(_ALWAYS)
    code = [_Code(registry, operator) for operator in registry.operators]
    operators = [_operator(registry, tables, programs) for programs in code]
    structure = _tensor_rules(registry, Stage.STRUCTURE, functions)
    values = _tensor_rules(registry, Stage.VALUES, functions)
    tensor_size = _tensor_size(registry, functions)
    dispatch_functions: set[str] = set()
    dispatch = dispatches(registry, plans_of(templates.directory), dispatch_functions)
    general = (*registry.operator_rules, *(rule for rule in registry.tensor.rules if not rule.checks))
    header = templates.render(
        "c/dmlops.h.j2",
        number_types=[
            (name, _number(number.bits, number.kind))
            for name, number in registry.types.items()
            if name not in _STANDARD
        ],
        constants=registry.constants,
        enums=[_enum(registry, enum) for enum in registry.declared_enums],
        names=_names(registry),
        enum_names=list(tables.enums),
        data_types=registry.data_types,
        signed_types=sum(1 << value for value in registry.signed),
        interfaces=_interfaces(registry),
        structs=[_struct(registry, struct) for struct in registry.structs.values()],
        operators=operators,
        structure=structure,
        values=values,
        sound=_soundness(registry),
        list_capacity=max(_longest_list(registry), dispatch.longest_list),
        rule_texts=[(rule.id, sentence(rule)) for rule in all_rules(registry)],
        general={rule.id: _general(rule) for rule in general},
        buffer=next(e.value for e in registry.enums["TENSOR_TYPE"].entries if e.name == "BUFFER"),
        type_lists=tables.type_lists(),
        support=tables.support,
        activations=list(tables.activations),
        positions=_positions(registry),
        first_outputs=list(accumulate((len(view.outputs) for view in operators), initial=0)),
        tensor_size=tensor_size,
        functions=functions,
        dispatch_functions=dispatch_functions - functions,
        operations=OPERATIONS,
        small=SMALL,
        slot=SLOT,
        reductions=REDUCTIONS,
        values_shown=VALUES,
        entry=ENTRY,
        word=WORD,
        slots=Slots(
            max(programs.slots.integers for programs in code), max(programs.slots.lists for programs in code)
        ),
        flags=[enum.name for enum in registry.enums.values() if enum.flags],
        tensor_fields=[member.name for member in registry.structs["BUFFER_TENSOR_DESC"].members],
        most_members=max(len(operator.members) for operator in registry.operators),
        most_outputs=max(len(operator.outputs) for operator in registry.operators),
        longest_desc=max(layout(registry, one, POINTER_SIZES[0]).size for one in registry.operators),
        hints=registry.hints,
        newest=registry.levels[-1].value,
        dispatch=dispatch,
    )
    return {"include/dmlops.h": header}


# Declarations.


def _names(registry: Registry) -> dict[str, list[tuple[int, str]]]:
    """The values of each enumeration as messages show them."""
    enums = registry.declared_enums
    names = {enum.name: [(entry.value, entry.name) for entry in enum.entries] for enum in enums}
    newest_first = [(level.value, level.name) for level in reversed(registry.levels)]
    return {**names, "FEATURE_LEVEL": newest_first}


def _enum(registry: Registry, enum: Enum) -> EnumView:
    aliases = [
        EnumEntry(operator.alias, operator.value, operator.since, NO_TEXT)
        for operator in registry.operators
        if operator.alias and enum.name == _OPERATOR_TYPE
    ]
    entries = sorted((*enum.entries, *aliases), key=lambda entry: (entry.since.ordinal, entry.value))
    return EnumView(
        enum.c_name,
        enum.since,
        tuple(
            (since, tuple(ConstantView(enum.prefix + entry.name, entry.value, since) for entry in group))
            for since, group in groupby(entries, key=lambda entry: entry.since)
        ),
    )


def _struct(registry: Registry, struct: Struct | Operator) -> StructView:
    layouts = [layout(registry, struct, size) for size in POINTER_SIZES]
    declared_name, other_name, since = _declared(struct)
    return StructView(
        "union" if isinstance(struct, Struct) and struct.union else "struct",
        struct.c_name,
        declared_name,
        other_name,
        any(member.type in registry.foreign for member in struct.members),
        since,
        struct.summary,
        tuple(
            FieldView(
                member.name,
                c_type(registry, member),
                member.length,
                tuple(one.offsets[i] for one in layouts),
            )
            for i, member in enumerate(struct.members)
        ),
        tuple(one.size for one in layouts),
    )


def _declared(struct: Struct | Operator) -> tuple[str, str, FeatureLevel]:
    """The name by which DirectML.h first declares a struct, its other name, and the first target version."""
    if isinstance(struct, Struct):
        return struct.c_name, "", struct.since
    if struct.alias and struct.since.ordinal < struct.struct_since.ordinal:
        return struct.c_alias, struct.c_name, struct.since
    return struct.c_name, struct.c_alias, struct.struct_since


def _interfaces(registry: Registry) -> list[str]:
    """The types that structs hold addresses of and that other headers declare."""
    members = (member for struct in registry.structs.values() for member in struct.members)
    return sorted({member.type for member in members if member.pointer and _is_foreign(registry, member)})


def _is_foreign(registry: Registry, member: Member) -> bool:
    enums = {enum.name for enum in registry.declared_enums}
    own = {"tensor", "void", "char", *registry.types, *registry.structs, *enums}
    return member.type not in own


def _number(bits: int, kind: str) -> str:
    if kind == "float":
        return {32: "float", 64: "double"}[bits]
    return f"{'u' * (kind == 'unsigned')}int{bits}_t"


def c_type(registry: Registry, member: Member) -> str:
    """The type of a member in its C struct."""
    if _is_foreign(registry, member):
        return f"{member.type}*" if member.pointer else member.type
    if member.type in _STANDARD:
        name = _STANDARD[member.type]
    elif member.type in registry.types or member.type in ("void", "char"):
        name = member.type
    else:
        name = "DML_TENSOR_DESC" if member.is_tensor else f"DML_{member.type}"
    return f"const {name}*" if member.pointer else name


# Rules.


class _Code:
    """The programs of an operator, one after the other."""

    def __init__(self, registry: Registry, operator: Operator) -> None:
        self._registry = registry
        self.operator = operator
        self.programs: list[ProgramView] = []
        self.phrases: dict[PhraseView, int] = {}
        self.slots = Slots(1, 1)
        self._reads: dict[tuple[int, ...], int] = {}
        self._end = 0

    def check(self, rule: Rule, check: Check) -> RuleView:
        """The line that judges a check."""
        program = Program(self._registry, self.operator)
        phrase = PhraseView(check.member, program.check(rule, check, parts(check)))
        number = self.phrases.setdefault(phrase, len(self.phrases))
        start = self._add(f"{rule.id}: {SOURCE.print(check.condition)}", program.code, program.slots)
        alone, limits = not _speaks_of_tensors(rule), _limits(self._registry, self.operator, rule)
        return RuleView(rule.id, "dmlops_by_program", start, self.reads(rule), (number, 0), alone, limits)

    def reads(self, rule: Rule) -> int:
        """Where the list of what a rule reads starts: members by position, each with its bits, then 255."""
        bits: dict[int, int] = {}
        positions = [member.name for member in self.operator.members]
        for path in sorted(reads(rule)):
            owner, _, field = path.partition(".")
            position = positions.index(owner)
            bits[position] = bits.get(position, 0) | field_bit(self._registry, field)
        code = (*(byte for pair in sorted(bits.items()) for byte in pair), 0xFF)
        if code not in self._reads:
            self._reads[code] = self._add("reads", [str(byte) for byte in code], Slots(0, 0))
        return self._reads[code]

    def number(self, title: str, value: ir.Expr) -> int:
        """Where the program of an expression starts."""
        program = Program(self._registry, self.operator)
        program.number(value)
        return self._add(f"{title}: {SOURCE.print(value)}", program.code, program.slots)

    def array(self, title: str, value: ir.Expr) -> int:
        """Where the program of an array starts."""
        program = Program(self._registry, self.operator)
        program.array(value)
        return self._add(f"{title}: {SOURCE.print(value)}", program.code, program.slots)

    def _add(self, title: str, code: list[str], used: Slots) -> int:
        start = self._end
        self.programs.append(ProgramView(title, tuple(code)))
        self._end += len(code)
        self.slots = Slots(max(self.slots.integers, used.integers), max(self.slots.lists, used.lists))
        return start


def _operator(registry: Registry, tables: _Tables, code: _Code) -> OperatorView:
    operator = code.operator
    members, conditions = _members(registry, operator, tables)
    places = {member.name: place for place, member in enumerate(members)}
    stages: dict[Stage, list[RuleView]] = {stage: [] for stage in Stage if stage is not Stage.STRUCTURE}
    for rule in operator.rules:
        if rule.form != "json" and rule.checks:
            if rule.stage is Stage.STRUCTURE:
                message = f"{rule.id}: a rule of an operator is judged with counts, arrays or values"
                raise SpecError([Finding(rule.position, "c-output", message)])
            stages[rule.stage] += [
                _same_field(code, rule, check, places) or code.check(rule, check) for check in rule.checks
            ]
    starts = [code.number(f"case {number}", condition) for condition, number in conditions.items()]
    outputs = _outputs(code, places)
    return OperatorView(
        spec=operator,
        struct=_struct(registry, operator),
        members=members,
        conditions=tuple(starts),
        counts=tuple(stages[Stage.COUNTS]),
        arrays=tuple(stages[Stage.ARRAYS]),
        values=tuple(stages[Stage.VALUES]),
        advice=tuple(stages[Stage.ADVICE]),
        programs=tuple(code.programs),
        phrases=tuple(code.phrases),
        outputs=outputs,
    )


def _members(
    registry: Registry, operator: Operator, tables: _Tables
) -> tuple[tuple[MemberView, ...], dict[ir.Expr, int]]:
    """The members to look at, and the conditions of support tables with their numbers."""
    conditions: dict[ir.Expr, int] = {}
    members: list[MemberView] = []
    inferring = _inferring(operator)
    for member in operator.members:
        kind, detail = "", 0
        if member.is_tensor:
            kind, detail = "TENSOR", tables.table(operator, member.name, conditions)
        elif member.type == _OPERATOR:
            kind, detail = "ACTIVATION", tables.fusable(operator)
        elif member.type in registry.enums:
            kind, detail = "ENUM", tables.enums[member.type]
        elif member.pointer:
            kind = "ADDRESS"
        if kind:
            members.append(
                MemberView(
                    member.name,
                    kind,
                    member.count,
                    member.optional,
                    is_input=member.role == "input",
                    infers=member.pointer and not member.optional and member.name in inferring,
                    detail=detail,
                )
            )
    return tuple(members), conditions


def _speaks_of_tensors(rule: Rule) -> bool:
    return any(
        isinstance(node, ir.Tensor | ir.Tensors)
        for check in rule.checks
        for part in parts(check)
        for node in ir.walk(part)
    )


def _limits(registry: Registry, operator: Operator, rule: Rule) -> bool:
    """Whether a rule says how many entries an array of numbers may have, and speaks of no output."""
    nodes = [node for check in rule.checks for part in parts(check) for node in ir.walk(part)]
    counts = {
        member.count for member in operator.attributes if member.count and member.type in registry.types
    }
    outputs = {member.name for member in operator.outputs}
    tensors = {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors)}
    members = {node.name for node in nodes if isinstance(node, ir.Member)}
    return rule.stage is Stage.COUNTS and bool(counts & members) and not outputs & tensors


def _same_field(code: _Code, rule: Rule, check: Check, places: dict[str, int]) -> RuleView | None:
    """The line of a check that only compares a field of two tensors, for which there are shared functions.

    They skip a tensor that is absent, so the guard may ask for both to be there, as it must for the optional.
    """
    if check.loops or rule.since.ordinal or rule.until is not None:
        return None
    match check.condition:
        case ir.Compare(
            op="==",
            left=ir.Field(tensor=ir.Tensor(name=left, index=None), name=field) as one,
            right=ir.Field(tensor=ir.Tensor(name=right, index=None), name=other),
        ) if field == other and field in _SHARED and check.message == explain(check.condition):
            if check.hint is not None and check.hint.when != broadcasts(one, check.condition.right):
                return None
            optional = {name for name in (left, right) if code.operator.member[name].optional}
            given = _given(check.guard)
            if given is not None and optional <= given <= {left, right}:
                members = places[left], places[right]
                return RuleView(rule.id, f"dmlops_same_{field}", 0, code.reads(rule), members, False, False)
    return None


def _given(guard: ir.Expr | None) -> set[str] | None:
    """The tensors that a guard asks to be given; None if it asks for anything else."""
    match guard:
        case None:
            return set()
        case ir.Present(item=ir.Tensor(name=name, index=None)):
            return {name}
        case ir.Logic(op="and", operands=operands):
            parts = [_given(operand) for operand in operands]
            known = [part for part in parts if part is not None]
            return set().union(*known) if len(known) == len(parts) else None
    return None


def _inferring(operator: Operator) -> set[str]:
    """The members that outputs follow from."""
    expressions = (one for inference in operator.inferences for one in inference.expressions)
    nodes = (node for expression in expressions for node in ir.walk(expression))
    return {node.name for node in nodes if isinstance(node, ir.Tensor | ir.Tensors | ir.Member)}


def _outputs(code: _Code, places: dict[str, int]) -> tuple[OutputView, ...]:
    """The outputs in the order of the struct."""
    operator = code.operator
    views = []
    for output in operator.outputs:
        data_type, sizes = (_inferred(operator, output.name, field) for field in ("DataType", "Sizes"))
        type_from, sizes_from = _field_of_member(data_type), _field_of_member(sizes)
        type_start = sizes_start = None
        if data_type is not None and type_from is None:
            type_start = code.number(f"{output.name}.DataType", data_type)
        if sizes is not None and sizes_from is None:
            sizes_start = code.array(f"{output.name}.Sizes", sizes)
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
    """What an output's field follows from; a value that stands for the given one where nothing tells it."""
    found: ir.Expr | None = None
    for one in reversed([one for one in operator.inferences if (one.tensor, one.field) == (tensor, field)]):
        if one.when is None:
            found = one.value
        else:
            as_given = ir.Number(_AS_GIVEN, ir.INT) if field == "DataType" else _AS_GIVEN_SIZES
            found = ir.Conditional(one.when, one.value, found or as_given)
    return found


def _field_of_member(value: ir.Expr | None) -> str | None:
    """The member of which an expression is just a field, of its first tensor if it is an array."""
    match value:
        case ir.Field(tensor=ir.Tensor(name=name, index=None | ir.Number(value=0))):
            return name
    return None


def _tensor_size(registry: Registry, functions: set[str]) -> ValueView:
    """The bytes of a tensor that leaves their number out."""
    printer = CPrinter(registry, None)
    statements, value = printer.value(registry.tensor.defaults["TotalTensorSizeInBytes"])
    functions |= printer.functions
    return ValueView(tuple(statements), value)


def _positions(registry: Registry) -> list[int]:
    """Where operators stand among all, by type from 0 on, counted from 1; 0 of a number that is none."""
    types = [operator.value for operator in registry.operators]
    return [types.index(type_) + 1 if type_ in types else 0 for type_ in range(max(types) + 1)]


def _tensor_rules(registry: Registry, stage: Stage, functions: set[str]) -> dict[str, list[str]]:
    """The rules of every tensor, by identifier, as the statements of one function."""
    printer = CPrinter(registry, None)
    rules = {
        rule.id: [line for check in rule.checks for line in printer.check(rule, check)]
        for rule in _rules_of_tensors(registry, stage)
    }
    functions |= printer.functions
    return rules


def _soundness(registry: Registry) -> dict[str, list[str]]:
    """The same of both stages, as the statements of a function that gives 0 where any rule is broken."""
    printer = CPrinter(registry, None)
    rules = [rule for stage in (Stage.STRUCTURE, Stage.VALUES) for rule in _rules_of_tensors(registry, stage)]
    return {rule.id: [line for check in rule.checks for line in printer.test(rule, check)] for rule in rules}


def _rules_of_tensors(registry: Registry, stage: Stage) -> list[Rule]:
    rules = registry.tensor.rules
    return [rule for rule in rules if rule.stage is stage and rule.checks and rule.form != "json"]


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
    return max((BOUNDS.length(node)[1] for node in arrays), default=MAX_RANK)


# Messages.


def _general(rule: Rule) -> GeneralRuleView:
    return GeneralRuleView(rule.id, rule.message, rule.message + rule.hint)
