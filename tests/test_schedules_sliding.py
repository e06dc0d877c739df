"""Folds of a sliding window: what is slid, and numbers near the limits of 32 bits. For other results see
`test_schedules_drawn.py`."""

from __future__ import annotations

from typing import Any

import pytest

from dmlops import TensorDesc, gpu, make
from gpu_device import device
from gpu_results import check_results, inputs_of
from product_cases import convolution
from tensors import of

__all__ = ["device"]


def channelwise(data: TensorDesc, filters: tuple[int, ...], **members: Any) -> Any:
    """A convolution in which each channel is a group."""
    weights = TensorDesc(data.DataType, filters)
    return convolution(data, weights, GroupCount=data.Sizes[1], bias=False, **members)


IMAGE, FILTERS = of("FLOAT32", 2, 6, 12, 20), (6, 1, 3, 3)
MOVED = {"WindowSize": (3, 3), "Strides": (2, 2), "StartPadding": (1, 1), "EndPadding": (1, 1)}
PLACES = TensorDesc("UINT32", (2, 6, 6, 10))
SLIDES: dict[str, tuple[Any, bool]] = {
    "pooling": (make.max_pooling2(IMAGE, Dilations=(2, 2), **MOVED), True),
    "places of the greatest": (
        make.max_pooling2(IMAGE, OutputIndicesTensor=PLACES, Dilations=(1, 1), **MOVED), False,
    ),
    "convolution by channel": (channelwise(IMAGE, FILTERS), True),
    "in phases": (channelwise(IMAGE, FILTERS, Strides=2, Direction="BACKWARD"), True),
    "in phases whose taps are apart": (
        channelwise(IMAGE, FILTERS, Strides=4, Dilations=3, Direction="BACKWARD"), False,
    ),
    "more taps than 32 bits count": (
        make.max_pooling(
            of("FLOAT32", 1, 1, 1, 1), WindowSize=(2**16, 2**17), StartPadding=(2**16 - 1, 2**17 - 1)
        ), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIDES)
def test_what_is_slid(name: str) -> None:
    desc, slides = SLIDES[name]
    assert [one for one in desc.validate() if not one.advice] == []
    assert any("UNROLLED" in step.defines for step in gpu.plan(desc).dispatches) == slides


@pytest.mark.parametrize("includes", [False, True])
@pytest.mark.parametrize(("dilation", "end"), [(2**31 - 1, 1), (2**32 - 1, 1), (1, 2**30), (1, 2**31 - 1)])
def test_averages_count_taps_whatever_is_between_or_after_them(
    dilation: int, end: int, includes: bool, device: Any
) -> None:
    """Numbers near the limits of 32 bits, of which nothing in shaders may be a sum."""
    desc = make.average_pooling1(
        of("FLOAT32", 1, 2, 5, 6), Strides=(2**30, 1), WindowSize=(1, 3), StartPadding=(0, 1),
        EndPadding=(end, 1), Dilations=(dilation, 1), IncludePadding=includes,
    )  # fmt: skip
    assert not desc.validate()
    check_results(device, desc, inputs_of(desc, 0.05))
