"""Every operator's shaders as DXIL, executed on the CPU: matrices, random descriptions, functions of floats.

Direct3D 12 gets DXIL, which DXC makes of the same HLSL in another way than the SPIR-V that other tests run.
Everything is run in two ways that DXIL allows: with each operation rounded as written, and with what DXIL
flags as fast reassociated and fused by the C compiler, as a driver may do. See `dxil` for what else is
noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu, make, reference, registry
from dmlops.dxdispatch.cases import inputs_of
from dmlops.dxdispatch.comparison import difference
from dmlops.gpu import Capability
from dmlops.gpu.work import tensor_names
from dmlops.run_cases.unit import _outputs
from dxil.execute import Mistake
from dxil.operators import Plans
from gpu_device import ABOVE_FLUSHED
from gpu_fuzz import by_tensor, near
from matrix_cases import OPERATORS, cases, described
from random_shapes import Drawn, drawn
from shader_branches import covering
from test_hlsl_functions import APPROXIMATIONS

WAYS = (False, True)  # exact, loose


def wrong(plans: Plans, number: int, case: dict[str, Any], is_loose: bool) -> str:
    """The first thing that is wrong with a case of a matrix; "" if nothing is."""
    try:
        results = plans.run(number, inputs_of(case, plans.works[number][0]), is_loose)
    except Mistake as mistake:
        return str(mistake)
    found = (difference(one, results[one.name]) for one in _outputs(case, plans.works[number][0]))
    return next((str(one) for one in found if one is not None), "")


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_matrices_hold(operator: str) -> None:
    chosen = cases(operator)
    plans = Plans(map(described, chosen))
    findings = [
        f"{case['id']}, {'loose' if is_loose else 'exact'}: {found}"
        for number, case in enumerate(chosen)
        for is_loose in WAYS
        if (plans.is_loose(number) or not is_loose) and (found := wrong(plans, number, case, is_loose))
    ]
    assert not findings


# Random descriptions


def check_as_swept(plans: Plans, number: int, one: Drawn, is_loose: bool) -> None:
    """As `make fuzz-gpu` compares with the reference."""
    results = plans.run(number, one.arrays, is_loose)
    for name, expected in by_tensor(reference.run(one.desc, one.arrays)):
        with np.errstate(all="ignore"):
            equal = np.asarray(near(one, results[name], expected, ABOVE_FLUSHED))
        for at in map(tuple, np.argwhere(~equal)[:1]):
            pytest.fail(f"{name}{[*map(int, at)]} is {results[name][at]!r}, not {expected[at]!r}: {one.desc}")


@pytest.mark.parametrize("family", dict(covering()))
def test_descriptions_that_take_all_branches_agree(family: str) -> None:
    chosen = [drawn(family, seed) for other, seed in covering() if other == family]
    plans = Plans(one.desc for one in chosen)
    findings = []
    for number, one in enumerate(chosen):
        for is_loose in WAYS:
            if plans.is_loose(number) or not is_loose:
                try:
                    check_as_swept(plans, number, one, is_loose)
                except (Mistake, pytest.fail.Exception) as error:
                    findings.append(f"{'loose' if is_loose else 'exact'}: {error}: {one.desc}")
    assert not findings


# Waves

NORMALIZE = {"NormalizeVariance": True, "Epsilon": 1e-5}
FIRST = {"AxisDirection": "INCREASING", "OutputTensor": "UINT32"}
SETS: dict[str, tuple[Callable[..., Any], str, list[int], list[int], dict[str, Any]]] = {
    "along": (make.reduce, "FLOAT32", [3, 1500], [1], {"Function": "SUM"}),
    "few lanes": (make.reduce, "FLOAT16", [5, 70], [1], {"Function": "MULTIPLY"}),
    "in parts": (make.reduce, "FLOAT32", [1, 70001], [1], {"Function": "L2"}),
    "across": (make.reduce, "INT32", [70, 24], [0], {"Function": "MIN"}),
    "places": (make.argmax, "UINT32", [3, 300], [1], FIRST),
    "shifted": (make.activation_softmax1, "FLOAT32", [130, 33], [0], {}),
    "rows": (make.mean_variance_normalization1, "FLOAT16", [2, 1, 1, 700], [3], NORMALIZE),
}


@pytest.mark.parametrize("name", SETS)
def test_sets_give_the_same_bytes_in_waves_of_any_size(name: str) -> None:
    """And without waves, since results are always combined in the same order."""
    operator, kind, sizes, axes, members = SETS[name]
    desc = operator(dmlops.TensorDesc(kind, sizes), Axes=axes, **members)
    numbers = np.random.default_rng(3).integers(1, 999, sizes)
    arrays = {"InputTensor": (numbers / 999 if "FLOAT" in kind else numbers).astype(kind.lower())}
    single, waved = Plans([desc]), Plans([desc], Capability.WAVE_OPERATIONS)
    assert {one.defines["WAVES"] for one in waved.works[0][1].dispatches} == {1}
    check_as_swept(single, 0, Drawn(desc, arrays), False)
    expected = single.run(0, arrays)["OutputTensor"].tobytes()
    for lanes in (4, 8, 16, 32, 64, 128):
        assert waved.run(0, arrays, lanes=lanes)["OutputTensor"].tobytes() == expected, lanes


# Functions of floats

COUNT = 4096
MEMBERS = {"Alpha": 0.7, "Beta": 0.3, "Gamma": 1.1, "Exponent": 1.7, "Bias": 0.2, "Threshold": 0.5}
POSITIVE = ("LOG", "SQRT", "POW")  # take logarithms or roots of what they are given
TYPES = {"FLOAT16": np.float16, "FLOAT32": np.float32}  # few operators have functions of FLOAT64
# Functions with stated errors, by operator
STATED = {
    f"ELEMENT_WISE_{name.upper()}": name
    for name in ("Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
                 "Acosh", "Atanh", "Erf", "Pow")
} | {"ELEMENT_WISE_ATAN_YX": "Atan2", "ACTIVATION_GELU": "Gelu"}  # fmt: skip


def elementwise(data_type: str) -> list[Drawn]:
    """Every operator that computes floats from floats of the same place, on numbers of every size."""
    rng = np.random.default_rng(5)
    sizes = [rng.normal(0, 1, COUNT // 4), rng.normal(0, 8, COUNT // 4), rng.uniform(-1, 1, COUNT // 4)]
    sizes.append(np.exp(rng.uniform(-20, 20, COUNT // 4)) * rng.choice([-1, 1], COUNT // 4))
    mixed, found = np.concatenate(sizes), []
    for operator in registry.OPERATORS:
        members = registry.operator(operator).MEMBERS
        tensors = [m for m in members if m.role == "input" and not re.search("Scale|Zero", m.name)]
        if not operator.startswith(("ELEMENT_WISE_", "ACTIVATION_")) or not tensors:
            continue
        tensor = {"DataType": data_type, "Sizes": [1, 1, 1, COUNT]}
        given: dict[str, Any] = {
            m.name: tensor for m in (*tensors, *(m for m in members if m.role == "output"))
        }
        given |= {m.name: MEMBERS[m.name] for m in members if m.name in MEMBERS}
        try:
            desc = dmlops.from_json({"type": operator, "desc": given})
        except dmlops.JsonError:
            continue
        if desc.validate():
            continue
        first = np.abs(mixed) if any(part in operator for part in POSITIVE) else mixed
        first = rng.uniform(-1, 1, COUNT) if operator.endswith(("ASIN", "ACOS", "ATANH")) else first
        first = np.abs(mixed) + 1 if operator.endswith("ACOSH") else first
        arrays = {m.name: first if m is tensors[0] else rng.normal(0, 3, COUNT) for m in tensors}
        shaped = {
            name: np.clip(a, -6e4, 6e4).astype(TYPES[data_type]).reshape(1, 1, 1, -1)
            for name, a in arrays.items()
        }
        found.append(Drawn(desc, shaped))
    return found


@pytest.mark.parametrize("data_type", TYPES)
def test_functions_agree_at_thousands_of_numbers(data_type: str) -> None:
    chosen = elementwise(data_type)
    assert len(chosen) > 20
    plans = Plans(one.desc for one in chosen)
    for number, one in enumerate(chosen):
        for is_loose in WAYS:
            check_as_swept(plans, number, one, is_loose)
            if data_type == "FLOAT32" and one.desc.OPERATOR in STATED:
                check_error(plans, number, one, is_loose)


def check_error(plans: Plans, number: int, one: Drawn, is_loose: bool) -> None:
    """The stated error, in units in the last place, of results that are normal numbers."""
    function = APPROXIMATIONS[STATED[one.desc.OPERATOR]]
    (results,) = plans.run(number, one.arrays, is_loose).values()
    with np.errstate(all="ignore"):
        exact = function.special(*(array.astype(np.float64) for array in one.arrays.values()))
    normal = (np.abs(exact) < np.finfo(np.float32).max) & (np.abs(exact) > ABOVE_FLUSHED)
    _, exponents = np.frexp(exact[normal])
    errors = np.abs(results[normal] - exact[normal]) / np.exp2(exponents - 24.0)
    assert errors.max() <= function.float_bound, (one.desc.OPERATOR, is_loose)


# What was wrong only in DXIL

PUT_BACK: dict[str, Callable[[str], str]] = {
    "ELEMENT_WISE_POW": lambda text: text.replace("#define DXIL_PRECISE precise", "#define DXIL_PRECISE"),
    "TOP_K": lambda text: re.sub(
        r"\[unroll\](\s+for \(uint other = 0; other < COUNTED)", r"[unroll(8)]\1", text
    ),
}


NOTICING = {
    "ELEMENT_WISE_POW": make.element_wise_pow((1, 1, 1, COUNT), (1, 1, 1, COUNT)),
    "TOP_K": make.top_k((1, 1, 2, 640), Axis=3, K=20, OutputIndexTensor="UINT32"),
}


@pytest.mark.parametrize("operator", PUT_BACK)
def test_what_was_wrong_in_dxil_alone_would_be_noticed(operator: str) -> None:
    desc, changed = NOTICING[operator], PUT_BACK[operator](gpu.shader(operator))
    rng = np.random.default_rng(1)
    one = Drawn(desc, {
        name: rng.uniform(0.01, 0.3, tensor.Sizes).astype(np.float32)
        for name, tensor in tensor_names(desc, "input")
    })  # fmt: skip
    assert changed != gpu.shader(operator)
    check_as_swept(Plans([one.desc]), 0, one, False)
    with pytest.raises((Mistake, pytest.fail.Exception)):
        check_as_swept(Plans([one.desc], text_of=lambda _: changed), 0, one, False)
