"""Functions of halves on a Vulkan device, on every half, against NumPy and `math` in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from dmlops import gpu
from gpu_device import alternatives, device
from operator_runs import description
from test_compute_activation import ORACLES as ACTIVATIONS
from test_compute_elementwise import EXACT_UNARY, UNARY

__all__ = ["device"]

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
MOST = 0.51  # ulp; one half is the loss of rounding itself

Numbers = Any


MEMBERS: Mapping[str, Mapping[str, float]] = {  # powers of two and their sums, with which products are exact
    "CELU": {"Alpha": 2.0}, "ELU": {"Alpha": 1.0}, "GELU": {}, "SCALED_ELU": {"Alpha": 1.5, "Gamma": 0.5},
    "PARAMETRIC_SOFTPLUS": {"Alpha": -1.0, "Beta": 2.0}, "SCALED_TANH": {"Alpha": -1.5, "Beta": 0.5},
    "SIGMOID": {}, "SOFTPLUS": {"Steepness": 4.0}, "SWISH": {"SigmoidInputScale": 1.0}, "TANH": {},
}  # fmt: skip
APPROXIMATED = {*UNARY} - {*EXACT_UNARY, "ACOS", "ATAN", "RECIP"} | {"SQRT"}
ORACLES: Mapping[str, tuple[Callable[[Numbers], Numbers], Mapping[str, float]]] = {
    **{f"ACTIVATION_{name}": (partial(ACTIVATIONS[name], **some), some) for name, some in MEMBERS.items()},
    **{f"ELEMENT_WISE_{name}": (UNARY[name], {}) for name in sorted(APPROXIMATED)},
}


def result(device: Any, operator: str, x: Numbers, **members: Any) -> Numbers:
    return results(device, operator, {"InputTensor": x}, **members)


def results(device: Any, operator: str, arrays: Mapping[str, Numbers], **members: Any) -> Numbers:
    """The output of an operator for arrays of equal length, the first of the output's type."""
    shaped = {name: array.reshape(1, 1, 1, -1) for name, array in arrays.items()}
    desc = description(operator, members, {**shaped, "OutputTensor": next(iter(shaped.values()))})
    return gpu.run(desc, shaped, device)["OutputTensor"].reshape(-1)


@pytest.mark.parametrize("operator", ORACLES)
def test_all_halves(device: Any, operator: str) -> None:
    oracle, members = ORACLES[operator]
    found = result(device, operator, HALVES, **members)
    with np.errstate(all="ignore"):
        exact = oracle(HALVES.astype(np.float64))
    check(found, exact, HALVES)
    zeros = (exact == 0) & (HALVES == 0)
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(exact[zeros]))


def check(found: Numbers, exact: Numbers, *given: Numbers) -> None:
    """That errors are within bounds, and what has none is there."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float16)
        finite = np.isfinite(rounded)
        _, exponents = np.frexp(np.where(finite, exact, 1))
        ulp = np.exp2(np.maximum(exponents - 1, -14) - 10.0)
        errors = np.where(finite, np.abs(found.astype(np.float64) - exact) / ulp, 0)
    # 65520 is where halves end: a result that comes near may be the last of them
    near_the_end = np.isinf(rounded) & (np.abs(exact) < 65520 * (1 + 2**-17)) & (np.abs(found) == 65504)
    alike = finite | near_the_end | (np.isnan(rounded) & np.isnan(found)) | (rounded == found)
    told = [np.stack(given, -1), found, exact]
    assert alike.all(), list(zip(*(one[~alike] for one in told), strict=True))[:5]
    worst = int(errors.argmax())
    assert errors[worst] <= MOST, "{} gives {}, not {}".format(*(one[worst] for one in told))


def pairs() -> tuple[Numbers, Numbers]:
    """Any two halves, two of like size, and all pairs of those that matter."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2**16, (2, 2**18), np.uint16).view(np.float16)
    near = (first[: 2**16] * np.exp2(rng.uniform(-4, 4, 2**16))).astype(np.float16)
    special = np.array([0, 0.5, 0.9995, 1, 1.001, 1.5, 2, 3, 5, 11, 1000, 2047, 4097, 65504], np.float16)
    special = np.append(special, np.float16([2**-24, 3 * 2**-24, 2**-14, np.inf, np.nan]))
    special = np.concatenate([special, -special])
    return (
        np.concatenate([first, first[: 2**16], np.repeat(special, special.size)]),
        np.concatenate([second, near, np.tile(special, special.size)]),
    )


