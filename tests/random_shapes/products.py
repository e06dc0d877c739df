"""Matrix products and convolutions, of floats and of bytes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from dmlops import Description, TensorDesc, make
from random_shapes.draw import BYTES, CODED, FLOATS, MOST_PRODUCTS, Draw


def products(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    lead = [draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 5))]
    rows, columns, depth = (draw.size(1000) for _ in range(3))
    while prod((*lead, rows, columns, depth)) > MOST_PRODUCTS:
        rows, columns, depth = (-(-size // 2) for size in (rows, columns, depth))
    turned = draw.maybe(), draw.maybe()
    lead = lead[draw.choice((0, 0, 1, 2)) :]
    sizes, rank = [*lead, rows, columns], 2 + len(lead)
    shared = draw.choice(((), range(rank - 1), (rank - 1,), range(rank - 2)))
    return make.gemm(
        draw.tensor(kind, [*lead, *((depth, rows) if turned[0] else (rows, depth))]),
        draw.tensor(kind, [*lead, *((columns, depth) if turned[1] else (depth, columns))]),
        draw.tensor(kind, sizes, shared) if draw.maybe() else None,
        TransA="TRANSPOSE" if turned[0] else "NONE",
        TransB="TRANSPOSE" if turned[1] else "NONE",
        Alpha=draw.choice((1.0, 0.5)),
        Beta=draw.choice((1.0, 0.5, 0.0)),
        FusedActivation=draw.activation(),
        OutputTensor=draw.tensor(kind, sizes),
    )


class Convolved(NamedTuple):
    """Sizes of a convolution's input, channels of its output, sizes of its window, and members."""

    sizes: list[int]
    channels: int
    window: list[int]
    members: dict[str, Any]


