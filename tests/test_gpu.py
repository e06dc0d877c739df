"""Gathers on a Vulkan device against NumPy, bit for bit; devices, compilers and caches that fail."""

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
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu, make
from dmlops.gpu import compiler
from dmlops.gpu.plans import loops
from dmlops.gpu.programs import MOST_DISPATCHES, Program, Programs
from dmlops.gpu.work import Dispatch, Work, work_of
from gather_cases import OPERATORS, gathered, random_gathers
from gpu_device import device, is_software, run_in_guard_zones
from tensors import random_bits, random_indices
from test_cache import spoil

__all__ = ["device"]


def check(desc: Any, inputs: dict[str, np.ndarray], device: Any) -> None:
    for array in inputs.values():
        array.flags.writeable = False
    (found,) = run_in_guard_zones(device, desc, inputs).values()
    expected = gathered(desc, inputs)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes(), desc


@pytest.mark.parametrize("strip", [16, 128])
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_gathers(device: Any, operator: str, strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tensors have strips, too, and threads several vectors."""
    monkeypatch.setattr("dmlops.gpu.plans.map.STRIP_BYTES", strip)
    monkeypatch.setattr("dmlops.gpu.plans.map.ELEMENTWISE_BUSY", 1 if strip == 16 else 1 << 16)
    for desc, inputs in random_gathers(operator, 40):
        check(desc, inputs, device)


@pytest.mark.parametrize("index_type", ["int64", "int32", "uint64", "uint32"])
def test_extreme_indices_are_clamped(device: Any, index_type: str) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -(2**32) - 1, -(2**32), -(2**32) + 1, -6, -5, -4, -1, 0, 1, 4, 5, 6]
    chosen += [*(2**31 + d for d in (-1, 0)), *(2**32 + d for d in (-1, 0, 1, 4)), 2**63 - 1, 2**63]
    chosen += [info.max - 1, info.max]
    indices = np.array([i for i in chosen if info.min <= i <= info.max], dtype=index_type)
    values = np.arange(5, dtype=np.float32)
    one = {"InputTensor": values, "IndicesTensor": indices}
    check(make.gather_elements(**one, Axis=0), one, device)
    tuples = {"InputTensor": values[None], "IndicesTensor": indices[:, None]}
    check(make.gather_nd(**tuples, InputDimensionCount=1, IndicesDimensionCount=2), tuples, device)


def test_documented_examples(device: Any) -> None:
    """Of the public pages, with the output's type made that of the input where a page says otherwise."""
    rows = {"InputTensor": np.float32([[1, 2], [3, 4], [5, 6]]), "IndicesTensor": np.uint32([[0, 1, 1, 2]])}
    desc: Any = make.gather(**rows, Axis=0, IndexDimensions=1)
    assert gathered(desc, rows).tolist() == [[1, 2], [3, 4], [3, 4], [5, 6]]
    check(desc, rows, device)
    tuples = np.uint32([[[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]]]])
    batches = {"InputTensor": np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2), "IndicesTensor": tuples}
    counts = {"InputDimensionCount": 3, "IndicesDimensionCount": 3, "BatchDimensionCount": 1}
    desc = make.gather_nd1(**batches, **counts)
    assert gathered(desc, batches).tolist() == [[[[0, 3], [7, 4], [9, 10]]]]
    check(desc, batches, device)


def test_dispatches_in_two_dimensions(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MAX_GROUPS", 3)
    rng = np.random.default_rng(3)
    inputs = {"InputTensor": random_bits(rng, (30_001,), "float32")}
    inputs["IndicesTensor"] = random_indices(rng, (30_001,), "int32", 30_001)
    desc = make.gather_elements(**inputs, Axis=0)
    assert gpu.plan(desc).dispatches[0].groups[1] > 1
    check(desc, inputs, device)


def test_threads_take_turns(device: Any) -> None:
    cases = [case for operator in OPERATORS for case in random_gathers(operator, 3)]
    failures: list[BaseException] = []

    def work(desc: Any, inputs: dict[str, np.ndarray]) -> None:
        try:
            for _ in range(5):
                found = gpu.run(desc, inputs, device)["OutputTensor"]
                assert found.tobytes() == gathered(desc, inputs).tobytes()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=case) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


