"""Coordinates, plans and the choice of variants: what the runtime decides without a GPU."""

from __future__ import annotations

import itertools
import re
from math import prod
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import gpu, make, registry
from dmlops.arithmetic import align
from dmlops.coordinates import normalize_index, replace
from dmlops.gpu import Unsupported
from dmlops.gpu.plans.loops import reciprocal_of
from dmlops.gpu.plans.reasons import Reason
from random_descriptions import level_and_form, matrix_cases


@pytest.mark.parametrize("index_type", ["int64", "int32", "uint64", "uint32"])
@pytest.mark.parametrize("size", [1, 5, 2**31 + 7, 2**32 - 1])
def test_wrap_agrees_with_exact_arithmetic(index_type: str, size: int) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -size - 1, -size, -size + 1, -2, -1, 0, 1, size - 1, size, size + 1]
    chosen += [2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, info.max - 1, info.max]
    values = np.array([value for value in chosen if info.min <= value <= info.max], dtype=index_type)
    expected = [min(max(i + size if i < 0 else i, 0), size - 1) for i in map(int, values)]
    assert normalize_index(values, size).tolist() == expected
    assert [normalize_index(int(value), size) for value in values] == expected
    assert [int(normalize_index(value, size)) for value in values] == expected


def test_replace_and_align() -> None:
    assert replace((4, 5, 6), 1, 9) == (4, 9, 6)
    assert align((4, 5), 4, 0) == (0, 0, 4, 5)
    assert align((4, 5, 6), 2, 0) == (5, 6)
    assert align((4, 5), 0, 0) == ()


def elements(image: Any, taken: Any, axis: int, **strides: Any) -> Any:
    """A gather of single elements."""
    tensors = {
        name: dmlops.TensorDesc(kind, sizes, Strides=strides.get(name))
        for name, kind, sizes in (
            ("InputTensor", "FLOAT32", image), ("IndicesTensor", "INT32", taken),
            ("OutputTensor", "FLOAT32", taken),
        )
    }  # fmt: skip
    return make.gather_elements(**tensors, Axis=axis)


def rows(width: int, data_type: str) -> Any:
    """A gather of seven rows."""
    indices = dmlops.TensorDesc("INT32", (1, 7))
    return make.gather(dmlops.TensorDesc(data_type, (10, width)), indices, Axis=0, IndexDimensions=1)


TUPLES = make.gather_nd(
    (4, 5, 6), dmlops.TensorDesc("INT32", (1, 7, 2)), InputDimensionCount=3, IndicesDimensionCount=2
)
IMAGE = (600, 64)
PLANS: list[tuple[Any, dict[str, Any]]] = [
    (elements((6,), (9,), 0), {"RANK": 1}),  # packed dimensions merge into one
    (elements((2, 3, 4, 5), (2, 3, 7, 5), 2), {"RANK": 3}),
    (elements((1, 1), (1, 1), 1), {"RANK": 1}),
    (
        elements((400, 600), (400, 600), 1, IndicesTensor=(1, 400), OutputTensor=(1, 400)),
        {"RANK": 2, "VECTOR": 4},
    ),
    *((rows(32, kind), {"INPUT_TYPE": "UINT128", "RANK": 2}) for kind in ("INT8", "FLOAT16", "FLOAT64")),
    (rows(33, "FLOAT16"), {"INPUT_TYPE": "UINT16", "RANK": 2}),
    (elements((10, 96), (7, 96), 0), {"RANK": 3}),  # rows chosen by index are read in strips
    (elements((10, 32), (7, 32), 0), {"RANK": 2}),
    (elements((7, 96), (7, 96), 1), {"RANK": 2}),
    (elements((6, 64), (6, 64), 1), {"VECTOR": 1}),  # few elements
    (elements(IMAGE, IMAGE, 1), {"VECTOR": 4, "INDICES_VECTOR": 4}),  # vectors, where everything is aligned
    (elements((600, 62), (600, 62), 1), {"VECTOR": 2}),
    (elements((600, 63), (600, 63), 1), {"VECTOR": 1}),
    (elements(IMAGE, IMAGE, 1, InputTensor=(65, 1)), {"VECTOR": 4}),
    (elements(IMAGE, IMAGE, 1, IndicesTensor=(65, 1)), {"VECTOR": 4, "INDICES_VECTOR": 1}),
    (elements(IMAGE, IMAGE, 1, IndicesTensor=(1, 600)), {"VECTOR": 4}),
    (elements(IMAGE, IMAGE, 1, OutputTensor=(65, 1)), {"VECTOR": 1}),
    (elements(IMAGE, IMAGE, 1, OutputTensor=(68, 1)), {"VECTOR": 4}),
    (elements(IMAGE, IMAGE, 1, OutputTensor=(128, 2)), {"VECTOR": 1}),
    (TUPLES, {"LOOKUPS": 2}),
]


