"""The part of the C header that plans dispatches: how shaders of the kernels "map" and "gather" are run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.outputs.c_printer import CPrinter
from dmlgen.outputs.compute import bits, is_aligned, limited, moves
from dmlgen.outputs.render import c_string
from dmlgen.outputs.uniforms import Uniforms, macro, plain, tensors_read, uniforms_of
from dmlgen.registry import EnumEntry, Operator, Registry

_TENSOR_MACROS = 5  # X_STORED, X_BITS, X_VALUE, X_TURNED, X_VECTOR
_LIMIT_MACROS = 2  # X_LOWEST, X_HIGHEST
_SHADER_MACROS = 5  # RANK, VECTOR, UNROLL, NUM_THREADS, BLOCKS
_GATHER_MACROS, _GATHER_CONSTANTS = 9, 4 + MAX_RANK * (8 + 4)
_AT, _NUMBER = ir.Local("at", ir.INTS), ir.Local("index", ir.INT)


@dataclass(frozen=True)
class TypeView:
    """A data type in shaders: what an element is stored and computed as; the same where only bits count."""

    entry: EnumEntry
    stored: str
    value: str
    bits_stored: str
    bits_value: str


@dataclass(frozen=True)
class TensorView:
    """A tensor of a shader: `position` among the members looked at, `place` in the struct.

    `entry` is its place in an array of tensors, None for the one under way.
    """

    position: int
    place: int
    entry: int | None
    macro: str
    as_bits: bool
    limited: bool


@dataclass(frozen=True)
class FunctionView:
    """A function of the description, and the tensor members that it reads."""

    tensors: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True)
class ShaderView:
    """The shader of an operator: the tensors that it reads, then the one that it writes.

    `over` is the number of the tensor whose elements are gone through. `tell` works out what a shader of the
    kernel "map" is told, `trace` which elements one of the kernel "gather" reads.
    """

    operator: Operator
    kind: Literal["ALIGNED", "COORDINATES", "GATHER"]
    tensors: tuple[TensorView, ...]
    over: int
    moves: bool
    tell: FunctionView | None
    trace: FunctionView | None


@dataclass(frozen=True)
class ActivationView:
    """An activation that can be fused, and its members that are no tensors."""

    operator: Operator
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class DispatchView:
    """All of it, with the most of everything that a shader takes."""

    types: tuple[TypeView, ...]
    shaders: Mapping[str, ShaderView]
    activations: tuple[ActivationView, ...]
    macros: tuple[str, ...]
    defines: int
    tensors: int
    constants: int
    elements: int
    scalars: int
    arrays: int
    longest_list: int


def dispatches(registry: Registry, members: Mapping[str, Sequence[str]], functions: set[str]) -> DispatchView:
    """The view; `members` are those that the header looks at, `functions` grows by the helpers called."""
    told = {
        operator.name: uniforms_of(operator.compute)
        for operator in registry.operators
        if operator.compute is not None and operator.compute.kernel in ("map", "gather")
    }
    shaders = {
        name: _shader(registry, registry.operator[name], uniforms, members[name], functions)
        for name, uniforms in told.items()
    }
    maps = {name: uniforms for name, uniforms in told.items() if shaders[name].kind != "GATHER"}
    elements, scalars, arrays = (
        max((len(getattr(uniforms, group)) for uniforms in maps.values()), default=0)
        for group in ("elements", "scalars", "arrays")
    )
    tensors = max((len(shader.tensors) for shader in shaders.values()), default=0)
    return DispatchView(
        types=tuple(map(_type, registry.data_types)),
        shaders=shaders,
        activations=_activations(
            registry, (name for name, uniforms in told.items() if "ACTIVATION" in uniforms.switches)
        ),
        macros=tuple(sorted({tensor.macro for shader in shaders.values() for tensor in shader.tensors})),
        defines=max((_defines(shaders[name], uniforms) for name, uniforms in told.items()), default=1),
        tensors=max(tensors, 1),
        constants=max(
            _GATHER_CONSTANTS,
            _whole(2 + 2 * elements + tensors + scalars) + MAX_RANK * _whole(4 + tensors + arrays),
        ),
        elements=max(elements, 1),
        scalars=max(scalars, 1),
        arrays=max(arrays, 1),
        longest_list=_longest_list(registry.operator[name] for name in told),
    )


def _whole(words: int) -> int:
    """Up to whole vectors, as constants are laid out."""
    return -(-words // 4) * 4


def _defines(shader: ShaderView, uniforms: Uniforms) -> int:
    """The macros that a shader takes, at most."""
    if shader.kind == "GATHER":
        return _GATHER_MACROS
    limits = _LIMIT_MACROS * sum(tensor.limited for tensor in shader.tensors)
    return len(uniforms.switches) + _TENSOR_MACROS * len(shader.tensors) + limits + _SHADER_MACROS


def _longest_list(operators: Iterable[Operator]) -> int:
    """The most entries of any array that is worked out."""
    arrays = (
        node
        for operator in operators
        if operator.compute is not None
        for expression in operator.compute.expressions
        for node in ir.walk(expression)
        if node.type == ir.INTS
    )
    return max((BOUNDS.length(node)[1] for node in arrays), default=0)


def _type(entry: EnumEntry) -> TypeView:
    size = entry.bits
    moved = {64: "uint64_t", 16: "uint16_t"}.get(size, "uint"), "uint64_t" if size == 64 else "uint"
    if entry.kind == "float":
        stored = {64: "double", 32: "float", 16: "float16_t"}[size]
        return TypeView(entry, stored, "double" if size == 64 else "float", *moved)
    sign = "u" if entry.kind == "unsigned" else ""
    stored = "uint" if size < 16 else f"{sign}int" if size == 32 else f"{sign}int{size}_t"
    return TypeView(entry, stored, f"{sign}int64_t" if size == 64 else f"{sign}int", *moved)


def _shader(
    registry: Registry, operator: Operator, uniforms: Uniforms, members: Sequence[str], functions: set[str]
) -> ShaderView:
    compute = operator.compute
    assert compute is not None and compute.value is not None
    places = [member.name for member in operator.members]
    as_bits = {*moves(operator), *bits(operator)}
    with_limits = limited(operator)

    def tensor(entry: str) -> TensorView:
        name, _, number = entry.partition("[")
        return TensorView(
            position=members.index(name),
            place=places.index(name),
            entry=int(number.rstrip("]")) if number else None,
            macro=macro(plain(entry)),
            as_bits=name in as_bits,
            limited=entry in with_limits,
        )

    printer = _DispatchPrinter(registry, operator)
    tell = trace = None
    if compute.kernel == "gather":
        entries = [*_gathered(compute.value), compute.output]
        trace = printer.trace(compute.value)
    else:
        entries = [*tensors_read(operator, compute.expressions), compute.output]
        tell = printer.tell(uniforms)
    functions |= printer.functions
    return ShaderView(
        operator=operator,
        kind="GATHER" if trace else "ALIGNED" if is_aligned(compute) else "COORDINATES",
        tensors=tuple(map(tensor, entries)),
        over=entries.index(compute.over),
        moves=bool(moves(operator)),
        tell=tell,
        trace=trace,
    )


def _gathered(value: ir.Expr) -> list[str]:
    """The tensor whose elements are gathered, and the one that says which."""
    loads = [node for node in ir.walk(value) if isinstance(node, ir.Load)]
    return list(dict.fromkeys(load.tensor.name for load in loads))


def _activations(registry: Registry, operators: Iterable[str]) -> tuple[ActivationView, ...]:
    """What any of the operators takes as fused activation; its members but tensors have the type FLOAT."""
    names = {other for name in operators for other in registry.fusable(registry.operator[name])}
    return tuple(
        ActivationView(operator, tuple(member.name for member in operator.attributes))
        for operator in sorted(map(registry.operator.__getitem__, names), key=lambda operator: operator.value)
        if operator.attributes
    )


class _DispatchPrinter(CPrinter):
    """Prints what shaders are told, and coordinates that lead from the output to another tensor."""

    def tell(self, uniforms: Uniforms) -> FunctionView | None:
        """What the shader is told, in the order of its constants; None where that is nothing."""
        for name, node in uniforms.switches.items():
            self._tell("switch", c_string(name), self._value(node))
        for node in uniforms.elements.values():
            number = node.arguments[0] if isinstance(node, ir.Call) else node
            if number.type not in (ir.FLOAT, node.type):
                raise self._unsupported(f"a {number.type} as {node.type}")
            kind = "number" if number.type == ir.FLOAT else "element"
            self._tell(kind, self._data_type(node.type), self._value(number))
        for node in uniforms.scalars.values():
            self._tell("float" if node.type == ir.FLOAT else "integer", self._value(node))
        for node in uniforms.arrays.values():
            self._define(node)
            self._tell("array", f"&{self._list(node)}")
        return FunctionView(tuple(self.tensors), tuple(self.statements)) if self.statements else None

    def trace(self, value: ir.Expr) -> FunctionView:
        """The elements that a coordinate leads to, one after the other."""
        if not isinstance(value, ir.Load):
            raise self._unsupported("a gather of more than elements")
        self._define(value.coordinate)
        self._add(f"dmlops_reach(trace, &{self._list(value.coordinate)});")
        return FunctionView(tuple(self.tensors), tuple(self.statements))

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        if node == _NUMBER:
            return "planning->number"
        if isinstance(node, ir.Member) and node.type.kind == "element":
            return f"&desc->{node.name}"
        if isinstance(node, ir.Member) and node.type.kind == "struct":
            return f"desc->{node.name}"
        return super().name(node)

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="wrap", arguments=(ir.Load(coordinate=coordinate), size)):
                return f"dmlops_follow(trace, &{self._list(coordinate)}, {self.print(size)})"
        return super().call(node)

    def _tell(self, what: str, *arguments: str) -> None:
        self._add(f"dmlops_tell_{what}({', '.join(['planning', *arguments])});")

    def _value(self, node: ir.Expr) -> str:
        self._define(node)
        return self.print(node)

    def _data_type(self, type_: ir.Type) -> str:
        """The data type of the tensor or member that an element type is named after."""
        assert self.operator is not None and type_.name is not None
        if self.operator.member[type_.name].is_tensor:
            return f"dmlops_enum(&{self.tensor(ir.Tensor(type_.name))}->DataType)"
        return f"dmlops_enum(&desc->{type_.name})"

    def _list(self, node: ir.Expr) -> str:
        return "trace->at" if node == _AT else super()._list(node)

    def _append(self, node: ir.Expr, target: str) -> None:
        if node == _AT:
            self._append_slice(node, None, None, target)
        else:
            super()._append(node, target)
