"""Contractions of two tensors: which are recognized, and their shaders' results for all tiles and layouts."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.schedules.contraction import Contraction
from dmlops import TensorDesc, gpu
from dmlops.gpu import compiler
from dmlops.gpu.plans import contraction, convolutions, gemm_view, implicit_gemm, sliding
from dmlops.gpu.plans.capabilities import Capability
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device
from gpu_results import check_results, inputs_of
from schedule_cases import SPECS, Variant, described, planned_by
from tensors import of

__all__ = ["device"]


@pytest.fixture(autouse=True)
def tiles_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of convolutions that are small enough for a test; windows would slide there."""
    monkeypatch.setattr(convolutions, "TILE_DIRECT_ROWS", 4)
    monkeypatch.setattr(sliding, "SLIDING_PRODUCTS", 0)


LET = {
    "r": "OutputTensor.DimensionCount",
    "a(k)": "ATensor[at[:r - 2] + ([at[r - 2], k] if TransA == NONE else [k, at[r - 2]])]",
    "b(k)": "BTensor[at[:r - 2] + ([k, at[r - 1]] if TransB == NONE else [at[r - 1], k])]",
    "back(k)": "BTensor[at[:r - 2] + ([K - 1 - k, at[r - 1]] if TransB == NONE else [at[r - 1], K - 1 - k])]",
    "dot": "sum(a(k) * b(k) for k in range(K))",
}
ADDED = "(Beta * CTensor[at] if present(CTensor) else 0)"


def variant(tmp_path: Path, output: str, kept: str = "") -> Variant:
    lets, text = "", output + kept
    for name, value in reversed(LET.items()):  # what nothing uses must not be there
        if re.search(rf"\b{name.partition('(')[0]}\b", text):
            lets, text = f'    {name}: "{value}"\n{lets}', text + value
    tensors = f'  tensors:\n    Kept: {{sizes: OutputTensor.Sizes, value: "{kept}"}}\n' if kept else ""
    section = f'compute:\n  let:\n{lets}{tensors}  outputs:\n    OutputTensor: "{output}"\n'
    return Variant(tmp_path, "GEMM", section)


def planned(one: Variant, desc: Any, name: str) -> Any:
    """A planner input."""
    return attrgetter(name)(planned_by(one.registry).inputs(desc, 0).factors)


@pytest.mark.parametrize(
    ("output", "kept", "finish"),
    [
        ("dot", "", lambda x: x),
        ("apply_activation(Alpha * dot, FusedActivation)", "", lambda x: 0.5 * x),
        (f"apply_activation(Kept[at], FusedActivation) + {ADDED}", "Alpha * dot", lambda x: 0.5 * x),
        ("sum(b(k) * a(k) for k in range(K))", "", lambda x: x),
        ("dot / (1 + abs(dot))", "", lambda x: x / (1 + abs(x))),
    ],
    ids=["alone", "scaled", "kept", "turned round", "used twice"],
)
def test_sums_of_products_are_contractions(output: str, kept: str, finish: Any, tmp_path: Path) -> None:
    """The planner's input for the factors, computed by einsum, is what the definition says."""
    one = variant(tmp_path, output, kept)
    found = one.form_of(Contraction)
    assert found is not None
    rng = np.random.default_rng(1)
    for turned in (False, True):
        sizes = {"ATensor": (2, 5, 3) if turned else (2, 3, 5), "BTensor": (2, 4, 5) if turned else (2, 5, 4)}
        arrays = {name: rng.normal(0, 1, size).astype(np.float32) for name, size in sizes.items()}
        way = "TRANSPOSE" if turned else "NONE"
        members = {"TransA": way, "TransB": way, "Alpha": 0.5, "Beta": 2.0}
        desc = described("GEMM", np.zeros((2, 3, 4), np.float32), arrays, **members)
        given: list[Any] = []
        for factor, name in ((found.left, "left"), (found.right, "right")):
            given += [arrays[factor.tensor].astype(np.float64), planned(one, desc, name)]
        assert planned(one, desc, "depth") == 5
        result = one.by_definition(desc, arrays)["OutputTensor"]
        np.testing.assert_allclose(result, finish(np.einsum(*given, [0, 1, 2])), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("sum(a(k) * b(k) for k in range(K) if k != 1)", ""),
        ("max(a(k) * b(k) for k in range(K))", ""),
        ("sum(a(k) + b(k) for k in range(K))", ""),
        ("sum(a(k) * a(k) for k in range(K))", ""),
        ("sum(a(k) * back(k) for k in range(K))", ""),
        ("sum(2 * a(k) * b(k) for k in range(K))", ""),
        (f"sum(a(k) * b(k) + {ADDED} for k in range(K))", ""),
        ("sum(a(k) * b(k) for k in range(1, K))", ""),
        ("sum(a(k) * b(k) for k in range(K) for j in range(2))", ""),
        ("dot + sum(a(k) for k in range(K))", ""),
        ("dot + a(0)", ""),
        ("Kept[at[:r - 1] + [0]]", "dot"),
    ],
    ids=[
        "with a condition", "greatest", "of sums", "of one tensor", "backward", "of three", "with more in it",
        "from the second on", "over two loops", "two sums", "a factor again", "read elsewhere",
    ],
)  # fmt: skip
def test_what_nearly_is_a_contraction_is_none(output: str, kept: str, tmp_path: Path) -> None:
    one = variant(tmp_path, output, kept)
    assert one.form_of(Contraction) is None
    assert one.form is None


