"""What the shader of a definition consists of."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr.bounds import MAX_RANK
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_activation import Activation, activations_of
from dmlgen.outputs.hlsl_definition.constants import Constant
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.text import Text


@dataclass(frozen=True)
class Pass:
    """A pass: the tensor that it writes, its value, and the intermediate tensors that it reads.

    `along`: it is one of a recurrence, and one dispatch writes one step of it.
    """

    target: str
    value: str
    reads: tuple[str, ...]
    along: bool


@dataclass(frozen=True)
class DefinitionShader:
    """The shader of a definition."""

    operator: str
    summary: Text
    moves: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    held: tuple[str, ...]
    limited: tuple[str, ...]  # tensors whose least and greatest values matter
    quantized: frozenset[str]  # those among them to whose type numbers are quantized
    kept: tuple[Kept, ...]
    passes: tuple[Pass, ...]
    lists: tuple[Constant, ...]
    scalars: tuple[Constant, ...]
    texts: tuple[str, ...]
    fused: str  # the member with activations
    activations: tuple[Activation, ...]
    functions: tuple[str, ...]  # of the library
    max_rank: int
    most_listed: int

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def bits(self) -> tuple[int, ...]:
        return tuple(sorted({bits for tensor in self.tensors for bits in tensor.bits}))


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The shaders of all operators that have a definition."""
    functions = Functions(templates)
    return {
        f"hlsl/{operator.slug}.hlsl": templates.render(
            "hlsl/definition.hlsl.j2", shader=shader_of(registry, operator, functions)
        )
        for operator in registry.operators
        if operator.is_generic
    }


def shader_of(registry: Registry, operator: Operator, functions: Functions | None = None) -> DefinitionShader:
    """The shader of an operator's definition; without `functions` only to learn its constants."""
    defines = operator.defines
    assert defines is not None
    printer = ShaderPrinter(registry, operator, frozenset() if functions is None else functions.names)
    passes = [
        Pass(
            tensor.name,
            printer.value(tensor.value, tensor.decides),
            tuple(sorted(entries_read(tensor.value))),
            tensor.along,
        )
        for tensor in defines.tensors
    ]
    for name, value in defines.outputs.items():
        text = printer.stored(name, value)
        passes.append(Pass(name, text, tuple(sorted(entries_read(value))), False))
    activations = activations_of(registry, operator, "REAL") if printer.fused else ()
    tensors = printer.tensors
    called = printer.called.union(*(one.functions for one in activations))
    types = {value for tensor in tensors.values() for value in tensor.values}
    types |= {"float", "int", "int64_t"}
    return DefinitionShader(
        operator=operator.name,
        summary=operator.summary,
        moves=(),
        inputs=tuple(tensors[member.name] for member in operator.inputs),
        outputs=tuple(tensors[name] for name in defines.outputs),
        held=tuple(printer.held),
        limited=tuple(printer.limited),
        quantized=frozenset(printer.quantized),
        kept=tuple(printer.kept.values()),
        passes=tuple(passes),
        lists=printer.constants.lists,
        scalars=printer.constants.scalars,
        texts=tuple(printer.texts),
        fused=printer.fused,
        activations=activations,
        functions=() if functions is None else functions.closure(called, types),
        max_rank=MAX_RANK,
        most_listed=printer.most_listed,
    )
