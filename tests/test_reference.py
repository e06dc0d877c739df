"""The NumPy reference against NumPy's own functions, the examples of public pages and ONNX's node tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import dmlops
from dmlops import TensorDesc, reference
from gather_cases import OPERATORS, gather_elements, random_case
from onnx_cases import node_tests

SPECS = Path(__file__).parent.parent / "specs"


def run(description: dict[str, Any], inputs: dict[str, np.ndarray]) -> np.ndarray:
    return dmlops.reference.run(dmlops.from_json(description), inputs)["OutputTensor"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_numpy(operator: str, seed: int) -> None:
    case = random_case(operator, seed)
    result = run(case.description, case.inputs)
    assert (result.dtype, result.shape) == (case.expected.dtype, case.expected.shape)
    assert result.tobytes() == case.expected.tobytes()  # bit for bit: NaNs too


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
    name = {"Gather": "GATHER", "GatherElements": "GATHER_ELEMENTS", "GatherND": "GATHER_ND1"}[operator]
    tensors = {
        key: {"DataType": array.dtype.name.upper(), "Sizes": padded(array, rank).shape}
        for key, array in (("InputTensor", data), ("IndicesTensor", indices))
    }
    described = {key: {**value, "Sizes": list(value["Sizes"])} for key, value in tensors.items()}
    return dmlops.from_json({"type": name, "desc": {**described, **members}}).infer()


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


def test_inputs_stay_and_results_are_new() -> None:
    case = gather_elements(np.arange(6.0).reshape(2, 3), np.zeros((1, 3), np.int32), 0)
    before = {name: array.copy() for name, array in case.inputs.items()}
    result = run(case.description, case.inputs)
    result[...] = -1
    assert all((case.inputs[name] == before[name]).all() for name in before)


def test_large_outputs_are_computed_in_parts() -> None:
    values = np.arange(3 << 20, dtype=np.uint8).reshape(3, 1 << 20)
    indices = np.full((2, 1 << 20), 2, np.uint32)
    case = gather_elements(values, indices, 0)
    assert (run(case.description, case.inputs) == values[2]).all()


def test_what_does_not_fit_is_refused() -> None:
    case = gather_elements(np.arange(6.0).reshape(2, 3), np.zeros((1, 3), np.int32), 0)
    values, indices = case.inputs["InputTensor"], case.inputs["IndicesTensor"]
    for inputs, says in (
        ({"InputTensor": values}, "IndicesTensor is missing"),
        ({**case.inputs, "Other": values}, 'no input "Other"'),
        ({**case.inputs, "OutputTensor": values}, 'no input "OutputTensor"'),
        ({**case.inputs, "InputTensor": values.T}, "shape"),
        ({**case.inputs, "InputTensor": values.astype(np.float32)}, "float64"),
        ({**case.inputs, "IndicesTensor": indices.tolist()}, "it is a list"),
    ):
        with pytest.raises(ValueError, match=says):
            run(case.description, inputs)
    case.description["desc"]["Axis"] = 2
    with pytest.raises(dmlops.InvalidDescription, match="axis-range") as caught:
        run(case.description, case.inputs)
    assert [violation.member for violation in caught.value.violations] == ["Axis"]


@pytest.mark.parametrize(("data_type", "least", "most"), [("INT4", -8, 7), ("UINT4", 0, 15)])
def test_elements_of_4_bits_hold_no_more(data_type: str, least: int, most: int) -> None:
    """Arrays have a byte for each, which would hold more; on a GPU the rest would be cut off."""
    desc = dmlops.Dequantize(
        InputTensor=TensorDesc(data_type, (2,)),
        QuantizationType="SCALE",
        QuantizationTensors=[TensorDesc("FLOAT32", (1,))],
        OutputTensor=TensorDesc("FLOAT32", (2,)),
    )
    scales = [np.full(1, 0.5, np.float32)]

    def halved(*values: int) -> Any:
        array = np.array(values, np.int8 if least else np.uint8)
        return reference.run(desc, {"InputTensor": array, "QuantizationTensors": scales})["OutputTensor"]

    assert halved(least, most).tolist() == [least / 2, most / 2]
    for beyond in (most + 1, 127, *((least - 1, -128) if least else ())):
        with pytest.raises(ValueError, match=f"InputTensor has an element of {beyond}, which {data_type}"):
            halved(0, beyond)


def test_places_of_greatest_elements_where_images_are_a_column() -> None:
    """Which NumPy finds wrong beyond 8192 of them, if asked for all coordinates of such an array at once."""
    image = np.random.default_rng(1).permutation(10000 * 6).reshape(1, 10000, 2, 3).astype(np.float32)
    window: Any = {"Strides": (1, 1), "WindowSize": (2, 3), "StartPadding": (0, 0), "EndPadding": (0, 0)}
    desc = dmlops.make.max_pooling1(image, OutputIndicesTensor="UINT32", **window)
    indices = dmlops.reference.run(desc, {"InputTensor": image})["OutputIndicesTensor"]
    assert (image.ravel()[indices] == image.max(axis=(2, 3), keepdims=True)).all()