@pytest.mark.parametrize(("operator", "oracle"), [("TRUNCATE", np.fmod), ("FLOOR", np.mod)])
def test_remainders_of_pairs(device: Any, operator: str, oracle: Callable[..., Numbers]) -> None:
    """As they are in single precision, with the signs of zeros."""
    with np.errstate(all="ignore"):
        a, b = pairs()
        exact = oracle(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    found = results(device, f"ELEMENT_WISE_MODULUS_{operator}", {"ATensor": a, "BTensor": b})
    assert np.array_equal(found, exact, equal_nan=True)
    defined = ~np.isnan(exact)
    assert np.array_equal(np.signbit(found[defined]), np.signbit(exact[defined]))


def bases_and_exponents() -> tuple[Numbers, Numbers]:
    """Pairs of any kind, those whose powers are halves, and powers of negative numbers."""
    rng = np.random.default_rng(1)
    first, second = pairs()
    bases = rng.integers(1, 0x7C00, 2**16, np.uint16).view(np.float16)
    bases = np.concatenate([bases, (1 + rng.integers(-900, 900, 2**16) / 2048).astype(np.float16)])
    exponents = (rng.uniform(-26, 16, bases.size) / np.log2(bases.astype(np.float64))).astype(np.float16)
    negative = rng.uniform(-9, 0, 2**14).astype(np.float16)
    whole = rng.integers(-12, 13, negative.size).astype(np.float16)
    return np.concatenate([first, bases, negative]), np.concatenate([second, exponents, whole])


@pytest.mark.parametrize(
    ("operator", "names", "given", "oracle"),
    [
        ("ELEMENT_WISE_ATAN_YX", ("ATensor", "BTensor"), pairs, np.arctan2),
        ("ELEMENT_WISE_POW", ("InputTensor", "ExponentTensor"), bases_and_exponents, np.power),
    ],
)
def test_functions_of_pairs(device: Any, operator: str, names: Any, given: Any, oracle: Any) -> None:
    with np.errstate(all="ignore"):
        arrays = given()
        exact = oracle(*(array.astype(np.float64) for array in arrays))
    found = results(device, operator, dict(zip(names, arrays, strict=True)))
    check(found, exact, *arrays)
    defined = ~np.isnan(exact)
    assert np.array_equal(np.signbit(found[defined]), np.signbit(exact[defined]))


@pytest.mark.parametrize("exponents", [np.int16, np.uint16])
def test_powers_with_integers_as_exponents(device: Any, exponents: Any) -> None:
    """Which are stored in 16 bits, too."""
    x = np.concatenate([HALVES, np.tile(HALVES[0x3B00:0x3D00], 64)])
    info = np.iinfo(exponents)
    rng = np.random.default_rng(2)
    large = rng.integers(info.min, info.max, x.size - HALVES.size, exponents, endpoint=True)
    y = np.concatenate([rng.integers(max(info.min, -20), 20, HALVES.size).astype(exponents), large])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    check(results(device, "ELEMENT_WISE_POW", {"InputTensor": x, "ExponentTensor": y}), exact, x, y)


def test_integers_to_powers_that_are_halves(device: Any) -> None:
    """The converse: integers stay as exact as they are without halves."""
    rng = np.random.default_rng(3)
    x = rng.integers(-12, 13, 2**14).astype(np.int16)
    y = rng.integers(0, 5, x.size).astype(np.float16)
    found = results(device, "ELEMENT_WISE_POW", {"InputTensor": x, "ExponentTensor": y})
    assert np.array_equal(found, np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.int16))


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
