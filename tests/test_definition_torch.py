"""References and shaders from definitions against PyTorch, gradients by its automatic differentiation.

PyTorch is not among the development tools: install it with `pip install '.[oracle]'`. CI has it. Without it,
ONNX's reference still covers the same operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from definition_cases import close, one, run, target
from dmlops import TensorDesc, make
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


# Matrix products and convolutions.


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize(
    ("first", "second"), [("NONE", "NONE"), ("TRANSPOSE", "NONE"), ("NONE", "TRANSPOSE")]
)
@pytest.mark.parametrize("type_", [np.float32, np.float16])
def test_gemm(rank: int, first: str, second: str, type_: Any) -> None:
    batch = (2, 3)[: rank - 2]
    a, b, c = (random(*batch, *sizes, type_=type_) for sizes in ((4, 5), (5, 6), (4, 6)))
    left = a.swapaxes(-1, -2).copy() if first == "TRANSPOSE" else a
    right = np.asfortranarray(b.swapaxes(-1, -2)) if second == "TRANSPOSE" else b
    found = one(make.gemm, left, right, c, TransA=first, TransB=second, Alpha=0.75, Beta=-2.0)
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    close(found, 0.75 * (a @ b) - 2 * c)


@pytest.mark.parametrize("name", ["relu", "softmax", "tanh"])
def test_gemm_with_an_activation(name: str) -> None:
    a, b = random(1, 2, 4, 5), random(1, 2, 5, 6)
    found = one(make.gemm, a, b, FusedActivation=getattr(make, f"activation_{name}")())
    product = double(a) @ double(b)
    expected = torch.softmax(product, 3) if name == "softmax" else getattr(torch, name)(product)
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
    bias = random(1, window[0] if direction == "FORWARD" else window[1] * groups, *(1,) * spatial)
    used = np.flip(w, tuple(range(2, 2 + spatial))).copy() if mode == "CONVOLUTION" else w
    name = f"conv{spatial}d" if direction == "FORWARD" else f"conv_transpose{spatial}d"
    expected = getattr(functional, name)(
        *map(double, (x, used, bias.ravel())), stride=strides, padding=padding, dilation=dilations,
        groups=groups,
    )  # fmt: skip
    found = one(
        make.convolution, x, w, bias, Mode=mode, Direction=direction, Strides=strides, Dilations=dilations,
        StartPadding=padding, EndPadding=padding, GroupCount=groups,
    )  # fmt: skip
    close(found, expected.detach())


def test_convolution_adds_zeros_for_output_padding() -> None:
    x, w, bias = random(1, 2, 4, 4), random(2, 2, 3, 3), random(1, 2, 1, 1)
    padding = {"StartPadding": [1, 1], "EndPadding": [1, 1], "OutputPadding": [1, 3]}
    found = one(make.convolution, x, w, bias, **padding)
    expected = functional.conv2d(double(x), double(w), double(bias.ravel()), padding=1).detach()
    close(found[:, :, :4, :4], expected)
    assert found.shape == (1, 2, 5, 7)
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
    return {"Strides": strides, "WindowSize": window, "StartPadding": padding, "EndPadding": padding}


@pytest.mark.parametrize("case", [case for case in WINDOWS if case[4] == [1] * len(case[4])])
@pytest.mark.parametrize("whole", [True, False])
def test_average_pooling_and_its_gradient(case: Any, whole: bool) -> None:
    sizes, window, strides, padding, _ = case
    x = random(*sizes)
    forward, members = double(x), {**pooling(case), "IncludePadding": whole}
    function = getattr(functional, f"avg_pool{len(window)}d")
    expected = function(forward, window, strides, padding, count_include_pad=whole)
    close(one(make.average_pooling, x, **members), expected.detach())
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    close(one(make.average_pooling_grad, gradient, OutputGradientTensor=sizes, **members), forward.grad)


@pytest.mark.parametrize("case", WINDOWS)
def test_max_pooling_and_its_gradient(case: Any) -> None:
    sizes, window, strides, padding, dilations = case
    # few values, so that there are equal ones
    x = RANDOM.integers(-3, 4, sizes).astype(np.float32)
    forward, members = double(x), {**pooling(case), "Dilations": dilations}
    function = getattr(functional, f"max_pool{len(window)}d")
    expected, places = function(forward, window, strides, padding, dilations, return_indices=True)
    found = run(make.max_pooling2, x, OutputIndicesTensor="UINT32", **members)
    close(found["OutputTensor"], expected.detach())
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[:2] + (1,) * len(window)) * int(np.prod(sizes[2:]))
    assert (found["OutputIndicesTensor"] == places.numpy() + planes).all()
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    close(one(make.max_pooling_grad, x, gradient, **members), forward.grad)


def test_max_unpooling() -> None:
    x = random(1, 2, 6, 6)
    pooled, places = functional.max_pool2d(torch.tensor(x), 2, return_indices=True)
    expected = functional.max_unpool2d(pooled, places, 2)
    flat = (places.numpy() + np.arange(2).reshape(1, 2, 1, 1) * 36).astype(np.uint32)
    close(one(make.max_unpooling, pooled.numpy(), flat, OutputTensor=x.shape), expected)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pooling(p: int) -> None:
    x = random(1, 2, 6, 7)
    expected = functional.lp_pool2d(double(np.abs(x)), p, (3, 2), (2, 1)).detach()
    close(one(make.lp_pooling, x, Strides=[2, 1], WindowSize=[3, 2], P=p), expected)


@pytest.mark.parametrize("type_", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("spatial", [[6, 7], [5, 5]])
def test_fold_and_unfold(type_: Any, spatial: list[int]) -> None:
    x = random(2, 3, *spatial, type_=type_)
    windows = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    columns = functional.unfold(torch.tensor(x), **windows)
    members = {
        "WindowSizes": [2, 3], "Strides": [1, 2], "Dilations": [2, 1], "StartPadding": [1, 0],
        "EndPadding": [1, 0],
    }  # fmt: skip
    found = one(make.unfold, x, **members)
    np.testing.assert_array_equal(found, columns.numpy())
    expected = functional.fold(columns.double(), tuple(spatial), **windows)
    close(one(make.fold, found, OutputTensor=x.shape, **members), expected)


# Normalizations.


@pytest.mark.parametrize("axes", [[1, 2, 3], [2, 3], [3], [0, 2]])
@pytest.mark.parametrize(("mean", "variance"), [(True, True), (False, True), (True, False)])
def test_mean_variance_normalization(target: str, axes: list[int], mean: bool, variance: bool) -> None:
    """Around 1000, where a variance by one pass is all noise.

    The reference sums in double precision. Shaders sum up to 60 numbers of 1000 in single precision, so that
    a mean may be off by some units in the last place of 1000, each 6e-5; the scales make more of it.
    """
    x, scale, bias = random(2, 3, 4, 5) + 1000, random(1, 3, 1, 5), random(1, 3, 1, 1)
    members = {"Axes": axes, "UseMean": mean, "UseVariance": variance, "Epsilon": 1e-3}
    found = one(make.mean_variance_normalization2, x, scale, bias, **members)
    wide = x.astype(np.float64)
    center = wide.mean(tuple(axes), keepdims=True) if mean else 0
    spread = np.sqrt(((wide - center) ** 2).mean(tuple(axes), keepdims=True) + np.float32(1e-3))
    expected = scale.astype(np.float64) * (wide - center) / (spread if variance else 1) + bias
    close(found, expected, 1e-4 if target == "reference" else 2e-3)


@pytest.mark.parametrize("across", [True, False])
def test_layer_and_instance_normalization(across: bool) -> None:
    x = random(2, 3, 4, 5)
    members = {"CrossChannel": across, "NormalizeVariance": True, "Epsilon": 1e-5}
    wide = double(x)
    expected = functional.layer_norm(wide, x.shape[1:]) if across else functional.instance_norm(wide)
    close(one(make.mean_variance_normalization, x, **members), expected.detach())


def test_batch_normalization_in_training_and_its_gradients() -> None:
    sizes, shape = (4, 3, 5, 2), (1, 3, 1, 1)
    x, scale, bias, gradient = random(*sizes), random(*shape), random(*shape), random(*sizes)
    wide, given = torch.tensor(gradient.astype(np.float64)), {"Epsilon": 1e-5}

    def check(found: dict[str, Any], parts: list[Any]) -> None:
        for part, name in zip(parts, ("", "Scale", "Bias"), strict=True):
            close(found[f"Output{name}GradientTensor"].reshape(part.shape), part.grad)

    parts = [double(x), double(scale.ravel()), double(bias.ravel())]
    expected = functional.batch_norm(parts[0], None, None, *parts[1:], training=True, eps=1e-5)
    found = run(make.batch_normalization_training, x, scale, bias, **given)
    close(found["OutputTensor"], expected.detach())
    mean, variance = found["OutputMeanTensor"], found["OutputVarianceTensor"]
    close(mean, x.mean((0, 2, 3), keepdims=True))
    close(variance, x.var((0, 2, 3), keepdims=True))
    again = one(make.batch_normalization, x, mean, variance, scale, bias, Spatial=True, **given)
    close(again, expected.detach())
    expected.backward(wide)
    check(run(make.batch_normalization_training_grad, x, gradient, mean, variance, scale, **given), parts)
    parts = [double(x), double(scale.ravel()), double(bias.ravel())]
    statistics = (torch.tensor(one.ravel()).double() for one in (mean, variance))
    functional.batch_norm(parts[0], *statistics, *parts[1:]).backward(wide)
    check(run(make.batch_normalization_grad, x, gradient, mean, variance, scale, **given), parts)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 2])
def test_lp_normalization(p: int, axis: int) -> None:
    x = random(3, 4, 5)
    expected = functional.normalize(double(x), p=p, dim=axis, eps=1e-3).detach()
    close(one(make.lp_normalization, x, Axis=axis, Epsilon=1e-3, P=p), expected)


def test_local_response_normalization_and_its_gradient() -> None:
    x, gradient = random(2, 7, 3, 4), random(2, 7, 3, 4)
    forward = double(x)
    expected = functional.local_response_norm(forward, 5, 0.5, 0.75, 1.5)
    members = {"CrossChannel": True, "LocalSize": 5, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.5}
    close(one(make.local_response_normalization, x, **members), expected.detach())
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    close(one(make.local_response_normalization_grad, x, gradient, **members), forward.grad)


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
    rows, is_lstm = len(gates) * units, operator == "LSTM"
    x, w = random(1, steps, batch, size), random(1, directions, rows, size)
    r, bias = random(1, directions, rows, units), random(1, 1, directions, 2 * rows)
    hidden, cell = random(1, directions, batch, units), random(1, directions, batch, units)
    network = getattr(torch.nn, operator)(size, units, bidirectional=directions == 2).double()
    for d in range(directions):
        blocks = (w[0, d], r[0, d], bias[0, 0, d, :rows], bias[0, 0, d, rows:])
        for name, block in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), blocks, strict=True):
            getattr(network, name + "_l0" + "_reverse" * d).data = reordered(block, gates)
    gate, squashed = make.activation_sigmoid(), make.activation_tanh()
    functions = {"RNN": [squashed], "GRU": [gate, squashed], "LSTM": [gate, squashed, squashed]}[operator]
    members: dict[str, Any] = {"HiddenInitTensor": hidden, "Direction": direction}
    members |= {"ActivationDescs": functions * directions}
    members |= dict.fromkeys(("OutputSequenceTensor", "OutputSingleTensor"), "FLOAT32")
    given: Any = double(x[0])
    state = double(hidden[0])
    if is_lstm:
        state = (state, double(cell[0]))
        members |= {"CellMemInitTensor": cell, "OutputCellSingleTensor": "FLOAT32", "ClipThreshold": 0.0}
        members |= {"UseClipThreshold": False, "CoupleInputForget": False}
    if operator == "GRU":
        members["LinearBeforeReset"] = True
    if lengths is not None:
        members["SequenceLengthsTensor"] = np.array(lengths, np.uint32).reshape(1, 1, 1, batch)
        given = torch.nn.utils.rnn.pack_padded_sequence(given, lengths, enforce_sorted=False)
    expected, last = network(given, state)
    if lengths is not None:
        expected, _ = torch.nn.utils.rnn.pad_packed_sequence(expected, total_length=steps)
    found = run(getattr(make, operator.lower()), x, w, r, bias, **members)
    wanted = expected.detach().numpy().reshape(steps, batch, directions, units).transpose(0, 2, 1, 3)
    close(found["OutputSequenceTensor"], wanted)
    close(found["OutputSingleTensor"][0], (last[0] if is_lstm else last).detach())
    if is_lstm:
        close(found["OutputCellSingleTensor"][0], last[1].detach())


# Resampling.


def by_sizes(mode: str, given: Any, wanted: Any, inset: float = 0.5) -> dict[str, Any]:
    """The members of a resampling of images, with centers of pixels where the inset is 0.5."""
    scales = [1.0, 1.0, *(n / m for n, m in zip(wanted, given, strict=True))]
    offsets = {"InputPixelOffsets": [inset] * 4, "OutputPixelOffsets": [-0.5] * 4}
    return {"InterpolationMode": mode, "Scales": scales, **offsets}


@pytest.mark.parametrize(
    ("sizes", "wanted"), [((2, 3, 5, 4), (10, 7)), ((1, 1, 9, 8), (4, 3)), ((1, 2, 3, 3), (3, 3))]
)
@pytest.mark.parametrize("antialias", [False, True])
def test_resample_linear(sizes: tuple[int, ...], wanted: tuple[int, ...], antialias: bool) -> None:
    x = random(*sizes)
    expected = functional.interpolate(double(x), wanted, mode="bilinear", antialias=antialias).detach()
    members = by_sizes("LINEAR", sizes[2:], wanted)
    if antialias and any(0.5 <= s < 1 for s in members["Scales"]):
        pytest.skip("DirectML antialiases below a scale of one half only")
    members |= {"RoundingDirection": "DECREASING", "Antialiased": antialias}
    close(one(make.resample3, x, OutputTensor=expected.shape, **members), expected)


@pytest.mark.parametrize("wanted", [(10, 8), (2, 3), (5, 4)])
def test_resample_nearest(wanted: tuple[int, int]) -> None:
    x = random(1, 2, 5, 4)
    expected = functional.interpolate(torch.tensor(x), wanted, mode="nearest-exact")
    members = by_sizes("NEAREST_NEIGHBOR", (5, 4), wanted, 0.0) | {"RoundingDirection": "DECREASING"}
    close(one(make.resample2, x, OutputTensor=expected.shape, **members), expected, 0)


def test_resample_nearest_at_ties() -> None:
    """Halving, where every coordinate is between two elements; also what the gradient gives back."""
    forward = double(random(1, 2, 4, 6))
    expected = functional.interpolate(forward, (2, 3), mode="nearest-exact")
    gradient = random(1, 2, 2, 3)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    x, members = forward.detach().numpy().astype(np.float32), by_sizes("NEAREST_NEIGHBOR", (4, 6), (2, 3))
    scales = {name: members[name] for name in ("InterpolationMode", "Scales")}
    for found in (
        one(make.resample, x, OutputTensor=(1, 2, 2, 3), **scales),
        one(make.resample1, x, OutputTensor=(1, 2, 2, 3), **members),
    ):
        np.testing.assert_array_equal(found, x[:, :, 1::2, 1::2])
        close(found, expected.detach(), 0)
    back = one(make.resample_grad, gradient, OutputGradientTensor=x.shape, **members)
    close(back, forward.grad.numpy())


@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("wanted", [(10, 7), (2, 3), (5, 4)])
def test_gradient_of_resampling(mode: str, wanted: tuple[int, int]) -> None:
    forward = double(random(1, 2, 5, 4))
    linear = mode == "LINEAR"
    expected = functional.interpolate(forward, wanted, mode="bilinear" if linear else "nearest-exact")
    gradient = random(*expected.shape)
    expected.backward(torch.tensor(gradient.astype(np.float64)))
    members = by_sizes(mode, (5, 4), wanted, 0.5 if linear else 0.0) | {"RoundingDirection": "DECREASING"}
    found = one(make.resample_grad1, gradient, OutputGradientTensor=(1, 2, 5, 4), **members)
    close(found, forward.grad)


# Attention and training.


def attended(*parts: np.ndarray, **arguments: Any) -> np.ndarray:
    """PyTorch's attention of queries, keys and values by heads; the heads side by side again."""
    attention = functional.scaled_dot_product_attention
    found = attention(*map(double, parts), **arguments).detach().numpy().transpose(0, 2, 1, 3)
    return found.reshape(*found.shape[:2], -1)


