"""Runs operators with definitions on arrays, in the reference or in shaders: the fixture `target` says."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

import dmlops

computed = dmlops.reference.run
"""A function that computes the outputs of a description."""


@pytest.fixture(params=["reference", "shader"], autouse=True)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test of a module that has this fixture runs twice: with the "reference", and with the "shader".

    Both get the same numbers in any order of tests: gradients against differences need some that are apart.
    """
    monkeypatch.setattr(request.module, "RANDOM", np.random.default_rng(11))
    if request.param == "shader":
        device = request.getfixturevalue("device")
        monkeypatch.setattr(
            "definition_cases.computed", lambda desc, inputs: dmlops.gpu.run(desc, inputs, device)
        )
    which: str = request.param
    return which


def run(make: Callable[..., Any], *tensors: np.ndarray | None, **members: Any) -> dict[str, Any]:
    """The outputs of what a function of `dmlops.make` makes of its arguments; arrays are inputs."""
    given = signature(make).bind(*tensors, **members).arguments
    inputs = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    return computed(make(**given), inputs)


def one(make: Callable[..., Any], *tensors: np.ndarray | None, **members: Any) -> np.ndarray:
    """The only output."""
    (found,) = run(make, *tensors, **members).values()
    return found


def close(found: np.ndarray, expected: Any, tolerance: float = 1e-5) -> None:
    """Equal within a tolerance, relative and absolute; halves within theirs."""
    wanted = np.asarray(expected, np.float64)
    assert found.shape == wanted.shape
    tolerance = max(tolerance, 2e-3 if found.dtype == np.float16 else 0)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
