"""`dmlgen audit` finds each fact that differs, in every form of page, and nothing in pages that are right.

The pages here are invented: facts about a real operator, in our own words.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dmlaudit import audit
from dmlaudit.read import MAX_LINE
from dmlaudit.report import render
from dmlgen.cli import main
from dmlgen.registry import Registry

FORMS = ("markdown", "front matter", "translation", "text")
NAME = "DML_GATHER_ELEMENTS_OPERATOR_DESC"
INDICES = "INT64, INT32, UINT64, UINT32"
SMALL = "FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8"
LARGE = "FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8"
OFF_AXIS = "The Sizes must match InputTensor.Sizes for every dimension except Axis."
HEADER = ("Tensor", "Kind", "Supported dimension counts", "Supported data types")

Part = tuple[str, ...]


def facts() -> list[Part]:
    """The statements of a page of GATHER_ELEMENTS, part by part, the syntax apart."""
    tensor = "const DML_TENSOR_DESC*"
    return [
        ("text", "Picks elements along one axis."),
        ("section", "Members"),
        ("member", "InputTensor", tensor, "What is read."),
        ("member", "IndicesTensor", tensor, f"Where. {OFF_AXIS}"),
        ("member", "OutputTensor", tensor, "What is written. The Sizes must match IndicesTensor.Sizes."),
        ("member", "Axis", "UINT", "Along which dimension, ranging [0, InputTensor.DimensionCount)."),
        ("section", "Availability"),
        ("text", "This operator was introduced in DML_FEATURE_LEVEL_2_1."),
        ("section", "Tensor constraints"),
        ("item", "IndicesTensor, InputTensor, and OutputTensor must have the same DimensionCount."),
        ("item", "InputTensor and OutputTensor must have the same DataType."),
        ("section", "Tensor support"),
        ("table", "4_1", "InputTensor", "Input", "1 to 8", LARGE, "IndicesTensor", "Input", "1 to 8", INDICES,
         "OutputTensor", "Output", "1 to 8", LARGE),
        ("table", "3_0", "InputTensor", "Input", "1 to 8", SMALL, "IndicesTensor", "Input", "1 to 8", INDICES,
         "OutputTensor", "Output", "1 to 8", SMALL),
        ("table", "2_1", "InputTensor", "Input", "4", SMALL, "IndicesTensor", "Input", "4", "UINT32",
         "OutputTensor", "Output", "4", SMALL),
        ("text", "Starting with DML_FEATURE_LEVEL_3_0, this operator supports negative index values."),
    ]  # fmt: skip


def write(form: str, parts: list[Part], syntax: bool = True) -> str:
    """The parts as a page."""
    say = (lambda text: text) if form != "translation" else _twice
    lines: list[str] = []
    if form in ("front matter", "translation"):
        lines += [
            "---",
            f"title: {NAME}",
            "ms.topic: reference",
            "---",
            "",
            f"# {say(f'{NAME} structure')}",
            "",
        ]
    if form == "text":
        lines.append(f"{NAME} structure")
    if syntax and form != "markdown":
        lines += _syntax(parts, form)
    for part in parts:
        lines += _lines(form, say, part)
    return "\n".join(lines) + "\n"


def _twice(text: str) -> str:
    """A text in another tongue, and in English."""
    spans = (
        '<span data-stu-id="a-1">{0}</span><span class="sxs-lookup"><span data-stu-id="a-1">{1}</span></span>'
    )
    return spans.format(text.replace(" must have ", " haben ").replace("Input ", "Eingabe "), text)


def _syntax(parts: list[Part], form: str) -> list[str]:
    members = [f"  {part[2]} {part[1]};" for part in parts if part[0] == "member"]
    fence = [] if form == "text" else ["```"]
    return [*(["## Syntax"] if fence else []), *fence, f"struct {NAME} {{", *members, "};", *fence]


def _lines(form: str, say: Any, part: Part) -> list[str]:
    kind, *texts = part
    if form == "text":
        match kind:
            case "section":
                return []
            case "member":
                return [texts[0], f"Type: {texts[1]}", texts[2]]
            case "table":
                rows = [HEADER, ("---",) * 4, *_rows(texts)]
                return [" | ".join(row) + " |" for row in rows]
            case _:
                return [texts[0]]
    match kind:
        case "section":
            return ["", f"## {say(texts[0])}", ""]
        case "member":
            name = f"### `{texts[0]}`" if form == "markdown" else f"`{texts[0]}`"
            bold = texts[1].replace("*", r"\*")
            return [name, "", say(f"Type: **{bold}**"), "", say(texts[2]), ""]
        case "table":
            rows = [tuple(map(say, row)) for row in (HEADER, *_rows(texts))]
            rows.insert(1, ("-",) * 4)
            title = "### " + say(f"DML_FEATURE_LEVEL_{texts[0]} and above")
            return [title, *(f"| {' | '.join(row)} |" for row in rows), ""]
        case "item":
            return [f"* {say(texts[0])}"]
        case _:
            return [say(texts[0]), ""]


def _rows(texts: list[str]) -> list[tuple[str, ...]]:
    return [tuple(texts[i : i + 4]) for i in range(1, len(texts), 4)]


def found(registry: Registry, folder: Path, text: str, name: str = "page.md") -> list[tuple[int, str]]:
    """Line and text of what is new on a page, and of what cannot be read."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    (result,) = audit(registry, [path])
    faults = [(fault.line, f"fault: {fault.message}") for fault in result.faults]
    return faults + [(one.line, one.says) for one in result.verdicts if one.kind == "difference"]


