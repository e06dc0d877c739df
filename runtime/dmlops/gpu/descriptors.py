"""Binding of buffers to dispatches: through descriptor buffers if VK_EXT_descriptor_buffer is available, else
through descriptor sets.

On an H200 a copy of 4096 floats with its barrier takes 1.7 microseconds with descriptor buffers in device
memory that the host can access, 2.0 in the host's own memory, and 2.1 with a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .pool import Pool
from .resources import Binding, Buffer
from .vulkan_api import device_function, vk

if TYPE_CHECKING:
    from .device import Device

EXTENSIONS = ("VK_EXT_descriptor_buffer", "VK_KHR_synchronization2")  # the first requires the second

_SETS = 16  # allocated together


class Run(NamedTuple):
    """Consecutive bindings of one type."""

    type: int
    first: int
    count: int  # type: ignore[assignment]  # shadows tuple.count


def descriptors(device: Device, runs: Sequence[Run]) -> Sets | InMemory:
    """The descriptors of these bindings."""
    return InMemory(device, device.descriptors, runs) if device.descriptors else Sets(device, runs)


def set_layout(device: Device, runs: Sequence[Run], flags: int) -> Any:
    bindings = [
        vk.VkDescriptorSetLayoutBinding(
            binding=number,
            descriptorType=run.type,
            descriptorCount=1,
            stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
        )
        for run in runs
        for number in range(run.first, run.first + run.count)
    ]
    create = vk.VkDescriptorSetLayoutCreateInfo(flags=flags, bindingCount=len(bindings), pBindings=bindings)
    return vk.vkCreateDescriptorSetLayout(device.handle, create, None)


class Sets:
    """Descriptor sets of one layout, which live as long as the device; those given back are reused."""

    pipeline_flags = 0

    def __init__(self, device: Device, runs: Sequence[Run]) -> None:
        self.layout = set_layout(device, runs, 0)
        self._device = device
        self._runs = runs
        self._template = self._update_template()
        self._unused: list[Any] = []  # pointers to sets

    def take(self, bindings: Sequence[Binding]) -> Any:
        """A pointer to a set for these buffers, for `record` and `give_back`."""
        if not self._unused:
            self._add()
        taken = self._unused.pop()
        ranges = [(one.buffer.handle, one.offset, one.size) for one in bindings]
        vk.lib.vkUpdateDescriptorSetWithTemplate(
            self._device.handle, taken[0], self._template, vk.ffi.new("VkDescriptorBufferInfo[]", ranges)
        )
        return taken

    def give_back(self, taken: Any) -> None:
        self._unused.append(taken)

    def record(self, commands: Any, layout: Any, taken: Any) -> None:
        """Makes the dispatches that follow use these buffers; `layout` is the pipeline's."""
        point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        vk.lib.vkCmdBindDescriptorSets(commands, point, layout, 0, 1, taken, 0, vk.ffi.NULL)

    def _update_template(self) -> Any:
        """A template that writes all descriptors of a set at once, from an array of
        VkDescriptorBufferInfo."""
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
            descriptorSetLayout=self.layout,
        )
        return vk.vkCreateDescriptorUpdateTemplate(self._device.handle, create, None)

    def _add(self) -> None:
        sizes = [
            vk.VkDescriptorPoolSize(type=run.type, descriptorCount=_SETS * run.count) for run in self._runs
        ]
        pool = vk.vkCreateDescriptorPool(
            self._device.handle, vk.VkDescriptorPoolCreateInfo(maxSets=_SETS, pPoolSizes=sizes), None
        )
        allocate = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[self.layout] * _SETS)
        allocated = vk.vkAllocateDescriptorSets(self._device.handle, allocate)
        self._unused += [vk.ffi.new("VkDescriptorSet *", one) for one in allocated]


class DescriptorMemory:
    """Memory for the descriptors of a device, and the functions that write and use them."""

    def __init__(self, device: Device, physical: Any) -> None:
        found = vk.VkPhysicalDeviceDescriptorBufferPropertiesEXT()
        properties = vk.VkPhysicalDeviceProperties2(pNext=found)
        vk.vkGetPhysicalDeviceProperties2(physical, vk.ffi.addressof(properties))
        self.sizes = {
            vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: found.storageBufferDescriptorSize,
            vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER: found.uniformBufferDescriptorSize,
        }
        shared = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        near = shared | vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        self.usage: int = vk.VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT
        self.pool = Pool(lambda size: Buffer(device, size, near, shared, usage=self.usage))
        self.size_of = device_function(device.handle, "vkGetDescriptorSetLayoutSizeEXT")
        self.place_of = device_function(device.handle, "vkGetDescriptorSetLayoutBindingOffsetEXT")
        self.first = vk.ffi.new("uint32_t *", 0)  # of the buffers that are bound
        self.get = device_function(device.handle, "vkGetDescriptorEXT")
        self.bind = device_function(device.handle, "vkCmdBindDescriptorBuffersEXT")
        self.set_offsets = device_function(device.handle, "vkCmdSetDescriptorBufferOffsetsEXT")


class Written(NamedTuple):
    """Descriptors in memory: the piece that holds them, and pointers to the binding info of its buffer and to
    its offset."""

    piece: Binding
    buffer: Any
    offset: Any


class InMemory:
    """Like `Sets`, with descriptors in memory."""

    def __init__(self, device: Device, memory: DescriptorMemory, runs: Sequence[Run]) -> None:
        self.pipeline_flags = vk.VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT
        self.layout = set_layout(device, runs, vk.VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT)
        self._device = device
        self._memory = memory
        found = vk.ffi.new("VkDeviceSize *")
        memory.size_of(device.handle, self.layout, found)
        self._size = found[0]
        self._places: list[tuple[int, int]] = []  # by binding: its type, and its descriptor's offset
        for run in runs:
            for number in range(run.first, run.first + run.count):
                memory.place_of(device.handle, self.layout, number, found)
                self._places.append((run.type, found[0]))

    def take(self, bindings: Sequence[Binding]) -> Written:
        """Writes descriptors for these buffers, for `record` and `give_back`."""
        ffi, memory = vk.ffi, self._memory
        piece = memory.pool.take(self._size)
        start = ffi.from_buffer(piece.buffer.mapped) + piece.offset
        described = ffi.new("VkDescriptorAddressInfoEXT *")
        described.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT
        wanted = ffi.new("VkDescriptorGetInfoEXT *")
        wanted.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT
        wanted.data.pStorageBuffer = described  # a union: a uniform buffer is described in the same way
        for (type_, at), one in zip(self._places, bindings, strict=True):
            described.address, described.range = one.buffer.address + one.offset, one.size
            wanted.type = type_
            memory.get(self._device.handle, wanted, memory.sizes[type_], start + at)
        bound = ffi.new("VkDescriptorBufferBindingInfoEXT *")
        bound.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT
        bound.address, bound.usage = piece.buffer.address, memory.usage
        return Written(piece, bound, ffi.new("VkDeviceSize *", piece.offset))

    def give_back(self, taken: Written) -> None:
        self._memory.pool.give_back(taken.piece)

    def record(self, commands: Any, layout: Any, taken: Written) -> None:
        """Makes the dispatches that follow use these buffers; `layout` is the pipeline's."""
        point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        self._memory.bind(commands, 1, taken.buffer)
        self._memory.set_offsets(commands, point, layout, 0, 1, self._memory.first, taken.offset)
