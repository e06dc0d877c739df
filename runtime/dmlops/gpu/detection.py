"""The capabilities of a Vulkan device: the features that all or only some shaders need, and the capabilities
that plans depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .descriptors import EXTENSIONS as _DESCRIPTORS
from .errors import GpuUnavailable
from .plans.capabilities import NO_CAPABILITIES, Capability
from .plans.operands import WAVE
from .vulkan_api import vk

_UNITS = ("VK_KHR_cooperative_matrix", "VK_EXT_subgroup_size_control")
_DOT_PRODUCTS = "VK_KHR_shader_integer_dot_product"
_ROBUSTNESS = "VK_EXT_pipeline_robustness"
LARGEST_GROUP = 512  # threads
LARGEST_WAVE = 128  # threads
GROUP_MEMORY = 48 * 1024  # bytes of shared memory, for cooperative matrices
LEAST_MEMORY = 32 * 1024  # bytes of shared memory, all that Direct3D 12 grants a shader


@dataclass(frozen=True)
class Detected:
    """`features` is the feature chain to enable, `optional` the names of those in it that not every device
    has.

    `has_descriptor_memory`: descriptors can be in buffers. `robustness` turns off a pipeline's bounds checks;
    None if the device has no such option.
    """

    features: Any
    extensions: tuple[str, ...]
    optional: frozenset[str]
    capabilities: Capability
    has_descriptor_memory: bool
    robustness: Any


def detected(instance: Any, physical: Any, name: str) -> Detected:
    """The device's capabilities. Raises GpuUnavailable if it lacks what all shaders need."""
    listed = {one.extensionName for one in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
    has_descriptors = listed.issuperset(_DESCRIPTORS)
    dots = vk.VkPhysicalDeviceShaderIntegerDotProductFeatures()
    chain: Any = dots if _DOT_PRODUCTS in listed else None
    described = vk.VkPhysicalDeviceDescriptorBufferFeaturesEXT(pNext=chain)
    offered12 = vk.VkPhysicalDeviceVulkan12Features(pNext=described if has_descriptors else chain)
    offered11 = vk.VkPhysicalDeviceVulkan11Features(pNext=offered12)
    offered = vk.VkPhysicalDeviceFeatures2(pNext=offered11)
    vk.vkGetPhysicalDeviceFeatures2(physical, vk.ffi.addressof(offered))
    properties = vk.vkGetPhysicalDeviceProperties(physical)
    limits = properties.limits
    threads = min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0])
    needed = {
        f"groups of {LARGEST_GROUP} threads": threads >= LARGEST_GROUP,
        f"{LEAST_MEMORY >> 10} KiB of shared memory": limits.maxComputeSharedMemorySize >= LEAST_MEMORY,
        "shaderInt64": offered.features.shaderInt64,
        "shaderInt16": offered.features.shaderInt16,
        "storageBuffer16BitAccess": offered11.storageBuffer16BitAccess,
    }
    missing = [name for name, present in needed.items() if not present]
    if missing:
        raise GpuUnavailable(
            f"{name} lacks {', '.join(missing)}, which the shaders need: use another device or driver."
        )
    optional = {
        "shaderFloat64": offered.features.shaderFloat64,
        "shaderFloat16": offered12.shaderFloat16,
    }
    units = cooperative_matrix(instance, physical) if offered12.vulkanMemoryModel else NO_CAPABILITIES
    capabilities = NO_CAPABILITIES
    if offered12.shaderFloat16:
        capabilities |= units & Capability.COOPERATIVE_MATRIX
    if offered12.shaderInt8:
        capabilities |= units & Capability.COOPERATIVE_MATRIX_INT8
    chain = None
    extensions: tuple[str, ...] = ()
    if capabilities:
        optional |= {
            "vulkanMemoryModel": True,
            "cooperativeMatrix": True,
            "shaderInt8": Capability.COOPERATIVE_MATRIX_INT8 in capabilities,
        }
        waves = vk.VkPhysicalDeviceSubgroupSizeControlFeatures(
            subgroupSizeControl=True, computeFullSubgroups=True
        )
        chain = vk.VkPhysicalDeviceCooperativeMatrixFeaturesKHR(cooperativeMatrix=True, pNext=waves)
        extensions = _UNITS
    if dots.shaderIntegerDotProduct:
        capabilities |= Capability.DOT_PRODUCTS
        optional |= {"shaderIntegerDotProduct": True}
        chain = vk.VkPhysicalDeviceShaderIntegerDotProductFeatures(shaderIntegerDotProduct=True, pNext=chain)
        extensions = (*extensions, _DOT_PRODUCTS)
    if has_wave_operations(physical):
        capabilities |= Capability.WAVE_OPERATIONS
    has_descriptor_memory = bool(described.descriptorBuffer and offered12.bufferDeviceAddress)
    if has_descriptor_memory:
        chain = vk.VkPhysicalDeviceDescriptorBufferFeaturesEXT(descriptorBuffer=True, pNext=chain)
        extensions = (*extensions, *_DESCRIPTORS)
    # Bounds checks stay off. NVIDIA's driver adds them regardless, unless a pipeline opts out.
    robustness = None
    if _ROBUSTNESS in listed:
        chain = vk.VkPhysicalDevicePipelineRobustnessFeaturesEXT(pipelineRobustness=True, pNext=chain)
        extensions = (*extensions, _ROBUSTNESS)
        unchecked = vk.VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT
        robustness = vk.VkPipelineRobustnessCreateInfoEXT(
            storageBuffers=unchecked,
            uniformBuffers=unchecked,
            vertexInputs=unchecked,
            images=vk.VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT,
        )
    features = vk.VkPhysicalDeviceFeatures2(
        pNext=vk.VkPhysicalDeviceVulkan11Features(
            storageBuffer16BitAccess=True,
            pNext=vk.VkPhysicalDeviceVulkan12Features(
                shaderFloat16=optional["shaderFloat16"],
                shaderInt8=optional.get("shaderInt8", False),
                vulkanMemoryModel=optional.get("vulkanMemoryModel", False),
                bufferDeviceAddress=has_descriptor_memory,
                pNext=chain,
            ),
        ),
        features=vk.VkPhysicalDeviceFeatures(
            shaderInt64=True, shaderInt16=True, shaderFloat64=optional["shaderFloat64"]
        ),
    )
    present = frozenset(feature for feature, is_there in optional.items() if is_there)
    return Detected(features, extensions, present, capabilities, has_descriptor_memory, robustness)


