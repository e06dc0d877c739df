"""Explains bindings to a person: what is bound where, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from ..explain import violation_lines
from ..terminal import PLAIN, Style, table
from .model import Binding, Bindings, Range
from .slots import PARTS, Slot, bindings_of, count_of, slots


def explain(bindings: Bindings, style: Style = PLAIN) -> tuple[str, bool]:
    """An explanation of bindings, and whether they are valid."""
    violations = bindings.validate()
    verdict = style.good("valid") if not violations else style.bad("invalid")
    names = ", ".join(target.name for target in bindings.targets) or "nothing"
    lines = [f"{style.strong(f'Bindings to {bindings.phase} {names}')}: {verdict}", ""]
    lines += table(list(_rows(bindings)))
    lines += violation_lines(violations, style)
    advice = bindings.advice()
    if advice:
        lines += ["", "Advice. None of this makes the bindings invalid:", *violation_lines(advice, style)]
    return "\n".join(lines), not violations


def _rows(bindings: Bindings) -> Iterator[tuple[str, str, str, str]]:
    """For each place in the table: its path, the tensor, what is bound there, and what it is for."""
    for part in PARTS:
        given = bindings_of(bindings, part)
        is_counted = len(given) == count_of(bindings, part)
        for index, binding in enumerate(given):
            found = list(slots(bindings, part, index, binding)) if is_counted else []
            for slot in found:
                name = "" if slot.label == slot.path else slot.label
                if slot.range is not None or slot.required_size:
                    yield slot.path, name, _shown(slot.range), _needed(bindings, slot)
            if not found:
                path = part if part in ("Persistent", "Temporary") else f"{part}[{index}]"
                yield path, "", _shown(binding), ""


def _shown(binding: Binding) -> str:
    if binding is None:
        return "not bound"
    if not isinstance(binding, Range):
        return f"an array of {len(binding)}"
    return f"{binding.buffer}, bytes {binding.offset} to {binding.offset + binding.size}"


def _needed(bindings: Bindings, slot: Slot) -> str:
    """The needs of a slot, and when they apply."""
    needed = slot.requirement
    if needed is None or not needed.is_present:
        return f"needs {slot.required_size} bytes" if slot.required_size else "needs nothing"
    when = "initialize" if needed.is_owned else "execute"
    later = "" if when == bindings.phase else f" to {when}{', OWNED_BY_DML' if needed.is_owned else ''}"
    return f"needs {slot.required_size} bytes{later}"
