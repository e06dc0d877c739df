"""Attention on views of tensors: which queries, keys, values and outputs are copied, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from c_plans import Library, expected
from cooperative_matrix_apart import taken_apart
from dmlgen.schedules.views import view_before, view_in, view_of
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu import shader
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from gpu_device import device, run_in_guard_zones
from schedule_cases import Variant
from test_schedules_rows import section

__all__ = ["device"]  # a fixture

COOPERATIVE = gpu.Capability.COOPERATIVE_MATRIX
BATCHES, QUERIES, KEYS, HEADS, DEPTH, WIDTH, PAST = 2, 19, 35, 3, 8, 16, 5
QUERY, KEY, VALUE = (
    (BATCHES, QUERIES, HEADS * DEPTH),
    (BATCHES, KEYS, HEADS * DEPTH),
    (BATCHES, KEYS, HEADS * WIDTH),
)
SEPARATE = {"QueryTensor": QUERY, "KeyTensor": KEY, "ValueTensor": VALUE}
OLD = {
    "PastKeyTensor": (BATCHES, HEADS, PAST, DEPTH), "PastValueTensor": (BATCHES, HEADS, PAST, WIDTH),
}  # fmt: skip
PRESENT = {
    "OutputPresentKeyTensor": (BATCHES, HEADS, KEYS, DEPTH),
    "OutputPresentValueTensor": (BATCHES, HEADS, KEYS, WIDTH),
}
Shapes = Mapping[str, tuple[int, ...]]


def padded(sizes: tuple[int, ...], gap: int) -> tuple[int, ...]:
    """Strides of rows with so many elements between them."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size + (gap if len(strides) == 1 else 0))
    return tuple(strides)


def attention(shapes: Shapes, strides: Shapes | None = None, **members: Any) -> dict[str, Any]:
    """The members of an attention of tensors with these sizes; strides are packed unless given."""
    found: dict[str, Any] = {"sizes": dict(shapes), "strides": dict(strides or {}), "members": members}
    found["sizes"].setdefault("OutputTensor", (BATCHES, QUERIES, HEADS * WIDTH))
    return found


STACKED = (BATCHES, QUERIES, HEADS, 3, DEPTH)
CASES = {  # with the passes that are left of five, or of seven with present keys and values
    "separate": (attention(SEPARATE), 1),
    "of higher rank": (
        attention({
            "QueryTensor": (1, *QUERY), "KeyTensor": (1, 1, *KEY), "ValueTensor": VALUE,
            "OutputTensor": (1, 1, BATCHES, QUERIES, HEADS * WIDTH),
        }),
        1,
    ),
    "all stacked": (
        attention({"StackedQueryKeyValueTensor": STACKED, "OutputTensor": (BATCHES, QUERIES, HEADS * DEPTH)}),
        1,
    ),
    "queries and keys stacked": (
        attention({
            "StackedQueryKeyTensor": (BATCHES, QUERIES, HEADS, 2, DEPTH),
            "ValueTensor": (BATCHES, QUERIES, HEADS * WIDTH),
        }),
        1,
    ),
    "keys and values stacked": (
        attention({
            "QueryTensor": QUERY, "StackedKeyValueTensor": (BATCHES, KEYS, HEADS, 2, DEPTH),
            "OutputTensor": (BATCHES, QUERIES, HEADS * DEPTH),
        }),
        1,
    ),
    "with gaps": (
        attention(
            {**SEPARATE, "OutputTensor": (BATCHES, QUERIES, HEADS * WIDTH)},
            {
                "QueryTensor": padded(QUERY, 16), "KeyTensor": padded(KEY, 8),
                "ValueTensor": (0, HEADS * WIDTH, 1),
                "OutputTensor": padded((BATCHES, QUERIES, HEADS * WIDTH), 4),
            },
        ),
        1,
    ),
    "with odd gaps": (
        attention(
            SEPARATE,
            {
                "QueryTensor": padded(QUERY, 1), "KeyTensor": padded(KEY, 8),
                "OutputTensor": padded((BATCHES, QUERIES, HEADS * WIDTH), 3),
            },
        ),
        3,
    ),
    "with elements apart": (
        attention(SEPARATE, {"ValueTensor": (KEYS * HEADS * WIDTH * 2, HEADS * WIDTH * 2, 2)}), 2,
    ),
    "with a bias": (attention({**SEPARATE, "BiasTensor": (HEADS * (2 * DEPTH + WIDTH),)}), 4),
    "all stacked, with a bias": (
        attention({
            "StackedQueryKeyValueTensor": STACKED, "BiasTensor": (HEADS * 3 * DEPTH,),
            "OutputTensor": (BATCHES, QUERIES, HEADS * DEPTH),
        }),
        4,
    ),
    "queries and keys stacked, with a bias": (
        attention({
            "StackedQueryKeyTensor": (BATCHES, QUERIES, HEADS, 2, DEPTH),
            "ValueTensor": (BATCHES, QUERIES, HEADS * WIDTH), "BiasTensor": (HEADS * (2 * DEPTH + WIDTH),),
        }),
        4,
    ),
    "keys and values stacked, with a bias": (
        attention({
            "QueryTensor": QUERY, "StackedKeyValueTensor": (BATCHES, KEYS, HEADS, 2, DEPTH),
            "BiasTensor": (HEADS * 3 * DEPTH,), "OutputTensor": (BATCHES, QUERIES, HEADS * DEPTH),
        }),
        4,
    ),
    "with past keys": (attention({**SEPARATE, **OLD}), 1),
    "with past keys alone": (attention({"QueryTensor": QUERY, **OLD}), 1),
    "with present keys": (attention({**SEPARATE, **PRESENT}), 5),
    "with a mask": (
        attention(
            {**SEPARATE, "MaskTensor": (BATCHES, HEADS, QUERIES, KEYS)},
            MaskType="BOOLEAN", MaskFilterValue=-8.0,
        ),
        1,
    ),
    "with relative positions": (
        attention({**SEPARATE, "RelativePositionBiasTensor": (BATCHES, HEADS, QUERIES, KEYS)}), 1,
    ),
}  # fmt: skip


