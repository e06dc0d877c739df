# ruff: noqa: E501   (tables)
"""Definitions of reductions: those of the form get the schedule, similar ones do not; what each element makes of
one goes by rows.

NumPy gives the expected result of each definition, which the reference evaluates as written and, if it has a
form, the shader through that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlgen.schedules.reduction import Reduction
from dmlgen.schedules.rows import Rows
from gpu_device import device
from schedule_cases import Variant, described

__all__ = ["device"]

REDUCED = "reduced(d): any(Axes[i] == d for i in range(len(Axes)))"
SOFTMAX, HARDMAX = "ACTIVATION_SOFTMAX1", "ACTIVATION_HARDMAX1"
WHEN = "    when: Function not in (ARGMAX, ARGMIN)\n"  # of the rule that input and output have one type
KEEP = {"axis": (0, 2), "keepdims": True}
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(0, 3, (3, 4, 5)).astype(np.float32)
TIES = RANDOM.integers(0, 3, (3, 4, 5)).astype(np.float32)
INFINITE = X.copy()
INFINITE[0, 0, 0], INFINITE[1, 1, :] = np.inf, -np.inf

Oracle = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Case:
    """A definition of an operator, `let` and `tensors` in short, and what it gives for an input."""

    name: str
    operator: str
    output: str
    gives: Oracle
    let: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    uses: str = "normalization"
    reduced: str = REDUCED
    members: dict[str, Any] = field(default_factory=dict)
    input: np.ndarray = field(default_factory=lambda: X)
    type: Any = None  # of the output, where it is another than the input's
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def section(self) -> str:
        lets = "".join(f"    {line}\n" for line in ((self.reduced,) if self.let != LINE else ()) + self.let)
        tensors = "".join(f"    {line}\n" for line in self.tensors)
        return (
            f"compute:\n  uses: [{self.uses}]\n  let:\n{lets}"
            + (f"  tensors:\n{tensors}" if tensors else "")
            + f"  outputs:\n    OutputTensor: {self.output}\n"
        )


def softmax(x: np.ndarray, **keep: Any) -> np.ndarray:
    power = np.exp((x - x.max(**keep)).astype(np.float64))
    return power / power.sum(**keep)


def sums(name: str, output: str, gives: Oracle, **more: Any) -> Case:
    """A definition of REDUCE, with the function SUM in its description, and an output of the input's type."""
    more = {"replaced": {WHEN: ""}, **more}
    return Case(name, "REDUCE", f'"{output}"', gives, members={"Function": "SUM"}, **more)


def chosen(name: str, output: str, gives: Oracle, direction: str, **more: Any) -> Case:
    """A definition of ARGMAX."""
    members = {"AxisDirection": direction}
    return Case(name, "ARGMAX", f'"{output}"', gives, members=members, type=np.uint32, **more)


def of_rows(x: np.ndarray) -> np.ndarray:
    """The rows along axes 0 and 2."""
    return x.transpose(1, 0, 2).reshape(4, 15)


FIRST = 'First: {sizes: kept, type: int, value: "ravel_index(argmax(InputTensor[over(r)] for r in ndindex(extent)), extent)"}'
OWN = "ravel_index([at[d] if reduced(d) else 0 for d in axes(InputTensor)], extent)"
POWERS = 'Sum: {sizes: kept, value: "sum(exp(InputTensor[over(r)]) for r in ndindex(extent))"}'
ALONG = (
    'Top: {sizes: "replace(InputTensor.Sizes, Axes[0], 1)", value: "finite(max(line(i) for i in range(length)))"}',
    'Total: {sizes: "replace(InputTensor.Sizes, Axes[0], 1)", value: "sum(exp(line(i) - Top[at]) for i in range(length))"}',
)
LINE = (
    "finite(x): 0 if is_infinity(x) else x",
    "length: InputTensor.Sizes[Axes[0]]",
    'line(i): "InputTensor[replace(at, Axes[0], i)]"',
    'row: "replace(at, Axes[0], 0)"',
)

