"""Maps WebNN graphs to DirectML: the operators of each operation, and what they need.

A graph is a JSON value in the form of W3C's conformance cases: inputs and constants by name, each with data
type, shape and optional values; operations in order, each with its arguments and the names of its outputs;
the names of the graph's outputs (without `out`, whatever no operation reads).

    graph = {
        "in": {"x": ["float32", [2, 3], [1, 2, 3, 4, 5, 6]]},
        "ops": [["softmax", [{"input": "x"}, {"axis": 0}], "y"],
                ["clamp", [{"input": "y"}, {"options": {"minValue": 0.25}}], "z"]],
        "out": ["z"],
    }
    model = dmlops.webnn.read(graph, level="5.0")
    model.level             # the lowest feature level that accepts every operation
    model.nodes[0].plan     # descriptions with their tensors, or None and a `reason`
    model.tensors["z"]      # data type and shape
    dmlops.webnn.run(graph)  # computes it in NumPy
    dmlops.webnn.op_support_limits("5.0")["gemm"]  # data types and ranks of each operand
"""

from __future__ import annotations

from ..counterparts.node import Node as Node
from ..counterparts.node import NotRunnable as NotRunnable
from .limits import op_support_limits as op_support_limits
from .model import Model as Model
from .model import read as read
from .model import run as run
from .operands import Unreadable as Unreadable

__all__ = ["Model", "Node", "NotRunnable", "Unreadable", "op_support_limits", "read", "run"]
