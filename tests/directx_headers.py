"""The official DirectML.h, from DirectX-Headers, in the folder that DIRECTX_HEADERS names."""

from __future__ import annotations

import os
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from c_runner import WARNINGS, compiler


@dataclass(frozen=True)
class Platform:
    """A way to compile DirectML.h: the text that comes before it, folders of headers, other options."""

    before: str
    folders: tuple[str, ...]
    options: tuple[str, ...] = ()


PLATFORMS = {
    "linux": Platform("#include <wsl/winadapter.h>\n", ("", "wsl/stubs", "directx")),
    # MinGW's annotations lack the one that DirectML.h uses.
    "mingw": Platform("#include <windows.h>\n", ("", "directx"), ("-D_Maybenull_=",)),
}


@pytest.fixture(scope="session")
def directx() -> Path:
    """The folder with wsl/ and directx/ in it."""
    folder = os.environ.get("DIRECTX_HEADERS")
    if folder is None:
        left_out = "DIRECTX_HEADERS is not set: dmlops.h is not tried beside the genuine DirectML.h"
        warnings.warn(left_out, stacklevel=1)
        pytest.skip(left_out)
    include = Path(folder) / "include"
    assert (include / "directx/DirectML.h").exists(), (
        f"DIRECTX_HEADERS, {folder}, has no include/directx/DirectML.h"
    )
    return include


def compiles(
    name: str, platform: Platform, directx: Path, header: Path, text: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """Compiles C or C++ beside the official headers; the warnings of dmlops.h are errors."""
    folders = [f"-isystem{directx / folder}" for folder in platform.folders]
    flags = [*WARNINGS, *platform.options, *folders, f"-I{header.parent}", *options]
    command = [compiler(name), *flags, "-x", "c++" if name.endswith("++") else "c", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
