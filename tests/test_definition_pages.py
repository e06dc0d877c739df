"""References from definitions against the formulas of the pages, on every small description of the matrices.

These cover every data type, rank, layout and enumeration value, absent optional tensors, sizes of 1 and
strides of 0. Each description gets ordinary elements, then NaN, infinities and the limits of integers, then
arbitrary fractions.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.schedules import follows_definition
from page_formulas import FORMULAS, Members, half_even
from recurrent_networks import made, network
from whole_registry import whole_registry

REGISTRY = whole_registry()

ROOT = Path(__file__).parent.parent
MATRICES = ROOT / "generated" / "matrix"
WITH_DATA = {  # in their matrices, as operators with a schedule have
    "DEPTH_TO_SPACE", "DEPTH_TO_SPACE1", "DEQUANTIZE", "DIAGONAL_MATRIX", "DIAGONAL_MATRIX1",
    "FILL_VALUE_SEQUENCE", "ONE_HOT", "PADDING", "PADDING1", "QUANTIZE", "REVERSE_SUBSEQUENCES",
    "SLICE", "SLICE1", "SLICE_GRAD", "SPACE_TO_DEPTH", "SPACE_TO_DEPTH1", "SPLIT", "TILE",
    "VALUE_SCALE_2D"
}  # fmt: skip
DEFINED = [
    operator.name.removeprefix("DML_OPERATOR_")
    for operator in REGISTRY.operators
    if follows_definition(REGISTRY, operator) and operator.name.removeprefix("DML_OPERATOR_") not in WITH_DATA
]
MOST_ELEMENTS, LARGEST_NUMBER = 512, 1000  # of a tensor or a window; of strides, paddings, samples
TOLERANCE = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-9}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
LEFT_OUT = {  # operators whose elements are never special, and why
    "DYNAMIC_QUANTIZE_LINEAR": "no page says what the range of NaN or infinities is",
}

MEANINGLESS = {"DML-MULTIHEAD_ATTENTION1-present-sequence-length"}  # fewer places than there are new keys


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
    return [
        case
        for case in cases
        if case["expect"]["ok"] and is_small(case["desc"]) and not MEANINGLESS & {*case["expect"]["advice"]}
    ]


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


def agrees(name: str, operator: str, form: dict[str, Any], kind: str, seed: list[int]) -> None:
    """The reference and the formula give the same for elements drawn at random."""
    random = np.random.default_rng(seed)
    desc = dmlops.from_json({"type": operator, "desc": form})
    inputs = {
        member.name: drawn(member.name, operator, form, kind, random)
        for member in desc.MEMBERS
        if member.role == "input" and form.get(member.name)
    }
    found = dmlops.reference.run(desc, inputs)
    wide = {
        name: array.astype(np.float64 if array.dtype.kind == "f" else object)
        for name, array in inputs.items()
    }
    formula = FORMULAS[operator](Members(form), wide)
    for output, array in found.items():
        assert array.shape == np.shape(formula[output])
        compare(f"{name} {output}", array, formula[output])


@pytest.mark.parametrize("kind", ["plain", "special", "fractions"])
@pytest.mark.parametrize("operator", DEFINED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_descriptions_of_the_matrices(operator: str, kind: str) -> None:
    cases = small_cases(operator)
    assert len(cases) >= 20
    for number, case in enumerate(cases):
        agrees(case["id"], operator, case["desc"], kind, [number, len(kind)])


# Larger descriptions than those of the matrices, of the operators with the most forms.


def f32(*sizes: int) -> dict[str, Any]:
    return {"DataType": "FLOAT32", "Sizes": list(sizes)}


def i32(*sizes: int) -> dict[str, Any]:
    return {"DataType": "INT32", "Sizes": list(sizes)}


STACKINGS = ("none", "query and key", "key and value", "all")
MASKS: dict[str, Any] = {
    "NONE": None,
    "KEY_SEQUENCE_LENGTH": i32(1, 2),
    "KEY_SEQUENCE_END_START": i32(2, 2),
    "KEY_QUERY_SEQUENCE_LENGTH_START_END": i32(8),
    "BOOLEAN": "scores",
}


def attention(stacking: str, mask: str, past: int, biases: bool) -> dict[str, Any]:
    """Attention of two batches, three heads of four elements, and five queries."""
    batches, heads, steps, width = 2, 3, 5, 4
    keys = steps if stacking in ("query and key", "all") else 6
    whole = past + keys
    form: dict[str, Any] = {"HeadCount": heads, "MaskType": mask, "Scale": 0.5, "MaskFilterValue": -7.0}
    form |= {"OutputTensor": f32(batches, steps, heads * width)}
    if stacking in ("none", "key and value"):
        form["QueryTensor"] = f32(batches, steps, heads * width)
    if stacking == "none":
        form["KeyTensor"] = f32(batches, keys, heads * width)
    if stacking in ("none", "query and key"):
        form["ValueTensor"] = f32(batches, keys, heads * width)
    if stacking == "query and key":
        form["StackedQueryKeyTensor"] = f32(batches, steps, heads, 2, width)
    if stacking == "key and value":
        form["StackedKeyValueTensor"] = f32(batches, keys, heads, 2, width)
    if stacking == "all":
        form["StackedQueryKeyValueTensor"] = f32(batches, steps, heads, 3, width)
    if MASKS[mask] is not None:
        form["MaskTensor"] = i32(batches, heads, steps, whole) if mask == "BOOLEAN" else MASKS[mask]
    if past:
        form |= {f"Past{name}Tensor": f32(batches, heads, past, width) for name in ("Key", "Value")}
        form |= {f"OutputPresent{name}Tensor": f32(batches, heads, whole, width) for name in ("Key", "Value")}
    if biases:
        form["BiasTensor"] = f32(3 * heads * width)
        form["RelativePositionBiasTensor"] = f32(batches, heads, steps, whole)
    return form


@pytest.mark.parametrize("kind", ["plain", "fractions"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("stacking", STACKINGS)
def test_attention(stacking: str, mask: str, kind: str) -> None:
    for past in (0, 3):
        for biases in (False, True):
            form = attention(stacking, mask, past, biases)
            desc = dmlops.from_json({"type": "MULTIHEAD_ATTENTION", "desc": form})
            assert not desc.validate("6.4")
            agrees(f"{past} {biases}", "MULTIHEAD_ATTENTION", form, kind, [past])


@pytest.mark.parametrize("heads", [(2, 2), (6, 2), (6, 1)])
@pytest.mark.parametrize("room", [0, 2])
def test_attention_with_past_lengths(heads: tuple[int, int], room: int) -> None:
    many, few = heads
    whole = 6 + 3 + room  # the past, the new keys, and place for more
    form = {
        "QueryTensor": f32(2, 3, many * 4),
        "KeyTensor": f32(2, 3, few * 4),
        "ValueTensor": f32(2, 3, few * 5),
        "PastKeyTensor": f32(2, few, 6, 4),
        "PastValueTensor": f32(2, few, 6, 5),
        "PastSequenceLengthsTensor": i32(2),
        "OutputTensor": f32(2, 3, many * 5),
        "OutputPresentKeyTensor": f32(2, few, whole, 4),
        "OutputPresentValueTensor": f32(2, few, whole, 5),
        "Scale": 0.5,
        "MaskFilterValue": -1e4,
        "QueryHeadCount": many,
        "KeyValueHeadCount": few,
        "MaskType": "NONE",
    }
    for seed in range(4):
        agrees(str(seed), "MULTIHEAD_ATTENTION1", form, "fractions", [seed])


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD", "BIDIRECTIONAL"])
@pytest.mark.parametrize("switches", [(False, False), (True, False), (False, True), (True, True)])
def test_recurrent_networks(operator: str, direction: str, switches: tuple[bool, bool]) -> None:
    members: dict[str, dict[str, Any]] = {
        "RNN": {},
        "GRU": {"LinearBeforeReset": switches[0]},
        "LSTM": {"UseClipThreshold": switches[0], "ClipThreshold": 0.75, "CoupleInputForget": switches[1]},
    }
    form = network(operator, 3, 2, 4, direction=direction, steps=5, **members[operator])
    if direction == "BIDIRECTIONAL":
        half = form["ActivationDescCount"] // 2
        other = {"type": "ACTIVATION_HARD_SIGMOID", "desc": {"Alpha": 0.3, "Beta": 0.5}}
        form["ActivationDescs"][half:] = [other] * half
    made(form, operator)
    for seed in range(3):
        agrees(str(seed), operator, form, "fractions", [seed])


@pytest.mark.parametrize("operator", ["ROI_ALIGN1", "ROI_ALIGN_GRAD"])
@pytest.mark.parametrize("function", ["AVERAGE", "MAX"])
@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("corners", [False, True])
def test_regions(operator: str, function: str, mode: str, corners: bool) -> None:
    cells, image = f32(4, 2, 3, 2), f32(2, 2, 6, 5)
    form: dict[str, Any] = {
        "InputTensor": image,
        "ROITensor": f32(4, 4),
        "BatchIndicesTensor": {"DataType": "UINT32", "Sizes": [4]},
        "ReductionFunction": function,
        "InterpolationMode": mode,
        "SpatialScaleX": 1.25,
        "SpatialScaleY": 1.5,
        "AlignRegionsToCorners": corners,
    }
    if operator == "ROI_ALIGN1":
        form |= {"OutputTensor": cells, "OutOfBoundsInputValue": 2.5}
    else:
        form |= {"InputGradientTensor": cells, "OutputGradientTensor": image}
        form |= {"OutputROIGradientTensor": f32(4, 4)}
    for inset, outset in ((0.5, -0.5), (0.0, 0.0), (0.25, -0.5)):
        for least, most in ((1, 4294967295), (2, 2), (1, 3)):
            form |= {"InputPixelOffset": inset, "OutputPixelOffset": outset}
            form |= {"MinimumSamplesPerOutput": least, "MaximumSamplesPerOutput": most}
            assert not dmlops.from_json({"type": operator, "desc": form}).validate("6.4")
            for seed in range(2):
                agrees(f"{inset} {least}", operator, form, "fractions", [seed])


@pytest.mark.parametrize("function", ["AVERAGE", "MAX"])
def test_regions_without_end_lie_outside(function: str) -> None:
    """The answer comes for any number of samples allowed."""
    regions = np.float32([[0, 0, np.inf, 2], [-np.inf, 0, 2, 2], [np.nan, 0, 2, 2], [0, 0, 2, 2]])
    image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    inputs = {"InputTensor": image, "ROITensor": regions, "BatchIndicesTensor": np.zeros(4, np.uint32)}
    desc = dmlops.make.roi_align1(
        **inputs, OutputTensor=(4, 1, 2, 2), ReductionFunction=function, InterpolationMode="LINEAR",
        SpatialScaleX=1.0, SpatialScaleY=1.0, InputPixelOffset=0.5, OutputPixelOffset=-0.5,
        OutOfBoundsInputValue=7.0, MinimumSamplesPerOutput=1, MaximumSamplesPerOutput=4294967295,
        AlignRegionsToCorners=False,
    )  # fmt: skip
    found = dmlops.reference.run(desc, inputs)
    assert found["OutputTensor"].reshape(4, 4).tolist() == [[7.0] * 4] * 3 + [[0.0, 1.0, 4.0, 5.0]]


RESAMPLINGS = [  # sizes of the input and the output, scales, offsets
    ([5, 7], [8, 9], [1.5, 1.25], [0.5, 0.5], [-0.5, -0.5]),
    ([9, 8], [2, 3], [0.3, 0.4], [0.5, 0.5], [-0.5, -0.5]),
    ([9, 8], [4, 5], [0.4, 0.7], [0.0, 0.25], [0.0, -0.75]),
    ([4, 4], [9, 2], [1.7, 0.1], [0.3, 1.5], [0.2, 3.0]),
    ([3, 5], [7, 7], [0.2, 0.25], [-4.0, 6.0], [0.0, 0.0]),  # far outside
    ([1, 6], [4, 1], [4.0, 1 / 6], [0.5, 0.5], [-0.5, -0.5]),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("sizes", RESAMPLINGS)
@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize(
    "operator", ["RESAMPLE1", "RESAMPLE2", "RESAMPLE3", "RESAMPLE_GRAD", "RESAMPLE_GRAD1"]
)
def test_resampling(operator: str, mode: str, sizes: Any) -> None:
    small, large, scales, inset, outset = sizes
    for rounding in ("INCREASING", "DECREASING"):
        form: dict[str, Any] = {"InterpolationMode": mode, "DimensionCount": 3, "Scales": [1.0, *scales]}
        form |= {"InputPixelOffsets": [0.5, *inset], "OutputPixelOffsets": [-0.5, *outset]}
        if operator not in ("RESAMPLE1", "RESAMPLE_GRAD"):
            form["RoundingDirection"] = rounding
        if operator == "RESAMPLE3":
            form["Antialiased"] = rounding == "INCREASING"
        if "GRAD" in operator:
            form |= {"InputGradientTensor": f32(2, *large), "OutputGradientTensor": f32(2, *small)}
        else:
            form |= {"InputTensor": f32(2, *small), "OutputTensor": f32(2, *large)}
        assert not dmlops.from_json({"type": operator, "desc": form}).validate("6.4")
        for kind in ("plain", "special"):
            agrees(rounding, operator, form, kind, [7])


POOLINGS = {
    "AVERAGE_POOLING1": {"IncludePadding": True},
    "QUANTIZED_LINEAR_AVERAGE_POOLING": {"IncludePadding": True},
    "LP_POOLING1": {"P": 3},
    "MAX_POOLING2": {},
    "MAX_POOLING_GRAD": {},
}


@pytest.mark.parametrize("operator", POOLINGS)
@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("more", [0, 1, 2])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_windows_with_gaps_and_more_results(operator: str, dims: int, more: int) -> None:
    """Sizes that are rounded up, and windows outside of the input."""
    image, window, strides, gaps = [6, 7, 5][:dims], [2, 3, 2][:dims], [2, 1, 3][:dims], [2, 1, 3][:dims]
    start, end = [1, 2, 0][:dims], [0, 3, 2][:dims]
    pooled = [
        (image[d] + start[d] + end[d] - (window[d] - 1) * gaps[d] - 1) // strides[d] + 1 + more
        for d in range(dims)
    ]
    type_ = {"DataType": "INT8" if operator in QUANTIZED else "FLOAT32"}
    whole, small = {**type_, "Sizes": [2, 3, *image]}, {**type_, "Sizes": [2, 3, *pooled]}
    form: dict[str, Any] = {"InputTensor": whole, "DimensionCount": dims, "Strides": strides}
    form |= {"WindowSize": window, "StartPadding": start, "EndPadding": end, "Dilations": gaps}
    form |= POOLINGS[operator]
    if operator == "MAX_POOLING_GRAD":
        form |= {"InputGradientTensor": small, "OutputGradientTensor": whole}
    else:
        form["OutputTensor"] = small
    if operator == "MAX_POOLING2":
        form["OutputIndicesTensor"] = {"DataType": "UINT64", "Sizes": [2, 3, *pooled]}
    if operator in QUANTIZED:
        shape = [1, 3] + [1] * dims
        form |= {f"{side}ScaleTensor": f32(*shape) for side in ("Input", "Output")}
        form |= {f"{side}ZeroPointTensor": {**type_, "Sizes": shape} for side in ("Input", "Output")}
    assert not dmlops.from_json({"type": operator, "desc": form}).validate("6.4")
    for kind in ("plain", "special", "fractions"):
        agrees(kind, operator, form, kind, [3])
