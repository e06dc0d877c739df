"""An operator's own rules hold where it is a fused activation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_library import Library

PRODUCT: dict[str, Any] = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.5, "Beta": 1.0}
SOFTMAX1, RULE = "ACTIVATION_SOFTMAX1", "DML-ACTIVATION_SOFTMAX1-axes-range"


@pytest.mark.parametrize(
    ("rank", "activation", "level", "rule", "member"),
    [
        (4, (SOFTMAX1, {"AxisCount": 1}), "6.4", "DML-OPERATOR-required", "Axes"),
        (4, (SOFTMAX1, {"AxisCount": 2, "Axes": [1]}), "6.4", "DML-OPERATOR-array-length", "Axes"),
        (4, (SOFTMAX1, {"Axes": [1 << 32]}), "6.4", "DML-OPERATOR-integer-range", "Axes[0]"),
        (4, (SOFTMAX1, {"Axes": [9]}), "6.4", RULE, "Axes[0]"),
        (4, (SOFTMAX1, {"Axes": [0, 4]}), "6.4", RULE, "Axes[1]"),
        (4, (SOFTMAX1, {"Axes": [0, 3]}), "6.4", None, None),
        (2, (SOFTMAX1, {"Axes": [2]}), "6.4", RULE, "Axes[0]"),
        (2, (SOFTMAX1, {"Axes": [1]}), "6.4", None, None),
        (4, (SOFTMAX1, {"AxisCount": 0}), "6.4", None, None),
        (
            *(4, ("ACTIVATION_SOFTPLUS", {"Steepness": 0.5}), "6.3"),
            *("DML-ACTIVATION_SOFTPLUS-steepness-range", "Steepness"),
        ),
        (4, ("ACTIVATION_SOFTPLUS", {"Steepness": 0.5}), "6.4", None, None),
    ],
)
def test_rules_of_its_own(
    rank: int, activation: tuple[str, dict[str, Any]], level: str, rule: str | None, member: str | None
) -> None:
    type_, members = activation
    desc = dmlops.from_json(
        {
            "type": "GEMM",
            "desc": {
                "ATensor": {"DataType": "FLOAT32", "Sizes": [1] * (rank - 2) + [2, 3]},
                "BTensor": {"DataType": "FLOAT32", "Sizes": [1] * (rank - 2) + [3, 4]},
                "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1] * (rank - 2) + [2, 4]},
                "FusedActivation": {"type": type_, "desc": members},
                **PRODUCT,
            },
        }
    )
    expected = [] if rule is None else [(rule, f"FusedActivation.{member}")]
    assert [(one.rule, one.member) for one in desc.validate(level)] == expected


def test_advice_of_its_own() -> None:
    tensor = dmlops.TensorDesc("FLOAT32", (2, 2))
    axes = dmlops.ActivationSoftmax1(AxisCount=3, Axes=(0, 1, 1), InputTensor=None)
    desc = dmlops.Gemm(ATensor=tensor, BTensor=tensor, OutputTensor=tensor, FusedActivation=axes, **PRODUCT)
    assert desc.validate() == []
    assert [(one.rule, one.member) for one in desc.advice()] == [
        ("DML-ACTIVATION_SOFTMAX1-axis-count", "FusedActivation.AxisCount")
    ]


def test_two_activations_at_one_place(tmp_path: Path) -> None:
    """C copies each in turn; nothing that it computed for one is used for the next."""
    tensor = dmlops.TensorDesc("FLOAT32", (1, 1, 1, 1))
    softplus = [dmlops.ActivationSoftplus(Steepness=steepness) for steepness in (2.0, 0.5)]
    desc = dmlops.Gru(
        InputTensor=tensor,
        WeightTensor=dmlops.TensorDesc("FLOAT32", (1, 1, 3, 1)),
        RecurrenceTensor=dmlops.TensorDesc("FLOAT32", (1, 1, 3, 1)),
        OutputSequenceTensor=tensor,
        ActivationDescs=softplus,
        ActivationDescCount=2,
        Direction="FORWARD",
        LinearBeforeReset=False,
    )
    broken = [("DML-ACTIVATION_SOFTPLUS-steepness-range", "ActivationDescs[1].Steepness")]
    assert [(one.rule, one.member) for one in desc.validate("5.0")] == broken
    judged = Library(tmp_path).validate(desc.to_ctypes(), dmlops.FeatureLevel("5.0"))
    assert [(rule, member) for rule, member, _ in judged] == broken
