"""Fused activations that an operator's shader does not take: the activation's own shader runs after it.

Between the two, results lie in scratch, in the type in which they were computed: they are rounded once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..compute import computation
from ..definition import Defined
from ..enums import TensorDataType
from ..tensor import TensorDesc
from .memory import buffer_size
from .work import Work, tensor_names, work_of

UNACTIVATED = "unactivated"


def activated_apart(defined: Defined, activation: Any) -> Work:
    """The work of a definition with one output, without its activation, and then that of the activation."""
    desc: Any = defined.desc
    ((output, tensor),) = tensor_names(desc, "output")
    doubles = tensor.DataType == TensorDataType.FLOAT64
    between = TensorDesc(TensorDataType.FLOAT64 if doubles else TensorDataType.FLOAT32, tensor.Sizes)
    without = replace(desc, **{defined.shader.fused: None, output: between})
    first = work_of(replace(defined, desc=without)).renamed({output: UNACTIVATED})
    alone = replace(activation, InputTensor=between, OutputTensor=tensor)
    second = work_of(computation(alone))
    places = {name: f"{activation.OPERATOR}.{name}" for name in second.scratch}
    second = second.renamed({**places, "InputTensor": UNACTIVATED, "OutputTensor": output})
    return Work(
        (*first.dispatches, *(replace(one, shader=activation.OPERATOR) for one in second.dispatches)),
        {**first.scratch, **second.scratch, UNACTIVATED: buffer_size(between)},
        (*first.cleared, *second.cleared),
    )
