# ruff: noqa: E501   (tables)
"""Definitions that have a form, and others that merely resemble it; those that have one and are run give in
their shader what the reference, which follows definitions, gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.rows import Rows
from dmlgen.schedules.separable import Mode, Separable
from dmlgen.schedules.sliding import Sliding
from dmlgen.schedules.sparse_sum import SparseSum
from dmlgen.schedules.sums import Sums
from dmlgen.schedules.vector_axis import VectorAxis
from dmlgen.schedules.views import views_in, views_of
from dmlops.gpu.plans import gemm_view
from gpu_device import device
from schedule_cases import Arrays, Variant, changed, described, operators_with

__all__ = ["device"]

Runs = Iterator[tuple[Any, Arrays]]


@dataclass(frozen=True)
class Family:
    """Variants of definitions by name: the texts that each is made of, and what is seen of its form."""

    made: Callable[..., Variant]  # in a folder, of a variant's texts
    seen: Callable[[Variant], Any]
    variants: dict[str, tuple[Any, ...]]
    runs: Callable[[Variant], Runs] = field(default=lambda variant: iter(()))  # of those that have a form


def has(kind: type[Any]) -> Callable[[Variant], bool]:
    return lambda variant: variant.form_of(kind) is not None


def section(value: str, *let: str, tensors: tuple[str, ...] = (), uses: str = "") -> str:
    """The definition of OutputTensor, with lines of `let` and `tensors`, and what it uses."""
    parts = {"let": let, "tensors": tensors, "outputs": (f'OutputTensor: "{value}"',)}
    lines = (f"  {key}:\n" + "".join(f"    {one}\n" for one in part) for key, part in parts.items() if part)
    return "compute:\n" + (f"  uses: [{uses}]\n" if uses else "") + "".join(lines)


def of(operator: str, text: str = section("{}")) -> Callable[[Path, str], Variant]:
    """An operator with a text in its section."""
    return lambda folder, part: Variant(folder, operator, text.format(part))


def edit(operator: str, *first: str) -> Callable[..., Variant]:
    """An operator with texts of its section in place of others, those of variants after the first ones."""
    return lambda folder, *texts: changed(folder, operator, *first, *texts)


# Maps.


READS = Family(of("ELEMENT_WISE_ADD", section("ATensor[at] + ATensor[{}] + BTensor[at]")), has(Elementwise), {
    "the element": ("at", True),
    "its mirror image": ("[ATensor.Sizes[d] - 1 - at[d] for d in axes(ATensor)]", False),
})  # fmt: skip

SELECTED = "InputTensor[replace(at, Axis, normalize_index({}, InputTensor.Sizes[Axis]))]"
MIRRORED = "[InputTensor.Sizes[d] - 1 - at[d] for d in axes(InputTensor)]"
INDEX = "normalize_index(IndicesTensor[at], InputTensor.Sizes[Axis])"
GATHERS = Family(of("GATHER_ELEMENTS", section("{}")), has(Elementwise), {
    "as they are": (SELECTED.format("IndicesTensor[at]"), True),
    "of mirrored indices": (SELECTED.format(f"IndicesTensor[{MIRRORED}]"), False),
    "of mirrored elements": (f"InputTensor[replace({MIRRORED}, Axis, {INDEX})]", False),
})  # fmt: skip

# Products.


def matrices(variant: Variant) -> Runs:
    """Both factors as they are, and both transposed."""
    rng = np.random.default_rng(1)
    for way, sizes in (("NONE", ((2, 3, 5), (2, 5, 4))), ("TRANSPOSE", ((2, 5, 3), (2, 4, 5)))):
        a, b = (rng.normal(0, 1, size).astype(np.float32) for size in sizes)
        arrays = {"ATensor": a, "BTensor": b}
        members = {"TransA": way, "TransB": way, "Alpha": 0.5, "Beta": 2.0}
        yield described("GEMM", np.zeros((2, 3, 4), np.float32), arrays, **members), arrays


ACTIVATED = "apply_activation(Product[at], FusedActivation)"
PRODUCTS = Family(edit("GEMM", ACTIVATED, "Product[at]"), has(Contraction), {
    "turned round": ("a(k) * b(k)", "b(k) * a(k)", True),
    "used twice": ("OutputTensor: Product[at]", "OutputTensor: Product[at] / (1 + abs(Product[at]))", True),
    "with a condition": ("range(K))", "range(K) if k != 1)", False),
    "greatest": ("sum(a(k)", "max(a(k)", False),
    "of one tensor": ("BTensor[", "ATensor[", False),
    "backward": ("[k, at[r - 1]] if", "[K - 1 - k, at[r - 1]] if", False),
    "two sums": ("range(K))", "range(K)) + sum(a(k) for k in range(K))", False),
    "a factor again": ("range(K))", "range(K)) + a(0)", False),
    "read elsewhere": ("Product[at]", "Product[at[:r - 1] + [0]]", False),
}, matrices)  # fmt: skip

LEFT = "ATensor[at[:r - 1] + [k]]"
ZERO = "zero(AZeroPointTensor, row_axis(AZeroPointTensor), at[r - 2])"
OTHER = "zero(BZeroPointTensor, column_axis(BZeroPointTensor), at[r - 1])"
RIGHT = f"(BTensor[at[:r - 2] + [k, at[r - 1]]] - {OTHER})"
BYTES = Family(
    of("MATRIX_MULTIPLY_INTEGER", section(
        "convert(sum({} for k in range(K)), OutputTensor)", "r: OutputTensor.DimensionCount", uses="quantized",
    )),
    lambda variant: (found := variant.form_of(Contraction)) is not None and found.of_bytes,
    {
        "turned round": (f"{RIGHT} * ({LEFT} - {ZERO})", True),
        "no zero point": (f"{LEFT} * {RIGHT}", True),
        "of each": (f"({LEFT} - {ZERO.replace('at[r - 2]', 'k')}) * {RIGHT}", False),
        "plus": (f"({LEFT} + {ZERO}) * {RIGHT}", False),
        "twice": (f"({LEFT} - 2 * {ZERO}) * {RIGHT}", False),
        "squares": (f"{RIGHT} * {RIGHT}", False),
    },
)  # fmt: skip


def factors(variant: Variant) -> Any:
    """The tensors of both factors of a sum over a window."""
    found = variant.form_of(Contraction)
    assert variant.form is None
    return None if found is None or not found.window else (found.left, found.right)


CHANNELS = "for k in range(inputs) if reads_input(w)"
STEP = "w[d] * Dilations[d]"
PRODUCT = ("InputTensor[[at[0], input_channel(k)] + position(w)]", "filter(k, w)")
FILTERED = ("FilterTensor", "InputTensor")
WINDOWS = Family(edit("CONVOLUTION"), factors, {
    "turned round": (" * ".join(PRODUCT), " * ".join(PRODUCT[::-1]), FILTERED),
    "added otherwise": (f"at[d + 2] * Strides[d] + {STEP}", f"{STEP} + Strides[d] * at[d + 2]", FILTERED),
    "with a gap": (CHANNELS, f"{CHANNELS} and w[0] != 1", None),
    "squares of places": ("w[d] * Dilations[d] - StartPadding[d] if", "w[d] * w[d] - StartPadding[d] if", None),
    "of other dimensions": ("at[d + 2] * Strides[d] + w", "at[dims + 1 - d] * Strides[d] + w", None),
    "another divisor": ("% Strides[d] == 0", "% Dilations[d] == 0", None),
    "any": ("all(strided_position(w)", "any(strided_position(w)", None),
    "the group": ("[input_channel(k), channel[1]]", "[input_channel(k), channel[0]]", None),
    "not by channels": ("[input_channel(k), channel[1]]", "[at[1], channel[1]]", None),
})  # fmt: skip

NETWORK = """compute:
  uses: [recurrent]
  tensors:
    Hidden:
      sizes: states
      recurrent: true
      value: >-
        initial(HiddenInitTensor) if at[0] == 0
        else act(input_term(0) + {}, 0) if active else previous(Hidden)
  outputs:
    OutputSequenceTensor: "Hidden[[step(at[0], at[1], at[2])] + at[1:]] if at[0] < length(at[2]) else 0"
    OutputSingleTensor: "Hidden[[SequenceLength] + at[1:]]"