@pytest.mark.parametrize("form", FORMS)
def test_a_page_that_is_right_has_nothing_new(registry: Registry, tmp_path: Path, form: str) -> None:
    path = tmp_path / "page.txt"
    path.write_text(write(form, facts()), encoding="utf-8")
    (result,) = audit(registry, [path])
    assert result.subject == NAME
    assert not result.faults
    assert not [one for one in result.verdicts if one.holds]
    assert result.cells == 36
    cells = [one for one in result.verdicts if one.says.startswith("table of ") and ": " in one.says]
    assert len(cells) == 27  # kind, dimension counts and data types of nine rows


CHANGES = {
    "member": ((2, 1), "InputTensors", {"member InputTensors", "no member InputTensor"}),
    "type": ((5, 2), "FLOAT", {"Axis: FLOAT"}),
    "pointer": ((5, 2), "UINT*", {"Axis: UINT*"}),
    "optional": ((2, 2), "_Maybenull_ const DML_TENSOR_DESC*", {"InputTensor: optional"}),
    "level": ((7, 1), "This operator was introduced in DML_FEATURE_LEVEL_3_0.", {"introduced in 3.0"}),
    "range": ((5, 3), "ranging [0, InputTensor.DimensionCount].", {"Axis <= InputTensor.DimensionCount"}),
    "sizes": ((4, 3), "The Sizes must match InputTensor.Sizes.", {"same Sizes of OutputTensor, InputTensor"}),
    "axis": (
        (3, 3),
        "The Sizes must match OutputTensor.Sizes for every dimension except Axis.",
        {"same Sizes of IndicesTensor, OutputTensor but along Axis"},
    ),
    "constraint": (
        (10, 1),
        "InputTensor and IndicesTensor must have the same DataType.",
        {
            "same DataType of InputTensor, IndicesTensor",
            "does not require the same DataType of InputTensor, OutputTensor",
        },
    ),
    "tensor": (
        (13, 6),
        "IndexTensor",
        {"table of 3.0: IndexTensor", "table of 3.0: no row of IndicesTensor"},
    ),
    "kind": ((13, 7), "Optional input", {"table of 3.0: IndicesTensor: optional input"}),
    "ranks": ((12, 8), "1 to 7", {"table of 4.1: IndicesTensor: 1 to 7 dimensions"}),
    "types": ((13, 9), "INT64, INT32, UINT64", {"table of 3.0: IndicesTensor: INT64, INT32, UINT64"}),
    "unknown type": ((14, 9), "UINT128", {"table of 2.1: IndicesTensor: UINT128"}),
    "negative": (
        (15, 1),
        "Starting with DML_FEATURE_LEVEL_4_0, this operator supports negative index values.",
        {"negative indices from 4.0 on"},
    ),
    "in place": (
        (0, 1),
        "This operator supports in-place execution, meaning that OutputTensor is permitted to alias "
        "InputTensor during binding.",
        {"in place: InputTensor"},
    ),
    "name": ((0, 1), "It is like DML_GATHERS_OPERATOR_DESC.", {"name DML_GATHERS_OPERATOR_DESC"}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_single_fact_that_differs_is_found_on_its_line(
    registry: Registry, tmp_path: Path, form: str, change: str
) -> None:
    (at, index), text, says = CHANGES[change]
    parts = facts()
    parts[at] = (*parts[at][:index], text, *parts[at][index + 1 :])
    page = write(form, parts, syntax=False)
    new = found(registry, tmp_path, page)
    assert {what for _, what in new} == says
    expected = {
        number
        for number, line in enumerate(page.splitlines(), 1)
        if text.replace("*", "") in line.replace("\\*", "").replace("*", "")
    }
    assert expected & {line for line, _ in new}


def test_facts_of_the_syntax_are_compared_too(registry: Registry, tmp_path: Path) -> None:
    page = write("front matter", facts()).replace("  UINT Axis;", "  INT Axis;")
    line = page.splitlines().index("  INT Axis;") + 1
    assert found(registry, tmp_path, page) == [(line, "Axis: INT")]


def test_members_in_another_order_are_found(registry: Registry, tmp_path: Path) -> None:
    parts = facts()
    parts[3], parts[4] = parts[4], parts[3]
    new = found(registry, tmp_path, write("markdown", parts))
    assert [says for _, says in new] == ["order InputTensor, OutputTensor, IndicesTensor, Axis"]


def test_a_table_or_a_row_that_is_left_out_is_found(registry: Registry, tmp_path: Path) -> None:
    parts = facts()
    del parts[13]
    assert [says for _, says in found(registry, tmp_path, write("markdown", parts))] == ["no table of 3.0"]
    parts = facts()
    parts[13] = parts[13][:10]
    new = found(registry, tmp_path, write("markdown", parts))
    assert [says for _, says in new] == ["table of 3.0: no row of OutputTensor"]


def test_a_table_of_another_level_and_a_constraint_left_out_are_found(
    registry: Registry, tmp_path: Path
) -> None:
    page = write("markdown", facts())
    line = next(i for i, text in enumerate(page.splitlines(), 1) if "LEVEL_3_0" in text)
    new = found(registry, tmp_path, page.replace("LEVEL_3_0", "LEVEL_3_1", 1))
    assert (line, "table of 3.1") in new
    assert {says for _, says in new} == {"table of 3.1", "no table of 3.0"}
    constraint = "* InputTensor and OutputTensor must have the same DataType.\n"
    assert [says for _, says in found(registry, tmp_path, page.replace(constraint, ""))] == [
        "does not require the same DataType of InputTensor, OutputTensor"
    ]


def test_an_erratum_covers_what_it_states_and_nothing_else(registry: Registry, tmp_path: Path) -> None:
    """The tables of 2020 end with 3.0, which is recorded; one data type less is not."""
    parts = facts()
    del parts[12]
    page = write("front matter", parts).replace("ms.topic", "ms.date: 10/30/2020\nms.topic")
    path = tmp_path / "page.md"
    path.write_text(page)
    (result,) = audit(registry, [path])
    (known,) = [one for one in result.verdicts if one.holds]
    assert known.kind == "erratum" and known.erratum is not None
    assert known.erratum.where.plain == "pages of 2020 and 2021"
    changed = page.replace(f"| {INDICES} |", "| INT64, INT32 |")
    assert [says for _, says in found(registry, tmp_path, changed)] == [
        "table of 3.0: IndicesTensor: INT64, INT32"
    ]


def test_a_name_that_a_translation_changes_is_found(registry: Registry, tmp_path: Path) -> None:
    page = write("translation", facts()).replace('"a-1">UINT32<', '"a-1">UINT16<', 1)
    assert [says for _, says in found(registry, tmp_path, page)] == ["UINT32 translated to UINT16"]


ENUM = """# DML_AXIS_DIRECTION enumeration

## Constants

### `DML_AXIS_DIRECTION_INCREASING:0`

### `DML_AXIS_DIRECTION_DECREASING:1`
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("DECREASING:1", "DECREASING:2", 7, "DML_AXIS_DIRECTION_DECREASING = 2"),
        ("DECREASING:1", "DECREASING_ORDER:1", 7, "value DML_AXIS_DIRECTION_DECREASING_ORDER"),
        ("### `DML_AXIS_DIRECTION_DECREASING:1`\n", "", 1, "no value DML_AXIS_DIRECTION_DECREASING"),
    ],
)
def test_values_of_enumerations(
    registry: Registry, tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    assert found(registry, tmp_path, ENUM) == []
    assert (line, f"DML_AXIS_DIRECTION, {says}") in found(registry, tmp_path, ENUM.replace(old, new))


def test_structs_constants_and_fusion(registry: Registry, tmp_path: Path) -> None:
    members = "### `Width`\n\nType: **UINT**\n\n### `Height`\n\nType: **INT**\n"
    struct = f"# DML_SIZE_2D structure\n\n## Members\n\n{members}"
    assert found(registry, tmp_path, struct) == [(11, "DML_SIZE_2D, Height: INT")]
    constants = "# Constants\n\n| Constant | Value |\n|-|-|\n" + "".join(
        f"| {one.name} | {one.value + (one.value == 16)} |\n" for one in registry.constants
    )
    ((line, says),) = found(registry, tmp_path, constants)
    assert constants.splitlines()[line - 1].endswith("| 17 |") and says.endswith("ALIGNMENT = 17")
    fusion = "# Fusion\n\n## Operators that support fused activation\n\n" + "".join(
        f"* **{one.c_constant}**\n" for one in registry.operators if "FusedActivation" in one.member
    )
    assert found(registry, tmp_path, fusion) == []
    assert found(registry, tmp_path, fusion + "* **DML_OPERATOR_CAST**\n")[0][1] == "CAST takes an activation"


def test_histories_of_levels_and_versions(registry: Registry, tmp_path: Path) -> None:
    history = (
        "# History\n\n## DML_FEATURE_LEVEL_4_1\n\nIntroduced in DirectML version 1.7.0.\n\n"
        "Added these operator types.\n\n* **DML_OPERATOR_ROI_ALIGN_GRAD**\n"
        "* **DML_OPERATOR_BATCH_NORMALIZATION_TRAINING**\n"
        "* **DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD**\n\n"
        "Extended data type support of these.\n\n* **DML_OPERATOR_CAST**\n"
    )
    assert found(registry, tmp_path, history) == []
    for old, new, line, says in (
        ("1.7.0", "1.8.0", 5, "4.1 is of DirectML 1.8.0"),
        ("* **DML_OPERATOR_ROI_ALIGN_GRAD**\n", "", 5, "4.1 does not add ROI_ALIGN_GRAD"),
        (
            "* **DML_OPERATOR_ROI",
            "* **DML_OPERATOR_ROI_ALIGN1**\n* **DML_OPERATOR_ROI",
            9,
            "4.1 adds ROI_ALIGN1",
        ),
        ("CAST", "GEMM", 15, "4.1 extends GEMM"),
    ):
        assert found(registry, tmp_path, history.replace(old, new)) == [(line, says)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "nothing that specs state was recognized"),
        ("# A poem\n\nRoses.\n", 1, "nothing that specs state was recognized"),
        (
            "# DML_NO_SUCH_OPERATOR_DESC structure\n",
            1,
            "the specs have nothing called DML_NO_SUCH_OPERATOR_DESC",
        ),
        ("# DML_SIZE_2D structure\n\n```\nstruct", 3, "the listing has no end"),
        ("---\ntitle: x\n", 1, "the front matter has no end"),
        ("# A\n\n" + "x" * (MAX_LINE + 1), 3, "the line has more than"),
        ("# A\n\n<table>\n", 3, "a table in HTML"),
    ],
)
def test_what_cannot_be_read_is_said(
    registry: Registry, tmp_path: Path, text: str, line: int, message: str
) -> None:
    faults = [one for one in found(registry, tmp_path, text) if one[1].startswith("fault: ")]
    assert any(at == line and message in what for at, what in faults)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("| 1 to 8 |", "| some |", "these are no dimension counts: some"),
        ("| Input |", "| Entry |", "this is not a kind of tensor: Entry"),
        ("| Tensor | Kind |", "| Name | Kind |", "a table of tensors begins with a column Tensor"),
        ("| Supported data types |", "| Types |", "a column that is not known: types"),
        ("| InputTensor | Input |", "| InputTensor |", "the row has 3 cells, the table's header has 4"),
        ("| - | - | - | - |\n", "", "a row of a table without a header"),
    ],
)
def test_a_table_that_cannot_be_read_is_said(
    registry: Registry, tmp_path: Path, old: str, new: str, message: str
) -> None:
    page = write("markdown", facts())
    assert old in page
    new_ = found(registry, tmp_path, page.replace(old, new, 1))
    assert any(message in what for _, what in new_ if what.startswith("fault: "))


def test_a_page_that_is_not_text_is_said(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_bytes(b"# \xff\n")
    (result,) = audit(registry, [path])
    assert "not UTF-8" in result.faults[0].message


def test_reports_and_exit_codes(
    gather_specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", "--specs", str(gather_specs)]
    parts = facts()
    right, wrong = tmp_path / "right.md", tmp_path / "wrong.md"
    right.write_text(write("markdown", parts))
    parts[13] = (*parts[13][:8], "1 to\x1b[31m 7", *parts[13][9:])
    parts[12] = (*parts[12][:8], "1 to 7", *parts[12][9:])
    wrong.write_text(write("markdown", parts))
    assert main([*command, str(right)]) == 0
    assert "cells: 36" in capsys.readouterr().out
    assert main([*command, str(right), str(wrong)]) == 1
    out = capsys.readouterr().out
    line = (
        wrong.read_text().split("\n").index(next(x for x in wrong.read_text().split("\n") if "1 to 7" in x))
        + 1
    )
    assert f"{wrong}:{line}: NEW: table of 4.1: IndicesTensor: 1 to 7 dimensions\n" in out
    assert "gather_elements.yaml:" in out and "\x1b" not in out
    assert main([*command, str(tmp_path / "absent.md")]) == 2
    capsys.readouterr()
    assert main([*command, str(wrong), "--format", "json"]) == 1
    (page,) = json.loads(capsys.readouterr().out)
    (new,) = [one for one in page["statements"] if one["class"] == "difference"]
    assert new["line"] == line and new["holds"] == "1 to 8 dimensions" and new["spec"]["line"] > 1


def test_public_pages_hold_nothing_that_is_not_recorded(registry: Registry) -> None:
    """All pages of a folder named by DIRECTML_PAGES, or of one beside the checkout."""
    shared = Path(os.environ.get("DIRECTML_PAGES", "../shared"))
    pages = [path for path in sorted(shared.glob("pages/*.md")) if path.name != "README.md"]
    pages += sorted(shared.glob("seeds/*"))
    if not pages:
        pytest.skip(f"{shared} has no folders pages and seeds: no public page is held against the specs")
    results = audit(registry, pages)
    assert not [(result.page.path, fault) for result in results for fault in result.faults]
    new = [
        f"{result.page.path}:{one.line}: {one.says}"
        for result in results
        for one in result.verdicts
        if one.kind == "difference"
    ]
    assert new == [], render(results, "text")
    known = {one.says for result in results for one in result.verdicts if one.erratum is not None}
    recorded = [*registry.errata, *(erratum for one in registry.operators for erratum in one.errata)]
    stated = {text.plain for erratum in recorded for text in erratum.overrules}
    assert stated == known  # none stands for nothing
