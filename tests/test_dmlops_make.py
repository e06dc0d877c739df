"""Functions that make descriptions: with DirectMLX's defaults, from arrays and shapes, typed."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dmlops
from dmlops import TensorDesc, make, registry

ROOT = Path(__file__).parents[1]


def test_a_matrix_product_of_arrays() -> None:
    """With the defaults of DirectMLX's Gemm: no transforms, both factors 1."""
    a, b = np.zeros((1, 1, 2, 3), np.float16), np.zeros((1, 1, 3, 4), np.float16)
    product = make.gemm(a, b, FusedActivation=make.activation_elu())
    assert product.OutputTensor == TensorDesc("FLOAT16", (1, 1, 2, 4))
    assert (product.TransA, product.TransB) == (dmlops.MatrixTransform.NONE, dmlops.MatrixTransform.NONE)
    assert (product.Alpha, product.Beta) == (1.0, 1.0)
    assert product.FusedActivation == dmlops.ActivationElu(Alpha=1.0)
    assert product.validate("6.4") == []


def test_a_convolution_of_shapes() -> None:
    """Strides and dilations of 1, no padding, one group: the sizes by the formula of the page."""
    plain = make.convolution((1, 3, 8, 8), (16, 3, 3, 3))
    assert plain.OutputTensor == TensorDesc("FLOAT32", (1, 16, 6, 6))
    assert (plain.Strides, plain.Dilations, plain.StartPadding) == ((1, 1), (1, 1), (0, 0))
    assert (plain.DimensionCount, plain.GroupCount) == (2, 1)
    strided = make.convolution((1, 3, 8, 8), (16, 3, 3, 3), Strides=[2, 2], StartPadding=(1, 1))
    assert strided.OutputTensor.Sizes == (1, 16, 4, 4)
    deep = make.convolution((1, 3, 8, 8, 8), (16, 3, 3, 3, 3))
    assert deep.DimensionCount == 3


def test_shapes_take_the_type_of_the_tensors_before_them_or_one_that_fits() -> None:
    picked = make.gather_elements(TensorDesc("UINT8", (4, 3)), (2, 3), Axis=0)
    assert picked.OutputTensor == TensorDesc("UINT8", (2, 3))
    assert picked.IndicesTensor.DataType in registry.support("GATHER_ELEMENTS", "6.4")["IndicesTensor"].types
    summed = make.element_wise_add(TensorDesc("FLOAT16", (2, 3)), (2, 3))
    assert summed.BTensor.DataType == dmlops.TensorDataType.FLOAT16


def test_outputs_that_are_a_choice() -> None:
    assert make.cast((2, 3), OutputTensor="FLOAT16").OutputTensor == TensorDesc("FLOAT16", (2, 3))
    equal = make.element_wise_logical_equals((2, 3), (2, 3))
    assert equal.OutputTensor == TensorDesc("UINT8", (2, 3))
    wide = make.element_wise_logical_equals((2, 3), (2, 3), OutputTensor="UINT32")
    assert wide.OutputTensor.DataType == dmlops.TensorDataType.UINT32
    parts = make.split((6, 2), OutputTensors=[(2, 2), (4, 2)], Axis=0)
    assert parts.OutputTensors == (TensorDesc("FLOAT32", (2, 2)), TensorDesc("FLOAT32", (4, 2)))


def test_what_cannot_be_made_says_why() -> None:
    with pytest.raises(dmlops.InvalidDescription, match="DML-GEMM-inner-size"):
        make.gemm((1, 1, 2, 3), (1, 1, 4, 4))
    with pytest.raises(ValueError, match="give OutputTensor one"):
        make.cast((2, 3))
    with pytest.raises(TypeError, match="BTensor is a TensorDesc, an array or a shape"):
        make.gemm((1, 1, 2, 3), "FLOAT32")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", registry.OPERATORS)
