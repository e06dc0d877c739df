"""Violations and rule texts: in names that a DirectML user knows, once per mistake, with hints."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import dmlops
from dmlops import Description, TensorDesc, Violation, registry
from dmlops.__main__ import main
from dmlops.enums import ENUMS
from dmlops.registry import INTEGERS, OPERATORS, STRUCTS, operator
from random_descriptions import level_and_form, matrix_cases

# Python, and what only the language of specs has.
SYNTAX = re.compile(
    r"//|\*|==|\bfor \w+ in\b|\bif\b.*\belse\b|\b(range|align|replace|present|product|sum|len)\("
)
ENGLISH = {"A", "B", "DirectML"}  # the matrices of a product
ROOT = Path(__file__).parents[1]
HEADER = (ROOT / "generated/include/dmlops.h").read_text(encoding="utf-8")
CONSTANTS = set(re.findall(r"DMLOPS_CONSTANT\((DML_\w+)", HEADER))


def known_names(desc: Description) -> set[str]:
    """What DirectML.h calls the parts of a description, and those of activations that it may hold."""
    names = {*OPERATORS, *INTEGERS, *ENGLISH, *CONSTANTS, *ENUMS, *(f"DML_{name}" for name in ENUMS)}
    described = (desc, *(operator(name) for name in desc.FUSABLE))
    names |= {member.name for one in described for member in one.MEMBERS}
    names |= {member.name for members in STRUCTS.values() for member in members}
    return names.union(*(enum.__members__ for enum in ENUMS.values()))


def test_messages_name_only_what_the_header_names() -> None:
    seen = 0
    for level, form in map(level_and_form, matrix_cases()):
        desc = dmlops.from_json(form)
        for violation in desc.validate(level):
            seen += 1
            words = set(re.findall(r"\b(?:DML_)?[A-Z]\w*", violation.message))
            assert words <= known_names(desc), violation
            assert not SYNTAX.search(violation.message), violation
    assert seen > 5000


def f32(*sizes: int, **fields: Any) -> TensorDesc:
    return TensorDesc(dmlops.TensorDataType.FLOAT32, sizes, **fields)


def convolution(**changes: Any) -> Description:
    members: dict[str, Any] = {
        "InputTensor": f32(1, 3, 8, 8),
        "FilterTensor": f32(8, 3, 3, 3),
        "OutputTensor": f32(1, 8, 6, 6),
        "Mode": dmlops.ConvolutionMode.CROSS_CORRELATION,
        "Direction": dmlops.ConvolutionDirection.FORWARD,
        "Strides": (1, 1),
        "Dilations": (1, 1),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        "OutputPadding": (0, 0),
        "GroupCount": 1,
    }
    return dmlops.Convolution(**members | changes)


def pooling(**changes: Any) -> Description:
    members: dict[str, Any] = {
        "InputTensor": f32(1, 3, 6, 6),
        "OutputTensor": f32(1, 3, 3, 3),
        "Strides": (2, 2),
        "WindowSize": (2, 2),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
    }
    return dmlops.MaxPooling(**members | changes)


def gemm(**changes: Any) -> Description:
    members: dict[str, Any] = {
        "ATensor": f32(1, 1, 4, 8),
        "BTensor": f32(1, 1, 8, 16),
        "OutputTensor": f32(1, 1, 4, 16),
        "TransA": dmlops.MatrixTransform.NONE,
        "TransB": dmlops.MatrixTransform.NONE,
        "Alpha": 1.0,
        "Beta": 1.0,
    }
    return dmlops.Gemm(**members | changes)


def add(a: TensorDesc, b: TensorDesc, output: TensorDesc) -> Description:
    return dmlops.ElementWiseAdd(ATensor=a, BTensor=b, OutputTensor=output)


def join(*inputs: TensorDesc, output: TensorDesc, axis: int) -> Description:
    return dmlops.Join(InputTensors=inputs, OutputTensor=output, Axis=axis)


def rnn(**changes: Any) -> Description:
    """Seven steps of two sequences, three features in, five out."""
    members: dict[str, Any] = {
        "InputTensor": f32(1, 7, 2, 3),
        "WeightTensor": f32(1, 1, 5, 3),
        "RecurrenceTensor": f32(1, 1, 5, 5),
        "OutputSingleTensor": f32(1, 1, 2, 5),
        "ActivationDescs": (dmlops.ActivationTanh(),),
        "Direction": "FORWARD",
    }
    return dmlops.Rnn(**members | changes)


def only(desc: Description, level: str = "6.4") -> Violation:
    """The one violation of a description that has one mistake."""
    (violation,) = desc.validate(level)
    return violation


def test_outputs_that_differ_from_the_formula_are_valid_and_draw_advice() -> None:
    """By hand: 8 - 3 + 1 places of the filter."""
    assert convolution().advice() == []
    other = convolution(OutputTensor=f32(1, 8, 5, 7))
    assert other.validate() == []
    (advice,) = other.advice()
    assert advice.message == "OutputTensor.Sizes[2] is 5; the formula gives 6"
    assert (advice.member, advice.found, advice.expected) == ("OutputTensor.Sizes[2]", 5, 6)


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({}, []),
        ({"OutputTensor": f32(1, 3, 2, 3)}, ["OutputTensor.Sizes[2] is 2; the formula gives 3"]),
        (
            {"OutputTensor": f32(1, 3, 4, 3)},
            [
                "OutputTensor.Sizes[2] is 4; the last window should begin before 6, the end of the input, "
                "and begins at 6"
            ],
        ),
        (
            {"StartPadding": (2, 0), "OutputTensor": f32(1, 3, 4, 3)},
            [
                "StartPadding[0] is 2; it should be less than WindowSize[0], 2 (a first window in the "
                "padding has no elements)"
            ],
        ),
    ],
)
def test_outputs_of_poolings_draw_advice(changes: dict[str, Any], messages: list[str]) -> None:
    """By hand: windows of 2 that move by 2 over 6 elements, with a row of padding after them."""
    desc = pooling(**{"EndPadding": (1, 0), **changes})
    assert desc.validate() == []
    assert [one.message for one in desc.advice()] == messages


def test_violations_carry_the_entry_and_both_values() -> None:
    """By hand: what the messages say in words."""
    mistakes = (
        (gemm(BTensor=f32(1, 1, 16, 8)), "BTensor.Sizes[2]", 16, 8),
        (pooling(Strides=(2, 0)), "Strides[1]", 0, 1),
        (
            join(f32(1, 1, 2, 4), f32(1, 1, 3, 4), output=f32(1, 1, 5, 4), axis=3),
            "InputTensors[1].Sizes[2]",
            3,
            2,
        ),
        (gemm(OutputTensor=f32(1, 1, 4, 4)), "OutputTensor.Sizes", (1, 1, 4, 4), (1, 1, 4, 16)),
        (
            add(f32(1, 2), f32(1, 2), TensorDesc("FLOAT16", (1, 2))),
            "OutputTensor.DataType",
            "FLOAT16",
            "FLOAT32",
        ),
    )
    for desc, member, found, expected in mistakes:
        violation = only(desc)
        assert (violation.member, violation.found, violation.expected) == (member, found, expected)
        assert violation.to_json()["member"] == member
        assert violation.message.startswith(f"{member} is ")


@pytest.mark.parametrize(
    ("desc", "level", "rule"),
    [
        (convolution(Dilations=(0, 1)), "6.4", "CONVOLUTION-dilations-range"),
        (pooling(Strides=(0, 2)), "6.4", "MAX_POOLING-strides-range"),
        (gemm(BTensor=f32(1, 1, 16, 8)), "6.4", "GEMM-inner-size"),
        (
            join(f32(1, 1, 2, 4), f32(1, 1, 3, 4), output=f32(1, 1, 5, 4), axis=3),
            "6.4",
            "JOIN-input-sizes-off-axis",
        ),
        (add(f32(2, 3), f32(2, 3), f32(2, 3)), "2.0", "OPERATOR-dimension-count"),
        (add(f32(1, -1), f32(1, 3), f32(1, 3)), "6.4", "OPERATOR-integer-range"),
        (
            dmlops.Slice1(
                InputTensor=f32(4, 4),
                OutputTensor=f32(2, 4),
                InputWindowOffsets=(0, 0),
                InputWindowSizes=(3, 4),
                InputWindowStrides=(0, 1),
            ),
            "6.4",
            "SLICE1-strides-range",
        ),
    ],
)
def test_what_reads_a_broken_value_is_not_told(desc: Description, level: str, rule: str) -> None:
    """One mistake, one violation; each of these has been followed by sizes made up from the broken value."""
    assert only(desc, level).rule == f"DML-{rule}"


def test_what_reads_nothing_broken_is_told() -> None:
    desc = pooling(Strides=(0, 2), OutputTensor=TensorDesc(dmlops.TensorDataType.FLOAT16, (1, 3, 3, 3)))
    assert [one.rule for one in desc.validate("6.4")] == [
        "DML-MAX_POOLING-strides-range",
        "DML-MAX_POOLING-same-type",
    ]


def test_what_a_feature_level_lifts_is_named_with_it() -> None:
    """SYMMETRIC came with 3.0 and WRAP with 6.4, by the page on feature levels."""
    padded = {"PaddingValue": 0.0, "StartPadding": (0, 0, 1, 1), "EndPadding": (0, 0, 0, 0)}
    desc = dmlops.Padding(InputTensor=f32(1, 1, 2, 2), PaddingMode="WRAP", **padded).infer()
    assert desc.validate() == []
    assert only(desc, "6.3").message == "PaddingMode must not be WRAP below feature level 6.4"


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (
            convolution(InputTensor=f32(1, 6, 8, 8)),
            "InputTensor.Sizes[1] is 6; with Direction FORWARD it must equal FilterTensor.Sizes[1] (3) x "
            "GroupCount (1), 3 (the filters of all groups cover the input's channels)",
        ),
        (
            pooling(OutputTensor=f32(1, 4, 3, 3)),
            "OutputTensor.Sizes[1] is 4; it must equal InputTensor.Sizes[1], 3 (each channel of each batch "
            "is pooled by itself)",
        ),
        (
            gemm(BTensor=f32(1, 1, 16, 8)),
            "BTensor.Sizes[2] is 16; it must equal ATensor.Sizes[3], 8 (A has as many columns as B has rows, "
            "after their transforms)",
        ),
        (
            add(f32(2, 3), f32(1, 3), f32(2, 3)),
            "BTensor.Sizes is [1, 3]; it must equal ATensor.Sizes, [2, 3]; DirectML broadcasts by strides: "
            "Sizes [2, 3], with a stride of 0 in each dimension that repeats",
        ),
        (
            add(f32(2, 3), f32(2, 2), f32(2, 3)),
            "BTensor.Sizes is [2, 2]; it must equal ATensor.Sizes, [2, 3]",
        ),
        (
            gemm(CTensor=f32(1, 1, 1, 16)),
            "CTensor.Sizes is [1, 1, 1, 16]; it must equal OutputTensor.Sizes, [1, 1, 4, 16]; DirectML "
            "broadcasts by strides: Sizes [1, 1, 4, 16], with a stride of 0 in each dimension that repeats",
        ),
        (
            convolution(BiasTensor=f32(8)),
            "BiasTensor.DimensionCount is 1; feature level 6.4 supports 3 to 5; DirectML adds no dimensions, "
            "so those of size 1 must be given too",
        ),
        (
            convolution(BiasTensor=f32(1, 1, 1, 8)),
            "BiasTensor.Sizes is [1, 1, 1, 8]; it must be [1, 8, 1, 1] (one value for each output channel); "
            "a bias is along dimension 1",
        ),
        (
            rnn(BiasTensor=f32(1, 1, 1, 12)),
            "BiasTensor.Sizes is [1, 1, 1, 12]; it must be [1, 1, direction count, 2 x hidden size], that is "
            "[1, 1, 1, 10]",
        ),
        (
            rnn(InputTensor=f32(1, 7, 2, 3, Flags="OWNED_BY_DML")),
            "InputTensor.Flags must not be OWNED_BY_DML (recurrent operators do not support owned tensors)",
        ),
        (
            gemm(FusedActivation=add(f32(1), f32(1), f32(1))),
            "FusedActivation is ELEMENT_WISE_ADD, which GEMM cannot fuse; it supports ELEMENT_WISE_CLIP, "
            "ACTIVATION_ELU, ACTIVATION_HARD_SIGMOID, ACTIVATION_IDENTITY, ACTIVATION_LEAKY_RELU, "
            "ACTIVATION_LINEAR and 14 more",
        ),
        (
            dmlops.Gather(
                InputTensor=f32(2, 3),
                IndicesTensor=TensorDesc(dmlops.TensorDataType.UINT32, (1, 1)),
                OutputTensor=f32(1, 3),
                Axis=4294967295,
                IndexDimensions=1,
            ),
            "Axis is 4294967295; it must be less than InputTensor.DimensionCount, 2; axes count from 0, and "
            "4294967295 is -1 as an unsigned number",
        ),
    ],
)
def test_messages(desc: Description, message: str) -> None:
    assert only(desc).message == message


# Rules by their identifiers.


def test_every_rule_of_the_public_list_has_a_text() -> None:
    """The list of identifiers is the committed one, which says what may be asked for."""
    listed = yaml.safe_load((ROOT / "specs/identifiers.yaml").read_text(encoding="utf-8"))["active"]
    for identifier in listed:
        rule = registry.rule(identifier)
        assert rule.id == identifier
        assert re.fullmatch(r"[A-Z].*\.", rule.text), rule
        assert not SYNTAX.search(rule.text), rule
        assert rule.source in ("docs", "header", "observed", "ours")
        assert rule.operator is None or identifier.startswith(f"DML-{rule.operator}-")


def test_rules_by_identifier() -> None:
    rule = registry.rule("DML-GATHER_ELEMENTS-same-rank")
    assert rule.text == "IndicesTensor and OutputTensor have as many dimensions as InputTensor."
    assert rule.page is not None
    assert rule.page.endswith("/ns-directml-dml_gather_elements_operator_desc")
    assert str(rule.since) == "2.1"
    with pytest.raises(KeyError, match="did you mean DML-GEMM-inner-size"):
        registry.rule("DML-GEMM-inner-sizes")


def test_the_command_line_tells_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "DML-TENSOR-sizes"]) == 0
    assert "Sizes[d] is at least 1" in capsys.readouterr().out
    assert main(["rule", "DML-TENSOR-size"]) == 2
    assert "did you mean DML-TENSOR-sizes" in capsys.readouterr().err


def test_c_tells_the_same_rules(tmp_path: Path) -> None:
    source = tmp_path / "rules.c"
    source.write_text(
        '#define DMLOPS_RULE_TEXTS\n#include "dmlops.h"\nint main(int count, char** rules) {\n'
        "    for (int i = 1; i < count; ++i) puts(dmlops_rule_text(rules[i]));\n"
        '    return dmlops_rule_text("DML-GEMM") != NULL || dmlops_rule_text(NULL) != NULL;\n}\n'
    )
    program = tmp_path / "rules"
    include = ROOT / "generated/include"
    subprocess.run(["cc", "-std=c11", f"-I{include}", source, "-o", program], check=True)
    rules = ["DML-GEMM-inner-size", "DML-TENSOR-rank", "DML-OPERATOR-required"]
    done = subprocess.run([program, *rules], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [registry.rule(rule).text for rule in rules]
