"""Digests of everything that the outputs depend on, to tell when there is nothing to do."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dmlgen.registry import Registry


def digests(specs: Path, root: Path) -> dict[str, str]:
    """One digest for each kind of input: the specs, and the project's templates and generator."""
    folders = {"specs": specs, "templates": root / "templates", "generator": root / "generator"}
    return {name: _digest(folder) for name, folder in folders.items()}


def case_digests(registry: Registry) -> dict[str, str]:
    """For each operator, by the path of its matrix, one digest of all that its test cases follow from."""
    general = repr((registry.levels, registry.enums, registry.tensor, registry.operator_rules))
    digests = {}
    for operator in registry.operators:
        fusable = [(registry.operator[name], since) for name, since in registry.fusable(operator).items()]
        meaning = repr((operator, fusable))
        digests[f"matrix/{operator.slug}.json"] = hashlib.sha256(f"{general}{meaning}".encode()).hexdigest()
    return digests


def _digest(folder: Path) -> str:
    """Of all file names and contents below a folder; what Python leaves behind does not count."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not any(
            part == "__pycache__" or part.endswith(".egg-info") for part in relative.parts
        ):
            data = path.read_bytes()
            digest.update(f"{relative.as_posix()}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()
