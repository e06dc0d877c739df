"""The Vulkan device that the tests run on, and the low-level calls that they share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops.gpu import compiler, shader
from dmlops.gpu.plan import Plan, plan_of
from dmlops.gpu.variant import Variant, choose
from gather_cases import Case

GUARD = 4096  # bytes on either side of a tensor; a multiple of every offset alignment that Vulkan allows
UNTOUCHED = 0xC3


@pytest.fixture(scope="session")
def device() -> Any:
    """The device that DMLOPS_TEST_DEVICE names, else the first; the error for none says what to install."""
    from dmlops.gpu.device import Device

    return Device.open(os.environ.get("DMLOPS_TEST_DEVICE"))


def planned(case: Case) -> tuple[Plan, Variant]:
    movement = plan_of(dmlops.from_json(case.description))
    index_type = case.inputs["IndicesTensor"].dtype
    return movement, choose(movement, index_type.itemsize, index_type.kind == "i")


def run_guarded(device: Any, operator: str, variant: Variant, tensors: list[np.ndarray]) -> list[np.ndarray]:
    """Runs the shader with guard zones around each of the three tensors' bytes; all bytes afterwards.

    Nothing but the shader itself keeps it inside the window that a tensor has in its buffer.
    """
    from dmlops.gpu.resources import Binding

    code = compiler.compile(shader(operator), variant.defines)
    contents = [np.pad(t.view(np.uint8), GUARD, constant_values=UNTOUCHED) for t in tensors]
    buffers = [device.buffer(c.nbytes) for c in contents]
    parameters = device.buffer(len(variant.constants))
    for buffer, content in zip(buffers, contents, strict=True):
        device.upload(buffer, content.data)
    device.upload(parameters, variant.constants)
    windows = [Binding(b, GUARD, t.nbytes) for b, t in zip(buffers, tensors, strict=True)]
    with device.kernel(code, 3).bind([*windows, Binding(parameters, 0, parameters.size)]) as bound:
        device.submit(lambda commands: bound.record(commands, variant.groups))
    after = [np.frombuffer(device.download(buffer), np.uint8) for buffer in buffers]
    for buffer in (*buffers, parameters):
        buffer.close()
    return after
