"""Proposes single changes to a description, from what a condition reads, that satisfy or break it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from dmlgen.cases.changes import Move, Place, State
from dmlgen.cases.validators import changed
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Compiled, Environment, Evaluator
from dmlgen.expr.functions import PREDICATES
from dmlgen.registry import Operator, Registry

if TYPE_CHECKING:
    from dmlops import Description, TensorDesc

MAX_DIMENSIONS = 16  # more than any operator supports, so that counts can be too large
WIDE = 1 << 16  # two sizes of this have more elements than fit 32 bits
_LISTS = (ir.INTS, ir.FLOATS)


Proposal: TypeAlias = Callable[[Environment], Iterable[Move]]
Values: TypeAlias = Callable[[Environment], Iterable[Any]]

_ANY = ir.Local("value", ir.INT)
_TRIED = [odd << shift for odd in (1, 3) for shift in range(5)]  # numbers for which a predicate may hold


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


class Editor:
    """Applies moves to descriptions of one operator. `entry` gives an entry to fill an array with."""

    def __init__(self, operator: Operator, entry: Callable[[str], Any]) -> None:
        self._entry = entry
        self._tensors = {member.name for member in operator.tensors}
        self._count_of = {member.name: member.count for member in operator.members if member.count}
        self._counted: dict[str, list[str]] = {}
        for name, count in self._count_of.items():
            self._counted.setdefault(count, []).append(name)

    def apply(self, move: Move, state: State) -> State:
        """The state with the move applied."""
        (member, at, field, entry), value, alone = move
        if member is None:
            return state._replace(level=value)
        description = state.description
        whole = getattr(description, member)
        target = whole[at] if at is not None else whole
        if field is not None and member in self._tensors:
            value = _with_field(target, field, entry, value)
        elif field is not None:
            value = replace(target, **{field: value})
        elif entry is not None:
            value = (*target[:entry], value, *target[entry + 1 :])
        if at is not None:
            value = (*whole[:at], value, *whole[at + 1 :])
        changes = {member: value}
        if not alone and field is None and entry is None and at is None:
            changes |= self._resized(description, member, value)
        return state._replace(description=changed(description, changes))

    def _resized(self, description: Description, member: str, value: Any) -> dict[str, Any]:
        """A count and the arrays that it counts, after one of these members has a new value."""
        count = self._count_of.get(member, member)
        if count not in self._counted:
            return {}
        array = count != member
        length = value if not array else len(value) if value is not None else getattr(description, count)
        changes: dict[str, Any] = {count: length}
        for name in self._counted[count]:
            entries = value if name == member else getattr(description, name)
            if entries is not None and len(entries) != length:
                fill = entries[-1] if entries else self._entry(name)
                added = min(max(length - len(entries), 0), MAX_DIMENSIONS)
                changes[name] = entries[: max(length, 0)] + (fill,) * added
        return changes


def _with_field(tensor: TensorDesc, field: str, entry: int | None, value: Any) -> TensorDesc:
    if entry is not None:
        entries = getattr(tensor, field)
        value = (*entries[:entry], value, *entries[entry + 1 :])
    if field == "DimensionCount":
        return _resized(tensor, min(max(value, 0), MAX_DIMENSIONS))
    if field == "Sizes" and tensor.Strides is not None and len(tensor.Strides) != len(value):
        tensor = replace(tensor, Strides=None)
    return replace(tensor, **{field: value})


def _resized(tensor: TensorDesc, count: int) -> TensorDesc:
    added = count - tensor.DimensionCount
    sizes = (1,) * added + tensor.Sizes[max(-added, 0) :]
    strides = tensor.Strides and (tensor.Strides[:1] * added + tensor.Strides[max(-added, 0) :])
    return replace(tensor, Sizes=sizes, Strides=strides)


class Proposer:
    """Proposes moves; `sample` gives a value for an absent member that is to be given."""

    def __init__(
        self, registry: Registry, evaluator: Evaluator, operator: Operator, sample: Callable[[str], Any]
    ) -> None:
        self.evaluator, self._sample = evaluator, sample
        self._optional = {member.name for member in operator.members if member.optional}
        self._enums = {name: [entry.value for entry in enum.entries] for name, enum in registry.enums.items()}
        self._enums["TENSOR_DATA_TYPE"] = [entry.value for entry in registry.data_types]
        self.defaults = registry.tensor.defaults
        self.largest = registry.types["UINT"].range[1]

    def compile(self, node: ir.Expr) -> Compiled:
        """The function of an expression, compiled on first use."""
        made: Compiled | None = None

        def value(environment: Environment) -> Any:
            nonlocal made
            if made is None:
                made = self.evaluator.function(node)
            return made(environment)

        return value

    def directed(self, condition: ir.Expr, wanted: bool) -> list[Proposal]:
        """Moves that give one side of the condition exactly the value that satisfies or breaks it.

        The first values are those at the bound, so that cases are as close to it as possible.
        """
        match condition:
            case ir.Definition(value=value):
                return self.directed(value, wanted)
            case ir.Not(operand=operand):
                return self.directed(operand, not wanted)
            case ir.Logic(operands=operands):
                return [proposal for operand in operands for proposal in self.directed(operand, wanted)]
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                parts = (then, otherwise)
                return [
                    *(proposal for part in parts for proposal in self.directed(part, wanted)),
                    *self.directed(test, True),
                    *self.directed(test, False),
                ]
            case ir.Reduce(kind="all" | "any", loop=loop, body=body):
                return [self._in_loop(loop, proposal) for proposal in self.directed(body, wanted)]
            case ir.Compare(op=op, left=left, right=right):
                op_wanted = op if wanted else ir.OPPOSITE[op]
                return [
                    *self._toward(left, op_wanted, right),
                    *self._toward(right, ir.FLIPPED[op_wanted], left),
                ]
            case ir.OneOf(item=item, choices=choices):
                values = [self.compile(choice) for choice in choices]
                if wanted:
                    return self._assign(item, lambda env: [value(env) for value in values])
                return self._assign(item, lambda env: self._others(item.type, [v(env) for v in values]))
            case ir.Call(function=name, arguments=(item,)) if name in PREDICATES:
                holds = self.compile(ir.Call(name, (_ANY,), ir.BOOL))
                tried = [one for one in _TRIED if holds({_ANY.name: one}) == wanted]
                return self._assign(item, lambda env: tried)
            case ir.Present(item=item):
                return self._given(item, wanted)
            case ir.Member(type=ir.BOOL):
                return self._assign(condition, lambda env: [wanted])
        return []

    def nearby(self, condition: ir.Expr) -> list[Proposal]:
        """Moves of everything that the condition reads, to neighboring and to notable values."""
        proposals: list[Proposal] = []
        for node in dict.fromkeys(self._read(condition)):
            if isinstance(node, ir.Present):
                proposals += [*self._given(node.item, True), *self._given(node.item, False)]
            elif node.type in _LISTS:
                proposals.append(self._entries(node))
            elif node.type == ir.BOOL:
                proposals += self._assign(node, lambda env: [True, False])
            elif node.type.kind in ("int", "float", "enum"):
                proposals += self._around(node)
        return proposals

    def _read(self, expression: ir.Expr) -> Iterator[ir.Expr]:
        """The members and fields that an expression reads, including through the defaults of fields."""
        for node in ir.walk(expression):
            if isinstance(node, ir.Field) and node.tensor.index is not None:
                firsts = (replace(node.tensor, index=ir.Number(number, ir.INT)) for number in range(3))
                yield from (replace(node, tensor=tensor) for tensor in firsts)
            elif isinstance(node, ir.Field | ir.Member | ir.Part | ir.Present):
                yield node
            if isinstance(node, ir.Field) and node.name in self.defaults:
                for inner in self._read(self.defaults[node.name]):
                    yield replace(inner, tensor=node.tensor) if isinstance(inner, ir.Field) else inner

    def _given(self, item: ir.Expr, wanted: bool) -> list[Proposal]:
        """Moves that add or remove an optional member."""
        match item:
            case ir.Tensor(name=name, index=None) | ir.Member(name=name) if name in self._optional:
                pass
            case _:
                return [] if wanted else self._assign(item, lambda env: [None])

        def propose(environment: Environment) -> Iterator[Move]:
            if (environment[name] is not None) != wanted:
                yield Move(Place(name), self._sample(name) if wanted else None)

        return [propose]

    def _others(self, type_: ir.Type, values: list[Any]) -> list[Any]:
        """Values of the type other than these, nearest first."""
        known = self._enums[type_.name or ""] if type_.kind == "enum" else []
        return [*(value for value in known if value not in values), max(values) + 1]

    def _toward(self, target: ir.Expr, op: str, bound: ir.Expr) -> list[Proposal]:
        value = self.compile(bound)
        return self._assign(target, lambda env: self._satisfying(op, value(env), bound.type))

    def _satisfying(self, op: str, bound: Any, type_: ir.Type) -> list[Any]:
        if op in ("==", "<=", ">="):
            return [bound]
        if type_.kind == "enum":
            return [value for value in self._enums[type_.name or ""] if value != bound]
        if isinstance(bound, tuple):
            return [(*bound[:i], entry + 1, *bound[i + 1 :]) for i, entry in reversed(list(enumerate(bound)))]
        if type_ == ir.BOOL:
            return [not bound]
        if type_ == ir.FLOAT:
            return {"!=": [bound + 1], "<": [bound - 0.5, bound - 1], ">": [bound + 0.5, bound + 1]}[op]
        return {"!=": [bound + 1, bound - 1], "<": [bound - 1, bound // 2], ">": [bound + 1]}[op]

    def _around(self, node: ir.Expr) -> list[Proposal]:
        current = self.compile(node)
        if node.type.kind == "enum":
            values = self._enums[node.type.name or ""]
            return self._assign(node, lambda env: [v for v in values if v != current(env)])
        return self._assign(node, lambda env: self._notable(current(env)))

    def _notable(self, value: int | float) -> list[int | float]:
        if isinstance(value, float):
            return [new for new in (value + 0.5, value - 0.5, 1.0, 0.0, -1.0, 2.0) if new != value]
        values = (value + 1, value - 1, 1, 2, 0, value * 2, value // 2, self.largest)
        return [new for new in dict.fromkeys(values) if new != value]

    def _entries(self, node: ir.Expr) -> Proposal:
        """Moves of an array: entry by entry; strides also as a whole."""
        place, array = self._place(node), self.compile(node)

        def propose(environment: Environment) -> Iterator[Move]:
            where = place(environment) if place is not None else None
            if where is None:
                return
            entries = array(environment)
            if where.field == "Strides":
                assert isinstance(node, ir.Field)
                tensor = self.compile(node.tensor)(environment)
                if tensor is None:
                    return
                shorter = (entries or packed(tensor.Sizes))[1:]
                yield from (Move(where, new) for new in ((0,) * tensor.DimensionCount, None, shorter))
            for index, entry in reversed(list(enumerate(entries))):
                for new in (*self._notable(entry), *((WIDE,) if isinstance(entry, int) else ())):
                    yield Move(where._replace(entry=index), new)

        return propose

    def _in_loop(self, loop: ir.Loop, proposal: Proposal) -> Proposal:
        """The proposal for every iteration."""
        iterations: Callable[[Environment], Iterator[Environment]] | None = None

        def propose(environment: Environment) -> Iterator[Move]:
            nonlocal iterations
            if iterations is None:
                iterations = self.evaluator.iterations((loop,), None)
            for inner in iterations(environment):
                yield from proposal(inner)

        return propose

    def _assign(self, target: ir.Expr, values: Values) -> list[Proposal]:
        """Moves that give the target one of the values, as far as its operands allow."""
        match target:
            case ir.Definition(value=inner):
                return self._assign(inner, values)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                holds = self.compile(test)
                return [
                    *self._assign(then, lambda env: values(env) if holds(env) else ()),
                    *self._assign(otherwise, lambda env: () if holds(env) else values(env)),
                ]
            case ir.Binary(op=op, left=left, right=right) if target.type == ir.INTS:
                first, second = self.compile(left), self.compile(right)
                return [
                    *self._assign(left, lambda env: [v[: len(first(env))] for v in values(env)]),
                    *self._assign(right, lambda env: [v[-len(second(env)) :] for v in values(env)]),
                ]
            case ir.Binary(op=op, left=left, right=right) if target.type == ir.INT and op in _LEFT:
                first, second = self.compile(left), self.compile(right)
                solve_left, solve_right = _LEFT[op], _RIGHT.get(op)
                proposals = self._assign(
                    left, lambda env: [solve_left(v, first(env), second(env)) for v in values(env)]
                )
                if solve_right is not None:
                    proposals += self._assign(
                        right, lambda env: [solve_right(v, first(env)) for v in values(env)]
                    )
                return proposals
            case ir.Call(function="max" | "min" | "abs" | "product" | "sum" | "align" | "replace"):
                return self._assign_to_call(target, values)
            case ir.ListOf(items=items):
                return [
                    proposal
                    for number, item in enumerate(items)
                    for proposal in self._assign(item, _nth(values, number))
                ]
            case ir.Reduce(kind="list", loop=loop, body=body):
                lower, name = self.compile(loop.lower), loop.variable.name
                inner_values: Values = lambda env: [  # noqa: E731
                    v[env[name] - lower(env)] for v in values(env) if 0 <= env[name] - lower(env) < len(v)
                ]
                return [self._in_loop(loop, proposal) for proposal in self._assign(body, inner_values)]
        place = self._place(target)
        if place is None:
            return []

        def propose(environment: Environment) -> Iterator[Move]:
            where = place(environment)
            if where is not None:
                yield from (Move(where, value) for value in values(environment))

        return [propose]

    def _assign_to_call(self, target: ir.Call, values: Values) -> list[Proposal]:
        """Proposes moves if the target is the result of a function."""
        match target:
            case ir.Call(function="max" | "min", arguments=arguments):
                return [proposal for argument in arguments for proposal in self._assign(argument, values)]
            case ir.Call(function="abs", arguments=(inner,)):
                return self._assign(inner, lambda env: [new for v in values(env) for new in (v, -v)])
            case ir.Call(function="product" | "sum" as function, arguments=(inner,)):
                array, rest = self.compile(inner), int(function == "product")
                return self._assign(
                    inner, lambda env: [(rest,) * (len(array(env)) - 1) + (v,) for v in values(env)]
                )
            case ir.Call(function="align", arguments=(inner, _, _)):
                array = self.compile(inner)
                return self._assign(inner, lambda env: [v[-len(array(env)) :] for v in values(env)])
            case ir.Call(function="replace", arguments=(inner, _, _)):
                return self._assign(inner, values)
        raise AssertionError(target.function)

    def _place(self, target: ir.Expr) -> Callable[[Environment], Place | None] | None:
        """Finds where the expression's value is stored; None if the expression is computed."""
        match target:
            case ir.Definition(value=value):
                return self._place(value)
            case ir.Member(name=name):
                return lambda env: Place(name)
            case ir.Part(member=ir.Member(name=name), name=part):
                return lambda env: Place(name, field=part) if env[name] is not None else None
            case ir.Field(tensor=ir.Tensor(name=name, index=None), name=field):
                return lambda env: Place(name, field=field) if env[name] is not None else None
            case ir.Field(tensor=ir.Tensor(name=name, index=at), name=field) if at is not None:
                index_of = self.compile(at)

                def tensor_place(environment: Environment) -> Place | None:
                    index = index_of(environment)
                    return Place(name, index, field) if 0 <= index < len(environment[name] or ()) else None

                return tensor_place
            case ir.Index(sequence=sequence, index=index) if array_place := self._place(sequence):
                entry, array = self.compile(index), self.compile(sequence)

                def entry_place(environment: Environment) -> Place | None:
                    at, where = entry(environment), array_place(environment)
                    present = where is not None and 0 <= at < len(array(environment))
                    return where._replace(entry=at) if where is not None and present else None

                return entry_place
        return None


def _nth(values: Values, number: int) -> Values:
    return lambda env: [v[number] for v in values(env) if number < len(v)]


# For `left op right == value`: possible values of left, given value and the current left and right; and of
# right.
_LEFT: dict[str, Callable[[int, int, int], int]] = {
    "+": lambda value, left, right: value - right,
    "-": lambda value, left, right: value + right,
    "*": lambda value, left, right: value // right if right else 0,
    "//": lambda value, left, right: value * right,
    "%": lambda value, left, right: (max(left // right, 1) * right + value) if right else 0,
}
_RIGHT: dict[str, Callable[[int, int], int]] = {
    "+": lambda value, left: value - left,
    "-": lambda value, left: left - value,
    "*": lambda value, left: value // left if left else 0,
    "//": lambda value, left: left // value if value else left + 1,
    "%": lambda value, left: 1 if value == 0 else left + value,
}
