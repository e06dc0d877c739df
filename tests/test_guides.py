"""The complete programs in examples/: the Vulkan one runs, the Direct3D 12 one compiles and links."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from c_runner import WARNINGS, compiler
from directx_headers import PLATFORMS, compiles, directx
from gpu_device import device

__all__ = ["device", "directx"]  # fixtures

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
HEADER = ROOT / "generated/include/dmlops.h"

# The compiler of HLSL as a program, which the package has as a library.
DXC = """#!{python}
import sys
from pathlib import Path
from dmlops.gpu import compiler

*arguments, source = sys.argv[1:]
at = arguments.index("-Fo")
code = compiler.find().compile(Path(source).read_text(), arguments[:at] + arguments[at + 2 :])
Path(arguments[at + 1]).write_bytes(code)
"""


def build(program: Path, name: str, source: str, *options: str) -> None:
    standard = ("-std=c++17",) if name.endswith("++") else ("-std=c11",)
    command = [compiler(name), *standard, *WARNINGS, f"-I{HEADER.parent}", str(EXAMPLES / source), *options]
    result = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_vulkan_program_adds_a_million_numbers(tmp_path: Path, name: str, device: Any) -> None:
    program = tmp_path / "vulkan"
    build(program, name, "vulkan.c", "-lvulkan")
    dxc = tmp_path / "dxc"
    dxc.write_text(DXC.format(python=sys.executable))
    dxc.chmod(0o755)
    result = subprocess.run(
        [program, ROOT / "generated/hlsl"],
        cwd=tmp_path,
        env={**os.environ, "DXC": str(dxc)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    expected = sum(i % 7 for i in range(1_000_000))
    assert result.stdout.splitlines()[-1] == f"sum {expected}, expected {expected}"
    assert "after a barrier" in result.stdout  # several dispatches, so barriers and scratch are shown


@pytest.mark.parametrize("name", ["d3d12", "player"])
def test_the_direct3d_programs_link_with_mingw(tmp_path: Path, name: str) -> None:
    build(tmp_path / f"{name}.exe", "x86_64-w64-mingw32-g++", f"{name}.cpp", "-ld3d12")


@pytest.mark.parametrize("name", ["clang++", "x86_64-w64-mingw32-g++"])
def test_the_direct3d_program_compiles_with_the_genuine_headers(name: str, directx: Path) -> None:
    platform = PLATFORMS["mingw" if "mingw" in name else "linux"]
    text = platform.before + (EXAMPLES / "d3d12.cpp").read_text(encoding="utf-8")
    options = ("-std=c++17", "-fsyntax-only")
    if "mingw" in name:  # whose own headers are of an older MIDL
        options += ("-D__REQUIRED_RPCNDR_H_VERSION__=475",)
    result = compiles(name, platform, directx, HEADER, text, *options)
    assert result.returncode == 0, result.stderr
