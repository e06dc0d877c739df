"""Whole-process times of `dmlgen generate`, from nothing and with nothing to do."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5


def seconds(command: list[str], clean: Path | None = None) -> float:
    """Median seconds of a command; `clean` is removed before each run."""
    times = []
    for _ in range(RUNS):
        if clean is not None:
            shutil.rmtree(clean, ignore_errors=True)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "generated"
        python = seconds([sys.executable, "-c", "pass"])
        generate = [sys.executable, "-m", "dmlgen", "generate", "--out", str(out)]
        cold = seconds(generate, clean=out)
        idle = seconds(generate)
        files = [path for path in out.rglob("*") if path.is_file()]
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        size = sum(path.stat().st_size for path in files)
    print(f"start of Python                {python:7.3f} s")
    print(f"generate, nothing to do        {idle:7.3f} s  {idle / python:6.1f} x start of Python")
    print(f"generate, from nothing         {cold:7.3f} s, the search for test cases included")
    print(f"                               {len(files)} files, {lines} lines, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
