"""Specs of a git revision, in a private temporary folder.

Objects are read directly (`ls-tree`, `cat-file`), so attributes, filters and hooks of the repository have no
effect. The contents of a tree are as untrusted as any spec: links and submodules are rejected, names stay
within the folder, and their number and size are bounded.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from dmlgen.diagnostics import Position, SpecError, UsageError, fault, shown
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry
from dmlgen.source import MAX_BYTES

MAX_FILES = 5_000  # in one revision
MAX_TOTAL = 1 << 26  # bytes, in total

_FILE = "100"  # the prefix of a regular file's mode
_OF_ANOTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # set if a hook runs this


class RevisionError(UsageError):
    """There is no such revision, no repository, or nothing to compare."""


@dataclass(frozen=True)
class Specs:
    """Specs in `folder`, which positions refer to as `label`; `revision` is where they come from."""

    folder: Path
    label: str
    revision: str | None = None

    @cached_property
    def registry(self) -> Registry:
        """The registry. SpecError if the specs have errors, RevisionError if those of a revision have."""
        try:
            return load_registry(self.folder)
        except SpecError as error:
            if self.revision is None:
                raise
            first = error.findings[0]
            fault = f"{self.place(first.position)}: {self._named(first.text)}"
            raise RevisionError(
                f"the specs of {self.revision} are not valid for this dmlgen, "
                f"in {len(error.findings)} places; the first is {fault}"
            ) from None

    def place(self, position: Position) -> Position:
        """A position in terms of the label."""
        return Position(self._named(position.file), position.line, position.column)

    def _named(self, text: str) -> str:
        return text.replace(self.folder.as_posix(), self.label)


@contextmanager
def specs_of(name: str | None, specs: Path) -> Iterator[Specs]:
    """The specs for a name: a folder, or `specs` at a git revision; for None, `specs` in the work tree.

    RevisionError if it is neither.
    """
    if name is None or (name and Path(name).is_dir()):
        folder = specs if name is None else Path(name)
        yield Specs(folder, folder.as_posix())
        return
    if not name or name.startswith("-") or not name.isprintable():
        raise RevisionError(f"{shown(name)} is neither a folder nor a git revision")
    repository = _Repository.of(specs)
    with TemporaryDirectory(prefix="dmlgen-") as private:
        folder = Path(private).resolve() / "specs"
        repository.extract(repository.commit(name), folder, f"{name}:{specs.as_posix()}")
        yield Specs(folder, specs.as_posix(), name)


@dataclass(frozen=True)
class _Repository:
    """The work tree that contains a folder of specs, and the folder's path in it."""

    root: Path
    prefix: PurePosixPath

    @staticmethod
    def of(specs: Path) -> _Repository:
        folder = specs.resolve()
        there = next(one for one in (folder, *folder.parents) if one.is_dir())
        found = _git(there, "rev-parse", "--show-toplevel")
        if found.returncode != 0:
            raise RevisionError(f"{specs} lies in no git repository: {_complaint(found)}")
        root = Path(os.fsdecode(found.stdout.removesuffix(b"\n"))).resolve()
        return _Repository(root, PurePosixPath(folder.relative_to(root).as_posix()))

    def commit(self, name: str) -> str:
        """The hash of a revision's commit."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        found = _git(self.root, *asked)
        if found.returncode == 0:
            return found.stdout.decode("ascii").strip()
        shallow = _git(self.root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        more = "; the clone is shallow: `git fetch --unshallow` brings the rest" if shallow else ""
        raise RevisionError(f"there is no revision {shown(name)} here, and no folder of that name{more}")

    def extract(self, commit: str, folder: Path, name: str) -> None:
        """Writes the YAML files of the specs at a commit into a new folder; SpecError calls it `name`."""
        listed = _git(self.root, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", f"{self.prefix}/")
        if listed.returncode != 0:
            raise RevisionError(f"git cannot list {name}: {_complaint(listed)}")
        blobs = [_Blob.of(entry, self.prefix, name) for entry in listed.stdout.split(b"\0") if entry]
        if not blobs:
            raise RevisionError(f"there is no {name}")
        chosen = [blob for blob in blobs if blob.path.suffix == ".yaml"]
        if len(chosen) > MAX_FILES or sum(blob.size for blob in chosen) > MAX_TOTAL:
            message = f"more than {MAX_FILES} files, or more than {MAX_TOTAL} bytes in all"
            raise fault(Position(name), "too-large", message)
        folder.mkdir()
        for blob, data in zip(chosen, self._contents(chosen), strict=True):
            path = folder / blob.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def _contents(self, blobs: list[_Blob]) -> Iterator[bytes]:
        asked = b"".join(blob.hash + b"\n" for blob in blobs)
        answer = _git(self.root, "cat-file", "--batch", given=asked)
        data, start = answer.stdout, 0
        for _ in blobs:
            head, _, _ = data[start : start + 200].partition(b"\n")
            if answer.returncode != 0 or not head.split()[2:]:
                raise RevisionError(f"git cannot read a file of the revision: {_complaint(answer)}")
            begin = start + len(head) + 1
            start = begin + int(head.split()[2]) + 1
            yield data[begin : start - 1]


@dataclass(frozen=True)
class _Blob:
    """A file of a tree; its path is relative to the specs."""

    hash: bytes
    size: int
    path: PurePosixPath

    @staticmethod
    def of(entry: bytes, prefix: PurePosixPath, name: str) -> _Blob:
        """Parses one entry of `ls-tree -z -l`: mode, type, hash and size, a tab, the path."""
        facts, _, raw = entry.partition(b"\t")
        mode, _, hash_, size = facts.split()
        whole = os.fsdecode(raw)
        below = whole.removeprefix("" if prefix == PurePosixPath(".") else f"{prefix}/")

        def refuse(code: str, message: str) -> SpecError:
            return fault(Position(f"{name}/{below}"), code, message)

        if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in below.split("/")):
            raise refuse("outside-root", "the revision has a file whose name leads elsewhere")
        if not mode.startswith(_FILE.encode()):
            raise refuse(
                "symlink", "symbolic links and submodules are not followed; put the file itself here"
            )
        path = PurePosixPath(below)
        if path.suffix == ".yaml" and int(size) > MAX_BYTES:
            raise refuse("too-large", f"file is larger than {MAX_BYTES} bytes")
        return _Blob(hash_, int(size), path)


def _git(folder: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    environment |= {"GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, input=given, capture_output=True, env=environment, check=False)
    except FileNotFoundError:
        raise RevisionError("git is needed to read a revision, and is not installed") from None


def _complaint(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = result.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[0] if lines else "it does not say why"