INPUTS = {"InputTensor": np.float32([[0, 1, 2], [3, 4, 5]]), "IndicesTensor": np.int32([[0, 0, 1]] * 2)}
SIMPLE: Any = make.gather_elements(**INPUTS, Axis=1)


def refused(inputs: dict[str, Any], device: Any, desc: Any = SIMPLE) -> str:
    with pytest.raises(ValueError) as caught:
        gpu.run(desc, inputs, device)
    return str(caught.value)


def test_inputs_that_do_not_fit_are_refused(device: Any) -> None:
    indices = INPUTS["IndicesTensor"]
    assert "InputTensor is missing" in refused({"IndicesTensor": indices}, device)
    assert 'has no input "Input";' in refused({**INPUTS, "Input": indices}, device)
    text = refused({**INPUTS, "InputTensor": np.zeros((3, 2), np.float32)}, device)
    assert "InputTensor must be a NumPy array of float32, shape (2, 3); it is float32 of shape (3, 2)" in text
    text = refused({**INPUTS, "IndicesTensor": indices.astype(np.int64)}, device)
    assert "IndicesTensor must be a NumPy array of int32" in text
    assert "it is a list" in refused({**INPUTS, "IndicesTensor": [[0] * 3] * 2}, device)
    shared = replace(SIMPLE, InputTensor=dmlops.TensorDesc("FLOAT32", (2, 3), Strides=(0, 1)))
    assert "stride 0 in dimension 0" in refused(INPUTS, device, shared)


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
    with pytest.raises(dmlops.InvalidDescription):
        gpu.run(replace(SIMPLE, Axis=7), INPUTS, device)


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

    with gpu.Session(device) as session:
        array = session.array(INPUTS["InputTensor"])
        with monkeypatch.context() as patched:
            patched.setattr(device, "start", lost)
            message = re.escape(
                f"{device.name} failed: VkErrorDeviceLost. This process cannot use it any more"
            )
            with pytest.raises(gpu.GpuUnavailable, match=message):
                gpu.run(SIMPLE, INPUTS, device)
            with pytest.raises(gpu.GpuUnavailable, match=message):
                array.numpy()
        assert array.numpy().tobytes() == INPUTS["InputTensor"].tobytes()
    check(SIMPLE, INPUTS, device)


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
    monkeypatch.setattr(gpu, "work_of", lambda desc, *rest: planned.append(desc) or work_of(desc, *rest))

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


DAMAGED = ("empty", "cut", "flipped", "grown")


@pytest.mark.parametrize(
    "how", [*DAMAGED, "link", "pipe", "folder", "sparse", "zeros", "swapped", "writable"]
)
def test_what_is_no_cache_entry_is_compiled_again(
    counting: CountingCompiler, tmp_path: Path, how: str
) -> None:
    """And it is not waited for, nor read without end."""
    other, first = compiler.compile(SOURCE, {"N": 2}), compiler.compile(SOURCE, {"N": 1})
    entry, its_other = sorted((tmp_path / "cache").iterdir(), key=lambda path: first not in path.read_bytes())
    whole = entry.read_bytes()
    assert other in its_other.read_bytes() and len(whole) > 100
    match how:
        case "zeros":
            entry.unlink()
            entry.symlink_to("/dev/zero")
        case "swapped":
            its_other.replace(entry)
        case "writable":
            entry.chmod(0o666)
        case _:
            spoil(entry, how)
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
    gpu.run(SIMPLE, INPUTS, device)  # the parent has it open

    def child() -> Any:
        with pytest.raises(gpu.GpuUnavailable, match="before this process was forked"):
            gpu.run(SIMPLE, INPUTS, device)
        try:
            return gpu.run(SIMPLE, INPUTS)["OutputTensor"].tolist()
        except gpu.GpuUnavailable as error:
            return str(error)

    answer = forked(child)
    if isinstance(answer, str) and not is_software(device):
        assert re.fullmatch(r'.+ cannot be opened: VkError\w+\. Some drivers .* "spawn" .*', answer)
    else:
        assert answer == gathered(SIMPLE, INPUTS).tolist()


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
    large = replace(SIMPLE.InputTensor, TotalTensorSizeInBytes=4 * (2**32 - 1))
    tracemalloc.start()
    try:
        with pytest.raises(gpu.Unsupported, match=r"shaders on .* reach"):
            gpu.run(replace(SIMPLE, InputTensor=large), INPUTS, device)
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
