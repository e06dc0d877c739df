"""The parts of outputs that belong to single operators, cached between runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from dmlgen.memory import Memory
from dmlgen.registry import Operator, Registry

T = TypeVar("T")


def parts(
    what: str,
    registry: Registry,
    memory: Memory,
    make: Callable[[Registry, Operator], T],
) -> dict[str, T]:
    """The results of `make` for each operator, by name, or those in the last run.

    `make` gets only what is near the operator in the registry, so that its result depends on nothing else but
    the code and the templates, which `memory` accounts for.
    """
    known = memory.recall(what)
    made: dict[str, T] = {}
    found: dict[str, T] = {}
    for operator in registry.operators:
        digest = registry.digest(operator)
        part = known[digest] if digest in known else make(registry.near(operator), operator)
        made[digest] = found[operator.name] = part
    memory.keep(what, made)
    return found


def merged(files: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """The files of all operators, by path."""
    return {path: data for of_operator in files.values() for path, data in of_operator.items()}
