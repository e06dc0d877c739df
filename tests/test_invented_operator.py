"""Invented operators, each written as one file: everything else is generated from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from other_specs import differences, generate, write
from sharing import Shared

BILINEAR = """\
operator: BILINEAR_FORM
value: 900
since: "5.0"
summary: Multiplies rows of two matrices by a matrix between them, for each output.
page: none

members:
  XTensor: {role: input, summary: The rows on the left.}
  WeightTensor: {role: input, summary: A matrix for each output.}
  YTensor: {role: input, summary: The rows on the right.}
  OutputTensor: {role: output, summary: One number for each pair of rows and each matrix.}

rules:
  - {same: DataType, of: [XTensor, WeightTensor, YTensor, OutputTensor]}
  - {id: x-shape, shape: XTensor, sizes: [Rows, Left]}
  - {id: weight-shape, shape: WeightTensor, sizes: [Outputs, Left, Right]}
  - {id: y-shape, shape: YTensor, sizes: [Rows, Right]}
  - {id: output-sizes, infer: "OutputTensor.Sizes = [Rows, Outputs]"}

support:
  "5.0":
    - {tensors: [XTensor, YTensor, OutputTensor], ranks: 2, types: [FLOAT32, FLOAT16]}
    - {tensors: [WeightTensor], ranks: 3, types: [FLOAT32, FLOAT16]}

compute:
  outputs:
    OutputTensor: >-
      sum(XTensor[[at[0], i]] * WeightTensor[[at[1], i, j]] * YTensor[[at[0], j]]
      for i in range(Left) for j in range(Right))
"""

CORRELATION = """\
operator: DILATED_CORRELATION
value: 902
since: "5.0"
summary: Correlates each channel with a filter of spread taps, where a mask is set.
page: none

members:
  InputTensor: {role: input, summary: The signals.}
  FilterTensor: {role: input, summary: The taps of each channel.}
  MaskTensor: {role: input, optional: true, summary: Which places of the output count; all if absent.}
  OutputTensor: {role: output, summary: The correlations.}
  Dilation: {type: UINT, summary: How far apart taps are.}
  StartPadding: {type: UINT, summary: Zeros before each signal.}
  EndPadding: {type: UINT, summary: Zeros after each signal.}

rules:
  - {same: DataType, of: [InputTensor, FilterTensor, OutputTensor]}
  - {id: input-shape, shape: InputTensor, sizes: [BatchSize, Channels, Length]}
  - {id: filter-shape, shape: FilterTensor, sizes: [Channels, Taps]}
  - {id: dilation-range, require: Dilation >= 1}
  - {id: taps-fit, require: (Taps - 1) * Dilation < Length + StartPadding + EndPadding}
  - id: output-sizes
    infer: >-
      OutputTensor.Sizes = [BatchSize, Channels, Length + StartPadding + EndPadding - (Taps - 1) * Dilation]
  - {id: mask-shape, shape: MaskTensor, sizes: [BatchSize, "OutputTensor.Sizes[2]"]}

support:
  "5.0":
    - {tensors: [InputTensor, OutputTensor], ranks: 3, types: [FLOAT32, FLOAT16]}
    - {tensors: [FilterTensor], ranks: 2, types: [FLOAT32, FLOAT16]}
    - {tensors: [MaskTensor], ranks: 2, types: [UINT8]}

compute:
  let:
    place(k): at[2] + k * Dilation - StartPadding
    correlated: >-
      sum(InputTensor[[at[0], at[1], place(k)]] * FilterTensor[[at[1], k]] for k in range(Taps)
      if in_bounds([place(k)], [Length]))
    counts: "MaskTensor[[at[0], at[2]]] != 0 if present(MaskTensor) else True"
  outputs:
    OutputTensor: correlated if counts else 0
"""

EXTENT = """\
operator: ROW_EXTENT
value: 901
since: "5.0"
summary: Says how far the elements of each row are from their mean, and which one is farthest.
page: none

members:
  InputTensor: {role: input, summary: The rows.}
  OutputTensor: {role: output, summary: The mean distance of each row.}
  OutputPlaceTensor: {role: output, optional: true, summary: The place of the farthest element of each row.}

rules:
  - {same: DataType, of: [InputTensor, OutputTensor]}
  - {same: DimensionCount, of: [InputTensor, OutputTensor, OutputPlaceTensor]}
  - {id: output-sizes, infer: "OutputTensor.Sizes = replace(InputTensor.Sizes, column_axis(InputTensor), 1)"}
  - {id: place-sizes, infer: "OutputPlaceTensor.Sizes = OutputTensor.Sizes"}

support:
  "5.0":
    - {tensors: [InputTensor, OutputTensor], ranks: 1..4, types: [FLOAT64, FLOAT32, FLOAT16]}
    - {tensors: [OutputPlaceTensor], ranks: 1..4, types: [UINT32, INT64]}

compute:
  let:
    last: column_axis(InputTensor)
    count: InputTensor.Sizes[last]
    x(k): InputTensor[replace(at, last, k)]
    distance(k): abs(x(k) - Mean[at])
  tensors:
    Mean:
      sizes: OutputTensor.Sizes
      value: sum(x(k) for k in range(count)) / float(count)
  outputs:
    OutputTensor: sum(distance(k) for k in range(count)) / float(count)
    OutputPlaceTensor: argmax(distance(k) for k in range(count))
"""

PEAK = """\
operator: DECAYING_PEAK
value: 903
since: "5.0"
summary: Finds the largest number so far of each column, which halves with each row.
page: none

members:
  InputTensor: {role: input, summary: The numbers.}
  OutputTensor: {role: output, summary: The peaks.}

