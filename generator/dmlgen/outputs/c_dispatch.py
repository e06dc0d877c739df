"""The part of the C header that plans dispatches: planners in C, and what each operator passes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS
from dmlgen.names import pascal
from dmlgen.outputs.c_inputs import InputCode, InputProgram
from dmlgen.outputs.c_rules import ProgramView
from dmlgen.outputs.definition_inputs import lists, operands
from dmlgen.outputs.hlsl_definition import HlslDefinition, shader_of
from dmlgen.outputs.hlsl_definition.static import Static, static_of
from dmlgen.outputs.hlsl_map import map_text
from dmlgen.outputs.hlsl_names import macro, plain
from dmlgen.outputs.hlsl_types import hlsl_type
from dmlgen.outputs.python_schedule import map_operands, moves
from dmlgen.outputs.reads import widened
from dmlgen.plans.functions import c_name, c_type, definition, head, layouts, numbers, taken, types, wrapped
from dmlgen.plans.model import Enumeration, ListOf, Plans, Record
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.schedules.schedule import Schedule


@dataclass(frozen=True)
class TensorView:
    """A tensor for a planner: the field of the record where it goes, the prefix of its macros, its member by
    position, and its index in an array of tensors: None for the current one."""

    field: str
    macro: str
    place: int
    entry: int | None
    as_bits: bool
    output: bool
    held: bool


@dataclass(frozen=True)
class ShaderView:
    """The input of the planner of an operator's shader.

    That is a record with `tensors`; the program at `start` fills the rest of it, with `switches` as names of
    macros. The one at `trace`, if that is not 0, computes the target of a coordinate. `each` is the array of
    tensors for each of which the planner is called. `fused` is a member with an activation that may run in
    its own shader, and `output` what that one writes then. Members are given by position; -1 is none.
    """

    record: str
    planner: str
    tensors: tuple[TensorView, ...]
    programs: tuple[ProgramView, ...]
    switches: tuple[str, ...]
    start: int
    trace: int = 0
    each: int = -1
    static: Static | None = None
    fused: int = -1
    output: int = -1


@dataclass(frozen=True)
class OperatorPart:
    """The parts for one operator.

    These are its shader, the lists that names denote, fused activations that run in their own shaders, and
    the longest array that is computed.
    """

    shader: ShaderView
    lists: int
    left: tuple[str, ...]
    longest_list: int


@dataclass(frozen=True)
class ReasonView:
    """A reason why there is no plan: its name, number, meaning, and the format and arguments of its text."""

    name: str
    value: int
    meaning: str
    format: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class PlannersView:
    """The planners in C."""

    reasons: tuple[ReasonView, ...]
    capabilities: Enumeration
    types: Sequence[Record | ListOf]
    taken: Sequence[Record]  # by planners
    layouts: Sequence[Record]  # of constants
    heads: tuple[str, ...]
    functions: tuple[str, ...]
    called_of_lists: frozenset[str]
    c_type = staticmethod(c_type)
    c_name = staticmethod(c_name)
    numbers = staticmethod(numbers)


@dataclass(frozen=True)
class DispatchView:
    """The inputs of planners, with the most and longest lists."""

    shaders: Mapping[str, ShaderView]
    activations: tuple[Operator, ...]  # those with parameters that can be fused
    apart: tuple[Operator, ...]  # activations that may run in their own shader
    single_type: int
    double_type: int
    native_types: int  # bit mask of those that HLSL has
    longest_list: int
    lists: int

    @property
    def planners(self) -> dict[str, str]:
        """The planners of schedules, by the records that they take."""
        return {one.record: one.planner for one in self.shaders.values() if one.static is None}


def dispatches(registry: Registry, plans: Plans, parts: Mapping[str, OperatorPart]) -> DispatchView:
    """The view, from the parts of all operators."""
    shaders = {name: part.shader for name, part in parts.items()}
    left = {name for part in parts.values() for name in part.left}
    _check_capacities(registry, plans, shaders)
    return DispatchView(
        shaders=shaders,
        activations=_activations(registry),
        apart=tuple(operator for operator in registry.operators if operator.name in left),
        single_type=registry.data_type["FLOAT32"].value,
        double_type=registry.data_type["FLOAT64"].value,
        native_types=sum(1 << one.value for one in registry.data_types if hlsl_type(one).is_native),
        longest_list=max(part.longest_list for part in parts.values()),
        lists=max(part.lists for part in parts.values()),
    )


@cache
def planners(plans: Plans) -> PlannersView:
    """The planners, translated."""
    functions = [definition(plans, function) for function in plans.functions]
    return PlannersView(
        reasons=tuple(_reasons(plans)),
        capabilities=plans.capabilities,
        types=types(plans),
        taken=taken(plans),
        layouts=layouts(plans),
        heads=tuple(wrapped(head(function) + ";") for function in plans.functions),
        functions=tuple(function.text for function in functions),
        called_of_lists=frozenset().union(*(function.called for function in functions)),
    )


def _reasons(plans: Plans) -> Iterator[ReasonView]:
    conversions = {"operator": "%s", "member": "%s", "activation": "%s", "number": "%lld"}
    arguments = {
        "operator": "operator_name",
        "member": "member",
        "activation": "dmlops_name(dmlops_names_OPERATOR_TYPE, work->number)",
        "number": "(long long)work->number",
    }
    for name, value in plans.reasons.names.items():
        if name == "DEVICE":  # no plan depends on it
            continue
        format_, given = "", []
        for part in plans.reasons.texts[name].replace("%", "%%").split("{"):
            field, brace, rest = part.partition("}")
            format_ += conversions[field] + rest if brace else part
            given += [arguments[field]] if brace else []
        meaning = plans.reasons.texts[name].format(
            operator="the operator", member="a tensor", activation="an activation", number="n"
        )
        yield ReasonView(name, value, meaning, format_, tuple(given))


def _longest_list(schedule: Schedule | None) -> int:
    """The most entries of any array that is computed."""
    arrays = (
        node
        for expression in (schedule.expressions if schedule is not None else ())
        for node in ir.walk(expression)
        if node.type == ir.INTS
    )
    return max((BOUNDS.length(node)[1] for node in arrays), default=0)


def _check_capacities(registry: Registry, plans: Plans, shaders: Mapping[str, ShaderView]) -> None:
    """Checks that fixed-size lists have enough room."""
    for name, shader in shaders.items():
        record = plans.record(shader.record)
        tensors = record.field("tensors")
        room = tensors.type.capacity if tensors is not None and isinstance(tensors.type, ListOf) else None
        if room is not None and len(shader.tensors) > room:
            finding = f"{name} has {len(shader.tensors)} tensors; planners take {room}"
            raise SpecError([Finding(registry.operator[name].position, "c-output", finding)])


def _activations(registry: Registry) -> tuple[Operator, ...]:
    """The operators that shaders use as fused activations: members other than tensors have the type FLOAT."""
    names = {other for operator in registry.operators for other in registry.fusable(operator)}
    return tuple(
        operator
        for operator in sorted(map(registry.operator.__getitem__, names), key=lambda operator: operator.value)
        if operator.attributes and all(member.type == "FLOAT" for member in operator.attributes)
    )


def _left(registry: Registry, operator: Operator, shader: HlslDefinition) -> tuple[str, ...]:
    """The activations that can be fused into an operator but run in their own shader."""
    if not shader.fused or operator.member[shader.fused].count is not None:
        return ()
    taken = {one.operator for one in shader.activations}
    return tuple(name for name in registry.fusable(operator) if name not in taken)


def operator_part(registry: Registry, operator: Operator, plans: Plans) -> OperatorPart:
    """The parts for one operator."""
    left: tuple[str, ...] = ()
    schedule = schedule_of(registry, operator)
    if schedule is None:
        shader = shader_of(registry, operator)
        left = _left(registry, operator, shader)
        code = InputCode(registry, operator, plans.record("Definition"))
        view = _defined(registry, operator, shader, plans, code, bool(left))
    else:
        code = InputCode(registry, operator, plans.record(pascal(schedule.form.upper())))
        write = _map if schedule.form == "map" else _form
        view = write(registry, operator, schedule, plans, code)
    return OperatorPart(view, code.lists, left, _longest_list(schedule))


def _view(
    code: InputCode, planner: str, tensors: Sequence[TensorView], write: Callable[[InputProgram], None]
) -> ShaderView:
    """A view with what statements write."""
    start = code.statements(write)
    record, switches = code.record.name, tuple(code.switches)
    return ShaderView(record, planner, tuple(tensors), tuple(code.programs), switches, start)


def _traced(code: InputCode, coordinate: ir.Expr, view: ShaderView) -> ShaderView:
    """The view with the program that leads from a coordinate to another."""
    trace = code.array("target", coordinate)
    return replace(view, programs=tuple(code.programs), trace=trace)


def _tensor(
    operator: Operator, field: str, entry: str, *, as_bits: bool = False, held: bool = False
) -> TensorView:
    """A tensor by its buffer name: "InputTensor", "InputTensors[1]"; "InputTensors" is the current one."""
    tensor = ir.Tensor.of(entry)
    member = operator.member[tensor.name]
    return TensorView(
        field=field,
        macro=macro(plain(entry)),
        place=operator.members.index(member),
        entry=0 if member.count is None else tensor.place,
        as_bits=as_bits,
        output=member.role == "output",
        held=held,
    )


def _map(
    registry: Registry, operator: Operator, schedule: Schedule, plans: Plans, code: InputCode
) -> ShaderView:
    text = map_text(registry, operator, schedule)
    given = text.given
    operands = map_operands(operator, schedule)
    entries = [one.entry for one in operands.tensors]
    tensors = [
        _tensor(operator, f"tensors.items[{number}]", entry, as_bits=bool(operands.as_bits >> number & 1))
        for number, entry in enumerate(entries)
    ]
    numbers = {
        "is_aligned": operands.is_aligned,
        "single": operands.single,
        "blocked": operands.blocked,
        "over": operands.over,
    }

    def write(program: InputProgram) -> None:
        for path, number in numbers.items():
            program.set(path, ir.Number(int(number), ir.INT))
        for name, node in given["switches"].items():
            program.append_switch(name, node)
        for node in given["elements"].values():
            program.append_element(node, stored=bool(moves(schedule)))
        for node in given["scalars"].values():
            program.append_scalar(node)
        for node in given["arrays"].values():
            program.statement("APPEND_LIST", "arrays", node)
        program.set("widened", widened(schedule, entries[:-1]))

    view = _view(code, "map", tensors, write)
    if operator.member[schedule.over].count is not None:
        view = replace(view, each=_place(operator, schedule.over))
    return view


def _place(operator: Operator, member: str) -> int:
    """The position of a member."""
    return operator.members.index(operator.member[member])


def _form(
    registry: Registry, operator: Operator, schedule: Schedule, plans: Plans, code: InputCode
) -> ShaderView:
    """A form whose planner is given its roles by name."""
    roles = {**schedule.roles, "output": ir.Tensor(schedule.output)}
    known = {one.name: roles[one.name] for one in code.record.fields if one.name in roles}
    tensors = [
        _tensor(operator, name, role.name) for name, role in known.items() if isinstance(role, ir.Tensor)
    ]

    def write(program: InputProgram) -> None:
        program.set_all({name: role for name, role in known.items() if not isinstance(role, ir.Tensor)})

    view = _view(code, schedule.form, tensors, write)
    if schedule.place is not None:
        view = _traced(code, schedule.place, view)
    return view


def _defined(
    registry: Registry,
    operator: Operator,
    shader: HlslDefinition,
    plans: Plans,
    code: InputCode,
    leaves: bool,
) -> ShaderView:
    """`leaves`: whether an activation may have to run in its own shader."""
    tensors = [
        _tensor(
            operator,
            f"tensors.items[{number}]",
            tensor.member,
            as_bits=tensor.member in shader.moves,
            held=tensor.member in shader.held,
        )
        for number, tensor in enumerate(shader.tensors)
    ]
    values, of_forms = lists(operator, shader), operands(shader)
    code.share([*chain(*values.values()), *of_forms.values()])

    def write(program: InputProgram) -> None:
        _write_lists(program, values)
        program.set_all(of_forms)
        if shader.fused:
            count = operator.member[shader.fused].count
            number = ir.ONE if count is None else ir.Member(count, ir.INT)
            activations = ir.Member(shader.fused, ir.Type("struct"))
            program.statement("APPEND_ACTIVATIONS", "activations", activations, number)

    view = replace(_view(code, "definition", tensors, write), static=static_of(shader, plans))
    each = next((one.each for one in shader.passes if one.each), "")
    if each:
        view = replace(view, each=_place(operator, each))
    if leaves:
        (output,) = operator.outputs
        view = replace(view, fused=_place(operator, shader.fused), output=operator.members.index(output))
    return view


def _write_lists(program: InputProgram, values: Mapping[str, Sequence[ir.Expr]]) -> None:
    """Sizes of intermediate tensors, and lists and numbers that depend only on the description."""
    for field in ("kept_sizes", "lists"):
        for node in values[field]:
            program.statement("APPEND_FLOATS" if node.type == ir.FLOATS else "APPEND_LIST", field, node)
    for node in values["elements"]:
        program.append_element(node, stored=False)
    for node in values["bounds"]:
        program.statement("APPEND_NUMBER", "bounds", node)
    for node in values["numbers"]:
        program.statement("APPEND_FLOAT_WORD" if node.type == ir.FLOAT else "APPEND_WORD", "numbers", node)
