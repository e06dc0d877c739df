"""Shaders of resampling, its gradients, and gradients of sampled regions: at scales and offsets that are not
drawn, and by tables and without. For other results see `test_schedules_drawn.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu, make
from dmlops.gpu.plans import pass_selection, sparse_sum
from dmlops.gpu.plans.operands import NONE
from gpu_device import device, run_in_guard_zones
from gpu_results import check_results
from tensors import last, of

__all__ = ["device"]


def resampling(small: TensorDesc, large: TensorDesc, scales: list[float] | None = None, **given: Any) -> Any:
    """Linear, by the ratios of sizes, unless others are given; back from `large` to `small` if that is an
    output."""
    rank, mode = len(small.Sizes), given.pop("mode", "LINEAR")
    ratios = [to / size for size, to in zip(small.Sizes, large.Sizes, strict=True)]
    members = {
        "InterpolationMode": mode, "Scales": scales or ratios,
        "InputPixelOffsets": [0.5] * rank, "OutputPixelOffsets": [-0.5] * rank, **given,
    }  # fmt: skip
    if members.pop("back", False):
        return make.resample_grad(large, OutputGradientTensor=small, **members)
    if "Antialiased" in given:
        return make.resample3(small, OutputTensor=large, RoundingDirection="DECREASING", **members)
    return make.resample1(small, OutputTensor=large, **members)


F, NEAREST = "FLOAT32", "NEAREST_NEIGHBOR"
CASES = {
    "far apart": resampling(of(F, 2, 200), of(F, 2, 50), [1.0, 0.1]),
    "several tiles": resampling(of(F, 5, 35, 150), of(F, 5, 70, 300)),
    "channels moved": resampling(
        last(F, 2, 8, 5, 6), last(F, 2, 8, 10, 12), InputPixelOffsets=[0.5, 2.5, 0.5, 0.5]
    ),
    "nearest, channels moved": resampling(
        last(F, 1, 12, 3, 5), last(F, 1, 12, 6, 5), mode=NEAREST, InputPixelOffsets=[0.5, 3.5, 0.5, 0.5]
    ),
    "far away": resampling(
        of(F, 9, 8), of(F, 7, 7), [1e-30, 1e-30], mode=NEAREST, OutputPixelOffsets=[-3.0, 3.0]
    ),
    "no scale": resampling(of(F, 9, 8), of(F, 3, 3), [0.0, 1.0], mode=NEAREST),
    "antialiased, more taps than tables have": resampling(of(F, 4, 700), of(F, 4, 3), Antialiased=True),
    "antialiased along planes": resampling(of(F, 24, 11, 5), of(F, 5, 3, 2), Antialiased=True),
    "antialiased, more planes than tables have": resampling(
        of(F, 300, 2, 3), of(F, 2, 2, 3), Antialiased=True
    ),
    "back from fewer": resampling(of(F, 3, 13, 9), of(F, 3, 5, 6), [1.0, 0.4, 0.7], back=True),
    "back, all at an edge": resampling(of(F, 2, 3), of(F, 2, 400), [1.0, 1.0], back=True),
    "back, no scale": resampling(of(F, 3, 8), of(F, 9, 8), [0.0, 1.0], back=True),
    "back, a scale beyond integers": resampling(of(F, 2, 8), of(F, 2, 8), [1e30, 1.0], back=True),
    "nearest, back": resampling(of(F, 2, 3), of(F, 2, 400), [1.0, 1.0], back=True, mode=NEAREST),
    "nearest, back, a scale beyond integers": resampling(
        of(F, 2, 8), of(F, 2, 8), [1e30, 1.0], back=True, mode=NEAREST
    ),
}


def numbers_for(desc: Any) -> dict[str, np.ndarray]:
    """Small integers, some of them equal."""
    (name,) = (one.name for one in desc.MEMBERS if one.role == "input")
    tensor = getattr(desc, name)
    numbers = np.random.default_rng(3).integers(0, 40, tensor.Sizes)
    return {name: numbers.astype(tensor.DataType.numpy)}


@pytest.mark.parametrize("name", CASES)
def test_shaders_give_what_the_reference_gives(name: str, device: Any) -> None:
    assert CASES[name].validate("6.4") == []
    check_results(device, CASES[name], numbers_for(CASES[name]), absolute=1e-5)


def regions(function: str, channels: int, count: int) -> tuple[Any, dict[str, np.ndarray]]:
    """The gradient of regions sampled from two images, and its inputs: some regions overlap, others reach
    beyond an image or are empty."""
    rng = np.random.default_rng(5)
    first = rng.uniform(-3, 9, (count, 2))
    corners = np.concatenate([first, first + rng.uniform(-1, 8, (count, 2))], 1).astype(np.float32)
    image, results = of(F, 2, channels, 9, 11), of(F, count, channels, 3, 2)
    desc = dmlops.RoiAlignGrad(
        InputTensor=image, InputGradientTensor=results, ROITensor=of(F, count, 4),
        BatchIndicesTensor=of("UINT32", count), OutputGradientTensor=image, ReductionFunction=function,
        InterpolationMode="LINEAR", SpatialScaleX=1.0, SpatialScaleY=1.0, InputPixelOffset=0.5,
        OutputPixelOffset=-0.5, MinimumSamplesPerOutput=1, MaximumSamplesPerOutput=3,
        AlignRegionsToCorners=False,
    )  # fmt: skip
    return desc, {
        "InputTensor": rng.normal(0, 1, image.Sizes).astype(np.float32),
        "InputGradientTensor": rng.normal(0, 1, results.Sizes).astype(np.float32),
        "ROITensor": corners,
        "BatchIndicesTensor": rng.integers(0, 2, count).astype(np.uint32),
    }


@pytest.mark.parametrize("function", ["AVERAGE", "MAX"])
@pytest.mark.parametrize(("channels", "count"), [(1, 3), (5, 7), (17, 180)], ids=["one", "few", "blocks"])
def test_gradients_of_regions_have_the_bytes_of_the_definition(
    function: str, channels: int, count: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the terms of an element are looked up or all are tested; with more than 1024 of them, there
    are several blocks."""
    desc, inputs = regions(function, channels, count)
    assert "ELEMENTS_PER_THREAD" in gpu.plan(desc).dispatches[-1].defines
    (selecting,) = run_in_guard_zones(device, desc, inputs).values()
    monkeypatch.setattr(sparse_sum, "SPARSE_SUM_ROOM", 0)
    assert "ELEMENTS_PER_THREAD" not in gpu.plan(desc).dispatches[-1].defines
    (testing,) = run_in_guard_zones(device, desc, inputs).values()
    assert selecting.tobytes() == testing.tobytes()
    assert np.count_nonzero(selecting) > 0


@pytest.mark.parametrize("name", ["several tiles", "back from fewer", "back, no scale"])
def test_tables_give_the_bytes_of_the_definition(
    name: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of the same products in the same order, whether a thread goes through its box or has tables."""
    inputs = numbers_for(CASES[name])
    (tables,) = run_in_guard_zones(device, CASES[name], inputs).values()
    monkeypatch.setattr(pass_selection, "separable_place", lambda *_: NONE)
    assert len(gpu.plan(CASES[name]).dispatches) == 2
    (alone,) = run_in_guard_zones(device, CASES[name], inputs).values()
    assert tables.tobytes() == alone.tobytes()
