"""Operators of ONNX and of ONNX Runtime through their mappings, compared with ONNX Runtime on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import dmlops
from dmlops.onnx import NotRunnable

RANDOM = np.random.default_rng(36)
MICROSOFT = "com.microsoft"


def random(*sizes: int) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(np.float32)


def integers(low: int, high: int, *sizes: int, of: Any = np.uint8) -> np.ndarray:
    return RANDOM.integers(low, high, sizes).astype(of)


def node(
    operator: str,
    inputs: dict[str, np.ndarray | None],
    outputs: int = 1,
    version: int = 17,
    domain: str = MICROSOFT,
    known: tuple[str, ...] = (),
    **attributes: Any,
) -> tuple[Any, dict[str, np.ndarray]]:
    """A model of one node, whose `known` inputs are constants, and the arrays for the others."""
    given = {name: array for name, array in inputs.items() if array is not None}
    type_of = lambda array: helper.np_dtype_to_tensor_dtype(array.dtype)  # noqa: E731
    names = [name if array is not None else "" for name, array in inputs.items()]
    made = helper.make_node(operator, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph(
        [made],
        "g",
        [
            helper.make_tensor_value_info(name, type_of(array), array.shape)
            for name, array in given.items()
            if name not in known
        ],
        [helper.make_tensor_value_info(f"y{i}", onnx.TensorProto.UNDEFINED, None) for i in range(outputs)],
        [onnx.numpy_helper.from_array(given[name], name) for name in known],
    )
    opsets = [helper.make_opsetid("", version), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model, {name: array for name, array in given.items() if name not in known}


def oracle(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of ONNX Runtime, without its optimizer."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    untyped = onnx.ModelProto()
    untyped.CopyFrom(model)
    for output in untyped.graph.output:  # types follow from the node
        output.ClearField("type")
    text = untyped.SerializeToString()
    session = onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, inputs)
    return found


def computed(model: Any, inputs: dict[str, np.ndarray], expected: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The results of the model's operators, whose outputs are declared as those expected."""
    for output, right in zip(model.graph.output, expected, strict=True):
        number = helper.np_dtype_to_tensor_dtype(right.dtype)
        output.CopyFrom(helper.make_tensor_value_info(output.name, number, [None] * right.ndim))
    return dmlops.onnx.run(model, inputs)


def agrees(
    model: Any, inputs: dict[str, np.ndarray], tolerance: float = 2e-5, of: list[np.ndarray] | None = None
) -> None:
    """The model's operators compute what ONNX Runtime does, or `of`, with its types and shapes."""
    expected = oracle(model, inputs) if of is None else of
    found = computed(model, inputs, expected)
    for (name, result), right in zip(found.items(), expected, strict=True):
        assert (result.dtype, result.shape) == (right.dtype, right.shape), name
        wide = np.float64 if right.dtype.kind == "f" else np.int64
        np.testing.assert_allclose(
            result.astype(wide), right.astype(wide), rtol=tolerance, atol=tolerance, err_msg=name
        )


B, S, N, H, P = 2, 3, 2, 4, 5
QKV = {name: random(B, S, N * H) for name in ("q", "k", "v")}


def lengths(*counts: int) -> np.ndarray:
    return np.array(counts, np.int32)


MASKS = {
    "lengths": lengths(2, 3),
    "keys": np.array([[1, 1, 0], [1, 0, 1]], np.int32),
    "scores": np.array([[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 1, 0], [1, 0, 1], [0, 1, 1]]], np.int32),
}
HEADS: dict[str, dict[str, Any]] = {
    **{f"mask of {name}": {"key_padding_mask": mask} for name, mask in MASKS.items()},
    "causal": {"unidirectional": 1},
    "causal, lengths": {"unidirectional": 1, "key_padding_mask": MASKS["lengths"]},
    "causal, bias of scores": {"unidirectional": 1, "attention_bias": random(1, N, S, S)},
    "bias": {"bias": random(3 * N * H)},
    "scale": {"scale": 0.3},
    "heads first": {"key": random(B, N, P, H), "value": random(B, N, P, H)},
    "earlier keys": {"past_key": random(B, N, P, H), "past_value": random(B, N, P, H), "outputs": 3},
    "earlier keys, causal": {
        "past_key": random(B, N, P, H),
        "past_value": random(B, N, P, H),
        "outputs": 3,
        "unidirectional": 1,
    },
    "earlier keys, mask": {
        "past_key": random(B, N, P, H),
        "past_value": random(B, N, P, H),
        "outputs": 3,
        "key_padding_mask": np.array([[1] * 6 + [0, 0], [0] + [1] * 7], np.int32),
    },
}


