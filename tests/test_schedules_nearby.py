"""Which outputs sum entries of an intermediate tensor around each element."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.schedules.nearby import Nearby
from schedule_cases import Variant
from whole_registry import whole_registry


def test_gradients_of_poolings_do() -> None:
    """Each with the intermediate tensor, and whether a condition chooses entries."""
    found = {one.name: form for one in whole_registry().operators if (form := one.form(Nearby))}
    assert {name: (form.tensor, form.condition is not None, form.head) for name, form in found.items()} == {
        "AVERAGE_POOLING_GRAD": ("Share", False, 2),
        "MAX_POOLING_GRAD": ("Winner", True, 2),
    }


SECTION = """compute:
  uses: [window]
  tensors:
    Share: {{sizes: InputGradientTensor.Sizes, value: "{}"}}
  outputs: {{OutputGradientTensor: "{}"}}
"""
SHARE = "InputGradientTensor[at] / 2.0"
ENDS = "[at[d + 2] + 1 for d in range(dims)]"


def form_of(folder: Path, share: str, value: str) -> Nearby | None:
    """The form of a gradient with other values."""
    return Variant(folder, "AVERAGE_POOLING_GRAD", SECTION.format(share, value)).operator.form(Nearby)


@pytest.mark.parametrize(
    "value",
    [
        "sum(Share[at[:2] + o] for o in box(first, last))",
        "2.0 * sum(Share[at[:2] + o] * Share[at[:2] + o] for o in box(first, last)) + 1.0",
        "sum(float(o[0]) for o in box(first, last) if Share[at[:2] + o] > 1.0)",
        f"sum(Share[at[:2] + o] for o in box(first, {ENDS}))",
    ],
    ids=["as it is", "made of sums of squares", "counted", "another box"],
)
def test_sums_around_elements_are_found(value: str, tmp_path: Path) -> None:
    assert form_of(tmp_path, SHARE, value) is not None


@pytest.mark.parametrize(
    "value",
    [
        "max(Share[at[:2] + o] for o in box(first, last))",
        "sum(Share[at[:2] + o] for o in box(first, last)) + Share[at]",
        "sum(Share[at[:1] + [0] + o] for o in box(first, last))",
        "sum(Share[at[:2] + o] for o in box(first, [at[3 - d] + 1 for d in range(dims)]))",
        "sum(Share[at[:2] + o] for o in box(first, [int(InputGradientTensor[at]) for d in range(dims)]))",
    ],
    ids=["greatest", "one more", "elsewhere", "turned", "where elements say"],
)
def test_what_nearly_is_one_is_none(value: str, tmp_path: Path) -> None:
    assert form_of(tmp_path, SHARE, value) is None
