"""Changes between two sets of specs: one fact changed by an edit of its text is one change, classed right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmlgen.cli import main

ELEMENTS = "operators/gather/gather_elements.yaml"
GATHER = "operators/gather/gather.yaml"
ND1 = "operators/gather/gather_nd1.yaml"


def change(specs: Path, file: str, *edits: tuple[str, str]) -> None:
    path = specs / file
    text = path.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def line_of(specs: Path, file: str, text: str) -> int:
    lines = (specs / file).read_text(encoding="utf-8").splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def changes(old: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    code = main(["diff", str(old), str(new), "--format", "json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    assert code == (1 if found else 0)
    return found


# file, edits of its text, and the changes that there are then: kind, impact, subject
EDITS: dict[str, tuple[str, list[tuple[str, str]], list[tuple[str, str, str]]]] = {
    "a type gained at some levels": (
        ELEMENTS,
        [("ranks: 4, types: [UINT32]", "ranks: 4, types: [UINT32, INT32]")],
        [("support-gained", "compatible", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a type lost of two tensors at many levels": (
        ELEMENTS,
        [("[FLOAT64, FLOAT32, FLOAT16, INT64", "[FLOAT64, FLOAT32, FLOAT16")],
        [("support-lost", "breaking", "GATHER_ELEMENTS.InputTensor")],
    ),
    "a dimension count lost": (
        ELEMENTS,
        [("[IndicesTensor], ranks: 1..8, types: [INT64, INT32", "[IndicesTensor], ranks: 1..7, types: [INT64, INT32")],
        [("support-lost", "breaking", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a rule that refuses less": (
        ELEMENTS,
        [("require: Axis < InputTensor.DimensionCount", "require: Axis <= InputTensor.DimensionCount")],
        [("rule-looser", "compatible", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a rule that refuses more": (
        ELEMENTS,
        [("for d in axes(InputTensor) if d != Axis)", "for d in axes(InputTensor))")],
        [("rule-stricter", "breaking", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a rule whose change nobody can tell": (
        ELEMENTS,
        [("IndicesTensor.Sizes[d] == InputTensor", "IndicesTensor.Sizes[d] * 2 == InputTensor")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "what an output has to be": (
        ELEMENTS,
        [("OutputTensor.Sizes = IndicesTensor.Sizes", "OutputTensor.Sizes = InputTensor.Sizes")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-output-sizes")],
    ),
    "a reason": (
        ELEMENTS,
        [("only the axis may differ", "nothing but the axis may differ")],
        [("rule-message", "documentation", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a violation that becomes advice": (
        ELEMENTS,
        [("DimensionCount\n    source: docs", "DimensionCount\n    advice: true\n    source: docs")],
        [("rule-advice", "compatible", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a level from which on a rule holds": (
        ELEMENTS,
        [("    because: only the axis", '    since: "3.0"\n    because: only the axis')],
        [("rule-looser", "compatible", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a source": (
        ELEMENTS,
        [("may differ\n    source: docs", "may differ\n    source: header")],
        [("rule-source", "documentation", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "rules in another order": (
        ELEMENTS,
        [("id: axis-range\n    require: Axis < InputTensor.DimensionCount", "id: same-type\n    same: DataType\n    of: [InputTensor, OutputTensor]"),
         ("id: same-type\n    same: DataType\n    of: [InputTensor, OutputTensor]\n    source: docs\n  - id: indices",
          "id: axis-range\n    require: Axis < InputTensor.DimensionCount\n    source: docs\n  - id: indices")],
        [("rule-order", "compatible", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a member with another name": (
        ELEMENTS,
        [("IndicesTensor", "IndexTensor")],
        [("member-renamed", "breaking", "GATHER_ELEMENTS.IndexTensor")],
    ),
    "members in another order": (
        ELEMENTS,
        [("  InputTensor: {role: input, summary: The elements to pick from.}\n", ""),
         ("  OutputTensor: {role: output", "  InputTensor: {role: input, summary: The elements to pick from.}\n  OutputTensor: {role: output")],
        [("member-order", "breaking", "GATHER_ELEMENTS")],
    ),
    "a member that may be left out": (
        ELEMENTS,
        [("IndicesTensor: {role: input,", "IndicesTensor: {role: input, optional: true,")],
        [("member-optional", "compatible", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a member of another type": (
        ELEMENTS,
        [("Axis: {type: UINT,", "Axis: {type: INT,")],
        [("member-type", "breaking", "GATHER_ELEMENTS.Axis")],
    ),
    "a level that comes later": (
        ELEMENTS,
        [('since: "2.1"', 'since: "3.0"'),
         ('  "2.1":\n    - {tensors: [InputTensor, OutputTensor], ranks: 4, types: [FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8]}\n    - {tensors: [IndicesTensor], ranks: 4, types: [UINT32]}\n', "")],
        [("operator-later", "breaking", "GATHER_ELEMENTS")],
    ),
    "another number": (
        ELEMENTS,
        [("value: 107", "value: 907")],
        [("operator-value", "breaking", "GATHER_ELEMENTS")],
    ),
    "what it computes": (
        ELEMENTS,
        [("index: wrap(IndicesTensor[at], ", "index: wrap(IndicesTensor[at] + 1, ")],
        [("definition-changed", "breaking", "GATHER_ELEMENTS")],
    ),
    "an erratum": (
        ELEMENTS,
        [("feature level 4.1 adds 64-bit element types", "feature level 4.1 adds four types")],
        [("erratum-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "what data has to be": (
        ELEMENTS,
        [("Other values are harmless", "Others are harmless")],
        [("data-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "a summary": (
        ELEMENTS,
        [("summary: Picks one", "summary: Takes one")],
        [("summary-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "a worked example": (
        ELEMENTS,
        [("data: [1, 2, 0, 2, 0, 0]", "data: [1, 2, 0, 2, 0, 1]")],
        [("example-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "the value of an enumerator": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARGMIN: {value: 21}")],
        [("enum-value-number", "breaking", "REDUCE_FUNCTION.ARGMIN")],
    ),
    "an enumerator with another name": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARG_MIN: {value: 1}")],
        [("enum-value-renamed", "breaking", "REDUCE_FUNCTION.ARG_MIN")],
    ),
    "a new enumerator": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARGMIN: {value: 1}\n      MEDIAN: {value: 12}")],
        [("enum-value-added", "compatible", "REDUCE_FUNCTION.MEDIAN")],
    ),
    "a release": (
        "feature_levels.yaml",
        [("directml: 1.12.0", "directml: 1.12.1")],
        [("level-release", "documentation", "6.1")],
    ),
    "a new level": (
        "feature_levels.yaml",
        [('"6.4": {value: "0x6400", directml: 1.15.0}', '"6.4": {value: "0x6400", directml: 1.15.0}\n  "6.5": {value: "0x6500", directml: 1.16.0}')],
        [("level-added", "compatible", "6.5")],
    ),
    "the layout of a struct": (
        "structs.yaml",
        [("Width: {type: UINT}\n      Height: {type: UINT}", "Height: {type: UINT}\n      Width: {type: UINT}")],
        [("member-order", "breaking", "SIZE_2D")],
    ),
    "the message of a general rule": (
        "rules.yaml",
        [('"{member} is absent; {operator} needs it"', '"{member} is missing; {operator} needs it"')],
        [("rule-message", "documentation", "DML-OPERATOR-required")],
    ),
    "a hint of many messages": (
        "rules.yaml",
        [("DirectML broadcasts by strides", "DirectML repeats by strides")],
        [("hint-changed", "documentation", "broadcast")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_one_fact_changed_is_one_change(
    name: str, specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, edits, expected = EDITS[name]
    change(specs, file, *edits)
    found = changes(gather_specs, specs, capsys)
    assert [(one["kind"], one["impact"], one["subject"]) for one in found] == expected
    for one in found:
        assert one["reason"]
        for side, folder in (("old", gather_specs), ("new", specs)):
            place = one[side]
            if place is not None:
                assert isinstance(place, dict)
                assert place["file"] == str(folder / file)
                lines = Path(place["file"]).read_text(encoding="utf-8").splitlines()
                assert 1 <= place["column"] <= len(lines[place["line"] - 1])
