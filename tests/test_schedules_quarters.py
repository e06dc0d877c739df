"""Which outputs threads can compute four elements of, and that these are the ones of the definition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import dmlops
from c_plans import Library, expected
from dmlgen.schedules.quarters import Quarters
from dmlops import TensorDesc, gpu
from dmlops.gpu.plans import definition
from gpu_device import device, run_in_guard_zones
from schedule_cases import Variant
from whole_registry import whole_registry

__all__ = ["device"]

TYPES = ["FLOAT32", "FLOAT16", "INT64", "UINT16", "INT8"]


def test_what_folds_nothing_has_quarters() -> None:
    found = {one.name for one in whole_registry().operators if one.form(Quarters) is not None}
    assert found == {"UNFOLD", "MAX_UNPOOLING", "BATCH_NORMALIZATION"}


SECTION = """compute:
{}  outputs: {{OutputTensor: "{}"}}
"""
LAST = """  tensors:
    Last:
      sizes: OutputTensor.Sizes
      type: int
      value: >-
        max(max({} for p in box(InputTensor.Sizes)
        if IndicesTensor[p] == flat(at, OutputTensor.Sizes)), {})
"""


@pytest.mark.parametrize(
    ("tensors", "value", "is_found"),
    [
        (LAST.format("p[3]", 0), "InputTensor[[at[0], 0, 0, Last[at]]]", True),
        (LAST.format("p[3]", 1), "InputTensor[[at[0], 0, 0, Last[at]]]", False),
        ("", "sum(InputTensor[[at[0], 0, 0, w]] for w in range(InputTensor.Sizes[3]))", False),
    ],
    ids=["scattered", "folded", "sum"],
)
def test_what_has_quarters(tensors: str, value: str, is_found: bool, tmp_path: Path) -> None:
    variant = Variant(tmp_path, "MAX_UNPOOLING", SECTION.format(tensors, value))
    assert (variant.operator.form(Quarters) is not None) == is_found


def strides_of(sizes: Sequence[int], order: Sequence[int], gap: int) -> tuple[int, ...]:
    """The strides of a tensor that lies in memory in this order of dimensions, outermost first."""
    strides, run = [0] * len(sizes), gap
    for d in reversed(order):
        strides[d] = run
        run *= sizes[d]
    return tuple(strides)


def columns(data_type: str, sizes: Sequence[int], strides: Sequence[int]) -> tuple[Any, Any, np.ndarray]:
    """Unfolding of 3x3 windows of an image of these sizes, with its input and its result."""
    batches, channels, height, width = sizes
    desc = dmlops.Unfold(
        InputTensor=TensorDesc(data_type, sizes),
        OutputTensor=TensorDesc(data_type, (batches, channels * 9, height * width), Strides=strides),
        WindowSizes=(3, 3), Strides=(1, 1), Dilations=(1, 1), StartPadding=(1, 1), EndPadding=(1, 1),
    )  # fmt: skip
    image = np.random.default_rng(0).integers(1, 100, sizes).astype(desc.InputTensor.DataType.numpy)
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), (2, 3)).transpose(0, 1, 4, 5, 2, 3)
    return desc, {"InputTensor": image}, windows.reshape(desc.OutputTensor.Sizes)


def unpooled(data_type: str, index_type: str = "UINT32") -> tuple[Any, Any, np.ndarray]:
    """Numbers at random places, some of which several want, with the inputs and the result."""
    sizes, larger = (2, 3, 5, 7), (2, 3, 5, 16)
    desc = dmlops.MaxUnpooling(
        InputTensor=TensorDesc(data_type, sizes),
        IndicesTensor=TensorDesc(index_type, sizes),
        OutputTensor=TensorDesc(data_type, larger),
    )
    rng = np.random.default_rng(1)
    numbers = rng.integers(1, 100, sizes).astype(desc.InputTensor.DataType.numpy)
    places = rng.integers(0, np.prod(larger), sizes).astype(index_type.lower())
    result = np.zeros(larger, numbers.dtype)
    for place, number in zip(places.flat, numbers.flat, strict=True):
        result.flat[place] = number
    return desc, {"InputTensor": numbers, "IndicesTensor": places}, result


def has_quarters(desc: Any) -> bool:
    return "QUARTERS" in gpu.planned(desc).dispatches[-1].defines


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if few elements kept a GPU busy."""
    monkeypatch.setattr(definition, "ELEMENTWISE_BUSY", 1)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("gap", [1, 3])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("data_type", TYPES)
def test_windows_in_every_layout(data_type: str, order: Sequence[int], gap: int, device: Any) -> None:
    image = (8, 4, 4, 6)
    desc, inputs, result = columns(data_type, image, strides_of((8, 36, 24), order, gap))
    assert has_quarters(desc) == (data_type != "INT8" or order[-1] != 2 or gap > 1)  # else by words
    (found,) = run_in_guard_zones(device, desc, inputs).values()
    assert np.array_equal(found, result)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("index_type", ["UINT32", "UINT64"])
@pytest.mark.parametrize("data_type", TYPES)
def test_unpooled_numbers(data_type: str, index_type: str, device: Any) -> None:
    desc, inputs, result = unpooled(data_type, index_type)
    assert has_quarters(desc) == (data_type != "INT8")
    (found,) = run_in_guard_zones(device, desc, inputs).values()
    assert np.array_equal(found, result)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("image", "is_divided"),
    [
        ((1, 1, 2, 4), True),
        ((1, 1, 2, 2), False),
        ((1, 1, 3, 3), False),
        ((1, 1, 3, 7), False),
        ((2, 3, 5, 7), True),
    ],
    ids=str,
)
def test_lines_that_have_no_quarters(image: Sequence[int], is_divided: bool, device: Any) -> None:
    """A quarter of one element would leave the dimension without an order among the others."""
    sizes = (image[0], 9 * image[1], image[2] * image[3])
    desc, inputs, result = columns("FLOAT32", image, strides_of(sizes, (0, 1, 2), 1))
    assert has_quarters(desc) == is_divided
    (found,) = run_in_guard_zones(device, desc, inputs).values()
    assert np.array_equal(found, result)


def test_large_outputs_have_them_in_c_as_well(tmp_path: Path) -> None:
    large, small = (
        columns("FLOAT32", (1, 2, 256, 256), strides_of((1, 18, 65536), (0, 1, 2), 1)),
        unpooled("FLOAT16"),
    )
    assert [has_quarters(desc) for desc, *_ in (large, small)] == [True, False]
    library = Library(tmp_path)
    for desc, *_ in (large, small):
        assert library.plan(desc) == expected(desc)
