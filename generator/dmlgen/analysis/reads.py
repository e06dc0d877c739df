"""Where an operator's definitions read, and whether those reads are proven to be in bounds.

For each combination of dimension counts, lists have a known length, so a coordinate is one term per
dimension. It is known that `at` lies in the tensor being defined and loop variables in their ranges, that the
conditions on the way to a read hold, and that rules which every valid description satisfies make sizes equal
and bound members. A rule that is advice, or that applies only at some feature levels, proves nothing.
Nothing is known of floats and elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias, TypeVar

from dmlgen.analysis.counts import dimension_counts
from dmlgen.analysis.proof import Atoms, Case, Formula, Key, Term, both, either, least, negated, term, zero
from dmlgen.expr import ir
from dmlgen.expr.defined import free_locals, walk_through
from dmlgen.expr.ranks import MAX_COMBINATIONS, Counts
from dmlgen.registry import (
    Check,
    FeatureLevel,
    Member,
    NumberType,
    Operator,
    OutputDefinitions,
    Registry,
    Rule,
)

Value: TypeAlias = "Term | tuple[Term, ...] | Formula | None"
"""An integer, a list or a boolean; for anything else a value that identifies it; None if there is none."""
Environment: TypeAlias = Mapping[str, Value]
T = TypeVar("T")


class Undecided(Exception):
    """The question depends on a condition of which nothing is known."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula


@dataclass(frozen=True)
class Read:
    """A read in the value of the tensor `of`; `fault` says why it may be out of bounds, if it may."""

    of: str
    node: ir.Load | ir.Entry
    fault: str


