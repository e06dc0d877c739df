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
for name in registry.OPERATORS: dmlops.registry.operator(name)
found = []
for path in json.loads(sys.argv[1]):
    with open(path) as file:
        cases = json.load(file).get("cases", ())  # one file is the schema
    for case in cases:
        desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
        broken = [one.rule for one in desc.validate(case["feature_level"])]
        assert broken == case["expect"]["rules"], (broken, case)
data = np.arange(-3, 3, dtype=np.float32)
tensor = TensorDesc("FLOAT32", (6,))
celu = dmlops.registry.operator("ACTIVATION_CELU")
desc = celu(InputTensor=tensor, OutputTensor=tensor, **{celu.MEMBERS[-1].name: 1.5})
assert desc.validate() == [], desc.validate()
inputs = {"InputTensor": data}
want, got = reference.run(desc, inputs), gpu.run(desc, inputs)
np.testing.assert_allclose(got["OutputTensor"], want["OutputTensor"], rtol=1e-5)
gather = dmlops.registry.operator("GATHER_ELEMENTS")
axis = gather.MEMBERS[-1].name
x, i, o = TensorDesc("FLOAT32", (2, 3)), TensorDesc("UINT32", (1, 3)), TensorDesc("FLOAT32", (1, 3))
desc = gather(InputTensor=x, IndicesTensor=i, OutputTensor=o, **{axis: 0})
assert desc.validate() == [], desc.validate()
inputs = {"InputTensor": data.reshape(2, 3), "IndicesTensor": np.uint32([[1, 0, 7]])}
want, got = reference.run(desc, inputs), gpu.run(desc, inputs)
np.testing.assert_array_equal(got["OutputTensor"], want["OutputTensor"])
bad = gather(InputTensor=x, IndicesTensor=i, OutputTensor=o, **{axis: 1})
assert len(dmlops.overview.levels_text().splitlines()) == 1 + len(registry.LEVELS)
print(json.dumps([one.message for one in bad.validate()]), json.dumps(gather.__doc__))
print(json.dumps({one: registry.rule(one).text for one in ("DML-OPERATOR-since", "DML-GATHER_ELEMENTS-axis-range")}))
"""

C = """
#define DMLOPS_RULE_TEXTS
#include "dmlops.h"
#include <stdio.h>
int main(void) {
    const UINT a[2] = {2, 3}, b[2] = {1, 3};
    const DML_BUFFER_TENSOR_DESC x = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, a, NULL, 24, 0};
    const DML_BUFFER_TENSOR_DESC i = {DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_FLAG_NONE, 2, b, NULL, 12, 0};
    const DML_BUFFER_TENSOR_DESC o = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, b, NULL, 12, 0};
    const DML_TENSOR_DESC tx = {DML_TENSOR_TYPE_BUFFER, &x}, ti = {DML_TENSOR_TYPE_BUFFER, &i};
    const DML_TENSOR_DESC to = {DML_TENSOR_TYPE_BUFFER, &o};
    const DML_GATHER_ELEMENTS_OPERATOR_DESC g = {&tx, &ti, &to, 1};
    const DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, &g};
    dmlops_violation found[8];
    size_t count = dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, found, 8);
    for (size_t n = 0; n < count; ++n) puts(found[n].message);
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
    environment = {**os.environ, "PYTHONPATH": str(out / "python")}
    matrices = json.dumps([str(path) for path in sorted((out / "matrix").glob("*.json"))])
    command = [sys.executable, "-W", "error", "-c", RUN, matrices]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    messages, texts = result.stdout.splitlines()
    python = [*json.JSONDecoder().raw_decode(messages)[0], json.loads(texts)["DML-OPERATOR-since"]]
    assert all("\n" not in message for message in python)
    schema_holds(out)
    (folder / "main.c").write_text(C, encoding="utf-8")
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


NAMES = {
    "member": [
        "Level", "Violations", "Self", "Validation", "Path", "Hint", "Sound", "New", "Made", "Cls", "Entry",
        "InputTensorSizes", "InputTensorDataType", "InputTensorRank", "InputTensorTypes", "MEMBERS", "OPERATOR",
        "NULL", "NAN", "TensorDesc", "FeatureLevel", "GatherElements", "Any", "None", "Int", "Float", "Default",
        "Class", "Template", "Operator", "Import", "Value", "Count", "TensorFlags", "Axis_", "axis", "Axis\n",
    ],
    "operator": ["CLASS", "NONE", "INVALID", "TYPE", "TENSOR_DESC", "CON", "DESCRIPTION", "A__B", "1A", "TRUE", "INT"],
    "let": [
        "float", "double", "at", "index", "value", "count", "group", "min", "RANK", "lambda", "None", "self", "load",
        "int64_t", "chosen1", "class", "Alpha", "alpha", "scaled", "x_", "main", "matrix", "rest", "if",
    ],
    "loop": [
        "violations", "self", "level", "float", "lambda", "__debug__", "at", "Axis", "axis", "hint", "sum", "path",
        "entry", "print", "d1", "None",
    ],
    "enumerator": ["0A", "_A_", "__A__", "A_", "NAME", "VALUE", "TRUE", "MRO", "NULL"],
}  # fmt: skip


def rename(specs: Path, kind: str, name: str) -> None:
    """One name of a kind, made another."""
    path = specs / ELEMENTS
    text = path.read_text(encoding="utf-8")
    if kind == "member":
        text = re.sub(r"\bAxis\b", name if name.isidentifier() else json.dumps(name), text)
    elif kind == "operator":
        path.unlink()
        path = path.with_name(f"{name.lower()}.yaml")
        text = text.replace("operator: GATHER_ELEMENTS", f"operator: {name}")
    elif kind == "loop":
        text = (
            re.sub(r"\[d\]", f"[{name}]", text)
            .replace("for d in", f"for {name} in")
            .replace("d !=", f"{name} !=")
        )
    elif kind == "let":
        path = specs / CELU
        text = path.read_text(encoding="utf-8").replace('x: "InputTensor', f'"{name}": "InputTensor')
        text = re.sub(
            r"value: x if x >= 0 else (.*)expm1\(x /",
            rf"value: {name} if {name} >= 0 else \1expm1({name} /",
            text,
        )
    else:
        path = specs / "enums.yaml"
        text = path.read_text(encoding="utf-8").replace("OWNED_BY_DML", name)
        rules = specs / "rules.yaml"
        rules.write_text(rules.read_text(encoding="utf-8").replace("OWNED_BY_DML", name), encoding="utf-8")
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_a_name_works_everywhere_or_is_refused_with_its_place(
    kind: str, name: str, specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rename(specs, kind, name)
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    capsys.readouterr()
    status = main(["lint", "--specs", str(specs), "--fix"])
    told = capsys.readouterr()
    if status:
        lines = (told.out + told.err).splitlines()
        assert lines
        assert all(re.match(r".+\.yaml:\d+:\d+: error\[[a-z-]+\]: ", line) for line in lines), lines
    elif kind != "operator":
        outputs_work(specs, tmp_path, (("gcc", "c11"), ("clang++", "c++17")))
    else:
        out = tmp_path / "out"
        assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
        program = (
            "import dmlops\nfrom dmlops import registry\n[registry.operator(n) for n in registry.OPERATORS]"
        )
        environment = {**os.environ, "PYTHONPATH": str(out / "python")}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)


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
    path = specs / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
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
