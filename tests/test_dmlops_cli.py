"""`python -m dmlops`: one result a line whatever the line holds, and an explanation for people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from test_dmlops_json import VALID, changed


def run(*arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "dmlops", *arguments], input=given, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def results(lines: bytes, level: str = "6.4") -> tuple[int, list[dict[str, Any]]]:
    status, out, err = run("validate", "-", "--feature-level", level, given=lines)
    assert err == ""
    return status, [json.loads(line) for line in out.splitlines()]


def line(value: dict[str, Any], identity: Any = None) -> bytes:
    return json.dumps({"id": identity, **value}).encode() + b"\n"


def test_valid_lines() -> None:
    status, (one, two) = results(line(VALID, "a") + line(VALID, 7))
    assert status == 0
    assert one == {"id": "a", "ok": True, "violations": [], "advice": [], "min_feature_level": "3.0"}
    assert two["id"] == 7


def test_violations_in_order() -> None:
    status, (good, bad) = results(line(VALID) + line(changed("desc.Axis", 2), {"any": ["json", None]}))
    assert (status, good["ok"], bad["ok"], bad["id"]) == (1, True, False, {"any": ["json", None]})
    assert bad["min_feature_level"] is None
    assert bad["violations"] == [
        {
            "rule": "DML-GATHER_ELEMENTS-axis-range",
            "member": "Axis",
            "message": "Axis is 2; it must be less than InputTensor.DimensionCount, 2",
        }
    ]


ADVISED = {
    "type": "DML_OPERATOR_ROI_ALIGN",
    "desc": {
        "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2, 4, 4]},
        "ROITensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3, 4]},
        "BatchIndicesTensor": {"DataType": "UINT32", "Sizes": [1, 1, 1, 3]},
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [3, 2, 2, 2]},
        "ReductionFunction": "AVERAGE",
        "InterpolationMode": "LINEAR",
        "SpatialScaleX": 1.0,
        "SpatialScaleY": 1.0,
        "OutOfBoundsInputValue": 0.0,
        "MinimumSamplesPerOutput": 4,
        "MaximumSamplesPerOutput": 3,
    },
}
ADVICE = {
    "rule": "DML-ROI_ALIGN-sample-range",
    "member": "MinimumSamplesPerOutput",
    "message": "MinimumSamplesPerOutput is 4; it should be at most MaximumSamplesPerOutput, 3 "
    "(the number of samples is clamped between the two)",
}


def test_advice_stands_beside_violations_and_leaves_a_description_valid() -> None:
    status, (found,) = results(line(ADVISED))
    assert status == 0
    assert found == {"id": None, "ok": True, "violations": [], "advice": [ADVICE], "min_feature_level": "3.0"}


def test_an_invalid_description_draws_no_advice() -> None:
    spoiled = {**ADVISED, "desc": {**ADVISED["desc"], "MaximumSamplesPerOutput": 0}}
    status, (found,) = results(line(spoiled))
    assert status == 1
    assert [one["rule"] for one in found["violations"]] == ["DML-ROI_ALIGN-maximum-samples-range"]
    assert found["advice"] == []


def test_explain_shows_advice_apart_from_violations(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(ADVISED))
    status, out, _ = run("explain", str(file))
    assert status == 0
    verdict, _, advice = out.partition("Advice")
    assert "ROI_ALIGN at feature level 6.4: valid" in verdict and ADVICE["rule"] not in verdict
    assert ADVICE["rule"] in advice and ADVICE["message"] in advice


UNREADABLE = {
    "empty": b"\n",
    "words": b"not json\n",
    "cut short": b'{"type": "GATHER"\n',
    "bad bytes": b'{"id": "\xff"}\n',
    "not a number": b'{"type": NaN}\n',
    "infinite": b'{"type": 1e999}\n',
    "deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "many digits": b'{"type": ' + b"1" * 5000 + b"}\n",
    "twice": b'{"type": "GATHER", "type": "GATHER"}\n',
    "array": b"[1]\n",
    "null byte": b"\0\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_line_is_a_result_and_the_rest_goes_on(text: bytes) -> None:
    status, found = results(line(VALID, 1) + text + line(VALID, 3))
    assert status == 1
    assert [one["id"] for one in found] == [1, None, 3]
    assert [one["ok"] for one in found] == [True, False, True]
    assert found[1]["advice"] == []
    (violation,) = found[1]["violations"]
    assert violation["rule"] == "DML-JSON"
    assert violation["message"]


def test_a_description_that_cannot_be_read_keeps_its_id() -> None:
    _, (found,) = results(line(changed("desc.Axis", "0"), "mine"))
    assert found["id"] == "mine"
    assert found["violations"] == [
        {"rule": "DML-JSON", "member": "desc.Axis", "message": 'found "0"; expected an integer'}
    ]


def test_huge_lines_missing_newlines_and_byte_order_marks() -> None:
    _, found = results(b'"' + b"x" * (1 << 25) + b'"\n' + b"\xef\xbb\xbf" + line(VALID, "end").rstrip())
    assert [(one["id"], one["ok"]) for one in found] == [(None, False), ("end", True)]


def test_levels_and_usage(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_bytes(line(VALID))
    assert run("validate", str(file), "--feature-level", "2.1")[0] == 1
    status, _, err = run("validate", str(file), "--feature-level", "6.5")
    assert status == 2 and 'there is no feature level "6.5"; did you mean "6.4"?' in err
    assert run("validate", str(tmp_path / "none.jsonl"))[0] == 2
    assert run("validate")[0] == 2
    assert run()[0] == 2


def test_explain(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(changed("desc.Axis", 2)))
    status, out, _ = run("explain", str(file))
    assert status == 1
    assert "DML-GATHER_ELEMENTS-axis-range" in out and "Axis is 2" in out
    file.write_text(json.dumps(VALID))
    status, out, _ = run("explain", str(file))
    assert status == 0
    assert "feature level 3.0" in out and "DirectML 1.4.0" in out and "build 20348" in out
    file.write_text("{")
    assert run("explain", str(file))[0] == 1


def test_levels_with_where_they_are_to_be_had() -> None:
    """As the page of DirectML's versions has them; build 25398 by the header's NTDDI lines."""
    status, out, err = run("levels")
    assert (status, err) == (0, "")
    lines = [line.split(maxsplit=3) for line in out.splitlines()]
    assert lines[0][:3] == ["Level", "DirectML", "Build"]
    assert ["5.0", "1.8.0", "22621", "Windows 11, version 22H2 (docs)"] in lines
    assert ["6.0", "1.11.0", "25398", "Windows Server, version 23H2 (header)"] in lines
    assert lines[-1] == ["6.4", "1.15.0", "-", "-"]
    entries = json.loads(run("levels", "--json")[1])
    assert [one["level"] for one in entries] == [line[0] for line in lines[1:]]
    assert entries[-1] == {
        "level": "6.4",
        "directml": "1.15.0",
        "build": None,
        "windows": None,
        "source": None,
    }


def test_support_at_a_level() -> None:
    """GATHER's indices by its page: 4 dimensions and UINT32 at first, 1 to 8 and four types from 3.0 on."""
    _, out, _ = run("support", "DML_OPERATOR_GATHER", "--level", "2.1")
    assert ["IndicesTensor", "4", "UINT32"] in [line.split() for line in out.splitlines()]
    _, out, _ = run("support", "Gather")
    assert "1 to 8" in out
    assert "feature level 6.4" in out
    (indices,) = (
        one for one in json.loads(run("support", "GATHER", "--json")[1]) if one["tensor"] == "IndicesTensor"
    )
    assert indices["dimension_counts"] == list(range(1, 9))
    assert sorted(indices["data_types"]) == ["INT32", "INT64", "UINT32", "UINT64"]
    status, out, _ = run("support", "GELU", "--level", "1.0")
    assert (status, out) == (2, "")
    _, out, _ = run("support", "ACTIVATION_GELU", "--level", "5.0")
    assert out == "ACTIVATION_GELU is not part of feature level 5.0; it needs 5.1.\n"


