"""The pass of a fold over a window in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import Fields, FormPass
from dmlgen.outputs.hlsl_definition.functions import type_name
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.sliding import Sliding


@dataclass(frozen=True)
class SlidingPass(FormPass):
    """The pass that computes an output by a fold over a window of `tensor`.

    `type` and `start` are those of the result, `element` is the type of an element that `term` is a function
    of; `turn` adds a term to a result. `value` is the text of the output. If there are `weights`, terms are
    multiplied by their elements. `less` is the text of what is subtracted from terms, "" for
    nothing; if something is, weights have a zero point, too. `sliding` is the form, unless that is a
    contraction, which has the text of its output itself.
    """

    tensor: ShaderTensor
    weights: ShaderTensor | None
    output: ShaderTensor
    type: str
    start: str
    element: str
    term: str
    turn: str
    value: str
    sliding: Sliding | None
    less: str
    field = "sliding"
    template = "sliding"
    params = "SlidingParams"

    @property
    def records(self) -> Sequence[Fields]:
        weights = "" if self.weights is None else self.weights.member
        roles = {"tensor": self.tensor.member, "output": self.output.member, "weights": weights}
        return [{"number": self.number, **roles}]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return {} if self.sliding is None else self.sliding.window.operands


def sliding_pass(printer: ShaderPrinter, sliding: Sliding, number: int) -> SlidingPass:
    """The pass of a fold over a window, with its number."""
    type_, start, term, turn = printer.running(sliding.fold, sliding.term)
    return SlidingPass(
        number=number,
        tensor=printer.tensors[sliding.tensor],
        weights=None,
        output=printer.tensors[sliding.output],
        type=type_,
        start=start,
        element=type_name(sliding.element.type),
        term=term,
        turn=turn,
        value=printer.stored(sliding.output, sliding.value),
        sliding=sliding,
        less="" if sliding.less is None else printer.as_int(sliding.less),
    )


def few_rows(printer: ShaderPrinter, contraction: Contraction, number: int) -> SlidingPass | None:
    """The pass of a contraction with a window for few rows, in which each thread computes sums by itself."""
    if contraction.window is None:
        return None
    type_ = "int" if contraction.of_bytes else "float"
    return SlidingPass(
        number=number,
        tensor=printer.tensors[contraction.right.tensor],
        weights=printer.tensors[contraction.left.tensor],
        output=printer.tensors[contraction.output],
        type=type_,
        start="0",
        element=type_,
        term="element",
        turn="result = mad(weight, term, result);",
        value="",
        sliding=None,
        less="RightZeroPoint(at)" if contraction.of_bytes else "",
    )
