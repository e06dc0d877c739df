"""The structs and functions that the C headers declare, for ctypes."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import dmlops

HEADER = Path(dmlops.__file__).parents[2] / "include/dmlops.h"
_NUMBERS = {
    **{name: getattr(ctypes, f"c_{name[:-2]}") for name in ("uint8_t", "uint32_t", "uint64_t", "int64_t")},
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "char": ctypes.c_char,
    "UINT": ctypes.c_uint32,
    "UINT64": ctypes.c_uint64,
    "SIZE_T": ctypes.c_size_t,
}


@cache
def _text() -> str:
    """Both headers, without comments."""
    text = HEADER.read_text(encoding="utf-8") + HEADER.with_name("dmlops_plan.h").read_text(encoding="utf-8")
    return re.sub(r" */\*.*?\*/", "", text, flags=re.DOTALL)


@cache
def type_of(declared: str) -> Any:
    """A type; pointers are addresses, apart from texts, and enumerations are numbers."""
    name = declared.replace("const", "").replace(" ", "")
    if name.endswith("*"):
        return ctypes.c_char_p if name == "char*" else ctypes.c_void_p
    return struct_of(name) if f"typedef struct {name} {{" in _text() else _NUMBERS.get(name, ctypes.c_uint32)


@cache
def struct_of(name: str) -> Any:
    """A struct."""
    (body,) = re.findall(rf"^typedef struct {name} {{\n(.*?)^}}", _text(), re.DOTALL | re.MULTILINE)
    fields = []
    for declared, field, length in re.findall(r"^ +(.+?) ?(\w+)(?:\[(\w+)\])?;$", body, re.MULTILINE):
        count = re.findall(rf"^#define {length} (\d+)$", _text(), re.MULTILINE) or [length]
        fields.append((field, type_of(declared) * int(count[0]) if length else type_of(declared)))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def declare(library: ctypes.CDLL) -> None:
    """Gives the functions of a library their types."""
    for result, name, parameters in re.findall(
        r"^DMLOPS_API ([^;{]+?) ?(dmlops_\w+)\(([^)]*)\);", _text(), re.M
    ):
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype = type_of(result)
            function.argtypes = [type_of(re.sub(r"\w+$", "", one.strip())) for one in parameters.split(",")]
