"""Elements that are computed from others, or from their coordinates, as HLSL.

Integers are `int`, elements have the type in which their tensor is computed. What is not an expression in
HLSL (names, loops, guarded reads of a tensor) becomes statements before the expression's text. An array with
one entry per dimension is never built: its entries are computed where they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from dmlgen.analysis.definition_bounds import Valid
from dmlgen.expr import ir
from dmlgen.expr.bounds import Bounds
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.names import shader_variable
from dmlgen.outputs.hlsl_constants import Constants, ShaderConstant
from dmlgen.outputs.hlsl_functions import Calls
from dmlgen.outputs.hlsl_names import camel, macro, plain
from dmlgen.outputs.hlsl_printer import CHOICE, LOGIC, START, HlslPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor, tensor_of
from dmlgen.outputs.reads import tensors_read
from dmlgen.outputs.statements import StatementPrinter, enclosed
from dmlgen.plans.params import Declaration
from dmlgen.registry import Operator, Registry, Stage
from dmlgen.schedules.aligned import is_aligned, is_first
from dmlgen.schedules.schedule import Schedule

LARGEST = 2**31 - 1
_FLOORED = {"//": "FloorDivide", "%": "FloorModulo"}
PARAMETER, ACTIVATION_PARAMETERS = "activationParameter", 2  # of an activation: their names, the most
_DIMENSION = ir.Local("d", ir.INT)
_ONE, _ZERO = (ir.Number(value, ir.INT) for value in (1, 0))


@dataclass(frozen=True)
class MapText:
    """The text of a map: `value` is that of the element, after `value_lines`. `fused` is the member with an
    activation."""

    inputs: tuple[ShaderTensor, ...]
    output: ShaderTensor
    value_lines: tuple[str, ...]
    value: str
    constants: Constants
    called: Calls
    fused: str

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
        parameters = [f"{PARAMETER}{place}" for place in range(ACTIVATION_PARAMETERS if self.fused else 0)]
        numbers = [Declaration(one.kind, one.name) for one in self.constants.known("int", "float")]
        return (*numbers, *(Declaration("float", name) for name in parameters))


def map_text(registry: Registry, operator: Operator, schedule: Schedule) -> MapText:
    """The text of an operator's map."""
    assert schedule.value is not None
    output = tensor_of(registry, operator, schedule.output)
    read = tensors_read(operator, [schedule.value])
    inputs = tuple(tensor_of(registry, operator, name) for name in read)
    elements = {tensor.member: tensor.values for tensor in (*inputs, output)}
    printer = MapPrinter(elements, is_aligned(schedule), Valid(registry, operator, Stage.VALUES))
    value_lines, value = printer.value(schedule.value, ATOM)
    if schedule.place is not None:
        printer.constants.put("ints", "begin", schedule.place)
    return MapText(
        inputs=inputs,
        output=output,
        value_lines=tuple(value_lines),
        value=value.removeprefix(f"({output.macro}_VALUE)"),  # the return type converts anyway
        constants=printer.constants,
        called=printer.called,
        fused=printer.fused,
    )


