"""Plans of the C header and of the Python package as lists of texts, to compare them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from pathlib import Path

import dmlops
from c_runner import build
from dmlops.gpu import Unsupported, plan
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.reasons import Reason

HEADER = Path(dmlops.__file__).parents[2] / "include/dmlops.h"
NOTHING = 2**32 - 1  # in place of a member


class Library:
    """The header, compiled into a library that stops at the first undefined act."""

    def __init__(self, folder: Path) -> None:
        # Optimizing takes ten seconds, and plans are few; test_c_dispatch.py compiles with -O1, too.
        options = ("-O0", "-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
        self._library = ctypes.CDLL(str(build(HEADER, "dispatch.c", folder / "dispatch.so", "gcc", *options)))
        self._library.plan.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
        self._library.plan.restype = ctypes.c_char_p
        self._library.count.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._library.count.restype = ctypes.c_size_t

    def plan(self, desc: dmlops.Description, capabilities: Capability = NO_CAPABILITIES) -> list[list[str]]:
        """Reason, member, scratch buffers, outputs that are read, message; and for each dispatch
        shader, groups, whether it waits, resources that are read, macros, bindings and constants."""
        structure = desc.to_ctypes()
        first, *lines = self._library.plan(ctypes.addressof(structure), capabilities).decode().splitlines()
        return [first.split(" ", 4), *(line.split(" ") for line in lines)]

    def count(self, desc: dmlops.Description | None, capacity: int) -> int:
        structure = None if desc is None else desc.to_ctypes()
        return int(self._library.count(None if structure is None else ctypes.addressof(structure), capacity))


def expected(desc: dmlops.Description, capabilities: Capability = NO_CAPABILITIES) -> list[list[str]]:
    """The Python package's plan, as the library writes it, or the reason why there is nothing."""
    places = {member.name: place for place, member in enumerate(desc.MEMBERS)}
    try:
        if desc.validate():
            text = f"{desc.OPERATOR} is not valid at the newest feature level"
            raise Unsupported(text, Reason.INVALID)
        work = plan(desc, capabilities)
    except Unsupported as error:
        member = NOTHING if error.member is None else places[error.member]
        return [[str(error.reason.value), str(member), "", "", str(error)]]

    def bindings(names: Iterable[str]) -> str:
        parts = (name.rstrip("]").partition("[") for name in names)
        return "".join(
            f"{NOTHING}:{name.removeprefix('scratch')},"
            if name not in places
            else f"{places[name]}:{number or 0},"
            for name, _, number in parts
        )

    held = bindings(name for name in work.zero_initialize if name not in work.scratch)
    scratch = "".join(f"{size}:{int(name in work.zero_initialize)}," for name, size in work.scratch.items())
    lines = [["0", str(NOTHING), scratch, held, ""]]
    for dispatch in work.dispatches:
        words = struct.unpack(f"<{len(dispatch.constants) // 4}I", dispatch.constants)
        lines.append(
            [
                f"{(dispatch.shader or desc.OPERATOR).lower()}.hlsl",
                ",".join(map(str, (*dispatch.groups, 1))),
                str(int(dispatch.needs_barrier)),
                str(dispatch.reads),
                "".join(f"{name}={value}," for name, value in dispatch.defines.items()),
                bindings(dispatch.buffers),
                ",".join(map(str, words)),
            ]
        )
    return lines
