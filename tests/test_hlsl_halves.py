"""Functions of halves on a Vulkan device: every half there is, against NumPy and `math` in doubles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu
from gpu_device import alternatives, device
from test_hlsl_functions import gelu

__all__ = ["device"]

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
MOST = 0.51  # ulp; one half is what rounding alone loses

Numbers = Any


def swish(x: Numbers) -> Numbers:
    return np.where(x == -math.inf, 0, x / (1 + np.exp(-x)))


def softplus(x: Numbers) -> Numbers:
    return np.logaddexp(0, 4 * x) / 4


ORACLES: Mapping[str, tuple[Callable[[Numbers], Numbers], Mapping[str, float]]] = {
    "ACTIVATION_CELU": (lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x), {"Alpha": 2.0}),
    "ACTIVATION_ELU": (lambda x: np.where(x < 0, np.expm1(x), x), {"Alpha": 1.0}),
    "ACTIVATION_GELU": (gelu, {}),
    "ACTIVATION_PARAMETRIC_SOFTPLUS": (lambda x: -np.logaddexp(0, 2 * x), {"Alpha": -1.0, "Beta": 2.0}),
    "ACTIVATION_SCALED_ELU": (
        lambda x: np.where(x < 0, 0.75 * np.expm1(x), 0.5 * x),
        {"Alpha": 1.5, "Gamma": 0.5},
    ),
    "ACTIVATION_SCALED_TANH": (lambda x: -1.5 * np.tanh(x / 2), {"Alpha": -1.5, "Beta": 0.5}),
    "ACTIVATION_SIGMOID": (lambda x: 1 / (1 + np.exp(-x)), {}),
    "ACTIVATION_SOFTPLUS": (softplus, {"Steepness": 4.0}),
    "ACTIVATION_SWISH": (swish, {"SigmoidInputScale": 1.0}),
    "ACTIVATION_TANH": (np.tanh, {}),
    "ELEMENT_WISE_ACOSH": (np.arccosh, {}),
    "ELEMENT_WISE_ASINH": (np.arcsinh, {}),
    "ELEMENT_WISE_ATANH": (np.arctanh, {}),
    "ELEMENT_WISE_COS": (np.cos, {}),
    "ELEMENT_WISE_COSH": (np.cosh, {}),
    "ELEMENT_WISE_ERF": (np.vectorize(math.erf), {}),
    "ELEMENT_WISE_EXP": (np.exp, {}),
    "ELEMENT_WISE_LOG": (np.log, {}),
    "ELEMENT_WISE_SIN": (np.sin, {}),
    "ELEMENT_WISE_SINH": (np.sinh, {}),
    "ELEMENT_WISE_SQRT": (np.sqrt, {}),
    "ELEMENT_WISE_TAN": (np.tan, {}),
    "ELEMENT_WISE_TANH": (np.tanh, {}),
}


def result(device: Any, operator: str, x: Numbers, **members: Any) -> Numbers:
    tensor = {"DataType": "FLOAT16", "Sizes": [1, 1, 256, 256]}
    desc = {"InputTensor": tensor, "OutputTensor": tensor, **members}
    described = dmlops.from_json({"type": f"DML_OPERATOR_{operator}", "desc": desc})
    return gpu.run(described, {"InputTensor": x.reshape(1, 1, 256, 256)}, device)["OutputTensor"].reshape(-1)


@pytest.mark.parametrize("operator", ORACLES)
def test_all_halves(device: Any, operator: str) -> None:
    oracle, members = ORACLES[operator]
    found = result(device, operator, HALVES, **members)
    with np.errstate(all="ignore"):
        exact = oracle(HALVES.astype(np.float64))
        rounded = exact.astype(np.float16)
        finite = np.isfinite(rounded)
        _, exponents = np.frexp(np.where(finite, exact, 1))
        ulp = np.exp2(np.maximum(exponents - 1, -14) - 10.0)
        errors = np.where(finite, np.abs(found.astype(np.float64) - exact) / ulp, 0)
    # 65520 is where halves end: a result that comes near may be the last of them
    near_the_end = np.isinf(rounded) & (np.abs(exact) < 65520 * (1 + 2**-17)) & (np.abs(found) == 65504)
    alike = finite | near_the_end | (np.isnan(rounded) & np.isnan(found)) | (rounded == found)
    assert alike.all(), list(zip(HALVES[~alike], found[~alike], exact[~alike], strict=True))[:5]
    worst = int(errors.argmax())
    assert errors[worst] <= MOST, f"{HALVES[worst]!r} gives {found[worst]!r}, not {exact[worst]!r}"
    zeros = (exact == 0) & (HALVES == 0)
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(exact[zeros]))


def test_arguments_need_not_be_halves(device: Any) -> None:
    """Scales put the argument of a function between and beyond all halves, and where floats are subnormal."""
    for scale in (2.0**-126, 2.0**-40, 2.0**100):  # the first itself is not subnormal
        members = {"ScaleBias": {"Scale": scale, "Bias": 0.0}}
        with np.errstate(all="ignore"):
            scaled = HALVES.astype(np.float64) * scale
            for operator, oracle in (("LOG", np.log), ("ASINH", np.arcsinh), ("TANH", np.tanh)):
                found = result(device, f"ELEMENT_WISE_{operator}", HALVES, **members)
                near = [
                    np.isclose(found, exact.astype(np.float16), rtol=2**-9, atol=2**-24, equal_nan=True)
                    for exact in alternatives(device, oracle, scaled.astype(np.float32).astype(np.float64))
                ]
                assert np.all(np.any(near, axis=0)), (operator, scale)
