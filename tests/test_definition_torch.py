"""References and shaders from definitions against PyTorch, gradients by its automatic differentiation.

PyTorch is not among the development tools: install it with `pip install '.[oracle]'`. CI has it. Without it,
ONNX's reference still covers the same operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from definition_cases import close, empty, one, run, target, tensor
from gpu_device import device

torch = pytest.importorskip("torch", reason="PyTorch is absent: pip install '.[oracle]'")
functional: Any = torch.nn.functional
__all__ = ["device", "target"]
RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    """Each test draws the same numbers, in any order of tests."""
    RANDOM.bit_generator.state = np.random.default_rng(7).bit_generator.state


def random(*sizes: int, type_: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(type_)


def double(array: np.ndarray) -> Any:
    return torch.tensor(array.astype(np.float64), requires_grad=True)


def f32(*sizes: int) -> dict[str, Any]:
    return empty(np.float32, *sizes)


# Matrix products and convolutions.


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize(
    ("first", "second"), [("NONE", "NONE"), ("TRANSPOSE", "NONE"), ("NONE", "TRANSPOSE")]
)
@pytest.mark.parametrize("type_", [np.float32, np.float16])
def test_gemm(rank: int, first: str, second: str, type_: Any) -> None:
    batch = (2, 3)[: rank - 2]
    a, b, c = random(*batch, 4, 5), random(*batch, 5, 6), random(*batch, 4, 6)
    a, b, c = a.astype(type_), b.astype(type_), c.astype(type_)
    inputs = {
        "ATensor": a.swapaxes(-1, -2).copy() if first == "TRANSPOSE" else a,
        "BTensor": np.asfortranarray(b.swapaxes(-1, -2)) if second == "TRANSPOSE" else b,
        "CTensor": c,
    }
    found = one(
        "GEMM", inputs, empty(type_, *batch, 4, 6), TransA=first, TransB=second, Alpha=0.75, Beta=-2.0
    )
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    close(found, 0.75 * (a @ b) - 2 * c)


@pytest.mark.parametrize("name", ["RELU", "SOFTMAX", "TANH"])
def test_gemm_with_an_activation(name: str) -> None:
    a, b = random(1, 2, 4, 5), random(1, 2, 5, 6)
    found = one(
        "GEMM",
        {"ATensor": a, "BTensor": b},
        f32(1, 2, 4, 6),
        TransA="NONE",
        TransB="NONE",
        Alpha=1.0,
        Beta=1.0,
        FusedActivation={"type": f"ACTIVATION_{name}", "desc": {}},
    )
    product = double(a) @ double(b)
    expected = torch.softmax(product, 3) if name == "SOFTMAX" else getattr(torch, name.lower())(product)
    close(found, expected.detach())


CONVOLUTIONS = [
    # sizes of input and filter, strides, dilations, padding, groups
    ((2, 4, 9), (6, 4, 3), [1], [1], [0], 1),
    ((2, 4, 9), (6, 2, 3), [2], [2], [2], 2),
    ((1, 4, 7, 8), (6, 2, 3, 2), [2, 1], [1, 2], [1, 0], 2),
    ((1, 4, 7, 8), (4, 1, 3, 3), [1, 1], [1, 1], [1, 1], 4),
    ((1, 2, 5, 4, 6), (3, 2, 2, 2, 3), [1, 2, 1], [2, 1, 1], [1, 1, 2], 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("mode", ["CROSS_CORRELATION", "CONVOLUTION"])
@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD"])
def test_convolution(case: Any, mode: str, direction: str) -> None:
    sizes, window, strides, dilations, padding, groups = case
    spatial = len(strides)
    if direction == "BACKWARD":
        window = (sizes[1], window[0] // groups, *window[2:])
    x, w = random(*sizes), random(*window)
    channels = window[0] if direction == "FORWARD" else window[1] * groups
    bias = random(1, channels, *(1,) * spatial)
    used = np.flip(w, tuple(range(2, 2 + spatial))).copy() if mode == "CONVOLUTION" else w
    name = f"conv{spatial}d" if direction == "FORWARD" else f"conv_transpose{spatial}d"
    expected = getattr(functional, name)(
        double(x),
        double(used),
        double(bias.ravel()),
        stride=strides,
        padding=padding,
        dilation=dilations,
        groups=groups,
    ).detach()
    found = one(
        "CONVOLUTION",
        {"InputTensor": x, "FilterTensor": w, "BiasTensor": bias},
        f32(*expected.shape),
        Mode=mode,
        Direction=direction,
        DimensionCount=spatial,
        Strides=strides,
        Dilations=dilations,
        StartPadding=padding,
        EndPadding=padding,
        OutputPadding=[0] * spatial,
        GroupCount=groups,
    )
    close(found, expected)


def test_convolution_adds_zeros_for_output_padding() -> None:
    x, w, bias = random(1, 2, 4, 4), random(2, 2, 3, 3), random(1, 2, 1, 1)
    found = one(
        "CONVOLUTION",
        {"InputTensor": x, "FilterTensor": w, "BiasTensor": bias},
        f32(1, 2, 5, 7),
        Mode="CROSS_CORRELATION",
        Direction="FORWARD",
        DimensionCount=2,
        Strides=[1, 1],
        Dilations=[1, 1],
        StartPadding=[1, 1],
        EndPadding=[1, 1],
        OutputPadding=[1, 3],
        GroupCount=1,
    )
    expected = functional.conv2d(double(x), double(w), double(bias.ravel()), padding=1).detach()
    close(found[:, :, :4, :4], expected)
    assert (found[:, :, 4:] == bias).all() and (found[:, :, :, 4:] == bias).all()


# Windows.

WINDOWS = [
    # input, window, strides, padding, dilations
    ((2, 3, 7, 8), [3, 2], [2, 1], [1, 1], [1, 1]),
    ((1, 2, 9, 8), [3, 3], [2, 3], [1, 0], [2, 1]),
    ((1, 2, 5, 6, 7), [2, 3, 2], [1, 2, 2], [1, 1, 0], [1, 1, 2]),
    ((1, 1, 1, 1), [1, 1], [1, 1], [0, 0], [1, 1]),
]


def pooling(case: Any) -> dict[str, Any]:
    _, window, strides, padding, _ = case
    return {
        "DimensionCount": len(window),
        "Strides": strides,
        "WindowSize": window,
        "StartPadding": padding,
        "EndPadding": padding,
    }


@pytest.mark.parametrize("case", [case for case in WINDOWS if case[4] == [1] * len(case[4])])
@pytest.mark.parametrize("whole", [True, False])
def test_average_pooling_and_its_gradient(case: Any, whole: bool) -> None:
    sizes, window, strides, padding, _ = case
    x = random(*sizes)
    forward, members = double(x), {**pooling(case), "IncludePadding": whole}
    function = getattr(functional, f"avg_pool{len(window)}d")
    expected = function(forward, window, strides, padding, count_include_pad=whole)
    result = f32(*expected.shape)
    close(one("AVERAGE_POOLING", {"InputTensor": x}, result, **members), expected.detach())
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    found = run(
        "AVERAGE_POOLING_GRAD",
        {"InputGradientTensor": gradient},
        {"OutputGradientTensor": f32(*sizes)},
        **members,
    )
    close(found["OutputGradientTensor"], forward.grad)


@pytest.mark.parametrize("case", WINDOWS)
def test_max_pooling_and_its_gradient(case: Any) -> None:
    sizes, window, strides, padding, dilations = case
    # few values, so that there are equal ones
    x = RANDOM.integers(-3, 4, sizes).astype(np.float32)
    forward, members = double(x), {**pooling(case), "Dilations": dilations}
    function = getattr(functional, f"max_pool{len(window)}d")
    expected, places = function(forward, window, strides, padding, dilations, return_indices=True)
    result, indices = f32(*expected.shape), empty(np.uint32, *expected.shape)
    found = run(
        "MAX_POOLING2",
        {"InputTensor": x},
        {"OutputTensor": result, "OutputIndicesTensor": indices},
        **members,
    )
    close(found["OutputTensor"], expected.detach())
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[:2] + (1,) * len(window)) * int(np.prod(sizes[2:]))
    assert (found["OutputIndicesTensor"] == places.numpy() + planes).all()
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    inputs = {"InputTensor": x, "InputGradientTensor": gradient}
    back = run("MAX_POOLING_GRAD", inputs, {"OutputGradientTensor": f32(*sizes)}, **members)
    close(back["OutputGradientTensor"], forward.grad)


def test_max_unpooling() -> None:
    x = random(1, 2, 6, 6)
    pooled, places = functional.max_pool2d(torch.tensor(x), 2, return_indices=True)
    expected = functional.max_unpool2d(pooled, places, 2)
    flat = places.numpy() + np.arange(2).reshape(1, 2, 1, 1) * 36
    inputs = {"InputTensor": pooled.numpy(), "IndicesTensor": flat.astype(np.uint32)}
    close(one("MAX_UNPOOLING", inputs, f32(1, 2, 6, 6)), expected)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pooling(p: int) -> None:
    x = random(1, 2, 6, 7)
    expected = functional.lp_pool2d(double(np.abs(x)), p, (3, 2), (2, 1)).detach()
    members = {"DimensionCount": 2, "Strides": [2, 1], "WindowSize": [3, 2], "P": p}
    padding = {"StartPadding": [0, 0], "EndPadding": [0, 0]}
    close(one("LP_POOLING", {"InputTensor": x}, f32(*expected.shape), **members, **padding), expected)


@pytest.mark.parametrize("type_", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("spatial", [[6, 7], [5, 5]])
def test_fold_and_unfold(type_: Any, spatial: list[int]) -> None:
    x = random(2, 3, *spatial, type_=type_)
    windows = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    columns = functional.unfold(torch.tensor(x), **windows)
    members = {
        "DimensionCount": 2,
        "WindowSizes": [2, 3],
        "Strides": [1, 2],
        "Dilations": [2, 1],
        "StartPadding": [1, 0],
        "EndPadding": [1, 0],
    }
    found = one("UNFOLD", {"InputTensor": x}, empty(type_, *columns.shape), **members)
    assert (found == columns.numpy()).all()
    expected = functional.fold(columns.double(), tuple(spatial), **windows)
    close(one("FOLD", {"InputTensor": found}, empty(type_, *x.shape), **members), expected)


# Normalizations.


@pytest.mark.parametrize("axes", [[1, 2, 3], [2, 3], [3], [0, 2]])
@pytest.mark.parametrize(("mean", "variance"), [(True, True), (False, True), (True, False)])
def test_mean_variance_normalization(target: str, axes: list[int], mean: bool, variance: bool) -> None:
    """Around 1000, where a variance by one pass is all noise.

    The reference sums in double precision. Shaders sum up to 60 numbers of 1000 in single precision, so that
    a mean may be off by some units in the last place of 1000, each 6e-5; the scales make more of it.
    """
    x, scale, bias = random(2, 3, 4, 5) + 1000, random(1, 3, 1, 5), random(1, 3, 1, 1)
    found = one(
        "MEAN_VARIANCE_NORMALIZATION2",
        {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias},
        f32(*x.shape),
        AxisCount=len(axes),
        Axes=axes,
        UseMean=mean,
        UseVariance=variance,
        Epsilon=1e-3,
    )
    wide = x.astype(np.float64)
    center = wide.mean(tuple(axes), keepdims=True) if mean else 0
    spread = np.sqrt(((wide - center) ** 2).mean(tuple(axes), keepdims=True) + np.float32(1e-3))
    expected = scale.astype(np.float64) * (wide - center) / (spread if variance else 1) + bias
    close(found, expected, 1e-4 if target == "reference" else 2e-3)


@pytest.mark.parametrize("across", [True, False])
def test_layer_and_instance_normalization(across: bool) -> None:
    x = random(2, 3, 4, 5)
    found = one(
        "MEAN_VARIANCE_NORMALIZATION",
        {"InputTensor": x},
        f32(*x.shape),
        CrossChannel=across,
        NormalizeVariance=True,
        Epsilon=1e-5,
    )
    expected = (
        functional.layer_norm(double(x), x.shape[1:]) if across else functional.instance_norm(double(x))
    )
    close(found, expected.detach())


def test_batch_normalization_in_training_and_its_gradients() -> None:
    sizes, shape = (4, 3, 5, 2), (1, 3, 1, 1)
    x, scale, bias, gradient = random(*sizes), random(*shape), random(*shape), random(*sizes)
    forward, weights, added = double(x), double(scale.ravel()), double(bias.ravel())
    expected = functional.batch_norm(forward, None, None, weights, added, training=True, eps=1e-5)
    names = ("OutputTensor", "OutputMeanTensor", "OutputVarianceTensor")
    outputs = dict(zip(names, (f32(*sizes), f32(*shape), f32(*shape)), strict=True))
    inputs = {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias}
    found = run("BATCH_NORMALIZATION_TRAINING", inputs, outputs, Epsilon=1e-5)
    close(found["OutputTensor"], expected.detach())
    mean, variance = found["OutputMeanTensor"], found["OutputVarianceTensor"]
    close(mean, x.mean((0, 2, 3), keepdims=True))
    close(variance, x.var((0, 2, 3), keepdims=True))
    inputs |= {"MeanTensor": mean, "VarianceTensor": variance}
    close(
        one("BATCH_NORMALIZATION", inputs, f32(*sizes), Spatial=True, Epsilon=1e-5),
        expected.detach(),
    )
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    del inputs["BiasTensor"]
    inputs["InputGradientTensor"] = gradient
    outputs = {
        "OutputGradientTensor": f32(*sizes),
        "OutputScaleGradientTensor": f32(*shape),
        "OutputBiasGradientTensor": f32(*shape),
    }
    back = run("BATCH_NORMALIZATION_TRAINING_GRAD", inputs, outputs, Epsilon=1e-5)
    close(back["OutputGradientTensor"], forward.grad)
    close(back["OutputScaleGradientTensor"].ravel(), weights.grad)
    close(back["OutputBiasGradientTensor"].ravel(), added.grad)
    back = run("BATCH_NORMALIZATION_GRAD", inputs, outputs, Epsilon=1e-5)
    fixed, weights, added = double(x), double(scale.ravel()), double(bias.ravel())
    functional.batch_norm(
        fixed, torch.tensor(mean.ravel()).double(), torch.tensor(variance.ravel()).double(), weights, added
    ).backward(torch.tensor(gradient.astype(np.float64)))
    close(back["OutputGradientTensor"], fixed.grad)
    close(back["OutputScaleGradientTensor"].ravel(), weights.grad)
    close(back["OutputBiasGradientTensor"].ravel(), added.grad)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 2])
def test_lp_normalization(p: int, axis: int) -> None:
    x = random(3, 4, 5)
    expected = functional.normalize(double(x), p=p, dim=axis, eps=1e-3).detach()
    close(one("LP_NORMALIZATION", {"InputTensor": x}, f32(*x.shape), Axis=axis, Epsilon=1e-3, P=p), expected)


def test_local_response_normalization_and_its_gradient() -> None:
    x, gradient = random(2, 7, 3, 4), random(2, 7, 3, 4)
    forward = double(x)
    expected = functional.local_response_norm(forward, 5, 0.5, 0.75, 1.5)
    members = {"CrossChannel": True, "LocalSize": 5, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.5}
    found = one("LOCAL_RESPONSE_NORMALIZATION", {"InputTensor": x}, f32(*x.shape), **members)
    close(found, expected.detach())
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    inputs = {"InputTensor": x, "InputGradientTensor": gradient}
    back = run(
        "LOCAL_RESPONSE_NORMALIZATION_GRAD", inputs, {"OutputGradientTensor": f32(*x.shape)}, **members
    )
    close(back["OutputGradientTensor"], forward.grad)


# Recurrent networks.


def reordered(weights: np.ndarray, order: list[int]) -> Any:
    """Blocks of rows in PyTorch's order of gates."""
    return torch.tensor(np.concatenate([np.split(weights, len(order))[i] for i in order]).astype(np.float64))


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["FORWARD", "BIDIRECTIONAL"])
@pytest.mark.parametrize("lengths", [None, [4, 1, 3]])
def test_recurrent(operator: str, direction: str, lengths: list[int] | None) -> None:
    steps, batch, size, units = 4, 3, 5, 2
    directions = 2 if direction == "BIDIRECTIONAL" else 1
    gates = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[operator]  # PyTorch's, by our numbers
    rows, names = len(gates) * units, ["TANH"] if operator == "RNN" else ["SIGMOID", "TANH"]
    names += ["TANH"] * (operator == "LSTM")
    x, w, r = (
        random(1, steps, batch, size),
        random(1, directions, rows, size),
        random(1, directions, rows, units),
    )
    bias, hidden = random(1, 1, directions, 2 * rows), random(1, directions, batch, units)
    inputs = {"InputTensor": x, "WeightTensor": w, "RecurrenceTensor": r, "BiasTensor": bias}
    inputs["HiddenInitTensor"] = hidden
    network = getattr(torch.nn, operator)(size, units, bidirectional=directions == 2).double()
    for d in range(directions):
        suffix = "_l0" + "_reverse" * d
        for name, blocks in {
            "weight_ih": w[0, d],
            "weight_hh": r[0, d],
            "bias_ih": bias[0, 0, d, :rows],
            "bias_hh": bias[0, 0, d, rows:],
        }.items():
            getattr(network, name + suffix).data = reordered(blocks, gates)
    state = double(hidden[0])
    outputs = {
        "OutputSequenceTensor": f32(steps, directions, batch, units),
        "OutputSingleTensor": f32(1, directions, batch, units),
    }
    members: dict[str, Any] = {}
    if operator == "LSTM":
        cell = random(1, directions, batch, units)
        inputs["CellMemInitTensor"] = cell
        outputs["OutputCellSingleTensor"] = f32(1, directions, batch, units)
        state = (state, double(cell[0]))
        members = {"ClipThreshold": 0.0, "UseClipThreshold": False, "CoupleInputForget": False}
    if operator == "GRU":
        members = {"LinearBeforeReset": True}
    given: Any = double(x[0])
    if lengths is not None:
        inputs["SequenceLengthsTensor"] = np.array(lengths, np.uint32).reshape(1, 1, 1, batch)
        given = torch.nn.utils.rnn.pack_padded_sequence(given, lengths, enforce_sorted=False)
    expected, last = network(given, state)
    if lengths is not None:
        expected, _ = torch.nn.utils.rnn.pad_packed_sequence(expected, total_length=steps)
    activations = [{"type": f"ACTIVATION_{name}", "desc": {}} for name in names] * directions
    found = run(
        operator,
        inputs,
        outputs,
        ActivationDescCount=len(activations),
        ActivationDescs=activations,
        Direction=direction,
        **members,
    )
    wanted = expected.detach().numpy().reshape(steps, batch, directions, units).transpose(0, 2, 1, 3)
    close(found["OutputSequenceTensor"], wanted)
    close(found["OutputSingleTensor"][0], (last[0] if operator == "LSTM" else last).detach())
    if operator == "LSTM":
        close(found["OutputCellSingleTensor"][0], last[1].detach())


