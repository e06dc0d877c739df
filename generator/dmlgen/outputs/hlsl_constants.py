"""Values that depend only on the description, as constants of a shader."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.names import free
from dmlgen.outputs.hlsl_names import camel, macro, pascal, word
from dmlgen.outputs.hlsl_tensors import ShaderTensor


@dataclass(frozen=True)
class ShaderConstant:
    """A constant of the shader: a number, or a list of up to MAX_RANK numbers whose length is a macro.

    `kind` is "int", "float", "element" (of a tensor's type, in two words), "ints", "floats", or "bound", what
    is a macro itself: an integer that bounds lists, or a truth value, so that loops can be unrolled. `macro`
    is the prefix of the macro, `node` the value of the constant, or None for sizes of a tensor.
    """

    kind: str
    name: str
    macro: str
    node: ir.Expr | None = None

    @property
    def length(self) -> str:
        """The macro of its length."""
        return f"{self.macro}_{'RANK' if self.node is None else 'LENGTH'}"


class Constants:
    """The constants of one shader, by name, in the order of first use."""

    def __init__(self, tensors: Collection[ShaderTensor], taken: Collection[str]) -> None:
        """Those of a shader with these tensors. `taken` are names that constants must not have."""
        self._taken = {*taken, *(f"{one.local}Strides" for one in tensors)}
        self._known: dict[ir.Expr, str] = {
            ir.Field(one.node, "Sizes", ir.INTS): f"{one.local}Sizes" for one in tensors
        }
        self._all = {
            name: ShaderConstant("ints", name, one.macro)
            for one, name in zip(tensors, self._known.values(), strict=True)
        }
        self.divisors: dict[str, ShaderConstant] = {}
        """The reciprocals of lists, by the names of the lists."""
        self.used: set[str] = set()
        """The names of those whose values were asked for."""
        self.boxes: set[str] = set()
        """The names of the lists that are sizes of boxes that are visited row by row."""

    def known(self, *kinds: str) -> tuple[ShaderConstant, ...]:
        """Those of some kinds that depend only on the description and do not belong to a tensor."""
        return tuple(one for one in self._all.values() if one.node is not None and one.kind in kinds)

    def of(self, node: ir.Expr) -> ShaderConstant:
        """The constant with the value of an expression."""
        if node not in self._known:
            self.add(node, {"bool": "int", "enum": "int"}.get(node.type.kind, node.type.kind))
        name = self._known[node]
        self.used.add(name)
        return self._all[name]

    def reciprocals(self, node: ir.Expr) -> ShaderConstant:
        """(2^32 - 1) / n rounded down, for each entry n of a list: a list of the same length, not itself a
        constant."""
        divisors = self.of(node)
        reciprocals = replace(divisors, kind="ints", name=divisors.name + "Reciprocals")
        return self.divisors.setdefault(divisors.name, reciprocals)

    def reciprocal(self, node: ir.Expr) -> ShaderConstant:
        """(2^31 - 1) / n rounded down, for an integer n."""
        quotient = ir.Binary("//", ir.Number(2**31 - 1, ir.INT), node, ir.INT)
        return self._put("int", f"{self.of(node).name}Reciprocal", quotient)

    def row_of(self, sizes: ir.Expr) -> str | None:
        """The macro of the last dimension along which a box of these sizes has several coordinates, 0 if none
        has; none for sizes of a tensor, which seldom end in ones."""
        box = self.of(sizes)
        if box.node is None:
            return None
        self.boxes.add(box.name)
        return f"{box.macro}_ROW"

    def add(self, node: ir.Expr, kind: str) -> None:
        """Adds a constant that has the value of an expression."""
        words = f"Has{word(node.item)}" if isinstance(node, ir.Present) else word(node)
        name = free(camel(pascal(words)), self._all, self._taken)
        self._known[node] = name
        self._put(kind, name, node)

    def _put(self, kind: str, name: str, node: ir.Expr) -> ShaderConstant:
        self._all[name] = ShaderConstant(kind, name, macro(name), node)
        return self._all[name]
