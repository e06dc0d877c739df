"""What DirectML was seen to give, with the public places that show it: it is computed, or advised on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

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


@pytest.mark.parametrize("operator", ["MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"])
@pytest.mark.parametrize(
    ("mask_type", "mask"),
    [
        ("BOOLEAN", np.zeros((2, 2, 2, 2))),
        ("KEY_SEQUENCE_LENGTH", [[0, 0]]),
        ("KEY_SEQUENCE_END_START", [[0, 0], [2, 2]]),
        ("KEY_SEQUENCE_END_START", [[3, 2], [0, -1]]),
    ],
)
def test_a_row_of_masked_keys_keeps_the_weights_of_its_scores(
    operator: str, mask_type: str, mask: ArrayLike
) -> None:
    """microsoft/onnxruntime, attention_op_test.cc: masks without a 1, lengths of 0, and ends out of range."""
    hidden = np.array([[0.5, 0.2, 0.3, -0.6], [0.8, -0.5, 0, 1]])[[[0, 1], [1, 0]]]
    weights = [
        [0.1, -0.2, 0.3, 1.0, 1.1, 0.3, 0.5, 0.2, 0.3, -0.6, 1.5, 2.0],
        [0.5, 0.1, 0.4, 1.6, 1.0, 2.0, 0.4, 0.8, 0.9, 0.1, -1.3, 0.7],
        [0.3, 0.2, 4.0, 2.2, 1.6, 1.1, 0.7, 0.2, 0.4, 1.0, 1.2, 0.5],
        [0.2, 0.1, 0.4, 1.6, 2.4, 3.3, 2.1, 4.2, 8.4, 0.0, 2.1, 3.2],
    ]
    bias = [-0.5, 0.6, 1.2, 2.1, 0.5, 0.7, 0.2, 1.2, 0.5, 0.4, 0.3, 1.2]
    query, key, value = np.split((hidden @ weights + bias).astype(np.float32), 3, axis=-1)
    members = {
        **dict.fromkeys(("QueryTensor", "KeyTensor", "ValueTensor", "OutputTensor"), ("FLOAT32", [2, 2, 4])),
        "MaskTensor": ("INT32", list(np.shape(mask))),
        "MaskType": mask_type,
        "MaskFilterValue": -10000,
        **(
            {"HeadCount": 2}
            if operator == "MULTIHEAD_ATTENTION"
            else {"QueryHeadCount": 2, "KeyValueHeadCount": 2}
        ),
        "Scale": 2**-0.5,
    }
    found = computed(
        operator,
        members,
        QueryTensor=query,
        KeyTensor=key,
        ValueTensor=value,
        MaskTensor=np.array(mask, np.int32),
    )
    rows = np.array([[3.96724534, 0.07324841, 4.25, 5.65], [3.14984703, 0.10842596, 4.25, 5.65]])
    np.testing.assert_allclose(found["OutputTensor"], rows[[[0, 1], [1, 0]]], atol=5e-3)


def test_exchanged_offsets_of_gradients_of_resampling_get_advice() -> None:
    """microsoft/tensorflow-directml-plugin, dml_resize_grad_ops.cc; documentation and DirectMLX differ."""
    members = {
        "InputGradientTensor": ("FLOAT32", [1, 1, 1, 4]),
        "OutputGradientTensor": ("FLOAT32", [1, 1, 1, 2]),
        "InterpolationMode": "LINEAR",
        "Scales": [1, 1, 1, 2],
        "InputPixelOffsets": [0.5] * 4,
        "OutputPixelOffsets": [-0.5] * 4,
    }
    assert description("RESAMPLE_GRAD", **members).advice("6.4") == []
    exchanged = members | {"InputPixelOffsets": [-0.5] * 4, "OutputPixelOffsets": [0.5] * 4}
    (advice,) = description("RESAMPLE_GRAD", **exchanged).advice("6.4")
    assert advice.rule == "DML-RESAMPLE_GRAD-offsets-exchanged"


def test_angles_of_zeros_and_infinities() -> None:
    """microsoft/tensorflow-directml-plugin, cwise_ops_binary_test.py."""
    inf = math.inf
    y = np.array([0, 0, -0.0, -0.0, 1.2345, 1.2345, -4.321, -4.125, inf, inf, -inf, -inf], np.float32)
    x = np.array([0, -0.0, 0, -0.0, inf, -inf, inf, -inf, inf, -inf, inf, -inf], np.float32)
    members = {name: ("FLOAT32", [12]) for name in ("ATensor", "BTensor", "OutputTensor")}
    found = computed("ELEMENT_WISE_ATAN_YX", members, ATensor=y, BTensor=x)
    quarters = np.array([0, 4, 0, -4, 0, 4, 0, -4, 1, 3, -1, -3])
    np.testing.assert_allclose(found["OutputTensor"], quarters * (math.pi / 4), atol=2e-5)


def test_the_first_word_of_a_random_counter_is_the_lowest() -> None:
    """microsoft/tensorflow-directml-plugin, random_ops_test.py: elements follow TensorFlow's counters,
    which carry from the first word to the second."""

    def words(*counter: int, count: int = 4) -> Any:
        members = {
            "InputStateTensor": ("UINT32", [6]),
            "OutputTensor": ("UINT32", [count]),
            "Type": "PHILOX_4X32_10",
        }
        state = np.array([*counter, 0, 0], np.uint32)
        return computed("RANDOM_GENERATOR", members, InputStateTensor=state)["OutputTensor"]

    assert words(2**32 - 1, 0, 0, 0, count=8) == words(2**32 - 1, 0, 0, 0) + words(0, 1, 0, 0)


def test_the_first_nan_of_a_window_takes_the_gradient() -> None:
    """microsoft/tensorflow-directml-plugin, pooling_ops_test.py."""
    members = {
        "InputTensor": ("FLOAT32", [1, 1, 4, 4]),
        "InputGradientTensor": ("FLOAT32", [1, 1, 3, 3]),
        "OutputGradientTensor": ("FLOAT32", [1, 1, 4, 4]),
        "Strides": [1, 1],
        "WindowSize": [2, 2],
        "StartPadding": [0, 0],
        "EndPadding": [0, 0],
        "Dilations": [1, 1],
    }
    found = computed(
        "MAX_POOLING_GRAD",
        members,
        InputTensor=np.full((1, 1, 4, 4), np.nan, np.float32),
        InputGradientTensor=np.array([11, 12, 13, 15, 16, 17, 19, 20, 21], np.float32).reshape(1, 1, 3, 3),
    )
    expected = [[11, 12, 13, 0], [15, 16, 17, 0], [19, 20, 21, 0], [0, 0, 0, 0]]
    assert found["OutputGradientTensor"] == [[expected]]


def test_gradients_of_a_slice_with_a_negative_stride() -> None:
    """microsoft/tensorflow-directml-plugin, array_ops_test.py: elements 3 and 1 of six, of [3:0:-2]."""
    members = {
        "InputGradientTensor": ("FLOAT32", [1, 1, 1, 2]),
        "OutputGradientTensor": ("FLOAT32", [1, 1, 1, 6]),
        "InputWindowOffsets": [0, 0, 0, 1],
        "InputWindowSizes": [1, 1, 1, 3],
        "InputWindowStrides": [1, 1, 1, -2],
    }
    gradient = np.array([5, 7], np.float32).reshape(1, 1, 1, 2)
    found = computed("SLICE_GRAD", members, InputGradientTensor=gradient)
    assert found["OutputGradientTensor"] == [[[[0, 7, 0, 5, 0, 0]]]]


def test_the_first_step_of_adam_is_1() -> None:
    """microsoft/tensorflow-directml-plugin, training_ops_test.py: the first powers of both betas."""
    shape = [1, 1, 1, 100]
    rows = {
        "InputParametersTensor": np.arange(100),
        "InputFirstMomentTensor": np.arange(1, 101),
        "InputSecondMomentTensor": np.arange(101, 201),
        "GradientTensor": np.arange(100),
    }
    outputs = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")
    members = {
        **dict.fromkeys((*rows, *outputs), ("FLOAT32", shape)),
        "TrainingStepTensor": ("UINT32", [1, 1, 1, 1]),
        "LearningRate": 0.001,
        "Beta1": 0.9,
        "Beta2": 0.999,
        "Epsilon": 1e-8,
    }
    inputs = {name: row.astype(np.float32).reshape(shape) for name, row in rows.items()}
    step = np.ones((1, 1, 1, 1), np.uint32)
    found = computed("ADAM_OPTIMIZER", members, **inputs, TrainingStepTensor=step)
    x, m, v, g = rows.values()
    rate = 0.001 * math.sqrt(1 - 0.999) / (1 - 0.9)
    expected = x - rate * (0.9 * m + 0.1 * g) / (np.sqrt(0.999 * v + 0.001 * g * g) + 1e-8)
    np.testing.assert_allclose(np.ravel(found["OutputParametersTensor"]), expected, rtol=1e-6, atol=1e-6)


def differences(function: Any, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The gradient of a function with respect to x, by differences in double precision."""
    found = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[at] = 1e-5
        found[at] = ((function(x + step) - function(x - step)) * gradient).sum() / 2e-5
    return found