SPEC = (SPECS / "operators/matrix/convolution.yaml").read_text(encoding="utf-8")
CONVOLUTION = SPEC[SPEC.index("compute:") : SPEC.index("\nerrata:")]


def convolved(tmp_path: Path, old: str, new: str) -> Variant:
    """A convolution with something else in the place of a text."""
    assert old in CONVOLUTION
    return Variant(tmp_path, "CONVOLUTION", CONVOLUTION.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        (
            "InputTensor[[at[0], input_channel(k)] + position(w)] * filter(k, w)",
            "filter(k, w) * InputTensor[[at[0], input_channel(k)] + position(w)]",
        ),
        ("at[d + 2] * Strides[d] + w[d] * Dilations[d]", "w[d] * Dilations[d] + Strides[d] * at[d + 2]"),
        ("w[d] * Dilations[d]", "w[d]"),
    ],
    ids=["as it is", "turned round", "added otherwise", "without dilations"],
)
def test_windows_of_sums_are_contractions(old: str, new: str, tmp_path: Path) -> None:
    found = convolved(tmp_path, old, new).form_of(Contraction)
    assert found is not None and found.window is not None
    assert (found.left.tensor, found.right.tensor) == ("FilterTensor", "InputTensor")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "for k in range(inputs) if reads_input(w)",
            "for k in range(inputs) if reads_input(w) and w[0] != 1",
        ),
        ("for k in range(inputs) if reads_input(w)", "for k in range(1, inputs) if reads_input(w)"),
        ('total: "sum(', 'total: "max('),
        ("filter(k, w) for w", "filter(k, w) * filter(k, w) for w"),
    ],
    ids=["with a gap", "without a channel", "greatest", "of three"],
)
def test_what_nearly_is_a_window_of_sums_is_none(old: str, new: str, tmp_path: Path) -> None:
    one = convolved(tmp_path, old, new)
    assert one.form_of(Contraction) is None
    assert one.form is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("w[d] * Dilations[d] - StartPadding[d] if", "w[d] * w[d] - StartPadding[d] if"),
        ("at[d + 2] * Strides[d] + w", "at[d + 2] * at[d + 2] + w"),
    ],
    ids=["squares of places", "of squares"],
)
def test_what_nearly_is_a_sum_is_none(old: str, new: str, tmp_path: Path) -> None:
    """Backward convolutions are as they were."""
    one = convolved(tmp_path, old, new)
    assert not planned(one, WINDOWS["whole places"], "applies")
    assert planned(one, SPREAD["in twos"], "applies")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("% Strides[d] == 0", "% Strides[d] == 1"),
        ("% Strides[d] == 0", "% Dilations[d] == 0"),
        ("// Strides[d] for", "// (Strides[d] + 1) for"),
        ("all(strided_position(w)", "any(strided_position(w)"),
        ("[input_channel(k), channel[1]]", "[input_channel(k), channel[0]]"),
        ("[input_channel(k), channel[1]]", "[at[1], channel[1]]"),
    ],
    ids=["remainder 1", "another divisor", "another quotient", "any", "the group", "not by channels"],
)
def test_what_nearly_is_a_quotient_is_none(old: str, new: str, tmp_path: Path) -> None:
    """Forward convolutions are as they were."""
    one = convolved(tmp_path, old, new)
    assert not planned(one, SPREAD["in twos"], "applies")
    assert planned(one, WINDOWS["whole places"], "applies")


