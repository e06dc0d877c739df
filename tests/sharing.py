"""Folders that one of several test processes fills and all use."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Shared = Callable[[str, Callable[[Path], object]], Path]


def shared_folders(factory: pytest.TempPathFactory) -> Shared:
    """A function that returns a folder by its name, after filling it if no process of this run has."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = base / name, base / f"{name}.done"
        with (base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what a process left that failed
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return made
