"""Counterparts against ONNX's own schemas and WebNN in NumPy, and findings for mistakes in their specs."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx.defs
import pytest
from onnx import helper

from dmlgen.diagnostics import SpecError
from dmlgen.resolve import load_registry
from dmlops import counterparts, registry
from dmlops.counterparts.describe import at_common_rank, best, plans
from dmlops.counterparts.tensors import Impossible, Tensor, Undecided, View
from dmlops.onnx.execute import plain, shaped
from spoiled import edit
from whole_registry import whole_registry

SPECS = Path(__file__).parents[1] / "specs"
NEWEST = onnx.defs.onnx_opset_version()
CHANGED = defaultdict[str, set[int]](set)  # the versions at which an operator's schema changed
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        CHANGED[schema.name].add(schema.since_version)
OPERATIONS = [one for one in counterparts.operations("onnx") if one.domain == ""]
KINDS = {
    "?": onnx.defs.OpSchema.FormalParameterOption.Optional,
    "*": onnx.defs.OpSchema.FormalParameterOption.Variadic,
}


def test_every_operator_of_onnx_is_told() -> None:
    known = {one.name for one in OPERATIONS}
    assert known == {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""}


@pytest.mark.parametrize("operation", OPERATIONS, ids=[one.name for one in OPERATIONS])
def test_signatures_are_those_of_onnx(operation: counterparts.Operation) -> None:
    """At the newest version of each, and the same count of inputs and outputs at the oldest."""
    for signature in operation.signatures:
        schema = onnx.defs.get_schema(operation.name, signature.last or NEWEST, "")
        newest = signature is operation.signatures[0]
        for ours, theirs in ((signature.inputs, schema.inputs), (signature.outputs, schema.outputs)):
            if newest:
                assert [name.rstrip("?*") for name in ours] == [one.name for one in theirs]
            plain_kind = onnx.defs.OpSchema.FormalParameterOption.Single
            assert [KINDS.get(name[-1], plain_kind) for name in ours] == [one.option for one in theirs]
        defaults = defaults_of(schema)
        assert signature.attributes.keys() == defaults.keys()
        for name, default in defaults.items():
            assert signature.attributes[name] == default, name


@pytest.mark.parametrize("operation", OPERATIONS, ids=[one.name for one in OPERATIONS])
def test_signatures_hold_at_every_version_that_they_cover(operation: counterparts.Operation) -> None:
    """An attribute of an older schema is one of the signature, with the same default.

    They cover all versions from the operator's first one on, or from 7 on.
    """
    assert operation.signatures[-1].first <= max(7, min(CHANGED[operation.name]))
    for signature in operation.signatures:
        first = max(signature.first, min(CHANGED[operation.name]))
        later = {one for one in CHANGED[operation.name] if first < one <= (signature.last or NEWEST)}
        for version in {first, *later} if signature.forms else ():
            schema = onnx.defs.get_schema(operation.name, version, "")
            for name, default in defaults_of(schema).items():
                assert name in signature.attributes, (version, name)
                assert signature.attributes[name] == default, (version, name)
            assert len(schema.inputs) <= len(signature.inputs), version
            assert len(schema.outputs) <= len(signature.outputs), version
            required = [
                one for one in schema.inputs if one.option == onnx.defs.OpSchema.FormalParameterOption.Single
            ]
            for ours in [one for one in signature.inputs if one[-1] not in "?*"]:
                assert len(required) > signature.inputs.index(ours), (version, ours)


def defaults_of(schema: onnx.defs.OpSchema) -> dict[str, Any]:
    """The attributes of an operator with their defaults, None where there is none."""
    defaults: dict[str, Any] = {}
    for name, attribute in schema.attributes.items():
        value = helper.get_attribute_value(attribute.default_value) if attribute.default_value.type else None
        if isinstance(value, list):
            value = [one.decode() if isinstance(one, bytes) else one for one in value]
        value = value.decode() if isinstance(value, bytes) else value
        defaults[name] = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
    return defaults


@pytest.mark.parametrize(
    "operation", counterparts.operations("onnx"), ids=lambda one: f"{one.domain}.{one.name}"
)
def test_attributes_are_used_or_ignored(operation: counterparts.Operation) -> None:
    for signature in operation.signatures:
        if not signature.forms:
            continue
        texts = [*signature.let.values(), *(limit.when for limit in signature.limits)]
        for form in signature.forms:
            texts += [
                form.when,
                *form.let.values(),
                *(text for pair in form.tensors.values() for text in pair),
            ]
            texts += [text for step in form.steps for text in step.desc.values()]
        words = set(" ".join(texts).translate(str.maketrans("()[]{},+-*/:", " " * 12)).split())
        unused = {name for name in signature.attributes if name not in words}
        assert unused <= set(signature.ignored)
        assert not (set(signature.ignored) - unused - set(signature.attributes))


def test_every_operator_of_directml_leads_somewhere_or_says_why() -> None:
    data = whole_registry().counterparts
    for interface in ("onnx", "webnn"):
        reached = {name for one in data.operations if one.interface == interface for name in one.operators}
        assert reached | data.without[interface].keys() == registry.OPERATORS.keys()
        assert not reached & data.without[interface].keys()
    assert data.directmlx.keys() | data.without["directmlx"].keys() == registry.OPERATORS.keys()
    assert all(reason for reasons in data.without.values() for reason in reasons.values())


def test_questions() -> None:
    assert {"Softmax", "softmax"} <= {one.name for one in counterparts.of("ActivationSoftmax1")}
    assert counterparts.directmlx("GEMM") == ("Gemm",)
    assert counterparts.operation("onnx", "Nothing") is None
    with pytest.raises(KeyError):
        counterparts.of("NOTHING")


# WebNN, by what NumPy computes.


def webnn(
    name: str, inputs: Mapping[str, Any], outputs: Mapping[str, tuple[Any, tuple[int, ...]]], **options: Any
) -> list[dict[str, np.ndarray]]:
    """The outputs of every form of an operation; inputs are arrays, lists of them, or absent."""
    operation = counterparts.operation("webnn", name)
    assert operation
    (signature,) = operation.signatures
    arrays: dict[str, np.ndarray] = {}

    def view(key: str, array: Any) -> View:
        arrays[key] = plain(array)
        return View(
            Tensor(key, arrays[key].dtype.name.upper(), arrays[key].shape, scalar=np.ndim(array) == 0)
        )

    values: dict[str, Any] = {**signature.attributes, **options}
    for formal in signature.inputs:
        given = inputs.get(formal.rstrip("?*"))
        key = formal.rstrip("?*")
        if isinstance(given, list):
            values[key] = [view(f"{key}{number}", one) for number, one in enumerate(given)]
        else:
            values[key] = None if given is None else view(key, given)
    for formal in signature.outputs:
        key = formal.rstrip("?*")
        told = {one: what for one, what in outputs.items() if one.rstrip("0123456789") == key or one == key}
        made = [
            View(Tensor(one, np.dtype(type_).name.upper(), sizes or (1,)))
            for one, (type_, sizes) in told.items()
        ]
        values[key] = made if formal.endswith("*") else (made[0] if made else None)
    results = []
    for plan in plans(signature, values):
        for one in (plan, at_common_rank(plan)):
            if one.level is not None:
                results.append(one.run(arrays))
    assert results
    return results


RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
ROW = RANDOM.standard_normal((4, 5)).astype(np.float32)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


def _pooled(x: np.ndarray, kind: Any) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))[:, :, ::2, ::1]
    return np.asarray(kind(windows, (4, 5)))


def _normalized(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray((x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5))


WEBNN: list[tuple[str, dict[str, Any], np.ndarray, dict[str, Any]]] = [
    ("abs", {"input": X}, np.abs(X), {}),
    ("add", {"a": X, "b": ROW}, X + ROW, {}),
    ("clamp", {"input": X}, X.clip(-0.5, 0.25), {"minValue": -0.5, "maxValue": 0.25}),
    ("notEqual", {"a": X, "b": X.round()}, (X.round() != X).astype(np.uint8), {}),
    ("hardSwish", {"input": X}, X * (X + 3).clip(0, 6) / 6, {}),
    ("linear", {"input": X}, X * 2 - 1, {"alpha": 2.0, "beta": -1.0}),
    ("prelu", {"input": X, "slope": ROW}, np.where(X < 0, X * ROW, X), {}),
    ("where", {"condition": (X > 0).astype(np.uint8), "trueValue": X, "falseValue": ROW}, np.where(X > 0, X, ROW), {}),
    ("argMax", {"input": X}, X.argmax(2).astype(np.int32), {"axis": 2}),
    ("cumulativeSum", {"input": X}, X[..., ::-1].cumsum(3)[..., ::-1], {"axis": 3, "reversed": 1}),
    ("reduceLogSumExp", {"input": X}, np.log(np.exp(X).sum((1, 3))), {"axes": [1, 3]}),
    ("reduceMean", {"input": X}, X.mean((0, 1, 2, 3), keepdims=True), {"keepDimensions": 1}),
    ("softmax", {"input": X}, _softmax(X, 1), {"axis": 1}),
    ("softmax", {"input": X}, _softmax(X, 3), {"axis": 3}),
    ("concat", {"inputs": [X, X[:, :1]]}, np.concatenate([X, X[:, :1]], 1), {"axis": 1}),
    ("expand", {"input": ROW[:1]}, np.broadcast_to(ROW[:1], (3, 4, 5)), {}),
    ("gather", {"input": X, "indices": np.array([[1, 0], [2, 2]], np.int32)}, X[:, [[1, 0], [2, 2]]], {"axis": 1}),
    ("gather", {"input": X, "indices": np.array(1, np.int32)}, X[:, 1], {"axis": 1}),
    ("gatherND", {"input": X, "indices": np.array([[1, 2], [0, 1]], np.int32)}, X[[1, 0], [2, 1]], {}),
    ("pad", {"input": ROW}, np.pad(ROW, ((1, 0), (0, 2)), constant_values=3), {"beginningPadding": [1, 0], "endingPadding": [0, 2], "value": 3}),
    ("pad", {"input": ROW}, np.pad(ROW, ((1, 2), (1, 2)), "reflect"), {"beginningPadding": [1, 1], "endingPadding": [2, 2], "mode": "reflection"}),
    ("reshape", {"input": X}, X.reshape(6, 20), {}),
    ("reverse", {"input": X}, X[:, ::-1, :, ::-1], {"axes": [1, 3]}),
    ("slice", {"input": ROW}, ROW[1:4:2, 1:3], {"starts": [1, 1], "sizes": [3, 2], "strides": [2, 1]}),
    ("tile", {"input": ROW}, np.tile(ROW, (2, 3)), {"repetitions": [2, 3]}),
    ("transpose", {"input": X}, X.transpose(3, 1, 0, 2), {"permutation": [3, 1, 0, 2]}),
    ("triangular", {"input": X}, np.triu(X, 1), {"upper": 1, "diagonal": 1}),
    ("triangular", {"input": X}, np.tril(X, -1), {"upper": 0, "diagonal": -1}),
    ("averagePool2d", {"input": X}, _pooled(X, np.mean), {"windowDimensions": [2, 3], "strides": [2, 1]}),
    ("l2Pool2d", {"input": X}, _pooled(X, lambda w, a: np.sqrt((w**2).sum(a))), {"windowDimensions": [2, 3], "strides": [2, 1]}),
    ("maxPool2d", {"input": X.transpose(0, 2, 3, 1).copy()}, _pooled(X, np.max).transpose(0, 2, 3, 1), {"windowDimensions": [2, 3], "strides": [2, 1], "layout": "nhwc"}),
    ("gemm", {"a": ROW, "b": ROW, "c": np.float32(2)}, 0.5 * ROW.T @ ROW + 6, {"alpha": 0.5, "beta": 3.0, "aTranspose": 1}),
    ("matmul", {"a": X, "b": ROW.T.copy()}, X @ ROW.T, {}),
    ("matmul", {"a": np.stack([X, X]), "b": np.stack([X, X]).swapaxes(3, 4).copy()}, np.stack([X, X]) @ np.stack([X, X]).swapaxes(3, 4), {}),
    ("resample2d", {"input": X}, X.repeat(2, 2).repeat(3, 3), {}),
    ("batchNormalization", {"input": X, "mean": X.mean((0, 2, 3)), "variance": X.var((0, 2, 3))}, _normalized(X, (0, 2, 3)), {}),
    ("instanceNormalization", {"input": X, "bias": np.float32([1, 2, 3])}, _normalized(X, (2, 3)) + np.float32([1, 2, 3]).reshape(3, 1, 1), {}),
    ("instanceNormalization", {"input": X}, _normalized(X, (1, 2)), {"layout": "nhwc"}),
    ("layerNormalization", {"input": X, "scale": ROW[:, 0]}, _normalized(X, (2,)) * ROW[:, :1], {"axes": [2]}),
    ("quantizeLinear", {"input": X, "scale": np.float32([0.5]), "zeroPoint": np.uint8([7])}, (np.rint(X / 0.5) + 7).clip(0, 255).astype(np.uint8), {}),
]  # fmt: skip


@pytest.mark.parametrize("case", WEBNN, ids=[f"{number}-{case[0]}" for number, case in enumerate(WEBNN)])
def test_webnn_computes_what_numpy_does(case: tuple[str, dict[str, Any], np.ndarray, dict[str, Any]]) -> None:
    name, inputs, expected, options = case
    for found in webnn(name, inputs, {"output": (expected.dtype, expected.shape)}, **options):
        result = shaped(Tensor("output", None, None, scalar=expected.ndim == 0), found["output"])
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_webnn_convolutions_in_every_layout() -> None:
    filters = RANDOM.standard_normal((2, 3, 2, 2)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(X, (2, 2), (2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, filters)
    for layout, order in {
        "oihw": (0, 1, 2, 3),
        "hwio": (2, 3, 1, 0),
        "ohwi": (0, 2, 3, 1),
        "ihwo": (1, 2, 3, 0),
    }.items():
        turned = filters.transpose(order).copy()
        for found in webnn(
            "conv2d",
            {"input": X, "filter": turned},
            {"output": (np.float32, (2, 2, 3, 4))},
            filterLayout=layout,
        ):
            np.testing.assert_allclose(found["output"], expected, rtol=1e-4, atol=1e-5)
    last = X.transpose(0, 2, 3, 1).copy()
    for found in webnn(
        "conv2d",
        {"input": last, "filter": filters},
        {"output": (np.float32, (2, 3, 4, 2))},
        inputLayout="nhwc",
    ):
        np.testing.assert_allclose(found["output"], expected.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


def test_a_cell_of_webnn_is_a_network_of_one_step() -> None:
    x, h, c = (RANDOM.standard_normal((2, size)).astype(np.float32) for size in (4, 3, 3))
    w, r, b, rb = (
        RANDOM.standard_normal(sizes).astype(np.float32) for sizes in ((12, 4), (12, 3), (12,), (12,))
    )
    gates = (x @ w.T + b + h @ r.T + rb).reshape(2, 4, 3).swapaxes(0, 1)
    i, o, f = (1 / (1 + np.exp(-gate)) for gate in gates[:3])
    cell = f * c + i * np.tanh(gates[3])
    inputs = {
        "input": x,
        "weight": w,
        "recurrentWeight": r,
        "hiddenState": h,
        "cellState": c,
        "bias": b,
        "recurrentBias": rb,
    }
    for found in webnn(
        "lstmCell", inputs, {"output": (np.float32, (2, 3)), "cell": (np.float32, (2, 3))}, hiddenSize=3
    ):
        np.testing.assert_allclose(found["cell"], cell, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found["output"], o * np.tanh(cell), rtol=1e-4, atol=1e-5)


# Forms, levels, and what is not known.


@pytest.mark.parametrize("name", ["Affine", "Elu", "HardSigmoid", "LeakyRelu", "ThresholdedRelu"])
def test_recurrent_activations_have_the_defaults_of_the_operators_of_their_names(name: str) -> None:
    """As the schema of RNN says; Affine was an operator until ONNX 1.4, with these."""
    one = counterparts.operation("onnx", "RNN")
    assert one
    signature = one.signatures[0]
    sizes = {"X": (3, 1, 2), "W": (1, 4, 2), "R": (1, 4, 4), "Y": (3, 1, 1, 4)}
    values = {
        **dict.fromkeys(formal.rstrip("?*") for formal in signature.inputs + signature.outputs),
        **{tensor: View(Tensor(tensor, "FLOAT32", shape)) for tensor, shape in sizes.items()},
    }
    plan, _ = best(signature, {**signature.attributes, "activations": [name], **values})
    (activation,) = plan.work[-1].desc.ActivationDescs
    theirs = {"alpha": 1.0, "beta": 0.0} if name == "Affine" else defaults_of(onnx.defs.get_schema(name))
    ours = {member.name.lower(): getattr(activation, member.name) for member in activation.MEMBERS[2:]}
    assert ours == theirs


def softmax_of(
    sizes: tuple[int | str, ...], type_: str | None = "FLOAT32", **attributes: Any
) -> dict[str, Any]:
    one = counterparts.operation("onnx", "Softmax")
    assert one
    tensors = {name: View(Tensor(name, type_, sizes)) for name in ("input", "output")}
    return {
        "signature": one.signatures[0],
        "values": {**one.signatures[0].attributes, **attributes, **tensors},
    }


def test_the_form_of_the_lowest_level_is_chosen_unless_a_level_is_asked_for() -> None:
    plan, lowest = best(**softmax_of((2, 3)))
    assert ([work.desc.OPERATOR for work in plan.work], str(lowest)) == (["ACTIVATION_SOFTMAX"], "1.0")
    plan, lowest = best(**softmax_of((2, 3), axis=0))
    assert ([work.desc.OPERATOR for work in plan.work], str(lowest)) == (["ACTIVATION_SOFTMAX1"], "5.1")


@pytest.mark.parametrize(
    ("sizes", "type_", "error", "said"),
    [
        ((2, "batch"), "FLOAT32", Undecided, "the dimension batch of input is not known"),
        ((2, 3), None, Undecided, "the data type of input is not known"),
        ((2, 3), "bfloat16", Impossible, "input has elements of type bfloat16, which DirectML does not have"),
        ((2, 0), "FLOAT32", Impossible, "input has no elements"),
    ],
)
def test_what_keeps_a_node_from_a_description(sizes: Any, type_: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        best(**softmax_of(sizes, type_))


@pytest.mark.parametrize("axis", [7, -3, "last", None, [0], 1 << 70, 0.5])
def test_a_node_that_is_not_well_formed_is_impossible(axis: Any) -> None:
    with pytest.raises(Impossible):
        best(**softmax_of((2, 3), axis=axis))


# Mistakes in specs: all at once, since reading all specs takes a second.


MISTAKES = [
    ("onnx", "Abs: {extends: unary, operator: ELEMENT_WISE_ABS}", "Abs: {extends: unary, operator: ELEMENT_WISE_ABZ}", "there is no operator ELEMENT_WISE_ABZ (did you mean 'ELEMENT_WISE_ABS'?)"),
    ("onnx", "{InputTensor: X, OutputTensor: Y, Alpha: alpha, Gamma: gamma}", "{InputTensor: X, OutputTensor: Y, Alpha: alpha, Gama: gamma}", "ACTIVATION_SCALED_ELU has no member Gama (did you mean 'Gamma'?)"),
    ("onnx", "RoundingMode: HALVES_TO_NEAREST_EVEN", "RoundingMode: FLOAT32", "'FLOAT32' is not a value of ROUNDING_MODE"),
    ("onnx", "InfinityMode: EITHER if", "InfinityMode: ETHER if", "'ETHER' is not an input, output, attribute, definition or enumerator here (did you mean 'EITHER'?)"),
    ("onnx", 'SlopeTensor: "expand(slope, X.Sizes)"', 'SlopeTensor: "expnd(slope, X.Sizes)"', "there is no function expnd (did you mean 'expand'?)"),
    ("onnx", 'ConditionTensor: "expand(condition, output.Sizes)"', "ConditionTensor: output.Sizes", "output.Sizes is not a tensor"),
    ("onnx", 'InputTensor: "expand(input, output.Sizes)"', 'InputTensor: "expand(input, output.Sises)"', "a tensor of a node has no field 'Sises' (did you mean 'Sizes'?)"),
    ("onnx", 'InputTensor: "permute(data, order)"', 'InputTensor: "permute(data)"', "permute takes 2 arguments"),
    ("onnx", 'Repeats: "more + [', 'Repeats: "(lambda: more)() + [', "there is no function"),
    ("onnx", "Offset: k, Value: 1.0", "Offset: __import__, Value: 1.0", "'__import__' is not an input"),
    ("onnx", "ValueStart: value(start), ValueDelta: value(delta)", "ValueStart: value(start)", "does not say what ValueDelta is"),
    ("onnx", "Neg:\n", "Neg:\n    extends: unory\n", "there is no shared entry unory (did you mean 'unary'?)"),
    ("onnx", "over: data_0, operator: ELEMENT_WISE_MIN", "over: data_1, operator: ELEMENT_WISE_MIN", "there is no input data_1 (did you mean 'data_0'?)"),
    ("onnx", "opsets: 7-10\n        inputs: [input]", "opsets: 7-9\n        inputs: [input]", "the versions before 11 must end with 10"),
    ("onnx", "none: DirectML has no determinant", "note: DirectML has no determinant", "or says why there is `none`"),
    ("onnx", "members: {Steepness: 1.0}}", "members: {}}", "Softplus does not say what Steepness is"),
    ("onnx", "FLOAT32: 1, UINT8: 2", "FLOAT33: 1, UINT8: 2", "there is no data type FLOAT33"),
    ("webnn", "operator: ELEMENT_WISE_TAN}", "operator: ELEMENT_WISE_TANH}", "nothing leads to ELEMENT_WISE_TAN;"),
    ("webnn", "operators: [ACTIVATION_IDENTITY,", "operators: [GEMM,", "GEMM has a counterpart above"),
    ("directmlx", "GEMM: Gemm", "GEM: Gemm", "there is no operator GEM (did you mean 'GEMM'?)"),
    ("onnxruntime", "types: float}", "types: flaot}", "there is no group of types flaot (did you mean 'float'?)"),
]  # fmt: skip


def findings_of(folder: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_registry(folder)
    return [f"{one.position}: {one.text}" for one in caught.value.findings]


def test_every_mistake_is_a_finding_with_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(SPECS, folder)
    for name, old, new, _ in MISTAKES:
        edit(folder / "counterparts" / f"{name}.yaml", old, new)
    findings = findings_of(folder)
    for name, _, _, said in MISTAKES:
        assert any(f"{name}.yaml" in finding and said in finding for finding in findings), (said, findings)


def test_a_file_of_another_shape_is_a_finding(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(SPECS, folder)
    edit(folder / "counterparts/onnx.yaml", "\n  Det: {opsets: 11-,", "\n  Det: {opsets: eleven,")
    (folder / "counterparts" / "webnn.yaml").unlink()
    findings = findings_of(folder)
    assert any("versions, as in 13-, 7-12 or 9" in one for one in findings)
    assert any("webnn.yaml" in one and "missing" in one for one in findings)
