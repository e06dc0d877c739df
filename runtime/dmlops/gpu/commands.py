"""Commands of a command buffer: copies, clears, and the barriers between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .resources import Binding, Buffer
from .vulkan_api import check, vk


def write(commands: Any, record: Callable[[Any], None], usage: int = 0) -> None:
    """Records a command buffer from scratch."""
    check(vk.lib.vkBeginCommandBuffer(commands, _begin(usage)))
    record(commands)
    _last_barrier(commands)
    check(vk.lib.vkEndCommandBuffer(commands))


@cache
def _begin(usage: int) -> Any:
    return vk.ffi.new("VkCommandBufferBeginInfo *", vk.VkCommandBufferBeginInfo(flags=usage))


def copy(
    commands: Any, source: Buffer, target: Buffer, size: int, source_offset: int = 0, target_offset: int = 0
) -> None:
    """Records a copy of `size` bytes."""
    region = vk.ffi.new("VkBufferCopy *", (source_offset, target_offset, size))
    vk.lib.vkCmdCopyBuffer(commands, source.handle, target.handle, 1, region)


def clear(commands: Any, place: Binding) -> None:
    """Records that bytes are set to zero; their number is a multiple of 4."""
    vk.lib.vkCmdFillBuffer(commands, place.buffer.handle, place.offset, place.size, 0)


def barrier(commands: Any, also_reads: int = 0) -> None:
    """Records that later dispatches and copies wait for and see what earlier ones wrote.

    `also_reads` are further kinds of access that see it. Every kind that is not needed costs time on some
    drivers: on an H200 a dispatch and its barrier take 1.7 microseconds, with MEMORY_READ and MEMORY_WRITE in
    place of the four kinds here 4.2. Fewer kinds or stages than these gain nothing there.
    """
    stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
    writes = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
    reads = vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
    _wait(commands, stages, writes, stages, reads | writes | also_reads)


def _last_barrier(commands: Any) -> None:
    """Records that the host and later submissions see everything that was written."""
    everything = vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT | vk.VK_ACCESS_HOST_READ_BIT
    device, host = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.VK_PIPELINE_STAGE_HOST_BIT
    _wait(commands, device, vk.VK_ACCESS_MEMORY_WRITE_BIT, device | host, everything)


def _wait(commands: Any, earlier: int, written: int, later: int, seen: int) -> None:
    """A barrier from the stages `earlier` to the stages `later`, and the accesses that it orders."""
    null = vk.ffi.NULL
    vk.lib.vkCmdPipelineBarrier(commands, earlier, later, 0, 1, _memory(written, seen), 0, null, 0, null)


@cache
def _memory(written: int, seen: int) -> Any:
    """A pointer to the struct."""
    return vk.ffi.new("VkMemoryBarrier *", vk.VkMemoryBarrier(srcAccessMask=written, dstAccessMask=seen))
