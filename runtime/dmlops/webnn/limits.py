"""The support of each operation of WebNN at a feature level: data types and ranks of its operands, by trial.

Types and ranks follow from the mapping and from DirectML's tables, in ways that no table states. So each
operation is read as a separate graph, in an example, with one operand of another data type or rank at a
time, and the lowest feature level that accepts it is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from ..counterparts import Operation, Signature, data, operations
from ..counterparts.evaluate import Evaluator
from ..counterparts.node import Node
from ..counterparts.tensors import Tensor
from ..data import registry_data
from ..enums import FeatureLevel, LevelLike, feature_level
from .model import read

_USUAL = 4  # the rank of an example in which one operand changes
_GUESSES = ("float32", "uint8", "int32")  # data types to begin with

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Lowest: TypeAlias = dict[str, dict[Any, FeatureLevel]]  # by operand: the lowest level for each type, or rank


def op_support_limits(level: LevelLike) -> dict[str, dict[str, dict[str, Any]]]:
    """The operations that a feature level supports, with limits for each operand and output.

    They have the form of WebNN's MLOpSupportLimits: `{"gemm": {"a": {"dataTypes": ["float32", ...],
    "rankRange": {"min": 2, "max": 2}}, ...}, ...}`. They are what DirectML supports, also where WebNN allows
    fewer data types. Takes seconds the first time. Raises ValueError for a level that does not exist.
    """
    at = feature_level(level)
    known_types, known_ranks = _tried()
    found = {}
    for operation in operations("webnn"):
        types, ranks = _lowest(operation.name) if operation.operators else ({}, {})
        limits = {}
        for name in types:
            supported = [one for one in known_types if one in types[name] and types[name][one] <= at]
            counts = [rank for rank in known_ranks if rank in ranks[name] and ranks[name][rank] <= at]
            if supported and counts:
                limits[name] = {
                    "dataTypes": supported,
                    "rankRange": {"min": min(counts), "max": max(counts)},
                }
        if limits:
            found[operation.name] = limits
    return found


@cache
def _tried() -> tuple[tuple[str, ...], range]:
    """The data types and the ranks of operands that are tried."""
    constants = {one["name"]: one["value"] for one in registry_data()["constants"]}
    types = tuple(name.lower() for name in data()["operand_types"])
    return types, range(constants["DML_TENSOR_DIMENSION_COUNT_MAX1"] + 1)


def _example(signature: Signature, rank: int) -> tuple[Shapes, dict[str, Any]]:
    """Shapes of an operation's operands, and its other arguments, where what is free has that rank."""
    evaluator = Evaluator({"rank": rank}, {})
    given = {name: evaluator.evaluate(text) for name, text in signature.example.items()}
    operands = {name.rstrip("?*"): name[-1] != "?" for name in signature.inputs}
    shapes = {
        name: tuple(given.pop(name, (2,) * rank))
        for name, is_required in operands.items()
        if is_required or name in given
    }
    return shapes, given


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
        _, arguments = _example(signature, rank)
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

    shapes, _ = _example(signature, _USUAL)
    guesses = (dict(zip(shapes, one, strict=True)) for one in product(_GUESSES, repeat=len(shapes)))
    usual = next((of for of in guesses if accepted(_USUAL, shapes, of)), None)
    if usual is None:
        return types, ranks
    known_types, known_ranks = _tried()
    for type_ in known_types:
        accepted(_USUAL, shapes, usual, type_)
        for name in shapes if len(shapes) > 1 else ():
            accepted(_USUAL, shapes, {**usual, name: type_})
        for alike in dict.fromkeys(usual.values()):
            accepted(_USUAL, shapes, {one: type_ if of == alike else of for one, of in usual.items()})
    for rank in known_ranks:
        others, _ = _example(signature, rank)
        accepted(rank, others, usual)
        for around in (1, _USUAL) if len(shapes) > 1 else ():
            for name in shapes:
                accepted(around, {**_example(signature, around)[0], name: others[name]}, usual)
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
