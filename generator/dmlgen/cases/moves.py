"""Single changes of a description, proposed from what a condition reads: to make it hold, or to break it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from dmlgen.description import Description, Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Compiled, Environment
from dmlgen.registry import FeatureLevel, Registry

MAX_DIMENSIONS = 16  # beyond any that an operator takes, so that counts can be too large
WIDE = 1 << 16  # two sizes of it have more elements than fit 32 bits


class State(NamedTuple):
    """A description and the feature level at which it is judged."""

    level: FeatureLevel
    description: Description

    @property
    def key(self) -> Hashable:
        """Equal for equal states."""
        return (self.level.ordinal, *self.description.values())


class Place(NamedTuple):
    """What a move changes: a member, a tensor's field or an array's entry; no member: the feature level.

    In proposals from rules of tensors the member is "", the tensor under judgement.
    """

    member: str | None
    field: str | None = None
    entry: int | None = None

    @property
    def whole(self) -> Place:
        """The member or field, for an array's entry too."""
        return self._replace(entry=None)


class Move(NamedTuple):
    place: Place
    value: Any

    def apply(self, state: State) -> State:
        """The state with the change made."""
        member, field, entry = self.place
        if member is None:
            return state._replace(level=self.value)
        value = self.value
        if field is not None:
            tensor = state.description[member]
            assert isinstance(tensor, Tensor)
            value = _with_field(tensor, field, entry, value)
        return state._replace(description={**state.description, member: value})


Proposal: TypeAlias = Callable[[Environment], Iterable[Move]]


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


def _with_field(tensor: Tensor, field: str, entry: int | None, value: Any) -> Tensor:
    if entry is not None:
        entries = getattr(tensor, field)
        value = (*entries[:entry], value, *entries[entry + 1 :])
    if field == "DimensionCount":
        return _resized(tensor, min(max(value, 0), MAX_DIMENSIONS))
    if field == "Sizes" and tensor.Strides is not None and len(tensor.Strides) != len(value):
        tensor = tensor._replace(Strides=None)
    return tensor._replace(**{field: value})


def _resized(tensor: Tensor, count: int) -> Tensor:
    added = count - tensor.DimensionCount
    sizes = (1,) * added + tensor.Sizes[max(-added, 0) :]
    strides = tensor.Strides and (tensor.Strides[:1] * added + tensor.Strides[max(-added, 0) :])
    return tensor._replace(Sizes=sizes, Strides=strides)


