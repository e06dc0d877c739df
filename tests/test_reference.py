"""The NumPy reference: gathers against NumPy's own functions, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import make
from gather_cases import OPERATORS, gathered, random_gathers


def run(desc: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return dmlops.reference.run(desc, inputs)["OutputTensor"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_agrees_with_numpy(operator: str) -> None:
    for desc, inputs in random_gathers(operator, 40):
        result, expected = run(desc, inputs), gathered(desc, inputs)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == expected.tobytes(), desc  # bit for bit: NaNs too


INPUTS = {"InputTensor": np.arange(6.0).reshape(2, 3), "IndicesTensor": np.zeros((1, 3), np.int32)}
SIMPLE: Any = make.gather_elements(**INPUTS, Axis=0)


def test_inputs_stay_and_results_are_new() -> None:
    before = {name: array.copy() for name, array in INPUTS.items()}
    result = run(SIMPLE, INPUTS)
    result[...] = -1
    assert all((INPUTS[name] == before[name]).all() for name in before)


def test_large_outputs_are_computed_in_parts() -> None:
    values = np.arange(3 << 20, dtype=np.uint8).reshape(3, 1 << 20)
    inputs = {"InputTensor": values, "IndicesTensor": np.full((2, 1 << 20), 2, np.uint32)}
    assert (run(make.gather_elements(**inputs, Axis=0), inputs) == values[2]).all()


def test_what_does_not_fit_is_refused() -> None:
    values, indices = INPUTS.values()
    for inputs, says in (
        ({"InputTensor": values}, "IndicesTensor is missing"),
        ({**INPUTS, "Other": values}, 'no input "Other"'),
        ({**INPUTS, "OutputTensor": values}, 'no input "OutputTensor"'),
        ({**INPUTS, "InputTensor": values.T}, "shape"),
        ({**INPUTS, "InputTensor": values.astype(np.float32)}, "float64"),
        ({**INPUTS, "IndicesTensor": indices.tolist()}, "it is a list"),
    ):
        with pytest.raises(ValueError, match=says):
            run(SIMPLE, inputs)
    with pytest.raises(dmlops.InvalidDescription, match="axis-range") as caught:
        run(replace(SIMPLE, Axis=2), INPUTS)
    assert [violation.member for violation in caught.value.violations] == ["Axis"]


def test_places_of_greatest_elements_where_images_are_a_column() -> None:
    """Which NumPy finds wrong beyond 8192 of them, if asked for all coordinates of such an array at once."""
    image = np.random.default_rng(1).permutation(10000 * 6).reshape(1, 10000, 2, 3).astype(np.float32)
    window: Any = {"Strides": (1, 1), "WindowSize": (2, 3), "StartPadding": (0, 0), "EndPadding": (0, 0)}
    desc = dmlops.make.max_pooling1(image, OutputIndicesTensor="UINT32", **window)
    indices = dmlops.reference.run(desc, {"InputTensor": image})["OutputIndicesTensor"]
    assert (image.ravel()[indices] == image.max(axis=(2, 3), keepdims=True)).all()
