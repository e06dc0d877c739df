# ruff: noqa: E501   (a table)
"""The definition language: every kind of mistake in a definition is a finding at its position."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.analysis.keyed import keyed
from dmlgen.lint import lint
from dmlgen.resolve import load_registry
from spoiled import Spoil, edit, with_changed, with_operators

GEMM = "operators/matrix/gemm.yaml"
AVERAGE = "operators/pooling/average_pooling.yaml"
MAXIMUM = "operators/pooling/max_pooling2.yaml"
LP = "operators/normalization/lp_normalization.yaml"
DYNAMIC = "operators/quantized/dynamic_quantize_linear.yaml"
JOIN = "operators/shape/join.yaml"
SPLIT = "operators/shape/split.yaml"
GATHER = "operators/gather/gather_elements.yaml"
BITS = "operators/logical/element_wise_bit_not.yaml"
SHIFT = "operators/logical/element_wise_bit_shift_left.yaml"
CLIP = "operators/elementwise/element_wise_clip.yaml"
GRU = "operators/recurrent/gru.yaml"
RECURRENT = "shared/definitions/recurrent.yaml"
WINDOW = "shared/definitions/window.yaml"


SPOILS = [
    Spoil("function", GEMM, "apply_activation(", "apply_activatoin(", "unknown-name", "apply_activatoin", "apply_activation"),
    Spoil("tensor", GEMM, "apply_activation(Product", "apply_activation(Prodct", "unknown-name", "Prodct", "Product"),
    Spoil("let", GEMM, "* b(k)", "* bb(k)", "unknown-name", "bb(k)"),
    Spoil("member", GEMM, "Alpha * sum", "Alhpa * sum", "unknown-name", "Alhpa", "Alpha"),
    Spoil("enumeration", GEMM, "if TransA == NONE else [k", "if TransA == NON else [k", "unknown-name", "NON else", "NONE"),
    Spoil("field", GEMM, "r: OutputTensor.DimensionCount", "r: OutputTensor.DimensionCont", "unknown-name", "DimensionCont\n", "DimensionCount"),
    Spoil("field of no use", GEMM, "r: OutputTensor.DimensionCount", "r: OutputTensor.Flags", "expression-type", "OutputTensor.Flags"),
    Spoil("arguments", GEMM, "sum(a(k)", "sum(a(k, k)", "expression-form", "a(k, k)"),
    Spoil("arguments of a name", GEMM, "at[:r - 2] + ([at", "at[:r(1) - 2] + ([at", "expression-form", "r(1)"),
    Spoil("output", GEMM, "    OutputTensor: apply_activation", "    OutputTenser: apply_activation", "unknown-name", "OutputTenser", "OutputTensor"),
    Spoil("output is an input", GEMM, "    OutputTensor: apply_activation", "    ATensor: apply_activation", "unknown-name", "ATensor: apply_activation"),
    Spoil("int beside a float", GEMM, "Alpha * sum", "K * sum", "expression-type", "K * sum", "float(K)"),
    Spoil("type of an output", GEMM, "apply_activation(Product[at], FusedActivation)", "ravel_index(at, OutputTensor.Sizes)", "expression-type", "ravel_index("),
    Spoil("sizes", GEMM, "sizes: OutputTensor.Sizes", "sizes: K", "expression-type", "K\n"),
    Spoil("coordinate", GEMM, "CTensor[at]", "CTensor[K]", "expression-type", "K]"),
    Spoil("loop", GEMM, "for k in range(K)", "for k in Product", "expression-form", "Product)"),
    Spoil("loop variable", GEMM, "for k in range(K)", "for K in range(K)", "name-clash", "K in range"),
    Spoil("early condition", GEMM, "for k in range(K)", "for k in range(K) if k > 0 for j in range(2)", "expression-form", "sum("),
    Spoil("condition", GEMM, "if present(CTensor) else", "if K else", "expression-type", "K else"),
    Spoil("recursion", GEMM, "r: OutputTensor.DimensionCount", "r: r + 1", "recursion", "r + 1"),
    Spoil("unused", GEMM, "    r: Output", "    other: 1\n    r: Output", "unused-definition", "other"),
    Spoil("hidden member", GEMM, "    r: Output", "    Alpha: 1\n    r: Output", "name-clash", "Alpha: 1"),
    Spoil("hidden function", GEMM, "    r: Output", "    ravel_index: 1\n    r: Output", "name-clash", "ravel_index: 1"),
    Spoil("hidden by a parameter", GEMM, "    a(k):", "    a(Alpha):", "name-clash", "a(Alpha)"),
    Spoil("self", GEMM, 'value: "Alpha * sum', 'value: "Product[at] + sum', "cycle", '"Product[at]', "recurrent"),
    Spoil("later tensor", DYNAMIC, "(High[[0]] - Low[[0]])", "(High[[0]] - float(Point[[0]]))", "cycle", '"(High'),
    Spoil("algorithm", GEMM, "compute:\n", "compute:\n  algoritm: top_k\n", "unknown-key", "algoritm", "algorithm"),
    Spoil("key", GEMM, "  tensors:\n", "  tensor:\n", "unknown-key", "tensor:", "tensors"),
    Spoil("type name", DYNAMIC, "type: int", "type: integer", "wrong-value", "integer"),
    Spoil("shared file", AVERAGE, "uses: [window]", "uses: [windows]", "unknown-name", "windows", "window"),
    Spoil("shared text", WINDOW, "in_bounds(position", "in_bound(position", "unknown-name", "in_bound(position", "in_bounds", AVERAGE),
    Spoil("shared key", WINDOW, "let:\n", "lets: 1\nlet:\n", "unknown-key", "lets", "", AVERAGE),
    Spoil("missing output", MAXIMUM, '  OutputTensor: "max', '  # OutputTensor: "max', "output-undefined", "OutputIndicesTensor: >-"),
    Spoil("fields of a tensor between", LP, "Norm[here]", "Norm.Sizes[0]", "expression-type", "Norm.Sizes"),
    Spoil("part of a tensor", AVERAGE, "InputTensor[at[:2] + position(at[2:], w)]", "InputTensor[1:]", "expression-type", "InputTensor[1:]"),
    Spoil("missing index", GEMM, "[at[r - 2], k]", "[k]", "coordinate-length", "[k] if TransA", "one choice has 1 entries"),
    Spoil("one index too many", LP, "InputTensor[at] /", "InputTensor[at + [0]] /", "coordinate-length", "InputTensor[at + [0]]"),
    Spoil("index of a tensor between", DYNAMIC, "Low[[0]] / Scale[[0]]", "Low[[0, 0]] / Scale[[0]]", "coordinate-length", "Low[[0, 0]]"),
    Spoil("reduction without a loop", LP, "max(Norm[here], Epsilon)", "argmax(Norm[here], Epsilon)", "expression-type", "argmax(Norm", "range(n)"),
    Spoil("truth of a float", LP, "if P == 1", "if Epsilon", "expression-type", "Epsilon\n"),
    Spoil("remainder of floats", LP, "max(Norm[here], Epsilon)", "(Norm[here] % 2)", "expression-type", "Norm[here] % 2"),
    Spoil("part of a value", JOIN, "concat(InputTensors, Axis)", "-concat(InputTensors, Axis)", "expression-form", "-concat", "whole value"),
    Spoil("joined outputs", JOIN, "concat(InputTensors, Axis)", "concat(OutputTensor, Axis)", "expression-type", "OutputTensor, Axis"),
    Spoil("one of an array", JOIN, "concat(InputTensors, Axis)", "InputTensors[Axis][at]", "expression-form", "InputTensors[Axis]", "written number"),
    Spoil("number of an output", JOIN, "concat(InputTensors, Axis)", "concat(InputTensors, index)", "unknown-name", "index)"),
    Spoil("output that is read", SPLIT, "InputTensor[replace", "OutputTensors[0][replace", "expression-form", "OutputTensors[0]", "never read"),
    Spoil("wrap", GATHER, "normalize_index(IndicesTensor[at], ", "normalize_index(InputTensor[at], ", "expression-type", "InputTensor[at], "),
    Spoil("size of wrap", GATHER, "InputTensor.Sizes[Axis])", "InputTensor.Sizes)", "expression-type", "InputTensor.Sizes)"),
    Spoil("bits of a number", BITS, "bit_not(InputTensor[at])", "bit_not(1)", "expression-type", "bit_not(1)"),
    Spoil("bits of a sum", BITS, "bit_not(InputTensor[at])", "InputTensor[at] | (InputTensor[at] + 1)", "expression-type", "InputTensor[at] + 1"),
    Spoil("number of bits", BITS, "bit_not(InputTensor[at])", "bit_not(InputTensor[at]) + InputTensor[at]", "expression-type", "InputTensor[at])", "as bits elsewhere"),
    Spoil("bits or a number", BITS, "bit_not(InputTensor[at])", "bit_not(InputTensor[at]) if at[0] == 0 else InputTensor[at] * 2", "expression-type", "InputTensor[at] * 2", "the other choice is bits"),
    Spoil("bits beside a number", SHIFT, "ATensor[at] <<", "ATensor[at] if ATensor[at] > 0 else ATensor[at] <<", "expression-type", "ATensor[at] > 0", "as bits elsewhere"),
    Spoil("index of bits", SHIFT, "ATensor[at] <<", "ATensor[at + [0]] <<", "coordinate-length", "ATensor[at + [0]]"),
    Spoil("part of a struct", CLIP, "ScaleBias.Bias)", "ScaleBias.Bais)", "unknown-name", "Bais)", "Bias"),
    Spoil("shift of what may be a float", CLIP, "max(min(x, Max), Min)", "InputTensor[at] << InputTensor[at]", "expression-type", "InputTensor[at] <<"),
    Spoil("function of rules", GEMM, "Alpha * sum", "(1 if power_of_two(K) else 0) * Alpha * sum", "expression-form", '"(1 if', "of rules"),
    Spoil("own step", RECURRENT, "Hidden[[at[0] - 1, at[1], at[2], k]]", "Hidden[[at[0], at[1], at[2], k]]", "recurrence", "Hidden[[at[0], ", "step", GRU),
    Spoil("own step in a shared name", RECURRENT, "T[[at[0] - 1] + at[1:]]", "T[[at[0] - 0] + at[1:]]", "recurrence", "T[[at[0] - 0", "Hidden", GRU),
    Spoil("step of data", RECURRENT, "Hidden[[at[0] - 1, at[1], at[2], k]]", "Hidden[[length(at[2]), at[1], at[2], k]]", "recurrence", "Hidden[[length", "", GRU),
    Spoil("below at the same step", GRU, "0 if at[0] == 0 or not active", "Hidden[at] if at[0] == 0 or not active", "recurrence", "Hidden[at] if", "Update"),
    Spoil("steps of a neighbor", GRU, "sizes: states", "sizes: \"[SequenceLength, DirectionCount, BatchSize, HiddenSize]\"", "recurrence", '"0 if at[0] == 0 or not active else r if', "Update, its neighbor"),
    Spoil("kernel", CLIP, "  outputs:\n", "  kernel: map\n  outputs:\n", "unknown-key", "kernel"),
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.name)
def test_a_spoiled_definition_is_a_positioned_finding(spoil: Spoil, tmp_path: Path) -> None:
    spoil.check(tmp_path)


@pytest.mark.parametrize(
    ("row", "fits"),
    [("Product[at]", True), ("2 * Product[at]", False), ("Product[[0 for d in range(r)]]", False)],
)
def test_what_an_activation_of_rows_is_applied_to(row: str, fits: bool, tmp_path: Path) -> None:
    specs = with_operators(tmp_path / "specs", GEMM, "operators/activation/activation_softmax.yaml")
    edit(specs / GEMM, "apply_activation(Product[at]", f"apply_activation({row}")
    codes = [finding.code for finding in lint(load_registry(specs)) if finding.code == "activation-of-rows"]
    assert codes == ([] if fits else ["activation-of-rows"])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("InputFirstMomentTensor[at]", "InputFirstMomentTensor[replace(at, 0, 0)]", "InputFirstMomentTensor"),
        (
            "same: [DataType, Sizes]\n    of: [InputParametersTensor, InputFirstMomentTensor, InputSecondMomentTensor, "
            "GradientTensor, OutputParametersTensor,\n      OutputFirstMomentTensor, OutputSecondMomentTensor]",
            "same: [DataType, Sizes]\n    of: [InputParametersTensor, GradientTensor, OutputParametersTensor, "
            "OutputFirstMomentTensor]",
            "OutputSecondMomentTensor",
        ),
        ("OutputFirstMomentTensor: {role: output,", "OutputFirstMomentTensor: {role: output, optional: true,", "Ou"),
        ("GradientTensor]", "TrainingStepTensor]", "TrainingStepTensor"),
        ("OutputFirstMomentTensor: first_moment", "OutputFirstMomentTensor: first_moment + first_moment", None),
    ],
)  # fmt: skip
def test_what_an_operator_in_place_reads_and_writes(
    old: str, new: str, says: str | None, tmp_path: Path
) -> None:
    specs = with_changed(tmp_path / "specs", "operators/training/adam_optimizer.yaml", old, new)
    found = [finding.message for finding in lint(load_registry(specs)) if finding.code == "in-place"]
    assert len(found) == (says is not None), found
    assert all(str(says) in message for message in found)


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("", "", True),
        ("ravel_index(p, InputTensor.Sizes) + 1", "p[3] + InputTensor.Sizes[0]", True),
        ("ravel_index(at, OutputTensor.Sizes)", "ravel_index(at, InputTensor.Sizes)", False),
        ("ravel_index(p, InputTensor.Sizes) + 1", "ravel_index(p, InputTensor.Sizes) + 1 + at[0]", False),
        ("IndicesTensor[p] ==", "IndicesTensor[p] + at[3] ==", False),
        ("ndindex(InputTensor.Sizes)", "ndindex([1, 1, 1, 1], InputTensor.Sizes)", False),
        ("), 0)", "), 1)", False),
        ("max(max(", "max(min(", False),
    ],
)  # fmt: skip
def test_which_maxima_go_by_key(old: str, new: str, fits: bool, tmp_path: Path) -> None:
    specs = with_changed(tmp_path / "specs", "operators/pooling/max_unpooling.yaml", old, new)
    defines = load_registry(specs).operator["MAX_UNPOOLING"].defines
    assert defines is not None
    assert (keyed(defines.tensors[0]) is not None) == fits
