"""`dmlops compare-results` on the results of a stand-in for DxDispatch: complete, damaged, and hostile."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tree_sitter
import tree_sitter_powershell

import fake_dxdispatch
from directx_headers import directx
from dmlgen.cli import main
from dmlgen.project import ROOT
from dmlops.__main__ import main as dmlops

__all__ = ["directx"]

RUN = "gather_elements/example.gather_elements"


@pytest.fixture(scope="module")
def filled(gather_specs: Path, directx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported folder with the results of two operators, one of which the stand-in cannot compute."""
    out = tmp_path_factory.mktemp("filled")
    names = ["gather_elements", "gather_nd"]  # the second it cannot compute
    command = ["export", "dxdispatch", str(out), "--specs", str(gather_specs), "--operators", *names]
    assert main(command) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_DIRECTML_H", str(directx / "directx/DirectML.h"))
        run_cases(out, fake_dxdispatch.main)
    return out


def run_cases(folder: Path, program: Callable[[list[str]], int]) -> None:
    """Does the work of Run-Cases.ps1, where there is no PowerShell."""
    results = folder / "results"
    results.mkdir()

    def invoke(*arguments: str) -> tuple[int, str, str]:
        output, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(errors):
            status = program(list(arguments))
        return status, output.getvalue(), errors.getvalue()

    def lines(option: str) -> list[str]:
        return [line for line in invoke(option)[1].split("\n") if line]

    record = {
        "version": 1,
        "cases": hashlib.sha256((folder / "cases.json").read_bytes()).hexdigest().upper(),
        "windows": "10.0.22621.0",
        "adapter": "",
        "adapters": lines("--show_adapters"),
        "dependencies": lines("--show_dependencies"),
    }
    (results / "run.json").write_text(json.dumps(record), encoding="utf-8")
    for row in csv.DictReader((folder / "runs.csv").read_text(encoding="utf-8").splitlines()):
        place = results / row["run"]
        place.mkdir(parents=True)
        model = str(folder / "models" / f"{row['run']}.json")
        with chdir(place):
            status, output, errors = invoke("--model", model, "--dml_feature_level", row["level"])
        (place / "stdout.txt").write_text(output, encoding="utf-8")
        (place / "stderr.txt").write_text(errors, encoding="utf-8")
        done = {"exit_code": status, "timed_out": False, "seconds": 0.1}
        (place / "result.json").write_text(json.dumps(done), encoding="utf-8")


def run(*arguments: str) -> tuple[int, str, str]:
    """The command line of dmlops, in this process."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = dmlops(list(arguments))
    return status, output.getvalue(), errors.getvalue()


def verify(folder: Path, form: str = "json", *more: str) -> tuple[int, Any]:
    status, out, err = run("compare-results", str(folder / "results"), "--format", form, *more)
    assert err == "" and "Traceback" not in out
    return status, json.loads(out) if form == "json" else out


def test_what_agrees_agrees_and_what_was_not_run_is_told(filled: Path) -> None:
    status, report = verify(filled)
    assert status == 0
    sums = {(one["operator"], one["kind"]): one["verdicts"] for one in report["operators"]}
    assert {one["verdict"] for one in report["runs"]} == {"agree", "not run"}
    assert (
        sums["GATHER_ELEMENTS", "directml"]["agree"] > 40 and sums["GATHER_ELEMENTS", "shader"]["agree"] > 5
    )
    assert sums["GATHER_ND", "directml"]["not run"] > 20 and sums["GATHER_ND", "shader"]["agree"] == 0
    skipped = {one["why"] for one in report["runs"] if one["verdict"] == "not run"}
    assert "the device does not support it: DXGI_ERROR_UNSUPPORTED" in skipped
    assert report["environment"] == {
        "Windows": "10.0.22621.0",
        "adapter": "Fake Adapter 9000",
        "driver": "1.2.3.4",
        "DirectML": "1.15.4",
        "D3D12": "unknown",
        "DXCompiler": "unknown",
    }


def test_every_form_says_the_same(filled: Path) -> None:
    _, report = verify(filled)
    runs = len(report["runs"])
    _, text = verify(filled, "text")
    assert f"{runs} runs: " in text and "DirectML: 1.15.4" in text


@pytest.fixture
def spoiled(filled: Path, tmp_path: Path) -> Path:
    """A copy of the folder, and of its results those of few runs."""
    shutil.copytree(filled, tmp_path / "all", ignore=shutil.ignore_patterns("models", "shaders"))
    return tmp_path / "all"


def case_with(folder: Path, **wanted: Any) -> Any:
    """A case of GATHER_ELEMENTS that agrees now."""
    content = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    return next(
        case
        for case in content["cases"]
        if case["operator"] == "GATHER_ELEMENTS"
        and case["accepted"] == wanted["accepted"]
        and ("outputs" in case) == wanted["data"]
        and (not wanted["data"] or case["outputs"]["OutputTensor"]["DataType"] == "FLOAT32")
        and not case.get("choices")
    )


def verdict_on(folder: Path, case: Any, kind: str = "directml") -> tuple[int, Any]:
    status, report = verify(folder)
    return status, next(one for one in report["runs"] if (one["id"], one["kind"]) == (case["id"], kind))


class Evil:
    """Its pickle would make a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("unpickled",))


