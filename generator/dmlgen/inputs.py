"""Digests of the inputs of outputs, to determine what is still up to date."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dmlgen import project
from dmlgen.source import MAX_BYTES

if TYPE_CHECKING:
    from dmlgen.registry import Operator, Registry

_IMPORT = re.compile(r"^\s*from (dmlgen[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_RELATIVE_IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_PACKAGE = "python/dmlops/"


def spec_files(specs: Path) -> list[Path]:
    """The files from which a registry is read, including links, which may lead to folders of more files."""
    return sorted(path for path in specs.rglob("*") if path.suffix == ".yaml" or path.is_symlink())


def spec_digest(specs: Path) -> str:
    """A digest of all files from which a registry is read."""
    return _digest(spec_files(specs))


def digests(specs: Path) -> dict[str, str]:
    """One digest per kind of input: the specs, the generator with its templates and the planners, and the
    whole runtime."""
    own = [*project.PACKAGE.rglob("*.py"), *project.TEMPLATES.rglob("*"), *project.PLANNERS.rglob("*.py")]
    runtime = project.RUNTIME.rglob("*")
    return {
        "specs": spec_digest(specs),
        "generator": _digest(_files(*own, project.LICENSE)),
        "runtime": _digest(_files(*runtime)),
    }


def _files(*paths: Path) -> list[Path]:
    """The paths of files that were not made by Python."""
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def case_digests(registry: Registry, package: Mapping[str, bytes]) -> dict[str, str]:
    """For each operator, by the path of its matrix, one digest of everything its test cases depend on.

    `package` has the files of the Python package. Its validators judge the cases: the modules of the operator
    and of activations that it can fuse, and all that these import.
    """
    searching = _files_of("dmlgen.outputs.matrix") | _files_of("dmlgen.outputs.same_field")
    facts = project.PACKAGE / "outputs/registry_json.py"  # which states them for the validators
    code = _digest(sorted({*searching, facts}))
    modules = {path.removeprefix(_PACKAGE).removesuffix(".py"): data for path, data in package.items()}
    needed = {name: tuple(_needed(name, data)) for name, data in modules.items()}
    hashed = {name: hashlib.sha256(data).hexdigest() for name, data in modules.items()}

    def of(operator: Operator) -> str:
        near = (operator.name, *registry.fusable(operator))
        judging = _reached([f"operators/{name.lower()}" for name in near], lambda name: needed.get(name, ()))
        validators = " ".join(hashed[name] for name in sorted(judging & hashed.keys()))
        return f"{code} {hashlib.sha256(validators.encode()).hexdigest()} {registry.digest(operator)}"

    return {f"matrix/{operator.slug}.json": of(operator) for operator in registry.operators}


def _reached(names: list[str], needed: Callable[[str], Iterable[str]]) -> set[str]:
    """These names, and transitively all that they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needed(name)
    return found


def _needed(name: str, module: bytes) -> Iterator[str]:
    """The modules of the Python package that one of them may import."""
    for dots, base, names in _RELATIVE_IMPORT.findall(module.decode()):
        folder = name.split("/")[: -len(dots)]
        for one in [base] if base else re.findall(r"\w+", names):
            path = "/".join([*folder, *one.split(".")])
            yield from (path, f"{path}/__init__")


def _files_of(name: str) -> set[Path]:
    """The files of a module and, transitively, of all modules of this package that it imports."""

    def file(name: str) -> Path:
        path = project.PACKAGE.parent / name.replace(".", "/")
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def imported(name: str) -> Iterator[str]:
        text = file(name).read_text(encoding="utf-8") if file(name).is_file() else ""
        for package, names in _IMPORT.findall(text):
            yield package
            yield from (f"{package}.{one}" for one in re.findall(r"\w+", names))

    return {path for path in map(file, _reached([name], imported)) if path.is_file()}


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
