"""The registry of this repository's specs: all tests of a process share it."""

from functools import cache

from dmlgen.cli import ROOT
from dmlgen.generate import registry_of
from dmlgen.registry import Registry


@cache
def whole_registry() -> Registry:
    return registry_of(ROOT / "specs")
