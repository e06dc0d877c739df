"""A folder of compiled shaders, which trusts only complete files that this user wrote.

The folder is the one that DMLOPS_CACHE names, else `dmlops` in the user's cache folder. Shaders from it run
on the GPU, so a folder that belongs to somebody else, or that others may write to, is not used. Each file
starts with the SHA-256 of its name and its contents: a truncated one, after a full disk for example, is
treated as absent, and so does anything that is not a file of this user's.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_DIGEST_BYTES = hashlib.sha256().digest_size
_LARGEST = 1 << 26  # bytes of a file; the largest shader has some hundred thousand


def load(name: str) -> bytes | None:
    """The content stored under a name; None if nothing was, or if it is damaged."""
    folder = _folder()
    if folder is None:
        return None
    try:
        # Neither follows links nor blocks on pipes; Windows has neither flag.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        number = os.open(folder / name, flags | getattr(os, "O_BINARY", 0))
        with open(number, "rb") as file:
            status = os.fstat(number)
            if not (stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST and _is_ours(status)):
                return None
            entry = file.read(_LARGEST)
    except OSError:
        return None
    digest, code = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
    return code if _digest(name, code) == digest else None


def store(name: str, code: bytes) -> None:
    """Stores the code for later runs, if possible: a cache that cannot be written only costs time."""
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(name, code) + code)
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise


def _folder() -> Path | None:
    """The cache folder, created if missing; None if there is none that only this user can write to."""
    try:
        folder = _place()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):  # RuntimeError: the user has no home folder
        return None
    return folder if _is_ours(status) else None


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it."""
    if os.name != "posix":  # Windows protects profiles from other users
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + code).digest()


def _place() -> Path:
    own = os.environ.get("DMLOPS_CACHE")
    if own:
        return Path(own)
    # The XDG specification says to ignore relative paths.
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "dmlops"
