"""Scatters and compactions on a Vulkan device against the references, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc, gpu, reference
from gather_cases import random_bits
from gpu_device import device, run_in_guard_zones

__all__ = ["device"]


def rows_scattered(data_type: str, width: int, count: int) -> tuple[Any, dict[str, np.ndarray]]:
    """Rows of a 50-row tensor that `count` others replace, some twice, and its inputs."""
    whole, rows = TensorDesc(data_type, (50, width)), TensorDesc(data_type, (count, width))
    desc = dmlops.ScatterNd(
        InputTensor=whole, IndicesTensor=TensorDesc("INT32", (count, 1)), UpdatesTensor=rows,
        OutputTensor=whole, InputDimensionCount=2, IndicesDimensionCount=2,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    return desc, {
        "InputTensor": random_bits(rng, whole.Sizes, data_type.lower()),
        "IndicesTensor": rng.integers(-50, 50, (count, 1), np.int32),
        "UpdatesTensor": random_bits(rng, rows.Sizes, data_type.lower()),
    }


@pytest.mark.parametrize("count", [1, 40], ids=["few", "many"])
@pytest.mark.parametrize(
    ("data_type", "width", "bits"),
    [
        ("FLOAT32", 12, 128), ("FLOAT32", 6, 64), ("FLOAT32", 5, 32), ("FLOAT16", 24, 128),
        ("UINT8", 12, 32), ("UINT8", 7, 8), ("INT64", 4, 128),
    ],
)  # fmt: skip
def test_rows_move_in_runs(data_type: str, width: int, bits: int, count: int, device: Any) -> None:
    """As wide as divides them, up to 128 bits."""
    desc, inputs = rows_scattered(data_type, width, count)
    assert {one.defines["OUTPUT_TYPE"] for one in gpu.plan(desc).dispatches} == {f"UINT{bits}"}
    (found,) = run_in_guard_zones(device, desc, inputs).values()
    assert found.tobytes() == reference.run(desc, inputs)["OutputTensor"].tobytes()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("sizes", [(3, 1700), (2, 2, 2048), (9001,)], ids=["rows", "blocks", "line"])
def test_coordinates_of_several_blocks(sizes: tuple[int, ...], share: float, device: Any) -> None:
    """For any number of nonzero elements."""
    rng = np.random.default_rng(4)
    values = (rng.random(sizes) < share).astype(np.float32)
    desc = dmlops.NonzeroCoordinates(
        InputTensor=TensorDesc("FLOAT32", sizes), OutputCountTensor=TensorDesc("UINT32", (1,)),
        OutputCoordinatesTensor=TensorDesc("UINT32", (values.size, len(sizes))),
    )  # fmt: skip
    found = run_in_guard_zones(device, desc, {"InputTensor": values})
    for name, expected in reference.run(desc, {"InputTensor": values}).items():
        assert found[name].tobytes() == expected.tobytes(), name
