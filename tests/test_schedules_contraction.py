"""Contractions of two tensors: the passes that compute them, and results for all tiles and layouts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

from dmlops import gpu, make
from dmlops.gpu import compiler, detection, shader
from dmlops.gpu.plans import (
    contraction,
    convolutions,
    gemm_view,
    implicit_gemm,
    tile_cost,
)
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.work import Work
from gpu_device import device, run_in_guard_zones
from gpu_results import COOPERATIVE, apart, check_cooperative, check_results, inputs_of
from product_cases import (
    BYTES,
    FEW,
    POINT,
    ROWS,
    SKINNY,
    F,
    H,
    S,
    U,
    byte_convolution,
    byte_product,
    convolution,
    of_many_images,
    phases,
    product,
    products,
    random_products,
    spread,
    windows,
)
from random_shapes.data import data
from spirv_modules import declared_memory
from tensors import of

__all__ = ["device"]

DOTS = Capability.DOT_PRODUCTS
MANY = 16  # random descriptions of a family


@pytest.fixture(autouse=True)
def tiles_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of convolutions that are small enough for a test; windows would slide there."""
    monkeypatch.setattr(convolutions, "TILE_LEAST_ROWS", 4)
    monkeypatch.setattr(convolutions, "SLIDING_PRODUCTS", 0)


@pytest.fixture
def unsigned_remainders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vulkan leaves remainders of negative numbers undefined: here they are what they would be of numbers
    without a sign."""
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


PRODUCTS, WINDOWS, SPREAD = products("FLOAT32"), windows("FLOAT32"), phases("FLOAT32")
HALVES = {
    f"halves, {name}": (products("FLOAT16") | windows("FLOAT16") | phases("FLOAT16"))[name]
    for name in (
        "with gaps", "one matrix for all", "few channels, mirrored", "channels last, all",
        "backward, few channels, mirrored",
    )
}  # fmt: skip
FUNCTIONS = {
    "sigmoid": make.activation_sigmoid(), "elu": make.activation_elu(Alpha=0.5),
    "softplus": make.activation_softplus(Steepness=1.0),
}  # fmt: skip
PRECISE = {  # functions with sums that compilers must not evaluate in another order
    f"{name} of {what}": desc
    for name, one in FUNCTIONS.items()
    for what, desc in {
        "tiles": product(F(20, 24), F(24, 70), None, "NN", one),
        "parts": product(F(20, 1040), F(1040, 20), None, "NN", one),
        "few rows": product(F(3, 64), F(64, 68), None, "NN", one),
        "a window": convolution(F(2, 16, 9, 10), F(20, 16, 3, 3), FusedActivation=one),
    }.items()
}
CASES = PRODUCTS | WINDOWS | SPREAD | HALVES | FEW | SKINNY | PRECISE
COOPERATIVE_CASES = products("FLOAT16") | windows("FLOAT16") | phases("FLOAT16") | ROWS
BYTE_PRODUCT = byte_product(U(132, 100), S(100, 260), "ab")
BYTE_WINDOW = byte_convolution(U(2, 16, 9, 10), S(20, 16, 3, 3), "If")


def case(name: str) -> tuple[Any, Capability]:
    """A description, and the capabilities that a device has where `matrices: ` precedes its name."""
    way, _, own = name.rpartition(": ")
    return (COOPERATIVE_CASES[own], COOPERATIVE) if way else (CASES[own], NO_CAPABILITIES)


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
    ([4, 2], byte_convolution(S(1, 256, 96, 96), S(256, 256, 3, 3))),
]  # fmt: skip


def test_which_passes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of windows are packed; cooperative matrices change no passes of skinny matrices. What is in
    parts takes a pass more; for others, that depends on the cost model."""
    for found, desc in PLANNED:
        assert passes(desc) == found, desc
    for name, desc in (CASES | COOPERATIVE_CASES | BYTES).items():
        assert [one for one in desc.validate("6.4") if not one.advice] == [], name
    for name, desc in (PRODUCTS | WINDOWS | SPREAD | FEW).items():
        taps = max(desc.FilterTensor.Sizes[2:]) if hasattr(desc, "FilterTensor") else 1
        packs = name in SPREAD or taps > 1 or name.endswith("pixels, padded")
        found = passes(desc)
        assert [one for one in found if one != 3] == ([1] if name in FEW else [4, 2] if packs else [2]), name
        assert 3 in found or "in parts" not in name, name
    for name, desc in SKINNY.items():
        assert passes(desc) == [4] and gpu.plan(desc, COOPERATIVE) == gpu.plan(desc), name
        assert ("TRANSPOSED" in multiplying(desc)) == ("column" in name)
    small = PLANNED[14][1]
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 0)
    assert passes(small)[0] == 2


