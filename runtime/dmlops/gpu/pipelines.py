"""Compute pipelines, and pipelines with their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import finalize

from .compiler import optional_features
from .descriptors import Run, descriptors
from .plans.operands import WAVE
from .resources import Binding
from .vulkan_api import vk

if TYPE_CHECKING:
    from .device import Device

# VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, which the bindings lack
_FULL_SUBGROUPS = 2


class Interface:
    """The bindings of shaders with that many storage buffers, which come first, before one uniform buffer
    and the device's flag for loops that end early, if it has one."""

    def __init__(self, device: Device, storage_buffers: int) -> None:
        runs = [
            Run(vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, storage_buffers),
            Run(vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, storage_buffers, 1),
            Run(vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, storage_buffers + 1, len(device.loop_flags)),
        ]
        self.loop_flags = device.loop_flags
        self.descriptors = descriptors(device, [run for run in runs if run.count > 0])
        self.layout = vk.vkCreatePipelineLayout(
            device.handle,
            vk.VkPipelineLayoutCreateInfo(setLayoutCount=1, pSetLayouts=[self.descriptors.layout]),
            None,
        )


class Pipeline:
    """The pipeline of one SPIR-V compute shader with entry point CSMain. It lives until neither the device's
    cache nor a bound pipeline refers to it."""

    def __init__(self, device: Device, code: bytes, storage_buffers: int) -> None:
        self.code = code
        self.interface = device.interface(storage_buffers)
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
        create = vk.VkComputePipelineCreateInfo(
            pNext=device.robustness,
            flags=self.interface.descriptors.pipeline_flags,
            stage=stage,
            layout=self.interface.layout,
            basePipelineIndex=-1,
        )
        try:
            self.handle = vk.vkCreateComputePipelines(device.handle, None, 1, [create], None)[0]
        finally:
            vk.vkDestroyShaderModule(device.handle, module, None)
        finalize(self, _destroy, device, self.handle).atexit = False

    def bind(self, bindings: Sequence[Binding]) -> BoundPipeline:
        """The pipeline with its buffers, ready to be recorded any number of times."""
        return BoundPipeline(self, [*bindings, *self.interface.loop_flags])


def _destroy(device: Device, pipeline: Any) -> None:
    if device.is_usable():  # a fork has copies of objects that are its parent's
        device.settle()
        vk.vkDestroyPipeline(device.handle, pipeline, None)


class BoundPipeline:
    """A pipeline and the buffers it works on."""

    def __init__(self, pipeline: Pipeline, bindings: Sequence[Binding]) -> None:
        self._pipeline = pipeline
        self._buffers = pipeline.interface.descriptors.take(bindings)

    def record(self, commands: Any, groups: tuple[int, int, int]) -> None:
        """Records a dispatch of that many thread groups."""
        interface = self._pipeline.interface
        vk.lib.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self._pipeline.handle)
        interface.descriptors.record(commands, interface.layout, self._buffers)
        vk.lib.vkCmdDispatch(commands, *groups)

    def __enter__(self) -> BoundPipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pipeline.interface.descriptors.give_back(self._buffers)
