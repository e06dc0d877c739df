"""Random descriptions of what schedules are for, of sizes around those that choose one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod, sqrt
from random import Random
from typing import Any, NamedTuple

import numpy as np

from dmlops import Description, InvalidDescription, TensorDesc, make
from dmlops.judgement import tensors

# Around the sizes of vectors, waves, tiles and parts
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 96, 100, 127, 128, 129,
         160, 192, 200, 255, 256, 257, 320, 500, 512, 513, 1000)  # fmt: skip
MOST_PRODUCTS = 1 << 25  # of all sums: NumPy takes seconds for more
MOST_ELEMENTS = 1 << 20
FLOATS = ("FLOAT32", "FLOAT16")
BYTES = ("INT8", "UINT8")
DIRECTIONS = ("INCREASING", "DECREASING")
ORDERS = ("DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH")
ACTIVATIONS = ("celu", "elu", "gelu", "hard_sigmoid", "leaky_relu", "relu", "sigmoid", "softplus", "tanh")

Sizes = Sequence[int]


class Draw(Random):
    """Random sizes, tensors and members."""

    def maybe(self, part: float = 0.5) -> bool:
        return self.random() < part

    def size(self, most: int) -> int:
        return self.choice([size for size in SIZES if size <= most])

    def sizes(self, rank: int, most: int) -> list[int]:
        """Of a tensor that is not too large."""
        drawn = [self.size(most) for _ in range(rank)]
        while prod(drawn) > MOST_ELEMENTS:
            drawn = [-(-size // 2) for size in drawn]
        return drawn

    def tensor(self, kind: str, sizes: Sizes, shared: Sizes = ()) -> TensorDesc:
        """A tensor; along the `shared` axes all elements are one."""
        order = list(range(len(sizes)))
        if self.maybe(0.2):
            self.shuffle(order)
        elif len(sizes) > 2 and self.maybe(0.2):
            order.append(order.pop(1))  # channels last
        packed = not shared and order == sorted(order) and self.maybe(0.75)
        strides, step = [0] * len(sizes), 1
        for axis in reversed(order):
            if axis not in shared:
                strides[axis] = step
                step = step * sizes[axis] + (self.choice((0, 0, 0, 1, 3, 8)))
        return TensorDesc(kind, tuple(sizes), Strides=None if packed else tuple(strides))

    def of_channels(self, kind: str, sizes: Sizes) -> TensorDesc:
        """A tensor like one of these sizes with one element for each channel."""
        return self.tensor(kind, [1, sizes[1], *([1] * (len(sizes) - 2))])

    def activation(self) -> Description | None:
        if self.maybe(0.6):
            return None
        made: Description = getattr(make, f"activation_{self.choice(ACTIVATIONS)}")()
        return made


def products(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    lead = [draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 5))]
    rows, columns, depth = (draw.size(1000) for _ in range(3))
    while prod((*lead, rows, columns, depth)) > MOST_PRODUCTS:
        rows, columns, depth = (-(-size // 2) for size in (rows, columns, depth))
    turned = draw.maybe(), draw.maybe()
    sizes = [*lead, rows, columns]
    shared = draw.choice(((), (0, 1, 2), (3,), (0, 1)))
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
    drawn = convolved(draw, 256, draw.choice((2, 2, 2, 3)))
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
    drawn = convolved(draw, 128, 2)
    kinds = draw.choice(BYTES), draw.choice(BYTES)
    one, each = [1, 1, 1, 1], draw.choice(([1, 1, 1, 1], [1, drawn.channels, 1, 1]))
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
        BiasTensor=TensorDesc("INT32", [1, drawn.channels, 1, 1]) if draw.maybe() else None,
        OutputZeroPointTensor=TensorDesc(written, one) if draw.maybe() else None,
        OutputTensor=written,
        **zeros,
        **drawn.members,
    )


def integer_products(draw: Draw) -> Description:
    kinds = draw.choice(BYTES), draw.choice(BYTES)
    lead = [draw.choice((1, 2)), draw.choice((1, 1, 3))]
    rows, columns, depth = (draw.size(320) for _ in range(3))
    of_rows, of_columns = draw.choice((1, rows)), draw.choice((1, columns))
    a, b = draw.tensor(kinds[0], [*lead, rows, depth]), draw.tensor(kinds[1], [*lead, depth, columns])
    zeros = {
        "AZeroPointTensor": TensorDesc(kinds[0], [1, 1, of_rows, 1]) if draw.maybe() else None,
        "BZeroPointTensor": TensorDesc(kinds[1], [1, 1, 1, of_columns]) if draw.maybe() else None,
    }
    way = draw.randrange(3)
    if way == 0:
        return make.matrix_multiply_integer(a, b, OutputTensor="INT32", **zeros)
    kind = draw.choice(FLOATS) if way == 1 else "FLOAT32"
    scales = TensorDesc(kind, [1, 1, of_rows, 1]), TensorDesc(kind, [1, 1, 1, of_columns])
    if way == 1:
        return make.matrix_multiply_integer_to_float(
            a,
            scales[0],
            b,
            scales[1],
            BiasTensor=draw.tensor(kind, [*lead, rows, columns], (0, 1, 2)) if draw.maybe() else None,
            OutputTensor=kind,
            **zeros,
        )
    written, one = draw.choice(BYTES), [1, 1, 1, 1]
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


def attention(draw: Draw) -> Description:
    kind, batch = draw.choice(FLOATS), draw.choice((1, 1, 2, 3))
    heads, queries = draw.choice((1, 2, 3, 4, 8)), draw.choice((1, 1, 2, 5, 8, 9, 16, 31, 64, 65, 130))
    depth = draw.choice((8, 16, 24, 32, 40, 64, 64, 80, 96, 128, 160, 264))
    form = draw.choice(("apart", "apart", "apart", "all", "keys and values", "queries and keys"))
    width = draw.choice((depth, depth, 8, 32, 64)) if form == "apart" else depth
    keys = queries if form in ("all", "queries and keys") else draw.choice((1, 7, 16, 65, 128, 129, 300, 513))
    has_shared_keys = form == "apart" and draw.maybe()
    groups = draw.choice([one for one in (1, 2, 3, 4, 8) if heads % one == 0]) if has_shared_keys else heads
    past, members = 0, {}

    def tensor(*sizes: int) -> TensorDesc:
        return draw.tensor(kind, sizes)

    if form == "apart":
        members = {
            "QueryTensor": tensor(batch, queries, heads * depth),
            "KeyTensor": tensor(batch, keys, groups * depth),
            "ValueTensor": tensor(batch, keys, groups * width),
        }
        if draw.maybe(0.35):
            past = draw.choice((1, 5, 33, 100, 300))
            members["PastKeyTensor"] = tensor(batch, groups, past, depth)
            members["PastValueTensor"] = tensor(batch, groups, past, width)
            if not has_shared_keys:
                members["OutputPresentKeyTensor"] = tensor(batch, groups, past + keys, depth)
                members["OutputPresentValueTensor"] = tensor(batch, groups, past + keys, width)
        elif draw.maybe(0.3) and not has_shared_keys:
            members["BiasTensor"] = tensor(heads * (2 * depth + width))
    elif form == "all":
        members["StackedQueryKeyValueTensor"] = tensor(batch, queries, heads, 3, depth)
    elif form == "keys and values":
        members["QueryTensor"] = tensor(batch, queries, heads * depth)
        members["StackedKeyValueTensor"] = tensor(batch, keys, heads, 2, depth)
    else:
        members["StackedQueryKeyTensor"] = tensor(batch, queries, heads, 2, depth)
        members["ValueTensor"] = tensor(batch, keys, heads * width)

    scores = [batch, heads, queries, past + keys]
    mask = draw.choice(
        ("NONE", "NONE", "BOOLEAN", "BOOLEAN", "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START")
    )
    if mask == "BOOLEAN":
        members["MaskTensor"] = draw.tensor("INT32", scores, [axis for axis in range(3) if draw.maybe(0.3)])
    elif mask != "NONE":
        members["MaskTensor"] = TensorDesc("INT32", (1 if mask == "KEY_SEQUENCE_LENGTH" else 2, batch))
    if draw.maybe(0.3):
        members["RelativePositionBiasTensor"] = draw.tensor(kind, scores)
    members |= {"Scale": 1 / sqrt(depth), "MaskFilterValue": -1e4, "MaskType": mask}
    members["OutputTensor"] = tensor(batch, queries, heads * width)
    if has_shared_keys:
        return make.multihead_attention1(QueryHeadCount=heads, KeyValueHeadCount=groups, **members)
    return make.multihead_attention(HeadCount=heads, **members)


def recurrent(draw: Draw) -> Description:
    """Networks with the usual functions: with others states overflow, or the last bit soon decides."""
    kind = draw.choice(FLOATS)
    operator, gates, functions = draw.choice(
        (("lstm", 4, ("sigmoid", "tanh", "tanh")), ("gru", 3, ("sigmoid", "tanh")), ("rnn", 1, ("tanh",)))
    )
    ways = draw.choice((1, 1, 1, 2))
    steps, batch, entries = draw.choice((1, 2, 3, 5, 9)), draw.size(40), draw.size(130)
    units = draw.choice((1, 3, 8, 16, 17, 32, 33, 64, 64, 96, 128, 256))
    states = [1, ways, batch, units]
    members: dict[str, Any] = {
        "BiasTensor": draw.tensor(kind, [1, 1, ways, 2 * gates * units]) if draw.maybe(0.7) else None,
        "HiddenInitTensor": draw.tensor(kind, states) if draw.maybe() else None,
        "SequenceLengthsTensor": TensorDesc("UINT32", [1, 1, 1, batch]) if draw.maybe(0.3) else None,
        "ActivationDescs": [getattr(make, f"activation_{name}")() for name in functions] * ways,
        "Direction": "BIDIRECTIONAL" if ways == 2 else draw.choice(("FORWARD", "BACKWARD")),
        "OutputSequenceTensor": draw.tensor(kind, [steps, *states[1:]]) if draw.maybe(0.8) else None,
        "OutputSingleTensor": draw.tensor(kind, states),
    }
    if operator == "gru":
        members["LinearBeforeReset"] = draw.maybe()
    if operator == "lstm":
        members |= {
            "CellMemInitTensor": draw.tensor(kind, states) if draw.maybe() else None,
            "PeepholeTensor": draw.tensor(kind, [1, 1, ways, 3 * units]) if draw.maybe(0.25) else None,
            "OutputCellSingleTensor": draw.tensor(kind, states) if draw.maybe() else None,
            "UseClipThreshold": draw.maybe(0.25),
            "ClipThreshold": 0.7,
            "CoupleInputForget": draw.maybe(0.2),
        }
    made: Description = getattr(make, operator)(
        draw.tensor(kind, [1, steps, batch, entries]),
        draw.tensor(kind, [1, ways, gates * units, entries]),
        draw.tensor(kind, [1, ways, gates * units, units]),
        **members,
    )
    return made


def windows(draw: Draw) -> Description:
    images = [draw.choice((4, 5, 8, 14, 17, 28, 33)) for _ in range(draw.choice((2, 2, 2, 3)))]
    window = [min(size, draw.choice((1, 2, 3, 3, 5, size))) for size in images]
    dilations = [
        draw.choice((1, 1, 2)) if 2 * size - 1 <= most else 1
        for size, most in zip(window, images, strict=True)
    ]
    padding = [draw.randrange(size) for size in window]
    members = {
        "Strides": [draw.choice((1, 2, 3)) for _ in window],
        "WindowSize": window,
        "StartPadding": padding,
        "EndPadding": padding,
    }
    if len(images) == 3:
        images = [min(size, 14) for size in images]
    image = draw.tensor(draw.choice(FLOATS), [draw.choice((1, 2, 3)), draw.size(70), *images])
    includes = draw.maybe()
    match draw.randrange(6):
        case 0:
            return make.max_pooling2(image, Dilations=dilations, **members)
        case 1:
            kind = draw.choice(("UINT32", "UINT64"))
            return make.max_pooling2(image, Dilations=dilations, OutputIndicesTensor=kind, **members)
        case 2:
            return make.average_pooling1(image, Dilations=dilations, IncludePadding=includes, **members)
        case 3:
            return make.lp_pooling1(image, Dilations=dilations, P=draw.choice((1, 2, 3)), **members)
        case 4:
            pooled = make.max_pooling2(image, Dilations=dilations, **members).OutputTensor
            return make.max_pooling_grad(
                image, pooled, OutputGradientTensor=image, Dilations=dilations, **members
            )
    ones = [1] * len(window)
    pooled = make.average_pooling1(image, Dilations=ones, IncludePadding=True, **members).OutputTensor
    return make.average_pooling_grad(pooled, OutputGradientTensor=image, IncludePadding=includes, **members)


def resampling(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    sizes = [draw.choice((1, 2)), draw.size(20), *(draw.choice((1, 4, 7, 14, 20, 33, 64, 100)) for _ in "yx")]
    scales = [
        1.0,
        draw.choice((1.0, 1.0, 2.0)),
        *(draw.choice((0.37, 0.5, 1.0, 1.5, 2.0, 2.0, 4.0)) for _ in "yx"),
    ]
    scaled = [max(1, int(size * scale)) for size, scale in zip(sizes, scales, strict=True)]
    offset = draw.choice((0.5, 0.25, 0.0))
    members = {
        "InterpolationMode": draw.choice(("LINEAR", "NEAREST_NEIGHBOR")),
        "RoundingDirection": draw.choice(DIRECTIONS),
        "Scales": scales,
        "InputPixelOffsets": [offset] * 4,
        "OutputPixelOffsets": [-offset] * 4,
    }
    small, large = draw.tensor(kind, sizes), draw.tensor(kind, scaled)
    if draw.maybe():
        return make.resample2(small, OutputTensor=large, **members)
    return make.resample_grad1(large, OutputGradientTensor=small, **members)


def normalisations(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    way = draw.randrange(9)
    sizes = [draw.choice((1, 2, 3)), *draw.sizes(3, 33)] if way > 3 else draw.sizes(draw.randint(2, 4), 1000)
    rank = len(sizes)
    axes = sorted(draw.sample(range(rank), draw.randint(1, rank))) if draw.maybe() else [rank - 1]
    image, channels = draw.tensor(kind, sizes), draw.of_channels(kind, sizes)
    if way < 3:
        function = (make.activation_softmax1, make.activation_log_softmax1, make.activation_hardmax1)[way]
        return function(image, Axes=axes)
    if way == 3:
        factors = [draw.tensor(kind, sizes, [a for a in range(rank) if a not in axes]) for _ in range(2)]
        return make.mean_variance_normalization2(
            image,
            *(factors if draw.maybe() else (None, None)),
            Axes=axes,
            UseMean=draw.maybe(0.8),
            UseVariance=True,
            Epsilon=1e-5,
            FusedActivation=draw.activation(),
        )
    members = {
        "CrossChannel": draw.maybe(), "LocalSize": draw.choice((1, 3, 4, 5)),
        "Alpha": 1e-2, "Beta": 0.75, "Bias": 1.0,
    }  # fmt: skip
    match way:
        case 4:
            return make.batch_normalization(
                image, *[channels] * 4, Spatial=True, Epsilon=1e-3, FusedActivation=draw.activation()
            )
        case 5:
            added = image if draw.maybe(0.4) else None
            return make.batch_normalization_training(
                image, channels, channels, added, Epsilon=1e-3, FusedActivation=draw.activation()
            )
        case 6:
            return make.batch_normalization_grad(image, image, *[channels] * 3, Epsilon=1e-3)
        case 7:
            return make.local_response_normalization(image, **members)
    return make.local_response_normalization_grad(image, image, **members)


def reductions(draw: Draw) -> Description:
    sizes = draw.sizes(draw.randint(1, 5), 1000)
    rank = len(sizes)
    axis, axes = draw.randrange(rank), sorted(draw.sample(range(rank), draw.randint(1, rank)))
    image, direction = draw.tensor(draw.choice(FLOATS), sizes), draw.choice(DIRECTIONS)
    match draw.randrange(5):
        case 0:
            function = draw.choice((make.argmax, make.argmin))
            kind = draw.choice(("UINT32", "INT32", "INT64"))
            return function(image, Axes=axes, AxisDirection=direction, OutputTensor=kind)
        case 1:
            wanted = min(sizes[axis], draw.choice((1, 3, 16, 64, 1000)))
            return make.top_k1(
                image, Axis=axis, K=wanted, AxisDirection=direction, OutputIndexTensor="UINT32"
            )
        case 2:
            exclusive = draw.maybe()
            return make.cumulative_summation(
                image, Axis=axis, AxisDirection=direction, HasExclusiveSum=exclusive
            )
    function = draw.choice(("AVERAGE", "L1", "L2", "LOG_SUM_EXP", "MAX", "MIN", "SUM", "SUM_SQUARE"))
    if function in ("MAX", "MIN", "SUM") and draw.maybe(0.3):
        image = draw.tensor(draw.choice(("INT32", "UINT32", "INT64", "UINT8")), sizes)
    return make.reduce(image, Function=function, Axes=axes)


def moves(draw: Draw) -> Description:
    kind = draw.choice(("FLOAT32", "FLOAT16", "INT8", "INT64", "FLOAT64"))
    sizes = draw.sizes(draw.randint(2, 5), 200)
    rank, axis = len(sizes), draw.randrange(len(sizes))
    image, indices = draw.tensor(kind, sizes), draw.choice(("UINT32", "INT32", "INT64"))
    match draw.randrange(10):
        case 0:
            lines = draw.tensor(indices, [1] * (rank - 1) + [draw.size(129)])
            return make.gather(image, lines, Axis=axis, IndexDimensions=1)
        case 1:
            taken = [draw.size(129) if number == axis else size for number, size in enumerate(sizes)]
            return make.gather_elements(image, draw.tensor(indices, taken), Axis=axis)
        case 2:
            first = [draw.randrange(size) for size in sizes]
            length = [draw.randint(1, size - start) for start, size in zip(first, sizes, strict=True)]
            steps = [draw.choice((1, 1, 2, -1, -3)) for _ in sizes]
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
            return make.padding1(
                image, PaddingMode=mode, PaddingValueDataType=kind, PaddingValue=1,
                StartPadding=padding, EndPadding=padding[::-1],
            )  # fmt: skip
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
            return make.depth_to_space1(
                draw.tensor(kind, deep), BlockSize=block, Order=order, OutputTensor=output
            )
        case 1:
            output = draw.tensor(kind, deep)
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
    kind = draw.choice(FLOATS)
    image = draw.tensor(kind, [draw.choice((1, 2, 3)), draw.size(17), draw.size(33), draw.size(33)])
    window = [draw.choice((1, 2, 3, 5)) for _ in "yx"]
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


FUNCTIONS = (
    make.element_wise_exp, make.element_wise_tanh, make.element_wise_sin, make.element_wise_cos,
    make.element_wise_tan, make.element_wise_erf, make.element_wise_round, make.activation_gelu,
    make.activation_softplus, make.activation_sigmoid,
)  # fmt: skip


def elements(draw: Draw) -> Description:
    kind, sizes = draw.choice((*FLOATS, "INT32")), draw.sizes(draw.randint(1, 6), 513)
    shared = [axis for axis in range(len(sizes)) if draw.maybe(0.2)]
    a, b = draw.tensor(kind, sizes), draw.tensor(kind, sizes, shared)
    match draw.randrange(4):
        case 0:
            function = draw.choice((make.element_wise_add, make.element_wise_multiply, make.element_wise_max))
            return function(a, b, OutputTensor=draw.tensor(kind, sizes))
        case 1:
            return make.element_wise_if(draw.tensor("UINT8", sizes, shared), a, b)
        case 2:
            return make.cast(a, OutputTensor=draw.tensor(draw.choice((*FLOATS, "UINT8", "INT64")), sizes))
    of = draw.tensor(draw.choice(FLOATS), sizes)
    function = draw.choice(FUNCTIONS)
    return function(of, OutputTensor=draw.tensor(of.DataType.name, sizes))


FAMILIES: dict[str, Callable[[Draw], Description]] = {
    one.__name__: one
    for one in (
        products, convolutions, integer_convolutions, integer_products, attention, recurrent, windows,
        resampling, normalisations, reductions, moves, spread, elements,
    )
}  # fmt: skip


class Drawn(NamedTuple):
    """A valid description, and arrays for its inputs."""

    desc: Description
    arrays: dict[str, Any]


def drawn(family: str, seed: int) -> Drawn:
    """The same for the same seed. Ends, as one draw in a few is valid for every family."""
    draw = Draw(f"{family} {seed}")
    while True:
        try:
            desc = FAMILIES[family](draw)
        except (InvalidDescription, ValueError):  # sizes that do not fit one another
            continue
        return Drawn(desc, data(desc, np.random.default_rng(seed)))


def data(desc: Description, random: np.random.Generator) -> dict[str, Any]:
    """Arrays for the inputs, which stay what they are along strides of 0."""
    arrays: dict[str, Any] = {}
    for name, member, tensor in tensors(desc):
        if member.role == "input":
            strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
            sizes = [1 if stride == 0 else size for size, stride in strides]
            array = np.array(np.broadcast_to(numbers(desc, name, tensor, sizes, random), tensor.Sizes))
            if member.count:
                arrays.setdefault(member.name, []).append(array)
            else:
                arrays[name] = array
    return arrays


def numbers(
    desc: Any, name: str, tensor: TensorDesc, sizes: Sizes, random: np.random.Generator
) -> np.ndarray:
    kind = tensor.DataType.numpy
    if kind.kind == "f":
        if desc.OPERATOR in ("RNN", "GRU", "LSTM"):
            return random.normal(0, 0.5 / sqrt(desc.RecurrenceTensor.Sizes[3]), sizes).astype(kind)
        if "Variance" in name or ("Scale" in name and "QUANT" in desc.OPERATOR):
            return random.uniform(0.05, 0.2, sizes).astype(kind)
        return random.normal(0, 1, sizes).astype(kind)
    if name == "MaskTensor" and desc.MaskType.name == "BOOLEAN":
        return random.integers(0, 2, sizes).astype(kind)
    if name == "MaskTensor":
        return np.sort(random.integers(0, 129, sizes), axis=0)[::-1].astype(kind)
    if name == "SequenceLengthsTensor":
        return random.integers(0, desc.InputTensor.Sizes[1] + 1, sizes).astype(kind)
    if name == "IndicesTensor":
        return random.integers(0, desc.InputTensor.Sizes[desc.Axis], sizes).astype(kind)
    limits = np.iinfo(kind)
    return random.integers(max(limits.min, -1000), min(limits.max, 1000), sizes, endpoint=True).astype(kind)
