"""Sessions: several operators over arrays that stay on the device, against the reference and torch."""

from __future__ import annotations

import copy
import gc
import importlib
import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu import device as devices
from dmlops.gpu import session as module
from dmlops.gpu.vulkan_api import vk
from gpu_device import device
from gpu_networks import ResNetBlock, TransformerLayer, draw

__all__ = ["device"]

NETWORKS = {
    "ResNet block": ResNetBlock(2, 8, 7),
    "transformer layer": TransformerLayer(6, 16, 4),
}
TOLERANCE = 1e-5
LARGE = 1 << 18  # elements of an array that has its own buffer


@pytest.fixture
def session(device: Any) -> Iterator[gpu.Session]:
    with gpu.Session(device) as opened:
        yield opened


def unary(name: str, *sizes: int) -> Any:
    return getattr(dmlops, name)(InputTensor=TensorDesc("FLOAT32", sizes)).infer()


def add(*sizes: int) -> Any:
    tensor = TensorDesc("FLOAT32", sizes)
    return dmlops.ElementWiseAdd1(ATensor=tensor, BTensor=tensor).infer()


def negated(session: gpu.Session, array: Any, *sizes: int) -> Any:
    return session.run(unary("ElementWiseNegate", *sizes), {"InputTensor": array})["OutputTensor"]


def added(session: gpu.Session, left: Any, right: Any, *sizes: int) -> Any:
    return session.run(add(*sizes), {"ATensor": left, "BTensor": right})["OutputTensor"]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_what_the_reference_gives(session: gpu.Session, name: str) -> None:
    network = NETWORKS[name]
    data = draw(network.shapes, network.data_type)
    handles = {key: session.array(array) for key, array in data.items()}
    output = network.run(session.run, handles)
    recording = session.submit()
    for seed in range(3):
        data["input"] = draw({"input": network.input}, network.data_type, seed)["input"]
        if seed:
            handles["input"].write(data["input"])
            recording.replay()
        expected = network.run(reference.run, data)
        np.testing.assert_allclose(output.numpy(), expected, TOLERANCE, TOLERANCE * np.abs(expected).max())
    again = network.run(session.run, handles).numpy()  # recorded once more, in memory used before
    assert again.tobytes() == output.numpy().tobytes()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_what_torch_gives(session: gpu.Session, name: str) -> None:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        pytest.skip("PyTorch is absent: pip install '.[oracle]'")
    network = NETWORKS[name]
    data = draw(network.shapes, network.data_type)
    found = network.run(session.run, {key: session.array(array) for key, array in data.items()}).numpy()
    precise = {key: torch.from_numpy(array.astype("float64")) for key, array in data.items()}
    expected = network.torch(torch, precise).numpy()
    np.testing.assert_allclose(found, expected, TOLERANCE, TOLERANCE * np.abs(expected).max())


def test_a_chain_of_operators_sees_each_result(session: gpu.Session) -> None:
    """Each of many operators uses what the one before wrote, in memory that is used again and again."""
    size = 1 << 16
    start = np.arange(size, dtype=np.float32)
    one = session.array(np.ones(size, np.float32))
    value = given = session.array(start)
    for _ in range(30):
        value = added(session, negated(session, value, size), one, size)
    recording = session.submit()
    for repetition in range(5):
        given.write(start + repetition)
        recording.replay()
        assert value.numpy().tobytes() == (start + repetition).tobytes()


