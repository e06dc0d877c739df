"""`dmlgen run-cases` and the package that does its work: every case counts once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlgen.cli import main

PACKAGE = Path(dmlops.__file__).parents[1]
MATRIX = PACKAGE.parent / "matrix"
OPERATORS = ("dynamic_quantize_linear", "gather_nd", "join")  # the first has floats that need all digits

# Python runs a module of this name at its start: that of every worker, too. Which reference is run is noted.
HOOK = """
import os, signal, sys, time
from pathlib import Path
if sys.argv[0] == "-c":
    import dmlops.reference
    run = dmlops.reference.run
    def other(desc, inputs):
        notes = Path(os.environ["NOTES"])
        with (notes / "runs").open("a") as file:
            file.write("x")
        if (notes / "runs").stat().st_size % 10 == 5:
            {}
        return run(desc, inputs)
    dmlops.reference.run = other
"""
DIES_ONCE = """
            try:
                (notes / "died").mkdir()
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
"""
WAITS = """
            (notes / "waits").mkdir(exist_ok=True)
            time.sleep(1000)
"""


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    folder = tmp_path / "matrices"
    folder.mkdir()
    for operator in OPERATORS:
        shutil.copy(MATRIX / f"{operator}.json", folder)
    return folder


@pytest.fixture
def expected() -> dict[tuple[str, str], str]:
    """The verdict on each run that there should be, once."""
    content = [json.loads((MATRIX / f"{operator}.json").read_bytes()) for operator in OPERATORS]
    cases = [case for matrix in content for case in matrix["cases"]]
    validated = {(case["id"], "validation"): "agree" for case in cases}
    return validated | {(case["id"], "reference"): "agree" for case in cases if "outputs" in case}


class Sweep:
    """The work of `dmlgen run-cases` in a process, with what a test puts on the workers' path."""

    def __init__(self, tmp_path: Path, matrices: Path) -> None:
        self.out, self.notes = tmp_path / "out", tmp_path / "notes"
        self.notes.mkdir()
        self._matrices = matrices

    def started(self, hook: str = "pass", *arguments: str) -> subprocess.Popen[str]:
        (self.notes / "sitecustomize.py").write_text(HOOK.format(hook))
        path = os.pathsep.join((str(self.notes), str(PACKAGE)))
        command = [sys.executable, "-m", "dmlops.run_cases", str(self._matrices), f"--out={self.out}"]
        return subprocess.Popen(
            [*command, "--no-shaders", "--format=json", *arguments],
            env={**os.environ, "PYTHONPATH": path, "NOTES": str(self.notes)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, hook: str = "pass", *arguments: str) -> tuple[int, dict[str, Any]]:
        process = self.started(hook, *arguments)
        output, said = process.communicate()
        assert output, said
        return process.returncode, json.loads(output)


@pytest.fixture
def sweep(tmp_path: Path, matrices: Path) -> Sweep:
    return Sweep(tmp_path, matrices)


def counted(report: dict[str, Any]) -> list[tuple[tuple[str, str], str]]:
    return sorted(((run["id"], run["kind"]), run["verdict"]) for run in report["runs"])


def test_a_sweep_whose_worker_was_killed_goes_on_where_it_was(
    sweep: Sweep, expected: dict[tuple[str, str], str]
) -> None:
    process = sweep.started(DIES_ONCE)
    output, said = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert "a worker died" in said and said.count("\n") == 1, said
    kept = list(sweep.out.glob("*.json"))
    status, report = sweep.run()
    assert (status, counted(report)) == (0, sorted(expected.items()))
    assert report["environment"]["units"].endswith(f", {len(kept)} of them kept from earlier")


def test_an_ended_sweep_goes_on_where_it_was(sweep: Sweep, expected: dict[tuple[str, str], str]) -> None:
    process = sweep.started(WAITS)
    until(lambda: (sweep.notes / "waits").exists() and bool(list(sweep.out.glob("*.json"))))
    process.kill()
    process.communicate()  # which lasts until no worker holds the pipes
    kept = {path.name: path.read_bytes() for path in sweep.out.glob("*.json")}
    status, report = sweep.run()
    assert (status, counted(report)) == (0, sorted(expected.items()))
    after = {path.name: path.read_bytes() for path in sweep.out.glob("*.json")}
    assert 0 < len(kept) < len(after)
    assert kept.items() <= after.items(), "what was done was done again"
    assert report["environment"]["units"] == f"{len(after)}, {len(kept)} of them kept from earlier"


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


def test_what_disagrees_is_told_and_other_matrices_start_anew(sweep: Sweep, matrices: Path) -> None:
    assert sweep.run()[0] == 0
    path = matrices / "join.json"
    matrix = json.loads(path.read_bytes())
    data = next(case for case in matrix["cases"] if "outputs" in case and "choices" not in case)
    data["outputs"]["OutputTensor"][1] = 77
    broken = next(case for case in matrix["cases"] if case["kind"] == "negative")
    broken["expect"]["rules"] = ["DML-OPERATOR-since"]
    early, refused = [
        case for case in matrix["cases"] if case["kind"] == "positive" and case["expect"]["ok"]
    ][-2:]
    early["expect"]["min_feature_level"] = "6.4"
    refused["expect"]["min_feature_level"] = None
    path.write_text(json.dumps(matrix))
    status, report = sweep.run()
    found = {run["id"]: run for run in report["runs"] if run["verdict"] != "agree"}
    assert status == 1
    assert found.keys() == {data["id"], broken["id"], early["id"], refused["id"]}
    assert found[data["id"]]["verdict"] == "differ"
    assert found[data["id"]]["difference"]["expected"] in ("77", "77.0")
    assert found[broken["id"]]["verdict"] == "differ"
    assert "DML-OPERATOR-since" in found[broken["id"]]["why"]
    assert found[early["id"]]["verdict"] == found[refused["id"]]["verdict"] == "accepted though invalid"


def test_spoiled_results_are_made_again(sweep: Sweep, expected: dict[tuple[str, str], str]) -> None:
    sweep.run()
    files = sorted(sweep.out.glob("*.json"))
    files[0].write_bytes(files[0].read_bytes()[:-100])
    files[1].write_text("[" * 100_000)
    shortened = json.loads(files[2].read_bytes())
    shortened["runs"] = shortened["runs"][:1]
    files[2].write_text(json.dumps(shortened))
    status, report = sweep.run()
    assert (status, counted(report)) == (0, sorted(expected.items()))
    assert report["environment"]["units"].endswith(f", {len(files) - 3} of them kept from earlier")


def test_the_command_with_shaders(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from dmlops import gpu

    try:
        name = gpu.devices()[0]
    except gpu.GpuUnavailable as error:
        pytest.skip(str(error))
    status = main(["run-cases", "--operators", "element_wise_negate", f"--out={tmp_path}"])
    output = capfd.readouterr().out
    matrix = json.loads((MATRIX / "element_wise_negate.json").read_bytes())
    computed = sum("outputs" in case for case in matrix["cases"])
    assert status == 0
    assert f"validation: {len(matrix['cases'])} agree" in output
    assert f"reference: {computed} agree" in output
    assert f"{name}: {computed} agree" in output


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run-cases", "--operators", "GATHERS", f"--out={tmp_path}"]) == 2
    assert "GATHERS" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told(sweep: Sweep) -> None:
    sweep.out.write_text("")
    output, said = sweep.started().communicate()
    assert not output
    assert said.startswith("dmlgen: ") and said.count("\n") == 1, said
