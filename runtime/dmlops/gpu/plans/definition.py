"""Definitions of outputs: a dispatch for each intermediate tensor and each output, in order.

All intermediate tensors share one scratch buffer. A recurrence takes one dispatch per step of each of its
tensors.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .attention import combining_split, define_attention, words_of_parts
from .attention_sources import places_of
from .common_bindings import bind_common, define_numbers, eight
from .contraction import plan_products
from .definition_types import ELEMENTS_PER_THREAD, Definition, DefinitionShader, Pass, SeparablePass
from .gemm_view import Contraction
from .implicit_gemm import plan_convolutions
from .loops import (
    MAX_COUNT,
    SATURATING_THREADS,
    CommonConstants,
    Dimensions,
    Lists,
    Words,
    aligned_vector,
    ceil_div,
    element_count,
    extents,
    grid,
    in_digits,
    outermost_first,
    power_below,
    times,
)
from .map import plan_map
from .operands import NO_MEMBER, NONE, Eight, Sizes, Threads
from .pass_selection import PassSelection, box_of, select_passes, shape_of_threads
from .planning import Planning
from .reasons import Reason
from .rows import plan_rows
from .scratch import space_of
from .separable import define_separable
from .sliding import plan_pooling
from .sparse_sum import BLOCK_WORDS, SPARSE_SUM_ELEMENTS, table_of_terms
from .sums import define_sums
from .tensors import are_native, check_span, is_double

DEFINITION_THREADS = 256  # NVIDIA H200: 32 at 0.17 to 1.0, 64 at 0.33 to 1.0, 128 at 0.63 to 1.02
"threads in a group, for passes that follow a definition literally"

MAX_DISPATCHES = 2**18


class DefinitionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the tensor written"
    known: CommonConstants
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements to write"
    first: int
    "the number of the first one"
    groupColumns: int
    "thread groups along x"


def plan_definition(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """The dispatches, of a faster form if one applies; none if every output is absent."""
    if shader.map.over != NONE:
        plan_map(out, op, shader)
        return
    out.begin()
    for tensor in op.tensors:
        if tensor.is_present:
            check_span(out, tensor)
            if tensor.is_output:
                check_count(out, tensor.sizes)
    known = bind_common(out, op, op.tensors, shader)
    define_numbers(out, op, shader, True)
    is_native = are_native(op.tensors)
    if is_native and shader.contraction.number != NONE and plan_contraction(out, op, shader, known):
        return
    define_numbers(out, op, shader, False)
    pools = is_native and shader.sliding.number != NONE and shader.contraction.number == NONE
    if shader.rows.number != NONE:
        plan_rows(out, op, shader, known)
    elif not pools or not plan_pooling(out, op, shader, known):
        plan_passes(out, op, shader, known)


def check_count(out: Planning, sizes: Sizes) -> None:
    """Rejects a tensor with more elements than shaders count."""
    count = element_count(sizes)
    if count >= MAX_COUNT:
        out.refuse(Reason.MANY_ELEMENTS, NO_MEMBER, count)


def plan_contraction(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> bool:
    """The passes of a contraction in place of all of the definition's; false if those are as good."""
    if is_double(op.tensors):
        return False
    one, tensors = shader.contraction, op.tensors
    left, right, output = tensors[one.left], tensors[one.right], tensors[one.output]
    contraction = Contraction(one.number, left, right, output, op.factors, known)
    if len(op.window.sizes) > 0:
        return plan_convolutions(out, op, shader, contraction)
    return plan_products(out, contraction)


