"""Functions of a shader, and the scopes in which expressions are printed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals, uses_at, walk_through
from dmlgen.expr.precise_floats import DecidingPrinter
from dmlgen.expr.printer import ATOM
from dmlgen.expr.widths import Bits, Widths
from dmlgen.names import free
from dmlgen.outputs.hlsl_definition.constants import is_constant
from dmlgen.outputs.hlsl_names import local, pascal
from dmlgen.outputs.statements import NumberPrinter, enclosed

VECTOR = "Elements"
"""The type of the floats of several elements at once."""


class FunctionPrinter(DecidingPrinter, NumberPrinter):
    """Prints functions of a definition when they are first called, and collects those of the library.

    A text is an HLSL expression without statements. `subject` names what is printed: a tensor, or a function
    of the definition, after which functions for parts of it are named. `_locals` are the locals of the
    current function that are made of elements, `_lists` those that hold lists, by their expressions.
    """

    def __init__(self, widths: Widths, taken: Iterable[str]) -> None:
        """`taken` are names that functions must not have."""
        self.called: dict[str, set[str]] = {}
        """Functions of the library, each with the types that the first element given to it may have."""
        self.texts: list[str] = []
        self.widths = widths
        self._taken = frozenset(taken)
        self.vectorized = ""
        """The tensor of which elements are read for several elements of the output at once, if any."""
        self.statics: Container[str] = ()
        """The locals that are static variables of the shader, which functions see without parameters."""
        self.subject = ""
        self._locals: Bits = {}
        self._lists: dict[ir.Expr, str] = {}
        self._names: dict[object, str] = {}

    def use(self, function: str, types: Collection[str]) -> str:
        """The name of a function of the library, which is then called; for `types` see `called`."""
        self.called.setdefault(function, set()).update(types)
        return function

    def call_of(self, function: str, types: Collection[str], *texts: str) -> str:
        """A call of a function of the library."""
        return f"{self.use(function, types)}({', '.join(texts)})"

    def _narrow(self, node: ir.Expr, outer: int = 0) -> str:
        """A 32-bit integer; a wider one is clamped."""
        if self._is_wide(node):
            return f"Narrow({self.deciding(node)})"
        return self.deciding(node, outer)

    def as_int(self, node: ir.Expr) -> str:
        """An integer that fits in 32 bits regardless of its bounds, such as a zero point of bytes."""
        return f"(int){self.deciding(node, ATOM)}" if self._is_wide(node) else self.deciding(node)

    def _widened(self, node: ir.Expr, outer: int = 0) -> str:
        """A 64-bit integer."""
        return self.print(node, outer) if self._is_wide(node) else f"(int64_t){self.print(node, ATOM)}"

    def _is_wide(self, node: ir.Expr) -> bool:
        return self.widths.is_wide(node, self._locals)

    def type_of(self, node: ir.Expr) -> str:
        if self.vectorized and node.type == ir.FLOAT:
            loads = (part for part in walk_through(node) if isinstance(part, ir.Load))
            if any(load.tensor.name == self.vectorized for load in loads):
                return VECTOR
        return self.type_name(node.type, self._is_wide(node))

    def type_name(self, type_: ir.Type, wide: bool = False) -> str:
        """The HLSL type of values; `wide` integers need more than 32 bits."""
        if type_ == ir.INT and wide:
            return "int64_t"
        return {"bool": "bool", "ints": "List", "floats": "List"}.get(type_.kind, "int")

    def _define(
        self, key: object, word: str, node: ir.Expr, parameters: list[str], body: Callable[[], list[str]]
    ) -> str:
        """The name of the function of a value, which is printed when it is first asked for. Of several with
        the same word, it has the subject, too."""
        if key not in self._names:
            type_ = self.type_of(node)
            known = (self._taken, self._names.values())
            name = pascal(word)
            if free(name, *known) != name and not name.startswith(self.subject):
                name = self.subject + name
            self._names[key] = free(name, *known)
            before, self._lists = self._lists, {}
            lines = "\n".join(f"    {line}" for line in body())
            self._lists = before
            precise = "precise " if self._single and node.type == ir.FLOAT else ""
            head = f"{precise}{type_} {self._names[key]}({', '.join(parameters)})"
            self.texts.append(f"{head}\n{{\n{lines}\n}}")
        return self._names[key]

    def _named(self, lists: Iterable[ir.Expr]) -> list[str]:
        """Statements that compute lists, each once, for all that is printed until `_lists` is restored."""
        lines = []
        for one in dict.fromkeys(lists):
            if one not in self._lists:
                text, name = self.print(one), f"list{len(self._lists) + 1}"
                self._lists = {**self._lists, one: name}
                lines.append(f"const List {name} = {text};")
        return lines

    def apply(self, node: ir.Apply) -> str:
        if node in self._lists:
            return self._lists[node]
        function, body = node.function, node.function.body
        inner = self.widths.parameters(function, node.arguments, self._locals)
        of_floats = body.type.kind in ("float", "element")
        single = self._single or not of_floats
        given = self._given(node)
        places = ["at"] if uses_at(body) else []
        before = self._locals, self._single
        self._locals, self._single = inner, single
        parameters = [f"{self.type_of(one)} {local(one.name)}" for one in function.parameters]
        name = self._define(
            (function, single, frozenset(inner.items())),
            function.name,
            body,
            [*(["List at"] if places else []), *parameters],
            lambda: self._function(function),
        )
        self._locals, self._single = before
        return f"{name}({', '.join([*places, *given])})"

    def _function(self, function: ir.Function) -> list[str]:
        """The statements of a function of the definition."""
        outer, self.subject = self.subject, pascal(function.name)
        lines = self._returned(function.body)
        self.subject = outer
        return lines

    def _lifted(self, node: ir.Expr, word: str, body: Callable[[], list[str]]) -> str:
        """A call of a separate function for an expression, with the locals it uses as arguments; its name is
        that of the subject, with a word for what the expression is."""
        outer = {name: one for name, one in free_locals(node).items() if name not in self.statics}
        parameters = [f"{self.type_of(one)} {local(name)}" for name, one in outer.items()]
        of_elements = frozenset((name, self._locals[name]) for name in outer if name in self._locals)
        word = self.subject + word
        name = self._define((node, self._single, of_elements), word, node, parameters, body)
        return f"{name}({', '.join(map(local, outer))})"

    def _assigned(self, node: ir.Expr, assign: Callable[[ir.Expr], str]) -> list[str]:
        """Statements that do something with a value; a choice only computes the branch that it takes."""
        if is_constant(node) or not is_function(node):
            return [assign(node)]
        assert isinstance(node, ir.Conditional)
        then, otherwise = (self._assigned(branch, assign) for branch in (node.then, node.otherwise))
        return [f"if ({self.deciding(node.test)})", *enclosed(then), *either(otherwise)]

    def _returned(self, node: ir.Expr) -> list[str]:
        """Statements that return a value; a conditional only computes the branch that it takes."""
        if isinstance(node, ir.Conditional) and not is_constant(node):
            test, then = self.deciding(node.test), self._returned(node.then)
            return [f"if ({test})", *enclosed(then), *self._returned(node.otherwise)]
        return [f"return {self.print(node)};"]


def either(lines: list[str]) -> list[str]:
    """The statements of the other branch."""
    return [f"else {lines[0]}", *lines[1:]] if lines[0].startswith("if (") else ["else", *enclosed(lines)]


def lists_in(node: ir.Expr) -> list[ir.Expr]:
    """The lists that functions return, innermost first, in an expression outside of its loops and of choices
    that are functions; constant lists are at hand anyway."""
    if isinstance(node, ir.Reduce) or is_constant(node) or is_function(node):
        return []
    inner = [one for child in ir.children(node) for one in lists_in(child)]
    return [*inner, node] if isinstance(node, ir.Apply) and node.type == ir.INTS else inner


def is_function(node: ir.Expr) -> bool:
    """Whether a value is a choice with a function of its own: of lists, or if a branch takes more than a few
    instructions and is not only the value of an optional tensor."""
    if not isinstance(node, ir.Conditional):
        return False
    if isinstance(node.test, ir.Present) and isinstance(node.otherwise, ir.Number):
        return False  # the compiler knows which
    parts = (part for branch in (node.then, node.otherwise) for part in ir.walk(branch))
    work = (ir.Apply, ir.Load, ir.Entry, ir.Reduce)
    return node.type.kind in ("ints", "floats") or any(isinstance(part, work) for part in parts)
