"""Definitions of outputs: a dispatch for each intermediate tensor and each output, in order.

All intermediate tensors lie in one scratch buffer. A recurrence takes one dispatch for each step of each of
its tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .attention import (
    AttentionGroups,
    AttentionPass,
    AttentionViews,
    Sources,
    define_attention,
    no_sources,
    places_of,
    settled,
    sources_of,
    sources_split,
    takes_units,
)
from .attention_parts import Parts, define_parts, no_parts, parts_of, words_of
from .loops import (
    Dimensions,
    Loop,
    Words,
    bind,
    ceil_div,
    check_span,
    dimensions,
    element_count,
    grid,
)
from .planning import Planning
from .reasons import Reason
from .sums import SumsPass, SumsTile, at_once, define_sums, is_worth_sharing, no_sums, sums_tile
from .told import NO_MEMBER, NONE, Buffer, Sizes, Tensors
from .tuning import DEFINITION_THREADS
from .types import define_tensor, define_type

MAX_COUNT = 2**31
"""Elements of a tensor, and words of scratch: shaders count them as signed integers."""

MAX_DISPATCHES = 2**18

Eight = Annotated[list[int], 8]
Lists = Annotated[list[int], 512]


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
    bit for each tensor that is read, `each` and `of_rows` for outputs as large as that tensor and for those
    with an entry for each row. `output` is one of the former."""

    number: int
    source: int
    read: int
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
    `float_numbers` have a bit for each list and each number that is told as the bits of floats."""

    kept: Sequence[Kept]
    passes: Sequence[Pass]
    lists: Sequence[str]
    float_lists: int
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


class DefinitionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the tensor that is written"
    lists: Lists
    "which fill two vectors each"
    activations: Annotated[list[int], 32]
    elements: Words
    "of two words each, which must not lie in two vectors"
    count: int  # type: ignore[assignment]  # it hides a method of tuples
    "elements to write"
    first: int
    "the number of the first one"
    groupColumns: int
    "thread groups along x"
    scalars: Words


class Fused(NamedTuple):
    """Fused activations as words, and a bit for each kind of activation that is among them."""

    words: Annotated[list[int], 32]
    kinds: int


class Known(NamedTuple):
    """What the description alone gives: lists, fused activations and numbers, as words of constants."""

    lists: Lists
    activations: Annotated[list[int], 32]
    scalars: Words


class Space(NamedTuple):
    """Where intermediate tensors lie in the scratch buffer: the first word of each, and the words of all."""

    firsts: Words
    words: int


def counted(out: Planning, value: int) -> int:
    """An integer that shaders count with. A limit beyond 31 bits, such as the greatest UINT, is none: they
    count to less."""
    if not -(2**31) <= value < 2**32:
        out.refuse(Reason.LARGE_NUMBER, NO_MEMBER, value)
    return value % 2**32 if value < 2**31 else 2**31 - 1


def eight(out: Planning, entries: Sizes) -> Eight:
    """The words of a list of integers."""
    return padded([counted(out, entry) for entry in entries])


def padded(entries: Sizes) -> Eight:
    """Words, with zeros up to eight."""
    words: Eight = []
    words.extend(entries)
    words.extend([0] * (8 - len(entries)))
    return words


def present(tensors: Tensors) -> int:
    """The tensors that are there, as bits."""
    found = 0
    for place, tensor in enumerate(tensors):
        if tensor.is_present:
            found = found | 1 << place
    return found


def is_needed(one: Pass, there: int, wanted: int) -> bool:
    """Whether a pass writes an output that is there, or one of the intermediate tensors that are wanted."""
    return one.writes & wanted != 0 or one.outputs & there != 0


def needed(tensors: Tensors, shader: DefinitionShader) -> int:
    """The intermediate tensors that lead to outputs, and those written with them, as bits."""
    return leading(list(shader.passes), present(tensors))


def leading(passes: Passes, there: int) -> int:
    """The same of some passes, where tensors are there as bits say."""
    wanted, before = 0, -1
    while before != wanted:  # recurrences read in circles; bits only ever join
        before = wanted
        for one in passes:
            if is_needed(one, there, wanted):
                wanted = wanted | one.reads | one.writes
    return wanted


def passes_with(shader: DefinitionShader, sources: Sources) -> Passes:
    """All passes, where attention reads and writes these tensors of the description: it reads fewer
    intermediate ones, and others do not write what it writes."""
    attention = shader.attention
    read = bit_of(sources.query, attention.query) | bit_of(sources.key, attention.key)
    read = read | bit_of(sources.value, attention.value)
    written = bit_of(sources.output, sources.output) | bit_of(sources.key_stored, sources.key_stored)
    written = written | bit_of(sources.value_stored, sources.value_stored)
    return [through(one, attention, sources, read, written) for one in shader.passes]


def bit_of(source: int, bit: int) -> int:
    """A bit, where there is a source."""
    return 0 if source == NONE else 1 << bit


def through(one: Pass, attention: AttentionPass, sources: Sources, read: int, written: int) -> Pass:
    """A pass, where attention does not read these intermediate tensors, and writes these of the
    description, as bits."""
    attends = one.number == attention.number
    return Pass(
        one.number,
        one.writes_kept,
        one.target,
        0 if attends and sources.output != NONE else one.writes,
        written if attends else one.outputs - (one.outputs & written),
        one.reads - (one.reads & read) if attends else one.reads,
        one.is_along,
        one.box_list,
        one.box_tensor,
    )


def stand_in_of(told: Definition) -> Buffer:
    """What is bound in place of tensors that are absent: the first output that is there."""
    for tensor in told.tensors:
        if tensor.is_output and tensor.is_present:
            return tensor.buffer
    return told.tensors[0].buffer


def space_of(told: Definition, shader: DefinitionShader, wanted: int) -> Space:
    """The place of each intermediate tensor. What no output needs has none; its sizes may make no sense."""
    return space_without(told, shader, wanted, no_sources(), 0)


def space_without(
    told: Definition, shader: DefinitionShader, wanted: int, sources: Sources, copied: int
) -> Space:
    """The same without the rows that attention reads elsewhere, and with copies in halves behind the tensors
    that are `copied`, as bits."""
    firsts: Words = []
    words = 4 if len(shader.sums) > 0 else 0
    for place, kept in enumerate(shader.kept):
        firsts.append(words)
        if wanted >> place & 1 == 1:
            wide = told.is_double if kept.is_real else kept.is_wide
            own = element_count(rows_left(shader, sources, place, told.kept_sizes[place]))
            own = own * (2 if wide else 1)
            if copied >> place & 1 == 1:
                own = own + ceil_div(own, 2)
            words += ceil_div(own, 4) * 4  # so that all begin at whole vectors
    return Space(firsts, words)


def rows_left(shader: DefinitionShader, sources: Sources, kept: int, sizes: Sizes) -> Eight:
    """The sizes of an intermediate tensor, by number, less the rows that attention reads elsewhere."""
    left: Eight = []
    left.extend(sizes)
    if sources.begin > 0 and (kept == shader.attention.key or kept == shader.attention.value):
        left[2] = sizes[2] - sources.begin
    return left


def box_of(told: Definition, one: Pass) -> Sizes:
    """The sizes of what a pass goes through."""
    if one.box_list != NONE:
        return told.lists[one.box_list]
    if one.box_tensor != NONE:
        return told.tensors[one.box_tensor].sizes
    return told.kept_sizes[one.target] if one.writes_kept else told.tensors[one.target].sizes


def lowest(bits: int, is_float: bool, is_signed: bool) -> str:
    """The least value of a data type, as HLSL."""
    if is_float:
        return "asfloat(0xff800000u)"
    if not is_signed:
        return "0"
    if bits < 16:
        return "(-7-1)" if bits == 4 else "(-127-1)"
    return "(-32767-1)" if bits == 16 else "(-2147483647-1)" if bits == 32 else "((int64_t)1<<63)"


def highest(bits: int, is_float: bool, is_signed: bool) -> str:
    """The greatest value of a data type, as HLSL."""
    if is_float:
        return "asfloat(0x7f800000u)"
    if is_signed:
        if bits < 16:
            return "7" if bits == 4 else "127"
        return "32767" if bits == 16 else "2147483647" if bits == 32 else "(~((int64_t)1<<63))"
    if bits < 16:
        return "15" if bits == 4 else "255"
    return "65535" if bits == 16 else "4294967295u" if bits == 32 else "(~(uint64_t)0)"


def tell_tensors(out: Planning, told: Definition, stand_in: Buffer) -> Lists:
    """The macros and resources of tensors, and the words of their sizes and strides."""
    lists: Lists = []
    for tensor in told.tensors:
        define_tensor(out, tensor)
        out.define(f"{tensor.macro}_PRESENT", int(tensor.is_present))
        if tensor.is_limited:
            out.define_text(f"{tensor.macro}_LOWEST", lowest(tensor.bits, tensor.is_float, tensor.is_signed))
            out.define_text(
                f"{tensor.macro}_HIGHEST", highest(tensor.bits, tensor.is_float, tensor.is_signed)
            )
            out.define(f"{tensor.macro}_FLOATS", int(tensor.is_float))
        out.define(f"{tensor.macro}_SIZES_LENGTH", len(tensor.sizes))
        out.define(f"{tensor.macro}_STRIDES_LENGTH", len(tensor.strides))
        if tensor.is_present:
            lists.extend(padded(tensor.sizes))
            lists.extend(padded(tensor.strides))
        else:
            lists.extend([0] * 16)
        bind(out, tensor, tensor.buffer if tensor.is_present else stand_in)
        if tensor.is_present and tensor.is_held:
            out.hold(tensor.buffer)
    return lists


def tell_activations(out: Planning, told: Definition, shader: DefinitionShader) -> Fused:
    """The words of fused activations, and a bit for each kind that is among them."""
    words: Annotated[list[int], 32] = []
    kinds = 0
    for activation in told.activations:
        is_known = False
        for number, kind in enumerate(shader.activations):
            if kind == activation.kind:
                kinds = kinds | 1 << number
                is_known = True
        if not is_known:
            out.refuse(Reason.ACTIVATION, NO_MEMBER, activation.kind)
        words.append(activation.kind)
        words.append(activation.parameter0)
        words.append(activation.parameter1)
        words.append(0)
    while shader.is_fused and len(words) < 4:
        words.append(0)
    return Fused(words, kinds)


def tell_known(
    out: Planning, told: Definition, shader: DefinitionShader, wanted: int, space: Space, stand_in: Buffer
) -> Known:
    """The macros and resources of tensors, and what the description alone gives."""
    define_type(out, "REAL", 64 if told.is_double else 32, True, True)
    lists = tell_tensors(out, told, stand_in)
    for place, kept in enumerate(shader.kept):
        sizes: Eight = []
        if wanted >> place & 1 == 1:
            sizes.extend(told.kept_sizes[place])
        out.define(f"{kept.macro}_SIZES_LENGTH", len(sizes))
        lists.extend(eight(out, sizes))
    for place, bound in enumerate(told.bounds):
        out.define(f"{shader.bounds[place]}_BOUND", bound)
    for place, listed in enumerate(told.lists):
        out.define(f"{shader.lists[place]}_LENGTH", len(listed))
        if shader.float_lists >> place & 1 == 1:
            lists.extend(padded(listed))
        else:
            lists.extend(eight(out, listed))
    fused = tell_activations(out, told, shader)
    if shader.is_fused:
        out.define("ACTIVATION_COUNT", len(fused.words) // 4)
        out.define("ACTIVATION_KINDS", fused.kinds)
    scalars: Words = [counted(out, first) for first in space.firsts]
    for place, number in enumerate(told.numbers):
        scalars.append(number if shader.float_numbers >> place & 1 == 1 else counted(out, number))
    return Known(lists, fused.words, scalars)


def in_place_of(told: Definition, shader: DefinitionShader, one: Pass, wanted: int) -> int:
    """The pass of sums that writes what a pass does, by its place among them, or NONE."""
    for place, sums in enumerate(shader.sums):
        applies = told.sums[place] == 1 and sums.writes | wanted == wanted
        if applies and sums.writes & one.writes != 0:
            sizes = at_once(told.kept_sizes[one.target], one.is_along)
            if is_worth_sharing(sums, told.tensors, told.kept_sizes, sizes):
                return place
    return NONE


def with_sums(told: Definition, shader: DefinitionShader, every: Passes, wanted: int) -> Passes:
    """The passes that lead to outputs, those of sums in place of what they replace, one or several."""
    passes: Passes = []
    there, written = present(told.tensors), 0
    for one in every:
        if is_needed(one, there, wanted):
            place = in_place_of(told, shader, one, wanted)
            if place == NONE:
                passes.append(one)
            elif shader.sums[place].writes & written == 0:
                sums = shader.sums[place]
                written = written | sums.writes
                passes.append(
                    Pass(sums.number, True, one.target, sums.writes, 0, sums.reads, one.is_along, NONE, NONE)
                )
    return passes


def shared_tile(out: Planning, told: Definition, shader: DefinitionShader, one: Pass) -> SumsTile:
    """What groups work out in a pass of sums; nothing in any other."""
    for sums in shader.sums:
        if sums.number == one.number:
            return sums_tile(out, sums, told.tensors, at_once(told.kept_sizes[one.target], one.is_along))
    return no_sums()


def read_in(shader: DefinitionShader, one: Pass, step: int) -> int:
    """The intermediate tensors that a step of a pass reads, as bits: the first one of sums has none."""
    if one.is_along and step == 0:
        for sums in shader.sums:
            if sums.number == one.number:
                return sums.begins
    return one.reads


def kept_halves(out: Planning, told: Definition, shader: DefinitionShader, wanted: int, parts: Parts) -> int:
    """The intermediate tensors that are kept as halves, as bits: what attention by matrix units or by parts
    reads of halves, each written by a pass that writes nothing else. `wanted` are all that lead to
    outputs."""
    halves = 0
    for one in shader.passes:
        if one.number == shader.attention.number and one.writes & wanted != 0:
            shape = box_of(told, one)
            if parts.applies:
                halves = one.reads if parts.vector == 8 else 0
            elif takes_units(out, shader.attention, told.tensors, told.kept_sizes, shape):
                halves = one.reads
    for one in shader.passes:
        if one.writes & halves != 0 and one.writes & halves != one.writes:
            return 0
    return halves


Tiles = Annotated[list[SumsTile], 32]


class Way(NamedTuple):
    """How outputs come about: the passes, each with what its groups have of sums, the intermediate tensors
    that they write, as bits, those that lead
    to outputs by any passes (`led`), those kept as halves, and how attention, if it takes part (`attends`),
    goes about its keys, and what it reads and writes of the description."""

    passes: Passes
    tiles: Tiles
    wanted: int
    led: int
    halves: int
    attends: bool
    parts: Parts
    views: AttentionViews
    sources: Sources


def are_read_elsewhere(shader: DefinitionShader, every: Passes, there: int, wanted: int) -> bool:
    """Whether passes that lead to outputs read the keys or the values of attention, besides that itself."""
    attention = shader.attention
    both = 1 << attention.key | 1 << attention.value
    for one in every:
        if one.number != attention.number and one.reads & both != 0 and is_needed(one, there, wanted):
            return True
    return False


def way_to(out: Planning, told: Definition, shader: DefinitionShader) -> Way:
    """The passes that lead to outputs: attention without copies, sums by groups, where these suit."""
    attention, sources = shader.attention, no_sources()
    there, led = present(told.tensors), needed(told.tensors, shader)
    every: Passes = list(shader.passes)
    wanted, parts, views = led, no_parts(), told.attention
    tensors, kept_sizes = told.tensors, told.kept_sizes
    attends = attention.number != NONE and led >> attention.target & 1 == 1
    if attends:
        views = settled(attention, views, tensors, kept_sizes)
        parts = parts_of(attention, views, tensors, kept_sizes)
    halves = kept_halves(out, told, shader, led, parts)
    if attends:
        vector = 8 if halves != 0 else 4
        plain = sources_of(attention, views, tensors, kept_sizes, vector)
        stores = parts.applies
        sources = sources_split(attention, views, tensors, kept_sizes, plain, vector, True, stores)
        every = passes_with(shader, sources)
        wanted = leading(every, there)
        if sources.begin > 0 and are_read_elsewhere(shader, every, there, wanted):
            sources = sources_split(attention, views, tensors, kept_sizes, plain, vector, False, stores)
            every = passes_with(shader, sources)
            wanted = leading(every, there)
    passes = with_sums(told, shader, every, wanted)
    tiles: Tiles = [shared_tile(out, told, shader, one) for one in passes]
    return Way(passes, tiles, wanted, led, halves, attends, parts, views, sources)


def plan_definition(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """The dispatches; none where every output is absent."""
    out.begin()
    for tensor in told.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    way = way_to(out, told, shader)
    if len(way.passes) == 0:
        return
    copied = 0
    for tile in way.tiles:
        copied = copied | tile.copied
    space = space_without(told, shader, way.wanted, way.sources, copied)
    words = space.words
    if way.attends:
        words += words_of(way.parts, told.kept_sizes[shader.attention.target])
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)

    known = tell_known(out, told, shader, way.led, space, stand_in_of(told))
    lists: Lists = []
    lists.extend(known.lists)
    if way.attends:
        each = 1 if way.halves == 0 else 2
        firsts = space.firsts
        lists.extend(
            places_of(
                shader.attention,
                way.views,
                way.sources,
                told.tensors,
                told.kept_sizes,
                firsts,
                each,
                space.words,
            )
        )
    if len(shader.kept) > 0 or shader.contracted.number != NONE:
        from_zeros = any(one.box_list != NONE or one.box_tensor != NONE for one in way.passes)
        out.write(out.scratch(max(4 * words, 8), from_zeros))
    if shader.attention.number != NONE:
        out.define("HALVES", int(way.halves != 0))
    out.share()
    dispatch_passes(out, told, shader, way, Known(lists, known.activations, known.scalars))


def dispatch_passes(
    out: Planning, told: Definition, shader: DefinitionShader, way: Way, known: Known
) -> None:
    """A dispatch for each pass, in order; those of a recurrence, side by side, for each step in turn, or
    where groups can wait for one another, for the first step and for all others."""
    place = 0
    dispatches = 0
    pending = 0  # intermediate tensors that have been written since the last wait
    while place < len(way.passes):
        end = place + 1
        steps = 1
        goes_on = False
        if way.passes[place].is_along:
            steps = told.kept_sizes[way.passes[place].target][0]
            while end < len(way.passes) and way.passes[end].is_along:
                end += 1
            goes_on = way.tiles[place].waits and end == place + 1 and steps > 2
            if goes_on:
                steps = 2 if way.tiles[place].threads == way.tiles[place].all_threads else 3
        dispatches += steps * (end - place)
        if dispatches > MAX_DISPATCHES:
            out.refuse(Reason.MANY_DISPATCHES, NO_MEMBER, dispatches)
        for step in range(steps):
            for item in range(place, end):
                one = way.passes[item]
                waits = read_in(shader, one, step) & pending != 0
                pending = 0 if waits else pending
                pending = pending | one.writes
                dispatch_defined(out, told, shader, way, known, one, way.tiles[item], step, waits, goes_on)
        place = end


def dispatch_defined(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    way: Way,
    known: Known,
    one: Pass,
    tile: SumsTile,
    step: int,
    waits: bool,
    goes_on: bool,
) -> None:
    """The dispatch of a pass, of a recurrence for one step. If it `goes_on`, step 1 stands for all that
    follow the first one, and step 2 for what groups that waited in vain have left of them to a single one."""
    shape = rows_left(shader, way.sources, one.target if one.writes_kept else NONE, box_of(told, one))
    whole = element_count(shape)
    if whole >= MAX_COUNT:
        out.refuse(Reason.MANY_ELEMENTS, NO_MEMBER, whole)
    count = whole // shape[0] if one.is_along else whole
    if one.number == shader.attention.number:
        dispatch_attention(out, told, shader, way, known, one, count, waits)
        return
    if way.sources.begin > 0 and (
        one.writes >> shader.attention.key & 1 == 1 or one.writes >> shader.attention.value & 1 == 1
    ):
        out.define("LATER", 1)
    threads, in_group = count, DEFINITION_THREADS
    if one.writes & way.halves != 0:
        out.define("HALVING", 1)
        out.define("SCRATCH_VECTOR", 4)
        count = count // 8
        threads = count
    elif tile.threads > 0:
        define_sums(out, tile, goes_on and step > 0)
        threads, in_group = tile.threads if goes_on and step == 2 else tile.all_threads, tile.threads
    if len(shader.sums) > 0:
        out.define("SCRATCH_VECTOR", 4 if tile.units.rows > 0 else 1)
    dispatch_box(out, told, known, one, shape, count, step * count, AttentionGroups(threads, in_group), waits)


def dispatch_attention(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    way: Way,
    known: Known,
    one: Pass,
    count: int,
    waits: bool,
) -> None:
    """The dispatch of attention, and one that joins its parts."""
    attention, tensors, sources, parts = shader.attention, told.tensors, way.sources, way.parts
    sizes = box_of(told, one)
    if not parts.applies:
        groups = define_attention(out, attention, tensors, told.kept_sizes, sizes, way.halves != 0, sources)
        dispatch_box(out, told, known, one, sizes, count, 0, groups, waits)
        return
    finding = define_parts(out, attention, tensors, sizes, sources, parts, False)
    dispatch_box(out, told, known, one, sizes, count, 0, finding, waits)
    if parts.number > 1:
        joining = define_parts(out, attention, tensors, sizes, sources, parts, True)
        dispatch_box(out, told, known, one, sizes, count, 0, joining, True)


def dispatch_box(
    out: Planning,
    told: Definition,
    known: Known,
    one: Pass,
    shape: Sizes,
    count: int,
    first: int,
    threads: AttentionGroups,
    waits: bool,
) -> None:
    """A dispatch for `count` elements of a box from the number `first` on, after the macros that it alone
    has."""
    groups = grid(out, threads.threads, threads.in_group, 1)
    out.define("NUM_THREADS", threads.in_group)
    out.define("PASS", one.number)
    out.define("RANK", len(shape))
    params = DefinitionParams(
        dimensions([Loop(size, []) for size in shape]),
        known.lists,
        known.activations,
        told.elements,
        count,
        first,
        groups.columns,
        known.scalars,
    )
    out.dispatch(params, groups, waits)
