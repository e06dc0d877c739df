"""Random bits: each thread generates the block of one counter."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Dimensions, Loop, ceil_div, dimensions, element_count, grid, merged_in_order
from .operands import Tensor
from .planning import Planning
from .tensors import bind, check_span

PHILOX_THREADS = 256  # NVIDIA H200: 64 at 0.53, 128 at 0.99, 512 at 0.99
"threads in a group"

WORDS = 4  # of a block: the random bits of one counter


class Philox(NamedTuple):
    """The planner's input."""

    state: Tensor
    output: Tensor
    next_state: Tensor


class PhiloxParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of the output"
    groupColumns: int
    "thread groups along x"
    blocks: int
    "counters, each for four elements"
    inputStateStride: int
    outputStateGiven: int
    "1 if there is a next state to write, else 0"
    outputStateStride: int
    dimensions: Annotated[Dimensions, "RANK", "output"]
    "outermost first"


def plan_philox(out: Planning, op: Philox) -> None:
    """The one dispatch, which also writes the next state."""
    check_span(out, op.output)
    count = element_count(op.output.sizes)
    blocks = ceil_div(count, WORDS)
    loops = merged_in_order(
        [Loop(size, [stride]) for size, stride in zip(op.output.sizes, op.output.strides, strict=True)]
    )
    groups = grid(out, blocks, PHILOX_THREADS, 1)
    out.define("RANK", len(loops))
    out.define("NUM_THREADS", PHILOX_THREADS)
    following = op.next_state
    bind(out, op.state)
    bind(out, op.output)
    bind(out, following)
    params = PhiloxParams(
        count,
        groups.columns,
        blocks,
        op.state.strides[-1],
        int(following.is_present),
        following.strides[-1] if following.is_present else 0,
        dimensions(loops),
    )
    out.dispatch(params, groups, False)
