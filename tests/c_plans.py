"""Plans of the C header and of the Python package as lists of texts, to compare them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from ctypes import c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import dmlops
from c_library import Header
from dmlops.gpu import Unsupported, plan
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.reasons import Reason

HEADER = Path(dmlops.__file__).parents[2] / "include/dmlops.h"
NOTHING = 2**32 - 1  # in place of a member


class CDefine(ctypes.Structure):
    _fields_ = (("name", c_char * 48), ("value", c_char * 24))


class CBinding(ctypes.Structure):
    _fields_ = (("member", c_uint32), ("entry", c_uint32))


class CDispatch(ctypes.Structure):
    _fields_ = (
        ("shader", c_char_p),
        ("groups", c_uint32 * 3),
        *((name, c_uint32) for name in ("needs_barrier", "define_count", "binding_count")),
        *((name, c_uint32) for name in ("read_count", "constant_count")),
        ("defines", CDefine * 128),
        ("bindings", CBinding * 18),
        ("constants", c_uint32 * 512),
    )


class CScratch(ctypes.Structure):
    _fields_ = (("size", c_uint64), ("zero_initialize", c_uint32))


class CWork(ctypes.Structure):
    _fields_ = (
        ("dispatch_count", c_size_t),
        ("scratch_count", c_uint32),
        ("read_write_output_count", c_uint32),
        ("scratch", CScratch * 4),
        ("read_write_outputs", CBinding * 2),
        ("reason", c_int),
        ("member", c_uint32),
        ("number", c_int64),
        ("message", c_char * 512),
    )


FUNCTIONS = {
    "plan_for": (c_size_t, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t),
    "plan": (c_size_t, c_void_p, c_void_p, c_size_t),
}
CAPACITY = 256  # dispatches that are read


class Library(Header):
    """What the header says of plans."""

    def __init__(self, folder: Path) -> None:
        # Optimizing takes ten seconds, and plans are few; test_c_dispatch.py compiles with -O1, too.
        super().__init__(folder, HEADER, ("-O0", "-DDMLOPS_DISPATCH"), FUNCTIONS)
        self._dispatches = (CDispatch * CAPACITY)()

    def plan(self, desc: dmlops.Description, capabilities: Capability = NO_CAPABILITIES) -> list[list[str]]:
        """Reason, member, scratch buffers, outputs that are read, message; and for each dispatch
        shader, groups, whether it waits, resources that are read, macros, bindings and constants."""
        structure, work = desc.to_ctypes(), CWork()
        arguments = (ctypes.addressof(structure), int(capabilities), ctypes.byref(work), self._dispatches)
        planned = self.call.plan_for(*arguments, CAPACITY)
        scratch = "".join(f"{one.size}:{one.zero_initialize}," for one in work.scratch[: work.scratch_count])
        held = _bindings(work.read_write_outputs[: work.read_write_output_count])
        lines = [[str(work.reason), str(work.member), scratch, held, work.message.decode()]]
        for one in self._dispatches[: min(planned, CAPACITY)]:
            defines = one.defines[: one.define_count]
            lines.append(
                [
                    one.shader.decode(),
                    ",".join(map(str, one.groups)),
                    str(one.needs_barrier),
                    str(one.read_count),
                    "".join(f"{define.name.decode()}={define.value.decode()}," for define in defines),
                    _bindings(one.bindings[: one.binding_count]),
                    ",".join(map(str, one.constants[: one.constant_count])),
                ]
            )
        return lines

    def count(self, desc: dmlops.Description | None, capacity: int) -> int:
        """The number of dispatches, of which those are written that fit."""
        structure = None if desc is None else desc.to_ctypes()
        place = None if structure is None else ctypes.addressof(structure)
        dispatches = (CDispatch * 4)()
        planned = int(self.call.plan(place, dispatches if capacity else None, capacity))
        written = min(planned, capacity)
        assert [one.groups[2] for one in dispatches] == [int(number < written) for number in range(4)]
        return planned


def _bindings(bindings: Iterable[CBinding]) -> str:
    return "".join(f"{one.member}:{one.entry}," for one in bindings)


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
