"""Intermediate tensors made of sums of products: projections, and the steps of recurrent networks.

A product has one element of a tensor of weights as a factor, and other reads as the rest, all at coordinates
that end with k. What matters is which dimensions of the intermediate tensor these depend on: weights that are
the same along a dimension are read once for all of it, and so are the other factors along the dimensions of
the weights. Elements may be any function of the sums that reads no weights.

If a truth value of the description allows for fewer passes, each of its values is a separate case. In a
recurrence, the first step, which has the form `... if at[0] == 0 else`, has no sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import factors_of, walk_through
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.access import dimensions, entries
from dmlgen.schedules.cases import Choice, TooLarge, rebuilt, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.steps import in_step
from dmlgen.schedules.tensor_facts import TensorFacts

Read: TypeAlias = ir.Load | ir.Entry


@dataclass(frozen=True)
class Sum:
    """A sum of products, the local `name`: of factor number `factor` and the weights at `place`."""

    name: str
    factor: int
    place: tuple[ir.Expr, ...]


@dataclass(frozen=True)
class SharedSums:
    """Intermediate tensors that are written together, from sums of products that threads of a group share.

    They apply where `when` holds. `values` are those of the tensors at `at`, by name, as functions of `sums`,
    of what was read `before` these, by name, and of the earlier values, which have the names of their
    tensors. Each product has an element of `weights` and one of `factors`, which in turn are products of
    reads. All their coordinates end with k. Weights depend on dimensions `rows` of the result and not on
    `columns`, factors the other way round; both may depend on the rest of its `rank`. `is_by_row`: what was
    read before is the same for all columns.
    """

    when: ir.Expr
    values: tuple[tuple[str, ir.Expr], ...]
    before: tuple[tuple[str, ir.Expr], ...]
    along: bool
    weights: str
    factors: tuple[tuple[Read, ...], ...]
    sums: tuple[Sum, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    rank: int
    is_by_row: bool


@dataclass(frozen=True)
class Sums(FastForm):
    """A faster way to compute intermediate tensors, pass by pass, each in place of one or several of the
    definition's (`schedules`)."""

    passes: tuple[SharedSums, ...]

    @property
    def roles(self) -> Mapping[str, str]:
        """The weights of each intermediate tensor."""
        return {name: one.weights for one in self.passes for name, _ in one.values}


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sums | None:
    """The sums of products that intermediate tensors of a definition consist of."""
    if any(facts.may_be(output, "FLOAT64") for output in defines.outputs):
        return None
    try:
        cases = _cases(defines)
    except TooLarge:
        return None
    found: dict[SharedSums, list[ir.Expr]] = {}  # by the cases in which they apply
    for case in cases:
        for step in in_step(case.tensors):
            with suppress(Unfit):
                found.setdefault(_Reader(step, case, defines, facts).sums(), []).append(case.when)
    if not found:
        return None
    return Sums(
        tuple(one if len(of) == len(cases) else replace(one, when=of[0]) for one, of in found.items())
    )


class _Case(NamedTuple):
    """A case of the description: its condition, the member's value, and the tensors, written out."""

    when: ir.Expr
    choice: Choice
    tensors: list[Intermediate]


def _cases(defines: OutputDefinitions) -> list[_Case]:
    """The cases to distinguish."""
    usual = _case(defines, ir.Number(True, ir.BOOL), {})
    nodes = (node for one in usual.tensors for node in ir.walk(one.value))
    for member in dict.fromkeys(node for node in nodes if isinstance(node, ir.Member)):
        if member.type == ir.BOOL:
            cases = [
                _case(defines, member, {member: ir.Number(True, ir.BOOL)}),
                _case(defines, ir.Not(member), {member: ir.Number(False, ir.BOOL)}),
            ]
            if any(len(in_step(one.tensors)) < len(in_step(usual.tensors)) for one in cases):
                return cases
    return [usual]


def _case(defines: OutputDefinitions, when: ir.Expr, choice: Choice) -> _Case:
    tensors = [
        replace(one, sizes=written(one.sizes, choice), value=written(one.value, choice))
        for one in defines.tensors
    ]
    return _Case(when, choice, tensors)


