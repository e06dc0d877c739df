"""Shaders by schedule and by definition agree with the reference, which follows definitions.

Numbers are small integers, so that most functions are exact in any order, with NaN and infinities among the
floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.registry import Registry
from gpu_device import device
from operator_runs import REGISTRY
from schedule_cases import Variant, by_shader, described

__all__ = ["device"]

RANDOM = np.random.default_rng(8)
SIZES, REDUCED, ROWS = (2, 3, 4, 5), (2, 1, 4, 1), (1, 1, 6, 20)
AXES = {"AxisCount": 3, "Axes": [3, 1, 3]}
OF_FLOATS = ("AVERAGE", "L2", "LOG_SUM", "LOG_SUM_EXP")
OF_LARGE = ("L1", "MULTIPLY", "SUM", "SUM_SQUARE")  # and of floats


@dataclass(frozen=True)
class Case:
    """A description of an operator, but for its tensors."""

    operator: str
    input: str
    output: str
    output_sizes: tuple[int, ...]
    members: dict[str, Any]
    input_sizes: tuple[int, ...] = SIZES

    def __str__(self) -> str:
        words = (value for value in self.members.values() if isinstance(value, str | bool))
        return "-".join(map(str, (self.operator, *words, self.input)))


def cases() -> Iterator[Case]:
    for entry in REGISTRY.enums["REDUCE_FUNCTION"].entries:
        of_places = entry.name in ("ARGMAX", "ARGMIN")
        types = ["FLOAT32"] if entry.name in OF_FLOATS else ["FLOAT16", "INT32", "UINT64"]
        types += ["INT8"] if entry.name not in (*OF_FLOATS, *OF_LARGE) else []
        for type_ in types:
            yield Case(
                "REDUCE", type_, "INT64" if of_places else type_, REDUCED, {"Function": entry.name, **AXES}
            )
    for operator in ("ARGMAX", "ARGMIN"):
        for direction in ("INCREASING", "DECREASING"):
            for type_ in ("FLOAT32", "INT8", "UINT64"):
                yield Case(operator, type_, "UINT32", REDUCED, {"AxisDirection": direction, **AXES})
    for operator in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX"):
        yield Case(f"ACTIVATION_{operator}", "FLOAT32", "FLOAT32", ROWS, {}, ROWS)
        yield Case(f"ACTIVATION_{operator}1", "FLOAT16", "FLOAT16", SIZES, AXES)
    for operator, flag in (("SUMMATION", "HasExclusiveSum"), ("PRODUCT", "HasExclusiveProduct")):
        for exclusive, direction, type_ in (
            (False, "INCREASING", "FLOAT32"),
            (True, "DECREASING", "FLOAT16"),
            (True, "INCREASING", "INT32"),
            (False, "DECREASING", "UINT64"),
        ):
            members = {"Axis": 2, "AxisDirection": direction, flag: exclusive}
            yield Case(f"CUMULATIVE_{operator}", type_, type_, SIZES, members)


def alone(operator: str) -> Registry:
    """The registry with one operator, computed by its definition."""
    return replace(REGISTRY, operators=(REGISTRY.operator[operator],), by_definition=True)


def numbers(type_: str) -> np.ndarray:
    low = 0 if type_.startswith("U") else -4
    found = RANDOM.integers(low, 5, SIZES).astype(type_.lower())
    if found.dtype.kind == "f":
        found[0, :, 0] = (
            np.inf
        )  # one set has infinities, one NaN, too, and one no number above minus infinity
        found[0, :, 1], found[0, 1, 1, 2] = np.inf, np.nan
        found[0, :, 2] = -np.inf
    return found


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_a_schedule_gives_what_its_definition_gives(case: Case, device: Any) -> None:
    output = np.zeros(case.output_sizes, case.output.lower())
    arrays = {"InputTensor": numbers(case.input).reshape(case.input_sizes)}
    desc = described(case.operator, output, arrays, **case.members)
    wanted = dmlops.reference.run(desc, arrays)["OutputTensor"]
    for found in (
        dmlops.gpu.run(desc, arrays, device),
        by_shader(alone(case.operator), desc, arrays, device),
    ):
        one = found["OutputTensor"]
        assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(one, wanted, 2e-3 if wanted.dtype == np.float16 else 1e-5)


DIMENSIONS = "for d in range(InputTensor.DimensionCount)"
ELSE = "InputTensor.Sizes[d] - InputTensor.Sizes[d]"


@pytest.mark.parametrize(
    "section",
    [
        f"""compute:
  let:
    mirrored: "[InputTensor.Sizes[d] - 1 - at[d] {DIMENSIONS}]"
    along(i): "min(mirrored[i] + {ELSE} {DIMENSIONS})"
  outputs: {{OutputTensor: "InputTensor[[along(d) {DIMENSIONS}]]"}}
""",
        f"""compute:
  let:
    mirrored: "[InputTensor.Sizes[d] - 1 - at[d] {DIMENSIONS}]"
    place: "[min(mirrored[e] + {ELSE} {DIMENSIONS}) for e in range(InputTensor.DimensionCount)]"
  outputs: {{OutputTensor: "InputTensor[place]"}}
""",
    ],
    ids=["of a function and its caller", "of a list and of a loop in its entries"],
)
def test_loops_in_the_entries_of_a_coordinate_follow_the_definition(
    section: str, device: Any, tmp_path: Path
) -> None:
    variant = Variant(tmp_path, "ELEMENT_WISE_IDENTITY", section)
    assert variant.form is None
    arrays = {"InputTensor": np.arange(6, dtype=np.float32).reshape(2, 3)}
    desc = described("ELEMENT_WISE_IDENTITY", arrays["InputTensor"], arrays)
    for one in (variant.by_definition(desc, arrays), variant.by_shader(desc, arrays, device)):
        assert np.array_equal(one["OutputTensor"], arrays["InputTensor"][::-1, ::-1])
