"""What all passes of contractions share, whatever their form: their constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .defined import Definition, DefinitionShader
from .known import Known, Lists, eight
from .loops import Dimensions, Words, ceil_div, element_count, extents, times
from .matrices import Matrices
from .phases import period
from .planning import Planning
from .told import Eight, Groups, Sizes
from .tuning import TILE_WALK

PARTS_PASS = 1  # adds up partial sums; relative to the contraction's number

WindowWords = Annotated[list[int], 96]


class Split(NamedTuple):
    """How groups share the work: tiles down and across a matrix, parts of k, and the products in a part."""

    down: int
    across: int
    parts: int
    products: int


def split_into(parts: int, depth: int, step: int, down: int, across: int) -> Split:
    """Splits k, of `depth` products, into at most so many parts, all but the last of which are multiples of
    `step`."""
    products = ceil_div(ceil_div(depth, parts), step) * step
    return Split(down, across, ceil_div(depth, products), products)


class CommonConstants(NamedTuple):
    """What is the same in all passes of a plan: the split, the sizes of the output and what groups divide
    their numbers by, the words of a window, and what depends on the description alone."""

    split: Split
    sizes: Dimensions
    walk: Dimensions
    window: WindowWords
    known: Known


class ContractionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, 1 along rows, and along columns without a window"
    walk: Annotated[Dimensions, "5"]
    "tiles of a matrix, matrices, tiles of a band, and rows of tiles in a band and in the last one"
    leftSteps: Eight
    "strides along the dimensions of the output; lists fill two vectors"
    rightSteps: Eight
    window: WindowWords
    lists: Lists
    activations: Annotated[list[int], 32]
    matrices: int
    matrixRows: int
    matrixColumns: int
    matrixDepth: int
    "products of a sum: the extent of k"
    leftDepthStep: int
    "stride along k"
    rightDepthStep: int
    partDepth: int
    "products in a part of k"
    parts: int
    tilesDown: int
    "of a matrix"
    groupColumns: int
    "thread groups along x"
    elements: Words
    scalars: Words
    tap: Words


def partial_words(found: Matrices, split: Split) -> int:
    """The words of all partial sums; rows, or columns if these are stored, are padded to whole vectors."""
    return times(4 * partial_vectors(found), split.parts) if split.parts > 1 else 0


def partial_vectors(found: Matrices) -> int:
    """The vectors of four partial sums in one part."""
    across = times(found.rows, ceil_div(found.columns, 4))
    return times(times(found.columns, ceil_div(found.rows, 4)) if found.is_down else across, found.count)


def window_words(out: Planning, told: Definition, shader: DefinitionShader) -> WindowWords:
    """The constants of a window on the right factor as it is in memory; none if there is no window."""
    window, right = told.factors.window, told.tensors[shader.contracted.right]
    words: WindowWords = []
    if len(window.sizes) > 0:
        behind = len(right.sizes) - len(window.sizes)
        strides: Eight = [stride for d, stride in enumerate(right.strides) if d >= behind]
        words.extend(strided_words(out, told, shader, strides))
    return words


def strided_words(out: Planning, told: Definition, shader: DefinitionShader, strides: Sizes) -> WindowWords:
    """The constants of a window on the right factor: sizes, first coordinates, steps, taps, limits, strides,
    divisors and periods; then its strides on the left one. Taps are the distances between those that one
    phase meets."""
    window, contracted = told.factors.window, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    behind = len(right.sizes) - len(window.sizes)
    steps: Eight = []
    taps: Eight = []
    periods: Eight = []
    left_steps: Eight = []
    for d, first in enumerate(window.right_first):
        steps.append(window.right_steps[d] - first)
        periods.append(period(window, d))
        taps.append((window.right_taps[d] - first) * periods[d] // window.right_divisors[d])
        left_steps.append((window.left_taps[d] - window.left_first[d]) * left.strides[behind + d])
    limits: Eight = [size for d, size in enumerate(right.sizes) if d >= behind]
    words: WindowWords = []
    lists: Annotated[list[Sizes], 16] = [
        window.sizes,
        window.right_first,
        steps,
        taps,
        limits,
        strides,
        window.right_divisors,
        periods,
        left_steps,
    ]
    for entries in lists:
        words.extend(eight(out, entries))
    return words


def common_constants(found: Matrices, split: Split, window: WindowWords, known: Known) -> CommonConstants:
    """What is the same in all passes. Groups walk the tiles of a matrix in bands."""
    height = min(TILE_WALK, split.down)
    last = split.down - (split.down - 1) // height * height
    walk = extents([split.down * split.across, found.count, height * split.across, height, last])
    return CommonConstants(split, extents(found.sizes), walk, window, known)


def contraction_params(
    told: Definition, found: Matrices, first: int, common: CommonConstants, groups: Groups
) -> ContractionParams:
    """The constants of a pass; `first` is the left factor's offset at the first tap."""
    factors = told.factors
    tap: Words = []
    if len(factors.window.sizes) > 0:
        tap = [factors.depth, element_count(factors.window.sizes), first % 2**32]
        tap.append(found.tap.step % 2**32)
        tap.append(found.left.matrix % 2**32)
    return tapped_params(told, found, common, groups, tap)


def tapped_params(
    told: Definition, found: Matrices, common: CommonConstants, groups: Groups, tap: Words
) -> ContractionParams:
    """The same, given the constants of a tap."""
    split, known = common.split, common.known
    return ContractionParams(
        common.sizes,
        common.walk,
        [step % 2**32 for step in found.left.steps],
        [step % 2**32 for step in found.right.steps],
        common.window,
        known.lists,
        known.activations,
        found.count,
        found.rows,
        found.columns,
        found.depth,
        found.left.depth % 2**32,
        found.right.depth % 2**32,
        split.products,
        split.parts,
        split.down,
        groups.columns,
        told.elements,
        known.scalars,
        tap,
    )
