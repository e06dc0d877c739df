"""Results do not depend on how blocks and loops are divided, nor on masked values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dmlops.definition
import test_definition_onnx as cases
from definition_cases import one, run
from dmlops import make

CHECKS: dict[str, Callable[[], None]] = {
    "integer product": lambda: cases.test_matrix_multiply_integer(np.int8, "each"),
    "convolution": lambda: cases.test_convolution_integer(2, np.uint8),
    "average": lambda: cases.test_quantized_linear_average_pooling(True),
    "maximum": lambda: cases.test_max_pooling_of_any_type(np.int8),
    "not a number": cases.test_not_a_number_goes_through_a_maximum,
    "row statistics": cases.test_layer_normalization,
    "whole tensor": lambda: cases.test_dynamic_quantize_linear(cases.random(1, 1, 3, 5)),
    "recurrence": lambda: cases.test_gru_with_either_reset(0),
    "regions": cases.test_roi_pooling,
    "samples": lambda: cases.test_roi_align("AVERAGE", 0, True),
    "gradients of samples": lambda: cases.test_gradients_of_roi_align_against_differences("MAX", False),
    "resampling": lambda: cases.test_resampling_of_any_type(np.uint8),
}


@pytest.mark.parametrize(("block", "budget"), [(1, 1), (7, 5), (1000, 64)])
@pytest.mark.parametrize("name", CHECKS)
def test_small_blocks(name: str, block: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if block == 1 and name in ("samples", "gradients of samples", "convolution", "recurrence"):
        pytest.skip("thousands of blocks")
    monkeypatch.setattr(cases, "RANDOM", np.random.default_rng(11))  # the same in any order of tests
    monkeypatch.setattr(dmlops.definition, "BLOCK", block)
    monkeypatch.setattr(dmlops.definition, "BUDGET", budget)
    CHECKS[name]()


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("direction", ["INCREASING", "DECREASING"])
@pytest.mark.parametrize(("block", "wide"), [(1, 1), (7, 1), (1000, 1000)])
def test_totals_on_the_way(
    block: int, wide: int, direction: str, axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dmlops.definition, "BLOCK", block)
    monkeypatch.setattr(dmlops.definition, "WIDE", wide)
    x = np.random.default_rng(2).integers(-9, 9, (4, 3, 5)).astype(np.float32)
    turned = x if direction == "INCREASING" else np.flip(x, axis)
    wanted = np.cumsum(turned, axis)
    for is_exclusive in (False, True):
        members = {"Axis": axis, "AxisDirection": direction, "HasExclusiveSum": is_exclusive}
        found = one(make.cumulative_summation, x, **members)
        expected = wanted - turned if is_exclusive else wanted
        assert np.array_equal(found, expected if direction == "INCREASING" else np.flip(expected, axis))


PADDED = {"StartPadding": [1, 1], "EndPadding": [1, 1]}


@pytest.mark.parametrize("budget", [3, 1 << 22])
def test_first_of_equal_elements(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dmlops.definition, "BUDGET", budget)
    x = np.zeros((1, 1, 3, 3), np.float32)
    found = run(make.max_pooling1, x, WindowSize=[3, 3], OutputIndicesTensor="UINT64", **PADDED)
    assert found["OutputIndicesTensor"][0, 0].tolist() == [[0, 0, 1], [0, 0, 1], [3, 3, 4]]


def test_padding_does_not_touch_infinities() -> None:
    x = np.full((1, 1, 3, 3), np.inf, np.float32)
    w = np.full((1, 1, 3, 3), np.inf, np.float32)
    w[0, 0, 0, 0] = -np.inf  # is in the padding for the first row and column
    found = one(make.convolution, x, w, **PADDED)
    assert np.isposinf(found[0, 0, 0]).all() and np.isposinf(found[0, 0, :, 0]).all()
    assert np.isnan(found[0, 0, 1:, 1:]).all()


@pytest.mark.parametrize("rank", [1, 2, 8])
def test_rank_extremes(rank: int) -> None:
    x = cases.random(*(1,) * (rank - 1), 5)
    members = {"Axis": rank - 1, "Epsilon": 0.0, "P": 2}
    found = one(make.lp_normalization, x, **members)
    np.testing.assert_allclose(found, x / np.linalg.norm(x.ravel()), rtol=1e-6)
    found = one(make.lp_normalization, x[..., :1], **members)
    np.testing.assert_array_equal(found, np.sign(x[..., :1]))


def test_a_product_of_halves_is_rounded_once() -> None:
    a = np.full((1, 1, 1, 4096), 1, np.float16)
    b = np.full((1, 1, 4096, 1), 2.0**-12, np.float16)
    b[0, 0, 0, 0] = 1
    assert one(make.gemm, a, b).item() == np.float16(2 - 2.0**-12)


def test_beta_0_lets_not_a_number_through() -> None:
    a, c = np.ones((1, 1, 1, 1), np.float32), np.full((1, 1, 1, 1), np.nan, np.float32)
    assert np.isnan(one(make.gemm, a, a, c, Beta=0.0)).all()
