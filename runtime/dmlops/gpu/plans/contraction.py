"""Products of matrices: of skinny ones; in tiles; or as defined.

The output is seen as matrices, a backend multiplies their tiles, and decides how factors are loaded; a cost
model chooses the tile and the parts of k.
"""

from __future__ import annotations

from .backend import Backend, backend_of
from .gemm_view import Contraction, Matrices, Side, matrices_of, side_vector, suits_tiles
from .loops import has
from .planning import Planning
from .product import Product, plan_product
from .skinny import plan_skinny
from .tile_cost import choose_tile


def plan_products(out: Planning, op: Contraction) -> bool:
    """False if the definition's own passes are as good."""
    found = matrices_of(op)
    is_tiled = are_apart(op, found) and suits_tiles(op, found)
    return is_tiled and (plan_skinny(out, op, found) or plan_tiles(out, op, found))


def are_apart(op: Contraction, found: Matrices) -> bool:
    """Whether rows belong to the left factor and columns to the right one, with their zero points."""
    factors, row, column = op.factors, found.row_axis, found.column_axis
    are_own = has(factors.left, row) and has(factors.right, column)
    is_left = has(factors.left, column) or has(factors.left_less, column)
    return are_own and not is_left and not has(factors.right, row) and not has(factors.right_less, row)


def plan_tiles(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Chooses the backend, the tile, and the parts of k."""
    backend = backend_of(out, op, found)
    left = loaded(found.left, found.row_axis, found.rows, found.depth, backend)
    right = loaded(found.right, found.column_axis, found.columns, found.depth, backend)
    chosen = choose_tile(found, backend.tiles, backend.rates, True)
    read = found._replace(left=left, right=right)
    plan_product(out, op, Product(backend.is_cooperative, chosen, read, 0, left))
    return True


def loaded(side: Side, axis: int, lines: int, depth: int, backend: Backend) -> Side:
    """A factor with the adjacent elements that the backend loads at once; `axis` has that many rows or
    columns. Of bytes these are 16 along k, or words of four."""
    vector = side_vector(side, axis, lines, depth, backend.vector)
    if backend.vector == 16 and (vector < 16 or not side.is_along):
        vector = 4 if vector >= 4 else 1
    return side._replace(vector=vector)
