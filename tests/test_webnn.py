"""WebNN graphs: W3C's conformance cases, the specification's corners in NumPy, levels, and mistakes."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlops import webnn
from dmlops.webnn.operands import number, operand
from facts_data import rows

DATA = Path(__file__).parent / "data" / "webnn" / "cases.jsonl.gz"
WRONG = {
    "l2Pool2d float32 4D tensor options.roundingType=ceil": "expects sums of squares without the root",
    "l2Pool2d float32 4D tensor options.outputSizes ignores options.roundingType=floor": "likewise",
    "batchNormalization options.axis=0 + gelu": "expects what is 34 ULP from the exact value",
    "pad float32 4D tensor options.mode='symmetric'": "uses a mode that WebNN dropped",
}
GRAPH = ("ULP", 16)  # where the suite gives no tolerance


def cases() -> list[dict[str, Any]]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CASES = cases()
FILES: dict[str, list[dict[str, Any]]] = {}
for _case in CASES:
    FILES.setdefault(_case["file"], []).append(_case)


def places(array: np.ndarray) -> np.ndarray:
    """Floating-point numbers by their place among all of their type, so that differences are in ULP."""
    integers = array.view(f"int{8 * array.itemsize}").astype(np.int64)
    return np.where(integers < 0, -(1 << (8 * array.itemsize - 1)) - integers, integers)


def agrees(found: np.ndarray, expected: Any, tolerance: Any) -> bool:
    _, shape, values = expected[:3]
    kind, distance = tolerance or GRAPH
    if found.dtype.kind != "f":
        wanted = np.array(number(values), object).reshape(shape)
        return bool(np.all(abs(found.astype(object) - wanted) <= distance))
    _, array = operand("expected", expected)
    assert array is not None and (found.dtype, found.shape) == (array.dtype, array.shape)
    if np.array_equal(found, array):
        return True
    same = (found == array) | (np.isnan(found) & np.isnan(array))
    with np.errstate(all="ignore"):
        close = abs(places(found) - places(array)) if kind == "ULP" else abs(found.astype(float) - array)
    return bool((same | (close <= distance)).all())


@pytest.mark.parametrize("file", FILES)
def test_conformance(file: str) -> None:
    wrong = []
    for case in FILES[file]:
        try:
            found = webnn.run(case)
            good = all(agrees(found[name], value, case["tol"]) for name, value in case["out"].items())
        except (webnn.NotRunnable, ValueError) as error:
            good, found = False, {"error": error}
        if good == (case["name"] in WRONG):
            wrong.append((case["name"], found))
    assert not wrong


def test_no_case_is_missing() -> None:
    assert len(CASES) == 2143
    assert {case["name"] for case in CASES} >= WRONG.keys()


# Forms for levels at which DirectML had another way.


OLDER = {
    "gelu": "ACTIVATION_GELU",
    "softmax": "ACTIVATION_SOFTMAX1",
    "triangular": "DIAGONAL_MATRIX1",
    "neg": "ELEMENT_WISE_NEGATE",
    "pad": "PADDING1",
    "resample2d": "RESAMPLE2",
}
NEWER = {  # of these, what no form computes at level 4.0
    "neg int8 4D tensor",
    "neg int64 4D tensor",
    "pad float32 4D tensor options.mode='symmetric'",
}


@pytest.mark.parametrize("file", OLDER)
def test_older_levels_have_another_form(file: str) -> None:
    left = set()
    for case in FILES[file]:
        model = webnn.read(case, "4.0")
        if not model.runs:
            left.add(case["name"])
            continue
        assert OLDER[file] not in {name for node in model.nodes for name in node.operators}
        found = webnn.run(case, level="4.0")
        assert all(agrees(found[name], value, case["tol"]) for name, value in case["out"].items())
    assert left == {name for name in NEWER if name.startswith(file)}


@pytest.mark.parametrize("type_", ["int32", "uint32", "int8", "uint8"])
@pytest.mark.parametrize("level", ["4.0", "5.0", "6.4"])
def test_clamp_of_integers(type_: str, level: str) -> None:
    graph = one("clamp", {"input": np.array([0, 3, 90, 120], type_)}, minValue=-5.5, maxValue=100)
    assert webnn.run(graph, level=level)["y"].tolist() == [0, 3, 90, 100]


# What the specification says at its corners, in NumPy.


RANDOM = np.random.default_rng(11)


def one(name: str, operands: dict[str, Any], outputs: int = 1, **options: Any) -> dict[str, Any]:
    """A graph of one operation; its operands are arrays, or absent."""
    arrays = {key: np.asarray(array) for key, array in operands.items()}
    return {
        "in": {
            key: [array.dtype.name, list(array.shape), array.ravel().tolist()]
            for key, array in arrays.items()
        },
        "ops": [[name, [{key: key} for key in arrays] + [{"options": options}], list("yzw"[:outputs])]],
    }


def real(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


X, SCALE, BIAS = real(2, 3, 4), real(4, 3), real(4, 3)
NORMAL = (X - X.mean((1, 2), keepdims=True)) / np.sqrt(X.var((1, 2), keepdims=True) + np.float32(1e-5))
A, B = real(2, 1, 3, 4, 5), real(1, 6, 3, 5, 2)
BIG = np.array([-(1 << 62), -3, 0, (1 << 62) + 1])
CORNERS: list[tuple[dict[str, Any], Any]] = [
    (one("clamp", {"input": np.float32([-np.inf, 1, np.inf])}), np.float32([-np.inf, 1, np.inf])),
    (one("clamp", {"input": np.float32([-2, 1, 9])}, minValue="NaN", maxValue=3), np.float32([-2, 1, 3])),
    (one("clamp", {"input": np.float32(5)}, minValue="-Infinity", maxValue=2), np.float32(2)),
    (one("clamp", {"input": np.uint8([0, 7, 255])}, minValue=-4, maxValue=1000), np.uint8([0, 7, 255])),
    (one("clamp", {"input": BIG}, maxValue="4611686018427387904n"), BIG.clip(None, 1 << 62)),
    (one("relu", {"input": BIG}), BIG.clip(0)),
    (one("relu", {"input": np.int8([-128, 0, 5])}), np.int8([0, 0, 5])),
    (one("prelu", {"input": np.int64([-3, 4]), "slope": np.int64([[2], [-1]])}), np.int64([[-6, 4], [3, 4]])),
    (one("slice", {"input": np.float32(3)}, starts=[], sizes=[]), np.float32(3)),
    (one("slice", {"input": X}, starts=[0, 1, 0], sizes=[2, 2, 4], strides=[1, 1, 3]), X[:, 1:, ::3]),
    (one("pad", {"input": np.float32(3)}, beginningPadding=[], endingPadding=[]), np.float32(3)),
    (one("pad", {"input": np.int32([1, 2])}, beginningPadding=[1], endingPadding=[2], value=7), np.int32([7, 1, 2, 7, 7])),
    (one("tile", {"input": np.float32(3)}, repetitions=[]), np.float32(3)),
    (one("tile", {"input": X}, repetitions=[1, 2, 3]), np.tile(X, (1, 2, 3))),
    (one("transpose", {"input": np.float32(3)}, permutation=[]), np.float32(3)),
    (one("expand", {"input": np.float32(3)}, newShape=[2, 2]), np.full((2, 2), np.float32(3))),
    (one("reshape", {"input": np.float32([[3]])}, newShape=[]), np.float32(3)),
    (one("reduceSumSquare", {"input": X}, axes=[]), X * X),
    (one("reduceMax", {"input": np.int8([[1, -7], [3, 2]])}, axes=[0], keepDimensions=True), np.int8([[3, 2]])),
    (one("argMax", {"input": X}, axis=1, outputDataType="int64"), X.argmax(1)),
    (one("gather", {"input": X, "indices": np.int64([[2, -1]])}, axis=1), X[:, [[2, -1]]]),
    (one("matmul", {"a": A, "b": B}), A @ B),
    (one("matmul", {"a": A, "b": real(2, 1, 1, 5, 3)}), None),
    (one("layerNormalization", {"input": X, "scale": SCALE, "bias": BIAS}, axes=[2, 1]), NORMAL * SCALE.T + BIAS.T),
    (one("layerNormalization", {"input": X, "scale": np.float32(3), "bias": np.float32(0.5)}, axes=[]), np.full_like(X, 0.5)),
    (one("layerNormalization", {"input": np.float32(3)}), np.float32(0)),
    (one("layerNormalization", {"input": X[0, 0]}), np.zeros_like(X[0, 0])),
    (one("maxPool2d", {"input": np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)}, windowDimensions=[3, 3], strides=[2, 2], outputShapeRounding="ceil"), np.uint8([[[[10, 11], [14, 15]]]])),
    (one("isNaN", {"a": np.float16([np.nan, 1])}), np.uint8([1, 0])),
    (one("cast", {"input": np.int8([-1, 5])}, dataType="uint8"), np.uint8([255, 5])),
    (one("resample2d", {"input": np.float32([[[[1, 2, 3, 4]]]])}, sizes=[1, 2]), np.float32([[[[1, 3]]]])),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "expected"), CORNERS, ids=[graph["ops"][0][0] for graph, _ in CORNERS])
def test_corners(graph: dict[str, Any], expected: Any) -> None:
    if expected is None:
        a, b = (np.reshape(np.float32(given[2]), given[1]) for given in graph["in"].values())
        expected = a @ b
    for level in (None, "6.4"):
        (found,) = webnn.run(graph, level=level).values()
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("network", "layout", "order"), [("lstm", "ifgo", [0, 2, 3, 1]), ("gru", "rzn", [1, 0, 2])]
)
@pytest.mark.parametrize("cell", [True, False])
def test_gates_in_another_order(network: str, layout: str, order: list[int], cell: bool) -> None:
    """The network with the rows of its weights in the other order."""
    gates, hidden, ways = len(order), 3, () if cell else (2,)
    shapes = {"weight": (4,), "recurrentWeight": (hidden,), "bias": (), "recurrentBias": ()}
    weights = {name: real(*ways, gates * hidden, *rest) for name, rest in shapes.items()}
    turned = {
        name: array.reshape(*ways, gates, hidden, -1)[..., order, :, :].reshape(array.shape)
        for name, array in weights.items()
    }
    first: dict[str, Any] = {"input": real(2, 4) if cell else real(5, 2, 4)}
    states = {"hiddenState": real(2, hidden), "cellState": real(2, hidden)} if cell else {}
    if network == "gru":
        states.pop("cellState", None)
    options = (
        {"hiddenSize": hidden}
        if cell
        else {"hiddenSize": hidden, "steps": 5, "direction": "both", "returnSequence": True}
    )
    name = f"{network}Cell" if cell else network
    outputs = (2 if network == "lstm" else 1) + (not cell)
    found = [
        webnn.run(one(name, {**first, **some, **states}, outputs, **options, **more))
        for some, more in ((weights, {}), (turned, {"layout": layout}))
    ]
    for key in found[0]:
        assert np.array_equal(found[0][key], found[1][key])


def test_the_operators_that_gates_in_another_order_take() -> None:
    weights = {"input": real(1, 2), "weight": real(8, 2), "recurrentWeight": real(8, 2)}
    states = {"hiddenState": real(1, 2), "cellState": real(1, 2)}
    (node,) = webnn.read(one("lstmCell", {**weights, **states}, 2, hiddenSize=2, layout="ifgo")).nodes
    assert node.operators == ("GATHER", "GATHER", "JOIN", "LSTM")
    assert "peephole" in node.notes[0]


# Graphs, and what is wrong with them.


def test_a_graph_of_several_operations() -> None:
    graph = {
        "in": {"x": ["float32", [2, 6]], "w": ["float32", [6, 4], RANDOM.random(24).tolist()]},
        "ops": [
            ["matmul", [{"a": "x"}, {"b": "w"}], "h"],
            [
                "split",
                [{"input": "h"}, {"splits": 2}, {"options": {"axis": 1, "label": "halves"}}],
                ["l", "r"],
            ],
            ["sigmoid", [{"input": "l"}], "gate"],
            ["mul", [{"a": "gate"}, {"b": "r"}], "out"],
        ],
    }
    model = webnn.read(graph, "5.0")
    assert (model.outputs, str(model.level), model.runs) == (("out",), "1.0", True)
    assert model.tensors["r"].shape == (2, 2) and model.tensors["out"].type == "FLOAT32"
    assert [node.operators for node in model.nodes] == [
        ("GEMM",), ("SPLIT",), ("ACTIVATION_SIGMOID",), ("ELEMENT_WISE_MULTIPLY",)
    ]  # fmt: skip
    assert (model.nodes[1].inputs, model.nodes[1].outputs) == (("h",), ("l", "r"))
    x = real(2, 6)
    h = x @ np.float32(graph["in"]["w"][2]).reshape(6, 4)  # type: ignore[index]
    expected = h[:, 2:] / (1 + np.exp(-h[:, :2]))
    np.testing.assert_allclose(webnn.run(graph, {"x": x})["out"], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="the input x has no array"):
        webnn.run(graph)
    with pytest.raises(ValueError, match=r"x is float64 of shape \[2, 6\]; the graph has float32"):
        webnn.run(graph, {"x": x.astype(float)})


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (["dropout", [{"input": "x"}], "y"], 'WebNN has no operation "dropout"'),
        (["relu", [{"input": "x"}, {"options": {"alpha": 1}}], "y"], 'it has no argument "alpha"'),
        (["add", [{"a": "x"}], "y"], "b is absent"),
        (["softmax", [{"input": "x"}, {"axis": 7}], "y"], "no feature level accepts"),
        (
            ["split", [{"input": "x"}, {"splits": 3}, {"options": {"axis": 1}}], ["y"]],
            "it has 3 outputs, not 1",
        ),
        (["relu", [{"input": "x"}], ["y", "z"]], "it has 1 outputs, not 2"),
        (["sin", [{"input": "i"}], "y"], "no feature level accepts"),
    ],
)
def test_an_operation_that_does_not_map_says_why(operation: Any, why: str) -> None:
    graph = {"in": {"x": ["float32", [2, 3]], "i": ["int32", [2]]}, "ops": [operation]}
    (node,) = webnn.read(graph).nodes
    assert node.status in ("impossible", "refused") and why in node.reason
    with pytest.raises(webnn.NotRunnable, match=operation[0]):
        webnn.run(graph, {"x": real(2, 3), "i": np.int32([1, 2])})


def test_what_follows_from_an_operation_that_does_not_map_is_undecided() -> None:
    graph = {
        "in": {"x": ["float32", [2]]},
        "ops": [["dropout", [{"input": "x"}], "y"], ["relu", [{"input": "y"}], "z"]],
    }
    assert [node.status for node in webnn.read(graph).nodes] == ["impossible", "undecided"]


@pytest.mark.parametrize(
    "graph",
    [
        None,
        [],
        {"in": {}},
        {"in": {"x": ["float32"]}, "ops": []},
        {"in": {"x": ["complex64", [2]]}, "ops": []},
        {"in": {"x": ["float32", [0]]}, "ops": []},
        {"in": {"x": ["float32", [2], [1, 2, 3]]}, "ops": []},
        {"in": {"x": ["float32", [2], ["one", None]]}, "ops": []},
        {"in": {"x": ["float32", [1 << 40, 1 << 40], 0]}, "ops": []},
        {"in": {"x": ["float32", [2]]}, "ops": [["relu", [{"input": "z"}], "y"]]},
        {"in": {"x": ["float32", [2]]}, "ops": [["relu", [{"input": "x"}], "x"]]},
        {"in": {"x": ["float32", [2]]}, "ops": [["relu", ["x"], "y"]]},
        {"in": {"x": ["float32", [2]]}, "ops": ["relu"]},
        {"in": {"x": ["float32", [2]]}, "ops": [], "out": ["y"]},
    ],
)
def test_what_is_no_graph(graph: Any) -> None:
    with pytest.raises(webnn.Unreadable):
        webnn.read(graph)


# What operations support: the specification's tables.


OUTPUTS = {
    "lstm": ["output", "cell", "sequence"],
    "gru": ["output", "sequence"],
    "lstmCell": ["output", "cell"],
}


def test_every_required_data_type_and_rank_is_supported() -> None:
    """Those that the specification requires of every implementation, at the newest level."""
    limits = webnn.op_support_limits("6.4")
    compared = 0
    for kind, method, *row in rows("webnn.tsv"):
        if kind != "limits":
            continue
        operand, _, types, _, ranks = row
        if found := re.fullmatch(r"outputs\[(\d)\]", operand):
            operand = OUTPUTS.get(method, ["output"])[int(found[1])]
        supported = limits[method]["outputs" if (method, operand) == ("split", "output") else operand]
        assert {*types.split(",")} - {"any"} <= {*supported["dataTypes"]}, (method, operand)
        least, _, most = ranks.partition("..")
        if least.isdigit():
            span = supported["rankRange"]
            assert span["min"] <= int(least) and int(most) <= span["max"], (method, operand)
        compared += 1
    assert compared > 250


@pytest.mark.parametrize(
    ("operation", "operand", "level", "types", "ranks"),
    [
        # By the tables of ELEMENT_WISE_ADD, GEMM, ACTIVATION_SOFTMAX1, DEQUANTIZE and MAX_POOLING.
        ("add", "a", "1.0", ["float32", "float16"], (0, 5)),
        ("add", "b", "2.1", ["float32", "float16", "int32", "uint32"], (0, 5)),
        ("gemm", "c", "1.0", ["float32", "float16"], (0, 2)),
        ("dequantizeLinear", "input", "6.2", ["int32", "uint32", "int8", "uint8"], (0, 8)),
        (
            "dequantizeLinear",
            "zeroPoint",
            "6.3",
            ["int32", "uint32", "int8", "uint8", "int4", "uint4"],
            (0, 8),
        ),
        ("maxPool2d", "input", "2.1", ["float32", "float16"], (4, 4)),
        ("argMax", "output", "6.4", ["int32", "int64"], (0, 7)),
    ],
)
def test_limits(operation: str, operand: str, level: str, types: list[str], ranks: tuple[int, int]) -> None:
    limits = webnn.op_support_limits(level)[operation][operand]
    assert limits == {"dataTypes": types, "rankRange": {"min": ranks[0], "max": ranks[1]}}


def test_a_level_that_does_not_exist_has_no_limits() -> None:
    with pytest.raises(ValueError, match="there is no feature level"):
        webnn.op_support_limits("7.0")
