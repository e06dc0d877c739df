"""The registry of this repository's specs, which takes seconds: all tests of a process have the same."""

from functools import cache

from dmlgen.cli import ROOT
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry


@cache
def whole_registry() -> Registry:
    return load_registry(ROOT / "specs")
