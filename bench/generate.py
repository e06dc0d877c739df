"""Times of `dmlgen generate` as a process: from scratch, after an edit of one spec, with nothing to do.

The cases of unchanged operators are cached from the first run on, since their search takes longest.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dmlgen.cli import ROOT

RUNS = 5
EDITED = "operators/gather/gather_elements.yaml"
SUMMARY = ("Picks one input element", "Picks {} input elements")
RULE = ("require: Axis <", "require: Axis + {} <")


def seconds(command: list[str], before: Callable[[int], object] = lambda number: None) -> float:
    """Median seconds of a command; `before` is called ahead of each run with its number, from 1 on."""
    times = []
    for number in range(1, RUNS + 1):
        before(number)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        specs, out = Path(folder) / "specs", Path(folder) / "generated"
        generate = [sys.executable, "-m", "dmlgen", "generate", "--specs", str(specs), "--out", str(out)]

        def start_cold(number: int) -> None:
            """Moves the specs to another folder, since the cache is per folder."""
            if number > 1:
                shutil.rmtree(specs.resolve())
                specs.unlink()
                shutil.rmtree(out)
            shutil.copytree(ROOT / "specs", Path(folder) / str(number))
            specs.symlink_to(Path(folder) / str(number))

        def edit(change: tuple[str, str], number: int) -> None:
            old, new = change
            text = (ROOT / "specs" / EDITED).read_text(encoding="utf-8")
            assert text.count(old) == 1
            (specs / EDITED).write_text(text.replace(old, new.format(number)), encoding="utf-8")

        python = seconds([sys.executable, "-c", "pass"])
        subprocess.run([*generate[:-4], "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(out)
        cold = seconds(generate, start_cold)
        worded = seconds(generate, lambda number: edit(SUMMARY, number))
        ruled = seconds(generate, lambda number: edit(RULE, number))
        idle = seconds(generate)
        files = [path for path in out.rglob("*") if path.is_file()]
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        size = sum(path.stat().st_size for path in files)
    print(f"start of Python                {python:7.3f} s")
    print(f"generate, nothing to do        {idle:7.3f} s  {idle / python:6.1f} x start of Python")
    print(f"generate, a summary edited     {worded:7.3f} s  {cold / worded:6.1f} x as fast as from nothing")
    print(f"generate, a rule edited        {ruled:7.3f} s  {cold / ruled:6.1f} x as fast as from nothing")
    print(f"generate, from nothing         {cold:7.3f} s, the search for test cases left out")
    print(f"                               {len(files)} files, {lines} lines, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