def plan_passes(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> None:
    """The definition's own passes."""
    chosen = select_passes(out, op, shader)
    if len(chosen.passes) == 0:
        return
    copied, groups = 0, 0
    for tile in chosen.tiles:
        copied = copied | tile.copied
        groups = max(groups, tile.groups)
    space = space_of(op, shader, chosen.wanted, copied)
    words = space.words
    if shader.attention.number != NONE:
        words += words_of_parts(chosen.split, op.kept_sizes[shader.attention.target])
    table = table_of_terms(op, shader)
    first_of_table = words
    words += BLOCK_WORDS * element_count(table)
    first_of_counters = words
    words += ceil_div(groups * len(shader.sums), 4) * 4  # in which they count the steps of a recurrence
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)

    lists: Lists = []
    lists.extend(known.lists)
    for place, kept in enumerate(shader.kept):
        sizes: Eight = []
        if chosen.led >> place & 1 == 1:
            sizes.extend(op.kept_sizes[place])
        out.define(f"{kept.macro}_RANK", len(sizes))
        lists.extend(eight(out, sizes))
    scalars: Words = []
    scalars.extend(space.firsts)
    if len(shader.sums) > 0:
        scalars.append(first_of_counters)
    if shader.sparse_sum.number != NONE:
        scalars.append(first_of_table)
    if shader.attention.number != NONE:
        lists.extend(places_of(op, shader, chosen.sources, space.firsts))
        scalars.extend([op.past, space.words])
    scalars.extend(known.scalars)
    if len(shader.kept) > 0 or shader.contraction.number != NONE:
        if any(one.box != NONE for one in shader.passes):
            out.define("SEARCHED", int(chosen.wanted == 0))
        from_zeros = any(one.box != NONE for one in chosen.passes)
        out.write(out.scratch(max(4 * words, 8), from_zeros))
    for one in chosen.passes:
        if one.axis != NONE:
            out.define("ELEMENTS_PER_THREAD", ELEMENTS_PER_THREAD)
    out.share()
    dispatch_passes(
        out, op, shader, chosen, CommonConstants(lists, known.activations, known.elements, scalars)
    )


def dispatch_passes(
    out: Planning, op: Definition, shader: DefinitionShader, chosen: PassSelection, known: CommonConstants
) -> None:
    """A dispatch for each pass, in order. Those of a recurrence alternate, one dispatch per step each."""
    place = 0
    dispatches = 0
    pending = 0  # intermediate tensors written since the last barrier
    while place < len(chosen.passes):
        end = place + 1
        steps = 1
        if chosen.passes[place].is_along:
            steps = op.kept_sizes[chosen.passes[place].target][0]
            while end < len(chosen.passes) and chosen.passes[end].is_along:
                end += 1
        dispatches += steps * (end - place)
        if dispatches > MAX_DISPATCHES:
            out.refuse(Reason.MANY_DISPATCHES, NO_MEMBER, dispatches)
        for step in range(steps):
            for item in range(place, end):
                one = chosen.passes[item]
                read = one.reads
                if one.is_along and item < len(chosen.tiles):
                    # The first step of sums reads none, later ones also the count of steps, which is written
                    # along with tensors.
                    read = 0 if step == 0 else one.reads | one.writes
                waits = read & pending != 0
                pending = 0 if waits else pending
                pending = pending | one.writes
                dispatch_defined(out, op, shader, chosen, known, item, step, waits)
        place = end


def dispatch_defined(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    chosen: PassSelection,
    known: CommonConstants,
    item: int,
    step: int,
    waits: bool,
) -> None:
    """The dispatches of a chosen pass, by its kind: of one step if it is recurrent."""
    one = chosen.passes[item]
    shape = box_of(op, one)
    check_count(out, shape)
    if one.number == shader.attention.number:
        dispatch_attention(out, op, shader, chosen, known, one, waits)
        return
    if chosen.separable != NONE:
        dispatch_separable(out, op, shader.separable[chosen.separable], known, one)
        return
    table = table_of_terms(op, shader)
    if element_count(table) > 0 and one.outputs == 1 << shader.sparse_sum.output:
        dispatch_sparse_sum(out, op, shader, known, table, one, waits)
        return
    each = elements_of_thread(op, shader, one, shape)
    if one.axis != NONE:
        shape = shape_of_threads(shape, one.axis, ELEMENTS_PER_THREAD)
    if shader.writes_vectors:
        out.define("VECTOR", each)
    count = element_count(shape) // (shape[0] if one.is_along else each)
    threads = Threads(count, DEFINITION_THREADS)
    if item < len(chosen.tiles):
        step = min(step, 1)  # groups count later ones, which have the same constants
        tile = chosen.tiles[item]
        define_sums(out, tile)
        threads = Threads(times(tile.groups, tile.threads), tile.threads)
    dispatch_box(out, op, known, one, shape, count, step * count, threads, waits)


