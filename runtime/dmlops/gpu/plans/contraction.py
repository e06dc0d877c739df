"""Products of floats: of skinny matrices; in tiles, by cooperative matrices or by fused multiply-add; or as
defined.

With cooperative matrices, tiles of the factors are stored in shared memory in their layout in memory, eight
float16 to a vector, and each wave of a group multiplies 16x16 blocks of them.
"""

from __future__ import annotations

from .capabilities import Capability
from .gemm_view import Contraction, Matrices, matrices_of, side_vector
from .operands import NONE, is_float16
from .planning import Planning
from .product import plan_product, product_of
from .skinny import plan_skinny
from .tile_cost import Rates, Tile, Tiles, choose_tile

FLOAT_RATE = 225  # NVIDIA H200: 128 lanes at 1.76 GHz
"multiply-adds of float32 of a multiprocessor in a nanosecond"
COOPERATIVE_RATE = 3750  # NVIDIA H200: 990 T/s
"multiply-adds of float16 by cooperative matrices of a multiprocessor in a nanosecond"
COOPERATIVE_TINY = 32  # NVIDIA H200: 1.2 to 3.1 times as fast with 8 to 32, 0.81 with a depth of 64
"rows, columns and depth up to which ordinary arithmetic beats cooperative matrices"
COOPERATIVE_DIRECT_ROWS = 3  # NVIDIA H200: 2 at 0.75 to 1.2 with 2 rows, 4 at 0.7 to 1.2 with 3
"the same as TILE_DIRECT_ROWS with cooperative matrices"


def float_tiles(depth: int) -> Tiles:
    """The candidates. A thread accumulates a quarter of its wave's rows and an eighth of its columns."""
    shallow = 8 if depth < 32 else 16
    return [
        Tile(128, 128, 16, 32, 64, 2, 100),
        Tile(64, 128, 16, 32, 64, 4, 85),
        Tile(64, 64, 16, 32, 32, 4, 62),
        Tile(64, 64, 16, 32, 64, 8, 70),
        Tile(32, 128, 16, 16, 64, 5, 100),
        Tile(128, 32, 32, 32, 32, 3, 60),
        Tile(32, 64, 32, 16, 32, 7, 55),
        Tile(32, 32, shallow, 16, 32, 7, 80),
        Tile(16, 32, shallow, 16, 32, 8, 100),
    ]


def cooperative_tiles() -> Tiles:
    """The candidates.

    Two tiles in shared memory, and so one barrier per step, make steps of 32 products 1.11 times as fast on
    an NVIDIA H200 (4096x4096x4096), but 48 KiB do not hold two of 64, which are 1.18 times as fast. Eight
    waves of 64x64 that split a step's k are at 0.81 to 1.05 of four where groups are few. For 16 to 32 rows
    or columns and a depth of 4096 or more, the best of 32x64, 64x16 and 16x64 is at 0.62 to 0.94 of 32x256
    and 256x32; with a depth of 512 or 1024, which take smaller tiles, at 1.15 to 1.62."""
    return [
        Tile(128, 128, 64, 64, 64, 2, 80),
        Tile(64, 128, 64, 32, 32, 1, 89),
        Tile(64, 64, 64, 32, 32, 6, 100),
        Tile(32, 64, 64, 32, 16, 7, 100),
        Tile(32, 32, 64, 16, 16, 6, 100),
        Tile(64, 256, 64, 32, 64, 2, 80),
        Tile(32, 256, 64, 32, 32, 3, 100),
        Tile(256, 32, 64, 32, 32, 3, 100),
    ]


def suits_cooperative_matrix(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Whether the device has cooperative matrices, both factors are float16, and there is enough work."""
    are_float16 = is_float16(op.left) and is_float16(op.right)
    least = COOPERATIVE_DIRECT_ROWS if found.column_axis == NONE else 2
    is_large = found.is_worth and found.rows >= least and found.columns > 1
    is_tiny = found.column_axis != NONE and max(found.rows, found.columns, found.depth) <= COOPERATIVE_TINY
    return out.has(Capability.COOPERATIVE_MATRIX) and are_float16 and is_large and not is_tiny


def plan_products(out: Planning, op: Contraction) -> bool:
    """False if the definition's own passes are as good."""
    found = matrices_of(op)
    return plan_skinny(out, op, found) or plan_tiles(out, op, found)


def plan_tiles(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Chooses the tile, of cooperative matrices where these suit, and the parts of k. False if there is too
    little to compute."""
    if not found.is_worth:
        return False
    is_cooperative, factors = suits_cooperative_matrix(out, op, found), found
    tiles, rates = float_tiles(found.depth), Rates(FLOAT_RATE, 210, 47, 4, 1)  # NVIDIA H200, fitted
    if is_cooperative:
        left = side_vector(found.left, found.row_axis, found.rows, found.depth, 8)
        right = side_vector(found.right, found.column_axis, found.columns, found.depth, 8)
        factors = found._replace(
            left=found.left._replace(vector=left), right=found.right._replace(vector=right)
        )
        tiles, rates = cooperative_tiles(), Rates(COOPERATIVE_RATE, 229, 32, 2, 1)  # NVIDIA H200, fitted
    chosen = choose_tile(found, tiles, rates, True)
    plan_product(out, op, product_of(chosen, found, factors, is_cooperative))
    return True
