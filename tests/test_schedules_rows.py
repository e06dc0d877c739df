"""Definitions by rows, of which a whole tensor may be one: their shaders' results at awkward sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu
from gpu_device import device, run_in_guard_zones
from gpu_results import check_results, inputs_of
from tensors import last, of

__all__ = ["device"]


def drawn(desc: Any) -> dict[str, np.ndarray]:
    """Inputs, whose mean is not 0; variances and second moments are above 0."""
    inputs = inputs_of(desc)
    for name in inputs:
        if name in ("VarianceTensor", "InputSecondMomentTensor"):
            inputs[name] = np.abs(inputs[name]) + np.float16(0.5)
        elif name == "InputTensor":
            inputs[name] = inputs[name] + np.float16(1)
    return inputs


def normalized(whole: TensorDesc, axes: list[int], epsilon: float = 1e-3, **members: Any) -> Any:
    usual = {"OutputTensor": TensorDesc(whole.DataType, whole.Sizes), "NormalizeVariance": True}
    return dmlops.MeanVarianceNormalization1(
        InputTensor=whole, Axes=axes, Epsilon=epsilon, **{**usual, **members}
    )


def of_batches(whole: TensorDesc, added: TensorDesc | None = None) -> list[Any]:
    """The training and the gradient of a batch normalization."""
    one = TensorDesc(whole.DataType, (1, whole.Sizes[1], 1, 1))
    training = dmlops.BatchNormalizationTraining(
        InputTensor=whole, ScaleTensor=one, BiasTensor=one, FusedAddTensor=added, OutputTensor=whole,
        OutputMeanTensor=one, OutputVarianceTensor=one, Epsilon=1e-3,
    )  # fmt: skip
    gradients = dmlops.BatchNormalizationTrainingGrad(
        InputTensor=whole, InputGradientTensor=whole, MeanTensor=one, VarianceTensor=one, ScaleTensor=one,
        OutputGradientTensor=whole, OutputScaleGradientTensor=one, OutputBiasGradientTensor=one, Epsilon=1e-3,
    )  # fmt: skip
    return [training, gradients]


def optimizer(whole: TensorDesc, gradient: TensorDesc, steps: tuple[int, ...]) -> Any:
    names = [one.name for one in dmlops.AdamOptimizer.MEMBERS if one.role in ("input", "output")]
    tensors = dict.fromkeys(names, whole) | {
        "GradientTensor": gradient,
        "TrainingStepTensor": of("UINT32", *steps),
    }
    return dmlops.AdamOptimizer(**tensors, LearningRate=0.1, Beta1=0.9, Beta2=0.999, Epsilon=1e-3)


def passes(desc: Any) -> int:
    return len(gpu.plan(desc).dispatches)


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    ("sizes", "axes", "affine", "strides"),
    [
        ((1, 1, 3, 1), [3], (1, 1, 1, 1), None),
        ((1, 1, 5, 31), [3], (1, 1, 1, 31), None),
        ((1, 1, 5, 33), [3], (1, 1, 1, 1), None),
        ((1, 1, 9, 256), [3], (1, 1, 1, 256), None),
        ((1, 1, 3, 257), [3], (1, 1, 1, 257), None),
        ((1, 1, 2, 4097), [3], (1, 1, 1, 4097), None),
        ((1, 1, 3, 50000), [3], (1, 1, 1, 1), None),
        ((1, 1, 1, 50000), [3], (1, 1, 1, 50000), None),
        ((2, 3, 4, 5), [0, 2, 3], (1, 3, 1, 1), None),
        ((2, 64, 5, 7), [1], (1, 64, 1, 1), None),
        ((2, 3, 4, 5), [1, 3], (1, 3, 4, 5), (60, 1, 15, 3)),
        ((2, 3, 4, 8), [3], (1, 1, 1, 8), (0, 40, 9, 1)),
        ((2, 1, 3, 1, 2, 2, 1, 5), [1, 4, 7, 7], (1, 1, 3, 1, 2, 1, 1, 1), None),
        ((2, 3), [], (1, 3), None),
    ],
)
def test_normalizations_at_awkward_sizes(
    sizes: tuple[int, ...], axes: list[int], affine: tuple[int, ...], strides: Any, kind: str, device: Any
) -> None:
    desc = normalized(
        of(kind, *sizes, strides=strides), axes, ScaleTensor=of(kind, *affine), BiasTensor=of(kind, *affine),
        FusedActivation=dmlops.ActivationLeakyRelu(Alpha=0.1),
    )  # fmt: skip
    assert passes(desc) == (2 if sizes[3:] == (50000,) else 1)  # a long row is split
    check_results(device, desc, drawn(desc))


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("sizes", [(2, 64, 40, 40), (2, 20, 37, 40), (1, 3, 70, 80)])
def test_statistics_of_channels_that_lie_last(sizes: tuple[int, ...], kind: str, device: Any) -> None:
    """Neighboring threads have different channels, and so many pixels of them that these are split."""
    whole = last(kind, *sizes)
    for desc in (*of_batches(whole, added=whole), normalized(whole, [2, 3], OutputTensor=whole)):
        assert passes(desc) == 2
        check_results(device, desc, drawn(desc))


@pytest.mark.parametrize("width", [9000, 50000])
def test_deviations_are_exact_far_from_zero(width: int, device: Any) -> None:
    """Also where a row is split and its parts differ: the second half of each row is greater."""
    data = np.random.default_rng(9).normal(1e4, 1, (1, 1, 2, width)).astype(np.float32)
    data[..., width // 2 :] += 3
    desc = normalized(TensorDesc.of(data), [3], 1e-9)
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
    desc = normalized(TensorDesc.of(data), [3], 1e-5)
    found = check_results(device, desc, {"InputTensor": data})["OutputTensor"]
    assert np.isnan(found[0, 0, 2]).all() and np.isfinite(found[0, 0, [0, 1, 3]]).all()


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1), (2, 3, 5, 7), (4, 8, 16, 16), (1, 5, 1, 300), (2, 3, 200, 200)]
)
def test_batch_normalizations(sizes: tuple[int, ...], kind: str, device: Any) -> None:
    whole, one = of(kind, *sizes), of(kind, 1, sizes[1], 1, 1)
    inference = dmlops.BatchNormalization(
        InputTensor=whole, MeanTensor=one, VarianceTensor=one, ScaleTensor=one, BiasTensor=one,
        OutputTensor=whole, Spatial=True, Epsilon=1e-3,
    )  # fmt: skip
    for desc in (inference, *of_batches(whole)):
        assert passes(desc) == (2 if sizes[3] == 200 and desc != inference else 1)
        check_results(device, desc, drawn(desc))


@pytest.mark.parametrize("sizes", [(1,), (3, 5), (300, 1100), (1024, 1028)], ids=str)
@pytest.mark.parametrize(("kind", "stored"), [("FLOAT32", "UINT8"), ("FLOAT16", "INT8")])
def test_groups_share_a_tensor(sizes: tuple[int, ...], kind: str, stored: str, device: Any) -> None:
    """With more groups than one, or with outputs that are written in words, or neither."""
    types = {"OutputTensor": stored, "OutputZeroPointTensor": stored}
    desc = dmlops.make.dynamic_quantize_linear(of(kind, *sizes), **types)
    values = np.random.default_rng(0).uniform(-3, 5, sizes).astype(kind.lower())
    check_results(device, desc, {"InputTensor": values}, exact=True)


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((1, 1, 1, 1), None),
        ((2, 3, 5, 7), None),
        ((1, 2, 64, 300), None),
        ((1, 1, 1, 50000), None),
        ((2, 3, 4, 8), (96, 32, 1, 4)),
        ((1, 3, 4, 6), (0, 40, 8, 1)),
    ],
)
def test_optimizer_steps(sizes: tuple[int, ...], strides: Any, kind: str, device: Any) -> None:
    """Elements that share one step, at any strides."""
    desc = optimizer(of(kind, *sizes), of(kind, *sizes, strides=strides), (1, 1, 1, 1))
    assert passes(desc) == 1
    check_results(device, desc, drawn(desc) | {"TrainingStepTensor": np.full((1, 1, 1, 1), 7, np.uint32)})
