"""Two small networks, written once for whatever runs operators, and beside them the same in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import dmlops
from dmlops import TensorDesc

Run = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
"""What runs an operator: `reference.run`, `gpu.run` or the `run` of a session."""
Weights = dict[str, np.ndarray[Any, Any]]


def draw(shapes: Mapping[str, tuple[int, ...]], data_type: str, seed: int = 0) -> Weights:
    """Arrays of normal numbers, those of matrices and filters scaled to keep their products near 1."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        values = rng.standard_normal(shape, np.float32)
        scale = np.sqrt(np.prod(shape[1:])) if name.startswith("filter") else 1.0
        scale = np.sqrt(shape[-2]) if name.startswith("matrix") else scale
        found[name] = (np.abs(values) + 0.5 if name.startswith("variance") else values / scale).astype(
            data_type
        )
    return found


class ResNetBlock:
    """Two convolutions of 3 x 3 with batch normalisation, and the input added: the basic block of ResNets."""

    def __init__(self, batches: int, channels: int, size: int, data_type: str = "float32") -> None:
        self.input = (batches, channels, size, size)
        per_channel = (1, channels, 1, 1)
        self.shapes = {"input": self.input}
        for number in (1, 2):
            self.shapes |= {
                f"filter{number}": (channels, channels, 3, 3),
                f"mean{number}": per_channel,
                f"variance{number}": per_channel,
                f"scale{number}": per_channel,
                f"bias{number}": per_channel,
            }
        self.data_type = data_type

    def run(self, run: Run, data: Mapping[str, Any]) -> Any:
        image = TensorDesc(self.data_type.upper(), self.input)
        channels = self.input[1]
        per_channel = TensorDesc(self.data_type.upper(), (1, channels, 1, 1))
        convolution = dmlops.Convolution(
            InputTensor=image,
            FilterTensor=TensorDesc(self.data_type.upper(), (channels, channels, 3, 3)),
            Mode="CROSS_CORRELATION",
            Direction="FORWARD",
            Strides=[1, 1],
            Dilations=[1, 1],
            StartPadding=[1, 1],
            EndPadding=[1, 1],
            OutputPadding=[0, 0],
            GroupCount=1,
        ).infer()

        def normalized(value: Any, number: int, activation: Any) -> Any:
            desc = dmlops.BatchNormalization(
                InputTensor=image,
                MeanTensor=per_channel,
                VarianceTensor=per_channel,
                ScaleTensor=per_channel,
                BiasTensor=per_channel,
                Spatial=True,
                Epsilon=1e-5,
                FusedActivation=activation,
            ).infer()
            given = {"InputTensor": value} | {
                f"{name.title()}Tensor": data[f"{name}{number}"]
                for name in ("mean", "variance", "scale", "bias")
            }
            return run(desc, given)["OutputTensor"]

        relu = dmlops.ActivationRelu()
        value = data["input"]
        for number, activation in ((1, relu), (2, None)):
            filtered = run(convolution, {"InputTensor": value, "FilterTensor": data[f"filter{number}"]})
            value = normalized(filtered["OutputTensor"], number, activation)
        add = dmlops.ElementWiseAdd1(ATensor=image, BTensor=image, FusedActivation=relu).infer()
        return run(add, {"ATensor": value, "BTensor": data["input"]})["OutputTensor"]

    def torch(self, torch: Any, data: Mapping[str, Any]) -> Any:
        functional, value = torch.nn.functional, data["input"]
        for number in (1, 2):
            value = functional.conv2d(value, data[f"filter{number}"], padding=1)
            value = functional.batch_norm(
                value,
                *(data[f"{name}{number}"].flatten() for name in ("mean", "variance", "scale", "bias")),
                eps=1e-5,
            )
            value = functional.relu(value if number == 1 else value + data["input"])
        return value


