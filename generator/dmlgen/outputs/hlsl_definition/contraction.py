"""The passes of a contraction in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import Fields, FormPass, FormPasses, lists_of
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.sliding import SlidingPass, few_rows
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.plans.params import Declaration
from dmlgen.schedules.contraction import Contraction

TAPS = ("channels", "ownChannels", "leftFirst", "leftMatrixStep")
"""Constants of a window besides its lists, as the planner gives them."""


_ZEROS = (
    *("COOPERATIVE_MATRIX", "LEFT_VECTOR", "RIGHT_VECTOR", "LEFT_ALONG", "RIGHT_ALONG"),
    *("OUTPUT_DOWN", "SPLIT_K"),
)


@dataclass(frozen=True)
class ContractionPasses(FormPasses):
    """The pass that computes an output by its contraction, followed by the one that adds up partial sums.

    `value` is the text of the element, as a function of the sum `total`. `few` is the pass for few rows
    under a window. For bytes, `left_less` and `right_less` are the texts of the zero points.
    """

    left: ShaderTensor
    right: ShaderTensor
    output: ShaderTensor
    value: str
    contraction: Contraction
    few: SlidingPass | None
    left_less: str
    right_less: str
    field = "contraction"
    template = "product"
    params = "ContractionParams"
    scratch = "ScratchBuffer"

    @property
    def type(self) -> str:
        """The type of the sums."""
        return "int" if self.contraction.of_bytes else "float"

    @property
    def records(self) -> Sequence[Fields]:
        roles = {name: getattr(self, name).member for name in ("left", "right", "output")}
        return [{"number": self.number, **roles}]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        parts, window = self.contraction, self.contraction.window
        found = {
            "factors.left": parts.left.places,
            "factors.right": parts.right.places,
            "factors.left_less": parts.left.less_axes,
            "factors.right_less": parts.right.less_axes,
            "factors.lessens_left": parts.left.lessens,
            "factors.lessens_right": parts.right.lessens,
            "factors.depth": parts.depth,
        }
        if window is not None:
            found |= window.operands
        return found

    def constants(self, tensors: Sequence[ShaderTensor]) -> Mapping[str, Sequence[Declaration]]:
        windowed = self.contraction.window is not None
        return {
            **{name: lists_of(name) for name in ("sizes", "leftSteps", "rightSteps")},
            "windowAxes": [] if windowed else (),
            "taps": [Declaration("uint", name) for name in TAPS if windowed],
        }

    @property
    def zeros(self) -> tuple[str, ...]:
        own = ("TRANSPOSED",) if self.skinny else () if self.contraction.of_bytes else ("PACKED",)
        return (*_ZEROS, *own)

    @property
    def whole(self) -> tuple[FormPass, ...]:
        return (self,) if self.few is None else (self.few, self)

    @property
    def skinny(self) -> int | None:
        """The number of the pass for skinny matrices of floats; None with a window."""
        is_plain = self.contraction.window is None and not self.contraction.of_bytes
        return self.number + 2 if is_plain else None


def contraction_passes(printer: ShaderPrinter, contraction: Contraction, number: int) -> ContractionPasses:
    """The passes of a contraction, from `number` on."""
    few = few_rows(printer, contraction, number)
    left, right, output = (
        printer.tensors[name]
        for name in (contraction.left.tensor, contraction.right.tensor, contraction.output)
    )
    value = printer.stored(contraction.output, contraction.value)
    less = (one.less for one in (contraction.left, contraction.right))
    texts = ("" if one is None else printer.as_int(one) for one in less)
    return ContractionPasses(number + (few is not None), left, right, output, value, contraction, few, *texts)
