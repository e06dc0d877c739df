"""Memory on a device that is lent out again and again, in size classes.

Small pieces lie side by side in blocks: a driver takes a tenth of a millisecond for an allocation, and a
device may have only some thousands of them. A large piece is a buffer of its own, with the large pages that
drivers give to such.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

from .errors import Unsupported
from .resources import Binding, Buffer

_SMALLEST_CLASS = 256  # the largest alignment of offsets that Vulkan lets a device ask for
_CLASSES_PER_OCTAVE = 4
_BLOCK = 2 << 20  # as large as large pages are
_LARGEST_SHARE = 1 << 18  # of a block, that a piece gets


class Pool:
    """Pieces of buffers that `make` makes of so many bytes; it keeps them until it is closed.

    `allocated` are the bytes of all pieces, those lent out and those kept.
    """

    def __init__(self, make: Callable[[int], Buffer]) -> None:
        self.allocated = 0
        self._make = make
        self._buffers: set[Buffer] = set()
        self._kept: defaultdict[int, deque[Binding]] = defaultdict(deque)
        self._block: Buffer | None = None  # the latest
        self._used = 0  # bytes of it

    def take(self, size: int) -> Binding:
        """A piece of `size` bytes or some more. Raises Unsupported where there is no memory left."""
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
        """A new buffer; where there is no memory left, after freeing those that are kept whole."""
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
    """The bytes to allocate for `size`: less than a quarter more, so that few different sizes are kept."""
    step = max(_SMALLEST_CLASS, (1 << (size - 1).bit_length()) // (2 * _CLASSES_PER_OCTAVE))
    return -(-size // step) * step
