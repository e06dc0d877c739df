"""Audits the documentation of DirectML against the specs: what agrees, what errata overrule, what is new.

`read` parses a page from a file in any form. `members`, `tables` and `sentences` find its statements,
`operators`, `structs` and `topics` compare them with the registry, and `compare` combines the results for a
page and `report` prints them. A statement that differs is known if an erratum quotes it, word for word, under
`overrules`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dmlaudit.compare import Result, compare
from dmlaudit.read import read
from dmlgen.registry import Registry


def audit(registry: Registry, paths: Iterable[Path]) -> list[Result]:
    """The results for pages, in the given order. OSError for a file that cannot be read."""
    return [compare(registry, read(path)) for path in paths]


def is_clean(results: Iterable[Result]) -> bool:
    """Whether nothing is new and everything could be read."""
    return not any(result.faults or result.count("difference") for result in results)
