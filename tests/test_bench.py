"""The GPU benchmarks run; on a software driver their figures mean nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dmlops import gpu
from dmlops.gpu.graphs.program import program
from dmlops.gpu.plans import tile_cost
from dmlops.gpu.plans.capabilities import FASTER
from gpu_device import device

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import fallbacks  # noqa: E402
import gpu_cases  # noqa: E402
import model_cases  # noqa: E402
import provenance  # noqa: E402
import summary  # noqa: E402
import tune  # noqa: E402

__all__ = ["device"]  # a fixture

CASES = list(gpu_cases.cases())


@pytest.mark.parametrize("page", summary.PAGES, ids=lambda path: path.name)
def test_every_table_on_a_page_has_an_end(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- bench:") == text.count("<!-- end -->") > 0


def test_pages_and_the_plot_are_those_of_the_results() -> None:
    assert [path.name for path, text, new in summary.files() if text != new] == []


def test_results_say_what_they_depend_on() -> None:
    run = provenance.provenance()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
    assert all(isinstance(value, str) and value for value in run.values())


def test_small_cases_are_measured_and_drawn(tmp_path: Path, device: Any) -> None:
    results, plot = tmp_path / "gpu.json", tmp_path / "gpu.svg"
    command = [sys.executable, ROOT / "bench/gpu.py", tmp_path / "shaders"]
    command += ["--only", " 64 float16", "gru 256 1x64 float16", "--json", results, "--plot", plot]
    command += ["--device", device.name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())
    assert found["device"] == device.name and found["copy GB/s"] > 0 and found["operations/s"]["float32"] > 0
    assert found["GB/s"]["gemm 64 float16"]["of the arithmetic"] > 0
    assert {"add 64 float16", "sum (0, 1) 64 float16", "gemm 64 float16"} <= set(found["GB/s"])
    assert "gru 256 1x64 float16" in found["GB/s"]
    assert all(one["shader"] > 0 for one in found["GB/s"].values())
    bars = ElementTree.parse(plot).getroot().iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(bars)) == 1 + len(found["GB/s"])  # and the ground


def test_what_a_form_earns_is_measured(tmp_path: Path, device: Any) -> None:
    results = tmp_path / "without.json"
    command = [sys.executable, ROOT / "bench/gpu.py", tmp_path / "shaders", "--without", "rows", "skinny"]
    command += ["--only", "layer norm 64x64 float32", "add 64 float32", "--json", results]
    command += ["--device", device.name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())["without"]
    assert found["skinny"] == {} and found["rows"].keys() == {"layer norm 64x64 float32"}
    assert found["rows"]["layer norm 64x64 float32"] > 0


@pytest.mark.parametrize("form", sorted({*fallbacks.FORMS} - {*fallbacks.IN_PLACE}))
def test_some_case_depends_on_each_form(form: str, tmp_path: Path) -> None:
    planned = (fallbacks.fallback(form, case, FASTER, tmp_path) for case in CASES)
    assert next((one for one in planned if one is not None and one.work.dispatches), None) is not None


def test_models_are_measured_and_compared(tmp_path: Path, device: Any) -> None:
    results, folder = tmp_path / "models.json", tmp_path / "shaders"
    command = [sys.executable, ROOT / "bench/models.py"]
    chosen = ["--only", "BERT", "decode", "--types", "float16", "--device", device.name, "--onnxruntime"]
    done = subprocess.run(
        [*command, *chosen, "--json", results], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(results.read_text())
    assert report["device"] == device.name and report["run"]["date"]
    assert set(report["models"]) == {"BERT layers, float16", "Llama layer, decode, float16"}
    for one in report["models"].values():
        assert one["us"] > 0 and 0 < one["off"] < 3e-2
        assert one["least peak"] <= one["peak"] <= 1.1 * one["least peak"]
    chosen = ["--only", "decode", "--types", "float16", "--tiny", "--compile-only"]
    done = subprocess.run([*command, folder, *chosen], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("*.spv"))) > 5


@pytest.mark.parametrize("name", model_cases.MODELS)
def test_a_model_takes_little_more_memory_than_its_lifetimes_need(name: str) -> None:
    arena = program(model_cases.model(name, "float32", True).graph(), 16).arena
    assert 0 < arena.bound <= arena.size <= 1.1 * arena.bound


def samples_of(names: set[str], capabilities: gpu.Capability) -> list[list[tune.Candidate]]:
    """The candidates of cases, which take times according to the model with other numbers."""
    tables: dict[tuple[str, Any], list[tune.Candidate]] = {}
    for case in (case for case in CASES if case.name in names):
        for one, _ in tune.planned(case, capabilities):
            tables.setdefault((case.name, one.rates), []).append(one)
    return [
        [
            one._replace(
                seconds=tile_cost.tile_time(
                    one.found,
                    one.tile,
                    one.rates._replace(load=2 * one.rates.load, latency=2 * one.rates.latency),
                    one.split,
                )
            )
            for one in table
        ]
        for table in tables.values()
    ]


def test_the_cost_model_is_fitted_to_times() -> None:
    names = {f"gemm {size} {kind}" for size in (64, 512, 1024, 4096) for kind in ("float32", "float16")}
    samples = samples_of(names, FASTER)
    before, shared = tune.numbers_of(samples), tile_cost.CACHE_RATE
    after = tune.fitted(samples)
    assert shared == tile_cost.CACHE_RATE and after.keys() == before.keys()
    assert tune.loss(samples, before) > 0.01 > tune.loss(samples, after)
    tune.loss(samples, before)


def test_candidates_are_timed(
    tmp_path: Path, device: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["gemm 64 float32", "add 64 float32"]
    arguments = ["tune.py", str(tmp_path), "--device", device.name, "--only", *names]
    monkeypatch.setattr(sys, "argv", arguments)
    tune.main()
    assert "1 products take " in capsys.readouterr().out
    (case,) = (case for case in CASES if case.name == names[0])
    works = [work for _, work in tune.planned(case, device.capabilities)]
    shaders = {repr(one.defines) for work in works for one in work.dispatches}
    assert len(list(tmp_path.iterdir())) == len(shaders)
