"""Definitions by rows, of which a whole tensor may be one: which are split, and numbers that are hard. See
`test_schedules_drawn.py` for other results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlops import TensorDesc, gpu, make
from gpu_device import device, run_in_guard_zones
from gpu_results import check_results, inputs_of
from tensors import last, of

__all__ = ["device"]


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
    return make.dynamic_quantize_linear(of("FLOAT32", *sizes), **types)


WIDE, LONG = of("FLOAT16", 1, 1, 2, 4097), of("FLOAT32", 1, 1, 3, 50000)
REPEATED = of("FLOAT32", 2, 3, 4, 8, strides=(0, 40, 9, 1))
DISPATCHES = [  # a few long rows are split
    (1, normalized(WIDE, [3], FusedActivation=make.activation_leaky_relu(Alpha=0.1))),
    (1, normalized(REPEATED, [3], OutputTensor=of("FLOAT32", 2, 3, 4, 8))),
    (1, normalized(of("FLOAT32", 2, 1, 3, 1, 2, 2, 1, 5), [1, 4, 7, 7])),
    (1, normalized(of("FLOAT16", 2, 3), [])),
    (2, normalized(LONG, [3])),
    *((1, one) for one in training(of("FLOAT16", 4, 8, 16, 16))),
    *((2, one) for one in training(of("FLOAT32", 2, 3, 200, 200))),
    *((2, one) for one in training(last("FLOAT16", 2, 20, 37, 40))),  # neighbors have different channels
    *((many, quantized(*sizes)) for many, sizes in ((1, (1,)), (1, (3, 5)), (2, (300, 1100)))),
]


@pytest.mark.parametrize("number", range(len(DISPATCHES)))
def test_how_many_dispatches_rows_take(number: int, device: Any) -> None:
    many, desc = DISPATCHES[number]
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
