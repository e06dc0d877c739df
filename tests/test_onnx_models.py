"""ONNX models through their counterparts: ONNX's node tests form by form, whole models, the command."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import dmlops
from dmlops import counterparts, gpu, reference
from dmlops.__main__ import main
from gpu_device import device
from node_models import by_operator, trial
from test_callers import CALLERS, form

__all__ = ["device"]

# The node tests.

DOCUMENTED = {
    "test_attention_23_boolmask_fullymasked_row_nan_robustness",  # a query that sees no key
    "test_dynamicquantizelinear",  # DirectML rounds one element down: see test_observed.py
}
ELSEWHERE = {  # what no node test shows: old, of double precision, with only known inputs, dynamic or large
    "Cast": {"ELEMENT_WISE_LOGICAL_EQUALS", "ELEMENT_WISE_LOGICAL_NOT"},
    "Einsum": {"GEMM", "REDUCE"},
    "GlobalLpPool": {"LP_POOLING"},
    "MatMul": {"ELEMENT_WISE_IDENTITY"},
    "MatMulInteger": {"ELEMENT_WISE_IDENTITY"},
    "MaxRoiPool": {"ROI_POOLING"},
    "NonZero": {"NONZERO_COORDINATES"},
    "Not": {"ELEMENT_WISE_LOGICAL_NOT"},
    "Pad": {"SLICE"},
    "Range": {"FILL_VALUE_SEQUENCE"},
    "ReduceLogSumExp": {"REDUCE"},
    "Resize": {"RESAMPLE3"},
    "Upsample": {"RESAMPLE1", "RESAMPLE3"},
}


@pytest.mark.parametrize("operator", list(by_operator()))
def test_every_form_computes_what_onnx_expects(operator: str, device: Any) -> None:
    """In the reference and in shaders; and every operator of DirectML that a form of the newest version takes
    is in one that is right."""
    known = counterparts.operation("onnx", operator)
    shown = set[str]()
    for test in by_operator()[operator]:
        found = trial(test, (reference.run, lambda desc, inputs: gpu.run(desc, inputs, device)))
        for operators, right in found.forms:
            assert right is not False or found.name in DOCUMENTED, (found.name, operators)
            shown |= {*operators.split()} if right else set()
        assert not found.refused_otherwise, (found.name, found.refused_otherwise)
        assert found.status in ("mapped", "host") or found.reason, found
    forms = known.signatures[0].forms if known else ()
    taken = {step.operator for form in forms for step in form.steps}
    assert taken - shown == ELSEWHERE.get(operator, set()), "what no form has shown to be right"


# Small models, where the node tests have nothing.


def model(text: str, opset: int = 20, **initializers: np.ndarray) -> Any:
    """A model from ONNX's own text of graphs."""
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}, "com.microsoft" : 1]> g {text}')
    made.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in initializers.items()
    )
    return made


RANDOM = np.random.default_rng(3)


def random(*sizes: int) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(np.float32)


def agrees(made: Any, tolerance: float = 1e-4, level: str | None = None, **inputs: np.ndarray) -> None:
    """The model's operators compute what ONNX's reference says."""
    expected = ReferenceEvaluator(made).run(None, inputs)
    found = dmlops.onnx.run(made, inputs, level)
    for (name, result), right in zip(found.items(), expected, strict=True):
        assert (result.dtype, result.shape) == (right.dtype, right.shape), name
        np.testing.assert_allclose(result, right, rtol=tolerance, atol=tolerance, err_msg=name)


X = random(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("(bool[2] x) => (bool[2] y) { y = Not(x) }", 13),
        ("(float[2,3,4,5] x) => (float[2,1,4,1] y) { y = ReduceLogSumExp<axes=[1,3]>(x) }", 13),
        ("(float[2,3,4,5] x) => (float[3,4] y) { y = ReduceMean<axes=[0,-1],keepdims=0>(x) }", 11),
        ("(float[2,3,4,5] x) => (float[2,2,4,2] y) { y = Slice<axes=[1,3],starts=[1,-4],ends=[99,-2]>(x) }", 9),
        ("(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = Clip<min=-0.5,max=0.25>(x) }", 10),
        ("(float[2,3,4,5] x) => (float[2,3,5,8] y) { y = Pad<pads=[0,0,1,1,0,0,0,2],value=3.0>(x) }", 10),
        ("(float[2,3,4,5] x) => (float[2,60] y) { u = Unsqueeze<axes=[0]>(x) s = Squeeze<axes=[0]>(u) y = Flatten(s) }", 11),
        ("(float[2,3,4,5] x) => (float[2,3,4,2] y, float[2,3,4,3] z) { y, z = Split<axis=-1,split=[2,3]>(x) }", 11),
        ("(float[2,3,4,5] x) => (float[2,3,4,2] y, int64[2,3,4,2] z) { k = Constant<value_ints=[2]>() y, z = TopK(x, k) }", 12),
        ("(float[2,3,4,5] x) => (float[2,3,2,2] y) { y = AveragePool<kernel_shape=[2,3],strides=[2,2],count_include_pad=1,pads=[0,1,0,0]>(x) }", 11),
        ("(float[2,3,4,5] x) => (float[2,3,2,2] y, int64[2,3,2,2] z) { y, z = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x) }", 9),
        ("(float[2,3,4,5] x) => (int64[2,3,1,5] y) { y = ArgMax<axis=2>(x) }", 11),
        ("(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = Gelu<approximate=\"tanh\">(x) }", 20),
        ("(float[2,3,4,5] x) => (float[2,3,4,5] y, bool[2,3,4,5] z) { y = Identity(x) z = Cast<to=9>(x) }", 19),
    ],
)  # fmt: skip
def test_operators_that_node_tests_do_not_show(text: str, opset: int) -> None:
    x = np.array([True, False]) if "bool[2] x" in text else X
    agrees(model(text, opset), x=x)


