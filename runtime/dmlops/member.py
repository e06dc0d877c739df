"""Members of the ABI's structs, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct.

    `type` names a number type (UINT), an enumeration (TENSOR_DATA_TYPE), a struct, or is "tensor" or "void";
    `pointer` holds for every address.
    """

    name: str
    type: str
    role: Literal["input", "output", "attribute"] = "attribute"
    count: str | None = None  # the member that holds the number of entries, where this is an array
    pointer: bool = False
    optional: bool = False
    typed_by: str | None = None  # the data type member or tensor that says what a union holds
    default: float | str | None = None  # where a caller gives none: each entry, or an output's data type
