"""What the pass of attention in the shader of a definition consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.registry import Operator
from dmlgen.schedules.attention import Attention


@dataclass(frozen=True)
class AttentionPass(FormPass):
    """What a pass of attention reads, and as texts: the heads of a key and a value for that of a query at
    `at`, a score made of the local `total`, and whether a key counts. `scored_by`: the tensors of the
    description on which scores depend, or which keys count."""

    query: Kept
    key: Kept
    value: Kept
    key_head: str
    value_head: str
    score: str
    counts: str
    scored_by: tuple[Tensor, ...]
    field = "attention"
    template = "attention"
    scratch = "Scratch"

    @property
    def places(self) -> Mapping[str, str | Sequence[str]]:
        return {"query": self.query.member, "told": [tensor.member for tensor in self.scored_by]}


def attention_pass(
    printer: ShaderPrinter, operator: Operator, target: str, number: int
) -> AttentionPass | None:
    """The pass of an intermediate tensor that is attention, if it is, by its number."""
    attention = operator.form(Attention)
    if attention is None or attention.target != target:
        return None
    counts = ir.Number(True, ir.BOOL) if attention.counts is None else attention.counts
    loads = (part for whole in (attention.score, counts) for part in ir.walk(whole))
    told = dict.fromkeys(part.tensor.entry for part in loads if isinstance(part, ir.Load))
    return AttentionPass(
        number=number,
        query=printer.kept[attention.query],
        key=printer.kept[attention.key],
        value=printer.kept[attention.value],
        key_head=printer.deciding(attention.key_head),
        value_head=printer.deciding(attention.value_head),
        score=printer.value(attention.score, False),
        counts=printer.deciding(counts),
        scored_by=tuple(printer.tensors[name] for name in told),
    )
