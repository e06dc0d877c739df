"""What the description alone gives, as constants of a shader."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.defined import asks_presence, is_known
from dmlgen.outputs.hlsl_definition.names import WORDS, free, pascal, word
from dmlgen.outputs.uniforms import camel, macro


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


class Constants:
    """The constants of one shader, by name, in the order of first use."""

    def __init__(self, variables: Collection[str]) -> None:
        """`variables` are the names of the definition's own, which no constant may have."""
        self._variables = variables
        self._all: dict[str, Constant] = {}
        self._known: dict[ir.Expr, str] = {}

    @property
    def lists(self) -> tuple[Constant, ...]:
        return tuple(one for one in self._all.values() if one.kind in ("ints", "floats"))

    @property
    def scalars(self) -> tuple[Constant, ...]:
        return tuple(one for one in self._all.values() if one.kind in ("int", "float"))

    def add_list(self, local: str, macro: str, what: str) -> None:
        """Sizes or strides of a tensor."""
        name = local + what
        self._all[name] = Constant("ints", name, f"{macro}_{what.upper()}")

    def add_first(self, local: str) -> None:
        """Where an intermediate tensor begins in scratch."""
        self._all[f"{local}First"] = Constant("int", f"{local}First", "")

    def stands_for(self, name: str, node: ir.Expr) -> None:
        """Lets a constant that is there be the value of an expression."""
        self._known[node] = name

    def of(self, node: ir.Expr) -> Constant:
        """The constant that has the value of an expression."""
        if node not in self._known:
            name = free(camel(pascal(word(node))), self._all, self._variables, WORDS)
            kind = {"bool": "int", "enum": "int"}.get(node.type.kind, node.type.kind)
            self._known[node] = name
            self._all[name] = Constant(kind, name, macro(name), node)
        return self._all[self._known[node]]


def is_constant(node: ir.Expr) -> bool:
    """Whether a part of an expression is told to the shader as a constant."""
    if isinstance(node, ir.Number | ir.EnumValue | ir.Constant | ir.Present | ir.Tensor | ir.Tensors):
        return False
    if node.type.kind not in ("int", "bool", "enum", "ints", "float", "floats") or not is_known(node):
        return False
    if node.type == ir.BOOL:
        return not asks_presence(node)
    if node.type == ir.FLOAT:  # arithmetic on floats is the shader's, in its own precision
        return isinstance(node, ir.Member | ir.Part | ir.Index)
    return True