def test_small_convolutions_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, desc in (WINDOWS | SPREAD | FEW | {"of bytes": BYTE_WINDOW}).items():
        assert passes(desc) == [1], name
        assert name == "of bytes" or (passes(of_many_images(desc)) == [1]) == (name in FEW), name
    point = convolution(H(1, 64, 9, 9), H(64, 64, 1, 1), **POINT)
    assert passes(point) == [1]
    assert passes(point, COOPERATIVE) == [2] and "COOPERATIVE_MATRIX" in multiplying(point, COOPERATIVE)


def test_what_is_for_cooperative_matrices() -> None:
    """Halves with enough to do, and bytes; plans for devices that have none have none."""
    for name, desc in (COOPERATIVE_CASES | {"bytes": BYTE_PRODUCT, "a window": BYTE_WINDOW}).items():
        made = multiplying(desc, COOPERATIVE)
        assert "COOPERATIVE_MATRIX" in made and "COOPERATIVE_MATRIX" not in multiplying(desc), name
        assert made.get("SPLIT_K", 0) or "in parts" not in name, name
    for desc in (
        product(F(70, 40), F(40, 136), None), product(H(1, 4096), H(4096, 64), None),
        product(H(7, 8), H(8, 8), None), convolution(H(2, 8, 12, 13), H(8, 1, 3, 3), GroupCount=8),
    ):  # fmt: skip
        assert gpu.plan(desc, COOPERATIVE) == gpu.plan(desc), desc


def test_batches_of_small_matrices_have_small_tiles() -> None:
    """Cooperative matrices are too large for those of up to 32."""
    for rows, depth, columns in ((8, 8, 8), (16, 64, 16), (24, 24, 24), (4, 32, 32), (32, 32, 32)):
        made = multiplying(product(F(512, rows, depth), F(512, depth, columns), None))
        assert int(made["TILE_ROWS"]) <= max(rows, 16) * 4 / 3 and made["TILE_COLUMNS"] == 32
        made = multiplying(product(H(512, rows, depth), H(512, depth, columns), None), COOPERATIVE)
        assert ("COOPERATIVE_MATRIX" in made) == (max(rows, depth, columns) > 32)


READ = {  # vectors of elements, along k or not
    "matrices: with C": {"LEFT_VECTOR": 8, "LEFT_ALONG": 1, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0},
    "matrices: both turned": {"LEFT_VECTOR": 8, "LEFT_ALONG": 0, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 1},
    "matrices: odd sizes": {"LEFT_VECTOR": 1, "RIGHT_VECTOR": 1, "OUTPUT_VECTOR": 1},
    "matrices: in twos": {"LEFT_VECTOR": 2, "RIGHT_VECTOR": 2},
    "matrices: whole places": {"PACKED": 1, "TILE_DEPTH": 16, "TAP_PRODUCTS": 16, "RIGHT_VECTOR": 1},
    "matrices: few channels, mirrored": {"PACKED": 1, "TILE_DEPTH": 32, "TAP_PRODUCTS": 1},
    "matrices: pixels": {"PACKED": 0, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0},
    "matrices: pixels, odd": {"PACKED": 0, "RIGHT_VECTOR": 1, "RIGHT_ALONG": 1},
    "matrices: pixels, in fours, groups": {"TAP_PRODUCTS": 4, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0},
    "matrices: pixels, rows apart": {"PACKED": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0},
    "matrices: pixels, rows overlap": {"PACKED": 0, "RIGHT_VECTOR": 2, "RIGHT_ALONG": 0},
    "matrices: pixels, in twos": {"PACKED": 0, "RIGHT_VECTOR": 2, "RIGHT_ALONG": 0},
    "matrices: channels last, few channels": {"TAP_PRODUCTS": 4, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 1},
    "matrices: backward, side by side": {"PHASED": 1, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0},
    "matrices: backward, side by side, cut": {"PHASED": 1, "RIGHT_VECTOR": 1},
    "matrices: backward, in twos": {"PHASED": 1, "RIGHT_VECTOR": 1, "OUTPUT_VECTOR": 1},
    "backward, side by side": {"PHASED": 1, "RIGHT_VECTOR": 4},
    "backward, side by side, cut": {"PHASED": 1, "RIGHT_VECTOR": 1},
    "backward, in twos": {"PHASED": 1, "PACKED": 1, "RIGHT_VECTOR": 1},
}


