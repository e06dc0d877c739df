"""HLSL to SPIR-V or signed DXIL with the DirectX Shader Compiler.

The compiler is the first of: what the environment variable DMLOPS_DXC names (a shared library or an
executable), `dxc` on PATH, the shared library in the installed package compushady-lrtu. A library is called
in this process.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal, Protocol

from . import shader_cache
from .errors import GpuUnavailable
from .signing import signed

Target = Literal["spirv", "dxil"]

PROFILES = ("cs_6_2", "cs_6_4")  # for all shaders, and for those with dot products of four bytes
ARGUMENTS = ("-T", PROFILES[0], "-E", "CSMain", "-enable-16bit-types")
# DXC's -O3 inlines all functions first, and then unrolls loops one by one in a function that grows large.
# Here, loops are unrolled within functions before these are inlined, and dead branches go before what depends
# on parameters is unrolled: shaders of attention compile in 0.4 to 0.6 of the time. Some passes of -O3 are
# left out: wrap-opkill and three runs of eliminate-dead-code-aggressive, without which shaders stay the same
# to the bit, and a redundancy elimination after loop-unroll, which takes a third of the time for large
# shaders and mostly handles code that later passes remove. On an NVIDIA H200, 16 benchmark cases ran at 0.99
# to 1.03 times their speed. A loop with a `continue` is left to the driver, as sliding windows need.
SPIRV_PASSES = """
    eliminate-dead-branches merge-return
    eliminate-local-single-block eliminate-local-single-store ssa-rewrite ccp eliminate-dead-branches
    loop-unroll eliminate-dead-branches
    inline-entry-points-exhaustive eliminate-dead-functions
    private-to-local eliminate-local-single-block eliminate-local-single-store scalar-replacement=100
    convert-local-access-chains eliminate-local-single-block eliminate-local-single-store
    eliminate-dead-code-aggressive ssa-rewrite ccp eliminate-dead-branches merge-blocks simplify-instructions
    eliminate-dead-code-aggressive loop-unroll
    eliminate-dead-branches combine-access-chains simplify-instructions scalar-replacement=100
    convert-local-access-chains eliminate-local-single-block eliminate-local-single-store
    eliminate-dead-code-aggressive ssa-rewrite eliminate-dead-code-aggressive vector-dce
    eliminate-dead-inserts eliminate-dead-branches simplify-instructions if-conversion
    copy-propagate-arrays reduce-load-size eliminate-dead-code-aggressive merge-blocks
    redundancy-elimination eliminate-dead-branches merge-blocks simplify-instructions eliminate-dead-branches
    compact-ids
"""
TARGET_ARGUMENTS: Mapping[Target, tuple[str, ...]] = {
    "spirv": (
        "-spirv",
        "-Oconfig=" + ",".join(f"--{one}" for one in SPIRV_PASSES.split()),
        "-fspv-target-env=vulkan1.2",
        "-fvk-use-dx-layout",
        # Otherwise the compiler requires vendor extensions that other vendors' drivers reject.
        "-fspv-extension=KHR",
    ),
    "dxil": ("-O3", "-Wno-ignored-attributes"),  # the attributes are those that bind resources for Vulkan
}

_EXTENSIONS: Mapping[Target, str] = {"spirv": "spirv", "dxil": "cso"}

_OP_MEMORY_MODEL, _OP_CAPABILITY, _OP_TYPE_INT = 14, 17, 21
_HEADER = 5  # words before the first instruction
_VULKAN_MEMORY_MODEL_CAPABILITY, _VULKAN_MEMORY_MODEL = 5345, 3
_INT8_CAPABILITY = 39
# By the capability that needs them.
_FEATURES = {
    9: "shaderFloat16",
    10: "shaderFloat64",
    39: "shaderInt8",
    5345: "vulkanMemoryModel",
    6019: "shaderIntegerDotProduct",
    6022: "cooperativeMatrix",
}


class CompileError(RuntimeError):
    """The shader does not compile; the message is the compiler's."""


class Compiler(Protocol):
    """One way to call the compiler."""

    version: str

    def compile(self, source: str, arguments: Sequence[str]) -> bytes: ...

    def disassemble(self, code: bytes) -> str:
        """DXIL as text; it starts with the resources that the shader uses."""


