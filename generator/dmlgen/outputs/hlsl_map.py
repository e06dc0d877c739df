"""Shaders of maps, which compute each element from a few others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.printer import ATOM
from dmlgen.outputs.hlsl_activation import ACTIVATION_PARAMETERS, ActivationText, activations_of
from dmlgen.outputs.hlsl_constants import Constants
from dmlgen.outputs.hlsl_elements import ElementPrinter
from dmlgen.outputs.hlsl_functions import Functions, FunctionTexts, merged_calls
from dmlgen.outputs.hlsl_tensors import ShaderTensor, WithTensors, in_float16, tensor_of, value_types
from dmlgen.outputs.hlsl_types import HlslType, hlsl_types
from dmlgen.outputs.reads import bits, moves, tensors_read
from dmlgen.plans.model import Plans
from dmlgen.plans.params import Declaration, Params, params_of
from dmlgen.registry import Operator, Registry
from dmlgen.schedules.elementwise import is_gathered
from dmlgen.schedules.schedule import Schedule
from dmlgen.text import Text

_PARAMETER = "activationParameter"


@dataclass(frozen=True)
class MapShader(WithTensors):
    """A shader that steps through all tensors together: `value` is the text of an element, after
    `value_lines`.

    `fused` is the member with an activation. The place in the output may be `is_shifted` by a constant, and
    elements of the first input may be `is_gathered`, selected by those of the second. `in_float16` is the
    condition under which all elements are float16, "" if they never are.
    """

    operator: str
    summary: Text
    moves: tuple[str, ...]
    known: Mapping[str, HlslType]
    inputs: tuple[ShaderTensor, ...]
    output: ShaderTensor
    value_lines: tuple[str, ...]
    value: str
    constants: Constants
    switches: tuple[tuple[str, str], ...]
    fused: str
    activations: tuple[ActivationText, ...]
    is_gathered: bool
    is_shifted: bool
    in_float16: str
    functions: FunctionTexts
    max_rank = MAX_RANK

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        return (*self.inputs, self.output)

    @property
    def elements(self) -> tuple[Declaration, ...]:
        """The constants that are numbers of a tensor's type."""
        return tuple(Declaration("uint2", one.name) for one in self.constants.known("element"))

    @property
    def scalars(self) -> tuple[Declaration, ...]:
        """Those that are other numbers, with the parameters of an activation."""
        parameters = [f"{_PARAMETER}{place}" for place in range(ACTIVATION_PARAMETERS if self.fused else 0)]
        numbers = [Declaration(one.kind, one.name) for one in self.constants.known("int", "float")]
        return (*numbers, *(Declaration("float", name) for name in parameters))


def map_shader(
    registry: Registry, operator: Operator, schedule: Schedule, functions: Functions | None = None
) -> MapShader:
    """The shader of a map; without `functions`, only to determine its constants."""
    assert schedule.value is not None
    output = tensor_of(registry, operator, schedule.output)
    read = tensors_read(operator, [schedule.value])
    inputs = tuple(tensor_of(registry, operator, name) for name in read)
    tensors, gathers = (*inputs, output), is_gathered(schedule.value)
    printer = ElementPrinter({tensor.member: tensor.values for tensor in tensors})
    value_lines, value = printer.value(schedule.value, ATOM)
    switches = [(one.name, _meaning(registry, one.node)) for one in printer.constants.known("switch")]
    if printer.fused:
        switches.append(("ACTIVATION", "the type of the fused activation, 0 for none"))
    if schedule.place is not None:
        printer.constants.put("ints", "begin", schedule.place)
    activations = (
        activations_of(registry, operator, output.macro, output.values, _PARAMETER) if printer.fused else ()
    )
    indexing = {"NormalizeIndex": inputs[1].values} if gathers else {}
    called = merged_calls(printer.called, indexing, *(one.called for one in activations))
    condition = in_float16(tensors) if all("FLOAT16" in tensor.types for tensor in tensors) else ""
    return MapShader(
        operator=operator.name,
        summary=operator.summary,
        moves=tuple(dict.fromkeys((*moves(schedule), *bits(operator, schedule)))),
        known=hlsl_types(registry),
        inputs=inputs,
        output=output,
        value_lines=tuple(value_lines),
        value=value.removeprefix(f"({output.macro}_VALUE)"),  # the return type converts anyway
        constants=printer.constants,
        switches=tuple(switches),
        fused=printer.fused,
        activations=activations,
        is_gathered=gathers,
        is_shifted=schedule.place is not None,
        in_float16=condition,
        functions=FunctionTexts()
        if functions is None
        else functions.closure(called, value_types(tensors), condition, {"float"}),
    )


def map_params(plans: Plans, shader: MapShader) -> Params:
    """The constants of a map."""
    return params_of(
        plans,
        "MapParams",
        {
            "elements": shader.elements,
            "steps": [Declaration("uint", f"{one.local}Step") for one in shader.inputs],
            "scalars": [*shader.scalars, *([Declaration("uint", "begin")] if shader.is_shifted else [])],
            "strides": [Declaration("uint", f"{one.local}Stride") for one in shader.tensors],
            **({} if shader.is_gathered else {"lookups": ()}),
        },
    )


def _meaning(registry: Registry, node: ir.Expr | None) -> str:
    """The meaning of a switch, and its values."""
    if node is not None and node.type.kind == "enum":
        entries = registry.enums[node.type.name or ""].entries
        return ", ".join(f"{entry.value} {entry.name}" for entry in entries)
    return "1 or 0"
