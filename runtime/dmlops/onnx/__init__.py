"""Maps ONNX models to DirectML: the operators of each node, and what they need.

Needs the `onnx` package.

    model = dmlops.onnx.read("model.onnx", level="5.0", dims={"batch": 1})
    model.level             # the lowest feature level that accepts every mapped node
    model.nodes[0].plan     # descriptions, or None and a `reason`
    dmlops.onnx.run("model.onnx", {"x": array})  # computes the model in NumPy
"""

from __future__ import annotations

from ..counterparts.node import NotRunnable as NotRunnable
from .execute import run as run
from .model import Model as Model
from .model import Node as Node
from .model import Unreadable as Unreadable
from .model import read as read
from .package import OnnxMissing as OnnxMissing

__all__ = ["Model", "Node", "NotRunnable", "OnnxMissing", "Unreadable", "read", "run"]
