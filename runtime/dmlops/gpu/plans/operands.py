"""Operands of planners: a description's tensors and movements. Sizes and strides are in elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

SCRATCH = -1
"""In place of a member: a scratch buffer."""

PLACEHOLDER = -2
"""In place of a member: the shader does not access the resource, so planning binds a buffer that the dispatch
accesses in the same way, to read or to write."""

NO_MEMBER = -1

NONE = -1
"""In place of the number of a tensor, a pass or a dimension."""


class Buffer(NamedTuple):
    """A buffer: a member's tensor, by its place in the struct, and its entry if it is an array, or scratch,
    or a placeholder."""

    member: int
    entry: int


class Groups(NamedTuple):
    """Thread groups along x and y."""

    columns: int
    rows: int


WAVE = 32
"""Threads of a wave with cooperative matrices."""


class Threads(NamedTuple):
    """All threads of a dispatch, and those in a group."""

    threads: int
    in_group: int


MAX_RANK = 8
"""Dimensions of a tensor."""

Sizes = Annotated[Sequence[int], MAX_RANK]
Eight = Annotated[list[int], MAX_RANK]


class Tensor(NamedTuple):
    """A tensor of a shader; its macros start with `macro`.

    `is_present`: it is there; if not, its buffer is a placeholder. `type_name` is its data type, `bits` are
    those of an element. `is_native`: casts in HLSL convert elements to the type that they are computed in.
    `as_bits`: elements are treated as raw bits. `is_output`: it is written. `is_held`: an output whose old
    content is read.
    """

    macro: str
    buffer: Buffer
    is_present: bool
    type_name: str
    bits: int
    is_float: bool
    is_signed: bool
    is_native: bool
    as_bits: bool
    is_output: bool
    is_held: bool
    sizes: Sizes
    strides: Sizes


Tensors = Annotated[Sequence[Tensor], 16]


def is_float16(tensor: Tensor) -> bool:
    """Whether cooperative matrices take it as a factor."""
    return tensor.bits == 16 and tensor.is_float and tensor.is_native


class Lookup(NamedTuple):
    """An index to look up."""

    size: int
    "of the dimension that the index selects from"
    stride: int
    "how far a unit of it moves the element that is accessed"
    offset: int
    "the place of the index, from that of the first one"


Lookups = Annotated[Sequence[Lookup], 8]


class Movement(NamedTuple):
    """How indices move elements. `moved` has an entry for each dimension of the tensor that is moved: d + 1
    if its coordinate is the one visited in dimension d, -1 - n if index number n selects it, 0 if it is 0.
    `picked` has the same for the tensor of indices, with -1 for the dimension along which these are numbered,
    if there is one."""

    moved: Sizes = ()
    picked: Sizes = ()
