"""Where what belongs to the generator lies: templates, what is copied, and the folder of its caches.

An installed package has templates, runtime and licence within it; a checkout has them beside `generator/`.
Nothing here depends on the specs that are read.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]  # of a checkout
_INSTALLED = (PACKAGE / "templates").is_dir()

_BESIDE = PACKAGE if _INSTALLED else ROOT
TEMPLATES = _BESIDE / "templates"
RUNTIME = _BESIDE / "runtime"  # what becomes generated/python as it stands
LICENSE = _BESIDE / "LICENSE"


def default(name: str) -> Path:
    """A folder of the project that is worked on: the checkout, or the current folder of an installed tool.

    A folder below the current one is named from there, so that findings show short names.
    """
    if _INSTALLED:
        return Path(name)
    here, path = Path.cwd(), ROOT / name
    return path.relative_to(here) if path.is_relative_to(here) else path


def cache_folder() -> Path | None:
    """Where results are kept between runs; None where there is no place for them."""
    if not _INSTALLED:
        return ROOT / "build/cache"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # the specification has relative ones ignored
        return named / "dmlgen"
    try:
        return Path.home() / ".cache/dmlgen"
    except RuntimeError:  # no HOME, and no entry for this user
        return None
