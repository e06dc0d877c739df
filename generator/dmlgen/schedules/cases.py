"""A definition written out for one case of the description: the form in which patterns are matched.

Functions and names are replaced by their definitions, members that choose have a value, conditions decided by
that are gone, and loop variables are numbered by nesting depth. Two spellings of the same thing are then
equal, as far as forms need that. Hosts compute expressions so, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dmlgen.analysis.pattern import Unfit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import walk_through
from dmlgen.schedules.access import loads_of

MAX_NODES = 20_000
"""Limit for an expression; nothing longer has a known form."""

Choice: TypeAlias = Mapping[ir.Member, ir.Number | ir.EnumValue]


@dataclass(frozen=True)
class _Argument:
    """The value of a parameter: an expression, and the meaning of its own names."""

    node: ir.Expr
    names: _Names


@dataclass(frozen=True)
class _Variable:
    """A loop variable, and the end of its range if that starts at 0."""

    local: ir.Local
    end: ir.Expr | None


_Names: TypeAlias = Mapping[str, _Argument | _Variable]


class _Writer:
    """Writes an expression out. Ends: functions cannot be recursive."""

    def __init__(
        self, choice: Choice, expands: Callable[[ir.Function], bool], variables: Sequence[str]
    ) -> None:
        self._choice, self._expands, self._variables = choice, expands, variables
        self._nodes = 0
        self._known: dict[ir.Expr, bool] = {}

    def write(self, node: ir.Expr, names: _Names, depth: int) -> ir.Expr:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Unfit
        return _simplified(self._inner(*self._head(node, names, depth), depth), self._known)

    def _inner(self, node: ir.Expr, names: _Names, depth: int) -> ir.Expr:
        def write(part: ir.Expr) -> ir.Expr:
            return self.write(part, names, depth)

        match node:
            case ir.Local(name=name):
                found = names.get(name)
                return found.local if isinstance(found, _Variable) else node
            case ir.Member():
                return self._choice.get(node, node)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                decided = write(test)
                if isinstance(decided, ir.Number):
                    return write(then if decided.value else otherwise)
                before, branches = self._known, list[ir.Expr]()
                for holds, branch in ((True, then), (False, otherwise)):
                    self._known = {**before, decided: holds}
                    branches.append(write(branch))
                self._known = before
                return ir.Conditional(decided, *branches)
            case ir.Index(sequence=sequence, index=index):
                listed, inner = self._head(sequence, names, depth)
                if (entry := self._entry(listed, inner, index, names, depth)) is not None:
                    return entry
                return ir.Index(self.write(listed, inner, depth), write(index))
            case ir.Reduce():
                return self._loop(node, names, depth)
        return ir.rebuilt(node, write)

    def _head(self, node: ir.Expr, names: _Names, depth: int) -> tuple[ir.Expr, _Names]:
        """An expression's outermost node, with names and functions expanded."""
        while True:
            match node:
                case ir.Local(name=name) if isinstance(argument := names.get(name), _Argument):
                    node, names = argument.node, argument.names
                case ir.Apply(function=function, arguments=arguments) if self._expands(function):
                    pairs = zip(function.parameters, arguments, strict=True)
                    node, names = function.body, {one.name: _Argument(given, names) for one, given in pairs}
                case ir.Definition(value=value):
                    node = value
                case _:
                    return node, names

    def _entry(
        self, listed: ir.Expr, inner: _Names, index: ir.Expr, names: _Names, depth: int
    ) -> ir.Expr | None:
        """The entry of a list comprehension at the variable of a loop over the same range."""
        place, around = self._head(index, names, depth)  # an argument means what it does where it is given
        match listed, place:
            case ir.Reduce("list", (ir.Loop(ir.Local(name), ir.Number(0), upper, None),)), ir.Local(variable):
                found = around.get(variable)
                if isinstance(found, _Variable) and found.end == self.write(upper, inner, depth):
                    return self.write(listed.body, {**inner, name: found}, depth)
        return None

    def _loop(self, node: ir.Reduce, names: _Names, depth: int) -> ir.Expr:
        """A loop with its variables numbered."""
        inner, below = dict(names), depth + len(node.loops)
        loops: list[ir.Loop] = []
        for place, loop in enumerate(node.loops):
            number = depth + place
            name = self._variables[number] if number < len(self._variables) else f"v{number}"
            variable = ir.Local(name, loop.variable.type)
            lower, upper = (self.write(bound, names, depth) for bound in (loop.lower, loop.upper))
            is_whole = not node.over_elements and lower == ir.ZERO
            inner[loop.variable.name] = _Variable(variable, upper if is_whole else None)
            loops.append(ir.Loop(variable, lower, upper))
        condition = None if node.condition is None else self.write(node.condition, inner, below)
        loops[-1] = replace(loops[-1], condition=condition)
        return replace(node, loops=tuple(loops), body=self.write(node.body, inner, below))