_NEGATED: dict[str, str] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_FLIPPED: dict[str, str] = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Proposer:
    """Proposes moves. `compile_expression` makes a function of an expression."""

    def __init__(self, registry: Registry, compile_expression: Callable[[ir.Expr], Compiled]) -> None:
        self.compile = compile_expression
        self.data_types = [entry.value for entry in registry.data_types]
        self.defaults = registry.tensor.defaults
        self.largest = registry.types["UINT"].range[1]

    def directed(self, condition: ir.Expr, wanted: bool) -> list[Proposal]:
        """Moves that give one side of the condition just the value that makes it hold, or fail.

        The first values are those at the bound, so that cases lie as near to it as can be.
        """
        match condition:
            case ir.Not(operand=operand):
                return self.directed(operand, not wanted)
            case ir.Logic(operands=operands):
                return [proposal for operand in operands for proposal in self.directed(operand, wanted)]
            case ir.Compare(op=op, left=left, right=right):
                op_wanted = op if wanted else _NEGATED[op]
                return [
                    *self._towards(left, op_wanted, right),
                    *self._towards(right, _FLIPPED[op_wanted], left),
                ]
            case ir.OneOf(item=item, choices=choices):
                values = [self.compile(choice) for choice in choices]
                if wanted:
                    return self._assign(item, lambda env: [value(env) for value in values])
                return self._assign(item, lambda env: [max(value(env) for value in values) + 1])
            case ir.Call(function="power_of_two", arguments=(item,)):
                factor = 1 if wanted else 3
                return self._assign(item, lambda env: [factor << shift for shift in (0, 1, 2, 3, 4)])
        return []

    def nearby(self, condition: ir.Expr) -> list[Proposal]:
        """Moves of whatever the condition reads, to neighbouring and to notable values."""
        reads: dict[ir.Expr, None] = {}
        for node in self._read(condition):
            if node.type.kind in ("int", "ints", "enum"):
                reads[node] = None
        return [
            proposal
            for node in reads
            for proposal in ([self._entries(node)] if node.type == ir.INTS else self._around(node))
        ]

    def _read(self, expression: ir.Expr) -> Iterator[ir.Field | ir.Member]:
        """The members and fields that an expression reads, also through the defaults of fields."""
        for node in ir.walk(expression):
            if isinstance(node, ir.Field | ir.Member):
                yield node
            if isinstance(node, ir.Field) and node.name in self.defaults:
                for inner in self._read(self.defaults[node.name]):
                    yield replace(inner, tensor=node.tensor) if isinstance(inner, ir.Field) else inner

    def _towards(self, target: ir.Expr, op: str, bound: ir.Expr) -> list[Proposal]:
        value = self.compile(bound)
        return self._assign(target, lambda env: self._satisfying(op, value(env), bound.type))

    def _satisfying(self, op: str, bound: Any, type_: ir.Type) -> list[Any]:
        if op in ("==", "<=", ">="):
            return [bound]
        if type_.kind == "enum":
            return [value for value in self.data_types if value != bound]
        if isinstance(bound, tuple):
            return [(*bound[:i], entry + 1, *bound[i + 1 :]) for i, entry in reversed(list(enumerate(bound)))]
        return {"!=": [bound + 1, bound - 1], "<": [bound - 1, bound // 2], ">": [bound + 1]}[op]

    def _around(self, node: ir.Expr) -> list[Proposal]:
        current = self.compile(node)
        if node.type.kind == "enum":
            return self._assign(node, lambda env: [v for v in self.data_types if v != current(env)])
        return self._assign(node, lambda env: self._notable(current(env)))

    def _notable(self, value: int) -> list[int]:
        values = (value + 1, value - 1, 1, 2, 0, value * 2, value // 2, self.largest)
        return [new for new in dict.fromkeys(values) if new != value]

    def _entries(self, node: ir.Expr) -> Proposal:
        """Moves of an array: entry by entry; strides also as a whole."""
        assert isinstance(node, ir.Field)
        place = Place(node.tensor.name, node.name)

        def propose(environment: Environment) -> Iterator[Move]:
            tensor = environment[node.tensor.name]
            entries = getattr(tensor, node.name)
            if node.name == "Strides":
                count = tensor.DimensionCount
                shorter = (entries or packed(tensor.Sizes))[1:]
                yield from (Move(place, new) for new in ((0,) * count, None, shorter))
            for index, entry in reversed(list(enumerate(entries or ()))):
                for new in (*self._notable(entry), WIDE):
                    yield Move(place._replace(entry=index), new)

        return propose

    def _assign(self, target: ir.Expr, values: Callable[[Environment], Iterable[Any]]) -> list[Proposal]:
        place = self._place(target)
        if place is None:
            return []

        def propose(environment: Environment) -> Iterator[Move]:
            where = place(environment)
            if where is not None:
                yield from (Move(where, value) for value in values(environment))

        return [propose]

    def _place(self, target: ir.Expr) -> Callable[[Environment], Place | None] | None:
        """Where a value can be put so that the expression has it; None where it is computed."""
        match target:
            case ir.Definition(value=value):
                return self._place(value)
            case ir.Member(name=name, type=ir.INT):
                return lambda env: Place(name)
            case ir.Field(tensor=ir.Tensor(name=name, index=None), name=field):
                return lambda env: Place(name, field)
            case ir.Index(
                sequence=ir.Field(tensor=ir.Tensor(name=name, index=None), name=field), index=index
            ):
                entry = self.compile(index)

                def entry_place(environment: Environment) -> Place | None:
                    at = entry(environment)
                    present = 0 <= at < len(getattr(environment[name], field) or ())
                    return Place(name, field, at) if present else None

                return entry_place
        return None