def test_forward_and_backward_are_one_contraction(tmp_path: Path) -> None:
    one = convolved(tmp_path, "", "")
    for desc, left, divisors in (
        (WINDOWS["whole places"], [1, 4], [1, 1]),
        (SPREAD["in twos"], [4, 1], [2, 2]),
    ):
        assert planned(one, desc, "applies")
        assert list(planned(one, desc, "left")) == left
        assert list(planned(one, desc, "window.right_divisors")) == divisors


def product(
    a: TensorDesc, b: TensorDesc, c: TensorDesc | None, turns: str = "NN", activation: Any = None
) -> Any:
    ways = {"N": "NONE", "T": "TRANSPOSE"}
    turned = {"TransA": ways[turns[0]], "TransB": ways[turns[1]]}
    desc = dmlops.Gemm(
        ATensor=a, BTensor=b, CTensor=c, Alpha=0.5, Beta=2.0, FusedActivation=activation, **turned
    )
    return desc.infer()


def channels_last(desc: Any, *names: str, gap: int = 0) -> Any:
    """The cases with tensors whose channels are innermost in memory, `gap` elements apart from the next
    pixel's: input and output, or those that are named."""

    def last(tensor: TensorDesc) -> TensorDesc:
        order = [0, *range(2, len(tensor.Sizes)), 1]
        strides, step = [0] * len(order), 1
        for axis in reversed(order):
            strides[axis] = step
            step = step * tensor.Sizes[axis] + (gap if axis == 1 else 0)
        return TensorDesc(tensor.DataType, tensor.Sizes, Strides=strides)

    which = names or ("InputTensor", "OutputTensor")
    return replace(desc, **{name: last(getattr(desc, name)) for name in which})


def column_by_column(desc: Any, gap: int = 0) -> Any:
    """A product whose matrices are stored column by column, `gap` elements apart."""
    *lead, rows, columns = desc.OutputTensor.Sizes
    strides, step = [1, rows + gap], (rows + gap) * columns
    for size in reversed(lead):
        strides.insert(0, step)
        step *= size
    output = TensorDesc(desc.OutputTensor.DataType, desc.OutputTensor.Sizes, Strides=strides)
    return replace(desc, OutputTensor=output)