def test_how_factors_are_read() -> None:
    for name, wanted in READ.items():
        made = multiplying(*case(name))
        assert {macro: made.get(macro, 0) for macro in wanted} == wanted, name


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
    for name in ("4 rows, halves, B turned", "3 columns, halves, A turned"):
        assert compiler.compile(shader("GEMM"), multiplying(SKINNY[name]), "dxil")
    desc = BYTE_PRODUCT
    for capabilities in (NO_CAPABILITIES, DOTS):
        code = compiler.compile(shader(desc.OPERATOR), multiplying(desc, capabilities), "dxil")
        assert ("dot4AddPacked" in compiler.find().disassemble(code)) == (capabilities == DOTS)


# Results.


def check(name: str, device: Any, **special: float) -> None:
    desc, capabilities = case(name)
    inputs = inputs_of(desc, 0.02, **special)
    (check_cooperative if capabilities else check_results)(device, desc, inputs)


@pytest.mark.usefixtures("unsigned_remainders")
@pytest.mark.parametrize(
    "name", [*CASES, *(f"matrices: {name}" for name in COOPERATIVE_CASES if name not in ROWS)]
)
def test_results_are_those_of_the_reference(name: str, device: Any) -> None:
    check(name, device)


@pytest.mark.parametrize(
    "name",
    [
        "whole places", "few channels, mirrored", "pixels, padded", "backward, in ones",
        "backward, in twos", "backward, without products", "2 rows, halves", "3 rows, B turned",
        "3 columns, halves, A turned", "matrices: whole places", "matrices: few channels, mirrored",
        "matrices: in parts", "matrices: backward, in twos",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_outside_takes_no_part_even_beside_infinity(name: str, value: float, device: Any) -> None:
    for tensor in ("ATensor", "BTensor") if name in SKINNY else ("FilterTensor",):
        check(name, device, **{tensor: value})


def plans_of_all_tiles(
    desc: Any, capabilities: Capability, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Work]:
    """Plans with each candidate of the cost model."""
    choose, before = tile_cost.choose_tile, 0  # so many candidates come before the one that is chosen

    def chosen(found: Any, tiles: Any, rates: Any, may_split: bool) -> Any:
        nonlocal before
        place, before = before, before - len(tiles)
        is_it = 0 <= place < len(tiles)
        return choose(found, tiles[place:][:1] if is_it else tiles, rates, may_split)._replace(
            time=0 if is_it else 1
        )

    for module in (contraction, implicit_gemm):
        monkeypatch.setattr(module, "choose_tile", chosen)
    for number in count():
        before = number
        work = gpu.plan(desc, capabilities)
        if before >= 0:
            return
        yield work


TILED = {  # with windows whose places, groups, borders and phases tiles meet
    "floats": product(F(132, 20), F(20, 140), F(132, 140)),
    "bytes": BYTE_PRODUCT,
    "matrices: bytes": BYTE_PRODUCT,
    "matrices: windows of bytes": BYTE_WINDOW,
    "matrices: halves": product(H(140, 72), H(72, 300), H(140, 300)),
    "matrices: turned": product(H(72, 140), H(300, 72), H(140, 300), "TT"),
    **{name: (WINDOWS | SPREAD)[name] for name in ("in parts", "backward, in parts")},
    **{f"matrices: {name}": COOPERATIVE_CASES[name] for name in (
        "few channels, mirrored", "pixels, odd", "channels last, groups, activated", "backward, in twos",
        "backward, groups, few channels", "backward, side by side", "backward, channels last, odd sizes",
        "narrow", "no border, odd filters", "dilated, groups, with gaps", "in parts, channels last",
        "taps far apart",
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", TILED)
def test_all_tiles_give_the_same(name: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desc, by_matrix = TILED[name], "matrices: " in name
    inputs = data(desc, np.random.default_rng(4)) if "bytes" in name else inputs_of(desc)
    works = list(plans_of_all_tiles(desc, COOPERATIVE if by_matrix else NO_CAPABILITIES, monkeypatch))
    assert len(works) >= 4
    for work in works:
        (made,) = (one.defines for one in work.dispatches if "TILE_ROWS" in one.defines)
        assert declared_memory(desc.OPERATOR, made) <= detection.GROUP_MEMORY
        check_results(device, desc, inputs, work, apart(device) if by_matrix else shader)


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_tiles_hold_several_taps_at_once(number: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the last candidates, each of them with some of the cases."""
    desc = [*ROWS.values()][number]
    last = len(implicit_gemm.row_tiles(1))
    work = list(plans_of_all_tiles(desc, COOPERATIVE, monkeypatch))[-1 - number % last]
    assert work.dispatches[1].defines["TAPS_AT_ONCE"] > 1
    check_results(device, desc, inputs_of(desc, FilterTensor=np.inf), work, apart(device))
    check_results(device, desc, inputs_of(desc), work, apart(device))


# Of skinny matrices.


@pytest.mark.parametrize("vectors", [2, 8])
def test_other_numbers_of_vectors_do_so_too(
    vectors: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contraction, "SKINNY_VECTORS", vectors)
    monkeypatch.setattr(contraction, "SKINNY_MOST_THREADS", 256)
    for name in ("2 rows, halves", "4 rows, halves, B turned"):
        check(name, device)


def test_subnormal_halves_count(device: Any) -> None:
    desc = product(H(1, 64), H(64, 64), None)
    inputs = {"ATensor": np.ones((1, 64), np.float16), "BTensor": np.full((64, 64), 2.0**-24, np.float16)}
    check_results(device, desc, inputs, exact=True)


# Of bytes, with zero points.


def check_bytes(desc: Any, arrays: Any, device: Any) -> None:
    """Tiles, if it gets them, cooperative matrices and sums of four products at once equal the definition in
    every bit, also of floats."""
    found = check_results(device, desc, arrays)["OutputTensor"].tobytes()
    works = [(gpu.plan(desc, COOPERATIVE), apart(device))]
    if DOTS in device.capabilities:
        works += [(gpu.plan(desc, DOTS), shader)]
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(gemm_view, "TILE_PRODUCTS", 2**40)
        works += [(gpu.plan(desc), shader)]
    for work, text_of in works:
        same = run_in_guard_zones(device, desc, arrays, work, text_of)["OutputTensor"]
        assert same.tobytes() == found, desc


@pytest.mark.parametrize("name", BYTES)
def test_products_of_bytes_equal_those_of_the_definition(name: str, device: Any) -> None:
    desc = BYTES[name]
    assert ("in parts" in name) == ("SPLIT_K" in multiplying(desc))
    check_bytes(desc, data(desc, np.random.default_rng(4)), device)


@pytest.mark.parametrize("family", ["integer_products", "integer_convolutions"])
def test_random_products_of_bytes_do_so_too(family: str, device: Any) -> None:
    by_tiles = 0
    for desc, arrays in random_products(family, MANY):
        by_tiles += any("TILE_ROWS" in one.defines for one in gpu.plan(desc).dispatches)
        check_bytes(desc, arrays, device)
    assert by_tiles >= MANY / 4


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
