"""Shaders compute what the reference does, whatever schedule is chosen; `make sweep-gpu` tries many more."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_device import device
from random_shapes import FAMILIES, Drawn

__all__ = ["device"]  # a fixture


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_shaders_agree_with_the_reference(family: str, seed: int, device: Any) -> None:
    drawn = Drawn.of(family, seed)
    assert drawn.differences(device) == [], drawn.desc
