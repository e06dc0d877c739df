"""The judge on descriptions with known faults, and the test cases that the search finds for rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dmlgen.cases import Case, Cases, CaseSearch
from dmlgen.cases.data import computation_of
from dmlgen.description import Tensor, Value, from_json, to_json
from dmlgen.judge import GeneralJudge, Judge
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry

ROOT = Path(__file__).parents[1]
FLOAT32, UINT32, INT64 = 1, 3, 11


@pytest.fixture(scope="module")
def judge(registry: Registry) -> Judge:
    return Judge(GeneralJudge(registry), registry.operator["GATHER_ELEMENTS"])


@pytest.fixture(scope="module")
def found(registry: Registry) -> dict[str, Cases]:
    search = CaseSearch(registry)
    names = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")
    return {name: search.cases(registry.operator[name]) for name in names}


def valid(**changes: Value) -> dict[str, Value]:
    description: dict[str, Value] = {
        "InputTensor": Tensor(FLOAT32, (3, 4)),
        "IndicesTensor": Tensor(UINT32, (2, 4)),
        "OutputTensor": Tensor(FLOAT32, (2, 4)),
        "Axis": 0,
    }
    return {**description, **changes}


def broken(judge: Judge, description: dict[str, Value], level: str = "6.4") -> list[tuple[str, str]]:
    failures = judge.judge(description, judge.registry.level[level])
    return [(failure.rule.id.removeprefix("DML-"), failure.member) for failure in failures]


def boundaries(cases: Cases, rule: str) -> Sequence[Case]:
    return [case for case in cases.cases if case.kind == "boundary" and f"/{rule}-" in case.id]


def test_a_valid_description_breaks_nothing(judge: Judge) -> None:
    assert broken(judge, valid()) == []
    assert broken(judge, valid(InputTensor=Tensor(FLOAT32, (3, 4), Strides=(0, 1)))) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Axis": 2}, [("GATHER_ELEMENTS-axis-range", "Axis")]),
        ({"Axis": 1 << 32}, [("OPERATOR-integer-range", "Axis")]),
        ({"IndicesTensor": None}, [("OPERATOR-required", "IndicesTensor")]),
        ({"InputTensor": Tensor(FLOAT32, ())}, [("TENSOR-rank", "InputTensor.DimensionCount")]),
        ({"InputTensor": Tensor(FLOAT32, (3, 0), (1,))}, [("TENSOR-strides-count", "InputTensor.Strides")]),
        (
            {"IndicesTensor": Tensor(UINT32, (2, 0)), "OutputTensor": Tensor(FLOAT32, (0, 4))},
            [("TENSOR-sizes", "IndicesTensor.Sizes"), ("TENSOR-sizes", "OutputTensor.Sizes")],
        ),
        (  # a type that no table has; that it differs from the output's is not worth telling
            {"InputTensor": Tensor(99, (3, 4))},
            [("OPERATOR-data-type", "InputTensor.DataType")],
        ),
        (
            {"OutputTensor": Tensor(FLOAT32, (2, 4), TotalTensorSizeInBytes=31)},
            [("TENSOR-total-size", "OutputTensor.TotalTensorSizeInBytes")],
        ),
        ({"OutputTensor": Tensor(FLOAT32, (2, 4), Flags=1)}, [("TENSOR-flags-owned", "OutputTensor.Flags")]),
        (
            {"IndicesTensor": Tensor(UINT32, (2, 4), GuaranteedBaseOffsetAlignment=3)},
            [("TENSOR-alignment-power-of-two", "IndicesTensor.GuaranteedBaseOffsetAlignment")],
        ),
    ],
)
def test_known_faults(judge: Judge, changes: dict[str, Value], expected: list[tuple[str, str]]) -> None:
    assert broken(judge, valid(**changes)) == expected


def test_a_check_reports_its_first_failing_iteration_only(judge: Judge) -> None:
    description = valid(
        InputTensor=Tensor(FLOAT32, (3, 4, 5)),
        IndicesTensor=Tensor(UINT32, (2, 1, 1)),
        OutputTensor=Tensor(FLOAT32, (2, 1, 1)),
    )
    assert broken(judge, description) == [("GATHER_ELEMENTS-indices-sizes", "IndicesTensor.Sizes")]


def test_a_stage_is_judged_only_when_those_before_it_hold(judge: Judge) -> None:
    counts = valid(Axis=7, OutputTensor=Tensor(INT64, (9, 9)))
    assert broken(judge, counts) == [("GATHER_ELEMENTS-axis-range", "Axis")]
    structure = {**counts, "IndicesTensor": Tensor(UINT32, (0, 4))}
    assert broken(judge, structure) == [("TENSOR-sizes", "IndicesTensor.Sizes")]


def test_levels(judge: Judge) -> None:
    assert broken(judge, valid(), "2.0") == [("OPERATOR-since", "")]
    assert [rule for rule, _ in broken(judge, valid(), "2.1")] == ["OPERATOR-dimension-count"]  # one of three
    long = valid(InputTensor=Tensor(INT64, (3, 4)), OutputTensor=Tensor(INT64, (2, 4)))
    assert [rule for rule, _ in broken(judge, long, "3.0")] == ["OPERATOR-data-type"] * 2
    level = judge.minimum_level(long)
    assert level is not None
    assert level.name == "4.1"
    assert judge.minimum_level(valid(Axis=2)) is None


def test_json_leaves_out_what_was_left_out(registry: Registry) -> None:
    description = valid(
        InputTensor=Tensor(99, (3, 4), (4, 1), Flags=1, GuaranteedBaseOffsetAlignment=4), OutputTensor=None
    )
    assert to_json(registry, registry.operator["GATHER_ELEMENTS"], description) == {
        "type": "DML_OPERATOR_GATHER_ELEMENTS",
        "desc": {
            "InputTensor": {
                "DataType": 99,
                "Sizes": (3, 4),
                "Strides": (4, 1),
                "Flags": "OWNED_BY_DML",
                "GuaranteedBaseOffsetAlignment": 4,
            },
            "IndicesTensor": {"DataType": "UINT32", "Sizes": (2, 4)},
            "Axis": 0,
        },
    }


def test_what_is_only_inferred_is_not_demanded(specs: Path) -> None:
    path = specs / "operators/gather/gather_elements.yaml"
    text = path.read_text(encoding="utf-8")
    rule = """  - id: output-sizes
    infer: OutputTensor.Sizes = IndicesTensor.Sizes
