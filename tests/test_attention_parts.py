"""Attention of few queries, whose keys groups of threads share: when it is taken, its plans, and results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from c_plans import Library, expected
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from gpu_device import device, run_in_guard_zones
from test_schedules_rows import attention

__all__ = ["device"]  # a fixture

UNITS = gpu.Capability.MATRIX_UNITS
KINDS = ("FLOAT32", "FLOAT16")
SIZES = {  # batches, queries, keys, heads, elements of a key and of a value
    "one of each": (1, 1, 1, 1, 8, 8),
    "one query, one part": (2, 1, 67, 3, 64, 64),
    "one query, some parts": (1, 1, 300, 2, 128, 64),
    "some queries": (2, 5, 301, 2, 64, 128),
    "most queries": (1, 8, 130, 3, 16, 24),
    "vectors left over": (1, 3, 140, 2, 88, 40),
    "long rows": (1, 3, 133, 1, 512, 8),
    "long values": (1, 2, 150, 1, 8, 512),
    "many keys": (1, 1, 1500, 1, 8, 8),
}


def tolerance(kind: str) -> float:
    return 4e-6 if kind == "FLOAT32" else 2e-3


def check(device: Any, desc: Any, arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    """Results between guard zones are near the definition's, and the same the second time."""
    found, again = (run_in_guard_zones(device, desc, arrays) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = reference.run(desc, arrays)
    near = tolerance(desc.OutputTensor.DataType.name)
    for name, array in wanted.items():
        most = float(np.abs(array[np.isfinite(array)]).max(initial=0))
        np.testing.assert_allclose(found[name], array, near, near * most, err_msg=name)
        assert found[name].tobytes() == again[name].tobytes(), f"another {name} the second time"
    return found


def by_parts(desc: Any, capabilities: gpu.Capability = NO_CAPABILITIES) -> list[Any]:
    """The dispatches of attention by parts."""
    return [one for one in gpu.planned(desc, capabilities).dispatches if "BY_PARTS" in one.defines]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIZES)
def test_results_are_those_of_the_reference(name: str, kind: str, device: Any) -> None:
    desc, arrays = attention(SIZES[name], kind)
    assert by_parts(desc)
    check(device, desc, arrays)


@pytest.mark.parametrize("kind", KINDS)
def test_which_descriptions_are_by_parts(kind: str) -> None:
    for sizes in ((1, 9, 70, 2, 64, 64), (1, 1, 70, 2, 7, 64), (1, 1, 70, 2, 64, 6), (1, 1, 70, 1, 520, 8)):
        assert not by_parts(attention(sizes, kind)[0])
    for sizes in SIZES.values():
        desc, _ = attention(sizes, kind)
        assert gpu.planned(desc, UNITS) == gpu.planned(desc), "matrix units have no part in it"


def test_parts_are_joined_where_there_are_some() -> None:
    assert len(by_parts(attention((1, 1, 128, 1, 64, 64), "FLOAT16")[0])) == 1
    assert [one.defines["JOINS"] for one in by_parts(attention((1, 1, 129, 1, 64, 64), "FLOAT16")[0])] == [
        0,
        1,
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_masks_and_relative_positions(kind: str, device: Any) -> None:
    rng = np.random.default_rng(6)
    dense = (rng.random((2, 2, 3, 190)) > 0.4).astype(np.int32)
    dense[1, 0, 2] = 0  # every key of a query
    for mask, mask_type, filtered in (
        (dense, "BOOLEAN", -8.0),
        (dense, "BOOLEAN", -np.inf),
        (np.array([[190, 0]], np.int32), "KEY_SEQUENCE_LENGTH", -1e4),
        (np.array([[150, 133], [5, 133]], np.int32), "KEY_SEQUENCE_END_START", -1e4),
    ):
        desc, arrays = attention((2, 3, 190, 2, 8, 8), kind, mask, mask_type, filtered)
        check(device, desc, arrays)
    desc, arrays = attention((2, 3, 190, 2, 8, 8), kind)
    arrays["RelativePositionBiasTensor"] = rng.normal(0, 1, (2, 2, 3, 190)).astype(kind.lower())
    check(device, replace(desc, RelativePositionBiasTensor=TensorDesc(kind, (2, 2, 3, 190))), arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("queries", [1, 4])
def test_infinities_and_nan_count_where_they_are_seen(queries: int, kind: str, device: Any) -> None:
    desc, arrays = attention((1, queries, 300, 2, 8, 8), kind)
    arrays["ValueTensor"][0, 299, 2] = np.inf
    arrays["ValueTensor"][0, 1, 11] = np.nan
    arrays["KeyTensor"][0, 140, 3] = -np.inf
    arrays["QueryTensor"][0, queries // 2, :8] = np.nan
    check(device, desc, arrays)
    arrays["QueryTensor"][:] = np.abs(np.nan_to_num(arrays["QueryTensor"])) + 1
    arrays["KeyTensor"][0, :128] = -np.inf  # all of the first part
    check(device, desc, arrays)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("queries", "heads", "groups"), [(1, 6, 2), (3, 8, 1), (1, 5, 5), (2, 24, 2)])
def test_heads_that_share_keys(queries: int, heads: int, groups: int, kind: str, device: Any) -> None:
    keys, depth = 150, 16
    whole, part = (2, queries, heads * depth), (2, keys, groups * depth)
    desc = dmlops.MultiheadAttention1(
        QueryTensor=TensorDesc(kind, whole), KeyTensor=TensorDesc(kind, part),
        ValueTensor=TensorDesc(kind, part), OutputTensor=TensorDesc(kind, whole), Scale=0.3,
        MaskFilterValue=-1e4, QueryHeadCount=heads, KeyValueHeadCount=groups, MaskType="NONE",
    )  # fmt: skip
    assert by_parts(desc)[0].defines["SHARED"] == heads // groups
    rng = np.random.default_rng(4)
    shapes = {"QueryTensor": whole, "KeyTensor": part, "ValueTensor": part}
    check(device, desc, {name: rng.normal(0, 1, one).astype(kind.lower()) for name, one in shapes.items()})


def test_plans_in_c_are_the_same(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for sizes in (*SIZES.values(), (32, 1, 4096, 32, 64, 64), (1, 1, 4096, 32, 128, 128)):
        for kind in KINDS:
            desc, _ = attention(sizes, kind)
            for capabilities in (NO_CAPABILITIES, UNITS):
                assert library.plan(desc, capabilities) == expected(desc, capabilities)
