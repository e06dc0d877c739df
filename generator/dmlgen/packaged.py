"""Runs the generated package, which plans, compiles and executes what the generator only describes.

It is rendered from the current specs into a temporary folder and runs in its own process, so that an
installed `dmlops` cannot interfere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmlgen.outputs import definition, description_schema, hlsl, python, python_planner
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry

_CASES = "dmlops.dxdispatch.cases"
_RUN_CASES = "dmlops.run_cases"
_COMPILER_MISSING = 3  # exit status of `dmlops.dxdispatch.cases`


class CompilerMissing(Exception):
    """There is no shader compiler; the message says where it was looked for."""


@contextmanager
def package(registry: Registry, templates: Templates) -> Iterator[Path]:
    """A folder from which `dmlops` can be used, with its shaders as installed, while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="dmlgen-") as name:
        files = python.installed(registry, templates)
        for output in (description_schema, python_planner, definition, hlsl):
            files |= output.render(registry, templates)
        for path, data in files.items():
            file = Path(name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        Path(name, "hlsl").rename(Path(name, "python/dmlops/hlsl"))
        yield Path(name, "python")


def models(
    folder: Path, batches: Iterable[Sequence[Mapping[str, Any]]], *arguments: str
) -> Iterator[list[dict[str, Any]]]:
    """For each batch of cases of matrices the answers of `dmlops.dxdispatch.cases`, in order.

    Runs as many processes at once as there are processors. Raises CompilerMissing.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(lambda batch: _answers(folder, batch, arguments), batches)


def run_cases(folder: Path, matrices: Mapping[str, bytes], *arguments: str) -> int:
    """Has `dmlops.run_cases` check every case of matrices, given by path; its exit status."""
    with tempfile.TemporaryDirectory(prefix="dmlgen-") as name:
        for path, data in matrices.items():
            Path(name, Path(path).name).write_bytes(data)
        command = [sys.executable, "-m", _RUN_CASES, name, *arguments]
        return subprocess.run(command, env=_environment(folder), check=False).returncode


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _answers(
    folder: Path, cases: Sequence[Mapping[str, Any]], arguments: Sequence[str]
) -> list[dict[str, Any]]:
    result = subprocess.run(
        [sys.executable, "-m", _CASES, *arguments],
        cwd=folder,
        env=_environment(folder),
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode == _COMPILER_MISSING:
        raise CompilerMissing(result.stderr.strip())
    if result.returncode:
        raise RuntimeError(result.stderr.strip().rpartition("\n")[2])
    return [json.loads(line) for line in result.stdout.splitlines()]