CASES = {
    "packed": product(of("FLOAT32", 2, 20, 24), of("FLOAT32", 2, 24, 136), of("FLOAT32", 2, 20, 136)),
    "odd sizes, transposed": product(of("FLOAT32", 1, 19, 17), of("FLOAT32", 1, 131, 19), None, "TT"),
    "halves, one matrix for all": product(
        of("FLOAT16", 3, 2, 20, 16), of("FLOAT16", 3, 2, 16, 20, strides=(0, 0, 20, 1)), None, "NN"
    ),
    "halves with gaps, activated": product(
        of("FLOAT16", 18, 9, strides=(31, 3)), of("FLOAT16", 30, 9, strides=(12, 1)),
        of("FLOAT16", 18, 30, strides=(0, 1)), "NT", dmlops.make.activation_leaky_relu(Alpha=0.1),
    ),
    "in parts": product(of("FLOAT32", 5, 1030), of("FLOAT32", 1030, 12), of("FLOAT32", 5, 12)),
    "column by column": column_by_column(
        product(of("FLOAT32", 2, 20, 24), of("FLOAT32", 2, 24, 70), of("FLOAT32", 2, 20, 70))
    ),
    "column by column, odd sizes": column_by_column(
        product(of("FLOAT32", 19, 17), of("FLOAT32", 131, 19), None, "TT"), 2
    ),
    "column by column, in parts": column_by_column(
        product(of("FLOAT32", 20, 1030), of("FLOAT32", 1030, 18), of("FLOAT32", 20, 18))
    ),
    "in parts, odd": product(of("FLOAT32", 20, 1030), of("FLOAT32", 1030, 13), of("FLOAT32", 20, 13)),
    "neither in whole vectors": product(
        of("FLOAT32", 2, 37, 41), of("FLOAT32", 2, 41, 131), of("FLOAT32", 2, 37, 131)
    ),
    "not the left one, turned": product(of("FLOAT32", 41, 37), of("FLOAT32", 41, 132), None, "TN"),
    "not the right one, turned": product(of("FLOAT32", 36, 41), of("FLOAT32", 70, 41), None, "NT"),
    "products apart": product(
        of("FLOAT32", 3, 2, 33, 7, strides=(2000, 900, 3, 101)), of("FLOAT32", 3, 2, 7, 65), None
    ),
    "in parts, no whole vectors": product(of("FLOAT32", 19, 1031), of("FLOAT32", 1031, 35), None),
}  # fmt: skip


def convolution(data: TensorDesc, weights: TensorDesc, *, bias: bool = True, **members: Any) -> Any:
    dims = len(data.Sizes) - 2
    each = {"Strides": 1, "Dilations": 1, "StartPadding": 1, "EndPadding": 1, "OutputPadding": 0}
    given = {name: members.pop(name, value) for name, value in each.items()}
    lists = {name: value if isinstance(value, list) else [value] * dims for name, value in given.items()}
    usual = {"Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "GroupCount": 1, "DimensionCount": dims}
    is_back = members.get("Direction") == "BACKWARD"
    filters = weights.Sizes[1] * members.get("GroupCount", 1) if is_back else weights.Sizes[0]
    added = TensorDesc(data.DataType, (1, filters) + (1,) * dims) if bias else None
    tensors = {"InputTensor": data, "FilterTensor": weights, "BiasTensor": added}
    return dmlops.Convolution(**tensors, **lists, **{**usual, **members}).infer()


WINDOWS = {
    "whole places": convolution(of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 20, 16, 3, 3)),
    "few channels, mirrored": convolution(
        of("FLOAT16", 1, 3, 11, 9), of("FLOAT16", 24, 3, 3, 5), Mode="CONVOLUTION", Strides=2, bias=False
    ),
    "one place": convolution(
        of("FLOAT32", 2, 32, 6, 8), of("FLOAT32", 20, 32, 1, 1), StartPadding=0, EndPadding=0
    ),
    "groups, dilated, with gaps": convolution(
        of("FLOAT32", 2, 24, 7, 7, strides=(2000, 80, 11, 1)), of("FLOAT32", 32, 12, 3, 3),
        Dilations=2, GroupCount=2,
    ),
    "three dimensions, padded": convolution(
        of("FLOAT32", 1, 4, 5, 6, 7), of("FLOAT32", 24, 4, 2, 3, 3), OutputPadding=1
    ),
    "channel by channel, activated": convolution(
        of("FLOAT16", 2, 8, 12, 13), of("FLOAT16", 8, 1, 3, 3), GroupCount=8,
        FusedActivation=dmlops.make.activation_relu(),
    ),
    "in parts": convolution(of("FLOAT32", 1, 64, 6, 6), of("FLOAT32", 36, 64, 3, 3)),
    "weights with gaps": convolution(
        of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 18, 16, 3, 3, strides=(220, 13, 4, 1))
    ),
    "channels last": channels_last(
        convolution(of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 20, 16, 3, 3), Strides=2),
        "InputTensor", "FilterTensor", "OutputTensor",
    ),
    "channels last, taps within tiles, odd filters": channels_last(
        convolution(of("FLOAT32", 2, 12, 7, 9), of("FLOAT32", 21, 12, 3, 3)), gap=4
    ),
    "channels last, in pairs, groups, activated": channels_last(
        convolution(
            of("FLOAT32", 1, 12, 8, 9), of("FLOAT32", 24, 6, 3, 3), GroupCount=2,
            FusedActivation=dmlops.make.activation_relu(),
        )
    ),
    "channels last, in parts": channels_last(
        convolution(of("FLOAT32", 1, 64, 6, 7), of("FLOAT32", 38, 64, 3, 3))
    ),
    "channels last, halves": channels_last(
        convolution(of("FLOAT16", 2, 16, 7, 7), of("FLOAT16", 20, 16, 3, 3))
    ),
    "only results channels last": channels_last(
        convolution(of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 20, 16, 3, 3)), "OutputTensor"
    ),
    "only images channels last, one place": channels_last(
        convolution(of("FLOAT32", 2, 32, 6, 8), of("FLOAT32", 20, 32, 1, 1), StartPadding=0, EndPadding=0),
        "InputTensor",
    ),
    "channels last, three dimensions": channels_last(
        convolution(of("FLOAT32", 1, 8, 5, 6, 7), of("FLOAT32", 24, 8, 2, 3, 3))
    ),
}  # fmt: skip