rules:
  - {same: DataType, of: [InputTensor, OutputTensor]}
  - {same: DimensionCount, of: [InputTensor, OutputTensor]}
  - {id: output-sizes, infer: OutputTensor.Sizes = InputTensor.Sizes}

support:
  "5.0":
    - {tensors: [InputTensor, OutputTensor], ranks: 2, types: [FLOAT32]}

compute:
  let:
    x: float(InputTensor[at])
  tensors:
    Peak:
      sizes: InputTensor.Sizes
      recurrent: true
      value: "x if at[0] == 0 else max(Peak[[at[0] - 1, at[1]]] * 0.5, x)"
  outputs:
    OutputTensor: Peak[at]
"""

CHECK = """
import numpy as np

import dmlops
from dmlops.gpu.device import Device

def described(**sizes):
    tensors = {name: {"DataType": "FLOAT32", "Sizes": one} for name, one in sizes.items()}
    return dmlops.from_json({"type": "BILINEAR_FORM", "desc": tensors})

def agree(operator, inputs, outputs, **members):
    # The reference and the shader, with outputs that are known.
    tensors = {
        name: {"DataType": array.dtype.name.upper(), "Sizes": list(array.shape)}
        for name, array in {**inputs, **outputs}.items()
    }
    desc = dmlops.from_json({"type": operator, "desc": {**tensors, **members}})
    assert desc.validate("5.0") == []
    for found in (dmlops.reference.run(desc, inputs), dmlops.gpu.run(desc, inputs, device)):
        for name, wanted in outputs.items():
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5)

random, device = np.random.default_rng(1), Device.open(None)
for rows, left, right, outputs in [(5, 7, 3, 4), (1, 1, 1, 1), (3, 40, 50, 2)]:
    sizes = {"XTensor": [rows, left], "WeightTensor": [outputs, left, right], "YTensor": [rows, right]}
    inputs = {name: random.normal(size=one).astype(np.float32) for name, one in sizes.items()}
    desc = described(**sizes, OutputTensor=[rows, outputs])
    assert desc.validate("5.0") == []
    wanted = np.einsum("bi,oij,bj->bo", *(array.astype(np.float64) for array in inputs.values()))
    for found in (dmlops.reference.run(desc, inputs), dmlops.gpu.run(desc, inputs, device)):
        np.testing.assert_allclose(found["OutputTensor"], wanted, rtol=1e-4, atol=1e-4)

wrong = described(XTensor=[2, 3], WeightTensor=[4, 3, 5], YTensor=[2, 6], OutputTensor=[2, 4])
assert [one.rule for one in wrong.validate("5.0")] == ["DML-BILINEAR_FORM-y-shape"]
assert wrong.validate("4.1")[0].rule == "DML-OPERATOR-since"

for batch, channels, length, taps, dilation, start, end, masked in [
    (2, 3, 11, 3, 2, 1, 0, True),
    (1, 1, 1, 1, 1, 0, 0, False),
    (3, 2, 9, 4, 3, 4, 5, True),
    (2, 5, 40, 7, 5, 0, 0, False),
]:
    signal = random.normal(size=(batch, channels, length)).astype(np.float32)
    filters = random.normal(size=(channels, taps)).astype(np.float32)
    inputs = {"InputTensor": signal, "FilterTensor": filters}
    count = length + start + end - (taps - 1) * dilation
    padded = np.pad(signal, ((0, 0), (0, 0), (start, end)))
    wanted = sum(padded[:, :, k * dilation :][:, :, :count] * filters[None, :, k, None] for k in range(taps))
    if masked:
        inputs["MaskTensor"] = random.integers(0, 2, (batch, count)).astype(np.uint8)
        wanted = np.where(inputs["MaskTensor"][:, None] != 0, wanted, 0)
    paddings = {"Dilation": dilation, "StartPadding": start, "EndPadding": end}
    agree("DILATED_CORRELATION", inputs, {"OutputTensor": wanted.astype(np.float32)}, **paddings)

for sizes in [(4,), (3, 17), (2, 1, 5), (2, 3, 4, 1), (5, 300)]:
    rows = random.normal(size=sizes).astype(np.float32)
    distances = np.abs(rows - rows.mean(-1, keepdims=True, dtype=np.float64))
    extent = {"OutputTensor": distances.mean(-1, keepdims=True).astype(np.float32)}
    agree("ROW_EXTENT", {"InputTensor": rows}, extent)
    places = distances.argmax(-1, keepdims=True).astype(np.uint32)
    agree("ROW_EXTENT", {"InputTensor": rows}, {**extent, "OutputPlaceTensor": places})

for sizes in [(4, 3), (3, 24000)]:  # enough for threads to write several elements of the output
    numbers = random.normal(size=sizes).astype(np.float32)
    peaks = numbers.copy()
    for row in range(1, len(peaks)):
        peaks[row] = np.maximum(peaks[row - 1] * np.float32(0.5), numbers[row])
    agree("DECAYING_PEAK", {"InputTensor": numbers}, {"OutputTensor": peaks})
"""


@pytest.fixture(scope="module")
def invented(shared: Shared) -> Path:
    """A folder with the specs and the outputs of the operators, which alone were added to what all share."""

    def make(folder: Path) -> None:
        operators = {
            "bilinear_form": BILINEAR, "decaying_peak": PEAK, "dilated_correlation": CORRELATION,
            "row_extent": EXTENT,
        }  # fmt: skip
        write(folder / "specs", operators)
        generate(folder)

    return shared("invented", make)


def test_they_are_validated_and_computed_as_numpy_has_it(invented: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(invented / "out/python")}
    done = subprocess.run(
        [sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_their_cases_hold(by: str, invented: Path) -> None:
    assert differences(invented, by) == ""
