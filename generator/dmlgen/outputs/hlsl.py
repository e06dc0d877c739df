"""HLSL compute shaders: one file an operator, from the kernel that its `compute` section needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry

FOLDERS = ("hlsl", "python/dmlops/hlsl")


@dataclass(frozen=True)
class Gather:
    """A shader that copies one input element for every output element, found by looking up indices.

    `max_lookups` is the most indices that one element takes; `element_sizes` maps the bytes of an element to
    the data types of that size.
    """

    operator: str
    summary: str
    input: str
    indices: str
    output: str
    max_lookups: int
    element_sizes: Mapping[int, tuple[str, ...]]
    index_types: tuple[str, ...]
    max_rank: int


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The shaders of all operators whose semantics are declared; once more as data of the Python package."""
    computed = (operator for operator in registry.operators if operator.compute is not None)
    shaders = {
        f"{operator.slug}.hlsl": templates.render("hlsl/gather.hlsl.j2", **vars(_gather(registry, operator)))
        for operator in computed
    }
    return {f"{folder}/{name}": text for folder in FOLDERS for name, text in shaders.items()}


def _gather(registry: Registry, operator: Operator) -> Gather:
    compute = operator.compute
    assert compute is not None and isinstance(compute.value, ir.Load)
    lookups = [
        (node, node.arguments[0])
        for node in ir.walk(compute.value.coordinate)
        if isinstance(node, ir.Call) and node.function == "wrap"
    ]
    _, index = lookups[0]
    assert isinstance(index, ir.Load)
    in_a_list = any(isinstance(node, ir.Reduce) for node in ir.walk(compute.value.coordinate))
    types = _types(operator, compute.value.tensor.name)
    sizes = sorted({registry.data_type[name].bits // 8 for name in types})
    return Gather(
        operator=operator.name,
        summary=operator.summary,
        input=_resource(compute.value.tensor.name),
        indices=_resource(index.tensor.name),
        output=_resource(compute.output),
        max_lookups=MAX_RANK if in_a_list else 1,
        element_sizes={
            size: tuple(name for name in types if registry.data_type[name].bits == size * 8) for size in sizes
        },
        index_types=_types(operator, index.tensor.name),
        max_rank=MAX_RANK,
    )


def _types(operator: Operator, tensor: str) -> tuple[str, ...]:
    """The data types that a tensor may have at any level, in the order of the tables."""
    rows = [row for table in operator.support.values() for row in table if row.tensor == tensor]
    widest = max(rows, key=lambda row: len(row.types)).types
    return tuple(dict.fromkeys((*widest, *(name for row in rows for name in row.types))))


def _resource(member: str) -> str:
    """The name of a shader resource: that of the member, in lower camel case."""
    return member[0].lower() + member[1:]
