"""Products and convolutions of floats and of bytes: builders, and cases of all layouts and ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, islice
from math import prod
from typing import Any

import dmlops
from dmlops import TensorDesc, make
from random_shapes import Drawn, described, drawn
from tensors import of, permuted

RELU = make.activation_relu()
MOST_PRODUCTS = 1 << 20  # of random descriptions
POINT = {"StartPadding": 0, "EndPadding": 0}
F, H, S, U = (partial(of, kind) for kind in ("FLOAT32", "FLOAT16", "INT8", "UINT8"))


def product(
    a: TensorDesc, b: TensorDesc, c: TensorDesc | None, turns: str = "NN", activation: Any = None
) -> Any:
    first, second = ({"N": "NONE", "T": "TRANSPOSE"}[turn] for turn in turns)
    return make.gemm(a, b, c, TransA=first, TransB=second, Alpha=0.5, Beta=2.0, FusedActivation=activation)


def channels_last(desc: Any, *names: str, gap: int = 0) -> Any:
    """The description with tensors whose channels are innermost in memory, `gap` elements apart from the next
    pixel's: input and output, or those that are named."""

    def last(tensor: TensorDesc) -> TensorDesc:
        count, channels, *spatial = tensor.Sizes
        order = [0, *range(2, len(tensor.Sizes)), 1]
        return replace(tensor, Strides=permuted([count, channels + gap, *spatial], order))

    which = names or ("InputTensor", "OutputTensor")
    return replace(desc, **{name: last(getattr(desc, name)) for name in which})


def column_by_column(desc: Any, gap: int = 0) -> Any:
    """A product whose matrices are stored column by column, `gap` elements apart."""
    *lead, rows, columns = desc.OutputTensor.Sizes
    order = [*range(len(lead)), len(lead) + 1, len(lead)]
    strides = permuted([*lead, rows + gap, columns], order)
    return replace(desc, OutputTensor=replace(desc.OutputTensor, Strides=strides))


LISTS = {"StartPadding": 1, "EndPadding": 1, "Strides": 1, "Dilations": 1}


def lists_of(members: Mapping[str, Any], dims: int, usual: Mapping[str, int] = LISTS) -> dict[str, Any]:
    """Those of a convolution: with a border of 1, unless others are given; an integer is the same along all
    dimensions."""
    given = {name: members.get(name, value) for name, value in usual.items()}
    return {name: one if isinstance(one, list) else [one] * dims for name, one in given.items()}


def convolution(data: TensorDesc, weights: TensorDesc, *, bias: bool = True, **members: Any) -> Any:
    dims = len(data.Sizes) - 2
    is_back = members.get("Direction") == "BACKWARD"
    filters = weights.Sizes[1] * members.get("GroupCount", 1) if is_back else weights.Sizes[0]
    added = TensorDesc(data.DataType, (1, filters) + (1,) * dims) if bias else None
    lists = lists_of(members, dims, {**LISTS, "OutputPadding": 0})
    return make.convolution(data, weights, added, **members | lists)


def spread(data: TensorDesc, weights: TensorDesc, **members: Any) -> Any:
    return convolution(data, weights, Direction="BACKWARD", **members)


def of_many_images(desc: Any) -> Any:
    """The same with so many of them that no window slides where there are rows for tiles."""
    tensors = {name: getattr(desc, name) for name in ("InputTensor", "OutputTensor")}
    sizes = {name: (4096 * one.Sizes[0], *one.Sizes[1:]) for name, one in tensors.items()}
    return replace(desc, **{name: replace(one, Sizes=sizes[name]) for name, one in tensors.items()})