def saved(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def head(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n"


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "is not a NumPy file"),
    "truncated": (lambda data: data[:-1], "ends after"),
    "no numbers": (lambda data: data[:5], "is not a NumPy file"),
    "random": (lambda data: bytes(range(256)) * 4, "is not a NumPy file"),
    "larger than it can be": (lambda data: data + bytes(1 << 17), "is larger than"),
    "pickled": (lambda data: saved(np.array([Evil()], object), allow_pickle=True), "elements of"),
    "another type": (lambda data: data.replace(b"<f4", b"<i4"), "int32"),
    "the other byte order": (lambda data: data.replace(b"<f4", b">f4"), ">f4"),
    "a shape beyond all": (
        lambda data: head(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**18}, 9)}}") + data[128:],
        "is of shape",
    ),
    "a negative shape": (
        lambda data: head("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -4)}") + data[128:],
        "",
    ),
    "code": (lambda data: head("{'descr': __import__('os').mkdir('unpickled')}"), "is not a NumPy file"),
    "nested": (lambda data: head("(" * 9000), "is not a NumPy file"),
    "a version to come": (lambda data: data.replace(b"NUMPY\x01", b"NUMPY\x09"), "is not a NumPy file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_are_not_what_they_should_be(
    name: str, spoiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spoiled)
    case = case_with(spoiled, accepted=True, data=True)
    file = spoiled / "results" / case["runs"]["directml"] / "OutputTensor.npy"
    spoil, says = HOSTILE[name]
    file.write_bytes(spoil(file.read_bytes()))
    status, found = verdict_on(spoiled, case)
    assert (status, found["verdict"]) == (1, "failed") and says in found["why"]
    assert not (spoiled / "unpickled").exists()
    file.unlink()
    assert verdict_on(spoiled, case)[1]["why"] == "there is no OutputTensor.npy"


def test_the_first_element_that_differs_is_told(spoiled: Path) -> None:
    case = case_with(spoiled, accepted=True, data=True)
    output = case["outputs"]["OutputTensor"]
    file = spoiled / "results" / case["runs"]["shader"] / "OutputTensor.npy"
    array = np.load(file)
    sizes = output["Sizes"]
    strides = output.get("Strides") or [int(np.prod(sizes[d + 1 :])) for d in range(len(sizes))]
    last = tuple(size - 1 for size in sizes)
    at = sum(one * stride for one, stride in zip(last, strides, strict=True))
    if not np.isfinite(array[at]):
        array[at] = 7.0
    else:
        array[at] = np.nextafter(np.nextafter(array[at], np.float32(np.inf)), np.float32(np.inf))
    np.save(file, array)
    status, found = verdict_on(spoiled, case, "shader")
    assert (status, found["verdict"]) == (1, "differ")
    assert found["difference"]["coordinate"] == list(last)
    assert found["difference"]["found"] == str(float(array[at]))
    assert found["difference"]["ulp"] == 2 or array[at] == 7.0
    assert verdict_on(spoiled, case, "directml")[1]["verdict"] == "agree"
    assert found["why"] in verify(spoiled, "text")[1]


