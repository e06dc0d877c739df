"""Products of matrices: in tiles, as skinny ones, or as defined.

The output is seen as matrices, a backend multiplies their tiles, and decides how factors are loaded; a cost
model chooses the tile and the parts of k.

Skinny matrices have few rows, or few columns, which are then treated as rows. Nearly all traffic is the right
factor, each element of which is read once, so memory bandwidth is the limit. Threads load it in vectors of 16
bytes, adjacent ones by neighboring threads. Where vectors run along k, these take different products of the
same columns; otherwise they have other columns. Each thread accumulates its columns in all rows, and threads
with the same columns add up their sums in shared memory.
"""

from __future__ import annotations

from .backend import Backend, backend_of
from .capabilities import Capability
from .gemm_view import Contraction, Matrices, Side, matrices_of, side_vector, suits_tiles
from .loops import MULTIPROCESSORS, ceil_div, grid, has, power_below, times
from .planning import Planning
from .product import SKINNY_PASS, Product, contraction_params, plan_product
from .tile_cost import choose_tile, split_into

SKINNY_LEAST_THREADS = 256  # NVIDIA H200: 128 at 1.00, 512 at 0.71 to 0.99
"threads in a group, at least"
SKINNY_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.72 to 0.84, 1024 at 0.34 to 1.00
"the same, at most"
SKINNY_ALL_THREADS = 131072  # NVIDIA H200: 65536 at 0.72 to 0.86, 262144 at 0.94 to 1.09
"threads that saturate a GPU's memory bandwidth; with fewer columns, more of them share each"
SKINNY_LEAST = 2048  # NVIDIA H200: 512 at 0.73 with 4 rows of 64, at 0.31 for float16; 8192 at 0.85 with one
"products per row from which batches of matrices take this form"
SKINNY_REDUCING = 8  # NVIDIA H200: 64 at 0.94 to 1.10
"threads that share a sum, at least: where vectors run along k, they read a cache line"
SKINNY_NEIGHBORS = 4  # NVIDIA H200: 2 at 0.72 to 0.91, 8 at 0.73 to 0.84
"threads side by side on adjacent columns, if that leaves enough groups"
SKINNY_VECTORS = 4  # NVIDIA H200: 2 at 0.80 to 1.02, 8 at 0.94 to 1.05
"vectors that a thread has in flight"

SKINNY_GROUPS = 128  # NVIDIA H200: 256 at 0.73 to 0.88
"groups that are enough; below, fewer threads are side by side"
SKINNY_DEEP = 16384  # NVIDIA H200: only measured at 65536
"products of a sum from which tiles that split k are faster, unless there are columns for many groups"

MOST_ROWS = 4  # that a thread accumulates
VECTOR_BITS = 128


def plan_products(out: Planning, op: Contraction) -> bool:
    """False if the definition's own passes are as good."""
    found = matrices_of(op, [], 1)
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
    rates = backend.rates
    if min(left.vector, right.vector) == 1 and not backend.is_cooperative:
        rates = rates._replace(load=3 * rates.load)
    chosen = choose_tile(found, backend.tiles, rates, True)
    read = found._replace(left=left, right=right)
    plan_product(out, op, Product(backend.is_cooperative, chosen, read, 0, left))
    return True


def loaded(side: Side, axis: int, lines: int, depth: int, backend: Backend) -> Side:
    """A factor with the adjacent elements that the backend loads at once; `axis` has that many rows or
    columns. Of bytes these are 16 along k, or words of four."""
    most = 16 // backend.rates.element
    vector = side_vector(side, axis, lines, depth, most)
    if most == 16 and (vector < 16 or not side.is_along):
        vector = 4 if vector >= 4 else 1
    return side._replace(vector=vector)


def with_few_rows(found: Matrices) -> Matrices:
    """The matrices, transposed if they have too many rows: rows and columns, and with them the factors,
    swapped. Threads store rows, contiguous or not."""
    if found.rows <= MOST_ROWS:
        return found
    return found._replace(
        row_axis=found.column_axis,
        column_axis=found.row_axis,
        rows=found.columns,
        columns=found.rows,
        left=found.right,
        right=found.left,
    )


def plan_skinny(out: Planning, op: Contraction, found: Matrices) -> bool:
    """One dispatch, with enough threads to saturate a GPU. In a group, `reducing` threads share the products
    of the same columns, and `across` threads differ in their columns. False unless there are few rows or
    columns, enough work, and whole vectors of floats to load: many tiny matrices are better off in tiles."""
    if min(found.rows, found.columns) > MOST_ROWS or not op.left.is_float:
        return False
    matrices = with_few_rows(found)
    is_along = matrices.right.is_along
    is_transposed = matrices.row_axis > matrices.column_axis
    vector = VECTOR_BITS // (op.left.bits if is_transposed else op.right.bits)
    if matrices.count > MULTIPROCESSORS and times(matrices.columns, matrices.depth) < SKINNY_LEAST:
        return False
    has_groups = times(matrices.columns, matrices.count) >= SKINNY_GROUPS * SKINNY_VECTORS
    if matrices.depth >= SKINNY_DEEP and not has_groups:
        return False
    if side_vector(matrices.right, matrices.column_axis, matrices.columns, matrices.depth, vector) < vector:
        return False
    columns = SKINNY_VECTORS if is_along else vector  # of a thread
    step = vector if is_along else SKINNY_VECTORS  # products of them that it takes at once
    shared = times(ceil_div(matrices.columns, columns), matrices.count)
    neighbors = 1 if is_along else power_below(shared // SKINNY_GROUPS, SKINNY_NEIGHBORS)
    wanted = min(SKINNY_ALL_THREADS // shared, ceil_div(matrices.depth, step))
    reducing = max(power_below(wanted, SKINNY_MOST_THREADS // neighbors), SKINNY_REDUCING)
    across = max(SKINNY_LEAST_THREADS // reducing, neighbors)
    split = split_into(1, matrices.depth, 1, 1, ceil_div(matrices.columns, columns * across))
    if is_transposed:
        out.define("TRANSPOSED", 1)
    out.write(out.scratch(16))
    out.share()
    out.define("PASS", op.number + SKINNY_PASS)
    out.define("NUM_THREADS", reducing * across)
    left = side_vector(matrices.left, matrices.row_axis, matrices.rows, matrices.depth, 4)
    out.define("LEFT_VECTOR", left if matrices.left.is_along else 1)
    out.define("RIGHT_VECTOR", vector)
    if is_along:
        out.define("RIGHT_ALONG", 1)
    out.define("VECTORS", SKINNY_VECTORS)
    out.define("REDUCTION_THREADS", reducing)
    out.define("WIDTH", across)
    out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("TILE_ROWS", matrices.rows)
    out.define("TILE_COLUMNS", columns * across)
    threads = times(times(split.across, matrices.count), reducing * across)
    groups = grid(out, threads, reducing * across, 1)
    out.dispatch(contraction_params(op, split, matrices, groups), groups, False)
    return True