@pytest.mark.parametrize(
    ("operator", "axis"), [("Softmax", 2), ("LogSoftmax", 1), ("Hardmax", -1), ("Softmax", 0)]
)
def test_rows_were_everything_from_an_axis_on(operator: str, axis: int) -> None:
    made = model(f"(float[2,3,4,5] x) => (float[2,3,4,5] y) {{ y = {operator}<axis={axis}>(x) }}", 11)
    flat = X.reshape(int(np.prod(X.shape[:axis])), -1)
    newer = model(f"(float[n,m] x) => (float[n,m] y) {{ y = {operator}<axis=1>(x) }}", 13)
    (expected,) = ReferenceEvaluator(newer).run(None, {"x": flat})
    np.testing.assert_allclose(dmlops.onnx.run(made, {"x": X})["y"], expected.reshape(X.shape), rtol=1e-5)


# What ONNX Runtime's provider sends for a node, which is in tests/data/callers.jsonl: the node, and the
# versions that it was tried at.
SENT = {
    "ResNet": ("(float[1,64,112,112] x, float[64] s, float[64] b, float[64] m, float[64] v) => (float[1,64,112,112] y) { y = BatchNormalization(x, s, b, m, v) }", (7, 9, 14, 15)),
    "ResNet-50 pool1": ("(float[1,64,112,112] x) => (float[1,64,56,56] y) { y = MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(x) }", (7, 8, 10, 12)),
    "Inception average, count_include_pad": ("(float[1,192,28,28] x) => (float[1,192,28,28] y) { y = AveragePool<kernel_shape=[3,3],pads=[1,1,1,1],count_include_pad=1>(x) }", (7, 10, 11, 19)),
    "Gelu of BERT": ("(float16[1,128,3072] x) => (float16[1,128,3072] y) { y = Gelu(x) }", (20,)),
    "LeakyRelu": ("(float16[1,64,76,76] x) => (float16[1,64,76,76] y) { y = LeakyRelu<alpha=0.1>(x) }", (7, 16)),
    "ReduceMean of layer normalisation": ("(float[1,1,128,768] x) => (float[1,1,128,1] y) { y = ReduceMean<axes=[-1]>(x) }", (7, 11, 13)),
    "AlexNet": ("(float[1,96,55,55] x) => (float[1,96,55,55] y) { y = LRN<size=5>(x) }", (7, 13)),
    "DenseNet block": ("(float[1,64,56,56] a, float[1,32,56,56] b, float[1,32,56,56] c) => (float[1,128,56,56] y) { y = Concat<axis=1>(a, b, c) }", (7, 11, 13)),
    "super resolution, CRD": ('(float[1,9,224,224] x) => (float[1,1,672,672] y) { y = DepthToSpace<blocksize=3,mode="CRD">(x) }', (11, 13)),
    "YOLOv2": ("(float[1,64,26,26] x) => (float[1,256,13,13] y) { y = SpaceToDepth<blocksize=2>(x) }", (7, 13)),
    "Round": ("(float[1,1,3,4] x) => (float[1,1,3,4] y) { y = Round(x) }", (11, 22)),
}  # fmt: skip


@pytest.mark.parametrize("what", SENT)
def test_nodes_become_what_onnx_runtime_sends(what: str) -> None:
    """Without an activation that it fused."""
    text, versions = SENT[what]
    (sent,) = (one for one in CALLERS if one["what"] == what and "ONNX Runtime" in one["caller"])
    desc = {name: value for name, value in sent["desc"].items() if name != "FusedActivation"}
    for version in versions:
        (node,) = dmlops.onnx.read(model(text, version), sent["level"]).nodes
        assert node.plan
        (work,) = node.plan.work
        assert work.desc == dmlops.from_json({**form(sent), "desc": desc}), version


