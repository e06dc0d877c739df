"""Shaders in DXIL as functions of the CPU: translated to C, which the machine's C compiler compiles."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import c_runner
from dmlops.gpu import compiler
from dxil.translate import Translation

RUNTIME = Path(__file__).with_name("runtime.h")
LIBRARIES = Path(__file__).parents[2] / "build" / "dxil"  # kept for later runs
C = ("-std=gnu11", "-w", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE", "-shared", "-fPIC")
# As DXIL says. Optimizing would take longer than shaders run that are used once.
EXACT = ("-O0", "-ffp-contract=off")
# Reorders and fuses, as a driver may, what DXIL flags as fast; fused also where DXIL leaves it open.
LOOSE = (
    *("-DLOOSE", "-O1", "-march=native", "-ffp-contract=fast", "-fassociative-math", "-freciprocal-math"),
    *("-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno"),
    *("-fira-region=one", "-fira-algorithm=priority"),  # registers need not be few: a quarter of gcc's time
)
WAVE = 32  # lanes
FILLS = (0xCA, 0xFF)  # bytes that nobody has written; the second make NaN of each type


class Mistake(AssertionError):
    """Operations of a shader that Direct3D leaves undefined, or that depends on the order of threads."""


class Buffer(NamedTuple):
    """Bytes, and for each whether it has been written; None for inputs."""

    content: np.ndarray
    written: np.ndarray | None = None


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_void_p), ("written", ctypes.c_void_p),
        ("size", ctypes.c_uint64), ("stride", ctypes.c_uint32),
    ]  # fmt: skip


class Shaders:
    """Shaders that are compiled together, by number; for each way to compute floats when it is first used."""

    def __init__(self, codes: Sequence[bytes]) -> None:
        texts = map(compiler.find().disassemble, codes)
        self._shaders = [Translation(text, f"s{number}_") for number, text in enumerate(texts)]
        self._functions: dict[bool, ctypes._NamedFuncPointer] = {}

    def is_loose(self, number: int) -> bool:
        """Whether a shader has floats that may be computed in another way."""
        return self._shaders[number].is_loose

    def run(
        self,
        number: int,
        constants: bytes,
        reads: Sequence[Buffer],
        writes: Sequence[Buffer],
        groups: Sequence[int],
        *,
        is_loose: bool = False,
        downwards: bool = False,
        lanes: int = WAVE,
    ) -> None:
        """Dispatches a shader with these root descriptors: b0, t0, t1 ... and u0, u1 ... Raises Mistake.

        `is_loose`: floats are computed in another way that DXIL allows. `downwards`: groups, and the threads
        of a group, take turns from the last to the first, and their memory starts with other bytes.
        """
        given = [Buffer(np.frombuffer(constants, np.uint8)), *reads, *writes]
        buffers = (_Buffer * len(given))(*(_Buffer(*map(_address, one), one.content.size) for one in given))
        three = (ctypes.c_uint32 * 3)(*groups, *[1] * (3 - len(groups)))
        is_loose = is_loose and self.is_loose(number)
        place = [i for i, one in enumerate(self._shaders) if one.is_loose or not is_loose].index(number)
        problem = self._function(is_loose)(
            place, buffers, len(given), len(reads), three, lanes, downwards, FILLS[downwards]
        )
        if problem:
            raise Mistake(problem.decode())

    def _function(self, is_loose: bool) -> ctypes._NamedFuncPointer:
        """What runs all shaders, or those with floats that may be computed in another way."""
        if is_loose not in self._functions:
            chosen = [one for one in self._shaders if one.is_loose or not is_loose]
            self._functions[is_loose] = _function(chosen, LOOSE if is_loose else EXACT)
        return self._functions[is_loose]


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


@cache
def _version(command: str) -> bytes:
    return subprocess.run([command, "--version"], capture_output=True, check=True).stdout


def _function(shaders: Sequence[Translation], arguments: Sequence[str]) -> ctypes._NamedFuncPointer:
    """The function of C that runs each of these shaders, by number."""
    names = ", ".join(f"&{one.prefix}shader" for one in shaders)
    source = "\n".join(
        [
            '#include "runtime.h"',
            *(one.c() for one in shaders),
            f"static const shader *const shaders[] = {{{names}}};",
            "const char *run(uint32_t number, const buffer *given, uint32_t count, uint32_t reads,",
            "                const uint32_t *groups, uint32_t width, int downwards, int byte) {",
            "    return run_shader(shaders[number], given, count, reads, groups, width, downwards, byte);",
            "}",
        ]
    )
    command = c_runner.compiler("gcc")  # clang has no _Float16 on x86 before version 15
    key = hashlib.sha256(
        b"\0".join(
            [source.encode(), RUNTIME.read_bytes(), _version(command), *(one.encode() for one in arguments)]
        )
    )
    library = LIBRARIES / f"{key.hexdigest()}.so"
    if not library.exists():
        LIBRARIES.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        call = [command, *C, *arguments, f"-I{RUNTIME.parent}", "-xc", "-", "-o", str(made), "-lm"]
        done = subprocess.run(call, input=source.encode(), capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        made.replace(library)
    function = ctypes.CDLL(str(library)).run
    function.restype = ctypes.c_char_p
    function.argtypes = [
        ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32,
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_int,
    ]  # fmt: skip
    return function
