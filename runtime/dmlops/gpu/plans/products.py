"""Products: contractions by the way that suits them."""

from __future__ import annotations

from .contraction import matrices_of, plan_contraction
from .definition import Definition, DefinitionShader
from .matrix_units import plan_matrix_units, suits_units
from .planning import Planning
from .thin import is_thin, plan_thin, thin_of


def plan_products(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """Thin matrices by a pass of their own, others by matrix units where they suit these, or else by
    ordinary arithmetic."""
    found = matrices_of(told, shader)
    thin = thin_of(shader, found)
    if is_thin(told, thin):
        plan_thin(out, told, shader, thin)
        return
    if suits_units(out, told, shader, found):
        plan_matrix_units(out, told, shader, found)
        return
    plan_contraction(out, told, shader, found)
