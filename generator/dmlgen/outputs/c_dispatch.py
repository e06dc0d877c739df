"""The part of the C header that plans dispatches: planners in C, and what each operator passes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.outputs.c_inputs import InputCode
from dmlgen.outputs.c_program import ProgramView
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
    """The parts for one operator: its shader, and the lists that names denote."""

    shader: ShaderView
    lists: int


@dataclass(frozen=True)
class PlannersView:
    """The planners in C."""

    reasons: Enumeration
    capabilities: Enumeration
    types: Sequence[Record | ListOf]
    layouts: Sequence[Record]  # of constants
    heads: tuple[str, ...]
    functions: tuple[str, ...]
    c_type = staticmethod(c_type)
    c_name = staticmethod(c_name)

    def reason(self, name: str) -> str:
        """The meaning of a reason."""
        names = {"operator": "the operator", "member": "a tensor", "activation": "an activation"}
        return self.reasons.texts[name].format(**names, number="n")


@dataclass(frozen=True)
class DispatchView:
    """The inputs of planners, with the most and longest lists."""

    static: Record  # of the constants of definitions' shaders
    shaders: Mapping[str, ShaderView]
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
    _check_capacities(registry, plans, shaders)
    return DispatchView(
        static=plans.record("DefinitionShader"),
        shaders=shaders,
        single_type=registry.data_type["FLOAT32"].value,
        double_type=registry.data_type["FLOAT64"].value,
        native_types=sum(1 << one.value for one in registry.data_types if hlsl_type(one).is_native),
        lists=max(part.lists for part in parts.values()),
    )


@cache
def planners(plans: Plans) -> PlannersView:
    """The planners, translated."""
    return PlannersView(
        reasons=plans.reasons,
        capabilities=plans.capabilities,
        types=types(plans),
        layouts=layouts(plans),
        heads=tuple(broken(head(function) + ";").decode() for function in plans.functions),
        functions=tuple(broken(definition(plans, function)).decode() for function in plans.functions),
    )


def _check_capacities(registry: Registry, plans: Plans, shaders: Mapping[str, ShaderView]) -> None:
    """Checks that fixed-size lists have enough room."""
    for name, shader in shaders.items():
        record = plans.record(shader.record)
        tensors = record.field("tensors")
        room = tensors.type.capacity if tensors is not None and isinstance(tensors.type, ListOf) else None
        if room is not None and len(shader.tensors) > room:
            finding = f"{name} has {len(shader.tensors)} tensors; planners take {room}"
            raise SpecError([Finding(registry.operator[name].position, "c-output", finding)])


def operator_part(registry: Registry, operator: Operator, plans: Plans) -> OperatorPart:
    """The parts for one operator."""
    inputs = planner_inputs(registry, operator, plans)
    code = InputCode(registry, operator, plans.record(inputs.record), inputs)
    start = code.statements()
    is_apart = _runs_apart(registry, operator, inputs)
    (output, *_) = operator.outputs
    view = ShaderView(
        record=inputs.record,
        planner=inputs.planner,
        tensors=inputs.tensors,
        programs=tuple(code.programs),
        start=start,
        each=_place(operator, inputs.each) if inputs.each else -1,
        static=inputs.static,
        fused=_place(operator, inputs.fused) if is_apart else -1,
        output=_place(operator, output.name) if is_apart else -1,
    )
    return OperatorPart(view, code.lists)


def _runs_apart(registry: Registry, operator: Operator, inputs: PlannerInputs) -> bool:
    """Whether some activations that can be fused into an operator run in their own shaders."""
    if inputs.static is None or not inputs.fused or operator.member[inputs.fused].count is not None:
        return False
    taken = inputs.static.get("activations", ())
    return any(registry.operator[name].value not in taken for name in registry.fusable(operator))


def _place(operator: Operator, member: str) -> int:
    """The position of a member."""
    return operator.members.index(operator.member[member])
