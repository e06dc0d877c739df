"""The pass of a fold over a window in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import FormPass, record
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.sliding import Sliding


def sliding_pass(printer: ShaderPrinter, sliding: Sliding, number: int) -> FormPass:
    """The pass of a fold over a window, with its number: the type of results and their start, the type of an
    element that the term is a function of, the statement that adds a term to a result, the output as a
    function of that, and what is subtracted from terms, "" for nothing."""
    type_, start, term, turn = printer.running(sliding.fold, sliding.term)
    return _pass(
        number,
        {
            "tensor": printer.tensors[sliding.tensor],
            "output": printer.tensors[sliding.output],
            "weights": None,
        },
        {f"window.{name}": node for name, node in sliding.window.items()},
        type=type_,
        start=start,
        element=printer.type_name(sliding.element.type),
        term=term,
        turn=turn,
        value=printer.stored(sliding.output, sliding.value),
        less="" if sliding.less == ir.ZERO else printer.as_int(sliding.less),
    )


def few_rows(printer: ShaderPrinter, contraction: Contraction, number: int) -> FormPass:
    """The pass of a contraction with a window for few rows, in which each thread computes sums by itself:
    terms are multiplied by weights, which have a zero point, too, if anything is subtracted. The contraction
    has the text of its output, and the operands."""
    type_ = "int" if contraction.of_bytes else "float"
    roles = {"tensor": contraction.right, "output": contraction.output, "weights": contraction.left}
    return _pass(
        number,
        {role: printer.tensors[name] for role, name in roles.items()},
        {},
        type=type_,
        start="0",
        element=type_,
        term="element",
        turn="result = mad(weight, term, result);",
        less="RightZeroPoint(at)" if contraction.of_bytes else "",
    )


def _pass(
    number: int, tensors: Mapping[str, ShaderTensor | None], given: Mapping[str, ir.Expr], **shown: str
) -> FormPass:
    return FormPass(
        number,
        field="sliding",
        template="sliding",
        params="SlidingParams",
        records=[record(number, tensors)],
        given=given,
        shown={**tensors, **shown},
    )
