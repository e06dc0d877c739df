"""Shaders of resampling, its gradients and gradients of pooling, at all ranks, scales and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu
from dmlops.gpu.plans import pass_selection, separable, sparse_sum
from dmlops.gpu.plans.operands import NONE
from gpu_device import device, run_in_guard_zones
from gpu_results import check_results
from tensors import last, of

__all__ = ["device"]


def ratios(small: TensorDesc, large: TensorDesc) -> list[float]:
    return [to / size for size, to in zip(small.Sizes, large.Sizes, strict=True)]


def resampling(
    mode: str, data: TensorDesc, result: TensorDesc, scales: list[float] | None = None, **given: Any
) -> Any:
    """By the ratios of sizes, unless others are given."""
    rank = len(data.Sizes)
    offsets = {"InputPixelOffsets": [0.5] * rank, "OutputPixelOffsets": [-0.5] * rank}
    return dmlops.Resample1(
        InputTensor=data, OutputTensor=result, InterpolationMode=mode, DimensionCount=rank,
        Scales=scales or ratios(data, result), **(offsets | given),
    )  # fmt: skip


def back(
    mode: str, gradients: TensorDesc, result: TensorDesc, scales: list[float] | None = None, **given: Any
) -> Any:
    rank = len(result.Sizes)
    offsets = {"InputPixelOffsets": [0.5] * rank, "OutputPixelOffsets": [-0.5] * rank}
    return dmlops.ResampleGrad(
        InputGradientTensor=gradients, OutputGradientTensor=result, InterpolationMode=mode,
        DimensionCount=rank, Scales=scales or ratios(result, gradients), **(offsets | given),
    )  # fmt: skip


def antialiased(data: TensorDesc, result: TensorDesc) -> Any:
    rank = len(data.Sizes)
    return dmlops.Resample3(
        InputTensor=data, OutputTensor=result, InterpolationMode="LINEAR", RoundingDirection="DECREASING",
        DimensionCount=rank, Scales=ratios(data, result),
        InputPixelOffsets=[0.5] * rank, OutputPixelOffsets=[-0.5] * rank, Antialiased=True,
    )  # fmt: skip


def gradient(kind: str, gradients: TensorDesc, result: TensorDesc, window: int, **given: Any) -> Any:
    dims = len(result.Sizes) - 2
    each = {"Strides": 2, "StartPadding": 1, "EndPadding": 1} | ({"Dilations": 1} if kind == "Max" else {})
    lists = {name: [given.pop(name, value)] * dims for name, value in each.items()}
    tensors = {"InputGradientTensor": gradients, "OutputGradientTensor": result}
    if kind == "Max":
        tensors["InputTensor"] = TensorDesc(result.DataType, result.Sizes)
    members = {"DimensionCount": dims, "WindowSize": [window] * dims}
    return getattr(dmlops, f"{kind}PoolingGrad")(**tensors, **lists, **members, **given)


F, H = "FLOAT32", "FLOAT16"
LINEAR = {
    "one dimension": resampling("LINEAR", of(F, 7), of(F, 18), [2.5]),
    "of one element": resampling("LINEAR", of(F, 1, 1), of(F, 3, 4)),
    "a picture": resampling("LINEAR", of(F, 2, 3, 8, 9), of(F, 2, 3, 16, 18)),
    "smaller": resampling("LINEAR", of(F, 1, 3, 13, 9), of(F, 1, 3, 5, 6), [1.0, 1.0, 0.4, 0.7]),
    "along all": resampling("LINEAR", of(H, 2, 3, 4, 5), of(H, 3, 4, 6, 7), [1.5, 1.3, 1.5, 1.4]),
    "the same element": resampling("LINEAR", of(F, 2, 4, 6, strides=(0, 0, 0)), of(F, 2, 8, 12)),
    "with gaps": resampling(
        "LINEAR", of(F, 2, 4, 6, strides=(60, 14, 2)), of(F, 2, 8, 9, strides=(1, 2, 17))
    ),
    "bytes": resampling("LINEAR", of("INT8", 3, 6, 5), of("INT8", 3, 12, 20)),
    "bytes of no whole words": resampling("LINEAR", of("UINT8", 2, 6, 5), of("UINT8", 2, 12, 10)),
    "several tiles": resampling("LINEAR", of(F, 5, 35, 150), of(F, 5, 70, 300)),
    "many planes": resampling("LINEAR", of(F, 7, 11, 3, 5), of(F, 7, 11, 6, 10)),
    "far apart": resampling("LINEAR", of(F, 2, 200), of(F, 2, 50), [1.0, 0.1]),
    "large and smaller": resampling("LINEAR", of(F, 3, 40, 2100), of(F, 3, 35, 700)),
    "channels last": resampling("LINEAR", last(F, 2, 8, 5, 6), last(F, 2, 8, 10, 12)),
    "channels last, halves, odd": resampling(
        "LINEAR", last(H, 2, 7, 9, 5), last(H, 2, 7, 5, 9), [1.0, 1.0, 0.6, 1.8]
    ),
    "channels last, moved": resampling(
        "LINEAR", last(F, 2, 8, 5, 6), last(F, 2, 8, 10, 12), InputPixelOffsets=[0.5, 2.5, 0.5, 0.5]
    ),
    "channels last before": resampling("LINEAR", last(F, 2, 8, 5, 6), of(F, 2, 8, 10, 12)),
    "much smaller": resampling("LINEAR", of(H, 2, 90, 300), of(H, 2, 7, 11)),
}  # fmt: skip
NEAREST = {
    "a picture": resampling("NEAREST_NEIGHBOR", of(H, 2, 3, 8, 9), of(H, 2, 3, 16, 27)),
    "channels last": resampling("NEAREST_NEIGHBOR", last(H, 2, 12, 3, 5), last(H, 2, 12, 6, 5)),
    "channels last, bytes": resampling(
        "NEAREST_NEIGHBOR", last("UINT8", 1, 12, 3, 5), last("UINT8", 1, 12, 6, 5)
    ),
    "channels last, moved": resampling(
        "NEAREST_NEIGHBOR",
        last(F, 1, 12, 3, 5),
        last(F, 1, 12, 6, 5),
        InputPixelOffsets=[0.5, 3.5, 0.5, 0.5],
    ),
    "bytes": resampling("NEAREST_NEIGHBOR", of("UINT8", 9, 8), of("UINT8", 4, 20), [0.5, 2.5]),
    "far away": resampling(
        "NEAREST_NEIGHBOR", of(F, 9, 8), of(F, 7, 7), [1e-30, 1e-30], OutputPixelOffsets=[-3.0, 3.0]
    ),
    "no scale": resampling("NEAREST_NEIGHBOR", of(F, 9, 8), of(F, 3, 3), [0.0, 1.0]),
}
ANTIALIASED = {
    "a large picture": antialiased(of(H, 2, 3, 120, 800), of(H, 2, 3, 60, 190)),
    "a ninth": antialiased(of(F, 1, 3, 40, 300), of(F, 1, 3, 9, 33)),
    "more taps than tables have": antialiased(of(F, 4, 700), of(F, 4, 3)),
    "of planes, too": antialiased(of(F, 24, 11, 5), of(F, 5, 3, 2)),
    "of more planes than tables have": antialiased(of(F, 300, 2, 3), of(F, 2, 2, 3)),
    "bytes": antialiased(of("UINT8", 1, 40, 60), of("UINT8", 1, 7, 8)),
}
BACK = {
    "a picture": back("LINEAR", of(F, 2, 3, 16, 18), of(F, 2, 3, 8, 9)),
    "channels last": back("LINEAR", last(F, 2, 8, 8, 9), last(F, 2, 8, 4, 3)),
    "halves": back("LINEAR", of(H, 1, 70, 280), of(H, 1, 35, 140)),
    "of what was made smaller": back("LINEAR", of(F, 3, 5, 6), of(F, 3, 13, 9), [1.0, 0.4, 0.7]),
    "along all": back("LINEAR", of(F, 3, 4, 6, 7), of(F, 2, 3, 4, 5), [1.5, 1.3, 1.5, 1.4]),
    "all at an edge": back("LINEAR", of(F, 2, 400), of(F, 2, 3), [1.0, 1.0]),
    "no scale": back("LINEAR", of(F, 9, 8), of(F, 3, 8), [0.0, 1.0]),
    "a scale beyond integers": back("LINEAR", of(F, 2, 8), of(F, 2, 8), [1e30, 1.0]),
    "nearest, a scale beyond integers": back("NEAREST_NEIGHBOR", of(F, 2, 8), of(F, 2, 8), [1e30, 1.0]),
    "with gaps": back("LINEAR", of(F, 2, 8, 9, strides=(200, 18, 2)), of(F, 2, 4, 6, strides=(1, 2, 9))),
    "nearest": back("NEAREST_NEIGHBOR", of(F, 2, 3, 16, 27), of(F, 2, 3, 8, 9)),
    "nearest, made smaller": back("NEAREST_NEIGHBOR", of(H, 4, 20), of(H, 9, 8), [0.5, 2.5]),
    "nearest, all at an edge": back("NEAREST_NEIGHBOR", of(F, 2, 400), of(F, 2, 3), [1.0, 1.0]),
}
POOLINGS = {
    "average": gradient("Average", of(F, 2, 3, 5, 6), of(F, 2, 3, 9, 11), 3, IncludePadding=False),
    "average, padding counts": gradient(
        "Average", of(H, 1, 2, 4, 5), of(H, 1, 2, 7, 9), 3, IncludePadding=True
    ),
    "average of three dimensions": gradient(
        "Average", of(F, 1, 2, 3, 3, 4), of(F, 1, 2, 5, 5, 7), 3, IncludePadding=True
    ),
    "average of several tiles": gradient(
        "Average", of(H, 1, 2, 36, 51), of(H, 1, 2, 71, 100), 3, IncludePadding=False
    ),
    "windows apart": gradient(
        "Average", of(F, 1, 2, 3, 3), of(F, 1, 2, 9, 9), 2, Strides=4, IncludePadding=True
    ),
    "with gaps": gradient(
        "Average", of(F, 2, 3, 5, 6, strides=(999, 130, 16, 2)), of(F, 2, 3, 9, 11, strides=(1, 2, 6, 54)), 3,
        IncludePadding=False,
    ),
    "greatest": gradient("Max", of(F, 2, 3, 5, 6), of(F, 2, 3, 9, 11), 3),
    "greatest of several tiles": gradient("Max", of(F, 1, 3, 40, 70), of(F, 1, 3, 40, 70), 3, Strides=1),
    "greatest of three dimensions": gradient("Max", of(F, 1, 2, 3, 3, 4), of(F, 1, 2, 5, 5, 7), 3),
    "greatest, dilated": gradient("Max", of(F, 1, 2, 9, 10), of(F, 1, 2, 11, 12), 3, Strides=1, Dilations=2),
    "greatest, dilated more than moved": gradient(
        "Max", of(H, 1, 2, 5, 5), of(H, 1, 2, 14, 14), 3, Strides=2, Dilations=3
    ),
}  # fmt: skip
CASES = {
    f"{kind}: {name}": desc
    for kind, cases in (
        ("linear", LINEAR),
        ("nearest", NEAREST),
        ("antialiased", ANTIALIASED),
        ("back", BACK),
        ("gradient", POOLINGS),
    )
    for name, desc in cases.items()
}


def inputs_of(desc: Any, special: float | None = None) -> dict[str, np.ndarray]:
    """Numbers, some of them equal, and along dimensions of stride 0 all; some are `special` instead."""
    rng = np.random.default_rng(3)
    arrays = {}
    for one in desc.MEMBERS:
        if one.role == "input":
            tensor = getattr(desc, one.name)
            strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
            numbers = rng.integers(0, 40, [1 if stride == 0 else size for size, stride in strides]).astype(
                float
            )
            if special is not None:
                numbers = np.where(rng.random(numbers.shape) < 0.1, special, numbers)
            arrays[one.name] = np.broadcast_to(numbers, tensor.Sizes).astype(tensor.DataType.numpy)
    return arrays


def check(device: Any, desc: Any, inputs: dict[str, np.ndarray]) -> None:
    assert desc.validate("6.4") == []
    check_results(device, desc, inputs, absolute=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_shaders_give_what_the_reference_gives(name: str, device: Any) -> None:
    check(device, CASES[name], inputs_of(CASES[name]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "name",
    [
        *("linear: a picture", "linear: smaller", "antialiased: of planes, too", "back: along all"),
        *("gradient: average", "gradient: greatest"),
    ],
)
def test_what_is_no_number_goes_where_it_counts(name: str, value: float, device: Any) -> None:
    check(device, CASES[name], inputs_of(CASES[name], value))


SEPARABLE = [name for name in CASES if not name.startswith("gradient")]


@pytest.mark.parametrize(("rows", "columns"), [(16, 5), (2, 128), (64, 128)])
def test_any_tile_gives_the_same(
    rows: int, columns: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separable, "SEPARABLE_ROWS", rows)
    monkeypatch.setattr(separable, "SEPARABLE_COLUMNS", columns)
    monkeypatch.setattr(separable, "SEPARABLE_GROUPS", 1)
    for name in SEPARABLE[1::3]:
        assert "TILE_ROWS" in gpu.plan(CASES[name]).dispatches[0].defines
        check(device, CASES[name], inputs_of(CASES[name]))


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


@pytest.mark.parametrize(
    "name", ["linear: several tiles", "back: of what was made smaller", "back: no scale"]
)
def test_tables_give_the_bytes_of_the_definition(
    name: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of the same products in the same order, whether a thread goes through its box or has tables."""
    inputs = inputs_of(CASES[name])
    (tables,) = run_in_guard_zones(device, CASES[name], inputs).values()
    monkeypatch.setattr(pass_selection, "separable_place", lambda *_: NONE)
    assert len(gpu.plan(CASES[name]).dispatches) == 2
    (alone,) = run_in_guard_zones(device, CASES[name], inputs).values()
    assert tables.tobytes() == alone.tobytes()
