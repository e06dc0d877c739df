"""Violations of rules by descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import isfinite
from typing import Any

from .data import messages
from .safe_text import decimal


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a description breaks.

    `rule` is its stable identifier, such as DML-GATHER-axis-range; `member` the path of what to fix, such as
    OutputTensor.Sizes[1]. If the rule compares two values, `found` is the one that is there and `expected`
    the one that it is compared with: numbers, tuples of numbers, or names of enumerators. `template` is the
    text of the message, with {found} and {expected} for these, and {} for each of `values`.
    """

    rule: str
    member: str
    template: str
    values: tuple[Any, ...] = ()
    found: Any = None
    expected: Any = None

    @property
    def message(self) -> str:
        """A sentence without its period: the value found, and what would be right."""
        return self.template.format(
            *map(_shown, self.values), found=_shown(self.found), expected=_shown(self.expected)
        )

    def between(self, before: str, after: str) -> Violation:
        """The violation with a text before its message and one after it."""
        return replace(self, template=f"{{}}{self.template}{{}}", values=(before, *self.values, after))

    def to_json(self) -> dict[str, Any]:
        """The violation as a JSON object; `values` has the value found and the one expected, where there are
        such.
        """
        compared = {"found": self.found, "expected": self.expected}
        values = {name: _plain(value) for name, value in compared.items() if value is not None}
        return {"rule": self.rule, "member": self.member, "message": self.message, "values": values}

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def report(
    violations: list[Violation],
    rule: str,
    member: str,
    template: str,
    *values: Any,
    found: Any = None,
    expected: Any = None,
) -> None:
    """Adds a violation."""
    violations.append(Violation(rule, member, template, values, found, expected))


def filled(rule: str, shown: Mapping[str, Any], rest: str = "", with_hint: bool = False) -> Violation:
    """The violation of a rule without a condition: its message, perhaps with its hint, and then the rest.

    `shown` has the values that the message names: `member` is where it is, `value` what was found, `choices`
    what was expected.
    """
    text, hint = messages()[rule]
    parts = (*text, *hint) if with_hint else text
    values = (*(shown[part[1]] for part in parts if not isinstance(part, str)), rest)
    template = "".join(part if isinstance(part, str) else "{}" for part in parts)
    return Violation(
        rule, str(shown["member"]), f"{template}{{}}", values, shown.get("value"), shown.get("choices")
    )


def _plain(value: Any) -> Any:
    """A value as JSON has it, which has no NaN and infinities."""
    if type(value) is tuple:
        return [_plain(one) for one in value]
    return str(value) if type(value) is float and not isfinite(value) else value


def _shown(value: Any) -> str:
    """A value as messages show it."""
    match value:
        case Enum():
            return str(value)
        case bool():
            return str(value).lower()
        case int():
            return decimal(value)
        case float():
            return f"{value:g}"
        case tuple():
            return f"[{', '.join(map(_shown, value))}]"
    return str(value)