ROWS = [
    Case("softmax", SOFTMAX, "exp(InputTensor[at] - Peak[here]) / Sum[here]", lambda x: softmax(x, **KEEP), uses="normalization, softmax"),
    Case("twice softmax", SOFTMAX, "2 * exp(InputTensor[at] - Peak[here]) / Sum[here]", lambda x: 2 * softmax(x, **KEEP), uses="normalization, softmax"),
    Case("log-softmax", SOFTMAX, "InputTensor[at] - (Peak[here] + log(Sum[here]))", lambda x: np.log(softmax(x, **KEEP)), uses="normalization, softmax"),
    Case("distance from the logarithm of the sum", SOFTMAX, "abs(InputTensor[at] - log(Sum[here]) - Peak[here])", lambda x: -np.log(softmax(x, **KEEP)), uses="normalization, softmax"),
    Case("shifted below alone", SOFTMAX, "exp(InputTensor[at]) / Sum[here]", lambda x: np.exp(x) / np.exp(x - x.max(**KEEP)).sum(**KEEP), uses="normalization, softmax"),
    Case("without a peak", SOFTMAX, "exp(InputTensor[at]) / Sum[here]", lambda x: softmax(x, **KEEP), tensors=(POWERS,)),
    Case("without a tensor", SOFTMAX, '"InputTensor[at] / sum(abs(InputTensor[over(r)]) for r in ndindex(extent))"', lambda x: x / np.abs(x).sum(**KEEP)),
    Case("deviation", SOFTMAX, '"InputTensor[at] - sum(InputTensor[over(r)] for r in ndindex(extent)) / count"', lambda x: x - x.mean(**KEEP)),
    Case("the other axes", SOFTMAX, '"InputTensor[at] / sum(InputTensor[over(r)] for r in ndindex(extent))"', lambda x: x / x.sum(axis=1, keepdims=True), reduced="reduced(d): all(Axes[i] != d for i in range(len(Axes)))"),
    Case("the axes above", SOFTMAX, '"InputTensor[at] / sum(InputTensor[over(r)] for r in ndindex(extent))"', lambda x: x / x.sum(axis=(1, 2), keepdims=True), reduced="reduced(d): any(Axes[i] < d for i in range(len(Axes)))"),
]  # fmt: skip

