"""Writes generated files atomically, lists them in a manifest, compares them, and removes stale ones.

Outputs are bytes by path, relative and with forward slashes. `manifest.json` in the output directory lists
only their names, so it changes only if files are added or removed. A listed file that is no longer generated
is removed if it is known to be ours: it is as the last run left it or, if no run is remembered, it begins
with MARK.

All new contents are written to a folder beside the files before the first of them is renamed into place, so a
full disk changes nothing. A run that is killed in between leaves old and new files; the next one mends that.
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
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlgen.banner import MARK
from dmlgen.diagnostics import Finding, Position, SpecError, fault, shown

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST = "manifest.json"
STAGING = ".staging"  # new files, until they are renamed into place

_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Result:
    """Sorted paths, without the manifest: what `write` did with files that it did not leave as they were."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]  # no longer generated, and not known to be ours


def write(outputs: Mapping[str, bytes], directory: Path, remembered: Mapping[str, str]) -> Result:
    """Makes `directory` contain exactly the outputs, besides foreign files; correct files are not touched.

    `remembered` are the `fingerprints` of the last run, if known. Raises SpecError for a path that is unsafe
    or passes a symbolic link and for a damaged manifest, OSError if writing fails.
    """
    plan = _Plan.make(outputs, directory, remembered)
    _discard(directory / STAGING)
    if plan.changed or plan.stale:
        directory.mkdir(parents=True, exist_ok=True)
        _apply(plan, directory)
        for path in plan.stale:
            _remove_empty_parents(directory, path)
    return Result(tuple(path for path in plan.changed if path != MANIFEST), plan.stale, plan.kept)


def check(outputs: Mapping[str, bytes], directory: Path, remembered: Mapping[str, str]) -> str:
    """The changes that `write` would make, as a unified diff; empty if nothing. Raises SpecError like
    `write`."""
    plan = _Plan.make(outputs, directory, remembered)
    return "".join(
        _difference(path, plan.before.get(path), plan.after.get(path))
        for path in sorted({*plan.changed, *plan.stale})
    )


def fingerprints(outputs: Mapping[str, bytes]) -> dict[str, str]:
    """The digest of each file that `write` leaves, including the manifest."""
    files = {**outputs, MANIFEST: _manifest_text(outputs)}
    return {path: _sha256(data) for path, data in files.items()}


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Creates the directory, waits until no other run writes to it, and keeps others waiting meanwhile.

    This does not work on Windows and on file systems without locks: there, make sure that one run ends before
    another begins.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    number = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"dmlgen: waiting for another run that writes to {directory}", file=sys.stderr, flush=True)
            fcntl.flock(number, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(number)


def is_unchanged(directory: Path, remembered: Mapping[str, str]) -> bool:
    """Whether all these files are still there, byte for byte, and no run was killed since."""
    if os.path.lexists(directory / STAGING):
        return False
    try:
        found = ((_read(directory, path), digest) for path, digest in remembered.items())
        return all(data is not None and _sha256(data) == digest for data, digest in found)
    except (SpecError, OSError):
        return False


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _is_ours(data: bytes, digest: str | None) -> bool:
    return _sha256(data) == digest if digest is not None else MARK.encode() in data[:200]


@dataclass(frozen=True)
class _Plan:
    """The files before and after; `changed` ends with the manifest, so that it never lists too much."""

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    changed: tuple[str, ...]
    stale: tuple[str, ...]
    kept: tuple[str, ...]

    @staticmethod
    def make(outputs: Mapping[str, bytes], directory: Path, remembered: Mapping[str, str]) -> _Plan:
        _refuse_collisions(outputs, directory)
        listed = _read_manifest(directory)
        after = {**outputs, MANIFEST: _manifest_text(outputs)}
        before = {}
        for path in sorted({*after, *listed}):
            data = _read(directory, path)
            if data is not None:
                before[path] = data
        changed = [path for path in (*sorted(outputs), MANIFEST) if before.get(path) != after[path]]
        stale: list[str] = []
        kept: list[str] = []
        for path in listed:
            if path not in after and path in before:
                ours = _is_ours(before[path], remembered.get(path))
                (stale if ours else kept).append(path)
        return _Plan(before, after, tuple(changed), tuple(stale), tuple(kept))


def _apply(plan: _Plan, directory: Path) -> None:
    staging = directory / STAGING
    try:
        for path in plan.changed:
            _parent_made(staging / path).write_bytes(plan.after[path])
        for path in plan.stale:
            (directory / path).unlink()
        for path in plan.changed:
            os.replace(staging / path, _parent_made(directory / path))
    finally:
        _discard(staging)


def _discard(staging: Path) -> None:
    """Removes the folder, which a killed run may have left. Raises OSError if it is a link."""
    with suppress(FileNotFoundError):
        shutil.rmtree(staging)


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
    """Checks that no two paths are the same ignoring case, and none is both a file and a directory."""
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

    Raises SpecError if the path leads elsewhere, passes a symbolic link, or is not a regular file.
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


def _manifest_text(files: Mapping[str, bytes]) -> bytes:
    """The manifest as JSON, with one file per line."""
    lines = ",\n".join(f"  {json.dumps(path)}" for path in sorted(files))
    return f'{{\n "$comment": "{MARK}: the files that it wrote.",\n "files": [\n{lines}\n ]\n}}\n'.encode()


def _read_manifest(directory: Path) -> list[str]:
    """The files that the manifest lists; none without one. Raises SpecError if it is damaged."""
    data = _read(directory, MANIFEST)
    if data is None:
        return []

    def damaged(reason: str, line: int = 1, column: int = 1) -> SpecError:
        position = Position((directory / MANIFEST).as_posix(), line, column)
        message = f"{reason}; restore the file, or delete it and generate again"
        return fault(position, "bad-manifest", message)

    try:
        content: Any = json.loads(data)
    except json.JSONDecodeError as error:
        raise damaged(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError):
        raise damaged("not JSON") from None
    match content:
        case {"files": list(files)}:
            for path in files:
                if not isinstance(path, str) or not _is_safe(path) or path == MANIFEST:
                    line = data[: data.find(json.dumps(path).encode())].count(b"\n") + 1
                    raise damaged(f"entry {shown(str(path))} is not a generated file", line)
            return sorted(files)
    raise damaged("expected an object with a list of 'files'")


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
        # An empty file that is added or removed has no lines to show.
        return f"--- {old_name}\n+++ {new_name}\n"
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff
    )


def _lines(data: bytes) -> list[str]:
    # str.splitlines would also split at form feeds and the like.
    return list(io.StringIO(data.decode("utf-8"), newline="\n"))
