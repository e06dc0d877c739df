"""ONNX's node tests through the reference and, on software Vulkan, through the shaders."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu, reference
from gpu_device import device
from onnx_cases import ADAPTERS, OnnxCase, onnx_cases

__all__ = ["device"]

CASES = list(onnx_cases())
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def valid(case: OnnxCase) -> bool:
    return not dmlops.from_json(case.description).validate("6.4")


VALID = [case for case in CASES if valid(case)]


def compare(case: OnnxCase, found: dict[str, Any]) -> None:
    for name, expected in case.outputs.items():
        results = found[name] if isinstance(found[name], list) else [found[name]]
        wanted = expected if isinstance(expected, list) else [expected]
        for result, right in zip(results, wanted, strict=True):
            assert (result.dtype, result.shape) == (right.dtype, right.shape)
            if result.dtype.kind != "f":
                assert result.tolist() == right.tolist()
            else:
                tolerance = TOLERANCE[result.dtype.name]
                np.testing.assert_allclose(result, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", VALID, ids=[case.name for case in VALID])
def test_reference(case: OnnxCase) -> None:
    compare(case, reference.run(dmlops.from_json(case.description), case.inputs))


@pytest.mark.parametrize("case", VALID, ids=[case.name for case in VALID])
def test_shaders(case: OnnxCase, device: Any) -> None:
    compare(case, gpu.run(dmlops.from_json(case.description), case.inputs, device))


def test_every_adapter_has_a_case() -> None:
    shown = Counter(case.description["type"] for case in VALID)
    assert len(VALID) > 400
    assert len(shown) > 70, sorted(shown)
    assert set(ADAPTERS)
