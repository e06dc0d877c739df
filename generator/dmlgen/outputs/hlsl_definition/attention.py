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
from dmlgen.registry import Intermediate, Operator
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.views import View, views_in, views_of
from dmlgen.sugar import conjunction, conjuncts

ROLES = {
    "query": 0, "key": 1, "value": 2, "output": 3, "key_before": 5, "value_before": 6, "key_stored": 9,
    "value_stored": 10,
}  # fmt: skip
"""As in `plans/attention_sources.py`"""


@dataclass(frozen=True)
class AttentionPass(FormPass):
    """The sources of a pass of attention, and as texts: the head of keys and values for that of a query at
    `at`, a score as a function of the local `total`, the limits from which on a head's keys are masked
    (`ends`), whether a key below them counts, and by name, what these read that depends only on the batch.
    `views`: tensors in place of `query`, `key`, `value` and, as "output", `target`, which the pass writes;
    with "before", the first rows, where others follow, which are `past`; with "stored", outputs that contain
    nothing else. `tensors` are all of them, by number."""

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
    views_by_role: Mapping[str, Sequence[View]]
    past: ir.Expr
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
    def views(self) -> Sequence[Fields]:
        return [
            {"role": ROLES[role], "tensor": one.tensor, "without": one.without, "labels": one.labels}
            for role, views in self.views_by_role.items()
            for one in views
        ]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return {"attention.past": self.past, "attention.shared": self.shared}

    @property
    def zeros(self) -> tuple[str, ...]:
        return ("COOPERATIVE_MATRIX", "FEW_QUERIES", "COMBINE")

    def accessed(self, *roles: str) -> Mapping[int, ShaderTensor]:
        """The tensors that the views of some roles, or of all, may be in, by the value of their macros."""
        views = (one for role in roles or self.views_by_role for one in self.views_by_role[role])
        names = {one.tensor for one in views}
        return {place: one for place, one in enumerate(self.tensors, 1) if one.member in names}


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
    tensors = {one.name: one for one in operator.defines.tensors}
    kept = {"query": attention.query, "key": attention.key, "value": attention.value}
    query, key, value = (views_of(tensors[name]) for name in kept.values())
    views = {"query": query.rows, "output": _in_outputs(operator, tensors[attention.target])}
    if _uses(operator, attention.target) > 1 or operator.in_place:
        del views["output"]
    for role, found in (("key", key), ("value", value)):
        if key.past == value.past:
            views |= {role: found.rows, f"{role}_before": found.before}
        views[f"{role}_stored"] = _in_outputs(operator, tensors[kept[role]])
    return AttentionPass(
        number=number,
        target=printer.kept[attention.target],
        **{role: printer.kept[name] for role, name in kept.items()},
        head=printer.deciding(attention.head),
        shared=attention.shared,
        score=printer.value(ir.substitute(attention.score, named), False),
        ends=tuple(printer.deciding(end.right) for end in ends),
        counts=printer.deciding(ir.substitute(counts, named)),
        of_batch={printer.deciding(name): printer.deciding(load) for load, name in named.items()},
        views_by_role={
            role: () if {one.tensor for one in some} & scored_by else some for role, some in views.items()
        },
        past=key.past,
        tensors=(*printer.inputs, *printer.outputs),
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


def _in_outputs(operator: Operator, tensor: Intermediate) -> Sequence[View]:
    """The first output that contains an intermediate tensor and nothing else, if there is one."""
    assert operator.defines is not None
    return [view for one in operator.defines.outputs.items() for view in views_in(*one, tensor)][:1]