def test_a_range_that_depends_on_a_shape_is_a_constant() -> None:
    made = model(
        "(float[2,3] x) => (int64[6] y) { s = Size(x) a = Constant<value_int=0>() b = Constant<value_int=1>() y = Range(a, s, b) }"
    )
    assert {node.status for node in dmlops.onnx.read(made).nodes} == {"host"}
    agrees(made, x=random(2, 3))


def test_global_pooling_by_norms() -> None:
    made = model("(float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalLpPool<p=2>(x) }")
    expected = np.sqrt((X**2).sum((2, 3), keepdims=True))
    np.testing.assert_allclose(dmlops.onnx.run(made, {"x": X})["y"], expected, rtol=1e-5)


def test_pooling_of_regions() -> None:
    made = model(
        "(float[1,1,4,5] x, float[1,5] r) => (float[1,1,2,2] y) { y = MaxRoiPool<pooled_shape=[2,2]>(x, r) }"
    )
    x = X[:1, :1]
    found = dmlops.onnx.run(made, {"x": x, "r": np.float32([[0, 0, 0, 3, 3]])})["y"]
    assert (found[0, 0] == x[0, 0, :4, :4].reshape(2, 2, 2, 2).max((1, 3))).all()


# ONNX Runtime's operators, by formula.


def _norm(x: np.ndarray) -> np.ndarray:
    return np.asarray((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12))


def _rms(x: np.ndarray, epsilon: float = 1e-5) -> np.ndarray:
    return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


A, B, ROW = random(2, 3, 8), random(2, 3, 8), random(8)
RIGHT = random(8, 4)


@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        ("(float[2,3,8] a, float[2,3,8] b, float[8] r) => (float[2,3,8] y) { y = com.microsoft.BiasAdd(a, r, b) }", (A, B, ROW), A + B + ROW),
        ("(float[2,3,8] a) => (float[2,3,8] y) { y = com.microsoft.QuickGelu<alpha=1.5>(a) }", (A,), A * _sigmoid(1.5 * A)),
        ("(float[2,3,8] a, float[2,3,8] b, float[8] r) => (float[2,3,8] y, float[2,3,8] s) { y, , , s = com.microsoft.SkipLayerNormalization<epsilon=0.000000000001>(a, b, r) }", (A, B, ROW), _norm(A + B) * ROW),
        ("(float[2,3,8] a, float[2,3,8] b, float[8] r) => (float[2,3,8] y) { y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=0.00001>(a, b, r) }", (A, B, ROW), _rms(A + B) * ROW),
        ("(float[2,3,8] a, float[2,3,8] b, float[8] r) => (float[2,3,8] y) { y = com.microsoft.SkipSimplifiedLayerNormalization(a, b, r) }", (A / 1e3, B / 1e3, ROW), _rms((A + B) / 1e3, 1e-12) * ROW),
        ("(float[2,3,8] a) => (float[2,3,8] y) { y = com.microsoft.FastGelu(a) }", (A,), 0.5 * A * (1 + np.tanh(0.797885 * A + 0.035677 * A**3))),
        ("(float[2,3,8] a, float[8] r) => (float[2,3,8] y) { y = SimplifiedLayerNormalization(a, r) }", (A, ROW), _rms(A) * ROW),
        ("(float[2,3,8] a, float[8,4] w) => (float[2,3,4] y) { y = com.microsoft.FusedMatMul<alpha=0.5>(a, w) }", (A, RIGHT), 0.5 * A @ RIGHT),
        ("(float[2,3,8] a, float[4,8] w) => (float[2,3,4] y) { y = com.microsoft.FusedMatMul<transB=1>(a, w) }", (A, RIGHT.T.copy()), A @ RIGHT),
    ],
)  # fmt: skip
def test_operators_of_onnx_runtime(text: str, inputs: tuple[np.ndarray, ...], expected: np.ndarray) -> None:
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]> g {text}')
    names = [one.name for one in made.graph.input]
    found = dmlops.onnx.run(made, dict(zip(names, inputs, strict=True)))
    np.testing.assert_allclose(found["y"], expected, rtol=2e-4, atol=1e-5)
    assert {node.domain for node in dmlops.onnx.read(made).nodes} <= {"com.microsoft", ""}