def convolved(draw: Draw, most_channels: int, dimensions: int) -> Convolved:
    groups = draw.choice((1, 1, 1, 2, 4))
    inputs, outputs = (max(groups, draw.size(most_channels) // groups * groups) for _ in range(2))
    if draw.maybe(0.2):
        groups, outputs = inputs, inputs * draw.choice((1, 1, 2))
    window = [draw.choice((1, 1, 2, 3, 3, 4, 5, 7))] * dimensions
    if draw.maybe(0.3):
        window = [draw.choice((1, 2, 3, 5)) for _ in window]
    dilations = [draw.choice((1, 1, 1, 2)) for _ in window]
    padding = [draw.randint(0, (size - 1) * step) for size, step in zip(window, dilations, strict=True)]
    images = [draw.choice((7, 8, 12, 14, 16, 17, 28, 33, 56)) for _ in window]
    batch = draw.choice((1, 1, 2, 3, 9))
    while batch * prod(images) * prod(window) * outputs * inputs // groups > MOST_PRODUCTS:
        batch, images = -(-batch // 2), [max(size // 2, 7) for size in images]
        outputs = max(groups, outputs // 2 // groups * groups)
    if groups == inputs and outputs % groups:
        outputs = groups
    members = {
        "Strides": [draw.choice((1, 1, 2, 3)) for _ in window],
        "Dilations": dilations,
        "StartPadding": padding,
        "EndPadding": [max(0, size - draw.choice((0, 0, 1))) for size in padding],
        "GroupCount": groups,
    }
    return Convolved([batch, inputs, *images], outputs, window, members)


def convolutions(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    drawn = convolved(draw, 256, draw.choice((1, 2, 2, 2, 2, 3)))
    inputs, outputs, groups = drawn.sizes[1], drawn.channels, drawn.members["GroupCount"]
    backward = draw.maybe(0.35)
    kernel = [inputs, outputs // groups] if backward else [outputs, inputs // groups]
    strides = drawn.members["Strides"]
    packed = make.convolution(
        draw.tensor(kind, drawn.sizes),
        draw.tensor(kind, [*kernel, *drawn.window]),
        draw.tensor(kind, [1, outputs, *([1] * len(strides))]) if draw.maybe() else None,
        Mode=draw.choice(("CROSS_CORRELATION", "CROSS_CORRELATION", "CONVOLUTION")),
        Direction="BACKWARD" if backward else "FORWARD",
        OutputPadding=[draw.randrange(step) if backward else 0 for step in strides],
        FusedActivation=draw.activation(),
        **drawn.members,
    )
    return replace(packed, OutputTensor=draw.tensor(kind, packed.OutputTensor.Sizes))


def integer_convolutions(draw: Draw) -> Description:
    drawn = convolved(draw, 128, draw.choice((1, 2, 2, 2)))
    kinds, flat = (draw.choice(BYTES), draw.choice(BYTES)), [1] * (len(drawn.sizes) - 2)
    one, channels = [1, 1, *flat], [1, drawn.channels, *flat]
    each = draw.choice((one, channels))
    image = draw.tensor(kinds[0], drawn.sizes)
    kernel = draw.tensor(
        kinds[1], [drawn.channels, drawn.sizes[1] // drawn.members["GroupCount"], *drawn.window]
    )
    zeros = {
        "InputZeroPointTensor": TensorDesc(kinds[0], one) if draw.maybe() else None,
        "FilterZeroPointTensor": TensorDesc(kinds[1], each) if draw.maybe() else None,
    }
    if draw.maybe():
        return make.convolution_integer(image, kernel, OutputTensor="INT32", **zeros, **drawn.members)
    written = draw.choice(BYTES)
    return make.quantized_linear_convolution(
        image,
        TensorDesc("FLOAT32", one),
        kernel,
        TensorDesc("FLOAT32", each),
        TensorDesc("FLOAT32", one),
        BiasTensor=TensorDesc("INT32", channels) if draw.maybe() else None,
        OutputZeroPointTensor=TensorDesc(written, one) if draw.maybe() else None,
        OutputTensor=written,
        **zeros,
        **drawn.members,
    )


def integer_products(draw: Draw) -> Description:
    way = draw.randrange(3)
    of = CODED if way == 1 and draw.maybe(0.3) else BYTES
    kinds = draw.choice(of), draw.choice(of)
    lead = [draw.choice((1, 2)), draw.choice((1, 1, 3))][draw.choice((0, 0, 1, 2)) :]
    ones, rows, columns, depth = [1] * len(lead), *(draw.size(320) for _ in range(3))
    of_rows, of_columns = draw.choice((1, rows)), draw.choice((1, columns))
    a, b = draw.tensor(kinds[0], [*lead, rows, depth]), draw.tensor(kinds[1], [*lead, depth, columns])
    zeros = {
        "AZeroPointTensor": TensorDesc(kinds[0], [*ones, of_rows, 1]) if draw.maybe() else None,
        "BZeroPointTensor": TensorDesc(kinds[1], [*ones, 1, of_columns]) if draw.maybe() else None,
    }
    if way == 0:
        return make.matrix_multiply_integer(a, b, OutputTensor="INT32", **zeros)
    kind = draw.choice(FLOATS) if way == 1 else "FLOAT32"
    scales = TensorDesc(kind, [*ones, of_rows, 1]), TensorDesc(kind, [*ones, 1, of_columns])
    if way == 1:
        return make.matrix_multiply_integer_to_float(
            a,
            scales[0],
            b,
            scales[1],
            BiasTensor=draw.tensor(kind, [*lead, rows, columns], range(len(lead) + 1))
            if draw.maybe()
            else None,
            OutputTensor=kind,
            **zeros,
        )
    written, one = draw.choice(BYTES), [*ones, 1, 1]
    return make.quantized_linear_matrix_multiply(
        a,
        scales[0],
        b,
        scales[1],
        TensorDesc("FLOAT32", one),
        OutputZeroPointTensor=TensorDesc(written, one) if draw.maybe() else None,
        OutputTensor=written,
        **zeros,
    )