@pytest.mark.parametrize("layout", ["separate", "stacked"])
def test_attention(layout: str) -> None:
    batch, steps, heads, size = 2, 3, 4, 5
    parts = [random(batch, steps, heads, size) for _ in range(3)]
    inputs = {"StackedQueryKeyValueTensor": np.stack(parts, 3)}
    if layout == "separate":
        names = ("QueryTensor", "KeyTensor", "ValueTensor")
        inputs = {name: x.reshape(batch, steps, -1) for name, x in zip(names, parts, strict=True)}
    members = {"Scale": 0.3, "MaskFilterValue": -10000.0, "HeadCount": heads, "MaskType": "NONE"}
    found = one(make.multihead_attention, **inputs, OutputTensor=(batch, steps, heads * size), **members)
    close(found, attended(*(x.transpose(0, 2, 1, 3) for x in parts), scale=0.3))


def test_attention_with_past_mask_and_bias() -> None:
    batch, heads, size, past, steps = 2, 2, 3, 4, 2
    q, k, v = (random(batch, steps, heads * size) for _ in range(3))
    old_k, old_v = random(batch, heads, past, size), random(batch, heads, past, size)
    mask = RANDOM.integers(0, 2, (batch, heads, steps, past + steps)).astype(np.int32)
    position = random(batch, heads, steps, past + steps)
    bias = random(3 * heads * size)
    found = run(
        make.multihead_attention, q, k, v, BiasTensor=bias, MaskTensor=mask,
        RelativePositionBiasTensor=position, PastKeyTensor=old_k, PastValueTensor=old_v, Scale=0.5,
        MaskFilterValue=-100.0, HeadCount=heads, MaskType="BOOLEAN", OutputTensor=q.shape,
        **{f"OutputPresent{name}Tensor": (batch, heads, past + steps, size) for name in ("Key", "Value")},
    )  # fmt: skip
    parts = [
        (x.astype(np.float64) + b).reshape(batch, steps, heads, size).transpose(0, 2, 1, 3)
        for x, b in zip((q, k, v), np.split(bias, 3), strict=True)
    ]
    keys, values = np.concatenate([old_k, parts[1]], 2), np.concatenate([old_v, parts[2]], 2)
    score = torch.tensor(position + np.where(mask == 0, -100.0, 0.0))
    close(found["OutputTensor"], attended(parts[0], keys, values, attn_mask=score, scale=0.5))
    close(found["OutputPresentKeyTensor"], keys)
    close(found["OutputPresentValueTensor"], values)


