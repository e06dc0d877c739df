"""What the shader of a definition consists of."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.outputs.compute import works_on_bits
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_activation import Activation, activations_of
from dmlgen.outputs.hlsl_definition.constants import Constant as Known
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.render import Templates
from dmlgen.outputs.uniforms import tensors_read
from dmlgen.plans.model import Plans, plans_of
from dmlgen.plans.params import Constant, Params, params_of
from dmlgen.registry import Operator, OutputDefinitions, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.text import Text


@dataclass(frozen=True)
class Pass:
    """A pass: the tensor that it writes, its value, and the intermediate tensors that it reads.

    `along`: it is one of a recurrence, and one dispatch writes one step of it. `each`: the array of tensors
    each of which takes a dispatch. `where`: the coordinates that are written, all where it is empty.
    """

    target: str
    value: str
    reads: tuple[str, ...]
    along: bool
    each: str = ""
    where: str = ""


@dataclass(frozen=True)
class DefinitionShader:
    """The shader of a definition."""

    operator: str
    summary: Text
    moves: tuple[str, ...]  # tensors whose elements are taken as bits
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    held: tuple[str, ...]
    limited: tuple[str, ...]  # tensors whose least and greatest values matter
    quantized: frozenset[str]  # those among them to whose type numbers are quantized
    kept: tuple[Kept, ...]
    passes: tuple[Pass, ...]
    known_lists: tuple[Known, ...]
    known_elements: tuple[Known, ...]
    known_scalars: tuple[Known, ...]
    texts: tuple[str, ...]
    fused: str  # the member with activations
    activations: tuple[Activation, ...]
    functions: tuple[str, ...]  # of the library
    max_rank: int
    longest: int  # list
    most_listed: int

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def bits(self) -> tuple[int, ...]:
        return tuple(sorted({bits for tensor in self.tensors for bits in tensor.bits}))


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The shaders of all operators that have a definition."""
    functions, plans = Functions(templates), plans_of(templates.directory)
    shaders = [
        shader_of(registry, operator, functions) for operator in registry.operators if operator.is_generic
    ]
    return {
        f"hlsl/{shader.operator.lower()}.hlsl": templates.render(
            "hlsl/definition.hlsl.j2", shader=shader, params=definition_params(plans, shader)
        )
        for shader in shaders
    }


def definition_params(plans: Plans, shader: DefinitionShader) -> Params:
    """The constants of the shader: lists fill two vectors each."""
    tensors = [f"{tensor.local}{what}" for tensor in shader.tensors for what in ("Sizes", "Strides")]
    kept = [f"{kept.name}Sizes" for kept in shader.kept]
    firsts = [Constant("int", f"{kept.name}First") for kept in shader.kept]
    lists = [Constant("int4", name, "2", 8) for name in (*tensors, *kept)]
    types = {"ints": "int4", "floats": "float4"}
    lists += [Constant(types[one.kind], one.name, "2", 8) for one in shader.known_lists]
    activations = (
        [Constant("Activation", "activations", "ACTIVATION_COUNT", 32)] if shader.activations else []
    )
    return params_of(
        plans,
        "DefinitionParams",
        {
            "sizes": [Constant("int4", "sizes", "2", 8)],
            "lists": lists,
            "activations": activations,
            "elements": [Constant("uint2", one.name) for one in shader.known_elements],
            "scalars": [*firsts, *(Constant(one.kind, one.name) for one in shader.known_scalars)],
        },
    )


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
        each, where, value = _one_by_one(operator, name, value)
        condition = "" if where is None else printer.deciding(where)
        text = printer.stored(name, value)
        passes.append(Pass(name, text, tuple(sorted(entries_read(value))), False, each, condition))
    activations = activations_of(registry, operator, "REAL") if printer.fused else ()
    tensors, inputs = printer.tensors, [member.name for member in operator.inputs]
    called = printer.called.union(*(one.functions for one in activations))
    types = {value for tensor in tensors.values() for value in tensor.values}
    types |= {"float", "int", "int64_t"}
    return DefinitionShader(
        operator=operator.name,
        summary=operator.summary,
        moves=_taken_as_bits(operator, defines),
        inputs=tuple(tensor for name, tensor in tensors.items() if name.partition("[")[0] in inputs),
        outputs=tuple(tensors[name] for name in defines.outputs),
        held=tuple(printer.held),
        limited=tuple(printer.limited),
        quantized=frozenset(printer.quantized),
        kept=tuple(printer.kept.values()),
        passes=tuple(passes),
        known_lists=printer.constants.known("ints", "floats"),
        known_elements=printer.constants.known("element"),
        known_scalars=printer.constants.known("int", "float"),
        texts=tuple(printer.texts),
        fused=printer.fused,
        activations=activations,
        functions=() if functions is None else functions.closure(called, types),
        max_rank=MAX_RANK,
        longest=printer.longest,
        most_listed=printer.most_listed,
    )


def _one_by_one(operator: Operator, name: str, value: ir.Expr) -> tuple[str, ir.Expr | None, ir.Expr]:
    """The array whose entries an output is computed from, or is, one by one; of the one under way, which
    coordinates of the output belong to it, None for all, and the value there."""
    match value:
        case ir.Call("joined", (ir.Tensors(name=array), axis)):
            index, number = ir.Local("index", ir.INT), ir.Local("i", ir.INT)
            sizes = ir.Field(ir.Tensor(array, number), "Sizes", ir.INTS)
            before = (ir.Each(number, None, index),)
            start = ir.Fold("sum", before, None, ir.Index(sizes, axis), ir.INT, unrolled=True)
            at, tensor = ir.Local("at", ir.INTS), ir.Tensor(array, index)
            moved = ir.Binary("-", ir.Index(at, axis), start, ir.INT)
            inner = ir.Call("replace", (at, axis, moved), ir.INTS)
            where = ir.Call("inside", (inner, ir.Field(tensor, "Sizes", ir.INTS)), ir.BOOL)
            return array, where, ir.Load(tensor, inner, value.type)
    return (name if operator.member[name].count else ""), None, value


def _taken_as_bits(operator: Operator, defines: OutputDefinitions) -> tuple[str, ...]:
    """The tensors whose elements are taken as the bits that they are."""
    operations = [node for whole in defines.whole for node in ir.walk(whole) if works_on_bits(node)]
    outputs = [name for name, value in defines.outputs.items() if value in operations]
    return (*tensors_read(operator, operations), *outputs)
