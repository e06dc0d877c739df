"""Definitions of softplus: sums of its form get a function of their own, similar ones do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.outputs import hlsl
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from schedule_cases import Variant


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
