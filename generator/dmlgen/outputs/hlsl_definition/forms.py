"""The passes of faster forms, by the form that schedules found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlgen.outputs.hlsl_definition.contraction import contraction_passes
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.map import map_pass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.rows import rows_pass
from dmlgen.outputs.hlsl_definition.separable import separable_pass
from dmlgen.outputs.hlsl_definition.sliding import sliding_pass
from dmlgen.outputs.hlsl_definition.sparse_sum import sparse_sum_passes
from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.rows import Rows
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.separable import Separable
from dmlgen.schedules.sliding import Sliding
from dmlgen.schedules.sparse_sum import SparseSum

PASSES: Mapping[type[FastForm], Callable[[ShaderPrinter, Any, int], FormPass]] = {
    Contraction: contraction_passes,
    Sliding: sliding_pass,
    Rows: rows_pass,
    Elementwise: map_pass,
    Separable: separable_pass,
    SparseSum: sparse_sum_passes,
}
"""The passes after those of the definition, made from the form and their first number. The first form that an
operator has is taken."""