class _Reader:
    """Reads the values of intermediate tensors that are written together."""

    def __init__(
        self, step: Sequence[Intermediate], case: _Case, defines: OutputDefinitions, facts: TensorFacts
    ) -> None:
        self._step, self._choice, self._facts = step, case.choice, facts
        self._sizes = {one.name: one.sizes for one in case.tensors}
        self._values = {one.name: one.value for one in defines.tensors}
        self._rank = len(entries(step[0].sizes))

    def sums(self) -> SharedSums:
        first = self._step[0]
        if any(one.type != ir.FLOAT or one.decides for one in self._step):
            raise Unfit
        folds = dict.fromkeys(fold for one in self._step for fold in _folds(_later(one)))
        products = [self._product(fold) for fold in folds]
        factors = tuple(dict.fromkeys(factor for factor, _ in products))
        weights = {one.tensor.name for _, one in products}
        if len(weights) != 1:
            raise Unfit
        names = [f"total{number}" for number in range(len(folds))]
        totals: dict[ir.Expr, ir.Expr] = {
            fold: ir.Local(name, ir.FLOAT, varies=True) for fold, name in zip(folds, names, strict=True)
        }
        values = [(one.name, self._made(one.name, totals)) for one in self._step]
        reads = [read for factor in factors for read in factor]
        loaded = weights.union(read.tensor.name for read in reads if isinstance(read, ir.Load))
        others = [part for _, value in values for part in walk_through(value)]
        if any(isinstance(part, ir.Load) and part.tensor.name in loaded for part in others):
            raise Unfit
        if any(isinstance(read, ir.Load) and read.tensor.name in weights for read in reads):
            raise Unfit
        of_factors = _dimensions(read for factor in factors for read in factor)
        of_weights = _dimensions(load for _, load in products)
        steps = {0} if first.along else set()
        before = _ReadBefore(one.name for one in self._step)

        def is_by_row(value: ir.Expr) -> bool:
            used = dimensions(walk_through(value))
            return used is not None and not used & (of_factors - of_weights)

        return SharedSums(
            when=ir.Number(True, ir.BOOL),
            values=tuple((name, before.used(value, first.along)) for name, value in values),
            before=before.found,
            along=first.along,
            weights=weights.pop(),
            factors=factors,
            sums=tuple(
                Sum(name, factors.index(factor), entries(load.coordinate)[:-1])
                for name, (factor, load) in zip(names, products, strict=True)
            ),
            rows=tuple(sorted(of_weights - of_factors - steps)),
            columns=tuple(sorted(of_factors - of_weights - steps)),
            rank=self._rank,
            is_by_row=all(map(is_by_row, (value for _, value in before.found))),
        )

    def _made(self, name: str, totals: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
        """The value of a tensor as defined, with the locals of totals in place of sums."""
        value = _opened(self._values[name], self._choice)
        return ir.substitute(value, {fold: totals[written(fold, self._choice)] for fold in _folds(value)})

    def _product(self, fold: ir.Fold) -> tuple[tuple[Read, ...], ir.Load]:
        """The reads of a factor, and that of the weights, with entries of coordinates spelled out."""
        match fold:
            case ir.Fold(
                "sum",
                (ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),),
                None,
                body,
                ir.FLOAT,
            ):
                reads = [self._read(read, k) for read in factors_of(body)]
            case _:
                raise Unfit
        last = self._rank - 1
        weights = [read for read in reads if last in _dimensions([read])]
        factor = tuple(read for read in reads if read not in weights)
        if len(weights) != 1 or not factor or depth not in map(self._last_size, reads):
            raise Unfit
        (load,) = weights
        if not isinstance(load, ir.Load):
            raise Unfit
        return factor, load

    def _read(self, read: ir.Expr, k: ir.Local) -> Read:
        """A read at a coordinate that ends with k and depends on no other read."""
        if not isinstance(read, ir.Load | ir.Entry) or read.type != ir.FLOAT:
            raise Unfit
        if isinstance(read, ir.Load) and not self._is_single(read.tensor):
            raise Unfit
        *head, number = entries(read.coordinate)
        inner = [part for item in head for part in ir.walk(item)]
        if number != k or k in inner or any(isinstance(part, ir.Load | ir.Entry | ir.Fold) for part in inner):
            raise Unfit
        return replace(read, coordinate=ir.ListOf((*head, number)))

    def _is_single(self, tensor: ir.Tensor) -> bool:
        """Whether a tensor, which is never absent, has elements in single precision or less."""
        about = self._facts
        is_float = about.is_certain(tensor.name) and about.is_float(tensor.name, {})
        return is_float and tensor.index is None and not about.may_be(tensor.name, "FLOAT64")

    def _last_size(self, read: Read) -> ir.Expr:
        dimension = len(entries(read.coordinate)) - 1
        if isinstance(read, ir.Entry):
            return entries(self._sizes[read.tensor])[dimension]
        return ir.Index(ir.Field(read.tensor, "Sizes", ir.INTS), ir.Number(dimension, ir.INT))