class TransformerLayer:
    """Attention and a perceptron, each after a normalisation and with its input added."""

    def __init__(self, length: int, width: int, heads: int, data_type: str = "float32") -> None:
        self.length, self.width, self.heads, self.data_type = length, width, heads, data_type
        self.input = (1, 1, length, width)
        self.shapes = {
            "input": self.input,
            "matrix_up": (1, 1, width, 4 * width),
            "matrix_down": (1, 1, 4 * width, width),
            **{f"matrix_{name}": (1, 1, width, width) for name in ("query", "key", "value", "out")},
            **{f"{name}{number}": (1, 1, 1, width) for name in ("scale", "bias") for number in (1, 2)},
        }

    def run(self, run: Run, data: Mapping[str, Any]) -> Any:
        kind, width = self.data_type.upper(), self.width
        tokens = TensorDesc(kind, self.input)
        sequence = TensorDesc(kind, (1, self.length, width))

        def product(value: Any, matrix: str, reshaped: TensorDesc | None = None) -> Any:
            right = TensorDesc(kind, self.shapes[matrix])
            left = TensorDesc(kind, (1, 1, self.length, right.Sizes[2]))
            desc = dmlops.Gemm(ATensor=left, BTensor=right, TransA="NONE", TransB="NONE", Alpha=1, Beta=0)
            found = run(desc.infer(), {"ATensor": value, "BTensor": data[matrix]})["OutputTensor"]
            return self.viewed(found, reshaped)

        def normalized(value: Any, number: int) -> Any:
            one = TensorDesc(kind, (1, 1, 1, width))
            desc = dmlops.MeanVarianceNormalization1(
                InputTensor=tokens,
                ScaleTensor=one,
                BiasTensor=one,
                Axes=[3],
                NormalizeVariance=True,
                Epsilon=1e-5,
            ).infer()
            given = {
                "InputTensor": value,
                "ScaleTensor": data[f"scale{number}"],
                "BiasTensor": data[f"bias{number}"],
            }
            return run(desc, given)["OutputTensor"]

        def added(left: Any, right: Any) -> Any:
            desc = dmlops.ElementWiseAdd1(ATensor=tokens, BTensor=tokens).infer()
            return run(desc, {"ATensor": left, "BTensor": right})["OutputTensor"]

        value = normalized(data["input"], 1)
        attention = dmlops.MultiheadAttention(
            QueryTensor=sequence,
            KeyTensor=sequence,
            ValueTensor=sequence,
            OutputTensor=sequence,
            Scale=(width / self.heads) ** -0.5,
            MaskFilterValue=-1e4,
            HeadCount=self.heads,
            MaskType="NONE",
        )
        parts = {
            name: product(value, f"matrix_{name.lower()}", sequence) for name in ("Query", "Key", "Value")
        }
        attended = run(attention, {f"{name}Tensor": part for name, part in parts.items()})["OutputTensor"]
        value = added(product(self.viewed(attended, tokens), "matrix_out"), data["input"])
        wide = product(normalized(value, 2), "matrix_up")
        hidden = TensorDesc(kind, (1, 1, self.length, 4 * width))
        active = run(dmlops.ActivationGelu(InputTensor=hidden).infer(), {"InputTensor": wide})["OutputTensor"]
        return added(product(active, "matrix_down"), value)

    @staticmethod
    def viewed(value: Any, tensor: TensorDesc | None) -> Any:
        """An array in another shape; a handle's buffer is viewed as each description says."""
        return value.reshape(tensor.Sizes) if tensor and isinstance(value, np.ndarray) else value

    def torch(self, torch: Any, data: Mapping[str, Any]) -> Any:
        functional, width = torch.nn.functional, self.width

        def normalized(value: Any, number: int) -> Any:
            scale, bias = data[f"scale{number}"].flatten(), data[f"bias{number}"].flatten()
            return functional.layer_norm(value, (width,), scale, bias, 1e-5)

        def heads(value: Any) -> Any:
            return value.reshape(1, self.length, self.heads, width // self.heads).transpose(1, 2)

        value = normalized(data["input"], 1)
        parts = [heads(value @ data[f"matrix_{name}"]) for name in ("query", "key", "value")]
        attended = functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(self.input)
        value = attended @ data["matrix_out"] + data["input"]
        active = functional.gelu(normalized(value, 2) @ data["matrix_up"])
        return active @ data["matrix_down"] + value
