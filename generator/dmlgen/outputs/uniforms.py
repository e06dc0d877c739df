"""The inputs of a shader from a description: the parts of a computation that are the same for all elements.

The host computes them, in every language from the same expressions. Conditions become macros, so a shader is
compiled for them; the rest are constants of the dispatch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dmlgen.expr import ir
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.names import shader_macro, shader_variable
from dmlgen.registry import Operator
from dmlgen.schedules.aligned import is_first
from dmlgen.schedules.schedule import Schedule

ACTIVATION_PARAMETERS = 2  # the most parameters of an activation
_SHAPE = (("Sizes", ir.INTS), ("DimensionCount", ir.INT))
_TAKEN = {"Min", "Max", "Count", "Value"}  # names that shaders use for other things


@dataclass
class Uniforms:
    """Values by their name in the shader, in the order of first use.

    `switches` are booleans and enumerations, which become macros; `elements` are numbers of a tensor's type;
    `scalars` integers and floats; `arrays` have one entry per dimension.
    """

    switches: dict[str, ir.Expr] = field(default_factory=dict)
    elements: dict[str, ir.Expr] = field(default_factory=dict)
    scalars: dict[str, ir.Expr] = field(default_factory=dict)
    arrays: dict[str, ir.Expr] = field(default_factory=dict)
    _names: dict[ir.Expr, str] = field(default_factory=dict)

    def of(self, node: ir.Expr) -> str | None:
        """The name of a value in the shader, which then has it; None for one that shaders compute."""
        if node not in self._names and not ir.varies(node) and _is_named(node):
            self._names[node] = self._add(node)
        return self._names.get(node)

    def reciprocal(self, divisor: ir.Expr) -> str | None:
        """The name of 2^31 - 1 divided by an integer or by each entry of an array, rounded down: shaders
        multiply by it. None for a divisor that they compute."""
        name = self.of(divisor)
        if name is None:
            return None
        if divisor.type == ir.INT:
            self.scalars[f"{name}Reciprocal"] = _reciprocal(divisor)
        else:
            self.arrays[f"{name}Reciprocal"] = _reciprocals(divisor)
        return f"{name}Reciprocal"

    def _add(self, node: ir.Expr) -> str:
        name = f"Has{word(node.item)}" if isinstance(node, ir.Present) else word(node)
        if name in _TAKEN:
            name += "Member"
        name = shader_macro(macro(name)) if node.type.kind in ("bool", "enum") else camel(name)
        match node.type.kind:
            case "bool" | "enum":
                self.switches[name] = node
            case "element":
                self.elements[name] = node
            case "int" | "float":
                self.scalars[name] = node
            case "ints" | "floats":
                self.arrays[name] = node
            case "struct":  # a fused activation, see hlsl_activation
                self.switches["ACTIVATION"] = ir.Call("activation_type", (node,), ir.INT)
                for place in range(ACTIVATION_PARAMETERS):
                    parameter = ir.Call("activation_parameter", (node, ir.Number(place, ir.INT)), ir.FLOAT)
                    self.scalars[f"activationParameter{place}"] = parameter
        return name


def clamped(node: ir.Expr) -> ir.Expr:
    """An expression whose reads are all in bounds: coordinates are clamped, as in the reference.

    At `at` itself, rules make tensors as large as the output, and every tensor has a first element. A shader
    is not given the sizes of one of several tensors, which may be absent.
    """
    reads = [one for one in ir.walk(node) if isinstance(one, ir.Load)]
    reads = [one for one in reads if one.coordinate != ir.AT and not is_first(one.coordinate)]
    new: dict[ir.Expr, ir.Expr] = {
        one: replace(one, coordinate=_clamped(one)) for one in reads if one.tensor.index is None
    }
    return ir.substitute(node, new)


def _clamped(read: ir.Load) -> ir.Expr:
    sizes, rank = (ir.Field(read.tensor, name, type_) for name, type_ in _SHAPE)
    match read.coordinate:
        case ir.Reduce(kind="list", loop=ir.Loop(variable=d, condition=None), body=entry):
            pass
        case sequence:
            d = ir.Local("d", ir.INT)
            entry = ir.Index(sequence, d)
    last = ir.Binary("-", ir.Index(sizes, d), ir.ONE, ir.INT)
    first = ir.Call("max", (entry, ir.ZERO), ir.INT)
    loop = ir.Loop(d, ir.ZERO, rank, None)
    return ir.Reduce("list", loop, ir.Call("min", (first, last), ir.INT), ir.INTS)


def widened(schedule: Schedule, tensors: Sequence[str]) -> ir.Expr:
    """The tensors, as bits, whose integers shaders compute in double precision; this may depend on whether
    members are present."""
    masks: dict[ir.Expr | None, int] = {}

    def visit(node: ir.Expr, test: ir.Expr | None) -> None:
        match node:
            case ir.Call(function=name, arguments=(x, *_)) if (
                name in ELEMENT_FUNCTIONS and ELEMENT_FUNCTIONS[name].widens and x.type.name in tensors
            ):
                masks[test] = masks.get(test, 0) | 1 << tensors.index(x.type.name)
            case ir.Conditional(test=condition, then=then) if test is None and not ir.varies(condition):
                visit(then, condition)
                visit(node.otherwise, None)
                return
        for part in ir.children(node):
            visit(part, test)

    for expression in schedule.expressions:
        visit(expression, None)
    tests = [test for test in masks if test is not None]

    def mask(place: int, found: int) -> ir.Expr:
        if place == len(tests):
            return ir.Number(found, ir.INT)
        test = tests[place]
        there, absent = mask(place + 1, found | masks[test]), mask(place + 1, found)
        return there if there == absent else ir.Conditional(test, there, absent)

    return mask(0, masks.get(None, 0))


def _reciprocal(divisor: ir.Expr) -> ir.Expr:
    return ir.Binary("//", ir.Number(2**31 - 1, ir.INT), divisor, ir.INT)


def _reciprocals(divisors: ir.Expr) -> ir.Expr:
    match divisors:
        case ir.Definition(value=value):
            return _reciprocals(value)
        case ir.Reduce(kind="list", body=body):
            return replace(divisors, body=_reciprocal(body))
    d, count = ir.Local("d", ir.INT), ir.Call("len", (divisors,), ir.INT)
    loop = ir.Loop(d, ir.ZERO, count, None)
    return ir.Reduce("list", loop, _reciprocal(ir.Index(divisors, d)), ir.INTS)


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


def word(node: ir.Expr) -> str:
    """The name of a value of the description: that of what it is, or of the first thing that it is computed
    from."""
    match node:
        case ir.Definition(name=name) | ir.Member(name=name) | ir.Local(name="index" as name):
            return name
        case ir.Apply(function=function):
            return function.name
        case ir.Part(member=member, name=name):
            return member.name + name
        case ir.Present(item=ir.Member(name=name)):
            return f"Has{name}"
        case ir.Field(tensor=tensor, name=name):
            return plain(tensor.entry) + name
        case ir.Tensor(name=name):
            return plain(name)
        case ir.Call(function="convert" | "element", arguments=(item, *_)):
            return word(item)
        case ir.Call(function=name):
            return name
        case ir.Reduce(kind="any" | "all" as kind, body=body):
            return kind.capitalize() + word(body)
        case ir.Compare():
            return "Is" + word(node.right)
        case ir.EnumValue(name=name):
            return name.capitalize()
        case ir.Index(sequence=sequence):
            return word(sequence) + "Entry"
    return next((word(child) for child in ir.children(node)), "Number")


def plain(tensor: str) -> str:
    """A tensor's name without the word: InputTensor becomes Input, InputTensors[1] becomes Input1."""
    name, _, place = tensor.partition("[")
    return (name.removesuffix("Tensors").removesuffix("Tensor") or name) + place.removesuffix("]")


def camel(name: str) -> str:
    """A name of the ABI as a variable of a shader: InputTensor becomes inputTensor."""
    return shader_variable(name[0].lower() + name[1:])


def macro(name: str) -> str:
    """A name of the ABI as a macro: ScaleBias becomes SCALE_BIAS."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def loads(expressions: Iterable[ir.Expr]) -> list[ir.Load]:
    """The reads of tensors."""
    return [node for expression in expressions for node in ir.walk(expression) if isinstance(node, ir.Load)]


def tensors_read(operator: Operator, expressions: Iterable[ir.Expr]) -> list[str]:
    """The tensors that are read, in the order of members; single ones of an array if their index is fixed."""
    members = [member.name for member in operator.inputs]
    read = {load.tensor.entry: members.index(load.tensor.name) for load in loads(expressions)}
    return sorted(read, key=lambda entry: (read[entry], entry))
