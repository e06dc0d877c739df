"""Every operator in Python: random descriptions judged by the rules, and JSON and ABI round trips."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlgen.expr.evaluate import Evaluator
from dmlgen.registry import Stage
from dmlops import Description, FeatureLevel, JsonError, TensorDataType, TensorDesc, from_json, registry
from dmlops.enums import ENUMS
from dmlops.member import Member
from dmlops.registry import NUMBERS, OPERATORS, STRUCTS
from dmlops.structs import STRUCT_CLASSES
from whole_registry import whole_registry

SPECS = Path(__file__).parents[1] / "specs"
FLOAT32, FLOAT16, INT32, UINT32, INT64 = (
    TensorDataType[name] for name in ("FLOAT32", "FLOAT16", "INT32", "UINT32", "INT64")
)


def tensor(*sizes: int, type: TensorDataType = FLOAT32) -> TensorDesc:
    return TensorDesc(type, sizes)


def broken(desc: Description, level: str = "6.4") -> list[tuple[str, str]]:
    return [(v.rule.removeprefix("DML-"), v.member) for v in desc.validate(level)]


class Maker:
    """Makes random descriptions, most of them nearly right."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def description(self, described: type[Description], depth: int = 0) -> Description:
        rank = self.random.choice([4, 4, 4, 2, 5, 1, 8])
        counts = {member.count for member in described.MEMBERS if member.count}
        lengths = {count: self.random.choice([2, 2, 2, 1, 3, 0, rank]) for count in sorted(counts)}
        return described(
            **{
                member.name: self.member(described, member, rank, lengths, depth)
                for member in described.MEMBERS
                if member.name not in counts or self.random.random() < 0.05
            }
        )

    def member(
        self, described: type[Description], member: Member, rank: int, lengths: dict[str, int], depth: int
    ) -> Any:
        if member.pointer and self.random.random() < (0.5 if member.optional else 0.01):
            return None
        if member.count is None:
            return self.value(described, member, rank, depth)
        length = lengths[member.count] if self.random.random() < 0.97 else 4
        return tuple(self.value(described, member, rank, depth) for _ in range(length))

    def value(self, described: type[Description], member: Member, rank: int, depth: int) -> Any:
        choose = self.random.choice
        if member.type == "tensor":
            count = rank if self.random.random() < 0.95 else choose([0, 1, 2, 3, 9])
            type_ = FLOAT32 if self.random.random() < 0.7 else choose([*TensorDataType, 77])
            return TensorDesc(type_, tuple(choose([1, 1, 2, 3, 4, 6]) for _ in range(count)))
        if member.type == "OPERATOR_DESC":
            names = described.FUSABLE if described.FUSABLE and depth == 0 else ("GATHER", "ACTIVATION_RELU")
            fused = registry.operator(choose([name for name in names if name in OPERATORS]))
            return self.description(fused, depth + 1)
        if member.typed_by:
            return choose([0, 1, -1, 300, 1 << 40, 2.5])
        if member.type in ENUMS:
            return choose([*(entry.value for entry in ENUMS[member.type]), 99])
        if member.type == "BOOL":
            return choose([True, False])
        if member.type in STRUCT_CLASSES:
            fields = STRUCTS[f"DML_{member.type}"]
            return STRUCT_CLASSES[member.type](**{field.name: choose([0, 1, 2]) for field in fields})
        if NUMBERS[member.type][1] == "float":
            return choose([0.0, 1.0, -1.0, 2.5])
        return choose([0, 1, 1, 2, 3] if self.random.random() < 0.97 else [-1, 1 << 32, 1 << 70])


@cache
def evaluator() -> Evaluator:
    return Evaluator(whole_registry().bits, whole_registry().signed)


