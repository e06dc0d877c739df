"""Contractions of two tensors: the passes that compute them, how factors are read, and numbers that are
hard. For other results see `test_schedules_drawn.py`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from dmlops import gpu, make
from dmlops.gpu import compiler, shader
from dmlops.gpu.plans import contraction, gemm_view, implicit_gemm, tile_cost
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from gpu_device import device, run_in_guard_zones
from gpu_results import COOPERATIVE, check_cooperative, check_results, inputs_of
from product_cases import (
    POINT,
    F,
    H,
    S,
    U,
    byte_convolution,
    byte_product,
    channels_last,
    convolution,
    of_many_images,
    product,
    spread,
)
from tensors import of

__all__ = ["device"]

DOTS = Capability.DOT_PRODUCTS


@pytest.fixture(autouse=True)
def tiles_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of convolutions that are small enough for a test; windows would slide there."""
    monkeypatch.setattr(implicit_gemm, "TILE_LEAST_ROWS", 4)
    monkeypatch.setattr(implicit_gemm, "SLIDING_PRODUCTS", 0)


FUNCTIONS = {
    "sigmoid": make.activation_sigmoid(), "elu": make.activation_elu(Alpha=0.5),
    "softplus": make.activation_softplus(Steepness=1.0),
}  # fmt: skip
PRECISE = {  # functions with sums that compilers must not evaluate in another order
    f"{name} of {what}": desc
    for name, one in FUNCTIONS.items()
    for what, desc in {
        "tiles": product(F(20, 24), F(24, 70), None, "NN", one),
        "parts": product(F(21, 2055), F(2055, 72), None, "NN", one),
        "few rows": product(F(3, 64), F(64, 68), None, "NN", one),
        "a window": convolution(F(2, 16, 9, 10), F(20, 16, 3, 3), FusedActivation=one),
    }.items()
}
BYTE_PRODUCT = byte_product(U(132, 100), S(100, 260), "ab")
BYTE_WINDOW = byte_convolution(U(2, 16, 9, 10), S(20, 16, 3, 3), "If")


# Plans.


def passes(desc: Any, capabilities: Capability = NO_CAPABILITIES) -> list[Any]:
    return [one.defines["PASS"] for one in gpu.plan(desc, capabilities).dispatches]


def multiplying(desc: Any, capabilities: Capability = NO_CAPABILITIES) -> dict[str, Any]:
    """The macros of the dispatch that multiplies."""
    (found,) = (one for one in gpu.plan(desc, capabilities).dispatches if "TILE_ROWS" in one.defines)
    return dict(found.defines)


DATA, ALONE = (F(1, 64, 9, 9), F(64, 64, 1, 1)), (F(1, 256, 1, 1), F(256, 64, 3, 3))
PLANNED = [
    # Weights are packed, unless there is one place and it is inside.
    ([4, 2], convolution(F(32, 64, 56, 56), F(64, 64, 3, 3))),
    ([2], convolution(F(32, 64, 56, 56), F(256, 64, 1, 1), **POINT)),
    # Phases that meet nothing are few.
    ([4, 2], spread(*DATA, Strides=4, **POINT)), ([0], spread(*DATA, Strides=5, **POINT)),
    ([4, 2, 3], spread(*ALONE, Strides=3, **POINT)), ([0], spread(*ALONE, Strides=4, **POINT)),
    ([0], spread(DATA[0], F(64, 64, 2, 2), Strides=2, Dilations=2)),
    # Skinny matrices have rows or columns of whole vectors, and not too few of them.
    ([2], product(F(5, 64), F(64, 132), None)), ([2], product(F(1, 64), F(64, 134), None)),
    ([2], product(H(1, 64), H(64, 132), None)), ([2], product(H(1, 68), H(132, 68), None, "NT")),
    ([2], product(F(1, 64), F(64, 132, strides=(134, 1)), None)),
    ([2], product(F(1, 64), F(64, 132, strides=(272, 2)), None)),
    ([2, 3], product(F(2, 16384), F(16384, 12), None)),
    # What is small is computed as defined; of bytes, so are what has more, and what 32 bits do not hold.
    ([0, 1], product(F(5, 3), F(3, 6), None)), ([0], byte_product(S(3, 4), S(4, 7))),
    ([0], byte_product(of("INT16", 18, 40), S(40, 24), AScaleTensor=F(18, 1), BScaleTensor=F(1, 1))),
    ([0], byte_product(S(8, 33026), S(33026, 8))),
    # Of bytes, both factors are packed; of floats, the filter would not be.
    ([4, 2], byte_convolution(S(2, 16, 9, 10), S(20, 16, 3, 3, strides=(256, 16, 4, 1)))),
    ([4, 2], byte_convolution(S(4, 256, 96, 96), S(256, 256, 3, 3))),
]  # fmt: skip


