"""Folds of a sliding window: what is slid, and the shaders' results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu
from dmlops.gpu.plans import sliding
from gpu_device import device
from gpu_results import check_results, inputs_of
from product_cases import RELU, channels_last, convolution
from tensors import last, of

__all__ = ["device"]


def pooling(
    name: str,
    data: TensorDesc,
    window: tuple[int, ...],
    stride: int = 1,
    padding: tuple[int, int] = (0, 0),
    dilation: int = 1,
    output: TensorDesc | None = None,
    **members: Any,
) -> Any:
    dims = len(window)
    lists = {"WindowSize": list(window), "Strides": [stride] * dims, "DimensionCount": dims}
    lists |= {"StartPadding": [padding[0]] * dims, "EndPadding": [padding[1]] * dims}
    kind = getattr(dmlops, name)
    if "Dilations" in {member.name for member in kind.MEMBERS}:
        lists["Dilations"] = [dilation] * dims
    return kind(InputTensor=data, OutputTensor=output, **lists, **members).infer()


AVERAGE = {"IncludePadding": False}
CASES = {
    "in blocks": pooling("MaxPooling", of("FLOAT32", 2, 3, 12, 20), (3, 3), 2, (1, 1)),
    "halves": pooling("MaxPooling", of("FLOAT16", 1, 5, 11, 16), (2, 2), 2),
    "bytes": pooling("MaxPooling", of("INT8", 1, 2, 7, 9), (3, 2), 1, (1, 0)),
    "wide integers": pooling("MaxPooling", of("UINT64", 1, 2, 7, 9), (2, 3), 2),
    "step past the window": pooling("MaxPooling", of("FLOAT32", 1, 2, 17, 16), (2, 2), 4),
    "wider than the image": pooling(
        "AveragePooling", of("FLOAT32", 1, 2, 3, 4), (9, 7), 1, (4, 4), **AVERAGE
    ),
    "padded more than the window": pooling("MaxPooling", of("FLOAT32", 1, 1, 4, 4), (2, 2), 1, (3, 4)),
    "rounded up": pooling(
        "AveragePooling", of("FLOAT32", 1, 2, 6, 6), (3, 3), 2, (1, 0), IncludePadding=True,
        output=of("FLOAT32", 1, 2, 4, 4),
    ),
    "average of three dimensions": pooling(
        "AveragePooling1", of("FLOAT32", 2, 2, 5, 6, 8), (2, 3, 3), 2, (1, 1), 1, **AVERAGE
    ),
    "dilated": pooling(
        "AveragePooling1", of("FLOAT16", 1, 3, 14, 15), (3, 3), 1, (2, 1), 2, IncludePadding=True
    ),
    "norm": pooling("LpPooling1", of("FLOAT32", 1, 3, 9, 12), (2, 3), 1, (1, 1), 2, P=3),
    "one channel, one row": pooling("LpPooling", of("FLOAT32", 1, 1, 1, 33), (1, 5), 3, (0, 2), P=2),
    "with gaps": pooling(
        "MaxPooling", of("FLOAT32", 2, 3, 8, 8, strides=(999, 130, 16, 2)), (3, 3), 1, (1, 1),
        output=of("FLOAT32", 2, 3, 8, 8, strides=(1, 2, 6, 48)),
    ),
    "the same element": pooling(
        "AveragePooling", of("FLOAT32", 2, 3, 4, 6, strides=(0, 0, 0, 0)), (2, 2), **AVERAGE
    ),
    "global": pooling("AveragePooling", of("FLOAT32", 2, 37, 7, 7), (7, 7), **AVERAGE),
    "global, large": pooling("MaxPooling", of("FLOAT16", 1, 3, 40, 50), (40, 50)),
    "large, dilated": pooling("LpPooling1", of("FLOAT32", 1, 2, 45, 46), (20, 15), 3, (2, 0), 2, P=2),
    "channels last": channels_last(pooling("MaxPooling", of("FLOAT32", 2, 12, 9, 10), (3, 3), 2, (1, 1))),
    "channels last, halves, few": channels_last(
        pooling("AveragePooling", of("FLOAT16", 2, 6, 7, 9), (2, 3), 1, (1, 0), **AVERAGE)
    ),
    "channels last, bytes": channels_last(pooling("MaxPooling", of("INT8", 1, 8, 7, 9), (3, 2), 1, (1, 0))),
    "channels last, global": channels_last(
        pooling("AveragePooling", of("FLOAT32", 2, 37, 7, 7), (7, 7), **AVERAGE)
    ),
    "channels last, of three dimensions": channels_last(
        pooling("AveragePooling1", of("FLOAT32", 2, 4, 5, 6, 8), (2, 3, 3), 2, (1, 1), 1, **AVERAGE)
    ),
}  # fmt: skip


def channelwise(
    data: TensorDesc, filters: tuple[int, ...], weights: TensorDesc | None = None, **members: Any
) -> Any:
    """A convolution, in which each channel is a group and there is no bias, unless told otherwise."""
    usual = {"GroupCount": data.Sizes[1], "bias": False}
    return convolution(data, weights or TensorDesc(data.DataType, filters), **{**usual, **members})


CONVOLUTIONS = {
    "by channel": channelwise(of("FLOAT32", 2, 8, 12, 16), (8, 1, 3, 3)),
    "by channel, halves, odd": channelwise(
        of("FLOAT16", 2, 7, 13, 15), (7, 1, 5, 5), StartPadding=2, EndPadding=2
    ),
    "two filters a channel": channelwise(of("FLOAT32", 2, 6, 9, 12), (12, 1, 3, 3), bias=True, Strides=2),
    "mirrored, dilated": channelwise(
        of("FLOAT32", 2, 6, 14, 12), (6, 1, 3, 2), Mode="CONVOLUTION", Dilations=2, StartPadding=3
    ),
    "two channels a group": channelwise(of("FLOAT32", 2, 8, 9, 12), (4, 2, 3, 3), GroupCount=4),
    "few filters": channelwise(of("FLOAT32", 1, 20, 9, 12), (3, 20, 3, 3), GroupCount=1, bias=True),
    "line": channelwise(of("FLOAT32", 3, 8, 40), (8, 1, 7), StartPadding=3, EndPadding=3),
    "long line": channelwise(of("FLOAT32", 3, 8, 64), (8, 1, 31), StartPadding=15, EndPadding=15),
    "long line, halves, odd": channelwise(of("FLOAT16", 2, 5, 77), (5, 1, 17), Strides=2, StartPadding=3),
    "three dimensions": channelwise(of("FLOAT32", 2, 5, 5, 7, 8), (5, 1, 3, 3, 3)),
    "large window": channelwise(
        of("FLOAT32", 1, 4, 24, 26), (4, 1, 17, 13), StartPadding=8, EndPadding=8
    ),
    "padded, activated": channelwise(
        of("FLOAT32", 2, 6, 10, 12), (6, 1, 3, 3), OutputPadding=1, bias=True,
        FusedActivation=RELU,
    ),
    "channels last": channels_last(channelwise(of("FLOAT32", 2, 8, 9, 10), (8, 1, 3, 3), bias=True)),
    "channels last, halves": channels_last(channelwise(of("FLOAT16", 2, 8, 9, 10), (8, 1, 3, 3), bias=True)),
    "channels last, halves, in pairs": channels_last(
        channelwise(of("FLOAT16", 2, 6, 9, 10), (6, 1, 5, 5), Strides=2, FusedActivation=RELU)
    ),
    "channels last, two filters a channel": channels_last(
        channelwise(of("FLOAT32", 2, 4, 9, 8), (8, 1, 3, 3), bias=True)
    ),
    "channels last, two channels a group": channels_last(
        channelwise(of("FLOAT32", 2, 8, 9, 8), (4, 2, 3, 3), GroupCount=4)
    ),
    "channels last, large window": channels_last(
        channelwise(of("FLOAT32", 1, 4, 24, 26), (4, 1, 17, 13), StartPadding=8, EndPadding=8)
    ),
    "layouts turned round": channelwise(
        of("FLOAT32", 2, 8, 10, 12, strides=(960, 1, 96, 8)), (8, 1, 3, 3),
        weights=of("FLOAT32", 8, 1, 3, 3, strides=(1, 1, 8, 24)),
    ),
}  # fmt: skip


def spread(data: TensorDesc, filters: tuple[int, ...], **members: Any) -> Any:
    return channelwise(data, filters, Direction="BACKWARD", **members)


SPREAD = {
    "in twos": spread(of("FLOAT32", 2, 8, 6, 8), (8, 1, 4, 4), Strides=2, bias=True),
    "in twos, halves, odd": spread(of("FLOAT16", 2, 7, 5, 7), (7, 1, 3, 3), Strides=2),
    "in threes, mirrored": spread(
        of("FLOAT32", 1, 6, 7, 6), (6, 1, 5, 4), Strides=3, Mode="CONVOLUTION", StartPadding=2,
        OutputPadding=1,
    ),
    "in eights, channels shared": spread(
        of("FLOAT32", 1, 20, 3, 4), (20, 2, 5, 7), GroupCount=1, Strides=8, bias=True
    ),
    "in eights, large window": spread(
        of("FLOAT32", 1, 8, 9, 9), (8, 1, 16, 16), Strides=8, StartPadding=4, EndPadding=4
    ),
    "in twelves": spread(of("FLOAT32", 1, 20, 4, 4), (20, 2, 5, 5), GroupCount=1, Strides=12),
    "past the window": spread(of("FLOAT32", 2, 6, 5, 6), (6, 1, 2, 2), Strides=3, bias=True, StartPadding=0),
    "three filters": spread(
        of("FLOAT32", 2, 20, 6, 8), (20, 3, 4, 4), GroupCount=1, Strides=2, bias=True,
        FusedActivation=RELU,
    ),
    "channels last": channels_last(spread(of("FLOAT32", 2, 8, 5, 6), (8, 1, 4, 4), Strides=2, bias=True)),
    "line": spread(of("FLOAT32", 3, 8, 20), (8, 1, 8), Strides=4, StartPadding=2, EndPadding=2),
    "three dimensions": spread(of("FLOAT32", 2, 5, 3, 4, 4), (5, 1, 3, 3, 4), Strides=[1, 2, 2]),
    "layouts turned round": spread(
        of("FLOAT32", 2, 8, 5, 6, strides=(240, 1, 48, 8)), (8, 1, 4, 4), Strides=2,
        weights=of("FLOAT32", 8, 1, 4, 4, strides=(1, 1, 8, 32)),
    ),
}  # fmt: skip
APART = spread(of("FLOAT32", 2, 6, 5, 6), (6, 1, 3, 3), Strides=4, Dilations=3)
"""A window whose taps, in a phase, are apart on the input: it does not slide."""


def test_what_is_slid() -> None:
    for name, desc in (CASES | CONVOLUTIONS | SPREAD).items():
        assert [one for one in desc.validate("6.4") if not one.advice] == [], name
        steps = gpu.plan(desc).dispatches
        assert [("UNROLLED" in step.defines) for step in steps] == [True], name
    assert not any("UNROLLED" in step.defines for step in gpu.plan(APART).dispatches)


def check(device: Any, desc: Any, **special: float) -> None:
    """The greatest element is found exactly."""
    inputs = inputs_of(desc, 0.05, **special)
    check_results(device, desc, inputs, exact=type(desc).__name__.startswith("Max"))


@pytest.mark.parametrize("name", CASES | CONVOLUTIONS)
def test_windows_give_what_the_reference_gives(name: str, device: Any) -> None:
    check(device, (CASES | CONVOLUTIONS)[name])


@pytest.mark.parametrize("includes", [False, True])
@pytest.mark.parametrize(("dilation", "end"), [(2**31 - 1, 1), (2**32 - 1, 1), (1, 2**30), (1, 2**31 - 1)])
def test_averages_count_taps_whatever_is_between_or_after_them(
    dilation: int, end: int, includes: bool, device: Any
) -> None:
    """Numbers near the limits of 32 bits, of which nothing in shaders may be a sum."""
    desc = dmlops.make.average_pooling1(
        of("FLOAT32", 1, 2, 5, 6), Strides=(2**30, 1), WindowSize=(1, 3), StartPadding=(0, 1),
        EndPadding=(end, 1), Dilations=(dilation, 1), IncludePadding=includes,
    )  # fmt: skip
    assert not desc.validate()
    check(device, desc)


@pytest.mark.parametrize("name", [*SPREAD, "apart"])
def test_phases_do_so_too(name: str, device: Any) -> None:
    desc = SPREAD.get(name, APART)
    check(device, desc)
    check(device, desc, FilterTensor=np.inf)
    check(device, desc, InputTensor=np.nan)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["in blocks", "dilated", "global", "by channel"])
def test_what_is_no_number_goes_through(name: str, value: float, device: Any) -> None:
    check(device, (CASES | CONVOLUTIONS)[name], InputTensor=value)


@pytest.mark.parametrize(
    "name", ["by channel", "two channels a group", "large window", "three dimensions", "channels last"]
)
def test_what_is_outside_takes_no_part_even_beside_infinity(name: str, device: Any) -> None:
    check(device, CONVOLUTIONS[name], FilterTensor=np.inf)


def in_blocks(monkeypatch: pytest.MonkeyPatch, unrolled: int, rows: int, columns: int, shares: int) -> None:
    """Makes threads compute such blocks, if there are as many elements."""

    def chosen(slide: sliding.Slide) -> sliding.Block:
        return sliding.block_at(slide, min(unrolled, len(slide.axes)))._replace(shares=shares)

    monkeypatch.setattr(sliding, "SLIDING_ROWS", rows)
    monkeypatch.setattr(sliding, "SLIDING_COLUMNS", columns)
    monkeypatch.setattr(sliding, "SLIDING_BUSY", 2**31 if rows == columns == 1 else 1)
    monkeypatch.setattr(sliding, "block_of", chosen)


@pytest.mark.parametrize("unrolled", [0, 1, 2])
@pytest.mark.parametrize(("rows", "columns", "shares"), [(1, 1, 1), (2, 8, 2), (8, 2, 16), (1, 4, 128)])
def test_whatever_the_block(
    unrolled: int, rows: int, columns: int, shares: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, unrolled, rows, columns, shares)
    for name in ("in blocks", "dilated", "with gaps", "channels last"):
        check(device, CASES[name])
    some = ("by channel", "two filters a channel", "mirrored, dilated", "long line, halves, odd")
    for name in (*some, "three dimensions", "channels last", "channels last, halves"):
        check(device, CONVOLUTIONS[name])
    for name in ("in twos", "in threes, mirrored", "three dimensions"):
        check(device, SPREAD[name])


def test_where_the_greatest_elements_are_is_found_as_defined(device: Any) -> None:
    data, output = of("FLOAT32", 2, 3, 12, 20), TensorDesc("UINT32", (2, 3, 5, 9))
    desc = pooling("MaxPooling2", data, (3, 3), 2, (1, 1), 2, OutputIndicesTensor=output)
    assert not any("UNROLLED" in step.defines for step in gpu.plan(desc).dispatches)
    check(device, desc)


def test_a_window_of_more_taps_than_32_bits_count_does_not_slide() -> None:
    desc = dmlops.MaxPooling(
        InputTensor=of("FLOAT32", 1, 1, 1, 1),
        OutputTensor=of("FLOAT32", 1, 1, 1, 1),
        Strides=(1, 1),
        WindowSize=(2**16, 2**17),
        StartPadding=(2**16 - 1, 2**17 - 1),
        EndPadding=(0, 0),
    )
    assert desc.validate() == []
    assert ["UNROLLED" in step.defines for step in gpu.plan(desc).dispatches] == [False]


def test_each_channel_has_its_zero_point(device: Any) -> None:
    each = (1, 8, 1, 1)
    desc = pooling(
        "QuantizedLinearAveragePooling", last("UINT8", 2, 8, 6, 6), (2, 2), 2, IncludePadding=True,
        output=last("UINT8", 2, 8, 3, 3), InputScaleTensor=of("FLOAT32", *each),
        InputZeroPointTensor=of("UINT8", *each), OutputScaleTensor=of("FLOAT32", *each),
    )  # fmt: skip
    ones = np.ones(each, np.float32)
    inputs = {
        "InputTensor": np.random.default_rng(4).integers(0, 256, (2, 8, 6, 6)).astype(np.uint8),
        "InputZeroPointTensor": np.arange(8, dtype=np.uint8).reshape(each) * 20,
        "InputScaleTensor": ones,
        "OutputScaleTensor": ones,
    }
    check_results(device, desc, inputs)
