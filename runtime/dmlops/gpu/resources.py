"""Buffers on a device, and the parts of them that shaders see."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import Unsupported
from .vulkan_api import vk

if TYPE_CHECKING:
    from .device import Device

Bytes = bytes | bytearray | memoryview

# VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, which the bindings lack
_USED_BY_ADDRESS, _ALLOCATED_BY_ADDRESS = 0x20000, 2


class Buffer:
    """Memory for shaders and copies; `mapped` if the host can access it.

    Its `address` on the device is 0 if descriptors do not need one.
    """

    def __init__(self, device: Device, size: int, *memory: int, usage: int = 0) -> None:
        """`memory`: property flags in order of preference, of which the first that the device has are
        used."""
        self.size = size
        self.address = 0
        self.mapped: Any = None
        by_address = device.descriptors is not None
        usage |= (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
            | (_USED_BY_ADDRESS if by_address else 0)
        )
        with ExitStack() as resources:
            try:
                self.handle = vk.vkCreateBuffer(
                    device.handle, vk.VkBufferCreateInfo(size=size, usage=usage), None
                )
                resources.callback(vk.vkDestroyBuffer, device.handle, self.handle, None)
                needs = vk.vkGetBufferMemoryRequirements(device.handle, self.handle)
                kind = device.memory_type(needs.memoryTypeBits, *memory)
                # Drivers use large pages for dedicated memory, which makes random reads up to 2.5 times as
                # fast.
                dedicated = vk.VkMemoryDedicatedAllocateInfo(buffer=self.handle)
                flags = vk.VkMemoryAllocateFlagsInfo(flags=_ALLOCATED_BY_ADDRESS, pNext=dedicated)
                allocate = vk.VkMemoryAllocateInfo(
                    pNext=flags if by_address else dedicated, allocationSize=needs.size, memoryTypeIndex=kind
                )
                allocation = vk.vkAllocateMemory(device.handle, allocate, None)
                resources.callback(vk.vkFreeMemory, device.handle, allocation, None)
                vk.vkBindBufferMemory(device.handle, self.handle, allocation, 0)
                if memory[-1] & vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
                    self.mapped = vk.vkMapMemory(device.handle, allocation, 0, size, 0)
            except (
                vk.VkErrorOutOfDeviceMemory,
                vk.VkErrorOutOfHostMemory,
                vk.VkErrorMemoryMapFailed,
                vk.VkErrorTooManyObjects,  # the number of allocations is limited
            ) as error:
                raise Unsupported(f"{device.name} has no memory left for {size} bytes") from error
            if by_address:
                asked = vk.VkBufferDeviceAddressInfo(buffer=self.handle)
                self.address = vk.lib.vkGetBufferDeviceAddress(device.handle, vk.ffi.addressof(asked))
            self._device, self._resources = device, resources.pop_all()

    def close(self) -> None:
        self._device.settle()
        self._resources.close()


class Binding(NamedTuple):
    """`size` bytes of a buffer from `offset` on: a buffer to the shader."""

    buffer: Buffer
    offset: int
    size: int

    def first(self, size: int) -> Binding:
        """Its first `size` bytes."""
        return Binding(self.buffer, self.offset, size)
