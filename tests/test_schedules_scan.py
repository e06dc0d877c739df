# ruff: noqa: E501   (tables)
"""Definitions of scans: those of the form get the schedule, similar ones do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_device import device
from schedule_cases import Variant, described

__all__ = ["device"]

SUM, PRODUCT = "CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"
X = np.random.default_rng(6).normal(0, 1, (3, 5, 2)).astype(np.float32)
SIZE = "InputTensor.Sizes[Axis]"
WHOLE = f"range({SIZE})"
ELEMENT = "InputTensor[replace(at, Axis, i)]"
ENDS = f"""\
    start: 0 if AxisDirection == INCREASING else at[Axis] + 1 if HasExclusiveSum else at[Axis]
    end: {SIZE} if AxisDirection == DECREASING else at[Axis] if HasExclusiveSum else at[Axis] + 1
"""

Oracle = Callable[[np.ndarray, bool, bool], np.ndarray]  # input, decreasing, exclusive


def running(x: np.ndarray, decreasing: bool, exclusive: bool, ufunc: Any = np.add) -> np.ndarray:
    """Sums along axis 1."""
    turned = x[:, ::-1] if decreasing else x
    found = ufunc.accumulate(turned, axis=1)
    if exclusive:
        first = np.full_like(x[:, :1], ufunc.identity)
        found = np.concatenate([first, found[:, :-1]], axis=1)
    return found[:, ::-1] if decreasing else found


def check(
    operator: str, let: str, output: str, gives: Oracle, form: str | None, folder: Path, device: Any = None
) -> None:
    lets = f"  let:\n{let}" if let else ""
    variant = Variant(folder, operator, f'compute:\n{lets}  outputs:\n    OutputTensor: "{output}"\n')
    assert variant.form == form
    for decreasing in (False, True):
        for exclusive in (False, True):
            wanted = gives(X.astype(np.float64), decreasing, exclusive).astype(np.float32)
            exclusion = "HasExclusiveSum" if operator == SUM else "HasExclusiveProduct"
            members = {"Axis": 1, "AxisDirection": "DECREASING" if decreasing else "INCREASING"}
            desc = described(operator, wanted, {"InputTensor": X}, **members, **{exclusion: exclusive})
            found = [variant.by_definition(desc, {"InputTensor": X})]
            found += [variant.by_shader(desc, {"InputTensor": X}, device)] if form else []
            for one in found:
                np.testing.assert_allclose(one["OutputTensor"], wanted, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("operator", "let", "output", "gives"),
    [
        (SUM, ENDS, f"sum({ELEMENT} for i in range(start, end))", running),
        (PRODUCT, ENDS.replace("Sum", "Product"), f"product({ELEMENT} for i in range(start, end))", lambda x, d, e: running(x, d, e, np.multiply)),
        (SUM, "", f"sum({ELEMENT} for i in range(1 + at[Axis]))", lambda x, d, e: running(x, False, False)),
        (SUM, "", f"sum({ELEMENT} for i in range(at[Axis] + 1, {SIZE}))", lambda x, d, e: running(x, True, True)),
        (SUM, "    start: at[Axis] if HasExclusiveSum else 0\n    end: InputTensor.Sizes[Axis] if HasExclusiveSum else at[Axis] + 1\n", f"sum({ELEMENT} for i in range(start, end))", lambda x, d, e: running(x, e, False)),
        (SUM, "    end: at[Axis] if AxisDirection == DECREASING else at[Axis] + 1\n", f"sum({ELEMENT} for i in range(end))", lambda x, d, e: running(x, False, d)),
    ],
    ids=["sum", "product", "always with", "always without, backward", "backward by a flag", "without by direction"],
)  # fmt: skip
def test_what_runs_along_an_axis_gets_the_schedule(
    operator: str, let: str, output: str, gives: Oracle, device: Any, tmp_path: Path
) -> None:
    check(operator, let, output, gives, "scan", tmp_path, device)


@pytest.mark.parametrize(
    ("output", "gives"),
    [
        (f"sum({ELEMENT} * {ELEMENT} for i in range(at[Axis] + 1))", lambda x, d, e: running(x * x, False, False)),
        (f"max({ELEMENT} for i in range(at[Axis] + 1))", lambda x, d, e: np.maximum.accumulate(x, axis=1)),
        (f"sum({ELEMENT} for i in {WHOLE} if i != at[Axis])", lambda x, d, e: x.sum(axis=1, keepdims=True) - x),
        (f"sum({ELEMENT} for i in {WHOLE} if i <= at[Axis])", lambda x, d, e: running(x, False, False)),
        (f"sum({ELEMENT} for i in {WHOLE} if i >= at[Axis] and i != 9)", lambda x, d, e: running(x, True, False)),
        (f"sum({ELEMENT} for i in range(min(at[Axis] + 2, {SIZE})))", lambda x, d, e: np.concatenate([running(x, False, False)[:, 1:], x.sum(1, keepdims=True)], 1)),
        (f"sum({ELEMENT} for i in range(1, at[Axis] + 1))", lambda x, d, e: running(x, False, False) - x[:, :1]),
        (f"sum({ELEMENT} for i in {WHOLE})", lambda x, d, e: np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape)),
        ("sum(InputTensor[replace(at, Axis, at[Axis])] for i in range(at[Axis] + 1))", lambda x, d, e: x * np.arange(1, 6)[:, None]),
        (f"sum({ELEMENT} for i in range(at[0] + 1))", lambda x, d, e: np.stack([np.broadcast_to(x[n, : n + 1].sum(0), x[n].shape) for n in range(3)])),
        (f"sum({ELEMENT} for i in range(at[Axis] + 1 if HasExclusiveSum and AxisDirection == DECREASING else at[Axis]))", lambda x, d, e: running(x, False, not (d and e))),
        (f"sum({ELEMENT} for i in range(at[Axis] + 1)) + InputTensor[at]", lambda x, d, e: running(x, False, False) + x),
    ],
    ids=["of squares", "greatest", "of all others", "by a condition", "backward by a condition", "one more", "from the second on", "of all", "of itself", "along another axis", "by two members", "and more"],
)  # fmt: skip
def test_what_nearly_runs_along_an_axis_is_computed_as_it_is_defined(
    output: str, gives: Oracle, tmp_path: Path
) -> None:
    check(SUM, "", output, gives, None, tmp_path)