"""
STATE, GATE = "Hidden[[at[0] - 1, at[1], at[2], k]]", "RecurrenceTensor[[0, at[1], gate(0, at[3]), k]]"
SECOND_GATE, THIRD_GATE = GATE.replace("0, at[3]", "1, at[3]"), GATE.replace("0, at[3]", "2, at[3]")
LOOP = "for k in range(HiddenSize)"


def gates(variant: Variant) -> int:
    """The number of gates that the states before are multiplied by; 0 unless all tensors are sums."""
    form = variant.form_of(Sums)
    if form is None:
        return 0
    (one,) = form.passes[1:]
    assert one.along and one.delay == 1
    return len(one.gates)


RECURRENCES = Family(of("RNN", NETWORK), gates, {
    "turned round": (f"sum({GATE} * {STATE} {LOOP})", 1),
    "in a term": (f"2 * sum({STATE} * {GATE} {LOOP}) + previous(Hidden)", 1),
    "of two gates": (f"max(sum({STATE} * {SECOND_GATE} {LOOP}), sum({STATE} * {GATE} {LOOP}))", 2),
    "of gates apart": (f"max(sum({STATE} * {THIRD_GATE} {LOOP}), sum({STATE} * {GATE} {LOOP}))", 0),
    "of any row": (f"sum({STATE} * {GATE.replace('gate(0, at[3])', 'at[3] * 0')} {LOOP})", 0),
    "greatest": (f"max({STATE} * {GATE} {LOOP})", 0),
    "not to the end": (f"sum({STATE} * {GATE} for k in range(HiddenSize - 1))", 0),
    "column": (f"sum({STATE} * RecurrenceTensor[[0, at[1], k, at[3]]] {LOOP})", 0),
    "optional weights": (f"sum({STATE} * BiasTensor[[0, 0, at[3] * 0, k]] {LOOP})", 0),
    "weights again": (f"sum({STATE} * {GATE} {LOOP}) + RecurrenceTensor[[0, 0, 0, 0]]", 0),
    "of two factors": (f"sum({STATE} * {GATE} {LOOP}) * sum({STATE.replace('- 1', '- 2')} * {GATE} {LOOP})", 0),
})  # fmt: skip

# Windows and taps.

ELEMENTS = "InputTensor[at[:2] + position(at[2:], w)] for w in ndindex(WindowSize) if valid(w)"
MAXIMUM, MEAN = "MAX_POOLING", "AVERAGE_POOLING1"
SLIDING = Family(changed, has(Sliding), {
    "negative": (MAXIMUM, "max(InputTensor", "max(-InputTensor", True),
    "sum": (MEAN, " / float(count(at[2:]))", "", True),
    "with a gap": (MAXIMUM, " if valid(w)", " if valid(w) and w[0] != 1", False),
    "of another channel": (MAXIMUM, "at[:2] + position", "[at[1], at[0]] + position", False),
    "times its place": (MAXIMUM, "position(at[2:], w)] for", "position(at[2:], w)] * float(w[0]) for", False),
    "beside an element": (MAXIMUM, "max(InputTensor", "InputTensor[at] + max(InputTensor", False),
    "two folds": (MEAN, "sum(InputTensor", f"max({ELEMENTS}) + sum(InputTensor", False),
})  # fmt: skip

RESAMPLED = of("RESAMPLE1", section("{}", uses="resample"))
NEXT = "[at[d] + 1 for d in range(dims)]"
BOX = f"for p in ndindex([at[d] for d in range(dims)], {NEXT})"
LATER = "all(p[d] > 0 for d in range(dims))"
TURNED = "[at[dims - 1 - d] for d in range(dims)]"
ELEMENT, TAP = "float(InputTensor[p])", "weights(p) * float(InputTensor[p])"


def totals(variant: Variant) -> Any:
    """The number of sums."""
    form = variant.form_of(Separable)
    return form and [len(mode.totals) for mode in form.modes]


TAPS = Family(RESAMPLED, totals, {
    "some of them": (f"convert(sum({ELEMENT} {BOX} if {LATER}), OutputTensor)", [1]),
    "a mean": (f"convert(sum({TAP} {BOX}) / sum(weights(p) {BOX}), OutputTensor)", [2]),
    "found by integers": ("InputTensor[[at[d] // 2 for d in range(dims)]]", None),
    "of magnitudes": (f"convert(sum(abs({ELEMENT}) {BOX}), OutputTensor)", [1]),
    "greatest": (f"convert(max({TAP} {BOX}), OutputTensor)", None),
    "no product": (f"convert(sum(weights(p) + {ELEMENT} {BOX}), OutputTensor)", None),
    "squares": (f"convert(sum({ELEMENT} * {ELEMENT} {BOX}), OutputTensor)", None),
    "made of where it is": (f"convert(sum({ELEMENT} {BOX}) * float(at[0]), OutputTensor)", None),
    "another dimension's": (f"convert(sum({ELEMENT} for p in ndindex({TURNED}, {NEXT})), OutputTensor)", None),
    "turned": (f"InputTensor[{TURNED}]", None),
})  # fmt: skip


def region(folder: Path, value: str) -> Variant:
    """ROI_POOLING with another value, where f(r) is a coordinate of region r."""
    let = ['f(r): "ROITensor[[0, 0, r, 1]]"'] if "f(" in value else []
    return Variant(folder, "ROI_POOLING", section(value, *let))


TERMS = "sum({} for r in range(RoiCount) for o in ndindex(ROITensor.Sizes[2:]) if {})"
CELLS = "at[2] > o[0] and at[3] > o[1]"
SPARSE = Family(lambda folder, *texts: region(folder, TERMS.format(*texts)), has(SparseSum), {
    "with one more condition": ("f(r)", f"{CELLS} and f(r) > f(at[1])", True),
    "with one of two coordinates": ("f(r)", f"{CELLS} and at[2] + at[3] > r", True),
    "one test": ("f(r)", "at[2] > o[0]", False),
    "one test of one coordinate": ("f(r)", "at[2] + at[3] > r and at[0] == r", False),
    "all coordinates tested": ("f(r)", f"at[0] == r and at[1] == r and {CELLS}", False),
    "one of two tests": ("f(r)", "at[2] > o[0] or at[3] > o[1]", False),
})  # fmt: skip
VECTORS = Family(region, has(VectorAxis), {
    "greatest": ("max(InputTensor[[0, at[1]] + p] for p in ndindex(at[2:])) if f(at[0]) > 0 else 0", True),
    "quotient": ("InputTensor[[0, at[1], at[2], 0]] / sum(f(r) for r in range(RoiCount))", True),
    "other weights": ("sum(InputTensor[[r, at[1], 0, at[3]]] * f(at[1]) for r in range(RoiCount))", False),
    "twice": ("sum(InputTensor[[r, at[1], at[1], 0]] for r in range(RoiCount))", False),
    "of a function": ("sum(abs(InputTensor[[r, at[1], 0, 0]]) for r in range(RoiCount))", False),
    "in a condition": ("sum(f(r) for r in range(RoiCount) if InputTensor[[r, at[1], 0, 0]] > 0)", False),
    "another box": ("max(InputTensor[[0, at[1]] + p] for p in ndindex(at[1:3]))", False),
})  # fmt: skip

# Rows.

NORM, ADAM = "LP_NORMALIZATION", "ADAM_OPTIMIZER"
OF_STEP = "float(TrainingStepTensor[[0 for d in axes(TrainingStepTensor)]])"


def norms(variant: Variant) -> Runs:
    """Of rows in one dispatch, and of rows that are split."""
    for width in (33, 50000) if variant.operator.name == NORM else ():
        array = np.random.default_rng(11).normal(0, 2, (1, 1, 3, width)).astype(np.float32)
        arrays = {"InputTensor": array}
        yield described(NORM, array, arrays, Axis=3, P=1, Epsilon=1e-3), arrays


ROWS = Family(changed, has(Rows), {
    "used otherwise": (NORM, "max(Norm[here], Epsilon)", "(Norm[here] + abs(InputTensor[at]) + Epsilon)", True),
    "with a condition": (NORM, "extent)) if P == 1", "extent) if InputTensor[over(r)] > 0) if P == 1", False),
    "greatest": (NORM, "sum(abs(InputTensor[over(r)])", "max(abs(InputTensor[over(r)])", True),
    "the same twice over": (NORM, "sum(abs(InputTensor[over(r)])", "sum(abs(InputTensor[over(over(r))])", True),
    "of one row alone": (NORM, "sum(abs(InputTensor[over(r)])", "sum(abs(InputTensor[r])", False),
    "another element": (NORM, "InputTensor[at] / max", "InputTensor[here] / max", False),
    "along other dimensions": (NORM, "reduced(d): d == Axis", "reduced(d): InputTensor.Sizes[d] != 1", True),
    "at the element": (ADAM, OF_STEP, "float(TrainingStepTensor[at])", True),
    "not the first one": (ADAM, OF_STEP, OF_STEP.replace("[0 for", "[1 for"), False),
}, norms)  # fmt: skip

TENSOR = """compute:
  tensors:
    Total: {{sizes: "{}", value: "{}"}}
  outputs:
    OutputTensor: "quantize(InputTensor[at] + Total[[0]], OutputTensor)"
    OutputScaleTensor: "Total[[0]]"
    OutputZeroPointTensor: "convert(0, OutputZeroPointTensor)"
