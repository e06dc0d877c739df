"""Attention: which kernel takes a description, what it reads in place, and results at awkward sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
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
        monkeypatch.setattr(attention_plans, "PARTS_COOPERATIVE_WORTH", 1 if found.in_parts else 2**30)
    return found


def ways(*names: str) -> Any:
    return pytest.mark.parametrize("way", names, indirect=True)


BIAS, RELATIVE, LENGTHS = "BiasTensor", "RelativePositionBiasTensor", "PastSequenceLengthsTensor"
PRESENT = ("OutputPresentKeyTensor", "OutputPresentValueTensor")


class Case(NamedTuple):
    """Batches, queries, keys of this call, heads, elements of a key and of a value, and heads of keys, if
    these have a number of their own; the dispatches that it takes; keys of earlier calls; optional tensors,
    among them those of queries, keys and values together; strides; dimensions of size 1 in front; and the
    keys that present tensors have room for, if not just all."""

    sizes: tuple[int, ...]
    dispatches: int = 1
    past: int = 0
    given: tuple[str, ...] = ()
    strides: Shapes = MappingProxyType({})
    leading: Mapping[str, int] = MappingProxyType({})
    room: int = 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        batches, queries, keys, heads, depth, width, *few = self.sizes
        groups, whole = (few or [heads])[0], self.room or self.past + keys
        every = {
            "QueryTensor": (batches, queries, heads * depth),
            "KeyTensor": (batches, keys, groups * depth),
            "ValueTensor": (batches, keys, groups * width),
            "StackedQueryKeyTensor": (batches, queries, heads, 2, depth),
            "StackedKeyValueTensor": (batches, keys, heads, 2, depth),
            "StackedQueryKeyValueTensor": (batches, queries, heads, 3, depth),
            BIAS: (heads * depth + groups * (depth + width),),
            "PastKeyTensor": (batches, groups, self.past, depth),
            "PastValueTensor": (batches, groups, self.past, width),
            LENGTHS: (batches,),
            RELATIVE: (batches, heads, queries, whole),
            "OutputTensor": (batches, queries, heads * width),
            PRESENT[0]: (batches, groups, whole, depth),
            PRESENT[1]: (batches, groups, whole, width),
        }
        stacked = "".join(name for name in self.given if name.startswith("Stacked"))
        alone = [f"{one}Tensor" for one in ("Query", "Key", "Value") if one not in stacked]
        names = {*self.given, *alone, "PastKeyTensor", "PastValueTensor", "OutputTensor"}
        found = {name: one for name, one in every.items() if name in names and 0 not in one}
        return {name: (1,) * self.leading.get(name, 0) + one for name, one in found.items()}

    def described(self, kind: str) -> Any:
        heads, depth, few = self.sizes[3], self.sizes[4], self.sizes[6:]
        tensors = {
            name: TensorDesc("INT32" if name == LENGTHS else kind, sizes, Strides=self.strides.get(name))
            for name, sizes in self.shapes().items()
        }
        members = {"Scale": depth**-0.5, "MaskFilterValue": -1e4, "MaskType": "NONE", **tensors}
        if few:
            desc: Any = dmlops.MultiheadAttention1(QueryHeadCount=heads, KeyValueHeadCount=few[0], **members)
        else:
            desc = dmlops.MultiheadAttention(HeadCount=heads, **members)
        assert desc.validate("6.4") == []
        return desc


def attention(kind: str, sizes: tuple[int, ...]) -> Any:
    return Case(sizes).described(kind)


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
        is_joined = any(one.get("COMBINE") == 1 for one in defines)
        few = sum("FEW_QUERIES" in one for one in defines) - is_joined
        return ("parts" if is_joined else "few queries") if few else "rows, in parts"
    return "rows" if len(defines) == 1 else "definition"


SIZES = {  # by kernels, as of `Case`
    "definition": ((2, 31, 33, 3, 7, 9), (1, 33, 65, 2, 22, 34)),
    "rows": (
        (1, 33, 65, 2, 24, 40), (1, 40, 64, 1, 16, 304), (130, 64, 65, 2, 16, 8),
        (1, 40, 130, 2, 24, 192), (1, 19, 35, 6, 8, 8, 2),
    ),
    "rows, in parts": ((1, 65, 270, 2, 64, 64), (2, 70, 300, 4, 24, 40, 2), (1, 5, 255, 1, 8, 256)),
    "few queries": ((1, 1, 1, 1, 8, 8), (2, 1, 67, 3, 64, 64), (1, 2, 118, 1, 8, 512)),
    "parts": (
        (2, 5, 301, 2, 64, 128), (1, 37, 270, 2, 16, 8), (1, 3, 268, 2, 88, 152), (1, 3, 261, 1, 512, 8),
        (1, 1, 1500, 1, 8, 8), (2, 3, 534, 8, 8, 8, 1), (2, 1, 534, 5, 8, 8, 5), (2, 2, 534, 24, 8, 8, 2),
    ),
    "matrices": (
        (1, 9, 1, 1, 8, 8), (2, 31, 33, 3, 24, 16), (1, 20, 70, 1, 16, 128), (1, 19, 35, 6, 8, 8, 2),
        (35, 70, 17, 4, 8, 24),  # two blocks to a wave
        (1, 20, 37, 2, 200, 168), (1, 33, 20, 1, 8, 264),  # slices of rows, one smaller or empty
    ),
}  # fmt: skip
CHOSEN = {  # by ordinary arithmetic, and with cooperative matrices for float16
    "definition, definition": (Case((1, 1, 70, 2, 7, 64)), Case((1, 1, 70, 2, 64, 6))),
    "rows, rows": (Case((1, 1, 70, 1, 520, 8)), Case((1, 20, 70, 1, 64, 520))),
    "rows, matrices": (Case((8, 41, 255, 8, 8, 8)), Case((1, 5, 170, 1, 8, 8))),
    "rows, in parts, matrices": (Case((1, 65, 270, 2, 64, 64)), Case((1, 5, 255, 1, 8, 8))),
    "rows, matrices, in parts": (Case((1, 256, 2048, 32, 128, 128)),),
    "few queries, few queries": (
        Case((1, 1, 128, 1, 64, 64)), Case((3, 1, 1, 4, 8, 8, 2), past=90),
        Case((3, 1, 1, 6, 8, 8, 2), past=90, given=PRESENT),
    ),
    "few queries, matrices": (
        Case((90, 4, 5, 9, 8, 8)), Case((3, 1, 1, 6, 8, 8, 2), past=90),
        Case((3, 2, 2, 2, 8, 8, 2), past=90, given=PRESENT),
    ),
    "parts, parts": (Case((1, 1, 129, 1, 64, 64)),),
    "parts, matrices": (
        Case((1, 64, 256, 2, 64, 64)), Case((8, 40, 600, 8, 8, 8)), Case((1, 16, 256, 12, 64, 64)),
    ),
    "parts, matrices, in parts": (
        Case((1, 8, 2048, 8, 128, 128)), Case((1, 16, 512, 12, 64, 64)),
        Case((3, 2, 2, 2, 8, 8, 2), past=2048),
    ),
}  # fmt: skip


def test_which_kernel_takes_an_attention() -> None:
    for names, cases in CHOSEN.items():
        for case in cases:
            found = [kernel(WAYS[way], case.described(WAYS[way].kind)) for way in EACH]
            assert (found[1], ", ".join(found[1:])) == (found[0], names), case


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
    ("way", "case"),
    [
        ("float32", Case((2, 37, 70, 2, 8, 8))),
        *((way, Case((2, queries, 290, 2, 8, 8))) for way in ORDINARY for queries in (3, 70)),
        *((way, Case((2, 37, 70, 2, 8, 8))) for way in MATRICES),
        *((way, Case((2, 3, 3, 6, 8, 16, 2), past=80)) for way in MATRICES),
    ],
    indirect=["way"],
)
def test_masks(way: Way, case: Case, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_plans, "attention_tile", lambda *_: AttentionTile(4, 1, 16))
    batches, queries, keys, heads, *_ = case.sizes
    for type_, mask, filtered in masks(batches, heads, queries, case.past + keys):
        tensor = TensorDesc("INT32", mask.shape)
        masked = replace(
            case.described(way.kind), MaskTensor=tensor, MaskType=type_, MaskFilterValue=filtered
        )
        way.check(device, masked, {**drawn(masked), "MaskTensor": mask})


@pytest.mark.parametrize(
    ("way", "queries", "keys", "depth"),
    [
        ("float32", 20, 130, 8), *((way, queries, 300, 8) for way in ORDINARY for queries in (1, 4)),
        ("float32", 40, 130, 264), *((way, 20, 70, 8) for way in MATRICES),
    ],
    indirect=["way"],
)  # fmt: skip
def test_infinities_and_nan_count_where_they_are_seen(
    way: Way, queries: int, keys: int, depth: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desc = attention(way.kind, (1, queries, keys, 2, depth, depth))
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
    case = Case((2, queries, queries, 4, 8, 8, 2), past=70, room=70, given=(*PRESENT, LENGTHS))
    desc = case.described(way.kind)
    arrays = drawn(desc)
    arrays["PastSequenceLengthsTensor"] = np.array([0, past], np.int32)
    for name in ("PastKeyTensor", "PastValueTensor"):
        arrays[name][0], arrays[name][1, :, past:] = np.nan, np.inf
    assert np.isfinite(way.check(device, desc, arrays)["OutputTensor"]).all()


@pytest.mark.parametrize("leading", [0, 1], ids=["four dimensions", "five"])
def test_present_tensors_keep_what_they_held(leading: int, device: Any) -> None:
    """Behind the keys of this call, and between these and the past where a length says that more came."""
    past, new, groups, depth = 4, 2, 3, 5
    five = dict.fromkeys(("PastKeyTensor", "PastValueTensor", *PRESENT), leading)
    case = Case((2, new, new, 3, depth, depth, groups), 0, past, (*PRESENT, LENGTHS), {}, five, room=9)
    desc, rng = case.described("FLOAT32"), np.random.default_rng(8)
    arrays = drawn(desc)
    for name in (*PRESENT, "OutputTensor"):
        arrays[name] = rng.normal(0, 1, case.shapes()[name]).astype("f4")
    lengths = arrays[LENGTHS] = np.array([2, 6], np.int32)
    contents = {name: array.view(np.uint8).ravel() for name, array in arrays.items()}
    after = dispatch_guarded(device, desc.OPERATOR, gpu.plan(desc, device.capabilities), contents)
    for one in ("Key", "Value"):
        name = f"OutputPresent{one}Tensor"
        found = after[name][GUARD:-GUARD].view(np.float32).reshape(2, groups, case.room, depth)
        expected = arrays[name].reshape(found.shape).copy()
        for batch, length in enumerate(lengths):
            old = min(length, past)
            first = arrays[f"Past{one}Tensor"].reshape(2, groups, past, depth)
            expected[batch, :, :old] = first[batch, :, :old]
            fresh = arrays[f"{one}Tensor"][batch].reshape(new, groups, depth).swapaxes(0, 1)
            expected[batch, :, length : length + new] = fresh
        np.testing.assert_array_equal(found, expected, name)


# What is read and written in place.


STACKED = "StackedQueryKeyTensor"
DECODING = {
    "past and new keys": Case((2, 1, 1, 3, 64, 24, 3), 2, 140),
    "past keys alone": Case((1, 1, 0, 2, 8, 16, 2), 1, 120),
    "some new keys": Case((2, 3, 3, 2, 16, 8, 2), 2, 254, (RELATIVE,)),
    "shared by heads": Case((2, 2, 2, 8, 16, 8, 2), 2, 328),
    "present keys": Case((2, 3, 3, 2, 16, 8, 2), 2, 268, PRESENT),
    "present keys, shared by many heads": Case((1, 1, 1, 24, 16, 8, 2), 1, 40, PRESENT),
    "a present key": Case((1, 1, 1, 2, 8, 8, 2), 1, 100, PRESENT[:1]),
    "a bias, present keys": Case((1, 1, 1, 2, 64, 64, 2), 5, 140, (BIAS, *PRESENT)),
    **{
        f"{name} with gaps": Case((2, 2, 2, 2, 16, 16, 2), dispatches, 258, PRESENT, {name: strides})
        for name, strides, dispatches in (
            ("PastKeyTensor", (2 * 259 * 16, 259 * 16, 16, 1), 2),
            ("PastValueTensor", (2 * 268 * 17, 268 * 17, 17, 1), 4),
            ("KeyTensor", (99, 33, 1), 4),
            (PRESENT[0], (2 * 270 * 24, 270 * 24, 24, 1), 2),
            (PRESENT[1], (2 * 270 * 17, 270 * 17, 17, 1), 4),
        )
    },
}
MANY = {  # queries
    "past and new keys": Case((2, 65, 65, 2, 16, 8), 1, 270),
    "past keys alone": Case((1, 68, 0, 2, 8, 16), 1, 40),
    "shared by heads": Case((1, 91, 91, 4, 16, 16, 2), 1, 33, (RELATIVE,)),
    "present keys": Case((1, 65, 65, 2, 8, 8), 5, 40, PRESENT),
}
SHARING = {  # so that all queries of some heads are rows of one group of cooperative matrices
    "one query": Case((2, 1, 1, 6, 16, 8, 2), 1, 130),
    "more rows than a wave has": Case((1, 5, 5, 8, 8, 24, 2), 1, 70, (RELATIVE,)),
    "a tile of rows and some": Case((1, 7, 7, 30, 8, 8, 3), 1, 65),
    "wide": Case((1, 3, 3, 9, 136, 144, 1), 1, 90),
}
VIEWS = {
    "of higher rank": Case(
        (2, 19, 35, 3, 8, 16), leading={"QueryTensor": 1, "KeyTensor": 2, "OutputTensor": 2}
    ),
    "all stacked": Case((2, 19, 19, 3, 8, 8), given=("StackedQueryKeyValueTensor",)),
    "queries and keys stacked": Case((2, 19, 19, 3, 8, 16), given=(STACKED,)),
    "keys and values stacked": Case((2, 19, 35, 3, 8, 8), given=("StackedKeyValueTensor",)),
    "with gaps": Case((2, 19, 35, 3, 8, 16), strides={
        "QueryTensor": (760, 40, 1), "KeyTensor": (1120, 32, 1), "ValueTensor": (0, 48, 1),
        "OutputTensor": (988, 52, 1),
    }),
    "with odd gaps": Case((2, 19, 35, 3, 8, 16), 3, strides={
        "QueryTensor": (475, 25, 1), "KeyTensor": (1120, 32, 1), "OutputTensor": (969, 51, 1),
    }),
    "with elements apart": Case((2, 19, 35, 3, 8, 16), 2, strides={"ValueTensor": (35 * 96, 96, 2)}),
    "with a bias": Case((2, 19, 35, 3, 8, 16), 4, given=(BIAS,)),
    "stacked, with a bias": Case((2, 19, 19, 3, 8, 16), 4, given=(STACKED, BIAS)),
}  # fmt: skip
CASES = [*DECODING.values(), *MANY.values(), *SHARING.values(), *VIEWS.values()]
RUNS = [
    pytest.param(way, name, case, id=f"{way}: {name} {case.sizes}")
    for some, its_ways in (
        ([(name, Case(one)) for name in SIZES if name != "matrices" for one in SIZES[name]], ORDINARY),
        ([("matrices", Case(one)) for one in SIZES["matrices"]], ("matrices",)),
        (DECODING.items(), ORDINARY), (MANY.items(), (*ORDINARY, *MATRICES)), (SHARING.items(), MATRICES),
        (VIEWS.items(), EACH),
    ) for name, case in some for way in its_ways
]  # fmt: skip


@pytest.mark.parametrize(("way", "name", "case"), RUNS, indirect=["way"])
def test_results_at_awkward_sizes(way: Way, name: str, case: Case, device: Any) -> None:
    """By the kernel of that name, or, as the number of dispatches shows, in place; another dispatch combines
    parts of the keys."""
    desc = case.described(way.kind)
    _, queries, keys, heads, _, _, *few = case.sizes
    dispatches, found = way.plan(desc).dispatches, kernel(way, desc)
    joins = found.endswith("in parts")
    assert found == name if name in SIZES else len(dispatches) == case.dispatches + joins
    shared = heads // few[0] if few and queries < 64 and not found.startswith("rows") else 1
    assert max(int(one.defines.get("SHARED", 1)) for one in dispatches) == shared
    assert not way.cooperative or joins == (way.in_parts and case.past + keys > 64)
    way.check(device, desc)


# Cooperative matrices.


@ways(*MATRICES)
@pytest.mark.parametrize("tile", [(2, 1, 48), (4, 1, 16), (4, 1, 64), (4, 2, 32), (8, 4, 16)], ids=str)
def test_any_tile(
    tile: tuple[int, int, int], way: Way, device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last tile of keys is not whole, and neither is the last block of queries. Left factors are laid out
    otherwise where groups take parts. Then each tile of keys has scores greater than all before it by more
    than float16 can represent, in all rows, and in half of them."""
    monkeypatch.setattr(attention_plans, "attention_tile", lambda *_: AttentionTile(*tile))
    desc = attention("FLOAT16", (2, 37, 85, 1, 24, 40))
    made = multiplying(desc)
    assert (made["NUM_THREADS"], made["SLICES"]) == (tile[0] * 32, tile[1])
    assert (made["KEYS_PER_SPLIT"] > 0) == way.in_parts
    validate(compiler.compile(shader("MULTIHEAD_ATTENTION"), made), tmp_path, "attention")
    arrays = drawn(desc)
    check_cooperative(device, desc, arrays, is_alike=not way.in_parts)
    arrays["QueryTensor"][:] = np.abs(arrays["QueryTensor"])
    arrays["KeyTensor"][:] = np.arange(85).reshape(1, 85, 1) / 4
    for step in (1, -1):
        arrays["QueryTensor"][:, ::2] *= step
        check_cooperative(device, desc, arrays, is_alike=not way.in_parts)


def test_tiles_depend_on_the_number_of_groups() -> None:
    for sizes, keys, waves in (
        ((1, 512, 512, 12, 64, 64), 64, 4), ((8, 512, 512, 12, 64, 64), 32, 4),
        ((1, 512, 512, 32, 128, 128), 32, 4), ((1, 2048, 2048, 32, 128, 128), 32, 8),
    ):  # fmt: skip
        made = multiplying(attention("FLOAT16", sizes))
        assert (made["TILE_KEYS"], made["NUM_THREADS"]) == (keys, 32 * waves)


@pytest.mark.parametrize("scale", [0.0, -0.75, 2.5])
def test_any_scale(scale: float, device: Any) -> None:
    """Zero or negative: keys past the last one must not count either way."""
    desc = attention("FLOAT16", (1, 20, 70, 2, 8, 8))
    check_cooperative(device, replace(desc, Scale=scale), drawn(desc))
