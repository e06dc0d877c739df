"""Fused activations that need whole rows or have their own members, against formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from definition_cases import close, one, target
from dmlops import ScaleBias, TensorDesc, make
from gpu_device import device

__all__ = ["device", "target"]

RANDOM = np.random.default_rng(11)
TYPES = (np.float32, np.float16)
CLIP = make.element_wise_clip(Min=-0.75, Max=0.5, ScaleBias=ScaleBias(Scale=-0.5, Bias=0.25))
SOFTMAX = make.activation_softmax()


def random(type_: Any, *sizes: int) -> np.ndarray:
    return RANDOM.normal(size=sizes).astype(type_)


def double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    raised = np.exp(x - x.max(axis=axes, keepdims=True))
    return raised / raised.sum(axis=axes, keepdims=True)


def clipped(x: np.ndarray) -> np.ndarray:
    return np.clip(-0.5 * x + 0.25, -0.75, 0.5)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_gemm(batch: tuple[int, ...], type_: Any) -> None:
    a, b = random(type_, *batch, 4, 70), random(type_, *batch, 70, 9)
    product = 1.5 * (double(a) @ double(b))  # up to some tens: rounded to halves first, rows would be off
    rank = product.ndim

    def fused(activation: Any) -> np.ndarray:
        return one(make.gemm, a, b, Alpha=1.5, FusedActivation=activation)

    close(fused(SOFTMAX), softmax(product, (rank - 1,)))
    for axes in [(0,), (rank - 2,), (0, rank - 1), tuple(range(rank))]:
        close(fused(make.activation_softmax1(Axes=axes)), softmax(product, axes))
    close(fused(CLIP), clipped(product))
    close(fused(make.element_wise_clip(Min=-1.0, Max=2.0)), np.clip(product, -1, 2))


@pytest.mark.parametrize("type_", TYPES)
def test_convolution(type_: Any) -> None:
    x, w, b = random(type_, 2, 3, 7), random(type_, 4, 3, 1), random(type_, 1, 4, 1)
    found = one(make.convolution, x, w, b, FusedActivation=CLIP)
    close(found, clipped(np.einsum("ncx,kc->nkx", double(x), double(w[:, :, 0])) + double(b)))


def test_an_output_with_gaps_between_its_rows() -> None:
    a, b = random(np.float32, 3, 5), random(np.float32, 5, 4)
    output = TensorDesc("FLOAT32", (3, 4), Strides=(1, 5), TotalTensorSizeInBytes=76)
    found = one(make.gemm, a, b, Alpha=1.5, OutputTensor=output, FusedActivation=SOFTMAX)
    close(found, softmax(1.5 * double(a) @ double(b), (1,)))


def test_what_is_not_finite_stays_in_its_row() -> None:
    a, b = np.ones((4, 1), np.float32), np.array([[1, 2, 3]], np.float32)
    a[1], a[2] = np.nan, -np.inf
    found = one(make.gemm, a, b, Alpha=1.5, FusedActivation=SOFTMAX)
    close(found[[0, 3]], softmax(np.array([[1.5, 3, 4.5]] * 2), (1,)))
    assert np.isnan(found[1:3]).all()
