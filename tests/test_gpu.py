"""Gathers on a Vulkan device against NumPy, bit for bit."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler
from dmlops.gpu.plans import loops
from dmlops.gpu.programs import MOST_DISPATCHES, Program, Programs
from dmlops.gpu.work import Dispatch, Work
from dmlops.planners import computation
from gather_cases import (
    ELEMENT_TYPES,
    INDEX_TYPES,
    OPERATORS,
    Case,
    elements_in,
    gather,
    gather_elements,
    gather_nd,
    padded,
    permuted,
    random_bits,
    random_case,
    random_indices,
)
from gpu_device import GUARD, UNTOUCHED, device, is_software, planned, run_guarded

__all__ = ["device"]


def check(case: Case, device: Any) -> None:
    for array in case.inputs.values():
        array.flags.writeable = False
    desc = dmlops.from_json(case.description)
    outputs = gpu.run(desc, case.inputs, device)
    assert list(outputs) == ["OutputTensor"]
    output = outputs["OutputTensor"]
    assert (output.dtype, output.shape) == (case.expected.dtype, case.expected.shape)
    assert output.tobytes() == case.expected.tobytes()


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_every_data_type(device: Any, element_type: str, index_type: str) -> None:
    rng = np.random.default_rng(0)
    values = random_bits(rng, (5, 48), element_type)
    check(gather_elements(values, random_indices(rng, (5, 24), index_type, 48), 1), device)
    check(gather(values, random_indices(rng, (1, 7), index_type, 5), 0, 1), device)  # rows, copied whole
    odd = random_bits(rng, (5, 9), element_type)
    check(gather_elements(odd, random_indices(rng, (5, 9), index_type, 5), 0), device)


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank(device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    sizes = [2, 3, 2, 1, 2, 3, 2, 4][-rank:]
    gaps = padded(sizes, 1)
    values, indices = random_bits(rng, sizes, "float32"), random_indices(rng, sizes, "int32", 3)
    for axis in range(rank):
        case = gather_elements(values, indices, axis, {"InputTensor": gaps, "OutputTensor": gaps})
        check(case, device)
    assert planned(case).defines["RANK"] == sum(
        size > 1 for size in sizes
    )  # gaps keep dimensions from merging


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_descriptions(device: Any, operator: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # small tensors have strips, too
        monkeypatch.setattr("dmlops.gpu.plans.gather.STRIP_BYTES", 16)
    check(random_case(operator, seed), device)


@pytest.mark.parametrize("element_type", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 255, 256, 257, 1023, 4100])
def test_lengths_that_fill_no_vector_or_group(device: Any, length: int, element_type: str) -> None:
    rng = np.random.default_rng(length)
    values = random_bits(rng, (length,), element_type)
    check(gather_elements(values, random_indices(rng, (length,), "int32", length), 0), device)


@pytest.mark.parametrize("element_type", ["uint8", "int16", "int32", "int64"])
def test_broadcast_inputs(device: Any, element_type: str) -> None:
    rng = np.random.default_rng(1)
    values = np.repeat(random_bits(rng, (1, 16), element_type), 6, axis=0)
    indices = np.repeat(random_indices(rng, (6, 1), "uint32", 16), 16, axis=1)
    layouts = {"InputTensor": [0, 1], "IndicesTensor": [1, 0]}
    check(gather_elements(values, indices, 1, layouts), device)
    check(gather_elements(values, indices, 0, layouts), device)


def test_single_bytes_that_share_words_are_all_written(device: Any) -> None:
    rng = np.random.default_rng(2)
    sizes = (129, 257)
    values, indices = random_bits(rng, sizes, "uint8"), random_indices(rng, sizes, "int32", 257)
    check(gather_elements(values, indices, 1, {"OutputTensor": permuted(sizes, [1, 0])}), device)
    check(gather_elements(values, indices, 1, {"OutputTensor": padded(sizes, 1)}), device)


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_extreme_indices_are_clamped(device: Any, index_type: str) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -(2**32) - 1, -(2**32), -(2**32) + 1, -6, -5, -4, -1, 0, 1, 4, 5, 6]
    chosen += [*(2**31 + d for d in (-1, 0)), *(2**32 + d for d in (-1, 0, 1, 4)), 2**63 - 1, 2**63]
    chosen += [info.max - 1, info.max]
    indices = np.array([i for i in chosen if info.min <= i <= info.max], dtype=index_type)
    check(gather_elements(np.arange(5, dtype=np.float32), indices, 0), device)
    check(gather_nd(np.arange(5, dtype=np.float32)[None], indices[:, None], 1, 2), device)


def test_documented_examples(device: Any) -> None:
    """Of the public pages, with the output's type made that of the input where a page says otherwise."""
    values = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    case = gather(values, np.array([[0, 1, 1, 2]], np.uint32), 0, 1)
    assert case.expected.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6]]
    check(case, device)
    batches = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    tuples = np.array([[[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]]]], np.uint32)
    case = gather_nd(batches, tuples, 3, 3, 1)
    assert case.expected.tolist() == [[[[0, 3], [7, 4], [9, 10]]]]
    check(case, device)


