"""What DirectML was seen to give, with the public places that show it: it is computed, or advised on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dmlops


def description(operator: str, **members: Any) -> Any:
    """A description whose tensors are given as (data type, sizes)."""
    made = {
        name: {"DataType": value[0], "Sizes": value[1]} if isinstance(value, tuple) else value
        for name, value in members.items()
    }
    desc = dmlops.from_json({"type": f"DML_OPERATOR_{operator}", "desc": made})
    assert desc.validate("6.4") == []
    return desc


def computed(operator: str, members: dict[str, Any], **inputs: np.ndarray) -> dict[str, Any]:
    return {
        name: array.tolist()
        for name, array in dmlops.reference.run(description(operator, **members), inputs).items()
    }


IMAGE = np.array(
    [
        [3.86005284, 45.18463077, 87.67153743, 98.78210347, 66.37414347, 3.41158349],
        [86.14930501, 95.9813372, 76.87126314, 16.52591355, 65.98782867, 25.47092156],
        [22.56010548, 92.08479613, 85.80876635, 92.63166027, 29.91620871, 75.40461275],
        [62.06375451, 1.77121588, 99.47231285, 11.44055014, 25.39634271, 67.02175102],
    ],
    np.float32,
)[None, None]
HALVED = IMAGE[:, :, 1::2, 1::2]  # 95.98.. to 67.02..: those at the bottom right of each four


@pytest.mark.parametrize(
    ("operator", "members"),
    [
        ("RESAMPLE", {"Scales": [1, 1, 0.5, 0.5]}),
        (
            "RESAMPLE1",
            {"Scales": [1, 1, 0.5, 0.5], "InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4},
        ),
    ],
)
def test_the_nearest_of_two_elements_is_the_greater_one(operator: str, members: dict[str, Any]) -> None:
    """web-platform-tests/wpt, pull requests 41811 and 45017: an image halved by WebNN on DirectML."""
    tensors = {"InputTensor": ("FLOAT32", [1, 1, 4, 6]), "OutputTensor": ("FLOAT32", [1, 1, 2, 3])}
    found = computed(
        operator, {**tensors, "InterpolationMode": "NEAREST_NEIGHBOR", **members}, InputTensor=IMAGE
    )
    assert found["OutputTensor"] == HALVED.tolist()


@pytest.mark.parametrize("function", ["AVERAGE", "MAX"])
def test_samples_of_regions_before_the_first_element(function: str) -> None:
    """microsoft/onnxruntime, roialign_test.cc: what DirectML gives for five regions without extent."""
    members = {
        "InputTensor": ("FLOAT32", [1, 3, 5, 5]),
        "ROITensor": ("FLOAT32", [5, 4]),
        "BatchIndicesTensor": ("UINT64", [5]),
        "OutputTensor": ("FLOAT32", [5, 3, 3, 4]),
        "ReductionFunction": function,
        "InterpolationMode": "LINEAR",
        "SpatialScaleX": 0.0625,
        "SpatialScaleY": 0.0625,
        "InputPixelOffset": 0.0,
        "OutputPixelOffset": -0.5,
        "OutOfBoundsInputValue": 0.0,
        "MinimumSamplesPerOutput": 2,
        "MaximumSamplesPerOutput": 2,
        "AlignRegionsToCorners": False,
    }
    found = computed(
        "ROI_ALIGN1",
        members,
        InputTensor=np.arange(75, dtype=np.float32).reshape(1, 3, 5, 5),
        ROITensor=np.float32(
            [[7, 5, 7, 5], [-15, -15, -15, -15], [-10, 21, -10, 21], [13, 8, 13, 8], [-14, 19, -14, 19]]
        ),
        BatchIndicesTensor=np.zeros(5, np.uint64),
    )
    expected = np.float32([2, 0, 6.5625, 3.3125, 5.9375])[:, None] + np.float32([0, 25, 50])
    assert found["OutputTensor"] == np.broadcast_to(expected[:, :, None, None], (5, 3, 3, 4)).tolist()


@pytest.mark.parametrize(
    ("zero", "x", "expected"),
    [
        (0, [0, 2, 3, 5, -2, -5], [0, 51, 76, 127, -51, -128]),
        (-23, [0, 2, 3, 5, 6, -2, -5, -6], [-23, 28, 53, 105, 127, -74, -128, -128]),
    ],
)
def test_elements_are_quantized_with_the_reciprocal_of_the_scale(
    zero: int, x: list[float], expected: list[int]
) -> None:
    """microsoft/onnxruntime, quantize_linear_test.cc: -128 and 105 where its tests expect -127 and 104."""
    shape = [len(x)]
    members = {
        "InputTensor": ("FLOAT32", shape),
        "ScaleTensor": ("FLOAT32", shape),
        "ZeroPointTensor": ("INT8", shape),
    }
    found = computed(
        "ELEMENT_WISE_QUANTIZE_LINEAR",
        {**members, "OutputTensor": ("INT8", shape)},
        InputTensor=np.array(x, np.float32),
        ScaleTensor=np.full(shape, 0.039215686, np.float32),
        ZeroPointTensor=np.full(shape, zero, np.int8),
    )
    assert found["OutputTensor"] == expected


@pytest.mark.parametrize(
    ("type_", "x", "expected"),
    [
        ("UINT8", [[1, 2, 3, 4], [5, 6, 7, 8]], [2, 4]),
        ("INT8", [[1, -2, 3, -4], [-5, 6, -7, 8]], [0, 0]),
    ],
)
def test_fractions_of_resampled_bytes_are_cut_off(
    type_: str, x: list[list[int]], expected: list[int]
) -> None:
    """microsoft/onnxruntime, resize_op_test.cc: NHWC images at a scale of 0.6; the results before are 8/3 and
    13/3, and -4/9 and -1/3."""
    members = {
        "InputTensor": (type_, [1, 2, 4, 1]),
        "OutputTensor": (type_, [1, 1, 2, 1]),
        "InterpolationMode": "LINEAR",
        "Scales": [1, 0.6, 0.6, 1],
        "InputPixelOffsets": [0.5] * 4,
        "OutputPixelOffsets": [-0.5] * 4,
    }
    image = np.array(x, type_.lower()).reshape(1, 2, 4, 1)
    found = computed("RESAMPLE1", members, InputTensor=image)
    assert np.ravel(found["OutputTensor"]).tolist() == expected


def test_dynamic_quantization_takes_the_reciprocal_too() -> None:
    """microsoft/onnxruntime, dynamic_quantize_linear_test.cc: 25 where its test expects 26."""
    members = {
        "InputTensor": ("FLOAT32", [6]),
        "OutputTensor": ("UINT8", [6]),
        "OutputScaleTensor": ("FLOAT32", [1]),
        "OutputZeroPointTensor": ("UINT8", [1]),
    }
    x = np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32)
    found = computed("DYNAMIC_QUANTIZE_LINEAR", members, InputTensor=x)
    assert found["OutputTensor"] == [153, 255, 0, 25, 221, 179]
    assert found["OutputZeroPointTensor"] == [153]


@pytest.mark.parametrize(
    ("x", "zero", "expected"),
    [
        (
            [1, 2.1, 1.3, 2.5, 3.34, 4.0, 1.5, 2.6, 3.9, 4.0, 3.0, 2.345],
            0,
            [64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149],
        ),
        ([-1.0, -2.1, -1.3, -2.5, -3.34, -4.0], 255, [191, 121, 172, 96, 42, 0]),
    ],
)
def test_the_range_of_dynamic_quantization_has_a_zero(x: list[float], zero: int, expected: list[int]) -> None:
    """microsoft/onnxruntime, dynamic_quantize_linear_test.cc: two ranges that begin or end at 0 instead."""
    members = {
        "InputTensor": ("FLOAT32", [len(x)]),
        "OutputTensor": ("UINT8", [len(x)]),
        "OutputScaleTensor": ("FLOAT32", [1]),
        "OutputZeroPointTensor": ("UINT8", [1]),
    }
    found = computed("DYNAMIC_QUANTIZE_LINEAR", members, InputTensor=np.array(x, np.float32))
    assert found["OutputTensor"] == expected
    assert found["OutputZeroPointTensor"] == [zero]
    assert found["OutputScaleTensor"] == pytest.approx([0.01568628])


@pytest.mark.parametrize("last", [{}, {"Axes": [3]}], ids=["first version", "with axes"])
@pytest.mark.parametrize("start", [0, 10000])
def test_large_exponentials_of_softmax_do_not_overflow(start: int, last: dict[str, Any]) -> None:
    """microsoft/onnxruntime, softmax_test.cc and logsoftmax_test.cc."""
    shape = [1, 1, 1, 4]
    members = {"InputTensor": ("FLOAT32", shape), "OutputTensor": ("FLOAT32", shape), **last}
    x = np.arange(start, start + 4, dtype=np.float32).reshape(shape)
    expected = np.array([0.0320586, 0.08714432, 0.23688284, 0.64391428])
    version = len(last) or ""
    found = computed(f"ACTIVATION_SOFTMAX{version}", members, InputTensor=x)
    np.testing.assert_allclose(np.ravel(found["OutputTensor"]), expected, rtol=1e-5)
    found = computed(f"ACTIVATION_LOG_SOFTMAX{version}", members, InputTensor=x)
    np.testing.assert_allclose(np.ravel(found["OutputTensor"]), np.log(expected), rtol=1e-5, atol=5e-4)


MOST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("operator", "members", "expected"),
    [
        ("SOFTPLUS", {"Steepness": 1}, {1000: 1000, -1000: 0, MOST: MOST, -MOST: 0, math.inf: math.inf}),
        ("TANH", {}, {1000: 1, -1000: -1, MOST: 1, -MOST: -1, math.inf: 1}),
    ],
)
def test_activations_of_large_numbers(
    operator: str, members: dict[str, Any], expected: dict[float, float]
) -> None:
    """microsoft/onnxruntime, activation_op_test.cc."""
    shape = [len(expected)]
    tensors = {"InputTensor": ("FLOAT32", shape), "OutputTensor": ("FLOAT32", shape)}
    x = np.array(list(expected), np.float32)
    found = computed(f"ACTIVATION_{operator}", {**tensors, **members}, InputTensor=x)
    assert found["OutputTensor"] == list(expected.values())


def test_a_variance_is_that_of_all_elements() -> None:
    """microsoft/onnxruntime, layer_norm_op_test.cc: two rows of three."""
    shape = [1, 1, 2, 3]
    members = {
        "InputTensor": ("FLOAT32", shape),
        "OutputTensor": ("FLOAT32", shape),
        "Axes": [3],
        "NormalizeVariance": True,
        "Epsilon": 1e-5,
    }
    x = np.arange(1, 7, dtype=np.float32).reshape(shape)
    found = computed("MEAN_VARIANCE_NORMALIZATION1", members, InputTensor=x)
    np.testing.assert_allclose(np.ravel(found["OutputTensor"]), [-1.2247, 0, 1.2247] * 2, atol=1e-4)


@pytest.mark.parametrize(("x", "expected"), [(100, math.inf), (-110, -math.inf), (3, 3)])
def test_the_exponentials_of_log_sum_exp_overflow(x: float, expected: float) -> None:
    """microsoft/onnxruntime, issue 29099: infinities for 100 and -100; that of -110 underflows anywhere."""
    members = {
        "Function": "LOG_SUM_EXP",
        "InputTensor": ("FLOAT32", [1]),
        "OutputTensor": ("FLOAT32", [1]),
        "Axes": [0],
    }
    assert computed("REDUCE", members, InputTensor=np.array([x], np.float32))["OutputTensor"] == [expected]


WINDOW = {"Strides": [1, 1], "WindowSize": [4, 4], "StartPadding": [0, 0], "EndPadding": [0, 0], "P": 2}
CHANNEL = ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")
OVERFLOWING = {
    "LP_POOLING": (WINDOW, ["InputTensor", "OutputTensor"]),
    "LP_POOLING1": ({**WINDOW, "Dilations": [1, 1]}, ["InputTensor", "OutputTensor"]),
    "MEAN_VARIANCE_NORMALIZATION1": (
        {"Axes": [2, 3], "NormalizeVariance": True, "Epsilon": 1e-5},
        ["InputTensor", "OutputTensor"],
    ),
    "BATCH_NORMALIZATION": ({"Spatial": True, "Epsilon": 1e-5}, ["InputTensor", *CHANNEL, "OutputTensor"]),
    "BATCH_NORMALIZATION_TRAINING": (
        {"Epsilon": 1e-5},
        [
            "InputTensor",
            "ScaleTensor",
            "BiasTensor",
            "OutputTensor",
            "OutputMeanTensor",
            "OutputVarianceTensor",
        ],
    ),
}


@pytest.mark.parametrize("operator", OVERFLOWING)
def test_what_overflows_in_float16_draws_advice(operator: str) -> None:
    """microsoft/onnxruntime, issues 29096, 26533 and 17692; tensorflow-directml-plugin, pull request 321."""
    members, tensors = OVERFLOWING[operator]
    pooled = operator.startswith("LP")
    sizes = {
        name: [1, 1, 1, 1]
        if (pooled and name == "OutputTensor") or name not in ("InputTensor", "OutputTensor")
        else [1, 1, 4, 4]
        for name in tensors
    }
    for data_type, expected in (("FLOAT16", [f"DML-{operator}-float16-overflow"]), ("FLOAT32", [])):
        made = {name: (data_type, sizes[name]) for name in tensors}
        advice = description(operator, **made, **members).advice("6.4")
        assert [one.rule for one in advice] == expected
        assert all("65504" in one.message for one in advice)


def test_float16_is_computed_in_single_precision_all_the_same() -> None:
    """The root of a sum of squares that passes 65504, and a variance that does."""
    norm = {"InputTensor": ("FLOAT16", [1, 1, 4, 4]), "OutputTensor": ("FLOAT16", [1, 1, 1, 1]), **WINDOW}
    assert computed("LP_POOLING", norm, InputTensor=np.full((1, 1, 4, 4), 80, np.float16))[
        "OutputTensor"
    ] == [[[[320]]]]
    row = np.array([-600, 600, -600, 600], np.float16).reshape(1, 1, 1, 4)
    tensors = {"InputTensor": ("FLOAT16", [1, 1, 1, 4]), "OutputTensor": ("FLOAT16", [1, 1, 1, 4])}
    found = computed(
        "MEAN_VARIANCE_NORMALIZATION1",
        {**tensors, "Axes": [3], "NormalizeVariance": True, "Epsilon": 1e-5},
        InputTensor=row,
    )
    assert found["OutputTensor"] == [[[[-1, 1, -1, 1]]]]
