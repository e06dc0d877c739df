"""Attention: which kernel takes a description, what it reads in place, and results at awkward sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu
from dmlops.gpu import compiler, shader
from dmlops.gpu.plans import attention as attention_plans
from dmlops.gpu.plans.attention import AttentionTile
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from gpu_device import GUARD, device, dispatch_guarded
from gpu_results import COOPERATIVE, check_cooperative, check_results
from spirv_modules import validate

__all__ = ["device"]  # a fixture

Shapes = Mapping[str, tuple[int, ...]]
Arrays = dict[str, np.ndarray]


class Way(NamedTuple):
    """A type, and whether cooperative matrices compute it; `in_parts`: groups take 64 keys each."""

    kind: str
    cooperative: bool = False
    in_parts: bool = False

    def plan(self, desc: Any) -> Any:
        return gpu.plan(desc, COOPERATIVE if self.cooperative else NO_CAPABILITIES)

    def check(self, device: Any, desc: Any, arrays: Arrays | None = None) -> Arrays:
        given = drawn(desc) if arrays is None else arrays
        return (check_cooperative if self.cooperative else check_results)(device, desc, given)


WAYS = {
    "float32": Way("FLOAT32"),
    "float16": Way("FLOAT16"),
    "matrices": Way("FLOAT16", cooperative=True),
    "matrices, in parts": Way("FLOAT16", cooperative=True, in_parts=True),
}
ORDINARY, MATRICES = ("float32", "float16"), ("matrices", "matrices, in parts")
EACH = (*ORDINARY, "matrices")


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    found = WAYS[request.param]
    if found.cooperative:
        monkeypatch.setattr(attention_plans, "PARTS_COOPERATIVE_LEAST", 64)
        monkeypatch.setattr(attention_plans, "PARTS_COOPERATIVE_WORTH", 1 if found.in_parts else 2**30)
    return found


def ways(*names: str) -> Any:
    return pytest.mark.parametrize("way", names, indirect=True)


def of_shapes(kind: str, shapes: Shapes, strides: Shapes | None = None, **members: Any) -> Any:
    """An attention of tensors with these sizes, packed unless strides are given."""
    of_integers = ("MaskTensor", "PastSequenceLengthsTensor")
    tensors = {
        name: TensorDesc("INT32" if name in of_integers else kind, sizes, Strides=(strides or {}).get(name))
        for name, sizes in shapes.items()
    }
    usual = {"Scale": 0.3, "MaskFilterValue": -1e4, "MaskType": "NONE"}
    make = dmlops.MultiheadAttention1 if "QueryHeadCount" in members else dmlops.MultiheadAttention
    desc = make(**tensors, **{**usual, **members})
    assert desc.validate("6.4") == []
    return desc


def attention(kind: str, sizes: tuple[int, ...]) -> Any:
    """By batches, queries, keys, heads, elements of a key and of a value, and heads of keys, if these have a
    number of their own."""
    batches, queries, keys, heads, depth, width, *few = sizes
    (groups,) = few or (heads,)
    shapes = {
        "QueryTensor": (batches, queries, heads * depth), "KeyTensor": (batches, keys, groups * depth),
        "ValueTensor": (batches, keys, groups * width), "OutputTensor": (batches, queries, heads * width),
    }  # fmt: skip
    counts = {"QueryHeadCount": heads, "KeyValueHeadCount": groups} if few else {"HeadCount": heads}
    return of_shapes(kind, shapes, Scale=depth**-0.5, **counts)


NEW, BIAS, RELATIVE = "KeyTensor", "BiasTensor", "RelativePositionBiasTensor"
PRESENT = ("OutputPresentKeyTensor", "OutputPresentValueTensor")


def decoding(
    kind: str, sizes: tuple[int, ...], given: tuple[str, ...] = (NEW,), strides: Shapes | None = None
) -> Any:
    """By batches, new tokens, keys of earlier calls, heads, heads of keys, and elements of a key and of a
    value; `given` are optional tensors, among them the key, with which a value comes."""
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
    names |= {"ValueTensor"} if "KeyTensor" in given else set()
    chosen = {name: shape for name, shape in shapes.items() if name in names}
    return of_shapes(kind, chosen, strides, QueryHeadCount=heads, KeyValueHeadCount=groups)


def drawn(desc: Any) -> Arrays:
    """Arrays for its inputs."""
    rng, arrays = np.random.default_rng(3), {}
    for member in desc.MEMBERS:
        tensor = getattr(desc, member.name)
        if member.role == "input" and tensor is not None:
            base = (1, *tensor.Sizes[1:]) if 0 in tensor.element_strides else tensor.Sizes
            is_float = tensor.DataType.kind == "float"
            numbers = rng.normal(0, 1, base) if is_float else rng.integers(0, 2, base)
            arrays[member.name] = np.broadcast_to(numbers, tensor.Sizes).astype(tensor.DataType.numpy)
    return arrays


def multiplying(desc: Any) -> Any:
    """The macros of the dispatch by cooperative matrices."""
    (found,) = (
        one.defines for one in gpu.plan(desc, COOPERATIVE).dispatches if "COOPERATIVE_MATRIX" in one.defines
    )
    return found


def kernel(way: Way, desc: Any) -> str:
    """The name of the kernel that takes a description."""
    defines = [one.defines for one in way.plan(desc).dispatches]
    if any("COOPERATIVE_MATRIX" in one for one in defines):
        return "matrices, in parts" if multiplying(desc)["KEYS_PER_SPLIT"] else "matrices"
    if any("FEW_QUERIES" in one for one in defines):
        return "parts" if any(one.get("COMBINE") == 1 for one in defines) else "few queries"
    return "rows" if len(defines) == 1 else "definition"


SIZES = {  # by kernels, as of `attention`
    "definition": ((1, 1, 1, 1, 1, 1), (2, 31, 33, 3, 7, 9), (1, 33, 65, 2, 22, 34)),
    "rows": (
        (1, 33, 65, 2, 24, 40), (2, 70, 130, 2, 64, 64), (1, 40, 64, 1, 16, 304), (130, 64, 65, 2, 16, 8),
        (1, 40, 130, 2, 24, 192), (2, 37, 70, 1, 16, 136),  # more threads to a row
        (1, 19, 35, 6, 8, 8, 2),
    ),
    "few queries": (
        (1, 1, 1, 1, 8, 8), (1, 1, 237, 2, 8, 8), (2, 1, 67, 3, 64, 64), (1, 2, 118, 1, 8, 512),
    ),
    "parts": (
        (1, 1, 300, 2, 128, 64), (2, 5, 301, 2, 64, 128), (1, 8, 258, 3, 16, 8), (1, 37, 270, 2, 16, 8),
        (1, 3, 268, 2, 88, 152), (1, 3, 261, 1, 512, 8), (1, 1, 1500, 1, 8, 8),
        (2, 1, 534, 6, 8, 8, 2), (2, 3, 534, 8, 8, 8, 1), (2, 1, 534, 5, 8, 8, 5), (2, 2, 534, 24, 8, 8, 2),
    ),
    "matrices": (
        (1, 9, 1, 1, 8, 8), (2, 31, 33, 3, 24, 16), (1, 33, 65, 2, 64, 64), (1, 20, 70, 1, 16, 128),
        (1, 19, 35, 6, 8, 8, 2), (35, 70, 17, 4, 8, 24),  # two blocks to a wave
        (1, 20, 37, 2, 200, 168), (1, 33, 20, 1, 8, 264),  # slices of rows, one smaller or empty
    ),
}  # fmt: skip
OF_KERNELS = [
    (way, name, sizes)
    for name, some in SIZES.items()
    for sizes in some
    for way in (("matrices",) if name == "matrices" else ORDINARY)
]


@pytest.mark.parametrize(("way", "name", "sizes"), OF_KERNELS, indirect=["way"], ids=str)
def test_results_at_awkward_sizes(way: Way, name: str, sizes: tuple[int, ...], device: Any) -> None:
    desc = attention(way.kind, sizes)
    assert kernel(way, desc) == name
    are_shared = name != "rows" and len(sizes) == 7
    shared = sizes[3] // sizes[6] if are_shared else 1
    assert way.plan(desc).dispatches[0].defines.get("SHARED", 1) == shared
    way.check(device, desc)


CHOSEN = {  # by ordinary arithmetic, and with cooperative matrices for float16
    "definition, definition": ((1, 1, 70, 2, 7, 64), (1, 1, 70, 2, 64, 6)),
    "rows, rows": ((1, 1, 70, 1, 520, 8), (1, 20, 70, 1, 64, 520)),
    "rows, matrices": (
        (1, 65, 270, 2, 64, 64), (8, 41, 256, 8, 8, 8), (1, 5, 255, 1, 8, 8),
    ),
    "rows, matrices, in parts": ((1, 256, 2048, 32, 128, 128),),
    "few queries, few queries": ((1, 1, 128, 1, 64, 64),),
    "few queries, matrices": ((90, 4, 5, 9, 8, 8),),
    "parts, parts": ((1, 1, 129, 1, 64, 64),),
    "parts, matrices": ((1, 64, 256, 2, 64, 64), (8, 40, 600, 8, 8, 8), (1, 16, 256, 12, 64, 64)),
    "parts, matrices, in parts": ((1, 8, 2048, 8, 128, 128), (1, 16, 512, 12, 64, 64)),
}  # fmt: skip


def test_which_kernel_takes_an_attention() -> None:
    for names, some in CHOSEN.items():
        for sizes in some:
            found = [kernel(WAYS[way], attention(WAYS[way].kind, sizes)) for way in EACH]
            assert (found[1], ", ".join(found[1:])) == (found[0], names), sizes


@pytest.mark.parametrize(
    ("sizes", "given", "is_left"),
    [
        ((3, 1, 90, 4, 2, 8, 8), (NEW,), True),
        ((3, 1, 90, 6, 2, 8, 8), (NEW,), False),
        ((3, 1, 90, 6, 2, 8, 8), (NEW, *PRESENT), True),
        ((3, 2, 2048, 2, 2, 8, 8), (NEW,), False),
        ((3, 2, 90, 2, 2, 8, 8), (NEW, *PRESENT), False),
    ],
)
def test_which_decoding_is_left_to_ordinary_arithmetic(
    sizes: tuple[int, ...], given: tuple[str, ...], is_left: bool
) -> None:
    """One query of keys that no more than two heads share, or that are stored as well."""
    for kind, same in (("FLOAT16", is_left), ("FLOAT32", True)):
        desc = decoding(kind, sizes, given)
        assert (gpu.plan(desc, COOPERATIVE) == gpu.plan(desc)) == same


# Masks and special numbers.


def masks(batches: int, heads: int, queries: int, keys: int) -> list[tuple[str, np.ndarray, float]]:
    """Their types, those of two batches, and what is added where one is 0. More would leave few bits of
    scores where all are masked."""
    dense = (np.random.default_rng(6).random((batches, heads, queries, keys)) > 0.4).astype(np.int32)
    dense[0, 1, :, :64] = dense[1, :2, queries - 1] = 0  # all keys of the first part, and all of a query
    found = [
        ("KEY_SEQUENCE_LENGTH", [[keys, 0]], -8.0),
        ("KEY_SEQUENCE_END_START", [[keys - 10, 33], [5, 33]], -8.0),
        ("KEY_QUERY_SEQUENCE_LENGTH_START_END", [keys, 20, *range(6)], -np.inf),
    ]
    least = float(np.finfo(np.float32).min)
    return [
        *((type_, np.array(mask, np.int32), filtered) for type_, mask, filtered in found),
        *(("BOOLEAN", dense, filtered) for filtered in (-8.0, -np.inf, least)),
    ]


@pytest.mark.parametrize(
    ("way", "make", "sizes"),
    [
        ("float32", attention, (2, 37, 70, 2, 8, 8)),
        *((way, attention, (2, 3, 290, 2, 8, 8)) for way in ORDINARY),
        *((way, attention, (2, 37, 70, 2, 8, 8)) for way in MATRICES),
        *((way, decoding, (2, 3, 80, 6, 2, 8, 16)) for way in MATRICES),
    ],
    indirect=["way"],
)
def test_masks(
    way: Way, make: Any, sizes: tuple[int, ...], device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_plans, "attention_tile", lambda *_: AttentionTile(4, 1, 16))
    desc = make(way.kind, sizes)
    keys = sizes[2] + (sizes[1] if make is decoding else 0)
    for type_, mask, filtered in masks(2, sizes[3], sizes[1], keys):
        tensor = TensorDesc("INT32", mask.shape)
        masked = replace(desc, MaskTensor=tensor, MaskType=type_, MaskFilterValue=filtered)
        way.check(device, masked, {**drawn(masked), "MaskTensor": mask})


@pytest.mark.parametrize(
    ("way", "queries", "keys"),
    [
        ("float32", 20, 130), *((way, queries, 300) for way in ORDINARY for queries in (1, 4)),
        *((way, 20, 70) for way in MATRICES),
    ],
    indirect=["way"],
)  # fmt: skip
def test_infinities_and_nan_count_where_they_are_seen(
    way: Way, queries: int, keys: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desc = attention(way.kind, (1, queries, keys, 2, 8, 8))
    arrays = drawn(desc)
    arrays["ValueTensor"][0, keys - 1, 2] = np.inf
    arrays["ValueTensor"][0, 1, 11] = np.nan
    arrays["KeyTensor"][0, keys // 2, 3] = -np.inf
    arrays["QueryTensor"][0, queries // 2, :8] = np.nan
    for tile in (AttentionTile(4, 1, 32), AttentionTile(4, 2, 16))[: 1 + way.cooperative]:
        monkeypatch.setattr(attention_plans, "attention_tile", lambda *_, tile=tile: tile)
        found = way.check(device, desc, arrays)["OutputTensor"]
        assert not np.isfinite(found).all() and np.isfinite(found).any()
    arrays["QueryTensor"][:] = np.abs(np.nan_to_num(arrays["QueryTensor"])) + 1
    arrays["KeyTensor"][0, : 64 if keys < 128 else 128] = -np.inf  # all of the first part
    way.check(device, desc, arrays)


@pytest.mark.parametrize(
    ("way", "queries", "past"),
    [("float32", 3, 66), *((way, 9, 60) for way in MATRICES)],
    indirect=["way"],
)
def test_what_nothing_wrote_does_not_matter(way: Way, queries: int, past: int, device: Any) -> None:
    """Present tensors hold NaN and infinities beyond the keys of this call, in one batch in all of a part;
    heads share keys."""
    batches, heads, groups, depth, room = 2, 4, 2, 8, 70
    kept, part = (batches, groups, room, depth), (batches, queries, groups * depth)
    shapes = {
        "QueryTensor": (batches, queries, heads * depth), "KeyTensor": part, "ValueTensor": part,
        "PastKeyTensor": kept, "PastValueTensor": kept, "PastSequenceLengthsTensor": (batches,),
        "OutputTensor": (batches, queries, heads * depth),
        "OutputPresentKeyTensor": kept, "OutputPresentValueTensor": kept,
    }  # fmt: skip
    desc = of_shapes(way.kind, shapes, QueryHeadCount=heads, KeyValueHeadCount=groups)
    arrays = drawn(desc)
    arrays["PastSequenceLengthsTensor"] = np.array([0, past], np.int32)
    for name in ("PastKeyTensor", "PastValueTensor"):
        arrays[name][0], arrays[name][1, :, past:] = np.nan, np.inf
    assert np.isfinite(way.check(device, desc, arrays)["OutputTensor"]).all()


@pytest.mark.parametrize("leading", [(), (1,)], ids=["four dimensions", "five"])
def test_present_tensors_keep_what_they_held(leading: tuple[int, ...], device: Any) -> None:
    """Behind the keys of this call, and between these and the past where a length says that more came."""
    batches, groups, room, depth, past = 2, 3, 9, 5, 4
    whole, kept = (batches, 2, groups * depth), (*leading, batches, groups, room, depth)
    shapes = {
        **dict.fromkeys(("QueryTensor", "KeyTensor", "ValueTensor", "OutputTensor"), whole),
        **dict.fromkeys(("PastKeyTensor", "PastValueTensor"), (*leading, batches, groups, past, depth)),
        **dict.fromkeys(PRESENT, kept), "PastSequenceLengthsTensor": (batches,),
    }  # fmt: skip
    desc = of_shapes("FLOAT32", shapes, QueryHeadCount=groups, KeyValueHeadCount=groups)
    arrays = drawn(desc)
    rng = np.random.default_rng(8)
    arrays |= {name: rng.normal(0, 1, shapes[name]).astype("f4") for name in (*PRESENT, "OutputTensor")}
    lengths = arrays["PastSequenceLengthsTensor"] = np.array([2, 6], np.int32)
    contents = {name: array.view(np.uint8).ravel() for name, array in arrays.items()}
    after = dispatch_guarded(device, desc.OPERATOR, gpu.plan(desc, device.capabilities), contents)
    for one in ("Key", "Value"):
        name = f"OutputPresent{one}Tensor"
        found = after[name][GUARD:-GUARD].view(np.float32).reshape(batches, groups, room, depth)
        expected = arrays[name].reshape(found.shape).copy()
        for batch, length in enumerate(lengths):
            old = min(length, past)
            first = arrays[f"Past{one}Tensor"].reshape(batches, groups, past, depth)
            expected[batch, :, :old] = first[batch, :, :old]
            new = arrays[f"{one}Tensor"][batch].reshape(2, groups, depth).swapaxes(0, 1)
            expected[batch, :, length : length + 2] = new
        np.testing.assert_array_equal(found, expected, name)


# Keys of earlier calls, and heads that share keys.

DECODING = {  # with the dispatches that it takes
    "past and new keys": ((2, 1, 140, 3, 3, 64, 24), (NEW,), 2),
    "past keys alone": ((1, 1, 120, 2, 2, 8, 16), (), 1),
    "some new keys": ((2, 3, 254, 2, 2, 16, 8), (NEW, RELATIVE), 2),
    "shared by heads": ((2, 2, 328, 8, 2, 16, 8), (NEW,), 2),
    "present keys": ((2, 3, 268, 2, 2, 16, 8), (NEW, *PRESENT), 2),
    "present keys, shared by many heads": ((1, 1, 40, 24, 2, 16, 8), (NEW, *PRESENT), 1),
    "a present key": ((1, 1, 100, 2, 2, 16, 8), (NEW, PRESENT[0]), 1),
    "a bias": ((2, 2, 268, 4, 2, 16, 8), (NEW, BIAS), 5),
    "a bias, present keys": ((1, 1, 140, 2, 2, 64, 64), (NEW, BIAS, *PRESENT), 5),
}
MANY = {  # of queries
    "past and new keys": ((2, 65, 270, 2, 2, 16, 8), (NEW,), 1),
    "past keys alone": ((1, 68, 40, 2, 2, 8, 16), (), 1),
    "shared by heads": ((1, 91, 33, 4, 2, 16, 16), (NEW, RELATIVE), 1),
    "a bias": ((2, 73, 31, 2, 1, 16, 8), (NEW, BIAS), 4),
    "present keys": ((1, 65, 40, 2, 2, 8, 8), (NEW, *PRESENT), 5),
}
SHARING = {  # so that all queries of some heads are rows of one group of cooperative matrices
    "one query": ((2, 1, 130, 6, 2, 16, 8), (NEW,), 1),
    "more rows than a wave has": ((1, 5, 70, 8, 2, 8, 24), (NEW, RELATIVE), 1),
    "a tile of rows and some": ((1, 7, 65, 30, 3, 8, 8), (NEW,), 1),
    "wide": ((1, 3, 90, 9, 1, 136, 144), (), 1),
    "masked": ((2, 3, 80, 6, 2, 8, 16), (NEW,), 1),
}
GAPS = {
    name: ((2, 2, 258, 2, 2, 16, 16), (NEW, *PRESENT), dispatches, ((name, strides),))
    for name, strides, dispatches in (
        ("PastKeyTensor", (2 * 259 * 16, 259 * 16, 16, 1), 2),
        ("PastValueTensor", (2 * 268 * 17, 268 * 17, 17, 1), 4),
        ("KeyTensor", (99, 33, 1), 4),
        (PRESENT[0], (2 * 270 * 24, 270 * 24, 24, 1), 2),
        (PRESENT[1], (2 * 270 * 17, 270 * 17, 17, 1), 4),
    )
}
OF_DECODING = [
    (way, case)
    for some, its_ways in (
        (DECODING | GAPS, ORDINARY),
        (MANY, (*ORDINARY, *MATRICES)),
        (SHARING, MATRICES),
    )
    for case in some.values()
    for way in its_ways
]


@pytest.mark.parametrize(("way", "case"), OF_DECODING, indirect=["way"], ids=str)
def test_keys_of_earlier_calls_are_read_where_they_are(way: Way, case: Any, device: Any) -> None:
    sizes, given, dispatches, *strides = case
    _, queries, past, heads, groups, _, _ = sizes
    desc = decoding(way.kind, sizes, given, *map(dict, strides))
    joins = way.in_parts and past + queries * (NEW in given) > 64
    assert len(way.plan(desc).dispatches) == dispatches + joins
    if way.cooperative:
        shared = heads // groups if case in SHARING.values() else 1
        assert (multiplying(desc)["SHARED"], multiplying(desc)["KEYS_PER_SPLIT"] > 0) == (shared, joins)
    way.check(device, desc)


# Views of tensors.

BATCHES, QUERIES, KEYS, HEADS, DEPTH, WIDTH, PAST = 2, 19, 35, 3, 8, 16, 5
QUERY, KEY, VALUE = (
    (BATCHES, QUERIES, HEADS * DEPTH),
    (BATCHES, KEYS, HEADS * DEPTH),
    (BATCHES, KEYS, HEADS * WIDTH),
)
WIDE, NARROW = (BATCHES, QUERIES, HEADS * WIDTH), (BATCHES, QUERIES, HEADS * DEPTH)
SEPARATE = {"QueryTensor": QUERY, "KeyTensor": KEY, "ValueTensor": VALUE, "OutputTensor": WIDE}
STACKED = {
    "all": {"StackedQueryKeyValueTensor": (BATCHES, QUERIES, HEADS, 3, DEPTH), "OutputTensor": NARROW},
    "queries and keys": {
        "StackedQueryKeyTensor": (BATCHES, QUERIES, HEADS, 2, DEPTH), "ValueTensor": WIDE,
        "OutputTensor": WIDE,
    },
    "keys and values": {
        "QueryTensor": QUERY, "StackedKeyValueTensor": (BATCHES, KEYS, HEADS, 2, DEPTH),
        "OutputTensor": NARROW,
    },
}  # fmt: skip
EQUAL, WIDER = {"BiasTensor": (HEADS * 3 * DEPTH,)}, {"BiasTensor": (HEADS * (2 * DEPTH + WIDTH),)}
OLD = {
    "PastKeyTensor": (BATCHES, HEADS, PAST, DEPTH), "PastValueTensor": (BATCHES, HEADS, PAST, WIDTH),
}  # fmt: skip
SCORES = (BATCHES, HEADS, QUERIES, KEYS)


def apart(sizes: tuple[int, ...], gap: int) -> tuple[int, ...]:
    """Strides of rows with so many elements between them."""
    _, rows, columns = sizes
    return (rows * (columns + gap), columns + gap, 1)


VIEWS: dict[str, tuple[Shapes, Shapes, int]] = {  # with strides, and how many passes are left
    "separate": (SEPARATE, {}, 1),
    "of higher rank": (
        {
            "QueryTensor": (1, *QUERY), "KeyTensor": (1, 1, *KEY), "ValueTensor": VALUE,
            "OutputTensor": (1, 1, *WIDE),
        }, {}, 1,
    ),
    **{f"{name} stacked": (shapes, {}, 1) for name, shapes in STACKED.items()},
    "with gaps": (
        SEPARATE,
        {
            "QueryTensor": apart(QUERY, 16), "KeyTensor": apart(KEY, 8),
            "ValueTensor": (0, HEADS * WIDTH, 1), "OutputTensor": apart(WIDE, 4),
        }, 1,
    ),
    "with odd gaps": (
        SEPARATE,
        {"QueryTensor": apart(QUERY, 1), "KeyTensor": apart(KEY, 8), "OutputTensor": apart(WIDE, 3)}, 3,
    ),
    "with elements apart": (
        SEPARATE, {"ValueTensor": (KEYS * HEADS * WIDTH * 2, HEADS * WIDTH * 2, 2)}, 2,
    ),
    "with a bias": ({**SEPARATE, **WIDER}, {}, 4),
    **{
        f"{name} stacked, with a bias": (shapes | (WIDER if name == "queries and keys" else EQUAL), {}, 4)
        for name, shapes in STACKED.items()
    },
    "with past keys": ({**SEPARATE, **OLD}, {}, 1),
    "with past keys alone": ({"QueryTensor": QUERY, "OutputTensor": WIDE, **OLD}, {}, 1),
    "with present keys": (
        {
            **SEPARATE, "OutputPresentKeyTensor": (BATCHES, HEADS, KEYS, DEPTH),
            "OutputPresentValueTensor": (BATCHES, HEADS, KEYS, WIDTH),
        }, {}, 5,
    ),
    "with a mask": ({**SEPARATE, "MaskTensor": SCORES}, {}, 1),
    "with relative positions": ({**SEPARATE, RELATIVE: SCORES}, {}, 1),
}  # fmt: skip


def viewed(name: str, kind: str) -> Any:
    shapes, strides, _ = VIEWS[name]
    masked = {"MaskType": "BOOLEAN", "MaskFilterValue": -8.0} if "MaskTensor" in shapes else {}
    return of_shapes(kind, shapes, strides, HeadCount=HEADS, **masked)


@ways(*EACH)
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_not_copied(name: str, way: Way, device: Any) -> None:
    desc = viewed(name, way.kind)
    assert len(way.plan(desc).dispatches) == VIEWS[name][-1]
    way.check(device, desc)


@ways("float16", "matrices")
def test_infinities_in_views_are_seen_where_they_count(way: Way, device: Any) -> None:
    desc = viewed("all stacked", way.kind)
    arrays = drawn(desc)
    stacked = arrays["StackedQueryKeyValueTensor"]
    stacked[0, 11, 1, 2, 3], stacked[1, 2, 0, 2, 5], stacked[1, 4, 2, 1] = np.inf, np.nan, -np.inf
    way.check(device, desc, arrays)


# Cooperative matrices.


@ways(*MATRICES)
@pytest.mark.parametrize("tile", [(2, 1, 48), (4, 1, 16), (4, 2, 32), (8, 4, 16)], ids=str)
def test_any_tile(
    tile: tuple[int, int, int], way: Way, device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last tile of keys is not whole, and neither is the last block of queries. Left factors are laid out
    otherwise where groups take parts."""
    monkeypatch.setattr(attention_plans, "attention_tile", lambda *_: AttentionTile(*tile))
    desc = attention("FLOAT16", (2, 37, 85, 1, 24, 40))
    made = multiplying(desc)
    assert (made["NUM_THREADS"], made["SLICES"]) == (tile[0] * 32, tile[1])
    assert (made["KEYS_PER_SPLIT"] > 0) == way.in_parts
    validate(compiler.compile(shader("MULTIHEAD_ATTENTION"), made), tmp_path, "attention")
    check_cooperative(device, desc, drawn(desc), is_alike=not way.in_parts)