def spread(data: TensorDesc, weights: TensorDesc, **members: Any) -> Any:
    return convolution(data, weights, Direction="BACKWARD", **members)


SPREAD = {
    "in ones": spread(of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 16, 20, 3, 3)),
    "in twos": spread(of("FLOAT32", 2, 16, 6, 5), of("FLOAT32", 16, 18, 4, 4), Strides=2),
    "beside each other": spread(
        of("FLOAT32", 1, 16, 8, 8), of("FLOAT32", 16, 20, 2, 2), Strides=2, StartPadding=0, EndPadding=0
    ),
    "channels last, odd sizes": channels_last(
        spread(of("FLOAT32", 2, 16, 6, 5), of("FLOAT32", 16, 20, 3, 3), Strides=2), gap=4
    ),
    "channels last, in parts": channels_last(
        spread(of("FLOAT32", 1, 96, 5, 3), of("FLOAT32", 96, 20, 4, 4), Strides=2)
    ),
    "larger, activated": spread(
        of("FLOAT32", 2, 8, 6, 5), of("FLOAT32", 8, 20, 3, 3), Strides=2, OutputPadding=1,
        FusedActivation=dmlops.make.activation_relu(),
    ),
    "halves, few channels, mirrored": spread(
        of("FLOAT16", 1, 6, 11, 9), of("FLOAT16", 6, 5, 3, 5), Mode="CONVOLUTION", Strides=[2, 3], bias=False
    ),
    "groups, dilated, with gaps": spread(
        of("FLOAT32", 2, 24, 7, 7, strides=(2000, 80, 11, 1)), of("FLOAT32", 24, 8, 3, 3),
        GroupCount=2, Dilations=[2, 3], Strides=[2, 4],
    ),
    "beside each other, mirrored, cut": spread(
        of("FLOAT32", 2, 16, 4, 6), of("FLOAT32", 16, 20, 2, 3), Strides=[2, 3], StartPadding=0,
        EndPadding=[0, 1], Mode="CONVOLUTION",
    ),
    "line": spread(
        of("FLOAT32", 3, 16, 50), of("FLOAT32", 16, 9, 7), Strides=3, StartPadding=2, EndPadding=1
    ),
    "three dimensions": spread(
        of("FLOAT32", 1, 4, 5, 6, 7), of("FLOAT32", 4, 24, 2, 3, 3), Strides=[1, 2, 1]
    ),
    "phases without products": spread(
        of("FLOAT32", 1, 16, 9, 9), of("FLOAT32", 16, 20, 2, 2), Strides=5, Dilations=2
    ),
    "in parts": spread(of("FLOAT32", 1, 128, 3, 3), of("FLOAT32", 128, 34, 4, 4), Strides=2),
    "few rows": spread(of("FLOAT32", 1, 64, 9, 9), of("FLOAT32", 64, 3, 4, 4), Strides=2),
    "channel by channel, in twos": spread(
        of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 1, 4, 4), GroupCount=8, Strides=2
    ),
    "cut on all sides": spread(
        of("FLOAT32", 1, 16, 5, 7), of("FLOAT32", 16, 20, 5, 4), Strides=[3, 2], StartPadding=[4, 1],
        EndPadding=[3, 3],
    ),
    "channel by channel": spread(of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 1, 3, 3), GroupCount=8),
    "two filters a channel": spread(
        of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 2, 3, 2), GroupCount=4, Mode="CONVOLUTION", Dilations=2
    ),
}  # fmt: skip


