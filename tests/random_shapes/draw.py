"""Random sizes, tensors and members."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

import numpy as np

from dmlops import Description, TensorDataType, TensorDesc, make

# Around the sizes of vectors, waves, tiles and parts
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 96, 100, 127, 128, 129,
         160, 192, 200, 255, 256, 257, 320, 500, 512, 513, 1000)  # fmt: skip
LONG = (2048, 4097, 10007, 40000, 70001)  # rows that several thread groups share
MOST_PRODUCTS = 1 << 25  # of all sums: NumPy takes seconds for more
MOST_ELEMENTS = 1 << 20
FLOATS = ("FLOAT32", "FLOAT16")
BYTES = ("INT8", "UINT8")
CODED = ("INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8")  # quantized numbers
INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
NUMBERS = (*FLOATS, *INTEGERS)
ANY = ("FLOAT64", *NUMBERS)
INDICES = ("INT64", "INT32", "UINT64", "UINT32")
DIRECTIONS = ("INCREASING", "DECREASING")
ORDERS = ("DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH")
ACTIVATIONS = (  # to be fused; continuous ones, as with others the last bit of a sum decides
    "celu", "elu", "gelu", "hard_sigmoid", "identity", "leaky_relu", "relu", "scaled_elu", "scaled_tanh",
    "sigmoid", "softplus", "softsign", "tanh",
)  # fmt: skip

Sizes = Sequence[int]


class Draw(Random):
    """Random sizes, tensors and members."""

    def maybe(self, part: float = 0.5) -> bool:
        return self.random() < part

    def size(self, most: int) -> int:
        return self.choice([size for size in SIZES if size <= most])

    def sizes(self, rank: int, most: int) -> list[int]:
        """Of a tensor that is not too large."""
        drawn = [self.size(most) for _ in range(rank)]
        if most >= 500 and self.maybe(0.1):
            drawn[self.randrange(rank)] = self.choice(LONG)
        while prod(drawn) > MOST_ELEMENTS:
            drawn = [-(-size // 2) for size in drawn]
        return drawn

    def tensor(self, kind: str, sizes: Sizes, shared: Sizes = ()) -> TensorDesc:
        """A tensor; along the `shared` axes all elements are one."""
        order = list(range(len(sizes)))
        if self.maybe(0.2):
            self.shuffle(order)
        elif len(sizes) > 2 and self.maybe(0.2):
            order.append(order.pop(1))  # channels last
        packed = not shared and order == sorted(order) and self.maybe(0.75)
        strides, step = [0] * len(sizes), 1
        for axis in reversed(order):
            if axis not in shared:
                strides[axis] = step
                step = step * sizes[axis] + (self.choice((0, 0, 0, 1, 3, 8)))
        return TensorDesc(kind, tuple(sizes), Strides=None if packed else tuple(strides))

    def scalar(self, kind: str) -> float:
        """A number that the data type has, also one at its limits."""
        data_type = TensorDataType[kind]
        if data_type.numpy.kind == "f":
            return self.choice((0.0, 1.0, -0.5, 2.0, self.uniform(-3, 3)))
        limits = np.iinfo(data_type.numpy)
        return self.choice((0, 1, 3, int(limits.min), int(limits.max), self.randint(0, 100)))

    def activation(self) -> Description | None:
        if self.maybe(0.6):
            return None
        made: Description = getattr(make, f"activation_{self.choice(ACTIVATIONS)}")()
        return made
