"""Shaders compute what the reference does, whatever schedule is chosen; `make sweep-gpu` tries many more."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_device import device
from gpu_sweep import differences
from random_shapes import FAMILIES, drawn

__all__ = ["device"]  # a fixture


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_shaders_agree_with_the_reference(family: str, seed: int, device: Any) -> None:
    one = drawn(family, seed)
    assert differences(one, device) == [], one.desc
