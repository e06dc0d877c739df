"""Digests of the inputs of outputs, to tell what is still up to date."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dmlgen import project
from dmlgen.source import MAX_BYTES

if TYPE_CHECKING:
    from dmlgen.registry import Registry

_IMPORT = re.compile(r"^\s*from (dmlgen[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def spec_files(specs: Path) -> list[Path]:
    """The files from which a registry is read, including links, which may stand for folders of more files."""
    return sorted(path for path in specs.rglob("*") if path.suffix == ".yaml" or path.is_symlink())


def spec_digest(specs: Path) -> str:
    """A digest of all files from which a registry is read."""
    return _digest(spec_files(specs))


def digests(specs: Path) -> dict[str, str]:
    """One digest per kind of input: the specs, and the generator with its templates and the runtime."""
    own = list(project.PACKAGE.rglob("*.py"))
    own += [*project.TEMPLATES.rglob("*"), *project.RUNTIME.rglob("*")]
    own = sorted(p for p in {*own, project.LICENSE} if p.is_file() and "__pycache__" not in p.parts)
    return {"specs": spec_digest(specs), "generator": _digest(own)}


def case_digests(registry: Registry) -> dict[str, str]:
    """For each operator, by the path of its matrix, one digest of everything its test cases depend on."""
    code = _digest(sorted(_modules("dmlgen.outputs.matrix")))
    return {
        f"matrix/{operator.slug}.json": f"{code} {registry.digest(operator)}"
        for operator in registry.operators
    }


def _modules(name: str) -> set[Path]:
    """The files of a module and, transitively, of all modules of this package that it imports."""
    found: set[Path] = set()
    waiting = [name]
    while waiting:
        path = project.PACKAGE.parent / waiting.pop().replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path not in found and path.is_file():
            found.add(path)
            waiting += _imported(path.read_text(encoding="utf-8"))
    return found


def _imported(text: str) -> Iterator[str]:
    """The modules of this package that a module's text may import."""
    for package, names in _IMPORT.findall(text):
        yield package
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))


def _digest(files: list[Path]) -> str:
    """A digest of names and contents; only of kind and size for anything too large for a spec."""
    digest = hashlib.sha256()
    root = os.path.commonpath(files) if files else ""
    for path in files:
        status = path.lstat()
        data = b""
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            data = path.read_bytes()
        name = os.fsencode(path.relative_to(root).as_posix())
        size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
        digest.update(b"%d %d %d\0" % (len(name), size, stat.S_IFMT(status.st_mode)))
        digest.update(name + data)
    return digest.hexdigest()