def test_barriers_stand_between_dependent_operators_only(
    session: gpu.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    barriers: list[Any] = []
    monkeypatch.setattr(module, "barrier", barriers.append)

    def counted() -> int:
        barriers.clear()
        session.submit()
        return len(barriers)

    arrays = [session.array(np.zeros(8, np.float32)) for _ in range(3)]
    kept = [negated(session, array, 8) for array in arrays]
    assert counted() == 0
    kept += [negated(session, kept[0], 8), negated(session, kept[0], 8)]  # both only read it
    assert counted() == 0
    kept += [negated(session, arrays[0], 8)]
    kept += [negated(session, kept[-1], 8)]
    assert counted() == 1
    kept += [negated(session, arrays[0], 8)]
    session.run(
        add(8), {"ATensor": arrays[0], "BTensor": arrays[1]}, in_place="ATensor"
    )  # written after a read
    assert counted() == 1


def test_memory_of_what_is_gone_is_used_again(session: gpu.Session) -> None:
    size = 1 << 12
    given = session.array(np.ones(size, np.float32))
    value = given
    for _ in range(3):
        value = negated(session, value, size)
    allocated = session.allocated
    for _ in range(50):
        value = negated(session, value, size)
    assert session.allocated == allocated == 3 * 4 * size
    assert value.numpy().tolist() == [-1.0] * size
    for _ in range(50):
        array = session.array(np.full(size, 2, np.float32))
        assert negated(session, array, size).numpy().tolist() == [-2.0] * size
    assert session.allocated <= allocated + 2 * 4 * size


def test_memory_that_is_needed_is_not_used_again(session: gpu.Session) -> None:
    """Neither that of an array that recorded work reads, nor that of a recording that may be replayed."""
    size = 64
    one, two = np.ones(size, np.float32), np.full(size, 2, np.float32)
    given = session.array(one)
    output = negated(session, given, size)
    del given  # recorded work still reads it
    others = [session.array(two) for _ in range(4)]
    others += [negated(session, other, size) for other in others]
    assert output.numpy().tolist() == [-1.0] * size
    given = session.array(one)
    output = negated(session, negated(session, given, size), size)
    recording = session.submit()
    del given
    others += [session.array(two) for _ in range(8)]
    recording.replay()
    assert output.numpy().tolist() == [1.0] * size
    assert [float(other.numpy()[0]) for other in others] == [2] * 4 + [-2] * 4 + [2] * 8
    allocated = session.allocated
    del recording, output
    gc.collect()
    others += [session.array(two) for _ in range(3)]  # in the memory of the recording
    assert session.allocated == allocated


def test_a_pipeline_is_destroyed_with_its_last_user(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings keep theirs while the device's cache, here of one, gives way to others."""
    monkeypatch.setattr(devices, "MOST_PIPELINES", 1)
    physical = next(one for name, one in devices._physical_devices() if name == device.name)
    small = devices.Device(physical)
    destroyed, destroy = [], vk.vkDestroyPipeline

    def destroying(handle: Any, pipeline: Any, allocator: Any) -> None:
        destroyed.append(pipeline)
        destroy(handle, pipeline, allocator)

    monkeypatch.setattr(vk, "vkDestroyPipeline", destroying)
    with gpu.Session(small) as session:
        given = session.array(np.ones(8, np.float32))
        negative = negated(session, given, 8)
        recording = session.submit()
        doubled = added(session, given, given, 8)
        session.submit()
        assert doubled.numpy().tolist() == [2.0] * 8
        gc.collect()
        assert len(destroyed) == 0
        given.write(np.full(8, 3, np.float32))
        recording.replay()
        assert negative.numpy().tolist() == [-3.0] * 8
        del recording
        session.array(np.ones(8, np.float32))  # and the session lets it go
        gc.collect()
        assert len(destroyed) == 1


def test_a_replay_finds_what_was_uploaded(session: gpu.Session) -> None:
    """Within a recording, outputs take over the memory of outputs that are gone, never that of uploads."""
    size = 64
    value = given = session.array(np.ones(size, np.float32))
    for addend in (1, 2, 3):
        value = added(session, value, session.array(np.full(size, addend, np.float32)), size)
    recording = session.submit()
    for start in (1, 5):
        given.write(np.full(size, start, np.float32))
        recording.replay()
        assert value.numpy().tolist() == [start + 6.0] * size


def test_scratch_that_must_be_zeros_is_cleared_at_every_replay(session: gpu.Session) -> None:
    size = (65, 64)  # too large for a single group, which would need no scratch
    values, indices = TensorDesc("FLOAT32", size), TensorDesc("INT32", size)
    desc = dmlops.ScatterElements(
        InputTensor=values, IndicesTensor=indices, UpdatesTensor=values, Axis=1
    ).infer()
    assert gpu.plan(desc).zero_initialize
    rng = np.random.default_rng(0)
    arrays = {"InputTensor": np.zeros(size, np.float32), "IndicesTensor": np.zeros(size, np.int32)}
    arrays["UpdatesTensor"] = np.ones(size, np.float32)
    given = {name: session.array(array) for name, array in arrays.items()}
    outputs = [session.run(desc, given)["OutputTensor"] for _ in range(3)]
    recording = session.submit()
    for _ in range(3):
        for name, array in arrays.items():
            array[...] = rng.integers(0, 64, array.shape)
            given[name].write(array)
        recording.replay()
        expected = reference.run(desc, arrays)["OutputTensor"].tolist()
        assert [output.numpy().tolist() for output in outputs] == [expected] * 3


def test_in_place(session: gpu.Session) -> None:
    given = session.array(np.arange(8, dtype=np.float32))
    before = negated(session, given, 8)
    one = session.array(np.ones(8, np.float32))
    allocated = session.allocated
    output = session.run(add(8), {"ATensor": given, "BTensor": one}, in_place="ATensor")["OutputTensor"]
    assert session.allocated == allocated
    after = negated(session, output, 8)
    recording = session.submit()
    assert before.numpy().tolist() == (-np.arange(8.0)).tolist()
    assert after.numpy().tolist() == (-np.arange(8.0) - 1).tolist()
    assert given.numpy().tolist() == output.numpy().tolist()
    recording.replay()
    assert after.numpy().tolist() == (-np.arange(8.0) - 2).tolist()
    same = session.run(add(8), {"ATensor": one, "BTensor": one}, in_place="BTensor")["OutputTensor"]
    assert same.numpy().tolist() == [2.0] * 8
    desc = dmlops.ElementWiseAdd1(
        ATensor=TensorDesc("FLOAT32", (2, 2)), BTensor=TensorDesc("FLOAT32", (2, 2), Strides=(1, 2))
    ).infer()
    with pytest.raises(
        ValueError, match=r"^OutputTensor cannot take .* ATensor: BTensor is another view of it$"
    ):
        session.run(desc, {"ATensor": one, "BTensor": one}, in_place="ATensor")


def test_outputs_in_place_have_a_buffer_each(session: gpu.Session) -> None:
    """Two of them cannot take the same array, which two inputs may be; one can."""
    tensor, count = TensorDesc("FLOAT32", (1, 1, 1, 8)), TensorDesc("UINT32", (1, 1, 1, 1))
    names = [member.name for member in dmlops.AdamOptimizer.MEMBERS if member.role in ("input", "output")]
    rates = {"LearningRate": 0.1, "Beta1": 0.9, "Beta2": 0.99, "Epsilon": 1e-3}
    desc = dmlops.AdamOptimizer(**{**dict.fromkeys(names, tensor), "TrainingStepTensor": count}, **rates)
    values, step = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 1, 8), np.ones((1, 1, 1, 1), np.uint32)
    one, turn = session.array(values), session.array(step)
    given = dict.fromkeys(desc.IN_PLACE, one) | {"TrainingStepTensor": turn}
    in_place = {
        "OutputParametersTensor": "InputParametersTensor",
        "OutputFirstMomentTensor": "InputFirstMomentTensor",
    }
    with pytest.raises(ValueError, match=r"^OutputParametersTensor cannot take .* InputFirstMomentTensor$"):
        session.run(desc, given, in_place=in_place)
    expected = reference.run(desc, {name: handle.numpy() for name, handle in given.items()})
    in_place.popitem()
    found = session.run(desc, given, in_place=in_place)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name].numpy(), array, 1e-6, err_msg=name)


