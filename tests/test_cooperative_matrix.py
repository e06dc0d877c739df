"""Contractions and attention on cooperative matrices: plans, valid SPIR-V, results, device requirements."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dmlops import gpu
from dmlops.gpu import compiler, detection
from dmlops.gpu.plans import backend, implicit_gemm
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device
from gpu_results import COOPERATIVE, check_cooperative, inputs_of
from product_cases import RELU, channels_last, convolution, phases, product, products, windows
from spirv_modules import declared_memory
from tensors import of
from test_schedules_contraction import tiles_of_any_size

__all__ = ["device", "tiles_of_any_size"]  # fixtures

CAPABILITIES = {1, 9, 11, 22, 61, 62, 4433, 5345, 6022}  # the last two are those of cooperative matrices
MEMORY_MODEL = 14


def half(*sizes: int, strides: tuple[int, ...] | None = None) -> Any:
    return of("FLOAT16", *sizes, strides=strides)


WINDOWS = windows("FLOAT16") | phases("FLOAT16")
CASES = products("FLOAT16") | WINDOWS
ROWS = {  # windows of which tiles have places beside each other at once
    "whole": convolution(half(2, 32, 9, 31), half(140, 32, 3, 3)),
    "narrow": convolution(half(40, 32, 7, 7), half(40, 32, 3, 3)),
    "no border, odd filters": convolution(
        half(2, 16, 5, 33), half(21, 16, 3, 3), StartPadding=0, EndPadding=0
    ),
    "dilated, groups, with gaps": convolution(
        half(2, 32, 7, 20, strides=(5000, 150, 21, 1)), half(40, 16, 3, 3), Dilations=[1, 2], GroupCount=2
    ),
    "more behind": convolution(
        half(1, 16, 6, 19), half(20, 16, 2, 3), Strides=[2, 1], StartPadding=[1, 0], EndPadding=[0, 3]
    ),
    "two, more before": convolution(
        half(3, 16, 4, 23), half(20, 16, 1, 2), StartPadding=[0, 4], EndPadding=0
    ),
    "three dimensions, activated": convolution(
        half(1, 16, 3, 4, 17), half(20, 16, 2, 3, 3), FusedActivation=RELU
    ),
    "few channels, mirrored": convolution(
        half(1, 16, 5, 18), half(24, 16, 3, 3), Mode="CONVOLUTION", bias=False
    ),
    "channels last": channels_last(convolution(half(2, 32, 9, 31), half(72, 32, 3, 3))),
    "in parts": convolution(half(1, 128, 6, 31), half(36, 128, 3, 3)),
    "in parts, channels last": channels_last(convolution(half(1, 128, 6, 31), half(36, 128, 3, 3))),
}


def tile_of(*numbers: int) -> Tile:
    return Tile(*numbers, efficiency=100)


ROW_TILES = {
    "few": None, "tall": tile_of(128, 256, 16, 64, 64, 1), "wide": tile_of(64, 256, 16, 32, 64, 1),
    "low": tile_of(32, 256, 16, 32, 32, 1), "lowest": tile_of(16, 256, 16, 16, 32, 1),
}  # fmt: skip
WINDOW_TILES = {  # with windows whose places, groups, borders and phases they meet, each at least once
    tile_of(128, 128, 32, 64, 32, 1): (
        "whole places", "few channels", "one place, in steps", "groups, dilated, with gaps",
        "backward, in twos", "backward, groups, few channels", "backward, side by side",
    ),
    tile_of(128, 128, 32, 64, 64, 2): (
        "few channels", "one place, odd", "backward, in twos", "many places", "channels last, many places",
    ),
    tile_of(64, 128, 32, 32, 32, 1): ("whole places", "few channels", "one place"),
    tile_of(32, 32, 32, 16, 16, 1): ("whole places", "few channels", "one place"),
    tile_of(16, 64, 32, 16, 16, 4): ("whole places", "one place, odd"),
    tile_of(32, 128, 64, 32, 16, 2): ("in parts", "one place"),
    tile_of(64, 128, 32, 32, 64, 2): (
        "channels last, all", "channels last, groups, activated", "channels last, one place",
        "backward, channels last, odd sizes", "few channels", "one place, odd", "one place, in fours",
        "backward, in twos", "backward, in parts",
    ),
    tile_of(64, 64, 64, 32, 32, 1): ("one place",), tile_of(128, 128, 64, 64, 64, 2): ("one place",),
    tile_of(128, 128, 64, 64, 32, 1): ("in parts",),
}  # fmt: skip
TILES = (
    tile_of(32, 128, 64, 32, 16, 2), tile_of(64, 64, 64, 32, 32, 1),
    tile_of(64, 128, 64, 32, 32, 1), tile_of(128, 128, 64, 64, 32, 1),
    tile_of(128, 128, 64, 64, 64, 2), tile_of(64, 16, 64, 16, 16, 4),
)  # fmt: skip


def multiplying(desc: Any) -> Any:
    """The dispatch by cooperative matrices."""
    (found,) = (one for one in gpu.plan(desc, COOPERATIVE).dispatches if "COOPERATIVE_MATRIX" in one.defines)
    return found


def test_plans_for_devices_without_them_have_none() -> None:
    for desc in CASES.values():
        assert desc.validate("6.4") == []
        assert gpu.plan(desc) == gpu.plan(desc, NO_CAPABILITIES)
        assert not any("COOPERATIVE_MATRIX" in one.defines for one in gpu.plan(desc).dispatches)


def test_deep_sums_are_split() -> None:
    for name, desc in CASES.items():
        assert multiplying(desc).defines.get("SPLIT_K", 0) or "in parts" not in name, name


def test_only_halves_with_enough_to_do_are_for_them() -> None:
    others = [
        product(of("FLOAT32", 70, 40), of("FLOAT32", 40, 136), None),
        product(half(1, 4096), half(4096, 64), None),
        product(half(7, 8), half(8, 8), None),
        convolution(half(2, 8, 12, 13), half(8, 1, 3, 3), GroupCount=8),
    ]
    assert all(gpu.plan(desc, COOPERATIVE) == gpu.plan(desc) for desc in others)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("with C", {"LEFT_VECTOR": 8, "LEFT_ALONG": 1, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0}),
        ("both turned", {"LEFT_VECTOR": 8, "LEFT_ALONG": 0, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 1}),
        ("odd sizes", {"LEFT_VECTOR": 1, "RIGHT_VECTOR": 1, "OUTPUT_VECTOR": 1}),
        ("in twos", {"LEFT_VECTOR": 2, "RIGHT_VECTOR": 2}),
        ("whole places", {"PACKED": 1, "TILE_DEPTH": 16, "TAP_PRODUCTS": 16, "RIGHT_VECTOR": 1}),
        ("few channels", {"PACKED": 1, "TILE_DEPTH": 32, "TAP_PRODUCTS": 1}),
        ("one place", {"PACKED": 0, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0}),
        ("one place, odd", {"PACKED": 0, "RIGHT_VECTOR": 1, "RIGHT_ALONG": 1}),
        ("one place, in fours", {"PACKED": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0}),
        ("one place, in fours, groups", {"TAP_PRODUCTS": 4, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0}),
        ("one place, rows apart", {"PACKED": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0}),
        ("one place, in twos", {"PACKED": 0, "RIGHT_VECTOR": 2, "RIGHT_ALONG": 0}),
        ("channels last, few channels", {"TAP_PRODUCTS": 4, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 1}),
        ("backward, side by side", {"PHASED": 1, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0}),
        ("backward, side by side, mirrored", {"PHASED": 1, "RIGHT_VECTOR": 8}),
        ("backward, side by side, cut", {"PHASED": 1, "RIGHT_VECTOR": 1}),
        ("backward, in twos", {"PHASED": 1, "RIGHT_VECTOR": 1, "OUTPUT_VECTOR": 1}),
    ],
)
def test_how_factors_are_read(name: str, wanted: dict[str, int]) -> None:
    made = multiplying(CASES[name]).defines
    assert {macro: made.get(macro, 0) for macro in wanted} == wanted


def slow_down_single_taps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes tiles with several taps the fastest."""
    choose = implicit_gemm.choose_tile

    def slower(found: Any, tiles: Any, rates: Any, may_split: bool) -> Any:
        chosen = choose(found, tiles, rates, may_split)
        return chosen._replace(time=10**9) if found.taps == 1 else chosen

    monkeypatch.setattr(implicit_gemm, "choose_tile", slower)


