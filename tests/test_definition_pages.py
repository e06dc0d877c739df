"""References from definitions against the formulas of the pages, on every small description of the matrices.

These show every data type, rank, layout and enumeration value, absent optional tensors, sizes of 1 and
strides of 0. Each description gets plain elements, then NaN, infinities and the limits of integers, then any
fractions.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.resolve import load_registry
from page_formulas import FORMULAS, Members, half_even

ROOT = Path(__file__).parent.parent
MATRICES = ROOT / "generated" / "matrix"
DEFINED = [
    operator.name.removeprefix("DML_OPERATOR_")
    for operator in load_registry(ROOT / "specs").operators
    if operator.defines
]
MOST_ELEMENTS, LARGEST_NUMBER = 512, 1000  # of a tensor or a window; of strides, paddings, samples
TOLERANCE = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-9}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
LEFT_OUT = {  # members whose elements are never special, and why
    "DYNAMIC_QUANTIZE_LINEAR": "no page says what the range of NaN or infinities is",
}


def tensors(desc: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in desc.values() if isinstance(value, dict) and "Sizes" in value]


def is_small(desc: dict[str, Any]) -> bool:
    numbers = [
        number
        for value in desc.values()
        if isinstance(value, list)
        for number in value
        if isinstance(number, int)
    ]
    numbers += [desc.get("LocalSize", 0), desc.get("MinimumSamplesPerOutput", 0)]
    window = desc.get("WindowSize") or desc.get("WindowSizes") or [1]
    volumes = [math.prod(tensor["Sizes"]) for tensor in tensors(desc)] + [math.prod(window)]
    return max(volumes) <= MOST_ELEMENTS and max(numbers) < LARGEST_NUMBER


def small_cases(operator: str) -> list[dict[str, Any]]:
    cases = json.loads((MATRICES / f"{operator.lower()}.json").read_text())["cases"]
    return [case for case in cases if case["expect"]["ok"] and is_small(case["desc"])]


def drawn(
    name: str, operator: str, desc: dict[str, Any], kind: str, random: np.random.Generator
) -> np.ndarray:
    """Elements for an input: `kind` is plain, special or fractions."""
    tensor = desc[name]
    sizes, type_ = tensor["Sizes"], np.dtype(tensor["DataType"].lower())
    array: Any
    if type_.kind == "f":
        array = random.standard_normal(sizes) * 2
        if kind != "fractions":
            array = np.round(array * 8) / 8
        if name == "TrainingStepTensor":
            array = random.integers(1, 9, sizes)
        elif name == "ROITensor":
            array = array if kind == "special" else np.abs(array) * 1.5  # some regions are inverted
            if sizes[-1] == 5:
                array[..., 0] = random.integers(0, desc["InputTensor"]["Sizes"][0], sizes[:-1])
        elif name.endswith("ScaleTensor") and operator in QUANTIZED:
            array = (
                2.0 ** random.integers(-3, 2, sizes)
                if kind != "fractions"
                else random.uniform(0.01, 2, sizes)
            )
        elif kind == "special" and operator not in LEFT_OUT:
            array = np.where(random.random(sizes) < 0.12, random.choice(SPECIAL, sizes), array)
        if name in ("VarianceTensor", "InputSecondMomentTensor"):
            array = np.abs(array) + 0.25 + abs(desc["Epsilon"])
    elif name in ("SequenceLengthsTensor", "PastSequenceLengthsTensor"):
        array = random.integers(0, 7, sizes)
    elif name == "BatchIndicesTensor":
        image = desc.get("InputTensor") or desc["OutputGradientTensor"]
        array = random.integers(0, image["Sizes"][0], sizes)
    elif name == "IndicesTensor":
        array = random.integers(0, math.prod(desc["OutputTensor"]["Sizes"]), sizes)
    elif name == "MaskTensor":
        array = random.integers(0, 2 if desc["MaskType"] == "BOOLEAN" else 6, sizes)
    elif name == "TrainingStepTensor":
        array = random.integers(1, 6, sizes)
    else:
        limits = np.iinfo(type_)
        if kind == "special":
            array = random.integers(limits.min, limits.max, sizes, dtype=type_, endpoint=True)
        else:
            array = random.integers(max(limits.min, -9), 9, sizes)
    result = np.asarray(array).astype(type_)
    strides = tensor.get("Strides")
    if strides is not None:  # one element is read along a stride of 0
        result = np.broadcast_to(result[tuple(slice(None, 1 if s == 0 else None) for s in strides)], sizes)
    return result


QUANTIZED = {name for name in FORMULAS if "QUANTIZED" in name or "INTEGER" in name}


def compare(case: str, found: np.ndarray, formula: Any) -> None:
    """Integers as they wrap around or, where floats were rounded, saturate; floats within a tolerance."""
    if found.dtype.kind != "f":
        limits = np.iinfo(found.dtype)
        span = int(limits.max) - int(limits.min) + 1
        wanted = []
        for value in np.asarray(formula, object).ravel():
            if isinstance(value, float):
                value = 0 if math.isnan(value) else min(max(half_even(value), limits.min), limits.max)
            wanted.append((int(value) - int(limits.min)) % span + int(limits.min))
        assert found.ravel().tolist() == wanted, case
        return
    with np.errstate(over="ignore"):
        expected = np.asarray(formula).astype(np.float64).astype(found.dtype).astype(np.float64)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    tolerance = TOLERANCE[found.dtype.name]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * (1 + largest), err_msg=case)


@pytest.mark.parametrize("kind", ["plain", "special", "fractions"])
@pytest.mark.parametrize("operator", DEFINED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_page_formulas(operator: str, kind: str) -> None:
    cases = small_cases(operator)
    assert len(cases) >= 20
    for number, case in enumerate(cases):
        random = np.random.default_rng([number, len(kind)])
        desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
        inputs = {
            member.name: drawn(member.name, operator, case["desc"], kind, random)
            for member in desc.MEMBERS
            if member.role == "input" and case["desc"].get(member.name)
        }
        found = dmlops.reference.run(desc, inputs)
        wide = {
            name: array.astype(np.float64 if array.dtype.kind == "f" else object)
            for name, array in inputs.items()
        }
        formula = FORMULAS[operator](Members(case["desc"]), wide)
        for name, array in found.items():
            assert array.shape == np.shape(formula[name])
            compare(f"{case['id']} {name}", array, formula[name])