@ways(*MATRICES)
@pytest.mark.parametrize("tile", [(4, 1, 64), (4, 1, 32), (4, 2, 16)], ids=str)
def test_scores_that_keep_growing(
    tile: tuple[int, int, int], way: Way, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tile of keys has scores greater than all before it by more than float16 can represent."""
    monkeypatch.setattr(attention_plans, "attention_tile", lambda *_: AttentionTile(*tile))
    desc = attention(way.kind, (1, 40, 160, 1, 16, 16))
    arrays = drawn(desc)
    arrays["QueryTensor"][:] = np.abs(arrays["QueryTensor"])
    arrays["KeyTensor"][:] = np.arange(160).reshape(1, 160, 1) / 8
    way.check(device, desc, arrays)
    arrays["QueryTensor"][:, ::2] *= -1  # as many rows where the first ones are the greatest
    way.check(device, desc, arrays)


@pytest.mark.parametrize(
    ("sizes", "keys", "waves"),
    [
        ((1, 512, 512, 12, 64, 64), 64, 4),
        ((8, 512, 512, 12, 64, 64), 32, 4),
        ((1, 512, 512, 32, 128, 128), 32, 4),
        ((1, 2048, 2048, 32, 128, 128), 32, 8),
    ],
)
def test_tiles_depend_on_the_number_of_groups(sizes: tuple[int, ...], keys: int, waves: int) -> None:
    made = multiplying(attention("FLOAT16", sizes))
    assert (made["TILE_KEYS"], made["NUM_THREADS"]) == (keys, 32 * waves)


@pytest.mark.parametrize("scale", [0.0, -0.75, 2.5])
def test_any_scale(scale: float, device: Any) -> None:
    """Zero or negative: keys past the last one must not count either way."""
    desc = attention("FLOAT16", (1, 20, 70, 2, 8, 8))
    check_cooperative(device, replace(desc, Scale=scale), drawn(desc))
