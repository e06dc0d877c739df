"""Definitions of outputs as HLSL: one shader for an operator, compiled once for each pass.

A pass writes one intermediate tensor or one output. Each name of `let` becomes a function, two where floats
that decide and free ones use it; so does each loop, and each choice that would compute what it does not take.
What the description alone gives is worked out on the host and told as constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.deciding import deciding_parameters
from dmlgen.expr.define import NUMBERS
from dmlgen.expr.defined import Widths, asks_presence, free_locals, is_known, uses_at
from dmlgen.expr.printer import ATOM, COMPARISON, Printer
from dmlgen.outputs.hlsl import Tensor, tensor_of
from dmlgen.outputs.hlsl_activation import Activation, activations_of
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.hlsl_printer import COMPARISONS
from dmlgen.outputs.render import Templates
from dmlgen.outputs.uniforms import camel, macro, plain
from dmlgen.registry import Operator, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.text import Text

REAL = "REAL_VALUE"
_WORDS = frozenset(
    re.findall(
        r"\w+",
        """bool buffer case cbuffer column const continue default discard do double else export extern false
        float for half if in inline inout int line linear matrix min namespace nointerpolation out
        packoffset pass point precise register return row sample sampler shared static string struct switch
        texture this triangle true typedef uint uniform unorm unsigned vector void volatile while item first
        group thread count sizes result best found value lower place rank scratch activations groupColumns
        abs all any asdouble asfloat asuint clamp max min""",
    )
)
"""Words of HLSL, functions of it that shaders call, and names of the text around an expression."""

_HELPERS = frozenset(
    re.findall(
        r"\w+",
        """List Reals ListOf RealsOf Listed Zeros Join Part Entry Align Replace Flat Unflat Inside Total
        Multiplied FloorQuotient FloorRemainder Narrow IsBox Advance Activate Activation CSMain""",
    )
)
"""Names of the text around functions."""
_START = {"sum": "0", "product": "1", "any": "false", "all": "true"}
_TURN = {
    "sum": "result = result + {};",
    "product": "result = result * {};",
    "any": "result = result || {};",
    "all": "result = result && {};",
    "min": "result = Min(result, {});",
    "max": "result = Max(result, {});",
}


@dataclass(frozen=True)
class Constant:
    """A constant of the shader: a number, or a list of up to MAX_RANK ones whose length is a macro.

    `kind` is "int", "float", "ints" or "floats"; `macro` is what that macro begins with, `node` what it is,
    None for what belongs to a tensor.
    """

    kind: str
    name: str
    macro: str
    node: ir.Expr | None = None


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
class Kept:
    """An intermediate tensor: its name as a variable, the type of its entries, and 32-bit words of one."""

    member: str
    name: str
    function: str
    type: str
    words: str

    @property
    def macro(self) -> str:
        return macro(self.name)


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
    constants = printer.constants.values()
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
        lists=tuple(one for one in constants if one.kind in ("ints", "floats")),
        scalars=tuple(one for one in constants if one.kind in ("int", "float")),
        texts=tuple(printer.texts),
        fused=printer.fused,
        activations=activations,
        functions=() if functions is None else functions.closure(called, types),
        max_rank=MAX_RANK,
        most_listed=printer.most_listed,
    )


class ShaderPrinter(Printer):
    """Prints the expressions of one definition, and collects functions and constants that they need.

    A text is an expression of HLSL without statements. `locals` are those of the function being printed that
    are wide; floats of what is being printed decide where `single` is set.
    """

    def __init__(self, registry: Registry, operator: Operator, taken: frozenset[str]) -> None:
        """`taken` are names that functions must not have."""
        defines = operator.defines
        assert defines is not None
        self.tensors = {
            member.name: tensor_of(registry, operator, member.name) for member in operator.tensors
        }
        self.constants: dict[str, Constant] = {}
        self.texts: list[str] = []
        self.called: set[str] = {"Convert"}
        self.held: dict[str, None] = {}
        self.limited: dict[str, None] = {}
        self.quantized: set[str] = set()
        self.fused = ""
        self.most_listed = 1
        wide = {
            name: any(bits > 32 for bits in tensor.bits) or "UINT32" in tensor.types
            for name, tensor in self.tensors.items()
        }
        for tensor in defines.tensors:
            wide[tensor.name] = tensor.type == ir.INT and Widths(wide).is_wide(tensor.value, frozenset())
        self.widths = Widths(wide)
        self.kept = {tensor.name: self._kept(tensor.name, tensor.type) for tensor in defines.tensors}
        functions = [tensor.function for tensor in self.tensors.values()]
        functions += [kept.function for kept in self.kept.values()]
        self._taken = {*taken, *_HELPERS}
        self._taken |= {
            prefix + name for name in functions for prefix in ("Load", "Store", "Read", "Quantize")
        }
        self._single = False
        self._locals: frozenset[str] = frozenset()
        self._names: dict[object, str] = {}
        self._known: dict[ir.Expr, str] = {}
        self._variables = {_local(name) for name in _variables(defines.whole)}
        for name, tensor_ in self.tensors.items():
            self._tensor_list(tensor_.local, tensor_.macro, "Sizes")
            self._tensor_list(tensor_.local, tensor_.macro, "Strides")
            field = ir.Field(ir.Tensor(name), "Sizes", ir.INTS)
            self._known[field] = f"{tensor_.local}Sizes"
        for one in self.kept.values():
            self._tensor_list(one.name, one.macro, "Sizes")
            self.constants[f"{one.name}First"] = Constant("int", f"{one.name}First", "")

    def _tensor_list(self, local: str, macro: str, what: str) -> None:
        self.constants[local + what] = Constant("ints", local + what, f"{macro}_{what.upper()}")

    def _kept(self, name: str, type_: ir.Type) -> Kept:
        text = self._type(type_, self.widths.is_wide(ir.Entry(name, ir.ListOf(()), type_), frozenset()))
        words = {REAL: "REAL_BITS / 32", "int64_t": "2"}.get(text, "1")
        return Kept(name, f"kept{name}", f"Kept{name}", text, words)

    # Values and functions.

    def value(self, node: ir.Expr, decides: bool) -> str:
        """The value of an intermediate tensor at `at`; `decides`: its floats do."""
        return self._in(node, decides, ATOM)

    def stored(self, name: str, node: ir.Expr) -> str:
        """The value of an output at `at`, in the type in which its elements are computed."""
        text, type_ = self._in(node, False, ATOM), f"{self.tensors[name].macro}_VALUE"
        if node.type == ir.FLOAT:
            return f"({type_}){self._call('RoundingOnce', text, f'{self.tensors[name].macro}_BITS')}"
        return text if node.type.kind == "element" else f"({type_}){text}"

    def deciding(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of a value whose floats decide."""
        return self._in(node, True, outer)

    def _in(self, node: ir.Expr, single: bool, outer: int) -> str:
        before, self._single = self._single, single
        text = self.print(node, outer)
        self._single = before
        return text

    def _narrow(self, node: ir.Expr, outer: int = 0) -> str:
        """An integer of 32 bits; a wider one is limited to those."""
        if self._is_wide(node):
            return f"Narrow({self.deciding(node)})"
        return self.deciding(node, outer)

    def _is_wide(self, node: ir.Expr) -> bool:
        return self.widths.is_wide(node, self._locals)

    def _type(self, type_: ir.Type, wide: bool = False) -> str:
        if type_.kind == "element":
            assert type_.name is not None
            return f"{macro(plain(type_.name))}_VALUE"
        if type_ == ir.INT and wide:
            return "int64_t"
        return {"bool": "bool", "float": REAL, "ints": "List", "floats": "Reals"}.get(type_.kind, "int")

    def _type_of(self, node: ir.Expr) -> str:
        return self._type(node.type, self._is_wide(node))

    def _unique(self, word: str) -> str:
        base = word[0].upper() + word[1:]
        base = "".join(part[0].upper() + part[1:] for part in base.split("_") if part)
        number, name = 2, base
        while name in self._taken or name in self._names.values():
            number, name = number + 1, f"{base}{number}"
        return name

    def _define(
        self, key: object, word: str, type_: str, parameters: list[str], body: Callable[[], list[str]]
    ) -> str:
        """The name of a function, written when it is first asked for."""
        if key not in self._names:
            self._names[key] = self._unique(word)
            lines = "\n".join(f"    {line}" for line in body())
            precise = "precise " if self._single and type_ == REAL else ""
            head = f"{precise}{type_} {self._names[key]}({', '.join(parameters)})"
            self.texts.append(f"{head}\n{{\n{lines}\n}}")
        return self._names[key]

    def apply(self, node: ir.Apply) -> str:
        function, body = node.function, node.function.body
        inner = self.widths.parameters(function, node.arguments, self._locals)
        of_floats = body.type.kind in ("float", "element")
        single = self._single or not of_floats
        needed = deciding_parameters(function)
        given = []
        for parameter, argument in zip(function.parameters, node.arguments, strict=True):
            decides = parameter.name in needed or argument.type.kind not in ("float", "element")
            given.append(self.deciding(argument) if decides else self.print(argument))
        places = ["at"] if uses_at(body) else []
        parameters = [
            f"{self._type(one.type, one.name in inner)} {_local(one.name)}" for one in function.parameters
        ]
        before = self._locals, self._single
        self._locals, self._single = inner, single
        type_ = self._type_of(body)
        name = self._define(
            (function, single, inner),
            function.name,
            type_,
            [*(["List at"] if places else []), *parameters],
            lambda: self._returned(body),
        )
        self._locals, self._single = before
        return f"{name}({', '.join([*places, *given])})"

    def _lifted(self, node: ir.Expr, word: str, body: Callable[[], list[str]]) -> str:
        """A call of a function of its own for an expression; its locals are the arguments."""
        outer = free_locals(node)
        parameters = [
            f"{self._type(local.type, name in self._locals)} {_local(name)}" for name, local in outer.items()
        ]
        wide = frozenset(outer) & self._locals
        name = self._define((node, self._single, wide), word, self._type_of(node), parameters, body)
        return f"{name}({', '.join(map(_local, outer))})"

    def _returned(self, node: ir.Expr) -> list[str]:
        """Statements that return a value: a choice computes what it takes alone."""
        if isinstance(node, ir.Conditional) and not (is_known(node) and not asks_presence(node)):
            lines = [f"if ({self.deciding(node.test)})", *_braced(self._returned(node.then))]
            return [*lines, *self._returned(node.otherwise)]
        return [f"return {self.print(node)};"]

    # Constants.

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if self._is_constant(node):
            return self._constant(node)
        return super().print(node, outer)

    def _is_constant(self, node: ir.Expr) -> bool:
        if isinstance(node, ir.Number | ir.EnumValue | ir.Constant | ir.Present | ir.Tensor | ir.Tensors):
            return False
        if node.type.kind not in ("int", "bool", "enum", "ints", "float", "floats") or not is_known(node):
            return False
        if node.type == ir.BOOL:
            return not asks_presence(node)
        if node.type == ir.FLOAT:  # arithmetic on floats is the shader's, in its own precision
            return isinstance(node, ir.Member | ir.Part | ir.Index)
        return True

    def _constant(self, node: ir.Expr) -> str:
        kind = {"bool": "int", "enum": "int"}.get(node.type.kind, node.type.kind)
        if node not in self._known:
            word = _word(node)
            base = camel("".join(part[0].upper() + part[1:] for part in word.split("_") if part))
            number, name = 2, base
            while name in self.constants or name in self._variables or name in _WORDS:
                number, name = number + 1, f"{base}{number}"
            self._known[node] = name
            self.constants[name] = Constant(kind, name, macro(name), node)
        name = self._known[node]
        if kind in ("ints", "floats"):
            of = "ListOf" if kind == "ints" else "RealsOf"
            return f"{of}({name}[0], {name}[1], {self.constants[name].macro}_LENGTH)"
        return f"({name} != 0)" if node.type == ir.BOOL else name if kind == "int" else f"({REAL}){name}"

    def number(self, value: int | bool | float) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        exact = float(np.float32(value)) == value
        return f"({REAL}){value!r}{'f' if exact else 'L'}"

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"{node.value} /* {node.name} */"

    def constant(self, node: ir.Constant) -> str:
        return f"{node.value} /* {node.name} */"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Local(name=name):
                return _local(name)
            case ir.Definition(value=value):
                return self.print(value, ATOM)
        raise TypeError(f"{node.name} is told to no shader")

    def present(self, node: ir.Present) -> str:
        match node.item:
            case ir.Tensor(name=name):
                return f"({self.tensors[name].macro}_PRESENT != 0)"
        raise TypeError(f"present({node.item.name}) is told to no shader")

    # Coordinates.

    def index(self, node: ir.Index) -> str:
        text = f"Entry({self.deciding(node.sequence)}, {self._narrow(node.index)})"
        return f"({REAL}){text}" if node.type == ir.FLOAT else text

    def slice(self, node: ir.Slice) -> str:
        lower = "0" if node.lower is None else self._narrow(node.lower)
        upper = str(MAX_RANK) if node.upper is None else self._narrow(node.upper)
        return f"Part({self.print(node.sequence)}, {lower}, {upper})"

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        if not items:
            return "(List)0"
        self.most_listed = max(self.most_listed, len(items))
        return f"Listed({', '.join(map(self._narrow, items))})"

    def reduce(self, node: ir.Reduce) -> str:
        if node.kind != "list":
            raise TypeError(f"{node.kind}() of the rules is told to no shader")
        variable, loop = _local(node.loop.variable.name), node.loop

        def body() -> list[str]:
            return [
                "List result = (List)0;",
                f"const int lower = {self._narrow(loop.lower)};",
                f"result.length = clamp({self._narrow(loop.upper)} - lower, 0, {MAX_RANK});",
                "[unroll]",
                f"for (int place = 0; place < {MAX_RANK}; place++)",
                "    if (place < result.length)",
                "    {",
                f"        const int {variable} = lower + place;",
                f"        result.entries[place] = {self._narrow(node.body)};",
                "    }",
                "return result;",
            ]

        return self._lifted(node, "Entries", body)

    def load(self, node: ir.Load) -> str:
        tensor = self.tensors[node.tensor.name]
        text = f"Read{tensor.function}({self.deciding(node.coordinate)})"
        if node.type.kind == "element":
            return text
        return f"({self._type_of(node)}){text}"

    def _entry(self, node: ir.Entry) -> str:
        return f"Read{self.kept[node.tensor].function}({self.deciding(node.coordinate)})"

    # Numbers and truth values.

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Entry():
                return self._entry(node), ATOM
            case ir.Apply():
                return self.apply(node), ATOM
            case ir.Logic(op=op, operands=operands):
                glue = " && " if op == "and" else " || "
                return f"({glue.join(self.deciding(item, ATOM) for item in operands)})", ATOM
            case ir.Compare(op=op, left=left, right=right):
                a, b = self.deciding(left, ATOM), self.deciding(right, ATOM)
                if left.type.kind in ("element", "float"):
                    text = COMPARISONS[op]
                    self.called.add(text.lstrip("!").partition("(")[0])
                    return text.format(a, b), ATOM
                return f"{a} {op} {b}", COMPARISON
            case ir.Negate(operand=operand):
                return f"(-{self.print(operand, ATOM)})", ATOM
        return super()._node(node)

    def not_(self, operand: ir.Expr) -> str:
        return f"!{self.deciding(operand, ATOM)}"

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        item = self.deciding(node.item, ATOM)
        sign, glue = ("!=", " && ") if negated else ("==", " || ")
        return f"({glue.join(f'{item} {sign} {self.deciding(choice, ATOM)}' for choice in node.choices)})"

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.type == ir.INTS:
            return f"Join({self.print(node.left)}, {self.print(node.right)})", ATOM
        left, right = self.print(node.left, ATOM), self.print(node.right, ATOM)
        if node.type == ir.INT and self._is_wide(node):
            left, right = f"(int64_t){left}", f"(int64_t){right}"
        if node.op in ("//", "%"):
            return f"{'FloorQuotient' if node.op == '//' else 'FloorRemainder'}({left}, {right})", ATOM
        if node.op == "/" and node.type.kind == "element":
            return self._call("Quotient", left, right), ATOM
        if node.op == "/" and self._single:
            return self._call("Divide", left, right), ATOM
        return f"({left} {node.op} {right})", ATOM

    def conditional(self, node: ir.Conditional) -> str:
        branches = (node.then, node.otherwise)
        if node.type.kind in ("ints", "floats") or any(map(_is_work, branches)):
            return self._lifted(node, "Chosen", lambda: self._returned(node))
        then, otherwise = (self.print(branch, ATOM) for branch in branches)
        if node.type == ir.INT and self._is_wide(node):
            then, otherwise = f"(int64_t){then}", f"(int64_t){otherwise}"
        return f"({self.deciding(node.test, ATOM)} ? {then} : {otherwise})"

    def call(self, node: ir.Call) -> str:
        name, arguments = node.function, node.arguments
        match name:
            case "element":
                return f"({self._type(node.type)}){self.print(arguments[0], ATOM)}"
            case "activated":
                return self._activated(*arguments)
            case "convert" | "quantize":
                return self._converted(node, *arguments)
            case "least" | "greatest":
                return self._limit(name, node.type, arguments[0])
            case "held":
                target = arguments[0]
                assert isinstance(target, ir.Tensor)
                self.held[target.name] = None
                return f"({self._type(node.type)})Read{self.tensors[target.name].function}(at)"
            case "float":
                decides = arguments[0].type != ir.FLOAT
                value = self.deciding(arguments[0]) if decides else self.print(arguments[0])
                return self._call("Convert", value, f"({REAL})0")
            case "int":
                if arguments[0].type.kind == "element":
                    return f"(int64_t){self.deciding(arguments[0], ATOM)}"
                return self._call("Convert", self.deciding(arguments[0]), "(int64_t)0")
            case "clamp":
                return self._clamped(node)
            case "len":
                return f"{self.print(arguments[0])}.length"
            case "flat" | "inside":
                return f"{name.capitalize()}({', '.join(map(self.deciding, arguments))})"
            case "product" | "sum" if arguments[0].type == ir.INTS:
                return f"{'Multiplied' if name == 'product' else 'Total'}({self.deciding(arguments[0])})"
            case "unflat" | "align" | "replace":
                listed = (
                    self._narrow(item) if item.type == ir.INT else self.deciding(item) for item in arguments
                )
                return f"{name.capitalize()}({', '.join(listed)})"
            case "min" | "max" | "abs" if node.type == ir.INT:
                cast = f"({self._type_of(node)})"
                return f"{name}({', '.join(cast + self.deciding(item, ATOM) for item in arguments)})"
        assert name not in NUMBERS
        decides = name in ("floor", "ceil", "trunc", "round_even", "round_away")
        texts = [self.deciding(item) if decides else self.print(item) for item in arguments]
        return self._call("".join(word.capitalize() for word in name.split("_")), *texts)

    def _clamped(self, node: ir.Call) -> str:
        x, low, high = node.arguments
        if node.type == ir.FLOAT:
            upper = self._call("Min", self.print(x), self.print(high))
            return self._call("Max", upper, self.print(low))
        wide = any(map(self._is_wide, node.arguments))
        cast = "(int64_t)" if wide else "(int)"
        a, b, c = (cast + self.deciding(item, ATOM) for item in (x, low, high))
        text = f"max(min({a}, {c}), {b})"
        return text if self._is_wide(node) or not wide else f"(int){text}"

    def _converted(self, node: ir.Call, value: ir.Expr, target: ir.Expr) -> str:
        assert isinstance(target, ir.Tensor)
        tensor = self.tensors[target.name]
        text = self.print(value) if node.type == ir.FLOAT else self.deciding(value)
        if node.function == "quantize":
            if node.type == ir.FLOAT:
                return text
            self.limited[target.name] = None
            self.quantized.add(target.name)
            self.called |= {"Quantize", "RoundEven"}
            return f"({self._type_of(node)})Quantize{tensor.function}({text})"
        if node.type == ir.FLOAT:  # rounded as the element of the tensor that it becomes
            return (
                f"({REAL})({tensor.macro}_STORED){self._call('RoundingOnce', text, f'{tensor.macro}_BITS')}"
            )
        if value.type == ir.INT:
            return f"({self._type_of(node)})({text})"
        return f"({self._type_of(node)}){self._call('Convert', text, f'({tensor.macro}_VALUE)0')}"

    def _limit(self, name: str, type_: ir.Type, target: ir.Expr) -> str:
        assert isinstance(target, ir.Tensor)
        if type_ == ir.FLOAT:
            return self._infinity(name)
        end = "LOWEST" if name == "least" else "HIGHEST"
        self.limited[target.name] = None
        return f"({self._type(type_)}){self.tensors[target.name].macro}_{end}"

    def _infinity(self, end: str) -> str:
        bits = "0x7f800000u" if end == "greatest" else "0xff800000u"
        return f"({REAL})asfloat({bits})"

    def _activated(self, value: ir.Expr, activation: ir.Expr, number: ir.Expr | None = None) -> str:
        assert isinstance(activation, ir.Member)
        self.fused = activation.name
        which = "0" if number is None else self._narrow(number)
        return f"Activate({self.print(value)}, {which})"

    def _call(self, function: str, *texts: str) -> str:
        self.called.add(function)
        return f"{function}({', '.join(texts)})"

    # Loops.

    def fold(self, node: ir.Fold) -> str:
        word = {"argmax": "FirstGreatest", "argmin": "FirstLeast"}.get(
            node.kind, node.kind.capitalize() + "Of"
        )
        return self._lifted(node, word, lambda: self._looped(node))

    def _looped(self, node: ir.Fold) -> list[str]:
        outer = self._locals
        self._locals -= {each.variable.name for each in node.loops}
        chooses = node.kind in ("argmax", "argmin")
        if chooses:
            turn = self._choosing(node)
        else:
            body = node.body
            if node.kind == "sum" and not node.unrolled:
                text = self._in(body, False, ATOM)  # a sum is free, whatever it decides
            else:
                text = self.deciding(body, ATOM) if node.type == ir.BOOL else self.print(body, ATOM)
            if node.type != ir.BOOL:
                text = f"({self._type_of(node)}){text}"
            if node.kind in ("min", "max"):
                self.called |= {"Min", "Max"}
            turn = [_TURN[node.kind].format(text)]
        if node.condition is not None:
            turn = [f"if ({self.deciding(node.condition)})", *_braced(turn)]
        self._locals = outer
        bounds: list[str] = []
        for each in reversed(node.loops):
            turn = [*self._loop(each, bounds), *_braced(turn)]
        precise = "precise " if self._single and node.type == ir.FLOAT and not chooses else ""
        start = self._start(node)
        return [
            *bounds,
            f"{precise}{self._type_of(node)} result = {start};",
            *self._best(node),
            *turn,
            "return result;",
        ]

    def _loop(self, each: ir.Each, bounds: list[str]) -> list[str]:
        """The head of a loop, and what stands before all loops: its bounds."""
        name = _local(each.variable.name)
        if each.variable.type == ir.INTS:
            last = self.deciding(each.last)
            bounds.append(f"const List {name}Last = {last};")
            if each.first is None:
                bounds.append(f"const List {name}First = Zeros({name}Last.length);")
            else:
                bounds.append(f"const List {name}First = {self.deciding(each.first)};")
            more, ends = f"more{name}", f"{name}First, {name}Last"
            head = f"for (bool {more} = IsBox({ends}); {more}; {more} = Advance({name}, {ends}))"
            return [f"List {name} = {name}First;", "[loop]", head]
        first = "0" if each.first is None else self._narrow(each.first)
        bounds.append(f"const int {name}First = {first};")
        bounds.append(f"const int {name}Last = {self._narrow(each.last)};")
        return ["[loop]", f"for (int {name} = {name}First; {name} < {name}Last; {name}++)"]

    def _start(self, node: ir.Fold) -> str:
        if node.kind in _START:
            start = _START[node.kind]
            return start if node.type == ir.BOOL else f"({self._type_of(node)}){start}"
        if node.kind in ("argmax", "argmin"):
            return f"{_local(node.loops[0].variable.name)}First"
        end = "greatest" if node.kind == "min" else "least"
        match node.type.kind:
            case "element":
                assert node.type.name is not None
                return self._limit(end, node.type, ir.Tensor(node.type.name))
            case "float":
                return self._infinity(end)
        if self._is_wide(node):
            return "~((int64_t)1 << 63)" if node.kind == "min" else "(int64_t)1 << 63"
        return "2147483647" if node.kind == "min" else "-2147483647 - 1"

    def _best(self, node: ir.Fold) -> list[str]:
        if node.kind not in ("argmax", "argmin"):
            return []
        return [f"{self._type_of(node.body)} best = ({self._type_of(node.body)})0;", "bool found = false;"]

    def _choosing(self, node: ir.Fold) -> list[str]:
        type_, variable = self._type_of(node.body), _local(node.loops[0].variable.name)
        self.called |= {"Less", "IsNan"}
        test = "Less(best, value)" if node.kind == "argmax" else "Less(value, best)"
        return [
            f"const {type_} value = {self.deciding(node.body)};",
            f"if (!found || (!IsNan(best) && (IsNan(value) || {test})))",
            "{",
            "    best = value;",
            f"    result = {variable};",
            "}",
            "found = true;",
        ]


