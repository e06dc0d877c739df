"""The NumPy reference against NumPy's own functions, examples from the pages, and ONNX's node tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import dmlops
from dmlops import make
from gather_cases import OPERATORS, gathered, random_gathers
from onnx_cases import node_tests


def run(desc: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return dmlops.reference.run(desc, inputs)["OutputTensor"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_agrees_with_numpy(operator: str) -> None:
    for desc, inputs in random_gathers(operator, 40):
        result, expected = run(desc, inputs), gathered(desc, inputs)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == expected.tobytes(), desc  # bit for bit: NaNs too


def padded(array: np.ndarray, rank: int) -> np.ndarray:
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def from_onnx(
    operator: str, attributes: dict[str, int], data: np.ndarray, indices: np.ndarray
) -> dmlops.Description:
    """The ONNX operator as DirectML's, all tensors brought to one rank by leading ones."""
    r, q, axis = data.ndim, indices.ndim, attributes.get("axis", 0)
    members: dict[str, int]
    if operator == "Gather":
        rank = r + max(q, 1) - 1
        members = {"Axis": axis % r + rank - r, "IndexDimensions": q}
    elif operator == "GatherElements":
        rank = r
        members = {"Axis": axis % r}
    else:
        batch = attributes.get("batch_dims", 0)
        rank = max(r, q, q - 1 + r - indices.shape[-1] - batch)
        members = {"InputDimensionCount": r, "IndicesDimensionCount": q, "BatchDimensionCount": batch}
    made = {"Gather": make.gather, "GatherElements": make.gather_elements, "GatherND": make.gather_nd1}
    return made[operator](padded(data, rank), padded(indices, rank), **members)


GATHERS = ("Gather", "GatherElements", "GatherND")
ONNX_CASES = [case for case in node_tests() if case.model.graph.node[0].op_type in GATHERS]


@pytest.mark.parametrize("case", ONNX_CASES, ids=[case.name for case in ONNX_CASES])
def test_onnx_node_tests(case: Any) -> None:
    (node,) = case.model.graph.node
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    for inputs, (expected,) in case.data_sets:
        data, indices = (numpy_helper.to_array(x) if not isinstance(x, np.ndarray) else x for x in inputs)
        desc = from_onnx(node.op_type, attributes, data, indices)
        rank = len(desc.InputTensor.Sizes)  # type: ignore[attr-defined]
        arrays = {"InputTensor": padded(data, rank), "IndicesTensor": padded(indices, rank)}
        result = dmlops.reference.run(desc, arrays)["OutputTensor"]
        assert result.reshape(expected.shape).tolist() == expected.tolist()


def test_there_are_onnx_cases() -> None:
    assert len(ONNX_CASES) >= 8


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
