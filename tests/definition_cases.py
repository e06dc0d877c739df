"""Descriptions and random inputs for operators with definitions, and functions that compute their outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops

Desc = dict[str, Any]


computed = dmlops.reference.run
"""A function that computes the outputs of a description; the fixture `target` says which."""


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


def tensor(array: np.ndarray) -> Desc:
    """The description of an array as a packed tensor."""
    return {"DataType": array.dtype.name.upper(), "Sizes": list(array.shape)}


def empty(type_: Any, *sizes: int) -> Desc:
    """The description of an output."""
    return {"DataType": np.dtype(type_).name.upper(), "Sizes": list(sizes)}


def run(
    operator: str, inputs: dict[str, np.ndarray], outputs: dict[str, Desc], **members: Any
) -> dict[str, Any]:
    """The outputs, for a description that is valid."""
    given = {name: tensor(array) for name, array in inputs.items()}
    desc = dmlops.from_json({"type": operator, "desc": {**given, **outputs, **members}})
    violations = [violation.message for violation in desc.validate("6.4")]
    assert violations == [], violations
    result = computed(desc, inputs)
    for name, description in outputs.items():
        assert result[name].shape == tuple(description["Sizes"])
        assert result[name].dtype.name.upper() == description["DataType"]
    return result


def one(operator: str, inputs: dict[str, np.ndarray], output: Desc, **members: Any) -> np.ndarray:
    """The result of OutputTensor only."""
    return run(operator, inputs, {"OutputTensor": output}, **members)["OutputTensor"]


def close(found: np.ndarray, expected: Any, tolerance: float = 1e-5) -> None:
    """Equal within a tolerance, relative and absolute; halves within theirs."""
    wanted = np.asarray(expected, np.float64)
    assert found.shape == wanted.shape
    tolerance = max(tolerance, 2e-3 if found.dtype == np.float16 else 0)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
