"""The pass of attention in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, free_locals
from dmlgen.outputs.hlsl_definition.form import Fields, FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.registry import Operator
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.cases import written
from dmlgen.schedules.views import NO_VIEW, View, view_before, view_in, view_of
from dmlgen.sugar import conjunction, conjuncts


@dataclass(frozen=True)
class AttentionPass(FormPass):
    """The sources of a pass of attention, and as texts: the head of keys and values for that of a query at
    `at`, a score as a function of the local `total`, the limits from which on a head's keys are masked
    (`ends`), whether a key below them counts, and by name, what these read that depends only on the batch.
    `views`: tensors in place of `query`, `key`, `value` and, as "output", `target`, which the pass writes;
    with "before", the first rows, where others follow; with "stored", outputs that contain nothing else.
    `tensors` are all of them, by number."""

    target: Kept
    query: Kept
    key: Kept
    value: Kept
    head: str
    shared: ir.Expr
    score: str
    ends: tuple[str, ...]
    counts: str
    of_batch: Mapping[str, str]
    views: Mapping[str, View]
    tensors: tuple[ShaderTensor, ...]
    field = "attention"
    template = "attention"
    scratch = "Scratch"
    lists = ("queryLayout", "keyLayout", "valueLayout", "outputLayout", "storedLayouts")
    word = "ScratchWord(%s)"

    @property
    def records(self) -> Sequence[Fields]:
        roles = {name: getattr(self, name).member for name in ("query", "key", "value", "target")}
        return [{"number": self.number, **roles}]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        found: dict[str, ir.Expr] = {"attention.shared": self.shared}
        for role, view in self.views.items():
            found |= {f"attention.{role}.{name}": part for name, part in vars(view).items()}
        return found

    @property
    def zeros(self) -> tuple[str, ...]:
        return ("COOPERATIVE_MATRIX", "FEW_QUERIES", "COMBINE")

    def accessed(self, *roles: str) -> Mapping[int, ShaderTensor]:
        """The tensors that the views of some roles, or of all, may be in, by the value of their macros."""
        numbers = {number for role in roles or self.views for number in self.views[role].tensors}
        return {number + 1: self.tensors[number] for number in sorted(numbers)}


def attention_pass(
    printer: ShaderPrinter, operator: Operator, attention: Attention, number: int
) -> AttentionPass:
    """The pass of the intermediate tensor that is attention, with its number."""
    tests = conjuncts(attention.counts)
    ends = [test for test in tests if _is_end(test)]
    counts = conjunction(test for test in tests if test not in ends) or ir.Number(True, ir.BOOL)
    parts = (part for whole in (attention.score, *tests) for part in ir.walk(whole))
    loads = dict.fromkeys(part for part in parts if isinstance(part, ir.Load))
    scored_by = {load.tensor.entry for load in loads}
    of_batch = [load for load in loads if load.type == ir.INT and _is_of_batch(load)]
    named: dict[ir.Expr, ir.Expr] = {
        load: ir.Local(f"ofBatch{number}", ir.INT) for number, load in enumerate(of_batch)
    }
    assert operator.defines is not None
    tensors = (*printer.inputs, *printer.outputs)
    numbers = {one.member: number for number, one in enumerate(tensors) if one.member not in scored_by}
    values = {one.name: written(one.value, {}) for one in operator.defines.tensors}
    views = {"query": view_of(values[attention.query], numbers)}
    for role, name in (("key", attention.key), ("value", attention.value)):
        views[role] = view_of(values[name], numbers)
        views[f"{role}_before"] = view_before(values[name], numbers)
        views[f"{role}_stored"] = _view_in_output(operator, name, numbers)
    is_only = _uses(operator, attention.target) == 1 and not operator.in_place
    views["output"] = _view_in_output(operator, attention.target, numbers) if is_only else NO_VIEW
    return AttentionPass(
        number=number,
        target=printer.kept[attention.target],
        query=printer.kept[attention.query],
        key=printer.kept[attention.key],
        value=printer.kept[attention.value],
        head=printer.deciding(attention.head),
        shared=attention.shared,
        score=printer.value(ir.substitute(attention.score, named), False),
        ends=tuple(printer.deciding(end.right) for end in ends),
        counts=printer.deciding(ir.substitute(counts, named)),
        of_batch={printer.deciding(name): printer.deciding(load) for load, name in named.items()},
        views=views,
        tensors=tensors,
    )


def _is_end(test: ir.Expr) -> TypeGuard[ir.Compare]:
    """Whether a test limits keys by a number that depends only on the batch."""
    match test:
        case ir.Compare("<", left, right):
            return left == ir.at(3) and _is_of_batch(right)
    return False


def _is_of_batch(node: ir.Expr) -> bool:
    return not free_locals(ir.substitute(node, {ir.at(0): ir.ZERO}))


def _uses(operator: Operator, kept: str) -> int:
    """The number of tensors whose values depend on an intermediate one."""
    assert operator.defines is not None
    values = [*operator.defines.outputs.values(), *(one.value for one in operator.defines.tensors)]
    return sum(kept in {part.tensor for part in entries_of(one)} for one in values)


def _view_in_output(operator: Operator, kept: str, numbers: Mapping[str, int]) -> View:
    """The view of an intermediate tensor in an output that contains nothing else."""
    assert operator.defines is not None
    for output, value in operator.defines.outputs.items():
        found = view_in(output, value, kept, numbers)
        if found != NO_VIEW:
            return found
    return NO_VIEW
