"""Products and convolutions of floats: builders, and cases of all layouts for any type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dmlops import TensorDesc, make
from tensors import of

RELU = make.activation_relu()


def product(
    a: TensorDesc, b: TensorDesc, c: TensorDesc | None, turns: str = "NN", activation: Any = None
) -> Any:
    first, second = ({"N": "NONE", "T": "TRANSPOSE"}[turn] for turn in turns)
    return make.gemm(a, b, c, TransA=first, TransB=second, Alpha=0.5, Beta=2.0, FusedActivation=activation)


def channels_last(desc: Any, *names: str, gap: int = 0) -> Any:
    """The cases with tensors whose channels are innermost in memory, `gap` elements apart from the next
    pixel's: input and output, or those that are named."""

    def last(tensor: TensorDesc) -> TensorDesc:
        order = [0, *range(2, len(tensor.Sizes)), 1]
        strides, step = [0] * len(order), 1
        for axis in reversed(order):
            strides[axis] = step
            step = step * tensor.Sizes[axis] + (gap if axis == 1 else 0)
        return TensorDesc(tensor.DataType, tensor.Sizes, Strides=strides)

    which = names or ("InputTensor", "OutputTensor")
    return replace(desc, **{name: last(getattr(desc, name)) for name in which})


def column_by_column(desc: Any, gap: int = 0) -> Any:
    """A product whose matrices are stored column by column, `gap` elements apart."""
    *lead, rows, columns = desc.OutputTensor.Sizes
    strides, step = [1, rows + gap], (rows + gap) * columns
    for size in reversed(lead):
        strides.insert(0, step)
        step *= size
    output = TensorDesc(desc.OutputTensor.DataType, desc.OutputTensor.Sizes, Strides=strides)
    return replace(desc, OutputTensor=output)


def convolution(data: TensorDesc, weights: TensorDesc, *, bias: bool = True, **members: Any) -> Any:
    """With a border of 1, unless others are given; an integer is the same along all dimensions."""
    dims = len(data.Sizes) - 2
    lists = {"StartPadding": 1, "EndPadding": 1, "OutputPadding": 0, "Strides": 1, "Dilations": 1}
    for name in lists:
        given = members.get(name, lists[name])
        members[name] = given if isinstance(given, list) else [given] * dims
    is_back = members.get("Direction") == "BACKWARD"
    filters = weights.Sizes[1] * members.get("GroupCount", 1) if is_back else weights.Sizes[0]
    added = TensorDesc(data.DataType, (1, filters) + (1,) * dims) if bias else None
    return make.convolution(data, weights, added, **members)


def spread(data: TensorDesc, weights: TensorDesc, **members: Any) -> Any:
    return convolution(data, weights, Direction="BACKWARD", **members)


def of_many_images(desc: Any) -> Any:
    """The same with so many of them that no window slides where there are rows for tiles."""
    tensors = {name: getattr(desc, name) for name in ("InputTensor", "OutputTensor")}
    sizes = {name: (4096 * one.Sizes[0], *one.Sizes[1:]) for name, one in tensors.items()}
    return replace(desc, **{name: replace(one, Sizes=sizes[name]) for name, one in tensors.items()})


