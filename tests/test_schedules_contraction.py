"""Contractions of two tensors: what gets tiles, and their shaders' results for all tiles and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler
from dmlops.gpu.plans import backend, convolutions, gemm_view
from dmlops.gpu.plans.capabilities import Capability
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device
from gpu_results import check_results, inputs_of
from product_cases import RELU, convolution, of_many_images, phases, product, products, spread, windows
from tensors import of

__all__ = ["device"]


@pytest.fixture(autouse=True)
def tiles_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of convolutions that are small enough for a test; windows would slide there."""
    monkeypatch.setattr(convolutions, "TILE_LEAST_ROWS", 4)
    monkeypatch.setattr(convolutions, "SLIDING_PRODUCTS", 0)


CASES = products("FLOAT32")
WINDOWS = windows("FLOAT32")
SPREAD = phases("FLOAT32")
HALVES = {
    f"halves, {name}": (products("FLOAT16") | windows("FLOAT16"))[name]
    for name in ("with gaps", "one matrix for all", "few channels, mirrored", "channels last, all")
}
FEW = {  # too few rows or columns for tiles
    "by channel, activated": convolution(
        of("FLOAT16", 2, 8, 12, 13), of("FLOAT16", 8, 1, 3, 3), GroupCount=8, FusedActivation=RELU
    ),
    "backward, few rows": spread(of("FLOAT32", 1, 64, 9, 9), of("FLOAT32", 64, 3, 4, 4), Strides=2),
    "backward, by channel, in twos": spread(
        of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 1, 4, 4), GroupCount=8, Strides=2
    ),
    "backward, channel by channel": spread(
        of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 1, 3, 3), GroupCount=8
    ),
    "backward, two filters a channel": spread(
        of("FLOAT32", 2, 8, 9, 9), of("FLOAT32", 8, 2, 3, 2), GroupCount=4, Mode="CONVOLUTION", Dilations=2
    ),
}
BACKWARD = {
    **SPREAD, "halves, mirrored": phases("FLOAT16")["backward, few channels, mirrored"],
    **{name: desc for name, desc in FEW.items() if name.startswith("backward")},
}  # fmt: skip


def passes(desc: Any) -> list[Any]:
    return [one.defines["PASS"] for one in gpu.plan(desc).dispatches]


def without_sums(numbers: list[Any]) -> list[Any]:
    """Without the pass that adds up partial sums, which depends on the cost model."""
    return [number for number in numbers if number != 3]


def test_weights_are_put_in_order_where_that_pays() -> None:
    large = convolution(of("FLOAT32", 32, 64, 56, 56), of("FLOAT32", 64, 64, 3, 3))
    one_place = convolution(
        of("FLOAT32", 32, 64, 56, 56), of("FLOAT32", 256, 64, 1, 1), StartPadding=0, EndPadding=0
    )
    assert (passes(large), passes(one_place)) == ([4, 2], [2])


def test_phases_that_meet_nothing_are_few() -> None:
    data, weights = of("FLOAT32", 1, 64, 9, 9), of("FLOAT32", 64, 64, 1, 1)
    small = {"StartPadding": 0, "EndPadding": 0}
    assert passes(spread(data, weights, Strides=4, **small)) == [4, 2]
    assert passes(spread(data, weights, Strides=5, **small)) == [0]
    alone = of("FLOAT32", 1, 256, 1, 1), of("FLOAT32", 256, 64, 3, 3)
    assert passes(spread(*alone, Strides=3, **small)) == [4, 2, 3]
    assert passes(spread(*alone, Strides=4, **small)) == [0]
    assert passes(spread(data, of("FLOAT32", 64, 64, 2, 2), Strides=2, Dilations=2)) == [0]


def test_small_convolutions_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    small = WINDOWS | SPREAD | FEW
    assert {name: passes(desc) for name, desc in small.items()} == {name: [1] for name in small}
    many = {name for name, desc in small.items() if passes(of_many_images(desc)) == [1]}
    assert many == set(FEW)
    point = convolution(of("FLOAT16", 1, 64, 9, 9), of("FLOAT16", 64, 64, 1, 1), StartPadding=0, EndPadding=0)
    assert passes(point) == [1]
    units = gpu.plan(point, Capability.COOPERATIVE_MATRIX).dispatches
    assert [one.defines.get("COOPERATIVE_MATRIX", 0) for one in units] == [1]


def test_what_is_worth_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each phase of a backward convolution is a matrix; its weights are packed, as those of several taps, and
    of one that may lie outside."""
    for name, desc in (CASES | WINDOWS | SPREAD | HALVES | FEW).items():
        assert desc.validate("6.4") == [], name
        found = passes(desc)
        has_taps = hasattr(desc, "FilterTensor") and max(desc.FilterTensor.Sizes[2:]) > 1
        packs = name in SPREAD or has_taps or name.endswith("one place, padded")
        assert without_sums(found) == ([1] if name in FEW else [4, 2] if packs else [2]), name
        assert 3 in found or "in parts" not in name, name
    tile = gpu.plan(SPREAD["backward, in twos"]).dispatches[1].defines
    assert tile["PHASED"] == tile["PACKED"] == 1 and tile["RIGHT_VECTOR"] == 1
    for name, vector in (("side by side", 4), ("side by side, cut", 1)):
        assert gpu.plan(SPREAD[f"backward, {name}"]).dispatches[1].defines["RIGHT_VECTOR"] == vector
    small = product(of("FLOAT32", 5, 3), of("FLOAT32", 3, 6), None)
    assert passes(small) == [0, 1]
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 0)
    assert passes(small)[0] == 2


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


ALL = {**CASES, **WINDOWS, **HALVES, **BACKWARD, "by channel": FEW["by channel, activated"]}


@pytest.mark.parametrize("name", ALL)
def test_tiles_give_what_the_reference_gives(name: str, device: Any) -> None:
    check(device, ALL[name])


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


@pytest.mark.parametrize("name", BACKWARD)
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
    check(device, BACKWARD[name])


def test_what_is_outside_takes_no_part_even_beside_infinity(device: Any) -> None:
    for name in ("whole places", "few channels, mirrored", "one place, padded"):
        check(device, WINDOWS[name], FilterTensor=np.inf)
    for name in ("in ones", "in twos", "without products"):
        check(device, SPREAD[f"backward, {name}"], FilterTensor=np.inf)


TILES = [  # rows, columns and depth, and rows and columns of a wave
    (16, 32, 8, 16, 32), (128, 32, 16, 32, 32), (32, 32, 32, 16, 32), (32, 64, 16, 16, 32),
    (32, 128, 16, 16, 64), (64, 64, 16, 32, 32), (64, 64, 16, 32, 64), (64, 128, 16, 32, 64),
    (128, 128, 16, 32, 64),
]  # fmt: skip
WINDOW_TILES = [(32, 64, 32, 16, 32), (32, 128, 16, 16, 64), (64, 128, 16, 32, 64)]


@pytest.mark.parametrize("numbers", TILES)
def test_all_tiles_do_so_too(numbers: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "float_tiles", lambda *given: [Tile(*numbers, 4, 80)])
    check(device, product(of("FLOAT32", 132, 20), of("FLOAT32", 20, 140), of("FLOAT32", 132, 140)))


@pytest.mark.parametrize("numbers", WINDOW_TILES)
def test_all_tiles_of_windows_do_so_too(numbers: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "float_tiles", lambda *given: [Tile(*numbers, 4, 80)])
    for window in (WINDOWS["in parts"], SPREAD["backward, in parts"]):
        check(device, window)
