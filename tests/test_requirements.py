"""The options of Direct3D 12 that shaders require, as the guide lists them."""

from __future__ import annotations

from typing import Any

import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler

INTEGERS, SHORT, DOUBLES = "Int64ShaderOps", "Native16BitShaderOpsSupported", "DoublePrecisionFloatShaderOps"
LIMITS, SCALED = {"Min": 0, "Max": 1}, {"ScaleBias": {"Scale": 2, "Bias": 1}}


def required(operator: str, source: str, target: str, **members: Any) -> set[str]:
    """What the plan of an operator with one input needs."""
    tensors = {"InputTensor": source, "OutputTensor": target}
    form = {name: {"DataType": one, "Sizes": [2, 3]} for name, one in tensors.items()}
    desc = dmlops.from_json({"type": operator, "desc": {**form, **members}})
    codes = [
        compiler.compile(gpu.shader(operator), one.defines, "dxil") for one in gpu.planned(desc).dispatches
    ]
    return {option for code in codes for option in gpu.required_options(code)}


@pytest.mark.parametrize(
    ("operator", "source", "target", "members", "expected"),
    [
        ("CAST", "FLOAT32", "INT32", {}, set()),
        ("CAST", "FLOAT16", "INT32", {}, {SHORT}),
        ("CAST", "UINT16", "UINT32", {}, {SHORT}),
        ("CAST", "INT64", "INT32", {}, {INTEGERS}),
        ("CAST", "FLOAT64", "INT32", {}, {DOUBLES}),
        ("ELEMENT_WISE_IDENTITY", "FLOAT64", "FLOAT64", {}, {DOUBLES}),
        ("ELEMENT_WISE_CLIP", "FLOAT32", "FLOAT32", LIMITS, set()),
        ("ELEMENT_WISE_CLIP", "INT32", "INT32", LIMITS, set()),
        ("ELEMENT_WISE_CLIP", "INT32", "INT32", {**LIMITS, **SCALED}, {DOUBLES}),
        ("ELEMENT_WISE_CONSTANT_POW", "INT32", "INT32", {"Exponent": 2}, {DOUBLES}),
        ("ACTIVATION_SHRINK", "INT8", "INT8", {"Bias": 0, "Threshold": 1}, {DOUBLES}),
    ],
)
def test_requirements_follow_from_data_types(
    operator: str, source: str, target: str, members: dict[str, Any], expected: set[str]
) -> None:
    """Apart from 64-bit integers, which most shaders compute places with."""
    found = required(operator, source, target, **members)
    assert expected <= found <= expected | {INTEGERS}


def test_wave_operations_and_the_others_are_told_apart() -> None:
    for statement, expected in (
        ("to[0] = WaveActiveSum(to[1]);", {"WaveOps"}),
        ("to[0] = (uint)(asdouble(to[1], to[2]) * 3.0L);", {DOUBLES}),
        ("to[0] = (uint)(((uint64_t)to[1] * to[2]) >> 9);", {INTEGERS}),
        ("to[0] = (uint)(float16_t)asfloat(to[1]);", {SHORT}),
        ("to[0] = 1;", set()),
    ):
        source = f"RWStructuredBuffer<uint> to; [numthreads(1, 1, 1)] void CSMain() {{ {statement} }}"
        assert set(gpu.required_options(compiler.compile(source, {}, "dxil"))) == expected, statement
