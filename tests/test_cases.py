"""The test cases that the search finds for rules, and the elements that operators compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlgen.cases import Case, Cases, CaseSearch
from dmlgen.cases.data import computation_of
from dmlgen.cases.validators import Validators, tensors_of, violations_of
from dmlgen.outputs import python
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry

ROOT = Path(__file__).parents[1]


def validators_of(registry: Registry) -> Validators:
    return Validators(registry, python.installed(registry, Templates(ROOT / "templates")))


@pytest.fixture(scope="module")
def gather(registry: Registry) -> Registry:
    """The operators of these tests, and no others."""
    names = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
    return replace(registry, operators=tuple(registry.operator[name] for name in names))


@pytest.fixture(scope="module")
def validators(gather: Registry) -> Validators:
    return validators_of(gather)


@pytest.fixture(scope="module")
def found(gather: Registry) -> dict[str, Cases]:
    search = CaseSearch(gather, python.installed(gather, Templates(ROOT / "templates")))
    return {operator.name: search.cases(operator) for operator in gather.operators}


def tensor(type_: str, *sizes: int, **more: Any) -> dict[str, Any]:
    return {"DataType": type_, "Sizes": list(sizes), **more}


def broken(validators: Validators, level: str = "6.4", **changes: Any) -> list[tuple[str, str]]:
    """What a valid description of GATHER_ELEMENTS breaks with other values of some members."""
    members = {
        "InputTensor": tensor("FLOAT32", 3, 4),
        "IndicesTensor": tensor("UINT32", 2, 4),
        "OutputTensor": tensor("FLOAT32", 2, 4),
        "Axis": 0,
    }
    description = validators.from_json({"type": "GATHER_ELEMENTS", "desc": {**members, **changes}})
    found = violations_of(description, validators.registry.level[level])
    return [(one.rule.removeprefix("DML-"), one.member) for one in found]


def boundaries(cases: Cases, rule: str) -> Sequence[Case]:
    return [case for case in cases.cases if case.kind == "boundary" and f"/{rule}-" in case.id]


def test_the_package_that_judges_is_imported_from_what_is_generated(validators: Validators) -> None:
    assert broken(validators) == []
    assert broken(validators, Axis=2) == [("GATHER_ELEMENTS-axis-range", "Axis")]
    assert broken(validators, "2.0") == [("OPERATOR-since", "Type")]
    again = validators_of(validators.registry)
    assert again.tensor is validators.tensor is not dmlops.TensorDesc


def test_what_is_only_inferred_is_not_demanded(specs: Path) -> None:
    path = specs / "operators/gather/gather_elements.yaml"
    text = path.read_text(encoding="utf-8")
    rule = """  - id: output-sizes
    infer: OutputTensor.Sizes = IndicesTensor.Sizes
"""
    assert rule in text
    wrong = tensor("FLOAT32", 7, 7)
    assert broken(validators_of(load_registry(specs)), OutputTensor=wrong) != []
    path.write_text(
        text.replace(rule, "default_outputs: [OutputTensor.Sizes = IndicesTensor.Sizes]\n"), encoding="utf-8"
    )
    registry = load_registry(specs)
    operator = registry.operator["GATHER_ELEMENTS"]
    assert ("OutputTensor", "Sizes") in {(one.tensor, one.field) for one in operator.inferences}
    assert broken(validators_of(registry), OutputTensor=wrong) == []


def test_boundaries_lie_at_the_bound(found: dict[str, Cases]) -> None:
    (axis,) = boundaries(found["GATHER_ELEMENTS"], "DML-GATHER_ELEMENTS-axis-range")
    description: Any = axis.state.description
    assert description.Axis == description.InputTensor.DimensionCount - 1
    for cases in found.values():
        (elements,) = boundaries(cases, "DML-TENSOR-element-count")
        tensors = tensors_of(elements.state.description)
        assert max(math.prod(tensor.Sizes) for _, tensor in tensors) == 2**32 - 1


def test_negatives_of_the_axis_are_one_past_the_bound(found: dict[str, Cases]) -> None:
    cases = [case for case in found["GATHER"].cases if case.breaks == "DML-GATHER-axis-range"]
    assert cases
    for case in cases:
        description: Any = case.state.description
        assert description.Axis == description.InputTensor.DimensionCount


def described(given: Any) -> Any:
    """A tensor of an example, or an array of them, as JSON has it."""
    return [described(one) for one in given] if isinstance(given, tuple) else tensor(given.type, *given.sizes)


def elements_of(given: Any) -> Any:
    return tuple(map(elements_of, given)) if isinstance(given, tuple) else given.data


def test_computation_gives_the_printed_outputs_of_the_pages(registry: Registry) -> None:
    examples = 0
    for operator in registry.operators:
        computation = computation_of(registry, operator)
        for example in filter(lambda one: one.has_data, operator.examples):
            tensors = {name: described(given) for name, given in example.tensors.items()}
            data = {name: elements_of(given) for name, given in example.tensors.items()}
            inputs = {member.name: data[member.name] for member in operator.inputs if member.name in data}
            description = dmlops.from_json({"type": operator.name, "desc": {**example.members, **tensors}})
            found = computation.elements(description, inputs)
            for element in {(one.output, one.entry, one.place): one for one in found}.values():
                given = data[element.output]
                printed = (given if element.entry is None else given[element.entry])[element.place]
                assert abs(element.value - printed) <= element.error, (operator.name, example.id, element)
            examples += 1
    assert examples >= 70
