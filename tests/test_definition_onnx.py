"""References and shaders from definitions, against ONNX's reference and formulas in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from definition_cases import close, one, run, target
from dmlops import Size2d, make
from gpu_device import device

__all__ = ["device", "target"]
RANDOM = np.random.default_rng(11)
SCALE = np.full((1, 1, 1, 1), 0.5, np.float32)


def random(*sizes: int, type_: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(type_)


def integers(type_: Any, *sizes: int) -> np.ndarray:
    limits = np.iinfo(type_)
    return RANDOM.integers(limits.min, limits.max, sizes, dtype=type_, endpoint=True)


def coded(numbers: Any, type_: Any) -> Any:
    """The nearest integers of a type."""
    limits = np.iinfo(type_)
    return np.rint(numbers).clip(limits.min, limits.max)


def onnx(
    operator: str, *inputs: np.ndarray | None, outputs: int = 1, opset: int = 22, **attributes: Any
) -> list[Any]:
    """The outputs of ONNX's reference for the inputs, None for one that is absent."""
    names = [f"x{number}" if array is not None else "" for number, array in enumerate(inputs)]
    results = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(operator, names, results, **attributes)
    given = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(name, numpy_helper.from_array(array).data_type, array.shape)
            for name, array in given.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, given)


# Products of integers.


@pytest.mark.parametrize("type_", [np.int8, np.uint8])
@pytest.mark.parametrize("zeros", ["none", "one", "each"])
def test_matrix_multiply_integer(type_: Any, zeros: str) -> None:
    a, b = integers(type_, 1, 1, 5, 6), integers(type_, 1, 1, 6, 4)
    shapes = {"none": (), "one": ((1, 1), (1, 1)), "each": ((5, 1), (1, 4))}[zeros]
    points = [integers(type_, 1, 1, *shape) for shape in shapes]
    za, zb = (one.astype(np.int64) for one in points or [np.zeros((), np.int64)] * 2)
    expected = (a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)
    np.testing.assert_array_equal(one(make.matrix_multiply_integer, a, b, *points), expected)
    scales, bias = random(1, 1, 1, 4), random(1, 1, 5, 4)
    named = dict(zip(("AZeroPointTensor", "BZeroPointTensor"), points, strict=False))
    given = {"AScaleTensor": SCALE, "BScaleTensor": scales, "BiasTensor": bias, "OutputTensor": "FLOAT32"}
    found = one(make.matrix_multiply_integer_to_float, a, BTensor=b, **named, **given)
    close(found, expected * 0.5 * scales.astype(np.float64) + bias)


def test_products_of_integers_of_32_bits_are_summed_as_floats() -> None:
    a, b = integers(np.int32, 1, 1, 3, 4), integers(np.int32, 1, 1, 4, 2)
    scales = {"AScaleTensor": np.float32([2.0**-40]), "BScaleTensor": np.float32([2.0**-20])}
    found = one(make.matrix_multiply_integer_to_float, a, BTensor=b, OutputTensor="FLOAT32", **scales)
    close(found, (a.astype(object) @ b.astype(object)).astype(np.float64) * 2.0**-60)


@pytest.mark.parametrize("type_", [np.int8, np.uint8])
def test_quantized_linear_matrix_multiply(type_: Any) -> None:
    a, b = integers(type_, 1, 1, 5, 6), integers(type_, 1, 1, 6, 4)
    za, zb, zy = (integers(type_, 1) for _ in range(3))
    scales = dict(zip("AB", np.float32([[0.5], [0.25]]), strict=True)) | {"Output": np.float32([32])}
    given = {f"{name}ScaleTensor": scale for name, scale in scales.items()}
    given |= {"AZeroPointTensor": za, "BZeroPointTensor": zb, "OutputZeroPointTensor": zy}
    found = one(make.quantized_linear_matrix_multiply, ATensor=a, BTensor=b, **given)
    exact = (a.astype(np.int64) - za.astype(np.int64)) @ (b.astype(np.int64) - zb.astype(np.int64))
    wanted = np.rint(exact * 0.125 / 32) + zy.astype(np.int64)  # powers of two: exact, with many halves
    np.testing.assert_array_equal(found, coded(wanted, type_))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("type_", [np.int8, np.uint8])
