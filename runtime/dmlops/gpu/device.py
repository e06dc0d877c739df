"""A Vulkan device for compute shaders: selection, its queue, its memory, and the buffers it keeps.

Everything that needs Vulkan raises GpuUnavailable if it is missing.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from itertools import accumulate
from threading import RLock
from time import perf_counter
from typing import Any

from ..safe_text import shown
from ..value import plain
from .call import Call
from .commands import copy, write
from .descriptors import DescriptorMemory
from .detection import detected
from .errors import GpuUnavailable, Unsupported
from .pipelines import Interface, Pipeline
from .programs import Program, Programs
from .resources import Binding, Buffer, Bytes
from .vulkan_api import check, vk

MOST_RECORDED = 256  # dispatches in calls that are cached
MOST_PIPELINES = 256  # cached, beside those in use; Mesa's take half a megabyte to six on the CPU
AWAKE = 1e-3  # seconds to spin; an H200 runs an empty dispatch in 14 us, and a sleeper wakes after 40 to 50
ENDED_EARLY = "ends all loops of a thread after 65,535 iterations, too few here; use a GPU, or reference.run"
INSTALL_DRIVER = "install a driver (Debian: apt-get install mesa-vulkan-drivers has one for the CPU)"


class Device:
    """A logical device with one compute queue; threads that call `run` take turns.

    It lives as long as the process, and so do the buffers that `run` reuses. Buffer accesses are not
    bounds-checked: shaders stay within their tensors by themselves.
    """

    def __init__(self, physical: Any) -> None:
        properties = vk.vkGetPhysicalDeviceProperties(physical)
        self.name: str = properties.deviceName
        self.type: int = properties.deviceType  # VK_PHYSICAL_DEVICE_TYPE_...
        self.limits: Any = properties.limits
        self._properties = properties  # owns the memory of limits
        self._memory = vk.vkGetPhysicalDeviceMemoryProperties(physical)
        self.lock = RLock()  # held while commands are recorded and run
        self._process = os.getpid()
        self.interface = cache(partial(Interface, self))
        self.pipeline = lru_cache(MOST_PIPELINES)(partial(Pipeline, self))
        self._buffers: dict[str, Buffer] = {}
        self._calls: dict[tuple[Program, tuple[tuple[str, str], ...]], Call] = {}
        self._recorded = 0  # dispatches of these
        self.programs = Programs()

        found = detected(_instance(), physical, self.name)
        self.optional_features, self.capabilities = found.optional, found.capabilities
        self.robustness = found.robustness
        family = _compute_family(physical, self.name)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=family, queueCount=1, pQueuePriorities=[1.0])
        self.handle = vk.vkCreateDevice(
            physical,
            vk.VkDeviceCreateInfo(
                pNext=found.features,
                pQueueCreateInfos=[queue],
                queueCreateInfoCount=1,
                ppEnabledExtensionNames=found.extensions,
                enabledExtensionCount=len(found.extensions),
            ),
            None,
        )
        self.descriptors = DescriptorMemory(self, physical) if found.has_descriptor_memory else None
        self._queue = vk.vkGetDeviceQueue(self.handle, family, 0)
        self._command_pool = vk.vkCreateCommandPool(
            self.handle,
            vk.VkCommandPoolCreateInfo(
                flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, queueFamilyIndex=family
            ),
            None,
        )
        self._commands = self._command_buffer()
        self._is_pending = False  # whether commands may still run
        self._done = vk.ffi.new("VkFence *", vk.vkCreateFence(self.handle, vk.VkFenceCreateInfo(), None))
        self.loop_flags: tuple[Binding, ...] = ()  # where shaders say that loops ended early, if they may
        if self.type == vk.VK_PHYSICAL_DEVICE_TYPE_CPU:
            shared = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
            flag = self.buffer(4, shared)
            flag.mapped[:4] = bytes(4)
            self.loop_flags = (Binding(flag, 0, 4),)

    @classmethod
    def open(cls, selector: Device | str | int | None = None) -> Device:
        """The device with this index, or the first whose name contains this text; else the fastest kind.

        Each device is opened only once, and a Device selects itself. Raises GpuUnavailable if there is none
        or it lacks a feature, and TypeError for a selector of another type.
        """
        if isinstance(selector, Device):
            return selector
        wanted = plain(selector)
        if wanted is not None and type(wanted) not in (int, str):
            raise TypeError(
                f"a device is chosen by its index or a part of its name, not by {shown(selector)}"
            )
        with _opening:
            found = _physical_devices()
            if type(wanted) is int:
                chosen = found[wanted : wanted + 1] if wanted >= 0 else []
            else:
                chosen = [entry for entry in found if (wanted or "").lower() in entry[0].lower()]
            if not chosen:
                names = ", ".join(name for name, _ in found)
                raise GpuUnavailable(f"No Vulkan device {shown(selector)}; there are: {names}.")
            return _opened(found.index(chosen[0]))

    def is_usable(self) -> bool:
        """Whether this is the process that opened the device; a fork of it cannot use it."""
        return os.getpid() == self._process

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Exclusive use of the device. Raises GpuUnavailable in a fork of the process that opened the device,
        and in place of Vulkan's errors."""
        if not self.is_usable():  # comes first, since a fork may inherit a lock that is held for ever
            raise GpuUnavailable(
                f"{self.name} was opened before this process was forked; open it again with Device.open."
            )
        with self.lock:
            try:
                yield
            except vk.VkError as error:
                is_lost = isinstance(error, vk.VkErrorDeviceLost)
                advice = " This process cannot use it any more: start a new one." if is_lost else ""
                raise GpuUnavailable(f"{self.name} failed: {type(error).__name__}.{advice}") from error

    def check_sizes(self, sizes: Iterable[int]) -> None:
        """Raises Unsupported if a buffer of that many bytes is larger than shaders can address on this
        device."""
        largest, reach = max(sizes, default=0), self.limits.maxStorageBufferRange
        if largest > reach:
            raise Unsupported(f"a buffer takes {largest} bytes; shaders on {self.name} reach {reach}")

    def buffer(self, size: int, *memory: int) -> Buffer:
        """A new buffer of `size` bytes, in device-local memory or, as for `Buffer`, in other `memory`."""
        return Buffer(self, size, *(memory or (vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,)))

    def memory_type(self, allowed: int, *wishes: int) -> int:
        """The first memory type of the bit mask `allowed` that has the flags of the first feasible wish."""
        for wish in wishes:
            for index in range(self._memory.memoryTypeCount):
                if allowed >> index & 1 and self._memory.memoryTypes[index].propertyFlags & wish == wish:
                    return index
        raise GpuUnavailable(f"{self.name} has no memory of the kind that a compute shader needs.")

    def run(
        self, program: Program, contents: Mapping[str, Bytes], shared: Mapping[str, str]
    ) -> dict[str, bytearray]:
        """Runs a program on the contents of its inputs, and returns those of its outputs, both by name.

        `shared` maps outputs to the inputs whose buffers they share.
        """
        with self.turn():
            key = program, tuple(shared.items())
            call = self._calls.pop(key, None)
            if call is None:
                call = Call(self, program, shared)
                self._recorded += len(program.compiled)
            self._calls[key] = call  # the most recent comes last
            try:
                return call.run(contents)
            finally:
                self._forget_calls(MOST_RECORDED)

    def _forget_calls(self, most: int) -> None:
        """Evicts the least recently used calls, until no more than `most` dispatches are recorded."""
        while self._recorded > most:
            program, shared = next(iter(self._calls))
            self._calls.pop((program, shared)).close()
            self._recorded -= len(program.compiled)

    def upload(self, buffer: Buffer, data: Bytes, offset: int = 0) -> None:
        """Writes `data` to a buffer at `offset`."""
        with self.lock:
            staging = self.staging("upload", len(data))
            staging.mapped[: len(data)] = data
            self.submit(lambda commands: copy(commands, staging, buffer, len(data), 0, offset))

    def download(self, buffer: Buffer, size: int | None = None, offset: int = 0) -> bytearray:
        """`size` bytes of a buffer from `offset` on; all the rest by default."""
        length = buffer.size - offset if size is None else size
        with self.lock:
            staging = self.staging("download", length)
            self.submit(lambda commands: copy(commands, buffer, staging, length, offset))
            return bytearray(memoryview(staging.mapped)[:length])

    def submit(self, record: Callable[[Any], None]) -> None:
        """Runs the commands that `record` records, and waits until the host can see their results."""
        with self.lock:
            write(self._commands, record, vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
            self.start(self._commands)

    def record(self, record: Callable[[Any], None]) -> Any:
        """A command buffer of what `record` records, to `start` any number of times and then to `forget`."""
        with self.lock:
            commands = self._command_buffer()
            write(commands, record)
            return commands

    def start(self, commands: Any) -> None:
        """Runs a command buffer, and waits until the host can see its results."""
        with self.lock:
            buffers = vk.ffi.new("VkCommandBuffer *", commands)
            submission = vk.ffi.new("VkSubmitInfo *")
            submission.sType = vk.VK_STRUCTURE_TYPE_SUBMIT_INFO
            submission.commandBufferCount, submission.pCommandBuffers = 1, buffers
            self.settle()
            self._is_pending = True
            try:
                check(vk.lib.vkQueueSubmit(self._queue, 1, submission, self._done[0]))
                latest = perf_counter() + AWAKE
                while self._is_running() and perf_counter() < latest:
                    pass
            finally:
                self.settle()
            for flag in self.loop_flags:
                if any(flag.buffer.mapped[:4]):
                    flag.buffer.mapped[:4] = bytes(4)
                    raise Unsupported(f"{self.name} {ENDED_EARLY}")

    def settle(self) -> None:
        """Waits for the commands that were submitted, if any: also those that an interrupted call left, whose
        memory must not be freed before."""
        if self._is_pending:
            with self.lock:
                result = vk.lib.vkQueueWaitIdle(self._queue) if self._is_running() else 0
                self._is_pending = False
                check(result)
                check(vk.lib.vkResetFences(self.handle, 1, self._done))

    def _is_running(self) -> bool:
        return bool(vk.lib.vkGetFenceStatus(self.handle, self._done[0]) == vk.VK_NOT_READY)

    def forget(self, commands: Any) -> None:
        """Frees a command buffer."""
        with self.lock:
            self.settle()
            vk.vkFreeCommandBuffers(self.handle, self._command_pool, 1, [commands])

    def _command_buffer(self) -> Any:
        allocate = vk.VkCommandBufferAllocateInfo(
            commandPool=self._command_pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        return vk.vkAllocateCommandBuffers(self.handle, allocate)[0]

    @property
    def alignment(self) -> int:
        """Bytes of which the offset of any piece of a buffer must be a multiple; shaders load up to 16."""
        limits = self.limits
        return int(max(limits.minStorageBufferOffsetAlignment, limits.minUniformBufferOffsetAlignment, 16))

    @property
    def memory_size(self) -> int:
        """The bytes of the heap that buffers in device-local memory come from."""
        every = (1 << self._memory.memoryTypeCount) - 1
        kind = self.memory_type(every, vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        heap = self._memory.memoryHeaps[self._memory.memoryTypes[kind].heapIndex]
        return int(heap.size)

    def layout(self, lengths: Sequence[int]) -> list[int]:
        """The offset of each piece in a buffer that holds all of them, followed by that of a next one."""
        step = max(self.limits.minStorageBufferOffsetAlignment, self.limits.minUniformBufferOffsetAlignment)
        return list(accumulate((-(-length // step) * step for length in lengths), initial=0))

    def staging(self, use: str, size: int) -> Buffer:
        shared = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        return self.reused(use, size, shared | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT, shared)

    def reused(self, use: str, size: int, *memory: int) -> Buffer:
        """The buffer that serves this purpose in every call, at least `size` bytes large.

        `memory` is as for `buffer`.
        """
        kept = self._buffers.get(use)
        if kept is not None and kept.size >= size:
            return kept
        if kept is not None:
            self._forget_calls(0)
            del self._buffers[use]
            kept.close()
        self._buffers[use] = self.buffer(size, *memory)
        return self._buffers[use]


def names() -> list[str]:
    """The names of all Vulkan devices in the order of their indices: the fastest kind first."""
    with _opening:
        return [name for name, _ in _physical_devices()]


# Held while the caches below are filled, since `cache` lets several threads compute the same entry.
_opening = RLock()


# Whether this process was forked from one that had used Vulkan.
_inherited = False


def _restart() -> None:
    """After a fork the parent's instance and devices no longer work, and its lock may stay held for ever."""
    global _opening, _inherited
    _opening = RLock()
    _inherited |= _instance.cache_info().currsize > 0
    if _inherited:
        _skip_exit_handlers()
    for made in (_instance, _physical_devices, _opened):
        made.cache_clear()


@cache
def _instance() -> Any:
    application = vk.VkApplicationInfo(pApplicationName="dmlops", apiVersion=vk.VK_MAKE_VERSION(1, 2, 0))
    return vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)


@cache
def _physical_devices() -> list[tuple[str, Any]]:
    kinds = (
        vk.VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
        vk.VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
        vk.VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
        vk.VK_PHYSICAL_DEVICE_TYPE_CPU,
        vk.VK_PHYSICAL_DEVICE_TYPE_OTHER,
    )
    try:
        listed = vk.vkEnumeratePhysicalDevices(_instance())
    except vk.VkError as error:
        raise GpuUnavailable(f"Vulkan has no usable driver: {INSTALL_DRIVER}.") from error
    found = []
    for physical in listed:
        properties = vk.vkGetPhysicalDeviceProperties(physical)
        if properties.apiVersion >= vk.VK_MAKE_VERSION(1, 2, 0):
            found.append((kinds.index(properties.deviceType), properties.deviceName, physical))
    if not found:
        raise GpuUnavailable(f"No device for Vulkan 1.2 or later: {INSTALL_DRIVER}.")
    return [(name, physical) for _, name, physical in sorted(found, key=lambda entry: entry[0])]


@cache
def _opened(index: int) -> Device:
    name, physical = _physical_devices()[index]
    try:
        return Device(physical)
    except vk.VkError as error:
        forked = (
            " Some drivers do not work in a process forked from one that has used them: start processes by "
            '"spawn" in place of "fork" (multiprocessing.set_start_method).'
        )
        reason = type(error).__name__
        raise GpuUnavailable(f"{name} cannot be opened: {reason}.{forked if _inherited else ''}") from error
    finally:
        if _inherited:
            _skip_exit_handlers()


def _skip_exit_handlers() -> None:
    """Makes this process end without the exit handlers that C libraries have registered so far, but after all
    that Python does at exit.

    After a fork, Mesa's handlers wait for ever for the threads of its devices, including those that only the
    parent has; NVIDIA's crash, and then the parent does not end. Handlers run last in, first out: these flush
    C's streams, then end the process.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc only; others keep their handlers
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fflush, None, None)


def _compute_family(physical: Any, name: str) -> int:
    """A queue family for compute, preferably without graphics, on which work ends sooner on an H200."""
    flags = [family.queueFlags for family in vk.vkGetPhysicalDeviceQueueFamilyProperties(physical)]
    able = [index for index, found in enumerate(flags) if found & vk.VK_QUEUE_COMPUTE_BIT]
    if not able:
        raise GpuUnavailable(f"{name} has no queue for compute shaders: use another device.")
    return min(able, key=lambda index: flags[index] & vk.VK_QUEUE_GRAPHICS_BIT)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)