def products(kind: str) -> dict[str, Any]:
    def t(*sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
        return of(kind, *sizes, strides=strides)

    leaky = make.activation_leaky_relu(Alpha=0.1)
    return {
        "with C": product(t(70, 40), t(40, 136), t(70, 136)),
        "batch, B turned, activated": product(t(3, 70, 40), t(3, 136, 40), t(3, 70, 136), "NT", RELU),
        "another activation": product(t(40, 40), t(40, 40), None, "NN", leaky),
        "both turned": product(t(2, 40, 72), t(2, 136, 40), None, "TT"),
        "odd sizes": product(t(2, 37, 41), t(2, 41, 131), t(2, 37, 131)),
        "odd sizes, A turned": product(t(41, 37), t(41, 132), None, "TN"),
        "odd sizes, B turned": product(t(36, 41), t(70, 41), None, "NT"),
        "in twos": product(t(34, 38), t(130, 34), None, "TT"),
        "batch of odd ones": product(t(2, 3, 33, 39), t(2, 3, 131, 39), t(2, 3, 33, 131), "NT"),
        "in fours": product(t(36, 44), t(44, 132), None),
        "with gaps": product(
            t(40, 29, strides=(61, 2)), t(50, 29, strides=(42, 1)), t(40, 50, strides=(0, 1)), "NT"
        ),
        "rows apart": product(t(40, 40, strides=(41, 1)), t(40, 44, strides=(45, 1)), None),
        "products apart": product(t(3, 2, 33, 7, strides=(2000, 900, 3, 101)), t(3, 2, 7, 65), None),
        "one matrix for all": product(t(3, 2, 40, 16), t(3, 2, 16, 40, strides=(0, 0, 40, 1)), None),
        "in parts, odd depth": product(t(21, 2055), t(2055, 72), None),
        "in parts, odd columns": product(t(2, 40, 2056), t(2, 2056, 35), t(2, 40, 35)),
        "in parts, few rows": product(t(5, 2056), t(2056, 72), t(5, 72)),
        "in parts, few columns": product(t(70, 2056), t(2056, 13), t(70, 13)),
        "in parts, some rows": product(t(40, 2056), t(2056, 72), None),
        "column by column": column_by_column(product(t(2, 72, 40), t(2, 40, 100), t(2, 72, 100))),
        "column by column, odd sizes": column_by_column(product(t(35, 40), t(40, 101), None), 3),
        "in parts, column by column": column_by_column(product(t(40, 2056), t(2056, 37), None)),
    }


def windows(kind: str) -> dict[str, Any]:
    """Convolutions that tiles compute."""

    def t(*sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
        return of(kind, *sizes, strides=strides)

    point = {"StartPadding": 0, "EndPadding": 0}
    everywhere = ("InputTensor", "FilterTensor", "OutputTensor")
    plain = {
        "whole places": convolution(t(2, 32, 9, 31), t(40, 32, 3, 3)),
        "few channels": convolution(
            t(1, 3, 21, 19), t(24, 3, 7, 7), Strides=2, StartPadding=3, EndPadding=3, bias=False
        ),
        "few channels, mirrored": convolution(
            t(1, 3, 11, 9), t(24, 3, 3, 5), Mode="CONVOLUTION", Strides=2, bias=False
        ),
        "one place": convolution(t(2, 32, 8, 8), t(48, 32, 1, 1), **point),
        "one place, padded": convolution(t(2, 32, 8, 8), t(48, 32, 1, 1)),
        "many places": convolution(t(2, 16, 12, 12), t(136, 16, 1, 1), **point),
        "one place, odd": convolution(t(2, 32, 7, 7), t(48, 32, 1, 1), **point),
        "one place, in fours": convolution(t(2, 32, 6, 6), t(48, 32, 1, 1), **point),
        "one place, in fours, groups": convolution(t(3, 40, 2, 6), t(48, 20, 1, 1), GroupCount=2, **point),
        "one place, in twos": convolution(t(3, 32, 7, 6), t(48, 32, 1, 1), **point),
        "one place, rows apart": convolution(
            t(2, 32, 5, 8, strides=(2000, 60, 12, 1)), t(48, 32, 1, 1), **point
        ),
        "one place, in steps": convolution(t(2, 32, 16, 16), t(48, 32, 1, 1), Strides=2, **point),
        "in parts, one place": convolution(t(1, 2048, 8, 8), t(48, 2048, 1, 1), **point),
        "groups, dilated, with gaps": convolution(
            t(2, 24, 7, 7, strides=(2000, 80, 11, 1)), t(32, 12, 3, 3), Dilations=2, GroupCount=2
        ),
        "three dimensions, padded": convolution(t(1, 4, 5, 6, 7), t(24, 4, 2, 3, 3), OutputPadding=1),
        "in parts": convolution(t(1, 128, 6, 6), t(36, 128, 3, 3), FusedActivation=RELU),
        "in parts, odd pixels": convolution(t(1, 128, 7, 7), t(36, 128, 3, 3)),
        "weights with gaps": convolution(t(2, 16, 9, 10), t(18, 16, 3, 3, strides=(220, 13, 4, 1))),
    }
    last = {
        "all": channels_last(convolution(t(2, 32, 9, 10), t(40, 32, 3, 3), Strides=2), *everywhere),
        "taps within tiles, odd filters": channels_last(convolution(t(1, 24, 9, 10), t(37, 24, 3, 3)), gap=8),
        "few channels": channels_last(convolution(t(2, 4, 9, 10), t(40, 4, 3, 3))),
        "groups, activated": channels_last(
            convolution(t(2, 32, 7, 9), t(40, 16, 3, 3), GroupCount=2, FusedActivation=RELU)
        ),
        "in pairs, groups": channels_last(convolution(t(1, 12, 8, 9), t(24, 6, 3, 3), GroupCount=2)),
        "many places": channels_last(plain["many places"]),
        "one place": channels_last(convolution(t(2, 64, 8, 9), t(48, 64, 1, 1), **point), *everywhere),
        "three dimensions": channels_last(convolution(t(1, 16, 5, 6, 7), t(24, 16, 2, 3, 3))),
        "results alone": channels_last(convolution(t(2, 32, 9, 11), t(40, 32, 3, 3)), "OutputTensor"),
        "one place, images alone": channels_last(plain["one place"], "InputTensor"),
        "in parts": channels_last(convolution(t(1, 128, 6, 7), t(38, 128, 3, 3))),
    }
    return plain | {f"channels last, {name}": desc for name, desc in last.items()}


def phases(kind: str) -> dict[str, Any]:
    """Backward convolutions that tiles compute; but for the first one, each phase of the output apart."""

    def t(*sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
        return of(kind, *sizes, strides=strides)

    point = {"StartPadding": 0, "EndPadding": 0}
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
            t(2, 48, 5, 6, strides=(2400, 49, 8, 1)), t(48, 9, 4, 3), GroupCount=2, Strides=[2, 3]
        ),
        "groups, dilated, with gaps": spread(
            t(2, 24, 7, 7, strides=(2000, 80, 11, 1)), t(24, 8, 3, 3), GroupCount=2, Dilations=[2, 1],
            Strides=[1, 4],
        ),
        "line": spread(t(3, 16, 50), t(16, 9, 7), Strides=3, StartPadding=2, EndPadding=1),
        "three dimensions": spread(t(2, 40, 3, 4, 5), t(40, 20, 2, 3, 4), Strides=[1, 2, 3]),
        "side by side": spread(t(2, 32, 8, 6), t(32, 10, 2, 4), Strides=[2, 4], GroupCount=2, **point),
        "side by side, mirrored": spread(
            t(2, 32, 4, 4), t(32, 20, 2, 2), Mode="CONVOLUTION", Strides=2, **point
        ),
        "side by side, cut": spread(
            t(2, 32, 8, 8), t(32, 20, 2, 2), Strides=2, StartPadding=0, EndPadding=1
        ),
        "without products": spread(t(1, 16, 9, 9), t(16, 20, 2, 2), Strides=5),
        "cut on all sides": spread(
            t(1, 16, 5, 7), t(16, 20, 5, 4), Strides=[3, 2], StartPadding=[4, 1], EndPadding=[3, 3]
        ),
        "channels last, odd sizes": channels_last(
            spread(t(2, 32, 9, 7), t(32, 20, 3, 3), Strides=2), gap=8
        ),
        "in parts": spread(t(1, 512, 3, 2), t(512, 36, 4, 4), Strides=2),
        "in parts, channels last": channels_last(spread(t(1, 512, 5, 3), t(512, 20, 4, 4), Strides=2)),
    }  # fmt: skip
    return {f"backward, {name}": desc for name, desc in found.items()}
