"""Two small networks, written once for anything that runs operators, and again in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlops import TensorDesc, make

Run = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
"""A function that runs an operator: `reference.run`, `gpu.run` or the `run` of a session."""
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
    """Two convolutions of 3 x 3 with batch normalization, and the input added: the basic block of ResNets."""

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
        image, channel = (TensorDesc(data_type.upper(), sizes) for sizes in (self.input, per_channel))
        filters, around, relu = (channels, channels, 3, 3), [1, 1], make.activation_relu()
        self.convolution = make.convolution(image, filters, StartPadding=around, EndPadding=around)
        self.normalizations = [
            make.batch_normalization(
                image, *[channel] * 4, Spatial=True, Epsilon=1e-5, FusedActivation=activation
            )
            for activation in (relu, None)
        ]
        self.add = make.element_wise_add1(image, image, FusedActivation=relu)

    def run(self, run: Run, data: Mapping[str, Any]) -> Any:
        value = data["input"]
        for number, normalization in enumerate(self.normalizations, 1):
            given = {"InputTensor": value, "FilterTensor": data[f"filter{number}"]}
            filtered = run(self.convolution, given)["OutputTensor"]
            given = {"InputTensor": filtered} | {
                f"{name.title()}Tensor": data[f"{name}{number}"]
                for name in ("mean", "variance", "scale", "bias")
            }
            value = run(normalization, given)["OutputTensor"]
        return run(self.add, {"ATensor": value, "BTensor": data["input"]})["OutputTensor"]

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
    """Attention and a perceptron, each after a normalization and with its input added."""

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
        kind = data_type.upper()
        tokens, one = TensorDesc(kind, self.input), TensorDesc(kind, (1, 1, 1, width))
        self.sequence = TensorDesc(kind, (1, length, width))
        self.products = {
            name: make.gemm(TensorDesc(kind, (1, 1, length, shape[2])), shape, Beta=0)
            for name, shape in self.shapes.items()
            if name.startswith("matrix")
        }
        self.normalization = make.mean_variance_normalization1(
            tokens, one, one, Axes=[3], NormalizeVariance=True, Epsilon=1e-5
        )
        self.add = make.element_wise_add1(tokens, tokens)
        self.attention = make.multihead_attention(
            *[self.sequence] * 3, Scale=(width / heads) ** -0.5, MaskFilterValue=-1e4, HeadCount=heads,
            MaskType="NONE", OutputTensor=self.sequence,
        )  # fmt: skip
        self.activation = make.activation_gelu(TensorDesc(kind, (1, 1, length, 4 * width)))

    def run(self, run: Run, data: Mapping[str, Any]) -> Any:
        def product(value: Any, name: str) -> Any:
            given = {"ATensor": value, "BTensor": data[f"matrix_{name}"]}
            return run(self.products[f"matrix_{name}"], given)["OutputTensor"]

        def normalized(value: Any, number: int) -> Any:
            given = {"ScaleTensor": data[f"scale{number}"], "BiasTensor": data[f"bias{number}"]}
            return run(self.normalization, {"InputTensor": value, **given})["OutputTensor"]

        def added(left: Any, right: Any) -> Any:
            return run(self.add, {"ATensor": left, "BTensor": right})["OutputTensor"]

        value = normalized(data["input"], 1)
        parts = {
            f"{name}Tensor": self.viewed(product(value, name.lower()), self.sequence)
            for name in ("Query", "Key", "Value")
        }
        attended = run(self.attention, parts)["OutputTensor"]
        value = added(product(self.viewed(attended, self.normalization.InputTensor), "out"), data["input"])
        wide = product(normalized(value, 2), "up")
        active = run(self.activation, {"InputTensor": wide})["OutputTensor"]
        return added(product(active, "down"), value)

    @staticmethod
    def viewed(value: Any, tensor: TensorDesc) -> Any:
        """An array in another shape; a handle's buffer is viewed as each description says."""
        return value.reshape(tensor.Sizes) if isinstance(value, np.ndarray) else value

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
