"""Products of floats: of skinny matrices; in tiles, by cooperative matrices or by fused multiply-add; or as
defined."""

from __future__ import annotations

from .cooperative_matrix import cooperative_product, suits_cooperative_matrix
from .definition_types import Definition, DefinitionShader
from .gemm_view import Matrices, matrices_of
from .planning import Planning
from .product import Packing, Product, Tile, no_window, plan_product, single_tap
from .skinny import is_skinny, plan_skinny
from .tile_cost import Rates, Tiles, choose_tile, split_of

FLOAT_RATE = 225  # NVIDIA H200: 128 lanes at 1.76 GHz
"multiply-adds of float32 of a multiprocessor in a nanosecond"
FLOAT_LATENCY = 210  # NVIDIA H200, fitted
"nanoseconds of a step in which a group only waits"
FLOAT_ALONE = 47  # NVIDIA H200, fitted
"percentage of the rate that a group reaches alone"


def float_tiles(depth: int) -> Tiles:
    """The candidates. A thread accumulates a quarter of its wave's rows and an eighth of its columns."""
    shallow = 8 if depth < 32 else 16
    return [
        Tile(128, 128, 16, 32, 64, 1, 2, 100),
        Tile(64, 128, 16, 32, 64, 1, 4, 85),
        Tile(64, 64, 16, 32, 32, 1, 4, 70),
        Tile(32, 128, 16, 16, 64, 1, 5, 100),
        Tile(128, 32, 32, 32, 32, 1, 3, 60),
        Tile(32, 64, 32, 16, 32, 1, 7, 55),
        Tile(32, 32, shallow, 16, 32, 1, 7, 80),
        Tile(16, 32, shallow, 16, 32, 1, 8, 100),
    ]


def float_product(op: Definition, found: Matrices) -> Product:
    """The tile, and k split into parts."""
    rates = Rates(FLOAT_RATE, FLOAT_LATENCY, FLOAT_ALONE, 4)
    chosen = choose_tile(found, float_tiles(found.depth), rates, single_tap())
    split = split_of(found, chosen)
    packing = Packing(0, 4, 1)
    return Product(
        chosen.tile, split, split.parts > 1, found, found, op.factors.depth, no_window(), packing, False
    )


def plan_products(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """False if the definition's own passes are as good."""
    found = matrices_of(op, shader)
    if is_skinny(op, shader, found):
        plan_skinny(out, op, shader, found)
        return True
    return plan_tiles(out, op, shader, found)


def plan_tiles(out: Planning, op: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Tiles of cooperative matrices where these suit, else of ordinary arithmetic. False if there is too
    little to compute."""
    if suits_cooperative_matrix(out, op, shader, found):
        plan_product(out, op, shader, cooperative_product(op, found))
    elif found.is_worth:
        plan_product(out, op, shader, float_product(op, found))
    else:
        return False
    return True