@pytest.mark.parametrize("name", HEADS)
def test_multi_head_attention(name: str) -> None:
    case = {"query": QKV["q"], "key": QKV["k"], "value": QKV["v"], **HEADS[name]}
    order = ("query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value")
    inputs = {one: case.pop(one, None) for one in order}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    agrees(*node("MultiHeadAttention", inputs, num_heads=N, **case))


@pytest.mark.parametrize("more", [{}, {"unidirectional": 1}, {"key_padding_mask": MASKS["keys"]}])
@pytest.mark.parametrize("packed", ["all", "keys with values"])
def test_packed_attention(packed: str, more: dict[str, Any]) -> None:
    """ONNX Runtime packs tensors only on GPUs: the oracle is its attention of the same numbers apart."""
    query, key, value = (array.reshape(B, S, N, H) for array in QKV.values())
    one = {"query": np.stack([query, key, value], 3), "key": None, "value": None}
    if packed != "all":
        one = {"query": QKV["q"], "key": np.stack([key, value], 3), "value": None}
    attributes = {name: value for name, value in more.items() if name != "key_padding_mask"}
    models = [
        node(
            "MultiHeadAttention",
            {**inputs, "bias": None, "mask": more.get("key_padding_mask", MASKS["lengths"])},
            num_heads=N,
            **attributes,
        )
        for inputs in (dict(zip(("query", "key", "value"), QKV.values(), strict=True)), one)
    ]
    agrees(*models[1], of=oracle(*models[0]))


G, E = 4, 8  # query heads, two to a key head, and their size, which ONNX Runtime wants to be a multiple of 8
ONE = {"query": random(1, S, G * E), "key": random(1, S, N * E), "value": random(1, S, N * E)}  # batch
PAST = {name: random(1, N, P, E) for name in ("past_key", "past_value")}
DECODED = {
    **{name: random(B, 1, heads * E) for name, heads in (("query", G), ("key", N), ("value", N))},
    **{name: random(B, N, P, E) for name in ("past_key", "past_value")},
    "total": 4,
}
GROUPED: dict[str, dict[str, Any]] = {
    "first call": {},
    "packed": {"query": random(B, S, (G + 2 * N) * E), "key": None, "value": None},
    "one key head": {"key": random(B, S, E), "value": random(B, S, E), "kv_num_heads": 1},
    "scale": {"scale": 0.3},
    "window": {"local_window_size": 2},
    "bias of scores": {"attention_bias": random(1, G, S, S)},
    "not causal": {"causal": 0},
    "first call with a buffer": {**ONE, **PAST},
    "earlier keys": {**ONE, **PAST, "total": P + S},
    "earlier keys, window, bias": {
        **ONE,
        **PAST,
        "total": P + S,
        "local_window_size": 3,
        "attention_bias": random(1, 1, S, P + S),
    },
    "earlier keys in a buffer": {**ONE, **PAST, "total": 4},
    "one query": DECODED,
    "one query, no room": {**DECODED, "total": P + 1},
}


def grouped(total: int = S, **more: Any) -> tuple[Any, dict[str, np.ndarray]]:
    case = {"query": random(B, S, G * E), "key": random(B, S, N * E), "value": random(B, S, N * E), **more}
    order = ("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length")
    order += ("cos_cache", "sin_cache", "position_ids", "attention_bias")
    case.setdefault("seqlens_k", np.full(len(case["query"]), total - 1, np.int32))
    case["total_sequence_length"] = lengths(total)
    inputs = {one: case.pop(one, None) for one in order}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    return node("GroupQueryAttention", inputs, num_heads=G, outputs=3, **{"kv_num_heads": N, **case})


@pytest.mark.parametrize("name", GROUPED)
def test_grouped_query_attention(name: str) -> None:
    """The numbers of earlier keys are inputs, which `run` reads."""
    agrees(*grouped(**GROUPED[name]))