def products(kind: str) -> dict[str, Any]:
    """Products that tiles compute."""
    t = partial(of, kind)
    return {
        "with C": product(t(70, 40), t(40, 136), t(70, 136)),
        "batch, B turned, activated": product(t(3, 70, 40), t(3, 136, 40), t(3, 70, 136), "NT", RELU),
        "both turned": product(t(2, 40, 72), t(2, 136, 40), None, "TT"),
        "odd sizes": product(t(2, 37, 41), t(2, 41, 131), t(2, 37, 131)),
        "odd sizes, A turned": product(t(41, 37), t(41, 132), None, "TN"),
        "batch of odd ones": product(t(2, 3, 33, 39), t(2, 3, 131, 39), t(2, 3, 33, 131), "NT"),
        "in twos": product(t(34, 38), t(130, 34), None, "TT"),
        "in fours": product(t(36, 44), t(44, 132), None),
        "with gaps": product(
            t(40, 29, strides=(61, 2)), t(50, 29, strides=(42, 1)), t(40, 50, strides=(0, 1)), "NT"
        ),
        "rows apart": product(t(40, 40, strides=(41, 1)), t(40, 44, strides=(45, 1)), None),
        "products apart": product(t(3, 2, 33, 7, strides=(2000, 900, 3, 101)), t(3, 2, 7, 65), None),
        "one matrix for all": product(t(3, 2, 40, 16), t(3, 2, 16, 40, strides=(0, 0, 40, 1)), None),
        "in parts, odd depth": product(t(21, 2055), t(2055, 72), None),
        "in parts, odd columns": product(t(2, 40, 2056), t(2, 2056, 35), t(2, 40, 35)),
        "in parts, few columns": product(t(70, 2056), t(2056, 13), t(70, 13)),
        "column by column": column_by_column(product(t(2, 72, 40), t(2, 40, 100), t(2, 72, 100))),
        "column by column, odd sizes": column_by_column(product(t(35, 40), t(40, 101), None), 3),
        "in parts, column by column": column_by_column(product(t(40, 2056), t(2056, 37), None)),
    }


def windows(kind: str) -> dict[str, Any]:
    """Convolutions that tiles compute."""
    t = partial(of, kind)
    pixel = convolution(t(2, 64, 8, 9), t(48, 64, 1, 1), **POINT)
    everywhere = ("InputTensor", "FilterTensor", "OutputTensor")
    last = {
        "all": channels_last(convolution(t(2, 32, 9, 10), t(40, 32, 3, 3), Strides=2), *everywhere),
        "taps within tiles, odd filters": channels_last(convolution(t(1, 24, 9, 10), t(37, 24, 3, 3)), gap=8),
        "few channels": channels_last(convolution(t(2, 4, 9, 10), t(40, 4, 3, 3))),
        "groups, activated": channels_last(
            convolution(t(2, 32, 7, 9), t(40, 16, 3, 3), GroupCount=2, FusedActivation=RELU)
        ),
        "in pairs, groups": channels_last(convolution(t(1, 12, 8, 9), t(24, 6, 3, 3), GroupCount=2)),
        "pixels": channels_last(pixel, *everywhere),
        "results alone": channels_last(convolution(t(2, 32, 9, 11), t(40, 32, 3, 3)), "OutputTensor"),
        "pixels, images alone": channels_last(pixel, "InputTensor"),
        "in parts": channels_last(convolution(t(1, 128, 6, 7), t(38, 128, 3, 3))),
    }
    return {
        "whole places": convolution(t(2, 32, 9, 31), t(40, 32, 3, 3)),
        "few channels, mirrored": convolution(
            t(1, 3, 21, 19), t(24, 3, 5, 7), Mode="CONVOLUTION", Strides=2, StartPadding=3, bias=False
        ),
        "pixels": convolution(t(2, 32, 8, 8), t(136, 32, 1, 1), **POINT),
        "pixels, padded": convolution(t(2, 32, 8, 8), t(48, 32, 1, 1)),
        "pixels, odd": convolution(t(2, 32, 7, 7), t(48, 32, 1, 1), **POINT),
        "pixels, in fours, groups": convolution(t(3, 40, 2, 6), t(48, 20, 1, 1), GroupCount=2, **POINT),
        "pixels, in twos": convolution(t(3, 32, 7, 6), t(48, 32, 1, 1), **POINT),
        "pixels, rows apart": convolution(
            t(2, 32, 5, 8, strides=(2000, 60, 12, 1)), t(48, 32, 1, 1), **POINT
        ),
        "pixels, rows overlap": convolution(
            t(2, 32, 5, 8, strides=(2000, 60, 6, 1)), t(48, 32, 1, 1), **POINT
        ),
        "pixels, in steps": convolution(t(2, 32, 16, 16), t(48, 32, 1, 1), Strides=2, **POINT),
        "pixels, in parts": convolution(t(1, 2048, 8, 8), t(48, 2048, 1, 1), **POINT),
        "groups, dilated, with gaps": convolution(
            t(2, 24, 7, 7, strides=(2000, 80, 11, 1)), t(32, 12, 3, 3), Dilations=2, GroupCount=2
        ),
        "three dimensions, padded": convolution(t(1, 4, 5, 6, 7), t(24, 4, 2, 3, 3), OutputPadding=1),
        "in parts": convolution(t(1, 128, 6, 6), t(36, 128, 3, 3), FusedActivation=RELU),
        "in parts, odd": convolution(t(1, 128, 7, 7), t(36, 128, 3, 3)),
        "weights with gaps": convolution(t(2, 16, 9, 10), t(18, 16, 3, 3, strides=(220, 13, 4, 1))),
    } | {f"channels last, {name}": desc for name, desc in last.items()}


