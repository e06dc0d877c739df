"""Hostile texts and names in specs: what lint accepts works in every output; findings have positions."""

# ruff: noqa: E501 -- tables

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from c_runner import WARNINGS, compiler
from dmlgen.cli import ROOT, main
from dmlgen.names import PYTHON_CLASSES, PYTHON_NAMES, python_variable
from spoiled import edit

ELEMENTS, CELU = "operators/gather/gather_elements.yaml", "operators/activation/activation_celu.yaml"

NASTY = [
    '??/"; int system(const char*); //',
    "ends in ??/",
    "ends in \\",
    "\\N{DIGIT ONE} \\x \\u \\' %s %n %m %?",
    '""" quotes \'\'\' " */ /* // #{# {% raw %} ${x} {{',
    "a\n#define min(a, b) (a)\n#error no",
    "x" * 110 + "\\N",
    "\U0001f600 caf\u00e9 \u20ac",
    "| a | `b` <script> [c](d) |",
    """</script><script>alert(1)</script> --> ]]> <b class="x' on=y> &amp; "</textarea></title>""",
]
FREE = {"summary", "because", "says", "unspecified", "broken_by", "where", "registry", "text", "name"}
IN_BRACES = {
    "because",
    "message",
    "hint",
    "broadcast",
    "rank",
    "axis",
}  # where braces contain values


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def small(folder: Path) -> Path:
    """Specs of a gather and of an operator of elements."""
    shutil.copytree(ROOT / "specs", folder, ignore=shutil.ignore_patterns("counterparts"))
    kept = {folder / ELEMENTS, folder / CELU}
    for file in (folder / "operators").rglob("*.yaml"):
        if file not in kept:
            file.unlink()
    (folder / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    assert main(["lint", "--specs", str(folder), "--fix"]) == 0
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small(tmp_path_factory.mktemp("two") / "specs")


@pytest.fixture
def specs(two: Path, tmp_path: Path) -> Path:
    shutil.copytree(two, tmp_path / "specs")
    return tmp_path / "specs"


def spoil_texts(node: Any, nasty: str, key: str = "") -> Any:
    """The document with the nasty text behind, or in place of, each of its free texts."""
    if isinstance(node, dict):
        return {name: spoil_texts(value, nasty, name) for name, value in node.items()}
    if isinstance(node, list):
        return [spoil_texts(one, nasty, key) for one in node]
    if not isinstance(node, str) or key not in FREE | IN_BRACES:
        return node
    text = nasty
    if key in IN_BRACES:
        text = text.replace("{", "(").replace("}", ")")
    if key in ("message", "hint", "broadcast", "rank", "axis"):  # the schema rejects these characters there
        text = node + "; " + re.sub(r'[%"\\]', "", text)[:40].strip()
    return text


RUN = """
import json, sys
import numpy as np
import dmlops, dmlops.overview
from dmlops import TensorDesc, gpu, reference, registry
for path in json.loads(sys.argv[1]):
    with open(path) as file:
        cases = json.load(file).get("cases", ())  # one file is the schema
    for case in cases:
        desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
        broken = [one.rule for one in desc.validate(case["feature_level"])]
        assert broken == case["expect"]["rules"], (broken, case)
data = np.arange(-3, 3, dtype=np.float32)
tensor = TensorDesc("FLOAT32", (6,))
x, i, o = TensorDesc("FLOAT32", (2, 3)), TensorDesc("UINT32", (1, 3)), TensorDesc("FLOAT32", (1, 3))
indices = np.uint32([[1, 0, 7]])
messages = []
for name in json.loads(sys.argv[2]):
    operator = registry.operator(name)
    last = operator.MEMBERS[-1].name
    if len(operator.MEMBERS) == 4:
        desc = operator(InputTensor=x, IndicesTensor=i, OutputTensor=o, **{last: 0})
        inputs = {"InputTensor": data.reshape(2, 3), "IndicesTensor": indices}
        bad = operator(InputTensor=x, IndicesTensor=i, OutputTensor=o, **{last: 1})
        messages.append([one.message for one in bad.validate()])
    else:
        desc = operator(InputTensor=tensor, OutputTensor=tensor, **{last: 1.5})
        inputs = {"InputTensor": data}
    assert desc.validate() == [], desc.validate()
    want, got = reference.run(desc, inputs), gpu.run(desc, inputs)
    np.testing.assert_allclose(got["OutputTensor"], want["OutputTensor"], rtol=1e-5)
assert len(dmlops.overview.levels_text().splitlines()) == 1 + len(registry.LEVELS)
print(json.dumps([*sum(messages, []), registry.rule("DML-OPERATOR-since").text]))
"""

C = """
#define DMLOPS_RULE_TEXTS
#include "dmlops.h"
#include <stdio.h>
static const UINT a[2] = {2, 3}, b[2] = {1, 3};
static const DML_BUFFER_TENSOR_DESC x = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, a, NULL, 24, 0};
static const DML_BUFFER_TENSOR_DESC i = {DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_FLAG_NONE, 2, b, NULL, 12, 0};
static const DML_BUFFER_TENSOR_DESC o = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, b, NULL, 12, 0};
static const DML_TENSOR_DESC tx = {DML_TENSOR_TYPE_BUFFER, &x}, ti = {DML_TENSOR_TYPE_BUFFER, &i};
static const DML_TENSOR_DESC to = {DML_TENSOR_TYPE_BUFFER, &o};
static void judge(DML_OPERATOR_TYPE type, const void *members) {
    const DML_OPERATOR_DESC desc = {type, members};
    dmlops_violation found[8];
    size_t count = dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, found, 8);
    for (size_t n = 0; n < count; ++n) puts(found[n].message);
}
#define JUDGE(NAME) { const DML_##NAME##_OPERATOR_DESC g = {&tx, &ti, &to, 1}; judge(DML_OPERATOR_##NAME, &g); }
int main(void) {
    @JUDGED@
    printf("%s\\n", dmlops_rule_text("DML-OPERATOR-since"));
    return 0;
}
"""


def outputs_work(
    specs: Path, folder: Path, kinds: tuple[tuple[str, str], ...]
) -> tuple[list[str], list[str]]:
    """Everything generated is imported, compiled and run; the messages and texts of Python and of C."""
    out = folder / "out"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    texts = [path.read_text(encoding="utf-8") for path in sorted((specs / "operators").rglob("*.yaml"))]
    operators = {re.findall(r"^['\"]?operator['\"]?: (\w+)", text, re.M)[0]: text for text in texts}
    environment = {**os.environ, "PYTHONPATH": str(out / "python")}
    matrices = json.dumps([str(path) for path in sorted((out / "matrix").glob("*.json"))])
    command = [sys.executable, "-W", "error", "-c", RUN, matrices, json.dumps([*operators])]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    python: list[str] = json.loads(result.stdout)
    assert all("\n" not in message for message in python)
    schema_holds(out)
    judged = "".join(f"JUDGE({name}) " for name, text in operators.items() if "IndicesTensor" in text)
    (folder / "main.c").write_text(C.replace("@JUDGED@", judged), encoding="utf-8")
    printed: list[str] = []
    for name, standard in kinds:
        language = ["-x", "c++"] if name.endswith("++") else []
        build = [compiler(name), *language, f"-std={standard}", *WARNINGS, "-Wno-missing-field-initializers"]
        command = [*build, f"-I{out / 'include'}", str(folder / "main.c"), "-o", str(folder / "main")]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[:4000]
        run = subprocess.run([str(folder / "main")], capture_output=True, check=True)
        printed = run.stdout.decode().splitlines()
        assert [cut(line) for line in printed] == [cut(line) for line in python]
    return python, printed


def schema_holds(out: Path) -> None:
    """The schema of descriptions is a schema, and takes the valid descriptions of the matrices."""
    schema = json.loads((out / "python/dmlops/schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    files = map(json.loads, (path.read_text(encoding="utf-8") for path in (out / "matrix").glob("*.json")))
    cases = [case for file in files for case in file.get("cases", ())]
    valid = [{"type": case["type"], "desc": case["desc"]} for case in cases if case["expect"]["ok"]]
    assert len(valid) > 20 and all(map(validator.is_valid, valid))
    assert not validator.is_valid({**valid[0], "desc": {"InputTensor": 1}})


def cut(message: str) -> str:
    """A message as far as the header's fixed buffer certainly has it."""
    return message[:150]


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_every_free_text_is_text_in_every_output(nasty: str, specs: Path, tmp_path: Path) -> None:
    for path in specs.rglob("*.yaml"):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.name != "identifiers.yaml":
            text = yaml.dump(
                spoil_texts(document, nasty), Dumper=Plain, sort_keys=False, width=10**6, allow_unicode=True
            )
            path.write_text(text, encoding="utf-8")
    kinds = (
        (("gcc", "c11"), ("clang++", "c++17"))
        if NASTY.index(nasty) % 2
        else (("clang", "c11"), ("g++", "c++17"))
    )
    python, printed = outputs_work(specs, tmp_path, kinds)
    assert python[-1] == printed[-1] == " ".join(nasty.split())


# By kind: names that work in every output, and names that lint refuses, with the kind of its finding.
WORKING = {
    "member": [
        "Violations", "Self", "Validation", "Path", "Hint", "Sound", "New", "Made", "Cls", "Entry", "Int", "Float",
        "Default", "Class", "Template", "Operator", "Import", "Value", "Count",
    ],
    "operator": ["INT"],
    "let": [
        "double", "index", "value", "count", "group", "RANK", "self", "load", "int64_t", "chosen1", "scaled",
        "x_", "main", "matrix", "rest",
    ],
    "loop": ["violations", "self", "float", "hint", "sum", "path", "entry", "print", "d1"],
    "enumerator": ["NAME", "VALUE", "MRO"],
}  # fmt: skip
REFUSED = {
    "member": {
        **dict.fromkeys(
            ("Level", "TensorDesc", "FeatureLevel", "GatherElements", "Any", "TensorFlags"), "name-clash"
        ),
        **dict.fromkeys(
            [f"InputTensor{one}" for one in ("Sizes", "DataType", "Rank", "Types")], "name-clash"
        ),
        **dict.fromkeys(("MEMBERS", "OPERATOR", "NAN", "Axis_", "axis"), "wrong-value"),
        "NULL": "ambiguous-scalar",
        "None": "expression-form",
        "Axis\n": "yaml-syntax",
    },
    "operator": {
        **dict.fromkeys(
            ("CLASS", "NONE", "INVALID", "TYPE", "TENSOR_DESC", "CON", "DESCRIPTION"), "name-clash"
        ),
        "A__B": "wrong-value",
        "1A": "wrong-value",
        "TRUE": "ambiguous-scalar",
    },
    "let": {
        **dict.fromkeys(("float", "at", "min", "Alpha", "alpha"), "name-clash"),
        **dict.fromkeys(("lambda", "class", "if"), "expression-syntax"),
        "None": "expression-form",
    },
    "loop": {
        **dict.fromkeys(("level", "at", "axis"), "name-clash"),
        "lambda": "expression-syntax",
        "None": "expression-syntax",
        "__debug__": "expression-form",
        "Axis": "idle-expression",
    },
    "enumerator": {
        **dict.fromkeys(("0A", "_A_", "__A__", "A_"), "wrong-value"),
        **dict.fromkeys(("TRUE", "NULL"), "ambiguous-scalar"),
    },
}


def rename(specs: Path, kind: str, name: str) -> None:
    """One name of a kind, made another."""
    if kind == "enumerator":
        for path in specs.rglob("*.yaml"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("OWNED_BY_DML", name), encoding="utf-8")
        return
    path = specs / (CELU if kind == "let" else ELEMENTS)
    text = path.read_text(encoding="utf-8")
    after = renamed(text, kind, name)
    assert after != text
    path.unlink()
    path = path.with_name(f"{name.lower()}.yaml") if kind == "operator" else path
    path.write_text(after, encoding="utf-8")


def renamed(text: str, kind: str, name: str) -> str:
    """An operator's spec with another name in it."""
    match kind:
        case "member":
            return re.sub(r"\bAxis\b", name if name.isidentifier() else json.dumps(name), text)
        case "operator":
            return text.replace("operator: GATHER_ELEMENTS", f"operator: {name}")
        case "loop":
            return re.sub(r"(\[|\bfor |\bif )d\b", rf"\g<1>{name}", text)
        case _:
            return re.sub(r"^( +)x(?=:)|\bx\b(?= if| >=| /)", rf"\g<1>{name}", text, flags=re.M)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in REFUSED.items() for name in names]
)
def test_a_name_is_refused_with_its_place(
    kind: str, name: str, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rename(specs, kind, name)
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["lint", "--specs", str(specs), "--fix"]) == 1
    lines = "".join(capsys.readouterr()).splitlines()
    assert all(re.match(r".+\.yaml:\d+:\d+: error\[[a-z-]+\]: ", line) for line in lines), lines
    assert f" error[{REFUSED[kind][name]}]: " in lines[0]


def test_other_names_work_everywhere(specs: Path, tmp_path: Path) -> None:
    """Each in a copy of one of the operators, or as a further enumerator."""
    number = 1000
    enums, first = specs / "enums.yaml", "      ARGMAX: {value: 0}\n"
    more = "".join(f"      {name}: {{value: {90 + n}}}\n" for n, name in enumerate(WORKING["enumerator"]))
    before = enums.read_text(encoding="utf-8")
    assert before.count(first) == 1
    enums.write_text(before.replace(first, first + more), encoding="utf-8")
    for kind in ("member", "operator", "let", "loop"):
        path = specs / (CELU if kind == "let" else ELEMENTS)
        text = path.read_text(encoding="utf-8")
        for name in WORKING[kind]:
            number += 1
            own = name if kind == "operator" else f"NAMED_{number}"
            copy = renamed(re.sub(r"(?<=^operator: )\w+", own, text, flags=re.M), kind, name)
            copy = re.sub(r"(?<=^value: )\d+", str(number), copy, flags=re.M)
            path.with_name(f"{own.lower()}.yaml").write_text(copy, encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    outputs_work(specs, tmp_path, (("gcc", "c11"), ("clang++", "c++17")))


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"  Axis: {type": "  Any: {type", "Axis": "Any"}, "Any: {type"),
        ({"\nrules:\n": "\nlet:\n  axis: Axis + 1\nrules:\n", "Axis <": "axis <"}, "axis: Axis"),
        ({"[d]": "[axis]", "for d in": "for axis in", "d !=": "axis !="}, "id: indices-sizes"),
    ],
)
def test_a_clash_of_names_is_found_where_the_name_stands(
    changes: dict[str, str], at: str, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = specs / ELEMENTS
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text or new == "Any"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert main(["lint", "--specs", str(specs)]) == 1
    before = text[: text.index(at)]
    where = f"{ELEMENTS}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: "
    found = [line for line in capsys.readouterr().out.splitlines() if "[name-clash]" in line]
    assert found
    assert where in found[0]


NUMBERS = {
    "infinite": (ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < 1e999"),
    "data type beyond the mask": ("enums.yaml", "value: 11", "value: 32"),
    "huge data type": ("enums.yaml", "value: 11", "value: 2147483647"),
    "beyond an enumeration of C": ("enums.yaml", "value: 11", "value: 4294967296"),
    "level beyond 16 bits": ("feature_levels.yaml", "0x6400", "0xFFFFFFFFFFFFFFFF"),
    "too many rules": (ELEMENTS, "\ndata_constraints:", "".join(f"\n  - {{id: r{n}, require: Axis >= 0, source: docs}}" for n in range(256)) + "\ndata_constraints:"),
    "unknown name in a message": ("rules.yaml", "{member} is missing", "{nope} is missing"),
    "format in a message": ("rules.yaml", "{member} is missing", "{member:>1999999999} is missing"),
    "attribute in a message": ("rules.yaml", "{member} is missing", "{member.__class__} is missing"),
    "positional in a message": ("rules.yaml", "{member} is missing", "{} {0} is missing"),
    "brace in a message": ("rules.yaml", "{member} is missing", "{member is missing"),
    "name in a hint": ("rules.yaml", "Sizes {expected}", "Sizes {value}"),
    "unknown general rule": ("rules.yaml", "id: required", "id: requires"),
}  # fmt: skip


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_and_messages_that_outputs_cannot_have(
    what: str, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, old, new = NUMBERS[what]
    edit(specs / file, old, new)
    capsys.readouterr()
    assert main(["lint", "--specs", str(specs)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(re.match(rf".+{re.escape(file)}:\d+:\d+: error\[", line) for line in lines), lines


def test_the_names_of_modules_are_those_that_variables_avoid() -> None:
    """Every name in a module of an operator is one of its spec, of Python, or in the table."""
    for path in (ROOT / "generated" / "python" / "dmlops" / "operators").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        described = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        members = [
            node.target.id
            for one in described
            for node in one.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None
        ]
        spec = {python_variable(member) for member in members}
        assigned = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        used = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                used |= {alias.asname or alias.name for alias in node.names}
        names = {name for name in used if name[0].islower()} - spec - set(dir(builtins))
        assert names <= PYTHON_NAMES | {"level", "enums", "structs"}, (path, names - PYTHON_NAMES)
        assert not assigned & (PYTHON_NAMES - {"violations", "hint"}), path
        classes = {name for name in used if name[0].isupper() and not name.isupper() and "_" not in name}
        enums = {name for name in classes if name not in PYTHON_CLASSES and name not in members}
        package = (ROOT / "generated" / "python" / "dmlops" / "enums.py").read_text(encoding="utf-8")
        assert all(f"class {name}(" in package for name in enums), (path, enums)
