"""Computations of operators: one module per operator, generated from the `compute` sections of the specs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..description import Description


def computation(desc: Description) -> Any:
    """The computation of a valid description: an object of one of the classes in `computations`.

    Raises NotImplementedError if the registry does not define the operator's computation.
    """
    return _module(desc.OPERATOR).computation(desc)


@cache
def _module(operator: str) -> Any:
    name = f"{__name__}.{operator.lower()}"
    if find_spec(name) is None:
        raise NotImplementedError(f"the registry does not hold what {operator} computes")
    return import_module(name)
