"""Forms of rules, in an invented operator: `same` for several fields, with `when`, for arrays; shorthands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dmlgen.cli import main

HEAD = """operator: BLEND
value: 60000
since: "2.1"
summary: Adds tensors up.
page: blend
unconstrained: [OutputTensor]

members:
  InputCount: {type: UINT, summary: How many inputs there are.}
  InputTensors: {role: input, count: InputCount, summary: What is added up.}
  ScaleTensor: {role: input, summary: A factor for each dimension.}
  WeightTensor: {role: input, optional: true, summary: "A factor, or one for each channel."}
  StepTensor: {role: input, optional: true, summary: A number.}
  OutputTensor: {role: output, summary: The sum.}
  ChannelCount: {type: UINT, summary: How many channels there are.}
  Strict: {type: BOOL, summary: Whether inputs are as large as the output.}
"""
RULES = """
rules:
  - {id: input-count-range, require: InputCount >= 1}
  - {same: [DimensionCount, DataType], of: [InputTensors, OutputTensor, WeightTensor, ScaleTensor]}
  - {id: strict-sizes, same: Sizes, of: [InputTensors, OutputTensor], when: Strict}
  - {id: scale-broadcast, require: "broadcasts(ScaleTensor, OutputTensor)"}
  - id: weight-sizes
    require: per_axis(WeightTensor, channel_axis(WeightTensor), ChannelCount)
    when: present(WeightTensor)
  - {id: step-scalar, require: is_scalar(StepTensor), when: present(StepTensor)}
  - id: inputs-fit
    require: all(broadcasts(InputTensors[d], OutputTensor) for d in range(min(InputCount, 3)))
    when: not Strict
  - id: first-leading-ones
    require: leading_ones(InputTensors[0].Sizes, InputTensors[0].DimensionCount - 3)
  - id: channel-windows
    require: >-
      OutputTensor.Sizes[row_axis(OutputTensor)]
      <= windows(8, OutputTensor.Sizes[column_axis(OutputTensor)], 2)
"""
# The same rules, each in the words that it had without these forms.
PLAIN = """
rules:
  - {id: input-count-range, require: InputCount >= 1, source: docs}
  - id: same-rank
    same: DimensionCount
    of: [InputTensors, OutputTensor, WeightTensor, ScaleTensor]
    source: docs
  - id: same-type
    same: DataType
    of: [InputTensors, OutputTensor, WeightTensor, ScaleTensor]
    source: docs
  - {id: strict-sizes, same: Sizes, of: [InputTensors, OutputTensor], when: Strict, source: docs}
  - id: scale-broadcast
    require: >-
      all(ScaleTensor.Sizes[d] == OutputTensor.Sizes[d] for d in axes(ScaleTensor)
      if ScaleTensor.Sizes[d] != 1)
    source: docs
  - id: weight-sizes
    require: >-
      WeightTensor.Sizes[min(WeightTensor.DimensionCount - 1, 1)] in (1, ChannelCount)
      and all(WeightTensor.Sizes[d] == 1 for d in axes(WeightTensor)
      if d != min(WeightTensor.DimensionCount - 1, 1))
    when: present(WeightTensor)
    source: docs
  - id: step-scalar
    require: all(StepTensor.Sizes[d] == 1 for d in axes(StepTensor))
    when: present(StepTensor)
    source: docs
  - id: inputs-fit
    require: >-
      all(all(InputTensors[d].Sizes[e] == OutputTensor.Sizes[e] for e in axes(InputTensors[d])
      if InputTensors[d].Sizes[e] != 1) for d in range(min(InputCount, 3)))
    when: not Strict
    source: docs
  - id: first-leading-ones
    require: all(InputTensors[0].Sizes[d] == 1 for d in range(max(InputTensors[0].DimensionCount - 3, 0)))
    source: docs
  - id: channel-windows
    require: >-
      OutputTensor.Sizes[max(OutputTensor.DimensionCount - 2, 0)]
      <= max(8 - OutputTensor.Sizes[OutputTensor.DimensionCount - 1], 0) // 2 + 1
    source: docs
"""
SUPPORT = """
support:
  "2.1":
    - tensors: [InputTensors, ScaleTensor, WeightTensor, OutputTensor]
      ranks: 1..8
      types: [FLOAT32, FLOAT16]
    - {tensors: [StepTensor], ranks: 1..8, types: [UINT32]}

compute:
  outputs:
    OutputTensor: broadcast(ScaleTensor)
"""
VALID: dict[str, Any] = {
    "InputTensors": [{"DataType": "FLOAT32", "Sizes": [1, 3, 2, 4]}] * 2,
    "ScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 1, 1]},
    "WeightTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 1, 1]},
    "StepTensor": {"DataType": "UINT32", "Sizes": [1, 1]},
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3, 2, 4]},
    "ChannelCount": 3,
    "Strict": True,
}
F16, LESS = {"DataType": "FLOAT16", "Sizes": [1, 3, 2, 4]}, {"DataType": "FLOAT32", "Sizes": [1, 3, 2, 3]}


def generated(specs: Path, out: Path, rules: str) -> Path:
    """The outputs for BLEND with these rules."""
    path = specs / "operators/blend/blend.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + rules + SUPPORT, encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def outputs(gather_specs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    specs = tmp_path_factory.mktemp("blend") / "specs"
    shutil.copytree(gather_specs, specs)
    return generated(specs, tmp_path_factory.mktemp("out"), RULES)


def run(outputs: Path, program: str, given: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(outputs / "python")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def broken(outputs: Path, *changes: dict[str, Any]) -> list[list[str]]:
    """The rules that each changed description breaks, without the operator's name."""
    forms = [{"type": "DML_OPERATOR_BLEND", "desc": {**VALID, **change}} for change in changes]
    program = (
        "import dmlops, json, sys\n"
        "for form in json.load(sys.stdin):\n"
        "    print(json.dumps([one.rule for one in dmlops.from_json(form).validate('6.4')]))"
    )
    lines = run(outputs, program, json.dumps(forms)).splitlines()
    return [[rule.partition("BLEND-")[2] for rule in json.loads(line)] for line in lines]


