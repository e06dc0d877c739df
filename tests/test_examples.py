"""The worked examples of the public pages: valid, with inferred sizes, in the reference and in shaders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.registry import Example, ExampleTensor, Operator
from gpu_device import device, run_in_guard_zones
from whole_registry import whole_registry

__all__ = ["device"]

ROOT = Path(__file__).parents[1]
REGISTRY = whole_registry()
EXAMPLES = [(operator, example) for operator in REGISTRY.operators for example in operator.examples]
COMPUTED = [(operator, example) for operator, example in EXAMPLES if example.has_data]
SHADED = [one for one in COMPUTED if (ROOT / f"generated/hlsl/{one[0].slug}.hlsl").is_file()]


def named(examples: list[tuple[Operator, Example]]) -> Any:
    """A test for each of these examples."""
    names = [f"{operator.name}-{example.id}" for operator, example in examples]
    return pytest.mark.parametrize(("operator", "example"), examples, ids=names)


def described(operator: Operator, example: Example, without: frozenset[str] = frozenset()) -> Any:
    """The description of an example, some of its tensors left out."""

    def form(given: ExampleTensor | tuple[ExampleTensor, ...]) -> Any:
        if isinstance(given, tuple):
            return [form(one) for one in given]
        return {"DataType": given.type, "Sizes": list(given.sizes)}

    tensors = {name: form(given) for name, given in example.tensors.items() if name not in without}
    return dmlops.from_json({"type": operator.name, "desc": {**tensors, **example.members}})


def arrays(operator: Operator, example: Example) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs and outputs of an example."""

    def array(given: ExampleTensor | tuple[ExampleTensor, ...]) -> Any:
        if isinstance(given, tuple):
            return [array(one) for one in given]
        return np.array(given.data, given.type.lower()).reshape(given.sizes)

    data = {name: array(given) for name, given in example.tensors.items()}
    outputs = {member.name: data.pop(member.name) for member in operator.outputs if member.name in data}
    return data, outputs


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, right in flat(expected).items():
        one = flat(found)[name]
        assert (one.dtype, one.tolist()) == (right.dtype, right.tolist()), name


def flat(tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    """Every array by name; those of a list with their number, as in OutputTensors[0]."""
    return {
        f"{name}[{number}]" if isinstance(value, list) else name: one
        for name, value in tensors.items()
        for number, one in enumerate(value if isinstance(value, list) else [value])
    }


@named(EXAMPLES)
def test_examples_are_valid(operator: Operator, example: Example) -> None:
    assert described(operator, example).validate("6.4") == []


def follows(operator: Operator) -> bool:
    """Whether data type and sizes of each output follow from the rest of any description."""
    found = {(one.tensor, one.field) for one in operator.inferences if one.when is None}
    return {(output.name, field) for output in operator.outputs for field in ("DataType", "Sizes")} <= found


INFERRED = [(operator, example) for operator, example in EXAMPLES if follows(operator)]


@named(INFERRED)
def test_outputs_are_inferred(operator: Operator, example: Example) -> None:
    given = described(operator, example)
    outputs = frozenset(member.name for member in operator.outputs)
    inferred = described(operator, example, without=outputs).infer()
    for name in outputs & example.tensors.keys():
        assert getattr(inferred, name) == getattr(given, name), name


@named(COMPUTED)
def test_reference(operator: Operator, example: Example) -> None:
    inputs, expected = arrays(operator, example)
    compare(dmlops.reference.run(described(operator, example), inputs), expected)


@named(SHADED)
def test_shaders(operator: Operator, example: Example, device: Any) -> None:
    inputs, expected = arrays(operator, example)
    compare(run_in_guard_zones(device, described(operator, example), inputs), expected)


def test_there_are_examples_of_every_kind() -> None:
    assert len(COMPUTED) > 80
    assert len(INFERRED) > 50
    assert any(not example.has_data for _, example in INFERRED)
    assert any(isinstance(given, tuple) for _, example in COMPUTED for given in example.tensors.values())