# Resampling.


@pytest.mark.parametrize(
    ("sizes", "wanted"), [((2, 3, 5, 4), (10, 7)), ((1, 1, 9, 8), (4, 3)), ((1, 2, 3, 3), (3, 3))]
)
@pytest.mark.parametrize("antialias", [False, True])
def test_resample_linear(sizes: tuple[int, ...], wanted: tuple[int, ...], antialias: bool) -> None:
    x = random(*sizes)
    expected = functional.interpolate(double(x), wanted, mode="bilinear", antialias=antialias).detach()
    scales = [1.0, 1.0, *(n / m for n, m in zip(wanted, sizes[2:], strict=True))]
    if antialias and any(0.5 <= s < 1 for s in scales):
        pytest.skip("DirectML antialiases below a scale of one half only")
    found = one(
        "RESAMPLE3",
        {"InputTensor": x},
        f32(*expected.shape),
        InterpolationMode="LINEAR",
        RoundingDirection="DECREASING",
        DimensionCount=4,
        Scales=scales,
        InputPixelOffsets=[0.5] * 4,
        OutputPixelOffsets=[-0.5] * 4,
        Antialiased=antialias,
    )
    close(found, expected)


@pytest.mark.parametrize("wanted", [(10, 8), (2, 3), (5, 4)])
def test_resample_nearest(wanted: tuple[int, int]) -> None:
    x = random(1, 2, 5, 4)
    expected = functional.interpolate(torch.tensor(x), wanted, mode="nearest-exact")
    found = one(
        "RESAMPLE2",
        {"InputTensor": x},
        f32(*expected.shape),
        InterpolationMode="NEAREST_NEIGHBOR",
        RoundingDirection="DECREASING",
        DimensionCount=4,
        Scales=[1.0, 1.0, wanted[0] / 5, wanted[1] / 4],
        InputPixelOffsets=[0.0] * 4,
        OutputPixelOffsets=[-0.5] * 4,
    )
    assert (found == expected.numpy()).all()


