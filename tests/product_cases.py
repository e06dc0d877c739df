"""Products and convolutions of floats and of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import dmlops
from dmlops import TensorDesc, make
from tensors import of, permuted

POINT = {"StartPadding": 0, "EndPadding": 0}
F, H, S, U = (partial(of, kind) for kind in ("FLOAT32", "FLOAT16", "INT8", "UINT8"))


def product(
    a: TensorDesc, b: TensorDesc, c: TensorDesc | None, turns: str = "NN", activation: Any = None
) -> Any:
    first, second = ({"N": "NONE", "T": "TRANSPOSE"}[turn] for turn in turns)
    return make.gemm(a, b, c, TransA=first, TransB=second, Alpha=0.5, Beta=2.0, FusedActivation=activation)


def channels_last(desc: Any) -> Any:
    """The description with the channels of input and output innermost in memory."""

    def last(tensor: TensorDesc) -> TensorDesc:
        order = [0, *range(2, len(tensor.Sizes)), 1]
        return replace(tensor, Strides=permuted(tensor.Sizes, order))

    return replace(desc, InputTensor=last(desc.InputTensor), OutputTensor=last(desc.OutputTensor))


LISTS = {"StartPadding": 1, "EndPadding": 1, "Strides": 1, "Dilations": 1}


def lists_of(members: Mapping[str, Any], dims: int, usual: Mapping[str, int] = LISTS) -> dict[str, Any]:
    """Those of a convolution: with a border of 1, unless others are given; an integer is the same along all
    dimensions."""
    given = {name: members.get(name, value) for name, value in usual.items()}
    return {name: one if isinstance(one, list) else [one] * dims for name, one in given.items()}


def convolution(data: TensorDesc, weights: TensorDesc, *, bias: bool = True, **members: Any) -> Any:
    dims = len(data.Sizes) - 2
    is_back = members.get("Direction") == "BACKWARD"
    filters = weights.Sizes[1] * members.get("GroupCount", 1) if is_back else weights.Sizes[0]
    added = TensorDesc(data.DataType, (1, filters) + (1,) * dims) if bias else None
    lists = lists_of(members, dims, {**LISTS, "OutputPadding": 0})
    return make.convolution(data, weights, added, **members | lists)


def spread(data: TensorDesc, weights: TensorDesc, **members: Any) -> Any:
    return convolution(data, weights, Direction="BACKWARD", **members)


def of_many_images(desc: Any) -> Any:
    """The same with so many of them that no window slides where there are rows for tiles."""
    tensors = {name: getattr(desc, name) for name in ("InputTensor", "OutputTensor")}
    sizes = {name: (4096 * one.Sizes[0], *one.Sizes[1:]) for name, one in tensors.items()}
    return replace(desc, **{name: replace(one, Sizes=sizes[name]) for name, one in tensors.items()})


def byte_product(a: TensorDesc, b: TensorDesc, zeros: str = "", **scales: TensorDesc) -> Any:
    """A product; `zeros` has A and B for a zero point of each, a and b for one of each row and column."""
    sizes = {"A": (1, 1), "B": (1, 1), "a": (a.Sizes[-2], 1), "b": (1, b.Sizes[-1])}
    types = {"A": a.DataType, "B": b.DataType}
    points = {f"{one.upper()}ZeroPointTensor": TensorDesc(types[one.upper()], sizes[one]) for one in zeros}
    kind = dmlops.MatrixMultiplyIntegerToFloat if scales else dmlops.MatrixMultiplyInteger
    return kind(ATensor=a, BTensor=b, **points, **scales).infer()


def byte_convolution(data: TensorDesc, weights: TensorDesc, zeros: str = "") -> Any:
    """A convolution of images; `zeros` has I for a zero point of the input, f for one of each filter."""
    points = {
        "I": ("InputZeroPointTensor", TensorDesc(data.DataType, (1, 1, 1, 1))),
        "f": ("FilterZeroPointTensor", TensorDesc(weights.DataType, (1, weights.Sizes[0], 1, 1))),
    }
    given = {**dict(points[one] for one in zeros), **lists_of({}, 2)}
    return make.convolution_integer(data, weights, OutputTensor="INT32", GroupCount=1, **given)
