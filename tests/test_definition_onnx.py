"""References and shaders from definitions, against ONNX's reference and formulas in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from definition_cases import close, empty, one, run, target
from gpu_device import device

__all__ = ["device", "target"]
RANDOM = np.random.default_rng(11)


def random(*sizes: int, type_: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(type_)


def integers(type_: Any, *sizes: int) -> np.ndarray:
    limits = np.iinfo(type_)
    return RANDOM.integers(limits.min, limits.max, sizes, dtype=type_, endpoint=True)


def f32(*sizes: int) -> dict[str, Any]:
    return empty(np.float32, *sizes)


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
    inputs = {"ATensor": a, "BTensor": b}
    za, zb = np.zeros((), np.int64), np.zeros((), np.int64)
    if zeros == "one":
        inputs |= {f"{x}ZeroPointTensor": integers(type_, 1, 1, 1, 1) for x in "AB"}
        za, zb = (inputs[f"{x}ZeroPointTensor"].astype(np.int64) for x in "AB")
    if zeros == "each":
        inputs["AZeroPointTensor"] = integers(type_, 1, 1, 5, 1)
        inputs["BZeroPointTensor"] = integers(type_, 1, 1, 1, 4)
        za, zb = (inputs[f"{x}ZeroPointTensor"].astype(np.int64) for x in "AB")
    expected = (a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)
    found = one("MATRIX_MULTIPLY_INTEGER", inputs, empty(np.int32, 1, 1, 5, 4))
    assert (found == expected).all()
    scales = {"AScaleTensor": np.full((1, 1, 1, 1), 0.5, np.float32), "BScaleTensor": random(1, 1, 1, 4)}
    bias = random(1, 1, 5, 4)
    found = one("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", {**inputs, **scales, "BiasTensor": bias}, f32(1, 1, 5, 4))
    close(found, expected * 0.5 * scales["BScaleTensor"].astype(np.float64) + bias)


def test_products_of_integers_of_32_bits_are_summed_as_floats() -> None:
    a, b = integers(np.int32, 1, 1, 3, 4), integers(np.int32, 1, 1, 4, 2)
    scales = {"AScaleTensor": np.float32([2.0**-40]), "BScaleTensor": np.float32([2.0**-20])}
    found = one("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", {"ATensor": a, "BTensor": b, **scales}, f32(1, 1, 3, 2))
    close(found, (a.astype(object) @ b.astype(object)).astype(np.float64) * 2.0**-60)


@pytest.mark.parametrize("type_", [np.int8, np.uint8])
def test_quantized_linear_matrix_multiply(type_: Any) -> None:
    a, b = integers(type_, 1, 1, 5, 6), integers(type_, 1, 1, 6, 4)
    za, zb, zy = (integers(type_, 1) for _ in range(3))
    sa, sb, sy = np.float32([0.5]), np.float32([0.25]), np.float32([32.0])
    inputs = {
        "ATensor": a, "AScaleTensor": sa, "AZeroPointTensor": za, "BTensor": b, "BScaleTensor": sb,
        "BZeroPointTensor": zb,
        "OutputScaleTensor": sy, "OutputZeroPointTensor": zy,
    }  # fmt: skip
    found = one("QUANTIZED_LINEAR_MATRIX_MULTIPLY", inputs, empty(type_, 1, 1, 5, 4))
    exact = (a.astype(np.int64) - za.astype(np.int64)) @ (b.astype(np.int64) - zb.astype(np.int64))
    limits = np.iinfo(type_)
    coded = np.rint(exact * 0.125 / 32) + zy.astype(np.int64)  # powers of two: exact, with many halves
    assert (found == coded.clip(limits.min, limits.max)).all()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("type_", [np.int8, np.uint8])
def test_convolution_integer(groups: int, type_: Any) -> None:
    x, w = integers(type_, 2, 4, 6, 5), integers(type_, 6, 4 // groups, 3, 2)
    zx, zw = integers(type_, 1, 1, 1, 1), integers(type_, 1, 6, 1, 1)
    centerd = x.astype(np.float64) - zx.astype(np.float64)
    weights = w.astype(np.float64) - zw.astype(np.float64).reshape(6, 1, 1, 1)
    attributes = {"strides": [2, 1], "pads": [1, 1, 0, 1], "dilations": [1, 2], "group": groups}
    (expected,) = onnx("Conv", centerd, weights, **attributes)
    members = {
        "DimensionCount": 2,
        "Strides": [2, 1],
        "Dilations": [1, 2],
        "StartPadding": [1, 1],
        "EndPadding": [0, 1],
        "GroupCount": groups,
    }
    inputs = {"InputTensor": x, "InputZeroPointTensor": zx, "FilterTensor": w, "FilterZeroPointTensor": zw}
    found = one("CONVOLUTION_INTEGER", inputs, empty(np.int32, *expected.shape), **members)
    assert (found == expected).all()
    one_scale, scales = np.full((1, 1, 1, 1), 0.5, np.float32), 2.0 ** -np.arange(6, dtype=np.float32)
    bias = integers(np.int32, 1, 6, 1, 1) >> 16
    found = one(
        "QUANTIZED_LINEAR_CONVOLUTION",
        {
            **inputs,
            "InputScaleTensor": one_scale,
            "FilterScaleTensor": scales.reshape(1, 6, 1, 1),
            "BiasTensor": bias,
            "OutputScaleTensor": one_scale * 1024,
        },
        empty(type_, *expected.shape),
        **members,
    )
    coded = np.rint((expected + bias) * 0.5 * scales.reshape(1, 6, 1, 1) / 512)
    limits = np.iinfo(type_)
    assert (found == coded.clip(limits.min, limits.max)).all()


@pytest.mark.parametrize("whole", [True, False])
def test_quantized_linear_average_pooling(whole: bool) -> None:
    x, zero = integers(np.uint8, 1, 3, 6, 7), np.full((1, 1, 1, 1), 100, np.uint8)
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 1]}
    (expected,) = onnx("AveragePool", x.astype(np.float32) - 100, count_include_pad=int(whole), **attributes)
    scale = np.full((1, 1, 1, 1), 0.5, np.float32)
    inputs = {"InputTensor": x, "InputScaleTensor": scale, "InputZeroPointTensor": zero}
    found = one(
        "QUANTIZED_LINEAR_AVERAGE_POOLING",
        {**inputs, "OutputScaleTensor": scale, "OutputZeroPointTensor": zero},
        empty(np.uint8, *expected.shape),
        DimensionCount=2,
        Strides=[2, 1],
        WindowSize=[3, 2],
        StartPadding=[1, 1],
        EndPadding=[1, 1],
        Dilations=[1, 1],
        IncludePadding=whole,
    )
    assert np.abs(found.astype(np.int64) - np.rint(expected + 100).clip(0, 255)).max() <= 1


def test_quantized_addition() -> None:
    a, b = integers(np.int8, 1, 1, 4, 5), integers(np.int8, 1, 1, 4, 5)
    scale, zero = np.full((1, 1, 1, 1), 0.5, np.float32), np.full((1, 1, 1, 1), 3, np.int8)
    inputs = {
        "ATensor": a,
        "AScaleTensor": scale,
        "AZeroPointTensor": zero,
        "BTensor": b,
        "BScaleTensor": scale,
    }
    inputs |= {"OutputScaleTensor": scale * 4, "OutputZeroPointTensor": zero}
    found = one("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", inputs, empty(np.int8, 1, 1, 4, 5))
    exact = np.rint((a.astype(np.float64) - 3 + b) * 0.25) + 3
    assert (found == exact.clip(-128, 127)).all()


@pytest.mark.parametrize(
    "data", [random(1, 1, 3, 5), random(1, 1, 3, 5) + 9, np.zeros((1, 1, 1, 2), np.float32)]
)
def test_dynamic_quantize_linear(data: np.ndarray) -> None:
    coded, scale, point = onnx("DynamicQuantizeLinear", data, outputs=3)
    outputs = {
        "OutputTensor": empty(np.uint8, *data.shape),
        "OutputScaleTensor": f32(1, 1, 1, 1),
        "OutputZeroPointTensor": empty(np.uint8, 1, 1, 1, 1),
    }
    found = run("DYNAMIC_QUANTIZE_LINEAR", {"InputTensor": data}, outputs)
    if data.any():
        assert found["OutputScaleTensor"].item() == scale
    else:
        assert found["OutputScaleTensor"].item() == 1
    assert found["OutputZeroPointTensor"].item() == point
    assert (found["OutputTensor"] == coded).all()


# Recurrent networks, where PyTorch has nothing to say.


@pytest.mark.parametrize("linear", [0, 1])
def test_gru_with_either_reset(linear: int) -> None:
    steps, batch, size, units = 4, 2, 3, 5
    x, w, r = random(steps, batch, size), random(1, 3 * units, size), random(1, 3 * units, units)
    bias, hidden = random(1, 6 * units), random(1, batch, units)
    expected, last = onnx(
        "GRU", x, w, r, bias, None, hidden, outputs=2, hidden_size=units, linear_before_reset=linear
    )
    found = run(
        "GRU",
        {
            "InputTensor": x[None],
            "WeightTensor": w[None],
            "RecurrenceTensor": r[None],
            "BiasTensor": bias[None, None],
            "HiddenInitTensor": hidden[None],
        },
        {"OutputSequenceTensor": f32(steps, 1, batch, units), "OutputSingleTensor": f32(1, 1, batch, units)},
        ActivationDescCount=2,
        ActivationDescs=[{"type": f"ACTIVATION_{name}", "desc": {}} for name in ("SIGMOID", "TANH")],
        Direction="FORWARD",
        LinearBeforeReset=bool(linear),
    )
    close(found["OutputSequenceTensor"], expected)
    close(found["OutputSingleTensor"], last[None])


def test_lstm_with_peepholes() -> None:
    steps, batch, size, units = 4, 2, 3, 5
    x, w, r = random(steps, batch, size), random(1, 4 * units, size), random(1, 4 * units, units)
    bias, hidden, cell = random(1, 8 * units), random(1, batch, units), random(1, batch, units)
    peepholes = random(1, 3 * units)
    expected, last, *_ = onnx(
        "LSTM", x, w, r, bias, None, hidden, cell, peepholes, outputs=2, hidden_size=units
    )
    found = run(
        "LSTM",
        {
            "InputTensor": x[None],
            "WeightTensor": w[None],
            "RecurrenceTensor": r[None],
            "BiasTensor": bias[None, None],
            "HiddenInitTensor": hidden[None],
            "CellMemInitTensor": cell[None],
            "PeepholeTensor": peepholes[None, None],
        },
        {"OutputSequenceTensor": f32(steps, 1, batch, units), "OutputSingleTensor": f32(1, 1, batch, units)},
        ActivationDescCount=3,
        ActivationDescs=[{"type": f"ACTIVATION_{name}", "desc": {}} for name in ("SIGMOID", "TANH", "TANH")],
        Direction="FORWARD",
        ClipThreshold=0.0,
        UseClipThreshold=False,
        CoupleInputForget=False,
    )
    close(found["OutputSequenceTensor"], expected)
    close(found["OutputSingleTensor"], last[None])


def test_a_sequence_of_length_0_keeps_its_initial_state() -> None:
    hidden = random(1, 1, 2, 3)
    found = run(
        "RNN",
        {
            "InputTensor": random(1, 4, 2, 3),
            "WeightTensor": random(1, 1, 3, 3),
            "RecurrenceTensor": random(1, 1, 3, 3),
            "HiddenInitTensor": hidden,
            "SequenceLengthsTensor": np.array([0, 2], np.uint32).reshape(1, 1, 1, 2),
        },
        {"OutputSequenceTensor": f32(4, 1, 2, 3), "OutputSingleTensor": f32(1, 1, 2, 3)},
        ActivationDescCount=1,
        ActivationDescs=[{"type": "ACTIVATION_TANH", "desc": {}}],
        Direction="BACKWARD",
    )
    assert (found["OutputSingleTensor"][0, 0, 0] == hidden[0, 0, 0]).all()
    assert not found["OutputSequenceTensor"][:, 0, 0].any()
    assert not found["OutputSequenceTensor"][2:, 0, 1].any()


# Regions of interest.


REGIONS = np.float32([[1.5, 0.5, 8.5, 7.0], [0.0, 0.0, 3.0, 3.0], [4.0, 4.0, 4.25, 4.5], [-3, -3, 12, 11]])


@pytest.mark.parametrize("mode", ["AVERAGE", "MAX"])
@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(mode: str, samples: int, aligned: bool) -> None:
    if mode == "MAX" and samples == 0 and not aligned:
        pytest.skip("one region of ONNX is longer then")
    x, batches = random(2, 3, 10, 9), np.array([0, 1, 1, 0], np.int64)
    if mode == "MAX":  # ONNX takes the greatest of four weighted pixels, which is no sample
        x[:] = 2.5
    (expected,) = onnx(
        "RoiAlign",
        x,
        REGIONS if aligned else REGIONS[:2],
        batches if aligned else batches[:2],
        mode="avg",
        output_height=3,
        output_width=2,
        sampling_ratio=samples,
        spatial_scale=1.0,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )
    regions = REGIONS if aligned else REGIONS[:2]
    count = len(regions)
    indices = batches[:count].astype(np.uint32)
    found = one(
        "ROI_ALIGN1",
        {"InputTensor": x, "ROITensor": regions, "BatchIndicesTensor": indices},
        f32(count, 3, 3, 2),
        ReductionFunction=mode,
        InterpolationMode="LINEAR",
        SpatialScaleX=1.0,
        SpatialScaleY=1.0,
        InputPixelOffset=0.5 if aligned else 0.0,
        OutputPixelOffset=-0.5,
        OutOfBoundsInputValue=0.0,
        MinimumSamplesPerOutput=samples or 1,
        MaximumSamplesPerOutput=samples or 4294967295,
        AlignRegionsToCorners=False,
    )
    if mode == "AVERAGE":
        close(found, expected)
    else:
        close(found[:3], np.full_like(found[:3], 2.5))


def test_roi_pooling() -> None:
    x = random(2, 2, 8, 9)
    regions = np.float32([[0, 1, 1, 6, 7], [1, 0, 0, 3, 3], [1, 2, 2, 2, 2]])
    found = one(
        "ROI_POOLING",
        {"InputTensor": x, "ROITensor": regions[None, None]},
        f32(3, 2, 2, 3),
        SpatialScale=1.0,
        PooledSize={"Width": 3, "Height": 2},
    )
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
    members = {
        "ReductionFunction": mode,
        "InterpolationMode": "LINEAR",
        "SpatialScaleX": 1.0,
        "SpatialScaleY": 0.875,
        "InputPixelOffset": 0.5,
        "OutputPixelOffset": -0.5,
        "MinimumSamplesPerOutput": 2,
        "MaximumSamplesPerOutput": 2,
        "AlignRegionsToCorners": corners,
    }
    indices = np.array([0, 1, 1], np.uint32)

    def loss(image: np.ndarray, places: np.ndarray) -> float:
        inputs = {"InputTensor": image, "ROITensor": places, "BatchIndicesTensor": indices}
        found = one("ROI_ALIGN1", inputs, f32(3, 2, 2, 3), OutOfBoundsInputValue=0.0, **members)
        return float((found.astype(np.float64) * gradient).sum())

    inputs = {"InputTensor": x, "InputGradientTensor": gradient}
    found = run(
        "ROI_ALIGN_GRAD",
        {**inputs, "ROITensor": regions, "BatchIndicesTensor": indices},
        {"OutputGradientTensor": f32(*x.shape), "OutputROIGradientTensor": f32(3, 4)},
        **members,
    )
    for place in [(0, 0, 2, 3), (0, 1, 4, 5), (1, 0, 3, 2), (1, 1, 1, 4)]:
        step = np.zeros_like(x)
        step[place] = 2.0**-7
        slope = (loss(x + step, regions) - loss(x - step, regions)) * 2.0**6
        assert abs(found["OutputGradientTensor"][place] - slope) < 2e-3
    for region in range(3):
        for member in range(4):
            move = np.zeros_like(regions)
            move[region, member] = 2.0**-10
            slope = (loss(x, regions + move) - loss(x, regions - move)) * 2.0**9
            assert abs(found["OutputROIGradientTensor"][region, member] - slope) < 2e-2


# Windows, resampling and normalization.


@pytest.mark.parametrize("across", [True, False])
def test_local_response_normalization_of_an_even_size(across: bool) -> None:
    x = random(1, 6, 4, 5)
    members = {"LocalSize": 4, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.0}
    found = one(
        "LOCAL_RESPONSE_NORMALIZATION", {"InputTensor": x}, f32(*x.shape), CrossChannel=across, **members
    )
    # ONNX's formula; its reference computes as many channels as there are batches.
    edges = ((0, 0), (1, 2), (0, 0), (0, 0)) if across else ((0, 0), (0, 0), (1, 2), (1, 2))
    padded = np.pad(x.astype(np.float64) ** 2, edges)
    shape, axes = ((4,), (1,)) if across else ((4, 4), (2, 3))
    windows = np.lib.stride_tricks.sliding_window_view(padded, shape, axes)
    total = windows.sum(tuple(range(4, windows.ndim)))
    close(found, x / (1 + 0.125 * total) ** 0.75)


@pytest.mark.parametrize("type_", [np.int8, np.uint8, np.int64, np.uint64, np.float16])
def test_max_pooling_of_any_type(type_: Any) -> None:
    x = integers(type_, 1, 2, 5, 6) if type_ != np.float16 else random(1, 2, 5, 6, type_=type_)
    members = {"DimensionCount": 2, "Strides": [1, 2], "WindowSize": [2, 2]}
    found = one(
        "MAX_POOLING",
        {"InputTensor": x},
        empty(type_, 1, 2, 4, 3),
        StartPadding=[0, 0],
        EndPadding=[0, 0],
        **members,
    )
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, :, ::2]
    assert (found == windows.max((4, 5))).all()


def test_not_a_number_goes_through_a_maximum() -> None:
    x = random(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.nan
    found = run(
        "MAX_POOLING1",
        {"InputTensor": x},
        {"OutputTensor": f32(1, 1, 2, 2), "OutputIndicesTensor": empty(np.uint32, 1, 1, 2, 2)},
        DimensionCount=2,
        Strides=[2, 2],
        WindowSize=[2, 2],
        StartPadding=[0, 0],
        EndPadding=[0, 0],
    )
    assert np.isnan(found["OutputTensor"]).tolist() == [[[[True, False], [False, False]]]]
    assert found["OutputIndicesTensor"][0, 0, 0, 0] == 5


@pytest.mark.parametrize("type_", [np.int8, np.uint8, np.float16])
def test_resampling_of_any_type(type_: Any) -> None:
    x = integers(type_, 1, 1, 3, 4) if type_ != np.float16 else random(1, 1, 3, 4, type_=type_)
    sizes = np.array([1, 1, 6, 6], np.int64)
    scales = [1.0, 1.0, 2.0, 1.5]
    found = one(
        "RESAMPLE",
        {"InputTensor": x},
        empty(type_, 1, 1, 6, 6),
        InterpolationMode="LINEAR",
        ScaleCount=4,
        Scales=scales,
    )
    (expected,) = onnx("Resize", x.astype(np.float64), None, None, sizes, mode="linear")
    found = found.astype(np.float64)
    if type_ == np.float16:
        assert np.abs(found - expected).max() <= 2e-3
    else:  # cut off toward 0
        assert np.abs(found - expected).max() < 1
        assert (np.abs(found) <= np.abs(expected) + 1e-4).all()


@pytest.mark.parametrize("scale", [0.5, 0.75, 1.0, 1.5, 3.0])
def test_nearest_neighbors(scale: float) -> None:
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10)
    size = int(10 * scale)
    found = one(
        "RESAMPLE",
        {"InputTensor": x},
        f32(1, 1, 1, size),
        InterpolationMode="NEAREST_NEIGHBOR",
        ScaleCount=4,
        Scales=[1.0, 1.0, 1.0, scale],
    )
    (expected,) = onnx(
        "Resize", x, None, np.float32([1, 1, 1, scale]), mode="nearest", nearest_mode="round_prefer_ceil"
    )
    assert (found == expected).all()


@pytest.mark.parametrize("dilation", [1, 2])
def test_lp_pooling_over_padding(dilation: int) -> None:
    x = random(1, 2, 7, 8)
    (expected,) = onnx(
        "LpPool", x, p=2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 1], dilations=[dilation] * 2
    )
    found = one(
        "LP_POOLING1",
        {"InputTensor": x},
        f32(*expected.shape),
        DimensionCount=2,
        Strides=[2, 1],
        WindowSize=[3, 2],
        StartPadding=[1, 1],
        EndPadding=[1, 1],
        Dilations=[dilation] * 2,
        P=2,
    )
    close(found, expected)


def test_layer_normalization() -> None:
    x, scale, bias = random(2, 3, 4), random(4), random(4)
    (expected,) = onnx("LayerNormalization", x, scale, bias, axis=-1)
    found = one(
        "MEAN_VARIANCE_NORMALIZATION1",
        {"InputTensor": x, "ScaleTensor": scale[None, None], "BiasTensor": bias[None, None]},
        f32(*x.shape),
        AxisCount=1,
        Axes=[2],
        NormalizeVariance=True,
        Epsilon=1e-5,
    )
    close(found, expected)


@pytest.mark.parametrize("type_", [np.uint32, np.uint64])
def test_max_unpooling_keeps_the_last_of_those_that_go_to_one_place(type_: Any) -> None:
    x = integers(np.int8, 2, 3, 20, 30)
    places = RANDOM.integers(0, 2 * 3 * 7 * 9 + 40, x.shape).astype(type_)  # some are outside
    places[0, 0, 0, :2] = np.iinfo(type_).max, 2**31
    expected = np.zeros(2 * 3 * 7 * 9, np.int8)
    for number, place in enumerate(places.ravel()):
        if place < expected.size:
            expected[place] = x.ravel()[number]
    inputs = {"InputTensor": x, "IndicesTensor": places}
    found = one("MAX_UNPOOLING", inputs, empty(np.int8, 2, 3, 7, 9))
    assert found.ravel().tolist() == expected.tolist()
    assert (np.bincount(places.ravel()[places.ravel() < expected.size].astype(np.int64)) > 1).any()
