"""Contractions of bytes with zero points: tiles equal the definition in every bit.

This holds for ordinary arithmetic and for cooperative matrices; on a device without them, their tiles are
multiplied like any others.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from cooperative_matrix_apart import taken_apart
from dmlops import TensorDesc, gpu
from dmlops.gpu import compiler, shader
from dmlops.gpu.plans import backend, gemm_view, tile_cost
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device, run_in_guard_zones
from gpu_results import check_results
from tensors import last, of
from test_schedules_contraction import passes, tiles_of_any_size
from test_schedules_sliding import in_blocks

__all__ = ["device", "tiles_of_any_size"]  # fixtures


F, S, U = "FLOAT32", "INT8", "UINT8"


def product(kind: str, a: TensorDesc, b: TensorDesc, zeros: str = "", **given: Any) -> Any:
    """A product; `zeros` has A and B for a zero point of each, a and b for one of each row and column."""
    sizes = {"A": (1, 1), "B": (1, 1), "a": (a.Sizes[-2], 1), "b": (1, b.Sizes[-1])}
    types = {"A": a.DataType, "B": b.DataType}
    for letter in zeros:
        given[f"{letter.upper()}ZeroPointTensor"] = TensorDesc(types[letter.upper()], sizes[letter])
    return getattr(dmlops, kind)(ATensor=a, BTensor=b, **given).infer()


def convolution(data: TensorDesc, weights: TensorDesc, zeros: str = "", **given: Any) -> Any:
    """A convolution; `zeros` has I and F for a zero point of each factor, f for one of each filter, and q if
    the output is quantized."""
    dims, kind = len(data.Sizes) - 2, dmlops.ConvolutionInteger
    each = {"Strides": 1, "Dilations": 1, "StartPadding": 1, "EndPadding": 1}
    lists = {name: [given.pop(name, value)] * dims for name, value in each.items()}
    one, filters = (1,) * (dims + 2), (1, weights.Sizes[0], *[1] * dims)
    points = {
        "I": ("Input", data.DataType, one),
        "F": ("Filter", weights.DataType, one),
        "f": ("Filter", weights.DataType, filters),
        "q": ("Output", "UINT8", one),
    }
    for name, data_type, sizes in (points[letter] for letter in zeros):
        given[f"{name}ZeroPointTensor"] = TensorDesc(data_type, sizes)
    if "q" in zeros:
        kind, scales = dmlops.QuantizedLinearConvolution, {"Input": one, "Filter": filters, "Output": one}
        given |= {f"{name}ScaleTensor": of(F, *sizes) for name, sizes in scales.items()}
        given["BiasTensor"] = of("INT32", *filters)
    given = {"GroupCount": 1, "DimensionCount": dims, **lists, **given}
    return kind(InputTensor=data, FilterTensor=weights, **given).infer()


SCALES = {"AScaleTensor": of(F, 18, 1), "BScaleTensor": of(F, 1, 1)}
QUANTIZED = SCALES | {"OutputScaleTensor": of(F, 1, 1), "OutputZeroPointTensor": of(U, 1, 1)}
CASES = {
    "packed": product("MatrixMultiplyInteger", of(U, 2, 20, 24), of(S, 2, 24, 136), "AB"),
    "odd sizes": product("MatrixMultiplyInteger", of(S, 1, 1, 19, 17), of(S, 1, 1, 17, 131)),
    "points of rows and columns": product(
        "MatrixMultiplyInteger", of(U, 3, 21, 300), of(U, 3, 300, 30), "ab"
    ),
    "transposed, with gaps": product(
        "MatrixMultiplyInteger", of(S, 18, 30, strides=(1, 20)), of(U, 30, 22, strides=(1, 64)),
        "aB", OutputTensor=of("INT32", 18, 22, strides=(1, 19)),
    ),
    "one matrix for all": product(
        "MatrixMultiplyInteger", of(S, 3, 20, 16, strides=(0, 16, 1)), of(S, 3, 16, 20), "Ab"
    ),
    "in parts": product("MatrixMultiplyInteger", of(U, 5, 1030), of(S, 1030, 12), "ab"),
    "in parts, odd": product("MatrixMultiplyInteger", of(U, 5, 2049), of(S, 2049, 13), "ab"),
    "to floats": product(
        "MatrixMultiplyIntegerToFloat", of(U, 18, 20), of(S, 20, 24), "ab", **SCALES, BiasTensor=of(F, 18, 24)
    ),
    "to halves": product(
        "MatrixMultiplyIntegerToFloat", of(S, 18, 33), of(S, 33, 24), "B",
        AScaleTensor=of("FLOAT16", 1, 1), BScaleTensor=of("FLOAT16", 1, 24),
    ),
    "quantized": product("QuantizedLinearMatrixMultiply", of(U, 18, 40), of(S, 40, 28), "Ab", **QUANTIZED),
    "quantized, odd": product(
        "QuantizedLinearMatrixMultiply", of(U, 18, 40), of(S, 40, 27), "aB", **QUANTIZED
    ),
}  # fmt: skip
WINDOWS = {
    "whole places": convolution(of(U, 2, 16, 9, 10), of(S, 20, 16, 3, 3), "If"),
    "few channels": convolution(of(U, 1, 3, 11, 9), of(U, 24, 3, 3, 5), "I", Strides=2),
    "one place": convolution(of(S, 2, 32, 6, 8), of(S, 20, 32, 1, 1), StartPadding=0, EndPadding=0),
    "groups, dilated": convolution(of(U, 2, 24, 7, 7), of(U, 32, 12, 3, 3), "IF", Dilations=2, GroupCount=2),
    "a line": convolution(
        of(U, 2, 20, 40), of(S, 24, 20, 5), InputZeroPointTensor=of(U, 1), FilterZeroPointTensor=of(S, 24)
    ),
    "a window, in parts": convolution(of(S, 1, 64, 6, 6), of(S, 36, 64, 3, 3)),
    "a window, in parts, odd": convolution(of(U, 1, 60, 7, 7), of(S, 35, 60, 3, 3)),
    "quantized window": convolution(of(U, 2, 16, 8, 8), of(S, 20, 16, 3, 3), "Iq"),
}  # fmt: skip
BY_CHANNEL = convolution(of(U, 2, 16, 12, 16), of(S, 16, 1, 3, 3), "Iq", GroupCount=16)
CHANNELS_LAST = last(U, 2, 16, 12, 16)
SLIDING = {
    "by channel": convolution(of(U, 2, 16, 12, 16), of(S, 16, 1, 3, 3), "If", GroupCount=16),
    "by channel, odd": convolution(of(S, 2, 16, 13, 15), of(U, 16, 1, 5, 5), GroupCount=16),
    "quantized by channel": BY_CHANNEL,
    "in pairs": convolution(of(U, 2, 16, 12, 10), of(S, 16, 1, 3, 3), "Iq", GroupCount=16),
    "every other, odd": convolution(of(U, 2, 16, 13, 15), of(S, 16, 1, 3, 3), "Iq", GroupCount=16, Strides=2),
    "groups of four": convolution(of(U, 2, 16, 12, 16), of(S, 16, 4, 3, 3), "Ifq", GroupCount=4),
    "a line by channel": convolution(
        of(U, 2, 20, 40), of(S, 20, 1, 5), GroupCount=20, InputZeroPointTensor=of(U, 1)
    ),
    "channels last in": replace(BY_CHANNEL, InputTensor=CHANNELS_LAST),
    "channels last out": replace(BY_CHANNEL, OutputTensor=CHANNELS_LAST),
    "channels last": replace(BY_CHANNEL, InputTensor=CHANNELS_LAST, OutputTensor=CHANNELS_LAST),
}
LARGE = convolution(of(S, 1, 256, 96, 96), of(S, 256, 256, 3, 3))
"""Of floats, the filter would be put in order first."""


IN_PARTS = {"in parts", "in parts, odd", "a window, in parts", "a window, in parts, odd"}
UNITS, DOTS = Capability.COOPERATIVE_MATRIX_INT8, Capability.DOT_PRODUCTS


def multiplying(desc: Any, capabilities: Capability = NO_CAPABILITIES) -> dict[str, Any]:
    """The macros of the dispatch that multiplies the tiles of a product."""
    (found,) = (one for one in gpu.plan(desc, capabilities).dispatches if one.defines["PASS"] == 1)
    return dict(found.defines)


def test_what_is_worth_a_tile() -> None:
    for name, desc in (CASES | WINDOWS).items():
        assert [one for one in desc.validate("6.4") if not one.advice] == [], name
        first = 2 if name in WINDOWS else 1
        packing = [first + 2] * (name in WINDOWS)
        assert passes(desc) == packing + [first] + [first + 1] * (name in IN_PARTS), name
    small = product("MatrixMultiplyInteger", of(S, 3, 4), of(S, 4, 7))
    wide = product("MatrixMultiplyIntegerToFloat", of("INT16", 18, 40), of(S, 40, 24), **SCALES)
    long = product("MatrixMultiplyInteger", of(S, 8, 33026), of(S, 33026, 8))
    gaps = of(S, 20, 16, 3, 3, strides=(256, 16, 4, 1))  # between rows of the window
    uneven = convolution(of(S, 2, 16, 9, 10), gaps)
    assert [passes(one) for one in (small, wide, long)] == [[0]] * 3
    assert [passes(one) for one in (uneven, LARGE)] == [[4, 2]] * 2


def filled(tensor: TensorDesc, rng: np.random.Generator) -> np.ndarray:
    """Numbers of all sizes, those farthest from zero among them, the same along dimensions of stride 0."""
    strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
    sizes = [1 if stride == 0 else size for size, stride in strides]
    type_ = np.dtype(tensor.DataType.numpy)
    if type_.kind == "f":
        numbers: np.ndarray = rng.uniform(0.5, 2, sizes)
    else:
        ends = np.iinfo(np.int16 if type_.itemsize > 1 else type_)
        numbers = rng.integers(ends.min, ends.max + 1, sizes)
        numbers = np.where(rng.random(sizes) < 0.2, ends.min, numbers)
    return np.broadcast_to(numbers, tensor.Sizes).astype(type_)


def inputs_of(desc: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    tensors = {one.name: getattr(desc, one.name) for one in desc.MEMBERS if one.role == "input"}
    arrays = {name: filled(one, rng) for name, one in tensors.items() if one is not None}
    if "OutputScaleTensor" in arrays:
        arrays["OutputScaleTensor"] *= 1000  # most results are then within the type
    return arrays


@pytest.mark.parametrize("block", [(2, 1, 1, 1), (2, 4, 4, 4), (1, 1, 4, 2), (0, 1, 1, 8)])
@pytest.mark.parametrize("name", SLIDING)
def test_windows_with_few_filters_slide(
    name: str, block: tuple[int, int, int, int], device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, *block)
    desc = SLIDING[name]
    (dispatch,) = gpu.plan(desc).dispatches
    assert dispatch.defines["UNROLLED"] in (block[0], len(desc.InputTensor.Sizes) - 2)
    check_results(device, desc, inputs_of(desc))


def test_small_convolutions_slide(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, desc in WINDOWS.items():
        assert passes(desc) == [1], name
        check_results(device, desc, inputs_of(desc))


def test_sums_as_large_as_they_may_be(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product is 255 * 255: no float holds their sum, and integers of 32 bits only just."""
    most = gemm_view.MOST_BYTES
    desc = product("MatrixMultiplyInteger", of("UINT8", 4, most), of(S, most, 4), "AB")
    a, b = np.full((4, most), 255, np.uint8), np.full((most, 4), -128, np.int8)
    points = {
        "AZeroPointTensor": np.zeros((1, 1), np.uint8),
        "BZeroPointTensor": np.full((1, 1), 127, np.int8),
    }
    for parts in (1, 512):
        monkeypatch.setattr(tile_cost, "TILE_MOST_PARTS", parts)
        assert passes(desc) == ([1] if parts == 1 else [1, 2])
        found = run_in_guard_zones(device, desc, {"ATensor": a, "BTensor": b, **points})["OutputTensor"]
        np.testing.assert_array_equal(found, np.full((4, 4), -255 * 255 * most))