class MapPrinter(HlslPrinter, StatementPrinter):
    """Prints the computation of one element.

    `elements` are the types in which elements are computed, by tensor. `aligned`: all tensors are read in
    step, and the element of each is a variable named after it.
    """

    def __init__(
        self, elements: Mapping[str, Collection[str]], aligned: bool, bounds: Bounds | None = None
    ) -> None:
        HlslPrinter.__init__(self)
        StatementPrinter.__init__(self)
        self.constants = Constants()
        self.elements = elements
        self.bounds = bounds or Bounds()
        self.bounds.known["at"] = (0, LARGEST)
        self.aligned = aligned
        self.fused = ""  # the member with an activation

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if (constant := self._constant(node)) is not None:
            if constant.kind == "element":
                return self.call_of("Unpack", self.values(node), constant.name, f"({self.type(node.type)})0")
            return constant.name
        match node:
            case ir.Index(sequence) if sequence != ir.AT and self._constant(sequence) is None:
                return self.print(_entry(node), outer)
        return super().print(node, outer)

    def _constant(self, node: ir.Expr) -> ShaderConstant | None:
        """The constant that a value of the description is passed as; None for what shaders compute."""
        if ir.varies(node) or not _is_named(node):
            return None
        return self.constants.of(node, "switch" if node.type.kind in ("bool", "enum") else node.type.kind)

    def values(self, node: ir.Expr) -> Collection[str]:
        if node.type.kind == "element":
            return self.elements[node.type.name or ""]
        return {"float"} if node.type == ir.FLOAT else {"int"}

    def type(self, type_: ir.Type) -> str:
        """The HLSL type of a value."""
        if type_.kind == "element":
            return self.element_type(type_)
        return {"bool": "bool", "float": "float"}.get(type_.kind, "int")

    def element_type(self, type_: ir.Type) -> str:
        """The macro of the type in which a tensor's elements are computed."""
        assert type_.name is not None
        return f"{macro(plain(type_.name))}_VALUE"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Definition(name=name, value=value):
                if name not in self._defined:
                    before = len(self.statements)
                    text = self.print(value)
                    if text.isidentifier() and len(self.statements) == before:  # a variable anyway
                        return text
                    self._add(f"const {self.type(node.type)} {camel(name)} = {text};")
                    self._defined.add(name)
                return camel(name)
            case ir.Local(name=name):
                return name if name in ("at", "index") else shader_variable(name)
        raise TypeError(f"{node.name} is passed to no shader")

    def field(self, node: ir.Field) -> str:
        if node.name != "DimensionCount":
            raise TypeError(f"{node.tensor.name}.{node.name} is passed to no shader")
        return "RANK"

    def index(self, node: ir.Index) -> str:
        constant, index = self._constant(node.sequence), self.print(node.index)
        return f"at[{index}]" if constant is None else f"dimensions[{index}].{constant.name}"

    def load(self, node: ir.Load) -> str:
        tensor = plain(node.tensor.entry)
        if self.aligned:
            return camel(tensor)
        at = ir.Index(node.coordinate, _DIMENSION)
        is_inside = node.coordinate == ir.AT or is_first(node.coordinate) or node.tensor.index is not None
        entry = at if is_inside else _clamped(_entry(at), node.tensor)
        return f"Load{tensor}({self._offset(entry, f'{camel(tensor)}Stride')})"

    def _offset(self, coordinate: ir.Expr, stride: str) -> str:
        """The name of an offset, given the coordinate in each dimension."""
        for part in ir.walk(coordinate):  # what is named is the same in all dimensions
            if isinstance(part, ir.Definition) and part.type != ir.INTS and ir.varies(part):
                self.print(part)
        offset = self._new("offset")
        with self.block() as entries:
            entry = self.print(coordinate, ATOM)
            self._add(f"{offset} += (uint){entry} * dimensions[d].{stride};")
        self._add(f"uint {offset} = 0;", "[unroll]", "for (int d = 0; d < RANK; d++)", *enclosed(entries))
        return offset

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.op in ("//", "%") and node.type == ir.INT:
            function, texts = _FLOORED[node.op], [self.print(node.left), self.print(node.right)]
            if (reciprocal := self._reciprocal(node.right)) is not None:
                return self.call_of(f"{function}By", {"int"}, *texts, reciprocal), ATOM
            return self.call_of(function, {"int"}, *texts), ATOM
        return super().binary(node)

    def _reciprocal(self, divisor: ir.Expr) -> str | None:
        """A constant: 2^31 - 1 divided by a divisor from the description, or by one for each dimension, and
        rounded down; None for a divisor that shaders compute."""
        if isinstance(divisor, ir.Index):
            constant, entry = self._constant(divisor.sequence), f"dimensions[{self.print(divisor.index)}]."
        else:
            constant, entry = self._constant(divisor), ""
        if constant is None or constant.node is None:
            return None
        name = f"{constant.name}Reciprocal"
        inverse = _reciprocals if constant.kind == "ints" else _reciprocal
        self.constants.put(constant.kind, name, inverse(constant.node))
        return entry + name

    def _choice(self, node: ir.Conditional) -> tuple[str, int]:
        test = self.print(node.test, LOGIC)
        found = self.choice(node, test, self.type(node.type), LOGIC)
        return (found, ATOM) if isinstance(found, str) else (f"{test} ? {found[0]} : {found[1]}", CHOICE)

    def chooses_apart(self, node: ir.Conditional) -> bool:
        """Whether a branch reads a tensor that must only be read if its condition holds."""
        return not self.aligned and (self._reads(node.then) or self._reads(node.otherwise))

    def _reads(self, node: ir.Expr) -> bool:
        """Whether the text of a value reads a tensor; that of a name does not."""
        if isinstance(node, ir.Definition) and node.name in self._defined:
            return False
        return isinstance(node, ir.Load) or any(map(self._reads, ir.children(node)))

    def _branch(self, test: str, then: list[str], otherwise: list[str]) -> None:
        self._add(f"if ({test})", *enclosed(then), "else", *enclosed(otherwise))

    def reduce(self, node: ir.Reduce) -> str:
        name, variable = self._new(node.kind), self.print(node.loop.variable)
        over_rank = isinstance(node.loop.upper, ir.Field) and node.loop.upper.name == "DimensionCount"
        lower = self.print(node.loop.lower)
        upper = "RANK" if over_rank else self.print(node.loop.upper, COMPARISON + 1)
        with self.block() as lines:
            self._add(self.turn(node, name, self.print(node.body, COMPARISON)))
        if node.loop.condition is not None:
            lines[:] = [f"if ({self.print(node.loop.condition)})", *enclosed(lines)]
        type_ = "bool" if node.type == ir.BOOL else "int"
        self._add(f"{type_} {name} = {START[node.kind]};")
        if over_rank:
            self._add("[unroll]")
        self._add(f"for (int {variable} = {lower}; {variable} < {upper}; {variable}++)", *enclosed(lines))
        return name

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="element", arguments=(item,)):
                return f"({self.element_type(node.type)}){self.print(item, ATOM)}"
            case ir.Call(function="convert", arguments=(item, _)):
                type_, number = self.element_type(node.type), self._value(item)
                if item.type.kind == "element":
                    significand = f"{type_.removesuffix('VALUE')}SIGNIFICAND"
                    number = self.call_of("RoundingOnce", self.values(item), number, significand)
                return self.call_of("Convert", self.values(item), number, f"({type_})0")
            case ir.Call(function="quantize", arguments=(item, ir.Tensor(entry=name))):
                limits = (f"{macro(plain(name))}_{end}" for end in ("LOWEST", "HIGHEST"))
                quantized = self.call_of("Quantize", self.values(item), self._value(item), *limits)
                return f"({self.element_type(node.type)}){quantized}"
            case ir.Call(function="difference", arguments=(left, right, _)):
                operands = self.print(left), self.print(right)
                type_ = self.element_type(node.type)
                return self.call_of("Difference", self.values(left), *operands, f"({type_})0")
            case ir.Call(function="apply_activation", arguments=(item, activation)):
                assert isinstance(activation, ir.Member)
                self.fused = activation.name
                return f"Activate({self.print(item)})"
            case ir.Call(function="max", arguments=(item, ir.Number(value=0))) if (
                node.type == ir.INT
                and 0 <= self.bounds.value(item)[0] <= self.bounds.value(item)[1] <= LARGEST
            ):  # neither negative nor wrapped around
                return self.print(item, ATOM)
            case ir.Call(
                "max", (ir.Call("min", (item, ir.Call("element", (one,)))), ir.Call("element", (zero,)))
            ) if (one, zero) == (_ONE, _ZERO):
                return self.applied("Saturate", item)
            case ir.Call(function="min" | "max" | "abs" as function) if node.type == ir.INT:
                return f"{function}({', '.join(map(self.print, node.arguments))})"
            case ir.Call("round_even", (ir.Call("divide_exactly", (left, right)),)):
                return self.applied("RoundedQuotient", left, right)
            case ir.Call(
                "round_even",
                (ir.Binary("*", left, ir.Call("divide_exactly", (ir.Call("element", (one,)), right))),),
            ) if one == _ONE:
                return self.applied("RoundedByReciprocal", left, right)
            case ir.Call(function="pow", arguments=(_, exponent)):
                return self.applied("Power" if ir.varies(exponent) else "PowerBy", *node.arguments)
        return super().call(node)

    def _value(self, item: ir.Expr) -> str:
        return f"(int){self.print(item, ATOM)}" if item.type == ir.BOOL else self.print(item)

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        return self._choice(node) if isinstance(node, ir.Conditional) else super()._node(node)


