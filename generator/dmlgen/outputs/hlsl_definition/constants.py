"""Values that depend only on the description, as constants of a shader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import asks_presence, is_host_computed, walk_through
from dmlgen.outputs.hlsl_definition.names import WORDS, free, pascal
from dmlgen.outputs.uniforms import camel, macro, word
from dmlgen.schedules.sparse_sum import Selected
from dmlgen.schedules.sums import Sums


@dataclass(frozen=True)
class Constant:
    """A constant of the shader: a number, or a list of up to MAX_RANK numbers whose length is a macro.

    `kind` is "int", "float", "element" (of a tensor's type, in two words), "ints", "floats", or "bound": an
    integer that bounds lists, or a truth value, which is itself a macro, so that loops can be unrolled.
    `macro` is the prefix of the macro, `node` the value of the constant, or None for what belongs to a
    tensor: sizes, strides, its place.
    """

    kind: str
    name: str
    macro: str
    node: ir.Expr | None = None


class Constants:
    """The constants of one shader, by name, in the order of first use."""

    def __init__(self, variables: Collection[str]) -> None:
        """`variables` are the definition's own names, which constants must not have."""
        self._variables = variables
        self._all: dict[str, Constant] = {}
        self._known: dict[ir.Expr, str] = {}
        self.divisors: dict[str, Constant] = {}
        """The reciprocals of lists, by the names of the lists."""
        self.boxes: set[str] = set()
        """The lists that are sizes of boxes whose rows are passed, by name."""

    def known(self, *kinds: str) -> tuple[Constant, ...]:
        """Those of some kinds that depend only on the description and do not belong to a tensor."""
        return tuple(one for one in self._all.values() if one.node is not None and one.kind in kinds)

    def add_list(self, local: str, macro: str, what: str) -> None:
        """Sizes or strides of a tensor."""
        name = local + what
        self._all[name] = Constant("ints", name, f"{macro}_{what.upper()}")

    def add_first(self, local: str) -> None:
        """Adds the start of an intermediate tensor in scratch."""
        self._all[f"{local}First"] = Constant("int", f"{local}First", "")

    def stands_for(self, name: str, node: ir.Expr) -> None:
        """Uses an existing constant for an expression."""
        self._known[node] = name

    def add_bound(self, node: ir.Expr) -> None:
        """Makes an integer that bounds lists a macro."""
        self._add(node, "bound")

    def of(self, node: ir.Expr) -> Constant:
        """The constant with the value of an expression."""
        if node not in self._known:
            self._add(node, {"bool": "int", "enum": "int"}.get(node.type.kind, node.type.kind))
        return self._all[self._known[node]]

    def reciprocals(self, node: ir.Expr) -> Constant:
        """(2^32 - 1) / n rounded down, for each entry n of a list: a list of the same length, not itself a
        constant."""
        divisors = self.of(node)
        name = divisors.name + "Reciprocals"
        return self.divisors.setdefault(divisors.name, Constant("ints", name, divisors.macro))

    def row_of(self, sizes: ir.Expr) -> str | None:
        """The macro of the last dimension along which a box of these sizes has several coordinates, 0 if none
        has; none for sizes of a tensor, which seldom end in ones."""
        box = self.of(sizes)
        if box.node is None:
            return None
        self.boxes.add(box.name)
        return f"{box.macro}_ROW"

    def _add(self, node: ir.Expr, kind: str) -> None:
        name = free(camel(pascal(word(node))), self._all, self._variables, WORDS)
        self._known[node] = name
        self._all[name] = Constant(kind, name, macro(name), node)


def is_constant(node: ir.Expr) -> bool:
    """Whether a part of an expression is passed to the shader as a constant."""
    if isinstance(node, ir.Number | ir.EnumValue | ir.Constant | ir.Tensor | ir.Tensors):
        return False
    if is_of_ranks(node):  # the shader knows how many sizes there are
        return False
    if node.type.kind == "element":
        return isinstance(node, ir.Member)
    if node.type.kind not in ("int", "bool", "enum", "ints", "float", "floats") or not is_host_computed(node):
        return False
    if node.type == ir.BOOL:
        return not asks_presence(node)
    if node.type == ir.FLOAT:  # shaders do arithmetic on floats themselves, in their own precision
        return isinstance(node, ir.Member | ir.Part | ir.Index)
    return True


def is_of_ranks(node: ir.Expr) -> bool:
    """Whether an integer is made only of numbers of dimensions, such as the place of a matrix's rows."""
    match node:
        case ir.Number(type=ir.INT):
            return True
        case ir.Binary("+" | "-", left, right, ir.INT):
            return is_of_ranks(left) and is_of_ranks(right)
        case ir.Call("min" | "max", arguments) if node.type == ir.INT:
            return all(map(is_of_ranks, arguments))
    return is_dimension_count(node)


def is_dimension_count(node: ir.Expr) -> bool:
    return isinstance(node, ir.Field) and node.name == "DimensionCount"


def bounds_of_lists(whole: Iterable[ir.Expr]) -> Iterator[ir.Expr]:
    """The constants that bound lists written entry by entry: they are as small as ranks."""
    for value in whole:
        for node in ir.walk(value):
            if isinstance(node, ir.Reduce):
                yield from filter(is_constant, (node.loop.lower, node.loop.upper))


def truths_of_forms(sums: Sums | None, selected: Selected | None) -> Iterator[ir.Expr]:
    """The truth values that select values made of sums, or terms of a sum: a shader has no code for what is
    not selected."""
    for one in () if sums is None else sums.passes:
        for _, value in one.values:
            for node in walk_through(value):
                if isinstance(node, ir.Member) and node.type == ir.BOOL:
                    yield node
    terms = () if selected is None else (selected.term, selected.condition)
    for node in (node for term in terms if term is not None for node in walk_through(term)):
        if node.type == ir.BOOL and is_constant(node):
            yield node