TILES = [
    Tile(32, 64, 128, 16, 32, 4, 100),
    Tile(64, 64, 128, 32, 32, 1, 100),
    Tile(64, 128, 64, 32, 64, 1, 100),
    Tile(128, 128, 128, 64, 32, 1, 100),
    Tile(128, 256, 64, 64, 64, 1, 100),
]


@pytest.mark.parametrize("tile", TILES)
def test_all_tiles_do_so_too(tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desc = product("MatrixMultiplyInteger", of("UINT8", 132, 100), of(S, 100, 260), "ab")
    monkeypatch.setattr(backend, "byte_tiles", lambda *given: [tile])
    monkeypatch.setattr(backend, "dot_tiles", lambda: [tile])
    assert multiplying(desc)["TILE_ROWS"] == tile.rows
    inputs = inputs_of(desc)
    np.testing.assert_array_equal(run_in_guard_zones(device, desc, inputs)["OutputTensor"], exact(inputs))


def exact(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The product of the differences, by NumPy's integers of 64 bits."""
    a, b = (
        inputs[f"{name}Tensor"].astype(np.int64) - inputs.get(f"{name}ZeroPointTensor", np.int64(0))
        for name in "AB"
    )
    return a @ b


LAYOUTS = {  # of both factors, lines x products; strides of the products and of the lines
    "whole vectors": ((36, 64), (1, 64)),
    "vectors of four": ((36, 68), (1, 68)),
    "lines side by side": ((36, 68), (36, 1)),
    "neither": ((35, 67), (1, 67)),
    "lines side by side, odd": ((35, 67), (35, 1)),
    "with gaps": ((20, 70), (3, 300)),
}
VECTORS = {"whole vectors": 16, "vectors of four": 4, "lines side by side": 4}


@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_all_layouts_of_all_types_are_read(left: str, right: str, device: Any) -> None:
    """Of the shorter of both depths."""
    (rows, one), (across, down) = LAYOUTS[left]
    (columns, other), (beside, along) = LAYOUTS[right]
    depth = one if one == other else 64
    names = list(LAYOUTS)
    kinds = [("UINT8", S, "UINT8", S)[(names.index(left) + i * names.index(right)) % 4] for i in range(2)]
    desc = product(
        "MatrixMultiplyInteger", of(kinds[0], rows, depth, strides=(down, across)),
        of(kinds[1], depth, columns, strides=(beside, along)),
        ("", "A", "b", "aB")[names.index(right) % 4],
    )  # fmt: skip
    made = multiplying(desc)
    if depth == one == other:
        assert (made["LEFT_VECTOR"], made["RIGHT_VECTOR"]) == (VECTORS.get(left, 1), VECTORS.get(right, 1))
    inputs = inputs_of(desc)
    np.testing.assert_array_equal(run_in_guard_zones(device, desc, inputs)["OutputTensor"], exact(inputs))


@pytest.mark.parametrize("name", CASES | WINDOWS)
def test_tiles_give_what_the_definition_gives(
    name: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Floats, too: their sums are whole numbers, below 2^24 here. So do cooperative matrices, sums of four
    products at once, and the definition's shader."""
    desc = (CASES | WINDOWS)[name]
    inputs = inputs_of(desc)
    found = check_results(device, desc, inputs)["OutputTensor"].tobytes()
    units = shader if UNITS in device.capabilities else lambda operator: taken_apart(shader(operator))
    works = [(gpu.plan(desc, UNITS), units)]
    if DOTS in device.capabilities:
        works += [(gpu.plan(desc, DOTS), shader)]
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 2**40)
    assert passes(desc) == [0]
    for work, text_of in (*works, (gpu.plan(desc), shader)):
        assert run_in_guard_zones(device, desc, inputs, work, text_of)["OutputTensor"].tobytes() == found


def test_dxil_sums_four_products_at_once_where_it_may(tmp_path: Path) -> None:
    desc = CASES["packed"]
    for capabilities in (NO_CAPABILITIES, DOTS):
        (dispatch,) = gpu.plan(desc, capabilities).dispatches
        code = compiler.compile(shader(desc.OPERATOR), dispatch.defines, "dxil")
        text = compiler.find().disassemble(code)
        assert ("dot4AddPacked" in text) == (capabilities == DOTS)
