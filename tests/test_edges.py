"""What is just valid, and what is just not: least values of attributes, sizes that blocks divide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dmlops import Size2d, TensorDesc, make

IMAGE = (1, 1, 4, 4)
POOL: dict[str, Any] = {"WindowSize": [1, 1], "Strides": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]}
LRN: dict[str, Any] = {"CrossChannel": False, "Alpha": 1.0, "Beta": 1.0, "Bias": 1.0}
ROI: dict[str, Any] = {
    "ReductionFunction": "AVERAGE",
    "InterpolationMode": "LINEAR",
    "SpatialScaleX": 1.0,
    "SpatialScaleY": 1.0,
    "OutOfBoundsInputValue": 0.0,
    "MinimumSamplesPerOutput": 1,
    "OutputTensor": (1, 1, 2, 2),
}
ND = {"InputTensor": (1, 4), "IndicesTensor": TensorDesc("UINT32", (3, 1)), "OutputTensor": (1, 3)}
INDICES = {"OutputIndexTensor": "UINT32"}
INT8 = (TensorDesc("INT8", IMAGE), TensorDesc("INT8", (1, 1, 1, 1)))

EDGES: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (make.lp_pooling, {"InputTensor": IMAGE, **POOL}, {"P": 1}, {"P": 0}),
    (make.lp_pooling1, {"InputTensor": IMAGE, **POOL}, {"P": 1}, {"P": 0}),
    (make.max_pooling, {"InputTensor": IMAGE, **POOL}, {"Strides": [1, 1]}, {"Strides": [1, 0]}),
    (make.max_pooling, {"InputTensor": IMAGE, **POOL}, {"WindowSize": [1, 1]}, {"WindowSize": [0, 1]}),
    (make.max_pooling2, {"InputTensor": IMAGE, **POOL}, {"Dilations": [1, 1]}, {"Dilations": [1, 0]}),
    (make.space_to_depth, {"InputTensor": IMAGE}, {"BlockSize": 1}, {"BlockSize": 0}),
    (make.space_to_depth1, {"InputTensor": IMAGE, "Order": "DEPTH_COLUMN_ROW"}, {"BlockSize": 1}, {"BlockSize": 0}),
    (make.depth_to_space, {"InputTensor": IMAGE}, {"BlockSize": 1}, {"BlockSize": 0}),
    (make.depth_to_space1, {"InputTensor": IMAGE, "Order": "DEPTH_COLUMN_ROW"}, {"BlockSize": 1}, {"BlockSize": 0}),
    (make.join, {"Axis": 0}, {"InputTensors": [(2,)]}, {"InputTensors": []}),
    (make.split, {"InputTensor": (2,), "Axis": 0}, {"OutputTensors": [(2,)]}, {"OutputTensors": []}),
    (make.local_response_normalization, {"InputTensor": IMAGE, **LRN}, {"LocalSize": 1}, {"LocalSize": 0}),
    (
        make.local_response_normalization_grad,
        {"InputTensor": IMAGE, "InputGradientTensor": IMAGE, **LRN},
        {"LocalSize": 1},
        {"LocalSize": 0},
    ),
    (make.convolution, {"InputTensor": IMAGE, "FilterTensor": (1, 1, 1, 1)}, {"GroupCount": 1}, {"GroupCount": 0}),
    (make.convolution, {"InputTensor": IMAGE, "FilterTensor": (1, 1, 1, 1)}, {"Strides": [1, 1]}, {"Strides": [0, 1]}),
    (make.convolution_integer, {"InputTensor": INT8[0], "FilterTensor": INT8[1]}, {"GroupCount": 1}, {"GroupCount": 0}),
    (make.top_k, {"InputTensor": (1, 1, 1, 4), "Axis": 3, **INDICES}, {"K": 1}, {"K": 0}),
    (make.top_k1, {"InputTensor": (4,), "Axis": 0, "AxisDirection": "DECREASING", **INDICES}, {"K": 1}, {"K": 0}),
    (
        make.roi_align,
        {"InputTensor": IMAGE, "ROITensor": (1, 4), "BatchIndicesTensor": TensorDesc("UINT32", (1,)), **ROI},
        {"MaximumSamplesPerOutput": 1},
        {"MaximumSamplesPerOutput": 0},
    ),
    (make.gather_nd, {**ND, "IndicesDimensionCount": 2}, {"InputDimensionCount": 1}, {"InputDimensionCount": 0}),
    (
        make.upsample_2d,
        {"InputTensor": IMAGE, "InterpolationMode": "NEAREST_NEIGHBOR"},
        {"ScaleSize": Size2d(Width=1, Height=1)},
        {"ScaleSize": Size2d(Width=1, Height=0)},
    ),
    (make.depth_to_space, {"BlockSize": 3}, {"InputTensor": (1, 9, 2, 2)}, {"InputTensor": (1, 6, 2, 2)}),
    (make.depth_to_space1, {"BlockSize": 3, "Order": "DEPTH_COLUMN_ROW"}, {"InputTensor": (1, 9, 2, 2)}, {"InputTensor": (1, 6, 2, 2)}),
    (make.space_to_depth, {"BlockSize": 3}, {"InputTensor": (1, 1, 3, 6)}, {"InputTensor": (1, 1, 3, 4)}),
    (make.space_to_depth1, {"BlockSize": 3, "Order": "DEPTH_COLUMN_ROW"}, {"InputTensor": (1, 1, 3, 6)}, {"InputTensor": (1, 1, 4, 6)}),
    (make.tile, {"InputTensor": (2,)}, {"Repeats": [1]}, {"Repeats": [0]}),
]  # fmt: skip


IDS = [f"{function.__name__}-{'-'.join(edge)}" for function, _, edge, _ in EDGES]


@pytest.mark.parametrize(("function", "members", "edge", "beyond"), EDGES, ids=IDS)
def test_an_edge_is_valid_and_what_lies_beyond_is_not(
    function: Callable[..., Any], members: dict[str, Any], edge: dict[str, Any], beyond: dict[str, Any]
) -> None:
    assert function(**members | edge).validate() == []
    with pytest.raises(ValueError):
        function(**members | beyond)
