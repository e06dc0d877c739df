"""GELU and softplus as definitions write them get their own functions; similar values do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedule_cases import Variant, shader

X = "InputTensor[at]"
WEIGHT = f"0.5 * (1 + erf({X} * 0.7071067811865476))"


def shader_of(folder: Path, operator: str, let: str, value: str) -> str:
    lets = f"  let:\n{let}" if let else ""
    section = f'compute:\n{lets}  outputs:\n    OutputTensor: "{value}"\n'
    return shader(Variant(folder, operator, section).registry)


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
    text = shader_of(tmp_path, "ACTIVATION_GELU", f'    weight: "{weight}"\n' if weight else "", value)
    assert ("Gelu(input)" in text) == recognized


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
    text = shader_of(tmp_path, "ACTIVATION_PARAMETRIC_SOFTPLUS", '    z: "Beta * InputTensor[at]"\n', value)
    assert ("Softplus(z)" in text) == recognized
