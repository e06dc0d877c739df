"""Expressions as Python text: exact where that suffices, saturated and guarded otherwise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dmlgen.analysis.definition_bounds import DefinitionBounds, Unchecked
from dmlgen.expr import ir
from dmlgen.expr.arithmetic import LIMIT
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT, SUM, Printer, Spelling
from dmlgen.names import field_local, pascal, python_variable
from dmlgen.registry import Check, Hint, Operator, Registry, Stage

_LONG = 40  # longer values get a variable before a message shows them
_KINDS = {"int": "number", "ints": "numbers"}  # names of such variables


def literal(text: str) -> str:
    """Text as the inside of a Python string in double quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class Message(NamedTuple):
    """The arguments of a violation, after the variables for long values, and its hint, if any.

    `place` is the path of what is wrong, and `arguments` are the text with braces for each value and the
    values, as arguments of `report`.
    """

    shown: tuple[tuple[str, str], ...]
    hint: str | None
    place: str
    arguments: tuple[str, ...]


class TuplePrinter(Printer):
    """Prints arrays as tuples, and constants of the header as numbers."""

    def entry_of(self, node: ir.Expr) -> str:
        """An entry of an array that is written out."""
        return self.print(node)

    def constant(self, node: ir.Constant) -> str:
        return str(node.value)

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        return f"({', '.join(map(self.entry_of, items))}{',' * (len(items) == 1)})"

    def joined(self, node: ir.Expr) -> tuple[str, int]:
        """Concatenated arrays: as a sum, or unpacked if they include single entries."""
        parts = ir.joined_parts(node)
        if not any(isinstance(part, ir.ListOf) for part in parts):
            return " + ".join(self.print(part, SUM) for part in parts), SUM
        texts: list[str] = []
        for part in parts:
            match part:
                case ir.ListOf(items=items):
                    texts += map(self.entry_of, items)
                case _:
                    texts.append(f"*{self.print(part, SUM)}")
        return f"({', '.join(texts)})", ATOM