def test_a_difference_where_the_outputs_rest_on_a_choice_is_no_finding(spoiled: Path) -> None:
    def change(case: Any) -> None:
        case["choices"] = ["indices out of range"]
        case["outputs"]["OutputTensor"]["elements"][0] = 123

    changed_index(spoiled, change)
    status, report = verify(spoiled)
    told = [one for one in report["runs"] if one["verdict"] == "differ by choice"]
    assert status == 0 and len(told) == 2
    assert all("not 123" in one["why"] and "choice: indices out of range" in one["why"] for one in told)


@pytest.mark.parametrize(("kind", "verdict"), [("shader", "differ"), ("directml", "differ by choice")])
def test_only_directml_makes_choices_of_its_own(spoiled: Path, kind: str, verdict: str) -> None:
    chosen: list[Any] = []

    def change(one: Any) -> None:
        one["choices"] = ["indices out of range"]
        chosen.append(one)

    changed_index(spoiled, change)
    (case,) = chosen
    file = next((spoiled / "results" / case["runs"][kind]).glob("*.npy"))
    array = np.load(file)
    array[0] = 7 if array[0] != 7 else 8
    np.save(file, array)
    assert verdict_on(spoiled, case, kind)[1]["verdict"] == verdict


def outcome(folder: Path, case: Any, status: int, errors: str, timed_out: bool = False) -> None:
    place = folder / "results" / case["runs"]["directml"]
    record = {"exit_code": status, "timed_out": timed_out}
    (place / "result.json").write_text(json.dumps(record), encoding="utf-8-sig")
    (place / "stderr.txt").write_text(errors, encoding="utf-8")


CREATING = (
    "Failed to execute the model: ERROR creating dispatchable 'operator': a.cpp(3)\\b.dll!00007FFB87654321: "
)
OUTCOMES = {
    "refused": (True, -1, CREATING + "tid(3) 80070057 The parameter is incorrect.", "refused though valid"),
    "refused when compiled": (
        True,
        -1,
        "Failed to execute the model: ERROR while initializing 'operator': tid(3) 80070057 Why.",
        "refused though valid",
    ),
    "accepted": (False, 0, "", "accepted though invalid"),
    "out of memory": (True, -1, CREATING + "tid(3) 8007000E Not enough memory.", "failed"),
    "removed, not refused": (False, -1, CREATING + "tid(3) 887A0005 The device is suspended.", "failed"),
    "crashed": (True, -1073741819, "", "failed"),
    "no such device": (True, -1, "Failed to create a device: tid(3) 887A0004 No.", "not run"),
    "no such operator": (True, -1, "Failed to parse the model: 'X' is not recognized", "not run"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_became_of_a_run(name: str, spoiled: Path) -> None:
    accepted, status, errors, expected = OUTCOMES[name]
    case = case_with(spoiled, accepted=accepted, data=False)
    assert verdict_on(spoiled, case)[1]["verdict"] == "agree"
    outcome(spoiled, case, status, errors)
    code, found = verdict_on(spoiled, case)
    assert (found["verdict"], code) == (expected, 0 if expected == "not run" else 1)
    if expected == "accepted though invalid":
        assert case["rules"][0] in found["why"]


def test_a_run_that_was_ended_and_one_without_a_result(spoiled: Path) -> None:
    case = case_with(spoiled, accepted=True, data=True)
    outcome(spoiled, case, -1, "", timed_out=True)
    assert verdict_on(spoiled, case)[1]["why"] == "it was ended at the time limit"
    (spoiled / "results" / case["runs"]["directml"] / "result.json").unlink()
    status, found = verdict_on(spoiled, case)
    assert (status, found["verdict"], found["why"]) == (0, "not run", "there is no result")
    for file in (spoiled / "results").rglob("result.json"):
        file.unlink()
    assert verify(spoiled)[0] == 1  # nothing was run, which is not to be taken for agreement


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"exit_code": NaN, "timed_out": false}',
        '{"exit_code": 0}',
        "\xff",
        "7" * 70_000,
    ],
)
def test_a_record_that_is_none(text: str, spoiled: Path) -> None:
    case = case_with(spoiled, accepted=True, data=True)
    file = spoiled / "results" / case["runs"]["directml"] / "result.json"
    file.write_bytes(text.encode("latin-1"))
    assert verdict_on(spoiled, case)[1]["verdict"] == "failed"