def passes(desc: Any) -> list[Any]:
    return [one.defines["PASS"] for one in gpu.plan(desc).dispatches]


def without_sums(numbers: list[Any]) -> list[Any]:
    """Without the pass that adds up partial sums, which depends on the cost model."""
    return [number for number in numbers if number != 3]


def test_which_windows_are_worth_a_tile() -> None:
    assert all(desc.validate("6.4") == [] for desc in WINDOWS.values())
    found = {name: without_sums(passes(desc)) for name, desc in WINDOWS.items()}
    others = {"channel by channel, activated": [1], "weights with gaps": [4, 2]}
    assert passes(WINDOWS["in parts"]) == [2, 3]
    assert found == {name: others.get(name, [2]) for name in WINDOWS}


def test_weights_are_put_in_order_where_that_pays() -> None:
    large = convolution(of("FLOAT32", 32, 64, 56, 56), of("FLOAT32", 64, 64, 3, 3))
    one_place = convolution(
        of("FLOAT32", 32, 64, 56, 56), of("FLOAT32", 256, 64, 1, 1), StartPadding=0, EndPadding=0
    )
    assert (passes(large), passes(one_place)) == ([4, 2], [2])


def test_each_phase_of_the_output_is_a_matrix() -> None:
    assert all(desc.validate("6.4") == [] for desc in SPREAD.values())
    found = {name: without_sums(passes(desc)) for name, desc in SPREAD.items()}
    others = {
        "in ones": [2], "few rows": [1], "channel by channel, in twos": [1],
        "channel by channel": [1], "two filters a channel": [1],
    }  # fmt: skip
    assert passes(SPREAD["in parts"]) == [4, 2, 3]
    assert found == {name: others.get(name, [4, 2]) for name in SPREAD}
    tile = gpu.plan(SPREAD["in twos"]).dispatches[1].defines
    assert tile["PHASED"] == tile["PACKED"] == 1 and tile["RIGHT_VECTOR"] == 1
    assert gpu.plan(SPREAD["beside each other"]).dispatches[1].defines["RIGHT_VECTOR"] == 4
    assert gpu.plan(SPREAD["beside each other, mirrored, cut"]).dispatches[1].defines["RIGHT_VECTOR"] == 1


def test_phases_that_meet_nothing_are_few() -> None:
    data, weights = of("FLOAT32", 1, 64, 9, 9), of("FLOAT32", 64, 64, 1, 1)
    small = {"StartPadding": 0, "EndPadding": 0}
    assert passes(spread(data, weights, Strides=4, **small)) == [4, 2]
    assert passes(spread(data, weights, Strides=5, **small)) == [0]
    alone = of("FLOAT32", 1, 256, 1, 1), of("FLOAT32", 256, 64, 3, 3)
    assert passes(spread(*alone, Strides=3, **small)) == [4, 2, 3]
    assert passes(spread(*alone, Strides=4, **small)) == [0]


def of_many_images(desc: Any) -> Any:
    """The same with so many of them that no window slides where there are rows for tiles."""
    tensors = {name: getattr(desc, name) for name in ("InputTensor", "OutputTensor")}
    sizes = {name: (4096 * one.Sizes[0], *one.Sizes[1:]) for name, one in tensors.items()}
    return replace(desc, **{name: replace(one, Sizes=sizes[name]) for name, one in tensors.items()})


