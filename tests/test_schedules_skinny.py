"""Products of few rows or columns: which get the pass that reads the other factor once, and its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlops import gpu, reference
from dmlops.gpu import compiler, shader
from dmlops.gpu.plans import skinny
from dmlops.gpu.plans.capabilities import Capability
from gpu_device import device
from gpu_results import check_results, inputs_of
from product_cases import RELU, column_by_column, product
from tensors import of
from test_schedules_contraction import passes

__all__ = ["device"]

CASES = {
    "1 row": product(of("FLOAT32", 1, 64), of("FLOAT32", 64, 132), None),
    "2 rows, halves": product(of("FLOAT16", 2, 67), of("FLOAT16", 67, 136), of("FLOAT16", 2, 136)),
    "3 rows, B transposed": product(
        of("FLOAT32", 3, 68), of("FLOAT32", 131, 68), of("FLOAT32", 3, 131), "NT"
    ),
    "4 rows, halves, B transposed": product(of("FLOAT16", 4, 72), of("FLOAT16", 131, 72), None, "NT"),
    "4 rows, A transposed": product(of("FLOAT32", 70, 4), of("FLOAT32", 70, 68), None, "TN"),
    "3 rows, halves, both transposed": product(of("FLOAT16", 56, 3), of("FLOAT16", 133, 56), None, "TT"),
    "matrices, one of B for all, activated": product(
        of("FLOAT32", 3, 2, 2, 33), of("FLOAT32", 3, 2, 33, 100, strides=(0, 4000, 104, 1)),
        of("FLOAT32", 3, 2, 2, 100, strides=(0, 200, 0, 2)), "NN", RELU,
    ),
    "A with gaps, C of one number": product(
        of("FLOAT16", 1, 3, 40, strides=(0, 131, 3)), of("FLOAT16", 1, 90, 40, strides=(0, 48, 1)),
        of("FLOAT16", 1, 3, 90, strides=(0, 0, 0)), "NT",
    ),
    "A of one row for all": product(of("FLOAT32", 4, 32, strides=(0, 1)), of("FLOAT32", 32, 64), None),
    "one product": product(of("FLOAT32", 1, 1), of("FLOAT32", 1, 4100), None),
    "1 column": product(of("FLOAT32", 131, 68), of("FLOAT32", 68, 1), of("FLOAT32", 131, 1)),
    "3 columns, halves, A transposed": product(of("FLOAT16", 66, 88), of("FLOAT16", 66, 3), None, "TN"),
    "4 columns, B transposed": product(of("FLOAT32", 2, 36, 68), of("FLOAT32", 2, 4, 68), None, "NT", RELU),
    "stored downwards": column_by_column(product(of("FLOAT32", 3, 64), of("FLOAT32", 64, 68), None)),
}  # fmt: skip
UNITS = Capability.COOPERATIVE_MATRIX


def check(device: Any, desc: Any, **special: float) -> None:
    """Of -1, 0 and 1, whose sums are exact in any order, and `special` numbers in their place."""
    inputs = {
        name: np.where(np.isfinite(one), np.sign(one.round()), one)
        for name, one in inputs_of(desc, 0.02, **special).items()
    }
    check_results(device, desc, inputs, exact=True)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_reference(name: str, device: Any) -> None:
    check(device, CASES[name])


@pytest.mark.parametrize(
    "name", ["2 rows, halves", "3 rows, B transposed", "3 columns, halves, A transposed"]
)
def test_infinities_and_nan_stay_where_they_belong(name: str, device: Any) -> None:
    for value in (np.inf, np.nan):
        check(device, CASES[name], ATensor=value)
        check(device, CASES[name], BTensor=value)


@pytest.mark.parametrize("vectors", [2, 8])
def test_other_numbers_of_vectors_give_them_too(
    vectors: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skinny, "SKINNY_VECTORS", vectors)
    monkeypatch.setattr(skinny, "SKINNY_MOST_THREADS", 256)
    for name in ("2 rows, halves", "4 rows, halves, B transposed"):
        check(device, CASES[name])


def test_subnormal_halves_count(device: Any) -> None:
    desc = product(of("FLOAT16", 1, 64), of("FLOAT16", 64, 64), None)
    inputs = {"ATensor": np.ones((1, 64), np.float16), "BTensor": np.full((64, 64), 2.0**-24, np.float16)}
    check_results(device, desc, inputs, exact=True)


def test_sums_are_as_exact_as_those_of_tiles(device: Any) -> None:
    desc = product(of("FLOAT32", 1, 2048), of("FLOAT32", 2048, 64), None)
    inputs = inputs_of(desc)
    found = gpu.run(desc, inputs, device)["OutputTensor"]
    wanted = reference.run(desc, inputs)["OutputTensor"]
    np.testing.assert_allclose(found, wanted, 0, 8e-6 * 2048**0.5)  # of numbers of twice the size each


OTHERS = {
    "rows": product(of("FLOAT32", 5, 64), of("FLOAT32", 64, 132), None),
    "columns": product(of("FLOAT32", 1, 64), of("FLOAT32", 64, 134), None),
    "halves in eights": product(of("FLOAT16", 1, 64), of("FLOAT16", 64, 132), None),
    "products in eights": product(of("FLOAT16", 1, 68), of("FLOAT16", 132, 68), None, "NT"),
    "rows of B": product(of("FLOAT32", 1, 64), of("FLOAT32", 64, 132, strides=(134, 1)), None),
    "gaps in B": product(of("FLOAT32", 1, 64), of("FLOAT32", 64, 132, strides=(272, 2)), None),
    "few and deep": product(of("FLOAT32", 2, 16384), of("FLOAT32", 16384, 12), None),
}


def test_which_products_get_it() -> None:
    """Others have tiles, or the definition if they are small; cooperative matrices change nothing."""
    assert all(desc.validate("6.4") == [] for desc in CASES.values())
    assert {name: passes(desc) for name, desc in CASES.items()} == {name: [4] for name in CASES}
    assert {name: passes(desc)[0] for name, desc in OTHERS.items()} == dict.fromkeys(OTHERS, 2)
    assert passes(product(of("FLOAT32", 1, 8), of("FLOAT32", 8, 8), None)) == [0, 1]
    for name, desc in CASES.items():
        (one,) = gpu.plan(desc).dispatches
        assert ("TRANSPOSED" in one.defines) == ("column" in name)
        assert gpu.plan(desc, UNITS) == gpu.plan(desc)


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("turns", ["NN", "NT"])
def test_projections_of_language_models_fill_a_large_gpu_at_once(data_type: str, turns: str) -> None:
    for depth, columns in ((4096, 4096), (4096, 11008), (11008, 4096)):
        right = (depth, columns) if turns == "NN" else (columns, depth)
        (one,) = gpu.plan(product(of(data_type, 1, depth), of(data_type, *right), None, turns)).dispatches
        groups = int(np.prod(one.groups))
        assert groups >= 128 and 2**16 <= groups * int(one.defines["NUM_THREADS"]) <= 2**17


def test_shaders_compile_without_a_warning_for_direct3d_too() -> None:
    for name in ("4 rows, halves, B transposed", "3 columns, halves, A transposed"):
        for dispatch in gpu.plan(CASES[name]).dispatches:
            for target in ("spirv", "dxil"):
                assert compiler.compile(shader("GEMM"), dispatch.defines, target)
