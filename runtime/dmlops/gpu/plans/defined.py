"""Definitions, as planners are told of them: what their shaders have, and what a description gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .attention import AttentionPass, AttentionViews
from .loops import Words
from .sums import SumsPass
from .told import Sizes, Tensors

MAX_COUNT = 2**31
"""Elements of a tensor, and words of scratch: shaders count them as signed integers."""


class Kept(NamedTuple):
    """An intermediate tensor: `is_real`, its entries are floats; `is_wide`, they are integers of 64 bits."""

    macro: str
    is_real: bool
    is_wide: bool


class Pass(NamedTuple):
    """Pass `number` of the shader.

    `writes` and `reads` have a bit for each intermediate tensor, `outputs` for each tensor that it writes.
    All of them are as large as the first, an intermediate tensor where `writes_kept`, by number. `box_list`
    and `box_tensor`: the list or the tensor with the sizes of the box that it goes through instead, or NONE.
    `is_along`: it is part of a recurrence with those beside it that are, too.
    """

    number: int
    writes_kept: bool
    target: int
    writes: int
    outputs: int
    reads: int
    is_along: bool
    box_list: int
    box_tensor: int


Passes = Annotated[list[Pass], 32]


class ContractedPass(NamedTuple):
    """Pass `number` of the shader, or NONE, works out an output from sums of products; the next one adds up
    sums that were left in parts. Factors and output are tensors by number."""

    number: int
    left: int
    right: int
    output: int


class SlidingPass(NamedTuple):
    """Pass `number` of the shader, or NONE, works out outputs by a fold under a window. Tensor, output and
    weights are tensors by number; there may be no weights, NONE, and `output` is the first of several."""

    number: int
    tensor: int
    output: int
    weights: int


class RowsPass(NamedTuple):
    """Pass `number` of the shader, or NONE, works out all outputs by rows of a tensor, `source`. `read` has a
    bit for each tensor that is read, `single` for those of one element, `each` and `of_rows` for outputs as
    large as that tensor and for those with an entry for each row. `output` is one of the former."""

    number: int
    source: int
    read: int
    single: int
    each: int
    of_rows: int
    output: int


class SeparablePass(NamedTuple):
    """Pass `number` of the shader works out an output from taps along each axis, a sum of them if `is_sum`,
    but for some of their boxes if it `leaves_out` any. Tensor and output are tensors by number."""

    number: int
    tensor: int
    output: int
    is_sum: bool
    leaves_out: bool


class NearbyPass(NamedTuple):
    """Pass `number` of the shader, or NONE, works out an output from sums of the only intermediate tensor
    around each element, in boxes on all dimensions but the first `head`. `output` is a tensor by number."""

    number: int
    output: int
    head: int


class DefinitionShader(NamedTuple):
    """What is the same for all descriptions: intermediate tensors, passes, the macros of further lists,
    and of numbers that bound lists, and faster ways to outputs and intermediate tensors. `float_lists` and
    `float_numbers` have a bit for each list and each number that is told as the bits of floats. `divisors`
    are lists of which the reciprocals are told, too, by number among all: those of tensors come first."""

    kept: Sequence[Kept]
    passes: Sequence[Pass]
    lists: Sequence[str]
    float_lists: int
    divisors: Sequence[int]
    bounds: Sequence[str]
    float_numbers: int
    is_fused: bool
    activations: Sequence[int]
    sliding: SlidingPass
    contracted: ContractedPass
    attention: AttentionPass
    rows: RowsPass
    sums: Sequence[SumsPass]
    separable: Sequence[SeparablePass]
    nearby: NearbyPass


class Activation(NamedTuple):
    """A fused activation: its operator, and the bits of its parameters."""

    kind: int
    parameter0: int
    parameter1: int


class Window(NamedTuple):
    """A box of `sizes` over which the products of a contraction run, too; no sizes where there is none.

    For each of its dimensions, in which the last ones of the factors are read: the output's dimension in
    `axes`, and the coordinates where the output's and the window's are 0 (`first`), where the output's is 1
    (`steps`), and where the window's is 1 (`taps`), of the right factor before they are divided by
    `right_divisors`; what leaves a remainder is no product.
    """

    sizes: Sizes
    groups: int
    axes: Sizes
    left_first: Sizes
    left_taps: Sizes
    right_first: Sizes
    right_steps: Sizes
    right_taps: Sizes
    right_divisors: Sizes


class Frame(NamedTuple):
    """Where places of a window are: in each of its dimensions, the coordinates where the output's and the
    window's are 0 (`first`), where the output's is 1 (`steps`), and where the window's is 1 (`taps`), and the
    sizes of the box that they are in or outside of."""

    first: Sizes
    steps: Sizes
    taps: Sizes
    limits: Sizes


class Sliding(NamedTuple):
    """A window of `sizes` on the last dimensions of a tensor, along those of the output in `axes`; no sizes
    where there is none. `places` has what factors of a contraction have. Of `counted`, the places of the
    window in its box are counted."""

    places: Sizes
    sizes: Sizes
    axes: Sizes
    window: Frame
    counted: Frame


class Factors(NamedTuple):
    """What is read for the products of a contraction, each sum of which has `depth` of them, or so many at
    each place of the window. `applies`: it is one, of floats or of bytes.

    For each dimension of a factor, those of the window apart, the dimension of the output whose coordinate is
    taken, or the output's dimension count where it is the number of the product; more stands for 0. What is
    subtracted from bytes, if anything is (`lessens_left`, `lessens_right`), depends on the coordinates of the
    output in `left_less` and `right_less`.
    """

    applies: bool
    left: Sizes
    right: Sizes
    left_less: Sizes
    right_less: Sizes
    lessens_left: bool
    lessens_right: bool
    depth: int
    window: Window


class Separable(NamedTuple):
    """How many dimensions have taps, and for each pass of them 1 if it applies, else 0."""

    rank: int
    applies: Sizes


class Definition(NamedTuple):
    """What the shader of a definition is told: the sizes of intermediate tensors, and lists and numbers that
    the description alone gives; `elements` are those of a tensor's type, two words each. `is_double`: floats
    are computed in double precision. `reduced`: for each dimension of rows 1 if they run along it, else 0; it
    is empty where they have no statistics. `sums`: for each pass of sums 1 if it applies, else 0.
    `covering`: the sizes of the box around an element whose entries are added up."""

    is_double: bool
    tensors: Tensors
    kept_sizes: Annotated[Sequence[Sizes], 16]
    lists: Annotated[Sequence[Sizes], 16]
    elements: Words
    numbers: Annotated[list[int], 32]
    bounds: Sizes
    activations: Annotated[Sequence[Activation], 8]
    factors: Factors
    sliding: Sliding
    attention: AttentionViews
    reduced: Sizes
    sums: Sizes
    separable: Separable
    covering: Sizes
