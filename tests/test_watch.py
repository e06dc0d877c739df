"""`--watch`: reruns after changes, survives errors, and stops when interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from dmlgen.writer import alone

ELEMENTS = "operators/gather/gather_elements.yaml"
LONGEST = 120.0  # seconds, on a machine with other things to do


class Watch:
    """A running command; `line` waits for a line of its output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self, wanted: str) -> str:
        end = time.monotonic() + LONGEST
        while True:
            found = self._lines.get(timeout=end - time.monotonic())
            if re.fullmatch(wanted, found):
                return found

    def is_quiet(self, seconds: float) -> bool:
        try:
            self._lines.get(timeout=seconds)
        except Empty:
            return True
        return False


@contextmanager
def watching(*arguments: str) -> Iterator[Watch]:
    command = [sys.executable, "-m", "dmlgen", *arguments, "--watch"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's jobs ignore it
    )
    try:
        yield Watch(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def change(specs: Path, old: str, new: str) -> None:
    path = specs / ELEMENTS
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_lint_runs_again_after_each_change_and_survives_faults(specs: Path) -> None:
    with watching("lint", "--specs", str(specs)) as watch:
        watch.line(r"dmlgen lint: done \(\d+\.\d\d s\)")
        assert watch.is_quiet(1.5)
        change(specs, "require: Axis <", "require: Axes <")
        watch.line(r".*gather_elements\.yaml:\d+:\d+: error\[unknown-name\]: .*")
        watch.line(r"dmlgen lint: 1 finding \(\d+\.\d\d s\)")
        (specs / ELEMENTS).write_bytes(b"\xff\xfe: [")
        watch.line(r"dmlgen lint: \d+ findings? \(\d+\.\d\d s\)")
        (specs / ELEMENTS).unlink()
        watch.line(r"dmlgen lint: \d+ findings \(\d+\.\d\d s\)")  # identifiers of rules that are gone


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_generate_writes_after_a_change_and_ends_when_told(
    number: signal.Signals, code: int, specs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with watching("generate", "--specs", str(specs), "--out", str(out)) as watch:
        watch.line(r"dmlgen generate: done \(\d+\.\d\d s\)")
        with alone(out):  # nobody holds the writer's lock between two runs
            change(specs, "summary: Picks one", "summary: Takes one")
        watch.line(r"dmlgen generate: done \(\d+\.\d\d s\)")
        assert "Takes one" in (out / "include/dmlops.h").read_text(encoding="utf-8")
        os.killpg(watch.process.pid, number)  # as a terminal does
        assert watch.process.wait(timeout=LONGEST) == code
        assert not (out / ".staging").exists()


def test_a_run_that_is_stopped_on_the_way_leaves_nothing(specs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with watching("generate", "--specs", str(specs), "--out", str(out)) as watch:
        time.sleep(1.5)  # within the first run, most likely; whenever it is, what follows holds
        watch.process.send_signal(signal.SIGTERM)
        assert watch.process.wait(timeout=LONGEST) == 143
        assert not (out / ".staging").exists()
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert not [line for line in found.splitlines() if str(out) in line]
