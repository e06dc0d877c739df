"""Rows, windows and recurrent networks: the dispatches that they take, and numbers that are hard. For other
results see `test_schedules_drawn.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import recurrent_networks
from dmlops import TensorDesc, gpu, make
from gpu_device import device, run_in_guard_zones
from gpu_results import COOPERATIVE, check_cooperative, check_results, inputs_of
from product_cases import F, H, convolution
from random_shapes.data import data
from recurrent_networks import made
from tensors import last, of

__all__ = ["device"]

# Rows, of which a whole tensor may be one: a few long ones are split.


def normalized(whole: TensorDesc, axes: list[int], **members: Any) -> Any:
    usual = {"Axes": axes, "NormalizeVariance": True, "Epsilon": 1e-3}
    return make.mean_variance_normalization1(whole, **{**usual, **members})


def training(whole: TensorDesc) -> list[Any]:
    """The training and the gradient of a batch normalization."""
    one = TensorDesc(whole.DataType, (1, whole.Sizes[1], 1, 1))
    return [
        make.batch_normalization_training(whole, one, one, whole, OutputTensor=whole, Epsilon=1e-3),
        make.batch_normalization_training_grad(whole, whole, one, one, one, Epsilon=1e-3),
    ]


def quantized(*sizes: int) -> Any:
    types = {"OutputTensor": "UINT8", "OutputZeroPointTensor": "UINT8"}
    return make.dynamic_quantize_linear(F(*sizes), **types)


ROWS = [
    (1, normalized(H(1, 1, 2, 4097), [3])), (2, normalized(F(1, 1, 3, 50000), [3])),
    (1, normalized(F(2, 3, 4, 8, strides=(0, 40, 9, 1)), [3], OutputTensor=F(2, 3, 4, 8))),
    (1, normalized(F(2, 1, 3, 1, 2, 2, 1, 5), [1, 4, 7, 7])), (1, normalized(H(2, 3), [])),
    *((1, one) for one in training(H(4, 8, 16, 16))), *((2, one) for one in training(F(2, 3, 200, 200))),
    *((2, one) for one in training(last("FLOAT16", 2, 20, 37, 40))),  # neighbors have different channels
    (1, quantized(1)), (1, quantized(3, 5)), (2, quantized(300, 1100)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_how_many_dispatches_rows_take(number: int, device: Any) -> None:
    many, desc = ROWS[number]
    assert len(gpu.plan(desc).dispatches) == many
    inputs = inputs_of(desc)
    inputs |= {name: np.abs(one) + one.dtype.type(0.5) for name, one in inputs.items() if "Variance" in name}
    check_results(device, desc, inputs)


@pytest.mark.parametrize("width", [9000, 50000])
def test_deviations_are_exact_far_from_zero(width: int, device: Any) -> None:
    """Also where a row is split and its parts differ: the second half of each row is greater."""
    data = np.random.default_rng(9).normal(1e4, 1, (1, 1, 2, width)).astype(np.float32)
    data[..., width // 2 :] += 3
    desc = normalized(TensorDesc.of(data), [3], Epsilon=1e-9)
    found = run_in_guard_zones(device, desc, {"InputTensor": data})["OutputTensor"].astype(np.float64)
    exact = data.astype(np.float64)
    deviation = exact.std(3)
    # What is left of an error of the mean is the same for all elements.
    np.testing.assert_allclose(np.ptp(found, 3), np.ptp(exact, 3) / deviation, 1e-6)
    np.testing.assert_allclose(found.mean(3), 0, atol=1e-3)


@pytest.mark.parametrize("width", [70, 50000])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_in_its_row(value: float, width: int, device: Any) -> None:
    data = np.random.default_rng(2).normal(0, 1, (1, 1, 4, width)).astype(np.float32)
    data[0, 0, 2, 69] = value
    desc = normalized(TensorDesc.of(data), [3], Epsilon=1e-5)
    found = check_results(device, desc, {"InputTensor": data})["OutputTensor"]
    assert np.isnan(found[0, 0, 2]).all() and np.isfinite(found[0, 0, [0, 1, 3]]).all()


# Windows.


def channelwise(data: TensorDesc, filters: tuple[int, ...], **members: Any) -> Any:
    """A convolution in which each channel is a group."""
    weights = TensorDesc(data.DataType, filters)
    return convolution(data, weights, GroupCount=data.Sizes[1], bias=False, **members)


IMAGE, FILTERS = F(2, 6, 12, 20), (6, 1, 3, 3)
MOVED = {"WindowSize": (3, 3), "Strides": (2, 2), "StartPadding": (1, 1), "EndPadding": (1, 1)}
PLACES = TensorDesc("UINT32", (2, 6, 6, 10))
SLIDES = [
    (True, make.max_pooling2(IMAGE, Dilations=(2, 2), **MOVED)),
    (False, make.max_pooling2(IMAGE, OutputIndicesTensor=PLACES, Dilations=(1, 1), **MOVED)),
    (True, channelwise(IMAGE, FILTERS)), (True, channelwise(IMAGE, FILTERS, Strides=2, Direction="BACKWARD")),
    # The taps of a phase are apart.
    (False, channelwise(IMAGE, FILTERS, Strides=4, Dilations=3, Direction="BACKWARD")),
    # There are more taps than 32 bits count.
    (False, make.max_pooling(
        F(1, 1, 1, 1), WindowSize=(2**16, 2**17), StartPadding=(2**16 - 1, 2**17 - 1)
    )),
]  # fmt: skip


def test_what_is_slid() -> None:
    for slides, desc in SLIDES:
        assert [one for one in desc.validate() if not one.advice] == []
        assert any("UNROLLED" in step.defines for step in gpu.plan(desc).dispatches) == slides, desc


@pytest.mark.parametrize("includes", [False, True])
@pytest.mark.parametrize(("dilation", "end"), [(2**31 - 1, 1), (2**32 - 1, 1), (1, 2**30), (1, 2**31 - 1)])
def test_averages_count_taps_whatever_is_between_or_after_them(
    dilation: int, end: int, includes: bool, device: Any
) -> None:
    """Numbers near the limits of 32 bits, of which nothing in shaders may be a sum."""
    desc = make.average_pooling1(
        F(1, 2, 5, 6), Strides=(2**30, 1), WindowSize=(1, 3), StartPadding=(0, 1), EndPadding=(end, 1),
        Dilations=(dilation, 1), IncludePadding=includes,
    )  # fmt: skip
    assert not desc.validate()
    check_results(device, desc, inputs_of(desc, 0.05))


# Sums of selected terms: gradients of regions.


def regions(count: int, side: int) -> Any:
    """Of 25 terms each."""
    image = F(2, 3, side, side)
    return make.roi_align_grad(
        F(count, 3, 5, 5), F(count, 4), of("UINT32", count), image, OutputGradientTensor=image,
        ReductionFunction="MAX", InterpolationMode="LINEAR", SpatialScaleX=1, SpatialScaleY=1,
        InputPixelOffset=0.5, OutputPixelOffset=-0.5, MinimumSamplesPerOutput=1, MaximumSamplesPerOutput=2,
        AlignRegionsToCorners=False,
    )  # fmt: skip


def test_terms_are_marked_in_blocks_of_1024(device: Any) -> None:
    """If there is room for all of them; the last block may have a single term."""
    for side, has_room in ((207, True), (208, False)):
        marking = gpu.plan(regions(100000, side)).dispatches[-1].defines
        assert ("ELEMENTS_PER_THREAD" in marking) == has_room
    desc = regions(41, 9)
    check_results(device, desc, data(desc, np.random.default_rng(5)))


# Recurrent networks, whose intermediate tensors share sums of products.


def network(operator: str, *sizes: int, **members: Any) -> Any:
    """By batches, entries of the input, and units."""
    return made(recurrent_networks.network(operator, *sizes, **members), operator)


BOTH: Any = {"direction": "BIDIRECTIONAL"}
HALF: Any = {"data_type": "FLOAT16"}
NETWORKS = {
    "rnn": network("RNN", 2, 40, 64),
    "gru": network("GRU", 1, 32, 64),
    "gru, reset first": network("GRU", 17, 20, 48, LinearBeforeReset=False),
    "lstm": network("LSTM", 4, 36, 40, **BOTH),
    "lstm, no last state": network("LSTM", 7, 16, 52, without=("OutputSingleTensor", "BiasTensor")),
    "lstm, one step": network("LSTM", 40, 16, 52, steps=1),
}


def test_a_step_takes_one_dispatch() -> None:
    """But a GRU that resets before the product takes two; the input takes another one, and so does each
    output. The first step waits for nothing. Later ones have the same constants, so that they stay in a
    device's cache if dispatches share them."""
    for name, desc in NETWORKS.items():
        outputs = sum(getattr(desc, one.name) is not None for one in desc.MEMBERS if one.role == "output")
        found, each = gpu.plan(desc).dispatches, 2 if "reset first" in name else 1
        assert len(found) == outputs + 1 + each * (desc.InputTensor.Sizes[1] + 1), name
        assert [one.needs_barrier for one in found[: each + 2]] == [False] * (each + 1) + [True], name
        steps = {(one.defines["PASS"], one.constants) for one in found if "SUM_ROWS" in one.defines}
        assert len(steps) == 1 + 2 * each, name  # the input, and the first step


