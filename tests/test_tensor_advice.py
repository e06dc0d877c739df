"""Advice on tensors: outputs whose elements overlap, strides in bytes, totals that are far too large."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc

SMALL = [*product((1, 2, 3), repeat=2)]


def advice(source: TensorDesc, target: TensorDesc) -> list[tuple[str, str]]:
    """The rules that a copy of a tensor draws, each with the member."""
    desc = dmlops.ElementWiseIdentity(InputTensor=source, OutputTensor=target, ScaleBias=None)
    assert desc.validate() == []
    return [(one.rule.removeprefix("DML-TENSOR-"), one.member) for one in desc.advice()]


def of(*sizes: int, type_: str = "UINT8", **given: Any) -> TensorDesc:
    return TensorDesc(type_, sizes, **given)


def overlaps(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two elements have one offset, by listing all offsets."""
    offsets = np.ravel(sum(np.ix_(*(np.arange(n) * step for n, step in zip(sizes, strides, strict=True)))))
    return len(np.unique(offsets)) < offsets.size


def test_outputs_that_overlap_are_found() -> None:
    """Only those; in two dimensions all of those in which one stride is a multiple of the other."""
    for sizes, strides in product(SMALL, product(range(7), repeat=2)):
        found = bool(advice(of(*sizes), of(*sizes, Strides=strides)))
        less, more = sorted(strides)
        if less == 0 or more % less == 0:
            assert found == overlaps(sizes, strides), (sizes, strides)
        elif found:
            assert overlaps(sizes, strides), (sizes, strides)


@pytest.mark.parametrize("strides", [(0, 3, 1), (6, 2, 1), (6, 6, 1), (12, 12, 4)])
def test_an_output_of_three_dimensions(strides: tuple[int, ...]) -> None:
    sizes = (2, 2, 3)
    assert overlaps(sizes, strides)
    assert advice(of(*sizes), of(*sizes, Strides=strides)) == [("strides-overlap", "OutputTensor.Strides")]


@pytest.mark.parametrize("strides", [(6, 3, 1), (1, 2, 4), (100, 10, 1), (3, 6, 1), (8, 4, 1)])
def test_layouts_and_padding_overlap_nothing(strides: tuple[int, ...]) -> None:
    sizes = (2, 2, 3)
    assert not overlaps(sizes, strides)
    assert advice(of(*sizes), of(*sizes, Strides=strides)) == []


def test_inputs_may_repeat_elements() -> None:
    assert advice(of(2, 3, Strides=(0, 1)), of(2, 3)) == []


@pytest.mark.parametrize(
    ("type_", "strides"),
    [("FLOAT32", (48, 16, 4)), ("FLOAT16", (24, 8, 2)), ("INT64", (96, 32, 8))],
)
def test_strides_in_bytes(type_: str, strides: tuple[int, ...]) -> None:
    """Of 2 x 3 x 4 packed elements; the message has them in elements."""
    tensor = of(2, 3, 4, type_=type_, Strides=strides)
    assert advice(tensor, of(2, 3, 4, type_=type_)) == [("strides-in-elements", "InputTensor.Strides")]
    desc = dmlops.ElementWiseIdentity(
        InputTensor=tensor, OutputTensor=of(2, 3, 4, type_=type_), ScaleBias=None
    )
    size = {"FLOAT32": 4, "FLOAT16": 2, "INT64": 8}[type_]
    assert str([one // size for one in strides]) in desc.advice()[0].message


@pytest.mark.parametrize("strides", [(12, 4, 1), (4, 8, 1), (0, 4, 1), (0, 0, 4), (64, 16, 4)])
def test_other_strides_are_no_bytes(strides: tuple[int, ...]) -> None:
    """Packed; a column of an image of four channels; repeated; padded."""
    assert advice(of(2, 3, 4, type_="FLOAT32", Strides=strides), of(2, 3, 4, type_="FLOAT32")) == []


def test_bytes_have_strides_in_bytes() -> None:
    assert advice(of(2, 3, Strides=(3, 1)), of(2, 3)) == []


def test_one_row_may_be_every_fourth_element() -> None:
    spread = of(1, 1, 8, type_="FLOAT32", Strides=(32, 32, 4))
    assert advice(spread, of(1, 1, 8, type_="FLOAT32")) == []


@pytest.mark.parametrize(
    ("sizes", "total", "drawn"),
    [
        ((8, 8), 65536, False),
        ((8, 8), 65540, True),
        ((1024, 1024), 2 << 20, False),
        ((1024, 1024), 4 << 20, True),
    ],
)
def test_a_total_size(sizes: tuple[int, ...], total: int, drawn: bool) -> None:
    found = advice(of(*sizes, TotalTensorSizeInBytes=total), of(*sizes))
    assert found == ([("total-size-slack", "InputTensor.TotalTensorSizeInBytes")] if drawn else [])