def reads_of(registry: Registry, operator: Operator, most: int = MAX_COMBINATIONS) -> list[Read]:
    """The reads of an operator's definition, without duplicates, for a limited number of dimension counts."""
    if operator.defines is None:
        return []
    rules = _lasting(operator.rules, operator.since)
    found: dict[tuple[str, int], Read] = {}
    counts = dimension_counts(operator.member, operator.rules, operator.support)
    choices = list(dict.fromkeys(tuple(one.ranks.items()) for one in counts))
    chosen = choices[:: -(-len(choices) // most)]
    for one in (one for one in counts if tuple(one.ranks.items()) in chosen):
        for read in _Reads(operator.defines, rules, operator.member, registry.types, one):
            key = read.of, id(read.node)
            if key not in found or not found[key].fault:
                found[key] = read
    return list(found.values())


def recurrence_faults(
    defines: OutputDefinitions,
    rules: Iterable[Rule],
    since: FeatureLevel,
    members: Mapping[str, Member],
    types: Mapping[str, NumberType],
    counts: Iterable[Counts],
) -> Iterator[tuple[str, ir.Load | ir.Entry | None, str]]:
    """What is not proven of recurrences: the tensor, the read (None for its sizes), and what may be wrong.

    Steps are computed one after the other, and in each step the tensors of a group from first to last. So a
    tensor reads those above it at its own step, and all of the group at earlier ones.
    """
    if not defines.recurrences:
        return
    lasting = _lasting(rules, since)
    found = (
        fault for one in counts for fault in _Reads(defines, lasting, members, types, one).recurrence_faults()
    )
    yield from {(name, id(read), what): (name, read, what) for name, read, what in found}.values()


def _lasting(rules: Iterable[Rule], since: FeatureLevel) -> list[Rule]:
    """The rules that every valid description satisfies, at all levels."""
    return [
        rule
        for rule in rules
        if not rule.advice and rule.until is None and rule.since.ordinal <= since.ordinal
    ]


class _Reads:
    """All reads of a definition, for one combination of dimension counts."""

    def __init__(
        self,
        defines: OutputDefinitions,
        rules: Iterable[Rule],
        members: Mapping[str, Member],
        types: Mapping[str, NumberType],
        counts: Counts,
    ) -> None:
        self.defines, self.members, self.types, self.counts = defines, members, types, counts
        self.kept = {tensor.name: tensor for tensor in defines.tensors}
        self.atoms = Atoms()
        self.base = self.case = Case(self.atoms)
        self._reading: dict[int, bool] = {}  # whether a node contains a read
        self._rules = [check for rule in rules for check in rule.checks]
        self._early: dict[str, int] = {}  # by tensor: how many steps before its own a recurrence may read

    def recurrence_faults(self) -> Iterator[tuple[str, ir.Load | ir.Entry | None, str]]:
        """What is not proven of recurrences."""
        base = self._start()
        if base is None:
            return
        for group in self.defines.recurrences:
            self.case = base
            for tensor in group[1:]:
                if not self._has_steps(tensor.name, group[0].name):
                    fault = f"its number of steps may differ from that of {group[0].name}, its neighbour"
                    yield tensor.name, None, fault
            for number, tensor in enumerate(group):
                self._early = {one.name: int(place >= number) for place, one in enumerate(group)}
                for read in self._value(tensor.name, tensor.value, base):
                    yield read.of, read.node, read.fault
        self._early = {}

    def _has_steps(self, name: str, of: str) -> bool:
        """Whether an intermediate tensor is known to have as many steps as another."""
        try:
            own, other = self._sizes(name), self._sizes(of)
        except Undecided:
            return False
        return bool(own and other and self.case.holds(zero(own[0] - other[0])))

    def _start(self) -> Case | None:
        """The case that the rules establish."""
        waiting = tuple(_Rule(self, check) for check in self._rules)
        return Case(self.atoms, waiting=waiting).assume(True)

    def __iter__(self) -> Iterator[Read]:
        """Each read, as often as the definition reaches it."""
        base = self._start()
        if base is None:
            return
        for tensor in self.defines.tensors:
            yield from self._value(tensor.name, tensor.value, base)
        for name, value in self.defines.outputs.items():
            present: Formula = ("is", ("present", name)) if self.members[name].optional else True
            case = base.assume(present)
            if case is not None:
                yield from self._value(name, value, case)

    def _value(self, name: str, value: ir.Expr, case: Case) -> Iterator[Read]:
        """The reads in the value of a tensor, at any coordinate."""
        try:
            self.case = case
            sizes = self._sizes(name)
            found = []
            at = None
            if sizes is not None:
                at = tuple(self._turn(("at",), place, 0, size - 1) for place, size in enumerate(sizes))
                inner = case.assume(both(least(size - 1) for size in sizes))  # since there is a coordinate
                if inner is None:
                    return
                case = inner
            for read in self._reads(value, {"at": at}, case):
                found.append(Read(name, *read))
        except Undecided as undecided:
            for formula in (undecided.formula, negated(undecided.formula)):
                narrower = case.assume(formula)
                if narrower is not None:
                    yield from self._value(name, value, narrower)
            return
        yield from found

    def _turn(self, name: Key, place: int, lower: Term | int, upper: Term | int) -> Term:
        """A variable from `lower` to `upper`; the same one for equal name, place and bounds."""
        low, high = term(lower), term(upper)
        if low == high:
            return low
        return self.atoms.atom("turn", name, place, low, high, lower=[low], upper=[high])

    def _sizes(self, name: str) -> tuple[Term, ...] | None:
        if name in self.kept:
            return self.entries(self.kept[name].sizes, {})
        return self._field_sizes(name)

    def _field_sizes(self, name: str) -> tuple[Term, ...]:
        if self.members[name].optional:
            present: Formula = ("is", ("present", name))
            known = self.case.holds(present)
            if known is None:
                raise Undecided(present)
            if not known:
                return ()
        rank = self.counts.ranks.get(name, 0)
        return tuple(
            self.atoms.atom("size", name, place, lower=[1], upper=[2**32 - 1]) for place in range(rank)
        )

    # Reads.

    def _reads(self, node: ir.Expr, env: Environment, case: Case) -> Iterator[tuple[ir.Load | ir.Entry, str]]:
        """The reads in an expression, each with what may be wrong with it."""
        if not self._has_reads(node):
            return
        self.case = case
        match node:
            case ir.Load(coordinate=coordinate) | ir.Entry(coordinate=coordinate):
                yield from self._reads(coordinate, env, case)
                yield from self._read(node, env, case)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                yield from self._reads(test, env, case)
                self.case = case
                formula = self.formula(test, env)
                for branch, condition in ((then, formula), (otherwise, negated(formula))):
                    inner = case.assume(condition)
                    if inner is not None:
                        yield from self._reads(branch, env, inner)
            case ir.Logic(op=op, operands=operands):
                narrower: Case | None = case
                for operand in operands:
                    if narrower is not None:
                        yield from self._reads(operand, env, narrower)
                        self.case = narrower
                        formula = self.formula(operand, env)
                        narrower = narrower.assume(formula if op == "and" else negated(formula))
            case ir.Apply(function=function, arguments=arguments):
                for argument in arguments:
                    yield from self._reads(argument, env, case)
                self.case = case
                yield from self._reads(function.body, self._inner(node, env), case)
            case ir.Fold():
                yield from self._in_loops(node, env, case)
            case ir.Reduce(loop=loop, body=body):
                for place in self._places(loop.lower, loop.upper, env):
                    yield from self._reads(body, {**env, loop.variable.name: place}, case)
            case ir.Definition(value=value):
                yield from self._reads(value, env, case)
            case _:
                for child in ir.children(node):
                    yield from self._reads(child, env, case)

    def _has_reads(self, node: ir.Expr) -> bool:
        if id(node) not in self._reading:
            parts = walk_through(node)
            self._reading[id(node)] = any(isinstance(part, ir.Load | ir.Entry) for part in parts)
        return self._reading[id(node)]

    def _in_loops(
        self, node: ir.Fold, env: Environment, case: Case
    ) -> Iterator[tuple[ir.Load | ir.Entry, str]]:
        for each in node.loops:
            for bound in (each.first, each.last):
                if bound is not None:
                    yield from self._reads(bound, env, case)
        self.case = case
        for inner_env, turns in self._turns(node, env):
            inner = case.assume(turns)
            if inner is not None and node.condition is not None:
                yield from self._reads(node.condition, inner_env, inner)
                self.case = inner
                inner = inner.assume(self.formula(node.condition, inner_env))
            if inner is not None:
                yield from self._reads(node.body, inner_env, inner)

    def _read(
        self, node: ir.Load | ir.Entry, env: Environment, case: Case
    ) -> Iterator[tuple[ir.Load | ir.Entry, str]]:
        name = node.tensor if isinstance(node, ir.Entry) else node.tensor.name
        if self._early:
            if name in self._early and not self._is_earlier(node.coordinate, self._early[name], env, case):
                yield node, f"{name} may be read at a step that it does not have yet"
            return
        if name in self.members and self.members[name].optional:
            present = case.assume(("is", ("present", name)))
            if present is None:
                return  # an absent tensor is not read
            case = present
        self.case = case
        coordinate, sizes = self.entries(node.coordinate, env), self._sizes(name)
        if coordinate is None or sizes is None or len(coordinate) != len(sizes):
            yield node, "its coordinate is not known"
            return
        for place, (entry, size) in enumerate(zip(coordinate, sizes, strict=True)):
            for what, rest in (("below 0", entry), ("beyond the end", size - entry - 1)):
                if not case.proves(rest):
                    yield node, f"index {place} may be {what}"
                    return
        yield node, ""

    def _is_earlier(self, coordinate: ir.Expr, steps: int, env: Environment, case: Case) -> bool:
        """Whether a coordinate is at least so many steps before the current one."""
        self.case = case
        found, at = self.entries(coordinate, env), env.get("at")
        if not found or not isinstance(at, tuple) or not at:
            return False
        step = at[0]
        return isinstance(step, Term) and case.proves(step - found[0] - steps)

    def _turns(self, node: ir.Fold, env: Environment) -> Iterator[tuple[Environment, Formula]]:
        """The case inside loops, which have an iteration; unrolled if their variables index dimensions."""
        if node.unrolled:
            each = node.loops[0]
            for place in self._places(each.first, each.last, env):
                yield {**env, each.variable.name: place}, True
            return
        inner, turns = dict(env), []
        for each in node.loops:
            # A function called in a loop can have a loop variable of the same name.
            name, key = each.variable.name, (each.variable.name, id(node))
            if each.variable.type == ir.INT:
                low = term(0) if each.first is None else self.integer(each.first, env)
                high = self.integer(each.last, env) - 1
                inner[name] = self._turn(key, 0, low, high)
                turns.append(least(high - low))
                continue
            last = self.entries(each.last, env)
            first = self.entries(each.first, env) if each.first is not None else (term(0),) * len(last or ())
            if first is None or last is None or len(first) != len(last):
                inner[name] = ("unknown", name, *self._same(node, env))
                continue
            pairs = list(zip(first, last, strict=True))
            inner[name] = tuple(self._turn(key, n, low, high - 1) for n, (low, high) in enumerate(pairs))
            turns += [least(high - low - 1) for low, high in pairs]
        yield inner, both(turns)

    def _places(self, lower: ir.Expr | None, upper: ir.Expr, env: Environment) -> Iterator[Term]:
        """The values of a variable that indexes dimensions; any value if they are unknown."""
        places = self._range(lower, upper, env)
        if places is None:
            yield self._unknown(upper, env)
        else:
            yield from map(term, places)

    def _range(self, lower: ir.Expr | None, upper: ir.Expr, env: Environment) -> range | None:
        low = term(0) if lower is None else self.integer(lower, env)
        first = self.case.reduced(low).constant
        last = self.case.reduced(self.integer(upper, env)).constant
        return None if first is None or last is None else range(first, last)

    def _inner(self, node: ir.Apply, env: Environment) -> Environment:
        pairs = zip(node.function.parameters, node.arguments, strict=True)
        return {"at": env.get("at"), **{one.name: self.value(argument, env) for one, argument in pairs}}

    # Values.

    def value(self, node: ir.Expr, env: Environment) -> Value:
        """The value of an expression."""
        match node.type.kind:
            case "int":
                return self.integer(node, env)
            case "ints":
                found = self.entries(node, env)
                return ("unknown", *self._same(node, env)) if found is None else found
            case "bool":
                return self.formula(node, env)
        return ("unknown", *self._same(node, env))

    def _unknown(self, node: ir.Expr, env: Environment) -> Term:
        """An unknown integer, which is the same wherever it is asked for."""
        return self.atoms.atom("unknown", *self._same(node, env))

    def _same(self, node: ir.Expr, env: Environment) -> Key:
        """What distinguishes the values of a node."""
        names = sorted(free_locals(node))
        return (id(node), *(value for name in names for value in _flattened(env.get(name))))

    def integer(self, node: ir.Expr, env: Environment) -> Term:
        """An integer."""
        match node:
            case ir.Number(value=int(value)) | ir.Constant(value=value) | ir.EnumValue(value=value):
                return term(value)
            case ir.Local(name=name):
                found = env.get(name)
                return found if isinstance(found, Term) else self._unknown(node, env)
            case ir.Definition(value=value_):
                return self.integer(value_, env)
            case ir.Apply(function=function):
                return self.integer(function.body, self._inner(node, env))
            case ir.Member(name=name):
                if name in self.counts.values:
                    return term(self.counts.values[name])
                return self._of_type(self.members[name].type, "member", name)
            case ir.Part(member=member, name=name):
                return self.atoms.atom("member", member.name, name)
            case ir.Field(tensor=ir.Tensor(name=name), name="DimensionCount"):
                return term(len(self._field_sizes(name)))
            case ir.Index(sequence=sequence, index=index):
                entries = self.entries(sequence, env)
                return (
                    self._unknown(node, env)
                    if entries is None
                    else self._entry(entries, self.integer(index, env))
                )
            case ir.Negate(operand=operand):
                return -self.integer(operand, env)
            case ir.Binary(op=op, left=left, right=right):
                return self._arithmetic(op, self.integer(left, env), self.integer(right, env))
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                formula = self._simplified(self.formula(test, env))
                if isinstance(formula, bool):
                    return self.integer(then if formula else otherwise, env)
                return self.atoms.choice(
                    formula,
                    self._if(formula, lambda: self.integer(then, env)),
                    self._if(negated(formula), lambda: self.integer(otherwise, env)),
                )
            case ir.Reduce(kind="sum" | "product" as kind, loop=loop, body=body):
                places = self._range(loop.lower, loop.upper, env)
                if places is not None:
                    return self._total(kind, self._bodies(loop, body, places, env, 0 if kind == "sum" else 1))
            case ir.Fold(kind="sum" | "product" as kind, loops=(each,), condition=None, body=body) if (
                node.unrolled
            ):
                places = self._range(each.first, each.last, env)
                if places is not None:
                    inner = ({**env, each.variable.name: term(place)} for place in places)
                    return self._total(kind, [self.integer(body, one) for one in inner])
            case ir.Fold(kind="max", loops=(each,), condition=None, body=body, type=ir.INT):
                places = self._range(each.first, each.last, env)
                if places:
                    inner = ({**env, each.variable.name: term(place)} for place in places)
                    return reduce(self.atoms.larger, [self.integer(body, one) for one in inner])
            case ir.Fold(kind="argmax" | "argmin", loops=(each,)):
                first = term(0) if each.first is None else self.integer(each.first, env)
                last = self.atoms.larger(self.integer(each.last, env) - 1, first)
                return self._turn(self._same(node, env), 0, first, last)
            case ir.Call(function=function_, arguments=arguments):
                found_ = self._call(function_, arguments, env)
                if found_ is not None:
                    return found_
        return self._unknown(node, env)

    def _bodies(
        self, loop: ir.Loop, body: ir.Expr, places: range, env: Environment, neutral: int
    ) -> list[Term]:
        found = []
        for place in places:
            inner = {**env, loop.variable.name: term(place)}
            value = self.integer(body, inner)
            test = True if loop.condition is None else self._simplified(self.formula(loop.condition, inner))
            found.append(self.atoms.choice(test, value, term(neutral)))
        return found

    def _if(self, formula: Formula, value: Callable[[], T]) -> T:
        """A value that is only evaluated where a condition holds."""
        before = self.case
        self.case = before.assume(formula) or before
        try:
            return value()
        finally:
            self.case = before

    def _of_type(self, type_: str, *key: object) -> Term:
        low, high = self.types[type_].range if type_ in self.types else (-(2**63), 2**63)
        return self.atoms.atom(*key, lower=[low], upper=[high])

    def _simplified(self, formula: Formula) -> Formula:
        value = self.case.holds(formula)
        return formula if value is None else value

    def _entry(self, sequence: tuple[Term, ...], index: Term) -> Term:
        """One entry of a list; 0 if it is out of range."""
        place = self.case.reduced(index).constant
        if place is not None:
            return sequence[place] if 0 <= place < len(sequence) else term(0)
        result = term(0)
        for number, entry in reversed(list(enumerate(sequence))):
            result = self.atoms.choice(zero(index - number), entry, result)
        return result

    def _arithmetic(self, op: str, a: Term, b: Term) -> Term:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "//":
                return self.atoms.quotient(a, b)
            case "%":
                return self.atoms.remainder(a, b)
        raise TypeError(op)

    def _total(self, kind: str, values: Iterable[Term]) -> Term:
        result = term(0 if kind == "sum" else 1)
        for value in values:
            result = result + value if kind == "sum" else result * value
        return result

    def _call(self, function: str, arguments: tuple[ir.Expr, ...], env: Environment) -> Term | None:
        match function:
            case "min" | "max" if arguments[0].type == ir.INT:
                a, b = (self.integer(argument, env) for argument in arguments)
                return self.atoms.smaller(a, b) if function == "min" else self.atoms.larger(a, b)
            case "clamp" if arguments[0].type == ir.INT:
                x, low, high = (self.integer(argument, env) for argument in arguments)
                return self.atoms.clamped(x, low, high)
            case "abs" if arguments[0].type == ir.INT:
                a = self.integer(arguments[0], env)
                return self.atoms.larger(a, -a)
            case "wrap":
                size = self.integer(arguments[1], env)
                name = self._same(arguments[0], env)
                return self._turn(name, 0, 0, self.atoms.larger(size - 1, term(0)))
            case "len" | "sum" | "product" if arguments[0].type == ir.INTS:
                values = self.entries(arguments[0], env)
                if values is not None:
                    return term(len(values)) if function == "len" else self._total(function, values)
            case "flat":
                at, sizes = self.entries(arguments[0], env), self.entries(arguments[1], env)
                if at is not None and sizes is not None and len(at) == len(sizes):
                    number = term(0)
                    for entry, size in zip(at, sizes, strict=True):
                        number = number * size + entry
                    return number
        return None

    def entries(self, node: ir.Expr, env: Environment) -> tuple[Term, ...] | None:
        """A list of integers; None if its length is unknown."""
        match node:
            case ir.Local(name=name):
                found = env.get(name)
                return found if isinstance(found, tuple) and all(isinstance(x, Term) for x in found) else None  # type: ignore[return-value]
            case ir.Definition(value=value):
                return self.entries(value, env)
            case ir.Apply(function=function):
                return self.entries(function.body, self._inner(node, env))
            case ir.Field(tensor=ir.Tensor(name=name), name="Sizes"):
                return self._field_sizes(name)
            case ir.Member(name=name):
                length = self.counts.values.get(self.counts.members.get(name, ""))
                if length is None:
                    return None
                return tuple(self._of_type(self.members[name].type, "member", name, n) for n in range(length))
            case ir.ListOf(items=items):
                return tuple(self.integer(item, env) for item in items)
            case ir.Binary(op="+", left=left, right=right):
                a, b = self.entries(left, env), self.entries(right, env)
                return None if a is None or b is None else a + b
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                whole = self.entries(sequence, env)
                first = 0 if lower is None else self.case.reduced(self.integer(lower, env)).constant
                last = None if upper is None else self.case.reduced(self.integer(upper, env)).constant
                if whole is None or first is None or (upper is not None and last is None):
                    return None
                return whole[max(first, 0) : None if last is None else max(last, 0)]
            case ir.Reduce(kind="list", loop=loop, body=body):
                places = self._range(loop.lower, loop.upper, env)
                if places is None or loop.condition is not None:
                    return None
                return tuple(self.integer(body, {**env, loop.variable.name: term(n)}) for n in places)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                formula = self._simplified(self.formula(test, env))
                if isinstance(formula, bool):
                    return self.entries(then if formula else otherwise, env)
                a = self._if(formula, lambda: self.entries(then, env))
                b = self._if(negated(formula), lambda: self.entries(otherwise, env))
                if a is None or b is None or len(a) != len(b):
                    raise Undecided(formula)
                return tuple(self.atoms.choice(formula, x, y) for x, y in zip(a, b, strict=True))
            case ir.Call():
                return self._entries_of_call(node, env)
            case ir.Fold(kind="argmax" | "argmin", loops=(each,)):
                return self._entries_of_place(node, each, env)
        return None

    def _entries_of_call(self, node: ir.Call, env: Environment) -> tuple[Term, ...] | None:
        match node:
            case ir.Call(function="align", arguments=(item, length_, fill)):
                entries = self.entries(item, env)
                wanted = self.case.reduced(self.integer(length_, env)).constant
                if entries is None or wanted is None:
                    return None
                filled = (self.integer(fill, env),) * (wanted - len(entries))
                return filled + entries[max(len(entries) - max(wanted, 0), 0) :]
            case ir.Call(function="replace", arguments=(item, index, new)):
                entries, place = self.entries(item, env), self.integer(index, env)
                if entries is None:
                    return None
                value_ = self.integer(new, env)
                return tuple(
                    self.atoms.choice(self._simplified(zero(place - n)), value_, entry)
                    for n, entry in enumerate(entries)
                )
            case ir.Call(function="unflat", arguments=(number, sizes)):
                return self._unflat(self.integer(number, env), self.entries(sizes, env))
        return None

    def _entries_of_place(self, node: ir.Fold, each: ir.Each, env: Environment) -> tuple[Term, ...] | None:
        """The coordinate at which something is greatest or least: any that its loop reaches."""
        last_ = self.entries(each.last, env)
        first_ = self.entries(each.first, env) if each.first is not None else (term(0),) * len(last_ or ())
        if first_ is None or last_ is None or len(first_) != len(last_):
            return None
        name_ = self._same(node, env)
        return tuple(
            self._turn(name_, n, low, self.atoms.larger(high - 1, low))
            for n, (low, high) in enumerate(zip(first_, last_, strict=True))
        )

    def _unflat(self, number: Term, sizes: tuple[Term, ...] | None) -> tuple[Term, ...] | None:
        if sizes is None:
            return None
        found: list[Term] = []
        for size in reversed(sizes):
            found.append(self.atoms.remainder(number, size))
            number = self.atoms.quotient(number, size)
        return tuple(reversed(found))

    # Conditions.

    def _opaque(self, node: ir.Expr, env: Environment) -> Formula:
        return ("is", ("unknown", *self._same(node, env)))

    def formula(self, node: ir.Expr, env: Environment) -> Formula:
        """A boolean."""
        match node:
            case ir.Number(value=bool(value)):
                return value
            case ir.Local(name=name):
                found = env.get(name)
                return found if isinstance(found, bool | tuple) else self._opaque(node, env)
            case ir.Definition(value=value_):
                return self.formula(value_, env)
            case ir.Apply(function=function):
                return self.formula(function.body, self._inner(node, env))
            case ir.Member(name=name):
                return ("is", ("member", name))
            case ir.Present(item=ir.Tensor(name=name) | ir.Member(name=name)):
                return ("is", ("present", name)) if self.members[name].optional else True
            case ir.Not(operand=operand):
                return negated(self.formula(operand, env))
            case ir.Logic(op=op, operands=operands):
                return self._logic(op, operands, env)
            case ir.Compare(op=op, left=left, right=right):
                return self._compared(op, left, right, env)
            case ir.OneOf(item=item, choices=choices):
                return either(self._compared("==", item, choice, env) for choice in choices)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                formula = self._simplified(self.formula(test, env))
                if isinstance(formula, bool):
                    return self.formula(then if formula else otherwise, env)
                a = self._if(formula, lambda: self.formula(then, env))
                b = self._if(negated(formula), lambda: self.formula(otherwise, env))
                return either([both([formula, a]), both([negated(formula), b])])
            case ir.Call(function="inside", arguments=(place, box)):
                at, sizes = self.entries(place, env), self.entries(box, env)
                if at is not None and sizes is not None and len(at) == len(sizes):
                    pairs = list(zip(at, sizes, strict=True))
                    return both([f for c, n in pairs for f in (least(c), least(n - c - 1))])
            case ir.Reduce(kind="all" | "any" as kind, loop=loop, body=body):
                places = self._range(loop.lower, loop.upper, env)
                if places is not None:
                    envs = [{**env, loop.variable.name: term(place)} for place in places]
                    return self._all(kind, loop.condition, body, envs)
            case ir.Fold(kind="all" | "any" as kind, loops=(each,), condition=condition, body=body) if (
                node.unrolled
            ):
                places = self._range(each.first, each.last, env)
                if places is not None:
                    envs = [{**env, each.variable.name: term(place)} for place in places]
                    return self._all(kind, condition, body, envs)
        return self._opaque(node, env)

    def _logic(self, op: str, operands: tuple[ir.Expr, ...], env: Environment) -> Formula:
        """Conditions, each of which is evaluated only where the ones before it do not decide."""
        first, *rest = operands
        formula = self._simplified(self.formula(first, env))
        if not rest or formula is (op == "or"):
            return formula
        narrower = formula if op == "and" else negated(formula)
        more = self._if(narrower, lambda: self._logic(op, tuple(rest), env))
        return both([formula, more]) if op == "and" else either([formula, more])

    def _all(
        self, kind: str, condition: ir.Expr | None, body: ir.Expr, envs: list[dict[str, Value]]
    ) -> Formula:
        parts = []
        for env in envs:
            test = True if condition is None else self.formula(condition, env)
            value = self.formula(body, env)
            parts.append(either([negated(test), value]) if kind == "all" else both([test, value]))
        return both(parts) if kind == "all" else either(parts)

    def _compared(self, op: str, left: ir.Expr, right: ir.Expr, env: Environment) -> Formula:
        match left.type.kind:
            case "int":
                a, b = self.integer(left, env), self.integer(right, env)
                return {
                    "==": zero(a - b), "!=": negated(zero(a - b)), "<": least(b - a - 1),
                    "<=": least(b - a), ">": least(a - b - 1), ">=": least(a - b),
                }[op]  # fmt: skip
            case "ints":
                first, second = self.entries(left, env), self.entries(right, env)
                if first is None or second is None:
                    return self._opaque(left, env)
                same: Formula = False
                if len(first) == len(second):
                    same = both(zero(x - y) for x, y in zip(first, second, strict=True))
                return same if op == "==" else negated(same)
            case "enum":
                match left, right:
                    case (ir.Member(name=name), ir.EnumValue(value=value)):
                        formula: Formula = ("is", ("one of", name, value))
                        return formula if op == "==" else negated(formula)
        return self._opaque(left, env)


def _flattened(value: Value) -> Iterator[object]:
    if isinstance(value, tuple) and value and isinstance(value[0], Term):
        yield from value
    else:
        yield value


class _Rule:
    """A check of a rule: its condition holds where its guard does."""

    def __init__(self, reads: _Reads, check: Check) -> None:
        self._reads, self._check = reads, check

    @cached_property
    def guard(self) -> Formula:
        if self._check.guard is None:
            return True
        guard = self._check.guard
        return self._within(self._reads.base, lambda: self._reads.formula(guard, {}), False)

    @cached_property
    def condition(self) -> Formula:
        case = self._reads.base.assume(self.guard)
        return case is not None and self._within(case, lambda: both(self._conditions(0, {})), True)

    def _within(self, case: Case, formula: Callable[[], Formula], otherwise: bool) -> Formula:
        """A condition in its simplest form in a case; `otherwise` if it depends on something unknown."""
        before, self._reads.case = self._reads.case, case
        try:
            return formula()
        except Undecided:
            return otherwise
        finally:
            self._reads.case = before

    def _conditions(self, depth: int, env: dict[str, Value]) -> Iterator[Formula]:
        if depth == len(self._check.loops):
            yield self._reads.formula(self._check.condition, env)
            return
        loop = self._check.loops[depth]
        for place in self._reads._range(loop.lower, loop.upper, env) or ():
            inner = {**env, loop.variable.name: term(place)}
            test = True if loop.condition is None else self._reads.formula(loop.condition, inner)
            yield either([negated(test), both(self._conditions(depth + 1, inner))])