def test_small_convolutions_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    windows = WINDOWS | SPREAD
    assert {name: passes(desc) for name, desc in windows.items()} == {name: [1] for name in windows}
    many = {name: passes(of_many_images(desc)) for name, desc in windows.items()}
    few_rows = {
        "channel by channel, activated", "few rows", "channel by channel, in twos", "channel by channel",
        "two filters a channel", "halves, few channels, mirrored", "groups, dilated, with gaps",
    }  # fmt: skip
    assert {name for name, found in many.items() if found == [1]} == few_rows
    point = convolution(of("FLOAT16", 1, 64, 9, 9), of("FLOAT16", 64, 64, 1, 1), StartPadding=0, EndPadding=0)
    assert passes(point) == [1]
    units = gpu.plan(point, Capability.COOPERATIVE_MATRIX).dispatches
    assert [one.defines.get("COOPERATIVE_MATRIX", 0) for one in units] == [1]


def test_what_is_worth_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    for desc in CASES.values():
        assert desc.validate("6.4") == []
        assert gpu.plan(desc).dispatches[0].defines["PASS"] == 2
    small = product(of("FLOAT32", 5, 3), of("FLOAT32", 3, 6), None)
    assert [one.defines["PASS"] for one in gpu.plan(small).dispatches] == [0, 1]
    for name in ("in parts", "in parts, odd"):
        assert len(gpu.plan(CASES[name]).dispatches) == 2
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 0)
    assert gpu.plan(small).dispatches[0].defines["PASS"] == 2


def test_batches_of_small_matrices_have_small_tiles() -> None:
    """Cooperative matrices are too large for those of up to 32."""
    for rows, depth, columns in ((8, 8, 8), (16, 64, 16), (24, 24, 24), (4, 32, 32), (32, 32, 32)):
        singles, halves = (
            product(of(kind, 512, rows, depth), of(kind, 512, depth, columns), None)
            for kind in ("FLOAT32", "FLOAT16")
        )
        made = gpu.plan(singles).dispatches[0].defines
        assert int(made["TILE_ROWS"]) <= max(rows, 16) * 4 / 3 and made["TILE_COLUMNS"] == 32
        made = gpu.plan(halves, Capability.COOPERATIVE_MATRIX).dispatches[0].defines
        assert ("COOPERATIVE_MATRIX" in made) == (max(rows, depth, columns) > 32)


def check(device: Any, desc: Any, **special: float) -> None:
    check_results(device, desc, inputs_of(desc, **special))


@pytest.mark.parametrize("desc", [*CASES.values(), *WINDOWS.values()], ids=[*CASES, *WINDOWS])
def test_tiles_give_what_the_reference_gives(desc: Any, device: Any) -> None:
    check(device, desc)


