"""The options of Direct3D 12 that shaders require: what planners say beside what compiled shaders do."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import c_plans
import dmlops
from dmlops import gpu
from dmlops.data import operator_data
from dmlops.gpu import Capability, Unsupported, compiler
from dmlops.gpu.plans.reasons import Reason
from dmlops.validation import tensors
from matrix_cases import OPERATORS, cases, described

INTEGERS, SHORT, DOUBLES = "Int64ShaderOps", "Native16BitShaderOpsSupported", "DoublePrecisionFloatShaderOps"
LIMITS, SCALED = {"Min": 0, "Max": 1}, {"ScaleBias": {"Scale": 2, "Bias": 1}}


def required(operator: str, source: str, target: str, **members: Any) -> set[str]:
    """Requirements of the plan of an operator with one input."""
    tensors = {"InputTensor": source, "OutputTensor": target}
    form = {name: {"DataType": one, "Sizes": [2, 3]} for name, one in tensors.items()}
    return options(dmlops.from_json({"type": operator, "desc": {**form, **members}}))


def options(desc: Any) -> set[str]:
    """Requirements of all shaders of a description's plan."""
    codes = [
        compiler.compile(gpu.shader(one.shader or desc.OPERATOR), one.defines, "dxil")
        for one in gpu.plan(desc).dispatches
    ]
    return {option for code in codes for option in gpu.required_options(code)}


@cache
def every_case() -> list[tuple[Any, set[str]]]:
    """The description of each case of the matrices, and what its shaders require."""
    descs = (described(case) for operator in OPERATORS for case in cases(operator))
    return [(desc, options(desc)) for desc in descs]


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


LACKING = {
    Capability.LACKS_16_BIT: (SHORT, Reason.LACKS_16_BIT),
    Capability.LACKS_64_BIT: (INTEGERS, Reason.LACKS_64_BIT),
    Capability.LACKS_DOUBLES: (DOUBLES, Reason.LACKS_DOUBLES),
}


def refused(desc: Any, lack: Capability) -> bool:
    """Whether there is no plan for a device that lacks something, because it does."""
    try:
        gpu.plan(desc, lack)
    except Unsupported as error:
        assert error.reason == LACKING[lack][1]
        return True
    return False


@pytest.mark.parametrize("lack", LACKING)
def test_devices_get_no_plan_that_needs_what_they_lack(lack: Capability) -> None:
    """Of any case of the matrices, and no other plan is refused, with three exceptions: shaders compute
    places with 64-bit integers unless tensors are packed, integers to the power of floats in double
    precision, and indices in rows of one element without loading it.
    """
    option, _ = LACKING[lack]
    found = {True: 0, False: 0}
    for desc, required_options in every_case():
        needs = option in required_options
        assert refused(desc, lack) == (
            needs
            or lack is Capability.LACKS_64_BIT
            or (lack is Capability.LACKS_DOUBLES and is_power_of_integers(desc))
            or (lack is Capability.LACKS_16_BIT and is_index_in_single_elements(desc))
        ), desc
        found[needs] += 1
    assert min(found.values()) >= 30


def is_power_of_integers(desc: Any) -> bool:
    return desc.OPERATOR == "ELEMENT_WISE_POW" and desc.InputTensor.DataType.kind != "float"


def is_index_in_single_elements(desc: Any) -> bool:
    """Of 16 bits each."""
    is_index = desc.OPERATOR in ("ARGMAX", "ARGMIN") and desc.InputTensor.Sizes == desc.OutputTensor.Sizes
    return is_index and desc.InputTensor.DataType.name.endswith("16")


def test_the_table_says_the_same() -> None:
    """What `dmlops show` and the site list by data type, of each case; Int64ShaderOps is for all."""
    for desc, _ in every_case():
        listed = operator_data()[desc.OPERATOR].get("requires", [])
        found = {one["option"] for one in listed if applies(one, desc)}
        needs = {option for lack, (option, _) in LACKING.items() if refused(desc, lack)} - {INTEGERS}
        assert found == needs, desc


def applies(listed: dict[str, Any], desc: Any) -> bool:
    """Whether a requirement is one of a description."""
    of_types = any(
        tensor.DataType.name in listed["types"] and listed.get("tensor", member.name) == member.name
        for _, member, tensor in tensors(desc)
    )
    return of_types and ("member" not in listed or getattr(desc, listed["member"]) is not None)


def test_c_refuses_the_same(tmp_path: Path) -> None:
    library = c_plans.Library(tmp_path)
    chosen = ("element_wise_clip", "element_wise_pow", "gather", "gemm", "top_k", "cumulative_summation")
    for desc in (described(case) for operator in chosen for case in cases(operator)):
        for lack in LACKING:
            assert library.plan(desc, lack) == c_plans.expected(desc, lack), desc
