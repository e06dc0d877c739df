"""The passes in the shader of a definition that sum selected terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import FormPasses
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import Tensor
from dmlgen.schedules.sparse_sum import Selected


@dataclass(frozen=True)
class SelectedPasses(FormPasses):
    """Two passes that find bits, and the pass of the output; see `schedules.selected`. `tests` has a text for
    each dimension tested; `terms` are the sizes of the box of terms."""

    output: Tensor
    selected: Selected
    terms: str
    tests: Mapping[int, str]
    condition: str
    term: str
    value: str
    field = "selected"
    template = "selected"

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        record: Mapping[str, int | str | Sequence[str]] = {
            "number": self.number,
            "output": self.output.member,
            "tested": sum(1 << d for d in self.tests),
            "axis": self.selected.apart,
        }
        return (record,)

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return {"terms": self.selected.terms}

    @property
    def lists(self) -> tuple[str, ...]:
        return ("selection",)


def selected_passes(printer: ShaderPrinter, selected: Selected, number: int) -> SelectedPasses:
    """The passes of an output that sums selected terms, from `number` on."""
    return SelectedPasses(
        number=number,
        output=printer.tensors[selected.output],
        selected=selected,
        terms=printer.deciding(selected.terms),
        tests={
            d: printer.deciding(ir.Logic("and", tests) if len(tests) > 1 else tests[0])
            for d, tests in selected.tests.items()
        },
        condition="" if selected.condition is None else printer.deciding(selected.condition),
        term=printer.value(selected.term, False),
        value=printer.stored(selected.output, selected.value),
    )