def test_convolution_integer(groups: int, type_: Any) -> None:
    x, w = integers(type_, 2, 4, 6, 5), integers(type_, 6, 4 // groups, 3, 2)
    zx, zw = integers(type_, 1, 1, 1, 1), integers(type_, 1, 6, 1, 1)
    weights = w.astype(np.float64) - zw.astype(np.float64).reshape(6, 1, 1, 1)
    attributes = {"strides": [2, 1], "pads": [1, 1, 0, 1], "dilations": [1, 2], "group": groups}
    (expected,) = onnx("Conv", x.astype(np.float64) - zx.astype(np.float64), weights, **attributes)
    given = {
        "InputZeroPointTensor": zx, "FilterTensor": w, "FilterZeroPointTensor": zw, "Strides": [2, 1],
        "Dilations": [1, 2], "StartPadding": [1, 1], "EndPadding": [0, 1], "GroupCount": groups,
    }  # fmt: skip
    np.testing.assert_array_equal(one(make.convolution_integer, x, **given), expected)
    scales, bias = 2.0 ** -np.arange(6, dtype=np.float32).reshape(1, 6, 1, 1), integers(np.int32, 1, 6, 1, 1)
    bias >>= 16
    given |= {"InputScaleTensor": SCALE, "FilterScaleTensor": scales, "OutputScaleTensor": SCALE * 1024}
    given |= {"BiasTensor": bias, "OutputTensor": np.dtype(type_).name.upper()}
    found = one(make.quantized_linear_convolution, x, **given)
    np.testing.assert_array_equal(found, coded((expected + bias) * 0.5 * scales / 512, type_))


@pytest.mark.parametrize("whole", [True, False])
def test_quantized_linear_average_pooling(whole: bool) -> None:
    x, zero = integers(np.uint8, 1, 3, 6, 7), np.full((1, 1, 1, 1), 100, np.uint8)
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 1]}
    (expected,) = onnx("AveragePool", x.astype(np.float32) - 100, count_include_pad=int(whole), **attributes)
    found = one(
        make.quantized_linear_average_pooling, x, InputScaleTensor=SCALE, InputZeroPointTensor=zero,
        OutputScaleTensor=SCALE, OutputZeroPointTensor=zero, Strides=[2, 1], WindowSize=[3, 2],
        StartPadding=[1, 1], EndPadding=[1, 1], IncludePadding=whole,
    )  # fmt: skip
    assert np.abs(found.astype(np.int64) - coded(expected + 100, np.uint8)).max() <= 1


def test_quantized_addition() -> None:
    a, b = integers(np.int8, 1, 1, 4, 5), integers(np.int8, 1, 1, 4, 5)
    given = {f"{name}ZeroPointTensor": np.int8([[[[3]]]]) for name in ("A", "Output")}
    given |= {"AScaleTensor": SCALE, "BScaleTensor": SCALE, "OutputScaleTensor": SCALE * 4}
    found = one(make.element_wise_quantized_linear_add, ATensor=a, BTensor=b, **given)
    np.testing.assert_array_equal(found, coded(np.rint((a.astype(np.float64) - 3 + b) * 0.25) + 3, np.int8))


@pytest.mark.parametrize(
    "data", [random(1, 1, 3, 5), random(1, 1, 3, 5) + 9, np.zeros((1, 1, 1, 2), np.float32)]
)
def test_dynamic_quantize_linear(data: np.ndarray) -> None:
    expected, scale, point = onnx("DynamicQuantizeLinear", data, outputs=3)
    found = run(make.dynamic_quantize_linear, data, OutputTensor="UINT8", OutputZeroPointTensor="UINT8")
    assert found["OutputScaleTensor"].item() == (scale if data.any() else 1)
    assert found["OutputZeroPointTensor"].item() == point
    np.testing.assert_array_equal(found["OutputTensor"], expected)


# Recurrent networks, where PyTorch has nothing to say.

BOTH = {"OutputSequenceTensor": "FLOAT32", "OutputSingleTensor": "FLOAT32"}
SIGMOID, TANH = make.activation_sigmoid(), make.activation_tanh()