SHAPE = [2, 4, 2, 3]
IMAGES, GRADIENTS = np.random.default_rng(0).random((2, *SHAPE)).astype(np.float32)


def test_gradients_of_batch_normalization_in_training() -> None:
    """microsoft/tensorflow-directml-plugin, nn_fused_batchnorm_test.py."""
    axes, channels = (0, 2, 3), [1, 4, 1, 1]
    scale = np.array([1, 2, -1, 0.5], np.float32).reshape(channels)

    def normalized(x: np.ndarray) -> np.ndarray:
        result: np.ndarray = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 0.001)
        return scale * result

    by_channel = (
        "MeanTensor",
        "VarianceTensor",
        "ScaleTensor",
        "OutputScaleGradientTensor",
        "OutputBiasGradientTensor",
    )
    members = {
        **dict.fromkeys(("InputTensor", "InputGradientTensor", "OutputGradientTensor"), ("FLOAT32", SHAPE)),
        **dict.fromkeys(by_channel, ("FLOAT32", channels)),
        "Epsilon": 0.001,
    }
    found = computed(
        "BATCH_NORMALIZATION_TRAINING_GRAD",
        members,
        InputTensor=IMAGES,
        InputGradientTensor=GRADIENTS,
        MeanTensor=IMAGES.mean(axes, keepdims=True),
        VarianceTensor=IMAGES.var(axes, keepdims=True),
        ScaleTensor=scale,
    )
    expected = differences(normalized, IMAGES, GRADIENTS)
    np.testing.assert_allclose(found["OutputGradientTensor"], expected, atol=1e-4)


def test_gradients_of_normalization_across_channels() -> None:
    """microsoft/tensorflow-directml-plugin, dml_lrn_ops.cc and lrn_op_test.py: LocalSize counts the
    channels of TensorFlow's neighborhood, and Alpha is that many times its alpha."""

    def normalized(x: np.ndarray) -> np.ndarray:
        squares = np.pad(x * x, [(0, 0), (1, 1), (0, 0), (0, 0)])
        result: np.ndarray = x * (1.3 + 0.7 * (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:])) ** -0.8
        return result

    members = {
        **dict.fromkeys(("InputTensor", "InputGradientTensor", "OutputGradientTensor"), ("FLOAT32", SHAPE)),
        "CrossChannel": True,
        "LocalSize": 3,
        "Alpha": 0.7 * 3,
        "Beta": 0.8,
        "Bias": 1.3,
    }
    found = computed(
        "LOCAL_RESPONSE_NORMALIZATION_GRAD", members, InputTensor=IMAGES, InputGradientTensor=GRADIENTS
    )
    expected = differences(normalized, IMAGES, GRADIENTS)
    np.testing.assert_allclose(found["OutputGradientTensor"], expected, atol=1e-4)


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
