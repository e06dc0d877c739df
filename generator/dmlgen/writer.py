"""Generated files: written atomically, listed in a manifest, compared, and removed when no longer generated.

Outputs are bytes by path, relative and with forward slashes. `manifest.json` in the output directory lists
each with its size and SHA-256, and the digests of their inputs. Only files that the manifest
lists are ever removed, also those edited since: generated files are not edited.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dmlgen.diagnostics import Finding, Position, SpecError, shown

MANIFEST = "manifest.json"

_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Result:
    """Sorted paths, the manifest's own left out: what `write` did with each file."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class _Digest:
    size: int
    sha256: str

    @staticmethod
    def of(data: bytes) -> _Digest:
        return _Digest(len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class _Manifest:
    files: Mapping[str, _Digest]
    inputs: Mapping[str, str]


def write(outputs: Mapping[str, bytes], directory: Path, inputs: Mapping[str, str]) -> Result:
    """Makes `directory` hold exactly the outputs, besides files of others; right bytes are left untouched.

    `inputs` maps the name of each input to its digest, for `recall`. Everything is staged in the
    directory before the first file changes, and an error on the way is undone. Raises SpecError for a path
    that is unsafe or passes a symbolic link and for a damaged manifest, OSError if the disk refuses.
    """
    plan = _Plan.make(outputs, directory, inputs)
    if plan.changed or plan.stale:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".staging-", dir=directory) as staging:
            _apply(plan, directory, Path(staging))
        for path in plan.stale:
            _remove_empty_parents(directory, path)
    written = tuple(path for path in plan.changed if path != MANIFEST)
    return Result(written, tuple(sorted(set(outputs) - set(written))), plan.stale)


def check(outputs: Mapping[str, bytes], directory: Path, inputs: Mapping[str, str]) -> str:
    """What `write` would change, as a unified diff; empty if nothing. Raises SpecError like `write`."""
    plan = _Plan.make(outputs, directory, inputs)
    return "".join(
        _difference(path, plan.before.get(path), plan.after.get(path))
        for path in sorted({*plan.changed, *plan.stale})
    )


@dataclass(frozen=True)
class Memory:
    """What the last run left: its inputs, and those of its files that are still as it wrote them."""

    inputs: Mapping[str, str]
    files: Mapping[str, bytes]
    whole: bool

    def holds(self, inputs: Mapping[str, str]) -> bool:
        """Whether that run had these inputs, and every file is still there, byte for byte."""
        return self.whole and inputs.items() <= self.inputs.items()


def recall(directory: Path) -> Memory:
    """What the last `write` into the directory left; nothing where its manifest is gone or damaged."""
    try:
        manifest = _read_manifest(directory)
        if manifest is None:
            return Memory({}, {}, False)
        found = {path: _read(directory, path) for path in manifest.files}
    except (SpecError, OSError):
        return Memory({}, {}, False)
    files = {
        path: data
        for path, data in found.items()
        if data is not None and _Digest.of(data) == manifest.files[path]
    }
    return Memory(manifest.inputs, files, len(files) == len(found))


@dataclass(frozen=True)
class _Plan:
    """The files before and after; `changed` ends with the manifest, so that it never promises too much."""

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    changed: tuple[str, ...]
    stale: tuple[str, ...]

    @staticmethod
    def make(outputs: Mapping[str, bytes], directory: Path, inputs: Mapping[str, str]) -> _Plan:
        _refuse_collisions(outputs, directory)
        manifest = _read_manifest(directory)
        listed = sorted(manifest.files) if manifest else []
        after = {**outputs, MANIFEST: _manifest_text(outputs, inputs).encode()}
        before = {}
        for path in sorted({*after, *listed}):
            data = _read(directory, path)
            if data is not None:
                before[path] = data
        changed = [path for path in (*sorted(outputs), MANIFEST) if before.get(path) != after[path]]
        stale = [path for path in listed if path not in after and path in before]
        return _Plan(before, after, tuple(changed), tuple(stale))


def _apply(plan: _Plan, directory: Path, staging: Path) -> None:
    new, old = staging / "new", staging / "old"
    for path in plan.changed:
        _parent_made(new / path).write_bytes(plan.after[path])
    for path in (*plan.changed, *plan.stale):
        if path in plan.before:
            shutil.copy2(directory / path, _parent_made(old / path))
    touched: list[str] = []
    try:
        for path in plan.stale:
            touched.append(path)
            (directory / path).unlink()
        for path in plan.changed:
            touched.append(path)
            os.replace(new / path, _parent_made(directory / path))
    except BaseException:
        for path in touched:
            if path in plan.before:
                os.replace(old / path, directory / path)
            else:
                (directory / path).unlink(missing_ok=True)
                _remove_empty_parents(directory, path)
        raise


