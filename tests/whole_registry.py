"""The registry of this repository's specs, which takes seconds to load: all tests of a process share it."""

from functools import cache

from dmlgen.cli import ROOT
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry


@cache
def whole_registry() -> Registry:
    return load_registry(ROOT / "specs")