def phases(kind: str) -> dict[str, Any]:
    """Backward convolutions that tiles compute; but for the first one, each phase of the output apart."""
    t = partial(of, kind)
    found = {
        "in ones": spread(t(2, 32, 9, 7), t(32, 20, 3, 3)),
        "in twos": spread(t(2, 32, 9, 7), t(32, 20, 4, 4), Strides=2),
        "larger, activated": spread(
            t(2, 8, 6, 5), t(8, 20, 3, 3), Strides=2, OutputPadding=1, FusedActivation=RELU
        ),
        "few channels, mirrored": spread(
            t(1, 6, 11, 9), t(6, 9, 3, 5), Mode="CONVOLUTION", Strides=[2, 3], bias=False
        ),
        "groups, few channels": spread(
            t(1, 12, 7, 6), t(12, 9, 3, 5), GroupCount=2, Strides=[1, 3], Dilations=[2, 1]
        ),
        "groups, with gaps": spread(
            t(2, 24, 7, 7, strides=(2000, 80, 11, 1)), t(24, 8, 3, 3), GroupCount=2, Strides=[2, 3]
        ),
        "line": spread(t(3, 16, 50), t(16, 9, 7), Strides=3, StartPadding=2, EndPadding=1),
        "three dimensions": spread(t(2, 40, 3, 4, 5), t(40, 20, 2, 3, 4), Strides=[1, 2, 3]),
        "side by side": spread(t(2, 32, 8, 6), t(32, 10, 2, 4), Strides=[2, 4], GroupCount=2, **POINT),
        "side by side, cut": spread(t(2, 32, 8, 8), t(32, 20, 2, 2), Strides=2, StartPadding=0),
        "without products": spread(t(1, 16, 9, 9), t(16, 20, 2, 2), Strides=5),
        "cut on all sides": spread(
            t(1, 16, 5, 7), t(16, 20, 5, 4), Strides=[3, 2], StartPadding=[4, 1], EndPadding=3
        ),
        "channels last, odd sizes": channels_last(spread(t(2, 32, 9, 7), t(32, 20, 3, 3), Strides=2), gap=8),
        "in parts": spread(t(1, 512, 3, 2), t(512, 36, 4, 4), Strides=2),
        "in parts, channels last": channels_last(spread(t(1, 512, 5, 3), t(512, 20, 4, 4), Strides=2)),
    }
    return {f"backward, {name}": desc for name, desc in found.items()}


FEW = {  # rows or columns: windows slide
    "by channel, activated": convolution(H(2, 8, 12, 13), H(8, 1, 3, 3), GroupCount=8, FusedActivation=RELU),
    "backward, few rows": spread(F(1, 64, 9, 9), F(64, 3, 4, 4), Strides=2),
    "backward, by channel": spread(F(2, 8, 9, 9), F(8, 1, 4, 4), GroupCount=8, Strides=2),
    "backward, two filters a channel": spread(
        F(2, 8, 9, 9), F(8, 2, 3, 2), GroupCount=4, Mode="CONVOLUTION", Dilations=2
    ),
}
SKINNY = {  # at most four rows or columns: a pass of their own
    "2 rows, halves": product(H(2, 67), H(67, 136), H(2, 136)),
    "3 rows, B turned": product(F(3, 68), F(131, 68), F(3, 131), "NT"),
    "4 rows, halves, B turned": product(H(4, 72), H(131, 72), None, "NT"),
    "4 rows, A turned": product(F(70, 4), F(70, 68), None, "TN"),
    "3 rows, halves, both turned": product(H(56, 3), H(133, 56), None, "TT"),
    "2 rows, one of B for all, activated": product(
        F(3, 2, 2, 33), F(3, 2, 33, 100, strides=(0, 4000, 104, 1)),
        F(3, 2, 2, 100, strides=(0, 200, 0, 2)), "NN", RELU,
    ),
    "3 rows with gaps, C of one number": product(
        H(1, 3, 40, strides=(0, 131, 3)), H(1, 90, 40, strides=(0, 48, 1)),
        H(1, 3, 90, strides=(0, 0, 0)), "NT",
    ),
    "1 row for all": product(F(4, 32, strides=(0, 1)), F(32, 64), None),
    "1 row, one product": product(F(1, 1), F(1, 4100), None),
    "1 column": product(F(131, 68), F(68, 1), F(131, 1)),
    "3 columns, halves, A turned": product(H(66, 88), H(66, 3), None, "TN"),
    "4 columns, B turned": product(F(2, 36, 68), F(2, 4, 68), None, "NT", RELU),
    "3 rows, stored downwards": column_by_column(product(F(3, 64), F(64, 68), None)),
}  # fmt: skip
ROWS = {  # of images, which tiles of cooperative matrices may hold for several taps at once
    "whole": convolution(H(2, 32, 9, 31), H(140, 32, 3, 3)),
    "narrow": convolution(H(40, 32, 7, 7), H(40, 32, 3, 3)),
    "no border, odd filters": convolution(H(2, 16, 5, 33), H(21, 16, 3, 3), **POINT),
    "dilated, groups, with gaps": convolution(
        H(2, 32, 7, 20, strides=(5000, 150, 21, 1)), H(40, 16, 3, 3), Dilations=[1, 2], GroupCount=2
    ),
    "taps far apart": convolution(
        H(1, 16, 3, 40), H(24, 16, 1, 3), Dilations=8, StartPadding=[0, 8], EndPadding=[0, 8]
    ),
    "more behind": convolution(
        H(1, 16, 6, 19), H(20, 16, 2, 3), Strides=[2, 1], StartPadding=[1, 0], EndPadding=[0, 3]
    ),
    "two, more before": convolution(H(3, 16, 4, 23), H(20, 16, 1, 2), StartPadding=[0, 4], EndPadding=0),
    "three dimensions, mirrored, activated": convolution(
        H(1, 16, 3, 4, 17), H(20, 16, 2, 3, 3), Mode="CONVOLUTION", FusedActivation=RELU
    ),
    "channels last": channels_last(convolution(H(2, 32, 9, 31), H(72, 32, 3, 3))),
    "in parts, channels last": channels_last(convolution(H(1, 128, 6, 31), H(36, 128, 3, 3))),
}


