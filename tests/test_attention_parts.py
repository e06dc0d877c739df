"""Attention with few queries, whose keys are split among groups: when it is used, its plans, its results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from c_plans import Library, expected
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from gpu_device import device, run_in_guard_zones
from test_schedules_rows import attention, attention_of

__all__ = ["device"]  # a fixture

COOPERATIVE = gpu.Capability.COOPERATIVE_MATRIX
KINDS = ("FLOAT32", "FLOAT16")
SIZES = {  # batches, queries, keys, heads, elements of a key and of a value
    "one of each": (1, 1, 1, 1, 8, 8),
    "one query, one part": (2, 1, 67, 3, 64, 64),
    "one query, some parts": (1, 1, 300, 2, 128, 64),
    "some queries": (2, 5, 301, 2, 64, 128),
    "eight queries": (1, 8, 258, 3, 16, 8),
    "many queries of few heads": (1, 37, 270, 2, 16, 8),
    "vectors left over": (1, 3, 268, 2, 88, 152),
    "long rows": (1, 3, 261, 1, 512, 8),
    "long values": (1, 2, 278, 1, 8, 512),
    "many keys": (1, 1, 1500, 1, 8, 8),
}


def tolerance(kind: str) -> float:
    return 4e-6 if kind == "FLOAT32" else 2e-3


def check(device: Any, desc: Any, arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """Results between guard zones are near the definition's, and the same the second time."""
    found, again = (run_in_guard_zones(device, desc, arrays) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = reference.run(desc, arrays)
    near = tolerance(desc.OutputTensor.DataType.name)
    for name, array in wanted.items():
        most = float(np.abs(array[np.isfinite(array)]).max(initial=0))
        np.testing.assert_allclose(found[name], array, near, near * most, err_msg=name)
        assert found[name].tobytes() == again[name].tobytes(), f"another {name} the second time"
    return found


def by_parts(desc: Any) -> list[Any]:
    """The dispatches of attention by parts."""
    return [one for one in gpu.plan(desc).dispatches if "FEW_QUERIES" in one.defines]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIZES)
def test_results_are_those_of_the_reference(name: str, kind: str, device: Any) -> None:
    desc, arrays = attention(SIZES[name], kind)
    assert by_parts(desc)
    check(device, desc, arrays)


@pytest.mark.parametrize("kind", KINDS)
def test_which_descriptions_are_by_parts(kind: str) -> None:
    for sizes in ((1, 65, 270, 2, 64, 64), (1, 1, 70, 2, 7, 64), (1, 1, 70, 2, 64, 6), (1, 1, 70, 1, 520, 8)):
        assert not by_parts(attention_of(sizes, kind))
    for sizes in ((1, 64, 256, 2, 64, 64), (8, 40, 256, 8, 8, 8), (90, 4, 5, 9, 8, 8)):
        assert by_parts(attention_of(sizes, kind))
    assert not by_parts(attention_of((8, 41, 256, 8, 8, 8), kind)), "many queries of all heads"
    assert not by_parts(attention_of((1, 5, 255, 1, 8, 8), kind)), "few keys"


