"""ONNX models as DirectML would run them: each node's operators, and what these need.

Needs the package `onnx`.

model = dmlops.onnx.read("model.onnx", level="5.0", dims={"batch": 1})
model.level             # the lowest feature level that accepts what has a counterpart
model.nodes[0].plan     # descriptions, or None and a `reason`
dmlops.onnx.run(onnx.load("model.onnx"), {"x": array})  # what it computes, in NumPy
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .execute import NotRunnable, run
    from .model import Model, Node, Unreadable, read

__all__ = ["Model", "Node", "NotRunnable", "Unreadable", "read", "run"]


def __getattr__(name: str) -> Any:
    """What needs the package `onnx` is loaded when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import execute, model

    return getattr(execute if name in ("NotRunnable", "run") else model, name)
