"""Members of the ABI's structs, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