def test_quantized_operators_of_onnx_runtime() -> None:
    a, w = RANDOM.integers(0, 255, (2, 3, 8), np.uint8), RANDOM.integers(-128, 127, (8, 4), np.int8)
    made = model(
        "(uint8[2,3,8] a, int8[8,4] w) => (float[2,3,4] y) { y = com.microsoft.MatMulIntegerToFloat(a, w, s, t, z) }",
        s=np.float32(0.5), t=np.float32([1, 2, 3, 4]), z=np.uint8(7),
    )  # fmt: skip
    expected = (a.astype(float) - 7) @ w.astype(float) * 0.5 * np.float32([1, 2, 3, 4])
    np.testing.assert_allclose(dmlops.onnx.run(made, {"a": a, "w": w})["y"], expected, rtol=1e-5)


def test_quantization_of_onnx_runtime_along_an_axis() -> None:
    a, scales, points = (
        RANDOM.integers(0, 255, (2, 3, 8), np.uint8),
        np.float32([0.5, 1, 2]),
        np.uint8([7, 9, 0]),
    )
    made = model(
        """(uint8[2,3,8] a) => (float[2,3,8] x, uint8[2,3,8] y) {
        x = com.microsoft.DequantizeLinear<axis=1>(a, s, z)  y = com.microsoft.QuantizeLinear<axis=-2>(x, s, z) }""",
        s=scales, z=points,
    )  # fmt: skip
    found = dmlops.onnx.run(made, {"a": a})
    assert (found["x"] == (a.astype(np.float32) - points[:, None]) * scales[:, None]).all()
    assert (found["y"] == a).all()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("image", [(5,), (4, 5)])
def test_global_pooling_of_quantized_images(last: bool, image: tuple[int, ...]) -> None:
    x = RANDOM.integers(0, 255, (2, 3, *image), np.uint8)
    axes = tuple(range(2, x.ndim))
    mean = (x.astype(float) - 7).mean(axes, keepdims=True) * 0.5
    expected = np.clip(np.rint(mean / 0.25) + 3, 0, 255).astype(np.uint8)
    if last:
        x, expected = np.moveaxis(x, 1, -1).copy(), np.moveaxis(expected, 1, -1)
    made = model(
        f"(uint8{list(x.shape)} x) => (uint8{list(expected.shape)} y)"
        f"{{ y = com.microsoft.QLinearGlobalAveragePool<channels_last={int(last)}>(x, s, z, t, u) }}",
        s=np.float32(0.5), z=np.uint8(7), t=np.float32(0.25), u=np.uint8(3),
    )  # fmt: skip
    found = dmlops.onnx.run(made, {"x": x})["y"]
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected).max() <= 1  # the mean may round to the other side


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("attributes", ["", "strides=[2,3], dilations=[2,1], output_padding=[1,0],"])
def test_transposed_convolution_with_pads_as_an_input(attributes: str, groups: int) -> None:
    x, w, b, pads = random(2, 4, 5, 6), random(4, 2, 3, 3), random(2 * groups), [1, 0, 2, 1]
    plain = model(
        f"(float[2,c,5,6] x, float[c,2,3,3] w, float[2] b) => (float[2,2,h,v] y) {{ y = ConvTranspose<{attributes} pads={pads}>(x, w, b) }}"
    )
    run = ReferenceEvaluator(plain).run
    parts = zip(np.split(x, groups, 1), np.split(w, groups), np.split(b, groups), strict=True)
    expected = np.concatenate([run(None, {"x": x, "w": w, "b": b})[0] for x, w, b in parts], 1)
    made = model(
        f"(float[2,4,5,6] x, float[4,2,3,3] w) => (float[2,{2 * groups},h,v] y)"
        f"{{ y = com.microsoft.ConvTransposeWithDynamicPads<{attributes} group={groups}>(x, w, p, b) }}",
        p=np.int64(pads), b=b,
    )  # fmt: skip
    found = dmlops.onnx.run(made, {"x": x, "w": w})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", ["", ", scale=0.0", ", scale=0.25"])
