"""The computation of an operator, line by line, as written in its spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from dmlgen.expr import ir
from dmlgen.expr.functions import PREDEFINED
from dmlgen.expr.printer import ATOM, SOURCE, SpecPrinter
from dmlgen.outputs.docs.formula import code
from dmlgen.registry import Operator


@dataclass(frozen=True)
class Line:
    """A named part of a definition; its text links to the names that other lines define."""

    name: str
    anchor: str
    note: str
    source: Markup


@dataclass(frozen=True)
class Part:
    """Lines of one kind: functions of `let`, intermediate tensors, outputs."""

    title: str
    lines: tuple[Line, ...]


class _Source(SpecPrinter):
    """Prints expressions as specs write them.

    A tensor argument of a `let` function is substituted in its body; here it is shown as an argument again.
    """

    def __init__(self, tensors: Mapping[ir.Function, tuple[str, ...]]) -> None:
        self._tensors = tensors

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        if isinstance(node, ir.Apply) and node.function in self._tensors:
            listed = (*self._tensors[node.function], *map(self.print, node.arguments))
            return f"{node.function.name}({', '.join(listed)})", ATOM
        return super()._node(node)


def parts(operator: Operator) -> tuple[Part, ...]:
    """The operator's computation, in dependency order."""
    if operator.defines is not None:
        return _defines(operator)
    algorithm = operator.algorithm
    if algorithm is None:
        return ()
    links = frozenset(one.name for one in operator.definitions)
    texts = {name: code(f"{name} = {SOURCE.print(role)}", links) for name, role in algorithm.roles.items()}
    return (Part("What it works on", tuple(Line(name, "", "", text) for name, text in texts.items())),)


def _defines(operator: Operator) -> tuple[Part, ...]:
    defines = operator.defines
    assert defines is not None
    functions = [*defines.functions]
    links = frozenset(one.name for one in functions)
    links |= {one.name for one in defines.tensors} | {one.name for one in operator.definitions}
    tensors = _tensor_arguments(functions)
    printer = _Source(tensors)

    def element(name: str, value: ir.Expr, anchor: str = "", note: str = "") -> Line:
        return Line(name, anchor, note, code(f"{name}[at] = {printer.print(value)}", links - {name}))

    lets: dict[str, Line] = {}  # one for each text, as a function is typed again for other types
    anchors: set[str] = set()
    for function in functions:
        parameters = (*tensors.get(function, ()), *(parameter.name for parameter in function.parameters))
        head = f"{function.name}({', '.join(parameters)})" if parameters else function.name
        text = f"{head} = {printer.print(function.body)}"
        if text not in lets:
            anchor = "" if function.name in anchors else f"let-{function.name}"
            anchors.add(function.name)
            lets[text] = Line(head, anchor, "", code(text, links - {function.name}))
    intermediate = [
        element(
            tensor.name,
            tensor.value,
            f"let-{tensor.name}",
            f"{tensor.type} of sizes {printer.print(tensor.sizes)}"
            + (", each step of axis 0 after those before it" if tensor.along else ""),
        )
        for tensor in defines.tensors
    ]
    outputs = [element(name, value) for name, value in defines.outputs.items()]
    parts = (("Outputs", outputs), ("Intermediate tensors", intermediate), ("Names", [*lets.values()]))
    return tuple(Part(title, tuple(lines)) for title, lines in parts if lines)


def _tensor_arguments(functions: Iterable[ir.Function]) -> dict[ir.Function, tuple[str, ...]]:
    """The tensors that functions take as arguments and read.

    They are listed where one name has been used with several, or is a predefined name.
    """
    read = {
        function: tuple(
            dict.fromkeys(part.tensor.entry for part in ir.walk(function.body) if isinstance(part, ir.Load))
        )
        for function in functions
    }
    several: dict[str, set[tuple[str, ...]]] = {name: {(), ("",)} for name in PREDEFINED}
    for function, tensors in read.items():
        several.setdefault(function.name, set()).add(tensors)
    return {function: tensors for function, tensors in read.items() if len(several[function.name]) > 1}