ACTIVATIONS = {
    "sigmoid": dmlops.make.activation_sigmoid(), "elu": dmlops.make.activation_elu(Alpha=0.5),
    "softplus": dmlops.make.activation_softplus(Steepness=1.0),
}  # fmt: skip
ACTIVATED = {
    "tiles": lambda one: product(of("FLOAT32", 20, 24), of("FLOAT32", 24, 70), None, "NN", one),
    "in parts": lambda one: product(of("FLOAT32", 20, 1040), of("FLOAT32", 1040, 20), None, "NN", one),
    "few rows": lambda one: product(of("FLOAT32", 3, 64), of("FLOAT32", 64, 68), None, "NN", one),
    "a window": lambda one: convolution(
        of("FLOAT32", 2, 16, 9, 10), of("FLOAT32", 20, 16, 3, 3), FusedActivation=one
    ),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", ACTIVATED)
def test_what_is_precise_stays_so_where_threads_have_many_elements(
    name: str, activation: str, device: Any
) -> None:
    """Exponentials take sums apart that are nothing where compilers may work them out in another order."""
    check(device, ACTIVATED[name](ACTIVATIONS[activation]))


@pytest.mark.parametrize("name", SPREAD)
def test_no_phase_rests_on_remainders_of_negative_numbers(
    name: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vulkan leaves those undefined: here they are what they would be of numbers without a sign."""
    compiled = compiler.compile

    def changed(*given: Any) -> bytes:
        words = memoryview(bytearray(compiled(*given))).cast("I")
        at = 5  # behind the header
        while at < len(words):
            size, instruction = divmod(words[at], 1 << 16)
            if instruction == 138:  # OpSRem, in place of which comes OpUMod
                words[at] -= 1
            at += size
        return words.tobytes()

    monkeypatch.setattr(compiler, "compile", changed)
    monkeypatch.setattr(gpu, "_byte_code", gpu._byte_code.__wrapped__)  # which remembers nothing
    check(device, SPREAD[name])


@pytest.mark.parametrize("name", SPREAD)
def test_tiles_of_phases_give_what_reference_and_torch_give(name: str, device: Any) -> None:
    desc = SPREAD[name]
    inputs = inputs_of(desc)
    found = check_results(device, desc, inputs)["OutputTensor"]
    torch = pytest.importorskip("torch")
    x, w, bias = (
        None if key not in inputs else torch.from_numpy(inputs[key].astype(np.float64))
        for key in ("InputTensor", "FilterTensor", "BiasTensor")
    )
    dims = desc.DimensionCount
    if desc.Mode.name == "CONVOLUTION":
        w = torch.flip(w, list(range(2, 2 + dims)))
    cut = getattr(torch.nn.functional, f"conv_transpose{dims}d")(
        x, w, None, list(desc.Strides), 0, 0, desc.GroupCount, list(desc.Dilations)
    )
    for d, (start, end, zeros) in enumerate(
        zip(desc.StartPadding, desc.EndPadding, desc.OutputPadding, strict=True)
    ):
        cut = cut.narrow(2 + d, start, cut.shape[2 + d] - start - end)
        cut = torch.cat([cut, cut.new_zeros(*cut.shape[: 2 + d], zeros, *cut.shape[3 + d :])], 2 + d)
    wanted = cut if bias is None else cut + bias
    if desc.FusedActivation is not None:
        wanted = torch.relu(wanted)
    tolerance = 2e-3 if found.dtype == np.float16 else 4e-6
    np.testing.assert_allclose(found, wanted.numpy(), tolerance, tolerance * float(wanted.abs().max()))


@pytest.mark.parametrize("name", ["whole places", "few channels, mirrored", "in parts"])
def test_weights_in_order_do_so_too(name: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implicit_gemm, "TILE_PACKED", 0)
    assert passes(WINDOWS[name])[0] == 4
    check(device, WINDOWS[name])
    if name != "in parts":
        check(device, WINDOWS[name], FilterTensor=np.inf)


def test_what_is_outside_takes_no_part_even_beside_infinity(device: Any) -> None:
    for name in ("whole places", "few channels, mirrored"):
        check(device, WINDOWS[name], FilterTensor=np.inf)
    for name in ("in ones", "in twos", "phases without products"):
        check(device, SPREAD[name], FilterTensor=np.inf)


@pytest.mark.parametrize(
    "tile",
    [
        Tile(16, 32, 8, 16, 32, 4, 80),
        Tile(128, 32, 16, 32, 32, 4, 80),
        Tile(32, 32, 32, 16, 32, 1, 80),
        Tile(32, 64, 16, 16, 32, 3, 80),
        Tile(32, 128, 16, 16, 64, 4, 80),
        Tile(64, 64, 16, 32, 32, 5, 80),
        Tile(64, 128, 16, 32, 64, 3, 80),
        Tile(128, 128, 16, 32, 64, 2, 80),
    ],
)
def test_all_tiles_do_so_too(tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "float_tiles", lambda *given: [tile])
    check(device, product(of("FLOAT32", 132, 20), of("FLOAT32", 20, 140), of("FLOAT32", 132, 140)))


@pytest.mark.parametrize(
    "tile",
    [
        Tile(32, 64, 32, 16, 32, 5, 80),
        Tile(32, 128, 16, 16, 64, 3, 80),
        Tile(64, 128, 16, 32, 64, 4, 80),
    ],
)
def test_all_tiles_of_windows_do_so_too(tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implicit_gemm, "float_window_tiles", lambda *given: [tile])
    for window in (WINDOWS["in parts"], SPREAD["in parts"]):
        check(device, window)