def sized(*sizes: int, of: str = "FLOAT32") -> dict[str, Any]:
    return {"DataType": of, "Sizes": list(sizes)}


HOLDS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "one input": {"InputTensors": [sized(1, 3, 2, 4)]},
    "no weights and no step": {"WeightTensor": None, "StepTensor": None},
    "a single weight": {"WeightTensor": sized(1, 1, 1, 1)},
    "a scale for each element": {"ScaleTensor": sized(1, 3, 2, 4)},
    "inputs of other sizes where that may be": {
        "InputTensors": [sized(1, 3, 1, 4), sized(1, 1, 2, 1)],
        "Strict": False,
    },
    "one dimension": {
        "InputTensors": [sized(1)],
        "ScaleTensor": sized(1),
        "WeightTensor": sized(3),
        "OutputTensor": sized(1),
    },
    "eight dimensions": {
        "InputTensors": [sized(1, 1, 1, 1, 1, 3, 2, 4)],
        "OutputTensor": sized(1, 1, 1, 1, 1, 3, 2, 4),
        "ScaleTensor": sized(*[1] * 8),
        "WeightTensor": sized(*[1] * 8),
    },
}
BREAKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "input-count-range": ({"InputTensors": []}, ["input-count-range"]),
    "same-type, of an input": ({"InputTensors": [VALID["InputTensors"][0], F16]}, ["same-type"]),
    "same-type, of the output": ({"OutputTensor": F16}, ["same-type"]),
    "same-type, of an optional input": ({"WeightTensor": sized(1, 3, 1, 1, of="FLOAT16")}, ["same-type"]),
    "same-rank": ({"ScaleTensor": sized(3, 1, 1)}, ["same-rank"]),
    "strict-sizes, of an input": ({"InputTensors": [VALID["InputTensors"][0], LESS]}, ["strict-sizes"]),
    "strict-sizes, of the output": ({"OutputTensor": LESS}, ["strict-sizes"]),
    "scale-broadcast": ({"ScaleTensor": sized(1, 2, 1, 1)}, ["scale-broadcast"]),
    "weight-sizes, along the axis": ({"WeightTensor": sized(1, 2, 1, 1)}, ["weight-sizes"]),
    "weight-sizes, off the axis": ({"WeightTensor": sized(1, 3, 2, 1)}, ["weight-sizes"]),
    "step-scalar": ({"StepTensor": sized(1, 2, of="UINT32")}, ["step-scalar"]),
    "inputs-fit": ({"InputTensors": [sized(1, 3, 2, 4), sized(1, 2, 2, 4)], "Strict": False}, ["inputs-fit"]),
    "first-leading-ones": (
        {"InputTensors": [sized(2, 3, 2, 4)], "OutputTensor": sized(2, 3, 2, 4)},
        ["first-leading-ones"],
    ),
    "channel-windows": (
        {"InputTensors": [sized(1, 3, 4, 4)], "OutputTensor": sized(1, 3, 4, 4)},
        ["channel-windows"],
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds(name: str, outputs: Path) -> None:
    assert broken(outputs, HOLDS[name]) == [[]]


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_one_rule(name: str, outputs: Path) -> None:
    change, rules = BREAKS[name]
    assert broken(outputs, change) == [rules]


def test_outputs_follow_from_arrays_and_in_the_case_that_a_rule_names(outputs: Path) -> None:
    forms = [{"type": "DML_OPERATOR_BLEND", "desc": {**VALID, "Strict": strict}} for strict in (True, False)]
    program = (
        "import dataclasses, dmlops, json, sys\n"
        "for form in json.load(sys.stdin):\n"
        "    try:\n"
        "        desc = dataclasses.replace(dmlops.from_json(form), OutputTensor=None)\n"
        "        output = desc.infer().OutputTensor\n"
        "        print(output.DataType.name, *output.Sizes)\n"
        "    except ValueError:\n"
        "        print('does not follow')"
    )
    assert run(outputs, program, json.dumps(forms)).splitlines() == ["FLOAT32 1 3 2 4", "does not follow"]


def test_the_forms_are_the_plain_rules(outputs: Path, specs: Path, tmp_path: Path) -> None:
    """Validators in Python and C, messages and texts are those of the conditions written out."""
    plain = generated(specs, tmp_path / "plain", PLAIN)
    for file in ("python/dmlops/operators/blend.py", "registry.json", "include/dmlops.h"):
        assert (plain / file).read_bytes() == (outputs / file).read_bytes()


def test_what_may_be_absent_is_not_read_unasked(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = specs / "operators/blend/blend.yaml"
    path.parent.mkdir()
    spread, wanted = "broadcast(ScaleTensor)", "WeightTensor may be absent"
    path.write_text(HEAD + RULES + SUPPORT.replace(spread, "broadcast(WeightTensor)"), encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if wanted in line)
    number = path.read_text(encoding="utf-8").splitlines().index("compute:") + 1
    assert line.startswith(f"{path.as_posix()}:{number}:1: error[read-of-absent]")
    asked = "broadcast(WeightTensor) if present(WeightTensor) else broadcast(ScaleTensor)"
    path.write_text(HEAD + RULES + SUPPORT.replace(spread, asked), encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
