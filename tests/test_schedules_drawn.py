"""Fast forms on random descriptions: their results, however planners share the work.

Descriptions are small, and planned as they are, or with other numbers of planners, which then do with few
elements what they do with many, or choose other blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import pytest

from dmlops import gpu
from dmlops.validation import tensors
from gpu_device import device
from gpu_fuzz import is_chosen
from gpu_results import check_results
from random_shapes import Drawn, described, drawn

__all__ = ["device"]

MOST_BYTES = 1 << 20  # of all tensors


class Plans(NamedTuple):
    """The number of descriptions, which are planned with numbers in place of the planners', and the macro, if
    any, that is to be above 1 then."""

    many: int
    numbers: Mapping[str, int]
    wanted: str = ""


class Form(NamedTuple):
    """The families of random descriptions that may have a form, and a macro that its dispatches define."""

    families: tuple[str, ...]
    macro: str
    plans: dict[str, Plans]

    def descriptions(self, wanted: str = "") -> Iterator[Drawn]:
        """Those of all families that are small and have the form."""
        for seed in count():
            for family in self.families:
                if self.has(described(family, seed), wanted):
                    yield drawn(family, seed)

    def has(self, desc: Any, wanted: str) -> bool:
        """Whether a description is small and has the form, and the macro that is wanted is above 1."""
        if sum(tensor.size_in_bytes for _, _, tensor in tensors(desc)) > MOST_BYTES:
            return False
        found = (one.defines for one in gpu.plan(desc).dispatches if self.macro in one.defines)
        return any(not wanted or int(defines.get(wanted, 0)) > 1 for defines in found)


SLIDING = {
    "as they are": Plans(12, {}),
    "in blocks": Plans(6, {"sliding.SLIDING_BUSY": 1}),
    "in large blocks": Plans(
        6, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_ROWS": 8, "sliding.SLIDING_COLUMNS": 8}
    ),
    "in vectors": Plans(12, {"sliding.SLIDING_BUSY": 1}, "OUTPUT_VECTOR"),
    "from within a vector": Plans(9, {"sliding.SLIDING_BUSY": 1}, "LEAD"),
    "shared": Plans(5, {"sliding.SLIDING_BUSY": 2**31, "sliding.SLIDING_SHARES": 128}),
    "in loops": Plans(5, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_UNROLLED": 0}),
    "along lines": Plans(5, {"sliding.SLIDING_BUSY": 1, "sliding.SLIDING_UNROLLED": 24}),
}
FORMS = {
    "rows": Form(("normalizations", "reductions", "quantizing"), "KEPT_RANK", {
        "as they are": Plans(40, {}),
        "split": Plans(20, {"row_sharing.REDUCTION_LONG": 0, "row_sharing.SATURATING_THREADS": 1}, "TURN"),
        "few threads": Plans(9, {"row_sharing.ELEMENTWISE_BUSY": 1, "row_sharing.SATURATING_THREADS": 1}),
    }),
    "pooling": Form(("windows", "quantizing"), "UNROLLED", SLIDING),
    "convolution": Form(("convolutions",), "UNROLLED", SLIDING | {
        "in phases": Plans(12, {}, "PHASES_X"),
        "in loops over phases": Plans(6, {"sliding.SLIDING_UNROLLED": 0}, "PHASES_Y"),
    }),
    "convolution of bytes": Form(("integer_convolutions",), "UNROLLED", {
        name: plans for name, plans in SLIDING.items() if plans.wanted != "LEAD"
    }),
    "separable": Form(("resampling",), "TILE_ROWS", {
        "as they are": Plans(20, {}),
        "in narrow tiles": Plans(8, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_COLUMNS": 5}),
        "in high tiles": Plans(8, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_ROWS": 64}),
        "in small tables": Plans(6, {"separable.SEPARABLE_GROUPS": 1, "separable.SEPARABLE_TABLE": 300}),
    }),
}  # fmt: skip


@pytest.mark.parametrize(("form", "plans"), [(form, plans) for form in FORMS for plans in FORMS[form].plans])
def test_random_descriptions(form: str, plans: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many, numbers, wanted = FORMS[form].plans[plans]
    for name, value in numbers.items():
        monkeypatch.setattr(f"dmlops.gpu.plans.{name}", value)
    for desc, arrays in islice(FORMS[form].descriptions(wanted), many):
        check_results(device, desc, arrays, exact=is_chosen(desc))


@pytest.mark.parametrize("form", FORMS)
def test_special_numbers(form: str, device: Any) -> None:
    """What is no number, or infinite, goes where it counts, and nowhere else."""
    rng = np.random.default_rng(7)
    for desc, arrays in islice(FORMS[form].descriptions(), 16):
        for name, array in arrays.items():
            is_float = isinstance(array, np.ndarray) and array.dtype.kind == "f"
            if is_float and 0 not in getattr(desc, name).element_strides:
                special = rng.choice((np.nan, np.inf, -np.inf), array.shape).astype(array.dtype)
                arrays[name] = np.where(rng.random(array.shape) < 0.02, special, array)
        check_results(device, desc, arrays, exact=is_chosen(desc))