@pytest.mark.parametrize(("desc", "macros"), PLANS, ids=range(len(PLANS)))
def test_variants_of_gathers(desc: Any, macros: dict[str, Any]) -> None:
    (dispatch,) = gpu.plan(desc).dispatches
    assert macros.items() <= dispatch.defines.items(), dispatch.defines


@pytest.mark.parametrize(
    "divisor", [1, 2, 3, 5, 56, 641, 6700417, 2**16 - 1, 2**16 + 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]
)
def test_division_by_reciprocals_is_at_most_1_too_small(divisor: int) -> None:
    """Shaders add that."""
    found = reciprocal_of(divisor)
    assert 0 < found < 2**32
    quotients = {*range(4), *range((2**32 - 1) // divisor - 3, (2**32 - 1) // divisor + 1)}
    edges = {q * divisor + step for q in quotients for step in (-1, 0, 1)} | {2**31 - 1, 2**32 - 1}
    edges |= set(np.random.default_rng(divisor).integers(0, 2**32, 2000).tolist())
    for n in (n for n in edges if 0 <= n < 2**32):
        assert n // divisor - (n * found >> 32) in (0, 1)


def test_groups_cover_the_output_and_stay_within_the_dispatch_limit() -> None:
    for length in (1, 1024, 1025, 10**8, 2**31):
        (dispatch,) = gpu.plan(elements((3,), (length,), 0)).dispatches
        columns, rows = dispatch.groups
        assert max(columns, rows) <= 65535
        each = prod(int(dispatch.defines[name]) for name in ("NUM_THREADS", "VECTORS", "VECTOR"))
        assert length <= columns * rows * each <= length + (rows + 1) * each


def test_what_32_bits_cannot_address_is_refused() -> None:
    with pytest.raises(Unsupported, match="InputTensor spans 2147483648 elements") as caught:
        gpu.plan(elements((2**31,), (2,), 0))
    assert (caught.value.reason, caught.value.member) == (Reason.TOO_LARGE, "InputTensor")


RESOURCE = re.compile(
    r"^\[\[vk::binding\(\d+, 0\)\]\] (?:SCRATCH_ACCESS )?(?:RW)?StructuredBuffer<.*> \w+"
    r" : register\(([tu])\d+\);",
    re.M,
)


def test_plans_bind_what_shaders_declare() -> None:
    """That many resources that are read, and the same number that are written, in that order."""
    operators: set[str] = set()
    for case in itertools.islice(matrix_cases(), 0, None, 5):
        desc = dmlops.from_json(level_and_form(case)[1])
        if desc.validate():
            continue
        try:
            work = gpu.plan(desc)
        except Unsupported:
            continue
        for dispatch in work.dispatches:
            declared = "".join(RESOURCE.findall(gpu.shader(dispatch.shader or desc.OPERATOR)))
            assert declared == "t" * dispatch.reads + "u" * (len(dispatch.buffers) - dispatch.reads)
        operators.add(desc.OPERATOR)
    assert operators == set(registry.OPERATORS)


def test_only_valid_descriptions_are_planned() -> None:
    """A plan for others could make test-shaders read beyond the ends of buffers."""
    tensor, larger = dmlops.TensorDesc("FLOAT32", (2, 3)), dmlops.TensorDesc("FLOAT32", (2, 4))
    for invalid in (
        dmlops.ElementWiseAdd(ATensor=tensor, BTensor=tensor),
        dmlops.ElementWiseAdd(ATensor=tensor, BTensor=larger, OutputTensor=tensor),
        dmlops.ElementWiseAdd(ATensor=None, BTensor=tensor, OutputTensor=tensor),
    ):
        with pytest.raises(dmlops.InvalidDescription):
            gpu.plan(invalid)
