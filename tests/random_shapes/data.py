"""Arrays for the inputs of a description."""

from __future__ import annotations

import re
from math import inf, nan, prod, sqrt
from typing import Any

import numpy as np

from dmlops import Description, TensorDesc
from dmlops.validation import tensors
from random_shapes.draw import Sizes
from random_shapes.elements import ACTIVATIONS, ELEMENT_WISE

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, inf, -inf, nan)
MANY = 2000  # as different as most integers are; the others have all bits
NETWORKS = ("RNN", "GRU", "LSTM")
SPREADS = (0.1, 1.0, 1.0, 10.0, 1000.0)


def data(desc: Description, random: np.random.Generator) -> dict[str, Any]:
    """Arrays for the inputs, which stay what they are along strides of 0."""
    arrays: dict[str, Any] = {}
    for name, member, tensor in tensors(desc):
        if member.role == "input":
            numbers = _floats if tensor.DataType.numpy.kind == "f" else _integers
            with np.errstate(over="ignore"):
                found = numbers(desc, name, tensor, random).astype(tensor.DataType.numpy)
            kept = found[tuple(slice(None if stride else 1) for stride in tensor.element_strides)]
            array = np.array(np.broadcast_to(kept, tensor.Sizes))
            if member.count:
                arrays.setdefault(member.name, []).append(array)
            else:
                arrays[name] = array
    return arrays


def _floats(desc: Any, name: str, tensor: TensorDesc, random: np.random.Generator) -> Any:
    """Numbers around 1, as the operator needs them; some arrays have a few numbers of all kinds among them,
    and some but a few different ones."""
    sizes = tensor.Sizes
    numbers = _usual(desc, name, sizes, random)
    if re.search("Scale|Variance|Quantization|ROI", name) or desc.OPERATOR in NETWORKS:
        return numbers
    match random.integers(5):
        case 0:
            part = random.choice((0.001, 0.05))
            return np.where(random.random(sizes) < part, random.choice(SPECIAL, sizes), numbers)
        case 1:
            return np.round(numbers)
    return numbers


def _usual(desc: Any, name: str, sizes: Sizes, random: np.random.Generator) -> Any:
    operator = desc.OPERATOR
    if operator in NETWORKS:
        return random.normal(0, 0.5 / sqrt(desc.RecurrenceTensor.Sizes[3]), sizes)
    if "Variance" in name or ("QUANT" in operator and ("Scale" in name or name == "QuantizationTensors[0]")):
        return random.uniform(0.05, 0.2, sizes)
    if name == "ROITensor":
        return _regions(desc, sizes, random)
    if "SecondMoment" in name or (operator == "REDUCE" and desc.Function.name == "LOG_SUM"):
        return random.uniform(0.1, 1, sizes)
    if operator == "CUMULATIVE_PRODUCT" or (operator == "REDUCE" and desc.Function.name == "MULTIPLY"):
        return random.normal(1, 0.1, sizes) * random.choice((-1, 1), sizes)
    if operator in (*ELEMENT_WISE, *ACTIVATIONS, "CAST"):
        return random.normal(0, random.choice(SPREADS), sizes)
    return random.normal(0, 1, sizes)


def _regions(desc: Any, sizes: Sizes, random: np.random.Generator) -> np.ndarray:
    """Corners around the image, the second after the first; with a batch before them for ROI_POOLING."""
    pools = desc.OPERATOR == "ROI_POOLING"
    image = desc.InputTensor or desc.OutputGradientTensor
    scales = [desc.SpatialScale] * 2 if pools else [desc.SpatialScaleX, desc.SpatialScaleY]
    extents = np.array([image.Sizes[3], image.Sizes[2]]) / scales
    corners = np.sort(random.uniform(-0.2, 1.2, (*sizes[:-1], 2, 2)), axis=-2) * extents
    flat = corners.reshape(*sizes[:-1], 4)
    if not pools:
        return flat
    return np.concatenate([random.integers(0, image.Sizes[0], (*sizes[:-1], 1)), flat], axis=-1)


def _integers(desc: Any, name: str, tensor: TensorDesc, random: np.random.Generator) -> Any:
    sizes = tensor.Sizes
    low, high = _limits(desc, name, tensor)
    if name == "MaskTensor" and desc.MaskType.name != "BOOLEAN":
        return np.sort(random.integers(0, 129, sizes), axis=0)[::-1]
    if name == "IndicesTensor" and "_ND" in desc.OPERATOR:
        return random.integers(*_coordinates(desc, tensor), sizes)
    found = random.integers(low, high, sizes, tensor.DataType.numpy, endpoint=True)
    if high - low >= MANY and random.integers(2):
        return found % MANY - (MANY // 2 if low < 0 else 0)
    return found


def _limits(desc: Any, name: str, tensor: TensorDesc) -> tuple[int, int]:
    """The least and the greatest number of an input, all of which mean something there."""
    operator, is_signed = desc.OPERATOR, tensor.DataType.numpy.kind == "i"
    match name:
        case "MaskTensor":
            return 0, 1
        case "SequenceLengthsTensor":
            image = desc.InputTensor.Sizes
            return (0, image[desc.Axis] + 2) if operator == "REVERSE_SUBSEQUENCES" else (0, image[1])
        case "IndicesTensor" if operator == "MAX_UNPOOLING":
            return 0, prod(desc.OutputTensor.Sizes) + 5
        case "IndicesTensor" if operator == "ONE_HOT":
            extent = desc.OutputTensor.Sizes[desc.Axis]
            return (-extent - 1 if is_signed else 0), extent
        case "IndicesTensor" if "_ND" not in operator:
            extent = desc.InputTensor.Sizes[desc.Axis]
            return (-extent if is_signed else 0), extent - 1
        case "BatchIndicesTensor":
            return 0, (desc.InputTensor or desc.OutputGradientTensor).Sizes[0] - 1
        case "TrainingStepTensor":
            return 1, 100
        case "InputStateTensor":
            return 0, (1 << 32) - 1
        case "BTensor" if "SHIFT" in operator:
            return 0, tensor.DataType.bits + 1
    bits = tensor.DataType.bits
    least = -(1 << bits - 1) if is_signed else 0
    return least, least + (1 << bits) - 1


def _coordinates(desc: Any, tensor: TensorDesc) -> tuple[np.ndarray, np.ndarray]:
    """For each place in a tuple of coordinates the least, and one more than the greatest."""
    image = desc.InputTensor.Sizes
    start = len(image) - desc.InputDimensionCount + getattr(desc, "BatchDimensionCount", 0)
    extents = np.array(image[start : start + tensor.Sizes[-1]])
    if tensor.element_strides[-1] == 0:
        extents[:] = extents.min()  # all coordinates are the same
    return (-extents if tensor.DataType.numpy.kind == "i" else 0 * extents), extents