def test_every_operator_can_be_made_of_a_valid_case(name: str) -> None:
    """The same members give the same description, counts left out; it is one that the matrix holds valid."""
    matrix = json.loads((ROOT / f"generated/matrix/{name.lower()}.json").read_text())
    for case in matrix["cases"]:
        if case["kind"] == "positive" and case["expect"]["rules"] == []:
            desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
            if not desc.validate():
                break
    counts = {member.count for member in desc.MEMBERS}
    members: dict[str, Any] = {
        member.name: getattr(desc, member.name) for member in desc.MEMBERS if member.name not in counts
    }
    function = getattr(make, name.lower())
    assert inspect.signature(function).parameters.keys() == members.keys()
    assert function(**members) == desc


USES = """
import numpy as np
from dmlops import Gemm, make

product: Gemm = make.gemm(np.zeros((1, 1, 2, 3), np.float32), (1, 1, 3, 4), TransB="NONE")
sizes: tuple[int, ...] = make.max_pooling2((1, 1, 4, 4), WindowSize=[2, 2], Strides=[2, 2]).OutputTensor.Sizes
"""
MISUSES = 'from dmlops import make\nmake.gemm((1, 1, 2, 3), Alpha="x")\n'


def test_builders_are_typed(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(USES)
    wrong.write_text(MISUSES)
    exec(USES, {})
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    found = subprocess.run(
        [*command, str(right), str(wrong)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": f"{ROOT}/generated/python{os.pathsep}{ROOT}/runtime", "PATH": ""},
    ).stdout
    assert "right.py" not in found
    assert 'wrong.py:2: error: Missing positional argument "BTensor"' in found
    assert '"Alpha" to "gemm" has incompatible type "str"' in found


@pytest.mark.parametrize(
    ("make_it", "rule"),
    [
        (lambda: make.convolution((1, 3, 8, 8), (4, 1, 3, 3)), "DML-CONVOLUTION-input-channels"),
        (
            lambda: make.convolution((1, 3, 8, 8), (4, 3, 3, 3), StartPadding=[1]),
            "DML-OPERATOR-array-length: StartPadding has length 1",
        ),
        (
            lambda: make.convolution((1, 3, 8, 8), (4, 3, 3, 3), (4,)),
            "DML-OPERATOR-dimension-count: BiasTensor.DimensionCount is 1",
        ),
        (
            lambda: make.max_pooling((1, 3, 8, 8), WindowSize=[2]),
            "DML-OPERATOR-array-length: WindowSize has length 1",
        ),
    ],
)
def test_errors_name_what_the_caller_gave(make_it: Callable[[], Any], rule: str) -> None:
    with pytest.raises(dmlops.InvalidDescription) as caught:
        make_it()
    assert str(caught.value.violations[0]).startswith(rule)
    assert all(one.member != "DimensionCount" for one in caught.value.violations)


def test_one_number_for_a_list_is_named() -> None:
    with pytest.raises(TypeError, match="StartPadding is a list with an entry for each dimension"):
        make.convolution((1, 3, 8, 8), (4, 3, 3, 3), StartPadding=1)


def test_poolings_have_the_defaults_of_onnx() -> None:
    """Strides of 1, no padding, no dilation, the Euclidean norm; sizes by hand."""
    for function in (
        make.max_pooling,
        make.max_pooling1,
        make.max_pooling2,
        make.lp_pooling,
        make.lp_pooling1,
    ):
        desc = function((1, 3, 8, 8), WindowSize=[3, 2])
        assert desc.OutputTensor.Sizes == (1, 3, 6, 7)
    assert desc.P == 2
    average = make.average_pooling1((1, 3, 8, 8), WindowSize=[3, 2])
    assert average.IncludePadding == 0
    assert average.OutputTensor.Sizes == (1, 3, 6, 7)


ATTENTION: dict[str, Any] = {"Scale": 1.0, "MaskFilterValue": -1e4, "MaskType": "NONE"}


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ({"QueryTensor": (2, 5, 12), "KeyTensor": (2, 7, 12), "ValueTensor": (2, 7, 6)}, (2, 5, 6)),
        ({"StackedQueryKeyValueTensor": (2, 5, 3, 3, 4)}, (2, 5, 12)),
        ({"StackedQueryKeyTensor": (2, 5, 3, 2, 4), "ValueTensor": (2, 5, 9)}, (2, 5, 9)),
        ({"QueryTensor": (1, 2, 5, 12), "StackedKeyValueTensor": (2, 7, 3, 2, 4)}, (1, 2, 5, 12)),
    ],
)
def test_attention_follows_from_its_inputs(inputs: dict[str, Any], output: tuple[int, ...]) -> None:
    """By hand: batch, sequence, and three heads of the values' size."""
    for desc in (
        make.multihead_attention(**inputs, HeadCount=3, **ATTENTION),
        make.multihead_attention1(**inputs, QueryHeadCount=3, KeyValueHeadCount=3, **ATTENTION),
    ):
        assert desc.OutputTensor == TensorDesc("FLOAT32", output)


