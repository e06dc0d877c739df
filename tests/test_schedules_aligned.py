"""Computations that step through all tensors together: which ones do, and their results with blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlgen.schedules import schedule_of
from dmlgen.schedules.aligned import blocked, is_aligned, single
from dmlgen.schedules.schedule import Schedule
from gpu_device import device
from operator_runs import run
from schedule_cases import Variant
from whole_registry import whole_registry

__all__ = ["device"]


def schedule(operator: str) -> Schedule | None:
    return schedule_of(whole_registry(), whole_registry().operator[operator])


def aligned(schedule: Schedule | None) -> bool:
    return schedule is not None and is_aligned(schedule)


def test_scales_are_of_blocks_or_of_all_elements() -> None:
    for name in ("QUANTIZE", "DEQUANTIZE"):
        found = schedule(name)
        assert found is not None and is_aligned(found)
        assert sorted(blocked(found)) == ["QuantizationTensors[0]", "QuantizationTensors[1]"]
    add = schedule("ELEMENT_WISE_QUANTIZED_LINEAR_ADD")
    assert add is not None and is_aligned(add)
    assert len(single(add)) == 6 and not blocked(add)


@pytest.mark.parametrize("operator", ["TILE", "DEPTH_TO_SPACE", "SLICE", "PADDING"])
def test_what_moves_elements_needs_coordinates(operator: str) -> None:
    assert not aligned(schedule(operator))


SECTION = """compute:
  let:
    blocks: "[{} for d in axes(InputTensor)]"
    block: "[{} for d in axes(InputTensor)]"
  outputs:
    OutputTensor: float(InputTensor[at]) * QuantizationTensors[0][block]
"""
WHOLE = "InputTensor.Sizes[d] // QuantizationTensors[0].Sizes[d]"
BLOCK = "at[d] // blocks[d]"


@pytest.mark.parametrize(
    ("blocks", "block", "expected"),
    [
        (WHOLE, BLOCK, True),
        ("2", BLOCK, False),
        (WHOLE, "at[d] % blocks[d]", False),
        (f"{WHOLE} + 1", BLOCK, False),
        ("InputTensor.Sizes[d] // OutputTensor.Sizes[d]", BLOCK, False),
    ],
    ids=["as it is", "of a fixed size", "remainders", "larger ones", "those of another tensor"],
)
def test_only_blocks_that_sizes_tell_are_known(
    blocks: str, block: str, expected: bool, tmp_path: Path
) -> None:
    variant = Variant(tmp_path, "DEQUANTIZE", SECTION.format(blocks, block))
    assert variant.form == "map"
    assert aligned(variant.schedule) is expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [("at", True), ("[ATensor.Sizes[d] - 1 - at[d] for d in axes(ATensor)]", False)],
    ids=["the element", "its mirror image"],
)
def test_every_read_of_a_tensor_counts(other: str, expected: bool, tmp_path: Path) -> None:
    section = f"compute:\n  outputs:\n    OutputTensor: ATensor[at] + ATensor[{other}] + BTensor[at]\n"
    variant = Variant(tmp_path, "ELEMENT_WISE_ADD", section)
    assert variant.form == "map"
    assert aligned(variant.schedule) is expected


@pytest.mark.parametrize(
    ("sizes", "scales"),
    [
        ((6, 64), (6, 1)),
        ((6, 64), (3, 2)),
        ((6, 64), (1, 64)),
        ((5, 7), (5, 7)),
        ((2, 4, 2, 4, 2, 4, 2, 8), (1, 2, 1, 2, 1, 2, 1, 2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("data_type", ["INT8", "UINT4"])
def test_blocks_share_a_scale(
    device: Any, sizes: tuple[int, ...], scales: tuple[int, ...], data_type: str
) -> None:
    random = np.random.default_rng(0)
    given = {
        "InputTensor": random.integers(0, 16, sizes).astype("uint8" if data_type[0] == "U" else "int8"),
        "QuantizationTensors": [random.uniform(0.5, 2, scales).astype("float16")],
    }
    members = {"QuantizationType": "SCALE", "QuantizationTensorCount": 1}
    types = {"InputTensor": data_type}
    wanted, found = run(device, "DEQUANTIZE", given, ("FLOAT16", sizes), members, types=types)
    assert np.array_equal(found, wanted)