def test_attention_with_its_projection(scale: str) -> None:
    x, w, b = random(2, 3, 6), random(6, 24), random(24)
    made = model(
        f"(float[2,3,6] x, float[6,24] w, float[24] b) => (float[2,3,8] y) {{ y = com.microsoft.Attention<num_heads=2{scale}>(x, w, b) }}"
    )
    heads = [part.reshape(2, 3, 2, 4).swapaxes(1, 2) for part in np.split(x @ w + b, 3, 2)]
    scores = heads[0] @ heads[1].swapaxes(2, 3) * (0.25 if "0.25" in scale else 0.5)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = (weights @ heads[2]).swapaxes(1, 2).reshape(2, 3, 8)
    found = dmlops.onnx.run(made, {"x": x, "w": w, "b": b})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_convolution_of_images_with_channels_last() -> None:
    x, w, b = random(2, 6, 5, 4), random(6, 3, 2, 2), random(6)
    attributes = "group=2, pads=[1,0,0,1], strides=[2,1], dilations=[1,2]"
    plain = model(
        f"(float[2,4,6,5] x, float[6,2,3,2] w, float[6] b) => (float[n,c,h,v] y) {{ y = Conv<{attributes}>(x, w, b) }}"
    )
    first = {"x": x.transpose(0, 3, 1, 2), "w": w.transpose(0, 3, 1, 2), "b": b}
    (expected,) = ReferenceEvaluator(plain).run(None, first)
    made = model(
        f"(float[2,6,5,4] x, float[6,3,2,2] w, float[6] b) => (float[n,h,v,c] y) {{ y = com.microsoft.NhwcConv<{attributes}>(x, w, b) }}"
    )
    found = dmlops.onnx.run(made, {"x": x, "w": w, "b": b})["y"]
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


def test_rotary_embedding_of_onnx_runtime() -> None:
    x, angles, places = random(2, 3, 8), random(7, 2), np.int64([[0, 1, 2], [4, 5, 6]])
    made = model(
        "(float[2,3,8] x, int64[2,3] p, float[7,2] c, float[7,2] s) => (float[2,3,8] y) { y = com.microsoft.RotaryEmbedding(x, p, c, s) }"
    )
    turned = x.reshape(2, 3, 2, 2, 2)  # heads, halves
    cosines, sines = np.cos(angles)[places][:, :, None], np.sin(angles)[places][:, :, None]
    real, imaginary = turned[..., 0, :], turned[..., 1, :]
    pair = [real * cosines - imaginary * sines, imaginary * cosines + real * sines]
    found = dmlops.onnx.run(made, {"x": x, "p": places, "c": np.cos(angles), "s": np.sin(angles)})["y"]
    np.testing.assert_allclose(found, np.stack(pair, 3).reshape(2, 3, 8), rtol=1e-4, atol=1e-5)


QKV = "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v"
GROUPED = "float[1,3,16] q, float[1,3,8] k, float[1,3,8] v, int32[1] l, int32 n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"({QKV}, int32[1] p) => (float[2,3,8] y) {{ y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v, , , , , , p) }}", "shared buffer"),
        (f"({QKV}, int32[2,1,5] p) => (float[2,3,8] y) {{ y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v, , , , , , , p) }}", "several beams"),
        (f"({QKV}) => (float[2,3,8] y, float[2,2,3,5] p) {{ y, , , p = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v) }}", "products of queries and keys"),
        (f"({GROUPED}, float[8,4] c, float[8,4] s) => (float[1,3,16] y, float[1,1,8,8] pk, float[1,1,8,8] pv) {{ y, pk, pv = com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, do_rotary=1>(q, k, v, , , l, n, c, s) }}", "use RotaryEmbedding nodes"),
        (f"({GROUPED}) => (float[1,3,16] y, float[1,1,8,8] pk, float[1,1,8,8] pv) {{ y, pk, pv = com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, softcap=5.0>(q, k, v, , , l, n) }}", "a soft cap"),
        (f"({GROUPED}, float[8] w) => (float[1,3,16] y, float[1,1,8,8] pk, float[1,1,8,8] pv) {{ y, pk, pv = com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1>(q, k, v, , , l, n, , , , , , , , w, w) }}", "use SimplifiedLayerNormalization nodes"),
        (f"({GROUPED}, float[1,1,5,8] a) => (float[1,3,16] y, float[1,1,8,8] pk, float[1,1,8,8] pv) {{ y, pk, pv = com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1>(q, k, v, a, a, l, n) }}", "dmlops.onnx.run, which reads it"),
        ("(uint8[2,3,8] a, int8[8,4] w, float[8] s, float t) => (float[2,3,4] y) { y = com.microsoft.MatMulIntegerToFloat(a, w, s, t) }", "each column of A"),
        ("(uint8[2,3,8] a, float[3] s) => (float[2,3,8] y) { y = com.microsoft.DequantizeLinear(a, s) }", "without the axis"),
        ("(float[2,3,8] a, float[3] s) => (uint8[2,3,8] y) { y = com.microsoft.QuantizeLinear(a, s) }", "without the axis"),
        ("(float[1,2,5,5] x, float[2,1,3,3] w) => (float[1,1,5,5] y) { y = com.microsoft.ConvTransposeWithDynamicPads<auto_pad=\"SAME_UPPER\">(x, w) }", "auto_pad"),
    ],
)  # fmt: skip
def test_what_has_no_form_says_why(text: str, why: str) -> None:
    (node,) = dmlops.onnx.read(model(text)).nodes
    assert node.status == "impossible"
    assert why in node.reason


