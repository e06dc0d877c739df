"""Definitions by rows of which a whole tensor is one, and the shaders' results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlgen.schedules.rows import Rows
from dmlops import gpu, reference
from gpu_device import device
from operator_runs import description, like
from schedule_cases import Variant, operators_with

__all__ = ["device"]

OPERATOR = "DYNAMIC_QUANTIZE_LINEAR"


def test_dynamic_quantization_depends_on_the_range_of_a_tensor() -> None:
    form = operators_with(Rows)[OPERATOR]
    assert form.source == "InputTensor"
    assert [total.kind for total in form.totals] == ["min", "max"]
    assert list(form.each) == ["OutputTensor"]
    assert list(form.of_rows) == ["OutputScaleTensor", "OutputZeroPointTensor"]


SECTION = """compute:
  tensors:
    Total: {{sizes: "{}", value: "{}"}}
  outputs:
    OutputTensor: "quantize(InputTensor[at] + Total[[0]], OutputTensor)"
    OutputScaleTensor: "Total[[0]]"
    OutputZeroPointTensor: "convert(0, OutputZeroPointTensor)"
"""
ALL = "for p in ndindex(InputTensor.Sizes)"


@pytest.mark.parametrize(
    ("value", "sizes", "fits"),
    [
        (f"max(InputTensor[p] {ALL})", "[1]", True),
        (f"sum(InputTensor[p] {ALL})", "[1]", True),
        (f"2.0 * max(abs(InputTensor[p]) {ALL}) + min(InputTensor[p] {ALL})", "[1]", True),
        (f"product(InputTensor[p] {ALL})", "[1]", False),
        (f"max(InputTensor[p] {ALL} if InputTensor[p] > 0)", "[1]", False),
        (f"max(InputTensor[p] {ALL}) + InputTensor[[0 for d in axes(InputTensor)]]", "[1]", False),
        (f"max(InputTensor[p] {ALL})", "[2]", False),
        ("max(InputTensor[p] for p in ndindex([1 for d in axes(InputTensor)]))", "[1]", False),
    ],
    ids=["greatest", "sum", "made of two", "product", "of some", "one more", "twice", "of another box"],
)
def test_a_whole_tensor_is_a_row(value: str, sizes: str, fits: bool, tmp_path: Path) -> None:
    found = Variant(tmp_path, OPERATOR, SECTION.format(sizes, value)).form_of(Rows)
    assert (found is not None) == fits


@pytest.mark.parametrize("sizes", [(1,), (3, 5), (300, 1100), (1024, 1028)], ids=str)
@pytest.mark.parametrize(("data_type", "stored"), [("FLOAT32", "UINT8"), ("FLOAT16", "INT8")])
def test_groups_share_a_tensor(device: Any, sizes: tuple[int, ...], data_type: str, stored: str) -> None:
    """With more groups than one, or with outputs that are written in words, or neither."""
    ones = [1] * len(sizes)
    given = {"InputTensor": np.random.default_rng(0).uniform(-3, 5, sizes).astype(data_type.lower())}
    outputs = {
        "OutputTensor": like(stored, sizes),
        "OutputScaleTensor": like("FLOAT32", ones),
        "OutputZeroPointTensor": like(stored, ones),
    }
    desc = description(OPERATOR, {}, given | outputs)
    found, expected = gpu.run(desc, given, device), reference.run(desc, given)
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name
