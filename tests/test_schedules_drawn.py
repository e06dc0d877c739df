"""Fast forms on random descriptions: their results, however planners share the work.

Descriptions are small, and planned as they are, or with other numbers of planners, which then do with few
elements what they do with many, or choose other blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from dmlops import gpu
from dmlops.gpu import shader
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.gemm_view import Matrices
from dmlops.gpu.plans.loops import ceil_div
from dmlops.gpu.plans.operands import NONE
from dmlops.gpu.plans.tile_cost import Choice, Rates, Tiles, split_into
from dmlops.validation import tensors
from gpu_device import device, run_in_guard_zones
from gpu_fuzz import is_chosen
from gpu_results import COOPERATIVE, apart, check_results
from random_shapes import Drawn, described, drawn

__all__ = ["device"]

SEEDS = 600  # of each family


class Plans(NamedTuple):
    """The number of descriptions, at most, which are planned with numbers in place of the planners', for a
    device with such capabilities; and the least values that macros are to have then."""

    many: int
    numbers: Mapping[str, Any]
    wanted: Mapping[str, int] = {}
    capabilities: Capability = NO_CAPABILITIES


class Form(NamedTuple):
    """The families of random descriptions that may have a form, and a macro that its dispatches define.

    All tensors together have `most` bytes. Each description shows two values of the macros in `varied` that
    none before it shows together. With the numbers in `definition`, the definition computes the same bits,
    but for gradients of resampling, whose sums it may share. A form may be that of one `operator`.
    """

    families: tuple[str, ...]
    macro: str
    plans: dict[str, Plans]
    varied: tuple[str, ...] = ()
    most: int = 1 << 20
    definition: Mapping[str, Any] = {}
    operator: str = ""

    def descriptions(self, plans: Plans) -> Iterator[Drawn]:
        """Those of all families that are small and have the form as it is wanted."""
        shown: set[Any] = set()
        for seed in range(SEEDS):
            for family in self.families:
                defines = self.defines(described(family, seed), plans)
                values = [(name, defines.get(name)) for name in self.varied]
                shows = set(combinations(values, 2)) or {(seed, family)}
                if defines and not shows <= shown:
                    shown |= shows
                    yield drawn(family, seed)

    def defines(self, desc: Any, plans: Plans) -> Mapping[str, Any]:
        """The macros of the form's dispatch; none if the description is not as it is wanted."""
        is_small = sum(tensor.size_in_bytes for _, _, tensor in tensors(desc)) <= self.most
        if is_small and self.operator in ("", desc.OPERATOR):
            for one in gpu.plan(desc, plans.capabilities).dispatches:
                wanted = {self.macro: 0, **plans.wanted}
                if all(int(one.defines.get(name, -1)) >= least for name, least in wanted.items()):
                    return one.defines
        return {}


def any_tile(found: Matrices, tiles: Tiles, rates: Rates, may_split: bool) -> Choice:
    """In place of the cost model: any of the candidates, and any number of parts."""
    draw = Random(repr(found))
    tile, parts = draw.choice(tiles), draw.choice((1, 1, 2, 3, 20)) if may_split else 1
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - found.reach)
    split = split_into(parts, found.depth, tile.depth * found.taps, down, across)
    return Choice(tile, split, draw.randrange(9))


