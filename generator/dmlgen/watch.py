"""Reruns a command whenever files that it reads have changed.

Every run is a separate process, so that nothing of one run (memory, the writer's lock) affects the next, and
a failed run needs no special treatment. Files are polled twice a second: four hundred of them take a few
milliseconds, and it works on every system and file system, including network ones, without another package.
"""

from __future__ import annotations

import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

_PAUSE = 0.5  # seconds between two polls
_FINDING = re.compile(rb":\d+:\d+: (error|warning)\[")

_Files: TypeAlias = dict[str, tuple[int, int, int]]


def watch(arguments: Sequence[str], folders: Sequence[Path]) -> None:
    """Runs `dmlgen` with the arguments, now and after every change below the folders, until interrupted.

    Waits for files that are still changing. Changes during a run trigger another one.
    """
    command = [sys.executable, "-m", "dmlgen", *arguments]
    while True:
        seen = _settled(folders)
        start = time.perf_counter()
        code, findings = _run(command)
        result = "done" if code == 0 else f"{findings} finding{'' if findings == 1 else 's'}"
        result = result if code == 0 or findings else f"failed with exit code {code}"
        print(f"dmlgen {arguments[0]}: {result} ({time.perf_counter() - start:.2f} s)", flush=True)
        while _files(folders) == seen:
            time.sleep(_PAUSE)


def _settled(folders: Sequence[Path]) -> _Files:
    """The files, once two polls in a row have found the same."""
    seen = _files(folders)
    while True:
        time.sleep(_PAUSE / 2)
        before, seen = seen, _files(folders)
        if before == seen:
            return seen


def _files(folders: Sequence[Path]) -> _Files:
    """For every file, its time of modification, size and inode; editors' own files are left out."""
    files: _Files = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(OSError):  # deleted meanwhile
            status = path.lstat()
            if (
                not stat.S_ISDIR(status.st_mode)
                and not path.name.startswith(".")
                and not path.name.endswith("~")
            ):
                files[str(path)] = status.st_mtime_ns, status.st_size, status.st_ino
    return files


def _run(command: Sequence[str]) -> tuple[int, int]:
    """The exit code of a run, and how many findings it printed."""
    findings = 0
    with _child(command) as process:
        assert process.stdout is not None
        for line in process.stdout:
            findings += bool(_FINDING.search(line))
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        return process.wait(), findings


@contextmanager
def _child(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended when the context is left; if it is interrupted, it undoes unfinished work."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
