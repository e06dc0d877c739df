"""Units of work: slices of matrices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dmlops

Json = dict[str, Any]

_CASES = 32  # most cases of a unit: seconds of work


@dataclass(frozen=True)
class Unit:
    """Consecutive cases of an operator's matrix.

    The identifier has a digest of everything here and of the package that checks them, including planners and
    shaders, so a result is only found again while it would come out the same.
    """

    identifier: str
    cases: Sequence[Json]
    with_shaders: bool


def units_of(matrices: Path, with_shaders: bool) -> Iterator[Unit]:
    """The units of all matrices in a folder, in the order of their names."""
    for path in sorted(matrices.glob("*.json")):
        matrix = json.loads(path.read_bytes())
        if "cases" not in matrix:  # the schema of matrices
            continue
        for first in range(0, len(matrix["cases"]), _CASES):
            cases = matrix["cases"][first : first + _CASES]
            content = json.dumps([code_digest(), with_shaders, cases])
            digest = hashlib.sha256(content.encode()).hexdigest()[:16]
            yield Unit(f"{path.stem}-{first:04}-{digest}", cases, with_shaders)


@cache
def code_digest() -> str:
    """A digest of every file of this package."""
    found = hashlib.sha256()
    for folder in map(Path, dmlops.__path__):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
                found.update(path.read_bytes())
    return found.hexdigest()