def byte_product(a: TensorDesc, b: TensorDesc, zeros: str = "", **scales: TensorDesc) -> Any:
    """A product; `zeros` has A and B for a zero point of each, a and b for one of each row and column."""
    sizes = {"A": (1, 1), "B": (1, 1), "a": (a.Sizes[-2], 1), "b": (1, b.Sizes[-1])}
    types = {"A": a.DataType, "B": b.DataType}
    points = {f"{one.upper()}ZeroPointTensor": TensorDesc(types[one.upper()], sizes[one]) for one in zeros}
    kind = dmlops.MatrixMultiplyIntegerToFloat if scales else dmlops.MatrixMultiplyInteger
    return kind(ATensor=a, BTensor=b, **points, **scales).infer()


def byte_convolution(data: TensorDesc, weights: TensorDesc, zeros: str = "") -> Any:
    """A convolution of images; `zeros` has I for a zero point of the input, f for one of each filter."""
    points = {
        "I": ("InputZeroPointTensor", TensorDesc(data.DataType, (1, 1, 1, 1))),
        "f": ("FilterZeroPointTensor", TensorDesc(weights.DataType, (1, weights.Sizes[0], 1, 1))),
    }
    given = {**dict(points[one] for one in zeros), **lists_of({}, 2)}
    return make.convolution_integer(data, weights, OutputTensor="INT32", GroupCount=1, **given)


BYTES = {  # what random products rarely are: in parts, without zero points, along other dimensions
    "in parts": byte_product(U(5, 2049), S(2049, 13), "ab"),
    "in parts, in fours": byte_product(U(20, 1036, strides=(1, 20)), S(1036, 12), "AB"),
    "lines side by side": byte_product(S(36, 64, strides=(1, 36)), S(64, 36)),
    "lines of the left factor side by side": byte_product(
        U(36, 68, strides=(1, 36)), U(68, 36, strides=(1, 68)), "aB"
    ),
    "whole vectors and fours": byte_product(U(36, 64), S(64, 36), "A"),
    "fours and whole vectors": byte_product(U(36, 64, strides=(1, 36)), S(64, 36, strides=(1, 64)), "b"),
    "a window": byte_convolution(S(2, 32, 6, 8), S(20, 32, 3, 3)),
    "a window, in parts": byte_convolution(S(1, 64, 6, 6), S(36, 64, 3, 3)),
}


def random_products(family: str, many: int) -> Iterator[Drawn]:
    """Random descriptions of a family, of few products."""
    small = (seed for seed in count() if number_of_products(described(family, seed)) <= MOST_PRODUCTS)
    return (drawn(family, seed) for seed in islice(small, many))


def number_of_products(desc: Any) -> int:
    each = desc.FilterTensor.Sizes[1:] if hasattr(desc, "FilterTensor") else desc.ATensor.Sizes[-1:]
    return prod((*desc.OutputTensor.Sizes, *each))