def check_recurrent(operator: str, gates: int, *more: np.ndarray, members: Any, **attributes: Any) -> None:
    """Four steps of two sequences forward, with biases, states before and what `more` gives."""
    x, w, r = random(4, 2, 3), random(1, gates * 5, 3), random(1, gates * 5, 5)
    bias, states = random(1, 2 * gates * 5), [random(1, 2, 5) for _ in range(gates // 2)]
    attributes |= {"outputs": 2, "hidden_size": 5}
    expected, last, *_ = onnx(operator, x, w, r, bias, None, *states, *more, **attributes)
    tensors = (x[None], w[None], r[None], bias[None, None], *(one[None] for one in states))
    found = run(getattr(make, operator.lower()), *tensors, Direction="FORWARD", **members, **BOTH)
    close(found["OutputSequenceTensor"], expected)
    close(found["OutputSingleTensor"], last[None])


@pytest.mark.parametrize("linear", [0, 1])
def test_gru_with_either_reset(linear: int) -> None:
    members = {"ActivationDescs": [SIGMOID, TANH], "LinearBeforeReset": bool(linear)}
    check_recurrent("GRU", 3, members=members, linear_before_reset=linear)


def test_lstm_with_peepholes() -> None:
    peepholes = random(1, 15)
    members = {"ActivationDescs": [SIGMOID, TANH, TANH], "ClipThreshold": 0.0, "UseClipThreshold": False}
    members |= {"CoupleInputForget": False, "PeepholeTensor": peepholes[None, None]}
    check_recurrent("LSTM", 4, peepholes, members=members)


def test_a_sequence_of_length_0_keeps_its_initial_state() -> None:
    hidden, lengths = random(1, 1, 2, 3), np.array([0, 2], np.uint32).reshape(1, 1, 1, 2)
    found = run(
        make.rnn, random(1, 4, 2, 3), random(1, 1, 3, 3), random(1, 1, 3, 3), HiddenInitTensor=hidden,
        SequenceLengthsTensor=lengths, ActivationDescs=[TANH], Direction="BACKWARD", **BOTH,
    )  # fmt: skip
    assert (found["OutputSingleTensor"][0, 0, 0] == hidden[0, 0, 0]).all()
    assert not found["OutputSequenceTensor"][:, 0, 0].any()
    assert not found["OutputSequenceTensor"][2:, 0, 1].any()


# Regions of interest.


REGIONS = np.float32([[1.5, 0.5, 8.5, 7.0], [0.0, 0.0, 3.0, 3.0], [4.0, 4.0, 4.25, 4.5], [-3, -3, 12, 11]])
ALIGN = {
    "InterpolationMode": "LINEAR", "SpatialScaleX": 1.0, "SpatialScaleY": 1.0, "InputPixelOffset": 0.5,
    "OutputPixelOffset": -0.5, "OutOfBoundsInputValue": 0.0, "AlignRegionsToCorners": False,
}  # fmt: skip


@pytest.mark.parametrize("mode", ["AVERAGE", "MAX"])
@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(mode: str, samples: int, aligned: bool) -> None:
    if mode == "MAX" and samples == 0 and not aligned:
        pytest.skip("one region of ONNX is longer then")
    x, count = random(2, 3, 10, 9), 4 if aligned else 2
    if mode == "MAX":  # ONNX takes the greatest of four weighted pixels, which is no sample
        x[:] = 2.5
    regions, batches = REGIONS[:count], np.array([0, 1, 1, 0], np.int64)[:count]
    transformation = "half_pixel" if aligned else "output_half_pixel"
    (expected,) = onnx(
        "RoiAlign", x, regions, batches, mode="avg", output_height=3, output_width=2, sampling_ratio=samples,
        spatial_scale=1.0, coordinate_transformation_mode=transformation,
    )  # fmt: skip
    members = {"ReductionFunction": mode, "InputPixelOffset": 0.5 if aligned else 0.0}
    members |= {"MinimumSamplesPerOutput": samples or 1, "MaximumSamplesPerOutput": samples or 4294967295}
    given = (x, regions, batches.astype(np.uint32))
    found = one(make.roi_align1, *given, OutputTensor=expected.shape, **{**ALIGN, **members})
    if mode == "AVERAGE":
        close(found, expected)
    else:
        close(found[:3], np.full_like(found[:3], 2.5))


def test_roi_pooling() -> None:
    x = random(2, 2, 8, 9)
    regions = np.float32([[0, 1, 1, 6, 7], [1, 0, 0, 3, 3], [1, 2, 2, 2, 2]])
    size = Size2d(Width=3, Height=2)
    found = one(make.roi_pooling, x, regions[None, None], SpatialScale=1.0, PooledSize=size)
    assert found.shape == (3, 2, 2, 3)
    for number, (batch, *corners) in enumerate(regions.astype(int)):
        x1, y1, x2, y2 = corners
        height, width = y2 - y1 + 1, x2 - x1 + 1
        for i in range(2):
            for j in range(3):
                rows = slice(y1 + i * height // 2, y1 + -(-(i + 1) * height // 2))
                columns = slice(x1 + j * width // 3, x1 + -(-(j + 1) * width // 3))
                assert (found[number, :, i, j] == x[batch, :, rows, columns].max((1, 2))).all()


@pytest.mark.parametrize("mode", ["AVERAGE", "MAX"])
@pytest.mark.parametrize("corners", [False, True])
def test_gradients_of_roi_align_against_differences(mode: str, corners: bool) -> None:
    x, gradient = random(2, 2, 7, 8), random(3, 2, 2, 3)
    regions = np.float32([[1.3, 0.6, 5.6, 4.9], [0.45, 1.2, 3.1, 5.3], [2.2, 2.3, 6.4, 3.1]])
    indices, members = np.array([0, 1, 1], np.uint32), {**ALIGN, "ReductionFunction": mode}
    members |= {"SpatialScaleY": 0.875, "AlignRegionsToCorners": corners}
    members |= dict.fromkeys(("MinimumSamplesPerOutput", "MaximumSamplesPerOutput"), 2)

    def loss(image: np.ndarray, places: np.ndarray) -> float:
        found = one(make.roi_align1, image, places, indices, OutputTensor=gradient.shape, **members)
        return float((found.astype(np.float64) * gradient).sum())

    of_gradient = {name: value for name, value in members.items() if name != "OutOfBoundsInputValue"}
    outputs = {"OutputGradientTensor": x.shape, "OutputROIGradientTensor": regions.shape}
    given = {"ROITensor": regions, "BatchIndicesTensor": indices, **outputs, **of_gradient}
    found = run(make.roi_align_grad, InputTensor=x, InputGradientTensor=gradient, **given)
    for place in [(0, 0, 2, 3), (0, 1, 4, 5), (1, 0, 3, 2), (1, 1, 1, 4)]:
        step = np.zeros_like(x)
        step[place] = 2.0**-7
        slope = (loss(x + step, regions) - loss(x - step, regions)) * 2.0**6
        assert abs(found["OutputGradientTensor"][place] - slope) < 2e-3
    for place in np.ndindex(regions.shape):
        move = np.zeros_like(regions)
        move[place] = 2.0**-10
        slope = (loss(x, regions + move) - loss(x, regions - move)) * 2.0**9
        assert abs(found["OutputROIGradientTensor"][place] - slope) < 2e-2


# Windows, resampling and normalization.


@pytest.mark.parametrize("across", [True, False])
def test_local_response_normalization_of_an_even_size(across: bool) -> None:
    x = random(1, 6, 4, 5)
    members = {"CrossChannel": across, "LocalSize": 4, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.0}
    # ONNX's formula; its reference computes as many channels as there are batches.
    edges = ((0, 0), (1, 2), (0, 0), (0, 0)) if across else ((0, 0), (0, 0), (1, 2), (1, 2))
    padded = np.pad(x.astype(np.float64) ** 2, edges)
    shape, axes = ((4,), (1,)) if across else ((4, 4), (2, 3))
    windows = np.lib.stride_tricks.sliding_window_view(padded, shape, axes)
    total = windows.sum(tuple(range(4, windows.ndim)))
    close(one(make.local_response_normalization, x, **members), x / (1 + 0.125 * total) ** 0.75)


@pytest.mark.parametrize("type_", [np.int8, np.uint8, np.int64, np.uint64, np.float16])
def test_max_pooling_of_any_type(type_: Any) -> None:
    x = integers(type_, 1, 2, 5, 6) if type_ != np.float16 else random(1, 2, 5, 6, type_=type_)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, :, ::2]
    found = one(make.max_pooling, x, Strides=[1, 2], WindowSize=[2, 2])
    np.testing.assert_array_equal(found, windows.max((4, 5)))


def test_not_a_number_goes_through_a_maximum() -> None:
    x = random(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.nan
    found = run(make.max_pooling1, x, Strides=[2, 2], WindowSize=[2, 2], OutputIndicesTensor="UINT32")
    assert np.isnan(found["OutputTensor"]).tolist() == [[[[True, False], [False, False]]]]
    assert found["OutputIndicesTensor"][0, 0, 0, 0] == 5


@pytest.mark.parametrize("type_", [np.int8, np.uint8, np.float16])
def test_resampling_of_any_type(type_: Any) -> None:
    x = integers(type_, 1, 1, 3, 4) if type_ != np.float16 else random(1, 1, 3, 4, type_=type_)
    (expected,) = onnx("Resize", x.astype(np.float64), None, None, np.int64([1, 1, 6, 6]), mode="linear")
    members = {"InterpolationMode": "LINEAR", "Scales": [1.0, 1.0, 2.0, 1.5]}
    found = one(make.resample, x, OutputTensor=expected.shape, **members).astype(np.float64)
    if type_ == np.float16:
        assert np.abs(found - expected).max() <= 2e-3
    else:  # cut off toward 0
        assert np.abs(found - expected).max() < 1
        assert (np.abs(found) <= np.abs(expected) + 1e-4).all()


@pytest.mark.parametrize("scale", [0.5, 0.75, 1.0, 1.5, 3.0])
def test_nearest_neighbors(scale: float) -> None:
    x, scales = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10), [1.0, 1.0, 1.0, scale]
    nearest = {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}
    (expected,) = onnx("Resize", x, None, np.float32(scales), **nearest)
    members = {"InterpolationMode": "NEAREST_NEIGHBOR", "Scales": scales}
    found = one(make.resample, x, OutputTensor=(1, 1, 1, int(10 * scale)), **members)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dilation", [1, 2])
def test_lp_pooling_over_padding(dilation: int) -> None:
    x, both = random(1, 2, 7, 8), [dilation] * 2
    (expected,) = onnx(
        "LpPool", x, p=2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 1], dilations=both
    )
    padding = {"StartPadding": [1, 1], "EndPadding": [1, 1]}
    found = one(make.lp_pooling1, x, Strides=[2, 1], WindowSize=[3, 2], Dilations=both, P=2, **padding)
    close(found, expected)


def test_layer_normalization() -> None:
    x, scale, bias = random(2, 3, 4), random(4), random(4)
    (expected,) = onnx("LayerNormalization", x, scale, bias, axis=-1)
    members = {"Axes": [2], "NormalizeVariance": True, "Epsilon": 1e-5}
    close(one(make.mean_variance_normalization1, x, scale[None, None], bias[None, None], **members), expected)


@pytest.mark.parametrize("type_", [np.uint32, np.uint64])
def test_max_unpooling_keeps_the_last_of_those_that_go_to_one_place(type_: Any) -> None:
    x = integers(np.int8, 2, 3, 20, 30)
    places = RANDOM.integers(0, 2 * 3 * 7 * 9 + 40, x.shape).astype(type_)  # some are outside
    places[0, 0, 0, :2] = np.iinfo(type_).max, 2**31
    expected = np.zeros(2 * 3 * 7 * 9, np.int8)
    for number, place in enumerate(places.ravel()):
        if place < expected.size:
            expected[place] = x.ravel()[number]
    found = one(make.max_unpooling, x, places, OutputTensor=(2, 3, 7, 9))
    assert found.ravel().tolist() == expected.tolist()
    assert (np.bincount(places.ravel()[places.ravel() < expected.size].astype(np.int64)) > 1).any()