def test_presents_follow_from_the_past() -> None:
    """By hand: three keys of before and seven new ones."""
    desc = make.multihead_attention(
        (2, 5, 12),
        (2, 7, 12),
        (2, 7, 6),
        PastKeyTensor=(2, 3, 3, 4),
        PastValueTensor=(2, 3, 3, 2),
        OutputPresentKeyTensor=(),
        OutputPresentValueTensor=(),
        HeadCount=3,
        **ATTENTION,
    )
    assert desc.OutputPresentKeyTensor == TensorDesc("FLOAT32", (2, 3, 10, 4))
    assert desc.OutputPresentValueTensor == TensorDesc("FLOAT32", (2, 3, 10, 2))


def test_what_else_follows() -> None:
    """Integer products are INT32, the only type of their tables; a slice has what its window holds."""
    windows: dict[str, Any] = {
        "InputWindowOffsets": [0, 1],
        "InputWindowSizes": [2, 5],
        "InputWindowStrides": [1, -2],
    }
    assert make.slice1((4, 8), **windows).OutputTensor == TensorDesc("FLOAT32", (2, 3))
    assert make.slice1((4, 8), OutputTensor=(1, 2), **windows).OutputTensor.Sizes == (1, 2)
    assert make.matrix_multiply_integer(uint8(4, 6), uint8(6, 5)).OutputTensor == TensorDesc("INT32", (4, 5))
    assert make.convolution_integer(uint8(1, 3, 8, 8), uint8(4, 3, 3, 3)).OutputTensor == TensorDesc(
        "INT32", (1, 4, 6, 6)
    )


def uint8(*sizes: int) -> TensorDesc:
    return TensorDesc("UINT8", sizes)


POOLINGS: dict[str, Any] = {
    "MaxPool": make.max_pooling2,
    "AveragePool": partial(make.average_pooling1, IncludePadding=False),
    "LpPool": make.lp_pooling1,
}
SPATIAL: list[dict[str, list[int]]] = [
    {"kernel_shape": [3, 2], "pads": [0, 1, 2, 0]},
    {"kernel_shape": [3, 3], "pads": [1, 2, 2, 0], "strides": [2, 3]},
    {"kernel_shape": [2, 3], "pads": [1, 0, 0, 3], "strides": [3, 2], "dilations": [4, 2]},
    {"kernel_shape": [4, 1], "pads": [2, 0, 3, 0], "strides": [1, 4], "dilations": [2, 5]},
]


