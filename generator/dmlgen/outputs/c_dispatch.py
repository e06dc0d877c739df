"""The part of the C header that plans dispatches: planners in C, and what each operator passes to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS
from dmlgen.expr.host_expressions import inlined
from dmlgen.literals import c_string
from dmlgen.names import pascal
from dmlgen.outputs.c_printer import CPrinter
from dmlgen.outputs.decisions import Decision, Values, by_record
from dmlgen.outputs.hlsl import map_params, tensor_of
from dmlgen.outputs.hlsl_definition import DefinitionShader, shader_of
from dmlgen.outputs.hlsl_definition.shader import definition_params
from dmlgen.outputs.hlsl_definition.static import Static, static_of
from dmlgen.outputs.hlsl_types import hlsl_type
from dmlgen.outputs.python_schedule import bits, moves, reduction_steps
from dmlgen.outputs.uniforms import Uniforms, macro, plain, tensors_read, uniforms_of, widened
from dmlgen.plans.functions import c_name, c_type, definition, head, layouts, numbers, taken, types, wrapped
from dmlgen.plans.model import INT, Enumeration, ListOf, Plans, Record, Scalar
from dmlgen.plans.params import params_of
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.schedules.aligned import blocked, is_aligned, single
from dmlgen.schedules.schedule import Schedule

_NUMBER = ir.Local("index", ir.INT)
_LONGEST_END = len("_SIZES_LENGTH")


@dataclass(frozen=True)
class TensorView:
    """A tensor for a planner: where it goes, the prefix of its macros, the index of its member.

    `entry` is its index in an array of tensors, and `address` that of its description, as C.
    """

    target: str
    macro: str
    place: int
    entry: str
    address: str
    as_bits: bool
    output: bool
    held: bool

    @property
    def flags(self) -> str:
        flags = {
            "DMLOPS_AS_BITS": self.as_bits,
            "DMLOPS_IS_OUTPUT": self.output,
            "DMLOPS_IS_HELD": self.held,
        }
        return " | ".join(name for name, is_set in flags.items() if is_set) or "0"


@dataclass(frozen=True)
class ApartView:
    """The member with a fused activation that may run in its own shader, and the output that it writes."""

    fused: str
    output: str
    place: int


@dataclass(frozen=True)
class TraceView:
    """The target of a coordinate: statements that compute it, and the tensors moved and looked up."""

    tensors: tuple[str, ...]
    statements: tuple[str, ...]
    rank: str
    moved: str
    indices: str


@dataclass(frozen=True)
class ShaderView:
    """A call of the planner of an operator's shader: the record that it takes, and how to fill it.

    `tensors` come first, then `statements`, which refer to those that are `read` by name. If an array of
    tensors is computed in turn, `count` is how many there are.
    """

    record: str
    planner: str
    tensors: tuple[TensorView, ...]
    read: tuple[str, ...]
    statements: tuple[str, ...]
    count: str = ""
    static: Static | None = None
    apart: ApartView | None = None
    trace: TraceView | None = None


@dataclass(frozen=True)
class OperatorPart:
    """The parts for one operator.

    These are its shader, the most words of constants that it needs, the helpers that are called, fused
    activations that run in their own shaders, and the longest array that is computed.
    """

    shader: ShaderView
    words: int
    functions: frozenset[str]
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
    c_type = staticmethod(c_type)
    c_name = staticmethod(c_name)
    numbers = staticmethod(numbers)


@dataclass(frozen=True)
class DispatchView:
    """The inputs of planners, with the maximum of everything that a shader uses."""

    shaders: Mapping[str, ShaderView]
    activations: tuple[Operator, ...]  # those with parameters that can be fused
    apart: tuple[Operator, ...]  # activations that may run in their own shader
    single_type: int
    double_type: int
    native_types: int  # bit mask of those that HLSL has
    defines: int
    tensors: int
    constants: int
    longest_name: int
    longest_list: int


def dispatches(registry: Registry, plans: Plans, parts: Mapping[str, OperatorPart]) -> DispatchView:
    """The view, from the parts of all operators."""
    shaders = {name: part.shader for name, part in parts.items()}
    left = {name for part in parts.values() for name in part.left}
    macros = [tensor.macro for shader in shaders.values() for tensor in shader.tensors]
    statics = [shader.static for shader in shaders.values() if shader.static is not None]
    for static in statics:
        macros += [*(str(macro) for macro, *_ in static.kept), *static.lists, *static.bounds]
    _check_capacities(registry, plans, shaders)
    return DispatchView(
        shaders=shaders,
        activations=_activations(registry),
        apart=tuple(operator for operator in registry.operators if operator.name in left),
        single_type=registry.data_type["FLOAT32"].value,
        double_type=registry.data_type["FLOAT64"].value,
        native_types=sum(1 << one.value for one in registry.data_types if hlsl_type(one).is_native),
        defines=max(map(_defines, shaders.values())),
        tensors=max(len(shader.tensors) for shader in shaders.values()) + 2,
        constants=max(part.words for part in parts.values()),
        longest_name=max(map(len, macros)) + _LONGEST_END + 1,
        longest_list=max(part.longest_list for part in parts.values()),
    )


@cache
def planners(plans: Plans) -> PlannersView:
    """The planners, translated."""
    return PlannersView(
        reasons=tuple(_reasons(plans)),
        capabilities=plans.capabilities,
        types=types(plans),
        taken=taken(plans),
        layouts=layouts(plans),
        heads=tuple(wrapped(head(function) + ";") for function in plans.functions),
        functions=tuple(definition(plans, function) for function in plans.functions),
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


def _defines(shader: ShaderView) -> int:
    """The most macros of a shader."""
    if shader.static is None:  # switches, and the planner's own
        return 6 * len(shader.tensors) + 20
    static = shader.static
    lists = len(static.lists) + static.boxes.bit_count()
    return 24 + 6 * len(shader.tensors) + len(static.kept) + lists + len(static.bounds)


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


def _left(registry: Registry, operator: Operator, shader: DefinitionShader) -> tuple[str, ...]:
    """The activations that can be fused into an operator but run in their own shader."""
    if not shader.fused or operator.member[shader.fused].count is not None:
        return ()
    taken = {one.operator for one in shader.activations}
    return tuple(name for name in registry.fusable(operator) if name not in taken)


def operator_part(registry: Registry, operator: Operator, plans: Plans) -> OperatorPart:
    """The parts for one operator."""
    printer = _DispatchPrinter(registry, operator)
    left: tuple[str, ...] = ()
    schedule = schedule_of(registry, operator)
    if schedule is None:
        shader = shader_of(registry, operator)
        left = _left(registry, operator, shader)
        view, words = _defined(operator, shader, plans, printer, bool(left))
    else:
        match schedule.form:
            case "map":
                view, words = _map(registry, operator, schedule, plans, printer)
            case "gather":
                view, words = _gather(operator, schedule, plans, printer)
            case _:
                view, words = _form(operator, schedule, plans, printer)
    return OperatorPart(view, words, frozenset(printer.functions), left, _longest_list(schedule))


def _tensor(
    operator: Operator,
    target: str,
    entry: str,
    *,
    as_bits: bool = False,
    held: bool = False,
) -> TensorView:
    """A tensor by its buffer name: "InputTensor", "InputTensors[1]"; "InputTensors" is the current one."""
    name, _, number = entry.partition("[")
    member = operator.member[name]
    place = [one.name for one in operator.members].index(name)
    which = number.rstrip("]") or "number"
    address = f"desc->{name}"
    if member.count is not None:
        address = f"dmlops_given({address}, desc->{member.count}, {which})"
    elif not member.pointer:
        address = f"&{address}"
    return TensorView(
        target=target,
        macro=macro(plain(entry)),
        place=place,
        entry=which if member.count else "0",
        address=address,
        as_bits=as_bits,
        output=member.role == "output",
        held=held,
    )


def _map(
    registry: Registry, operator: Operator, schedule: Schedule, plans: Plans, printer: _DispatchPrinter
) -> tuple[ShaderView, int]:
    uniforms = uniforms_of(schedule)
    as_bits = {*moves(schedule), *bits(operator, schedule)}
    entries = [*tensors_read(operator, schedule.expressions), schedule.output]
    tensors = [
        _tensor(
            operator,
            f"op.tensors.items[{number}]",
            entry,
            as_bits=entry.partition("[")[0] in as_bits,
        )
        for number, entry in enumerate(entries)
    ]
    printer.fill_uniforms(uniforms, bool(moves(schedule)))
    printer.fill_role("widened", INT, widened(schedule, entries[:-1]))
    over = operator.member[schedule.over]
    of_first, of_blocks = (
        sum(1 << entries.index(entry) for entry in some) for some in (single(schedule), blocked(schedule))
    )
    aligned = f"op.is_aligned = {int(is_aligned(schedule))};"
    ways = [f"op.single = {of_first};", f"op.blocked = {of_blocks};"]
    heads = [
        aligned,
        *ways,
        f"op.over = {entries.index(schedule.over)};",
        f"op.tensors.count = {len(entries)};",
    ]
    statements = [*heads, "dmlops_stand_in(&op.tensors);", *printer.statements]
    named = [tensor_of(registry, operator, entry) for entry in entries]
    words = map_params(plans, schedule, uniforms, named).words
    count = f"desc->{over.count}" if over.count is not None else ""
    view = ShaderView("Map", "map", tuple(tensors), tuple(printer.tensors), tuple(statements), count)
    return view, words


def _gather(
    operator: Operator, schedule: Schedule, plans: Plans, printer: _DispatchPrinter
) -> tuple[ShaderView, int]:
    assert isinstance(schedule.value, ir.Load)
    loads = [node.tensor.name for node in ir.walk(schedule.value) if isinstance(node, ir.Load)]
    names = dict(zip(("input", "indices", "output"), [*dict.fromkeys(loads), schedule.output], strict=True))
    tensors = [_tensor(operator, f"op.{role}", name) for role, name in names.items()]
    trace = printer.trace(schedule.value.coordinate, "op.output.sizes.count", "input")
    sizes = [
        f"op.{role}_bytes = dmlops_unsigned(dmlops_buffer(desc->{name})->TotalTensorSizeInBytes);"
        for role, name in names.items()
    ]
    view = ShaderView("Gather", "gather", tuple(tensors), (), tuple(sizes), trace=trace)
    return view, params_of(plans, "GatherParams").words


def _form(
    operator: Operator, schedule: Schedule, plans: Plans, printer: _DispatchPrinter
) -> tuple[ShaderView, int]:
    """A form whose planner is given its roles by name."""
    record = plans.record(pascal(schedule.form.upper()))
    roles = {**schedule.roles, "output": ir.Tensor(schedule.output)}
    tensors: list[TensorView] = []
    trace: TraceView | None = None
    if schedule.form == "reduce":
        printer.fill_reduction(schedule)
    for one in record.fields:
        if one.type == Record("Tensor", ()):
            role = roles[one.name]
            assert isinstance(role, ir.Tensor)
            tensors.append(_tensor(operator, f"op.{one.name}", role.name))
        elif one.type == Record("Movement", ()):
            assert schedule.place is not None
            tracer = _DispatchPrinter(printer.registry, operator)
            trace = tracer.trace(schedule.place, "op.updates.sizes.count", "output")
            printer.functions |= tracer.functions
        elif one.name in roles:
            printer.fill_role(one.name, one.type, roles[one.name])
    view = ShaderView(
        record.name,
        schedule.form,
        tuple(tensors),
        tuple(printer.tensors),
        tuple(printer.statements),
        trace=trace,
    )
    return view, params_of(plans, f"{record.name}Params").words


def _defined(
    operator: Operator, shader: DefinitionShader, plans: Plans, printer: _DispatchPrinter, leaves: bool
) -> tuple[ShaderView, int]:
    """`leaves`: whether an activation may have to run in its own shader."""
    defines = operator.defines
    assert defines is not None
    tensors = [
        _tensor(
            operator,
            f"op.tensors.items[{number}]",
            tensor.member,
            as_bits=tensor.member in shader.moves,
            held=tensor.member in shader.held,
        )
        for number, tensor in enumerate(shader.tensors)
    ]
    firsts = (
        f"dmlops_given(desc->{one.name}, desc->{one.count}, 0)" if one.count else f"desc->{one.name}"
        for one in operator.outputs
    )
    doubles = " || ".join(f"dmlops_is_double({first})" for first in firsts)
    sizes = {tensor.name: tensor.sizes for tensor in defines.tensors}
    printer.fill_definition(shader, [sizes[kept.member] for kept in shader.kept])
    if shader.fused:
        count = operator.member[shader.fused].count
        entries = "1" if count is None else f"desc->{count}"
        printer.statements.append(
            f"dmlops_append_activations(planning, &op, desc->{shader.fused}, {entries});"
        )
    heads = [
        f"op.is_double = {doubles};",
        f"op.tensors.count = {len(tensors)};",
    ]
    if shader.kept:
        heads.append(f"wanted = dmlops_plan_needed(planning, &op.tensors, &dmlops_{operator.slug}_shader);")
    view = ShaderView(
        "Definition",
        shader.planner,
        tuple(tensors),
        tuple(printer.tensors),
        (*heads, *printer.statements),
        next((f"desc->{operator.member[one.each].count}" for one in shader.passes if one.each), ""),
        static=static_of(shader, plans),
        apart=_apart_view(operator, shader) if leaves else None,
    )
    return view, max(definition_params(plans, shader, form).words for form in (None, *shader.forms))


def _apart_view(operator: Operator, shader: DefinitionShader) -> ApartView:
    (output,) = operator.outputs
    return ApartView(shader.fused, output.name, operator.members.index(output))


class _DispatchPrinter(CPrinter):
    """Prints what planners are given, and coordinates that lead to another tensor."""

    def fill_uniforms(self, uniforms: Uniforms, stored: bool) -> None:
        """Fills the uniforms of an element-wise shader; `stored`: numbers as elements are stored."""
        for name, node in uniforms.switches.items():
            self._append_input("switch", "&op.switches", c_string(name), self._value(node))
        for node in uniforms.elements.values():
            number = node.arguments[0] if isinstance(node, ir.Call) else node
            if number.type not in (ir.FLOAT, node.type):
                raise self._unsupported(f"a {number.type} as {node.type}")
            kind = "number" if number.type == ir.FLOAT else "element"
            type_ = self._data_type(node.type)
            self._append_input(kind, "&op.elements", str(int(stored)), type_, self._value(number))
        for node in uniforms.scalars.values():
            self._append_scalar("&op.scalars", node)
        for node in uniforms.arrays.values():
            self._define(node)
            self._append_input("sizes", "&op.arrays", f"&{self._list(node)}", "1")

    def fill_role(self, name: str, type_: object, node: ir.Expr) -> None:
        """A number, or a list of numbers, that a planner knows by name."""
        self._define(node)
        if isinstance(type_, ListOf):
            self._add(f"dmlops_set_list(planning, &op.{name}, &{self._list(node)});")
        else:
            assert isinstance(type_, Scalar)
            self._add(f"op.{name} = {self.print(node)};")

    def fill_reduction(self, schedule: Schedule) -> None:
        """The kind of reduction, and the macros that select it."""
        for name, test in reduction_steps(self.registry, schedule).items():
            self._add(f"op.{name} = {self.print(test)};")
        decreasing = self._value(schedule.roles["decreasing"])
        self._add("if (op.chooses) {")
        self._add(f'    dmlops_append_switch(planning, &op.switches, "DECREASING", {decreasing});')
        self._add("}")
        if (function := schedule.roles.get("function")) is not None:
            self._append_input("switch", "&op.switches", c_string("FUNCTION"), self._value(function))

    def fill_definition(self, shader: DefinitionShader, sizes: Sequence[ir.Expr]) -> None:
        """Sizes of intermediate tensors, and lists and numbers that depend only on the description."""
        for number, node in enumerate(map(inlined, sizes)):
            self._define(node)
            self._append_input(
                "sizes", "&op.kept_sizes", f"&{self._list(node)}", f"(int)(wanted >> {number} & 1)"
            )
        for one in shader.known_lists:
            assert one.node is not None
            node = inlined(one.node)
            self._define(node)
            if node.type == ir.FLOATS:
                self._append_input("floats", "&op.lists", *self._array(node))
            else:
                self._append_input("sizes", "&op.lists", f"&{self._list(node)}", "1")
        for one in shader.known_elements:
            assert one.node is not None
            self._append_input(
                "element", "&op.elements", "0", self._data_type(one.node.type), self._value(one.node)
            )
        for one in shader.bounds:
            assert one.node is not None
            bound = self._value(inlined(one.node))
            self._add(f"dmlops_plan_int_8_append(planning, &op.bounds, {bound});")
        for one in shader.known_scalars:
            assert one.node is not None
            self._append_input("word", "&op.numbers", self._word(inlined(one.node)))
        operands = {path: inlined(node) for path, node in shader.operands.items()}
        for values in by_record(operands).values():
            self._fill_record(values)

    def _fill_record(self, values: Values | Decision) -> None:
        if isinstance(values, Decision):
            self._define(values.test)
            test = self.print(values.test)
            with self.block() as then:
                self._fill_record(values.then)
            with self.block() as otherwise:
                self._fill_record(values.otherwise)
            self._branch(test, then, otherwise)
            return
        for path, node in values.items():
            self.fill_role(path, ListOf(INT, 8) if node.type == ir.INTS else INT, node)

    def trace(self, coordinate: ir.Expr, rank: str, moved: str) -> TraceView:
        """The elements to which a coordinate leads, in order."""
        self._define(coordinate)
        self._add(f"dmlops_reach(trace, &{self._list(coordinate)});")
        return TraceView(tuple(self.tensors), tuple(self.statements), rank, f"&op.{moved}", "&op.indices")

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        if node == _NUMBER:
            return "number"
        if isinstance(node, ir.Member) and node.type.kind == "element":
            return f"&desc->{node.name}"
        if isinstance(node, ir.Member) and node.type.kind == "struct":
            return f"desc->{node.name}"
        return super().name(node)

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="normalize_index", arguments=(ir.Load(coordinate=coordinate), size)):
                return f"dmlops_follow(trace, &{self._list(coordinate)}, {self.print(size)})"
        return super().call(node)

    def _append_input(self, what: str, *arguments: str) -> None:
        self._add(f"dmlops_append_{what}({', '.join(['planning', *arguments])});")

    def _append_scalar(self, target: str, node: ir.Expr) -> None:
        self._append_input("float" if node.type == ir.FLOAT else "integer", target, self._value(node))

    def _word(self, node: ir.Expr) -> str:
        """A 32-bit word; for a float, its bits."""
        value = self._value(node)
        return f"dmlops_float_bits({value})" if node.type == ir.FLOAT else value

    def _value(self, node: ir.Expr) -> str:
        self._define(node)
        return self.print(node)

    def _data_type(self, type_: ir.Type) -> str:
        """The data type of the tensor or member after which an element type is named."""
        assert self.operator is not None and type_.name is not None
        if self.operator.member[type_.name].is_tensor:
            return f"dmlops_enum(&{self.tensor(ir.Tensor(type_.name))}->DataType)"
        return f"dmlops_enum(&desc->{type_.name})"

    def _list(self, node: ir.Expr) -> str:
        return "trace->at" if node == ir.AT else super()._list(node)

    def _append(self, node: ir.Expr, target: str) -> None:
        if node == ir.AT:
            self._append_slice(node, None, None, target)
        else:
            super()._append(node, target)