def test_padding_of_grouped_queries() -> None:
    """Rows of padding have any results; the others agree."""
    model, inputs = grouped(seqlens_k=lengths(S - 1, S - 2))
    expected = oracle(model, inputs)
    found = computed(model, inputs, expected)["y0"]
    np.testing.assert_allclose(found[0], expected[0][0], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[1, : S - 1], expected[0][1, : S - 1], rtol=2e-5, atol=2e-5)


def test_batches_with_different_numbers_of_earlier_keys() -> None:
    model, inputs = grouped(**{**DECODED, "seqlens_k": lengths(3, 2)})
    expected = oracle(model, inputs)  # a valid node
    with pytest.raises(NotRunnable, match="run them one by one"):
        computed(model, inputs, expected)


D = 6
PROJECTED: dict[str, dict[str, Any]] = {
    "plain": {},
    **{f"mask of {name}": {"mask_index": mask} for name, mask in MASKS.items()},
    "ends and starts": {"mask_index": lengths(3, 2, 1, 0)},
    "causal": {"unidirectional": 1},
    "causal, mask": {"unidirectional": 1, "mask_index": MASKS["keys"]},
    "bias of scores": {"attention_bias": random(B, N, S, S)},
    "earlier keys": {"past": random(2, B, N, P, H), "outputs": 2},
    "earlier keys, causal": {"past": random(2, B, N, P, H), "outputs": 2, "unidirectional": 1},
    "first call, causal": {"outputs": 2, "unidirectional": 1},
    "values of another size": {
        "weights": random(D, 2 * N * H + N * 3),
        "bias": random(2 * N * H + N * 3),
        "qkv_hidden_sizes": [N * H, N * H, N * 3],
    },
}


@pytest.mark.parametrize("name", PROJECTED)
def test_attention_with_projections(name: str) -> None:
    case = {
        "input": random(B, S, D),
        "weights": random(D, 3 * N * H),
        "bias": random(3 * N * H),
        **PROJECTED[name],
    }
    order = ("input", "weights", "bias", "mask_index", "past", "attention_bias")
    inputs = {one: case.pop(one, None) for one in order}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    agrees(*node("Attention", inputs, num_heads=N, **case))


@pytest.mark.parametrize("more", [{}, {"unidirectional": 1}, {"mask_index": MASKS["keys"]}])
def test_quantized_attention(more: dict[str, Any]) -> None:
    inputs = {
        "input": integers(0, 255, B, S, D),
        "weight": integers(0, 255, D, 3 * N * H),
        "bias": random(3 * N * H),
        "input_scale": np.float32(0.02),
        "weight_scale": np.float32(0.01),
        "mask_index": more.get("mask_index"),
        "input_zero_point": np.uint8(128),
        "weight_zero_point": np.uint8(125),
    }
    attributes = {key: value for key, value in more.items() if key != "mask_index"}
    arrays = {name: None if one is None else np.asarray(one) for name, one in inputs.items()}
    agrees(*node("QAttention", arrays, num_heads=N, **attributes), tolerance=1e-4)


@pytest.mark.parametrize(
    "activation",
    [
        ("Relu", []),
        ("Sigmoid", []),
        ("Tanh", []),
        ("LeakyRelu", [0.1]),
        ("Clip", [-0.5, 0.7]),
        ("HardSigmoid", [0.3, 0.4]),
    ],
)
@pytest.mark.parametrize("added", [False, True])
def test_fused_convolution(activation: tuple[str, list[float]], added: bool) -> None:
    name, params = activation
    inputs = {"x": random(1, 4, 6, 5), "w": random(6, 2, 3, 3), "b": random(6)}
    if added:
        inputs["z"] = random(1, 6, 3, 3)
    attributes: dict[str, Any] = {"activation_params": params} if params else {}
    agrees(
        *node("FusedConv", inputs, activation=name, group=2, strides=[2, 2], pads=[1, 1, 1, 1], **attributes)
    )


