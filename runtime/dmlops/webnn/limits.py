"""The support of each operation of WebNN at a feature level: data types and ranks of its operands, by trial.

Types and ranks follow from the mapping and from DirectML's tables, in ways that no table states. So each
operation is read as a graph of its own, in an example, with one operand of another data type or rank at a
time, and the lowest feature level that accepts it is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from ..counterparts import Operation, operations
from ..counterparts.node import Node
from ..counterparts.tensors import Tensor
from ..enums import FeatureLevel, LevelLike, feature_level
from .model import read

TYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8", "int4", "uint4")
RANKS = range(9)
_USUAL = 4  # the rank of an example in which one operand changes
_GUESSES = ("float32", "uint8", "int32")  # data types to begin with

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Example: TypeAlias = tuple[Shapes | None, dict[str, Any]]  # shapes of operands, and other arguments
Lowest: TypeAlias = dict[str, dict[Any, FeatureLevel]]  # by operand: the lowest level for each type, or rank


def op_support_limits(level: LevelLike) -> dict[str, dict[str, dict[str, Any]]]:
    """The operations that a feature level supports, with limits for each operand and output.

    They have the form of WebNN's MLOpSupportLimits: `{"gemm": {"a": {"dataTypes": ["float32", ...],
    "rankRange": {"min": 2, "max": 2}}, ...}, ...}`. They are what DirectML supports, also where WebNN allows
    fewer data types. Takes seconds the first time. Raises ValueError for a level that does not exist.
    """
    at = feature_level(level)
    found = {}
    for operation in operations("webnn"):
        types, ranks = _lowest(operation.name) if operation.operators else ({}, {})
        limits = {}
        for name in types:
            supported = [one for one in TYPES if one in types[name] and types[name][one] <= at]
            counts = [rank for rank in RANKS if rank in ranks[name] and ranks[name][rank] <= at]
            if supported and counts:
                limits[name] = {
                    "dataTypes": supported,
                    "rankRange": {"min": min(counts), "max": max(counts)},
                }
        if limits:
            found[operation.name] = limits
    return found


def _example(name: str, rank: int) -> Example:
    """Shapes of an operation's operands, and its other arguments, where the first operand has a rank, if that
    is free. None for the shapes of an operation whose operands all have one shape.
    """
    cube, last = (2,) * rank, rank - 1
    image = {"input": (1, 2, 4, 4)}
    channels = dict.fromkeys(("mean", "variance", "scale", "bias"), (2,))
    weights: Shapes = {
        "weight": (1, 12, 2),
        "recurrentWeight": (1, 12, 3),
        "bias": (1, 12),
        "recurrentBias": (1, 12),
    }
    gates: Shapes = {
        "weight": (1, 9, 2),
        "recurrentWeight": (1, 9, 3),
        "bias": (1, 9),
        "recurrentBias": (1, 9),
    }
    cell: Shapes = {key: shape[1:] for key, shape in weights.items()}
    gate: Shapes = {key: shape[1:] for key, shape in gates.items()}
    examples: dict[str, Example] = {
        "argMax": (None, {"axis": last}),
        "argMin": (None, {"axis": last}),
        "averagePool2d": (image, {}),
        "batchNormalization": ({"input": cube, **channels}, {}),
        "concat": ({"inputs": cube}, {"axis": last}),
        "conv2d": ({**image, "filter": (3, 2, 2, 2), "bias": (3,)}, {}),
        "convTranspose2d": ({**image, "filter": (2, 3, 2, 2), "bias": (3,)}, {}),
        "cumulativeSum": (None, {"axis": last}),
        "expand": (None, {"newShape": cube}),
        "gatherND": ({"input": cube, "indices": (2,) * last + (1,)}, {}),
        "gemm": ({"a": (2, 2), "b": (2, 2), "c": (2,) * min(rank, 2)}, {}),
        "gru": (
            {"input": (4, 1, 2), **gates, "initialHiddenState": (1, 1, 3)},
            {"steps": 4, "hiddenSize": 3, "returnSequence": True},
        ),
        "gruCell": ({"input": (1, 2), **gate, "hiddenState": (1, 3)}, {"hiddenSize": 3}),
        "instanceNormalization": ({**image, "scale": (2,), "bias": (2,)}, {}),
        "l2Pool2d": (image, {}),
        "layerNormalization": ({"input": cube, "scale": cube[1:], "bias": cube[1:]}, {}),
        "lstm": (
            {
                "input": (4, 1, 2),
                **weights,
                "peepholeWeight": (1, 9),
                "initialHiddenState": (1, 1, 3),
                "initialCellState": (1, 1, 3),
            },
            {"steps": 4, "hiddenSize": 3, "returnSequence": True},
        ),
        "lstmCell": (
            {"input": (1, 2), **cell, "peepholeWeight": (9,), "hiddenState": (1, 3), "cellState": (1, 3)},
            {"hiddenSize": 3},
        ),
        "maxPool2d": (image, {}),
        "pad": (None, {"beginningPadding": [1] * rank, "endingPadding": [1] * rank}),
        "resample2d": (image, {"sizes": [8, 8]}),
        "reshape": (None, {"newShape": cube}),
        "scatterND": ({"input": cube, "indices": (*cube[1:], max(rank, 1)), "updates": cube[1:]}, {}),
        "slice": (None, {"starts": [0] * rank, "sizes": [1] * rank}),
        "softmax": (None, {"axis": last}),
        "split": (None, {"splits": 2}),
        "tile": (None, {"repetitions": [2] * rank}),
    }
    return examples.get(name, (None, {"keepDimensions": True} if name.startswith("reduce") else {}))


def _shapes(operation: Operation, rank: int) -> Shapes:
    """The shapes of its example."""
    shapes, _ = _example(operation.name, rank)
    required = [name.rstrip("*") for name in operation.signatures[0].inputs if name[-1] != "?"]
    return dict.fromkeys(required, (2,) * rank) if shapes is None else shapes


@cache
def _lowest(method: str) -> tuple[Lowest, Lowest]:
    """The lowest level for each data type and for each rank of each operand and output."""
    operation = next(one for one in operations("webnn") if one.name == method)
    types: Lowest = {}
    ranks: Lowest = {}
    (signature,) = operation.signatures
    choice = next((name for name in ("dataType", "outputDataType") if name in signature.attributes), None)

    def accepted(rank: int, shapes: Shapes, of: Mapping[str, str], chosen: str = "int32") -> bool:
        """Whether some level accepts an example, which is then noted."""
        _, arguments = _example(operation.name, rank)
        axis = arguments.get("axis", signature.attributes.get("axis") or 0)
        if "axis" in signature.attributes and axis not in range(len(next(iter(shapes.values())))):
            return False
        node, tensors = _read(operation, shapes, of, {**arguments, **({choice: chosen} if choice else {})})
        if node.level is None:
            return False
        for name, tensor in tensors.items():
            for noted, key in ((types, tensor.decided_type.lower()), (ranks, len(tensor.shape))):
                levels = noted.setdefault(name, {})
                levels[key] = min(levels.get(key, node.level), node.level)
        return True

    shapes = _shapes(operation, _USUAL)
    guesses = (dict(zip(shapes, one, strict=True)) for one in product(_GUESSES, repeat=len(shapes)))
    usual = next((of for of in guesses if accepted(_USUAL, shapes, of)), None)
    if usual is None:
        return types, ranks
    for type_ in TYPES:
        accepted(_USUAL, shapes, usual, type_)
        for name in shapes if len(shapes) > 1 else ():
            accepted(_USUAL, shapes, {**usual, name: type_})
        for alike in dict.fromkeys(usual.values()):
            accepted(_USUAL, shapes, {one: type_ if of == alike else of for one, of in usual.items()})
    for rank in RANKS:
        others = _shapes(operation, rank)
        accepted(rank, others, usual)
        for around in (1, _USUAL) if len(shapes) > 1 else ():
            for name in shapes:
                accepted(around, {**_shapes(operation, around), name: others[name]}, usual)
    return types, ranks


def _read(
    operation: Operation, shapes: Shapes, types: Mapping[str, str], arguments: Mapping[str, Any]
) -> tuple[Node, dict[str, Tensor]]:
    """An operation as a graph: its node, and tensors by the names of operands and outputs."""
    (signature,) = operation.signatures
    operands = [{name: [name] if f"{name}*" in signature.inputs else name} for name in shapes]
    outputs = {name: name.rstrip("?") for name in signature.outputs if name[-1] != "*"}
    outputs |= {f"{name}{at}": name[:-1] for name in signature.outputs if name[-1] == "*" for at in range(2)}
    graph = {
        "in": {name: [types[name], shape] for name, shape in shapes.items()},
        "ops": [[operation.name, [*operands, {"options": arguments}], list(outputs)]],
    }
    model = read(graph)
    names = {name: name for name in shapes} | outputs
    return model.nodes[0], {names[name]: model.tensors[name] for name in names}