SLIDING = {
    "as they are": Plans(12, {}),
    "in blocks": Plans(6, {"sliding.SLIDING_BUSY": 1}),
    "in large blocks": Plans(
        6, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_ROWS": 8, "sliding.SLIDING_COLUMNS": 8}
    ),
    "in vectors": Plans(12, {"sliding.SLIDING_BUSY": 1}, {"OUTPUT_VECTOR": 2}),
    "from within a vector": Plans(9, {"sliding.SLIDING_BUSY": 1}, {"LEAD": 1}),
    "shared": Plans(5, {"sliding.SLIDING_BUSY": 2**31, "sliding.SLIDING_SHARES": 128}),
    "in loops": Plans(5, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_UNROLLED": 0}),
    "along lines": Plans(5, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_UNROLLED": 24}),
}
TILES = {
    "contraction.choose_tile": any_tile, "implicit_gemm.choose_tile": any_tile,
    "gemm_view.TILE_PRODUCTS": 0, "implicit_gemm.TILE_LEAST_ROWS": 4, "implicit_gemm.SLIDING_PRODUCTS": 0,
}  # fmt: skip
PRODUCTS = {
    "in tiles": Plans(30, TILES),
    "by cooperative matrices": Plans(30, TILES, {"COOPERATIVE_MATRIX": 1}, COOPERATIVE),
}
BY_DOT_PRODUCTS = {"by dot products": Plans(30, TILES, {"DOT_PRODUCTS": 1}, Capability.DOT_PRODUCTS)}
READERS = (
    "PASS", "LEFT_VECTOR", "LEFT_ALONG", "RIGHT_VECTOR", "RIGHT_ALONG", "OUTPUT_VECTOR", "OUTPUT_DOWN",
    "PACKED", "PHASED", "SPLIT_K", "TAPS_AT_ONCE", "TRANSPOSED", "ZERO_POINTS", "OUTPUT_TYPE",
)  # fmt: skip
SATURATED = {"definition.SATURATING_THREADS": 1}
VECTORS = {  # definitions that have no other form
    "windows": ("AVERAGE_POOLING_GRAD", "MAX_POOLING_GRAD", "MAX_UNPOOLING"),
    "normalizations": ("LOCAL_RESPONSE_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION_GRAD"),
    "moves": ("FOLD", "UNFOLD", "SLICE1", "PADDING1", "TILE"),
}
FEW_THREADS = {"row_sharing.SATURATING_THREADS": 1}
FORMS = {
    "product": Form(("products",), "TILE_ROWS", PRODUCTS, READERS, 1 << 16),
    "product of a window": Form(("convolutions",), "TILE_ROWS", PRODUCTS, READERS, 1 << 17),
    **{
        name: Form(
            (family,), "TILE_ROWS", PRODUCTS | BY_DOT_PRODUCTS, READERS, 1 << 16,
            {"gemm_view.TILE_PRODUCTS": 2**40},
        )
        for name, family in (
            ("product of bytes", "integer_products"),
            ("product of bytes with a window", "integer_convolutions"),
        )
    },
    "recurrent network": Form(("recurrent",), "SUM_ROWS", {
        "as they are": Plans(20, {}),
        "one row": Plans(4, {"sums.SUMS_ROWS": 1}), "many rows": Plans(4, {"sums.SUMS_ROWS": 16}),
        "one group": Plans(4, {"sums.SUMS_GROUPS": 1}), "no reads ahead": Plans(4, {"sums.SUMS_AHEAD": 1}),
        "few sums": Plans(4, {"sums.SUMS_OWN": 16}),
        "by cooperative matrices": Plans(
            20, {"sums.choose_tile": any_tile}, {"COOPERATIVE_MATRIX": 1}, COOPERATIVE
        ),
    }),
    "selected terms": Form(("regions",), "ELEMENTS_PER_THREAD", {"as they are": Plans(9, {})}, definition={
        "sparse_sum.SPARSE_SUM_ROOM": 0,
    }, operator="ROI_ALIGN_GRAD"),
    "rows": Form(("normalizations", "reductions", "quantizing"), "KEPT_RANK", {
        "as they are": Plans(40, {}),
        "split": Plans(20, FEW_THREADS | {"row_sharing.REDUCTION_LONG": 0}, {"TURN": 2}),
        "few threads": Plans(9, FEW_THREADS | {"row_sharing.ELEMENTWISE_BUSY": 1}),
    }),
    "pooling": Form(("windows", "quantizing"), "UNROLLED", SLIDING),
    "convolution": Form(("convolutions",), "UNROLLED", SLIDING | {
        "in phases": Plans(12, {}, {"PHASES_X": 2}),
        "in loops over phases": Plans(6, {"sliding.SLIDING_UNROLLED": 0}, {"PHASES_Y": 2}),
    }),
    "convolution of bytes": Form(("integer_convolutions",), "UNROLLED", {
        name: plans for name, plans in SLIDING.items() if "LEAD" not in plans.wanted
    }),
    "separable": Form(("resampling", "rescaled"), "TILE_ROWS", {
        "as they are": Plans(36, {}),
        "in narrow tiles": Plans(8, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_COLUMNS": 5}),
        "in high tiles": Plans(8, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_ROWS": 64}),
        "in small tables": Plans(6, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_TABLE": 300}),
    }, definition={"pass_selection.separable_place": lambda *_: NONE}),
    "vector axis": Form(("regions",), "PASS", {"large": Plans(9, SATURATED)}),
} | {
    operator: Form((family,), "VECTOR", {"large": Plans(6, SATURATED, {"VECTOR": 2})}, operator=operator)
    for family, operators in VECTORS.items() for operator in operators
}  # fmt: skip


def replace_numbers(patch: pytest.MonkeyPatch, numbers: Mapping[str, Any]) -> None:
    for name, value in numbers.items():
        patch.setattr(f"dmlops.gpu.plans.{name}", value)


@pytest.mark.parametrize(("form", "plans"), [(form, plans) for form in FORMS for plans in FORMS[form].plans])
def test_random_descriptions(form: str, plans: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = FORMS[form].plans[plans]
    if Capability.DOT_PRODUCTS in one.capabilities and Capability.DOT_PRODUCTS not in device.capabilities:
        pytest.skip("the device has no dot products")
    replace_numbers(monkeypatch, one.numbers)
    text_of = apart(device) if one.capabilities == COOPERATIVE else shader
    for desc, arrays in islice(FORMS[form].descriptions(one), one.many):
        work = gpu.plan(desc, one.capabilities) if one.capabilities else None
        found = check_results(device, desc, arrays, work, text_of, exact=is_chosen(desc))
        if FORMS[form].definition and "RESAMPLE_GRAD" not in desc.OPERATOR:
            with pytest.MonkeyPatch.context() as patch:
                replace_numbers(patch, FORMS[form].definition)
                assert not FORMS[form].defines(desc, Plans(1, {}))
                same = run_in_guard_zones(device, desc, arrays, gpu.plan(desc))
            assert all(same[name].tobytes() == array.tobytes() for name, array in found.items()), desc


@pytest.mark.parametrize("form", FORMS)
def test_special_numbers(form: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no number, or infinite, goes where it counts, and nowhere else."""
    rng, plans = np.random.default_rng(7), next(iter(FORMS[form].plans.values()))
    replace_numbers(monkeypatch, plans.numbers)
    for desc, arrays in islice(FORMS[form].descriptions(plans), min(plans.many, 16)):
        for name, array in arrays.items():
            is_float = isinstance(array, np.ndarray) and array.dtype.kind == "f"
            if is_float and 0 not in getattr(desc, name).element_strides:
                special = rng.choice((np.nan, np.inf, -np.inf), array.shape).astype(array.dtype)
                arrays[name] = np.where(rng.random(array.shape) < 0.02, special, array)
        check_results(device, desc, arrays, exact=is_chosen(desc))