@pytest.mark.parametrize(
    ("images", "window", "dilation"), [(2, 3, 1), (32, 3, 1), (32, 2, 3), (2, 3, 8), (32, 3, 8)]
)
def test_so_is_that_of_tiles_with_places_of_a_row_at_once(
    images: int, window: int, dilation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down_single_taps(monkeypatch)
    padding = (window - 1) * dilation // 2
    desc = convolution(
        half(images, 192, 17, 70), half(256, 192, 1, window), bias=False, Dilations=[1, dilation],
        StartPadding=[0, padding], EndPadding=[0, padding],
    )  # fmt: skip
    made = multiplying(desc).defines
    assert made["TAPS_AT_ONCE"] == window
    assert declared_memory("CONVOLUTION", made) <= detection.GROUP_MEMORY


def test_the_memory_model_is_changed_where_it_is_declared() -> None:
    def module(*capabilities: int, model: int = 1) -> bytes:
        declared = [word for one in capabilities for word in (2 << 16 | 17, one)]
        extension = [3 << 16 | 10, 0x505F5053, 0]
        return struct.pack(
            f"<{11 + len(declared)}I", *range(5), *declared, *extension, 3 << 16 | 14, 0, model
        )

    assert compiler.with_memory_model(module(1, 9)) == module(1, 9)
    changed = compiler.with_memory_model(module(1, 5345))
    assert changed == module(1, 5345, model=3)
    assert compiler.with_memory_model(changed) == changed


def check(device: Any, desc: Any, **special: float) -> None:
    check_cooperative(device, desc, inputs_of(desc, **special))


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_reference(name: str, device: Any) -> None:
    check(device, CASES[name])


@pytest.mark.parametrize("tile", TILES)
def test_all_tiles_give_them_too(tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "cooperative_tiles", lambda *given: [tile])
    for turns, left, right in (("NN", (140, 72), (72, 300)), ("TT", (72, 140), (300, 72))):
        check(device, product(half(*left), half(*right), half(140, 300), turns))


@pytest.mark.parametrize(
    ("name", "tile"), [(name, tile) for tile, names in WINDOW_TILES.items() for name in names]
)
def test_all_tiles_of_windows_give_them_too(
    name: str, tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(implicit_gemm, "tap_tiles", lambda *given: [tile])
    monkeypatch.setattr(implicit_gemm, "with_several_taps", lambda found: found)
    check(device, WINDOWS[name])


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("tile", ROW_TILES)
def test_places_of_a_row_at_once_give_them_too(
    name: str, tile: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down_single_taps(monkeypatch)
    if shape := ROW_TILES[tile]:
        monkeypatch.setattr(implicit_gemm, "row_tiles", lambda: [shape])
    made = multiplying(ROWS[name]).defines
    assert int(made["TAPS_AT_ONCE"]) > 1
    assert made.get("SPLIT_K", 0) or "in parts" not in name
    check(device, ROWS[name])
    if name == "whole":
        check(device, ROWS[name], FilterTensor=np.inf)


def test_what_is_outside_takes_no_part_even_beside_infinity(device: Any) -> None:
    for name in ("whole places", "few channels", "in parts", "backward, in twos"):
        check(device, WINDOWS[name], FilterTensor=np.inf)
        check(device, WINDOWS[name], FilterTensor=np.nan)


# What a device that suits them says of itself: extensions, features, properties, limits.
# Stages: 0x20 is compute. Operations: 2 are votes, 8 ballots, 16 shuffles.
GIVEN = {
    "VK_KHR_cooperative_matrix": 1, "VK_EXT_subgroup_size_control": 1, "cooperativeMatrix": 1,
    "subgroupSizeControl": 1, "computeFullSubgroups": 1, "cooperativeMatrixSupportedStages": 0x20,
    "minSubgroupSize": 8, "maxSubgroupSize": 32, "requiredSubgroupSizeStages": 0x20,
    "supportedOperations": 2 | 8 | 16, "maxComputeWorkGroupInvocations": 1024,
    "maxComputeSharedMemorySize": 48 << 10,
}  # fmt: skip
HALF, SINGLE, SIGNED, WHOLE, UNSIGNED = 0, 1, 3, 5, 7  # components: floats of 16 and 32 bits, bytes, integers
KINDS = ("KSize", "AType", "BType", "CType", "ResultType", "saturatingAccumulation")
HALVES, BYTES = (16, HALF, HALF, SINGLE, SINGLE, 0), (32, SIGNED, SIGNED, WHOLE, WHOLE, 0)


def pretended(halves: tuple[int, ...] = HALVES, of_bytes: tuple[int, ...] = BYTES, **lacking: int) -> Any:
    """The Vulkan bindings, with such a device; `lacking` says otherwise."""
    import vulkan

    given = GIVEN | lacking

    def answering(*types: str) -> Any:
        """A query that fills in the structs behind one, of these types in order, and its limits."""

        def answer(physical: Any, first: Any) -> None:
            structs = [first.properties.limits] if hasattr(first, "properties") else []
            for type_ in types:
                first = vulkan.ffi.cast(f"VkPhysicalDevice{type_}*", first.pNext)
                structs.append(first)
            for one in structs:
                for field in given.keys() & set(dir(one)):
                    setattr(one, field, given[field])

        return answer

    shape = {"MSize": 16, "NSize": 16, "scope": vulkan.VK_SCOPE_SUBGROUP_KHR}
    matrices = [SimpleNamespace(**shape, **dict(zip(KINDS, one, strict=True))) for one in (halves, of_bytes)]
    extensions = [SimpleNamespace(extensionName=name) for name, value in given.items() if value]
    waves = "SubgroupSizeControl"
    changed = {
        "vkEnumerateDeviceExtensionProperties": lambda physical, layer: extensions,
        "vkGetPhysicalDeviceFeatures2": answering("CooperativeMatrixFeaturesKHR", f"{waves}Features"),
        "vkGetPhysicalDeviceProperties2": answering(
            "CooperativeMatrixPropertiesKHR", f"{waves}Properties", "SubgroupProperties"
        ),
        "vkGetInstanceProcAddr": lambda instance, name: lambda physical: matrices,
    }
    return SimpleNamespace(**vars(vulkan) | changed)


@pytest.mark.parametrize(
    ("lacking", "has"),
    [
        ({}, COOPERATIVE | Capability.COOPERATIVE_MATRIX_INT8),
        *(({name: 0}, NO_CAPABILITIES) for name in GIVEN if name != "minSubgroupSize"),
        *(({"supportedOperations": some}, NO_CAPABILITIES) for some in (2 | 8, 2 | 16, 8 | 16)),
        ({"minSubgroupSize": 64, "maxSubgroupSize": 64}, NO_CAPABILITIES),
        ({"maxComputeWorkGroupInvocations": 256}, NO_CAPABILITIES),
        ({"maxComputeSharedMemorySize": 16 << 10}, NO_CAPABILITIES),
        ({"halves": (16, HALF, HALF, HALF, HALF, 0)}, Capability.COOPERATIVE_MATRIX_INT8),
        ({"halves": (8, *HALVES[1:])}, Capability.COOPERATIVE_MATRIX_INT8),
        ({"of_bytes": (16, *BYTES[1:])}, COOPERATIVE),
        ({"of_bytes": (32, UNSIGNED, *BYTES[2:])}, COOPERATIVE),
        ({"of_bytes": (*BYTES[:5], 1)}, COOPERATIVE),
    ],
)
def test_devices_must_have_all_that_cooperative_matrices_need(
    lacking: Any, has: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detection, "vk", pretended(**lacking))
    assert detection.cooperative_matrix(None, None) == has
