"""Quantized numbers, with a scale and a zero point."""

from __future__ import annotations

from math import prod
from typing import Any

from dmlops import Description, TensorDesc, make
from random_shapes.draw import BYTES, CODED, FLOATS, Draw
from random_shapes.images import pooled_window

CODES = ("INT8", "UINT8", "INT4", "UINT4")


def quantizing(draw: Draw) -> Description:
    rank = draw.randint(1, 8)
    sizes = draw.sizes(rank, 513 if rank < 4 else 33)
    shared = draw.choice((range(rank), [axis for axis in range(rank) if draw.maybe(0.6)]))
    kind, has_zero = draw.choice(FLOATS), draw.maybe()
    match draw.randrange(7):
        case 0:
            of, code = draw.choice((*FLOATS, "INT32")), draw.choice(BYTES)
            return make.element_wise_quantize_linear(
                draw.tensor(of, sizes),
                draw.tensor("FLOAT32" if of == "INT32" else of, sizes, shared),
                draw.tensor(code, sizes, shared) if has_zero else None,
                OutputTensor=draw.tensor(code, sizes),
            )
        case 1:
            code = draw.choice(CODED)
            return make.element_wise_dequantize_linear(
                draw.tensor(code, sizes),
                draw.tensor(kind, sizes, shared),
                draw.tensor(code, sizes, shared) if has_zero else None,
                OutputTensor=draw.tensor(kind, sizes),
            )
        case 2:
            return blocks(draw, make.quantize, kind, draw.choice(CODES))
        case 3:
            code = draw.choice(CODES)
            return blocks(draw, make.dequantize, code, kind)
        case 4:
            code = draw.choice(BYTES)
            return make.dynamic_quantize_linear(
                draw.tensor(kind, sizes),
                OutputTensor=draw.tensor(code, sizes),
                OutputScaleTensor="FLOAT32",
                OutputZeroPointTensor=code,
            )
        case 5:
            return sums(draw, sizes)
    return averages(draw)


def blocks(draw: Draw, function: Any, kind: str, written: str) -> Description:
    """With one scale, and perhaps one zero point, for each block."""
    counts = [draw.choice((1, 1, 2, 3, 5, 16)) for _ in range(draw.randint(1, 5))]
    lengths = [draw.choice((1, 2, 3, 8, 16, 33, 64)) for _ in counts]
    while prod(counts) * prod(lengths) > 1 << 18:
        lengths[draw.randrange(len(lengths))] = 1
    sizes = [count * length for count, length in zip(counts, lengths, strict=True)]
    scale, code = (kind, written) if function is make.quantize else (written, kind)
    parameters = [draw.tensor(scale, counts)]
    if draw.maybe():
        parameters.append(draw.tensor(code, counts))
    return function(
        draw.tensor(kind, sizes),
        parameters,
        QuantizationType="SCALE" if len(parameters) == 1 else "SCALE_ZERO_POINT",
        OutputTensor=draw.tensor(written, sizes),
    )


def sums(draw: Draw, sizes: list[int]) -> Description:
    one = [1] * len(sizes)
    kinds = [draw.choice(BYTES) for _ in range(3)]
    zeros = [TensorDesc(kind, one) if draw.maybe() else None for kind in kinds]
    scale = TensorDesc("FLOAT32", one)
    return make.element_wise_quantized_linear_add(
        draw.tensor(kinds[0], sizes), scale, draw.tensor(kinds[1], sizes), scale, scale, *zeros,
        OutputTensor=draw.tensor(kinds[2], sizes),
    )  # fmt: skip


def averages(draw: Draw) -> Description:
    images, members = pooled_window(draw)
    channels, kinds = draw.size(40), (draw.choice(BYTES), draw.choice(BYTES))
    each = draw.choice(([1], [channels], [1, channels, 1, 1]))
    zeros = [TensorDesc(kind, each) if draw.maybe() else None for kind in kinds]
    return make.quantized_linear_average_pooling(
        draw.tensor(kinds[0], [draw.choice((1, 2)), channels, *images]),
        TensorDesc("FLOAT32", each),
        TensorDesc("FLOAT32", each),
        *zeros,
        IncludePadding=draw.maybe(),
        OutputTensor=kinds[1],
        **members,
    )
