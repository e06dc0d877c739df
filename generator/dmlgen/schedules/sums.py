"""Recurrent networks: intermediate tensors made of sums of products, each of a row of weights.

Their dimensions are step, direction, batch and unit. A projection multiplies inputs, of all steps at once. A
recurrence multiplies states, of the step before or of the same step, by gates: weights with a row for each
unit. Elements may be any function of these sums that reads neither factor of the description again. A
definition has this form if all its intermediate tensors do.

If a truth value of the description allows for fewer passes, each of its values is a separate case. In a
recurrence, the first step, which has the form `... if at[0] == 0 else`, has no sums, and reads no
intermediate tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, free_locals, walk_through
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.access import entries, loads_of
from dmlgen.schedules.cases import Choice, folds_of, has_folds, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.steps import in_step
from dmlgen.schedules.tensor_facts import TensorFacts

Named: TypeAlias = tuple[tuple[str, ir.Expr], ...]

_PROJECTION = """sum(
    InputTensor[[0, at[0], at[2], k]] * WeightsTensor[[0, at[1], at[3], k]]
    for k in range(InputTensor.Sizes[3])
)"""
_GATE = """sum(
    State[place] * WeightsTensor[[0, at[1], ravel_index([gate, at[3]], [gates, units]), k]]
    for k in range(units)
)"""
_STATE = "[at[0] - (delay or 0), at[1], at[2], k]"
_TRUE = ir.Number(True, ir.BOOL)
_RECURRENCES = ("first if at[0] == 0 else later", "first if at[0] == 0 or inactive else later")


@dataclass(frozen=True)
class SharedSums:
    """Intermediate tensors that are written together, from sums of products that threads of a group share.

    They apply where `when` holds. `values` are those of the tensors at `at`, by name, as functions of the
    sums, one for each of consecutive `gates`, of what was read `before` these, by name, and of the earlier
    values, which have the names of their tensors. Factors are rows of `weights` and of `factor`, a tensor of
    the description, or `along` a recurrence an intermediate one, as it was `delay` steps before.
    """

    when: ir.Expr
    values: Named
    before: Named
    along: bool
    weights: str
    factor: str
    delay: int
    gates: tuple[int, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """The tensors of the description that products read."""
        return (self.weights,) if self.along else (self.weights, self.factor)

    @property
    def totals(self) -> tuple[str, ...]:
        """The names of the sums in values."""
        return tuple(f"total{gate}" for gate in self.gates)


@dataclass(frozen=True)
class Sums(FastForm):
    """The passes that compute all intermediate tensors."""

    passes: tuple[SharedSums, ...]

    @property
    def roles(self) -> Mapping[str, str]:
        """The weights of each intermediate tensor."""
        return {name: one.weights for one in self.passes for name, _ in one.values}

    @property
    def names(self) -> Collection[str]:
        """The names of the sums in values, and of what is read before these."""
        before = dict.fromkeys(name for one in self.passes for name, _ in one.before)
        return before | dict.fromkeys(name for one in self.passes for name in one.totals)


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sums | None:
    """The sums of products that the intermediate tensors of a definition consist of."""
    if any(facts.may_be(output, "float", 64) for output in defines.outputs):
        return None
    found: dict[SharedSums, list[ir.Expr]] = {}  # by the conditions under which they apply
    choices = _choices(defines)
    for when, choice in choices:
        for step in _steps(defines, choice):
            found.setdefault(_shared_sums(step, choice, defines, facts), []).append(when)
    passes = (one if len(of) == len(choices) else replace(one, when=of[0]) for one, of in found.items())
    return Sums(tuple(passes)) if found else None


def _choices(defines: OutputDefinitions) -> list[tuple[ir.Expr, Choice]]:
    """The cases to distinguish: a single one, or the values of a truth value, if one of them allows for fewer
    passes."""
    nodes = (node for step in _steps(defines, {}) for one in step for node in ir.walk(one.value))
    flags = dict.fromkeys(node for node in nodes if isinstance(node, ir.Member) and node.type == ir.BOOL)
    splits: list[list[tuple[ir.Expr, Choice]]] = [[(_TRUE, {})]]
    splits += ([(one, {one: _TRUE}), (ir.Not(one), {one: ir.Number(False, ir.BOOL)})] for one in flags)
    return min(splits, key=lambda choices: min(len(_steps(defines, one)) for _, one in choices))


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
    sizes = {one.name: written(one.sizes, choice) for one in defines.tensors}
    folds = dict.fromkeys(fold for one in step for fold in folds_of(_later(one)))
    found = {fold: _gate(fold, step[0], sizes) for fold in folds}
    gates, products = sorted(gate for gate, _ in found.values()), {factors for _, factors in found.values()}
    are_floats = all(one.type == ir.FLOAT and not one.decides for one in step)
    if not are_floats or len(entries(step[0].sizes)) != 4 or len(products) != 1:
        raise Unfit
    ((weights, factor, delay),) = products
    read = {weights, factor} - sizes.keys()
    if gates != [*range(gates[0], gates[0] + len(folds))] or not all(_is_float(one, facts) for one in read):
        raise Unfit

    totals: dict[ir.Expr, ir.Local] = {
        fold: ir.Local(f"total{gate}", ir.FLOAT, varies=True) for fold, (gate, _) in found.items()
    }
    defined, values = {one.name: one.value for one in defines.tensors}, dict[str, ir.Expr]()
    for one in step:
        value = written(defined[one.name], choice, has_folds)  # other functions stay as they are
        new: dict[ir.Expr, ir.Expr] = {fold: totals[written(fold, choice)] for fold in folds_of(value)}
        values[one.name] = ir.substitute(value, new)
    if any(one.tensor.name in read for one in loads_of(*values.values())):
        raise Unfit
    lifted, before = _lift_reads(tuple(values.items()))
    return SharedSums(_TRUE, lifted, before, step[0].along, weights, factor, delay, tuple(gates))


def _gate(
    fold: ir.Expr, target: Intermediate, sizes: Mapping[str, ir.Expr]
) -> tuple[int, tuple[str, str, int]]:
    """The number of a gate, 0 in a projection; its weights, the other factor, which has states as large as
    the target, and the steps since these were written."""
    if not target.along:
        found = fit(_PROJECTION, fold)
        return 0, (found.WeightsTensor.name, found.InputTensor.name, 0)
    found = fit(_GATE, fold)
    delay = fit(_STATE, ir.ListOf(entries(found.place)), k=found.k).delay
    units = ir.Index(ir.Field(found.WeightsTensor, "Sizes", ir.INTS), ir.Number(3, ir.INT))
    are_numbers = isinstance(found.gate, ir.Number) and delay in (ir.ZERO, ir.ONE)
    is_whole = found.units == units == entries(target.sizes)[-1] and sizes[found.State.name] == target.sizes
    if not are_numbers or not is_whole:
        raise Unfit
    return found.gate.value, (found.WeightsTensor.name, found.State.name, delay.value)


def _is_float(tensor: str, facts: TensorFacts) -> bool:
    """Whether a tensor is never absent, and in single precision or less."""
    return facts.is_certain(tensor) and facts.is_float(tensor, {}) and not facts.may_be(tensor, "float", 64)


def _later(tensor: Intermediate) -> ir.Expr:
    """The value without that of a recurrence's first step, which reads no intermediate tensor."""
    if not tensor.along:
        return tensor.value
    found = next(filter(None, (match(form, tensor.value) for form in _RECURRENCES)), None)
    if found is None or folds_of(found.first) or entries_of(found.first):
        raise Unfit
    return found.later  # type: ignore[no-any-return]