def failing(desc: Description, level: FeatureLevel) -> dict[str, Stage]:
    """The operator's own rules that do not hold, by the values of their conditions, with their stages."""
    members = {member.name: getattr(desc, member.name) for member in desc.MEMBERS}
    found: dict[str, Stage] = {}
    for rule in whole_registry().operator[desc.OPERATOR].rules:
        in_force = rule.since.value <= level and (rule.until is None or level < rule.until.value)
        for check in rule.checks if in_force and rule.applies_to != "abi" else ():
            holds = evaluator().function(check.condition)
            if not all(map(holds, evaluator().iterations(check.loops, check.guard)(members))):
                found[rule.id] = rule.stage
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_random_descriptions_break_the_rules_whose_conditions_fail(name: str) -> None:
    """The conditions are evaluated node by node here, without the bounds that printed ones rely on."""
    maker = Maker(seed=sum(name.encode()))
    stages = {rule.id: rule.stage for rule in whole_registry().rules_of(whole_registry().operator[name])}
    judged = 0
    for _ in range(60):
        desc = maker.description(registry.operator(name))
        for level in (FeatureLevel("6.4"), FeatureLevel("3.0")):
            found = {v.rule for v in desc.validate(level) or desc.advice(level)}
            first = min((stages.get(rule, Stage.ADVICE) for rule in found), default=Stage.ADVICE)
            if first > Stage.STRUCTURE:  # the members can be read
                wrong = failing(desc, level)
                own = {rule for rule in found if rule.startswith(f"DML-{name}-")}
                assert own <= wrong.keys(), desc
                assert min(wrong.values(), default=Stage.ADVICE) >= first, desc
                assert bool(own) == (first in wrong.values()) or found - own, desc
                judged += 1
        lowest = desc.min_feature_level()
        levels = [level for level in FeatureLevel if not desc.validate(level)]
        assert lowest == min(levels, default=None), desc
    assert judged > 2


@pytest.mark.parametrize("name", OPERATORS)
def test_json_there_and_back(name: str) -> None:
    maker = Maker(seed=len(name))
    for _ in range(10):
        desc = maker.description(registry.operator(name))
        try:
            assert from_json(json.loads(json.dumps(desc.to_json()))) == desc
        except JsonError as error:  # flags are read only where they are given
            raise AssertionError(f"{desc} is written as JSON that cannot be read: {error}") from error


@pytest.mark.parametrize("name", OPERATORS)
def test_descriptions_become_structs_or_a_value_error(name: str) -> None:
    maker = Maker(seed=len(name))
    for _ in range(10):
        desc = maker.description(registry.operator(name))
        try:
            assert desc.to_ctypes().Type == dmlops.OperatorType[name]
        except ValueError as error:
            assert "fit" in str(error) or "data type" in str(error) or "elements" in str(error)


@pytest.mark.parametrize("name", OPERATORS)
def test_inferred_outputs_keep_the_rules_they_follow_from(name: str) -> None:
    maker = Maker(seed=len(name))
    for _ in range(20):
        desc = maker.description(registry.operator(name))
        try:
            full = desc.infer()
        except ValueError as error:
            found = getattr(error, "violations", ())
            assert bool(found) or re.search("is absent|does not follow", str(error))
        else:
            assert full.validate() == []
            assert full.infer() == full


CONVOLUTION = dmlops.Convolution(
    InputTensor=tensor(1, 1, 3, 3),
    FilterTensor=tensor(1, 1, 3, 3),
    OutputTensor=tensor(1, 1, 1, 1),
    Mode=dmlops.ConvolutionMode.CROSS_CORRELATION,
    Direction=dmlops.ConvolutionDirection.FORWARD,
    Strides=(1, 1),
    Dilations=(1, 1),
    StartPadding=(0, 0),
    EndPadding=(0, 0),
    OutputPadding=(0, 0),
    GroupCount=1,
)


