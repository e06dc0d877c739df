"""The passes in the shader of a definition that sum selected terms."""

from __future__ import annotations

from dmlgen.outputs.hlsl_definition.form import FormPass, record
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.schedules.sparse_sum import SparseSum


def sparse_sum_passes(printer: ShaderPrinter, sparse_sum: SparseSum, number: int) -> FormPass:
    """The passes of an output that sums selected terms, from `number` on: one that finds bits, by the tests
    of each dimension, and that of the output."""
    axis, condition = sparse_sum.apart, sparse_sum.condition
    tensors = {"output": printer.tensors[sparse_sum.output]}
    tested = sum(1 << d for d in sparse_sum.tests)
    return FormPass(
        number,
        field="sparse_sum",
        template="sparse_sum",
        records=[record(number, tensors, tested=tested, axis=axis)],
        given={"terms": sparse_sum.terms},
        scalars=("tableFirst",),  # where bits are in scratch
        comparison=">=",
        shown={
            **tensors,
            "axis": axis,
            "terms": printer.deciding(sparse_sum.terms),
            "tests": {d: printer.deciding(test) for d, test in sparse_sum.tests.items()},
            "condition": "" if condition is None else printer.deciding(condition),
            "term": printer.value(sparse_sum.term, False),
            "value": printer.stored(sparse_sum.output, sparse_sum.value),
        },
    )