def test_attention_with_heads_of_onnx_runtime() -> None:
    q, k, v = random(2, 3, 8), random(2, 5, 8), random(2, 5, 8)
    made = model(
        "(float[2,3,8] q, float[2,5,8] k, float[2,5,8] v) => (float[2,3,8] y) { y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v) }"
    )
    heads = [x.reshape(2, -1, 2, 4).swapaxes(1, 2) for x in (q, k, v)]
    scores = heads[0] @ heads[1].swapaxes(2, 3) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = (weights @ heads[2]).swapaxes(1, 2).reshape(2, 3, 8)
    np.testing.assert_allclose(
        dmlops.onnx.run(made, {"q": q, "k": k, "v": v})["y"], expected, rtol=1e-4, atol=1e-5
    )


# Whole models.


LLM = """
(int64[batch, steps] ids, float[32, 16] table, float[16] g1, float[16] g2, float[8, 4] cosines, float[8, 4] sines,
 float[16, 16] wq, float[16, 16] wk, float[16, 16] wv, float[16, 16] wo, float[16, 24] wg, float[16, 24] wu, float[24, 16] wd)
=> (float[batch, steps, 32] logits)
{
  x = Gather(table, ids)
  n = RMSNormalization<axis=-1>(x, g1)
  q0 = MatMul(n, wq)  k0 = MatMul(n, wk)  v0 = MatMul(n, wv)
  shape = Shape(ids)
  heads = Constant<value_ints=[2, 8]>()
  split = Concat<axis=0>(shape, heads)
  q1 = Reshape(q0, split)  k1 = Reshape(k0, split)  v1 = Reshape(v0, split)
  q2 = Transpose<perm=[0, 2, 1, 3]>(q1)  k2 = Transpose<perm=[0, 2, 1, 3]>(k1)  v = Transpose<perm=[0, 2, 1, 3]>(v1)
  zero = Constant<value_int=0>()  one = Constant<value_int=1>()  first = Constant<value_ints=[0]>()
  count = Gather(shape, one)
  places = Range(zero, count, one)
  positions0 = Unsqueeze(places, first)
  positions = Expand(positions0, shape)
  q = RotaryEmbedding(q2, cosines, sines, positions)
  k3 = RotaryEmbedding(k2, cosines, sines, positions)
  k = Transpose<perm=[0, 1, 3, 2]>(k3)
  s0 = MatMul(q, k)
  root = Constant<value_float=0.35355338>()
  s1 = Mul(s0, root)
  least = Constant<value_float=-10000.0>()
  count1 = Unsqueeze(count, first)
  ends = Concat<axis=0>(count1, count1)
  full0 = Expand(least, ends)
  mask = Trilu<upper=1>(full0, one)
  s2 = Add(s1, mask)
  p = Softmax<axis=-1>(s2)
  a0 = MatMul(p, v)
  a1 = Transpose<perm=[0, 2, 1, 3]>(a0)
  width = Constant<value_ints=[16]>()
  joined = Concat<axis=0>(shape, width)
  a2 = Reshape(a1, joined)
  a = MatMul(a2, wo)
  h = Add(x, a)
  m = RMSNormalization<axis=-1>(h, g2)
  gate0 = MatMul(m, wg)  up = MatMul(m, wu)
  gate1 = Sigmoid(gate0)
  gate2 = Mul(gate0, gate1)
  inner = Mul(gate2, up)
  down = MatMul(inner, wd)
  z = Add(h, down)
  turned = Transpose(table)
  logits = MatMul(z, turned)
}
"""


def weights(made: Any, *names: str) -> dict[str, np.ndarray]:
    """Random numbers for inputs that have known sizes."""
    sizes = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in made.graph.input}
    return {name: random(*sizes[name]) * np.float32(0.3) for name in sizes if name not in names}


def llm() -> Any:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23]> g {LLM}')


def test_a_language_model() -> None:
    made = llm()
    ids = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    inputs = {"ids": ids, **weights(made, "ids")}
    (expected,) = ReferenceEvaluator(made).run(None, inputs)
    found = dmlops.onnx.run(made, inputs, dims={"batch": 2, "steps": 5})
    np.testing.assert_allclose(found["logits"], expected, rtol=1e-3, atol=1e-4)


def test_causal_attention_is_written_out_where_no_operator_has_it() -> None:
    made = parser.parse_model(
        """<ir_version: 11, opset_import: ["" : 24]> g
        (float[2, 5, 8] x, float[8, 8] wq, float[8, 8] wk, float[8, 8] wv) => (float[2, 5, 8] y)
        {
          q = MatMul(x, wq)  k = MatMul(x, wk)  v = MatMul(x, wv)
          a = Attention<q_num_heads=2, kv_num_heads=2, is_causal=1>(q, k, v)
          y = Add(a, x)
        }"""
    )
    agrees(made, x=random(2, 5, 8), **weights(made, "x"))
    assert "Attention" not in {node.operator for node in dmlops.onnx.read(made).nodes}


