"""An operator that nobody has, written as one file: everything else follows from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from test_random_definitions import ROOT, differences, dmlgen

SPEC = """\
operator: BILINEAR_FORM
value: 900
since: "5.0"
summary: Multiplies rows of two matrices by a matrix between them, for each output.
page: none

members:
  XTensor: {role: input, summary: The rows on the left.}
  WeightTensor: {role: input, summary: A matrix for each output.}
  YTensor: {role: input, summary: The rows on the right.}
  OutputTensor: {role: output, summary: One number for each pair of rows and each matrix.}

rules:
  - {same: DataType, of: [XTensor, WeightTensor, YTensor, OutputTensor]}
  - {id: x-shape, shape: XTensor, is: [Rows, Left]}
  - {id: weight-shape, shape: WeightTensor, is: [Outputs, Left, Right]}
  - {id: y-shape, shape: YTensor, is: [Rows, Right]}
  - {id: output-sizes, infer: "OutputTensor.Sizes = [Rows, Outputs]"}

support:
  "5.0":
    - {tensors: [XTensor, YTensor, OutputTensor], ranks: 2, types: [FLOAT32, FLOAT16]}
    - {tensors: [WeightTensor], ranks: 3, types: [FLOAT32, FLOAT16]}

compute:
  outputs:
    OutputTensor: >-
      sum(XTensor[[at[0], i]] * WeightTensor[[at[1], i, j]] * YTensor[[at[0], j]]
      for i in range(Left) for j in range(Right))
"""

CHECK = """
import numpy as np

import dmlops
from dmlops.gpu.device import Device

def described(**sizes):
    tensors = {name: {"DataType": "FLOAT32", "Sizes": one} for name, one in sizes.items()}
    return dmlops.from_json({"type": "BILINEAR_FORM", "desc": tensors})

random, device = np.random.default_rng(1), Device.open(None)
for rows, left, right, outputs in [(5, 7, 3, 4), (1, 1, 1, 1), (3, 40, 50, 2)]:
    sizes = {"XTensor": [rows, left], "WeightTensor": [outputs, left, right], "YTensor": [rows, right]}
    inputs = {name: random.normal(size=one).astype(np.float32) for name, one in sizes.items()}
    desc = described(**sizes, OutputTensor=[rows, outputs])
    assert desc.validate("5.0") == []
    wanted = np.einsum("bi,oij,bj->bo", *(array.astype(np.float64) for array in inputs.values()))
    for found in (dmlops.reference.run(desc, inputs), dmlops.gpu.run(desc, inputs, device)):
        np.testing.assert_allclose(found["OutputTensor"], wanted, rtol=1e-4, atol=1e-4)

wrong = described(XTensor=[2, 3], WeightTensor=[4, 3, 5], YTensor=[2, 6], OutputTensor=[2, 4])
assert [one.rule for one in wrong.validate("5.0")] == ["DML-BILINEAR_FORM-y-shape"]
assert wrong.validate("4.1")[0].rule == "DML-OPERATOR-since"
"""


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the specs and the outputs of the operator, which alone was added to what all share."""
    folder = tmp_path_factory.mktemp("invented")
    specs = folder / "specs"
    shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("operators", "counterparts"))
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    (specs / "operators/matrix").mkdir(parents=True)
    (specs / "operators/matrix/bilinear_form.yaml").write_text(SPEC, encoding="utf-8")
    dmlgen("lint", "--fix", "--specs", str(specs))
    dmlgen("generate", "--specs", str(specs), "--out", str(folder / "out"))
    return folder


def test_it_is_validated_and_computed_as_numpy_has_it(invented: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(invented / "out/python")}
    done = subprocess.run(
        [sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_its_cases_hold(by: str, invented: Path) -> None:
    assert differences(invented, by) == ""
