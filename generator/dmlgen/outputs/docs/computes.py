"""The computation of an operator, line by line: as formulas, and as written in its spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dmlgen.expr import ir
from dmlgen.expr.define import ALWAYS
from dmlgen.expr.printer import SOURCE
from dmlgen.outputs.docs.formula import Formulas, Source, code, names_in
from dmlgen.registry import Operator


@dataclass(frozen=True)
class Line:
    """A named part of a definition: as a formula, and as written in the spec."""

    name: str
    anchor: str
    note: str
    formula: Markup
    uses: tuple[str, ...]  # names that other lines define
    source: Markup


@dataclass(frozen=True)
class Part:
    """Lines of one kind: functions of `let`, intermediate tensors, outputs."""

    title: str
    lines: tuple[Line, ...]


def parts(operator: Operator) -> tuple[Part, ...]:
    """The operator's computation, in dependency order."""
    if operator.defines is not None:
        return _defines(operator)
    algorithm = operator.algorithm
    if algorithm is None:
        return ()
    links = frozenset(one.name for one in (*operator.definitions, *algorithm.definitions))
    formulas = Formulas({})

    def line(name: str, value: Any, anchor: str = "", note: str = "") -> Line:
        formula = formulas.equation(name, (), value)
        return _line(name, anchor, note, formula, f"{name} = {SOURCE.print(value)}", links - {name})

    names = tuple(line(one.name, one.value, f"let-{one.name}") for one in algorithm.definitions)
    found = [Part("Names", names)] if names else []
    lines = [line(name, role) for name, role in algorithm.roles.items()]
    lines += [line("target", algorithm.target)] if algorithm.target is not None else []
    return (*found, Part("What it works on", tuple(lines)))


def _defines(operator: Operator) -> tuple[Part, ...]:
    defines = operator.defines
    assert defines is not None
    functions = [*defines.functions]
    links = frozenset(one.name for one in functions)
    links |= {one.name for one in defines.tensors} | {one.name for one in operator.definitions}
    tensors = _tensor_arguments(functions)
    formulas, printer = Formulas(tensors), Source(tensors)

    def element(name: str, value: ir.Expr, anchor: str = "", note: str = "") -> Line:
        text = f"{name}[at] = {printer.print(value)}"
        return _line(name, anchor, note, formulas.entry(name, value), text, links - {name})

    lets: dict[str, Line] = {}  # one for each text, as a function is typed again for other types
    anchors: set[str] = set()
    for function in functions:
        parameters = (*tensors.get(function, ()), *(parameter.name for parameter in function.parameters))
        head = f"{function.name}({', '.join(parameters)})" if parameters else function.name
        text = f"{head} = {printer.print(function.body)}"
        if text not in lets:
            anchor = "" if function.name in anchors else f"let-{function.name}"
            anchors.add(function.name)
            formula = formulas.equation(function.name, parameters, function.body)
            lets[text] = _line(head, anchor, "", formula, text, links - {function.name})
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


def _line(name: str, anchor: str, note: str, formula: Markup, text: str, links: frozenset[str]) -> Line:
    return Line(name, anchor, note, formula, names_in(text, links), code(text, links))


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
    several: dict[str, set[tuple[str, ...]]] = {name: {(), ("",)} for name in ALWAYS}
    for function, tensors in read.items():
        several.setdefault(function.name, set()).add(tensors)
    return {function: tensors for function, tensors in read.items() if len(several[function.name]) > 1}
