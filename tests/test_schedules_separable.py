"""Outputs that consist of taps along each axis."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.schedules.separable import Mode, Separable
from schedule_cases import Variant, operators_with


def test_only_resampling_has_such_taps() -> None:
    """For each mode whether it is a sum, also along one axis after the others, whether taps are left out, and
    whether they are weighted."""

    def kind(mode: Mode) -> tuple[bool, bool, bool, bool]:
        taps = mode.taps
        return bool(mode.totals), mode.combined is not None, taps.takes is not None, taps.weight is not None

    found = operators_with(Separable)
    modes = {name: list(map(kind, form.modes)) for name, form in found.items()}
    blended, chosen = (True, True, False, True), (False, False, False, False)
    forward = {name: [blended, chosen] for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "UPSAMPLE_2D")}
    back = {
        name: [(True, True, True, True), (True, True, True, False)]
        for name in ("RESAMPLE_GRAD", "RESAMPLE_GRAD1")
    }
    assert modes == forward | back | {"RESAMPLE3": [blended, blended, chosen]}


SECTION = """compute:
  uses: [resample]
  outputs:
    OutputTensor: "{}"
"""
NEXT = "[at[d] + 1 for d in range(dims)]"
BOX = f"for p in ndindex([at[d] for d in range(dims)], {NEXT})"
LATER = "all(p[d] > 0 for d in range(dims))"
TURNED = "[at[dims - 1 - d] for d in range(dims)]"


@pytest.mark.parametrize(
    ("value", "totals"),
    [
        (f"quantize(sum(weights(p) * float(InputTensor[p]) {BOX}), OutputTensor)", 1),
        (f"quantize(sum(float(InputTensor[p]) * weights(p) {BOX}), OutputTensor)", 1),
        (f"quantize(2 * sum(float(InputTensor[p]) {BOX}) + 1, OutputTensor)", 1),
        (f"quantize(sum(float(InputTensor[p]) {BOX} if {LATER}), OutputTensor)", 1),
        (f"quantize(sum(weights(p) * float(InputTensor[p]) {BOX}) / sum(weights(p) {BOX}), OutputTensor)", 2),
        ("InputTensor[[at[d] // 2 for d in range(dims)]]", 0),
        (f"quantize(max(weights(p) * float(InputTensor[p]) {BOX}), OutputTensor)", None),
        (f"quantize(sum(weights(p) + float(InputTensor[p]) {BOX}), OutputTensor)", None),
        (f"quantize(sum(float(InputTensor[p]) * float(p[0]) {BOX}), OutputTensor)", None),
        (f"quantize(sum(float(InputTensor[p]) * float(InputTensor[p]) {BOX}), OutputTensor)", None),
        (f"quantize(sum(float(InputTensor[p]) {BOX}) * float(at[0]), OutputTensor)", None),
        (f"quantize(sum(float(InputTensor[p]) for p in ndindex({TURNED}, {NEXT})), OutputTensor)", None),
        (f"InputTensor[{TURNED}]", None),
        ("InputTensor[[at[d] for d in range(dims - 1)] + [0]]", None),
    ],
    ids=[
        "as it is", "turned round", "without weights", "some of them", "a mean", "one element",
        "greatest", "no product", "weighted along one axis", "squares", "made of where it is",
        "another dimension's", "turned", "not a list for all",
    ],
)  # fmt: skip
def test_taps_along_axes_are_found(value: str, totals: int | None, tmp_path: Path) -> None:
    form = Variant(tmp_path, "RESAMPLE1", SECTION.format(value)).form_of(Separable)
    assert form is None or [len(mode.totals) for mode in form.modes] == [totals]
    assert (form is None) == (totals is None)


@pytest.mark.parametrize(
    "value",
    [
        f"quantize(2 * sum(float(InputTensor[p]) {BOX}), OutputTensor)",
        f"quantize(sum(abs(float(InputTensor[p])) {BOX}), OutputTensor)",
        f"quantize(sum(weights(p) {BOX}) / sum(weights(p) * float(InputTensor[p]) {BOX}), OutputTensor)",
    ],
    ids=["a multiple", "of magnitudes", "a mean turned round"],
)
def test_other_values_are_not_combined_axis_by_axis(value: str, tmp_path: Path) -> None:
    form = Variant(tmp_path, "RESAMPLE1", SECTION.format(value)).form_of(Separable)
    assert form is not None and [mode.combined for mode in form.modes] == [None]
