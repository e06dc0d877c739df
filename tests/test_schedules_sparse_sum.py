"""Outputs that sum selected terms, and those with several elements per thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.schedules.sparse_sum import SparseSum
from dmlgen.schedules.vector_axis import VectorAxis
from schedule_cases import Variant, operators_with


def test_gradients_of_sampling_add_up_selected_terms() -> None:
    """Each with the dimensions tested, and the one whose elements share the terms."""
    found = operators_with(SparseSum)
    assert {name: (list(form.tests), form.apart) for name, form in found.items()} == {
        "ROI_ALIGN_GRAD": ([0, 2, 3], 1)
    }


def test_sampled_regions_have_a_vector_axis() -> None:
    """All of them channels of the image."""
    found = operators_with(VectorAxis)
    expected = ("OutputTensor", "InputTensor", 1, 1)
    assert {
        name: (form.output, form.tensor, form.axis, form.tensor_axis) for name, form in found.items()
    } == dict.fromkeys(("ROI_ALIGN", "ROI_ALIGN1", "ROI_POOLING"), expected)


SECTION = """compute:
{}  outputs: {{OutputTensor: "{}"}}
"""
SUM = "sum({} for r in range(RoiCount) for o in ndindex(ROITensor.Sizes[2:]) if {})"


def variant(folder: Path, value: str) -> Variant:
    """ROI_POOLING with another value, where f(r) is a coordinate of region r."""
    let = '  let: {f(r): "ROITensor[[0, 0, r, 1]]"}\n' if "f(" in value else ""
    return Variant(folder, "ROI_POOLING", SECTION.format(let, value))


@pytest.mark.parametrize(
    ("term", "condition", "fits"),
    [
        ("f(r)", "float(at[2]) > f(r) and float(at[3]) < f(r)", True),
        ("f(r) * f(at[1])", "at[0] == r and at[2] > o[0] and at[3] > o[1]", True),
        ("f(r)", "at[2] > o[0] and at[3] > o[1] and f(r) > f(at[1])", True),
        ("f(r)", "at[2] > o[0] and at[3] > o[1] and at[2] + at[3] > r", True),
        ("f(r)", "at[2] > o[0]", False),
        ("f(r)", "at[2] + at[3] > r and at[0] == r", False),
        ("f(r)", "at[0] == r and at[1] == r and at[2] > o[0] and at[3] > o[1]", False),
        ("f(r)", "at[2] > o[0] or at[3] > o[1]", False),
    ],
    ids=[
        "regions", "cells", "with one more condition", "with one of two coordinates",
        "one test", "one test of one coordinate", "all coordinates tested", "one of two tests",
    ],
)  # fmt: skip
def test_selected_terms_are_found(term: str, condition: str, fits: bool, tmp_path: Path) -> None:
    found = variant(tmp_path, SUM.format(term, condition)).form_of(SparseSum)
    assert (found is not None) == fits


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("sum(InputTensor[[r, at[1], at[2], at[3]]] * f(r) for r in range(RoiCount))", True),
        ("max(InputTensor[[0, at[1]] + p] for p in ndindex(at[2:])) if f(at[0]) > 0 else 0", True),
        ("InputTensor[[0, at[1], at[2], 0]] / sum(f(r) for r in range(RoiCount))", True),
        ("sum(InputTensor[[r, at[1], 0, at[3]]] * f(at[1]) for r in range(RoiCount))", False),
        ("sum(InputTensor[[r, at[1] + 1, 0, 0]] for r in range(RoiCount))", False),
        ("sum(InputTensor[[r, at[1], at[1], 0]] for r in range(RoiCount))", False),
        ("sum(abs(InputTensor[[r, at[1], 0, 0]]) for r in range(RoiCount))", False),
        ("sum(f(r) for r in range(RoiCount) if InputTensor[[r, at[1], 0, 0]] > 0)", False),
        ("max(InputTensor[[0, at[1]] + p] for p in ndindex(at[1:3]))", False),
    ],
    ids=[
        "sum", "greatest", "quotient", "other weights", "shifted", "twice", "of a function",
        "in a condition", "another box",
    ],
)  # fmt: skip
def test_a_vector_axis_is_found(value: str, fits: bool, tmp_path: Path) -> None:
    assert (variant(tmp_path, value).form_of(VectorAxis) is not None) == fits
