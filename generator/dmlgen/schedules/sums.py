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
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import factors_of, free_locals, walk_through
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.access import dimensions, entries
from dmlgen.schedules.cases import Choice, rebuilt, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.steps import in_step
from dmlgen.schedules.tensor_facts import TensorFacts

Read: TypeAlias = ir.Load | ir.Entry
Named: TypeAlias = tuple[tuple[str, ir.Expr], ...]


class Product(NamedTuple):
    """The terms of a sum: the reads of a factor, times the weights."""

    factor: tuple[Read, ...]
    weights: ir.Load


@dataclass(frozen=True)
class SharedSums:
    """Intermediate tensors that are written together, from sums of products that threads of a group share.

    They apply where `when` holds. `values` are those of the tensors at `at`, by name, as functions of the
    `sums`, which are called total0, total1 and so on, of what was read `before` these, by name, and of the
    earlier values, which have the names of their tensors. All coordinates in products end with k. Weights
    depend on dimensions `rows` of the result and not on `columns`, factors the other way round; both may
    depend on the rest of its `rank`. `along`: the first dimension is that of a recurrence's steps.
    `is_by_row`: what was read before is the same for all columns.
    """

    when: ir.Expr
    values: Named
    before: Named
    along: bool
    sums: tuple[Product, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    rank: int
    is_by_row: bool

    @property
    def weights(self) -> str:
        """The tensor of the weights."""
        return self.sums[0].weights.tensor.name

    @property
    def factors(self) -> tuple[tuple[Read, ...], ...]:
        """The different factors of the weights."""
        return tuple(dict.fromkeys(one.factor for one in self.sums))


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
    found: dict[SharedSums, list[Choice]] = {}  # by the cases in which they apply
    choices = _choices(defines)
    for choice in choices:
        for step in in_step(_written(defines, choice)):
            with suppress(Unfit):
                found.setdefault(_shared_sums(step, choice, defines, facts), []).append(choice)
    passes = (
        one if len(of) == len(choices) else replace(one, when=_condition(of[0])) for one, of in found.items()
    )
    return Sums(tuple(passes)) if found else None


def _choices(defines: OutputDefinitions) -> list[Choice]:
    """The cases to distinguish: a single one, or the values of a truth value, if one of them allows for fewer
    passes."""
    usual = _written(defines, {})
    nodes = (node for one in usual for node in ir.walk(one.value))
    for member in dict.fromkeys(node for node in nodes if isinstance(node, ir.Member)):
        if member.type == ir.BOOL:
            choices: list[Choice] = [{member: ir.Number(value, ir.BOOL)} for value in (True, False)]
            if any(len(in_step(_written(defines, one))) < len(in_step(usual)) for one in choices):
                return choices
    return [{}]


def _condition(choice: Choice) -> ir.Expr:
    ((member, value),) = choice.items()
    return member if value == ir.Number(True, ir.BOOL) else ir.Not(member)


def _written(defines: OutputDefinitions, choice: Choice) -> list[Intermediate]:
    """The intermediate tensors, written out in one case."""
    return [
        replace(one, sizes=written(one.sizes, choice), value=written(one.value, choice))
        for one in defines.tensors
    ]


def _shared_sums(
    step: Sequence[Intermediate], choice: Choice, defines: OutputDefinitions, facts: TensorFacts
) -> SharedSums:
    """The sums of intermediate tensors that are written together. Raises Unfit if there are none."""
    if any(one.type != ir.FLOAT or one.decides for one in step):
        raise Unfit
    along, rank = step[0].along, len(entries(step[0].sizes))
    sizes = {one.name: written(one.sizes, choice) for one in defines.tensors}
    folds = list(dict.fromkeys(fold for one in step for fold in _folds(_later(one))))
    sums = tuple(_product(fold, rank, sizes, facts) for fold in folds)
    totals: dict[ir.Expr, ir.Local] = {
        fold: ir.Local(f"total{n}", ir.FLOAT, varies=True) for n, fold in enumerate(folds)
    }
    defined = {one.name: one.value for one in defines.tensors}
    values = {one.name: _in_terms_of(totals, defined[one.name], choice) for one in step}

    weights = {one.weights.tensor for one in sums}
    factors = {read for one in sums for read in one.factor}
    loaded = {read.tensor for read in factors if isinstance(read, ir.Load)}
    others = (part for value in values.values() for part in walk_through(value))
    elsewhere = {part.tensor for part in others if isinstance(part, ir.Load)}
    if len(weights) != 1 or weights & loaded or (weights | loaded) & elsewhere:
        raise Unfit
    of_weights, of_factors = _dimensions(one.weights for one in sums), _dimensions(factors)
    steps = {0} if along else set()
    lifted, before = _lift_reads(tuple(values.items()), along)
    return SharedSums(
        when=ir.Number(True, ir.BOOL),
        values=lifted,
        before=before,
        along=along,
        sums=sums,
        rows=tuple(sorted(of_weights - of_factors - steps)),
        columns=tuple(sorted(of_factors - of_weights - steps)),
        rank=rank,
        is_by_row=all(_avoids(of_factors - of_weights, value) for _, value in before),
    )


def _product(fold: ir.Fold, rank: int, sizes: Mapping[str, ir.Expr], facts: TensorFacts) -> Product:
    """The weights are the read that depends on the last dimension of the result."""
    found = fit("sum(product for k in range(depth))", fold)
    reads = [_read(read, found.k, facts) for read in factors_of(found.product)]
    weights = [read for read in reads if rank - 1 in _dimensions([read])]
    factor = tuple(read for read in reads if read not in weights)
    if len(weights) != 1 or not factor or found.depth not in [_last_size(read, sizes) for read in reads]:
        raise Unfit
    if not isinstance(weights[0], ir.Load):
        raise Unfit
    return Product(factor, weights[0])


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
    if last != k or k in inner or any(isinstance(part, ir.Load | ir.Entry | ir.Fold) for part in inner):
        raise Unfit
    return replace(read, coordinate=ir.ListOf((*head, last)))


def _last_size(read: Read, sizes: Mapping[str, ir.Expr]) -> ir.Expr:
    last = len(entries(read.coordinate)) - 1
    if isinstance(read, ir.Entry):
        return entries(sizes[read.tensor])[last]
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
    found = match("begin if at[0] == 0 else later", tensor.value)
    found = found or fit("begin if at[0] == 0 or inactive else later", tensor.value)
    if _folds(found.begin):
        raise Unfit
    return found.later  # type: ignore[no-any-return]


def _folds(node: ir.Expr) -> list[ir.Fold]:
    return [part for part in ir.walk(node) if isinstance(part, ir.Fold) and not part.unrolled]


def _in_terms_of(totals: Mapping[ir.Expr, ir.Local], node: ir.Expr, choice: Choice) -> ir.Expr:
    """A value with locals in place of its sums. Functions that contain sums are inlined."""
    if not any(isinstance(part, ir.Fold) and not part.unrolled for part in walk_through(node)):
        return node
    match node:
        case ir.Fold():
            return totals[written(node, choice)]
        case ir.Definition(value=value):
            return _in_terms_of(totals, value, choice)
        case ir.Apply(function=function, arguments=arguments):
            given = {one.name: item for one, item in zip(function.parameters, arguments, strict=True)}
            parameters = {part for part in ir.walk(function.body) if isinstance(part, ir.Local)}
            inlined: dict[ir.Expr, ir.Expr] = {
                one: given[one.name] for one in parameters if one.name in given
            }
            return _in_terms_of(totals, ir.substitute(function.body, inlined), choice)
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            decided = written(test, choice)
            if isinstance(decided, ir.Number):
                return _in_terms_of(totals, then if decided.value else otherwise, choice)
    return rebuilt(node, lambda part: _in_terms_of(totals, part, choice))


def _dimensions(reads: Iterable[Read]) -> set[int]:
    """The entries of `at` that coordinates depend on."""
    found = dimensions(part for read in reads for part in ir.walk(read.coordinate))
    if found is None:
        raise Unfit
    return found


def _avoids(columns: set[int], value: ir.Expr) -> bool:
    """Whether a value is known to be the same along dimensions."""
    used = dimensions(walk_through(value))
    return used is not None and not used & columns