def elements_of_thread(op: Definition, shader: DefinitionShader, one: Pass, shape: Sizes) -> int:
    """The elements that threads of a pass compute each, adjacent in memory: there must be enough of them. A
    pass that scatters is faster with one: neighboring threads then write to neighboring places. Steps of a
    recurrence are counted in threads, and may have an odd number of elements, so theirs compute one, too."""
    if not shader.writes_vectors or one.box != NONE or one.is_along:
        return 1
    order = outermost_first(shape, order_of(op, one, shape))
    inner = order[-1]
    if not one.writes_kept and op.tensors[one.target].bits == 8:  # bytes are written in fours
        return aligned_vector(op.tensors[one.target], inner)
    width = gcd(2, shape[inner]) if one.writes_kept else aligned_vector(op.tensors[one.target], inner)
    while width > 1 and width * SATURATING_THREADS > element_count(shape):
        width = width // 2
    return width


def order_of(op: Definition, one: Pass, shape: Sizes) -> Eight:
    """The strides that order what a pass visits: zeros keep the order of its dimensions."""
    if one.writes_kept or one.box != NONE:
        return [0 for _ in range(len(shape))]
    return list(op.tensors[one.target].strides)


def dispatch_attention(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    chosen: PassSelection,
    known: CommonConstants,
    one: Pass,
    waits: bool,
) -> None:
    """The dispatch of attention, and one that combines its parts."""
    split, sizes, query = chosen.split, box_of(op, one), op.kept_sizes[shader.attention.query]
    count = element_count(sizes)
    threads = define_attention(out, query, sizes[3], split, chosen.sources)
    dispatch_box(out, op, known, one, sizes, count, 0, threads, waits)
    if split.keys > 0:
        out.define("COMBINE", 1)
        joint = combining_split(sizes[3], split)
        combining = define_attention(out, query, sizes[3], joint, chosen.sources)
        dispatch_box(out, op, known, one, sizes, count, 0, combining, True)


def dispatch_separable(
    out: Planning, op: Definition, separable: SeparablePass, known: CommonConstants, one: Pass
) -> None:
    """The dispatch of an output, by taps along each axis, in place of pass `one`."""
    threads = define_separable(out, separable, op.tensors)
    sizes = op.tensors[separable.output].sizes
    tabulating = one._replace(number=separable.number)
    dispatch_box(out, op, known, tabulating, sizes, element_count(sizes), 0, threads, False)


def dispatch_sparse_sum(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    known: CommonConstants,
    table: Eight,
    one: Pass,
    waits: bool,
) -> None:
    """The dispatches of an output in place of pass `one`: one that finds the terms, one that sums them."""
    sparse_sum = shader.sparse_sum
    finding = one._replace(number=sparse_sum.number, writes_kept=True)  # a table, in scratch
    count = element_count(table)
    threads = Threads(times(count, DEFINITION_THREADS), DEFINITION_THREADS)
    dispatch_box(out, op, known, finding, table, count, 0, threads, waits)
    sizes = op.tensors[sparse_sum.output].sizes
    each = power_below(sizes[sparse_sum.axis], SPARSE_SUM_ELEMENTS)
    shape = shape_of_threads(sizes, sparse_sum.axis, each)
    count = element_count(shape)
    out.define("ELEMENTS_PER_THREAD", each)
    summing = one._replace(number=sparse_sum.number + 1)
    dispatch_box(out, op, known, summing, shape, count, 0, Threads(count, DEFINITION_THREADS), True)


def dispatch_box(
    out: Planning,
    op: Definition,
    known: CommonConstants,
    one: Pass,
    shape: Sizes,
    count: int,
    first: int,
    threads: Threads,
    waits: bool,
) -> None:
    """A dispatch for `count` elements of a box from number `first` on, after its own macros. Elements of an
    output are numbered in memory order."""
    groups = grid(out, threads.threads, threads.in_group, 1)
    out.define("NUM_THREADS", threads.in_group)
    out.define("PASS", one.number)
    out.define("RANK", len(shape))
    out.define("DIMENSION_ORDER", in_digits(outermost_first(shape, order_of(op, one, shape))))
    params = DefinitionParams(
        extents(shape),
        known,
        count,
        first,
        groups.columns,
    )
    out.dispatch(params, groups, waits)
