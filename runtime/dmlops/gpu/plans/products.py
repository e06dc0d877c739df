"""Products of matrices: by the form that suits them."""

from __future__ import annotations

from .contraction import fma_product
from .cooperative_matrix import cooperative_product, suits_cooperative_matrix
from .definition_types import Definition, DefinitionShader
from .gemm_view import Matrices, is_of_bytes, matrices_of
from .int8_product import byte_product
from .planning import Planning
from .product import plan_product
from .skinny import is_skinny, plan_skinny


def plan_products(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """Skinny matrices have their own pass; others use tiles. False if the definition's own passes are as
    good."""
    found = matrices_of(op, shader)
    if is_skinny(op, shader, found):
        plan_skinny(out, op, shader, found)
        return True
    return plan_tiles(out, op, shader, found)


def plan_tiles(out: Planning, op: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Tiles of bytes, of cooperative matrices where these suit, or of ordinary arithmetic. False if there is
    too little to compute."""
    if not is_of_bytes(op, shader) and suits_cooperative_matrix(out, op, shader, found):
        plan_product(out, op, shader, cooperative_product(op, shader, found))
    elif not found.is_worth:
        return False
    elif is_of_bytes(op, shader):
        plan_product(out, op, shader, byte_product(out, op, shader, found))
    else:
        plan_product(out, op, shader, fma_product(op, shader, found))
    return True
