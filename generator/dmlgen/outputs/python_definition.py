"""Planner inputs of definitions, in Python: a module for every operator that has one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.names import free, python_variable
from dmlgen.outputs.definition_inputs import (
    VARIABLES,
    innermost_first,
    lists,
    membership,
    operands,
    plain,
    shared,
)
from dmlgen.outputs.hlsl_definition import HlslDefinition
from dmlgen.outputs.hlsl_definition.static import Static, static_of
from dmlgen.outputs.hlsl_names import word
from dmlgen.outputs.python_printer import ValidPrinter
from dmlgen.outputs.python_rules import Assignments, constants_of
from dmlgen.plans.model import Plans, Record, Type
from dmlgen.registry import Operator, Registry

_OWN = {"absent", "bits", "desc", "enums", "f", "given", "index", "limited", "pair", "tensors"}
"""Names in a module besides those of functions and of computed values."""


@dataclass(frozen=True)
class TensorView:
    """A tensor for planners: its stand-in if it is absent, and its description.

    If it `is_numbered`, the first depends on the current output in an array of outputs.
    """

    number: int
    absent: str
    given: str
    is_numbered: bool


@dataclass(frozen=True)
class DefinitionView:
    """The module of an operator: what is the same for all descriptions, and what depends on one."""

    imports: Mapping[str, Sequence[str]]  # records, by the planners' module that defines them
    static: Static
    tensors: tuple[TensorView, ...]
    constants: Assignments
    assignments: Assignments
    fields: Mapping[str, str]  # of the planners' `Definition`
    each: str


def definition_view(
    registry: Registry, operator: Operator, shader: HlslDefinition, plans: Plans
) -> DefinitionView:
    """The content of the module."""
    entries = {
        field: {f"{field}[{number}]": node for number, node in enumerate(nodes)}
        for field, nodes in lists(operator, shader).items()
    }
    nodes = operands(shader) | {path: node for one in entries.values() for path, node in one.items()}
    printer = InputPrinter(registry, operator, nodes)
    texts = printer.texts
    general = _general(shader, entries, texts)
    taken = {"Definition", "DefinitionShader"}
    fields = {
        field.name: general.get(field.name) or _form(field.type, field.name, texts, taken)
        for field in plans.record("Definition").fields
    }
    static = {name: one for name, one in static_of(shader, plans).items() if not one.is_empty}
    taken |= {one.type for one in static.values() if isinstance(one.values[0], tuple)}
    eaches = {one.each for one in shader.passes if one.each}
    assert len(eaches) <= 1, f"{operator.name} has several arrays of tensors that take dispatches"
    imports: dict[str, list[str]] = {}
    for record in sorted(taken):
        imports.setdefault(plans.home(record), []).append(record)
    return DefinitionView(
        imports=dict(sorted(imports.items())),
        static=static,
        tensors=tuple(_tensors(operator, shader)),
        constants=constants_of(printer),
        assignments=tuple(printer.assignments),
        fields={name: text for name, text in fields.items() if text},
        each=next(iter(eaches), ""),
    )


def _general(
    shader: HlslDefinition, entries: Mapping[str, Mapping[str, ir.Expr]], texts: Mapping[str, str]
) -> dict[str, str]:
    """The fields that every definition has, without those of forms."""

    def counted(field: str) -> str:
        """Numbers that shaders take: any integer of a BOOL as 0 or 1."""
        return _listed(
            f"1 if {texts[path]} else 0" if node.type == ir.BOOL else texts[path]
            for path, node in entries[field].items()
        )

    return {
        "tensors": "tensors",
        **{
            field: _listed(_list(texts[path], node.type) for path, node in entries[field].items())
            for field in ("kept_sizes", "lists")
        },
        "elements": _listed(f"*pair({texts[path]})" for path in entries["elements"]),
        "numbers": counted("numbers"),
        "bounds": counted("bounds"),
        "activations": f"activations(desc.{shader.fused}, SHADER.activations)" if shader.fused else "[]",
    }


def _listed(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _list(text: str, type_: ir.Type) -> str:
    return f"limited([bits(entry) for entry in {text}])" if type_ == ir.FLOATS else f"limited({text})"


def _form(type_: Type, path: str, texts: Mapping[str, str], taken: set[str]) -> str:
    """The value at a path, a record with those of its fields; "" if it is the default."""
    if not isinstance(type_, Record):
        return texts.get(path, "")
    fields = {one.name: _form(one.type, f"{path}.{one.name}", texts, taken) for one in type_.fields}
    given = [f"{name}={text}" for name, text in fields.items() if text]
    taken |= {type_.name} if given else set()
    return f"{type_.name}({', '.join(given)})" if given else ""


def _tensors(operator: Operator, shader: HlslDefinition) -> Iterator[TensorView]:
    for place, one in enumerate(shader.tensors):
        name, index = one.node.name, one.node.place
        entry = "index" if index is None else index
        is_one = operator.member[name].count is None
        values = {"as_bits": one.member in shader.moves, "is_held": one.member in shader.held}
        given = [] if is_one else [f"entry={entry}"]
        given += [f"{flag}=True" for flag, is_set in values.items() if is_set]
        arguments = (f'"{operator.name}"', f'"{name}"', f'"{one.macro}"', *given)
        yield TensorView(
            place,
            f"absent({', '.join(arguments)})",
            f"desc.{name}" if is_one else f"given(desc.{name}, {entry})",
            not is_one and index is None,
        )


class InputPrinter(ValidPrinter):
    """Prints expressions over a description whose optional tensors may be absent: `texts`, by name.

    Common subexpressions that at least one of them always needs are computed once, in the order of
    `assignments`, and so are sizes.
    """

    def __init__(self, registry: Registry, operator: Operator, nodes: Mapping[str, ir.Expr]) -> None:
        super().__init__(registry, operator)
        self.assignments: list[tuple[str, str]] = []
        self._names: dict[ir.Expr, str] = {}
        whole = {name: plain(node) for name, node in nodes.items()}
        common = shared(whole.values(), _parts)
        taken = {*_OWN, *VARIABLES, "inputs", "tensor_of"}
        for node in whole.values():
            for part in innermost_first(node, _parts):
                if part in common and part not in self._names:
                    name = free(python_variable(word(part)), taken)
                    taken.add(name)
                    text = self.print(part)
                    self._names[part] = name
                    self.assignments.append((name, text))
        self.texts = {name: self.print(node) for name, node in whole.items()}

    def exact(self, node: ir.Expr, outer: int = 0) -> str:
        return self._names.get(node) or super().exact(node, outer)

    def real(self, text: str) -> str:
        return f"bits({text})"

    def field(self, node: ir.Field) -> str:
        assert self.operator is not None
        text = self.tensor(node.tensor)
        if node.name == "DimensionCount":
            return f"len({self.print(ir.Field(node.tensor, 'Sizes', ir.INTS))})"
        if node.name == "Sizes" and self.operator.member[node.tensor.name].optional:
            return f"sizes_of({text})"
        return f"{text}.{node.name}"

    def compare(self, node: ir.Compare) -> tuple[str, int]:
        if isinstance(node.left, ir.Number) and not isinstance(node.right, ir.Number):
            return super().compare(ir.Compare(ir.FLIPPED[node.op], node.right, node.left))
        return super().compare(node)

    def reduce(self, node: ir.Reduce) -> str:
        found = membership(node)
        if found is None:
            return super().reduce(node)
        item, sequence = found
        return f"({self.print(item, COMPARISON + 1)} in {self.print(sequence, ATOM)})"


def _parts(node: ir.Expr) -> list[ir.Expr]:
    """The parts that are printed for an expression: a dimension count is the length of sizes."""
    if isinstance(node, ir.Field) and node.name == "DimensionCount":
        return [ir.Field(node.tensor, "Sizes", ir.INTS)]
    return ir.children(node)
