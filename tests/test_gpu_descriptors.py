"""Descriptor buffers, on devices that have room for them, and descriptor sets give the same results."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu import compiler
from dmlops.gpu import device as devices
from dmlops.gpu.resources import Binding
from gpu_device import device, run_in_guard_zones
from gpu_networks import TransformerLayer, draw

__all__ = ["device"]

MANY = 9000  # bound pipelines at once: their descriptors take more than a block of memory


@pytest.fixture(params=["as detected", "sets"])
def either(request: pytest.FixtureRequest, device: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The device as it is, and opened again without descriptors in memory."""
    if request.param == "as detected":
        return device
    detected = devices.detected
    monkeypatch.setattr(devices, "detected", lambda *of: replace(detected(*of), has_descriptor_memory=False))
    physical = next(one for name, one in devices._physical_devices() if name == device.name)
    found = devices.Device(physical)
    assert found.descriptors is None
    return found


def test_every_buffer_is_the_one_that_was_bound(either: Any) -> None:
    """Several inputs, an absent one, outputs and scratch, each between guard zones."""
    rng = np.random.default_rng(0)
    sizes = {"InputTensor": (1, 2, 3, 5), "FilterTensor": (4, 2, 2, 2), "BiasTensor": (1, 4, 1, 1)}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in sizes.items()}
    tensors = {name: TensorDesc("FLOAT32", shape) for name, shape in sizes.items()}
    for given in (sizes, ("InputTensor", "FilterTensor")):
        inputs = {name: arrays[name] for name in given}
        desc = dmlops.make.convolution(**{name: tensors[name] for name in given})
        found = run_in_guard_zones(either, desc, inputs)["OutputTensor"]
        expected = reference.run(desc, inputs)["OutputTensor"]
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
        again = gpu.run(desc, inputs, either)["OutputTensor"]
        assert again.tobytes() == found.tobytes()


def test_recordings_keep_their_buffers(either: Any) -> None:
    """Descriptors that were given back are written again, those of recordings that are alive are not."""
    network = TransformerLayer(6, 16, 4)
    data = draw(network.shapes, network.data_type)
    expected = network.run(reference.run, data)
    with gpu.Session(either) as session:
        handles = {key: session.array(array) for key, array in data.items()}
        output = network.run(session.run, handles)
        recording = session.submit()
        for _ in range(3):
            other = network.run(session.run, handles)
            session.submit()
            recording.replay()
            for one in (output, other):
                tolerance = 1e-5 * np.abs(expected).max()
                np.testing.assert_allclose(one.numpy(), expected, 1e-5, tolerance)


def test_more_pipelines_are_bound_than_a_block_has_descriptors_for(either: Any) -> None:
    desc = dmlops.ElementWiseNegate(InputTensor=TensorDesc("FLOAT32", (64,))).infer()
    (dispatch,) = gpu.plan(desc, either.capabilities).dispatches
    pipeline = either.pipeline(compiler.compile(gpu.shader(desc.OPERATOR), dispatch.defines), 2)
    values = np.arange(128, dtype=np.float32)
    with ExitStack() as cleanup:

        def buffer(size: int) -> Any:
            made = either.buffer(size)
            cleanup.callback(made.close)
            return made

        source, target, constants = buffer(512), buffer(256 * MANY), buffer(len(dispatch.constants))
        either.upload(source, values.tobytes())
        either.upload(constants, dispatch.constants)
        bound = [
            cleanup.enter_context(
                pipeline.bind(
                    [
                        Binding(source, 256 * (number % 2), 256),
                        Binding(target, 256 * number, 256),
                        Binding(constants, 0, constants.size),
                    ]
                )
            )
            for number in range(MANY)
        ]

        def record(commands: Any) -> None:
            for one in bound:
                one.record(commands, (*dispatch.groups, 1))

        either.submit(record)
        found = np.frombuffer(either.download(target), np.float32).reshape(MANY, 64)
    np.testing.assert_array_equal(found, -values.reshape(2, 64)[np.arange(MANY) % 2])