def test_parts_are_joined_where_there_are_some() -> None:
    assert len(by_parts(attention_of((1, 1, 128, 1, 64, 64), "FLOAT16"))) == 1
    assert [one.defines["COMBINE"] for one in by_parts(attention_of((1, 1, 129, 1, 64, 64), "FLOAT16"))] == [
        0,
        1,
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_masks_and_relative_positions(kind: str, device: Any) -> None:
    rng = np.random.default_rng(6)
    dense = (rng.random((2, 2, 3, 290)) > 0.4).astype(np.int32)
    dense[1, 0, 2] = 0  # every key of a query
    for mask, mask_type, filtered in (
        (dense, "BOOLEAN", -8.0),
        (dense, "BOOLEAN", -np.inf),
        (np.array([[290, 0]], np.int32), "KEY_SEQUENCE_LENGTH", -8.0),
        (np.array([[250, 233], [5, 233]], np.int32), "KEY_SEQUENCE_END_START", -8.0),
    ):
        desc, arrays = attention((2, 3, 290, 2, 8, 8), kind, mask, mask_type, filtered)
        check(device, desc, arrays)
    desc, arrays = attention((2, 3, 290, 2, 8, 8), kind)
    arrays["RelativePositionBiasTensor"] = rng.normal(0, 1, (2, 2, 3, 290)).astype(kind.lower())
    check(device, replace(desc, RelativePositionBiasTensor=TensorDesc(kind, (2, 2, 3, 290))), arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("queries", [1, 4])
def test_infinities_and_nan_count_where_they_are_seen(queries: int, kind: str, device: Any) -> None:
    desc, arrays = attention((1, queries, 300, 2, 8, 8), kind)
    arrays["ValueTensor"][0, 299, 2] = np.inf
    arrays["ValueTensor"][0, 1, 11] = np.nan
    arrays["KeyTensor"][0, 140, 3] = -np.inf
    arrays["QueryTensor"][0, queries // 2, :8] = np.nan
    check(device, desc, arrays)
    arrays["QueryTensor"][:] = np.abs(np.nan_to_num(arrays["QueryTensor"])) + 1
    arrays["KeyTensor"][0, :128] = -np.inf  # all of the first part
    check(device, desc, arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("queries", "heads", "groups"), [(1, 6, 2), (3, 8, 1), (1, 5, 5), (2, 24, 2)])
def test_heads_that_share_keys(queries: int, heads: int, groups: int, kind: str, device: Any) -> None:
    keys, depth = 278, 8
    whole, part = (2, queries, heads * depth), (2, keys, groups * depth)
    desc = dmlops.MultiheadAttention1(
        QueryTensor=TensorDesc(kind, whole), KeyTensor=TensorDesc(kind, part),
        ValueTensor=TensorDesc(kind, part), OutputTensor=TensorDesc(kind, whole), Scale=0.3,
        MaskFilterValue=-1e4, QueryHeadCount=heads, KeyValueHeadCount=groups, MaskType="NONE",
    )  # fmt: skip
    assert by_parts(desc)[0].defines["SHARED"] == heads // groups
    rng = np.random.default_rng(4)
    shapes = {"QueryTensor": whole, "KeyTensor": part, "ValueTensor": part}
    check(device, desc, {name: rng.normal(0, 1, one).astype(kind.lower()) for name, one in shapes.items()})


def test_plans_in_c_are_the_same(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for sizes in (*SIZES.values(), (32, 1, 1024, 32, 8, 8), (1, 1, 4096, 8, 128, 128)):
        for kind in KINDS:
            desc, _ = attention(sizes, kind)
            for capabilities in (NO_CAPABILITIES, COOPERATIVE):
                assert library.plan(desc, capabilities) == expected(desc, capabilities)


def decoding(
    kind: str,
    sizes: tuple[int, ...],
    given: tuple[str, ...],
    strides: dict[str, tuple[int, ...]] | None = None,
) -> tuple[Any, dict[str, np.ndarray]]:
    """Batches, new tokens, keys of earlier calls, heads, heads of keys, and elements of a key and of a value;
    `given` are optional tensors."""
    batches, tokens, past, heads, groups, depth, width = sizes
    whole = past + tokens * ("KeyTensor" in given)
    shapes = {
        "QueryTensor": (batches, tokens, heads * depth),
        "KeyTensor": (batches, tokens, groups * depth),
        "ValueTensor": (batches, tokens, groups * width),
        "BiasTensor": (heads * depth + groups * (depth + width),),
        "PastKeyTensor": (batches, groups, past, depth),
        "PastValueTensor": (batches, groups, past, width),
        "RelativePositionBiasTensor": (batches, heads, tokens, whole),
        "OutputTensor": (batches, tokens, heads * width),
        "OutputPresentKeyTensor": (batches, groups, whole, depth),
        "OutputPresentValueTensor": (batches, groups, whole, width),
    }
    names = {"QueryTensor", "PastKeyTensor", "PastValueTensor", "OutputTensor", *given}
    if "KeyTensor" in given:
        names.add("ValueTensor")
    tensors = {
        name: TensorDesc(kind, shape, **({"Strides": strides[name]} if strides and name in strides else {}))
        for name, shape in shapes.items()
        if name in names
    }
    desc = dmlops.MultiheadAttention1(
        **tensors, Scale=0.3, MaskFilterValue=-1e4, QueryHeadCount=heads, KeyValueHeadCount=groups,
        MaskType="NONE",
    )  # fmt: skip
    assert desc.validate("6.4") == []
    rng = np.random.default_rng(8)
    arrays = {
        name: rng.normal(0, 1, one.Sizes).astype(kind.lower())
        for name, one in tensors.items()
        if not name.startswith("Output")
    }
    return desc, arrays


PRESENT = ("OutputPresentKeyTensor", "OutputPresentValueTensor")
DECODING = {  # with the dispatches that it takes
    "past and new keys": ((2, 1, 140, 3, 3, 64, 24), ("KeyTensor",), 2),
    "past keys alone": ((1, 1, 140, 2, 2, 8, 16), (), 1),
    "some new keys": ((2, 3, 254, 2, 2, 16, 8), ("KeyTensor", "RelativePositionBiasTensor"), 2),
    "shared by heads": ((2, 2, 328, 8, 2, 16, 8), ("KeyTensor",), 2),
    "present keys": ((2, 3, 268, 2, 2, 16, 8), ("KeyTensor", *PRESENT), 2),
    "present keys, shared by many heads": ((1, 1, 40, 24, 2, 16, 8), ("KeyTensor", *PRESENT), 1),
    "a present key": ((1, 1, 100, 2, 2, 16, 8), ("KeyTensor", PRESENT[0]), 1),
    "a bias": ((2, 2, 268, 4, 2, 16, 8), ("KeyTensor", "BiasTensor"), 5),
    "a bias, present keys": ((1, 1, 140, 2, 2, 64, 64), ("KeyTensor", "BiasTensor", *PRESENT), 5),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DECODING)
def test_keys_of_earlier_calls_are_not_copied(name: str, kind: str, device: Any) -> None:
    sizes, given, dispatches = DECODING[name]
    desc, arrays = decoding(kind, sizes, given)
    assert by_parts(desc) and len(gpu.plan(desc).dispatches) == dispatches
    check(device, desc, arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "stride"),
    [
        ("PastKeyTensor", (2 * 259 * 16, 259 * 16, 16, 1)),
        ("PastValueTensor", (2 * 268 * 17, 268 * 17, 17, 1)),
        ("KeyTensor", (99, 33, 1)),
        (PRESENT[0], (2 * 270 * 24, 270 * 24, 24, 1)),
        (PRESENT[1], (2 * 270 * 17, 270 * 17, 17, 1)),
    ],
)
def test_keys_with_gaps(name: str, stride: tuple[int, ...], kind: str, device: Any) -> None:
    desc, arrays = decoding(kind, (2, 2, 258, 2, 2, 16, 16), ("KeyTensor", *PRESENT), {name: stride})
    check(device, desc, arrays)


MANY = {  # queries that are too many for parts, with the dispatches that it takes
    "past and new keys": ((2, 65, 270, 2, 2, 16, 8), ("KeyTensor",), 1),
    "past keys alone": ((1, 68, 40, 2, 2, 8, 16), (), 1),
    "shared by heads": ((1, 91, 33, 4, 2, 16, 16), ("KeyTensor", "RelativePositionBiasTensor"), 1),
    "a bias": ((2, 73, 31, 2, 1, 16, 8), ("KeyTensor", "BiasTensor"), 4),
    "present keys": ((1, 65, 40, 2, 2, 8, 8), ("KeyTensor", *PRESENT), 5),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MANY)
def test_many_queries_do_not_copy_them_either(name: str, kind: str, device: Any) -> None:
    sizes, given, dispatches = MANY[name]
    desc, arrays = decoding(kind, sizes, given)
    assert not by_parts(desc) and len(gpu.plan(desc).dispatches) == dispatches
    check(device, desc, arrays)


def test_plans_of_decoding_in_c_are_the_same(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for sizes, given, _ in (*DECODING.values(), *MANY.values()):
        for kind in KINDS:
            desc, _ = decoding(kind, sizes, given)
            for capabilities in (NO_CAPABILITIES, COOPERATIVE):
                assert library.plan(desc, capabilities) == expected(desc, capabilities)