def _entry(node: ir.Index) -> ir.Expr:
    """An entry of an array that is made entry by entry."""
    index = node.index
    match node.sequence:
        case ir.Definition(value=value):
            return ir.Index(value, index)
        case ir.Call("replace", (original, place, value)):
            return ir.Conditional(ir.Compare("==", index, place), value, ir.Index(original, index))
        case ir.Reduce("list", (ir.Loop(variable, condition=None),), body):
            return ir.substitute(body, {variable: index})
        case ir.ListOf(items=(*before, last)):
            for number, item in reversed(list(enumerate(before))):
                here = ir.Compare("==", index, ir.Number(number, ir.INT))
                last = ir.Conditional(here, item, last)
            return last
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            return ir.Conditional(test, ir.Index(then, index), ir.Index(otherwise, index))
    raise TypeError(f"{type(node.sequence).__name__} cannot be read by dimension in a shader")


def _clamped(entry: ir.Expr, tensor: ir.Tensor) -> ir.Expr:
    """An entry of a coordinate, clamped to a tensor, as in the reference.

    At `at` itself, rules make tensors as large as the output, and every tensor has a first element. A shader
    is not given the sizes of one of several tensors, which may be absent.
    """
    size = ir.Index(ir.Field(tensor, "Sizes", ir.INTS), _DIMENSION)
    first = ir.Call("max", (entry, ir.ZERO), ir.INT)
    return ir.Call("min", (first, ir.Binary("-", size, ir.ONE, ir.INT)), ir.INT)