def _simplified(node: ir.Expr, known: Mapping[ir.Expr, bool]) -> ir.Expr:
    """The node simplified, given its operands: truth values that they or `known` determine are folded; so are
    conditionals with equal branches, arithmetic of integers with a literal 0 or 1 that has no effect, and a
    float divided by 1. Entries of a slice of `at` are its own."""
    if known and node in known:  # hashing takes a while
        return ir.Number(known[node], ir.BOOL)
    match node:
        case ir.Compare(op="==" | "!=" as op, left=ir.EnumValue() as a, right=ir.EnumValue() as b):
            return ir.Number((a == b) == (op == "=="), ir.BOOL)
        case ir.OneOf(item=ir.EnumValue() as item, choices=choices):
            return ir.Number(item in choices, ir.BOOL)
        case ir.Not(operand=ir.Number(value=value)):
            return ir.Number(not value, ir.BOOL)
        case ir.Conditional(then=then, otherwise=otherwise) if then == otherwise:
            return then
        case ir.Index(ir.Slice(ir.AT, ir.Number() as lower, None), ir.Local() as index):
            return ir.Index(ir.AT, ir.Binary("+", index, lower, ir.INT))
        case ir.Binary("/", left, ir.Number(value=1.0), ir.FLOAT):
            return left
        case ir.Binary("*", left, right, ir.INT) if ir.ZERO in (left, right):
            return ir.ZERO
        case ir.Binary("*", left, right, ir.INT) if ir.ONE in (left, right):
            return right if left == ir.ONE else left
        case ir.Binary("+" | "-", left, ir.ZERO, ir.INT) | ir.Binary("+", ir.ZERO, left, ir.INT):
            return left
        case ir.Logic(op=op, operands=operands):
            decisive = ir.Number(op == "or", ir.BOOL)
            rest = tuple(one for one in operands if not isinstance(one, ir.Number))
            if decisive in operands or not rest:
                return decisive if decisive in operands else ir.Number(op == "and", ir.BOOL)
            return rest[0] if len(rest) == 1 else ir.Logic(op, rest)
    return node


def written(
    node: ir.Expr,
    choice: Choice,
    expands: Callable[[ir.Function], bool] = lambda _: True,
    variables: Sequence[str] = (),
) -> ir.Expr:
    """An expression, written out in one case, with the functions that `expands` selects, and `variables` for
    loops, outermost first. Raises Unfit if it is too long."""
    return _Writer(choice, expands, variables).write(node, {}, 0)


def folds_of(node: ir.Expr) -> list[ir.Reduce]:
    """The different reductions over elements in a value, functions included."""
    return list(dict.fromkeys(filter(ir.is_fold, walk_through(node))))


def has_folds(function: ir.Function) -> bool:
    """Whether a function has to be written out where folds are replaced: the shader has the others."""
    return bool(folds_of(function.body))


def total_of(value: ir.Expr) -> tuple[ir.Reduce, ir.Expr]:
    """The only fold over elements of the description's tensors in a value, written as if it stood alone, and
    the value as a function of its result, the local `total`. Raises Unfit if there are none or several."""
    folds = {fold: written(fold, {}) for fold in folds_of(value) if loads_of(fold)}
    if len(set(folds.values())) != 1:
        raise Unfit
    fold = next(iter(folds.values()))
    assert isinstance(fold, ir.Reduce)
    return fold, ir.substitute(value, dict.fromkeys(folds, ir.Local("total", fold.type, varies=True)))
