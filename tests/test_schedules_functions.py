"""GELU and softplus as definitions write them get their own functions; similar values do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.outputs import hlsl
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from schedule_cases import Variant

X = "InputTensor[at]"
WEIGHT = f"0.5 * (1 + erf({X} * 0.7071067811865476))"


@pytest.mark.parametrize(
    ("weight", "value", "recognized"),
    [
        (WEIGHT, f"0 if weight == 0 else {X} * weight", True),
        ("", f"0 if {WEIGHT} == 0 else {X} * ({WEIGHT})", True),
        (WEIGHT, f"{X} * weight", False),  # NaN for -infinity
        (WEIGHT, f"1 if weight == 0 else {X} * weight", False),
        (WEIGHT, f"0 if weight == 1 else {X} * weight", False),
        (WEIGHT, f"0 if weight != 0 else {X} * weight", False),
        (WEIGHT, f"0 if weight == 0 else abs({X}) * weight", False),
        (WEIGHT, f"0 if weight == 0 else {X} + weight", False),
        (WEIGHT.replace("0.7071067811865476", "0.7071"), f"0 if weight == 0 else {X} * weight", False),
        (WEIGHT.replace("1 +", "1 -"), f"0 if weight == 0 else {X} * weight", False),
        (WEIGHT.replace("1 +", "2 +"), f"0 if weight == 0 else {X} * weight", False),
        (WEIGHT.replace("0.5 *", "1 *"), f"0 if weight == 0 else {X} * weight", False),
        (WEIGHT.replace("erf", "tanh"), f"0 if weight == 0 else {X} * weight", False),
    ],
)
def test_what_is_gelu(weight: str, value: str, recognized: bool, tmp_path: Path) -> None:
    let = f'  let:\n    weight: "{weight}"\n' if weight else ""
    section = f'compute:\n{let}  outputs:\n    OutputTensor: "{value}"\n'
    variant = Variant(tmp_path, "ACTIVATION_GELU", section)
    (shader,) = hlsl.render(variant.registry, Templates(TEMPLATES)).values()
    assert (b"Gelu(input)" in shader) == recognized


@pytest.mark.parametrize(
    ("value", "recognized"),
    [
        ("max(z, 0) + log1p(exp(-abs(z)))", True),
        ("Alpha * (max(z, 0) + log1p(exp(-abs(z))))", True),
        ("max(z, 0) - log1p(exp(-abs(z)))", False),
        ("min(z, 0) + log1p(exp(-abs(z)))", False),
        ("max(z, 1) + log1p(exp(-abs(z)))", False),
        ("max(z, 0) + log(exp(-abs(z)))", False),
        ("max(z, 0) + log1p(expm1(-abs(z)))", False),
        ("max(z, 0) + log1p(exp(abs(z)))", False),
        ("max(z, 0) + log1p(exp(-z))", False),
        ("max(z, 0) + log1p(exp(-abs(2 * z)))", False),
    ],
)
def test_what_is_softplus(value: str, recognized: bool, tmp_path: Path) -> None:
    section = f'compute:\n  let:\n    z: "Beta * InputTensor[at]"\n  outputs:\n    OutputTensor: "{value}"\n'
    variant = Variant(tmp_path, "ACTIVATION_PARAMETRIC_SOFTPLUS", section)
    (shader,) = hlsl.render(variant.registry, Templates(TEMPLATES)).values()
    assert (b"Softplus(z)" in shader) == recognized
