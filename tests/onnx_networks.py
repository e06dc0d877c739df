"""ONNX's node tests of products, windows, normalization, resampling, recurrent networks and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from onnx_cases import Inexpressible, Node, case


def deep(array: Any, rank: int = 4) -> Any:
    """The array with leading dimensions of size 1."""
    return None if array is None else np.reshape(array, (1,) * (rank - np.ndim(array)) + np.shape(array))


def wide(array: Any, rank: int = 4) -> Any:
    """The array with trailing dimensions of size 1."""
    return np.reshape(array, np.shape(array) + (1,) * (rank - np.ndim(array)))


def channels(array: Any, rank: int, axis: int = 1) -> Any:
    """One value, or one for each channel, at that axis."""
    if array is None:
        return None
    shape = [1] * rank
    shape[axis] = -1
    return np.reshape(array, shape)


def optional(node: Node, count: int) -> Sequence[Any]:
    return [*node.inputs, *[None] * count][:count]


def gemm(node: Node) -> Any:
    a, b, c = optional(node, 3)
    y = node.outputs[0]
    transforms = {f"Trans{x}": "TRANSPOSE" if node.attributes.get(f"trans{x}") else "NONE" for x in "AB"}
    members = {
        **transforms,
        "Alpha": node.attributes.get("alpha", 1.0),
        "Beta": node.attributes.get("beta", 1.0),
    }
    added = None if c is None else np.broadcast_to(c, y.shape)
    return case("GEMM", {"ATensor": a, "BTensor": b, "CTensor": added}, {"OutputTensor": y}, **members)


def products(arrays: Sequence[Any], rank: int) -> tuple[Any, Any]:
    """Two stacks of matrices with the same batches."""
    a, b = arrays
    if min(a.ndim, b.ndim) < 2:
        raise Inexpressible("a vector")
    batches = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return tuple(deep(np.broadcast_to(x, batches + x.shape[-2:]), rank) for x in (a, b))  # type: ignore[return-value]


def matrix_product(node: Node) -> Any:
    a, b = products(node.inputs, 4)
    members = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0}
    return case("GEMM", {"ATensor": a, "BTensor": b}, {"OutputTensor": deep(node.outputs[0])}, **members)


def integer_product(node: Node) -> Any:
    a, b, za, zb = optional(node, 4)
    a, b = products((a, b), 4)
    inputs = {"ATensor": a, "BTensor": b}
    inputs |= {"AZeroPointTensor": channels(za, 4, 2), "BZeroPointTensor": channels(zb, 4, 3)}
    return case("MATRIX_MULTIPLY_INTEGER", inputs, {"OutputTensor": deep(node.outputs[0])})


def quantized_product(node: Node) -> Any:
    a, sa, za, b, sb, zb, sy, zy = node.inputs
    a, b = products((a, b), 4)
    inputs = {"ATensor": a, "BTensor": b}
    for name, scale, zero, axis in (("A", sa, za, 2), ("B", sb, zb, 3), ("Output", sy, zy, 2)):
        inputs |= {f"{name}ScaleTensor": channels(scale.astype(np.float32), 4, axis)}
        inputs |= {f"{name}ZeroPointTensor": channels(zero, 4, axis)}
    return case("QUANTIZED_LINEAR_MATRIX_MULTIPLY", inputs, {"OutputTensor": deep(node.outputs[0])})


def windows(
    node: Node, sizes: Sequence[int], window: Sequence[int], results: Sequence[int]
) -> dict[str, Any]:
    """Strides, dilations and paddings; SAME paddings follow from the sizes of the results."""
    dims = len(window)
    strides = list(node.attributes.get("strides", [1] * dims))
    dilations = list(node.attributes.get("dilations", [1] * dims))
    pads = list(node.attributes.get("pads", [0] * (2 * dims)))
    automatic = node.attributes.get("auto_pad", b"NOTSET").decode()
    if automatic.startswith("SAME"):
        for d in range(dims):
            extent = (window[d] - 1) * dilations[d] + 1
            needed = max((results[d] - 1) * strides[d] + extent - sizes[d], 0)
            first = needed // 2 if automatic == "SAME_UPPER" else ceil(needed / 2)
            pads[d], pads[d + dims] = first, needed - first
    return {
        "DimensionCount": dims,
        "Strides": strides,
        "Dilations": dilations,
        "StartPadding": pads[:dims],
        "EndPadding": pads[dims:],
    }


def convolution(node: Node) -> Any:
    x, w, bias = optional(node, 3)
    y = node.outputs[0]
    members = windows(node, x.shape[2:], w.shape[2:], y.shape[2:])
    members |= {
        "Mode": "CROSS_CORRELATION",
        "Direction": "FORWARD",
        "GroupCount": node.attributes.get("group", 1),
    }
    inputs = {"InputTensor": x, "FilterTensor": w, "BiasTensor": channels(bias, x.ndim)}
    padding = {"OutputPadding": [0] * members["DimensionCount"]}
    return case("CONVOLUTION", inputs, {"OutputTensor": y}, **members, **padding)


def transposed_convolution(node: Node) -> Any:
    """OutputPadding is 0 and the output as large as it is, as ONNX Runtime has it."""
    x, w, bias = optional(node, 3)
    y = node.outputs[0]
    members = windows(node, y.shape[2:], w.shape[2:], x.shape[2:])
    if "output_shape" in node.attributes and "pads" not in node.attributes:
        same = node.attributes.get("auto_pad", b"NOTSET").decode()
        for d in range(members["DimensionCount"]):
            extent = (w.shape[d + 2] - 1) * members["Dilations"][d] + 1
            cut = (x.shape[d + 2] - 1) * members["Strides"][d] + extent - y.shape[d + 2]
            cut = max(cut + node.attributes.get("output_padding", [0] * 9)[d], 0)
            first = cut // 2 if same != "SAME_UPPER" else cut - cut // 2
            members["StartPadding"][d], members["EndPadding"][d] = first, cut - first
    members |= {
        "Mode": "CROSS_CORRELATION",
        "Direction": "BACKWARD",
        "GroupCount": node.attributes.get("group", 1),
    }
    inputs = {"InputTensor": x, "FilterTensor": w, "BiasTensor": channels(bias, x.ndim)}
    padding = {"OutputPadding": [0] * members["DimensionCount"]}
    return case("CONVOLUTION", inputs, {"OutputTensor": y}, **members, **padding)


def integer_convolution(node: Node) -> Any:
    x, w, zx, zw = optional(node, 4)
    y = node.outputs[0]
    members = windows(node, x.shape[2:], w.shape[2:], y.shape[2:])
    inputs = {"InputTensor": x, "InputZeroPointTensor": channels(zx, 4), "FilterTensor": w}
    inputs |= {"FilterZeroPointTensor": channels(zw, 4)}
    groups = {"GroupCount": node.attributes.get("group", 1)}
    return case("CONVOLUTION_INTEGER", inputs, {"OutputTensor": y}, **members, **groups)


def quantized_convolution(node: Node) -> Any:
    x, sx, zx, w, sw, zw, sy, zy, bias = optional(node, 9)
    y = node.outputs[0]
    members = windows(node, x.shape[2:], w.shape[2:], y.shape[2:])
    inputs = {"InputTensor": x, "FilterTensor": w, "BiasTensor": channels(bias, 4)}
    for name, scale, zero in (("Input", sx, zx), ("Filter", sw, zw), ("Output", sy, zy)):
        inputs |= {f"{name}ScaleTensor": channels(scale, 4), f"{name}ZeroPointTensor": channels(zero, 4)}
    groups = {"GroupCount": node.attributes.get("group", 1)}
    return case("QUANTIZED_LINEAR_CONVOLUTION", inputs, {"OutputTensor": y}, **members, **groups)


def pooling(operator: str, **more: tuple[str, Any]) -> Callable[[Node], Any]:
    """A pooling; one spatial dimension becomes the second of two. Global poolings have the largest window."""

    def adapt(node: Node) -> Any:
        x, y = node.inputs[0], node.outputs[0]
        window = list(node.attributes.get("kernel_shape", x.shape[2:]))
        members = windows(node, x.shape[2:], window, y.shape[2:])
        members |= {"WindowSize": window}
        outputs = {"OutputTensor": y}
        if len(node.outputs) > 1:
            if node.attributes.get("storage_order"):
                raise Inexpressible("indices by columns")
            outputs["OutputIndicesTensor"] = node.outputs[1].astype(np.uint64)
        if len(window) == 1:
            x = x[:, :, None]
            outputs = {name: array[:, :, None] for name, array in outputs.items()}
            for name, first in (("Strides", 1), ("Dilations", 1), ("WindowSize", 1)):
                members[name] = [first, *members[name]]
            members |= {name: [0, *members[name]] for name in ("StartPadding", "EndPadding")}
            members["DimensionCount"] = 2
        given = {name: node.attributes.get(attribute, other) for name, (attribute, other) in more.items()}
        return case(operator, {"InputTensor": x}, outputs, **members, **given)

    return adapt


def max_unpooling(node: Node) -> Any:
    x, indices, *_ = node.inputs
    y = node.outputs[0]
    if x.ndim != 4 or len(node.inputs) > 2:
        raise Inexpressible("indices into an output of other sizes")
    inputs = {"InputTensor": x, "IndicesTensor": indices.astype(np.uint64)}
    return case("MAX_UNPOOLING", inputs, {"OutputTensor": y})


def fold(node: Node) -> Any:
    x, image, window = node.inputs
    dims = len(window)
    pads = list(node.attributes.get("pads", [0] * (2 * dims)))
    members = {
        "DimensionCount": dims,
        "WindowSizes": [int(size) for size in window],
        "Strides": list(node.attributes.get("strides", [1] * dims)),
        "Dilations": list(node.attributes.get("dilations", [1] * dims)),
        "StartPadding": pads[:dims],
        "EndPadding": pads[dims:],
    }
    assert prod(image) == prod(node.outputs[0].shape[2:])
    return case("FOLD", {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, **members)


def roi_align(node: Node) -> Any:
    x, regions, batches = node.inputs
    half = node.attributes.get("coordinate_transformation_mode", b"half_pixel") == b"half_pixel"
    if node.attributes.get("mode", b"avg") == b"max":
        raise Inexpressible("the greatest of weighted pixels, which are no samples")
    samples = node.attributes.get("sampling_ratio", 0)
    scale = node.attributes.get("spatial_scale", 1.0)
    members = {
        "ReductionFunction": "AVERAGE",
        "InterpolationMode": "LINEAR",
        "SpatialScaleX": scale,
        "SpatialScaleY": scale,
        "InputPixelOffset": 0.5 if half else 0.0,
        "OutputPixelOffset": -0.5,
        "OutOfBoundsInputValue": 0.0,
        "MinimumSamplesPerOutput": samples or 1,
        "MaximumSamplesPerOutput": samples or 4294967295,
        "AlignRegionsToCorners": False,
    }
    inputs = {"InputTensor": x, "ROITensor": regions, "BatchIndicesTensor": batches.astype(np.uint32)}
    return case("ROI_ALIGN1", inputs, {"OutputTensor": node.outputs[0]}, **members)


def resize(node: Node) -> Any:
    x = node.inputs[0]
    _, _, scales, sizes = optional(node, 4)
    if node.operator == "Upsample":
        scales, sizes = node.inputs[1], None
    y = node.outputs[0]
    mode = node.attributes.get("mode", b"nearest").decode()
    rule = node.attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    if mode == "cubic" or rule in ("tf_crop_and_resize", "half_pixel_symmetric"):
        raise Inexpressible(f"{mode}, {rule}")
    axes = [int(a) % x.ndim for a in node.attributes.get("axes", range(x.ndim))]
    factors = [1.0] * x.ndim
    for number, axis in enumerate(axes):
        factors[axis] = y.shape[axis] / x.shape[axis] if scales is None else float(scales[number])
    if node.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        wanted = [int(size) / x.shape[axis] for size, axis in zip(sizes, axes, strict=True)]
        chosen = min(wanted) if node.attributes["keep_aspect_ratio_policy"] == b"not_larger" else max(wanted)
        factors = [chosen if axis in axes else 1.0 for axis in range(x.ndim)]
    inset, outset = [0.5] * x.ndim, [-0.5] * x.ndim
    if node.operator == "Upsample" or rule == "asymmetric":
        inset, outset = [0.0] * x.ndim, [0.0] * x.ndim
    if rule == "align_corners":
        inset, outset = [0.0] * x.ndim, [0.0] * x.ndim
        whole = [f * size for f, size in zip(factors, x.shape, strict=True)]
        factors = [(w - 1) / (size - 1) if size > 1 else 1.0 for w, size in zip(whole, x.shape, strict=True)]
    if rule == "pytorch_half_pixel" and 1 in y.shape[2:]:
        axis = [axis for axis, size in enumerate(y.shape) if size == 1 and x.shape[axis] > 1]
        for one in axis:  # such an axis is read at 0
            factors[one], inset[one], outset[one] = 1.0, 0.0, 0.0
    rounding = "DECREASING"
    if mode == "nearest":
        nearest = node.attributes.get("nearest_mode", b"round_prefer_floor").decode()
        if node.operator == "Upsample":
            nearest = "floor"
        if nearest.startswith("round"):  # to the next whole place, ties down or up
            rounding = "INCREASING" if nearest == "round_prefer_floor" else "DECREASING"
            shift = 0.5 if rounding == "INCREASING" else -0.5
            inset = [offset + shift for offset in inset]
        else:
            rounding = "INCREASING" if nearest == "ceil" else "DECREASING"
    antialiased = bool(node.attributes.get("antialias", 0))
    if antialiased and any(0.5 <= factor < 1 for factor in factors):
        raise Inexpressible("antialiasing begins below one half")
    members = {
        "InterpolationMode": "LINEAR" if mode == "linear" else "NEAREST_NEIGHBOR",
        "RoundingDirection": rounding,
        "DimensionCount": x.ndim,
        "Scales": factors,
        "InputPixelOffsets": inset,
        "OutputPixelOffsets": outset,
    }
    if antialiased:
        return case("RESAMPLE3", {"InputTensor": x}, {"OutputTensor": y}, **members, Antialiased=True)
    return case("RESAMPLE2", {"InputTensor": x}, {"OutputTensor": y}, **members)


DIRECTIONS = {b"forward": "FORWARD", b"reverse": "BACKWARD", b"bidirectional": "BIDIRECTIONAL"}


def recurrent(operator: str, functions: Sequence[str]) -> Callable[[Node], Any]:
    def adapt(node: Node) -> Any:
        x, w, r, bias, lengths, hidden, cell, peepholes = optional(node, 8)
        if node.attributes.get("layout"):
            raise Inexpressible("batches first")
        direction = DIRECTIONS[node.attributes.get("direction", b"forward")]
        count = 2 if direction == "BIDIRECTIONAL" else 1
        activations = [{"type": f"ACTIVATION_{name}", "desc": {}} for name in functions] * count
        members: dict[str, Any] = {
            "ActivationDescCount": len(activations),
            "ActivationDescs": activations,
            "Direction": direction,
        }
        batches = x.shape[1]
        inputs = {"InputTensor": deep(x), "WeightTensor": deep(w), "RecurrenceTensor": deep(r)}
        inputs |= {"BiasTensor": deep(bias), "HiddenInitTensor": deep(hidden)}
        if lengths is not None:
            inputs["SequenceLengthsTensor"] = lengths.astype(np.uint32).reshape(1, 1, 1, batches)
        if operator == "GRU":
            members["LinearBeforeReset"] = bool(node.attributes.get("linear_before_reset"))
        if operator == "LSTM":
            inputs |= {"CellMemInitTensor": deep(cell), "PeepholeTensor": deep(peepholes)}
            clip = node.attributes.get("clip")
            members |= {"ClipThreshold": clip or 0.0, "UseClipThreshold": clip is not None}
            members["CoupleInputForget"] = bool(node.attributes.get("input_forget"))
        names = ["OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor"]
        given = [name for name, wanted in zip(names, node.names, strict=False) if wanted]
        outputs = {name: deep(y) for name, y in zip(given, node.outputs, strict=True)}
        return case(operator, inputs, outputs, **members)

    return adapt


def normalized(axes: Callable[[Node, int], Sequence[int]], per_channel: bool) -> Callable[[Node], Any]:
    """Layer and instance normalization, and plain mean and variance; only what is normalized is compared."""

    def adapt(node: Node) -> Any:
        x, scale, bias = optional(node, 3)
        if per_channel:
            scale, bias = channels(scale, x.ndim), channels(bias, x.ndim)
        default = 1e-9 if node.operator == "MeanVarianceNormalization" else 1e-5
        members = {
            "Axes": sorted(axes(node, x.ndim)),
            "NormalizeVariance": True,
            "Epsilon": node.attributes.get("epsilon", default),
        }
        inputs = {"InputTensor": x, "ScaleTensor": deep(scale, x.ndim), "BiasTensor": deep(bias, x.ndim)}
        return case("MEAN_VARIANCE_NORMALIZATION1", inputs, {"OutputTensor": node.outputs[0]}, **members)

    return adapt


def root_mean_square(node: Node) -> Any:
    x, scale = node.inputs
    axis = node.attributes.get("axis", -1) % x.ndim
    members = {
        "Axes": list(range(axis, x.ndim)),
        "UseMean": False,
        "UseVariance": True,
        "Epsilon": node.attributes.get("epsilon", 1e-5),
    }
    inputs = {"InputTensor": x, "ScaleTensor": deep(scale, x.ndim)}
    return case("MEAN_VARIANCE_NORMALIZATION2", inputs, {"OutputTensor": node.outputs[0]}, **members)


def group_normalization(node: Node) -> Any:
    """Groups become separate channels; one scale each, so that they must be the same in a group."""
    x, scale, bias = node.inputs
    groups = node.attributes["num_groups"]
    shape = (x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:]))
    inputs = {"InputTensor": x.reshape(shape)}
    inputs |= {"ScaleTensor": scale.reshape(1, groups, -1, 1), "BiasTensor": bias.reshape(1, groups, -1, 1)}
    members = {"Axes": [2, 3], "NormalizeVariance": True, "Epsilon": node.attributes.get("epsilon", 1e-5)}
    outputs = {"OutputTensor": node.outputs[0].reshape(shape)}
    return case("MEAN_VARIANCE_NORMALIZATION1", inputs, outputs, **members)


def batch_normalization(node: Node) -> Any:
    x, scale, bias, mean, variance = node.inputs
    epsilon = node.attributes.get("epsilon", 1e-5)
    given = {"InputTensor": x, "ScaleTensor": channels(scale, x.ndim), "BiasTensor": channels(bias, x.ndim)}
    if node.attributes.get("training_mode"):
        momentum = node.attributes.get("momentum", 0.9)
        y, new_mean, new_variance = node.outputs
        outputs = {"OutputTensor": y}  # what is kept is mixed with what was; unmixed, it is the input's
        for name, new, old in (("Mean", new_mean, mean), ("Variance", new_variance, variance)):
            unmixed = (new.astype(np.float64) - momentum * old) / (1 - momentum)
            outputs[f"Output{name}Tensor"] = channels(unmixed.astype(x.dtype), x.ndim)
        return case("BATCH_NORMALIZATION_TRAINING", given, outputs, Epsilon=epsilon)
    given |= {"MeanTensor": channels(mean, x.ndim), "VarianceTensor": channels(variance, x.ndim)}
    outputs = {"OutputTensor": node.outputs[0]}
    return case("BATCH_NORMALIZATION", given, outputs, Spatial=True, Epsilon=epsilon)


def lp_normalization(node: Node) -> Any:
    x = node.inputs[0]
    members = {
        "Axis": node.attributes.get("axis", -1) % x.ndim,
        "Epsilon": 1e-12,
        "P": node.attributes.get("p", 2),
    }
    return case("LP_NORMALIZATION", {"InputTensor": x}, {"OutputTensor": node.outputs[0]}, **members)


def local_response(node: Node) -> Any:
    members = {
        "CrossChannel": True,
        "LocalSize": node.attributes["size"],
        "Alpha": node.attributes.get("alpha", 1e-4),
        "Beta": node.attributes.get("beta", 0.75),
        "Bias": node.attributes.get("bias", 1.0),
    }
    outputs = {"OutputTensor": node.outputs[0]}
    return case("LOCAL_RESPONSE_NORMALIZATION", {"InputTensor": node.inputs[0]}, outputs, **members)


def dynamic_quantization(node: Node) -> Any:
    y, scale, point = node.outputs
    outputs = {"OutputTensor": y, "OutputScaleTensor": scale, "OutputZeroPointTensor": point}
    outputs = {name: deep(array, y.ndim) for name, array in outputs.items()}
    return case("DYNAMIC_QUANTIZE_LINEAR", {"InputTensor": node.inputs[0]}, outputs)


def adam(node: Node) -> Any:
    """What ONNX adds to the gradient for decay is added here."""
    if len(node.inputs) != 6:
        raise Inexpressible("several tensors")
    rate, step, x, gradient, first, second = node.inputs
    if not step:
        raise Inexpressible("step 0, where the page divides 0 by 0 and ONNX corrects nothing")
    gradient = gradient + np.float32(node.attributes.get("norm_coefficient", 0.0)) * x
    inputs = {"InputParametersTensor": x, "InputFirstMomentTensor": first, "InputSecondMomentTensor": second}
    inputs = {name: deep(array) for name, array in {**inputs, "GradientTensor": gradient}.items()}
    inputs["TrainingStepTensor"] = np.reshape(step, (1, 1, 1, 1)).astype(np.uint32)
    names = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")
    outputs = {name: deep(array) for name, array in zip(names, node.outputs, strict=True)}
    members = {
        "LearningRate": float(rate),
        "Beta1": node.attributes.get("alpha", 0.9),
        "Beta2": node.attributes.get("beta", 0.999),
        "Epsilon": node.attributes.get("epsilon", 1e-6),
    }
    return case("ADAM_OPTIMIZER", inputs, outputs, **members)


def attention(node: Node) -> Any:
    """Grouped heads, float masks as the bias, truth values as the mask, earlier keys."""
    q, k, v, mask, past_key, past_value, padded = optional(node, 7)
    if not node.attributes.keys() <= {"scale", "q_num_heads", "kv_num_heads"} or padded is not None:
        raise Inexpressible("causal, in a window, softly capped, padded, or with its scores")
    if len(node.outputs) not in (1, 3):
        raise Inexpressible("with its scores")
    heads, groups = node.attributes.get("q_num_heads"), node.attributes.get("kv_num_heads")

    def joined(array: np.ndarray) -> np.ndarray:
        if array.ndim == 3:
            return array
        return array.swapaxes(1, 2).reshape(array.shape[0], array.shape[2], -1)

    if q.ndim == 4:
        heads, groups = q.shape[1], k.shape[1]
    width = q.shape[-1] if q.ndim == 4 else q.shape[-1] // heads
    inputs = {"QueryTensor": joined(q), "KeyTensor": joined(k), "ValueTensor": joined(v)}
    inputs |= {"PastKeyTensor": past_key, "PastValueTensor": past_value}
    members: dict[str, Any] = {
        "Scale": node.attributes.get("scale", width**-0.5),
        "MaskFilterValue": -10000.0,
        "QueryHeadCount": heads,
        "KeyValueHeadCount": groups,
        "MaskType": "NONE",
    }
    if mask is not None:
        keys = k.shape[-2 if k.ndim == 4 else 1] + (0 if past_key is None else past_key.shape[2])
        queries = q.shape[-2 if q.ndim == 4 else 1]
        if mask.shape[-1] != keys:
            raise Inexpressible("a mask of other sizes")
        whole = np.broadcast_to(mask, (q.shape[0], heads, queries, keys))
        if mask.dtype == bool:
            if not whole.any(-1).all():
                raise Inexpressible("a query without keys, which is 0 in ONNX")
            inputs["MaskTensor"], members["MaskType"] = whole.astype(np.int32), "BOOLEAN"
        else:
            inputs["RelativePositionBiasTensor"] = whole
    names = ("OutputTensor", "OutputPresentKeyTensor", "OutputPresentValueTensor")
    outputs = dict(zip(names, node.outputs, strict=False))
    outputs["OutputTensor"] = joined(outputs["OutputTensor"])
    return case("MULTIHEAD_ATTENTION1", inputs, outputs, **members)


ADAPTERS: dict[str, Callable[[Node], Any]] = {
    "Gemm": gemm,
    "MatMul": matrix_product,
    "MatMulInteger": integer_product,
    "QLinearMatMul": quantized_product,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "ConvInteger": integer_convolution,
    "QLinearConv": quantized_convolution,
    "AveragePool": pooling("AVERAGE_POOLING1", IncludePadding=("count_include_pad", 0)),
    "GlobalAveragePool": pooling("AVERAGE_POOLING1", IncludePadding=("count_include_pad", 0)),
    "MaxPool": pooling("MAX_POOLING2"),
    "GlobalMaxPool": pooling("MAX_POOLING2"),
    "LpPool": pooling("LP_POOLING1", P=("p", 2)),
    "MaxUnpool": max_unpooling,
    "Col2Im": fold,
    "RoiAlign": roi_align,
    "Resize": resize,
    "Upsample": resize,
    "RNN": recurrent("RNN", ["TANH"]),
    "GRU": recurrent("GRU", ["SIGMOID", "TANH"]),
    "LSTM": recurrent("LSTM", ["SIGMOID", "TANH", "TANH"]),
    "LayerNormalization": normalized(
        lambda node, rank: range(node.attributes.get("axis", -1) % rank, rank), per_channel=False
    ),
    "InstanceNormalization": normalized(lambda _, rank: range(2, rank), per_channel=True),
    "MeanVarianceNormalization": normalized(
        lambda node, _: node.attributes.get("axes", [0, 2, 3]), per_channel=False
    ),
    "RMSNormalization": root_mean_square,
    "GroupNormalization": group_normalization,
    "BatchNormalization": batch_normalization,
    "LpNormalization": lp_normalization,
    "LRN": local_response,
    "DynamicQuantizeLinear": dynamic_quantization,
    "Adam": adam,
    "Attention": attention,
}
