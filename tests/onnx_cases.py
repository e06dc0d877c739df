"""ONNX's own node tests as DirectML descriptions, with inputs and expected outputs that others computed.

Each adapter turns one ONNX node and its arrays into the input of a DirectML operator; it raises Inexpressible
if DirectML has no such form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

Arrays = list[Any]


class Inexpressible(Exception):
    """DirectML has no form of this case."""


@dataclass(frozen=True)
class OnnxCase:
    """A description with the arrays that belong to it, and the tolerance of the comparison."""

    name: str
    description: dict[str, Any]
    inputs: dict[str, Any]
    outputs: dict[str, np.ndarray]


@dataclass(frozen=True)
class Node:
    """An ONNX node: its attributes, inputs (None where one is left out) and outputs.

    `names` has all outputs, empty for one that is left out, `outputs` the others.
    """

    operator: str
    attributes: Mapping[str, Any]
    inputs: Arrays
    outputs: Arrays
    names: tuple[str, ...]
    opset: int


def numbers(array: Any) -> np.ndarray:
    """The array as DirectML has it: truth values as UINT8, at least one dimension, no element left out."""
    array = np.asarray(array)
    if array.dtype == bool:
        array = array.astype(np.uint8)
    if array.dtype.name not in (
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    ):
        raise Inexpressible(f"elements of type {array.dtype}")
    if array.size == 0:
        raise Inexpressible("no elements")
    return array if array.ndim else array.reshape(1)


def tensor(array: np.ndarray, sizes: tuple[int, ...] | None = None) -> dict[str, Any]:
    """The description of a packed tensor; one that is broadcast to `sizes` has strides of 0."""
    if sizes is None or array.shape == sizes:
        return {"DataType": array.dtype.name.upper(), "Sizes": list(array.shape)}
    shape = (1,) * (len(sizes) - array.ndim) + array.shape
    packed = np.cumprod([1, *shape[:0:-1]])[::-1].tolist()
    strides = [0 if have == 1 else stride for have, stride in zip(shape, packed, strict=True)]
    return {"DataType": array.dtype.name.upper(), "Sizes": list(sizes), "Strides": strides}


def case(
    operator: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, np.ndarray],
    broadcast: bool = False,
    **members: Any,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, np.ndarray]]:
    """Description, input arrays, output arrays."""
    outputs = {name: numbers(array) for name, array in outputs.items()}
    sizes = next(iter(outputs.values())).shape if broadcast else None
    arrays: dict[str, Any] = {}
    desc: dict[str, Any] = {}
    for name, given in inputs.items():
        if isinstance(given, list):
            arrays[name] = [numbers(array) for array in given]
            desc[name] = [tensor(array) for array in arrays[name]]
        elif given is not None:
            array = numbers(given)
            desc[name] = tensor(array, sizes)
            arrays[name] = np.broadcast_to(array, sizes) if sizes is not None else array
    desc |= {name: tensor(array) for name, array in outputs.items()} | members
    return {"type": f"DML_OPERATOR_{operator}", "desc": desc}, arrays, dict(outputs)


def unary(operator: str, **members: Any) -> Callable[[Node], Any]:
    """One input, one output; members from attributes: name=(attribute, default)."""

    def adapt(node: Node) -> Any:
        given = {
            name: node.attributes.get(value[0], value[1]) if isinstance(value, tuple) else value
            for name, value in members.items()
        }
        return case(operator, {"InputTensor": node.inputs[0]}, {"OutputTensor": node.outputs[0]}, **given)

    return adapt


def binary(operator: str, a: str = "ATensor", b: str = "BTensor") -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        if len(node.inputs) != 2:
            raise Inexpressible(f"{len(node.inputs)} inputs")
        inputs = {a: node.inputs[0], b: node.inputs[1]}
        if np.asarray(node.inputs[0]).dtype != np.asarray(node.inputs[1]).dtype:
            raise Inexpressible("inputs of two types")
        return case(operator, inputs, {"OutputTensor": node.outputs[0]}, broadcast=True)

    return adapt


def axis_of(node: Node, rank: int, default: int = 0) -> int:
    return int(node.attributes.get("axis", default)) % rank


def softmax(operator: str) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        if node.opset < 13:
            raise Inexpressible("an older form that flattens")
        x = node.inputs[0]
        axes = [axis_of(node, x.ndim, -1)]
        return case(operator, {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, Axes=axes)

    return adapt


def reduce(function: str) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        x = numbers(node.inputs[0])
        axes = node.attributes.get("axes") if len(node.inputs) < 2 else node.inputs[1]
        if axes is None or len(axes) == 0:
            if node.attributes.get("noop_with_empty_axes"):
                raise Inexpressible("nothing to reduce")
            axes = range(x.ndim)
        found = sorted(int(axis) % x.ndim for axis in axes)
        y = node.outputs[0].reshape([1 if d in found else size for d, size in enumerate(x.shape)])
        if np.asarray(node.inputs[0]).dtype == bool:
            raise Inexpressible("truth values")
        return case("REDUCE", {"InputTensor": x}, {"OutputTensor": y}, Function=function, Axes=found)

    return adapt


def arg(operator: str) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        x = node.inputs[0]
        axis = axis_of(node, x.ndim)
        y = node.outputs[0].reshape([1 if d == axis else size for d, size in enumerate(x.shape)])
        last = node.attributes.get("select_last_index", 0)
        members = {"Axes": [axis], "AxisDirection": "DECREASING" if last else "INCREASING"}
        return case(operator, {"InputTensor": x}, {"OutputTensor": y}, **members)

    return adapt


def cumulative(operator: str, exclusive: str) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        x = node.inputs[0]
        members = {
            "Axis": int(node.inputs[1]) % x.ndim,
            "AxisDirection": "DECREASING" if node.attributes.get("reverse") else "INCREASING",
            exclusive: bool(node.attributes.get("exclusive")),
        }
        return case(operator, {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, **members)

    return adapt


def clip(node: Node) -> Any:
    x, low, high = [*node.inputs, None, None][:3]
    info = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    limits = {
        "Min": low.item() if low is not None else node.attributes.get("min", info.min),
        "Max": high.item() if high is not None else node.attributes.get("max", info.max),
    }
    if limits["Min"] > limits["Max"]:
        raise Inexpressible("the upper limit wins in ONNX, the lower one in DirectML")
    number = float if x.dtype.kind == "f" else int
    members = {name: number(value) for name, value in limits.items()}
    data_type = x.dtype.name.upper()
    outputs = {"OutputTensor": node.outputs[0]}
    return case("ELEMENT_WISE_CLIP1", {"InputTensor": x}, outputs, MinMaxDataType=data_type, **members)


def modulus(node: Node) -> Any:
    operator = "MODULUS_TRUNCATE" if node.attributes.get("fmod") else "MODULUS_FLOOR"
    return binary(f"ELEMENT_WISE_{operator}")(node)


def shift(node: Node) -> Any:
    return binary(f"ELEMENT_WISE_BIT_SHIFT_{node.attributes['direction'].decode()}")(node)


def infinity(node: Node) -> Any:
    modes = {(1, 1): "EITHER", (1, 0): "NEGATIVE", (0, 1): "POSITIVE"}
    chosen = node.attributes.get("detect_negative", 1), node.attributes.get("detect_positive", 1)
    members = {"InfinityMode": modes[chosen]}
    outputs = {"OutputTensor": node.outputs[0]}
    return case("ELEMENT_WISE_IS_INFINITY", {"InputTensor": node.inputs[0]}, outputs, **members)


def gelu(node: Node) -> Any:
    if node.attributes.get("approximate", b"none") != b"none":
        raise Inexpressible("the approximation by tanh")
    return unary("ACTIVATION_GELU")(node)


def mean(node: Node) -> Any:
    return binary("ELEMENT_WISE_MEAN")(node)


def where(node: Node) -> Any:
    inputs = dict(zip(("ConditionTensor", "ATensor", "BTensor"), node.inputs, strict=True))
    return case("ELEMENT_WISE_IF", inputs, {"OutputTensor": node.outputs[0]}, broadcast=True)


def concat(node: Node) -> Any:
    members = {"Axis": axis_of(node, node.inputs[0].ndim)}
    return case("JOIN", {"InputTensors": list(node.inputs)}, {"OutputTensor": node.outputs[0]}, **members)


def split(node: Node) -> Any:
    x = numbers(node.inputs[0])
    outputs = [numbers(array) for array in node.outputs]
    desc = {"InputTensor": tensor(x), "OutputTensors": [tensor(y) for y in outputs]}
    desc["Axis"] = axis_of(node, x.ndim)
    return {"type": "DML_OPERATOR_SPLIT", "desc": desc}, {"InputTensor": x}, {"OutputTensors": outputs}


def slice_(node: Node) -> Any:
    x = node.inputs[0]
    starts, ends, axes, steps = ([*node.inputs[1:], None, None, None, None])[:4]
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    offsets, sizes, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        chosen = range(x.shape[axis])[slice(int(start), int(end), int(step))]
        if not chosen:
            raise Inexpressible("no elements")
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        offsets[axis], sizes[axis], strides[axis] = low, high - low + 1, int(step)
    members = {
        "InputWindowOffsets": offsets,
        "InputWindowSizes": sizes,
        "InputWindowStrides": strides,
    }
    return case("SLICE1", {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, **members)


def pad(node: Node) -> Any:
    x, pads, value, axes = ([*node.inputs, None, None, None])[:4]
    mode = node.attributes.get("mode", b"constant").decode()
    start, end = [0] * x.ndim, [0] * x.ndim
    chosen = range(x.ndim) if axes is None else [int(axis) % x.ndim for axis in axes]
    for place, axis in enumerate(chosen):
        start[axis], end[axis] = int(pads[place]), int(pads[place + len(pads) // 2])
    if min(start + end) < 0:
        raise Inexpressible("negative padding")
    modes = {"constant": "CONSTANT", "edge": "EDGE", "reflect": "REFLECTION", "wrap": "WRAP"}
    members = {
        "PaddingMode": modes[mode],
        "PaddingValueDataType": x.dtype.name.upper(),
        "PaddingValue": 0 if value is None else np.asarray(value).item(),
        "StartPadding": start,
        "EndPadding": end,
    }
    return case("PADDING1", {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, **members)


def tile(node: Node) -> Any:
    repeats = [int(count) for count in node.inputs[1]]
    return case("TILE", {"InputTensor": node.inputs[0]}, {"OutputTensor": node.outputs[0]}, Repeats=repeats)


def blocks(operator: str) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        modes = {b"DCR": "DEPTH_COLUMN_ROW", b"CRD": "COLUMN_ROW_DEPTH"}
        order = modes[node.attributes.get("mode", b"DCR")]
        members = {"BlockSize": int(node.attributes["blocksize"]), "Order": order}
        return case(operator, {"InputTensor": node.inputs[0]}, {"OutputTensor": node.outputs[0]}, **members)

    return adapt


def scatter(node: Node) -> Any:
    if node.attributes.get("reduction", b"none") != b"none":
        raise Inexpressible("a reduction")
    x, indices, updates = node.inputs
    inputs = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
    members = {"Axis": axis_of(node, x.ndim)}
    return case("SCATTER_ELEMENTS", inputs, {"OutputTensor": node.outputs[0]}, **members)


def scatter_nd(node: Node) -> Any:
    if node.attributes.get("reduction", b"none") != b"none":
        raise Inexpressible("a reduction")
    x, indices, updates = map(np.asarray, node.inputs)
    rank = max(x.ndim, indices.ndim, updates.ndim)

    def raised(array: np.ndarray) -> np.ndarray:
        return array.reshape((1,) * (rank - array.ndim) + array.shape)

    inputs = {"InputTensor": raised(x), "IndicesTensor": raised(indices), "UpdatesTensor": raised(updates)}
    members = {"InputDimensionCount": x.ndim, "IndicesDimensionCount": indices.ndim}
    return case("SCATTER_ND", inputs, {"OutputTensor": raised(node.outputs[0])}, **members)


def top_k(node: Node) -> Any:
    if not node.attributes.get("sorted", 1):
        raise Inexpressible("an order that is left open")
    x, count = node.inputs
    members = {
        "Axis": axis_of(node, x.ndim, -1),
        "K": int(count[0]),
        "AxisDirection": "DECREASING" if node.attributes.get("largest", 1) else "INCREASING",
    }
    values, indices = node.outputs
    outputs = {"OutputValueTensor": values, "OutputIndexTensor": indices.astype(np.uint32)}
    return case("TOP_K1", {"InputTensor": x}, outputs, **members)


def one_hot(node: Node) -> Any:
    indices, _, values = node.inputs
    y = node.outputs[0]
    axis = axis_of(node, y.ndim, -1)
    if indices.dtype.kind == "f" or values.dtype != y.dtype:
        raise Inexpressible("indices that are no integers")
    placed = np.expand_dims(indices, axis)
    found = values.reshape((1,) * (y.ndim - 1) + (2,))
    inputs = {"IndicesTensor": placed, "ValuesTensor": found}
    return case("ONE_HOT", inputs, {"OutputTensor": y}, Axis=axis)


def reverse_sequence(node: Node) -> Any:
    x, lengths = node.inputs
    time, batch = node.attributes.get("time_axis", 0), node.attributes.get("batch_axis", 1)
    shape = [1] * x.ndim
    shape[batch] = x.shape[batch]
    inputs = {"InputTensor": x, "SequenceLengthsTensor": lengths.astype(np.uint32).reshape(shape)}
    return case("REVERSE_SUBSEQUENCES", inputs, {"OutputTensor": node.outputs[0]}, Axis=int(time))


def cast(node: Node) -> Any:
    return case("CAST", {"InputTensor": node.inputs[0]}, {"OutputTensor": node.outputs[0]})


def linear(operator: str) -> Callable[[Node], Any]:
    """Quantization with one scale, or one for each place along an axis."""

    def adapt(node: Node) -> Any:
        x, scale, zero_point = [*node.inputs, None][:3]
        y = numbers(node.outputs[0])
        if scale.ndim > 1 or node.attributes.get("block_size"):
            raise Inexpressible("blocks")

        def spread(array: Any) -> Any:
            if array is None or np.asarray(array).size == 1:
                return None if array is None else np.asarray(array).reshape(1)
            shape = [1] * x.ndim
            shape[axis_of(node, x.ndim, 1)] = -1
            return np.asarray(array).reshape(shape)

        inputs = {"InputTensor": x, "ScaleTensor": spread(scale), "ZeroPointTensor": spread(zero_point)}
        return case(f"ELEMENT_WISE_{operator}_LINEAR", inputs, {"OutputTensor": y}, broadcast=True)

    return adapt


def nonzero(node: Node) -> Any:
    x, y = numbers(node.inputs[0]), node.outputs[0]
    found = np.zeros((x.size, x.ndim), np.uint32)
    found[: y.shape[1]] = y.T
    outputs = {"OutputCountTensor": np.array([y.shape[1]], np.uint32), "OutputCoordinatesTensor": found}
    return case("NONZERO_COORDINATES", {"InputTensor": x}, outputs)


ADAPTERS: dict[str, Callable[[Node], Any]] = {
    **{
        name: unary(f"ELEMENT_WISE_{name.upper()}")
        for name in (
            *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp"),
            *("Floor", "Log", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Identity"),
        )
    },
    "Neg": unary("ELEMENT_WISE_NEGATE"),
    "Reciprocal": unary("ELEMENT_WISE_RECIP"),
    "Round": unary("ELEMENT_WISE_ROUND", RoundingMode="HALVES_TO_NEAREST_EVEN"),
    "Not": unary("ELEMENT_WISE_LOGICAL_NOT"),
    "IsNaN": unary("ELEMENT_WISE_IS_NAN"),
    "IsInf": infinity,
    "BitwiseNot": unary("ELEMENT_WISE_BIT_NOT"),
    "Add": binary("ELEMENT_WISE_ADD"),
    "Sub": binary("ELEMENT_WISE_SUBTRACT"),
    "Mul": binary("ELEMENT_WISE_MULTIPLY"),
    "Div": binary("ELEMENT_WISE_DIVIDE"),
    "Max": binary("ELEMENT_WISE_MAX"),
    "Min": binary("ELEMENT_WISE_MIN"),
    "Mean": mean,
    "Pow": binary("ELEMENT_WISE_POW", "InputTensor", "ExponentTensor"),
    "Mod": modulus,
    "And": binary("ELEMENT_WISE_LOGICAL_AND"),
    "Or": binary("ELEMENT_WISE_LOGICAL_OR"),
    "Xor": binary("ELEMENT_WISE_LOGICAL_XOR"),
    "Equal": binary("ELEMENT_WISE_LOGICAL_EQUALS"),
    "Greater": binary("ELEMENT_WISE_LOGICAL_GREATER_THAN"),
    "GreaterOrEqual": binary("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL"),
    "Less": binary("ELEMENT_WISE_LOGICAL_LESS_THAN"),
    "LessOrEqual": binary("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL"),
    "BitShift": shift,
    "BitwiseAnd": binary("ELEMENT_WISE_BIT_AND"),
    "BitwiseOr": binary("ELEMENT_WISE_BIT_OR"),
    "BitwiseXor": binary("ELEMENT_WISE_BIT_XOR"),
    "Clip": clip,
    "Where": where,
    "Cast": cast,
    "Celu": unary("ACTIVATION_CELU", Alpha=("alpha", 1.0)),
    "Elu": unary("ACTIVATION_ELU", Alpha=("alpha", 1.0)),
    "Gelu": gelu,
    "HardSigmoid": unary("ACTIVATION_HARD_SIGMOID", Alpha=("alpha", 0.2), Beta=("beta", 0.5)),
    "HardSwish": unary("ACTIVATION_HARD_SWISH", Alpha=1 / 6, Beta=0.5),
    "LeakyRelu": unary("ACTIVATION_LEAKY_RELU", Alpha=("alpha", 0.01)),
    "PRelu": lambda node: case(
        "ACTIVATION_PARAMETERIZED_RELU",
        {"InputTensor": node.inputs[0], "SlopeTensor": node.inputs[1]},
        {"OutputTensor": node.outputs[0]},
        broadcast=True,
    ),
    "Relu": unary("ACTIVATION_RELU"),
    "Selu": unary(
        "ACTIVATION_SCALED_ELU",
        Alpha=("alpha", 1.67326319217681884765625),
        Gamma=("gamma", 1.05070102214813232421875),
    ),
    "Shrink": unary("ACTIVATION_SHRINK", Bias=("bias", 0.0), Threshold=("lambd", 0.5)),
    "Sigmoid": unary("ACTIVATION_SIGMOID"),
    "Softplus": unary("ACTIVATION_SOFTPLUS", Steepness=1.0),
    "Softsign": unary("ACTIVATION_SOFTSIGN"),
    "ThresholdedRelu": unary("ACTIVATION_THRESHOLDED_RELU", Alpha=("alpha", 1.0)),
    "Softmax": softmax("ACTIVATION_SOFTMAX1"),
    "LogSoftmax": softmax("ACTIVATION_LOG_SOFTMAX1"),
    "Hardmax": softmax("ACTIVATION_HARDMAX1"),
    "ReduceL1": reduce("L1"),
    "ReduceL2": reduce("L2"),
    "ReduceLogSum": reduce("LOG_SUM"),
    "ReduceLogSumExp": reduce("LOG_SUM_EXP"),
    "ReduceMax": reduce("MAX"),
    "ReduceMean": reduce("AVERAGE"),
    "ReduceMin": reduce("MIN"),
    "ReduceProd": reduce("MULTIPLY"),
    "ReduceSum": reduce("SUM"),
    "ReduceSumSquare": reduce("SUM_SQUARE"),
    "ArgMax": arg("ARGMAX"),
    "ArgMin": arg("ARGMIN"),
    "CumSum": cumulative("CUMULATIVE_SUMMATION", "HasExclusiveSum"),
    "CumProd": cumulative("CUMULATIVE_PRODUCT", "HasExclusiveProduct"),
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Pad": pad,
    "Tile": tile,
    "DepthToSpace": blocks("DEPTH_TO_SPACE1"),
    "SpaceToDepth": blocks("SPACE_TO_DEPTH1"),
    "ScatterElements": scatter,
    "ScatterND": scatter_nd,
    "TopK": top_k,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "QuantizeLinear": linear("QUANTIZE"),
    "DequantizeLinear": linear("DEQUANTIZE"),
    "NonZero": nonzero,
}


@cache
def node_tests() -> list[Any]:
    """All of ONNX's node tests, which it collects once in a process."""
    with warnings.catch_warnings():  # some overflow while they are put together
        warnings.simplefilter("ignore")
        return list(collect_testcases(None))


def onnx_cases(adapters: Mapping[str, Callable[[Node], Any]]) -> Iterator[OnnxCase]:
    """Every node test that has a DirectML form by one of the adapters."""
    for collected_case in node_tests():
        model = collected_case.model
        node = model.graph.node[0]
        if len(model.graph.node) != 1 or node.op_type not in adapters:
            continue
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        for given, expected in collected_case.data_sets:
            try:
                arrays = iter([array_of(item) for item in given])
                inputs = [next(arrays) if name else None for name in node.input]
                outputs = [array_of(item) for item in expected]
                opset = model.opset_import[0].version
                names = tuple(node.output)
                whole = Node(node.op_type, attributes, inputs, outputs, names, opset)
                adapted = adapters[node.op_type](whole)
            except Inexpressible:
                continue
            yield OnnxCase(collected_case.name, *adapted)


def array_of(item: Any) -> np.ndarray:
    if isinstance(item, np.ndarray | np.generic):
        return np.asarray(item)
    if not isinstance(item, TensorProto):
        raise Inexpressible("a sequence")
    return numpy_helper.to_array(item)
