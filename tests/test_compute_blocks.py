"""Element-wise operators on tensors contiguous along different dimensions: the shader's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu.plans import map as map_planner
from gpu_device import device, run_in_guard_zones
from operator_runs import vectors_of_any_tensor

__all__ = ["device", "vectors_of_any_tensor"]

LAYOUTS = [  # sizes and strides of the input
    ((64, 128), (1, 64)),
    ((8, 12), (1, 16)),  # gaps
    ((40, 4), (1, 40)),  # blocks that no patch of them is made of
    ((3, 8, 12), (96, 1, 8)),
    ((16, 12, 20), (1, 16, 192)),
    ((2, 3, 16, 20), (960, 320, 1, 16)),
    ((4, 8, 2, 3, 4, 8), (1, 4, 3072, 32, 96, 384)),
]


def identity(data_type: str, sizes: Sequence[int], strides: Sequence[int]) -> dmlops.Description:
    tensor = {"DataType": data_type, "Sizes": list(sizes)}
    members = {"InputTensor": {**tensor, "Strides": list(strides)}, "OutputTensor": tensor}
    return dmlops.from_json({"type": "ELEMENT_WISE_IDENTITY", "desc": members})


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16", "INT8", "INT64"])
@pytest.mark.parametrize(("sizes", "strides"), LAYOUTS)
def test_turned_inputs(data_type: str, sizes: tuple[int, ...], strides: tuple[int, ...], device: Any) -> None:
    desc = identity(data_type, sizes, strides)
    assert desc.validate("6.4") == []
    (dispatch,) = gpu.plan(desc).dispatches
    assert (dispatch.defines["BLOCKS"], dispatch.defines["INPUT_TRANSPOSED"]) == (1, 1)
    data = np.random.default_rng(0).integers(-99, 99, sizes).astype(data_type.lower())
    np.testing.assert_array_equal(
        run_in_guard_zones(device, desc, {"InputTensor": data})["OutputTensor"], data
    )


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [((64, 128), (128, 1)), ((5, 8), (1, 5)), ((8, 8), (1, 9)), ((8, 7), (1, 8)), ((8, 8), (0, 1))],
)
def test_no_blocks_where_vectors_do_not_fit(
    sizes: tuple[int, ...], strides: tuple[int, ...], device: Any
) -> None:
    desc = identity("FLOAT32", sizes, strides)
    assert gpu.plan(desc).dispatches[0].defines["BLOCKS"] == 0
    data = np.arange(float(np.prod(sizes)), dtype=np.float32).reshape(sizes)
    data[:] = data[:1] if strides[0] == 0 else data
    np.testing.assert_array_equal(
        run_in_guard_zones(device, desc, {"InputTensor": data})["OutputTensor"], data
    )


def test_one_input_turned_and_one_not(device: Any) -> None:
    a, b = np.random.default_rng(0).integers(-99, 99, (2, 24, 40)).astype(np.float32)
    tensor = {"DataType": "FLOAT32", "Sizes": [24, 40]}
    members = {"ATensor": {**tensor, "Strides": [1, 24]}, "BTensor": tensor, "OutputTensor": tensor}
    desc = dmlops.from_json({"type": "ELEMENT_WISE_SUBTRACT", "desc": members})
    defines = gpu.plan(desc).dispatches[0].defines
    assert (defines["A_TRANSPOSED"], defines["B_TRANSPOSED"]) == (1, 0)
    found = run_in_guard_zones(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    np.testing.assert_array_equal(found, a - b)


@pytest.mark.parametrize(
    ("data_type", "sizes", "strides", "vectors"),
    [
        ("FLOAT16", (3, 4, 512), (2048, 512, 1), 2),
        ("FLOAT16", (3, 4, 512), (0, 520, 1), 2),  # repeated, with gaps
        ("UINT8", (5, 4, 1024), (4096, 1024, 1), 4),
        ("FLOAT32", (3, 64, 512), (32768, 512, 1), 2),
        ("FLOAT16", (3, 4, 520), (2080, 520, 1), 1),  # groups do not divide the vectors
    ],
)
def test_threads_write_several_narrow_vectors(
    data_type: str,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    vectors: int,
    device: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(map_planner, "ELEMENTWISE_BUSY", 1)
    desc = identity(data_type, sizes, strides)
    (dispatch,) = gpu.plan(desc).dispatches
    assert dispatch.defines["VECTORS"] == vectors
    data = np.broadcast_to(np.arange(100).repeat(21)[: sizes[2]], sizes) + np.arange(sizes[1])[:, None]
    data = data.astype(data_type.lower())
    np.testing.assert_array_equal(
        run_in_guard_zones(device, desc, {"InputTensor": data})["OutputTensor"], data
    )
