"""Every shader as the runtime compiles it: SPIR-V that the validator accepts, and DXIL, without a warning.

The descriptions of the matrices, which cover every data type and dimension count of every table, determine
the macros. By default, a bounded number of variants is compiled for each operator, with every value of every
macro among them, if possible variants that tests run, too; with DMLOPS_ALL_SHADERS=1 (`make test-shaders`),
all of them are.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import dmlops
from dmlops import gpu
from dmlops.gpu import compiler, shader
from dmlops.gpu.plans import definition, implicit_gemm, pass_selection
from dmlops.gpu.plans import map as map_planner
from dmlops.gpu.work import Dispatch
from matrix_cases import MATRICES, OPERATORS, covering, described
from spirv_modules import instructions, validate

GENERATED = Path(__file__).parents[1] / "generated"
WHOLE_SWEEP = bool(os.environ.get("DMLOPS_ALL_SHADERS"))
MOST = 3  # variants of an operator by default, beside those that show all values of its macros
CAPABILITIES = {
    1: "Shader",
    9: "Float16",
    10: "Float64",
    11: "Int64",
    22: "Int16",
    50: "ImageQuery",
    61: "GroupNonUniform",
    4433: "StorageBuffer16BitAccess",
}

Defines = Mapping[str, int | str]


# Planners' numbers, as if descriptions were larger, or as if few elements were many
LARGER = (
    [(implicit_gemm, "SLIDING_PRODUCTS", 0), (definition, "SATURATING_THREADS", 1)],
    [(map_planner, "ELEMENTWISE_BUSY", 1)],
    [(pass_selection, "SEARCHED", 0)],
)


def dispatches(desc: dmlops.Description) -> Iterator[Dispatch]:
    """Those that a description leads to, and those that a larger one would; none where it is too large for
    32 bits."""
    with contextlib.suppress(gpu.Unsupported):
        yield from gpu.plan(desc).dispatches
        for numbers in LARGER:
            with contextlib.ExitStack() as changed:
                for module, name, value in numbers:
                    changed.enter_context(mock.patch.object(module, name, value))
                yield from gpu.plan(desc).dispatches


def variants(operator: str) -> list[Defines]:
    """The macros of every dispatch that the operator's matrix leads to; by default few of them."""
    matrix = json.loads((MATRICES / f"{operator}.json").read_bytes())
    found: dict[frozenset[Any], Defines] = {}
    run: set[frozenset[Any]] = set()  # with the data of the matrix
    for case in matrix["cases"]:
        if case["kind"] in ("positive", "boundary") and case["expect"]["ok"]:
            desc = described(case)
            for dispatch in dispatches(desc):
                if dispatch.shader is None:  # others are variants of their own operator
                    found.setdefault(frozenset(dispatch.defines.items()), dispatch.defines)
            if "outputs" in case:
                run |= {frozenset(dispatch.defines.items()) for dispatch in gpu.plan(desc).dispatches}
    if WHOLE_SWEEP:
        return list(found.values())
    shown = [(one, {macro for macro in one if macro[0] != "RANK"}) for one in found]
    chosen = covering(shown, lambda one: one in run)
    others = [one for one in found if one in run and one not in chosen]
    return [found[one] for one in (*chosen, *others[:: len(others) // MOST + 1])]


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_compiles(operator: str, tmp_path: Path) -> None:
    compiled = variants(operator)
    assert compiled, "no description of the matrix leads to a dispatch"
    for defines in compiled:
        code = compiler.compile(shader(operator), defines)
        validate(code, tmp_path, str(defines))
        parsed = list(instructions(code))
        assert {operands[0] for opcode, operands in parsed if opcode == 17} <= set(CAPABILITIES), defines
        bindings = sorted({operands[2] for opcode, operands in parsed if opcode == 71 and operands[1] == 33})
        assert bindings[-1] == len(re.findall(r"\[\[vk::binding", shader(operator))) - 1, defines
        assert compiler.compile(shader(operator), defines, "dxil")[:4] == b"DXBC", defines


@pytest.mark.parametrize("data_type", ["INT8", "UINT8"])
def test_reductions_of_vectors_of_bytes_compile(data_type: str) -> None:
    """Of which the matrix has none."""
    desc = dmlops.Reduce(Function="MIN", InputTensor=dmlops.TensorDesc(data_type, (8, 16)), Axes=(1,))
    (dispatch,) = gpu.plan(desc.infer()).dispatches
    assert dispatch.defines["VECTOR"] == 4
    for target in ("spirv", "dxil"):
        compiler.compile(shader("REDUCE"), dispatch.defines, target)


@pytest.mark.parametrize("operator", OPERATORS)
def test_conventions(operator: str) -> None:
    text = shader(operator)
    assert text.isascii()
    assert text.splitlines()[3].startswith(f"// DML_OPERATOR_{operator.upper()}: ")  # after the banner
    assert not re.search(r"#include|\btemplate\b|[ \t]+$|\{[{%]|\n\n\n", text, re.MULTILINE)
    assert "[numthreads(NUM_THREADS, 1, 1)]\nvoid CSMain(" in text
    resources = re.findall(r"\[\[vk::binding\((\d+), 0\)\]\] .*?(\w+) : register\(([a-z])(\d+)\)", text)
    assert [int(binding) for binding, *_ in resources] == list(range(len(resources)))
    for kind in "tub":
        numbers = [int(number) for _, _, letter, number in resources if letter == kind]
        assert numbers == list(range(len(numbers))), kind
    assert resources[-1][1:] == ("Params", "b", "0")
    assert (GENERATED / "hlsl" / f"{operator}.hlsl").read_text(encoding="utf-8") == text
