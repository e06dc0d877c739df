"""Coordinates, plans and the choice of variants: what the GPU runtime decides without a GPU."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import pytest

import dmlops
from dmlops.compute import computation
from dmlops.coordinates import align, replace, wrap
from dmlops.gpu.errors import Unsupported
from dmlops.gpu.gather import choose
from dmlops.gpu.plan import Plan, plan_of
from dmlops.gpu.types import divisor
from gather_cases import (
    INDEX_TYPES,
    OPERATORS,
    Case,
    elements_in,
    gather,
    gather_elements,
    gather_nd,
    in_range,
    padded,
    permuted,
    random_case,
)


def planned(case: Case) -> Plan:
    return plan_of(computation(dmlops.from_json(case.description)))


def follow(movement: Plan, values: np.ndarray, indices: np.ndarray, output: np.ndarray) -> None:
    """What a plan says, done element by element on flat buffers."""
    for at in itertools.product(*(range(dimension.size) for dimension in movement.dimensions)):
        position, read, written = (
            sum(c * d.strides[which] for c, d in zip(at, movement.dimensions, strict=True))
            for which in range(3)
        )
        for lookup in movement.lookups:
            index = int(indices[read + lookup.index_offset])
            position += wrap(index, lookup.size) * lookup.input_stride
        output[written] = values[position]


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("size", [1, 5, 2**31 + 7, 2**32 - 1])
def test_wrap_agrees_with_exact_arithmetic(index_type: str, size: int) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -size - 1, -size, -size + 1, -2, -1, 0, 1, size - 1, size, size + 1]
    chosen += [2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, info.max - 1, info.max]
    values = np.array([value for value in chosen if info.min <= value <= info.max], dtype=index_type)
    expected = in_range(values, size)
    assert wrap(values, size).tolist() == expected.tolist()
    assert [wrap(int(value), size) for value in values] == expected.tolist()
    assert [int(wrap(value, size)) for value in values] == expected.tolist()


def test_replace_and_align() -> None:
    assert replace((4, 5, 6), 1, 9) == (4, 9, 6)
    assert align((4, 5), 4, 0) == (0, 0, 4, 5)
    assert align((4, 5, 6), 2, 0) == (5, 6)
    assert align((4, 5), 0, 0) == ()


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "variation", [lambda p: p, Plan.widened, Plan.striped], ids=["plain", "widened", "striped"]
)
def test_a_plan_moves_what_numpy_moves(
    operator: str, seed: int, variation: Callable[[Plan], Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmlops.gpu.plan.STRIP_BYTES", 16)  # so that small tensors have strips
    case = random_case(operator, seed)
    tensors = {name: elements_in(case.description["desc"][name]) for name in (*case.inputs, "OutputTensor")}
    arrays = {**case.inputs, "OutputTensor": np.zeros_like(case.expected)}
    flat = {name: np.zeros((at.max() // 16 + 1) * 16, arrays[name].dtype) for name, at in tensors.items()}
    for name, at in tensors.items():
        flat[name][at] = arrays[name]
    reordered = variation(planned(case))
    wide = f"V{reordered.element_size}"
    follow(reordered, flat["InputTensor"].view(wide), flat["IndicesTensor"], flat["OutputTensor"].view(wide))
    assert flat["OutputTensor"][tensors["OutputTensor"]].tobytes() == case.expected.tobytes()


def values(*sizes: int, data_type: str = "float32") -> np.ndarray:
    return np.arange(np.prod(sizes)).astype(data_type).reshape(sizes)


def zeros(*sizes: int) -> np.ndarray:
    return np.zeros(sizes, np.int32)


def test_packed_dimensions_merge_into_one() -> None:
    (dimension,) = planned(gather_elements(values(6), zeros(9), 0)).dimensions
    assert (dimension.size, dimension.strides) == (9, (0, 1, 1))
    outer, inner = planned(gather_elements(values(2, 3, 4, 5), zeros(2, 3, 7, 5), 2)).dimensions[::2]
    assert (outer.size, outer.strides) == (6, (20, 35, 35))
    assert (inner.size, inner.strides) == (5, (1, 1, 1))


def test_a_gather_of_one_element_has_one_dimension() -> None:
    (dimension,) = planned(gather_elements(values(1, 1), zeros(1, 1), 1)).dimensions
    assert dimension.size == 1


def test_dimensions_follow_the_outputs_memory_order() -> None:
    layouts = {"OutputTensor": permuted([4, 6], [1, 0]), "IndicesTensor": permuted([4, 6], [1, 0])}
    outer, inner = planned(gather_elements(values(4, 6), zeros(4, 6), 1, layouts)).dimensions
    assert (outer.size, inner.size) == (6, 4)
    assert inner.output_stride == inner.index_stride == 1


@pytest.mark.parametrize(
    ("data_type", "width"), [("int8", 16), ("float16", 8), ("float32", 4), ("float64", 2)]
)
def test_rows_are_copied_in_wide_elements(data_type: str, width: int) -> None:
    rows = planned(gather(values(10, 32, data_type=data_type), zeros(1, 7), 0, 1)).widened()
    assert rows.element_size == 16
    assert [d.size for d in rows.dimensions] == [7, 32 // width]
    assert rows.lookups[0].input_stride == 32 // width
    odd = planned(gather(values(10, 33, data_type=data_type), zeros(1, 7), 0, 1))
    assert odd.widened() == odd


def test_rows_chosen_by_index_are_read_in_strips() -> None:
    plain = planned(gather_elements(values(10, 96), zeros(7, 96), 0))
    assert [d.size for d in plain.dimensions] == [7, 96]
    strips, rows, strip = plain.striped().dimensions
    assert (strips.size, rows.size, strip.size) == (3, 7, 32)
    assert strips.strides == (32, 32, 32)
    for narrow in (
        gather_elements(values(10, 32), zeros(7, 32), 0),
        gather_elements(values(7, 96), zeros(7, 96), 1),
    ):
        assert planned(narrow).striped() == planned(narrow)


def variant_of(case: Case) -> dict[str, int]:
    index_type = case.inputs["IndicesTensor"].dtype
    return choose(planned(case), index_type.itemsize, index_type.kind == "i").defines


@pytest.mark.parametrize(
    ("sizes", "layouts", "vector", "index_vector"),
    [
        ((6, 64), {}, 4, 4),
        ((6, 62), {}, 2, 2),
        ((6, 63), {}, 1, 1),
        ((6, 64), {"InputTensor": padded([6, 64], 1)}, 4, 4),
        ((6, 64), {"IndicesTensor": padded([6, 64], 1)}, 4, 1),
        ((6, 64), {"IndicesTensor": permuted([6, 64], [1, 0])}, 4, 1),
        ((6, 64), {"OutputTensor": padded([6, 64], 1)}, 1, 1),
        ((6, 64), {"OutputTensor": padded([6, 64], 4)}, 4, 4),
        ((6, 64), {"OutputTensor": [128, 2]}, 1, 1),
    ],
)
def test_vectors_are_used_where_everything_is_aligned(
    sizes: tuple[int, int], layouts: dict[str, list[int]], vector: int, index_vector: int
) -> None:
    defines = variant_of(gather_elements(values(*sizes), zeros(*sizes), 1, layouts))
    assert (defines["VECTOR"], defines["INDEX_VECTOR"]) == (vector, index_vector)


def test_tuples_of_indices_are_lookups() -> None:
    movement = planned(gather_nd(values(4, 5, 6), zeros(1, 7, 2), 3, 2))
    assert [(k.size, k.input_stride, k.index_offset) for k in movement.lookups] == [(4, 30, 0), (5, 6, 1)]
    assert variant_of(gather_nd(values(4, 5, 6), zeros(1, 7, 2), 3, 2))["LOOKUPS"] == 2


@pytest.mark.parametrize(
    "size",
    [
        1,
        2,
        3,
        5,
        7,
        11,
        641,
        2**16 - 1,
        2**16 + 1,
        6700417,
        2**31 - 1,
        2**31,
        2**31 + 1,
        2**32 - 2,
        2**32 - 1,
    ],
)
def test_division_by_multiplication_is_exact(size: int) -> None:
    multiplier, halving, shift = divisor(size)
    assert multiplier < 2**32
    quotients = {*range(4), *range((2**32 - 1) // size - 3, (2**32 - 1) // size + 1)}
    edges = {q * size + step for q in quotients for step in (-1, 0, 1)} | {2**32 - 1, 2**31, 2**31 - 1}
    edges |= set(np.random.default_rng(size).integers(0, 2**32, 2000).tolist())
    for n in (n for n in edges if 0 <= n < 2**32):
        high = multiplier * n >> 32
        assert (high + (n - high >> halving)) >> shift == n // size


def test_groups_cover_the_output_and_stay_within_the_dispatch_limit() -> None:
    for length in (1, 1024, 1025, 10**8, 2**31):
        case = gather_elements(values(3), zeros(1), 0)
        for tensor in ("IndicesTensor", "OutputTensor"):
            case.description["desc"][tensor].update(Sizes=[length], Strides=[1])
        variant = choose(planned(case), 4, True)
        columns, rows, layers = variant.groups
        assert max(columns, rows) <= 65535
        assert layers == 1
        each = variant.defines["NUM_THREADS"] * variant.defines["UNROLL"] * variant.defines["VECTOR"]
        assert length <= columns * rows * each <= length + (rows + 1) * each


def test_what_32_bits_cannot_address_is_refused() -> None:
    case = gather_elements(values(3, 1), zeros(2, 1), 0)
    case.description["desc"]["InputTensor"]["Strides"] = [2**31, 1]
    with pytest.raises(Unsupported, match="InputTensor spans 4294967297 elements"):
        planned(case)


def test_what_is_no_gather_is_refused() -> None:
    template = computation(dmlops.from_json(gather_elements(values(3), zeros(3), 0).description))

    def refused(element: Callable[..., object]) -> str:
        with pytest.raises(Unsupported) as caught:
            plan_of(dataclasses.replace(template, element=element))
        return str(caught.value)

    assert "more than a movement" in refused(lambda desc, at, load: load("InputTensor", at) * 2)
    assert "index tensor directs" in refused(lambda desc, at, load: load("InputTensor", at))
    assert "index tensor directs" in refused(lambda desc, at, load: 0)
    assert "cannot follow" in refused(
        lambda desc, at, load: load("InputTensor", (wrap(load("IndicesTensor", at), 3) + 1,))
    )
    assert "more than a movement" in refused(lambda desc, at, load: load("InputTensor", (at[0] * at[0],)))
    assert "beyond its end" in refused(
        lambda desc, at, load: load("InputTensor", (wrap(load("IndicesTensor", at), 3) * 2,))
    )