def _is_work(node: ir.Expr) -> bool:
    """Whether a value takes more than a few instructions."""
    return any(
        isinstance(part, ir.Apply | ir.Fold | ir.Load | ir.Entry | ir.Reduce) for part in ir.walk(node)
    )


def _braced(lines: list[str]) -> list[str]:
    return ["{", *(f"    {line}" for line in lines), "}"]


def _local(name: str) -> str:
    """A parameter or a loop variable in HLSL."""
    return f"{name}_" if name in _WORDS else name


def _word(node: ir.Expr) -> str:
    """What a constant is called: the name of what it is, or of the first thing that it is made of."""
    match node:
        case ir.Member(name=name) | ir.Definition(name=name):
            return name
        case ir.Apply(function=function):
            return function.name
        case ir.Part(member=member, name=name):
            return member.name + name
        case ir.Field(tensor=tensor, name=name):
            return plain(tensor.name) + name
        case ir.Tensor(name=name):
            return plain(name)
        case ir.Call(function=name):
            return name
        case ir.Compare():
            return "Is" + _word(node.right)
        case ir.EnumValue(name=name):
            return name.capitalize()
        case ir.Index(sequence=sequence):
            return _word(sequence) + "Entry"
    return next((_word(child) for child in ir.children(node)), "Number")


def _variables(whole: Iterator[ir.Expr]) -> Iterator[str]:
    """The names of parameters and loop variables."""
    for node in whole:
        for part in ir.walk(node):
            match part:
                case ir.Local(name=name):
                    yield name
                case ir.Fold(loops=loops):
                    yield from (loop.variable.name for loop in loops)
                case ir.Reduce(loop=loop):
                    yield loop.variable.name
                case ir.Apply(function=function):
                    yield from (parameter.name for parameter in function.parameters)
