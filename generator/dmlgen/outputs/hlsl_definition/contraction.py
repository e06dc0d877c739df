"""The passes of a contraction in the shader of a definition."""

from __future__ import annotations

from dmlgen.outputs.hlsl_constants import Constants
from dmlgen.outputs.hlsl_definition.form import FormPass, lists_of, record
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.sliding import few_rows
from dmlgen.schedules.contraction import Contraction

_ZEROS = ("COOPERATIVE_MATRIX", "LEFT_ALONG", "RIGHT_ALONG", "OUTPUT_DOWN", "SPLIT_K")


def contraction_passes(printer: ShaderPrinter, contraction: Contraction, number: int) -> FormPass:
    """The passes of a contraction, from `number` on: that for few rows under a window; that which computes
    the output, tile by tile, and that which adds up partial sums; without a window, the one for skinny
    matrices of floats. The output is a function of the sum `total`. Nothing else has been printed yet."""
    windowed, of_bytes = bool(contraction.window), contraction.of_bytes
    few = few_rows(printer, contraction, number) if windowed else None
    before = () if few is None else (few,)
    number += len(before)
    tensors = {role: printer.tensors[name] for role, name in contraction.roles.items()}
    value = printer.stored(contraction.output, contraction.value)
    less = {f"{side}_less": printer.as_int(less) for side, less in contraction.less.items()}
    factors = contraction.left, contraction.right
    ranks = [name for name in printer.tensors if name not in factors]
    lists, bounds = _used(printer.constants, "ints", "floats"), _used(printer.constants, "bound")
    skinny = None if windowed or of_bytes else number + 2
    return FormPass(
        number,
        field="contraction",
        template="product",
        params="ContractionParams",
        scratch="ScratchBuffer",
        records=[record(number, tensors, ranks=ranks, lists=lists, bounds=bounds)],
        given=contraction.operands,
        declared={
            **{name: lists_of(name) for name in ("sizes", "leftSteps", "rightSteps")},
            "windowAxes": [] if windowed else (),
        },
        zeros=(*_ZEROS, *(("TRANSPOSED",) if skinny else () if of_bytes else ("PACKED",))),
        before=before,
        comparison=">=",
        shown={
            **tensors,
            "windowed": windowed,
            "of_bytes": of_bytes,
            "few": few,
            "skinny": skinny,
            "type": "int" if of_bytes else "float",  # of sums
            "value": value,
            **less,
        },
    )


def _used(constants: Constants, *kinds: str) -> int:
    """A bit for each constant of some kinds: 1 if its value has been asked for."""
    return sum(1 << n for n, one in enumerate(constants.known(*kinds)) if one.name in constants.used)
