"""Compares the meaning of conditions: whether one implies the other, as far as their form shows it.

A condition becomes a claim: negations are pushed to the innermost parts, and parts that cannot be compared
become text. Texts contain neither the names of a `let` nor those of loops, and renamed things have the new
name on both sides, so equal texts have equal values for every description.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, Printer
from dmlgen.registry import Check, OutputDefinitions

Strength: TypeAlias = Literal["same", "stricter", "looser", "other"]


@dataclass(frozen=True)
class Every:
    """All of the parts; with a `span`, its only part for every iteration."""

    parts: tuple[Claim, ...]
    span: str = ""


@dataclass(frozen=True)
class Some:
    """At least one of the parts, likewise."""

    parts: tuple[Claim, ...]
    span: str = ""


@dataclass(frozen=True)
class Among:
    """A value is one of these, or, if `inverse`, none of them."""

    item: str
    choices: frozenset[str | int | float]
    inverse: bool


@dataclass(frozen=True)
class Order:
    """A comparison, other than for equality with a constant; `right` is a number if it is one."""

    left: str
    op: ir.CompareOp
    right: str | int | float


@dataclass(frozen=True)
class Fact:
    """Anything else, or, if `inverse`, its negation."""

    text: str
    inverse: bool


Claim: TypeAlias = Every | Some | Among | Order | Fact

_ALWAYS, _NEVER = Every(()), Some(())

_FOLLOWING: Mapping[ir.CompareOp, frozenset[str]] = {  # for the same operands
    "==": frozenset(("==", "<=", ">=")),
    "!=": frozenset(("!=",)),
    "<": frozenset(("<", "<=", "!=")),
    ">": frozenset((">", ">=", "!=")),
    "<=": frozenset(("<=",)),
    ">=": frozenset((">=",)),
}


def strength(old: Claim, new: Claim) -> Strength:
    """How a new condition relates to the old one; "other" also if that cannot be determined."""
    if old == new:
        return "same"
    forth, back = _follows(new, old, {}), _follows(old, new, {})
    if forth and back:
        return "same"
    return "stricter" if forth else "looser" if back else "other"


class Meaning(Printer):
    """The conditions of one side as claims, and its expressions as texts.

    `renamed` gives the new names of what was renamed. Members that are `given` are treated as present: if one
    becomes optional, rules need not change for descriptions that have it.
    """

    def __init__(self, renamed: Mapping[str, str], given: Collection[str] = ()) -> None:
        self._renamed = renamed
        self._given = given
        self._bound: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._intermediates: dict[str, str] = {}
        self._functions: dict[int, tuple[ir.Function, str]] = {}

    def rule(self, checks: Iterable[Check]) -> Claim:
        """All checks of a rule together."""
        return Every(tuple(self._check(check.loops, check) for check in checks))

    def claim(self, node: ir.Expr, inverse: bool = False) -> Claim:
        """A condition, or its negation."""
        match node:
            case ir.Not(operand=operand):
                return self.claim(operand, not inverse)
            case ir.Definition(value=value) if value.type == ir.BOOL:
                return self.claim(value, inverse)
            case ir.Logic(op=op, operands=operands):
                parts = [self.claim(operand, inverse) for operand in operands]
                return _every(parts) if (op == "and") != inverse else _some(parts)
            case ir.Reduce(kind="all" | "any" as kind, loop=loop, body=body):
                span, of_all = self._span(loop), (kind == "all") != inverse
                with self.bound((loop,)):
                    inner = [self.claim(body, inverse)]
                    if loop.condition is not None:
                        inner.append(self.claim(loop.condition, of_all))
                if of_all:
                    return Every((_some(inner),), span)
                return Some((_every(inner),), span)
            case ir.Present(item=ir.Tensor(name=name) | ir.Member(name=name)) if name in self._given:
                return _NEVER if inverse else _ALWAYS
            case ir.OneOf(item=item, choices=choices):
                return Among(self.print(item), frozenset(map(self._constant, choices)), inverse)
            case ir.Compare():
                return self._comparison(node, inverse)
        return Fact(self.print(node), inverse)

    def definition(self, defines: OutputDefinitions) -> tuple[str, ...]:
        """What is computed; functions and intermediate tensors have no names of their own in it."""
        self._intermediates = {one.name: f"#{place}" for place, one in enumerate(defines.tensors)}
        whole = [
            f"{one.type} {one.along} {self.print(one.sizes)} {self.print(one.value)}"
            for one in defines.tensors
        ]
        for name, value in defines.outputs.items():
            whole.append(f"{self._renamed.get(name, name)} {self.print(value)}")
        return tuple(whole)

    def words(self, text: str) -> str:
        """A text for readers, with new names."""
        return re.sub(r"\w+", lambda word: self._renamed.get(word[0], word[0]), text)

    @contextmanager
    def bound(self, loops: Iterable[ir.Loop | ir.Each]) -> Iterator[None]:
        """Inside, loop variables are named by nesting depth, with names that no `let` uses."""
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
        return self._renamed.get(node.name, node.name)

    def tensor(self, node: ir.Tensor) -> str:
        name = self._renamed.get(node.name, node.name)
        return name if node.index is None else f"{name}[{self.print(node.index)}]"

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"{node.type}.{self._renamed.get(node.name, node.name)}"

    def part(self, node: ir.Part) -> str:
        return f"{self.name(node.member)}.{self._renamed.get(node.name, node.name)}"

    def reduce(self, node: ir.Reduce) -> str:
        span = self._span(node.loop)
        with self.bound((node.loop,)):
            condition = "" if node.loop.condition is None else f" if {self.print(node.loop.condition)}"
            return f"{node.kind}({self.print(node.body)} {span}{condition})"

    def fold(self, node: ir.Fold) -> str:
        spans = " ".join(map(self.each, node.loops))
        with self.bound(node.loops):
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
        """Stands for the text of a named thing wherever it is used, so that texts stay short."""
        before, self._bound = self._bound, parameters
        text = self.print(node)
        self._bound = before
        return f"<{hashlib.sha256(text.encode()).hexdigest()}>"

    def _check(self, loops: tuple[ir.Loop, ...], check: Check) -> Claim:
        """The condition for every iteration of the loops for which their conditions and the guard hold."""
        if loops:
            span = self._span(loops[0])
            with self.bound(loops[:1]):
                inner = [self._check(loops[1:], check)]
                if loops[0].condition is not None:
                    inner.append(self.claim(loops[0].condition, inverse=True))
            return Every((_some(inner),), span)
        guard = [] if check.guard is None else [self.claim(check.guard, inverse=True)]
        return _some([self.claim(check.condition), *guard])

    def _comparison(self, node: ir.Compare, inverse: bool) -> Claim:
        left, op, right = node.left, node.op, node.right
        if inverse and op not in ("==", "!=") and left.type != ir.INT:
            return Fact(self.print(node), inverse)  # NaN is neither less than a number nor not less
        op = ir.OPPOSITE[op] if inverse else op
        if isinstance(left, ir.Number | ir.EnumValue | ir.Constant):
            left, op, right = right, ir.FLIPPED[op], left
        item = self.print(left)
        if not isinstance(right, ir.Number | ir.EnumValue | ir.Constant):
            other = self.print(right)
            return Order(item, op, other) if item <= other else Order(other, ir.FLIPPED[op], item)
        value = self._constant(right)
        if op in ("==", "!="):
            return Among(item, frozenset((value,)), inverse=op == "!=")
        if left.type == ir.INT and isinstance(value, int) and op in ("<", ">"):  # x < 5 is x <= 4
            return Order(item, "<=", value - 1) if op == "<" else Order(item, ">=", value + 1)
        return Order(item, op, value)

    def _constant(self, node: ir.Expr) -> str | int | float:
        return node.value if isinstance(node, ir.Number | ir.Constant) else self.print(node)

    def _span(self, loop: ir.Loop) -> str:
        return self.range(ir.Loop(loop.variable, loop.lower, loop.upper, None))


def _every(parts: list[Claim]) -> Claim:
    demanded = [part for part in parts if part != _ALWAYS]
    return demanded[0] if len(demanded) == 1 else Every(tuple(demanded))


def _some(parts: list[Claim]) -> Claim:
    possible = [part for part in parts if part != _NEVER]
    return possible[0] if len(possible) == 1 else Some(tuple(possible))


def _follows(a: Claim, b: Claim, known: dict[tuple[int, int], bool]) -> bool:
    """Whether `b` evidently holds whenever `a` does.

    Each call looks at parts of `a`, of `b` or of both, and no pair of parts is visited twice.
    """
    key = (id(a), id(b))
    if key not in known:
        known[key] = a == b or _follows_in_parts(a, b, known)
    return known[key]


def _follows_in_parts(a: Claim, b: Claim, known: dict[tuple[int, int], bool]) -> bool:
    match a, b:
        case (_, Every(parts=parts, span="")):
            return all(_follows(a, part, known) for part in parts)
        case (Some(parts=parts, span=""), _):
            return all(_follows(part, b, known) for part in parts)
        case (Every(parts=(first,), span=span), Every(parts=(second,), span=other)) | (
            Some(parts=(first,), span=span),
            Some(parts=(second,), span=other),
        ) if span == other != "":
            return _follows(first, second, known)
        case (Among() | Order(), Among() | Order()):
            return _values_follow(a, b)
    choices = b.parts if isinstance(b, Some) and not b.span else ()
    given = a.parts if isinstance(a, Every) and not a.span else ()
    return any(_follows(a, part, known) for part in choices) or any(
        _follows(part, b, known) for part in given
    )


def _values_follow(a: Among | Order, b: Among | Order) -> bool:
    match a, b:
        case Among(inverse=False), Among():
            return a.item == b.item and all((one in b.choices) != b.inverse for one in a.choices)
        case Among(), Among(inverse=True):
            return a.item == b.item and a.choices >= b.choices
        case Among(inverse=False), Order(right=int() | float() as bound):
            numbers = [one for one in a.choices if not isinstance(one, str)]
            whole = len(numbers) == len(a.choices)
            return a.item == b.left and whole and all(ir.COMPARE[b.op](one, bound) for one in numbers)
        case Order(right=int() | float() as bound), Among(inverse=True):
            numbers = [one for one in b.choices if not isinstance(one, str)]
            whole = len(numbers) == len(b.choices)
            return a.left == b.item and whole and not any(ir.COMPARE[a.op](one, bound) for one in numbers)
        case Order(right=int() | float() as one), Order(right=int() | float() as other):
            upward = {"<", "<="} if a.op in ("<", "<=") else {">", ">="}
            return (
                a.left == b.left
                and b.op in upward
                and (ir.COMPARE[b.op](one, other) or (one == other and b.op in _FOLLOWING[a.op]))
            )
        case Order(), Order():
            return (a.left, a.right) == (b.left, b.right) and b.op in _FOLLOWING[a.op]
    return False