def onnx_sizes(operator: str, attributes: dict[str, list[int]], *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of an operator's output by ONNX's shape inference."""
    names = [f"x{number}" for number in range(len(shapes))]
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node(operator, names, ["y"], **attributes)
    model = helper.make_model(
        helper.make_graph([node], "g", given, [y]), opset_imports=[helper.make_opsetid("", 19)]
    )
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0]
    return tuple(one.dim_value for one in inferred.type.tensor_type.shape.dim)


def members_of(attributes: dict[str, list[int]]) -> dict[str, list[int]]:
    pads = attributes["pads"]
    members = {"StartPadding": pads[:2], "EndPadding": pads[2:]}
    names = {"strides": "Strides", "dilations": "Dilations"}
    return members | {names[name]: value for name, value in attributes.items() if name in names}


@pytest.mark.parametrize("attributes", SPATIAL, ids=str)
@pytest.mark.parametrize("operator", POOLINGS)
def test_sizes_of_poolings_are_those_of_onnx(operator: str, attributes: dict[str, list[int]]) -> None:
    desc = POOLINGS[operator]((2, 3, 11, 13), WindowSize=attributes["kernel_shape"], **members_of(attributes))
    assert desc.OutputTensor.Sizes == onnx_sizes(operator, attributes, (2, 3, 11, 13))


@pytest.mark.parametrize("attributes", SPATIAL, ids=str)
def test_sizes_of_convolutions_are_those_of_onnx(attributes: dict[str, list[int]]) -> None:
    """Transposed ones give the sizes of what they are the gradient of, where nothing was cut off."""
    filters = (4, 3, *attributes["kernel_shape"])
    members = members_of(attributes)
    for direction, operator, x in (
        ("FORWARD", "Conv", (2, 3, 11, 13)),
        ("BACKWARD", "ConvTranspose", (2, 4, 11, 13)),
    ):
        desc = make.convolution(x, filters, Direction=direction, **members)
        assert desc.OutputTensor.Sizes == onnx_sizes(operator, attributes, x, filters)


@pytest.mark.parametrize("attributes", SPATIAL, ids=str)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_gradients_take_the_sizes_of_poolings(operator: str, attributes: dict[str, list[int]]) -> None:
    """Those that ONNX infers; advice begins with a window beyond the padding."""
    if operator == "AveragePool":  # its gradient has no dilations
        attributes = {name: value for name, value in attributes.items() if name != "dilations"}
    x = (2, 3, 11, 13)
    first, last = attributes["pads"][:2], attributes["pads"][2:]
    strides = attributes.get("strides", [1, 1])
    reached = [-(-(size + a + b) // by) for size, a, b, by in zip(x[2:], first, last, strides, strict=True)]
    pooled = onnx_sizes(operator, attributes, x)
    for sizes, advised in (
        (pooled, []),
        ((2, 3, *reached), []),
        ((2, 3, reached[0] + 1, reached[1]), ["windows-within"]),
        ((2, 3, reached[0], reached[1] + 1), ["windows-within"]),
    ):
        members = {"Strides": strides, "WindowSize": attributes["kernel_shape"], **members_of(attributes)}
        desc = (
            make.max_pooling_grad(x, sizes, **{"Dilations": [1, 1], **members})
            if operator == "MaxPool"
            else make.average_pooling_grad(sizes, OutputGradientTensor=x, IncludePadding=False, **members)
        )
        assert desc.validate() == []
        assert [one.rule.rpartition("GRAD-")[2] for one in desc.advice()] == advised


def test_a_gradient_of_a_slice_takes_the_sizes_of_the_slice() -> None:
    x = np.zeros((9, 10))
    for offsets, sizes, strides in (((1, 2), (8, 7), (3, 2)), ((0, 3), (9, 6), (-4, 1))):
        taken = x[tuple(slice(at, at + size) for at, size in zip(offsets, sizes, strict=True))]
        sliced = taken[tuple(slice(None, None, stride) for stride in strides)].shape
        members: dict[str, Any] = {
            "InputWindowOffsets": offsets,
            "InputWindowSizes": sizes,
            "InputWindowStrides": strides,
        }
        assert make.slice1(x.shape, **members).OutputTensor.Sizes == sliced
        assert make.slice_grad(sliced, OutputGradientTensor=x.shape, **members).validate() == []
        with pytest.raises(ValueError, match="InputGradientTensor"):
            make.slice_grad((sliced[0] + 1, sliced[1]), OutputGradientTensor=x.shape, **members)
