"""A pool of device memory, in size classes.

Small pieces are suballocated from blocks: a driver takes a tenth of a millisecond for an allocation, and a
device may only have some thousands of them. A large piece is a separate buffer, for which drivers use large
pages.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

from .errors import Unsupported
from .resources import Binding, Buffer

_SMALLEST_CLASS = 256  # the largest offset alignment that Vulkan lets a device require
_CLASSES_PER_OCTAVE = 4
_BLOCK = 2 << 20  # the size of large pages
_LARGEST_SHARE = 1 << 18  # of a block, for one piece


class Pool:
    """Pieces of buffers, which are created by `make`, given their size in bytes, and kept until the pool is
    closed.

    `allocated` is the total size of all pieces in bytes, both in use and free.
    """

    def __init__(self, make: Callable[[int], Buffer]) -> None:
        self.allocated = 0
        self._make = make
        self._buffers: set[Buffer] = set()
        self._kept: defaultdict[int, deque[Binding]] = defaultdict(deque)
        self._block: Buffer | None = None  # the latest
        self._used = 0  # bytes of it

    def take(self, size: int) -> Binding:
        """A piece of at least `size` bytes. Raises Unsupported if no memory is left."""
        wanted = size_class(size)
        kept = self._kept[wanted]
        return kept.popleft() if kept else self._new(wanted)

    def give_back(self, piece: Binding) -> None:
        self._kept[piece.size].append(piece)

    def close(self) -> None:
        """Frees all memory."""
        for buffer in self._buffers:
            buffer.close()
        self.allocated = 0
        self._buffers.clear()
        self._kept.clear()
        self._block = None

    def _new(self, size: int) -> Binding:
        if size > _LARGEST_SHARE:
            piece = Binding(self._buffer(size), 0, size)
        else:
            if self._block is None or self._used + size > _BLOCK:
                self._block, self._used = self._buffer(_BLOCK), 0
            piece = Binding(self._block, self._used, size)
            self._used += size
        self.allocated += size
        return piece

    def _buffer(self, size: int) -> Buffer:
        """A new buffer; if no memory is left, free buffers are released first."""
        try:
            made = self._make(size)
        except Unsupported:
            self._free_kept()
            made = self._make(size)
        self._buffers.add(made)
        return made

    def _free_kept(self) -> None:
        for size, kept in self._kept.items():
            if size > _LARGEST_SHARE:
                for piece in kept:
                    piece.buffer.close()
                    self._buffers.remove(piece.buffer)
                self.allocated -= size * len(kept)
                kept.clear()


def size_class(size: int) -> int:
    """The bytes to allocate for `size`: less than a quarter more, so that there are few size classes."""
    step = max(_SMALLEST_CLASS, (1 << (size - 1).bit_length()) // (2 * _CLASSES_PER_OCTAVE))
    return -(-size // step) * step
