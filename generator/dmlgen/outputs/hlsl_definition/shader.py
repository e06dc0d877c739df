"""What the shader of a definition consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.defined import walk_through
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_activation import Activation, activations_of
from dmlgen.outputs.hlsl_definition.constants import Constant
from dmlgen.outputs.hlsl_definition.names import local
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.render import Templates
from dmlgen.registry import Intermediate, Operator, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.schedules.keyed import keyed
from dmlgen.text import Text

AT = ir.Local("at", ir.INTS)


@dataclass(frozen=True)
class KeyedPass:
    """The coordinate's name, the constant that has the sizes of its box, and the number of the entry."""

    variable: str
    sizes: str
    key: str


@dataclass(frozen=True)
class Pass:
    """A pass: the tensors that it writes, each with its value, and the intermediate tensors that it reads.

    `along`: it is one of a recurrence, and one dispatch writes one step of it. `keyed`: it writes maxima, and
    goes through the coordinates of another box, each of which names the entry that it counts for.
    """

    values: Mapping[str, str]
    reads: tuple[str, ...]
    along: bool = False
    keyed: KeyedPass | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.values)


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
    bounds: tuple[Constant, ...]
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
    passes = [_pass(printer, tensors) for tensors in _in_step(defines.tensors)]
    for names in _together(operator):
        values = {name: printer.stored(name, defines.outputs[name]) for name in names}
        read = set().union(*(entries_read(defines.outputs[name]) for name in names))
        passes.append(Pass(values, tuple(sorted(read))))
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
        bounds=printer.constants.bounds,
        texts=tuple(printer.texts),
        fused=printer.fused,
        activations=activations,
        functions=() if functions is None else functions.closure(called, types),
        max_rank=MAX_RANK,
        most_listed=printer.most_listed,
    )


def _in_step(tensors: Iterable[Intermediate]) -> list[list[Intermediate]]:
    """The intermediate tensors that each pass writes: neighbours of which an element needs no other one's."""
    passes: list[list[Intermediate]] = []
    for tensor in tensors:
        if passes and _goes_with(tensor, passes[-1]):
            passes[-1].append(tensor)
        else:
            passes.append([tensor])
    return passes


def _goes_with(tensor: Intermediate, others: list[Intermediate]) -> bool:
    """Whether a thread can work out an element right after those of others at the same coordinate."""
    alike = all(
        (one.sizes, one.along, keyed(one)) == (tensor.sizes, tensor.along, None) for one in (tensor, *others)
    )
    names = {one.name for one in others}
    return alike and all(
        part.coordinate == AT or (tensor.along and _is_earlier(part.coordinate))
        for part in walk_through(tensor.value)
        if isinstance(part, ir.Entry) and part.tensor in names
    )


def _is_earlier(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is one of an earlier step: it begins with at[0] less a number."""
    match coordinate:
        case ir.Binary(op="+", left=left):
            return _is_earlier(left)
        case ir.ListOf((ir.Binary("-", ir.Index(ir.Local("at"), ir.Number(0)), ir.Number(steps)), *_)):
            return steps > 0
    return False


def _pass(printer: ShaderPrinter, tensors: list[Intermediate]) -> Pass:
    """The pass that writes intermediate tensors."""
    tensor = tensors[0]
    read = tuple(sorted(set().union(*(entries_read(one.value) for one in tensors))))
    found = keyed(tensor)
    if found is None or printer.kept[tensor.name].type != "int":  # of one word
        values = {one.name: printer.value(one.value, one.decides) for one in tensors}
        return Pass(values, read, tensor.along)
    sizes = printer.constants.of(found.sizes).name
    key = KeyedPass(local(found.variable.name), sizes, printer.deciding(found.key))
    return Pass({tensor.name: printer.deciding(found.value)}, read, keyed=key)


def _together(operator: Operator) -> list[tuple[str, ...]]:
    """The outputs that each pass writes: all in one where they may overwrite inputs that others need."""
    assert operator.defines is not None
    names = tuple(operator.defines.outputs)
    return [names] if operator.in_place else [(name,) for name in names]
