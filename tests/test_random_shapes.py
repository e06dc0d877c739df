"""Shaders agree with the reference on random descriptions; `make fuzz-gpu` tries many more."""

from __future__ import annotations

from typing import Any

import pytest

from dmlops.registry import OPERATORS
from gpu_device import device
from gpu_fuzz import differences
from random_shapes import FAMILIES, described, drawn

__all__ = ["device"]  # a fixture

MOST = 2000  # descriptions of a family; the largest family has 64 operators, each as likely as any other


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_shaders_agree_with_the_reference(family: str, seed: int, device: Any) -> None:
    one = drawn(family, seed)
    assert differences(one, device) == [], one.desc


def test_every_operator_is_drawn() -> None:
    missing = set(OPERATORS)
    for seed in range(MOST):
        missing -= {described(family, seed).OPERATOR for family in FAMILIES}
        if not missing:
            break
    assert not missing
