"""What operators compute: one module an operator, made from the `compute` sections of the specs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..description import Description


def computation(desc: Description) -> Any:
    """The computation of a valid description: an object of one of the classes in `computations`.

    Raises NotImplementedError for operators whose computation the registry does not hold.
    """
    module = f"{__name__}.{desc.OPERATOR.lower()}"
    if find_spec(module) is None:
        raise NotImplementedError(f"the registry does not hold what {desc.OPERATOR} computes")
    return import_module(module).computation(desc)
