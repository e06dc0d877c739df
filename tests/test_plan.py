"""Coordinates, plans and the choice of variants: what the runtime decides without a GPU."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace as replace_fields
from math import prod

import numpy as np
import pytest

import dmlops
from dmlops import gpu, registry
from dmlops.arithmetic import align
from dmlops.coordinates import normalize_index, replace
from dmlops.gpu import Unsupported, planner_inputs
from dmlops.gpu.plans.gather import INDICES, OUTPUT, Gather, Moved, moved_of, striped, widened
from dmlops.gpu.plans.loops import reciprocal_of
from dmlops.gpu.plans.planning import Planning
from dmlops.gpu.plans.reasons import Reason
from dmlops.gpu.work import Dispatch, work_of
from dmlops.planners import computation
from gather_cases import (
    INDEX_TYPES,
    Case,
    gather,
    gather_elements,
    gather_nd,
    in_range,
    padded,
    permuted,
)
from random_descriptions import level_and_form, matrix_cases


def planned(case: Case) -> Moved:
    found = computation(dmlops.from_json(case.description))
    return moved_of(Planning(), planner_inputs.roles_of(found, Gather))


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("size", [1, 5, 2**31 + 7, 2**32 - 1])
def test_wrap_agrees_with_exact_arithmetic(index_type: str, size: int) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -size - 1, -size, -size + 1, -2, -1, 0, 1, size - 1, size, size + 1]
    chosen += [2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, info.max - 1, info.max]
    values = np.array([value for value in chosen if info.min <= value <= info.max], dtype=index_type)
    expected = in_range(values, size)
    assert normalize_index(values, size).tolist() == expected.tolist()
    assert [normalize_index(int(value), size) for value in values] == expected.tolist()
    assert [int(normalize_index(value, size)) for value in values] == expected.tolist()


def test_replace_and_align() -> None:
    assert replace((4, 5, 6), 1, 9) == (4, 9, 6)
    assert align((4, 5), 4, 0) == (0, 0, 4, 5)
    assert align((4, 5, 6), 2, 0) == (5, 6)
    assert align((4, 5), 0, 0) == ()


def values(*sizes: int, data_type: str = "float32") -> np.ndarray:
    return np.arange(np.prod(sizes)).astype(data_type).reshape(sizes)


def zeros(*sizes: int) -> np.ndarray:
    return np.zeros(sizes, np.int32)


def test_packed_dimensions_merge_into_one() -> None:
    (loop,) = planned(gather_elements(values(6), zeros(9), 0)).loops
    assert (loop.size, loop.strides) == (9, [0, 1, 1])
    outer, inner = planned(gather_elements(values(2, 3, 4, 5), zeros(2, 3, 7, 5), 2)).loops[::2]
    assert (outer.size, outer.strides) == (6, [20, 35, 35])
    assert (inner.size, inner.strides) == (5, [1, 1, 1])


def test_a_gather_of_one_element_has_one_dimension() -> None:
    (loop,) = planned(gather_elements(values(1, 1), zeros(1, 1), 1)).loops
    assert loop.size == 1


def test_dimensions_follow_the_outputs_memory_order() -> None:
    layouts = {"OutputTensor": permuted([4, 6], [1, 0]), "IndicesTensor": permuted([4, 6], [1, 0])}
    outer, inner = planned(gather_elements(values(4, 6), zeros(4, 6), 1, layouts)).loops
    assert (outer.size, inner.size) == (6, 4)
    assert inner.strides[OUTPUT] == inner.strides[INDICES] == 1


@pytest.mark.parametrize(
    ("data_type", "width"), [("int8", 16), ("float16", 8), ("float32", 4), ("float64", 2)]
)
def test_rows_are_copied_in_wide_elements(data_type: str, width: int) -> None:
    rows = widened(planned(gather(values(10, 32, data_type=data_type), zeros(1, 7), 0, 1)))
    assert rows.bytes == 16
    assert [loop.size for loop in rows.loops] == [7, 32 // width]
    assert rows.lookups[0].stride == 32 // width
    odd = planned(gather(values(10, 33, data_type=data_type), zeros(1, 7), 0, 1))
    assert widened(odd) == odd


def test_rows_chosen_by_index_are_read_in_strips() -> None:
    plain = planned(gather_elements(values(10, 96), zeros(7, 96), 0))
    assert [loop.size for loop in plain.loops] == [7, 96]
    strips, rows, strip = striped(plain).loops
    assert (strips.size, rows.size, strip.size) == (3, 7, 32)
    assert strips.strides == [32, 32, 32]
    for narrow in (
        gather_elements(values(10, 32), zeros(7, 32), 0),
        gather_elements(values(7, 96), zeros(7, 96), 1),
    ):
        assert striped(planned(narrow)) == planned(narrow)


def dispatch_of(case: Case) -> Dispatch:
    (dispatch,) = work_of(computation(dmlops.from_json(case.description))).dispatches
    return dispatch


@pytest.mark.parametrize(
    ("sizes", "layouts", "vector"),
    [
        ((6, 64), {}, 4),
        ((6, 62), {}, 2),
        ((6, 63), {}, 1),
        ((6, 64), {"InputTensor": padded([6, 64], 1)}, 4),
        ((6, 64), {"IndicesTensor": padded([6, 64], 1)}, 4),
        ((6, 64), {"IndicesTensor": permuted([6, 64], [1, 0])}, 4),
        ((6, 64), {"OutputTensor": padded([6, 64], 1)}, 1),
        ((6, 64), {"OutputTensor": padded([6, 64], 4)}, 4),
        ((6, 64), {"OutputTensor": [128, 2]}, 1),
    ],
)
def test_vectors_are_used_where_everything_is_aligned(
    sizes: tuple[int, int], layouts: dict[str, list[int]], vector: int
) -> None:
    found = dispatch_of(gather_elements(values(*sizes), zeros(*sizes), 1, layouts))
    assert found.defines["VECTOR"] == vector


def test_tuples_of_indices_are_lookups() -> None:
    movement = planned(gather_nd(values(4, 5, 6), zeros(1, 7, 2), 3, 2))
    assert [tuple(lookup) for lookup in movement.lookups] == [(4, 30, 0), (5, 6, 1)]
    assert dispatch_of(gather_nd(values(4, 5, 6), zeros(1, 7, 2), 3, 2)).defines["LOOKUPS"] == 2


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
        case = gather_elements(values(3), zeros(1), 0)
        for tensor in ("IndicesTensor", "OutputTensor"):
            case.description["desc"][tensor].update(Sizes=[length], Strides=[1])
        dispatch = dispatch_of(case)
        columns, rows = dispatch.groups
        assert max(columns, rows) <= 65535
        each = prod(int(dispatch.defines[name]) for name in ("NUM_THREADS", "VECTORS", "VECTOR"))
        assert length <= columns * rows * each <= length + (rows + 1) * each


def test_what_32_bits_cannot_address_is_refused() -> None:
    case = gather_elements(values(3, 1), zeros(2, 1), 0)
    case.description["desc"]["InputTensor"]["Strides"] = [2**31, 1]
    with pytest.raises(Unsupported, match="InputTensor spans 4294967297 elements") as caught:
        dispatch_of(case)
    assert (caught.value.reason, caught.value.member) == (Reason.TOO_LARGE, "InputTensor")


def test_what_is_no_gather_is_refused() -> None:
    template = computation(dmlops.from_json(gather_elements(values(3), zeros(3), 0).description))

    def refused(target: Callable[..., object]) -> Reason:
        with pytest.raises(Unsupported) as caught:
            work_of(replace_fields(template, target=target))
        return caught.value.reason

    for target in (
        lambda desc, at, load: at,
        lambda desc, at, load: (load("IndicesTensor", at),),
        lambda desc, at, load: (normalize_index(load("IndicesTensor", at), 3) + 1,),
        lambda desc, at, load: (at[0] * at[0],),
    ):
        assert refused(target) == Reason.UNSUPPORTED_INDEXING


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