def _lift_reads(values: Named) -> tuple[Named, Named]:
    """The values with locals in place of reads that depend on no sum, so that these loads are in flight while
    the sums accumulate, and with locals in place of what the thread has just written; and these reads, by the
    names of their locals. The branch for the first step of a recurrence is left alone."""
    stored: dict[ir.Expr, ir.Expr] = {
        ir.Entry(name, ir.AT, ir.FLOAT): ir.Local(name, ir.FLOAT, varies=True) for name, _ in values
    }
    found: dict[ir.Expr, ir.Local] = {}

    def lifted(node: ir.Expr) -> ir.Expr:
        if node.type == ir.FLOAT and free_locals(node).keys() <= {"at"}:
            parts = set(walk_through(node))
            if parts.isdisjoint(stored) and any(isinstance(one, ir.Load | ir.Entry) for one in parts):
                return found.setdefault(node, ir.Local(f"read{len(found)}", ir.FLOAT, varies=True))
        return ir.rebuilt(node, lifted)

    new: dict[str, ir.Expr] = {}
    for name, value in values:
        value = ir.substitute(value, stored)
        if isinstance(value, ir.Conditional):
            new[name] = replace(value, otherwise=lifted(value.otherwise))
        else:
            new[name] = lifted(value)
    return tuple(new.items()), tuple((local.name, read) for read, local in found.items())