def described(case: dict[str, Any], kind: str) -> tuple[Any, dict[str, np.ndarray]]:
    """A case as a description, and arrays for its inputs."""
    rng = np.random.default_rng(3)
    tensors: dict[str, TensorDesc] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, sizes in case["sizes"].items():
        type_ = "INT32" if name == "MaskTensor" else kind
        own = {"Strides": case["strides"][name]} if name in case["strides"] else {}
        tensors[name] = TensorDesc(type_, sizes, **own)
        if name == "MaskTensor":
            arrays[name] = rng.integers(0, 2, sizes).astype(np.int32)
        elif not name.startswith("Output"):
            base = sizes if 0 not in own.get("Strides", ()) else (1, *sizes[1:])
            arrays[name] = np.broadcast_to(rng.normal(0, 1, base), sizes).astype(kind.lower())
    members = {
        "Scale": 0.35,
        "MaskFilterValue": -1e4,
        "HeadCount": HEADS,
        "MaskType": "NONE",
        **case["members"],
    }
    return dmlops.MultiheadAttention(**tensors, **members), arrays


VARIANTS = (("FLOAT32", NO_CAPABILITIES), ("FLOAT16", NO_CAPABILITIES), ("FLOAT16", COOPERATIVE))


def check(device: Any, desc: Any, arrays: dict[str, np.ndarray], capabilities: gpu.Capability) -> None:
    """Results between guard zones are near the definition's, and the same the second time."""
    apart = capabilities == COOPERATIVE and COOPERATIVE not in device.capabilities

    def text_of(operator: str) -> str:
        return taken_apart(shader(operator)) if apart else shader(operator)

    work = gpu.plan(desc, capabilities)
    found, again = (run_in_guard_zones(device, desc, arrays, work, text_of) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = reference.run(desc, arrays)
    tolerance = 4e-6 if desc.OutputTensor.DataType == "FLOAT32" else 2e-3
    for name, array in wanted.items():
        most = float(np.abs(array[np.isfinite(array)]).max(initial=0))
        np.testing.assert_allclose(found[name], array, tolerance, tolerance * most, err_msg=name)
        assert found[name].tobytes() == again[name].tobytes(), f"another {name} the second time"


@pytest.mark.parametrize(("kind", "capabilities"), VARIANTS, ids=["float32", "float16", "float16 by units"])
@pytest.mark.parametrize("name", CASES)
def test_views_are_not_copied(name: str, kind: str, capabilities: gpu.Capability, device: Any) -> None:
    case, passes = CASES[name]
    desc, arrays = described(case, kind)
    assert desc.validate("6.4") == []
    assert len(gpu.plan(desc, capabilities).dispatches) == passes
    check(device, desc, arrays, capabilities)


def test_plans_in_c_are_the_same(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for case, _ in CASES.values():
        for kind, capabilities in VARIANTS:
            desc, _ = described(case, kind)
            assert library.plan(desc, capabilities) == expected(desc, capabilities)


@pytest.mark.parametrize(("kind", "capabilities"), VARIANTS, ids=["float32", "float16", "float16 by units"])
def test_heads_that_share_keys_are_views_too(kind: str, capabilities: gpu.Capability, device: Any) -> None:
    heads, groups = 6, 2
    whole, part = (1, QUERIES, heads * DEPTH), (1, KEYS, groups * DEPTH)
    desc = dmlops.MultiheadAttention1(
        QueryTensor=TensorDesc(kind, whole), KeyTensor=TensorDesc(kind, part),
        ValueTensor=TensorDesc(kind, part), OutputTensor=TensorDesc(kind, whole), Scale=0.3,
        MaskFilterValue=-1e4, QueryHeadCount=heads, KeyValueHeadCount=groups, MaskType="NONE",
    )  # fmt: skip
    assert len(gpu.plan(desc, capabilities).dispatches) == 1
    rng = np.random.default_rng(4)
    shapes = {"QueryTensor": whole, "KeyTensor": part, "ValueTensor": part}
    arrays = {name: rng.normal(0, 1, sizes).astype(kind.lower()) for name, sizes in shapes.items()}
    check(device, desc, arrays, capabilities)


def test_infinities_in_views_are_seen_where_they_count(device: Any) -> None:
    desc, arrays = described(CASES["all stacked"][0], "FLOAT16")
    stacked = arrays["StackedQueryKeyValueTensor"].copy()
    stacked[0, 11, 1, 2, 3], stacked[1, 2, 0, 2, 5], stacked[1, 4, 2, 1] = np.inf, np.nan, -np.inf
    for capabilities in (NO_CAPABILITIES, COOPERATIVE):
        check(device, desc, {"StackedQueryKeyValueTensor": stacked}, capabilities)


ROW = "QueryTensor[align([b, s, {}], QueryTensor.DimensionCount, 0)]"


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (ROW.format("h * HeadSize + e"), True),
        (ROW.format("e * Heads + h"), True),
        (ROW.format("ravel_index([h, HeadSize - 1 - e], [Heads, HeadSize])"), True),
        (ROW.format("h * e"), False),
        (ROW.format("h * HeadSize + at[min(HeadCount, 3)]"), False),
        (ROW.format("ravel_index([h, e % HeadSize], [Heads, HeadSize])"), False),
        (ROW.format("h * HeadSize + e") + " * 2", False),
        (ROW.format("h * HeadSize + e") + " if s > 0 else 0", False),
        (ROW.format("h * HeadSize + e") + " if in_bounds([s, h], [SequenceLength, 2]) else 0", True),
        (ROW.format("h * HeadSize + e") + " if HeadCount > 1 else 0", True),
    ],
)
def test_what_views_are(query: str, fits: bool, tmp_path: Path) -> None:
    text = section("MULTIHEAD_ATTENTION").replace(
        "KeyValueHeads: HeadCount\n", f'KeyValueHeads: HeadCount\n    query(b, h, s, e): "{query}"\n'
    )
    assert query in text
    defines = Variant(tmp_path, "MULTIHEAD_ATTENTION", text).lowered.defines
    assert defines is not None
    found = {one.name: view_of(one) for one in defines.tensors}
    assert (found["Query"] is not None) == fits
    assert found["PresentKey"] is not None and found["Context"] is None


