"""Top-k on a GPU: the first elements of each tile as a run, and pairs of runs merged until a line has one."""

from __future__ import annotations

import struct
from math import prod

from ..kernels.top_k import TopK
from .lines import Loop, across, packed
from .types import check_span, tensor_defines
from .work import Dispatch, Work, grid

Buffers = tuple[str, str]

FEW = 64  # elements wanted, for which small tiles are faster; measured, see bench/gpu.py
SMALL_TILE, LARGE_TILE = 512, 1024  # the second takes 12 KiB with keys of 64 bits; every device has 16


def work(computation: TopK) -> Work:
    """A dispatch that sorts, and one more whenever the number of runs is halved."""
    desc, axis, wanted = computation.desc, computation.axis, computation.count
    members = (computation.input, computation.output, computation.indices)
    source, values, indices = tensors = [getattr(desc, member) for member in members]
    for member, tensor in zip(members, tensors, strict=True):
        check_span(member, tensor)
    length = source.Sizes[axis]
    loops = across(source.Sizes, axis, [tensor.element_strides for tensor in tensors])
    lines = prod(size for size, _ in loops)
    steps = tuple(tensor.element_strides[axis] for tensor in tensors)
    max_tile = SMALL_TILE if wanted <= FEW else LARGE_TILE
    tile, num_threads = min(_power_of_two(length), max_tile), max_tile // 2
    bits = source.DataType.bits
    defines: dict[str, int | str] = {
        "LARGEST": int(computation.largest),
        "KEY": "uint64_t" if bits == 64 else "uint",
        "SIGN": "uif".index(source.DataType.numpy.kind),
        "TILE": tile,
        "RUN": _power_of_two(min(wanted, tile)),
        "NUM_THREADS": num_threads,
        **tensor_defines("INPUT", source.DataType, moves=True),
        **tensor_defines("OUTPUT_VALUE", values.DataType, moves=True),
        **tensor_defines("OUTPUT_INDEX", indices.DataType),
    }

    runs, kept, span = -(-length // tile), min(wanted, tile), tile
    sizes: dict[str, int] = {}
    dispatches: list[Dispatch] = []

    def dispatch(
        merges: bool, loops: list[Loop], count: int, reads: Buffers, source_run: tuple[int, int, int]
    ) -> Buffers:
        """Adds a dispatch; the scratch buffers that it writes."""
        last = runs == 1
        writes = reads if last else (f"keys{len(dispatches) % 2}", f"places{len(dispatches) % 2}")
        if not last:
            for name, size in zip(writes, (8 if bits == 64 else 4, 4), strict=True):
                sizes[name] = max(sizes.get(name, 0), lines * runs * kept * size)
        groups = grid(count, num_threads if merges else 2 * num_threads)
        constants = struct.pack("<12I", count, groups[0], length, kept, *source_run, *steps, 0, 0)
        macros = {**defines, "MERGES": int(merges), "LAST": int(last), "RANK": len(loops)}
        buffers = (computation.input, *reads, computation.output, computation.indices, *writes)
        dispatches.append(Dispatch(macros, buffers, constants + packed(loops), groups))
        return writes

    tiles: list[Loop] = [] if runs == 1 else [(runs, (tile * steps[0], 0, 0))]
    # What a dispatch neither reads nor writes, the input stands in for.
    unused = (computation.input, computation.input)
    written = dispatch(False, [*loops, *tiles], lines * runs * tile, unused, (0, 0, 0))
    while runs > 1:
        source_run = (runs, kept, span)
        count = lines * runs * kept
        runs, kept, span = -(-runs // 2), min(wanted, 2 * span), 2 * span
        written = dispatch(True, loops, count, written, source_run)
    return Work(tuple(dispatches), sizes)


def _power_of_two(number: int) -> int:
    """The least power of 2 that is not below a number, 2 or more."""
    return max(2, 1 << (number - 1).bit_length())
