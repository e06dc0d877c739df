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
from onnx_networks import ADAPTERS as NETWORKS

__all__ = ["device"]

CASES = [*onnx_cases(ADAPTERS), *onnx_cases(NETWORKS)]
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
OF_FOUR_DIGITS = 1e-4
ROUNDED = {  # expected outputs that ONNX has with four digits
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
}


SEEN_OTHERWISE = {"test_dynamicquantizelinear"}  # DirectML rounds one element down: see test_observed.py


def valid(case: OnnxCase) -> bool:
    return case.name not in SEEN_OTHERWISE and not dmlops.from_json(case.description).validate("6.4")


def has_shader(case: OnnxCase) -> bool:
    try:
        return bool(gpu.shader(case.description["type"].removeprefix("DML_OPERATOR_")))
    except gpu.Unsupported:
        return False


VALID = [case for case in CASES if valid(case)]
WITH_SHADER = [case for case in VALID if has_shader(case)]


def compare(case: OnnxCase, found: dict[str, Any]) -> None:
    for name, expected in case.outputs.items():
        results = found[name] if isinstance(found[name], list) else [found[name]]
        wanted = expected if isinstance(expected, list) else [expected]
        for result, right in zip(results, wanted, strict=True):
            assert (result.dtype, result.shape) == (right.dtype, right.shape)
            if result.dtype.kind != "f":
                assert result.tolist() == right.tolist()
            else:
                tolerance = OF_FOUR_DIGITS if case.name in ROUNDED else TOLERANCE[result.dtype.name]
                np.testing.assert_allclose(result, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", VALID, ids=[case.name for case in VALID])
def test_reference(case: OnnxCase) -> None:
    compare(case, reference.run(dmlops.from_json(case.description), case.inputs))


@pytest.mark.parametrize("case", WITH_SHADER, ids=[case.name for case in WITH_SHADER])
def test_shaders(case: OnnxCase, device: Any) -> None:
    compare(case, gpu.run(dmlops.from_json(case.description), case.inputs, device))


def test_every_adapter_has_a_case() -> None:
    shown = Counter(case.description["type"] for case in VALID)
    assert len(VALID) > 600
    assert len(shown) > 90, sorted(shown)
    assert len(WITH_SHADER) > 400