def test_grouped_query_attention() -> None:
    batch, steps, heads, groups, size = 1, 3, 4, 2, 5
    parts = [random(batch, steps, count, size) for count in (heads, groups, groups)]
    joined = [x.reshape(batch, steps, -1) for x in parts]
    members = {"Scale": 0.4, "MaskFilterValue": 0.0, "MaskType": "NONE"}
    members |= {"QueryHeadCount": heads, "KeyValueHeadCount": groups}
    found = one(make.multihead_attention1, *joined, OutputTensor=joined[0].shape, **members)
    close(found, attended(*(x.transpose(0, 2, 1, 3) for x in parts), scale=0.4, enable_gqa=True))


def test_adam() -> None:
    sizes = (1, 1, 2, 3)
    weights, gradient = random(*sizes), random(*sizes)
    parameter = torch.nn.Parameter(torch.tensor(weights.astype(np.float64)))
    optimizer = torch.optim.Adam([parameter], lr=0.125, betas=(0.75, 0.5), eps=2.0**-20)
    members = {"LearningRate": 0.125, "Beta1": 0.75, "Beta2": 0.5, "Epsilon": 2.0**-20}
    state = [weights, np.zeros(sizes, np.float32), np.zeros(sizes, np.float32)]
    for step in (1, 2):
        parameter.grad = torch.tensor(gradient.astype(np.float64))
        optimizer.step()
        found = run(make.adam_optimizer, *state, gradient, np.uint32([[[[step]]]]), **members)
        state = [found[f"Output{name}Tensor"] for name in ("Parameters", "FirstMoment", "SecondMoment")]
        close(state[0], parameter.detach())


def test_inputs_in_any_layout_stay_as_they_are() -> None:
    a, b = np.asfortranarray(random(1, 1, 6, 8)), random(1, 1, 8, 10)[:, :, :, ::2]
    before = a.copy(), b.copy()
    close(one(make.gemm, a, b), a.astype(np.float64) @ b)
    assert (a == before[0]).all() and (b == before[1]).all()
    assert TensorDesc.of(b) == TensorDesc("FLOAT32", (1, 1, 8, 5))