@pytest.mark.parametrize(
    ("activation", "place", "level"),
    [  # as the feature level history says; of the others it says no more than when they were added
        (dmlops.ElementWiseClip(Min=0.0, Max=6.0), "CONVOLUTION", "6.0"),
        (dmlops.ElementWiseClip(Min=0.0, Max=6.0), "GEMM", "6.0"),
        (dmlops.ActivationSoftmax(), "GEMM", "6.1"),
        (dmlops.ActivationSoftmax1(AxisCount=1, Axes=(3,)), "GEMM", "6.1"),
        (dmlops.ActivationRelu(), "GEMM", "1.0"),
        (dmlops.ActivationShrink(Bias=0.0, Threshold=0.5), "CONVOLUTION", "2.0"),
        (dmlops.ActivationGelu(), "CONVOLUTION", "5.1"),
    ],
    ids=lambda value: getattr(value, "OPERATOR", value),
)
def test_levels_of_fused_activations(activation: Description, place: str, level: str) -> None:
    base = CONVOLUTION if place == "CONVOLUTION" else gemm(None)
    desc = dataclasses.replace(base, FusedActivation=activation)  # type: ignore[type-var]
    needed = FeatureLevel(level)
    assert desc.min_feature_level() == needed
    for one in FeatureLevel:
        if one >= needed:
            assert broken(desc, str(one)) == []
        else:
            (violation,) = desc.validate(one)
            assert (violation.rule, violation.member) == ("DML-OPERATOR-since", "FusedActivation.Type")
            pair = f"{activation.OPERATOR} in {place}"
            assert violation.message == f"{pair} needs feature level {level}; the requested level is {one}"


def test_counts_are_filled_in() -> None:
    desc = dmlops.Reduce(
        Function=dmlops.ReduceFunction.SUM,
        InputTensor=tensor(2, 3, 4, 5),
        OutputTensor=tensor(1),
        Axes=[1, 2],  # type: ignore[arg-type]
    ).infer()
    assert (desc.AxisCount, desc.Axes, desc.OutputTensor) == (2, (1, 2), tensor(2, 1, 1, 5))
    assert broken(desc) == []
    assert dataclasses.replace(desc, OutputTensor=None).infer() == desc
    value = {"Function": "SUM", "InputTensor": {"DataType": "FLOAT32", "Sizes": [4, 4]}, "Axes": [0]}
    read = from_json({"type": "REDUCE", "desc": value})
    assert read.AxisCount == 1  # type: ignore[attr-defined]
    short = from_json({"type": "REDUCE", "desc": {**value, "AxisCount": 2}})
    assert ("OPERATOR-array-length", "Axes") in broken(short)


def test_a_type_that_follows_in_some_cases_only() -> None:
    """As the pages say: REDUCE keeps the type but for indices, a zero point has that of the output."""
    reduce = dmlops.Reduce(
        Function=dmlops.ReduceFunction.ARGMAX, InputTensor=tensor(2, 3, 4, 5), OutputTensor=None, Axes=(1,)
    )
    with pytest.raises(ValueError, match=r"OutputTensor\.DataType does not follow"):
        reduce.infer()
    chosen = dataclasses.replace(reduce, OutputTensor=TensorDesc(INT64, ())).infer()
    assert chosen.OutputTensor == tensor(2, 1, 4, 5, type=INT64)
    point = tensor(2, 3, type=TensorDataType.UINT8)
    quantize = dmlops.ElementWiseQuantizeLinear(
        InputTensor=tensor(2, 3), ScaleTensor=tensor(2, 3), ZeroPointTensor=point
    )
    assert quantize.infer().OutputTensor == point
    with pytest.raises(ValueError, match=r"OutputTensor\.DataType does not follow"):
        dataclasses.replace(quantize, ZeroPointTensor=None).infer()


