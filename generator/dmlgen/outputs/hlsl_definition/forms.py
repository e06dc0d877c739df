"""The faster forms that shaders of definitions support, one per line, in order of precedence."""

from __future__ import annotations

from collections.abc import Callable

from dmlgen.outputs.hlsl_definition.attention import attention_pass
from dmlgen.outputs.hlsl_definition.contraction import contracted_pass
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.rows import rows_pass
from dmlgen.outputs.hlsl_definition.separable import separable_pass
from dmlgen.outputs.hlsl_definition.sliding import sliding_pass
from dmlgen.outputs.hlsl_definition.sparse_sum import selected_passes
from dmlgen.outputs.hlsl_definition.sums import sums_passes
from dmlgen.registry import Operator

OF_OUTPUTS: tuple[Callable[[ShaderPrinter, Operator, int], FormPass | None], ...] = (
    contracted_pass,
    sliding_pass,
    rows_pass,
    separable_pass,
)
"""Passes after those of the definition, given their first number."""

OF_TENSORS: tuple[Callable[[ShaderPrinter, Operator, str, int], FormPass | None], ...] = (attention_pass,)
"""Passes in place of one of the definition's, given the intermediate tensor and the number."""

INSTEAD: tuple[Callable[[ShaderPrinter, Operator, int], FormPass | None], ...] = (
    sums_passes,
    selected_passes,
)
"""Passes after those of the definition, each of which a plan may use in place of one or several of them."""
