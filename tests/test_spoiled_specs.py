"""Every kind of mistake in a spec gives an error at its position, and leaves the outputs as they were."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from dmlgen.cli import ROOT, main
from spoiled import edit

ELEMENTS = "operators/gather/gather_elements.yaml"
GATHER = "operators/gather/gather.yaml"
ND1 = "operators/gather/gather_nd1.yaml"

COMPUTE = """compute:
  let:
    index: normalize_index(IndicesTensor[at], InputTensor.Sizes[Axis])
  outputs:
    OutputTensor: InputTensor[replace(at, Axis, index)]"""

REPEATED = """  "5.0":
    - tensors: [InputTensor, OutputTensor]
      ranks: 1..8
      types: [FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8]
    - {tensors: [IndicesTensor], ranks: 1..8, types: [INT64, INT32, UINT64, UINT32]}
"""


@dataclass(frozen=True)
class Spoil:
    """Replace `old` by `new` once in `file`; the finding `code` stands where `at` is found after that.

    `at` is a text of the spoiled file on whose first character the finding must stand; the default is `new`.
    """

    name: str
    file: str
    old: str
    new: str
    code: str
    at: str | None = None
    says: str = ""


SPOILS = [
    # YAML
    Spoil("tab", ELEMENTS, "  - id: axis-range", "\t- id: axis-range", "tab", "\t- id"),
    Spoil("unclosed-bracket", ELEMENTS, "of: [InputTensor, OutputTensor]", "of: [InputTensor, OutputTensor", "yaml-syntax", "}\n  - id: indices-sizes"),
    Spoil("unclosed-quote", ELEMENTS, 'since: "2.1"', 'since: "2.1', "yaml-syntax", ""),
    Spoil("duplicate-key", ELEMENTS, "value: 107\n", "value: 107\nvalue: 108\n", "duplicate-key", "value: 108"),
    Spoil("alias", ELEMENTS, "value: 107", "value: *one", "alias", "*one"),
    Spoil("anchor", ELEMENTS, "value: 107", "value: &one 107", "anchor", "&one"),
    Spoil("tag", ELEMENTS, "value: 107", "value: !!int 107", "tag", "!!int"),
    Spoil("in-place-output", ELEMENTS, "value: 107", "in_place: [OutputTensor]\nvalue: 107", "unknown-name", "OutputTensor]"),
    Spoil("default-of-nobody", ELEMENTS, "value: 107", "defaults: {source: DirectMLX, Axs: 0}\nvalue: 107", "unknown-name", "0}"),
    Spoil("default-of-an-input", ELEMENTS, "value: 107", "defaults: {source: DirectMLX, InputTensor: INT8}\nvalue: 107", "default", "INT8}"),
    Spoil("default-of-no-type", ELEMENTS, "value: 107", "defaults: {source: DirectMLX, OutputTensor: INT9}\nvalue: 107", "unknown-name", "INT9}"),
    Spoil("default-out-of-range", ELEMENTS, "value: 107", "defaults: {source: DirectMLX, Axis: -1}\nvalue: 107", "default", "-1}"),
    Spoil("default-of-another-kind", ELEMENTS, "value: 107", "defaults: {source: DirectMLX, Axis: one}\nvalue: 107", "default", "one}"),
    Spoil("yes-for-true", ELEMENTS, "id: axis-range", "advice: yes\n    id: axis-range", "ambiguous-scalar", "yes"),
    Spoil("date", ELEMENTS, "value: 107", "value: 2020-10-30", "ambiguous-scalar", "2020-10-30"),
    Spoil("second-document", ELEMENTS, "\nmembers:", "\n---\nmembers:", "several-documents", "---"),
    Spoil("non-string-key", ELEMENTS, "value: 107", "value: 107\n12: x", "key-not-string", "12: x"),
    Spoil("hidden-character", ELEMENTS, "Picks one", "Picks \u202e one", "hidden-character", "\u202e"),
    Spoil("no-mapping", ELEMENTS, COMPUTE, "compute: nothing", "wrong-type", "nothing"),
    Spoil("no-outputs", ELEMENTS, "  outputs:\n    OutputTensor: InputTensor[replace(at, Axis, index)]\n", "", "missing-key", "let:\n    index", "outputs"),
    Spoil("another-type", ELEMENTS, "InputTensor[replace(at, Axis, index)]", "IndicesTensor[at]", "expression-type", "IndicesTensor[at]\n\nexamples", "element of InputTensor or bool is expected"),
    Spoil("integer-element", ELEMENTS, "InputTensor[replace(at, Axis, index)]", "InputTensor[at] // 2", "expression-type", "InputTensor[at]", "only integers have //"),
    Spoil("both-sides", ELEMENTS, "IndicesTensor.Sizes[d] == InputTensor.Sizes[d]", "InputTensor.Sizes[d] == InputTensor.Sizes[d]", "idle-expression", "InputTensor.Sizes[d] == Inp"),
    Spoil("said-twice", ELEMENTS, "require: Axis < InputTensor.DimensionCount", "require: Axis < 8 and Axis < 8", "idle-expression", "Axis < 8\n"),
    Spoil("choice-never-taken", ELEMENTS, COMPUTE, COMPUTE.replace("InputTensor[replace(at, Axis, index)]", "InputTensor[replace(at, Axis, index)] if Axis == 0 else 0 if Axis == 0 else 1"), "idle-expression", "Axis == 0 else 1"),
    Spoil("always-present", ELEMENTS, "id: axis-range\n", "id: axis-range\n    when: present(IndicesTensor)\n", "idle-expression", "id: axis-range"),
    Spoil("negative-index", ELEMENTS, "InputTensor.Sizes[Axis])", "at[-1])", "expression-form", "-1])", "counted from 0"),
    Spoil("negative-bound", ELEMENTS, "InputTensor[replace(at, Axis, index)]", "InputTensor[at[:-1] + [index]]", "expression-form", "-1] + [index]", "counted from 0"),
    Spoil("row-twice", ELEMENTS, "    - {tensors: [IndicesTensor], ranks: 4, types: [UINT32]}\n", "    - {tensors: [IndicesTensor], ranks: 4, types: [UINT32]}\n    - {tensors: [IndicesTensor, OutputTensor], ranks: 4, types: [INT32]}\n", "repeated-row", "{tensors: [IndicesTensor, OutputTensor], ranks: 4, types: [INT32]}"),
    # Messages
    Spoil("no-words", ELEMENTS, "require: Axis < InputTensor.DimensionCount", "require: any(InputTensor.Sizes[d] > 1 for d in axes(InputTensor))", "message", "axis-range", "`message`"),
    Spoil("unclosed-brace", ELEMENTS, "because: only the axis may differ", "because: only {Axis may differ", "message", "{Axis may"),
    Spoil("unknown-name-in-message", ELEMENTS, "because: only the axis may differ", "because: only {Axes} may differ", "unknown-name", "Axes} may", "Axis"),
    Spoil("tensor-in-message", ELEMENTS, "because: only the axis may differ", "because: only {InputTensor} may differ", "message", "InputTensor} may"),
    Spoil("format-in-message", ELEMENTS, "because: only the axis may differ", "because: only {Axis!r} may differ", "expression-syntax", "!r} may"),
    # Shape
    Spoil("misspelt-key", ELEMENTS, "summary: Picks", "sumary: Picks", "unknown-key", "sumary", "summary"),
    Spoil("misspelt-member-key", ELEMENTS, "{role: output,", "{rolle: output,", "unknown-key", "rolle", "role"),
    Spoil("missing-key", ELEMENTS, "value: 107\n", "", "missing-key", "operator: GATHER_ELEMENTS", "value"),
    Spoil("wrong-type", ELEMENTS, "value: 107", "value: many", "wrong-type", "many"),
    Spoil("float-value", ELEMENTS, "value: 107", "value: 107.5", "wrong-type", "107.5"),
    Spoil("value-too-large", ELEMENTS, "value: 107", "value: 70000", "wrong-value", "70000"),
    Spoil("lower-case-operator", ELEMENTS, "operator: GATHER_ELEMENTS", "operator: gather_elements", "wrong-value", "gather_elements"),
    Spoil("role", ELEMENTS, "role: output", "role: outptu", "wrong-value", "outptu", "output"),
    Spoil("rule-id", ELEMENTS, "id: axis-range", "id: Axis_Range", "wrong-value", "Axis_Range"),
    Spoil("rule-without-id", ELEMENTS, "  - id: axis-range\n    require", "  - require", "missing-key", "require", "id"),
    Spoil("unknown-source", ELEMENTS, "infer: OutputTensor.Sizes = IndicesTensor.Sizes\n", "infer: OutputTensor.Sizes = IndicesTensor.Sizes\n    source: hearsay\n", "wrong-value", "hearsay"),
    Spoil("same-what", ELEMENTS, "same: DataType", "same: DataTyp", "wrong-value", "DataTyp,", "DataType"),
    Spoil("same-what-of-several", ELEMENTS, "same: DataType", "same: [DataType, Size]", "wrong-value", "Size]", "Sizes"),
    Spoil("same-number", ELEMENTS, "same: DataType", "same: [DataType, 1]", "wrong-value", "1]"),
    Spoil("same-twice", ELEMENTS, "same: DataType", "same: [DataType, DataType]", "repeated-item", "DataType], of"),
    Spoil("same-nothing", ELEMENTS, "same: DataType", "same: []", "wrong-size", "[], of"),
    Spoil("same-of-no-tensor", ELEMENTS, "of: [InputTensor, OutputTensor]", "of: [InputTensor, Axis]", "unknown-name", "Axis]"),
    Spoil("same-of-one-twice", ELEMENTS, "of: [InputTensor, OutputTensor]", "of: [InputTensor, InputTensor]", "repeated-item", "InputTensor]}"),
    Spoil("same-several-by-one-id", ELEMENTS, "{same: DataType,", "{id: alike, same: [DataType, Sizes],", "rule-form", "alike, same", "same-type, same-sizes"),
    Spoil("same-several-in-one-text", ELEMENTS, "{same: DataType,", "{message: They differ., same: [DataType, Sizes],", "rule-form", "They differ.", "`message` is of one rule"),
    Spoil("same-when", ELEMENTS, "{same: DataType,", "{same: DataType, when: Axes == 0,", "unknown-name", "Axes == 0", "Axis"),
    Spoil("same-when-number", ELEMENTS, "{same: DataType,", "{same: DataType, when: Axis + 1,", "expression-type", "Axis + 1", "bool is expected"),
    Spoil("same-without-of", ELEMENTS, ", of: [InputTensor, OutputTensor]}", "}", "rule-form", "{same: DataType}", "`of` lists"),
    Spoil("one-tensor-same", ELEMENTS, "of: [InputTensor, OutputTensor]", "of: [InputTensor]", "rule-form", "[InputTensor]}", "several, or an array"),
    Spoil("ranks-text", ELEMENTS, "ranks: 4, types: [UINT32]", "ranks: four, types: [UINT32]", "wrong-value", "four"),
    Spoil("rank-nine", ELEMENTS, "ranks: 4, types: [UINT32]", "ranks: 9, types: [UINT32]", "wrong-value", "9, types"),
    Spoil("empty-types", ELEMENTS, "types: [UINT32]", "types: []", "wrong-size", "[]"),
    Spoil("type-twice", ELEMENTS, "types: [UINT32]", "types: [UINT32, UINT32]", "repeated-item", "UINT32]}\n\ncompute"),
    Spoil("unquoted-level", ELEMENTS, 'since: "2.1"', "since: 2.1", "wrong-type", "2.1"),
    # Names
    Spoil("unknown-since", ELEMENTS, 'since: "2.1"', 'since: "2.2"', "unknown-level", '"2.2"'),
    Spoil("unknown-block", ELEMENTS, '  "4.1":\n', '  "4.2":\n', "unknown-level", '"4.2"'),
    Spoil("table-too-early", ELEMENTS, '  "2.1":\n', '  "2.0":\n', "support-level", '"2.0"'),
    Spoil("no-first-table", ELEMENTS, 'since: "2.1"', 'since: "2.0"', "support-incomplete", '"4.1":\n'),
    Spoil("no-row", ELEMENTS, "    - {tensors: [IndicesTensor], ranks: 4, types: [UINT32]}\n", "", "support-incomplete", '"2.1":\n', "IndicesTensor"),
    Spoil("another-half", "enums.yaml", "      UINT32: {value: 3,", "      BFLOAT16: {value: 14, bits: 16, kind: float, significand: 11}\n      UINT32: {value: 3,", "duplicate-format", "16, kind: float, significand: 11}\n      UINT32", "FLOAT16 is of kind float with 16 bits, too"),
    Spoil("float-without-significand", "enums.yaml", "kind: float, significand: 24}", "kind: float}", "wrong-significand", "float}\n      FLOAT16", "a float has a significand of fewer bits"),
    Spoil("wide-significand", "enums.yaml", "significand: 11}", "significand: 16}", "wrong-significand", "16}\n      UINT32", "fewer bits than an element"),
    Spoil("rule-in-capitals", ELEMENTS, "id: axis-range", "id: Axis_Range", "wrong-value", "Axis_Range", "axis-range"),
    Spoil("member-in-lower-case", ELEMENTS, "Axis: {type", "axis: {type", "wrong-value", "axis: {type", "Axis"),
    Spoil("loop-over-axis", ELEMENTS, "in axes(InputTensor)", "in axis(InputTensor)", "expression-form", "axis(InputTensor)", "axes"),
    Spoil("unknown-data-type", ELEMENTS, "types: [UINT32]", "types: [UINT23]", "unknown-type", "UINT23", "UINT32"),
    Spoil("row-tensor", ELEMENTS, "tensors: [IndicesTensor], ranks: 4", "tensors: [IndexTensor], ranks: 4", "unknown-name", "IndexTensor", "IndicesTensor"),
    Spoil("empty-range", ELEMENTS, "{tensors: [IndicesTensor], ranks: 1..8, types: [INT64, INT32, UINT64, UINT32]}\n  \"3.0\"", "{tensors: [IndicesTensor], ranks: 8..1, types: [INT64, INT32, UINT64, UINT32]}\n  \"3.0\"", "empty-range", "8..1"),
    Spoil("member-type", ELEMENTS, "Axis: {type: UINT,", "Axis: {type: UNIT,", "unknown-type", "UNIT", "UINT"),
    Spoil("struct-member-type", "structs.yaml", "DataType: {type: TENSOR_DATA_TYPE}", "DataType: {type: TENSOR_DATA_GYPE}", "unknown-type", "TENSOR_DATA_GYPE", "TENSOR_DATA_TYPE"),
    Spoil("type-in-a-made-struct", "structs.yaml", "Type: {type: TENSOR_TYPE}", "Type: {type: TENSOR_GYPE}", "unknown-type", "TENSOR_GYPE", "TENSOR_TYPE"),
    Spoil("interface", "structs.yaml", "IDMLDispatchable", "IDMLDispatchabel", "unknown-type", "IDMLDispatchabel", "IDMLDispatchable"),
    Spoil("interface-by-value", "structs.yaml", "{type: IDMLOperator, pointer: true}", "{type: IDMLOperator}", "unknown-type", "IDMLOperator}"),
    Spoil("foreign-type", "constants.yaml", "D3D12_GPU_DESCRIPTOR_HANDLE: {ptr: UINT64}", "D3D12_GPU_DESCRIPTOR_HANDLE: {ptr: UNIT64}", "unknown-type", "UNIT64", "UINT64"),
    Spoil("constant-clash", "constants.yaml", "  DML_TENSOR_DIMENSION_COUNT_MAX1:", "  DML_FEATURE_LEVEL_6_4: {value: 8, since: \"1.0\", summary: A number.}\n  DML_TENSOR_DIMENSION_COUNT_MAX1:", "name-clash", "DML_FEATURE_LEVEL_6_4", "feature level 6.4"),
    Spoil("struct-of-an-enumeration", "structs.yaml", "structs:\n", "structs:\n  TENSOR_TYPE:\n    since: \"1.0\"\n    summary: A number.\n    members: {Number: {type: UINT}}\n", "name-clash", "TENSOR_TYPE", "the enumeration TENSOR_TYPE"),
    Spoil("enumerator-clash", "enums.yaml", "  TENSOR_TYPE:\n", "  OTHER:\n    prefix: DML_TENSOR_\n    since: \"1.0\"\n    summary: Another.\n    values: {DATA_TYPE: {value: 0}}\n  TENSOR_TYPE:\n", "name-clash", "DATA_TYPE: {value: 0}", "OTHER.DATA_TYPE would be DML_TENSOR_DATA_TYPE"),
    Spoil("struct-clash", "structs.yaml", "structs:\n", "structs:\n  FEATURE_LEVEL:\n    since: \"1.0\"\n    summary: A number.\n    members: {Number: {type: UINT}}\n", "name-clash", "FEATURE_LEVEL", "the type of feature levels"),
    Spoil("neither-role-nor-type", ELEMENTS, "Axis: {type: UINT,", "Axis: {", "member-kind", "{ summary: The input"),
    Spoil("count-member", ELEMENTS, "Axis: {type: UINT,", "Axis: {type: UINT, count: AxisCount,", "unknown-name", "AxisCount"),
    Spoil("of-unknown", ELEMENTS, "of: [InputTensor, OutputTensor]", "of: [InputTensor, OutputTenser]", "unknown-name", "OutputTenser", "OutputTensor"),
    Spoil("file-name", ELEMENTS, "operator: GATHER_ELEMENTS", "operator: GATHER_ELEMENT", "file-name", "GATHER_ELEMENT\n"),
    Spoil("alias-taken", ELEMENTS, 'since: "2.1"', 'since: "2.1"\nalias: GATHER', "duplicate-name", "GATHER"),
    Spoil("duplicate-value", ELEMENTS, "value: 107", "value: 67", "duplicate-value", "GATHER_ELEMENTS"),
    Spoil("duplicate-rule", ELEMENTS, "id: indices-sizes", "id: axis-range", "duplicate-rule", "axis-range\n    require: all("),
    Spoil("duplicate-same", ELEMENTS, "{same: DataType,", "{same: [DimensionCount, DataType],", "duplicate-rule", "[DimensionCount", "id same-rank"),
    # Expressions
    Spoil("member-name", ELEMENTS, "require: Axis <", "require: Axes <", "unknown-name", "Axes <", "Axis"),
    Spoil("field-name", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < InputTensor.DimensionsCount", "unknown-name", "DimensionsCount", "DimensionCount"),
    Spoil("syntax", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < < InputTensor.DimensionCount", "expression-syntax", "< InputTensor.DimensionCount"),
    Spoil("types-compared", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < InputTensor.Sizes", "expression-type", "InputTensor.Sizes\n"),
    Spoil("not-a-truth-value", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis + 1", "expression-type", "Axis + 1"),
    Spoil("call", ELEMENTS, "Axis < InputTensor.DimensionCount", "__import__('os') == 1", "unknown-name", "__import__"),
    Spoil("attribute", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis.real == 1", "expression-type", "Axis.real"),
    Spoil("lambda", ELEMENTS, "Axis < InputTensor.DimensionCount", "(lambda value=0; 1)", "expression-syntax", "; 1)"),
    Spoil("unbounded-loop", ELEMENTS, "for d in axes(InputTensor) if d != Axis", "for d in range(Axis)", "unbounded", "range(Axis)"),
    Spoil("shadowing", ELEMENTS, "all(IndicesTensor.Sizes[d] == InputTensor.Sizes[d] for d in axes(InputTensor) if d != Axis)", "all(Axis == 1 for Axis in axes(InputTensor))", "name-clash", "Axis in axes"),
    Spoil("deep", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < " + "-(" * 80 + "1" + ")" * 80, "expression-size", ""),
    Spoil("long", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < " + " + ".join(["1"] * 400), "wrong-size", "Axis < 1"),
    Spoil("nested-loops", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < sum(sum(sum(sum(1 for a in range(64)) for b in range(64)) for c in range(64)) for e in range(64))", "expression-size", "Axis < sum"),
    Spoil("doubling", ELEMENTS, "\nrules:\n", "\nlet:\n  a0: Axis + 1\n" + "".join(f"  a{i}: a{i - 1} + a{i - 1}\n" for i in range(1, 30)) + "rules:\n", "expression-size", "a9 + a9"),
    Spoil("huge-number", ELEMENTS, "Axis < InputTensor.DimensionCount", "Axis < 99999999999999999999", "expression-size", "99999999999999999999"),
    Spoil("no-effect", ELEMENTS, "infer: OutputTensor.Sizes =", "infer: InputTensor.Sizes =", "unknown-name", "InputTensor.Sizes = Ind"),
    Spoil("circular", ELEMENTS, "= IndicesTensor.Sizes", "= OutputTensor.Sizes", "circular", "OutputTensor.Sizes\n\ndata"),
    Spoil("two-forms", ELEMENTS, "{same: DataType,", "{require: Axis == 0, same: DataType,", "rule-form", "{require", "same-type has require and same"),
    Spoil("advice-of-nobody", ELEMENTS, "id: axis-range\n", "id: axis-range\n    advice: true\n", "missing-key", "true\n    require", "source"),
    Spoil("advice-with-stage", ELEMENTS, "id: axis-range\n", "id: axis-range\n    advice: true\n    stage: counts\n", "rule-form", "counts\n", "takes no stage"),
    Spoil("broken-but-no-advice", ELEMENTS, "id: axis-range\n", "id: axis-range\n    broken_by: someone\n", "rule-form", "someone\n", "advice: true"),
    Spoil("infers-an-input", ELEMENTS, "rules:\n", "default_outputs: [InputTensor.Sizes = IndicesTensor.Sizes]\n\nrules:\n", "unknown-name", "InputTensor.Sizes = Ind"),
    Spoil("fused-into-nothing", ELEMENTS, "value: 107", "value: 107\nfusible_into: {GATHER: \"3.0\"}", "unknown-name", "GATHER_ELEMENTS", "GATHER is not an operator that takes"),
    Spoil("integers-of-nothing", ELEMENTS, "value: 107", "value: 107\ninteger_operators: [GATHERS]", "unknown-name", "GATHER_ELEMENTS", "GATHERS is not an operator"),
    Spoil("fused-too-early", ELEMENTS, "value: 107", "value: 107\nfusible_into: {any: \"1.0\"}", "level-order", "\"1.0\"}"),
    Spoil("fused-at-no-level", ELEMENTS, "value: 107", "value: 107\nfusible_into: {any: \"1.5\"}", "unknown-level", "\"1.5\"}"),
    Spoil("flag-name", "rules.yaml", "Flags in (NONE, OWNED_BY_DML)", "Flags in (NONE, OWNED_BY_DLM)", "unknown-name", "OWNED_BY_DLM", "OWNED_BY_DML"),
    Spoil("function-name", "rules.yaml", "power_of_two(Guar", "power_of_tow(Guar", "unknown-name", "power_of_tow", "power_of_two"),
    Spoil("shorthand-name", ELEMENTS, "Axis < InputTensor.DimensionCount", "brodcasts(IndicesTensor, InputTensor)", "unknown-name", "brodcasts", "broadcasts"),
    Spoil("shorthand-of-a-number", ELEMENTS, "Axis < InputTensor.DimensionCount", "is_scalar(Axis)", "expression-type", "Axis)\n", "tensor is expected"),
    Spoil("shorthand-of-sizes", ELEMENTS, "Axis < InputTensor.DimensionCount", "broadcasts(IndicesTensor, InputTensor.Sizes)", "expression-type", "InputTensor.Sizes)\n", "tensor is expected"),
    Spoil("shorthand-of-too-few", ELEMENTS, "Axis < InputTensor.DimensionCount", "per_axis(InputTensor, Axis)", "expression-form", "per_axis", "takes 3 arguments; 2 given"),
    Spoil("shorthand-without-bound", ELEMENTS, "Axis < InputTensor.DimensionCount", "leading_ones(InputTensor.Sizes, Axis)", "unbounded", "leading_ones", "stands for"),
    Spoil("definition-clash", GATHER, "  GatheredSizes: >-", "  Axis: Axis\n  GatheredSizes: >-", "name-clash", "Axis: Axis"),
    Spoil("unused-definition", GATHER, "  GatheredSizes: >-", "  Unused: Axis\n  GatheredSizes: >-", "unused-definition", "Unused: Axis"),
    Spoil("compute-name", ND1, "InputTensor[align(coordinate[", "InputTensor[align(coordinaet[", "unknown-name", "coordinaet", "coordinate"),
    # The whole registry
    Spoil("level-order", "feature_levels.yaml", 'value: "0x2100"', 'value: "0x1100"', "level-order", '"0x1100"'),
    Spoil("undocumented-rule", ELEMENTS, "Axis < InputTensor.DimensionCount\n", "Axis < InputTensor.DimensionCount\n    source: ours\n", "undocumented-rule", "id: axis-range", "must be advice"),
    Spoil("example-of-several-tensors", ELEMENTS, "InputTensor: {type: FLOAT32, sizes: [3, 3], data: [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "InputTensor: [{type: FLOAT32, sizes: [3, 3]}]", "example-form", "[{type", "a mapping is expected"),
    Spoil("unlisted-rule", ELEMENTS, "id: output-sizes", "id: output-size", "identifier-unlisted", "id: output-size\n"),
    Spoil("retired-rule", "identifiers.yaml", "retired: []", "retired: [DML-GATHER-axis-range]", "identifier-reused", ""),
    Spoil("example-size", ELEMENTS, "data: [4, 8, 3, 7, 2, 3]", "data: [4, 8, 3, 7, 2]", "example-size", "[4, 8, 3, 7, 2]"),
    Spoil("repeated-table", ND1, '  "3.0":\n', REPEATED + '  "3.0":\n', "repeated-table", "GATHER_ND1\n"),
]  # fmt: skip


@pytest.fixture(scope="module")
def outputs(gather_specs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of right outputs."""
    out = tmp_path_factory.mktemp("outputs")
    assert main(["generate", "--specs", str(gather_specs), "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.name)
def test_a_spoiled_spec_is_a_positioned_error(
    spoil: Spoil, specs: Path, outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = specs / spoil.file
    edit(path, spoil.old, spoil.new)
    text = path.read_text(encoding="utf-8")
    contents = {file: file.read_bytes() for file in outputs.rglob("*") if file.is_file()}
    capsys.readouterr()

    assert main(["generate", "--specs", str(specs), "--out", str(outputs)]) == 1

    errors = capsys.readouterr().err
    assert f"[{spoil.code}]" in errors
    assert spoil.says in errors
    lines = [line for line in errors.splitlines() if f"[{spoil.code}]" in line]
    wanted = spoil.new if spoil.at is None else spoil.at
    if wanted:
        offset = text.index(wanted)
        line, column = text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1
        assert lines[0].startswith(f"{path.as_posix()}:{line}:{column}: error")
    else:
        assert re.match(r".+\.yaml:\d+:\d+: error", lines[0])
    assert {file: file.read_bytes() for file in outputs.rglob("*") if file.is_file()} == contents


def test_a_misspelt_name_in_a_pattern_of_sizes_is_found(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be a new name, and the rule would demand less."""
    path = specs / "operators/recurrent/lstm.yaml"
    path.parent.mkdir()
    text = (ROOT / "specs/operators/recurrent/lstm.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("[1, DirectionCount,", "[1, DirectionCeunt,", 1), encoding="utf-8")
    assert main(["lint", "--specs", str(specs)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (found,) = (line for line in lines if "[unused-definition]" in line)
    number = text[: text.index("[1, DirectionCount,")].count("\n") + 1
    assert f"lstm.yaml:{number}:" in found and "DirectionCeunt" in found and "DirectionCount" in found


def test_tensors_that_can_never_have_the_same_type_are_found(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = specs / "operators/quantized/element_wise_dequantize_linear.yaml"
    path.parent.mkdir()
    text = (ROOT / "specs/operators/quantized" / path.name).read_text(encoding="utf-8")
    spoiled = text.replace(
        "same: DataType, of: [ScaleTensor, OutputTensor]", "same: DataType, of: [ScaleTensor, InputTensor]"
    )
    assert spoiled != text
    path.write_text(spoiled, encoding="utf-8")
    assert main(["lint", "--specs", str(specs)]) == 1
    (found,) = (line for line in capsys.readouterr().out.splitlines() if "[never-alike]" in line)
    number = text[: text.index("{id: same-type-scale-output")].count("\n") + 1
    assert f"dequantize_linear.yaml:{number}:" in found and "InputTensor and ScaleTensor" in found


@pytest.mark.parametrize("gone", ["rules.yaml", "enums.yaml", ""])
def test_a_missing_part_is_named(gone: str, specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = specs / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert main(["lint", "--specs", str(specs)]) == 1
    assert f"{Path(gone).name}" in capsys.readouterr().out


def test_all_faults_of_all_files_come_in_one_run(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [
        (ELEMENTS, "Axis <", "Axes <"),
        (ELEMENTS, "= Indices", "= Index"),
        (GATHER, "Axis <", "Axsi <"),
    ]
    for file, old, new in faults:
        edit(specs / file, old, new)
    assert main(["lint", "--specs", str(specs)]) == 1
    assert capsys.readouterr().out.count("error[unknown-name]") == len(faults)
