"""Data movement, with and without indices."""

from __future__ import annotations

from dmlops import Description, make
from random_shapes.draw import ANY, FLOATS, INDICES, ORDERS, Draw


def moves(draw: Draw) -> Description:
    kind = draw.choice(ANY)
    sizes = draw.sizes(draw.randint(1, 6), 200)
    rank, axis = len(sizes), draw.randrange(len(sizes))
    image, indices = draw.tensor(kind, sizes), draw.choice(INDICES)
    match draw.randrange(10):
        case 0:
            lead = draw.randint(0, 8 - rank)
            dimensions = draw.randint(1, lead + 1)
            taken = [draw.size(129 if dimensions == 1 else 9) for _ in range(dimensions)]
            lines = draw.tensor(indices, [1] * (lead + rank - dimensions) + taken)
            image = draw.tensor(kind, [1] * lead + sizes)
            return make.gather(image, lines, Axis=lead + axis, IndexDimensions=dimensions)
        case 1:
            taken = [draw.size(129) if number == axis else size for number, size in enumerate(sizes)]
            return make.gather_elements(image, draw.tensor(indices, taken), Axis=axis)
        case 2:
            first = [draw.randrange(size) for size in sizes]
            length = [draw.randint(1, size - start) for start, size in zip(first, sizes, strict=True)]
            steps = [draw.choice((1, 1, 2, -1, -3)) for _ in sizes]
            if draw.maybe(0.3):
                steps = [abs(step) for step in steps]
                sliced = [-(-size // step) for size, step in zip(length, steps, strict=True)]
                return make.slice(image, Offsets=first, Sizes=sliced, Strides=steps)
            sliced = [-(-size // abs(step)) for size, step in zip(length, steps, strict=True)]
            return make.slice1(
                image,
                InputWindowOffsets=first,
                InputWindowSizes=length,
                InputWindowStrides=steps,
                OutputTensor=draw.tensor(kind, sliced),
            )
        case 3:
            mode = draw.choice(("CONSTANT", "EDGE", "REFLECTION", "SYMMETRIC"))
            most = min(min(sizes) - 1, 3)
            padding = [draw.randint(0, most) for _ in sizes]
            members = {"PaddingMode": mode, "StartPadding": padding, "EndPadding": padding[::-1]}
            if draw.maybe(0.3):
                return make.padding(image, PaddingValue=draw.choice((1, 0, -2.5)), **members)
            return make.padding1(image, PaddingValueDataType=kind, PaddingValue=draw.scalar(kind), **members)
        case 4:
            repeats = [draw.choice((1, 1, 2, 3)) for _ in sizes]
            return make.tile(draw.tensor(kind, [-(-size // 2) for size in sizes]), Repeats=repeats)
        case 5:
            joined = [
                [draw.size(33) if n == axis else size for n, size in enumerate(sizes)] for _ in range(3)
            ]
            return make.join([draw.tensor(kind, one) for one in joined], Axis=axis)
        case 6:
            parts = [1, draw.size(9), draw.size(33)]
            sizes[axis] = sum(parts)
            cut = [[part if n == axis else size for n, size in enumerate(sizes)] for part in parts]
            return make.split(
                draw.tensor(kind, sizes), Axis=axis, OutputTensors=[draw.tensor(kind, one) for one in cut]
            )
        case 7:
            taken = [draw.size(33) if number == axis else size for number, size in enumerate(sizes)]
            updates = draw.tensor(kind, taken)
            return make.scatter_elements(image, draw.tensor(indices, taken), updates, Axis=axis)
        case 8:
            return unfolded(draw)
    return make.element_wise_identity(image, OutputTensor=draw.tensor(kind, sizes))


def spread(draw: Draw) -> Description:
    """Elements whose places are quotients: blocks as channels and back, tiles, edges mirrored, slices with
    steps put back, windows unfolded in many images."""
    kind, order = draw.choice(("FLOAT32", "FLOAT16", "UINT8", "INT64")), draw.choice(ORDERS)
    block, channels, batch = draw.randint(1, 5), draw.size(8), draw.choice((1, 2, 4))
    height, width = draw.size(17), draw.size(17)
    deep = [batch, channels * block * block, height, width]
    wide = [batch, channels, height * block, width * block]
    sizes = [draw.choice((1, 2, 3, 5)) for _ in range(draw.randint(1, 8))]
    match draw.randrange(6):
        case 0:
            output = draw.tensor(kind, wide)
            if draw.maybe(0.3):
                return make.depth_to_space(draw.tensor(kind, deep), BlockSize=block, OutputTensor=output)
            return make.depth_to_space1(
                draw.tensor(kind, deep), BlockSize=block, Order=order, OutputTensor=output
            )
        case 1:
            output = draw.tensor(kind, deep)
            if draw.maybe(0.3):
                return make.space_to_depth(draw.tensor(kind, wide), BlockSize=block, OutputTensor=output)
            return make.space_to_depth1(
                draw.tensor(kind, wide), BlockSize=block, Order=order, OutputTensor=output
            )
        case 2:
            return make.tile(draw.tensor(kind, sizes), Repeats=[draw.choice((1, 1, 2, 3)) for _ in sizes])
        case 3:
            start, end = ([draw.randrange(size) for size in sizes] for _ in range(2))
            return make.padding1(
                draw.tensor(kind, sizes), PaddingMode=draw.choice(("REFLECTION", "SYMMETRIC")),
                PaddingValueDataType=kind, PaddingValue=0, StartPadding=start, EndPadding=end,
            )  # fmt: skip
        case 4:
            first = [draw.randrange(size) for size in sizes]
            length = [draw.randint(1, size - start) for start, size in zip(first, sizes, strict=True)]
            steps = [draw.choice((1, 2, -1, -3)) for _ in sizes]
            taken = [-(-size // abs(step)) for size, step in zip(length, steps, strict=True)]
            kind = draw.choice(FLOATS)
            return make.slice_grad(
                draw.tensor(kind, taken), InputWindowOffsets=first, InputWindowSizes=length,
                InputWindowStrides=steps, OutputGradientTensor=draw.tensor(kind, sizes),
            )  # fmt: skip
    stride = draw.choice((1, 2, 3))
    image = draw.tensor(kind, [draw.choice((1, 2, 4)), draw.choice((16, 32)), draw.size(65), draw.size(65)])
    members = {"WindowSizes": [3, 5], "Strides": [stride] * 2, "Dilations": [1, 2]}
    return make.unfold(image, StartPadding=[1, 4], EndPadding=[1, 4], **members)


def unfolded(draw: Draw) -> Description:
    """Windows as columns, and the sums of such columns."""
    kind, rank = draw.choice((*FLOATS, *ANY)), draw.choice((1, 2, 2, 2, 3))
    image = draw.tensor(
        kind, [draw.choice((1, 2, 3)), draw.size(17), *draw.sizes(rank, 33 if rank < 3 else 15)]
    )
    window = [draw.choice((1, 2, 3, 5)) for _ in range(rank)]
    padding = [draw.randint(0, size - 1) for size in window]
    members = {
        "WindowSizes": window,
        "Strides": [draw.choice((1, 1, 2, 3)) for _ in window],
        "Dilations": [draw.choice((1, 1, 2)) for _ in window],
        "StartPadding": padding,
        "EndPadding": padding[::-1],
    }
    columns = make.unfold(image, OutputTensor=kind, **members)
    return columns if draw.maybe() else make.fold(columns.OutputTensor, OutputTensor=image, **members)
