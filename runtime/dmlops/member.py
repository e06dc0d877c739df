"""Members of the ABI's structs, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct.

    `type` names a number type (UINT), an enumeration (TENSOR_DATA_TYPE) or a struct, or is "tensor" or
    "void"; `pointer` is true for every pointer.
    """

    name: str
    type: str
    role: Literal["input", "output", "attribute"] = "attribute"
    count: str | None = None  # if this is an array: the member with the number of its entries
    pointer: bool = False
    optional: bool = False
    typed_by: str | None = None  # if this is a union: the data type member or tensor that selects its field
    default: float | str | None = None  # if the caller gives none: for each entry, or an output's data type


def members_of(struct: Mapping[str, Any]) -> tuple[Member, ...]:
    """The members of a struct or an operator in registry.json."""
    return tuple(
        Member(
            one["name"],
            one["type"],
            role=one["role"],
            count=one.get("count"),
            pointer=one.get("pointer", False),
            optional=one.get("optional", False),
            typed_by=one.get("typed_by"),
            default=_default(one, struct),
        )
        for one in struct["members"]
    )


def _default(member: Mapping[str, Any], struct: Mapping[str, Any]) -> float | str | None:
    value: float | str | None = struct.get("defaults", {}).get(member["name"])
    return bool(value) if member["type"] == "BOOL" and value is not None else value