def small_inputs(desc: Any) -> dict[str, np.ndarray]:
    """Small numbers; sequences of all lengths."""
    inputs = {name: one / 8 for name, one in inputs_of(desc).items()}
    lengths = np.arange(desc.InputTensor.Sizes[2]) % (desc.InputTensor.Sizes[1] + 1)
    return inputs | {"SequenceLengthsTensor": lengths.astype(np.uint32).reshape(1, 1, 1, -1)}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("desc", "check"),
    [(NETWORKS["lstm"], check_results), (network("LSTM", 12, 8, 136, **BOTH, **HALF), check_cooperative)],
    ids=["alone", "matrices"],
)
def test_what_is_no_number_stays_with_its_sequence(value: float, desc: Any, check: Any, device: Any) -> None:
    inputs = small_inputs(desc)
    inputs["SequenceLengthsTensor"][:] = 3
    inputs["InputTensor"][0, 1, 2, 5] = value
    found = check(device, desc, inputs)["OutputSequenceTensor"]
    assert np.isfinite(np.delete(found, 2, 2)).all()


def test_which_passes_take_cooperative_matrices() -> None:
    """Float16 in whole vectors of eight, for several sequences."""

    def taking(desc: Any) -> list[int]:
        return [int("COOPERATIVE_MATRIX" in step.defines) for step in gpu.plan(desc, COOPERATIVE).dispatches]

    lstm = network("LSTM", 32, 64, 64, **HALF)
    assert taking(lstm) == [1] * 5 + [0] * 3
    assert taking(network("GRU", 9, 24, 40, LinearBeforeReset=False, **BOTH, **HALF)) == [1] * 9 + [0, 0]
    assert taking(network("LSTM", 32, 60, 64, **HALF)) == [0] + [1] * 4 + [0] * 3
    assert not any(taking(network("LSTM", 32, 64, 64)))
    assert not any(taking(network("LSTM", 1, 64, 64, steps=4, **HALF)))
    both = network("LSTM", 32, 64, 64, **BOTH, **HALF)
    weights = replace(both.RecurrenceTensor, Strides=(0, 256 * 64 + 1, 64, 1))
    assert not any(taking(replace(both, RecurrenceTensor=weights))[1:])