@pytest.mark.parametrize(
    ("old", "fits"),
    [
        ("present(P) and c[2] < PastSequenceLength", True),
        ("2 * c[2] < 7 and c[1] < 2", True),
        ("c[2] < PastSequenceLength or c[1] < 2", False),
        ("present(P) and c[2] < c[1]", False),
        ("present(P) and c[2] % 2 < 1", False),
        ("present(P)", False),
    ],
)
def test_what_stands_before(old: str, fits: bool, tmp_path: Path) -> None:
    """The keys that are not new ones; without limits, nothing says which these are."""
    text = section("MULTIHEAD_ATTENTION").replace(
        "KeyValueHeads: HeadCount\n", f'KeyValueHeads: HeadCount\n    is_past(P, c): "{old}"\n'
    )
    assert old in text
    defines = Variant(tmp_path, "MULTIHEAD_ATTENTION", text).lowered.defines
    assert defines is not None
    found = {one.name: view_before(one) for one in defines.tensors}
    assert (found["PresentKey"] is not None) == fits
    assert found["Query"] is None and found["Context"] is None


@pytest.mark.parametrize(
    ("place", "fits"),
    [
        ("[at[0], unravel_index(at[2], [Heads, 4])[0], at[1], unravel_index(at[2], [Heads, 4])[1]]", True),
        ("[at[0], at[1], at[2], at[3]]", True),
        ("[at[0], at[1], at[2], at[2]]", False),
        ("[at[0], at[1], at[2], 0]", False),
        ("[at[0], unravel_index(at[2], [Heads, 4])[1], at[1], unravel_index(at[2], [Heads, 8])[0]]", False),
        ("[at[0], unravel_index(at[2], [Heads, 4])[0], at[1], at[2] % 4]", False),
        ("[at[1], at[2], at[3], at[4]]", False),
    ],
)
def test_where_outputs_have_the_entries(place: str, fits: bool, tmp_path: Path) -> None:
    text = section("MULTIHEAD_ATTENTION").replace("MergedHeads[align(at, 3, 0)]", f"Context[{place}]")
    assert place in text
    defines = Variant(tmp_path, "MULTIHEAD_ATTENTION", text).lowered.defines
    assert defines is not None
    assert (view_in("OutputTensor", defines.outputs["OutputTensor"], "Context") is not None) == fits
