"""The locations of the generator's own files: templates, runtime, and the cache folder.

An installed package contains copies of these files; in a checkout they are next to `generator/`.
Nothing here depends on the specs being read.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]  # of a checkout
_INSTALLED = (PACKAGE / "templates").is_dir()

_BESIDE = PACKAGE if _INSTALLED else ROOT
TEMPLATES = _BESIDE / "templates"
RUNTIME = _BESIDE / "runtime"  # the hand-written modules of the Python package
PLANNERS = RUNTIME / "dmlops/gpu/plans"  # which the header has in C
LICENSE = _BESIDE / "LICENSE"
CONCEPTS = _BESIDE / "docs/CONCEPTS.md"  # a page of the reference site, too


def default(name: str) -> Path:
    """A folder of the current project: in the checkout, or in the current folder for an installed tool.

    A folder below the current one is given relative to it, so that findings show short names.
    """
    if _INSTALLED:
        return Path(name)
    here, path = Path.cwd(), ROOT / name
    return path.relative_to(here) if path.is_relative_to(here) else path


def cache_folder() -> Path | None:
    """The folder in which results are cached between runs; None if there is no place for it."""
    if not _INSTALLED:
        return ROOT / "build/cache"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # the XDG specification requires relative paths to be ignored
        return named / "dmlgen"
    try:
        return Path.home() / ".cache/dmlgen"
    except RuntimeError:  # no HOME, and no entry for this user
        return None
