"""Scatters: first which update each element gets, then all elements."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Dimensions, Loop, Words, dimensions, grid, merged_in_order, repeats, times
from .operands import Lookups, Movement, Tensor
from .planning import Planning
from .runs import in_runs, lookups_in_runs, lookups_of, run_of, stride_of
from .tensors import take_tensors

SCATTER_THREADS = 256  # NVIDIA H200: 64 at 0.50 to 0.81, 128 at 0.91 to 1.01, 512 at 0.97, 1024 at 0.93
"threads in a group"
SCATTER_FEW = 32  # NVIDIA H200: 1.2 to 1.7 times as fast with 64 or more, with 4 at 0.4 to 1.2
"output elements per update from which those without updates are just copied"
SCATTER_ALONE = 4096  # NVIDIA H200: 1.2 to 3.8 times as fast, with 8192 elements 0.74 to 1.3
"elements, or runs of them, up to which one group does everything, with a word of shared memory for each"
SCATTER_ALONE_THREADS = 512  # NVIDIA H200: 256 at 0.65 to 1.00, 1024 (not on all devices) at 0.98 to 1.32
"threads in that group"

FORGET = 0  # stages of the shader
CHOOSE = 1
COPY = 2
WRITE_ALL = 3
WRITE_CHOSEN = 4
DO_ALL = 5

INPUT = 0  # the strides of a loop, in the order of the tensors
UPDATES = 2


class Scatter(NamedTuple):
    """The planner's input; the movement is that of an update into the output."""

    input: Tensor
    indices: Tensor
    updates: Tensor
    output: Tensor
    movement: Movement


class ScatterParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of the output if a dispatch writes or copies them all, else of the updates"
    groupColumns: int
    "thread groups along x"
    updateCount: int
    dimensions: Annotated[Dimensions, "RANK", "input", "indices", "updates", "output"]
    "of the output, outermost first"
    updatesDimensions: Annotated[Dimensions, "UPDATES_RANK", "input", "indices", "updates", "output"]
    lookups: Annotated[Lookups, "LOOKUPS"]


def stages_of(is_alone: bool, are_few: bool) -> Words:
    """The stages, each of which takes a dispatch."""
    if is_alone:
        return [DO_ALL]
    if are_few:
        return [FORGET, CHOOSE, COPY, WRITE_CHOSEN]
    return [CHOOSE, WRITE_ALL]


def plan_scatter(out: Planning, op: Scatter) -> None:
    """Chooses the last update of each element, and writes all elements.

    If updates are few, all elements are copied first, so that only the targets of updates are touched
    besides; if elements are few, one thread group does everything. Runs of elements that are moved together
    are treated as one.
    """
    movement, steps, strides = op.movement, op.indices.strides, op.output.strides
    lookups = lookups_of(movement, op.output, op.indices)
    outputs = merged_in_order(
        [
            Loop(size, [op.input.strides[place], 0, 0, op.output.strides[place]])
            for place, size in enumerate(op.output.sizes)
        ]
    )
    updates = merged_in_order(
        [
            Loop(
                size,
                [
                    0,
                    stride_of(movement.picked, steps, place + 1),
                    op.updates.strides[place],
                    stride_of(movement.moved, strides, place + 1),
                ],
            )
            for place, size in enumerate(op.updates.sizes)
        ]
    )
    run = run_of(128 // op.output.bits, outputs, INPUT, lookups)
    run = run_of(run, updates, UPDATES, lookups)
    outputs, updates = in_runs(outputs, run), in_runs(updates, run)
    lookups = lookups_in_runs(lookups, run)
    span = 1
    for loop in outputs:
        span += (loop.size - 1) * loop.strides[-1]
    out.define("RANK", len(outputs))
    out.define("UPDATES_RANK", len(updates))
    out.define("LOOKUPS", len(lookups))
    take_tensors(out, [op.input, op.indices, op.updates, op.output], run)
    updated, all_elements = repeats(updates), repeats(outputs)
    is_alone = max(span, updated) <= SCATTER_ALONE
    are_few = not is_alone and times(updated, SCATTER_FEW) <= all_elements
    out.write(out.scratch(4 if is_alone else 4 * span, not (is_alone or are_few)))
    out.share()
    output_dimensions, update_dimensions = dimensions(outputs), dimensions(updates)
    for place, stage in enumerate(stages_of(is_alone, are_few)):
        count = updated if stage <= CHOOSE or stage == WRITE_CHOSEN else all_elements
        in_group = SCATTER_ALONE_THREADS if is_alone else SCATTER_THREADS
        groups = grid(out, in_group if is_alone else count, in_group, 1)
        out.define("STAGE", stage)
        out.define("NUM_THREADS", in_group)
        if is_alone:
            out.define("CHOSEN", SCATTER_ALONE)
        params = ScatterParams(count, groups.columns, updated, output_dimensions, update_dimensions, lookups)
        out.dispatch(params, groups, place % 2 == 1)  # what is cleared, or chosen, is used next
