"""Queries, keys, values and outputs of attention that are views of tensors: which are recognized."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import written
from dmlgen.schedules.views import NO_VIEW, view_before, view_in, view_of
from schedule_cases import changed

NAMES = "Query Key Value StackedQueryKey StackedKeyValue StackedQueryKeyValue PastKey PastValue Output"
NUMBERS = {f"{name}Tensor": number for number, name in enumerate(NAMES.split())}
HEADS = "KeyValueHeads: HeadCount\n"
ROW = "QueryTensor[align([b, s, {}], QueryTensor.DimensionCount, 0)]"


def lowered(folder: Path, old: str, new: str) -> OutputDefinitions:
    """What the shader of attention computes, with one text of its section in place of another."""
    defines = changed(folder, "MULTIHEAD_ATTENTION", old, new).lowered.defines
    assert defines is not None
    return defines


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (ROW.format("h * HeadSize + e"), True),
        (ROW.format("e * Heads + h"), True),
        (ROW.format("ravel_index([h, HeadSize - 1 - e], [Heads, HeadSize])"), True),
        (ROW.format("h * e"), False),
        (ROW.format("h * HeadSize + at[min(HeadCount, 3)]"), False),
        (ROW.format("ravel_index([h, e % HeadSize], [Heads, HeadSize])"), False),
        (ROW.format("h * HeadSize + e") + " * 2", False),
        (ROW.format("h * HeadSize + e") + " if s > 0 else 0", False),
        (ROW.format("h * HeadSize + e") + " if in_bounds([s, h], [SequenceLength, 2]) else 0", True),
        (ROW.format("h * HeadSize + e") + " if HeadCount > 1 else 0", True),
    ],
)
def test_what_views_are(query: str, fits: bool, tmp_path: Path) -> None:
    defines = lowered(tmp_path, HEADS, f'{HEADS}    query(b, h, s, e): "{query}"\n')
    found = {one.name: view_of(written(one.value, {}), NUMBERS) != NO_VIEW for one in defines.tensors}
    assert found["Query"] == fits
    assert found["PresentKey"] and not found["Context"]


@pytest.mark.parametrize(
    ("old", "fits"),
    [
        ("present(P) and c[2] < PastSequenceLength", True),
        ("2 * c[2] < 7 and c[1] < 2", True),
        ("c[2] < PastSequenceLength or c[1] < 2", False),
        ("present(P) and c[2] < c[1]", False),
        ("present(P) and c[2] % 2 < 1", False),
        ("present(P)", False),
    ],
)
def test_what_stands_before(old: str, fits: bool, tmp_path: Path) -> None:
    """The keys that are not new ones; without limits, nothing says which these are."""
    defines = lowered(tmp_path, HEADS, f'{HEADS}    is_past(P, c): "{old}"\n')
    found = {one.name: view_before(written(one.value, {}), NUMBERS) != NO_VIEW for one in defines.tensors}
    assert found["PresentKey"] == fits
    assert not found["Query"] and not found["Context"]


@pytest.mark.parametrize(
    ("place", "fits"),
    [
        ("[at[0], unravel_index(at[2], [Heads, 4])[0], at[1], unravel_index(at[2], [Heads, 4])[1]]", True),
        ("align(at, 4, 0)", True),
        ("[at[0], at[1], at[2], at[2]]", False),
        ("[at[0], at[1], at[2], 0]", False),
        ("[at[0], unravel_index(at[2], [Heads, 4])[1], at[1], unravel_index(at[2], [Heads, 8])[0]]", False),
        ("[at[0], unravel_index(at[2], [Heads, 4])[0], at[1], at[2] % 4]", False),
        ("[at[1], at[2], at[3], at[4]]", False),
    ],
)
def test_where_outputs_have_the_entries(place: str, fits: bool, tmp_path: Path) -> None:
    defines = lowered(tmp_path, "MergedHeads[align(at, 3, 0)]", f"Context[{place}]")
    found = view_in("OutputTensor", defines.outputs["OutputTensor"], "Context", NUMBERS)
    assert (found != NO_VIEW) == fits
