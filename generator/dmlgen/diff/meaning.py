"""Texts that are equal if two facts mean the same.

They contain neither positions nor the names of a `let`, of loops or of intermediate tensors, and what has
been renamed has its new name on both sides. Nothing is inferred: a condition in other words is another one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, Printer
from dmlgen.registry import Check, FeatureLevel, OutputDefinitions
from dmlgen.text import Text


class Meaning(Printer):
    """The facts of one side; `renamed` gives the new names of what was renamed.

    Members that are `given` are treated as present: if one becomes optional, rules that then ask whether it
    is present mean the same for descriptions that have it.
    """

    def __init__(self, renamed: Mapping[str, str], given: Collection[str] = ()) -> None:
        self.renamed = renamed
        self.given = given
        self._bound: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._intermediates: dict[str, str] = {}
        self._functions: dict[int, tuple[ir.Function, str]] = {}

    def text(self, value: object) -> str:
        """A fact: an expression, a record, or a collection of such."""
        match value:
            case Text():
                return self.words(value.plain)
            case str():
                return self.words(value)
            case FeatureLevel():
                return value.name
            case OutputDefinitions():
                return self._definition(value)
            case Check():
                return self._check(value)
            case Mapping():
                return f"{{{', '.join(sorted(f'{self.text(k)}: {self.text(v)}' for k, v in value.items()))}}}"
            case tuple() | list():
                return f"[{', '.join(map(self.text, value))}]"
            case _ if isinstance(value, ir.Expr):
                return self.print(value)
            case _ if is_dataclass(value):
                parts = (getattr(value, one.name) for one in fields(value) if one.repr)
                return f"{type(value).__name__}({', '.join(map(self.text, parts))})"
        return repr(value)

    def words(self, text: str) -> str:
        """A text with new names."""
        return re.sub(r"\w+", lambda word: self.renamed.get(word[0], word[0]), text)

    def message(self, check: Check, with_hint: bool) -> str:
        """The message if a check fails."""
        parts = [*check.message]
        if with_hint and check.hint is not None:
            parts += [check.hint.when, *check.hint.message]
        with self._inside(check.loops):
            return self.text(parts)

    def _check(self, check: Check) -> str:
        """The condition of a check with its case, without its message."""
        spans = [self.range(loop) for loop in check.loops]
        with self._inside(check.loops):
            cases = [part for part in (check.guard, *(loop.condition for loop in check.loops)) if part]
            texts = [
                self.print(part) for case in cases for part in _conjuncts(case) if not self._is_given(part)
            ]
            return f"{self.print(check.condition)} for {spans} if {texts}"

    def _is_given(self, node: ir.Expr) -> bool:
        match node:
            case ir.Present(item=ir.Tensor(name=name) | ir.Member(name=name)):
                return name in self.given
        return False

    def _definition(self, defines: OutputDefinitions) -> str:
        self._intermediates = {one.name: f"#{place}" for place, one in enumerate(defines.tensors)}
        whole = [
            (one.type, one.along, self.print(one.sizes), self.print(one.value)) for one in defines.tensors
        ]
        outputs = [(self.words(name), self.print(value)) for name, value in defines.outputs.items()]
        return f"{whole} {outputs}"

    @contextmanager
    def _inside(self, loops: Iterable[ir.Loop]) -> Iterator[None]:
        """Loop variables are named by nesting depth, with names that no `let` uses."""
        before = dict(self._bound)
        for loop in loops:
            self._bound[loop.variable.name] = f"${len(self._bound)}"
        yield
        self._bound = before

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Local(name=name):
                return self._bound.get(name, name)
            case ir.Definition(name=name, value=value):
                if name not in self._values:
                    self._values[name] = self._digest(value, {})
                return self._values[name]
        return self.words(node.name)

    def tensor(self, node: ir.Tensor) -> str:
        return self.words(node.name) + ("" if node.index is None else f"[{self.print(node.index)}]")

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"{node.type}.{self.words(node.name)}"

    def part(self, node: ir.Part) -> str:
        return f"{self.name(node.member)}.{self.words(node.name)}"

    def reduce(self, node: ir.Reduce) -> str:
        spans = " ".join(map(self.range, node.loops))
        with self._inside(node.loops):
            condition = "" if node.condition is None else f" if {self.print(node.condition)}"
            return f"{node.kind}({self.print(node.body)} {spans}{condition})"

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Apply(function=function, arguments=arguments):
                return f"{self._function(function)}({', '.join(map(self.print, arguments))})", ATOM
            case ir.Entry(tensor=tensor, coordinate=coordinate):
                return f"{self._intermediates.get(tensor, tensor)}[{self.print(coordinate)}]", ATOM
        return super()._node(node)

    def _function(self, function: ir.Function) -> str:
        """A digest of the body, in which parameters are named by position."""
        if id(function) not in self._functions:
            parameters = {one.name: f"&{place}" for place, one in enumerate(function.parameters)}
            self._functions[id(function)] = function, self._digest(function.body, parameters)
        return self._functions[id(function)][1]

    def _digest(self, node: ir.Expr, parameters: dict[str, str]) -> str:
        """Replaces the text of a named thing wherever it is used, so that texts stay short."""
        before, self._bound = self._bound, parameters
        text = self.print(node)
        self._bound = before
        return f"<{hashlib.sha256(text.encode()).hexdigest()}>"


def _conjuncts(node: ir.Expr) -> tuple[ir.Expr, ...]:
    match node:
        case ir.Logic(op="and", operands=operands):
            return operands
    return (node,)