def has_wave_operations(physical: Any) -> bool:
    """Whether threads of a wave can read each other's registers, in waves that fit in every group."""
    waves = vk.VkPhysicalDeviceSubgroupProperties()
    properties = vk.VkPhysicalDeviceProperties2(pNext=waves)
    vk.vkGetPhysicalDeviceProperties2(physical, vk.ffi.addressof(properties))
    return bool(
        waves.supportedOperations & vk.VK_SUBGROUP_FEATURE_SHUFFLE_BIT
        and waves.supportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT
        and 4 <= waves.subgroupSize <= LARGEST_WAVE
    )


def cooperative_matrix(instance: Any, physical: Any) -> Capability:
    """The matrices that the device supports in the shapes that shaders use, in waves of their size."""
    listed = {one.extensionName for one in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
    if not listed.issuperset(_UNITS):
        return NO_CAPABILITIES
    waves = vk.VkPhysicalDeviceSubgroupSizeControlFeatures()
    matrices = vk.VkPhysicalDeviceCooperativeMatrixFeaturesKHR(pNext=waves)
    features = vk.VkPhysicalDeviceFeatures2(pNext=matrices)
    vk.vkGetPhysicalDeviceFeatures2(physical, vk.ffi.addressof(features))
    operations = vk.VkPhysicalDeviceSubgroupProperties()
    sizes = vk.VkPhysicalDeviceSubgroupSizeControlProperties(pNext=operations)
    stages = vk.VkPhysicalDeviceCooperativeMatrixPropertiesKHR(pNext=sizes)
    properties = vk.VkPhysicalDeviceProperties2(pNext=stages)
    vk.vkGetPhysicalDeviceProperties2(physical, vk.ffi.addressof(properties))
    limits, compute = properties.properties.limits, vk.VK_SHADER_STAGE_COMPUTE_BIT
    exchanges = (
        vk.VK_SUBGROUP_FEATURE_VOTE_BIT
        | vk.VK_SUBGROUP_FEATURE_BALLOT_BIT
        | vk.VK_SUBGROUP_FEATURE_SHUFFLE_BIT
    )
    has_waves = (
        matrices.cooperativeMatrix
        and stages.cooperativeMatrixSupportedStages & compute
        and waves.subgroupSizeControl
        and waves.computeFullSubgroups
        and sizes.minSubgroupSize <= WAVE <= sizes.maxSubgroupSize
        and sizes.requiredSubgroupSizeStages & compute
        and operations.supportedOperations & exchanges == exchanges
        and limits.maxComputeWorkGroupInvocations >= LARGEST_GROUP
        and limits.maxComputeSharedMemorySize >= GROUP_MEMORY
    )
    return _listed(instance, physical) if has_waves else NO_CAPABILITIES


def _listed(instance: Any, physical: Any) -> Capability:
    """The matrices that a wave supports, of these: 16x16x16 matrices of float16, accumulated in single
    precision, and 16x16x32 matrices of signed bytes, accumulated in integers."""
    function = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
    half, single = vk.VK_COMPONENT_TYPE_FLOAT16_KHR, vk.VK_COMPONENT_TYPE_FLOAT32_KHR
    byte, whole = vk.VK_COMPONENT_TYPE_SINT8_KHR, vk.VK_COMPONENT_TYPE_SINT32_KHR
    wanted = {
        (16, 16, 16, half, half, single, single): Capability.COOPERATIVE_MATRIX,
        (16, 16, 32, byte, byte, whole, whole): Capability.COOPERATIVE_MATRIX_INT8,
    }
    found = NO_CAPABILITIES
    for one in vk.vkGetInstanceProcAddr(instance, function)(physical):
        kind = (one.MSize, one.NSize, one.KSize, one.AType, one.BType, one.CType, one.ResultType)
        if one.scope == vk.VK_SCOPE_SUBGROUP_KHR and not one.saturatingAccumulation:
            found |= wanted.get(kind, NO_CAPABILITIES)
    return found
