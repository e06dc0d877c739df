"""Contractions and attention on cooperative matrices: plans, valid SPIR-V, results, device requirements."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler, detection
from dmlops.gpu.plans import contraction, implicit_gemm
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device
from gpu_results import COOPERATIVE, check_cooperative, inputs_of
from spirv_modules import declared_memory
from tensors import of
from test_schedules_contraction import (
    channels_last,
    column_by_column,
    convolution,
    product,
    spread,
    tiles_of_any_size,
)

__all__ = ["device", "tiles_of_any_size"]  # fixtures

CAPABILITIES = {1, 9, 11, 22, 61, 62, 4433, 5345, 6022}  # the last two are those of cooperative matrices
MEMORY_MODEL = 14


def half(*sizes: int, strides: tuple[int, ...] | None = None) -> Any:
    return of("FLOAT16", *sizes, strides=strides)


PRODUCTS = {
    "with C": product(half(70, 40), half(40, 136), half(70, 136)),
    "batch, B turned, activated": product(
        half(3, 70, 40), half(3, 136, 40), half(3, 70, 136), "NT", dmlops.make.activation_relu()
    ),
    "another activation": product(
        half(40, 40), half(40, 40), None, "NN", dmlops.make.activation_leaky_relu(Alpha=0.1)
    ),
    "both turned": product(half(2, 40, 72), half(2, 136, 40), None, "TT"),
    "odd sizes": product(half(33, 39), half(39, 131), half(33, 131)),
    "in twos": product(half(34, 38), half(130, 34), None, "TT"),
    "batch of odd ones": product(half(2, 3, 33, 39), half(2, 3, 131, 39), half(2, 3, 33, 131), "NT"),
    "in parts, odd depth": product(half(21, 2055), half(2055, 72), None),
    "in fours": product(half(36, 44), half(44, 132), None),
    "with gaps": product(
        half(40, 29, strides=(61, 2)), half(50, 29, strides=(42, 1)), half(40, 50, strides=(0, 1)), "NT"
    ),
    "in parts, odd columns": product(half(2, 40, 2056), half(2, 2056, 35), half(2, 40, 35)),
    "few rows, in parts": product(half(5, 2056), half(2056, 72), half(5, 72)),
    "few columns, in parts": product(half(70, 2056), half(2056, 13), half(70, 13)),
    "some rows, in parts": product(half(40, 2056), half(2056, 72), None),
    "one matrix for all": product(half(3, 2, 40, 16), half(3, 2, 16, 40, strides=(0, 0, 40, 1)), None),
    "column by column": column_by_column(product(half(2, 72, 40), half(2, 40, 100), half(2, 72, 100))),
    "column by column, odd sizes": column_by_column(product(half(35, 40), half(40, 101), None), 3),
    "column by column, in parts": column_by_column(product(half(40, 2056), half(2056, 37), None)),
}
WINDOWS = {
    "whole places": convolution(half(4, 32, 17, 31), half(40, 32, 3, 3)),
    "few channels": convolution(
        half(1, 3, 21, 19), half(24, 3, 7, 7), Strides=2, StartPadding=3, EndPadding=3, bias=False
    ),
    "mirrored": convolution(half(1, 3, 11, 9), half(24, 3, 3, 5), Mode="CONVOLUTION", Strides=2, bias=False),
    "one place": convolution(half(2, 32, 8, 8), half(48, 32, 1, 1), StartPadding=0, EndPadding=0),
    "many places": convolution(half(2, 16, 12, 12), half(136, 16, 1, 1), StartPadding=0, EndPadding=0),
    "one place, odd": convolution(half(2, 32, 7, 7), half(48, 32, 1, 1), StartPadding=0, EndPadding=0),
    "one place, in fours": convolution(half(2, 32, 6, 6), half(48, 32, 1, 1), StartPadding=0, EndPadding=0),
    "one place, in fours, groups": convolution(
        half(3, 40, 2, 6), half(48, 20, 1, 1), StartPadding=0, EndPadding=0, GroupCount=2
    ),
    "one place, in twos": convolution(half(3, 32, 7, 6), half(48, 32, 1, 1), StartPadding=0, EndPadding=0),
    "one place, in steps": convolution(
        half(2, 32, 16, 16), half(48, 32, 1, 1), StartPadding=0, EndPadding=0, Strides=2
    ),
    "one place, in parts": convolution(half(1, 512, 8, 8), half(48, 512, 1, 1), StartPadding=0, EndPadding=0),
    "groups, dilated, with gaps": convolution(
        half(2, 24, 7, 7, strides=(2000, 80, 11, 1)), half(32, 12, 3, 3), Dilations=2, GroupCount=2
    ),
    "three dimensions": convolution(half(1, 4, 5, 6, 7), half(24, 4, 2, 3, 3), OutputPadding=1),
    "in parts": convolution(
        half(1, 128, 6, 6), half(36, 128, 3, 3), FusedActivation=dmlops.make.activation_tanh()
    ),
    "in parts, odd pixels": convolution(half(1, 128, 7, 7), half(36, 128, 3, 3)),
    "channels last": channels_last(
        convolution(half(2, 32, 9, 10), half(40, 32, 3, 3), Strides=2),
        "InputTensor",
        "FilterTensor",
        "OutputTensor",
    ),
    "channels last, taps within tiles, odd filters": channels_last(
        convolution(half(1, 24, 9, 10), half(37, 24, 3, 3)), gap=8
    ),
    "channels last, few channels": channels_last(convolution(half(2, 4, 9, 10), half(40, 4, 3, 3))),
    "channels last, groups, activated": channels_last(
        convolution(
            half(2, 32, 7, 9), half(40, 16, 3, 3), GroupCount=2, FusedActivation=dmlops.make.activation_relu()
        )
    ),
    "channels last, many places": channels_last(
        convolution(half(2, 16, 12, 12), half(136, 16, 1, 1), StartPadding=0, EndPadding=0)
    ),
    "channels last, one place": channels_last(
        convolution(half(2, 64, 8, 9), half(48, 64, 1, 1), StartPadding=0, EndPadding=0),
        "InputTensor",
        "FilterTensor",
        "OutputTensor",
    ),
    "channels last, in parts": channels_last(convolution(half(1, 128, 6, 7), half(38, 128, 3, 3))),
    "channels last, three dimensions": channels_last(
        convolution(half(1, 16, 5, 6, 7), half(24, 16, 2, 3, 3))
    ),
    "only results channels last": channels_last(
        convolution(half(2, 32, 9, 11), half(40, 32, 3, 3)), "OutputTensor"
    ),
    "backward, channels last, odd sizes": channels_last(
        spread(half(2, 32, 9, 7), half(32, 20, 3, 3), Strides=2), gap=8
    ),
    "backward, channels last, in parts": channels_last(
        spread(half(1, 128, 5, 3), half(128, 20, 4, 4), Strides=2)
    ),
    "backward": spread(half(2, 32, 9, 7), half(32, 20, 3, 3)),
    "backward, in twos": spread(half(2, 32, 9, 7), half(32, 20, 4, 4), Strides=2),
    "backward, groups, few channels": spread(
        half(1, 12, 7, 6), half(12, 9, 3, 5), GroupCount=2, Strides=[2, 3], Dilations=[2, 1]
    ),
    "backward, in parts": spread(half(1, 128, 3, 2), half(128, 36, 4, 4), Strides=2),
    "backward, groups, with gaps": spread(
        half(2, 48, 5, 6, strides=(2400, 49, 8, 1)), half(48, 9, 4, 3), GroupCount=2, Strides=[2, 3]
    ),
    "backward, three dimensions": spread(half(2, 40, 3, 4, 5), half(40, 20, 2, 3, 4), Strides=[1, 2, 3]),
    "backward, side by side": spread(
        half(2, 32, 8, 6), half(32, 10, 2, 4), Strides=[2, 4], GroupCount=2, StartPadding=0, EndPadding=0
    ),
    "backward, side by side, mirrored": spread(
        half(2, 32, 4, 4), half(32, 20, 2, 2), Mode="CONVOLUTION", Strides=2, StartPadding=0, EndPadding=0
    ),
    "backward, side by side, cut": spread(
        half(2, 32, 8, 8), half(32, 20, 2, 2), Strides=2, StartPadding=0, EndPadding=1
    ),
}
ROWS = {  # windows of which tiles have places beside each other at once
    "whole": convolution(half(2, 32, 9, 31), half(140, 32, 3, 3)),
    "narrow": convolution(half(40, 32, 7, 7), half(40, 32, 3, 3)),
    "no border, odd filters": convolution(
        half(2, 16, 5, 33), half(21, 16, 3, 3), StartPadding=0, EndPadding=0
    ),
    "dilated, groups, with gaps": convolution(
        half(2, 32, 7, 20, strides=(5000, 150, 21, 1)), half(40, 16, 3, 3), Dilations=[1, 2], GroupCount=2
    ),
    "five, more behind": convolution(
        half(1, 16, 6, 19), half(20, 16, 2, 5), Strides=[2, 1], StartPadding=[1, 0], EndPadding=[0, 5]
    ),
    "more before": convolution(half(3, 16, 4, 23), half(20, 16, 1, 4), StartPadding=[0, 4], EndPadding=0),
    "three dimensions, activated": convolution(
        half(1, 16, 3, 4, 17), half(20, 16, 2, 3, 3), FusedActivation=dmlops.make.activation_relu()
    ),
    "mirrored": convolution(half(1, 16, 5, 18), half(24, 16, 3, 3), Mode="CONVOLUTION", bias=False),
    "channels last": channels_last(convolution(half(2, 32, 9, 31), half(72, 32, 3, 3))),
}


def tile_of(*numbers: int) -> Tile:
    return Tile(*numbers, efficiency=100)


ROW_TILES = {
    "few": None, "tall": tile_of(128, 256, 16, 64, 64, 1), "wide": tile_of(64, 256, 16, 32, 64, 1),
}  # fmt: skip
CASES = {**PRODUCTS, **WINDOWS}
WINDOW_TILES = (  # windows whose places, groups, borders and phases a tile meets, each at least once
    *((name, tile_of(128, 128, 32, 64, 32, 1)) for name in (
        "whole places", "few channels", "one place, in steps", "groups, dilated, with gaps",
        "backward, in twos", "backward, groups, few channels", "backward, side by side",
    )),
    *((name, tile_of(64, 128, 32, 32, 32, 1)) for name in ("whole places", "few channels", "one place")),
    *((name, tile_of(32, 32, 32, 16, 16, 1)) for name in ("whole places", "few channels", "one place")),
    *((name, tile_of(16, 64, 32, 16, 16, 4)) for name in ("whole places", "one place, odd")),
    *((name, tile_of(32, 128, 64, 32, 16, 2)) for name in ("in parts", "one place")),
    *((name, tile_of(64, 128, 32, 32, 64, 2)) for name in (
        "channels last", "channels last, groups, activated", "channels last, one place",
        "backward, channels last, odd sizes",
    )),
    *((name, tile_of(64, 128, 32, 32, 64, 1)) for name in ("backward, in twos", "backward, in parts")),
    ("one place", tile_of(64, 64, 64, 32, 32, 1)), ("one place", tile_of(128, 128, 64, 64, 64, 2)),
    *((name, tile_of(128, 128, 32, 64, 64, 2)) for name in ("many places", "channels last, many places")),
    ("in parts", tile_of(128, 128, 64, 64, 32, 1)),
)  # fmt: skip
TILES = (
    tile_of(32, 128, 64, 32, 16, 2), tile_of(64, 64, 64, 32, 32, 1),
    tile_of(64, 128, 64, 32, 32, 1), tile_of(128, 128, 64, 64, 32, 1),
    tile_of(128, 128, 64, 64, 64, 2), tile_of(64, 16, 64, 16, 16, 4),
)  # fmt: skip


def multiplying(desc: Any) -> Any:
    """The dispatch by cooperative matrices."""
    (found,) = (one for one in gpu.plan(desc, COOPERATIVE).dispatches if "COOPERATIVE_MATRIX" in one.defines)
    return found


def threads(made: Mapping[str, Any]) -> int:
    """Those in a group that multiplies tiles."""
    rows, columns = (int(made[f"TILE_{side}"]) // int(made[f"WAVE_{side}"]) for side in ("ROWS", "COLUMNS"))
    return rows * columns * 32


def test_plans_for_devices_without_them_have_none() -> None:
    for desc in CASES.values():
        assert desc.validate("6.4") == []
        assert gpu.plan(desc) == gpu.plan(desc, NO_CAPABILITIES)
        assert not any("COOPERATIVE_MATRIX" in one.defines for one in gpu.plan(desc).dispatches)


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
        ("few rows, in parts", {"SPLIT_K": 1}),
        ("in parts, odd columns", {"SPLIT_K": 1}),
        ("in parts, odd pixels", {"SPLIT_K": 1}),
        ("whole places", {"PACKED": 1, "WHOLE_TAPS": 1, "RIGHT_VECTOR": 1}),
        ("few channels", {"PACKED": 1, "WHOLE_TAPS": 0}),
        ("one place", {"PACKED": 0, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0}),
        ("one place, odd", {"PACKED": 0, "RIGHT_VECTOR": 1, "RIGHT_ALONG": 1}),
        ("one place, in fours", {"PACKED": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0}),
        ("one place, in fours, groups", {"WHOLE_TAPS": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 0}),
        ("one place, in twos", {"PACKED": 0, "RIGHT_VECTOR": 2, "RIGHT_ALONG": 0}),
        ("channels last, few channels", {"WHOLE_TAPS": 0, "RIGHT_VECTOR": 4, "RIGHT_ALONG": 1}),
        ("backward, side by side", {"PHASED": 1, "RIGHT_VECTOR": 8, "RIGHT_ALONG": 0, "BORDERED": 0}),
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
    rates = implicit_gemm.window_rates

    def slower(row: Any, is_gathered: bool) -> Any:
        found = rates(row, is_gathered)
        return found._replace(latency=10**6) if row.taps == 1 else found

    monkeypatch.setattr(implicit_gemm, "window_rates", slower)


@pytest.mark.parametrize(
    ("images", "window", "dilation"), [(2, 7, 1), (32, 7, 1), (32, 6, 3), (2, 5, 4), (2, 5, 1)]
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
    monkeypatch.setattr(contraction, "cooperative_tiles", lambda *given: [tile])
    for turns, left, right in (("NN", (140, 72), (72, 300)), ("TT", (72, 140), (300, 72))):
        check(device, product(half(*left), half(*right), half(140, 300), turns))


@pytest.mark.parametrize(("name", "tile"), WINDOW_TILES)
def test_all_tiles_of_windows_give_them_too(
    name: str, tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(implicit_gemm, "tap_tiles", lambda *given: [tile])
    monkeypatch.setattr(implicit_gemm, "row_of", lambda *given: implicit_gemm.single_tap())
    check(device, WINDOWS[name])


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("tile", ROW_TILES)
def test_places_of_a_row_at_once_give_them_too(
    name: str, tile: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down_single_taps(monkeypatch)
    if shape := ROW_TILES[tile]:
        monkeypatch.setattr(
            implicit_gemm,
            "row_tiles",
            lambda _, row: [shape._replace(columns=shape.columns - row.reach, depth=row.taps * shape.depth)],
        )
    assert int(multiplying(ROWS[name]).defines["TAPS_AT_ONCE"]) > 1
    check(device, ROWS[name])
    if name == "whole":
        check(device, ROWS[name], FilterTensor=np.inf)


def test_what_is_outside_takes_no_part_even_beside_infinity(device: Any) -> None:
    for name in ("whole places", "few channels", "in parts", "backward, in twos"):
        check(device, WINDOWS[name], FilterTensor=np.inf)
        check(device, WINDOWS[name], FilterTensor=np.nan)


class Pretended:
    """The Vulkan bindings, with a device that has all that cooperative matrices need but what is named."""

    def __init__(self, lacking: str) -> None:
        import vulkan

        self._vulkan, self._lacking = vulkan, lacking

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vulkan, name)

    def _has(self, name: str) -> bool:
        return name != self._lacking

    def vkEnumerateDeviceExtensionProperties(self, physical: Any, layer: Any) -> list[Any]:
        names = filter(self._has, ("VK_KHR_cooperative_matrix", "VK_EXT_subgroup_size_control"))
        return [SimpleNamespace(extensionName=name) for name in names]

    def _chained(self, first: Any, *types: str) -> list[Any]:
        """The structs behind one, of these types in order."""
        found = []
        for type_ in types:
            first = self._vulkan.ffi.cast(f"{type_}*", first.pNext)
            found.append(first)
        return found

    def vkGetPhysicalDeviceFeatures2(self, physical: Any, features: Any) -> None:
        matrices, waves = self._chained(
            features,
            "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
            "VkPhysicalDeviceSubgroupSizeControlFeatures",
        )
        matrices.cooperativeMatrix = self._has("cooperativeMatrix")
        waves.subgroupSizeControl = self._has("subgroupSizeControl")
        waves.computeFullSubgroups = self._has("computeFullSubgroups")

    def vkGetPhysicalDeviceProperties2(self, physical: Any, properties: Any) -> None:
        matrices, waves, operations = self._chained(
            properties,
            "VkPhysicalDeviceCooperativeMatrixPropertiesKHR",
            "VkPhysicalDeviceSubgroupSizeControlProperties",
            "VkPhysicalDeviceSubgroupProperties",
        )
        vote, shuffle = (
            self._vulkan.VK_SUBGROUP_FEATURE_VOTE_BIT,
            self._vulkan.VK_SUBGROUP_FEATURE_SHUFFLE_BIT,
        )
        compute = self._vulkan.VK_SHADER_STAGE_COMPUTE_BIT
        operations.supportedOperations = vote * self._has("votes") | shuffle * self._has("shuffles")
        matrices.cooperativeMatrixSupportedStages = compute * self._has("stages")
        waves.minSubgroupSize, waves.maxSubgroupSize = (8, 32) if self._has("waves of 32") else (64, 64)
        waves.requiredSubgroupSizeStages = compute
        properties.properties.limits.maxComputeWorkGroupInvocations = 1024 if self._has("threads") else 256
        properties.properties.limits.maxComputeSharedMemorySize = (48 if self._has("memory") else 16) << 10

    def vkGetInstanceProcAddr(self, instance: Any, name: str) -> Any:
        half, single = self._vulkan.VK_COMPONENT_TYPE_FLOAT16_KHR, self._vulkan.VK_COMPONENT_TYPE_FLOAT32_KHR
        sums = single if self._has("sums in single precision") else half
        one = SimpleNamespace(
            MSize=16, NSize=16, KSize=16 if self._has("16 products") else 8, AType=half, BType=half,
            CType=sums, ResultType=sums, scope=self._vulkan.VK_SCOPE_SUBGROUP_KHR, saturatingAccumulation=0,
        )  # fmt: skip
        byte, positive = self._vulkan.VK_COMPONENT_TYPE_SINT8_KHR, self._vulkan.VK_COMPONENT_TYPE_UINT8_KHR
        whole = self._vulkan.VK_COMPONENT_TYPE_SINT32_KHR
        other = SimpleNamespace(
            MSize=16, NSize=16, KSize=32 if self._has("32 products") else 16,
            AType=byte if self._has("signed bytes") else positive, BType=byte, CType=whole, ResultType=whole,
            scope=self._vulkan.VK_SCOPE_SUBGROUP_KHR, saturatingAccumulation=not self._has("wrapping sums"),
        )  # fmt: skip
        return lambda physical: [one, other]


@pytest.mark.parametrize(
    "lacking",
    [
        "nothing", "VK_KHR_cooperative_matrix", "VK_EXT_subgroup_size_control", "cooperativeMatrix",
        "subgroupSizeControl", "computeFullSubgroups", "stages", "waves of 32", "votes", "shuffles",
        "threads", "memory", "sums in single precision", "16 products", "32 products", "signed bytes",
        "wrapping sums",
    ],
)  # fmt: skip
def test_devices_must_have_all_that_cooperative_matrix_need(
    lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detection, "vk", Pretended(lacking))
    of_halves = {"sums in single precision", "16 products"}
    of_bytes = {"32 products", "signed bytes", "wrapping sums"}
    found = detection.cooperative_matrix(None, None)
    assert (Capability.COOPERATIVE_MATRIX in found) == (lacking in {"nothing", *of_bytes})
    assert (Capability.COOPERATIVE_MATRIX_INT8 in found) == (lacking in {"nothing", *of_halves})
