"""Bounds: the range of an integer, and the number of entries of an array, for any description.

There is only one such analysis. What it does not know of a leaf (a member, a field, a variable), a subclass
can provide: `analysis/definition_bounds.py` knows types, and the rules that hold before. By itself, it is
what the parser relies on: a loop or a list without a bound is an error in a spec, so that no description can
make a validator slow, and C can hold every array in fixed storage.

An interval can be wider than the actual values, but never leaves one out. If nothing bounds a value, it ends
at `ENDLESS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from dmlgen.expr import ir

Interval: TypeAlias = tuple[int, int]
"""The least and the greatest value, both included."""

ENDLESS = 1 << 1024  # represents no bound
MAX_RANK = 8  # rank of the arrays in a description; resolve checks it against the header's constant
MAX_ARRAY = 2 * MAX_RANK  # entries of an array member that validators read
MAX_TENSORS = 64  # entries of an array of tensors that validators read
MAX_LOOP = 64  # iterations of a loop

ANY: Interval = (-ENDLESS, ENDLESS)
COUNT: Interval = (0, ENDLESS)


class Bounds:
    """The intervals of expressions, given what is known of their leaves.

    `known` has the intervals of variables, and of the entries of variables that are arrays.
    """

    def __init__(self) -> None:
        self.known: dict[str, Interval] = {}
        self.loops: dict[str, ir.Loop] = {}

    @contextmanager
    def inside(self, *loops: ir.Loop) -> Iterator[None]:
        """The bounds inside the body of loops, where their variables are known."""
        before = self.loops
        self.loops = {**before, **{loop.variable.name: loop for loop in loops}}
        yield
        self.loops = before

    # Leaves.

    def member(self, node: ir.Member) -> Interval:
        """An integer member, or the entries of an array member."""
        return ANY if node.signed else COUNT

    def part(self, node: ir.Part) -> Interval:
        """An integer of a struct."""
        return ANY

    def field(self, node: ir.Field) -> Interval:
        """An integer field of a tensor, or the entries of an array field; 0 if the tensor is absent."""
        return (0, MAX_RANK) if node.name == "DimensionCount" else COUNT

    def bits(self) -> Interval:
        """The bits of an element."""
        return 0, 64

    def contains(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        """Whether an array certainly has an entry at that index."""
        return False

    # Integers and the entries of arrays.

    def value(self, node: ir.Expr) -> Interval:
        """The interval of an integer, or of the entries of an array, after saturation."""
        low, high = self.exact(node)
        return min(max(low, -ir.LIMIT), ir.LIMIT), max(min(high, ir.LIMIT), -ir.LIMIT)

    def holds(self, node: ir.Compare) -> bool | None:
        """Whether a comparison of integers holds; None if it may or may not."""
        (a, b), (c, d) = self.value(node.left), self.value(node.right)
        if node.op in (">", ">="):
            (a, b), (c, d) = (c, d), (a, b)
        match node.op:
            case "<" | ">":
                return True if b < c else False if a >= d else None
            case "<=" | ">=":
                return True if b <= c else False if a > d else None
        same = True if a == b == c == d else False if b < c or d < a else None
        return same if node.op == "==" or same is None else not same

    def exact(self, node: ir.Expr) -> Interval:
        """The interval of an integer before saturation."""
        match node:
            case ir.Number(value=int(value)) | ir.EnumValue(value=value) | ir.Constant(value=value):
                return value, value
            case ir.Local():
                return self._local(node)
            case ir.Definition(value=value) | ir.Apply(function=ir.Function(body=value), arguments=()):
                return self.value(value)
            case ir.Member():
                return self.member(node)
            case ir.Part():
                return self.part(node)
            case ir.Field():
                return self.field(node)
            case ir.Index(sequence=sequence, index=index):
                entries = self.exact(sequence)
                return entries if self.contains(index, sequence) else _hull(entries, (0, 0))
            case ir.Slice(sequence=sequence):
                return self.exact(sequence)
            case ir.ListOf(items=items):
                return _hull(*map(self.value, items))
            case ir.Binary(left=left, right=right) if node.type == ir.INTS:
                return _hull(self.exact(left), self.exact(right))
            case ir.Binary(op=op, left=left, right=right):
                of = self.exact if self.grows(node) else self.value
                return _arithmetic(op, of(left), of(right))
            case ir.Negate(operand=operand):
                low, high = self.value(operand)
                return -high, -low
            case ir.Conditional(then=then, otherwise=otherwise):
                return _hull(self.exact(then), self.exact(otherwise))
            case ir.Reduce(kind=kind, loops=(loop,), body=body, over_elements=False):
                turns = self.turns(loop)
                with self.inside(loop):
                    return _reduced(kind, self.value(body), turns)
            case ir.Call(function=function, arguments=arguments):
                return self._call(function, arguments)
        return ANY

    def _local(self, node: ir.Local) -> Interval:
        if node.name in self.known:
            return self.known[node.name]
        if node.name in self.loops:
            loop = self.loops[node.name]
            first, last = self.value(loop.lower)[0], self.value(loop.upper)[1] - 1
            return first, max(first, last)
        if node.type == ir.INTS:
            return COUNT  # `at`
        return (0, MAX_TENSORS) if node.name == "index" else (0, MAX_LOOP - 1)

    def _call(self, function: str, arguments: tuple[ir.Expr, ...]) -> Interval:
        match function, arguments:
            case "min", (left, right):
                (a, b), (c, d) = self.value(left), self.value(right)
                return min(a, c), min(b, d)
            case "max", (left, right):
                (a, b), (c, d) = self.value(left), self.value(right)
                return max(a, c), max(b, d)
            case "abs", (item,):
                low, high = self.value(item)
                return max(low, -high, 0), max(-low, high)
            case (("product" | "sum"), (item,)):
                return _reduced(function, self.value(item), self.length(item))
            case (("align" | "replace"), (sequence, _, entry)):
                return _hull(self.value(sequence), self.value(entry))
            case "bits", _:
                return self.bits()
            case "len", (item,):
                return self.length(item)
            case "normalize_index", (_, size):
                return 0, max(self.value(size)[1] - 1, 0)
        return ANY

    def grows(self, node: ir.Binary) -> bool:
        """Whether saturating once, after this operation, gives the same as saturating its operands too."""
        if node.op not in ("+", "*") or node.type != ir.INT:
            return False
        return self.exact(node.left)[0] >= 0 and self.exact(node.right)[0] >= 0

    # Arrays.

    def length(self, node: ir.Expr) -> Interval:
        """The number of entries of an array."""
        match node:
            case ir.Field():
                return 0, MAX_RANK
            case ir.Member() | ir.Local():
                return 0, MAX_ARRAY
            case ir.Tensors():
                return 0, MAX_TENSORS
            case ir.Definition(value=value):
                return self.length(value)
            case ir.ListOf(items=items):
                return len(items), len(items)
            case ir.Binary(left=left, right=right):
                return _arithmetic("+", self.length(left), self.length(right))
            case ir.Conditional(then=then, otherwise=otherwise):
                return _hull(self.length(then), self.length(otherwise))
            case ir.Reduce(kind="list", loop=loop):
                return self.turns(loop)
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                whole = self.length(sequence)
                first = (0, 0) if lower is None else self.value(lower)
                last = whole if upper is None else self.value(upper)
                least = min(last[0], whole[0]) - max(first[1], 0)
                most = min(last[1], whole[1]) - max(first[0], 0)
                return max(least, 0), max(most, 0)
            case ir.Call(function="align", arguments=(_, count, _)):
                least, most = self.value(count)
                return max(least, 0), max(most, 0)
            case ir.Call(function="replace", arguments=(sequence, _, _)):
                return self.length(sequence)
        return COUNT

    def turns(self, loop: ir.Loop) -> Interval:
        """The number of iterations of a loop."""
        first, last = self.value(loop.lower), self.value(loop.upper)
        least = 0 if loop.condition is not None else max(last[0] - first[1], 0)
        return least, max(last[1] - first[0], 0)


def _hull(*intervals: Interval) -> Interval:
    return min((low for low, _ in intervals), default=0), max((high for _, high in intervals), default=0)


def _within(bounds: list[int]) -> Interval:
    return max(min(bounds), -ENDLESS), min(max(bounds), ENDLESS)


def _reduced(kind: str, entry: Interval, turns: Interval) -> Interval:
    """The interval of a reduction of so many entries."""
    low, high = entry
    least, most = turns
    match kind:
        case "list":
            return entry
        case "min" | "max":
            return entry if least > 0 else _hull(entry, (0, 0))
        case "sum":
            return _within([(least if low >= 0 else most) * low, (most if high >= 0 else least) * high])
        case "product" if low >= 0:
            return _within([low**least if low else 0, _power(high, most)])
        case "product":
            size = _power(max(-low, high), most)
            return _within([-size, size])
    return ANY


def _power(base: int, exponent: int) -> int:
    """The greatest product of up to so many numbers of up to that magnitude; at most ENDLESS."""
    if base <= 1:
        return 1
    return ENDLESS if exponent * (base.bit_length() - 1) >= 1024 else min(base**exponent, ENDLESS)


def _arithmetic(op: str, left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    match op:
        case "+":
            return _within([a + c, b + d])
        case "-":
            return _within([a - d, b - c])
        case "*":
            return _within([a * c, a * d, b * c, b * d])
        case "//" if c > 0:
            return _within([a // c, a // d, b // c, b // d])
        case "//" if a >= 0 and c >= 0:  # division by 0 is 0
            return 0, b
        case "//":
            return -max(abs(a), abs(b)), max(abs(a), abs(b))
        case "%" if a >= 0 and c >= 0:
            return 0, min(b, max(d - 1, 0))
        case "%":  # it has the sign of the divisor
            return min(c + 1, 0), max(d - 1, 0)
    return ANY


BOUNDS = Bounds()
"""Facts about every description whose arrays are no longer than the header allows."""
