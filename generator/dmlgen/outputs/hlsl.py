"""HLSL compute shaders: one file per operator, by the form of its schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.names import pascal
from dmlgen.outputs.hlsl_definition import shader_of
from dmlgen.outputs.hlsl_definition import text as definition_text
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.hlsl_lines import finished
from dmlgen.outputs.hlsl_tensors import ShaderTensor, WithTensors, tensor_of, value_types
from dmlgen.outputs.hlsl_types import HlslType, hlsl_types
from dmlgen.outputs.parts import merged, parts
from dmlgen.outputs.reads import moves
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import Plans, package_plans
from dmlgen.plans.params import Params, params_of
from dmlgen.registry import AlgorithmUse, Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.text import Text


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The shaders of all operators."""
    functions, plans = Functions(templates), package_plans()

    def shader(near: Registry, operator: Operator) -> dict[str, bytes]:
        schedule = schedule_of(near, operator)
        if schedule is not None:
            form = _form(near, operator, schedule, functions, plans)
            text = templates.render(f"hlsl/{schedule.name}.hlsl.j2", shader=form)
        elif operator.defines is not None:
            text = definition_text(shader_of(near, operator, functions), templates)
        else:
            return {}
        return {f"hlsl/{operator.slug}.hlsl": finished(text)}

    return merged(parts("hlsl", registry, templates.memory, shader))


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
    params: Params

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
    schedule: AlgorithmUse,
    functions: Functions,
    plans: Plans,
) -> FormShader:
    moved = moves(schedule)
    role = {"output": tensor_of(registry, operator, schedule.output, moved)}
    for name, node in schedule.roles.items():
        if isinstance(node, ir.Tensor | ir.Tensors):
            role[name] = tensor_of(registry, operator, node.name, moved)
    fold = schedule.roles.get("fold")
    return FormShader(
        operator=operator.name,
        summary=operator.summary,
        moves=moved,
        known=hlsl_types(registry),
        role=role,
        operation="*" if isinstance(fold, ir.Reduce) and fold.kind == "product" else "+",
        library=functions,
        params=params_of(plans, f"{pascal(schedule.name.upper())}Params"),
    )
