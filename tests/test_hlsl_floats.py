"""Functions of floats as operators compute them, on a Vulkan device, against NumPy in double precision.

Operators compute several elements at once. A compiler may combine these and reorder the result, which must
not make a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu_device import device, smallest_compared
from test_hlsl_float16 import results
from test_hlsl_functions import APPROXIMATIONS

__all__ = ["device"]

Numbers = Any
ONE = {
    "ACTIVATION_GELU": "Gelu",
    "ACTIVATION_SOFTPLUS": "Softplus",
    "ELEMENT_WISE_COS": "Cos",
    "ELEMENT_WISE_ERF": "Erf",
    "ELEMENT_WISE_EXP": "Exp",
    "ELEMENT_WISE_LOG": "Log",
    "ELEMENT_WISE_SIN": "Sin",
    "ELEMENT_WISE_TANH": "Tanh",
}
MEMBERS = {"ACTIVATION_SOFTPLUS": {"Steepness": 1.0}}


def run(device: Any, operator: str, **arrays: Numbers) -> Numbers:
    return results(device, operator, arrays, **MEMBERS.get(operator, {}))


def check(device: Any, bound: float, found: Numbers, oracle: Callable[..., Numbers], *given: Numbers) -> None:
    """A mask of where argument and result are normal numbers."""
    smallest = max(smallest_compared(device, np.float32), float(np.finfo(np.float32).tiny))
    with np.errstate(all="ignore"):
        exact = oracle(*(array.astype(np.float64) for array in given))
        compared = (np.abs(exact) >= smallest) & np.isfinite(exact.astype(np.float32))
    for array in given:
        compared &= np.isfinite(array) & ((array == 0) | (np.abs(array) >= smallest))
    exact, found = exact[compared], found[compared]
    _, exponents = np.frexp(exact)
    errors = np.abs(found - exact) / np.exp2(exponents - 24.0)
    worst = int(errors.argmax())
    assert errors[worst] <= bound, [float(array[compared][worst]) for array in given]


@pytest.mark.parametrize("operator", ONE)
def test_functions_of_one_number(device: Any, operator: str) -> None:
    function = APPROXIMATIONS[ONE[operator]]
    patterns = np.arange(0, 2**32, 2**14, dtype=np.uint64) + 7919
    x = np.concatenate(
        [
            patterns.astype(np.uint32).view(np.float32),
            *(np.linspace(*ends, 2**17, dtype=np.float32) for ends in ((-100, 100), (-13, 2))),
        ]
    )
    check(device, function.float_bound, run(device, operator, InputTensor=x), function.special, x)


def test_roots(device: Any) -> None:
    x = np.random.default_rng(0).integers(0x00800000, 0x7F800000, 2**19, np.uint32).view(np.float32)
    assert np.array_equal(run(device, "ELEMENT_WISE_SQRT", InputTensor=x), np.sqrt(x))


def test_powers(device: Any) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([np.exp2(rng.uniform(-limit, limit, 2**17)) for limit in (0.01, 0.52, 9)])
    x = x.astype(np.float32)
    with np.errstate(divide="ignore"):
        y = (rng.uniform(-126, 128, x.size) / np.log2(x.astype(np.float64))).astype(np.float32)
    found = run(device, "ELEMENT_WISE_POW", InputTensor=x, ExponentTensor=y)
    check(device, APPROXIMATIONS["Pow"].float_bound, found, np.power, x, y)


def test_angles(device: Any) -> None:
    rng = np.random.default_rng(2)
    y = (np.exp2(rng.uniform(-90, 90, 2**18)) * rng.choice([-1, 1], 2**18)).astype(np.float32)
    x = (y * np.exp2(rng.uniform(-9, 9, y.size)) * rng.choice([-1, 1], y.size)).astype(np.float32)
    found = run(device, "ELEMENT_WISE_ATAN_YX", ATensor=y, BTensor=x)
    check(device, APPROXIMATIONS["Atan2"].float_bound, found, np.arctan2, y, x)
