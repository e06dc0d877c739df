"""Rules that a field of some tensors equals that of another one, of those that are given."""

from __future__ import annotations

from typing import Any

from .description import Description
from .enums import TensorDataType, name_of
from .registry import BROADCAST_HINT, SAME_FIELD
from .violation import Violation, report


def same_field(
    desc: Description, violations: list[Violation], rule: str, field: str, other: str, *names: str
) -> None:
    """A field of each of these tensors must be that of the other; the message may say how to broadcast."""
    reference = getattr(desc, other)
    if reference is None:
        return
    expected = getattr(reference, field)
    for name in names:
        tensor = getattr(desc, name)
        if tensor is not None and getattr(tensor, field) != expected:
            found, wanted = getattr(tensor, field), expected
            if field == "DataType":
                found, wanted = name_of(TensorDataType, found), name_of(TensorDataType, wanted)
            hint = BROADCAST_HINT if field == "Sizes" and _broadcasts(desc, name, found, wanted) else ""
            values = {"found": "{found}", "expected": "{expected}"}  # which the violation shows
            template = SAME_FIELD.format(tensor=name, other=other, field=field, **values) + hint
            report(violations, rule, f"{name}.{field}", template, found=found, expected=wanted)


def _broadcasts(desc: Description, name: str, sizes: Any, expected: Any) -> bool:
    """Whether an input has the expected sizes, except for some that are 1."""
    is_input = any(member.name == name and member.role == "input" for member in desc.TENSORS)
    fits = len(sizes) == len(expected)
    return is_input and fits and all(a in (1, b) for a, b in zip(sizes, expected, strict=True))
