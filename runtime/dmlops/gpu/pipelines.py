"""Compute pipelines, and pipelines with their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .compiler import optional_features
from .descriptors import Run, descriptors
from .plans.operands import WAVE
from .resources import Binding
from .vulkan_api import vk

if TYPE_CHECKING:
    from .device import Device

# VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, which the bindings lack
_FULL_SUBGROUPS = 2


class Pipeline:
    """The pipeline of one SPIR-V compute shader with entry point CSMain.

    Its bindings are storage buffers from 0 on, followed by one uniform buffer.
    """

    def __init__(self, device: Device, code: bytes, storage_buffers: int) -> None:
        runs = [
            Run(vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0, storage_buffers),
            Run(vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, storage_buffers, 1),
        ]
        self.descriptors = descriptors(device, [run for run in runs if run.count > 0])
        self.layout = vk.vkCreatePipelineLayout(
            device.handle,
            vk.VkPipelineLayoutCreateInfo(setLayoutCount=1, pSetLayouts=[self.descriptors.layout]),
            None,
        )
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
            flags=self.descriptors.pipeline_flags,
            stage=stage,
            layout=self.layout,
            basePipelineIndex=-1,
        )
        try:
            self.handle = vk.vkCreateComputePipelines(device.handle, None, 1, [create], None)[0]
        finally:
            vk.vkDestroyShaderModule(device.handle, module, None)

    def bind(self, bindings: Sequence[Binding]) -> BoundPipeline:
        """The pipeline with its buffers, ready to be recorded any number of times."""
        return BoundPipeline(self, bindings)


class BoundPipeline:
    """A pipeline and the buffers it works on."""

    def __init__(self, pipeline: Pipeline, bindings: Sequence[Binding]) -> None:
        self._pipeline = pipeline
        self._buffers = pipeline.descriptors.take(bindings)

    def record(self, commands: Any, groups: tuple[int, int, int]) -> None:
        """Records a dispatch of that many thread groups."""
        pipeline = self._pipeline
        vk.lib.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle)
        pipeline.descriptors.record(commands, pipeline.layout, self._buffers)
        vk.lib.vkCmdDispatch(commands, *groups)

    def __enter__(self) -> BoundPipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pipeline.descriptors.give_back(self._buffers)