"""
ALL = "for p in ndindex(InputTensor.Sizes)"


def whole_tensor(folder: Path, value: str, sizes: str = "[1]") -> Variant:
    return Variant(folder, "DYNAMIC_QUANTIZE_LINEAR", TENSOR.format(sizes, value))


WHOLE_TENSORS = Family(whole_tensor, has(Rows), {
    "made of two": (f"2.0 * max(abs(InputTensor[p]) {ALL}) + min(InputTensor[p] {ALL})", True),
    "of some": (f"max(InputTensor[p] {ALL} if InputTensor[p] > 0)", False),
    "one more": (f"max(InputTensor[p] {ALL}) + InputTensor[[0 for d in axes(InputTensor)]]", False),
    "twice": (f"max(InputTensor[p] {ALL})", "[2]", False),
    "of another box": ("max(InputTensor[p] for p in ndindex([1 for d in axes(InputTensor)]))", False),
})  # fmt: skip

WHERE_LARGE = "{} if max({}[p] for p in ndindex({}.Sizes)) > 2 else 1.0"
ONE_TYPE = Family(of("ELEMENT_WISE_QUANTIZE_LINEAR", section("quantize({}, OutputTensor)")), has(Rows), {
    "floats": (WHERE_LARGE.format("ScaleTensor[at]", *["ScaleTensor"] * 2), True),
    "floats and integers": (WHERE_LARGE.format("ScaleTensor[at]", *["InputTensor"] * 2), False),
})  # fmt: skip

RANDOM = np.random.default_rng(5)
NUMBERS = RANDOM.normal(0, 3, (3, 4, 5)).astype(np.float32)
TIES = RANDOM.integers(0, 3, (3, 4, 5)).astype(np.float32)
WHEN = "    when: Function not in (ARGMAX, ARGMIN)\n"  # of the rule that input and output have one type
MEMBERS = {"REDUCE": {"Function": "SUM"}, "ARGMAX": {"AxisDirection": "INCREASING"}}
REDUCED = "reduced(d): any(Axes[i] == d for i in range(len(Axes)))"
ROW, IN_ROW = "InputTensor[over(r)]", "for r in ndindex(extent)"


def reduction(
    folder: Path, operator: str, output: str, let: tuple[str, ...] = (REDUCED,), tensors: tuple[str, ...] = (),
    uses: str = "normalization", replaced: dict[str, str] | None = None,
) -> Variant:  # fmt: skip
    """An operator with axes; REDUCE has one type, unless what is replaced says otherwise."""
    default = {WHEN: ""} if operator == "REDUCE" else {}
    text = section(output, *let, tensors=tensors, uses=uses)
    return Variant(folder, operator, text, default if replaced is None else replaced)


def rows(variant: Variant) -> Runs:
    """Along two axes, with equal elements and without, and of integers if it reduces."""
    operator = variant.operator.name
    for array in (NUMBERS, TIES, *([TIES.astype(np.int32)] if operator == "REDUCE" else [])):
        output = np.zeros(array.shape if operator.startswith("ACTIVATION") else (1, 4, 1), array.dtype)
        output = output.astype(np.uint32) if operator == "ARGMAX" else output
        arrays = {"InputTensor": array}
        desc = described(operator, output, arrays, AxisCount=2, Axes=[0, 2], **MEMBERS.get(operator, {}))
        yield desc, arrays


SOFTMAX, HARDMAX, SOFT = "ACTIVATION_SOFTMAX1", "ACTIVATION_HARDMAX1", "normalization, softmax"
OWN = "ravel_index([at[d] if reduced(d) else 0 for d in axes(InputTensor)], extent)"
POWERS = f'Sum: {{sizes: kept, value: "sum(exp({ROW}) {IN_ROW})"}}'
BACK = (REDUCED, 'turned(r): "[extent[d] - 1 - r[d] for d in axes(InputTensor)]"')
EITHER = (
    REDUCED,
    'turned(r): "r if AxisDirection == DECREASING else [extent[d] - 1 - r[d] for d in axes(InputTensor)]"',
)
LAST_OF_TURNED = f"turned(argmax(InputTensor[over(turned(r))] {IN_ROW}))"
LAST = f'Last: {{sizes: kept, type: int, value: "ravel_index({LAST_OF_TURNED}, extent)"}}'
ABOVE = "reduced(d): any(Axes[i] < d for i in range(len(Axes)))"
TOP = f'Top: {{sizes: kept, value: "max({ROW} {IN_ROW})"}}'
PEAK = f'Peak: {{sizes: kept, value: "finite(min({ROW} {IN_ROW}))"}}'
BELOW = f'Sum: {{sizes: kept, value: "sum(exp({ROW} - Top[at]) {IN_ROW})"}}'
MOST = (REDUCED, 'most: "[extent[d] - 1 if reduced(d) else 1 for d in axes(InputTensor)]"')


REDUCTIONS = Family(reduction, has(Rows), {
    "twice softmax": (SOFTMAX, "2 * exp(InputTensor[at] - Peak[here]) / Sum[here]", (REDUCED,), (), SOFT, True),
    "distance from the logarithm of the sum": (SOFTMAX, "abs(InputTensor[at] - log(Sum[here]) - Peak[here])", (REDUCED,), (), SOFT, True),
    "shifted below alone": (SOFTMAX, "exp(InputTensor[at]) / Sum[here]", (REDUCED,), (), SOFT, True),
    "without a peak": (SOFTMAX, "exp(InputTensor[at]) / Sum[here]", (REDUCED,), (POWERS,), True),
    "without a tensor": (SOFTMAX, f"InputTensor[at] / sum(abs({ROW}) {IN_ROW})", True),
    "the axes above": (SOFTMAX, f"InputTensor[at] / sum({ROW} {IN_ROW})", (ABOVE,), True),
    "the total for each element": (SOFTMAX, f"sum({ROW} {IN_ROW})", True),
    "two totals": (SOFTMAX, f"InputTensor[at] * sum({ROW} {IN_ROW}) - sum(abs({ROW}) {IN_ROW})", True),
    "last of the greatest": (HARDMAX, f"Last[here] == {OWN}", BACK, (LAST,), True),
    "half the square of a norm": ("REDUCE", f"convert(0.5 * sum({ROW} * {ROW} {IN_ROW}), OutputTensor)", True),
    "the other direction": ("ARGMAX", f"ravel_index({LAST_OF_TURNED}, extent)", EITHER, True),
    "no care for infinity": (SOFTMAX, "exp(InputTensor[at] - Top[here]) / Sum[here]", (REDUCED,), (TOP, BELOW), False),
    "after the least": (SOFTMAX, "exp(InputTensor[at] - Peak[here]) / Sum[here]", (REDUCED,), (PEAK,), SOFT, False),
    "some elements": (SOFTMAX, f"InputTensor[at] / sum({ROW} {IN_ROW} if {ROW} > 0)", False),
    "another element of the row": (SOFTMAX, f"InputTensor[here] / sum({ROW} {IN_ROW})", False),
    "all but the last": (SOFTMAX, f"InputTensor[at] - sum({ROW} for r in ndindex(most))", MOST, False),
    "mean of integers": ("REDUCE", f"convert(sum(float({ROW}) {IN_ROW}) / count, OutputTensor)", True),
    "of no type that rules demand": ("REDUCE", f"convert(sum({ROW} {IN_ROW}), OutputTensor)", (REDUCED,), (), "normalization", {}, False),
    "difference of extremes": ("REDUCE", f"convert(max({ROW} {IN_ROW}) - min({ROW} {IN_ROW}), OutputTensor)", True),
    "weighted": ("REDUCE", f"convert(sum(float(ravel_index(r, extent)) * float({ROW}) {IN_ROW}), OutputTensor)", False),
    "from the other end": ("REDUCE", f"convert(InputTensor[over([extent[d] - 1 for d in axes(InputTensor)])] + max({ROW} {IN_ROW}), OutputTensor)", False),
    "of magnitudes": ("ARGMAX", f"ravel_index(argmax(abs({ROW}) {IN_ROW}), extent)", False),
    "counted from the end": ("ARGMAX", f"ravel_index(turned(argmax({ROW} {IN_ROW})), extent)", BACK, False),
}, rows)  # fmt: skip

# Scans.

SCANS = Family(edit("CUMULATIVE_SUMMATION"), lambda variant: variant.form, {
    "greatest": ("sum(", "max(", None),
    "from the second on": ("else 0", "else 1", None),
    "along another axis": ("at[Axis]", "at[0]", None),
})  # fmt: skip

# Views of tensors in attention.

HEADS = "KeyValueHeads: HeadCount\n"
QUERY = "QueryTensor[align([b, s, {}], QueryTensor.DimensionCount, 0)]"
FLAT = QUERY.format("h * HeadSize + e")


def seen_as_views(variant: Variant) -> tuple[int, ...]:
    """The views of queries, keys, keys of the past, and the result."""
    tensors = {one.name: one for one in variant.lowered.defines.tensors}
    query, key, result = (views_of(tensors[name]) for name in ("Query", "PresentKey", "Context"))
    return tuple(map(len, (query.rows, key.rows, key.before, result.rows)))


QUERIES = Family(
    lambda folder, query: changed(folder, "MULTIHEAD_ATTENTION", HEADS, f'{HEADS}    query(b, h, s, e): "{query}"\n'),
    seen_as_views,
    {query: (query, (views, 4, 1, 0)) for query, views in {
        QUERY.format("ravel_index([h, e], [Heads, HeadSize])"): 1,
        f"{FLAT} if present(QueryTensor) else StackedQueryKeyTensor[[b, s, h, 0, e]]": 2,
        f"{FLAT} if present(KeyTensor) else StackedQueryKeyTensor[[b, s, h, 0, e]]": 0,
        QUERY.format("ravel_index([e, h], [HeadSize, Heads])"): 0,
        QUERY.format("ravel_index([h, e], [Heads, HeadSize + 1])"): 0,
        f"{FLAT} * 2": 0,
        f"{FLAT} if s > 0 else 0": 0,
        "StackedQueryKeyTensor[[b, s, h, s, e]]": 0,
    }.items()},
)  # fmt: skip
OLD_KEYS = Family(  # the past has all keys before the new ones, or keys are no views
    lambda folder, old: changed(folder, "MULTIHEAD_ATTENTION", HEADS, f'{HEADS}    is_past(P, c): "{old}"\n'),
    seen_as_views,
    {old: (old, (3, 4, 1, 0) if fits else (3, 0, 0, 0)) for old, fits in {
        "present(P) and c[2] < PastSequenceLength": True,
        "present(P) and c[2] < PastSequenceLength - 1": False,
        "present(KeyTensor) and c[2] < PastSequenceLength": False,
        "c[2] < PastSequenceLength or c[1] < 2": False,
    }.items()},
)  # fmt: skip
NEW_KEYS = Family(
    lambda folder, new: changed(folder, "MULTIHEAD_ATTENTION", HEADS, f'{HEADS}    is_new(b, t): "{new}"\n'),
    seen_as_views,
    {new: (new, (3, 4, 1, 0) if fits else (3, 0, 0, 0)) for new, fits in {
        "in_bounds([t - past(b)], [KeySequenceLength])": True,
        "in_bounds([t - past(b) - 1], [KeySequenceLength])": False,
        "in_bounds([t - past(b)], [KeySequenceLength - 1])": False,
    }.items()},
)  # fmt: skip


def is_view_in(variant: Variant) -> bool:
    """Whether the output is where all entries of the intermediate tensor go."""
    defines = variant.lowered.defines
    (context,) = (one for one in defines.tensors if one.name == "Context")
    return len(list(views_in("OutputTensor", defines.outputs["OutputTensor"], context))) == 1


INNER = "unravel_index(align(at, 3, 0)[2], [Heads, ValueHeadSize])"
OUTPUTS = Family(
    lambda folder, place: changed(folder, "MULTIHEAD_ATTENTION", "Context[by_head(align(at, 3, 0))]", f"Context[{place}]"),
    is_view_in,
    {place: (place, fits) for place, fits in {
        f"[align(at, 3, 0)[0], {INNER}[0], align(at, 3, 0)[1], {INNER}[1]]": True,
        "align(at, 4, 0)": True,
        "by_head(at)": False,
        "[at[0], at[1], at[2], 0]": False,
        f"[align(at, 3, 0)[0], {INNER}[1], align(at, 3, 0)[1], {INNER}[0]]": False,
        "by_head(align(at, 3, 0)) if Heads > 1 else align(at, 4, 0)": False,
    }.items()},
)  # fmt: skip

FAMILIES = {name.lower(): one for name, one in list(globals().items()) if isinstance(one, Family)}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, one in FAMILIES.items() for name in one.variants]
)
def test_what_has_a_form(
    family: str, name: str, device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gemm_view, "TILE_PRODUCTS", 0)  # small products have tiles, too
    one = FAMILIES[family]
    *texts, expected = one.variants[name]
    variant = one.made(tmp_path, *texts)
    assert one.seen(variant) == expected
    for desc, arrays in one.runs(variant) if expected else ():
        found, wanted = (run(desc, arrays)["OutputTensor"] for run in (
            lambda *given: variant.by_shader(*given, device), variant.by_definition,
        ))  # fmt: skip
        np.testing.assert_allclose(found, wanted, 2e-5, 1e-6)


# What the registry's operators have.


def test_which_definitions_step_through_all_tensors_together() -> None:
    found = operators_with(Elementwise)
    assert len(found["ELEMENT_WISE_QUANTIZED_LINEAR_ADD"].single) == 6
    assert all(found[f"GATHER{name}"].is_gathered for name in ("", "_ELEMENTS", "_ND", "_ND1"))
    assert found.keys().isdisjoint(["TILE", "DEPTH_TO_SPACE", "SLICE", "PADDING", "DEQUANTIZE"])


def test_only_recurrent_networks_share_sums() -> None:
    """A GRU whose reset gate comes after the product needs no other unit's gate, and one pass for a step."""
    found = {
        name: [([target for target, _ in one.values], len(one.gates)) for one in form.passes]
        for name, form in operators_with(Sums).items()
    }
    projection = (["InputProjection"], 1)
    assert found == {
        "RNN": [projection, (["Hidden"], 1)],
        "GRU": [projection, (["Update", "Reset", "Hidden"], 3), (["Update", "Reset"], 2), (["Hidden"], 1)],
        "LSTM": [projection, (["Cell", "Hidden"], 4)],
    }


def test_only_resampling_has_taps() -> None:
    """For each mode whether it is a sum, whether taps are left out, and whether they are weighted."""

    def kind(mode: Mode) -> tuple[bool, bool, bool]:
        return bool(mode.totals), "takes" in mode.taps, "weight" in mode.taps

    modes = {name: list(map(kind, form.modes)) for name, form in operators_with(Separable).items()}
    blended, chosen = (True, False, True), (False, False, False)
    forward = {name: [blended, chosen] for name in ("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "UPSAMPLE_2D")}
    both = [(True, True, True), (True, True, False)]
    back = dict.fromkeys(("RESAMPLE_GRAD", "RESAMPLE_GRAD1"), both)
    assert modes == forward | back | {"RESAMPLE3": [blended, blended, chosen]}


def test_regions_add_up_selected_terms_and_have_a_vector_axis() -> None:
    """With the dimensions tested and the one whose elements share the terms; vectors of channels."""
    sums, vectors = operators_with(SparseSum), operators_with(VectorAxis)
    found = {name: (list(form.tests), form.apart) for name, form in sums.items()}
    assert found == {"ROI_ALIGN_GRAD": ([0, 2, 3], 1)}
    assert {one.axis for one in vectors.values()} == {1}
