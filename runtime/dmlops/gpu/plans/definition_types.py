"""Definitions as planners get them: what their shaders have, and what depends on the description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .gemm_view import Factors
from .operands import NONE, Movement, Sizes, Tensors

ELEMENTS_PER_THREAD = 4
"""Elements that a thread computes at once, in a vector, where that is possible."""


class Intermediate(NamedTuple):
    """An intermediate tensor: `is_real`, its entries are floats; `is_wide`, they are 64-bit integers."""

    macro: str
    is_real: bool
    is_wide: bool


class Pass(NamedTuple):
    """Pass `number` of the shader.

    `writes` and `reads` have a bit for each intermediate tensor, `outputs` for each tensor that it writes.
    All are as large as the first, `target`: an intermediate tensor if `writes_kept`, by number. `box` is the
    tensor with the sizes of the box that it visits instead, or NONE. `is_along`: it is part of a recurrence,
    together with the adjacent passes that have it set. A thread computes ELEMENTS_PER_THREAD elements along
    dimension `axis`, unless that is NONE.
    """

    number: int
    writes_kept: bool
    target: int
    writes: int
    outputs: int
    reads: int
    is_along: bool
    box: int
    axis: int


Passes = Annotated[list[Pass], 32]


class MapPass(NamedTuple):
    """A map, which computes each element of the last tensor in one dispatch, from others: `over` is the
    number of the tensor whose elements it visits, NONE if there is no map. Of tensors that are `single`, as
    bits, at most the first element is read. `is_gathered`: the second tensor has the indices that select
    elements of the first, which are copied. `is_placed`: the output has the elements visited from a
    coordinate on, `begin`."""

    over: int = NONE
    single: int = 0
    is_gathered: bool = False
    is_placed: bool = False


class ContractionPass(NamedTuple):
    """Pass `number` of the shader, or NONE, computes an output from sums of products; the next one adds up
    partial sums. Factors and output are tensors by number. `ranks`, `lists` and `bounds` have a bit for each
    tensor, list and bound whose macros these passes use."""

    number: int = NONE
    left: int = NONE
    right: int = NONE
    output: int = NONE
    ranks: int = 0
    lists: int = 0
    bounds: int = 0


class SlidingPass(NamedTuple):
    """Pass `number` of the shader, or NONE, computes outputs by a fold over a window. Tensor, output and
    weights are tensors by number; weights are NONE if there are none, and `output` is the first of
    several."""

    number: int = NONE
    tensor: int = NONE
    output: int = NONE
    weights: int = NONE


class AttentionPass(NamedTuple):
    """Pass `number` of the shader is attention; NONE if none is. Queries, keys, values and `target`, the
    result, are intermediate tensors by number."""

    number: int = NONE
    query: int = NONE
    key: int = NONE
    value: int = NONE
    target: int = NONE


class View(NamedTuple):
    """Tensor `tensor` has the entries of an intermediate one of attention, which has a `role`
    (`attention_sources.py`), unless one of the tensors `without` is present, which has a bit for each.
    `batch`, `head` and `row` are its dimensions of these, counted from the last one, that of elements, which
    is 1: with heads there, too, those of one come after the other. `place` is the only coordinate along
    dimension 2, or NONE."""

    role: int
    tensor: int
    without: int
    batch: int
    head: int
    row: int
    place: int


class SumsPass(NamedTuple):
    """The sums of a pass. There are `sums` for each element, of products of `factors`: tensors of the
    description, a bit for each; another one may be an intermediate tensor. With cooperative matrices,
    intermediate tensors in `copied`, as bits, are also written as float16."""

    factors: int
    copied: int
    sums: int


class RowsPass(NamedTuple):
    """Pass `number` of the shader, or NONE, computes all outputs by rows of a tensor, `source`. `read` has a
    bit for each tensor that is read, `single` for those read at 0 only, `each` and `of_rows` for outputs as
    large as that tensor and for those with an entry per row. `words` represent the totals of a row, in the
    type of elements. There may be several `cases`; `choosing` has a bit for each that chooses an element."""

    number: int = NONE
    source: int = NONE
    read: int = 0
    single: int = 0
    each: int = 0
    of_rows: int = 0
    words: int = 0
    cases: int = 0
    choosing: int = 0


class SeparablePass(NamedTuple):
    """Pass `number` of the shader computes an output from taps along each axis: their sum if `is_sum`. Tensor
    and output are tensors by number."""

    number: int
    tensor: int
    output: int
    is_sum: bool


class SparseSumPass(NamedTuple):
    """Passes from `number` on, or NONE, compute an output from sums of selected terms: those that pass tests
    of the coordinates along some dimensions, for which `tested` has a bit each. Dimension `axis` is not
    among them. `output` is a tensor by number."""

    number: int = NONE
    output: int = NONE
    tested: int = 0
    axis: int = NONE


class DefinitionShader(NamedTuple):
    """The constants of a shader, the same for all descriptions: intermediate tensors, passes, the macros of
    further lists, of numbers that bound loops or select code, and faster passes to outputs and intermediate
    tensors. The first of `passes` are those of `sums`. Of `views` with a role, the first one counts whose
    tensor is present. `typed` has a bit for each tensor whose data type is a macro: others have the type of
    one of these. `optional` has a bit for each tensor that may be absent, `sized` for each whose sizes are
    constants, `boxes` for each list of sizes of a box that is visited row by row. `divisors` are the lists
    that come with reciprocals, by number among all lists; those of tensors come first. `writes_vectors`: all
    passes follow the definition, where a thread may compute several elements."""

    kept: Sequence[Intermediate] = ()
    passes: Sequence[Pass] = ()
    typed: int = 0
    optional: int = 0
    sized: int = 0
    lists: Sequence[str] = ()
    boxes: int = 0
    divisors: Sequence[int] = ()
    bounds: Sequence[str] = ()
    writes_vectors: bool = False
    activations: Sequence[int] = ()
    map: MapPass = MapPass()
    sliding: SlidingPass = SlidingPass()
    contraction: ContractionPass = ContractionPass()
    attention: AttentionPass = AttentionPass()
    views: Sequence[View] = ()
    rows: RowsPass = RowsPass()
    sums: Sequence[SumsPass] = ()
    separable: Sequence[SeparablePass] = ()
    sparse_sum: SparseSumPass = SparseSumPass()


class Activation(NamedTuple):
    """A fused activation: its operator, and its parameters as bits."""

    kind: int
    parameter0: int
    parameter1: int


class Window(NamedTuple):
    """A box of `sizes` that moves over all dimensions but the first two of a tensor: the right factor of a
    contraction, whose products also run over it, or what is pooled. There are none without a window. Each of
    the `groups` has its own part of the left factor's first dimension and of the right factor's second.

    For each of its dimensions: the coordinates at output and window coordinate 0 (`first`), and how far they
    move with the output's (`steps`) and with the window's (`taps`). Those of the right factor are still to be
    divided by `right_divisors`; if that leaves a remainder, there is no product.
    """

    sizes: Sizes = ()
    groups: int = 1
    left_first: Sizes = ()
    left_taps: Sizes = ()
    right_first: Sizes = ()
    right_steps: Sizes = ()
    right_taps: Sizes = ()
    right_divisors: Sizes = ()


class Separable(NamedTuple):
    """The rank of the taps, and for each separable pass 1 if it applies, else 0."""

    rank: int = 0
    applies: Sizes = ()


class Rows(NamedTuple):
    """`reduced`: for each dimension 1 if rows run along it, else 0; without statistics, they may run along
    any. `function` selects what is computed of each."""

    reduced: Sizes = ()
    function: int = 0


class Definition(NamedTuple):
    """The planner's input for a definition: the sizes of intermediate tensors, and the lists and numbers that
    depend only on the description, floats as signed integers with their bits; `elements` are numbers of a
    tensor's type, two words each. A map computes integers of tensors that are `widened`, as bits, in double
    precision; its `movement` is that of what is gathered, and it stores elements from the coordinate `begin`
    on. `past`: the rows of keys and values of attention that are those of an earlier call. `sums`: for each
    pass of sums 1 if it applies, else 0. `terms`: the sizes of the box of terms of which some are
    selected."""

    tensors: Tensors
    kept_sizes: Annotated[Sequence[Sizes], 16] = ()
    lists: Annotated[Sequence[Sizes], 16] = ()
    elements: Annotated[Sequence[int], 64] = ()
    numbers: Annotated[Sequence[int], 32] = ()
    bounds: Annotated[Sequence[int], 32] = ()
    activations: Annotated[Sequence[Activation], 8] = ()
    widened: int = 0
    movement: Movement = Movement()
    begin: Sizes = ()
    factors: Factors = Factors()
    window: Window = Window()
    past: int = 0
    rows: Rows = Rows()
    sums: Sizes = ()
    separable: Separable = Separable()
    terms: Sizes = ()
