"""The passes in the shader of a definition that sum selected terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import Fields, FormPasses
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.sparse_sum import SparseSum


@dataclass(frozen=True)
class SparseSumPasses(FormPasses):
    """A pass that finds bits, and the pass of the output; see `schedules.sparse_sum`. `tests` has a text
    for each dimension tested; `terms` are the sizes of the box of terms."""

    output: ShaderTensor
    sparse_sum: SparseSum
    terms: str
    tests: Mapping[int, str]
    condition: str
    term: str
    value: str
    field = "sparse_sum"
    template = "sparse_sum"
    scalars = ("tableFirst",)  # where bits are in scratch

    @property
    def records(self) -> Sequence[Fields]:
        record: Fields = {
            "number": self.number,
            "output": self.output.member,
            "tested": sum(1 << d for d in self.tests),
            "axis": self.sparse_sum.apart,
        }
        return (record,)

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return {"terms": self.sparse_sum.terms}


def sparse_sum_passes(printer: ShaderPrinter, sparse_sum: SparseSum, number: int) -> SparseSumPasses:
    """The passes of an output that sums selected terms, from `number` on."""
    return SparseSumPasses(
        number=number,
        output=printer.tensors[sparse_sum.output],
        sparse_sum=sparse_sum,
        terms=printer.deciding(sparse_sum.terms),
        tests={
            d: printer.deciding(ir.Logic("and", tests) if len(tests) > 1 else tests[0])
            for d, tests in sparse_sum.tests.items()
        },
        condition="" if sparse_sum.condition is None else printer.deciding(sparse_sum.condition),
        term=printer.value(sparse_sum.term, False),
        value=printer.stored(sparse_sum.output, sparse_sum.value),
    )
