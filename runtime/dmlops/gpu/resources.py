"""What lives on a device: buffers, compute pipelines, and pipelines with their buffers bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .compiler import optional_features
from .errors import Unsupported
from .plans.matrix_units import WAVE
from .vulkan_api import vk

if TYPE_CHECKING:
    from .device import Device

Bytes = bytes | bytearray | memoryview

# VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, which the bindings lack
_FULL_SUBGROUPS = 2

_SETS = 16  # descriptor sets that are allocated together


class Buffer:
    """Memory for shaders and copies; `mapped` where the host sees it too."""

    def __init__(self, device: Device, size: int, *memory: int) -> None:
        """`memory`: property flags to look for in turn, the first possible ones are taken."""
        self.size = size
        self._resources = ExitStack()
        usage = (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        try:
            self.handle = vk.vkCreateBuffer(
                device.handle, vk.VkBufferCreateInfo(size=size, usage=usage), None
            )
            self._resources.callback(vk.vkDestroyBuffer, device.handle, self.handle, None)
            needs = vk.vkGetBufferMemoryRequirements(device.handle, self.handle)
            kind = device.memory_type(needs.memoryTypeBits, *memory)
            # Drivers give large pages to memory of one buffer: random reads get up to 2.5 times faster.
            dedicated = vk.VkMemoryDedicatedAllocateInfo(buffer=self.handle)
            allocate = vk.VkMemoryAllocateInfo(
                pNext=dedicated, allocationSize=needs.size, memoryTypeIndex=kind
            )
            allocation = vk.vkAllocateMemory(device.handle, allocate, None)
        except (
            vk.VkErrorOutOfDeviceMemory,
            vk.VkErrorOutOfHostMemory,
            vk.VkErrorTooManyObjects,  # a device has a largest number of allocations
        ) as error:
            self.close()
            raise Unsupported(f"{device.name} has no memory left for {size} bytes") from error
        self._resources.callback(vk.vkFreeMemory, device.handle, allocation, None)
        vk.vkBindBufferMemory(device.handle, self.handle, allocation, 0)
        self.mapped: Any = None
        if memory[-1] & vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            self.mapped = vk.vkMapMemory(device.handle, allocation, 0, size, 0)

    def close(self) -> None:
        self._resources.close()


class Binding(NamedTuple):
    """`size` bytes of a buffer from `offset` on: what a shader sees as a buffer."""

    buffer: Buffer
    offset: int
    size: int

    def first(self, size: int) -> Binding:
        """Its first `size` bytes."""
        return Binding(self.buffer, self.offset, size)


class Run(NamedTuple):
    """Bindings of one type, one after the other."""

    type: int
    first: int
    count: int  # type: ignore[assignment]  # it hides a method of tuples


class Pipeline:
    """The pipeline of one SPIR-V compute shader with entry point CSMain.

    Its bindings are storage buffers from 0 on and, after them, one uniform buffer.
    """

    def __init__(self, device: Device, code: bytes, storage_buffers: int) -> None:
        self.device = device
        runs = [
            Run(vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, storage_buffers),
            Run(vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, storage_buffers, 1),
        ]
        self._runs = [run for run in runs if run.count > 0]
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=number,
                descriptorType=run.type,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for run in self._runs
            for number in range(run.first, run.first + run.count)
        ]
        self._set_layout = vk.vkCreateDescriptorSetLayout(
            device.handle,
            vk.VkDescriptorSetLayoutCreateInfo(bindingCount=len(bindings), pBindings=bindings),
            None,
        )
        self.layout = vk.vkCreatePipelineLayout(
            device.handle,
            vk.VkPipelineLayoutCreateInfo(setLayoutCount=1, pSetLayouts=[self._set_layout]),
            None,
        )
        self.template = self._update_template()
        self._sets: list[Any] = []  # pointers to descriptor sets that nothing uses
        module = vk.vkCreateShaderModule(
            device.handle, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None
        )
        waves, flags = None, 0
        if "cooperativeMatrix" in optional_features(code):
            waves = vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(requiredSubgroupSize=WAVE)
            flags = _FULL_SUBGROUPS
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName="CSMain", pNext=waves, flags=flags
        )
        create = vk.VkComputePipelineCreateInfo(stage=stage, layout=self.layout, basePipelineIndex=-1)
        self.handle = vk.vkCreateComputePipelines(device.handle, None, 1, [create], None)[0]
        vk.vkDestroyShaderModule(device.handle, module, None)

    def bind(self, bindings: Sequence[Binding]) -> BoundPipeline:
        """The pipeline with its buffers, ready to be recorded any number of times."""
        return BoundPipeline(self, bindings)

    def take_set(self) -> Any:
        """A pointer to a descriptor set, for `give_set_back`."""
        if not self._sets:
            self._add_sets()
        return self._sets.pop()

    def give_set_back(self, descriptors: Any) -> None:
        self._sets.append(descriptors)

    def _update_template(self) -> Any:
        """How an array of VkDescriptorBufferInfo fills the bindings."""
        size = vk.ffi.sizeof("VkDescriptorBufferInfo")
        entries = [
            vk.VkDescriptorUpdateTemplateEntry(
                dstBinding=run.first,
                descriptorCount=run.count,
                descriptorType=run.type,
                offset=run.first * size,
                stride=size,
            )
            for run in self._runs
        ]
        create = vk.VkDescriptorUpdateTemplateCreateInfo(
            pDescriptorUpdateEntries=entries,
            templateType=vk.VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
            descriptorSetLayout=self._set_layout,
        )
        return vk.vkCreateDescriptorUpdateTemplate(self.device.handle, create, None)

    def _add_sets(self) -> None:
        """Allocates descriptor sets, which live as long as the pipeline."""
        sizes = [
            vk.VkDescriptorPoolSize(type=run.type, descriptorCount=_SETS * run.count) for run in self._runs
        ]
        pool = vk.vkCreateDescriptorPool(
            self.device.handle, vk.VkDescriptorPoolCreateInfo(maxSets=_SETS, pPoolSizes=sizes), None
        )
        allocate = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[self._set_layout] * _SETS)
        allocated = vk.vkAllocateDescriptorSets(self.device.handle, allocate)
        self._sets += [vk.ffi.new("VkDescriptorSet *", one) for one in allocated]


class BoundPipeline:
    """A pipeline and the buffers it works on."""

    def __init__(self, pipeline: Pipeline, bindings: Sequence[Binding]) -> None:
        self._pipeline = pipeline
        self._set = pipeline.take_set()
        ranges = [(one.buffer.handle, one.offset, one.size) for one in bindings]
        vk.lib.vkUpdateDescriptorSetWithTemplate(
            pipeline.device.handle,
            self._set[0],
            pipeline.template,
            vk.ffi.new("VkDescriptorBufferInfo[]", ranges),
        )

    def record(self, commands: Any, groups: tuple[int, int, int]) -> None:
        """Writes a dispatch of that many thread groups into a command buffer."""
        lib, null, point = vk.lib, vk.ffi.NULL, vk.VK_PIPELINE_BIND_POINT_COMPUTE
        lib.vkCmdBindPipeline(commands, point, self._pipeline.handle)
        lib.vkCmdBindDescriptorSets(commands, point, self._pipeline.layout, 0, 1, self._set, 0, null)
        lib.vkCmdDispatch(commands, *groups)

    def __enter__(self) -> BoundPipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pipeline.give_set_back(self._set)
