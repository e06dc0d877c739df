"""`convert` and `quantize` inside expressions, and reductions of nothing, as the language's page states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.schedules.elementwise import Elementwise
from gpu_device import device
from schedule_cases import Variant, described

__all__ = ["device"]

WIDE = np.array([300.7, -300.7, 1e10, -1e10, np.nan, 200, -1], np.float32)


def section(value: str) -> str:
    return f'compute:\n  outputs:\n    OutputTensor: "{value}"\n'


def converted(folder: Path, device: Any, value: str, data_type: str, numbers: np.ndarray = WIDE) -> list[Any]:
    """The output of CAST to a data type, defined as `value`, in the reference and in its shader."""
    variant = Variant(folder, "CAST", section(value))
    arrays = {"InputTensor": numbers}
    desc = described("CAST", np.zeros(numbers.shape, data_type), arrays)
    whole = variant.by_definition(desc, arrays)["OutputTensor"]
    assert variant.by_shader(desc, arrays, device)["OutputTensor"].tolist() == whole.tolist()
    found: list[Any] = whole.tolist()
    return found


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ("int8", [44, -44, -1, 0, 0, -56, -1]),  # cut toward 0, limited to 32 bits, high bits cut off
        ("uint8", [44, 0, 255, 0, 0, 200, 0]),
        ("int32", [300, -300, 2**31 - 1, -(2**31), 0, 200, -1]),
    ],
)
def test_a_conversion_has_the_bits_of_its_type_before_more_is_made_of_it(
    data_type: str, expected: list[int], device: Any, tmp_path: Path
) -> None:
    halves = converted(tmp_path, device, "convert(InputTensor[at], OutputTensor) / 2", data_type)
    assert halves == [int(number / 2) for number in expected]


def test_what_storing_cuts_off_anyway_keeps_its_schedule(tmp_path: Path) -> None:
    sums = section("convert(InputTensor[at], OutputTensor) + 1")
    assert Variant(tmp_path, "CAST", sums).form_of(Elementwise) is not None


def test_reductions_of_nothing_have_the_type_of_their_elements(device: Any, tmp_path: Path) -> None:
    """`scaled` asks for it."""
    least = "convert(scaled(min(InputTensor[at] for k in range(0)), 1.0, 0.0), OutputTensor)"
    assert converted(tmp_path, device, least, "float32", np.zeros(2, np.int8)) == [127, 127]


def test_only_floats_are_quantized(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="float"):
        Variant(tmp_path, "CAST", section("quantize(at[0], OutputTensor)"))


BESIDE = np.array([44, 7, 7, 7, 0, 200, 255], np.uint8)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("int(ScaleTensor[at])", [44, 212, 0, 0, 0, 200, 255]),  # the low bits of 64
        ("int(ScaleTensor[at]) if ScaleTensor[at] > 0 else ZeroPointTensor[at]", [44, 7, 0, 7, 0, 200, 255]),
        ("int(ScaleTensor[at]) == ZeroPointTensor[at]", [0, 0, 0, 0, 1, 1, 0]),
        ("ZeroPointTensor[at] > int(ScaleTensor[at])", [0, 1, 0, 1, 0, 0, 1]),
    ],
)
def test_an_integer_has_64_bits_until_it_is_stored(
    value: str, expected: list[int], device: Any, tmp_path: Path
) -> None:
    variant = Variant(tmp_path, "ELEMENT_WISE_QUANTIZE_LINEAR", section(value))
    arrays = {"InputTensor": WIDE, "ScaleTensor": WIDE, "ZeroPointTensor": BESIDE}
    desc = described("ELEMENT_WISE_QUANTIZE_LINEAR", BESIDE, arrays)
    for found in (variant.by_definition(desc, arrays), variant.by_shader(desc, arrays, device)):
        assert found["OutputTensor"].tolist() == expected