def compile(source: str, defines: Mapping[str, int | str], target: Target = "spirv") -> bytes:
    """The shader's byte code, from the cache if it has been compiled before.

    Raises CompileError, or GpuUnavailable if there is no compiler.
    """
    compiler = find()
    given = arguments(defines, target)
    key = hashlib.sha256("\0".join([compiler.version, *given, source]).encode()).hexdigest()
    name = f"{key}.{_EXTENSIONS[target]}"
    code = shader_cache.load(name)
    if code is None:
        code = compiler.compile(source, given)
        code = with_bytes(with_memory_model(code)) if target == "spirv" else signed(code)
        shader_cache.store(name, code)
    return code


def with_loop_test(source: str, storage_buffers: int) -> str:
    """The shader with another entry point around it, which sets a flag if loops no longer run.

    Mesa's driver for CPUs counts the iterations of all loops of a thread, ends them together after 65,535,
    and from then on runs the body of any loop once. The flag is a storage buffer with the binding after that
    many and their uniform buffer.
    """
    _, _, body = files(__package__).joinpath("loop_test.hlsl").read_text("utf-8").partition("\n\n")
    threads = re.search(r"^\[numthreads\(.*\]$", source, re.MULTILINE)
    assert threads is not None, "every shader has an entry point"
    return Template(body).substitute(source=source, binding=storage_buffers + 1, threads=threads[0])


def arguments(defines: Mapping[str, int | str], target: Target = "spirv") -> list[str]:
    """The compiler's arguments for a variant, apart from the name of the source file."""
    # The compiler's own validator runs before the memory model is patched.
    unchecked = ["-Vd"] if target == "spirv" and defines.get("COOPERATIVE_MATRIX") else []
    macros = (f"-D{k}={v}" for k, v in defines.items())
    return ["-T", profile(defines), *ARGUMENTS[2:], *TARGET_ARGUMENTS[target], *unchecked, *macros]


def profile(defines: Mapping[str, int | str]) -> str:
    """The shader model that a variant needs."""
    return PROFILES[1] if defines.get("DOT_PRODUCTS") else PROFILES[0]


def with_memory_model(code: bytes) -> bytes:
    """Patches SPIR-V that declares the capability of Vulkan's memory model to use that model, as cooperative
    matrices require.

    DXC up to 1.8 leaves the model at GLSL450 regardless of what a shader declares. These shaders annotate
    what threads exchange as the Vulkan model demands, so this one word is all that has to change.
    """
    if _VULKAN_MEMORY_MODEL_CAPABILITY not in _capabilities(code):
        return code
    words = memoryview(bytearray(code)).cast("I")
    at = _HEADER
    while words[at] & 0xFFFF != _OP_MEMORY_MODEL:  # every module has one
        at += words[at] >> 16
    words[at + 2] = _VULKAN_MEMORY_MODEL
    return words.tobytes()


def with_bytes(code: bytes) -> bytes:
    """Patches SPIR-V that declares 8-bit integers to have those in place of 16-bit integers.

    DXC has no 8-bit type; shaders with that declaration use int16_t for matrices of bytes, and for nothing
    else.
    """
    if _INT8_CAPABILITY not in _capabilities(code):
        return code
    words = memoryview(bytearray(code)).cast("I")
    at = _HEADER
    while at < len(words):
        if words[at] & 0xFFFF == _OP_TYPE_INT and words[at + 2] == 16:
            words[at + 2] = 8
        at += words[at] >> 16
    return words.tobytes()


def optional_features(code: bytes) -> list[str]:
    """The Vulkan features that SPIR-V needs and not every device has."""
    declared = _capabilities(code)
    return [feature for capability, feature in _FEATURES.items() if capability in declared]


def _capabilities(code: bytes) -> list[int]:
    """The capabilities that SPIR-V declares, which come first."""
    words = memoryview(code).cast("I")
    found, at = [], _HEADER
    while words[at] & 0xFFFF == _OP_CAPABILITY:
        found.append(words[at + 1])
        at += 2
    return found


@cache
def find() -> Compiler:
    """The compiler of this machine. Raises GpuUnavailable if there is none."""
    named = os.environ.get("DMLOPS_DXC")
    if named:
        if not Path(named).is_file():
            raise GpuUnavailable(f"DMLOPS_DXC names no file: {named}")
        is_library = ".so" in Path(named).suffixes or Path(named).suffix in {".dll", ".dylib"}
        return LibraryCompiler(Path(named)) if is_library else ExecutableCompiler(named)
    executable = shutil.which("dxc")
    if executable:
        return ExecutableCompiler(executable)
    package = importlib.util.find_spec("compushady")  # found, not imported: only its library is needed
    for directory in package.submodule_search_locations or () if package else ():
        for library in sorted(Path(directory, "backends").glob("*dxcompiler*")):
            return LibraryCompiler(library)
    raise GpuUnavailable(
        "No shader compiler found: pip install compushady-lrtu, put dxc on PATH, or set DMLOPS_DXC to it."
    )


