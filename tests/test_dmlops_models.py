"""DxDispatch models, and the other files that the command line accepts.

The spellings are those that DxDispatch's parser accepts. DXDISPATCH_MODELS can name a folder of its models.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import dmlops
from test_dmlops_cli import line, run
from test_dmlops_json import VALID, changed

PLAIN = {"DataType": "FLOAT32", "Sizes": [2, 3]}
ELU = {"type": "DML_OPERATOR_ACTIVATION_ELU", "desc": {"Alpha": 0.5}}
ADD1: dict[str, Any] = {
    "type": "DML_OPERATOR_ELEMENT_WISE_ADD1",
    "desc": {"ATensor": PLAIN, "BTensor": PLAIN, "OutputTensor": PLAIN, "FusedActivation": ELU},
}


def fused(activation: Any) -> dict[str, Any]:
    return {**ADD1, "desc": {**ADD1["desc"], "FusedActivation": activation}}


SPELLINGS: dict[str, Any] = {
    "members beside the type": {"type": ADD1["type"], **ADD1["desc"]},
    "capitals": {"Type": ADD1["type"], "Desc": ADD1["desc"]},
    "no prefix": {"type": "ELEMENT_WISE_ADD1", "desc": ADD1["desc"]},
    "activation with members beside the type": fused({"Type": "ACTIVATION_ELU", "Alpha": 0.5}),
    "activation in lower case": fused({"type": "ACTIVATION_ELU", "Alpha": 0.5}),
    "activation with Desc": fused({"Type": "ACTIVATION_ELU", "Desc": {"Alpha": 0.5}}),
    "tensors with a type": {
        **ADD1,
        "desc": {**ADD1["desc"], "ATensor": {"Type": "DML_TENSOR_TYPE_BUFFER", "Desc": PLAIN}},
    },
    "how to run it": {
        **ADD1,
        "bindings": {"ATensor": "A"},
        "dmlCompileType": "DmlCompileGraph",
        "executionFlags": ["DML_EXECUTION_FLAG_DISABLE_META_COMMANDS"],
    },
}


@pytest.mark.parametrize("value", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_reads_the_same(value: Any) -> None:
    assert dmlops.from_json(value) == dmlops.from_json(ADD1)
    assert dmlops.from_json(value).validate() == []


def test_an_activation_without_members_and_a_member_called_type() -> None:
    assert dmlops.from_json(fused({"Type": "ACTIVATION_RELU"})).validate() == []
    state = {"DataType": "UINT32", "Sizes": [1, 1, 1, 6]}
    random = {
        "type": "DML_OPERATOR_RANDOM_GENERATOR",
        "InputStateTensor": state,
        "OutputTensor": {"DataType": "UINT32", "Sizes": [1, 1, 1, 4]},
        "OutputStateTensor": state,
        "Type": "PHILOX_4X32_10",
    }
    assert dmlops.from_json(random).validate() == []


def test_infinity_has_a_name() -> None:
    clip = {
        "type": "DML_OPERATOR_ELEMENT_WISE_CLIP",
        "desc": {"InputTensor": PLAIN, "OutputTensor": PLAIN, "Min": "-Inf", "Max": "inf"},
    }
    desc = dmlops.from_json(clip)
    assert isinstance(desc, dmlops.ElementWiseClip) and desc.Max == float("inf") == -desc.Min
    assert dmlops.from_json(json.loads(json.dumps(desc.to_json(), allow_nan=False))) == desc


@pytest.mark.parametrize(
    ("value", "where", "says"),
    [
        ({"type": ADD1["type"], "descr": {}}, "descr", "did you mean desc?"),
        ({"type": ADD1["type"], "AT": 1, "Bee": 2}, "AT", "Bee is unknown, too"),
        ({"type": ADD1["type"], **ADD1["desc"], "CTensor": PLAIN}, "CTensor", "unknown member"),
        (fused({"Type": "ACTIVATION_ELU", "Alfa": 1}), "desc.FusedActivation.Alfa", "did you mean Alpha?"),
        ({"type": ADD1["type"]}, "desc", "expected an object"),
    ],
)
def test_typing_errors_are_still_found(value: Any, where: str, says: str) -> None:
    with pytest.raises(dmlops.JsonError) as caught:
        dmlops.from_json(value)
    assert caught.value.path == where and says in caught.value.reason


BESIDE = {"DmlCompileType": "DmlCompileGraph", "executionFlags": [], "bindings": {}, "note": "any text"}


@pytest.mark.parametrize("value", [{**ADD1, **BESIDE}, fused({**ELU, **BESIDE})])
def test_what_stands_beside_desc_is_ignored_as_in_dxdispatch(value: Any) -> None:
    assert dmlops.from_json(value).validate() == []


ABS = """// a comment before it
{
  "type": "DML_OPERATOR_ELEMENT_WISE_ABS", /* and
  one within, with a quote: " */
  "desc": {
    "InputTensor": {"DataType": "FLOAT32", "Sizes": [4, ] },  // commas, too
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [4]},
  },
  "note": "// no comment, /* nor this, ]",
}
anything may follow here
"""


def rules_of(text: bytes) -> list[list[tuple[str, str]]]:
    """The violations of each description in a file: rule and message."""
    _, out, err = run("validate", "-", given=text)
    assert err == ""
    return [
        [(one["rule"], one["message"]) for one in json.loads(line)["violations"]] for line in out.splitlines()
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_json_is_read_as_dxdispatch_reads_it(ending: str) -> None:
    assert rules_of(ABS.replace("\n", ending).encode()) == [[]]
    line = json.dumps(json.loads(json.dumps(ADD1)))
    assert rules_of(f"{line[:-1]},}} // first\n{line}\n".encode()) == [[], []]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ABS.replace('"desc"', "desc"), "at line 5, column 3"),  # counted with the comments
        (ABS.replace("[4]", "[4,,]"), "line 7"),
        (ABS.replace("anything", "{\n}\n"), "Extra data"),
        (ABS[: ABS.index('"desc"')], "not valid JSON"),
        ("{ /* " + "/*" * 50_000, "not valid JSON"),
        ("[" + '"' * 50_001 + ",/*" * 50_000, "not valid JSON"),
        ("\x08\x09\n\x0a\0pytorch\n{}\n{}\n", "binary"),
    ],
)
def test_a_file_that_is_no_json_is_one_error(text: str, says: str) -> None:
    ((rule, message),) = rules_of(text.encode())[0]
    assert len(rules_of(text.encode())) == 1
    assert rule == "DML-JSON" and says in message


MODEL: dict[str, Any] = {
    "$schema": "./_schema.json",
    "resources": {"A": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2]}},
    "dispatchables": {
        "add": SPELLINGS["activation with members beside the type"],
        "shader": {"type": "hlsl", "sourcePath": "add.hlsl", "compiler": "dxc"},
        "network": {"type": "ONNX", "sourcePath": "add.onnx"},
        "graph": {"type": "dmlSerializedGraph", "sourcePath": "graph.bin"},
        "other graph": {"type": "DML_GRAPH_DESC", "sourcePath": "graph.bin"},
        "flat buffer": {"type": "fb", "sourcePath": "x.dmlgraph"},
        "gather": changed("desc.Axis", 2),
        "nothing": 7,
    },
    "commands": [{"type": "dispatch", "dispatchable": "add", "bindings": {"ATensor": "A"}}],
}


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_model_gives_a_result_for_each_of_its_operators(
    indent: int | None, mark: bytes, ending: bytes
) -> None:
    text = mark + json.dumps(MODEL, indent=indent).encode().replace(b"\n", ending) + ending
    status, out, err = run("validate", "-", given=text)
    add, gather, nothing = map(json.loads, out.splitlines())
    assert (status, err) == (1, "")
    assert add == {"id": "add", "ok": True, "violations": [], "advice": [], "min_feature_level": "3.0"}
    assert [(one["id"], one["violations"][0]["rule"]) for one in (gather, nothing)] == [
        ("gather", "DML-GATHER_ELEMENTS-axis-range"),
        ("nothing", "DML-JSON"),
    ]


def test_a_description_over_many_lines() -> None:
    text = json.dumps({"id": 5, **VALID}, indent=1).encode()
    status, out, _ = run("validate", "-", given=b"\n" + text)
    assert status == 0
    expected = {"id": 5, "ok": True, "violations": [], "advice": [], "min_feature_level": "3.0"}
    assert json.loads(out) == expected
    status, out, _ = run("validate", "-", given=text.replace(b'"Axis":', b'"Axis"'))
    (violation,) = json.loads(out)["violations"]
    assert violation["rule"] == "DML-JSON" and "line 3" in violation["message"]


def test_lines_stay_lines() -> None:
    _, out, _ = run("validate", "-", given=b'{"type": "GATHER"\n' + line(VALID, 2) + b"\r\n" + line(VALID, 4))
    assert [json.loads(one)["id"] for one in out.splitlines()] == [None, 2, None, 4]


def test_explain_takes_the_same_files() -> None:
    status, out, _ = run("explain", "-", given=json.dumps(MODEL, indent=2).encode())
    assert status == 1
    headings = [text for text in out.splitlines() if text.startswith("[")]
    assert headings == ["[add]", "[gather]", "[nothing]"]
    assert "ELEMENT_WISE_ADD1 at feature level 6.4: valid" in out and "Axis is 2" in out
    assert run("explain", "-", given=json.dumps(VALID).encode())[1].startswith("GATHER_ELEMENTS at")
    assert run("explain", "-", given=b'{"dispatchables": {}}')[:2] == (
        0,
        "There is no description in this file.\n",
    )


EVIL = "\x1b[2J\r\n[ok]\nGATHER at feature level 6.4: valid\u202e\x85"


@pytest.mark.parametrize(
    "value",
    [
        {EVIL: 1, "type": "GATHER", "desc": {}},
        {"type": EVIL, "desc": {}},
        {"dispatchables": {EVIL: VALID, "second": {**VALID, EVIL: 2}}},
        changed("desc.InputTensor.DataType", EVIL),
        changed("desc.InputTensor", {EVIL: 1}),
        {"id": EVIL, **changed("desc.Axis", EVIL)},
        [EVIL],
    ],
)
def test_nothing_in_a_file_forges_a_line_or_reaches_the_terminal(value: Any) -> None:
    given = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for command in ("explain", "validate"):
        out = run(command, "-", given=given)[1]
        assert all(" " <= one <= "~" for one in out.replace("\n", ""))
        assert not {"[ok]", "GATHER at feature level 6.4: valid"} & set(out.splitlines())


def test_help_version_and_no_command() -> None:
    assert run("--version")[:2] == (0, f"dmlops {dmlops.__version__}\n")
    status, out, err = run()
    assert (status, out) == (2, "")
    assert "Check and fix DirectML operator descriptions" in err and "explain" in err


def test_the_models_of_dxdispatch() -> None:
    folder = os.environ.get("DXDISPATCH_MODELS")
    if folder is None:
        pytest.skip("DXDISPATCH_MODELS does not name a folder of DxDispatch's models: they are left out")
    for file in sorted(Path(folder).glob("*.json")):
        _, out, err = run("validate", str(file))
        results = [json.loads(one) for one in out.splitlines()]
        expected = [
            name
            for name, one in json.loads(file.read_text(encoding="utf-8-sig")).get("dispatchables", {}).items()
            if one["type"].startswith("DML_")
        ]
        assert err == ""
        if file.name != "_schema.json":
            assert [result["id"] for result in results] == expected
            assert all(result["ok"] for result in results), results
