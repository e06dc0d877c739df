"""Passes that follow a definition, where each thread computes several elements."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from dmlops import gpu
from dmlops.gpu.plans import definition
from gpu_device import device
from gpu_fuzz import differences
from random_shapes import described, drawn

__all__ = ["device"]

OPERATORS = {
    "AVERAGE_POOLING_GRAD": "windows", "MAX_POOLING_GRAD": "windows", "MAX_UNPOOLING": "windows",
    "LOCAL_RESPONSE_NORMALIZATION": "normalizations", "LOCAL_RESPONSE_NORMALIZATION_GRAD": "normalizations",
    "FOLD": "moves", "UNFOLD": "moves", "SLICE1": "moves", "PADDING1": "moves", "TILE": "moves",
}  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_random_descriptions(operator: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition, "SATURATING_THREADS", 1)
    family, ran = OPERATORS[operator], 0
    for seed in count():
        desc = described(family, seed)
        if operator != desc.OPERATOR:
            continue
        dispatches = gpu.plan(desc, device.capabilities).dispatches
        if not any(one.defines.get("VECTOR", 1) > 1 for one in dispatches):
            continue
        assert differences(drawn(family, seed), device) == [], seed
        ran += 1
        if ran == 6:
            return


@pytest.mark.parametrize("operator", ["ROI_ALIGN", "ROI_POOLING"])
def test_shaders_with_a_vector_axis_have_no_other_vectors(
    operator: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor have their passes that write intermediate tensors, however large these are."""
    monkeypatch.setattr(definition, "SATURATING_THREADS", 1)
    seed = next(seed for seed in count() if operator == described("regions", seed).OPERATOR)
    assert differences(drawn("regions", seed), device) == []