RECOGNIZED = [
    Case("hardmax", HARDMAX, f'"First[here] == {OWN}"', lambda x: np.eye(15)[of_rows(x).argmax(1)].reshape(4, 3, 5).transpose(1, 0, 2), tensors=(FIRST,), input=TIES),
    Case("last of the greatest", HARDMAX, f'"Last[here] == {OWN}"', lambda x: np.eye(15)[14 - of_rows(x)[:, ::-1].argmax(1)].reshape(4, 3, 5).transpose(1, 0, 2), let=('turned(r): "[extent[d] - 1 - r[d] for d in axes(InputTensor)]"',), tensors=('Last: {sizes: kept, type: int, value: "ravel_index(turned(argmax(InputTensor[over(turned(r))] for r in ndindex(extent))), extent)"}',), input=TIES),
    sums("sum", "convert(sum(InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: x.sum(**KEEP)),
    sums("greatest of integers", "convert(max(InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: x.max(**KEEP), input=TIES.astype(np.int32)),
    sums("half the square of a norm", "convert(0.5 * sum(InputTensor[over(r)] * InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: (x * x).sum(**KEEP) / 2),
    chosen("place of the least", "ravel_index(argmin(InputTensor[over(r)] for r in ndindex(extent)), extent)", lambda x: of_rows(x).argmin(1).reshape(1, 4, 1), "INCREASING", input=TIES),
    chosen("the other direction", "ravel_index(turned(argmax(InputTensor[over(turned(r))] for r in ndindex(extent))), extent)", lambda x: (14 - of_rows(x)[:, ::-1].argmax(1)).reshape(1, 4, 1), "INCREASING", let=('turned(r): "r if AxisDirection == DECREASING else [extent[d] - 1 - r[d] for d in axes(InputTensor)]"',), input=TIES),
]  # fmt: skip

NEARLY = [
    Case("no care for infinity", SOFTMAX, '"exp(InputTensor[at] - Top[here]) / Sum[here]"', lambda x: softmax(x, **KEEP), tensors=('Top: {sizes: kept, value: "max(InputTensor[over(r)] for r in ndindex(extent))"}', 'Sum: {sizes: kept, value: "sum(exp(InputTensor[over(r)] - Top[at]) for r in ndindex(extent))"}'), input=INFINITE),
    Case("after the least", SOFTMAX, '"exp(InputTensor[at] - Peak[here]) / Sum[here]"', lambda x: softmax(x, **KEEP), uses="normalization, softmax", tensors=('Peak: {sizes: kept, value: "finite(min(InputTensor[over(r)] for r in ndindex(extent)))"}',)),
    Case("twice as steep", SOFTMAX, '"exp(2 * (InputTensor[at] - Peak[here])) / Sum[here]"', lambda x: softmax(2 * x, **KEEP), uses="normalization, softmax", tensors=('Sum: {sizes: kept, value: "sum(exp(2 * (InputTensor[over(r)] - Peak[at])) for r in ndindex(extent))"}',)),
    Case("some elements", SOFTMAX, '"InputTensor[at] / sum(InputTensor[over(r)] for r in ndindex(extent) if InputTensor[over(r)] > 0)"', lambda x: x / np.where(x > 0, x, 0).sum(**KEEP)),
    Case("the total for each element", SOFTMAX, '"sum(InputTensor[over(r)] for r in ndindex(extent))"', lambda x: np.broadcast_to(x.sum(**KEEP), x.shape)),
    Case("two totals", SOFTMAX, '"InputTensor[at] * sum(InputTensor[over(r)] for r in ndindex(extent)) - sum(abs(InputTensor[over(r)]) for r in ndindex(extent))"', lambda x: x * x.sum(**KEEP) - np.abs(x).sum(**KEEP)),
    Case("one axis by replacing", SOFTMAX, '"exp(InputTensor[at] - Top[row]) / Total[row]"', lambda x: softmax(x, axis=0, keepdims=True), let=LINE, tensors=ALONG),
    Case("another element of the row", SOFTMAX, '"InputTensor[here] / sum(InputTensor[over(r)] for r in ndindex(extent))"', lambda x: np.broadcast_to(x[:1, :, :1] / x.sum(**KEEP), x.shape)),
    Case("all but the last", SOFTMAX, '"InputTensor[at] - sum(InputTensor[over(r)] for r in ndindex(most))"', lambda x: x - x[:-1, :, :-1].sum(**KEEP), let=('most: "[extent[d] - 1 if reduced(d) else 1 for d in axes(InputTensor)]"',)),
    Case("all but the greatest", HARDMAX, f'"First[here] != {OWN}"', lambda x: 1 - np.eye(15)[of_rows(x).argmax(1)].reshape(4, 3, 5).transpose(1, 0, 2), tensors=(FIRST,), input=TIES),
    sums("mean of integers", "convert(sum(float(InputTensor[over(r)]) for r in ndindex(extent)) / count, OutputTensor)", lambda x: np.trunc(x.mean(**KEEP)), input=TIES.astype(np.int32) * 7),
    sums("of no type that rules demand", "convert(sum(InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: x.sum(**KEEP), replaced={}),
    sums("difference of extremes", "convert(max(InputTensor[over(r)] for r in ndindex(extent)) - min(InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: np.ptp(x, **KEEP)),
    sums("weighted", "convert(sum(float(ravel_index(r, extent)) * float(InputTensor[over(r)]) for r in ndindex(extent)), OutputTensor)", lambda x: (of_rows(x) @ np.arange(15)).reshape(1, 4, 1)),
    sums("from the other end", "convert(InputTensor[over([extent[d] - 1 for d in axes(InputTensor)])] + max(InputTensor[over(r)] for r in ndindex(extent)), OutputTensor)", lambda x: x[-1:, :, -1:] + x.max(**KEEP)),
    chosen("of magnitudes", "ravel_index(argmax(abs(InputTensor[over(r)]) for r in ndindex(extent)), extent)", lambda x: np.abs(of_rows(x)).argmax(1).reshape(1, 4, 1), "INCREASING"),
    chosen("counted from the end", "ravel_index(turned(argmax(InputTensor[over(r)] for r in ndindex(extent))), extent)", lambda x: (14 - of_rows(x).argmax(1)).reshape(1, 4, 1), "INCREASING", let=('turned(r): "[extent[d] - 1 - r[d] for d in axes(InputTensor)]"',), input=TIES),
    chosen("place in the whole tensor", "ravel_index(over(argmax(InputTensor[over(r)] for r in ndindex(extent))), InputTensor.Sizes)", lambda x: np.array([(i // 5) * 20 + row * 5 + i % 5 for row, i in enumerate(of_rows(x).argmax(1))]).reshape(1, 4, 1), "INCREASING", input=TIES),
]  # fmt: skip


def run(case: Case, folder: Path) -> tuple[Variant, Any, dict[str, np.ndarray]]:
    variant = Variant(folder, case.operator, case.section, case.replaced)
    arrays = {"InputTensor": case.input}
    axes = [0] if case.let == LINE else [0, 2]
    exact = case.input.astype(np.float64 if case.input.dtype.kind == "f" else np.int64)
    output = np.asarray(case.gives(exact)).astype(case.type or case.input.dtype)
    members = {"AxisCount": len(axes), "Axes": axes, **case.members}
    return variant, described(case.operator, output, arrays, **members), {**arrays, "wanted": output}


def check(found: np.ndarray, wanted: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, 2e-5, 1e-6)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("case", ROWS + RECOGNIZED, ids=lambda case: case.name)
def test_reductions_and_what_depends_on_them_go_by_rows(case: Case, device: Any, tmp_path: Path) -> None:
    variant, desc, arrays = run(case, tmp_path)
    wanted = arrays.pop("wanted")
    assert variant.form_of(Rows) or variant.form_of(Reduction)
    check(variant.by_definition(desc, arrays)["OutputTensor"], wanted)
    check(variant.by_shader(desc, arrays, device)["OutputTensor"], wanted)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("case", NEARLY, ids=lambda case: case.name)
def test_what_is_nearly_a_reduction_is_computed_as_it_is_defined(case: Case, tmp_path: Path) -> None:
    variant, desc, arrays = run(case, tmp_path)
    wanted = arrays.pop("wanted")
    assert variant.form is None
    check(variant.by_definition(desc, arrays)["OutputTensor"], wanted)
