"""`python -m dmlops`: one result per line of any content, and explanations for people."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlops import registry
from dmlops.__main__ import main
from dmlops.terminal import style_for
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
            "values": {"found": 2, "expected": 2},
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
    "values": {"found": 4, "expected": 3},
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
        {
            "rule": "DML-JSON",
            "member": "desc.Axis",
            "message": 'found "0"; expected an integer',
            "values": {},
        }
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


WRONG = changed("desc.IndicesTensor.Sizes", [2, 5])
WRONG["desc"]["OutputTensor"] = {**WRONG["desc"]["OutputTensor"], "Sizes": [2, 5]}


def test_explain_marks_the_value_and_mends_it() -> None:
    _, out, _ = run("explain", "-", given=json.dumps(WRONG).encode())
    lines = out.splitlines()
    (mark,) = [number for number, line in enumerate(lines) if set(line) <= set("^ 1") and "^" in line]
    start, end = lines[mark].index("^"), lines[mark].rindex("^") + 1
    assert lines[mark - 1].strip().startswith('"IndicesTensor"')
    assert lines[mark - 1][start:end] == "5"
    assert (
        "one change:\n   IndicesTensor.Sizes: [2, 3] instead of [2, 5]\n   OutputTensor.Sizes: [2, 3]" in out
    )
    _, out, _ = run("explain", "-", "--level", "2.0", given=json.dumps(VALID).encode())
    assert "No valid description close to it was found at feature level 2.0." in out


def test_explain_names_the_operators_of_integers() -> None:
    def tensor(type_: str, *sizes: int) -> dict[str, object]:
        return {"DataType": type_, "Sizes": [1, 1, *sizes]}

    desc: dict[str, object] = {"ATensor": tensor("INT8", 4, 8), "BTensor": tensor("INT8", 8, 2)}
    desc |= {"OutputTensor": tensor("INT32", 4, 2), "TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0}
    given = json.dumps({"type": "DML_OPERATOR_GEMM", "desc": desc}).encode()
    _, newest, _ = run("explain", "-", given=given)
    _, older, _ = run("explain", "-", "--level", "4.0", given=given)
    assert (
        "Operators with ATensor of INT8: MATRIX_MULTIPLY_INTEGER, MATRIX_MULTIPLY_INTEGER_TO_FLOAT, "
        in newest
    )
    assert (
        "Operators with ATensor of INT8: MATRIX_MULTIPLY_INTEGER, QUANTIZED_LINEAR_MATRIX_MULTIPLY." in older
    )


def test_explanations_for_programs() -> None:
    status, out, _ = run("explain", "--json", "-", given=line(WRONG, 7) + line(VALID) + b"{\n")
    wrong, valid, broken = map(json.loads, out.splitlines())
    assert (status, wrong["id"], wrong["ok"], wrong["needs"]) == (1, 7, False, None)
    assert [(one["member"], one["new"]) for one in wrong["closest"]["changes"]] == [
        ("IndicesTensor.Sizes", [2, 3]),
        ("OutputTensor.Sizes", [2, 3]),
    ]
    assert results(line(wrong["closest"]["description"]))[0] == 0
    assert valid["needs"]["directml"] == "1.4.0"
    assert valid["closest"]["changes"] == []
    assert broken["closest"] is None


def test_infer() -> None:
    part = {**VALID, "desc": {name: one for name, one in VALID["desc"].items() if name != "OutputTensor"}}
    status, out, _ = run("infer", "-", given=json.dumps(part).encode())
    assert status == 0
    assert json.loads(out)["desc"]["OutputTensor"] == {"DataType": "FLOAT32", "Sizes": [2, 3]}
    status, out, _ = run(
        "infer", "--json", "-", given=line(part, 1) + line(WRONG, 2) + line({"type": "CAST"}, 3)
    )
    good, bad, unreadable = map(json.loads, out.splitlines())
    assert status == 1
    assert good["ok"] and good["description"]["desc"]["OutputTensor"]["Sizes"] == [2, 3]
    assert [one["rule"] for one in bad["violations"]] == ["DML-GATHER_ELEMENTS-indices-sizes"]
    assert [one["rule"] for one in unreadable["violations"]] == ["DML-JSON"]
    cast = {"type": "CAST", "desc": {"InputTensor": {"DataType": "INT8", "Sizes": [1]}}}
    status, out, _ = run("infer", "-", given=json.dumps(cast).encode())
    assert (status, "give OutputTensor one" in out) == (1, True)


def test_what_a_level_brings() -> None:
    """6.4 by the feature level history: FOLD, UNFOLD and RESAMPLE3 are new."""
    _, out, _ = run("diff-levels", "6.3", "6.4", "--json")
    found = {one["operator"]: one for one in json.loads(out)}
    assert {name for name, one in found.items() if one["is_new"]} == {"FOLD", "UNFOLD", "RESAMPLE3"}
    assert "DML-PADDING-padding-mode-wrap" in found["PADDING"]["rules_removed"]
    _, out, _ = run("diff-levels", "2.1", "3.0")
    gather = out.partition("\n  GATHER\n")[2]
    assert gather.splitlines()[1] == "    + IndicesTensor  1 to 3 and 5 to 8  INT64 INT32 UINT64"
    assert run("diff-levels", "6.3", "9.9")[0] == 2


SPELLINGS = (
    ["GATHER_ELEMENTS"],
    ["gather", "elements"],
    ["gather-elements"],
    ["GatherElements"],
    ["DML_OPERATOR_GATHER_ELEMENTS"],
    ["DML_GATHER_ELEMENTS_OPERATOR_DESC"],
)


def test_names_in_any_spelling_and_misspelt_commands() -> None:
    assert {registry.operator_name(" ".join(words)) for words in SPELLINGS} == {"GATHER_ELEMENTS"}
    assert run("support", "gather", "elements", "--json") == run("support", "GATHER_ELEMENTS", "--json")
    status, _, err = run("expalin")
    assert (status, 'there is no command "expalin"; did you mean explain?' in err) == (2, True)
    assert run("rule", "DML-GEMM-inner-sizes")[2].endswith("did you mean DML-GEMM-inner-size?\n")


def test_a_windows_build() -> None:
    assert run("support", "GEMM", "--build", "22621") == run("support", "GEMM", "--level", "5.0")
    status, out, err = run("support", "GEMM", "--build", "17763")
    assert (status, out) == (2, "") and "18362" in err


def test_rules_and_members_for_programs() -> None:
    rule = json.loads(run("rule", "DML-GEMM-inner-size", "--json")[1])
    assert rule["page"].endswith("ns-directml-dml_gemm_operator_desc")
    assert (rule["operator"], rule["source"], rule["since"], rule["until"]) == ("GEMM", "docs", "1.0", None)
    members = {one["name"]: one for one in json.loads(run("show", "GEMM", "--json")[1])["members"]}
    assert members["Alpha"]["default"] == 1.0
    assert members["Alpha"]["summary"] == "Factor of the product."
    schema = json.loads(run("schema")[1])
    assert "GEMM" in schema["$defs"]


def test_color_on_terminals_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def colored(stream: io.StringIO, **environment: str) -> bool:
        return "\x1b" in style_for(stream, environment).bad("x")

    assert colored(Terminal())
    assert not colored(io.StringIO())
    assert not colored(Terminal(), NO_COLOR="1")
    assert colored(Terminal(), NO_COLOR="")
    assert not colored(Terminal(), TERM="dumb")
    assert "\x1b" not in run("explain", "-", given=json.dumps(WRONG).encode())[1]


def test_help_tells_examples_and_exit_status() -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert "examples:" in out and "exit status:" in out
    for command in ("explain", "validate", "infer", "show", "support", "levels", "diff-levels", "rule"):
        assert f"dmlops {command}" in out or f"    {command} " in out
        assert run(command, "--help")[0] == 0
    assert run("--version")[1].strip() == f"dmlops {dmlops.__version__}"


@pytest.mark.parametrize(
    ("name", "operator", "line"),
    [
        ("conv", "CONVOLUTION", "ONNX Conv: CONVOLUTION"),
        ("batch norm", "BATCH_NORMALIZATION", "WebNN batchNormalization: BATCH_NORMALIZATION"),
        ("softmax", "ACTIVATION_SOFTMAX", "ONNX Softmax: ACTIVATION_SOFTMAX, ACTIVATION_SOFTMAX1"),
        ("MatMul", "GEMM", "ONNX MatMul: GEMM"),
        ("sigmoid", "ACTIVATION_SIGMOID", "WebNN sigmoid: ACTIVATION_SIGMOID"),
        ("concat", "JOIN", "ONNX Concat: JOIN"),
        ("transpose", "ELEMENT_WISE_IDENTITY", "ONNX Transpose: ELEMENT_WISE_IDENTITY"),
        ("resize", "UPSAMPLE_2D", "RESAMPLE2"),
        ("add", "ELEMENT_WISE_ADD", "ONNX Add: ELEMENT_WISE_ADD"),
        ("relu", "ACTIVATION_RELU", "ONNX Relu: ACTIVATION_RELU"),
        ("quick gelu", "ACTIVATION_SWISH", "ONNX Runtime QuickGelu: ACTIVATION_SWISH"),
    ],
)
def test_names_of_other_interfaces_find_the_operator(
    capsys: pytest.CaptureFixture[str], name: str, operator: str, line: str
) -> None:
    assert main(["show", *name.split()]) == 0
    shown = capsys.readouterr().out
    assert line in shown and f"\n{operator}, from feature level" in shown
    assert main(["show", "--json", *name.split()]) == 0
    assert json.loads(capsys.readouterr().out)["operator"] == operator


def test_what_is_demanded_of_data_has_an_identifier_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "DML-ELEMENT_WISE_QUANTIZE_LINEAR-scale-nonzero"]) == 0
    assert capsys.readouterr().out.startswith("ScaleTensor: No scale is 0")