def test_resample_nearest_at_ties() -> None:
    """Halving, where every coordinate is between two elements; also what the gradient gives back."""
    forward = double(random(1, 2, 4, 6))
    expected = functional.interpolate(forward, (2, 3), mode="nearest-exact")
    gradient = random(1, 2, 2, 3)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    members = {"InterpolationMode": "NEAREST_NEIGHBOR", "Scales": [1.0, 1.0, 0.5, 0.5]}
    offsets = {"DimensionCount": 4, "InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4}
    x = forward.detach().numpy().astype(np.float32)
    for found in (
        one("RESAMPLE", {"InputTensor": x}, f32(1, 2, 2, 3), ScaleCount=4, **members),
        one("RESAMPLE1", {"InputTensor": x}, f32(1, 2, 2, 3), **members, **offsets),
    ):
        assert (found == x[:, :, 1::2, 1::2]).all() and (
            found == expected.detach().numpy().astype(np.float32)
        ).all()
    back = run(
        "RESAMPLE_GRAD",
        {"InputGradientTensor": gradient},
        {"OutputGradientTensor": f32(1, 2, 4, 6)},
        **members,
        **offsets,
    )
    close(back["OutputGradientTensor"], forward.grad.numpy())


@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("wanted", [(10, 7), (2, 3), (5, 4)])
def test_gradient_of_resampling(mode: str, wanted: tuple[int, int]) -> None:
    forward = double(random(1, 2, 5, 4))
    linear = mode == "LINEAR"
    expected = functional.interpolate(forward, wanted, mode="bilinear" if linear else "nearest-exact")
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    found = run(
        "RESAMPLE_GRAD1",
        {"InputGradientTensor": gradient},
        {"OutputGradientTensor": f32(1, 2, 5, 4)},
        InterpolationMode=mode,
        RoundingDirection="DECREASING",
        DimensionCount=4,
        Scales=[1.0, 1.0, wanted[0] / 5, wanted[1] / 4],
        InputPixelOffsets=[0.5 if linear else 0.0] * 4,
        OutputPixelOffsets=[-0.5] * 4,
    )
    close(found["OutputGradientTensor"], forward.grad)


# Attention and training.


@pytest.mark.parametrize("layout", ["separate", "stacked"])
def test_attention(layout: str) -> None:
    batch, steps, heads, size = 2, 3, 4, 5
    q, k, v = (random(batch, steps, heads, size) for _ in range(3))
    joined = (batch, steps, heads * size)
    if layout == "separate":
        names = ("QueryTensor", "KeyTensor", "ValueTensor")
        inputs = {name: x.reshape(joined) for name, x in zip(names, (q, k, v), strict=True)}
    else:
        inputs = {"StackedQueryKeyValueTensor": np.stack([q, k, v], 3)}
    found = one(
        "MULTIHEAD_ATTENTION",
        inputs,
        f32(*joined),
        Scale=0.3,
        MaskFilterValue=-10000.0,
        HeadCount=heads,
        MaskType="NONE",
    )
    turned = [double(x.transpose(0, 2, 1, 3)) for x in (q, k, v)]
    expected = functional.scaled_dot_product_attention(*turned, scale=0.3).detach().numpy()
    close(found, expected.transpose(0, 2, 1, 3).reshape(joined))


def test_attention_with_past_mask_and_bias() -> None:
    batch, heads, size, past, steps = 2, 2, 3, 4, 2
    q, k, v = (random(batch, steps, heads * size) for _ in range(3))
    old_k, old_v = random(batch, heads, past, size), random(batch, heads, past, size)
    mask = RANDOM.integers(0, 2, (batch, heads, steps, past + steps)).astype(np.int32)
    position = random(batch, heads, steps, past + steps)
    bias = random(3 * heads * size)
    found = run(
        "MULTIHEAD_ATTENTION",
        {
            "QueryTensor": q,
            "KeyTensor": k,
            "ValueTensor": v,
            "BiasTensor": bias,
            "MaskTensor": mask,
            "RelativePositionBiasTensor": position,
            "PastKeyTensor": old_k,
            "PastValueTensor": old_v,
        },
        {
            "OutputTensor": f32(batch, steps, heads * size),
            "OutputPresentKeyTensor": f32(batch, heads, past + steps, size),
            "OutputPresentValueTensor": f32(batch, heads, past + steps, size),
        },
        Scale=0.5,
        MaskFilterValue=-100.0,
        HeadCount=heads,
        MaskType="BOOLEAN",
    )
    parts = [
        (x.astype(np.float64) + b).reshape(batch, steps, heads, size).transpose(0, 2, 1, 3)
        for x, b in zip((q, k, v), np.split(bias, 3), strict=True)
    ]
    keys, values = np.concatenate([old_k, parts[1]], 2), np.concatenate([old_v, parts[2]], 2)
    score = torch.tensor(position + np.where(mask == 0, -100.0, 0.0))
    arguments = [torch.tensor(x) for x in (parts[0], keys, values)]
    expected = functional.scaled_dot_product_attention(*arguments, attn_mask=score, scale=0.5).numpy()
    close(found["OutputTensor"], expected.transpose(0, 2, 1, 3).reshape(batch, steps, heads * size))
    close(found["OutputPresentKeyTensor"], keys)
    close(found["OutputPresentValueTensor"], values)


def test_grouped_query_attention() -> None:
    batch, steps, heads, groups, size = 1, 3, 4, 2, 5
    q, k, v = (
        random(batch, steps, heads * size),
        random(batch, steps, groups * size),
        random(batch, steps, groups * size),
    )
    found = one(
        "MULTIHEAD_ATTENTION1",
        {"QueryTensor": q, "KeyTensor": k, "ValueTensor": v},
        f32(batch, steps, heads * size),
        Scale=0.4,
        MaskFilterValue=0.0,
        QueryHeadCount=heads,
        KeyValueHeadCount=groups,
        MaskType="NONE",
    )

    def turned(x: np.ndarray, count: int) -> Any:
        return double(x.reshape(batch, steps, count, size).transpose(0, 2, 1, 3))

    expected = functional.scaled_dot_product_attention(
        turned(q, heads), turned(k, groups), turned(v, groups), scale=0.4, enable_gqa=True
    ).detach()
    close(found, expected.numpy().transpose(0, 2, 1, 3).reshape(batch, steps, heads * size))


def test_adam() -> None:
    sizes = (1, 1, 2, 3)
    weights, gradient = random(*sizes), random(*sizes)
    parameter = torch.nn.Parameter(torch.tensor(weights.astype(np.float64)))
    optimizer = torch.optim.Adam([parameter], lr=0.125, betas=(0.75, 0.5), eps=2.0**-20)
    zero = np.zeros(sizes, np.float32)
    moments = {"InputFirstMomentTensor": zero, "InputSecondMomentTensor": zero}
    for step in (1, 2):
        parameter.grad = torch.tensor(gradient.astype(np.float64))
        optimizer.step()
        found = run(
            "ADAM_OPTIMIZER",
            {
                "InputParametersTensor": weights,
                **moments,
                "GradientTensor": gradient,
                "TrainingStepTensor": np.full((1, 1, 1, 1), step, np.uint32),
            },
            {f"Output{name}Tensor": f32(*sizes) for name in ("Parameters", "FirstMoment", "SecondMoment")},
            LearningRate=0.125,
            Beta1=0.75,
            Beta2=0.5,
            Epsilon=2.0**-20,
        )
        weights = found["OutputParametersTensor"]
        moments = {f"Input{n}Tensor": found[f"Output{n}Tensor"] for n in ("FirstMoment", "SecondMoment")}
        close(weights, parameter.detach())


def test_inputs_in_any_layout_stay_as_they_are() -> None:
    a, b = np.asfortranarray(random(1, 1, 6, 8)), random(1, 1, 8, 10)[:, :, :, ::2]
    before = a.copy(), b.copy()
    found = one(
        "GEMM",
        {"ATensor": a, "BTensor": b},
        f32(1, 1, 6, 5),
        TransA="NONE",
        TransB="NONE",
        Alpha=1.0,
        Beta=0.0,
    )
    close(found, a.astype(np.float64) @ b)
    assert (a == before[0]).all() and (b == before[1]).all()
    assert tensor(b)["Sizes"] == [1, 1, 8, 5]