def test_tensors_are_views_of_buffers(session: gpu.Session) -> None:
    values = np.arange(12, dtype=np.float32)
    array = session.array(values)
    desc = dmlops.ElementWiseAdd1(
        ATensor=TensorDesc("FLOAT32", (3, 4)), BTensor=TensorDesc("FLOAT32", (3, 4), Strides=(0, 1))
    ).infer()
    output = session.run(desc, {"ATensor": array, "BTensor": array})["OutputTensor"]
    assert output.numpy().tolist() == (values.reshape(3, 4) + values[:4]).tolist()
    turned = TensorDesc("FLOAT32", (4, 3), Strides=(1, 4))
    placed = session.array(values.reshape(4, 3), turned)
    assert placed.numpy().tolist() == values.reshape(4, 3).tolist()
    assert negated(session, placed, 12).numpy().tolist() == (-values.reshape(4, 3).T.ravel()).tolist()


def test_what_does_not_fit_is_refused_by_name(device: Any, session: gpu.Session) -> None:
    array = session.array(np.ones(8, np.float32))
    output = negated(session, array, 8)
    with pytest.raises(
        ValueError, match=r"^InputTensor reaches over 36 bytes; the array bound to it has 32$"
    ):
        negated(session, array, 9)
    with pytest.raises(ValueError, match=r"^InputTensor has elements of FLOAT32; .* has INT32$"):
        negated(session, session.array(np.ones(8, np.int32)), 8)
    with pytest.raises(ValueError, match=r"^InputTensor must be an array of the session"):
        negated(session, np.ones(8, np.float32), 8)
    with pytest.raises(ValueError, match=r"^BTensor is missing"):
        session.run(add(8), {"ATensor": array})
    with pytest.raises(dmlops.InvalidDescription):
        session.run(dmlops.ElementWiseNegate(InputTensor=TensorDesc("FLOAT32", ())), {"InputTensor": array})
    with pytest.raises(ValueError, match="the array must be a NumPy array of float32"):
        array.write(np.ones(7, np.float32))
    with pytest.raises(ValueError, match=r"the tensor\.Strides"):
        session.array(np.ones(8, np.float32), TensorDesc("FLOAT32", (8,), Strides=(1, 1)))
    with (
        gpu.Session(device) as other,
        pytest.raises(ValueError, match=r"^InputTensor is an array of another session$"),
    ):
        negated(other, array, 8)
    assert output.numpy().tolist() == [-1.0] * 8  # what was recorded before still runs


