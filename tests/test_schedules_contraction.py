"""Which definitions contract two tensors, and what the shader of those gives: whatever tiles and layouts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.definition import Evaluation
from dmlops.gpu.plans import contraction
from gpu_device import device, run_in_guard_zones
from schedule_cases import Variant, described, module

__all__ = ["device"]

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


def told(one: Variant, desc: Any, name: str) -> Any:
    """What the planner is told."""
    evaluation = Evaluation(desc, {})
    module(one.registry).computation(desc).define(evaluation)
    return evaluation.known[f"contraction.{name}"]()


@pytest.mark.parametrize(
    ("output", "kept", "finish"),
    [
        ("dot", "", lambda x: x),
        ("activated(Alpha * dot, FusedActivation)", "", lambda x: 0.5 * x),
        (f"activated(Kept[at], FusedActivation) + {ADDED}", "Alpha * dot", lambda x: 0.5 * x),
        ("sum(b(k) * a(k) for k in range(K))", "", lambda x: x),
        ("dot / (1 + abs(dot))", "", lambda x: x / (1 + abs(x))),
    ],
    ids=["alone", "scaled", "kept", "turned round", "used twice"],
)
def test_sums_of_products_are_contractions(output: str, kept: str, finish: Any, tmp_path: Path) -> None:
    """What the planner is told of the factors, computed by einsum, is what the definition says."""
    one = variant(tmp_path, output, kept)
    found = one.operator.contraction
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
            given += [arrays[factor.tensor].astype(np.float64), told(one, desc, name)]
        assert told(one, desc, "depth") == 5
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
    assert one.operator.contraction is None
    assert one.form is None


def product(
    a: TensorDesc, b: TensorDesc, c: TensorDesc | None, turns: str = "NN", activation: Any = None
) -> Any:
    ways = {"N": "NONE", "T": "TRANSPOSE"}
    turned = {"TransA": ways[turns[0]], "TransB": ways[turns[1]]}
    desc = dmlops.Gemm(
        ATensor=a, BTensor=b, CTensor=c, Alpha=0.5, Beta=2.0, FusedActivation=activation, **turned
    )
    return desc.infer()


def of(data_type: str, *sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return TensorDesc(data_type, sizes, Strides=strides)


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
}  # fmt: skip


def test_what_is_worth_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    for desc in CASES.values():
        assert desc.validate("6.4") == []
        assert gpu.planned(desc).dispatches[0].defines["PASS"] == 2
    small = product(of("FLOAT32", 8, 8), of("FLOAT32", 8, 8), None)
    assert [one.defines["PASS"] for one in gpu.planned(small).dispatches] == [0, 1]
    assert len(gpu.planned(CASES["in parts"]).dispatches) == 2
    large = product(of("FLOAT32", 4096, 64), of("FLOAT32", 64, 4096), None)
    assert gpu.planned(large).dispatches[0].defines["TILE_ROWS"] == 128
    monkeypatch.setattr(contraction, "LEAST_PRODUCTS", 0)
    assert gpu.planned(small).dispatches[0].defines["PASS"] == 2


def filled(tensor: TensorDesc, rng: np.random.Generator) -> np.ndarray:
    """Numbers, the same along dimensions of stride 0."""
    strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
    numbers = rng.normal(0, 2, [1 if stride == 0 else size for size, stride in strides])
    return np.broadcast_to(numbers, tensor.Sizes).astype(tensor.DataType.numpy)


def check(device: Any, desc: Any) -> None:
    rng = np.random.default_rng(5)
    tensors = {name: getattr(desc, name) for name in ("ATensor", "BTensor", "CTensor")}
    inputs = {name: filled(one, rng) for name, one in tensors.items() if one is not None}
    expected = reference.run(desc, inputs)["OutputTensor"]
    found = run_in_guard_zones(device, desc, inputs)["OutputTensor"]
    tolerance = 2e-3 if found.dtype == np.float16 else 4e-6
    np.testing.assert_allclose(found, expected, tolerance, tolerance * float(np.abs(expected).max()))
    again = gpu.run(desc, inputs, device)["OutputTensor"]
    assert again.tobytes() == found.tobytes(), "another result the second time"


@pytest.mark.parametrize("name", CASES)
def test_tiles_give_what_the_reference_gives(name: str, device: Any) -> None:
    check(device, CASES[name])


def test_larger_tiles_do_so_too(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desc = product(of("FLOAT32", 132, 20), of("FLOAT32", 20, 140), of("FLOAT32", 132, 140))
    assert gpu.planned(desc).dispatches[0].defines["TILE_ROWS"] == 64
    check(device, desc)
    monkeypatch.setattr(contraction, "MANY_TILES", 1)
    assert gpu.planned(desc).dispatches[0].defines["TILE_ROWS"] == 128
    check(device, desc)