SKINNY = [  # of at most four rows, or columns, which are then transposed: a pass of their own
    product(H(2, 67), H(67, 136), H(2, 136)),
    product(F(3, 68), F(131, 68), F(3, 131), "NT"),
    product(H(4, 72), H(131, 72), None, "NT"),
    product(F(1, 1), F(1, 4100), None),
    product(F(131, 68), F(68, 1), F(131, 1)),
    product(H(66, 88), H(66, 3), None, "TN"),
]
FEW = [  # rows, or columns: windows slide
    convolution(H(2, 8, 12, 13), H(8, 1, 3, 3), GroupCount=8),
    spread(F(1, 64, 9, 9), F(64, 3, 4, 4), Strides=2),
]
ENOUGH = [convolution(F(2, 32, 9, 31), F(40, 32, 3, 3)), spread(F(2, 32, 9, 7), F(32, 20, 4, 4), Strides=2)]


def test_which_passes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of windows are packed; cooperative matrices change no passes of skinny matrices."""
    for found, desc in PLANNED:
        assert [one for one in desc.validate("6.4") if not one.advice] == []
        assert passes(desc) == found, desc
    for desc in SKINNY:
        assert passes(desc) == [4] and gpu.plan(desc, COOPERATIVE) == gpu.plan(desc), desc
        assert multiplying(desc).get("TRANSPOSED", 0) == (desc.OutputTensor.Sizes[0] > 4)
    tiles = gpu.plan(PLANNED[0][1]).dispatches[1]  # of 64 rows: no group has nothing to do
    rows, columns = (int(tiles.defines[f"TILE_{side}"]) for side in ("ROWS", "COLUMNS"))
    assert tiles.groups.columns == -(-64 // rows) * -(-32 * 56 * 56 // columns)
    small = PLANNED[14][1]
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 0)
    assert passes(small)[0] == 2


def test_small_convolutions_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [passes(desc)[:2] for desc in (*FEW, *ENOUGH)] == [[1], [1], [4, 2], [4, 2]]
    monkeypatch.undo()
    assert [passes(desc) for desc in (*FEW, *ENOUGH, BYTE_WINDOW)] == [[1]] * 5
    assert [passes(of_many_images(desc)) for desc in (*FEW, *ENOUGH)] == [[1], [1], [4, 2], [4, 2]]
    point = convolution(H(1, 64, 9, 9), H(64, 64, 1, 1), **POINT)
    assert passes(point) == [1]
    assert passes(point, COOPERATIVE) == [2] and "COOPERATIVE_MATRIX" in multiplying(point, COOPERATIVE)


def test_what_is_for_cooperative_matrices() -> None:
    """Halves with enough to do, and bytes, if a device has them; of small matrices only those above 32."""
    fitting = [BYTE_PRODUCT, BYTE_WINDOW, *(make(H) for _, _, make in READ)]
    others = [product(F(70, 40), F(40, 136), None), product(H(1, 4096), H(4096, 64), None)]
    others += [product(H(7, 8), H(8, 8), None), FEW[0]]
    for rows, depth, columns in ((8, 8, 8), (16, 64, 16), (24, 24, 24), (4, 32, 32), (32, 32, 32)):
        made = multiplying(product(F(512, rows, depth), F(512, depth, columns), None))
        assert int(made["TILE_ROWS"]) <= max(rows, 16) * 4 / 3 and made["TILE_COLUMNS"] == 32
        one = product(H(512, rows, depth), H(512, depth, columns), None)
        (fitting if depth > 32 else others).append(one)
    assert all("COOPERATIVE_MATRIX" in multiplying(desc, COOPERATIVE) for desc in fitting)
    assert not any("COOPERATIVE_MATRIX" in multiplying(desc) for desc in fitting)
    assert all(gpu.plan(desc, COOPERATIVE) == gpu.plan(desc) for desc in others)


PIXEL = partial(convolution, **POINT)
READ: list[tuple[str, str, Any]] = [  # halves by cooperative matrices, and floats
    ("8k 8 4", "4k 4 4", lambda t: product(t(70, 40), t(40, 136), t(70, 136))),
    ("8 8k 4", "4 4k 4", lambda t: product(t(2, 40, 72), t(2, 136, 40), None, "TT")),
    ("1k 1 1", "1k 1 1", lambda t: product(t(2, 37, 41), t(2, 41, 131), t(2, 37, 131))),
    ("2 2k 1", "2 2k 1", lambda t: product(t(34, 38), t(130, 34), None, "TT")),
    ("1x32 8k 1k 1 packed", "1x16 4k 1 1 packed", lambda t: convolution(t(2, 32, 9, 31), t(40, 32, 3, 3))),
    (
        "1x1 8k 1k 1 packed", "1x1 4k 1 1 packed",
        lambda t: convolution(t(1, 3, 21, 19), t(24, 3, 5, 7), Mode="CONVOLUTION", Strides=2, StartPadding=3),
    ),
    ("1x32 8k 8 4", "1x16 4k 4 4", lambda t: PIXEL(t(2, 32, 8, 8), t(136, 32, 1, 1))),
    ("1x32 8k 1k 1", "1x16 4k 1 1", lambda t: PIXEL(t(2, 32, 7, 7), t(48, 32, 1, 1))),
    ("1x4 8k 4 4 packed", "1x4 4k 4 4", lambda t: PIXEL(t(3, 40, 2, 6), t(48, 20, 1, 1), GroupCount=2)),
    ("1x32 8k 2 1", "1x16 4k 2 1", lambda t: PIXEL(t(3, 32, 7, 6), t(48, 32, 1, 1))),
    *(  # Rows of images are apart, or overlap.
        (f"1x32 8k {vector} 4", f"1x16 4k {vector} 4", lambda t, row=row: PIXEL(
            t(2, 32, 5, 8, strides=(2000, 60, row, 1)), t(48, 32, 1, 1)
        ))
        for row, vector in ((12, 4), (6, 2))
    ),
    (
        "1x32 8k 1k 1 packed", "1x16 4k 1 1 packed",
        lambda t: convolution(t(2, 32, 9, 10), t(40, 32, 3, 3), Strides=2),
    ),
    (
        "1x2 8k 2k 4 packed down", "1x2 4k 2k 1 packed",
        lambda t: channels_last(convolution(t(1, 12, 8, 9), t(24, 6, 3, 3), GroupCount=2)),
    ),
    (
        "1x4 8k 4k 4 packed down", "1x4 4k 4k 4 packed down",
        lambda t: channels_last(convolution(t(2, 4, 9, 10), t(40, 4, 3, 3))),
    ),
    (
        "1x16 8k 8 1 packed phases", "1x8 4k 4 1 packed phases",
        lambda t: spread(t(2, 32, 8, 6), t(32, 10, 2, 4), Strides=[2, 4], GroupCount=2, **POINT),
    ),
    (
        "1x32 8k 1k 1 packed phases", "1x16 4k 1 1 packed phases",
        lambda t: spread(t(2, 32, 8, 8), t(32, 20, 2, 2), Strides=2, StartPadding=0),
    ),
    *(
        ("1x32 8k 1k 1 packed phases", "1x16 4k 1 1 packed phases", lambda t, size=size: spread(
            t(2, 32, 9, 7), t(32, 20, size, size), Strides=2
        ))
        for size in (3, 4)
    ),
]  # fmt: skip
MARKS = {"PACKED": "packed", "PHASED": "phases", "OUTPUT_DOWN": "down"}


def reading(made: dict[str, Any]) -> str:
    """The taps of a window that a tile holds and the products of each; the adjacent elements of the left
    factor, the right one and the output, `k` if they are along k; and marks."""
    taps = [f"{made['TAPS_AT_ONCE']}x{made['TAP_PRODUCTS']}"] if "TAPS_AT_ONCE" in made else []
    along = {tensor: "k" if made.get(f"{tensor}_ALONG") else "" for tensor in ("LEFT", "RIGHT", "OUTPUT")}
    vectors = [f"{made[f'{tensor}_VECTOR']}{k}" for tensor, k in along.items()]
    return " ".join([*taps, *vectors, *(mark for macro, mark in MARKS.items() if made.get(macro))])


@pytest.mark.parametrize("number", range(len(READ)))
def test_how_factors_are_read(number: int, device: Any) -> None:
    """What is outside takes no part even beside infinity."""
    halves, floats, make = READ[number]
    assert reading(multiplying(make(H), COOPERATIVE)) == halves
    assert reading(multiplying(make(F))) == floats
    for desc, check in ((make(H), check_cooperative), (make(F), check_results)):
        weights = "BTensor" if desc.OPERATOR == "GEMM" else "FilterTensor"
        for special in ({}, {weights: np.inf}):
            check(device, desc, inputs_of(desc, 0.02, **special))


SEVERAL_TAPS = [  # of a row, which tiles of cooperative matrices hold at once
    convolution(H(2, 32, 7, 20, strides=(5000, 150, 21, 1)), H(40, 16, 3, 3), Dilations=[1, 2], GroupCount=2),
    convolution(H(1, 16, 3, 40), H(24, 16, 1, 3), Dilations=8, StartPadding=[0, 8], EndPadding=[0, 8]),
    convolution(H(1, 16, 6, 19), H(20, 16, 2, 3), Strides=[2, 1], StartPadding=[1, 0], EndPadding=[0, 3]),
    convolution(H(3, 16, 4, 23), H(20, 16, 1, 2), StartPadding=[0, 4], EndPadding=0),
    convolution(H(1, 16, 3, 4, 17), H(20, 16, 2, 3, 3), Mode="CONVOLUTION"),
    channels_last(convolution(H(1, 128, 6, 31), H(36, 128, 3, 3))),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SEVERAL_TAPS)))
def test_tiles_hold_several_taps_at_once(number: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each candidate some of the cases, in one part of k or two."""

    def chosen(found: Any, tiles: Any, rates: Any, may_split: bool) -> Any:
        tile = tiles[number % len(tiles)]
        down, across = -(-found.rows // tile.rows), -(-found.columns // (tile.columns - found.reach))
        split = tile_cost.split_into(1 + number % 2, found.depth, tile.depth * found.taps, down, across)
        return tile_cost.Choice(tile, split, int(found.taps == 1))

    desc = SEVERAL_TAPS[number]
    monkeypatch.setattr(implicit_gemm, "choose_tile", chosen)
    assert multiplying(desc, COOPERATIVE)["TAPS_AT_ONCE"] > 1
    for special in ({}, {"FilterTensor": np.inf}):
        check_cooperative(device, desc, inputs_of(desc, **special))


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("turns", ["NN", "NT"])
def test_projections_of_language_models_fill_a_large_gpu_at_once(data_type: str, turns: str) -> None:
    for depth, columns in ((4096, 4096), (4096, 11008), (11008, 4096)):
        right = (depth, columns) if turns == "NN" else (columns, depth)
        (one,) = gpu.plan(product(of(data_type, 1, depth), of(data_type, *right), None, turns)).dispatches
        groups = int(np.prod(one.groups))
        assert groups >= 128 and 2**16 <= groups * int(one.defines["NUM_THREADS"]) <= 2**17


def test_byte_code_for_direct3d() -> None:
    """Without a warning; it sums four products of bytes at once where it may."""
    for desc in (SKINNY[2], SKINNY[5]):
        assert compiler.compile(shader("GEMM"), multiplying(desc), "dxil")
    desc = BYTE_PRODUCT
    for capabilities in (NO_CAPABILITIES, DOTS):
        code = compiler.compile(shader(desc.OPERATOR), multiplying(desc, capabilities), "dxil")
        assert ("dot4AddPacked" in compiler.find().disassemble(code)) == (capabilities == DOTS)


@pytest.mark.parametrize("name", PRECISE)
def test_functions_are_precise(name: str, device: Any) -> None:
    check_results(device, PRECISE[name], inputs_of(PRECISE[name]))


@pytest.mark.parametrize("vectors", [2, 4, 8])
def test_any_number_of_vectors(vectors: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of skinny matrices, each thread of which has so many in flight."""
    monkeypatch.setattr(contraction, "SKINNY_VECTORS", vectors)
    monkeypatch.setattr(contraction, "SKINNY_MOST_THREADS", 256)
    for desc in SKINNY:
        for special in ({}, {"ATensor": np.inf}, {"BTensor": np.nan}):
            check_results(device, desc, inputs_of(desc, 0.02, **special))


def test_subnormal_halves_count(device: Any) -> None:
    desc = product(H(1, 64), H(64, 64), None)
    inputs = {"ATensor": np.ones((1, 64), np.float16), "BTensor": np.full((64, 64), 2.0**-24, np.float16)}
    check_results(device, desc, inputs, exact=True)


def test_sums_as_large_as_they_may_be(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product is 255 * 255: no float holds their sum, and integers of 32 bits only just."""
    most = gemm_view.MOST_BYTES
    desc = byte_product(U(4, most), S(most, 4), "AB")
    a, b = np.full((4, most), 255, np.uint8), np.full((most, 4), -128, np.int8)
    points = {"AZeroPointTensor": a[:1, :1] * 0, "BZeroPointTensor": np.full((1, 1), 127, np.int8)}
    for parts in (1, 512):
        monkeypatch.setattr(tile_cost, "TILE_MOST_PARTS", parts)
        assert passes(desc) == ([1] if parts == 1 else [1, 2])
        found = run_in_guard_zones(device, desc, {"ATensor": a, "BTensor": b, **points})["OutputTensor"]
        np.testing.assert_array_equal(found, np.full((4, 4), -255 * 255 * most))
