"""The figures of the shaders: on a software driver they show only that they can be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from gpu_device import device

__all__ = ["device"]  # a fixture

ROOT = Path(__file__).parents[1]


def test_small_cases_are_measured_and_drawn(tmp_path: Path, device: Any) -> None:
    results, plot = tmp_path / "gpu.json", tmp_path / "gpu.svg"
    command = [sys.executable, ROOT / "bench/gpu.py", tmp_path / "shaders"]
    command += ["--only", "64 float16", "--device", device.name, "--json", results, "--plot", plot]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(results.read_text())
    assert found["device"] == device.name and found["copy GB/s"] > 0
    assert {"add 64 float16", "sum (0, 1) 64 float16", "gemm 64 float16"} <= set(found["GB/s"])
    assert all(one["shader"] > 0 for one in found["GB/s"].values())
    bars = ElementTree.parse(plot).getroot().iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(bars)) == 1 + len(found["GB/s"])  # and the ground