@pytest.mark.parametrize(
    "activation", [{"activation": "LeakyRelu", "activation_alpha": 0.1}, {"activation": "Tanh"}]
)
def test_fused_product(activation: dict[str, Any]) -> None:
    inputs = {"a": random(4, 3), "b": random(4, 5), "c": random(5)}
    agrees(*node("FusedGemm", inputs, transA=1, alpha=0.5, beta=2.0, **activation))


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize(
    ("version", "attributes"),
    [
        (10, {}),
        (15, {}),
        (16, {}),
        (16, {"coordinate_transformation_mode": "output_half_pixel"}),
    ],
)
def test_regions_of_each_version(version: int, attributes: dict[str, Any], samples: int) -> None:
    """Before version 16, samples are not moved by half a pixel."""
    inputs = {
        "x": random(2, 3, 10, 9),
        "regions": np.float32([[1.5, 0.5, 8.5, 7.0], [-3, 0, 12, 11]]),
        "batches": np.int64([1, 0]),
    }
    sizes = {"output_height": 3, "output_width": 2, "sampling_ratio": samples, "spatial_scale": 0.8}
    agrees(*node("RoiAlign", inputs, version=version, domain="", **sizes, **attributes))


def test_the_greatest_of_regions_says_what_to_do() -> None:
    inputs = {"x": random(1, 1, 6, 6), "r": np.float32([[0, 0, 4, 4]]), "b": np.int64([0])}
    model, arrays = node("RoiAlign", inputs, version=16, domain="", mode="max", output_height=2)
    expected = oracle(model, arrays)
    with pytest.raises(NotRunnable, match="describe ROI_ALIGN1 with ReductionFunction MAX"):
        computed(model, arrays, expected)


def scalar(value: Any, of: Any) -> np.ndarray:
    return np.array(value, of)


def test_quantized_concatenation() -> None:
    inputs = {"scale": scalar(0.03, np.float32), "point": scalar(120, np.uint8)}
    for i, sizes in enumerate([(2, 3), (2, 1), (2, 4)]):
        inputs |= {f"x{i}": integers(0, 255, *sizes), f"s{i}": scalar(0.02 + i / 50, np.float32)}
        inputs[f"p{i}"] = scalar(128 - i, np.uint8)
    agrees(*node("QLinearConcat", inputs, known=tuple(n for n in inputs if n[0] != "x"), axis=1), tolerance=1)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("QLinearLeakyRelu", {"alpha": 0.2}),
        ("QLinearSoftmax", {"axis": 1, "opset": 13}),
        ("QLinearSoftmax", {"axis": 1, "opset": 11}),
    ],
)
def test_quantized_activations(operator: str, attributes: dict[str, Any]) -> None:
    inputs = {"x": integers(0, 255, 2, 5, 3), "s": scalar(0.03, np.float32), "p": scalar(100, np.uint8)}
    inputs |= {"t": scalar(1 / 256, np.float32), "q": scalar(0, np.uint8)}
    agrees(*node(operator, inputs, known=("s", "p", "t", "q"), **attributes), tolerance=1)