class _ReadBefore:
    """Replaces reads that depend on no sum by locals, so that these loads are in flight while the sums
    accumulate; and replaces reads of what the thread has just written by locals as well."""

    def __init__(self, written: Iterable[str]) -> None:
        """`written` are the tensors that a thread writes in sequence."""
        names = tuple(written)
        self._written: dict[ir.Expr, ir.Expr] = {
            ir.Entry(name, ir.AT, ir.FLOAT): ir.Local(name, ir.FLOAT, varies=True) for name in names
        }
        self._read: dict[ir.Expr, ir.Local] = {}

    @property
    def found(self) -> tuple[tuple[str, ir.Expr], ...]:
        """The reads, by the names of their locals."""
        return tuple((one.name, value) for value, one in self._read.items())

    def used(self, value: ir.Expr, along: bool) -> ir.Expr:
        """The value; `along`: the branch for the first step of a recurrence is left alone."""
        value = ir.substitute(value, self._written)
        if along and isinstance(value, ir.Conditional):
            return replace(value, otherwise=self._taken(value.otherwise))
        return self._taken(value)

    def _taken(self, node: ir.Expr) -> ir.Expr:
        if node.type == ir.FLOAT and self._is_read(node):
            return self._read.setdefault(node, ir.Local(f"read{len(self._read)}", ir.FLOAT, varies=True))
        return rebuilt(node, self._taken)

    def _is_read(self, node: ir.Expr) -> bool:
        """Whether a value consists of reads and contains no sum."""
        parts = list(walk_through(node))
        calls = [one.function for one in parts if isinstance(one, ir.Apply)]
        given = {ir.AT}.union(parameter for function in calls for parameter in function.parameters)
        return any(isinstance(one, ir.Load | ir.Entry) for one in parts) and not any(
            one in self._written or (isinstance(one, ir.Local) and one.varies and one not in given)
            for one in parts
        )


def _later(tensor: Intermediate) -> ir.Expr:
    """The value without that of a recurrence's first step."""
    if not tensor.along:
        return tensor.value
    is_first = ir.Compare("==", ir.Index(ir.AT, ir.ZERO), ir.ZERO)
    match tensor.value:
        case ir.Conditional(test, begin, otherwise) if not _folds(begin):
            if is_first in (test.operands if isinstance(test, ir.Logic) and test.op == "or" else (test,)):
                return otherwise
    raise Unfit


def _folds(node: ir.Expr) -> list[ir.Fold]:
    return [part for part in ir.walk(node) if isinstance(part, ir.Fold) and not part.unrolled]


def _opened(node: ir.Expr, choice: Choice) -> ir.Expr:
    """An expression in which no function contains a sum: those that do are inlined."""
    if not any(isinstance(part, ir.Fold) and not part.unrolled for part in walk_through(node)):
        return node
    match node:
        case ir.Fold():
            return node
        case ir.Definition(value=value):
            return _opened(value, choice)
        case ir.Apply(function=function, arguments=arguments):
            given = {one.name: item for one, item in zip(function.parameters, arguments, strict=True)}
            parameters = {part for part in ir.walk(function.body) if isinstance(part, ir.Local)}
            stands_for: dict[ir.Expr, ir.Expr] = {
                one: given[one.name] for one in parameters if one.name in given
            }
            return _opened(ir.substitute(function.body, stands_for), choice)
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            decided = written(test, choice)
            if isinstance(decided, ir.Number):
                return _opened(then if decided.value else otherwise, choice)
    return rebuilt(node, lambda part: _opened(part, choice))


def _dimensions(reads: Iterable[Read]) -> set[int]:
    """The entries of `at` that coordinates depend on."""
    found = dimensions(part for read in reads for part in ir.walk(read.coordinate))
    if found is None:
        raise Unfit
    return found