def test_a_full_device_leaves_the_session_usable(
    device: Any, session: gpu.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = session.array(np.ones(LARGE, np.float32))
    output = negated(session, array, LARGE)

    def full(size: int, *memory: int) -> Any:
        raise gpu.Unsupported("no memory left")

    with monkeypatch.context() as patched:
        patched.setattr(device, "buffer", full)
        with pytest.raises(gpu.Unsupported, match="no memory left"):
            negated(session, array, LARGE)
        with pytest.raises(gpu.Unsupported, match="no memory left"):
            output.numpy()  # constants need memory, too
    assert output.numpy().tolist() == [-1.0] * LARGE


def test_a_full_device_gives_up_what_is_only_kept(
    device: Any, session: gpu.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = session.array(np.ones(LARGE, np.float32))
    kept = session.array(np.ones(2 * LARGE, np.float32))
    before, allocate = session.allocated, device.buffer

    def full(size: int, *memory: int) -> Any:
        if session.allocated == before:
            raise gpu.Unsupported("no memory left")
        return allocate(size, *memory)

    del kept
    monkeypatch.setattr(device, "buffer", full)
    made = session.array(np.full(4 * LARGE, 2, np.float32))
    assert session.allocated == 4 * (LARGE + 4 * LARGE)
    assert made.numpy().tolist() == [2.0] * 4 * LARGE
    assert needed.numpy().tolist() == [1.0] * LARGE


def test_small_arrays_side_by_side_keep_apart(session: gpu.Session) -> None:
    """Of many sizes, more together than fit in one block of memory, among them some too large for that."""
    rng = np.random.default_rng(0)
    values = [rng.random(size, np.float32) for size in (1, LARGE, *rng.integers(1, 1 << 15, 80))]
    arrays = [session.array(one) for one in values]
    outputs = [negated(session, array, one.size) for array, one in zip(arrays, values, strict=True)]
    for array, output, one in zip(arrays, outputs, values, strict=True):
        assert array.numpy().tobytes() == one.tobytes()
        assert output.numpy().tobytes() == (-one).tobytes()


def test_what_owns_memory_cannot_be_copied(session: gpu.Session) -> None:
    """A copy that is gone would give up the memory of the original, for others to write to."""
    array = session.array(np.ones(8, np.float32))
    output = negated(session, array, 8)
    recording = session.submit()
    for owner in (session, array, recording):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"{type(owner).__name__} objects cannot be copied"):
                duplicate(owner)
    others = [session.array(np.zeros(8, np.float32)) for _ in range(4)]
    assert array.numpy().tolist() == [1.0] * 8
    assert output.numpy().tolist() == [-1.0] * 8
    assert not any(other.numpy().any() for other in others)


def test_a_closed_session_answers_no_more(device: Any) -> None:
    with gpu.Session(device) as session:
        array = session.array(np.ones(8, np.float32))
        output = negated(session, array, 8)
        recording = session.submit()
        with pytest.raises(ValueError, match="nothing has been recorded"):
            session.submit()
    session.close()
    assert session.allocated == 0
    for use in (
        output.numpy,
        recording.replay,
        session.submit,
        lambda: array.write(np.ones(8, np.float32)),
        lambda: negated(session, array, 8),
        lambda: session.array(np.ones(8, np.float32)),
    ):
        with pytest.raises(ValueError, match=r"^the session is closed$"):
            use()


def test_threads_take_turns(session: gpu.Session) -> None:
    found: dict[int, list[float]] = {}

    def work(number: int) -> None:
        value = session.array(np.full(64, number, np.float32))
        for _ in range(9):
            value = negated(session, value, 64)
        found[number] = value.numpy().tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [-float(number)] * 64 for number in range(8)}