"""
    assert rule in text
    path.write_text(
        text.replace(rule, "default_outputs: [OutputTensor.Sizes = IndicesTensor.Sizes]\n"), encoding="utf-8"
    )
    registry = load_registry(specs)
    operator = registry.operator["GATHER_ELEMENTS"]
    assert ("OutputTensor", "Sizes") in {(one.tensor, one.field) for one in operator.inferences}
    judge = Judge(GeneralJudge(registry), operator)
    assert broken(judge, valid(OutputTensor=Tensor(FLOAT32, (7, 7)))) == []


def test_boundaries_lie_at_the_bound(found: dict[str, Cases]) -> None:
    (axis,) = boundaries(found["GATHER_ELEMENTS"], "DML-GATHER_ELEMENTS-axis-range")
    tensor = axis.state.description["InputTensor"]
    assert isinstance(tensor, Tensor)
    assert axis.state.description["Axis"] == tensor.DimensionCount - 1
    for cases in found.values():
        (elements,) = boundaries(cases, "DML-TENSOR-element-count")
        tensors = [value for value in elements.state.description.values() if isinstance(value, Tensor)]
        assert max(math.prod(tensor.Sizes) for tensor in tensors) == 2**32 - 1


def test_negatives_of_the_axis_are_one_past_the_bound(found: dict[str, Cases]) -> None:
    cases = [case for case in found["GATHER"].cases if case.breaks == "DML-GATHER-axis-range"]
    assert cases
    for case in cases:
        tensor = case.state.description["InputTensor"]
        assert isinstance(tensor, Tensor)
        assert case.state.description["Axis"] == tensor.DimensionCount


def described(registry: Registry, given: Any) -> Any:
    """A tensor of an example, or an array of them, as descriptions have it."""
    if isinstance(given, tuple):
        return tuple(described(registry, one) for one in given)
    return Tensor(registry.data_type[given.type].value, given.sizes)


def elements_of(given: Any) -> Any:
    return tuple(map(elements_of, given)) if isinstance(given, tuple) else given.data


def test_computation_gives_the_printed_outputs_of_the_pages(registry: Registry, judge: Judge) -> None:
    examples = 0
    for operator in registry.operators:
        computation = computation_of(Judge(judge.general, operator))
        for example in filter(lambda one: one.has_data, operator.examples):
            tensors = {name: described(registry, given) for name, given in example.tensors.items()}
            data = {name: elements_of(given) for name, given in example.tensors.items()}
            inputs = {member.name: data[member.name] for member in operator.inputs if member.name in data}
            members = {
                name: from_json(registry, operator.member[name], value)
                for name, value in example.members.items()
            }
            absent = dict.fromkeys(operator.member)
            found = computation.elements({**absent, **tensors, **members}, inputs)  # type: ignore[dict-item]
            for element in {(one.output, one.entry, one.place): one for one in found}.values():
                given = data[element.output]
                printed = (given if element.entry is None else given[element.entry])[element.place]
                assert abs(element.value - printed) <= element.error, (operator.name, example.id, element)
            examples += 1
    assert examples >= 70