def test_dispatches_in_two_dimensions(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MAX_GROUPS", 3)
    rng = np.random.default_rng(3)
    values = random_bits(rng, (30_001,), "float32")
    case = gather_elements(values, random_indices(rng, (30_001,), "int32", 30_001), 0)
    assert planned(case).groups[1] > 1
    check(case, device)


@pytest.mark.parametrize("element_type", ["int8", "float16", "float32", "float64"])
def test_strips(device: Any, element_type: str) -> None:
    rng = np.random.default_rng(5)
    values = random_bits(rng, (3, 11, 256), element_type)
    case = gather_elements(values, random_indices(rng, (3, 7, 256), "int64", 11), 1)
    assert planned(case).defines["RANK"] == 4
    check(case, device)


@pytest.mark.parametrize("apart", [8, 9])
def test_tuples_whose_parts_lie_apart(device: Any, apart: int) -> None:
    rng = np.random.default_rng(6)
    values, tuples = random_bits(rng, (4, 5), "float32"), random_indices(rng, (8, 2), "int32", 5)
    case = gather_nd(values, tuples, 2, 2, layouts={"IndicesTensor": [1, apart]})
    check(case, device)


@pytest.mark.parametrize("length", [2, 3, 4, 6])
@pytest.mark.parametrize("index_type", ["int64", "int32", "uint32"])
@pytest.mark.parametrize("element_type", ["int8", "float16", "float32", "float64"])
def test_tuples(device: Any, element_type: str, index_type: str, length: int) -> None:
    rng = np.random.default_rng(7)
    values = random_bits(rng, (3,) * length, element_type)
    tuples = random_indices(rng, (*(1,) * (length - 3), 2, 28, length)[-length:], index_type, 3)
    check(gather_nd(values, tuples, length, min(length, 3)), device)


@pytest.mark.parametrize("strides", [[64, 2, 1], [57, 2, 1], [84, 3, 1]])
def test_tuples_that_lie_at_odd_places(device: Any, strides: list[int]) -> None:
    rng = np.random.default_rng(8)
    values, tuples = random_bits(rng, (1, 4, 5), "float32"), random_indices(rng, (2, 28, 2), "int32", 5)
    check(gather_nd(values, tuples, 2, 3, layouts={"IndicesTensor": strides}), device)


GUARDED = {
    "packed": lambda bits, indices: gather_elements(bits(6, 64), indices(6, 64), 1),
    "odd": lambda bits, indices: gather_elements(bits(6, 63), indices(6, 63), 0),
    "padded": lambda bits, indices: gather_elements(
        bits(6, 63),
        indices(6, 63),
        1,
        {"OutputTensor": [65, 1], "InputTensor": [1, 6], "IndicesTensor": [63, 1]},
    ),
    "spread": lambda bits, indices: gather_elements(
        bits(6, 16), indices(6, 16), 1, {"OutputTensor": [48, 3]}
    ),
    "rows": lambda bits, indices: gather(bits(6, 64), indices(1, 5), 0, 1),
    "tuples": lambda bits, indices: gather_nd(bits(6, 7, 8), indices(1, 21, 2), 3, 2),
}


@pytest.mark.parametrize("element_type", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", GUARDED)
def test_nothing_outside_the_output_elements_changes(device: Any, shape: str, element_type: str) -> None:
    rng = np.random.default_rng(4)
    case = GUARDED[shape](
        lambda *sizes: random_bits(rng, sizes, element_type),
        lambda *sizes: rng.integers(-(2**63), 2**63 - 1, sizes),  # nearly all of them far outside
    )
    arrays = {**case.inputs, "OutputTensor": np.zeros_like(case.expected)}
    buffers = []
    for name, array in arrays.items():
        at = elements_in(case.description["desc"][name])
        buffer = np.full(-(-(at.max() + 1) * array.itemsize // 4) * 4, UNTOUCHED, np.uint8)
        if name != "OutputTensor":
            buffer[: (at.max() + 1) * array.itemsize].view(array.dtype)[at] = array
        buffers.append(buffer)
    written = elements_in(case.description["desc"]["OutputTensor"])
    operator = case.description["type"].removeprefix("DML_OPERATOR_")
    after = run_guarded(device, operator, planned(case), buffers)

    for buffer, all_bytes in zip(buffers[:2], after[:2], strict=True):
        assert all_bytes.tobytes() == np.pad(buffer, GUARD, constant_values=UNTOUCHED).tobytes()
    expected = np.full_like(after[2], UNTOUCHED)
    window = expected[GUARD : GUARD + (written.max() + 1) * case.expected.itemsize]
    window.view(case.expected.dtype)[written] = case.expected
    assert after[2].tobytes() == expected.tobytes()


def test_threads_take_turns(device: Any) -> None:
    cases = [random_case(operator, 100 + seed) for operator in OPERATORS for seed in range(3)]
    failures: list[BaseException] = []

    def work(case: Case) -> None:
        try:
            for _ in range(5):
                check(case, device)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(case,)) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def simple() -> Case:
    return gather_elements(np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.int32), 1)


def refused(case: Case, inputs: dict[str, Any], device: Any) -> str:
    with pytest.raises(ValueError) as caught:
        gpu.run(dmlops.from_json(case.description), inputs, device)
    return str(caught.value)


def test_inputs_that_do_not_fit_are_refused(device: Any) -> None:
    case = simple()
    indices = case.inputs["IndicesTensor"]
    assert "InputTensor is missing" in refused(case, {"IndicesTensor": indices}, device)
    assert 'has no input "Input";' in refused(case, {**case.inputs, "Input": indices}, device)
    text = refused(case, {**case.inputs, "InputTensor": np.zeros((3, 2), np.float32)}, device)
    assert "InputTensor must be a NumPy array of float32, shape (2, 3); it is float32 of shape (3, 2)" in text
    text = refused(case, {**case.inputs, "IndicesTensor": indices.astype(np.int64)}, device)
    assert "IndicesTensor must be a NumPy array of int32" in text
    assert "it is a list" in refused(case, {**case.inputs, "IndicesTensor": [[0] * 3] * 2}, device)
    case.description["desc"]["InputTensor"]["Strides"] = [0, 1]
    assert "stride 0 in dimension 0" in refused(case, case.inputs, device)


@pytest.mark.parametrize(
    ("strides", "share"), [((0, 1), True), ((1, 0), True), ((1, 1), True), ((2, 1), True), ((3, 2), False)]
)
def test_elements_that_share_memory(device: Any, strides: tuple[int, int], share: bool) -> None:
    """Inputs may have some if their values agree, outputs may not; strides of 3 and 2 only interleave."""
    packed = dmlops.TensorDesc("FLOAT32", (2, 3))
    strided = dmlops.TensorDesc("FLOAT32", (2, 3), Strides=strides)
    read = dmlops.ElementWiseIdentity(InputTensor=strided, OutputTensor=packed)
    written = dmlops.ElementWiseIdentity(InputTensor=packed, OutputTensor=strided)
    different, equal = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    offsets = np.add.outer(np.arange(2) * strides[0], np.arange(3) * strides[1]).astype(np.float32)
    for array in (equal, offsets):
        assert gpu.run(read, {"InputTensor": array}, device)["OutputTensor"].tolist() == array.tolist()
    if not share:
        for desc in (read, written):
            found = gpu.run(desc, {"InputTensor": different}, device)["OutputTensor"]
            assert found.tolist() == different.tolist()
        return
    with gpu.Session(device) as session:
        for run, given in ((partial(gpu.run, device=device), equal), (session.run, session.array(equal))):
            with pytest.raises(gpu.Unsupported, match="OutputTensor has elements that share memory"):
                run(written, {"InputTensor": given})
        with pytest.raises(ValueError, match=r"the array has (stride 0|elements that share memory)"):
            session.array(different, strided)
    with pytest.raises(ValueError, match=r"InputTensor has (stride 0|elements that share memory)"):
        gpu.run(read, {"InputTensor": different}, device)


def test_an_invalid_description_is_refused(device: Any) -> None:
    case = simple()
    case.description["desc"]["Axis"] = 7
    with pytest.raises(dmlops.InvalidDescription):
        gpu.run(dmlops.from_json(case.description), case.inputs, device)


def test_tensors_larger_than_the_device_can_address_are_refused(device: Any) -> None:
    limit = device.limits.maxStorageBufferRange
    with pytest.raises(gpu.Unsupported, match=f"shaders on .* reach {limit}"):
        device.check_sizes([limit + 1])
    with pytest.raises(gpu.Unsupported, match="no memory left"):
        device.buffer(1 << 46)


def test_memory_that_cannot_be_mapped_is_released(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlops.gpu.device import vk

    def fail(*_: object) -> None:
        raise vk.VkErrorMemoryMapFailed

    released: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        release = getattr(vk, name)
        return lambda *of: released.append(name) or release(*of)

    for name in ("vkFreeMemory", "vkDestroyBuffer"):
        monkeypatch.setattr(vk, name, noting(name))
    monkeypatch.setattr(vk, "vkMapMemory", fail)
    with pytest.raises(gpu.Unsupported, match="no memory left for 64 bytes"):
        device.buffer(64, vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
    assert released == ["vkFreeMemory", "vkDestroyBuffer"]


def test_a_device_that_fails_is_named(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To calls and to sessions, whose arrays outlive the failure if the device does."""
    from dmlops.gpu.device import vk

    def lost(*_: object) -> None:
        raise vk.VkErrorDeviceLost

    case = simple()
    with gpu.Session(device) as session:
        array = session.array(case.inputs["InputTensor"])
        with monkeypatch.context() as patched:
            patched.setattr(device, "start", lost)
            message = re.escape(
                f"{device.name} failed: VkErrorDeviceLost. This process cannot use it any more"
            )
            with pytest.raises(gpu.GpuUnavailable, match=message):
                gpu.run(dmlops.from_json(case.description), case.inputs, device)
            with pytest.raises(gpu.GpuUnavailable, match=message):
                array.numpy()
        assert array.numpy().tobytes() == case.inputs["InputTensor"].tobytes()
    check(case, device)


def test_drivers_without_a_device_are_no_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlops.gpu import device as devices

    def fail(*_: object) -> None:
        raise devices.vk.VkErrorInitializationFailed

    monkeypatch.setattr(devices.vk, "vkEnumeratePhysicalDevices", fail)
    with pytest.raises(gpu.GpuUnavailable, match="Vulkan has no usable driver"):
        devices._physical_devices.__wrapped__()


class Limited:
    """Vulkan, with separate limits."""

    def __init__(self, limits: dict[str, Any]) -> None:
        from dmlops.gpu.device import vk

        self._vulkan, self._limits = vk, limits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vulkan, name)

    def vkGetPhysicalDeviceProperties(self, physical: Any) -> Any:
        limits = {
            "maxComputeWorkGroupInvocations": 1024,
            "maxComputeWorkGroupSize": [1024],
            "maxComputeSharedMemorySize": 32768,
        }
        return SimpleNamespace(limits=SimpleNamespace(**limits | self._limits))


@pytest.mark.parametrize(
    ("limits", "lacking"),
    [
        ({"maxComputeWorkGroupInvocations": 256}, "groups of 512 threads"),
        ({"maxComputeWorkGroupSize": [128]}, "groups of 512 threads"),
        ({"maxComputeSharedMemorySize": 16384}, "32 KiB of shared memory"),
    ],
)
def test_devices_must_have_room_for_groups(
    limits: dict[str, Any], lacking: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmlops.gpu import detection
    from dmlops.gpu import device as devices

    physical = next(one for name, one in devices._physical_devices() if name == device.name)
    monkeypatch.setattr(detection, "vk", Limited(limits))
    with pytest.raises(gpu.GpuUnavailable, match=f"{lacking}, which the shaders need"):
        detection.detected(devices._instance(), physical, device.name)


def test_a_description_is_planned_once(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal one is the same; one with another zero, though it is equal, is not."""
    planned: list[Any] = []
    monkeypatch.setattr(device, "programs", Programs())
    monkeypatch.setattr(gpu, "computation", lambda desc: planned.append(desc) or computation(desc))

    def fill(value: float) -> Any:
        tensor = dmlops.TensorDesc("FLOAT32", (3,))
        desc = dmlops.FillValueConstant(OutputTensor=tensor, ValueDataType="FLOAT32", Value=value)
        return gpu.run(desc, {}, device)["OutputTensor"]

    assert not np.signbit([fill(0.0), fill(0.0)]).any()
    assert len(planned) == 1
    assert np.signbit([fill(-0.0), fill(-0.0)]).all()
    assert len(planned) == 2


def test_calls_are_recorded_once(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the buffers that they share have to grow, or too many others have been recorded since."""
    recorded: list[Any] = []
    record = device.record
    monkeypatch.setattr(device, "record", lambda commands: recorded.append(commands) or record(commands))
    monkeypatch.setattr("dmlops.gpu.device.MOST_RECORDED", 2)

    def negate(size: int, in_place: str | None = None) -> int:
        """The number of recordings by then."""
        values = np.arange(size, dtype=np.float32) + len(recorded)
        tensor = dmlops.TensorDesc.of(values)
        desc = dmlops.ElementWiseNegate(InputTensor=tensor, OutputTensor=tensor)
        output = gpu.run(desc, {"InputTensor": values}, device, in_place)["OutputTensor"]
        assert output.tobytes() == (-values).tobytes()
        return len(recorded)

    assert [negate(5), negate(5), negate(5, "InputTensor"), negate(5)] == [1, 1, 2, 2]
    assert [negate(6), negate(5), negate(5, "InputTensor")] == [3, 3, 4]
    device.staging("upload", device.staging("upload", 1).size + 1)
    assert [negate(5), negate(5)] == [5, 5]


def test_the_latest_programs_are_remembered() -> None:
    programs = Programs()

    def program(dispatches: int) -> Program:
        dispatch = b"", Dispatch({}, (), 0, b"", (1, 1))
        return Program(Work(()), (dispatch,) * dispatches, {}, {}, {}, {})

    first, second, third = (
        dmlops.ActivationRelu(InputTensor=tensor, OutputTensor=tensor)
        for tensor in (dmlops.TensorDesc("FLOAT32", (size,)) for size in (1, 2, 3))
    )
    programs.keep(first, kept := program(MOST_DISPATCHES // 2))
    programs.keep(second, program(MOST_DISPATCHES // 2))
    assert programs.get(first) is kept
    programs.keep(third, program(0))
    assert (programs.get(first), programs.get(second)) == (kept, None)
    programs.keep(second, program(MOST_DISPATCHES + 1))
    assert (programs.get(first), programs.get(second)) == (kept, None)


def test_devices_are_found_by_index_and_by_part_of_the_name() -> None:
    from dmlops.gpu.device import Device

    names = gpu.devices()
    assert Device.open(0) is Device.open()
    assert Device.open(names[-1].upper()[:6]).name == next(
        n for n in names if names[-1][:6].upper() in n.upper()
    )
    for selector in (len(names), -1, "no such device"):
        with pytest.raises(gpu.GpuUnavailable, match="there are: "):
            Device.open(selector)


def run_in_process(code: str, **environment: str) -> str:
    script = (
        f"from dmlops import gpu\ntry:\n    {code}\nexcept gpu.GpuUnavailable as e: print('unavailable:', e)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path) -> None:
    assert "unavailable: Vulkan has no usable driver" in run_in_process(
        "gpu.devices()", VK_ICD_FILENAMES=str(tmp_path / "none"), VK_DRIVER_FILES=str(tmp_path / "none")
    )
    hide = "import sys; sys.modules['{}'] = None; "
    assert "pip install vulkan" in run_in_process(hide.format("vulkan") + "gpu.devices()")
    (tmp_path / "vulkan.py").write_text("raise OSError('no library')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert "No Vulkan loader found" in run_in_process("gpu.devices()", PYTHONPATH=path)
    assert "DMLOPS_DXC names no file" in run_in_process(
        "gpu.compiler.find()", DMLOPS_DXC=str(tmp_path / "dxc")
    )
    (tmp_path / "dxc.so").write_bytes(b"no library")
    assert "cannot be loaded" in run_in_process("gpu.compiler.find()", DMLOPS_DXC=str(tmp_path / "dxc.so"))
    hidden = "import importlib.util as u; u.find_spec = lambda name: None; gpu.compiler.find()"
    assert "pip install compushady-lrtu" in run_in_process(hidden, PATH="", DMLOPS_DXC="")


SOURCE = "[numthreads(N, 1, 1)] void CSMain() {}"


class CountingCompiler:
    """The machine's compiler, which counts how often it has to work."""

    def __init__(self) -> None:
        self.version = "counting"
        self.calls = 0
        self._compiler = compiler.find()

    def compile(self, source: str, arguments: Sequence[str]) -> bytes:
        self.calls += 1
        return self._compiler.compile(source, arguments)


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountingCompiler:
    """A compiler with a separate cache in `cache`."""
    monkeypatch.setenv("DMLOPS_CACHE", str(tmp_path / "cache"))
    found = CountingCompiler()
    monkeypatch.setattr(compiler, "find", lambda: found)
    return found


def test_compiled_shaders_are_cached(counting: CountingCompiler, tmp_path: Path) -> None:
    first = compiler.compile(SOURCE, {"N": 1})
    assert compiler.compile(SOURCE, {"N": 1}) == first
    assert counting.calls == 1
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert compiler.compile(SOURCE, {"N": 2}) != first
    assert counting.calls == 2
    assert len(list((tmp_path / "cache").iterdir())) == 2


DAMAGED = {"empty": slice(0), "3 bytes": slice(3), "half": slice(100), "without a head": slice(4, None)}


@pytest.mark.parametrize(
    "how", [*DAMAGED, "link", "pipe", "folder", "zeros", "sparse", "swapped", "writable"]
)
def test_what_is_no_cache_entry_is_compiled_again(
    counting: CountingCompiler, tmp_path: Path, how: str
) -> None:
    """And it is not waited for, nor read without end."""
    other, first = compiler.compile(SOURCE, {"N": 2}), compiler.compile(SOURCE, {"N": 1})
    entry, its_other = sorted((tmp_path / "cache").iterdir(), key=lambda path: first not in path.read_bytes())
    whole = entry.read_bytes()
    assert other in its_other.read_bytes() and len(whole) > 100
    if how not in ("writable", *DAMAGED):
        entry.unlink()
    match how:
        case "link":
            (tmp_path / "real").write_bytes(whole)
            entry.symlink_to(tmp_path / "real")
        case "pipe":
            os.mkfifo(entry)
        case "folder":
            entry.mkdir()
        case "zeros":
            entry.symlink_to("/dev/zero")
        case "sparse":
            entry.touch()
            os.truncate(entry, 1 << 40)
        case "swapped":
            its_other.rename(entry)
        case "writable":
            entry.chmod(0o666)
        case _:
            entry.write_bytes(whole[DAMAGED[how]])
    assert compiler.compile(SOURCE, {"N": 1}) == first
    assert counting.calls == 3
    assert how not in DAMAGED or entry.read_bytes() == whole


def test_a_cache_of_somebody_else_is_not_used(
    counting: CountingCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler.compile(SOURCE, {"N": 1})
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    compiler.compile(SOURCE, {"N": 1})
    assert counting.calls == 2


def test_there_may_be_no_place_for_a_cache(
    counting: CountingCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMLOPS_CACHE", os.devnull)  # no folder
    compiler.compile(SOURCE, {"N": 1})
    monkeypatch.delenv("DMLOPS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", no_home)
    compiler.compile(SOURCE, {"N": 1})
    assert counting.calls == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, None], ids=lambda mode: f"{mode or 0:o}")
def test_no_cache_is_kept_where_others_can_write_or_the_disk_is_full(
    counting: CountingCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if mode is None:
        monkeypatch.setattr(os, "replace", full)
    else:
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(mode)
    for calls in (1, 2):
        compiler.compile(SOURCE, {"N": 1})
        assert counting.calls == calls
    assert not list((tmp_path / "cache").iterdir())


def forked(child: Callable[[], Any]) -> Any:
    """What a function returns in a process that is forked from this one."""
    context = multiprocessing.get_context("fork")
    answers: Any = context.SimpleQueue()
    process = context.Process(target=lambda: answers.put(child()))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        raise AssertionError("the child hangs")
    assert process.exitcode == 0
    return answers.get()


def test_a_process_forked_after_the_first_use_opens_the_device_anew(device: Any) -> None:
    """Or raises an error that says what to do, if the driver cannot."""
    case = simple()
    desc = dmlops.from_json(case.description)
    gpu.run(desc, case.inputs, device)  # the parent has it open

    def child() -> Any:
        with pytest.raises(gpu.GpuUnavailable, match="before this process was forked"):
            gpu.run(desc, case.inputs, device)
        try:
            return gpu.run(desc, case.inputs)["OutputTensor"].tolist()
        except gpu.GpuUnavailable as error:
            return str(error)

    answer = forked(child)
    if isinstance(answer, str) and not is_software(device):
        assert re.fullmatch(r'.+ cannot be opened: VkError\w+\. Some drivers .* "spawn" .*', answer)
    else:
        assert answer == case.expected.tolist()


def test_a_device_that_does_not_open_after_a_fork_says_so(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmlops.gpu.device import Device, vk

    def fail(*_: object) -> None:
        raise vk.VkErrorInitializationFailed

    def child() -> str:
        with pytest.raises(gpu.GpuUnavailable) as caught:
            Device.open(os.environ.get("DMLOPS_TEST_DEVICE"))
        return str(caught.value)

    monkeypatch.setattr(vk, "vkCreateDevice", fail)
    assert forked(child) == (
        f"{device.name} cannot be opened: VkErrorInitializationFailed. Some drivers do not work in a process "
        'forked from one that has used them: start processes by "spawn" in place of "fork" '
        "(multiprocessing.set_start_method)."
    )


@pytest.mark.parametrize("uses_gpu", [True, False])
def test_a_forked_process_ends_by_itself(uses_gpu: bool, device: Any) -> None:
    """By sys.exit, with its status, after its own exit handlers, waiting for no thread of the parent."""
    script = f"""
import atexit, os, sys
import numpy as np
import dmlops
from dmlops import TensorDesc, gpu
array = np.float32([[1, -2]])
desc = dmlops.ElementWiseAbs(InputTensor=TensorDesc.of(array)).infer()
gpu.run(desc, {{"InputTensor": array}})
if os.fork() == 0:
    atexit.register(print, "handler of the child")
    if {uses_gpu}:
        try:
            print(gpu.run(desc, {{"InputTensor": array}})["OutputTensor"].tolist())
        except gpu.GpuUnavailable as error:
            print("cannot be opened" in str(error))
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    *answers, handled, status = result.stdout.splitlines()
    assert (handled, status) == ("handler of the child", "7")
    wanted = ["[[1.0, 2.0]]"] if uses_gpu else []
    assert answers == wanted or (uses_gpu and not is_software(device) and answers == ["True"])


def test_threads_open_one_device(tmp_path: Path) -> None:
    script = """
import threading
from dmlops.gpu import device
create, made, found = device.vk.vkCreateInstance, [], []
device.vk.vkCreateInstance = lambda *a: made.append(1) or create(*a)
start = threading.Barrier(8)
def work():
    start.wait()
    found.append(device.Device.open())
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(made), len(found), len(set(map(id, found))))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["1", "8", "1"]


def test_a_tensor_that_no_shader_reaches_is_refused_before_it_takes_memory(device: Any) -> None:
    case = simple()
    case.description["desc"]["InputTensor"]["TotalTensorSizeInBytes"] = 4 * (2**32 - 1)
    tracemalloc.start()
    try:
        with pytest.raises(gpu.Unsupported, match=r"shaders on .* reach"):
            gpu.run(dmlops.from_json(case.description), case.inputs, device)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_compile_errors_are_the_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMLOPS_CACHE", str(tmp_path))
    with pytest.raises(compiler.CompileError, match="nonsense"):
        compiler.compile("nonsense", {})
    assert not list(tmp_path.iterdir())


def test_an_executable_compiler_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "dxc"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv: sys.exit(print('stand-in 1'))\n"
        "if 'bad' in open(sys.argv[-1]).read(): sys.exit('bad shader')\n"
        "code = 'DXBC'.ljust(32) + ' '.join(sys.argv[1:-3])\n"
        "open(sys.argv[sys.argv.index('-Fo') + 1], 'w').write(code)\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("DMLOPS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DMLOPS_DXC", str(script))
    compiler.find.cache_clear()
    try:
        arguments = compiler.compile("good", {"RANK": 3}, "dxil")[32:].decode().split()
        assert arguments[:4] == ["-T", "cs_6_2", "-E", "CSMain"]
        assert arguments[-1] == "-DRANK=3"
        with pytest.raises(compiler.CompileError, match="bad shader"):
            compiler.compile("bad", {})
    finally:
        compiler.find.cache_clear()