@pytest.mark.parametrize("seed", range(6))
def test_random_sequences_give_what_numpy_gives(session: gpu.Session, seed: int) -> None:
    """Arrays are made, used, changed in place, written and dropped, and recordings replayed, in any order."""
    rng = np.random.default_rng(seed)
    sizes = (256,)
    held: list[tuple[Any, Any]] = []  # handles, and what the device's buffers should hold
    pending: list[tuple[Any, ...]] = []
    recordings: list[tuple[Any, list[tuple[Any, ...]]]] = []

    def execute(steps: list[tuple[Any, ...]]) -> None:
        for target, left, right in steps:
            target[...] = left + right

    def finish() -> None:
        if pending:
            recordings.append((session.submit(), pending.copy()))
            execute(pending)
            pending.clear()

    for _ in range(150):
        action = rng.choice(["make", "add", "add", "add", "in place", "drop", "write", "submit", "replay"])
        if action == "make" or len(held) < 3:
            values = rng.integers(-9, 9, sizes).astype(np.float32)
            held.append((session.array(values), values.copy()))
        elif action in ("add", "in place"):
            (left, a), (right, b) = (held[index] for index in rng.choice(len(held), 2, replace=False))
            if a is b:
                continue
            in_place = "ATensor" if action == "in place" else None
            given = {"ATensor": left, "BTensor": right}
            output = session.run(add(*sizes), given, in_place=in_place)["OutputTensor"]
            target = a if in_place else np.empty_like(a)
            pending.append((target, a, b))
            held.append((output, target))
        elif action == "drop":
            del held[rng.integers(len(held))]
            left = right = output = None
        elif action == "write":
            finish()
            handle, values = held[rng.integers(len(held))]
            values[...] = rng.integers(-9, 9, sizes)
            handle.write(values)
        elif action == "submit":
            finish()
            if len(recordings) > 3:
                del recordings[rng.integers(len(recordings))]
        elif recordings:
            finish()
            recording, steps = recordings[rng.integers(len(recordings))]
            recording.replay()
            execute(steps)
    finish()
    for handle, values in held:
        assert handle.numpy().tobytes() == values.tobytes()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_forked_process_is_told_to_open_its_own(session: gpu.Session) -> None:
    output = negated(session, session.array(np.ones(8, np.float32)), 8)
    context = multiprocessing.get_context("fork")
    answers: Any = context.SimpleQueue()

    def use() -> None:
        try:
            output.numpy()
        except gpu.GpuUnavailable as error:
            answers.put(str(error))
        session.close()

    child = context.Process(target=use)
    child.start()
    child.join(60)
    assert (child.exitcode, "before this process was forked" in answers.get()) == (0, True)
    assert output.numpy().tolist() == [-1.0] * 8
