"""Activations, alone and fused, in the reference and in shaders, against NumPy in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import dmlops
from gpu_device import device, quotient_error
from operator_runs import REGISTRY, run, types_of

__all__ = ["device"]

Numbers = np.ndarray  # in double precision
FLOATS = ("FLOAT32", "FLOAT16")
LARGEST_ERROR = {"FLOAT32": 6, "FLOAT16": 1}  # in units of the last place
VANISHED = 128 * float(np.finfo(np.float32).tiny)  # x times a sigmoid whose exponential overflows

ERF = np.vectorize(math.erf)


def product(x: Numbers, factor: float) -> Numbers:
    """A product as operators compute it, in single precision: exponentials amplify what that loses."""
    return (x.astype(np.float32) * np.float32(factor)).astype(np.float64)


def sigmoid(z: Numbers) -> Numbers:
    return np.where(z < 0, np.exp(z) / (1 + np.exp(z)), 1 / (1 + np.exp(-z)))


def gated(x: Numbers, gate: Numbers) -> Numbers:
    """x * gate, 0 where the gate is closed, even for infinite x."""
    return np.where(gate == 0, 0, x * gate)


def bent(x: Numbers, below: Numbers) -> Numbers:
    """x from 0 on, something else below; NaN stays."""
    return np.where(x < 0, below, x)


def shrunk(x: Numbers, bias: float, threshold: float) -> Numbers:
    return np.where(x > threshold, x - bias, np.where(x < -threshold, x + bias, 0))


def clamped(x: Numbers) -> Numbers:
    return np.minimum(np.maximum(x, 0), 1)


ORACLES: Mapping[str, Callable[..., Numbers]] = {
    "CELU": lambda x, Alpha: bent(
        x, Alpha * np.expm1((x.astype(np.float32) / np.float32(Alpha)).astype(np.float64))
    ),
    "ELU": lambda x, Alpha: bent(x, Alpha * np.expm1(x)),
    "GELU": lambda x: gated(x, 0.5 * (1 + ERF(x / math.sqrt(2)))),
    "HARD_SIGMOID": lambda x, Alpha, Beta: clamped(Alpha * x + Beta),
    "HARD_SWISH": lambda x, Alpha, Beta: gated(x, clamped(Alpha * x + Beta)),
    "IDENTITY": lambda x: x,
    "LEAKY_RELU": lambda x, Alpha: bent(x, Alpha * x),
    "LINEAR": lambda x, Alpha, Beta: Alpha * x + Beta,
    "PARAMETRIC_SOFTPLUS": lambda x, Alpha, Beta: Alpha * np.logaddexp(0, product(x, Beta)),
    "RELU": lambda x: np.maximum(x, 0),
    "SCALED_ELU": lambda x, Alpha, Gamma: Gamma * bent(x, Alpha * np.expm1(x)),
    "SCALED_TANH": lambda x, Alpha, Beta: Alpha * np.tanh(product(x, Beta)),
    "SHRINK": lambda x, Bias, Threshold: shrunk(x, Bias, Threshold),
    "SIGMOID": sigmoid,
    "SOFTPLUS": lambda x, Steepness: np.logaddexp(0, product(x, Steepness)) / Steepness,
    "SOFTSIGN": lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    "SWISH": lambda x, SigmoidInputScale: gated(x, sigmoid(product(x, SigmoidInputScale))),
    "TANH": np.tanh,
    "THRESHOLDED_RELU": lambda x, Alpha: np.where(x > Alpha, x, 0),
}
MEMBERS: Mapping[str, list[dict[str, float]]] = {
    "CELU": [{"Alpha": 1.0}, {"Alpha": -0.75}],
    "ELU": [{"Alpha": 1.0}, {"Alpha": -2.5}],
    "HARD_SIGMOID": [{"Alpha": 0.2, "Beta": 0.5}, {"Alpha": -0.5, "Beta": 0.25}],
    "HARD_SWISH": [{"Alpha": 1 / 6, "Beta": 0.5}, {"Alpha": -0.5, "Beta": 0.25}],
    "LEAKY_RELU": [{"Alpha": 0.01}],
    "LINEAR": [{"Alpha": -1.5, "Beta": 0.75}],
    "PARAMETRIC_SOFTPLUS": [{"Alpha": 0.5, "Beta": 3.0}, {"Alpha": -2.0, "Beta": -1.5}],
    "SCALED_ELU": [{"Alpha": 1.6732, "Gamma": 1.0507}],
    "SCALED_TANH": [{"Alpha": 1.0, "Beta": 0.5}, {"Alpha": -1.7159, "Beta": 0.6667}],
    "SHRINK": [{"Bias": 0.0, "Threshold": 0.5}, {"Bias": 1.5, "Threshold": -0.25}],
    "SOFTPLUS": [{"Steepness": 1.0}, {"Steepness": 4.0}],
    "SWISH": [{"SigmoidInputScale": 1.0}, {"SigmoidInputScale": -1.702}],
    "THRESHOLDED_RELU": [{"Alpha": 1.0}, {"Alpha": -0.5}],
}
CASES = [(name, members) for name in ORACLES for members in MEMBERS.get(name, [{}])]
# The terms of a sum, which may cancel: an error of theirs is no error in the last place of the result.
TERMS: Mapping[str, Callable[..., Numbers]] = {
    "GELU": lambda x: np.where(np.abs(x) < 20, np.abs(x), 0),
    "HARD_SIGMOID": lambda x, Alpha, Beta: np.abs(Alpha * x) + abs(Beta),
    "HARD_SWISH": lambda x, Alpha, Beta: np.abs(x) * (np.abs(Alpha * x) + abs(Beta)),
    "LINEAR": lambda x, Alpha, Beta: np.abs(Alpha * x) + abs(Beta),
}


def terms_of(activation: str, x: Numbers, members: Mapping[str, float], error: float = 0.0) -> Any:
    """Its terms, and what becomes of quotients on the way that are off by an error in units in the last
    place."""
    terms = TERMS[activation](x, **members) if activation in TERMS else 0.0
    if activation == "CELU":
        terms += error * np.where(np.isfinite(x) & (x < 0), np.abs(x * np.exp(x / members["Alpha"])), 0)
    return terms


def values(type_: str) -> np.ndarray:
    """Numbers of all sizes, those where exponentials overflow or vanish, infinities and NaN."""
    random = np.random.default_rng(3)
    normal = random.normal(0, 3, 200)
    wide = 10.0 ** random.uniform(-7, 4, 40) * random.choice([-1, 1], 40)
    edges = [0.0, 0.5, 1.0, 3.0, 10.0, 16.7, 87.3, 88.0, 88.8, 89.0, 104.0, 1000.0, 6e4, math.inf]
    chosen = [*normal, *wide, *edges, *(-x for x in edges), math.nan]
    if type_ == "FLOAT32":
        chosen += [1e-30, -1e-30, 3e38, -3e38]
    return np.array(chosen, type_.lower())


def single(members: Mapping[str, float]) -> dict[str, float]:
    """The members as the ABI stores them."""
    return {name: float(np.float32(value)) for name, value in members.items()}


def assert_near(found: np.ndarray, expected: Numbers, terms: Any = 0.0) -> None:
    """Equal up to rounding; NaN and infinities are where they should be."""
    limits = np.finfo(found.dtype)
    wanted = expected.astype(found.dtype)
    finite = np.isfinite(wanted)
    assert found[~finite].tolist() == pytest.approx(wanted[~finite].tolist(), nan_ok=True)
    steps = LARGEST_ERROR[found.dtype.name.upper()] * np.spacing(np.abs(np.where(finite, wanted, 0)))
    allowed = steps + np.where(finite, np.float64(limits.eps) * terms, 0) + VANISHED
    with np.errstate(invalid="ignore"):
        wrong = finite & ~(np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= allowed)
    assert not wrong.any(), list(zip(found[wrong], wanted[wrong], strict=True))[:5]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize(("activation", "members"), CASES, ids=[name for name, _ in CASES])
def test_activations(device: Any, activation: str, members: dict[str, float], type_: str) -> None:
    x = values(type_)
    with np.errstate(all="ignore"):
        expected = ORACLES[activation](x.astype(np.float64), **single(members))
        founds = run(device, f"ACTIVATION_{activation}", {"InputTensor": x}, (type_, x.shape), members)
        for found, error in zip(founds, (0.0, quotient_error(device)), strict=True):
            terms = terms_of(activation, x.astype(np.float64), single(members), error)
            assert_near(found, expected, terms)


@pytest.mark.parametrize("type_", FLOATS)
def test_slopes_of_a_tensor(device: Any, type_: str) -> None:
    x = values(type_)
    slopes = np.random.default_rng(5).normal(0, 2, x.shape).astype(x.dtype)
    inputs = {"InputTensor": x, "SlopeTensor": slopes}
    with np.errstate(all="ignore"):
        expected = bent(x.astype(np.float64), slopes.astype(np.float64) * x.astype(np.float64))
        for found in run(device, "ACTIVATION_PARAMETERIZED_RELU", inputs, (type_, x.shape)):
            assert_near(found, expected)


def integers(type_: str) -> np.ndarray:
    limits = np.iinfo(type_.lower())
    near = range(max(int(limits.min), -6), 7)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    return np.array([*near, *edges], limits.dtype)


def wrapped(value: int, type_: str) -> int:
    """The low bits of an integer in a data type."""
    limits = np.iinfo(type_.lower())
    return (value - int(limits.min)) % (1 << limits.bits) + int(limits.min)


@pytest.mark.parametrize("type_", [t for t in types_of("ACTIVATION_RELU", "InputTensor") if t not in FLOATS])
def test_integers(device: Any, type_: str) -> None:
    x = integers(type_)
    for found in run(device, "ACTIVATION_RELU", {"InputTensor": x}, (type_, x.shape)):
        assert found.tolist() == [max(value, 0) for value in x.tolist()]
    slopes = x[::-1].copy()
    pairs = list(zip(x.tolist(), slopes.tolist(), strict=True))
    inputs = {"InputTensor": x, "SlopeTensor": slopes}
    for found in run(device, "ACTIVATION_PARAMETERIZED_RELU", inputs, (type_, x.shape)):
        assert found.tolist() == [
            value if value >= 0 else wrapped(value * slope, type_) for value, slope in pairs
        ]


@pytest.mark.parametrize(
    ("bias", "threshold"), [(0.0, 0.5), (1.75, 2.0), (-2.5, 1.5), (3.0, -1.5), (0.5, 3e9)]
)
@pytest.mark.parametrize(
    "type_", [t for t in types_of("ACTIVATION_SHRINK", "InputTensor") if t not in FLOATS]
)
def test_integers_shrink_as_real_numbers(device: Any, type_: str, bias: float, threshold: float) -> None:
    low, high = (0, 2**32 - 1) if type_.startswith("U") else (-(2**31), 2**31 - 1)

    def shrink(x: int) -> int:
        moved = (
            Fraction(x) - Fraction(bias)
            if x > threshold
            else Fraction(x) + Fraction(bias)
            if x < -threshold
            else 0
        )
        return wrapped(min(max(math.trunc(moved), low), high), type_)

    x = integers(type_)
    members = {"Bias": bias, "Threshold": threshold}
    for found in run(device, "ACTIVATION_SHRINK", {"InputTensor": x}, (type_, x.shape), members):
        assert found.tolist() == [shrink(value) for value in x.tolist()]


@pytest.mark.parametrize(
    ("operator", "onnx_operator", "members", "attributes"),
    [
        ("SHRINK", "Shrink", {"Bias": 0.25, "Threshold": 0.5}, {"bias": 0.25, "lambd": 0.5}),
        ("THRESHOLDED_RELU", "ThresholdedRelu", {"Alpha": 0.5}, {"alpha": 0.5}),
    ],
)
def test_no_comparison_holds_for_nan(
    device: Any, operator: str, onnx_operator: str, members: dict[str, float], attributes: dict[str, float]
) -> None:
    x = np.array([math.nan, -1, 0, 0.5, 0.75, 3], np.float32)
    node = helper.make_node(onnx_operator, ["x"], ["y"], **attributes)
    (expected,) = ReferenceEvaluator(node).run(None, {"x": x})
    assert expected[0] == 0
    for found in run(device, f"ACTIVATION_{operator}", {"InputTensor": x}, ("FLOAT32", x.shape), members):
        assert found.tolist() == expected.tolist()


def with_activation(device: Any, a: np.ndarray, b: np.ndarray, activation: Any) -> list[np.ndarray]:
    """Sums of pairs, after a fused activation."""
    members = {} if activation is None else {"FusedActivation": activation}
    output = (a.dtype.name.upper(), a.shape)
    return run(device, "ELEMENT_WISE_ADD1", {"ATensor": a, "BTensor": b}, output, members)


FUSED = [(name, members) for name, members in CASES if f"ACTIVATION_{name}" in dmlops.ElementWiseAdd1.FUSABLE]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize(("activation", "members"), FUSED, ids=[name for name, _ in FUSED])
def test_fused_activations(device: Any, activation: str, members: dict[str, float], type_: str) -> None:
    a = values(type_)
    b = np.random.default_rng(8).normal(0, 1, a.shape).astype(a.dtype)
    fused = {"type": f"ACTIVATION_{activation}", "desc": members}
    with np.errstate(all="ignore"):
        x = (a.astype(np.float32) + b.astype(np.float32)).astype(np.float64)
        expected = ORACLES[activation](x, **single(members))
        founds = with_activation(device, a, b, fused)
        for found, error in zip(founds, (0.0, quotient_error(device)), strict=True):
            assert_near(found, expected, terms_of(activation, x, single(members), error))


def test_every_fusable_activation_is_tried() -> None:
    assert {f"ACTIVATION_{name}" for name, _ in FUSED} == set(dmlops.ElementWiseAdd1.FUSABLE)
    alone = {f"ACTIVATION_{name}" for name in ORACLES} | {"ACTIVATION_PARAMETERIZED_RELU"}
    computed = {operator.name for operator in REGISTRY.operators if operator.family == "activation"}
    assert {name for name in computed if "SOFTMAX" not in name and "HARDMAX" not in name} == alone


@pytest.mark.parametrize("type_", FLOATS)
def test_no_activation(device: Any, type_: str) -> None:
    a = values(type_)
    b = a[::-1].copy()
    with np.errstate(all="ignore"):
        for found in with_activation(device, a, b, None):
            assert_near(found, a.astype(np.float64) + b.astype(np.float64))


def test_the_sum_is_not_rounded_before_the_activation(device: Any) -> None:
    a, b = np.full(4, 2048, np.float16), np.ones(4, np.float16)  # 2049 is no FLOAT16
    fused = {"type": "ACTIVATION_LINEAR", "desc": {"Alpha": 1.0, "Beta": -2048.0}}
    for found in with_activation(device, a, b, fused):
        assert found.tolist() == [1] * 4