def _parent_made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _remove_empty_parents(directory: Path, path: str) -> None:
    for parent in Path(path).parents[:-1]:
        try:
            (directory / parent).rmdir()
        except OSError:
            return


def _refuse_collisions(outputs: Mapping[str, bytes], directory: Path) -> None:
    """Paths must not be one file where case does not count, nor a file and a directory at once."""
    taken = {MANIFEST: MANIFEST}
    for path in sorted(outputs):
        other = taken.setdefault(path.casefold(), path)
        if other != path or path == MANIFEST:
            raise _unsafe(directory, path, f"has the same name as {other}")
    for path in sorted(outputs):
        for parent in Path(path.casefold()).parents:
            if parent.as_posix() in taken:
                raise _unsafe(directory, path, f"lies below {taken[parent.as_posix()]}, which is a file")


def _read(directory: Path, path: str) -> bytes | None:
    """The bytes of a file below the directory, None if there is no such file.

    Raises SpecError if the path leads elsewhere, passes a symbolic link, or names something not a file.
    """
    if not _is_safe(path):
        raise _unsafe(directory, path, "is not a relative path of letters, digits, '_', '-' and '.'")
    target = directory / path
    for place in (*reversed(target.parents[: path.count("/")]), target):
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(mode):
            raise _unsafe(directory, path, f"passes the symbolic link {place.as_posix()}; remove it")
        if not (stat.S_ISREG(mode) if place == target else stat.S_ISDIR(mode)):
            raise _unsafe(directory, path, f"needs {place.as_posix()}, which is something else; remove it")
    return target.read_bytes()


def _is_safe(path: str) -> bool:
    return all(_NAME.fullmatch(name) for name in path.split("/"))


def _unsafe(directory: Path, path: str, reason: str) -> SpecError:
    finding = Finding(Position(directory.as_posix()), "unsafe-path", f"output {shown(path)} {reason}")
    return SpecError([finding])


def _manifest_text(files: Mapping[str, bytes], inputs: Mapping[str, str]) -> str:
    """Canonical JSON, one entry a line, so that one operator more changes few lines."""

    def block(name: str, entries: Mapping[str, object]) -> str:
        lines = (
            f"\n  {json.dumps(key)}: {json.dumps(entries[key], sort_keys=True)}" for key in sorted(entries)
        )
        return f" {json.dumps(name)}: {{" + ",".join(lines) + "\n }"

    digests = {path: asdict(_Digest.of(data)) for path, data in files.items()}
    return "{\n" + block("files", digests) + ",\n" + block("inputs", inputs) + "\n}\n"


def _read_manifest(directory: Path) -> _Manifest | None:
    """The manifest of the directory, None if there is none. Raises SpecError if it is damaged."""
    data = _read(directory, MANIFEST)
    if data is None:
        return None

    def damaged(reason: str, line: int = 1, column: int = 1) -> SpecError:
        position = Position((directory / MANIFEST).as_posix(), line, column)
        message = f"{reason}; restore the file, or delete it and generate again"
        return SpecError([Finding(position, "bad-manifest", message)])

    try:
        content: Any = json.loads(data)
    except json.JSONDecodeError as error:
        raise damaged(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError):
        raise damaged("not JSON") from None
    match content:
        case {"files": dict() as files, "inputs": dict() as inputs}:
            digests = {}
            for path, entry in files.items():
                match entry:
                    case {"size": int() as size, "sha256": str() as sha256} if (
                        _is_safe(path) and path != MANIFEST
                    ):
                        digests[path] = _Digest(size, sha256)
                    case _:
                        line = data[: data.find(json.dumps(path).encode())].count(b"\n") + 1
                        raise damaged(f"entry {shown(path)} is not a generated file", line)
            return _Manifest(digests, inputs)
    raise damaged("expected an object with 'files' and 'inputs'")


def _difference(path: str, before: bytes | None, after: bytes | None) -> str:
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{path}"
    try:
        old, new = _lines(before or b""), _lines(after or b"")
    except UnicodeDecodeError:
        sizes = f"{len(before or b'')} and {len(after or b'')} bytes"
        return f"Binary files {old_name} and {new_name} differ: {sizes}\n"
    diff = list(difflib.unified_diff(old, new, old_name, new_name))
    if not diff:
        # An empty file that appears or disappears has no lines to show.
        return f"--- {old_name}\n+++ {new_name}\n"
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff
    )


def _lines(data: bytes) -> list[str]:
    # str.splitlines would also split at form feeds and the like.
    return list(io.StringIO(data.decode("utf-8"), newline="\n"))