@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [
        ((1, 2, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "count_include_pad": 1}),
        ((1, 2, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ],
)
def test_averages_of_quantized_windows(sizes: tuple[int, ...], attributes: dict[str, Any]) -> None:
    inputs = {"x": integers(0, 255, *sizes), "s": scalar(0.03, np.float32), "p": scalar(100, np.uint8)}
    inputs |= {"t": scalar(0.02, np.float32), "q": scalar(90, np.uint8)}
    agrees(*node("QLinearAveragePool", inputs, known=("s", "p", "t", "q"), **attributes), tolerance=1)


@pytest.mark.parametrize("bias", [False, True])
def test_normalization_of_a_sum(bias: bool) -> None:
    inputs = {"x": random(2, 3, 8), "skip": random(2, 3, 8), "gamma": random(8), "beta": random(8)}
    inputs |= {"bias": random(8)} if bias else {}
    agrees(*node("SkipLayerNormalization", inputs, epsilon=1e-5))


def test_quantized_multiplication() -> None:
    inputs = {"a": integers(0, 255, 3, 4), "s": scalar(0.03, np.float32), "p": scalar(100, np.uint8)}
    inputs |= {"b": integers(0, 255, 4), "t": scalar(0.02, np.float32), "q": scalar(90, np.uint8)}
    inputs |= {"u": scalar(0.05, np.float32), "r": scalar(128, np.uint8)}
    agrees(*node("QLinearMul", inputs), tolerance=1)


def test_a_choice_of_quantized_tensors() -> None:
    inputs = {"condition": integers(0, 2, 2, 1, 4).astype(np.bool_)}
    inputs |= {"a": integers(0, 255, 3, 4), "s": scalar(0.03, np.float32), "p": scalar(100, np.uint8)}
    inputs |= {"b": integers(0, 255, 4), "t": scalar(0.02, np.float32), "q": scalar(90, np.uint8)}
    inputs |= {"u": scalar(0.05, np.float32), "r": scalar(128, np.uint8)}
    agrees(*node("QLinearWhere", inputs), tolerance=1)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_mean_of_a_quantized_tensor(keepdims: int) -> None:
    """ONNX Runtime has the schema and no kernel on the CPU; by its definition, in NumPy."""
    x = integers(0, 255, 3, 4, 5)
    inputs = {"x": x, "s": scalar(0.03, np.float32), "p": scalar(100, np.uint8)}
    inputs |= {"t": scalar(0.02, np.float32), "q": scalar(90, np.uint8)}
    mean = ((x.astype(np.float64) - 100) * 0.03).mean((0, 2), keepdims=bool(keepdims))
    right = np.clip(np.rint(mean / 0.02) + 90, 0, 255).astype(np.uint8)
    model, arrays = node("QLinearReduceMean", inputs, axes=[0, -1], keepdims=keepdims)
    agrees(model, arrays, tolerance=1, of=[right])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_products_with_weights_of_few_bits(bits: int, points: bool, bias: bool) -> None:
    k, n, block = 64, 6, 16
    blocks = k // block
    inputs: dict[str, np.ndarray | None] = {
        "a": random(2, 3, k),
        "b": integers(0, 256, n, blocks, block * bits // 8),
        "scales": np.abs(random(n * blocks)) + np.float32(0.1),
        "points": integers(0, 256, n * blocks * bits // 8) if points else None,
        "order": None,
        "bias": random(n) if bias else None,
    }
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    known = tuple(name for name, array in inputs.items() if name != "a" and array is not None)
    agrees(*node("MatMulNBits", inputs, known=known, K=k, N=n, bits=bits, block_size=block), tolerance=1e-3)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("of", [np.float32, np.float16])
def test_group_normalization(last: int, activation: int, of: Any) -> None:
    """ONNX Runtime has this only for GPUs: the oracle is NumPy."""
    x, gamma, beta = random(2, 6, 3, 4), random(6), random(6)
    grouped = x.reshape(2, 2, -1)
    normal = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    expected = normal.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    expected = expected / (1 + np.exp(-expected)) if activation else expected
    if last:
        x, expected = (array.transpose(0, 2, 3, 1) for array in (x, expected))
    inputs = {"x": x.astype(of), "gamma": gamma, "beta": beta}
    made = node("GroupNorm", inputs, groups=2, channels_last=last, activation=activation)
    agrees(*made, tolerance=2e-5 if of is np.float32 else 1e-2, of=[expected.astype(of)])


@pytest.mark.parametrize(
    ("equation", "sizes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bhqk,bkhd->bqhd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
        ("bij,bjk", [(2, 3, 4), (2, 4, 5)]),
        ("i,j->ji", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("ab,cd->dbca", [(2, 3), (4, 5)]),
        ("nchw,ck->nkwh", [(2, 3, 4, 5), (3, 6)]),
        ("abc->ca", [(2, 3, 4)]),
        ("abc->", [(2, 3, 4)]),
        ("abc->bca", [(2, 3, 4)]),
        ("ba", [(2, 3)]),
    ],
)
def test_einsum(equation: str, sizes: list[tuple[int, ...]]) -> None:
    inputs = {f"x{i}": random(*one) for i, one in enumerate(sizes)}
    agrees(*node("Einsum", inputs, domain="", equation=equation))


@pytest.mark.parametrize(
    ("equation", "sizes", "says"),
    [
        ("ii->i", [(3, 3)], "diagonal"),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], "in pairs"),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)], "name each dimension"),
        ("ij,k->k", [(2, 3), (4,)], "ReduceSum"),
    ],
)
def test_what_einsum_has_no_form_for_is_said_with_the_remedy(
    equation: str, sizes: list[tuple[int, ...]], says: str
) -> None:
    inputs = {f"x{i}": random(*one) for i, one in enumerate(sizes)}
    model, given = node("Einsum", inputs, domain="", equation=equation)
    rank = len(equation.partition("->")[2].replace("...", "b"))
    made = helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, [None] * rank)
    model.graph.output[0].CopyFrom(made)
    with pytest.raises(NotRunnable, match=says):
        dmlops.onnx.run(model, given)


