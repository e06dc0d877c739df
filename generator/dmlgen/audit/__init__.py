"""Public pages of DirectML against the specs: what agrees, what an erratum overrules, what is new.

`read` makes a page of a file, whatever form it has; `members`, `tables` and `sentences` find what it states;
`operators`, `structs` and `topics` hold that against the registry; `compare` puts it together for a page and
`report` prints it. A statement that differs is known where an erratum has it, word by word, under `stated`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dmlgen.audit.compare import Result, compare
from dmlgen.audit.read import read
from dmlgen.registry import Registry


def audit(registry: Registry, paths: Iterable[Path]) -> list[Result]:
    """The results of pages, in the order given. OSError for a file that cannot be read."""
    return [compare(registry, read(path)) for path in paths]


def is_clean(results: Iterable[Result]) -> bool:
    """Whether nothing is new and everything could be read."""
    return not any(result.faults or result.count("difference") for result in results)
