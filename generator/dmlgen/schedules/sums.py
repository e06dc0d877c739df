"""Intermediate tensors made of sums of products: projections, and the steps of recurrent networks.

A product has two factors, both read at coordinates that end with k: weights, an element of a tensor of the
description, and the factor that all sums of an element share. What matters is which dimensions of the
intermediate tensor these depend on: weights that are the same along a dimension are read once for all of it,
and so is the factor along the dimensions of the weights. Elements may be any function of the sums that reads
neither tensor of the description again. A definition has this form if all its intermediate tensors do.

If a truth value of the description allows for fewer passes, each of its values is a separate case. In a
recurrence, the first step, which has the form `... if at[0] == 0 else`, has no sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dmlgen.analysis.elements import Unfit, rebuilt
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals, walk_through
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.access import dimensions, entries, loads_of
from dmlgen.schedules.cases import Choice, folds_of, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.steps import in_step
from dmlgen.schedules.tensor_facts import TensorFacts

Read: TypeAlias = ir.Load | ir.Entry
Named: TypeAlias = tuple[tuple[str, ir.Expr], ...]

_SUM = "sum(x * y for k in range(depth))"
_RECURRENCES = ("first if at[0] == 0 else later", "first if at[0] == 0 or inactive else later")


@dataclass(frozen=True)
class SharedSums:
    """Intermediate tensors that are written together, from sums of products that threads of a group share.

    They apply where `when` holds. `values` are those of the tensors at `at`, by name, as functions of the
    sums, one for each of `weights`, which are called `totals`, of what was read `before` these, by name, and
    of the earlier values, which have the names of their tensors. All coordinates in
    products end with k. `dimensions` of the result, as bits: those that only weights depend on, those that
    only `factor` does, and the others. `along`: the first dimension, which is in none of these, is that of a
    recurrence's steps.
    """

    when: ir.Expr
    values: Named
    before: Named
    along: bool
    weights: tuple[ir.Load, ...]
    factor: Read
    dimensions: tuple[int, int, int]
    totals: tuple[str, ...]


@dataclass(frozen=True)
class Sums(FastForm):
    """The passes that compute all intermediate tensors."""

    passes: tuple[SharedSums, ...]

    @property
    def roles(self) -> Mapping[str, str]:
        """The weights of each intermediate tensor."""
        return {name: one.weights[0].tensor.name for one in self.passes for name, _ in one.values}

    @property
    def names(self) -> Collection[str]:
        """The names of the sums in values, and of what is read before these."""
        before = dict.fromkeys(name for one in self.passes for name, _ in one.before)
        return before | dict.fromkeys(name for one in self.passes for name in one.totals)


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sums | None:
    """The sums of products that the intermediate tensors of a definition consist of."""
    if any(facts.may_be(output, "FLOAT64") for output in defines.outputs):
        return None
    found: dict[SharedSums, list[Choice]] = {}  # by the cases in which they apply
    choices = _choices(defines)
    for choice in choices:
        for step in _steps(defines, choice):
            found.setdefault(_shared_sums(step, choice, defines, facts), []).append(choice)
    passes = (
        one if len(of) == len(choices) else replace(one, when=_condition(of[0])) for one, of in found.items()
    )
    return Sums(tuple(passes)) if found else None


def _choices(defines: OutputDefinitions) -> list[Choice]:
    """The cases to distinguish: a single one, or the values of a truth value, if one of them allows for fewer
    passes."""
    nodes = (node for step in _steps(defines, {}) for one in step for node in ir.walk(one.value))
    flags = dict.fromkeys(node for node in nodes if isinstance(node, ir.Member) and node.type == ir.BOOL)
    splits: list[list[Choice]] = [[{}]]
    splits += ([{one: ir.Number(value, ir.BOOL)} for value in (True, False)] for one in flags)
    return min(splits, key=lambda choices: min(len(_steps(defines, one)) for one in choices))


def _condition(choice: Choice) -> ir.Expr:
    ((member, value),) = choice.items()
    return member if value == ir.Number(True, ir.BOOL) else ir.Not(member)


def _steps(defines: OutputDefinitions, choice: Choice) -> list[list[Intermediate]]:
    """The intermediate tensors of each pass, written out in one case."""
    return in_step(
        replace(one, sizes=written(one.sizes, choice), value=written(one.value, choice))
        for one in defines.tensors
    )


def _shared_sums(
    step: Sequence[Intermediate], choice: Choice, defines: OutputDefinitions, facts: TensorFacts
) -> SharedSums:
    """The sums of intermediate tensors that are written together. Raises Unfit if there are none."""
    if any(one.type != ir.FLOAT or one.decides for one in step):
        raise Unfit
    along, rank = step[0].along, len(entries(step[0].sizes))
    sizes = {one.name: written(one.sizes, choice) for one in defines.tensors}
    folds = dict.fromkeys(fold for one in step for fold in folds_of(_later(one)))
    factors, weights = list[Read](), list[ir.Load]()
    for fold in folds:
        found = fit(_SUM, fold)
        reads = [_read(one, found.k, facts) for one in (found.x, found.y)]
        factor, of_weights = sorted(reads, key=lambda read: rank - 1 in dimensions(read.coordinate))
        if not isinstance(of_weights, ir.Load) or found.depth not in [_depth(one, sizes) for one in reads]:
            raise Unfit
        factors.append(factor)
        weights.append(of_weights)
    if len(set(factors)) != 1 or len({one.tensor for one in weights}) != 1:
        raise Unfit
    every = set(range(int(along), rank))
    by_weights = dimensions(*(one.coordinate for one in weights)) & every
    by_factor = dimensions(factors[0].coordinate) & every
    rows, columns = by_weights - by_factor, by_factor - by_weights

    totals: dict[ir.Expr, ir.Local] = {
        fold: ir.Local(f"total{n}", ir.FLOAT, varies=True) for n, fold in enumerate(folds)
    }
    defined, values = {one.name: one.value for one in defines.tensors}, dict[str, ir.Expr]()
    for one in step:
        value = written(defined[one.name], choice, _has_sums)  # other functions stay as they are
        new: dict[ir.Expr, ir.Expr] = {fold: totals[written(fold, choice)] for fold in folds_of(value)}
        values[one.name] = ir.substitute(value, new)
    used = {factors[0].tensor, weights[0].tensor}
    if (
        rank - 1 not in rows
        or len(used) == 1
        or any(one.tensor in used for one in loads_of(*values.values()))
    ):
        raise Unfit
    lifted, before = _lift_reads(tuple(values.items()), along)
    return SharedSums(
        when=ir.Number(True, ir.BOOL),
        values=lifted,
        before=before,
        along=along,
        weights=tuple(weights),
        factor=factors[0],
        dimensions=(_bits(rows), _bits(columns), _bits(every - rows - columns)),
        totals=tuple(one.name for one in totals.values()),
    )


def _bits(dimensions: Iterable[int]) -> int:
    return sum(1 << d for d in dimensions)


def _read(read: ir.Expr, k: ir.Local, facts: TensorFacts) -> Read:
    """A read in single precision or less, of a tensor that is never absent, at a coordinate that ends with k
    and depends on no other read; the entries of the coordinate are spelled out."""
    if not isinstance(read, ir.Load | ir.Entry) or read.type != ir.FLOAT:
        raise Unfit
    if isinstance(read, ir.Load):
        tensor = read.tensor
        is_float = facts.is_certain(tensor.name) and facts.is_float(tensor.name, {})
        if not is_float or tensor.index is not None or facts.may_be(tensor.name, "FLOAT64"):
            raise Unfit
    *head, last = entries(read.coordinate)
    inner = [part for item in head for part in ir.walk(item)]
    if (
        last != k
        or k in inner
        or any(isinstance(part, ir.Load | ir.Entry) or ir.is_fold(part) for part in inner)
    ):
        raise Unfit
    return replace(read, coordinate=ir.ListOf((*head, last)))


def _depth(read: Read, sizes: Mapping[str, ir.Expr]) -> ir.Expr:
    """The last size of the tensor that is read."""
    if isinstance(read, ir.Entry):
        return entries(sizes[read.tensor])[-1]
    last = len(entries(read.coordinate)) - 1
    return ir.Index(ir.Field(read.tensor, "Sizes", ir.INTS), ir.Number(last, ir.INT))


def _lift_reads(values: Named, along: bool) -> tuple[Named, Named]:
    """The values with locals in place of reads that depend on no sum, so that these loads are in flight while
    the sums accumulate, and with locals in place of what the thread has just written; and these reads, by the
    names of their locals. The branch for the first step of a recurrence is left alone."""
    stored: dict[ir.Expr, ir.Expr] = {
        ir.Entry(name, ir.AT, ir.FLOAT): ir.Local(name, ir.FLOAT, varies=True) for name, _ in values
    }
    found: dict[ir.Expr, ir.Local] = {}

    def is_read(node: ir.Expr) -> bool:
        parts = list(walk_through(node))
        reads = any(isinstance(one, ir.Load | ir.Entry) for one in parts)
        return reads and free_locals(node).keys() <= {"at"} and not any(one in stored for one in parts)

    def lifted(node: ir.Expr) -> ir.Expr:
        if node.type == ir.FLOAT and is_read(node):
            return found.setdefault(node, ir.Local(f"read{len(found)}", ir.FLOAT, varies=True))
        return rebuilt(node, lifted)

    def lifted_later(value: ir.Expr) -> ir.Expr:
        if along and isinstance(value, ir.Conditional):
            return replace(value, otherwise=lifted(value.otherwise))
        return lifted(value)

    lifted_values = tuple((name, lifted_later(ir.substitute(value, stored))) for name, value in values)
    return lifted_values, tuple((local.name, read) for read, local in found.items())


def _later(tensor: Intermediate) -> ir.Expr:
    """The value without that of a recurrence's first step, which has no sums."""
    if not tensor.along:
        return tensor.value
    found = next(filter(None, (match(form, tensor.value) for form in _RECURRENCES)), None)
    if found is None or folds_of(found.first):
        raise Unfit
    return found.later  # type: ignore[no-any-return]


def _has_sums(function: ir.Function) -> bool:
    return bool(folds_of(function.body))
