"""The reference in Python: definitions of outputs, using `dmlops.definition`, and algorithms.

Each `let` name of a definition becomes a function; a function used both with floats that decide and with free
ones becomes two.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.keyed import keyed
from dmlgen.expr import ir
from dmlgen.expr.define import NUMBERS, PLACES, varies
from dmlgen.expr.definition_queries import local_names, uses_at
from dmlgen.expr.precise_floats import DecidingPrinter
from dmlgen.expr.printer import ATOM, PRODUCT, Spelling
from dmlgen.names import free, pascal, snake
from dmlgen.outputs.parts import merged, parts
from dmlgen.outputs.python_planner import FunctionPrinter
from dmlgen.outputs.python_printer import DescPrinter
from dmlgen.outputs.python_rules import assignments_of, constants_of, used_definitions
from dmlgen.outputs.reads import taken_as_bits
from dmlgen.outputs.render import Templates
from dmlgen.registry import AlgorithmUse, Intermediate, Operator, Registry

_NUMPY = {"int": "np.int64", "bool": "np.bool_"}
_ELEMENT_NAMES = {"abs": "absolute", "min": "minimum", "max": "maximum"}
_RESERVED = ("at", "e", "f", "np", "desc")
_COORDINATES = {"align", "replace", "normalize_index"}
_OF_ANY_SIZE = {"exp", "pow"}  # functions whose results may be beyond single precision
_OF_FEW = ("total", "multiplied", "least_of", "greatest_of")
_DEFINED = (
    "entry",
    "quotient",
    "remainder",
    "clamp",
    "smaller",
    "larger",
    "whole",
    "choose",
    "ndindex",
    "sizes_of",
    "rank_of",
    "enums",
    *_COORDINATES,
    *_OF_FEW,
    *PLACES,
)
"""The names that every module imports."""


@dataclass(frozen=True)
class FunctionView:
    """A function inside `define`: parameters, and the expression that it returns."""

    name: str
    parameters: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class TensorView:
    name: str
    type: str
    sizes: str
    value: str
    along: bool
    keyed: tuple[str, str, str] | None = None  # the coordinate's name, its box, the entry's index


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The modules, by path below generated/."""

    def module(near: Registry, operator: Operator) -> dict[str, bytes]:
        folder = "python/dmlops/compute"
        if operator.algorithm is not None:
            view = _algorithm(near, operator, operator.algorithm)
            text = templates.render(f"{folder}/algorithm.py.j2", operator=operator, **view)
        elif operator.defines is not None:
            moved = taken_as_bits(operator, operator.defines)
            view = _definition(operator)
            text = templates.render(f"{folder}/definition.py.j2", operator=operator, bits=moved, **view)
        else:
            return {}
        return {f"{folder}/{operator.slug}.py": text}

    return merged(parts("definition", registry, templates.memory, module))


def _algorithm(registry: Registry, operator: Operator, algorithm: AlgorithmUse) -> dict[str, object]:
    """The content of the module of an algorithm: its roles, tensors by name."""
    printer = FunctionPrinter(registry, operator)
    used = used_definitions(operator.definitions, algorithm.roles.values())
    return {
        "algorithm": algorithm,
        "computation": pascal(algorithm.name.upper()),
        "assignments": assignments_of(printer, used),
        "roles": [
            (name, f'"{node.name}"' if isinstance(node, ir.Tensor | ir.Tensors) else printer.print(node))
            for name, node in algorithm.roles.items()
        ],
        "constants": constants_of(printer),
    }


def _definition(operator: Operator) -> dict[str, object]:
    """The content of the module: its functions, and the value of each tensor and output.

    A value without loops is computed as shaders do, in single precision, so that nothing but the order of
    sums differs. Loops, which add errors up, get double precision, except for exponentials and powers that
    they sum.
    """
    defines = operator.defines
    assert defines is not None
    printer = DefinitionPrinter(operator)
    tensors = tuple(_tensor_view(tensor, printer) for tensor in defines.tensors)
    has_loops = any(
        isinstance(node, ir.Reduce) and node.kind != "list"
        for whole in defines.whole
        for node in ir.walk(whole)
    )
    of_output = printer.free if has_loops else printer.deciding
    outputs = {name: of_output(value) for name, value in defines.outputs.items()}
    return {"functions": printer.functions, "tensors": tensors, "outputs": outputs}


def _tensor_view(tensor: Intermediate, printer: DefinitionPrinter) -> TensorView:
    found = keyed(tensor)
    value = tensor.value if found is None else found.value
    return TensorView(
        name=tensor.name,
        type=_NUMPY.get(tensor.type.kind, "None" if tensor.decides else "np.float64"),
        sizes=printer.deciding(tensor.sizes),
        value=printer.deciding(value) if tensor.decides else printer.free(value),
        along=tensor.along,
        keyed=None
        if found is None
        else (_local(found.variable.name), printer.deciding(found.sizes), printer.deciding(found.key)),
    )