@pytest.mark.parametrize("version", [11, 22])
@pytest.mark.parametrize(
    "attributes",
    [
        {"output_shape": [10]},
        {"output_shape": [10], "pads": [0, 0]},
        {"output_shape": [10], "auto_pad": "SAME_UPPER"},
        {"output_shape": [10], "auto_pad": "SAME_LOWER"},
        {"auto_pad": "SAME_UPPER"},
        {"auto_pad": "SAME_LOWER"},
        {"auto_pad": "SAME_UPPER", "output_padding": [1]},
        {"auto_pad": "SAME_LOWER", "output_padding": [1]},
        {"output_padding": [1], "pads": [1, 0]},
        {"auto_pad": "VALID", "dilations": [2]},
        {"auto_pad": "SAME_UPPER", "strides": [4]},
    ],
)
def test_transposed_convolutions(attributes: dict[str, Any], version: int) -> None:
    inputs = {"x": random(2, 3, 5), "w": random(3, 2, 3), "b": random(2)}
    agrees(*node("ConvTranspose", inputs, domain="", version=version, **{"strides": [2], **attributes}))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([2, 3, 4, 5, 6], [6]),
        ([6], [2, 3, 4, 6, 5]),
        ([2, 1, 3, 4, 5], [3, 5, 6]),
        ([1, 3, 1, 4, 5], [2, 1, 2, 5, 6]),
        ([5], [5]),
    ],
)
def test_products_of_broadcast_stacks(a: list[int], b: list[int]) -> None:
    agrees(*node("MatMul", {"a": random(*a), "b": random(*b)}, domain=""))
    inputs = {"a": integers(0, 255, *a), "b": integers(0, 255, *b)}
    agrees(*node("MatMulInteger", inputs, domain=""))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", [[-1, 0, 0, -2], [0, -1, 2, 1], [1, -2, -1, 1]])
@pytest.mark.parametrize("of", [np.float32, np.int32])
def test_negative_padding(mode: str, pads: list[int], of: Any) -> None:
    inputs = {"x": (10 * random(4, 5)).astype(of), "pads": np.array(pads), "value": np.array(7, of)}
    if mode != "constant":
        del inputs["value"]
    agrees(*node("Pad", inputs, domain="", known=tuple(name for name in inputs if name != "x"), mode=mode))


@pytest.mark.parametrize(("direction", "ways"), [("forward", 1), ("bidirectional", 2)])
@pytest.mark.parametrize("columns", [False, True])
def test_a_quantized_lstm_dequantizes_its_weights(direction: str, ways: int, columns: bool) -> None:
    """It is ONNX Runtime's LSTM of the weights that were meant; quantizing inputs and states moves little."""
    steps, batches, width, hidden = 4, 2, 6, 5
    scales = (ways, 4 * hidden) if columns else (ways,)
    inputs: dict[str, np.ndarray | None] = {"X": random(steps, batches, width)}
    inputs |= {"W": integers(-128, 128, ways, width, 4 * hidden, of=np.int8)}
    inputs |= {"R": integers(-128, 128, ways, hidden, 4 * hidden, of=np.int8)}
    inputs |= {"B": random(ways, 8 * hidden), "lengths": None, "h": None, "c": None, "P": None}
    for name in ("W", "R"):
        inputs[f"{name}_scale"] = RANDOM.uniform(0.002, 0.008, scales).astype(np.float32)
        inputs[f"{name}_point"] = np.zeros(scales, np.int8)
    sides = {"direction": direction, "hidden_size": hidden}
    codes = ("W", "R", "W_scale", "W_point", "R_scale", "R_point")
    model, arrays = node("DynamicQuantizeLSTM", inputs, 3, known=codes, **sides)

    def meant(name: str) -> np.ndarray:
        scale = inputs[f"{name}_scale"].reshape(ways, 1, -1)
        return np.ascontiguousarray(np.swapaxes(inputs[name] * scale, 1, 2), np.float32)

    plain = {"X": inputs["X"], "W": meant("W"), "R": meant("R"), "B": inputs["B"]}
    agrees(model, arrays, of=oracle(*node("LSTM", plain, 3, domain="", **sides)))
    agrees(model, arrays, tolerance=0.05)