class PythonPrinter(TuplePrinter):
    """Prints code in which a member's value, a tensor's field and a definition each have a local variable.

    `bounds` are what can be relied on at a stage. `enum_values` collects the enumerators that texts name,
    each as a constant of the module.
    """

    spelling = Spelling(
        functions={"bits": "BITS.get({}, 0)", "signed": "{} in SIGNED", "product": "prod({})"},
        reductions={
            "list": "tuple({})",
            "product": "prod({})",
            "min": "min(({}), default=0)",
            "max": "max(({}), default=0)",
        },
    )
    bounds_type: type[DefinitionBounds] = DefinitionBounds

    def __init__(self, registry: Registry, operator: Operator | None, stage: Stage) -> None:
        self.registry = registry
        self.operator = operator
        self.bounds = self.bounds_type(registry, operator, stage)
        self.enum_values: dict[str, ir.EnumValue] = {}

    # Text.

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if self._exceeds(node):
            return f"saturate({self.exact(node)})"
        return self.exact(node, outer)

    def message(self, check: Check, path: str = "") -> Message:
        """The message if a check fails; `path` is a field of an f-string for what precedes its place."""
        shown: list[tuple[str, str]] = []
        names: dict[ir.Expr, ir.Expr] = {}

        def named(parts: Iterable[str | ir.Expr]) -> list[str | ir.Expr]:
            """The parts with a variable for each long value."""
            found: list[str | ir.Expr] = []
            for part in parts:
                if not isinstance(part, str | ir.Tensor) and part.type.kind in _KINDS:
                    part = ir.substitute(part, names)
                    text = self._shown(part)
                    if len(text) > _LONG:
                        names[part] = self._variable(part, f"{_KINDS[part.type.kind]}{len(shown) + 1}")
                        shown.append((self.print(names[part]), text))
                        part = names[part]
                found.append(part)
            return found

        parts, place = named(check.message), named(check.place)
        compared = [part for part in named(check.values) if not isinstance(part, str)]
        named_values = dict(zip(map(self._shown, compared), ("found", "expected"), strict=False))
        values = [part for part in parts if not isinstance(part, str | ir.Constant)]
        others = [text for text in map(self._shown, values) if text not in named_values]
        return Message(
            shown=tuple(shown),
            hint=None if check.hint is None else self._hint(check.hint, names),
            place=self._text(place, path),
            arguments=(
                self._template(parts, named_values, check.hint is not None),
                *others,
                *(["hint"] if check.hint is not None else []),
                *(f"{name}={text}" for text, name in named_values.items()),
            ),
        )

    def _variable(self, value: ir.Expr, name: str) -> ir.Local:
        """The variable for a value."""
        if value.type == ir.INT:
            self.bounds.known[name] = self.bounds.value(value)
        return ir.Local(name, value.type)

    def _hint(self, hint: Hint, names: dict[ir.Expr, ir.Expr]) -> str:
        """The text of a hint, or an empty one if it does not apply."""
        parts = [part if isinstance(part, str) else ir.substitute(part, names) for part in hint.message]
        return f'{self._text(parts)} if {self.print(ir.substitute(hint.when, names))} else ""'

    def _template(
        self, parts: Iterable[str | ir.Expr], named_values: Mapping[str, str], has_hint: bool
    ) -> str:
        """The text with braces for each value, with the name of those that have one, and for a hint."""

        def field(part: ir.Expr) -> str:
            if isinstance(part, ir.Constant):
                return str(part.value)
            return f"{{{named_values.get(self._shown(part), '')}}}"

        texts = (_braced(part) if isinstance(part, str) else field(part) for part in parts)
        return f'"{"".join(texts)}{"{}" * has_hint}"'

    def _text(self, parts: Iterable[str | ir.Expr], before: str = "") -> str:
        """A literal, or an f-string if values are shown, after `before`, which is the beginning of one."""
        parts = tuple(str(part.value) if isinstance(part, ir.Constant) else part for part in parts)
        if not before and all(isinstance(part, str) for part in parts):
            return f'"{literal("".join(part for part in parts if isinstance(part, str)))}"'
        texts = (_braced(part) if isinstance(part, str) else self._field(part) for part in parts)
        return f'f"{before}{"".join(texts)}"'

    def _field(self, part: ir.Expr) -> str:
        """A field of an f-string, which is shown as messages show values."""
        text = self._shown(part)
        match part.type.kind if not isinstance(part, ir.Tensor) else "":
            case "ints" if isinstance(part, ir.ListOf):
                return f"{{[{', '.join(map(self.print, part.items))}]}}"
            case "ints":
                return f"{{list({text})}}"
            case "float":
                return f"{{{text}:g}}"
            case "bool":
                return f"{{str({text}).lower()}}"
        return f"{{{text}}}"

    def _shown(self, node: ir.Expr) -> str:
        if isinstance(node, ir.Tensor):
            return f"{python_variable(node.name)}.label" if node.name else "path"
        text = self.print(node)
        match node.type.kind:
            case "enum":
                enum = pascal(node.type.name or "")
                return f"name_of(enums.{enum}, {text})"
            case "bool":
                return f"bool({text})"
            case _:
                return text

    def enum_value(self, node: ir.EnumValue) -> str:
        name = f"{node.type.name}_{node.name}"
        self.enum_values[name] = node
        return name

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        name = python_variable(node.name)
        return self.real(name) if isinstance(node, ir.Member) and node.type == ir.FLOAT else name

    def real(self, text: str) -> str:
        """A FLOAT of the description."""
        return f"as_float({text})"

    def tensor(self, node: ir.Tensor) -> str:
        if node.index is None:
            return python_variable(node.name)
        if self.bounds.contains(node.index, ir.Tensors(node.name)):
            return f"{python_variable(node.name)}[{self.print(node.index)}]"
        return f"tensor_at({python_variable(node.name)}, {self.print(node.index)})"

    def field(self, node: ir.Field) -> str:
        if self.operator is None and node.tensor.index is None:
            return field_local(node.tensor.name, node.name)
        tensor = self.tensor(node.tensor)
        return f"len({tensor}.Sizes)" if node.name == "DimensionCount" else f"{tensor}.{node.name}"

    def present(self, node: ir.Present) -> str:
        return f"{self.print(node.item, ATOM)} is not {self._absence(node)}"

    def not_(self, operand: ir.Expr) -> str:
        if isinstance(operand, ir.Present):
            return f"{self.print(operand.item, ATOM)} is {self._absence(operand)}"
        return super().not_(operand)

    def _absence(self, node: ir.Present) -> str:
        """The substitute for an item that is absent or out of range."""
        of_operator = self.operator is not None and isinstance(node.item, ir.Tensor)
        return "ABSENT" if of_operator else "None"

    def index(self, node: ir.Index) -> str:
        sequence, index = node.sequence, node.index
        if self.bounds.contains(index, sequence):
            text = f"{self.print(sequence, ATOM)}[{self.print(index)}]"
        else:
            text = f"entry({self.print(sequence)}, {self.print(index)})"
        return self.real(text) if node.type == ir.FLOAT else text

    def slice(self, node: ir.Slice) -> str:
        def bound(end: ir.Expr | None) -> str:
            if end is None:
                return ""
            return self.print(end) if self.bounds.value(end)[0] >= 0 else f"max({self.print(end)}, 0)"

        lower, upper = bound(node.lower), bound(node.upper)
        if all(re.fullmatch(r"\w*", text) for text in (lower, upper)):
            return f"{self.print(node.sequence, ATOM)}[{lower}:{upper}]"
        return f"{self.print(node.sequence, ATOM)}[{lower} : {upper}]".replace("[ :", "[:").replace(
            ": ]", ":]"
        )

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.op in ("//", "%") and not self._positive(node.right):
            function = "quotient" if node.op == "//" else "remainder"
            return f"{function}({self.print(node.left)}, {self.print(node.right)})", ATOM
        if node.type == ir.INTS:
            return self.joined(node)
        if not self.bounds.grows(node):
            return super().binary(node)
        precedence = SUM if node.op == "+" else PRODUCT
        return (
            f"{self.exact(node.left, precedence)} {node.op} {self.exact(node.right, precedence + 1)}",
            precedence,
        )

    def compare(self, node: ir.Compare) -> tuple[str, int]:
        """A comparison; a side need not saturate if the other cannot reach the limit."""
        left = self.exact if self._small(node.right) else self.print
        right = self.exact if self._small(node.left) else self.print
        inner = COMPARISON + 1
        return f"{left(node.left, inner)} {node.op} {right(node.right, inner)}", COMPARISON

    def reduce(self, node: ir.Reduce) -> str:
        with self.bounds.inside(node.loop):
            return super().reduce(node)

    def call(self, node: ir.Call) -> str:
        if node.function == "replace" and not self.bounds.contains(node.arguments[1], node.arguments[0]):
            return f"replaced({', '.join(map(self.print, node.arguments))})"
        return super().call(node)

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Compare():
                return self.compare(node)
            case ir.Present():
                return self.present(node), COMPARISON
            case _:
                return super()._node(node)

    def exact(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of the value before it saturates."""
        return super().print(node, outer)

    # Bounds.

    def _exceeds(self, node: ir.Expr) -> bool:
        if node.type != ir.INT or isinstance(node, ir.Definition):
            return False
        low, high = self.bounds.exact(node)
        return low < -LIMIT or high > LIMIT

    def _small(self, node: ir.Expr) -> bool:
        if node.type != ir.INT:
            return False
        low, high = self.bounds.exact(node)
        return low > -LIMIT and high < LIMIT

    def _positive(self, node: ir.Expr) -> bool:
        return self.bounds.value(node)[0] > 0


class DescPrinter(TuplePrinter):
    """Prints members as attributes of a description, `desc`; `f` are the functions of elements."""

    operator: Operator | None

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        if not isinstance(node, ir.Member | ir.Tensors):
            return python_variable(node.name)
        text = f"desc.{node.name}"
        if node.type == ir.FLOAT:
            return self.real(text)
        return f"f.convert({text}, {self.data_type(node.type)})" if node.type.kind == "element" else text

    def real(self, text: str) -> str:
        """A FLOAT of the description."""
        return f"f.single({text})"

    def tensor(self, node: ir.Tensor) -> str:
        return f"desc.{node.name}" + (f"[{self.print(node.index)}]" if node.index is not None else "")

    def present(self, node: ir.Present) -> str:
        return f"{self._item(node)} is not None"

    def not_(self, operand: ir.Expr) -> str:
        return f"{self._item(operand)} is None" if isinstance(operand, ir.Present) else super().not_(operand)

    def _item(self, node: ir.Present) -> str:
        item = node.item
        return f"desc.{item.name}" if isinstance(item, ir.Member) else self.print(item, ATOM)

    def part(self, node: ir.Part) -> str:
        assert self.operator is not None
        text = f"desc.{node.member.name}.{node.name}"
        if self.operator.member[node.member.name].optional:
            text = f'f.part(desc.{node.member.name}, "{node.name}")'
        return self.real(text) if node.type == ir.FLOAT else text

    def data_type(self, type_: ir.Type) -> str:
        """The data type of the tensor or member that an element type is named after."""
        assert self.operator is not None and type_.name is not None
        of_tensor = self.operator.member[ir.Tensor.of(type_.name).name].type == "tensor"
        return f"desc.{type_.name}{'.DataType' if of_tensor else ''}"


class InferencePrinter(PythonPrinter):
    """Prints for descriptions that no rule has checked."""

    bounds_type = Unchecked


def _braced(text: str) -> str:
    return literal(text).replace("{", "{{").replace("}", "}}")


class ValidPrinter(DescPrinter, PythonPrinter):
    """Prints for a function of a valid description, in which nothing has to saturate."""

    def __init__(self, registry: Registry, operator: Operator) -> None:
        super().__init__(registry, operator, Stage.VALUES)

    def _exceeds(self, node: ir.Expr) -> bool:
        return False
