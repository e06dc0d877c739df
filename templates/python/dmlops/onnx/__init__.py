"""ONNX models as DirectML would run them: each node's operators, and what they need. Needs the package `onnx`.

    report = dmlops.onnx.read("model.onnx", level="5.0", dims={"batch": 1})
    report.level            # the lowest feature level that accepts all of it
    report.nodes[0].reason  # why a node has no description, "" if it has one
"""

from __future__ import annotations

from .model import Model, Node, Unreadable, read

__all__ = ["Model", "Node", "Unreadable", "read"]