def test_what_a_language_model_needs() -> None:
    told = dmlops.onnx.read(llm(), dims={"batch": 2, "steps": 5})
    assert told.complete and told.runs and told.open_dims == ()
    assert str(told.level) == "5.1"  # DIAGONAL_MATRIX1, for the mask
    assert {node.operator for node in told.nodes if node.level == told.level} <= {"Trilu"}
    lower = dmlops.onnx.read(llm(), "4.1", dims={"batch": 2, "steps": 5})
    assert not lower.runs and lower.complete
    open_ = dmlops.onnx.read(llm())
    assert open_.open_dims == ("batch", "steps")
    assert not open_.complete
    assert any("dimension batch" in node.reason for node in open_.nodes if node.status == "undecided")


CNN = """
(float[batch, 3, 16, 16] x, float[8, 3, 3, 3] w1, float[8] s1, float[8] b1, float[8] m1, float[8] v1,
 float[8, 1, 3, 3] w2, float[12, 8, 1, 1] w3, float[12, 8, 1, 1] w4, float[12] b3, float[12, 10] wf, float[10] bf)
=> (float[batch, 10] y)
{
  c1 = Conv<pads=[1, 1, 1, 1]>(x, w1)
  n1 = BatchNormalization(c1, s1, b1, m1, v1)
  r1 = Relu(n1)
  p1 = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(r1)
  d = Conv<group=8, pads=[1, 1, 1, 1]>(p1, w2)
  low = Constant<value_float=0.0>()  high = Constant<value_float=6.0>()
  r2 = Clip(d, low, high)
  c3 = Conv(r2, w3, b3)
  c4 = Conv(p1, w4)
  sum = Add(c3, c4)
  h = HardSwish(sum)
  scales = Constant<value_floats=[1.0, 1.0, 2.0, 2.0]>()
  u = Resize<mode="linear">(h, , scales)
  q = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(u)
  g = GlobalAveragePool(q)
  f = Flatten(g)
  z = Gemm(f, wf, bf)
  y = Softmax(z)
}
"""


def cnn() -> Any:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {CNN}')


@pytest.mark.parametrize("level", [None, "6.4", "2.1"])
def test_a_convolutional_network(level: str | None) -> None:
    made = cnn()
    inputs = {"x": random(2, 3, 16, 16), **weights(made, "x")}
    inputs["v1"] = np.abs(inputs["v1"])
    (expected,) = ReferenceEvaluator(made).run(None, inputs)
    found = dmlops.onnx.run(made, inputs, level, {"batch": 2})
    np.testing.assert_allclose(found["y"], expected, rtol=1e-3, atol=1e-5)


def test_what_a_convolutional_network_needs() -> None:
    told = dmlops.onnx.read(cnn(), dims={"batch": 1})
    assert told.runs
    assert str(told.level) == "2.1"  # RESAMPLE1
    inputs = {"x": random(1, 3, 16, 16), **weights(cnn(), "x")}
    with pytest.raises(dmlops.onnx.NotRunnable, match="Resize"):
        dmlops.onnx.run(cnn(), inputs, "2.0", {"batch": 1})


# The command.


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnx.save(cnn(), folder / "cnn.onnx")
    hostile = model("(float[2,3] x) => (float[2,3] y) { y = Softmax(x) z = Det(x) }")
    hostile.graph.node[1].name = "<script>alert(1)</script>\x1b[31m\n"
    hostile.graph.node[0].name = "a&b" * 200
    onnx.save(hostile, folder / "hostile.onnx")
    (folder / "text.onnx").write_text("no model", "utf-8")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "cut.onnx").write_bytes(cnn().SerializeToString()[:200])
    return folder


def test_the_table_says_what_the_model_needs(files: Path, capsys: Any) -> None:
    assert main(["onnx", str(files / "cnn.onnx"), "--dim", "batch=2"]) == 0
    text = capsys.readouterr().out
    assert "It needs feature level 2.1: DirectML 1.2.0 or newer, or Windows Server 2022 (build 20348)" in text
    assert re.search(r"^Conv +CONVOLUTION +4 +1\.0 +ok$", text, re.MULTILINE)
    assert "\x1b" not in text


