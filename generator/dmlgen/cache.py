"""Results of earlier runs, keyed by everything they depend on. Losing them only costs time.

A file begins with a digest of its key and content, so a truncated, swapped or foreign file is ignored.
Reading and writing never fail, and a folder that others can write to is not used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

_UNUSED = 30 * 24 * 3600  # seconds after which an unused entry is removed
_LARGEST = 1 << 28  # most bytes of an entry
_DIGEST = hashlib.sha256().digest_size


class Cache:
    """Bytes by key, in a folder; with None, nothing is stored."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder if folder is not None and _made(folder) else None

    @property
    def keeps(self) -> bool:
        """Whether there is a folder."""
        return self._folder is not None

    def get(self, *key: str) -> bytes | None:
        """The bytes last stored under the key, if they are intact."""
        if self._folder is None:
            return None
        path = self._folder / _name(key)
        try:
            # Do not follow links, or wait for pipes.
            number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            with open(number, "rb") as file:
                status = os.fstat(number)
                if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                    return None
                content = file.read(_LARGEST)
            digest, data = content[:_DIGEST], content[_DIGEST:]
            if digest != _seal(key, data):
                return None
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, data: bytes, *key: str) -> None:
        """Stores the bytes under the key, if possible."""
        if self._folder is None:
            return
        with suppress(OSError), NamedTemporaryFile(dir=self._folder, delete=False) as file:
            try:
                file.write(_seal(key, data) + data)
                file.close()
                os.replace(file.name, self._folder / _name(key))
            except BaseException:
                os.unlink(file.name)
                raise

    def tidy(self) -> None:
        """Removes entries that no run has used for a month."""
        if self._folder is None:
            return
        oldest = time.time() - _UNUSED
        for path in self._folder.iterdir():
            with suppress(OSError):
                if path.lstat().st_mtime < oldest:
                    path.unlink()


def _made(folder: Path) -> bool:
    """Creates the folder if necessary; whether only we can write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _name(key: tuple[str, ...]) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()


def _seal(key: tuple[str, ...], data: bytes) -> bytes:
    return hashlib.sha256(repr(key).encode() + b"\0" + data).digest()
