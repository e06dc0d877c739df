"""The Vulkan device that the tests run on, and the low-level calls that they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler, shader
from dmlops.gpu.memory import array_of, buffer_size
from dmlops.gpu.work import Work, tensor_names

GUARD = 4096  # bytes on either side of a tensor; a multiple of every offset alignment that Vulkan allows
UNTOUCHED = 0xC3
PIPELINES = 32  # cached; few serve more than one test, and those of the largest shaders take 6 MB each
WITH_LOOP_TEST = compiler.with_loop_test
ABOVE_FLUSHED = float(np.finfo(np.float32).tiny) * 2**26  # subnormals, and what leads to them


@cache
def opened() -> Any:
    """The device that DMLOPS_TEST_DEVICE names, else the first; the error for none says what to install.

    Its shaders are those that other devices run: without the test of loops for drivers on the CPU, which
    would have each of them compiled twice. A loop that ends early gives another result than is expected.
    """
    from dmlops.gpu import device as devices

    devices.MOST_PIPELINES = PIPELINES
    compiler.with_loop_test = lambda source, storage_buffers: source
    return devices.Device.open(os.environ.get("DMLOPS_TEST_DEVICE"))


@pytest.fixture
def device() -> Any:
    """The device; it remembers no plan of another test, which may have been made with other numbers."""
    from dmlops.gpu.programs import Programs

    found = opened()
    found.programs = Programs()
    return found


def is_software(device: Any) -> bool:
    """Whether the device is a driver that runs on the CPU."""
    from dmlops.gpu.vulkan_api import vk

    return bool(device.type == vk.VK_PHYSICAL_DEVICE_TYPE_CPU)


@cache
def flushes(device: Any) -> bool:
    """Whether the device takes subnormal numbers in single precision for zeros, as D3D12 has it and Vulkan
    lets it."""
    tiny = np.array([np.finfo(np.float32).tiny])
    of = dmlops.TensorDesc("FLOAT32", (1,))
    desc = dmlops.ElementWiseAdd(ATensor=of, BTensor=of, OutputTensor=of)
    found = gpu.run(desc, {"ATensor": tiny, "BTensor": tiny * np.float32(-0.75)}, device)["OutputTensor"]
    return bool(found[0] != tiny[0] / 4)


@cache
def quotient_error(device: Any) -> float:
    """The error allowed for quotients in single precision, in units in the last place: none beyond rounding
    on a device that shows none, else what Vulkan allows."""
    dividends, divisors = np.random.default_rng(1).uniform(1, 2, (2, 4096)).astype(np.float32)
    of = dmlops.TensorDesc.of(dividends)
    desc = dmlops.ElementWiseDivide(ATensor=of, BTensor=of, OutputTensor=of)
    found = gpu.run(desc, {"ATensor": dividends, "BTensor": divisors}, device)["OutputTensor"]
    return 0.0 if np.array_equal(found, dividends / divisors) else 2.5


def flushed(numbers: np.ndarray) -> np.ndarray:
    """With zeros in place of what is subnormal in single precision."""
    return np.where(np.abs(numbers) < np.finfo(np.float32).tiny, np.copysign(0, numbers), numbers)


def alternatives(device: Any, oracle: Callable[..., Any], *arrays: np.ndarray) -> list[Any]:
    """What a device may make of arrays: what the oracle does, and where it flushes also that of any of them
    flushed, and each of these flushed."""
    if not flushes(device):
        return [oracle(*arrays)]
    found = [oracle(*given) for given in product(*((array, flushed(array)) for array in arrays))]
    return [*found, *map(flushed, found)]


def smallest_compared(device: Any, dtype: Any) -> float:
    """0; or, where the device flushes numbers of this type, a size well above what it flushes, as functions
    have smaller numbers on the way."""
    return ABOVE_FLUSHED if dtype == np.float32 and flushes(device) else 0.0


def dispatch_guarded(
    device: Any,
    operator: str,
    work: Work,
    contents: Mapping[str, np.ndarray],
    text_of: Callable[[str], str] = shader,
) -> dict[str, np.ndarray]:
    """Runs an operator's work with guard zones around the bytes of each buffer; all bytes afterwards.

    Nothing but the shader itself keeps it inside the window that a tensor has in its buffer.
    """
    from dmlops.gpu.resources import Binding

    scratch = {name: np.full(size, fill_of(name, work), np.uint8) for name, size in work.scratch.items()}
    padded = {
        name: np.pad(content, GUARD, constant_values=UNTOUCHED)
        for name, content in {**contents, **scratch}.items()
    }
    buffers = {name: device.buffer(content.nbytes) for name, content in padded.items()}
    for name, content in padded.items():
        device.upload(buffers[name], content.data)
    windows = {
        name: Binding(buffer, GUARD, padded[name].nbytes - 2 * GUARD) for name, buffer in buffers.items()
    }
    for dispatch in work.dispatches:
        code = compiler.compile(text_of(dispatch.shader or operator), dispatch.defines)
        parameters = device.buffer(len(dispatch.constants))
        device.upload(parameters, dispatch.constants)
        bindings = [windows[name] for name in dispatch.buffers]
        pipeline = device.pipeline(code, len(bindings))
        with pipeline.bind([*bindings, Binding(parameters, 0, parameters.size)]) as bound:
            device.submit(
                lambda commands, bound=bound, groups=(*dispatch.groups, 1): bound.record(commands, groups)
            )
        parameters.close()
    after = {name: np.frombuffer(device.download(buffer), np.uint8) for name, buffer in buffers.items()}
    for buffer in buffers.values():
        buffer.close()
    for name in scratch:
        check_guards(name, after.pop(name))
    return after


def check_guards(name: str, content: np.ndarray) -> None:
    """Nothing was written before or after the window."""
    outside = np.concatenate([content[:GUARD], content[-GUARD:]])
    assert (outside == UNTOUCHED).all(), f"bytes around {name} were written"


def run_in_guard_zones(
    device: Any,
    desc: Any,
    inputs: Mapping[str, Any],
    work: Work | None = None,
    text_of: Callable[[str], str] = shader,
) -> dict[str, Any]:
    """The outputs of gpu.run, every buffer between guard zones; bytes that belong to no element stay, too.

    Another plan than the device's may be given, and shaders of another text.
    """
    work = work or gpu.plan(desc, device.capabilities)
    contents = {name: np.frombuffer(data, np.uint8) for name, data in gpu.input_bytes(desc, inputs)}
    outputs = dict(tensor_names(desc, "output"))
    for name, tensor in outputs.items():
        contents[name] = np.full(buffer_size(tensor), fill_of(name, work), np.uint8)
    after = dispatch_guarded(device, desc.OPERATOR, work, contents, text_of)
    results: dict[str, Any] = {}
    for name, content in after.items():
        check_guards(name, content)
        window = content[GUARD:-GUARD]
        if name in outputs:
            results[name] = array_in(name, outputs[name], window, fill_of(name, work))
        else:
            assert (window == contents[name]).all(), f"{name}, an input, was written"
    return results


def fill_of(name: str, work: Work) -> int:
    """The bytes of an output or a scratch buffer before work."""
    return 0 if name in work.zero_initialize else UNTOUCHED


def array_in(name: str, tensor: dmlops.TensorDesc, window: np.ndarray, fill: int) -> np.ndarray:
    """The array in an output's buffer, whose other bytes are as before."""
    if tensor.DataType.bits >= 8:
        gaps = np.ones(window.size, bool)
        size = tensor.DataType.numpy.itemsize
        grid = np.ix_(*map(range, tensor.Sizes))
        at = sum(index * stride for index, stride in zip(grid, tensor.element_strides, strict=True))
        gaps.reshape(-1, size)[np.asarray(at).ravel()] = False
        assert (window[gaps] == fill).all(), f"bytes between the elements of {name} were written"
    return array_of(tensor, bytearray(window))
