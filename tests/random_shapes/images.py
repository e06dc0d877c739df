"""Pooling, resampling, and regions of interest."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from dmlops import Description, TensorDesc, make
from dmlops.structs import Size2d
from random_shapes.draw import BYTES, DIRECTIONS, FLOATS, NUMBERS, Draw

MOST_RESAMPLED = 1 << 19  # elements: the reference takes seconds for more
MOST_TAPS = 300  # Mesa's driver for CPUs ends all loops of a thread after 65535 iterations in total
INTERPOLATIONS = ("LINEAR", "NEAREST_NEIGHBOR")


def pooled_window(draw: Draw) -> tuple[list[int], dict[str, Any]]:
    """The sizes of images, and the members of a window that moves over them."""
    extents = draw.choice(((4, 5, 8, 14, 17, 28, 33, 80),) * 3 + ((4, 5, 8, 14),))
    images = [draw.choice(extents) for _ in range(3 if max(extents) == 14 else 2)]
    window = [min(size, draw.choice((1, 2, 3, 3, 5, size))) for size in images]
    while prod(window) > MOST_TAPS:
        window[draw.randrange(len(window))] = 1
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
        "Dilations": dilations,
    }
    return images, members


def windows(draw: Draw) -> Description:
    return further(draw, poolings(draw)) if draw.maybe(0.2) else poolings(draw)


def poolings(draw: Draw) -> Description:
    images, members = pooled_window(draw)
    sizes = [draw.choice((1, 2, 3)), draw.size(70 if max(images) < 80 else 9), *images]
    image, includes = draw.tensor(draw.choice(FLOATS), sizes), draw.maybe()
    undilated = {name: value for name, value in members.items() if name != "Dilations"}
    p = draw.choice((1, 2, 3))
    match draw.randrange(9):
        case 0 | 1:
            image = draw.tensor(draw.choice((*FLOATS, *FLOATS, *NUMBERS)), sizes)
            places = draw.choice((None, "UINT32", "UINT64"))
            match draw.randrange(4):
                case 0:
                    return make.max_pooling(image, **undilated)
                case 1:
                    return make.max_pooling1(image, OutputIndicesTensor=places, **undilated)
            return make.max_pooling2(image, OutputIndicesTensor=places, **members)
        case 2:
            return make.average_pooling1(image, IncludePadding=includes, **members)
        case 3:
            return make.average_pooling(image, IncludePadding=includes, **undilated)
        case 4:
            return make.lp_pooling1(image, P=p, **members)
        case 5:
            return make.lp_pooling(image, P=p, **undilated)
        case 6:
            pooled = make.max_pooling2(image, **members).OutputTensor
            return make.max_pooling_grad(image, pooled, OutputGradientTensor=image, **members)
        case 7:
            image = draw.tensor(draw.choice(NUMBERS), [sizes[0], draw.size(9), *images])
            pooled = make.max_pooling1(image, OutputIndicesTensor="UINT32", **undilated).OutputTensor
            places = draw.tensor(draw.choice(("UINT32", "UINT64")), pooled.Sizes)
            return make.max_unpooling(pooled, places, OutputTensor=image)
    members["Dilations"] = [1] * len(images)
    pooled = make.average_pooling1(image, IncludePadding=True, **members).OutputTensor
    del members["Dilations"]
    return make.average_pooling_grad(pooled, OutputGradientTensor=image, IncludePadding=includes, **members)


def further(draw: Draw, desc: Any) -> Description:
    """A pooling with places of the window that reach past the padded image, as sizes rounded up have them."""
    if "UNPOOLING" in desc.OPERATOR or "GRAD" in desc.OPERATOR:
        return desc
    pooled, places = desc.OutputTensor, getattr(desc, "OutputIndicesTensor", None)
    sizes = (*pooled.Sizes[:2], *(size + draw.randrange(2) for size in pooled.Sizes[2:]))
    others = {"OutputIndicesTensor": TensorDesc(places.DataType, sizes)} if places else {}
    return replace(desc, OutputTensor=draw.tensor(pooled.DataType.name, sizes), **others)


def resampling(draw: Draw) -> Description:
    sizes = [
        draw.choice((1, 2)),
        draw.size(20),
        *(draw.choice((1, 4, 7, 14, 20, 33, 64, 100, 256)) for _ in "yx"),
    ]
    if draw.maybe(0.1):
        times = Size2d(Width=draw.choice((1, 2, 3, 5)), Height=draw.choice((1, 2, 4)))
        mode, lead = draw.choice(INTERPOLATIONS), [1] * draw.randrange(2)
        small = draw.tensor(draw.choice(FLOATS), lead + sizes)
        return make.upsample_2d(small, ScaleSize=times, InterpolationMode=mode)
    factors = (0.1, 0.25, 0.37, 0.5, 1.0, 1.5, 2.0, 2.0, 4.0, 8.0, draw.uniform(0.3, 3))
    scales = [1.0, draw.choice((1.0, 1.0, 2.0)), draw.choice(factors), draw.choice(factors)]
    first = draw.choice((0, 0, 0, 1, 2, 3))
    sizes, scales = sizes[first:], scales[first:]
    while prod(sizes) * prod(scales) > MOST_RESAMPLED:
        sizes[sizes.index(max(sizes))] //= 2
    scaled = [max(1, int(size * scale)) for size, scale in zip(sizes, scales, strict=True)]
    offset = draw.choice((0.5, 0.25, 0.0))
    members = {"InterpolationMode": draw.choice(INTERPOLATIONS), "Scales": scales}
    offsets = {"InputPixelOffsets": [offset] * len(sizes), "OutputPixelOffsets": [-offset] * len(sizes)}
    rounding = {"RoundingDirection": draw.choice(DIRECTIONS)}
    goes_back = draw.maybe(0.4)
    kind = draw.choice(FLOATS if goes_back else (*FLOATS, *FLOATS, *BYTES))
    small, large = draw.tensor(kind, sizes), draw.tensor(kind, scaled)
    if goes_back and draw.maybe(0.3):
        return make.resample_grad(large, OutputGradientTensor=small, **members, **offsets)
    if goes_back:
        return make.resample_grad1(large, OutputGradientTensor=small, **members, **offsets, **rounding)
    match draw.randrange(5):
        case 0:
            return make.resample(small, OutputTensor=large, **members)
        case 1:
            return make.resample1(small, OutputTensor=large, **members, **offsets)
        case 2:
            smooth = draw.maybe()
            return make.resample3(
                small, OutputTensor=large, Antialiased=smooth, **members, **offsets, **rounding
            )
    return make.resample2(small, OutputTensor=large, **members, **offsets, **rounding)


def rescaled(draw: Draw) -> Description:
    """Resampling by scales and offsets that do not follow from sizes."""
    desc: Any = resampling(draw)
    lists = [name for name in ("Scales", "InputPixelOffsets", "OutputPixelOffsets") if hasattr(desc, name)]
    numbers = {"Scales": (1.0, 1.0, 0.0, 0.1, 1e-30, 1e30, draw.uniform(0.3, 3))}
    others = (0.5, -0.5, 0.0, 2.5, -3.0)
    return replace(desc, **{
        name: [draw.choice(numbers.get(name, others)) for _ in getattr(desc, name)] for name in lists
    })  # fmt: skip


def regions(draw: Draw) -> Description:
    kind, count, channels = draw.choice(FLOATS), draw.size(17), draw.size(17)
    height, width = (draw.choice((1, 4, 7, 14, 20, 33)) for _ in "yx")
    rows, columns = (draw.choice((1, 2, 3, 7, 8)) for _ in "yx")
    image = draw.tensor(kind, [draw.choice((1, 2, 3)), channels, height, width])
    pooled = draw.tensor(kind, [count, channels, rows, columns])
    if draw.maybe(0.25):
        return make.roi_pooling(
            image,
            draw.tensor(kind, [1, 1, count, 5]),
            SpatialScale=draw.choice((1.0, 0.5, 0.25)),
            PooledSize=Size2d(Width=columns, Height=rows),
            OutputTensor=pooled,
        )
    rois = draw.tensor(kind, [*draw.choice(((), (1,), (1, 1))), count, 4])
    batches = TensorDesc(
        draw.choice(("UINT32", "UINT32", "UINT64")), [*draw.choice(((), (1,), (1, 1, 1))), count]
    )
    members = {
        "ReductionFunction": draw.choice(("AVERAGE", "MAX")),
        "InterpolationMode": draw.choice(INTERPOLATIONS),
        "SpatialScaleX": draw.choice((1.0, 0.5, 0.25)),
        "SpatialScaleY": draw.choice((1.0, 0.5, 0.3)),
        "MinimumSamplesPerOutput": draw.choice((1, 2)),
        "MaximumSamplesPerOutput": draw.choice((2, 3, 4)),
    }
    shifts = {
        "InputPixelOffset": draw.choice((0.5, 0.0)),
        "OutputPixelOffset": draw.choice((-0.5, 0.0)),
        "AlignRegionsToCorners": draw.maybe(0.3),
    }
    outside = draw.choice((0.0, -1.0))
    match draw.randrange(3):
        case 0:
            return make.roi_align(
                image, rois, batches, OutOfBoundsInputValue=outside, OutputTensor=pooled, **members
            )
        case 1:
            return make.roi_align1(
                image, rois, batches, OutOfBoundsInputValue=outside, OutputTensor=pooled, **members, **shifts
            )
    of_regions = draw.maybe()
    return make.roi_align_grad(
        pooled,
        rois,
        batches,
        image if of_regions or members["ReductionFunction"] == "MAX" or draw.maybe(0.3) else None,
        OutputGradientTensor=draw.tensor(kind, image.Sizes) if not of_regions or draw.maybe(0.7) else None,
        OutputROIGradientTensor=draw.tensor(kind, rois.Sizes) if of_regions else None,
        **members,
        **shifts,
    )