class ExecutableCompiler:
    """`dxc` in a separate process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.version = self._run("--version").stdout

    def compile(self, source: str, arguments: Sequence[str]) -> bytes:
        with tempfile.TemporaryDirectory() as directory:
            shader, code = Path(directory, "shader.hlsl"), Path(directory, "code")
            shader.write_text(source, encoding="utf-8")
            result = self._run(*arguments, "-Fo", str(code), str(shader))
            if result.returncode:
                raise CompileError(result.stderr)
            return code.read_bytes()

    def disassemble(self, code: bytes) -> str:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "code")
            file.write_bytes(code)
            result = self._run("-dumpbin", str(file))
            if result.returncode:
                raise CompileError(result.stderr)
            return result.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
        except OSError as error:
            raise GpuUnavailable(f"The shader compiler {self.path} cannot be run: {error}") from error


class LibraryCompiler:
    """dxcompiler's shared library, through the COM interfaces of Microsoft's dxcapi.h."""

    CLASS = uuid.UUID("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0")
    COMPILER3 = uuid.UUID("228b4687-5a6a-4730-900c-9702b2203f54")
    RESULT = uuid.UUID("58346cda-dde7-4497-9461-6f87af5e0659")
    UTF8 = 65001

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            self._create_instance = self._library.DxcCreateInstance
        except (OSError, AttributeError) as error:
            raise GpuUnavailable(f"The shader compiler {path} cannot be loaded: {error}") from error
        status = path.stat()
        self.version = f"{path} {status.st_size} {status.st_mtime_ns}"

    def compile(self, source: str, arguments: Sequence[str]) -> bytes:
        text = source.encode()
        buffer = _Buffer(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text), self.UTF8)
        texts = (ctypes.c_wchar_p * len(arguments))(*arguments)
        with ExitStack() as release:
            compiler, result = self._instance(release), _Object(release)
            _check(
                compiler.call(
                    3,
                    ctypes.byref(buffer),
                    texts,
                    ctypes.c_uint32(len(arguments)),
                    None,
                    _guid(self.RESULT),
                    result.out(),
                )
            )
            status = ctypes.c_int32()
            _check(result.call(3, ctypes.byref(status)))
            blob = _Object(release)
            _check(result.call(5 if status.value else 4, blob.out()))
            if status.value:
                raise CompileError(blob.contents().decode(errors="replace").rstrip("\0"))
            return blob.contents()

    def disassemble(self, code: bytes) -> str:
        buffer = _Buffer(ctypes.cast(ctypes.c_char_p(code), ctypes.c_void_p), len(code), 0)
        with ExitStack() as release:
            compiler, result, blob = self._instance(release), _Object(release), _Object(release)
            _check(compiler.call(4, ctypes.byref(buffer), _guid(self.RESULT), result.out()))
            _check(result.call(4, blob.out()))
            return blob.contents().decode().rstrip("\0")

    def _instance(self, release: ExitStack) -> _Object:
        """A new compiler instance: each serves one thread at a time, and creating one costs next to
        nothing."""
        compiler = _Object(release)
        _check(self._create_instance(_guid(self.CLASS), _guid(self.COMPILER3), compiler.out()))
        return compiler


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint32)]


class _Object:
    """A COM object; methods are called by their slot in the vtable."""

    def __init__(self, release: ExitStack) -> None:
        self._pointer = ctypes.c_void_p()
        release.callback(self._release)

    def out(self) -> Any:
        return ctypes.byref(self._pointer)

    def call(self, slot: int, *arguments: Any, result: Any = ctypes.c_int32) -> Any:
        vtable = ctypes.cast(self._pointer, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
        return ctypes.CFUNCTYPE(result)(vtable[slot])(self._pointer, *arguments)

    def contents(self) -> bytes:
        """The bytes of a blob."""
        data, size = self.call(3, result=ctypes.c_void_p), self.call(4, result=ctypes.c_size_t)
        return ctypes.string_at(data, size)

    def _release(self) -> None:
        if self._pointer:
            self.call(2, result=ctypes.c_uint32)


def _guid(identifier: uuid.UUID) -> Any:
    return ctypes.c_char_p(identifier.bytes_le)


def _check(status: int) -> None:
    if status < 0:
        raise CompileError(f"the compiler failed with status {status & 0xFFFFFFFF:#x}")
