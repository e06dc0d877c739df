"""Products: contractions by the way that suits them."""

from __future__ import annotations

from .bytes import plan_bytes, suits_bytes
from .contraction import plan_contraction
from .definition import Definition, DefinitionShader
from .matrices import matrices_of
from .matrix_units import plan_matrix_units, suits_units
from .planning import Planning
from .thin import is_thin, plan_thin, thin_of


def plan_products(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """Bytes and thin matrices by passes of their own, others by matrix units where they suit these, or else
    by ordinary arithmetic."""
    found = matrices_of(told, shader)
    if suits_bytes(told, shader, found):
        plan_bytes(out, told, shader, found)
        return
    thin = thin_of(shader, found)
    if is_thin(told, thin):
        plan_thin(out, told, shader, thin)
        return
    if suits_units(out, told, shader, found):
        plan_matrix_units(out, told, shader, found)
        return
    plan_contraction(out, told, shader, found)
