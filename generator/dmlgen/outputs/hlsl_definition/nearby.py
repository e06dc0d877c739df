"""The pass in the shader of a definition that sums an intermediate tensor around each element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.functions import type_name
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.registry import Operator
from dmlgen.schedules.nearby import Nearby


@dataclass(frozen=True)
class NearbyPass(FormPass):
    """The pass; see `schedules.nearby`. All but the first two are texts; `type` is that of an entry of
    `kept`."""

    output: Tensor
    nearby: Nearby
    kept: str
    type: str
    first: str
    last: str
    condition: str
    term: str
    value: str
    field = "nearby"
    template = "nearby"
    planner = "nearby"
    params = "PlanesParams"

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        return ({"number": self.number, "output": self.output.member, "head": self.nearby.head},)

    @property
    def told(self) -> Mapping[str, ir.Expr]:
        return {"covering": self.nearby.covering}


def nearby_pass(printer: ShaderPrinter, operator: Operator, number: int) -> NearbyPass | None:
    """The pass of an output that sums entries around each element, if it does."""
    nearby = operator.form(Nearby)
    if nearby is None:
        return None
    return NearbyPass(
        number=number,
        output=printer.tensors[nearby.output],
        nearby=nearby,
        kept=nearby.tensor,
        type=type_name(nearby.entry.type),
        first=printer.deciding(nearby.first),
        last=printer.deciding(nearby.last),
        condition="" if nearby.condition is None else printer.deciding(nearby.condition),
        term=printer.value(nearby.term, False),
        value=printer.stored(nearby.output, nearby.value),
    )