class DefinitionPrinter(DecidingPrinter, DescPrinter):
    """Prints the expressions of one operator's definition, and collects the functions that they use.

    Members and tensors of the description appear as `desc.Name`; elements are read through `e`, the
    evaluation.
    """

    operator: Operator
    spelling = Spelling(
        functions={"sum": "total({})", "product": "multiplied({})"},
        reductions={
            "list": "tuple({})",
            "sum": "total({})",
            "product": "multiplied({})",
            "min": "least_of({})",
            "max": "greatest_of({})",
            "any": "f.some({})",
            "all": "f.every({})",
        },
    )

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.functions: list[FunctionView] = []
        self._names: dict[object, str] = {}
        assert operator.defines is not None
        whole = [*operator.defines.whole]
        named = [part.value for one in whole for part in ir.walk(one) if isinstance(part, ir.Definition)]
        self._variables = {*_RESERVED, *map(_local, local_names([*whole, *named]))}

    def free(self, node: ir.Expr) -> str:
        """The text of a value whose floats are free."""
        return self._in(node, False)

    def _float(self, text: str) -> str:
        return f"e.as_single({text})" if self._single else f"e.as_double({text})"

    # Names.

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Definition(value=value):
                return f"{self._function(node, node.name, (), value)}()"
            case ir.Member() | ir.Tensors():
                return super().name(node)
            case ir.Local(name="index"):
                return "e.index"
            case _:
                return _local(node.name)

    def _function(self, key: object, name: str, parameters: tuple[str, ...], body: ir.Expr) -> str:
        """The name of the function for a `let` name, which is written on first use."""
        of_floats = body.type.kind in ("float", "element")
        whole = (key, of_floats and self._single)
        if whole not in self._names:
            unique = free(snake(name), self._names.values(), self._variables, _DEFINED)
            self._names[whole] = unique
            text = self._in(body, self._single or not of_floats)
            self.functions.append(FunctionView(unique, parameters, text))
        return self._names[whole]

    def apply(self, node: ir.Apply) -> str:
        function = node.function
        parameters = tuple(_local(parameter.name) for parameter in function.parameters)
        places = ("at",) if uses_at(function.body) else ()
        name = self._function(function, function.name, (*places, *parameters), function.body)
        return f"{name}({', '.join([*places, *self._given(node)])})"

    def enum_value(self, node: ir.EnumValue) -> str:
        enum = pascal(node.type.name or "")
        return f"enums.{enum}.{node.name}"

    def real(self, text: str) -> str:
        return self._float(super().real(text))

    def field(self, node: ir.Field) -> str:
        text = f"{self.tensor(node.tensor)}.{node.name}"
        if not self.operator.member[node.tensor.name].optional or node.name == "DataType":
            return text  # what is absent has no type
        function = "sizes_of" if node.name == "Sizes" else "rank_of"
        return f"{function}({self.tensor(node.tensor)})"

    def present(self, node: ir.Present) -> str:
        return f"({super().present(node)})"

    # Arrays and coordinates.

    def entry_of(self, node: ir.Expr) -> str:
        return self.deciding(node)

    def index(self, node: ir.Index) -> str:
        index = node.index
        certain = isinstance(index, ir.Number) and isinstance(node.sequence, ir.Local)
        sequence = self._plain_list(node.sequence)
        if certain:
            return f"{sequence}[{self.print(index)}]"
        text = f"entry({sequence}, {self.deciding(index)})"
        return self.real(text) if node.type == ir.FLOAT else text

    def _plain_list(self, node: ir.Expr) -> str:
        return f"desc.{node.name}" if isinstance(node, ir.Member) else self.print(node, ATOM)

    def slice(self, node: ir.Slice) -> str:
        def bound(end: ir.Expr | None) -> str:
            if end is None:
                return ""
            text = self.deciding(end)
            return text if isinstance(end, ir.Number) else f"max({text}, 0)"

        return f"{self._plain_list(node.sequence)}[{bound(node.lower)}:{bound(node.upper)}]"

    def load(self, node: ir.Load) -> str:
        return self._read(node.tensor.entry, node.coordinate, node.type)

    def _read(self, name: str, coordinate: ir.Expr, type_: ir.Type) -> str:
        methods = {"int": "integer", "element": "element", "bool": "truth"}
        method = methods.get(type_.kind, "single" if self._single else "double")
        return f'e.{method}("{name}", {self.deciding(coordinate)})'

    # Numbers and truth values.

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.type == ir.INTS:
            return self.joined(node)
        if node.op in ("//", "%"):
            function = "quotient" if node.op == "//" else "remainder"
            return f"{function}({self.print(node.left)}, {self.print(node.right)})", ATOM
        if node.op == "/" and node.type.kind == "element":
            left, right = self.print(node.left), self.print(node.right)
            return f"f.divide({left}, {right})", ATOM
        a, b = _beside(node.left, node.right)
        if node.op == "/" and _may_be_plain(a) and _may_be_plain(b):  # Python numbers raise if divided by 0
            return f"{self._float(self.print(a))} / {self.print(b, PRODUCT + 1)}", PRODUCT
        return super().binary(ir.Binary(node.op, a, b, node.type))

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Number(value=value, type=ir.FLOAT) if self._single:
                return self._float(self.number(value)), ATOM
            case ir.Entry(tensor=tensor, coordinate=coordinate, type=type_):
                return self._read(tensor, coordinate, type_), ATOM
            case ir.Apply():
                return self.apply(node), ATOM
            case ir.Compare(op=op, left=ir.Number() as left, right=right) if not isinstance(right, ir.Number):
                return self._node(ir.Compare(ir.FLIPPED[op], right, left))
            case ir.Compare(op=op, left=left, right=right):
                before, self._single = self._single, True
                text = super()._node(ir.Compare(op, *_beside(left, right)))
                self._single = before
                return text
            case ir.Logic(op=op, operands=operands) if any(map(varies, operands)):
                return self._logic(op, operands), 1
            case ir.Not(operand=operand) if varies(operand):
                return f"f.opposite({self.print(operand)})", ATOM
            case ir.OneOf(item=item, choices=choices) if varies(node):
                tests = ", ".join(self.print(ir.Compare("==", item, choice)) for choice in choices)
                return f"f.either({tests})", ATOM
        return super()._node(node)

    def _logic(self, op: str, operands: tuple[ir.Expr, ...]) -> str:
        """Tests of the description come before what they guard, and are not mixed with those of elements."""
        known: list[str] = []
        rest = list(operands)
        while rest and not varies(rest[0]):
            known.append(self.print(rest.pop(0), 3))
        if len(rest) == 1:
            return f" {op} ".join([*known, self.print(rest[0], 3)])
        function = "f.both" if op == "and" else "f.either"
        return f" {op} ".join([*known, f"{function}({', '.join(map(self.print, rest))})"])

    def conditional(self, node: ir.Conditional) -> str:
        test = self.deciding(node.test, 1)
        if varies(node.test):
            then, otherwise = self.print(node.then), self.print(node.otherwise)
            return f"choose({test}, {then}, {otherwise})"
        return f"{self.print(node.then, 1)} if {test} else {self.print(node.otherwise)}"

    def call(self, node: ir.Call) -> str:
        name, arguments = node.function, node.arguments
        if name == "element":
            return f"f.convert({self.print(arguments[0])}, {self.data_type(node.type)})"
        if name == "apply_activation":
            return self._activated(*arguments)
        if name in ("convert", "quantize"):
            target = arguments[1]
            assert isinstance(target, ir.Tensor)
            function = "e.converted" if name == "convert" else "e.quantized"
            text = self.print(arguments[0]) if node.type == ir.FLOAT else self.deciding(arguments[0])
            text = f'{function}({text}, "{target.entry}")'
            return f"e.as_integer({text})" if node.type == ir.INT else text
        if name == "concat":
            tensors, axis = arguments
            assert isinstance(tensors, ir.Tensors)
            return f'e.concat("{tensors.name}", {self.deciding(axis)}, at)'
        if name == "previous_contents":
            target = arguments[0]
            assert isinstance(target, ir.Tensor)
            return f'e.previous_contents("{target.name}", at)'
        if name in ("min_value", "max_value"):
            target = arguments[0]
            assert isinstance(target, ir.Tensor)
            text = f'e.{name}("{target.entry}")'
            if node.type.kind == "element":
                return f"f.convert({text}, {self.data_type(node.type)})"
            return f"whole({text})" if node.type == ir.INT else text
        if name == "float":
            return self._float(
                self.deciding(arguments[0]) if arguments[0].type != ir.FLOAT else self.print(arguments[0])
            )
        if name == "int":
            return f"whole({self.deciding(arguments[0])})"
        decides = name in ("floor", "ceil", "trunc", "round_even", "round_away")
        listed = ", ".join(self.deciding(a) if decides else self.print(a) for a in arguments)
        if name == "len":
            return f"len({listed})"
        if name in ("min", "max") and node.type == ir.INT:
            return f"{'smaller' if name == 'min' else 'larger'}({listed})"
        if name in ("product", "sum"):
            return self.spelling.call(name, [listed])
        if name == "clamp" or name in PLACES or name in _COORDINATES:
            return f"{name}({listed})"
        assert name not in NUMBERS
        return f"f.{_ELEMENT_NAMES.get(name, name)}({listed})"

    def _activated(self, value: ir.Expr, activation: ir.Expr, number: ir.Expr | None = None) -> str:
        assert isinstance(activation, ir.Member)
        text, member = self.print(value), f"desc.{activation.name}"
        if number is not None:
            return f"e.activated_by({text}, {member}, {self.deciding(number)})"
        if isinstance(value, ir.Entry):
            return f'e.activated({text}, {member}, "{value.tensor}", {self.deciding(value.coordinate)})'
        return f"e.activated({text}, {member})"

    # Loops.

    def reduce(self, node: ir.Reduce) -> str:
        if not node.over_elements:
            loop = node.loop
            bounds = [self.deciding(b) for b in (loop.lower, loop.upper) if b != ir.ZERO]
            condition = f" if {self.deciding(node.condition)}" if node.condition is not None else ""
            text = f"for {_local(loop.variable.name)} in range({', '.join(bounds)}){condition}"
            return self.spelling.reduction(node.kind, f"{self.print(node.body)} {text}")
        names = ", ".join(_local(loop.variable.name) for loop in node.loops)
        loops = ", ".join(map(self._loop, node.loops))
        where = (
            f", where=lambda {names}: {self.deciding(node.condition)}" if node.condition is not None else ""
        )
        limit = ""
        if node.kind in ("min", "max"):
            end = {"min": "max_value", "max": "min_value"}[node.kind]
            limit = f", initial={self._limit(end, node.type)}"
        if node.kind in ("argmax", "argmin", "any", "all"):
            body = self.deciding(node.body)
        elif node.kind == "sum":
            body = self._factors(node.body)
        else:
            body = self.print(node.body)
        text = f"e.{node.kind}(lambda {names}: {body}, {loops}{where}{limit})"
        if node.kind in ("sum", "product") and node.type.kind == "element":  # of nothing it has no type
            return f"f.convert({text}, {self.data_type(node.type)})"
        return self._float(text) if node.kind == "sum" and node.type == ir.FLOAT and self._single else text

    def _factors(self, node: ir.Expr) -> str:
        """The terms of a sum; for a sum of products, the pair of factors."""
        if isinstance(node, ir.Binary) and node.op == "*" and node.type in (ir.FLOAT, ir.INT):
            return f"({self._term(node.left)}, {self._term(node.right)})"
        return self._term(node)

    def _term(self, node: ir.Expr) -> str:
        """A term or a factor of a sum. Only the sum is double: what underflows in single precision adds
        nothing."""
        calls = {part.function for part in ir.walk(node) if isinstance(part, ir.Call)}
        return self.deciding(node) if calls & _OF_ANY_SIZE else self.free(node)

    def _limit(self, end: str, type_: ir.Type) -> str:
        if type_.kind == "element":
            return f'f.convert(e.{end}("{type_.name}"), {self.data_type(type_)})'
        if type_ == ir.FLOAT:
            return 'float("inf")' if end == "max_value" else '-float("inf")'
        return "2**63 - 1" if end == "max_value" else "-(2**63)"

    def _loop(self, loop: ir.Loop) -> str:
        first, last = self.deciding(loop.lower), self.deciding(loop.upper)
        if loop.variable.type == ir.INTS:
            return f"ndindex({last})" if loop.lower == ir.ZERO else f"Box({first}, {last})"
        return f"Range({first}, {last})"


def _beside(left: ir.Expr, right: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """Two operands: next to a literal, NumPy uses the value's own type."""
    match left, right:
        case ir.Number(), ir.Number():
            return left, right
        case ir.Number(value=value, type=ir.FLOAT), _:
            return ir.Number(value, ir.INT), right
        case _, ir.Number(value=value, type=ir.FLOAT):
            return left, ir.Number(value, ir.INT)
    return left, right


def _may_be_plain(node: ir.Expr) -> bool:
    """Whether a float can be a Python float: a literal, an empty reduction, or computed from such."""
    match node:
        case ir.Number() | ir.Reduce():
            return True
        case ir.Apply(function=function):
            return _may_be_plain(function.body)
        case ir.Conditional(then=then, otherwise=otherwise):
            return _may_be_plain(then) or _may_be_plain(otherwise)
        case ir.Binary() | ir.Negate():
            return all(map(_may_be_plain, ir.children(node)))
    return False


def _local(name: str) -> str:
    """A parameter or a loop variable, in Python."""
    text = snake(name)
    return f"{text}_" if text in _RESERVED and name != "at" else text
