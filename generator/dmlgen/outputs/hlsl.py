"""HLSL compute shaders: one file per operator, by the form of its schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.names import pascal
from dmlgen.outputs.hlsl_activation import ActivationText, activations_of_map
from dmlgen.outputs.hlsl_definition import shader_of
from dmlgen.outputs.hlsl_definition import text as definition_text
from dmlgen.outputs.hlsl_functions import Functions, FunctionTexts, merged_calls
from dmlgen.outputs.hlsl_lines import finished
from dmlgen.outputs.hlsl_map import MapText, map_text
from dmlgen.outputs.hlsl_tensors import ShaderTensor, WithTensors, in_float16, tensor_of, value_types
from dmlgen.outputs.hlsl_types import HlslType, hlsl_types
from dmlgen.outputs.parts import merged, parts
from dmlgen.outputs.reads import bits, moves
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import Plans, package_plans
from dmlgen.plans.params import Declaration, Params, params_of
from dmlgen.plans.resources import Resource, resources_of
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.schedules.aligned import is_aligned
from dmlgen.schedules.elementwise import is_gathered
from dmlgen.schedules.schedule import Schedule
from dmlgen.text import Text


@dataclass(frozen=True)
class MapShader(WithTensors):
    """A shader that computes each element from a few others.

    `is_aligned`: it steps through all tensors together, and needs no coordinates; the place in the output may
    then be `is_shifted` by a constant. `in_float16` is the condition under which all elements are
    float16, "" if they never are. `gathered` is an input whose elements the next one selects.
    """

    operator: str
    summary: Text
    moves: tuple[str, ...]
    known: Mapping[str, HlslType]
    gathered: ShaderTensor | None
    max_rank: int
    switches: tuple[tuple[str, str], ...]
    params: Params
    functions: FunctionTexts
    in_float16: str
    is_aligned: bool
    text: MapText
    is_shifted: bool
    activations: tuple[ActivationText, ...]

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        return self.text.tensors


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The shaders of all operators."""
    functions, plans = Functions(templates), package_plans()

    def shader(near: Registry, operator: Operator) -> dict[str, bytes]:
        schedule = schedule_of(near, operator)
        if schedule is not None:
            view = (_map if schedule.form == "map" else _form)(near, operator, schedule, functions, plans)
            text = finished(templates.render(f"hlsl/{schedule.form}.hlsl.j2", shader=view))
        elif operator.defines is not None:
            text = definition_text(shader_of(near, operator, functions), templates)
        else:
            return {}
        return {f"hlsl/{operator.slug}.hlsl": text}

    return merged(parts("hlsl", registry, templates.memory, shader))


def _map(
    registry: Registry,
    operator: Operator,
    schedule: Schedule,
    functions: Functions,
    plans: Plans,
) -> MapShader:
    text = map_text(registry, operator, schedule)
    tensors = text.tensors
    activations = activations_of_map(registry, operator, text)
    gathered = text.inputs[0] if is_gathered(schedule.value) else None
    indexing = {} if gathered is None else {"NormalizeIndex": text.inputs[1].values}
    called = merged_calls(text.called, indexing, *(one.called for one in activations))
    all_may_be = all("FLOAT16" in tensor.types for tensor in tensors)
    condition = in_float16(tensors) if all_may_be else ""
    return MapShader(
        operator=operator.name,
        summary=operator.summary,
        moves=tuple(dict.fromkeys((*moves(schedule), *bits(operator, schedule)))),
        known=hlsl_types(registry),
        gathered=gathered,
        max_rank=MAX_RANK,
        switches=(
            *((one.name, _meaning(registry, one.node)) for one in text.constants.known("switch") if one.node),
            *([("ACTIVATION", "the type of the fused activation, 0 for none")] if text.fused else ()),
        ),
        params=map_params(plans, schedule, text),
        is_aligned=is_aligned(schedule),
        text=text,
        is_shifted=schedule.place is not None,
        functions=functions.closure(called, value_types(tensors), condition, {"float"}),
        in_float16=condition,
        activations=activations,
    )


def map_params(plans: Plans, schedule: Schedule, text: MapText) -> Params:
    """The constants of an element-wise shader."""
    aligned = is_aligned(schedule)
    lookups = {} if is_gathered(schedule.value) else {"lookups": ()}
    begin = [] if schedule.place is None else [Declaration("uint", "begin")]
    arrays = () if aligned else text.constants.known("ints", "floats")
    strides = [Declaration("uint", f"{tensor.local}Stride") for tensor in text.tensors]
    return params_of(
        plans,
        "MapParams",
        {
            "elements": text.elements,
            "steps": [Declaration("uint", f"{one.local}Step") for one in text.inputs if aligned],
            "scalars": [*text.scalars, *begin],
            "strides": [*strides, *(Declaration(one.kind.removesuffix("s"), one.name) for one in arrays)],
            **lookups,
        },
    )


def _meaning(registry: Registry, node: ir.Expr) -> str:
    """The meaning of a switch, and its values."""
    if node.type.kind == "enum":
        entries = registry.enums[node.type.name or ""].entries
        return ", ".join(f"{entry.value} {entry.name}" for entry in entries)
    return "1 or 0"


@dataclass(frozen=True)
class FormShader(WithTensors):
    """The shader of a scan or an algorithm: its tensors by role, and the operation of a scan."""

    operator: str
    summary: Text
    moves: tuple[str, ...]
    known: Mapping[str, HlslType]
    role: Mapping[str, ShaderTensor]
    operation: str
    library: Functions
    max_rank: int
    params: Params
    resources: tuple[Resource, ...]

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        return tuple(self.role.values())

    def functions(self, *names: str) -> tuple[str, ...]:
        """The texts of these functions, and of their dependencies."""
        values = value_types(self.tensors)
        return self.library.closure(dict.fromkeys(names, values), values).texts


def _form(
    registry: Registry,
    operator: Operator,
    schedule: Schedule,
    functions: Functions,
    plans: Plans,
) -> FormShader:
    role = {"output": tensor_of(registry, operator, schedule.output)}
    for name, node in schedule.roles.items():
        if isinstance(node, ir.Tensor | ir.Tensors):
            role[name] = tensor_of(registry, operator, node.name)
    record = pascal(schedule.form.upper())
    return FormShader(
        operator=operator.name,
        summary=operator.summary,
        moves=moves(schedule),
        known=hlsl_types(registry),
        role=role,
        operation=schedule.operation,
        library=functions,
        max_rank=MAX_RANK,
        params=params_of(plans, f"{record}Params"),
        resources=resources_of(
            plans.record(f"{record}Resources"), {name: tensor.name for name, tensor in role.items()}
        ),
    )