@pytest.mark.parametrize(
    ("partial", "whole"),
    [
        (
            dmlops.Cast(InputTensor=tensor(2, 3), OutputTensor=TensorDesc(INT64, ())),
            tensor(2, 3, type=INT64),
        ),
        (
            dmlops.ElementWiseLogicalEquals(
                ATensor=tensor(2, 3),
                BTensor=tensor(2, 3),
                OutputTensor=TensorDesc(TensorDataType.UINT8, ()),
            ),
            tensor(2, 3, type=TensorDataType.UINT8),
        ),
        (
            dmlops.MaxUnpooling(
                InputTensor=tensor(1, 1, 1, 1),
                IndicesTensor=tensor(1, 1, 1, 1, type=TensorDataType.UINT32),
                OutputTensor=TensorDesc(TensorDataType.UNKNOWN, (1, 1, 2, 2)),
            ),
            tensor(1, 1, 2, 2),
        ),
    ],
    ids=["CAST", "LOGICAL_EQUALS", "MAX_UNPOOLING"],
)
def test_an_output_may_give_no_more_than_the_choice(partial: Any, whole: TensorDesc) -> None:
    assert partial.infer().OutputTensor == whole
    with pytest.raises(ValueError, match=r"OutputTensor\.(DataType|Sizes) does not follow"):
        dataclasses.replace(partial, OutputTensor=None).infer()


def test_outputs_that_do_not_follow_are_asked_for() -> None:
    """The page of SPLIT leaves to the caller how large the parts are."""
    with pytest.raises(ValueError, match=r"OutputTensors is absent"):
        dmlops.Split(InputTensor=tensor(2, 4), OutputTensors=None, Axis=1).infer()
    parts = (tensor(2, 3), tensor(2, 1))
    assert dmlops.Split(InputTensor=tensor(2, 4), OutputTensors=parts, Axis=1).infer().OutputTensors == parts
    constant = dmlops.FillValueConstant(ValueDataType=FLOAT32, Value=1.0)
    with pytest.raises(ValueError, match=r"OutputTensor\.DataType does not follow"):
        constant.infer()


def test_inference_names_the_rule_that_is_broken() -> None:
    """Also where the sizes that come out look right: a stride of 0, a filter for other channels."""
    valid: Any = dataclasses.replace(
        CONVOLUTION, InputTensor=tensor(1, 3, 9, 9), FilterTensor=tensor(64, 3, 7, 7), OutputTensor=None
    )
    assert valid.infer().OutputTensor == tensor(1, 64, 3, 3)
    for changes, rule, member in (
        ({"Strides": (0, 1)}, "strides-range", "Strides[0]"),
        ({"Dilations": (1, 0)}, "dilations-range", "Dilations[1]"),
        ({"GroupCount": 0}, "group-count-range", "GroupCount"),
        ({"InputTensor": tensor(1, 4, 9, 9)}, "input-channels", "InputTensor.Sizes[1]"),
        ({"InputTensor": tensor(1, 3, 2, 9)}, "filter-fits", "InputTensor.Sizes[2]"),
        ({"FilterTensor": tensor(64, 3, 7)}, "same-rank", "FilterTensor.DimensionCount"),
        ({"BiasTensor": tensor(64, 1, 1, 1)}, "bias-sizes", "BiasTensor.Sizes"),
    ):
        with pytest.raises(dmlops.InvalidDescription) as caught:
            dataclasses.replace(valid, **changes).infer()
        (found,) = caught.value.violations
        assert (found.rule, found.member) == (f"DML-CONVOLUTION-{rule}", member)
        assert str(found) in str(caught.value)


def test_sizes_that_no_tensor_has_are_not_inferred() -> None:
    with pytest.raises(dmlops.InvalidDescription, match=r"OutputTensor\.Sizes\[0\] is 8589934590"):
        dmlops.Tile(InputTensor=tensor(2, 3), Repeats=((1 << 32) - 1, 2)).infer()


def test_support_that_depends_on_an_enumeration() -> None:
    def reduce(function: str, output: TensorDataType) -> Description:
        return dmlops.Reduce(
            Function=dmlops.ReduceFunction[function],
            InputTensor=tensor(2, 3, 4, 5),
            OutputTensor=tensor(2, 1, 4, 5, type=output),
            Axes=(1,),
        )

    assert broken(reduce("SUM", FLOAT32), "3.0") == broken(reduce("ARGMAX", INT32), "3.0") == []
    assert broken(reduce("ARGMAX", FLOAT32), "3.0") == [("OPERATOR-data-type", "OutputTensor.DataType")]
    (violation,) = reduce("ARGMAX", INT64).validate("2.1")
    assert violation.message.endswith("supports UINT32; INT64 needs feature level 3.0")
    assert reduce("ARGMAX", INT64).min_feature_level() == FeatureLevel.LEVEL_3_0