EVIL = "\x1b[2J\r\n# forged\u202e|<script>`]]>&\x00" + "x" * 99


def test_what_was_printed_forges_nothing(spoiled: Path) -> None:
    case = case_with(spoiled, accepted=True, data=False)
    outcome(spoiled, case, -1, "Failed to parse the model: " + EVIL)
    record = json.loads((spoiled / "results/run.json").read_text(encoding="utf-8"))
    record["adapters"] = [EVIL]
    (spoiled / "results/run.json").write_text(json.dumps(record), encoding="utf-8")
    for form in ("text", "json"):
        _, out, _ = run("compare-results", str(spoiled / "results"), "--format", form)
        assert all(" " <= one <= "~" or one == "\n" for one in out), form
        assert "# forged" not in out.splitlines()


def changed_index(folder: Path, change: Callable[[Any], None]) -> None:
    """Changes the first case with data, and makes the results those of the changed file."""
    content = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    change(next(case for case in content["cases"] if "outputs" in case))
    data = json.dumps(content).encode()
    (folder / "cases.json").write_bytes(data)
    record = json.loads((folder / "results/run.json").read_text(encoding="utf-8"))
    record["cases"] = hashlib.sha256(data).hexdigest()
    (folder / "results/run.json").write_text(json.dumps(record), encoding="utf-8")


def first(case: Any) -> Any:
    return case["outputs"]["OutputTensor"]


CHANGES: dict[str, Callable[[Any], None]] = {
    "another folder": lambda case: case["runs"].update(directml="../../etc"),
    "another folder, too": lambda case: case["runs"].update(directml="gather/.."),
    "an absolute file": lambda case: first(case).update(file="/etc/passwd"),
    "another file": lambda case: first(case).update(file="../result.npy"),
    "strides that lead out": lambda case: first(case).update(Strides=[1 << 30] * len(first(case)["Sizes"])),
    "negative strides": lambda case: first(case).update(Strides=[-1] * len(first(case)["Sizes"])),
    "few strides": lambda case: first(case).update(Strides=[]),
    "huge sizes": lambda case: first(case).update(Sizes=[1 << 31] * 4),
    "no number": lambda case: first(case).update(Sizes=["4"]),
    "a huge buffer": lambda case: first(case).update(TotalTensorSizeInBytes=(1 << 32) - 4),
    "few elements": lambda case: first(case)["elements"].pop(),
    "an element that is none": lambda case: first(case).update(elements=[{}] * len(first(case)["elements"])),
    "a long number": lambda case: first(case).update(elements=["9" * 9999] * len(first(case)["elements"])),
    "a type that is none": lambda case: first(case).update(DataType="FLOAT7"),
    "no type": lambda case: first(case).update(DataType=[]),
    "a tolerance that is none": lambda case: first(case).update(tolerance={"absolute": -1, "relative": 0}),
    "no verdict": lambda case: case.update(accepted="yes"),
    "no rules": lambda case: case.update(rules=7),
    "no runs": lambda case: case.update(runs=[]),
    "no id": lambda case: case.pop("id"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_index_that_is_none(name: str, spoiled: Path) -> None:
    changed_index(spoiled, CHANGES[name])
    status, out, err = run("compare-results", str(spoiled / "results"))
    assert (status, out) == (2, "") and err.startswith("dmlops: cases.json, case ") and err.count("\n") == 1


@pytest.mark.parametrize("file", ["cases.json", "results/run.json"])
@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, "{}", '{"version": 9, "cases": []}', "\xff\xfe"])
def test_files_that_hold_something_else(file: str, text: str, spoiled: Path) -> None:
    (spoiled / file).write_bytes(text.encode("latin-1"))
    if file == "cases.json":
        record = json.loads((spoiled / "results/run.json").read_text(encoding="utf-8"))
        record["cases"] = hashlib.sha256(text.encode("latin-1")).hexdigest()
        (spoiled / "results/run.json").write_text(json.dumps(record), encoding="utf-8")
    status, out, err = run("compare-results", str(spoiled / "results"))
    assert (status, out) == (2, "") and err.startswith("dmlops: ") and err.count("\n") == 1


