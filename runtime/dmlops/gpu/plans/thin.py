"""Contractions of thin matrices: of few rows, or of few columns, which then count as rows.

Nearly all that they read is the right factor, each element once, so that memory is the limit. Threads read it
in vectors of 16 bytes, neighbours side by side: lanes, which have other products of the same columns, where
these vectors are along the products, else threads that have other columns. Each thread keeps sums of its
columns in all rows; those of its lanes are added up in group memory.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .contraction_passes import (
    PARTS_PASS,
    CommonConstants,
    Split,
    contraction_params,
    split_into,
    window_words,
)
from .defined import MAX_COUNT, Definition, DefinitionShader
from .forms import begin_form
from .loops import ceil_div, grid, power_below, times
from .matrices import Matrices, side_vector
from .matrix_units import dispatch_single
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER
from .tuning import (
    THIN_ALL_THREADS,
    THIN_LANES,
    THIN_LEAST_THREADS,
    THIN_MOST_THREADS,
    THIN_NEIGHBOURS,
    THIN_VECTORS,
    TILE_PART,
    UNITS_GROUPS,
)

MOST_ROWS = 4  # that a thread has sums of
VECTOR_BITS = 128
THIN_PASS = 2  # its number, from the contraction's


class Thin(NamedTuple):
    """The matrices with few rows, and the tensor by number that is their right factor; `is_turned`: these are
    the output's columns, and the left factor of the contraction."""

    is_turned: bool
    matrices: Matrices
    right: int


class Lanes(NamedTuple):
    """How threads share the work: each has so many columns, and takes `step` products of them at once. In a
    group, `lanes` threads have other products, and `width` other columns."""

    columns: int
    step: int
    lanes: int
    width: int
    split: Split


def turned(found: Matrices) -> Matrices:
    """The same with rows and columns, and with them the factors, in each other's place."""
    return found._replace(
        row_axis=found.column_axis,
        column_axis=found.row_axis,
        rows=found.columns,
        columns=found.rows,
        run=1,
        left=found.right,
        right=found.left,
    )


def thin_of(shader: DefinitionShader, found: Matrices) -> Thin:
    """The matrices, turned where they have too many rows."""
    contracted = shader.contracted
    if found.rows > MOST_ROWS:
        return Thin(True, turned(found), contracted.left)
    return Thin(False, found, contracted.right)


def is_thin(told: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Whether there are few rows or columns, enough to do, and whole vectors of floats to read."""
    if len(told.factors.window.sizes) > 0 or not found.is_worth or min(found.rows, found.columns) > MOST_ROWS:
        return False
    thin = thin_of(shader, found)
    matrices, right = thin.matrices, told.tensors[thin.right]
    vector = VECTOR_BITS // right.bits
    axis, columns = matrices.column_axis, matrices.columns
    return right.is_float and side_vector(matrices.right, axis, columns, matrices.depth, vector) == vector


def lanes_for(matrices: Matrices, vector: int) -> Lanes:
    """As many lanes as keep a GPU busy. Sums are worked out in parts where there are few groups even so."""
    is_along = matrices.right.is_along
    columns = THIN_VECTORS if is_along else vector
    step = vector if is_along else THIN_VECTORS
    neighbours = 1 if is_along else THIN_NEIGHBOURS
    shared = times(ceil_div(matrices.columns, columns), matrices.count)
    wanted = min(THIN_ALL_THREADS // shared, ceil_div(matrices.depth, step))
    lanes = max(power_below(wanted, THIN_MOST_THREADS // neighbours), THIN_LANES)
    width = max(THIN_LEAST_THREADS // lanes, neighbours)
    across = ceil_div(matrices.columns, columns * width)
    groups = times(across, matrices.count)
    parts = 1
    if groups < UNITS_GROUPS:
        parts = max(min(2 * UNITS_GROUPS // groups, matrices.depth // TILE_PART), 1)
    return Lanes(columns, step, lanes, width, split_into(parts, matrices.depth, step, 1, across))


def plan_thin(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch, and one after it where sums are worked out in parts."""
    thin = thin_of(shader, found)
    matrices = thin.matrices
    vector = VECTOR_BITS // told.tensors[thin.right].bits
    share = lanes_for(matrices, vector)
    split = share.split
    whole = times(times(matrices.rows, matrices.columns), matrices.count)
    words = times(whole, split.parts) if split.parts > 1 else 0
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    output = told.tensors[shader.contracted.output]
    known = begin_form(out, told, shader, output)
    out.define("ROW_AXIS", matrices.row_axis)
    out.define("COLUMN_AXIS", matrices.column_axis)
    out.define("IN_PARTS", int(split.parts > 1))
    out.write(out.scratch(max(4 * words, 16)))
    out.share()

    number, in_group = shader.contracted.number, share.lanes * share.width
    left = matrices.left
    out.define("PASS", number + THIN_PASS)
    out.define("NUM_THREADS", in_group)
    out.define("TURNED", int(thin.is_turned))
    out.define("LEFT_VECTOR", gcd(left.vector, share.step) if left.is_along else 1)
    out.define("RIGHT_VECTOR", vector)
    out.define("RIGHT_ALONG", int(matrices.right.is_along))
    # Halves of many columns have much arithmetic to wait for; elsewhere registers are worth more.
    out.define("READS_AHEAD", int(vector == 8 and not matrices.right.is_along))
    out.define("VECTORS", THIN_VECTORS)
    out.define("LANES", share.lanes)
    out.define("WIDTH", share.width)
    out.define("TILE_ROWS", matrices.rows)
    out.define("TILE_COLUMNS", share.width * share.columns)
    out.define("TILES_WALKED", 1)
    common = CommonConstants(split, window_words(out, told, shader), known)
    groups = grid(out, times(split.across, matrices.count) * split.parts * in_group, in_group, 1)
    params = contraction_params(told, shader, matrices, 0, common, groups)
    out.dispatch(params, groups, False)
    if split.parts > 1:
        dispatch_single(out, told, shader, matrices, 0, common, number + PARTS_PASS, whole)
