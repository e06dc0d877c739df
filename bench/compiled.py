"""Compiled shaders in a folder, for machines with a GPU but no shader compiler."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from dmlops.gpu import compiler
from dmlops.gpu.plans.capabilities import FASTER, NO_CAPABILITIES

CAPABILITIES = (NO_CAPABILITIES, *FASTER, FASTER)
"""The capabilities that shaders are compiled for ahead of time: no capability, each by itself, and all."""

compile_again = compiler.compile


def code_of(folder: Path, source: str, defines: Mapping[str, int | str]) -> bytes:
    """The SPIR-V of a source with these macros, from the folder; compiled into it first if missing."""
    key = hashlib.sha256(repr((source, compiler.arguments(defines))).encode()).hexdigest()
    file = folder / f"{key}.spv"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(compile_again(source, defines))
    return file.read_bytes()
