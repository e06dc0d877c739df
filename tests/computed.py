"""Runs operators, in the reference and in their shaders, on tensors of any layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import dmlops
from dmlgen.registry import Operator
from whole_registry import whole_registry

REGISTRY = whole_registry()
LAYOUTS = ("packed", "gaps", "permuted", "shared")

Arrays = Mapping[str, "np.ndarray | list[np.ndarray]"]


def types_of(operator: str, tensor: str) -> tuple[str, ...]:
    """The data types of a tensor in the newest table."""
    newest = REGISTRY.operator[operator].support[REGISTRY.levels[-1].name]
    return next(row.types for row in newest if row.tensor == tensor)


def strides(sizes: Sequence[int], layout: str, is_input: bool) -> tuple[int, ...]:
    """Strides in elements: with gaps, the other way round, or all 0 for inputs whose elements are shared."""
    if layout == "shared" and is_input:
        return (0,) * len(sizes)
    order = list(range(len(sizes)))
    found, stride = [0] * len(sizes), 2 if layout == "gaps" else 1
    for dimension in order if layout == "permuted" else reversed(order):
        found[dimension] = stride
        stride *= sizes[dimension] + (layout == "gaps")
    return tuple(found)


def described(
    operator: str,
    inputs: Arrays,
    output: tuple[str, Sequence[int]],
    members: Mapping[str, Any],
    layout: str = "packed",
    types: Mapping[str, str] | None = None,
) -> Any:
    """The description; `types` names the data types that the arrays do not show, those of 4 bits."""

    def tensor(type_: str, sizes: Sequence[int], is_input: bool) -> dict[str, Any]:
        packed = {"DataType": type_, "Sizes": list(sizes)}
        return packed if layout == "packed" else packed | {"Strides": list(strides(sizes, layout, is_input))}

    def of(name: str, array: np.ndarray) -> dict[str, Any]:
        return tensor((types or {}).get(name, array.dtype.name.upper()), array.shape, True)

    tensors: dict[str, Any] = {}
    for name, array in inputs.items():
        if isinstance(array, list):
            tensors[name] = [of(f"{name}[{number}]", one) for number, one in enumerate(array)]
        else:
            tensors[name] = of(name, array)
    (result,) = outputs_of(REGISTRY.operator[operator])
    tensors[result] = tensor(*output, False)
    return dmlops.from_json({"type": operator, "desc": {**tensors, **members}})


def outputs_of(operator: Operator) -> Iterator[str]:
    """The names of the output tensors."""
    return (member.name for member in operator.members if member.role == "output")


def run(
    device: Any,
    operator: str,
    inputs: Arrays,
    output: tuple[str, Sequence[int]],
    members: Mapping[str, Any] | None = None,
    layout: str = "packed",
    types: Mapping[str, str] | None = None,
) -> list[np.ndarray]:
    """The only output, as the reference gives it and as the shader does."""
    (result,) = outputs_of(REGISTRY.operator[operator])
    desc = described(operator, inputs, output, members or {}, layout, types)
    return [dmlops.reference.run(desc, inputs)[result], dmlops.gpu.run(desc, inputs, device)[result]]