def test_rules_of_some_levels() -> None:
    desc = dmlops.ActivationSoftplus(InputTensor=tensor(1, 1, 1, 4), Steepness=0.5).infer()
    assert broken(desc, "6.3") == [("ACTIVATION_SOFTPLUS-steepness-range", "Steepness")]
    assert broken(desc, "6.4") == []
    assert desc.min_feature_level() == FeatureLevel.LEVEL_6_4
    assert (
        "Steepness is 0.5; below feature level 6.4 it must be at least 1" in desc.validate("6.3")[0].message
    )


def gemm(activation: Description | None) -> Description:
    return dmlops.Gemm(
        ATensor=tensor(1, 1, 2, 3),
        BTensor=tensor(1, 1, 3, 4),
        OutputTensor=tensor(1, 1, 2, 4),
        TransA=dmlops.MatrixTransform.NONE,
        TransB=dmlops.MatrixTransform.NONE,
        Alpha=1.0,
        Beta=0.0,
        FusedActivation=activation,
    )


def test_fused_activations() -> None:
    softplus = dmlops.ActivationSoftplus(Steepness=0.5)
    assert broken(gemm(None)) == broken(gemm(softplus)) == []
    assert broken(gemm(softplus), "6.0") == [
        ("ACTIVATION_SOFTPLUS-steepness-range", "FusedActivation.Steepness")
    ]
    assert gemm(softplus).min_feature_level() == FeatureLevel.LEVEL_6_4
    with_tensor = dmlops.ActivationRelu(InputTensor=tensor(4))
    assert broken(gemm(with_tensor)) == [("OPERATOR-fused-activation-tensors", "FusedActivation.InputTensor")]
    assert broken(gemm(gemm(None))) == [("OPERATOR-fused-activation", "FusedActivation")]
    assert from_json(gemm(softplus).to_json()) == gemm(softplus)
    nested: Any = {"type": "GEMM", "desc": {}}
    for _ in range(3000):
        nested = {"type": "GEMM", "desc": {"FusedActivation": nested}}
    with pytest.raises(JsonError):
        from_json(nested)


def test_arrays_of_tensors() -> None:
    desc = dmlops.Join(InputTensors=(tensor(2, 3), tensor(2, 4)), Axis=1).infer()
    assert desc.OutputTensor == tensor(2, 7)
    assert broken(desc) == []
    ragged = dmlops.Join(InputTensors=(tensor(2, 3), tensor(0, 4)), OutputTensor=tensor(2, 7), Axis=1)
    assert broken(ragged) == [("TENSOR-sizes", "InputTensors[1].Sizes[0]")]
    read = from_json(desc.to_json())
    assert read == desc


@pytest.mark.parametrize(
    ("type_", "value", "fits"),
    [
        (INT32, -1, True),
        (UINT32, -1, False),
        (INT32, 2.5, False),
        (FLOAT32, 2.5, True),
        (UINT32, 1 << 32, False),
    ],
)
def test_scalar_unions(type_: TensorDataType, value: float, fits: bool) -> None:
    desc = dmlops.FillValueConstant(OutputTensor=tensor(4, type=type_), ValueDataType=type_, Value=value)
    assert (("OPERATOR-scalar-range", "Value") in broken(desc)) is not fits


def test_unions_in_the_abi_hold_the_bits_of_their_type() -> None:
    def first_bytes(type_: TensorDataType, value: float) -> bytes:
        desc = dmlops.FillValueConstant(OutputTensor=tensor(4, type=type_), ValueDataType=type_, Value=value)
        return bytes(desc.to_ctypes().alive["Desc"].Value)

    assert first_bytes(FLOAT16, 1.0) == b"\x00\x3c" + bytes(6)
    assert first_bytes(INT32, -2) == b"\xfe\xff\xff\xff" + bytes(4)


