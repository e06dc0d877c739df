"""Plans of the C header and of the Python package as lists of texts, to compare them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dmlops
from c_declarations import HEADER, struct_of
from c_library import Header
from dmlops.gpu import Unsupported, plan
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.reasons import Reason

NOTHING = 2**32 - 1  # in place of a member


CAPACITY = 256  # dispatches that are read


class Library(Header):
    """What the header says of plans."""

    def __init__(self, folder: Path) -> None:
        # Optimizing takes ten seconds, and plans are few; test_c_dispatch.py compiles with -O1, too.
        super().__init__(folder, HEADER, "-O0", "-DDMLOPS_DISPATCH")
        self._dispatches = (struct_of("dmlops_dispatch") * CAPACITY)()

    def plan(self, desc: dmlops.Description, capabilities: Capability = NO_CAPABILITIES) -> list[list[str]]:
        """Reason, member, scratch buffers, outputs that are read, message; and for each dispatch
        shader, groups, whether it waits, resources that are read, macros, bindings and constants."""
        structure, work = desc.to_ctypes(), struct_of("dmlops_work")()
        arguments = (ctypes.addressof(structure), int(capabilities), ctypes.byref(work), self._dispatches)
        planned = self.call.dmlops_plan_for(*arguments, CAPACITY)
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
        dispatches = (struct_of("dmlops_dispatch") * 4)()
        planned = int(self.call.dmlops_plan(place, dispatches if capacity else None, capacity))
        written = min(planned, capacity)
        assert [one.groups[2] for one in dispatches] == [int(number < written) for number in range(4)]
        return planned


def _bindings(bindings: Iterable[Any]) -> str:
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
