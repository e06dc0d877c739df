"""What cooperative matrices need: a device's extensions, features and limits, and Vulkan's memory model."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from dmlops.gpu import compiler, detection
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability

COOPERATIVE = Capability.COOPERATIVE_MATRIX


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
