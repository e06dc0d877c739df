"""The passes in the shader of a definition that find the least and the greatest of a tensor's elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.outputs.hlsl_definition.form import FormPasses
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.registry import Operator
from dmlgen.schedules.global_minmax import Totals


@dataclass(frozen=True)
class Total:
    """A total by name: the function that combines two, its neutral element, and the text of an element's
    term."""

    name: str
    function: str
    neutral: str
    term: str


@dataclass(frozen=True)
class TotalsPass(FormPasses):
    """The pass that finds totals in parts, followed by one that combines these and writes intermediate
    tensors, each with the text of its value."""

    tensor: str
    totals: tuple[Total, ...]
    values: tuple[tuple[Kept, str], ...]
    field = "totals"
    template = "totals"

    @property
    def places(self) -> Mapping[str, str | Sequence[str]]:
        return {"tensor": self.tensor, "writes": [kept.member for kept, _ in self.values]}

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        return ({"number": self.number, **self.places, "width": len(self.totals)},)


_NEUTRAL = {"min": ("Min", "0x7f800000u"), "max": ("Max", "0xff800000u")}


def totals_pass(printer: ShaderPrinter, operator: Operator, number: int) -> TotalsPass | None:
    """The passes of totals, from `number` on, if intermediate tensors depend on any."""
    form = printer.form(Totals)
    if form is None:
        return None
    totals: list[Total] = []
    for one in form.totals:
        function, neutral = _NEUTRAL[one.kind]
        printer.called.add(function)
        totals.append(Total(one.name, function, f"asfloat({neutral})", printer.deciding(one.term)))
    values = tuple((printer.kept[name], printer.deciding(value)) for name, value in form.values.items())
    return TotalsPass(number, form.tensor, tuple(totals), values)