def test_results_of_other_cases_are_not_compared(spoiled: Path, tmp_path: Path) -> None:
    shutil.copytree(spoiled, tmp_path / "other")
    with (tmp_path / "other/cases.json").open("a") as file:
        file.write("\n")
    results = str(spoiled / "results")
    status, _, err = run("compare-results", results, "--cases", str(tmp_path / "other"))
    assert status == 2 and "the results are of other cases" in err
    assert run("compare-results", results, "--cases", str(spoiled))[0] == 0
    status, _, err = run("compare-results", str(tmp_path / "nowhere"), "--cases", str(spoiled))
    assert status == 2 and "there are no results" in err


def test_the_stand_in_is_a_program(filled: Path, directx: Path, tmp_path: Path) -> None:
    """And reads only from files what the script would give it."""
    content = json.loads((filled / "cases.json").read_text(encoding="utf-8"))
    name = next(case["runs"]["directml"] for case in content["cases"] if "outputs" in case)
    model = filled / f"models/{name}.json"
    command = [sys.executable, str(ROOT / "tests/fake_dxdispatch.py"), "--model", str(model)]
    environment = {**os.environ, "FAKE_DIRECTML_H": str(directx / "directx/DirectML.h")}
    command += ["--dml_feature_level", "6.4"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    written = tmp_path / "OutputTensor.npy"
    assert written.read_bytes() == (filled / "results" / name / "OutputTensor.npy").read_bytes()


def test_the_script_runs_what_dxdispatch_has(filled: Path) -> None:
    script = (filled / "Run-Cases.ps1").read_text(encoding="ascii")
    options = set(re.findall(r'"--(\w+)"', script))
    assert options == {
        *("model", "dml_feature_level", "adapter", "show_adapters", "show_dependencies"),
    }
    assert not re.search(r"Invoke-WebRequest|curl|wget|Start-BitsTransfer|https?://|\.dll\b", script)
    folder = os.environ.get("DXDISPATCH_SOURCE")
    if folder is None:
        pytest.skip("DXDISPATCH_SOURCE does not name DxDispatch's folder: its options are not read")
    text = Path(folder, "src/dxdispatch/CommandLineArgs.cpp").read_text(encoding="utf-8-sig")
    assert options <= set(re.findall(r'^\s*"(?:\w,)?(\w+)",', text, re.M))


def test_the_script_is_powershell(filled: Path) -> None:
    """By a grammar of the language that others keep: no part of the text is left over, no part is missing."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
    text = (filled / "Run-Cases.ps1").read_bytes()
    assert not parser.parse(text).root_node.has_error
    for spoiled in (text.replace(b"foreach (", b"foreach ", 1), text.rstrip() + b"\n}\n"):
        assert parser.parse(spoiled).root_node.has_error


def test_the_script_runs_in_powershell(filled: Path, directx: Path, tmp_path: Path) -> None:
    """With the stand-in for dxdispatch.exe; again, it has nothing left to do."""
    shell = shutil.which("pwsh")
    if shell is None:
        pytest.skip("there is no pwsh: Run-Cases.ps1 is not tried")
    program = tmp_path / "dxdispatch"
    text = f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/fake_dxdispatch.py" "$@"\n'
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    command = [shell, "-NoProfile", "-File", filled / "Run-Cases.ps1", "-DxDispatch", program]
    command += ["-Operators", "gather_elements", "-Results", tmp_path / "results"]
    environment = {**os.environ, "FAKE_DIRECTML_H": str(directx / "directx/DirectML.h")}
    for _ in range(2):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    status, out, _ = run("compare-results", str(tmp_path / "results"), "--cases", str(filled))
    assert status == 0 and " agree" in out