def test_a_level_that_is_too_low(files: Path, capsys: Any) -> None:
    assert main(["onnx", str(files / "cnn.onnx"), "--dim", "batch=2", "--level", "2.0"]) == 1
    text = capsys.readouterr().out
    assert "Feature level 2.0 does not accept it" in text
    assert "DML-OPERATOR-since" in text and "Feature level 2.1 accepts it: DirectML 1.2.0" in text


def test_json_has_every_description(files: Path, capsys: Any) -> None:
    assert main(["onnx", str(files / "cnn.onnx"), "--dim", "batch=2", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["level"], value["runs"], len(value["nodes"])) == ("2.1", True, 19)
    for node in value["nodes"]:
        for one in node["descriptions"]:
            assert dmlops.from_json(one).validate("6.4") == []


class Page(html.parser.HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_escapes_what_a_model_says(files: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "report.html"
    assert main(["onnx", str(files / "hostile.onnx"), "--html", str(target)]) == 1
    page = Page(target.read_text("utf-8"))
    assert "script" not in page.tags and "<script>alert(1)</script>" in page.text
    assert all(char.isprintable() or char == "\n" for char in page.text)
    assert page.tags.count("tr") == 2 + 2 + 2
    assert not re.search(r"https?://", target.read_text("utf-8"))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "colored"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
    ],
)
def test_color_as_for_other_commands(
    files: Path, environment: dict[str, str], colored: bool, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(["onnx", str(files / "cnn.onnx")])
    assert ("\x1b" in capsys.readouterr().out) is colored


@pytest.mark.parametrize("name", ["text.onnx", "empty.onnx", "cut.onnx", "absent.onnx", ""])
def test_what_is_no_model_is_told_in_a_line(files: Path, name: str, capsys: Any) -> None:
    assert main(["onnx", str(files / name)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and told.err.startswith("dmlops: ")


@pytest.mark.parametrize("dim", ["batch", "batch=", "=3", "batch=-1", "batch=0", "batch=99999999999"])
def test_a_dimension_that_is_none(files: Path, dim: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["onnx", str(files / "cnn.onnx"), "--dim", dim])
    assert stopped.value.code == 2


@pytest.mark.parametrize("command", [["onnx"], ["plan", "--out", "plan"]])
def test_without_the_package_onnx(files: Path, command: list[str]) -> None:
    code = "import sys; sys.modules['onnx'] = None; from dmlops.__main__ import main; sys.exit(main(sys.argv[1:]))"
    call = [sys.executable, "-c", code, *command, str(files / "cnn.onnx")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install onnx" in done.stderr


# Models that are not what they say.


def test_spoiled_bytes_never_raise_anything_else(files: Path) -> None:
    data = bytearray(cnn().SerializeToString())
    places = np.random.default_rng(0)
    for _ in range(150):
        spoiled = bytearray(data)
        for place in places.integers(0, len(data), 4):
            spoiled[place] = places.integers(0, 256)
        path = files / "spoiled.onnx"
        path.write_bytes(spoiled)
        try:
            dmlops.onnx.read(str(path), dims={"batch": 1})
        except dmlops.onnx.Unreadable:
            continue


def test_a_huge_constant_is_not_made() -> None:
    made = model(
        "(float[2,3] x) => (float[a] y) { s = Constant<value_ints=[1000000, 1000000]>() y = ConstantOfShape(s) }"
    )
    (_, node) = dmlops.onnx.read(made).nodes
    assert (node.status, node.operators) == (
        "refused",
        ("FILL_VALUE_CONSTANT",),
    )  # more than a tensor may have


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("QuickGelu<alpha = 1.0, beta = 2.0>(x)", "beta is not known as an attribute of QuickGelu"),
        ("QuickGelu(x, x)", "QuickGelu is not known to have so many inputs or outputs"),
    ],
)
def test_what_a_newer_version_adds_is_not_left_out_silently(node: str, reason: str) -> None:
    made = model(f"(float[2,3] x) => (float[2,3] y) {{ y = com.microsoft.{node} }}")
    (found,) = dmlops.onnx.read(made).nodes
    assert not found.operators and reason in found.reason


def test_data_in_other_files_is_not_read(tmp_path: Path) -> None:
    made = model("(float[2,3] x) => (float[a,b] y) { y = Reshape(x, s) }", s=np.array([3, 2]))
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    told = dmlops.onnx.read(made)
    assert [node.status for node in told.nodes] == ["undecided"]


def test_nodes_within_branches_are_told_too() -> None:
    branch = helper.make_graph(
        [helper.make_node("Det", ["x"], ["d"], name="inside")],
        "b",
        [],
        [helper.make_tensor_value_info("d", 1, [])],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", 1, [2, 2]),
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", 1, [])])
    told = dmlops.onnx.read(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
    assert [one.operator for one in told.nodes] == ["If", "Det", "Det"]
