"""The part of the C header that plans dispatches: planners in C, and what each operator passes to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.outputs.c_inputs import InputCode
from dmlgen.outputs.c_rules import ProgramView
from dmlgen.outputs.hlsl_definition.static import Static
from dmlgen.outputs.hlsl_lines import broken
from dmlgen.outputs.hlsl_types import hlsl_type
from dmlgen.outputs.planner_inputs import PlannerInputs, PlannerTensor, planner_inputs
from dmlgen.plans.functions import c_name, c_type, definition, head, layouts, types
from dmlgen.plans.model import Enumeration, ListOf, Plans, Record
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class ShaderView:
    """The input of the planner of an operator's shader.

    That is a record with `tensors`; the program at `start` fills the rest of it. `each` is the array of
    tensors for each of which the planner is called. `fused` is a member with an activation that may run in
    its own shader, and `output` what that one writes then. Members are given by position; -1 is none.
    """

    record: str
    planner: str
    tensors: tuple[PlannerTensor, ...]
    programs: tuple[ProgramView, ...]
    start: int
    each: int = -1
    static: Static | None = None
    fused: int = -1
    output: int = -1


@dataclass(frozen=True)
class OperatorPart:
    """The parts for one operator.

    These are its shader, the lists that names denote, and fused activations that run in their own shaders.
    """

    shader: ShaderView
    lists: int
    left: tuple[str, ...]


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
    layouts: Sequence[Record]  # of constants
    heads: tuple[str, ...]
    functions: tuple[str, ...]
    c_type = staticmethod(c_type)
    c_name = staticmethod(c_name)


@dataclass(frozen=True)
class DispatchView:
    """The inputs of planners, with the most and longest lists."""

    static: Record  # of the constants of definitions' shaders
    shaders: Mapping[str, ShaderView]
    activations: tuple[Operator, ...]  # those with parameters that can be fused
    apart: tuple[Operator, ...]  # activations that may run in their own shader
    single_type: int
    double_type: int
    native_types: int  # bit mask of those that HLSL has
    lists: int

    @property
    def planners(self) -> dict[str, str]:
        """The planners of schedules, by the records that they take."""
        return {one.record: one.planner for one in self.shaders.values() if one.static is None}

    @property
    def with_same_constants(self) -> dict[str, str]:
        """The first operator whose shader has the same constants, by the names of all with a definition."""
        first: dict[tuple[tuple[str, Any], ...], str] = {}
        return {
            name: first.setdefault(tuple(one.static.items()), name)
            for name, one in self.shaders.items()
            if one.static is not None
        }


def dispatches(registry: Registry, plans: Plans, parts: Mapping[str, OperatorPart]) -> DispatchView:
    """The view, from the parts of all operators."""
    shaders = {name: part.shader for name, part in parts.items()}
    left = {name for part in parts.values() for name in part.left}
    _check_capacities(registry, plans, shaders)
    return DispatchView(
        static=plans.record("DefinitionShader"),
        shaders=shaders,
        activations=_activations(registry),
        apart=tuple(operator for operator in registry.operators if operator.name in left),
        single_type=registry.data_type["FLOAT32"].value,
        double_type=registry.data_type["FLOAT64"].value,
        native_types=sum(1 << one.value for one in registry.data_types if hlsl_type(one).is_native),
        lists=max(part.lists for part in parts.values()),
    )


@cache
def planners(plans: Plans) -> PlannersView:
    """The planners, translated."""
    return PlannersView(
        reasons=tuple(_reasons(plans)),
        capabilities=plans.capabilities,
        types=types(plans),
        layouts=layouts(plans),
        heads=tuple(broken(head(function) + ";").decode() for function in plans.functions),
        functions=tuple(broken(definition(plans, function)).decode() for function in plans.functions),
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


def operator_part(registry: Registry, operator: Operator, plans: Plans) -> OperatorPart:
    """The parts for one operator."""
    inputs = planner_inputs(registry, operator, plans)
    code = InputCode(registry, operator, plans.record(inputs.record), inputs)
    start = code.statements()
    left = _left(registry, operator, inputs)
    (output, *_) = operator.outputs
    view = ShaderView(
        record=inputs.record,
        planner=inputs.planner,
        tensors=inputs.tensors,
        programs=tuple(code.programs),
        start=start,
        each=_place(operator, inputs.each) if inputs.each else -1,
        static=inputs.static,
        fused=_place(operator, inputs.fused) if left else -1,
        output=_place(operator, output.name) if left else -1,
    )
    return OperatorPart(view, code.lists, left)


def _left(registry: Registry, operator: Operator, inputs: PlannerInputs) -> tuple[str, ...]:
    """The activations that can be fused into an operator but run in their own shader."""
    if inputs.static is None or not inputs.fused or operator.member[inputs.fused].count is not None:
        return ()
    taken = inputs.static.get("activations", ())
    return tuple(name for name in registry.fusable(operator) if registry.operator[name].value not in taken)


def _place(operator: Operator, member: str) -> int:
    """The position of a member."""
    return operator.members.index(operator.member[member])
