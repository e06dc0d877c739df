"""Advice in a small registry, where a fused activation can draw some of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_library import Library
from dmlgen.cli import main

ROOT = Path(__file__).parents[1]
KEPT = ("gemm", "activation_elu", "activation_relu")
ADVICE = """
rules:
  - id: alpha-range
    require: Alpha >= 0.0
    source: ours
    advice: true
"""
TENSORS = {
    "ATensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 3]},
    "BTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 3, 4]},
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 4]},
}


def gemm(alpha: float, **changes: Any) -> dict[str, Any]:
    """A product whose activation has this Alpha."""
    activation = {"type": "DML_OPERATOR_ACTIVATION_ELU", "desc": {"Alpha": alpha}}
    members = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0, "FusedActivation": activation}
    return {"type": "DML_OPERATOR_GEMM", "desc": {**TENSORS, **members, **changes}}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs for the operators kept, ACTIVATION_ELU with advice on its Alpha."""
    specs, out = tmp_path_factory.mktemp("specs") / "specs", tmp_path_factory.mktemp("out")
    shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("counterparts"))
    for file in (specs / "operators").rglob("*.yaml"):
        if file.stem not in KEPT:
            file.unlink()
        elif file.stem == "activation_elu":
            file.write_text(file.read_text(encoding="utf-8") + ADVICE, encoding="utf-8")
        elif file.stem == "gemm":  # names operators that are not kept
            text = file.read_text(encoding="utf-8")
            file.write_text(re.sub(r"(?m)^integer_operators: .*\n", "", text), encoding="utf-8")
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    return out


def python(outputs: Path, *forms: dict[str, Any]) -> list[dict[str, Any]]:
    """Results of the generated package for descriptions."""
    lines = "".join(f"{json.dumps(form)}\n" for form in forms)
    command = [sys.executable, "-m", "dmlops", "validate", "-"]
    environment = {**os.environ, "PYTHONPATH": str(outputs / "python")}
    done = subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


FOUND = ("DML-ACTIVATION_ELU-alpha-range", "FusedActivation.Alpha", "Alpha is -1; it should be at least 0.0")


def test_a_fused_activation_draws_advice(outputs: Path) -> None:
    drawn, heeded = python(outputs, gemm(-1.0), gemm(1.0))
    assert drawn["ok"] and heeded["ok"]
    assert drawn["min_feature_level"] == heeded["min_feature_level"] == "1.0"
    assert [(one["rule"], one["member"], one["message"]) for one in drawn["advice"]] == [FOUND]
    assert heeded["advice"] == []


def test_a_fused_activation_in_an_invalid_description_draws_none(outputs: Path) -> None:
    (found,) = python(outputs, gemm(-1.0, TransA="TRANSPOSE"))
    assert not found["ok"]
    assert found["advice"] == []


def test_c_draws_the_same_advice(outputs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path, outputs / "include/dmlops.h")
    newest = max(dmlops.FeatureLevel)
    drawn, heeded = (dmlops.from_json(gemm(alpha)).to_ctypes() for alpha in (-1.0, 1.0))
    assert library.advise(drawn, newest) == [FOUND]
    assert library.validate(drawn, newest) == library.advise(heeded, newest) == []
    assert library.lowest(drawn) == dmlops.FeatureLevel("1.0")


def test_the_matrix_of_the_activation_shows_its_advice(outputs: Path) -> None:
    content = json.loads((outputs / "matrix/activation_elu.json").read_bytes())
    cases = {case["id"]: case for case in content["cases"]}
    rule = "DML-ACTIVATION_ELU-alpha-range"
    (case,) = (case for case in cases.values() if case.get("draws") == rule)
    assert case["kind"] == "advice"
    assert case["expect"]["ok"] and case["desc"]["Alpha"] < 0
    assert cases[case["valid_variant"]]["desc"]["Alpha"] >= 0
    others = [one for one in cases.values() if one is not case]
    assert not any(rule in one["expect"]["advice"] for one in others)