def test_names_in_the_registry() -> None:
    assert registry.level_of_build(22621) == registry.level_of_build(22631) == FeatureLevel.LEVEL_5_0
    assert registry.level_of_build(17763) is None
    assert registry.operator("DML_OPERATOR_SCATTER") is dmlops.ScatterElements  # an alias in DirectML.h
    assert registry.level_of_build(20348) == FeatureLevel.LEVEL_3_0
    assert registry.level_of_build(25398) == registry.level_of_build(26100) == FeatureLevel.LEVEL_6_0
    early, late = registry.operators("1.0"), registry.operators("6.4")
    assert set(early) < set(late) == set(OPERATORS)
    assert registry.since("REDUCE", "OutputTensor", INT64) == FeatureLevel.LEVEL_3_0
    assert registry.since("REDUCE", "OutputTensor", TensorDataType.FLOAT64) is None
    assert registry.since("GATHER", "InputTensor", "INT64") == FeatureLevel.LEVEL_4_1
    assert registry.support("GATHER", "6.4")["InputTensor"].ranks == tuple(range(1, 9))
    with pytest.raises(ValueError, match="no feature level"):
        registry.operators("7.0")


def test_changes_between_levels() -> None:
    changes = {change.operator: change for change in registry.changes("6.3", "6.4")}
    assert changes["ACTIVATION_SOFTPLUS"].rules_removed == ("DML-ACTIVATION_SOFTPLUS-steepness-range",)
    came = {name for name, one in OPERATORS.items() if one.since == FeatureLevel.LEVEL_6_4}
    assert {name for name, change in changes.items() if change.is_new} == came
    back = {change.operator: change for change in registry.changes("6.4", "6.3")}
    assert back.keys() == changes.keys()
    assert all(back[name].removed == changes[name].added for name in changes)
    assert registry.changes("6.4", "6.4") == ()


def test_importing_loads_no_operator() -> None:
    text = "import dmlops, sys; print(any(name.startswith('dmlops.operators.') for name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_every_operator_has_a_computation() -> None:
    names = registry.OPERATORS
    without = [name for name in names if find_spec(f"dmlops.compute.{name.lower()}") is None]
    assert without == []


def test_floats_in_messages_are_short() -> None:
    desc = dmlops.ActivationSoftplus(InputTensor=tensor(1, 1, 1, 4), Steepness=-math.inf).infer()
    assert desc.validate("1.0")[0].message.startswith("Steepness is -inf; ")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a JSON value, with each of its keys."""
    for key in (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("name", OPERATORS)
def test_spoiled_json_is_a_json_error_or_a_description(name: str) -> None:
    maker = Maker(seed=len(name))
    junk = [None, True, -1, 10**400, 2.5, math.nan, math.inf, "", "FLOAT32", [], [1], {}, {"Width": []}]
    for _ in range(30):
        value = json.loads(json.dumps(maker.description(registry.operator(name)).to_json()))
        container, key = maker.random.choice(list(places(value)))
        container[key] = maker.random.choice(junk)
        try:
            desc = from_json(value)
        except JsonError as error:
            assert error.reason
        else:
            assert isinstance(desc.validate("6.4"), list)


def test_a_fused_activation_is_not_newer_than_the_level() -> None:
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 2]}
    desc = dmlops.from_json(
        {
            "type": "DML_OPERATOR_ELEMENT_WISE_ADD1",
            "desc": {
                **dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor),
                "FusedActivation": {"type": "DML_OPERATOR_ACTIVATION_GELU", "desc": {}},
            },
        }
    )
    (violation,) = desc.validate("5.0")
    assert (violation.rule, violation.member) == ("DML-OPERATOR-since", "FusedActivation.Type")
    assert desc.validate("5.1") == []
    assert desc.min_feature_level() == dmlops.FeatureLevel("5.1")
