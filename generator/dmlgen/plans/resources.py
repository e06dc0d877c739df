"""The buffers that a shader binds, derived from the record that a planner fills with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.plans.model import Record


@dataclass(frozen=True)
class Resource:
    """A buffer: the planner's name for it, its name and register in the shader, and a comment."""

    role: str
    name: str
    register: str
    comment: str

    @property
    def is_written(self) -> bool:
        return self.register.startswith("u")


def resources_of(record: Record, names: Mapping[str, str] | None = None) -> tuple[Resource, ...]:
    """The buffers in the order of their bindings: first those that are only read.

    `names` are those of tensors in the shader, by role; other buffers have the planner's name. Raises
    ValueError for what is wrong with the record.
    """
    found: list[Resource] = []
    counts = {"t": 0, "u": 0}
    for one in record.fields:
        kind = one.type.words[0] if isinstance(one.type, Record) and one.type.words else ""
        if kind not in counts:
            raise ValueError(f"{one.name}, neither Read nor Written,")
        if kind == "t" and counts["u"] > 0:
            raise ValueError(f"{one.name}, Read after what is Written,")
        name = (names or {}).get(one.name, one.name)
        found.append(Resource(one.name, name, f"{kind}{counts[kind]}", one.comment))
        counts[kind] += 1
    return tuple(found)