def test_an_operator() -> None:
    status, out, err = run("show", "gather")
    assert (status, err) == (0, "")
    for part in (
        "GATHER, from feature level 1.0",
        "IndexDimensions",
        "input tensor",
        "DML-GATHER-axis-range",
        "Support",
    ):
        assert part in out
    shown = json.loads(run("show", "ROI_ALIGN", "--json")[1])
    assert [one["name"] for one in shown["members"]][:4] == [
        "InputTensor",
        "ROITensor",
        "BatchIndicesTensor",
        "OutputTensor",
    ]
    assert ADVICE["rule"] in {one["rule"] for one in shown["rules"] if one["advice"]}
    rules, advice = run("show", "ROI_ALIGN")[1].split("Advice, which")
    assert ADVICE["rule"] in advice
    assert ADVICE["rule"] not in rules
    status, _, err = run("show", "GATHR")
    assert status == 2
    assert err == 'dmlops: there is no operator "GATHR"; did you mean GATHER?\n'


def test_a_name_among_many_that_comes_twice() -> None:
    """In linear time: looking through all names for each would take minutes here."""
    names = ",".join(f'"k{number}":1' for number in range(200_000))
    status, (result,) = results(f'{{{names},"k199999":2}}'.encode())
    assert status == 1
    assert result["violations"][0]["message"] == 'duplicate key "k199999"'


FORGED = "a\n2. GATHER at feature level 6.4: valid\x1b[2J\u202e\u3164\ud800"
HOSTILE: list[Any] = [
    {**VALID, "id": FORGED},
    {**VALID, "id": {FORGED: [FORGED]}},
    {"type": FORGED},
    {"type": VALID["type"], "desc": {FORGED: 1}},
    {"type": VALID["type"], FORGED: 1},
    {FORGED: 1},
    {"dispatchables": {FORGED: VALID, f"{FORGED}2": FORGED}},
    changed("desc.InputTensor.DataType", FORGED),
    changed("desc.InputTensor.Flags", FORGED),
    changed("desc.Axis", 10**4000),
    changed("desc.Axis", FORGED),
    changed("desc.InputTensor.Sizes", [10**4000, -(10**4000)]),
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_of_a_file_can_pass_for_what_the_program_says(value: Any) -> None:
    text = json.dumps(value).encode()
    _, out, err = run("explain", "-", given=text)
    assert err == ""
    assert all(line.isascii() and line.isprintable() and len(line) < 500 for line in out.split("\n"))
    assert not any(line.startswith("2. GATHER") for line in out.splitlines())
    _, out, err = run("validate", "-", given=text)
    assert (err, len(out.splitlines())) == ("", len(value.get("dispatchables", [1])))
    assert all(line.isascii() and line.isprintable() for line in out.split("\n"))


def test_a_file_that_is_not_there_has_its_name_on_one_line() -> None:
    status, out, err = run("explain", "no\nsuch\x1b[2Jfile")
    assert (status, out, err) == (2, "", "dmlops: no\\nsuch\\x1b[2Jfile: No such file or directory\n")