def _reciprocal(divisor: ir.Expr) -> ir.Expr:
    return ir.Binary("//", ir.Number(2**31 - 1, ir.INT), divisor, ir.INT)


def _reciprocals(divisors: ir.Expr) -> ir.Expr:
    match divisors:
        case ir.Definition(value=value):
            return _reciprocals(value)
        case ir.Reduce(kind="list", body=body):
            return replace(divisors, body=_reciprocal(body))
    d, count = ir.Local("d", ir.INT), ir.Call("len", (divisors,), ir.INT)
    return ir.Reduce("list", (ir.Loop(d, ir.ZERO, count),), _reciprocal(ir.Index(divisors, d)), ir.INTS)


def _counts_dimensions(node: ir.Expr) -> bool:
    """Whether a number depends only on the dimension count, which shaders know."""
    match node:
        case ir.Field(name="DimensionCount"):
            return True
        case ir.Definition(value=value):
            return _counts_dimensions(value)
        case ir.Binary(left=left, right=ir.Number()):
            return _counts_dimensions(left)
        case _:
            return False


def _is_named(node: ir.Expr) -> bool:
    match node:
        case ir.Call(function="convert" | "element", arguments=(item, *_)):
            # An integer is passed as such, and converted to an element in the shader.
            return node.type.kind == "element" and item.type != ir.INT and _is_named(item)
        case _:
            named = ir.Definition | ir.Member | ir.Part | ir.Field | ir.Present
            if isinstance(node, ir.Local):
                return node.name == "index"
            return isinstance(node, named) and not _counts_dimensions(node)
