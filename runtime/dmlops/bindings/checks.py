"""Checks bindings: first each part by itself, then what is written against everything else that is bound."""

from __future__ import annotations

from typing import Any

from ..binding_rules import check_range
from ..data import registry_data
from ..violation import Violation, filled
from .model import Binding, Bindings, Range
from .slots import PARTS, Part, Slot, bindings_of, count_of, is_array, slots

_FACTS = registry_data()["bindings"]
_RULES = [one["rule"] for one in _FACTS["rules"]]
_ADVICE = frozenset(rule["id"] for rule in _RULES if rule["stage"] == "advice")


def violations(bindings: Bindings) -> list[Violation]:
    """The rules that bindings break."""
    return [one for one in _judged(bindings) if one.rule not in _ADVICE]


def advice(bindings: Bindings) -> list[Violation]:
    """The advice that valid bindings draw."""
    found = _judged(bindings)
    return found if all(one.rule in _ADVICE for one in found) else []


def _judged(bindings: Bindings) -> list[Violation]:
    """Violations, and advice."""
    found: list[Violation] = []
    bound: list[Slot] = []
    for part in PARTS:
        if len(bindings_of(bindings, part)) != count_of(bindings, part):
            _count(bindings, part, found)
            continue
        for index, binding in enumerate(bindings_of(bindings, part)):
            _type(bindings, part, index, binding, found)
            for slot in slots(bindings, part, index, binding):
                _presence(bindings, slot, found)
                if slot.range is not None:
                    _range(bindings, slot, found)
                    bound.append(slot)
    for slot in bound:
        for other in bound if slot.part in ("Outputs", "Temporary") else ():
            if other.part != "Temporary" and (other.part != slot.part or other.index < slot.index):
                _hazard(bindings, slot, other, found)
    return found


# A part by itself.


def _count(bindings: Bindings, part: Part, found: list[Violation]) -> None:
    """Reports a wrong number of bindings; an initializer that reads or writes nothing needs none."""
    count, needed = len(bindings_of(bindings, part)), count_of(bindings, part)
    if bindings.phase == "execute":
        name, kind = bindings.targets[0].name, part.lower()
        found.append(violation("count", part, value=count, choices=needed, operator=name, kind=kind))
    elif count or _is_needed(bindings, part):
        rule = "init-count" if part == "Inputs" else "init-outputs"
        found.append(violation(rule, part, value=count, choices=needed))


def _is_needed(bindings: Bindings, part: Part) -> bool:
    """Whether an initializer reads something, or writes a persistent resource."""
    if part == "Outputs":
        return any(target.persistent_size for target in bindings.targets)
    return any(one.is_owned for target in bindings.targets for one in target.requirements.inputs)


def _type(bindings: Bindings, part: Part, index: int, binding: Binding, found: list[Violation]) -> None:
    """Checks the type of a binding, and the length of its array."""
    if binding is None:
        return
    path = f"{part}[{index}]" if part in ("Inputs", "Outputs") else part
    own, needed = "BUFFER" if isinstance(binding, Range) else "BUFFER_ARRAY", "BUFFER"
    if is_array(bindings, part):
        needed = "BUFFER_ARRAY"
    if own != needed:
        found.append(violation("type", f"{path}.Type", value=own, choices=f"{needed} or NONE"))
    elif not isinstance(binding, Range) and binding:
        target = bindings.targets[index]
        count = len(target.requirements.inputs)
        if len(binding) != count:
            found.append(
                violation("init-array", path, value=len(binding), choices=count, operator=target.name)
            )


def _presence(bindings: Bindings, slot: Slot, found: list[Violation]) -> None:
    """Checks whether something is bound where it must be, and nowhere else."""
    is_bound, needed, size = slot.range is not None, slot.requirement, slot.required_size
    name = "" if slot.target is None else slot.target.name
    rule, shown = "", dict[str, object](label=slot.label, operator=name)
    if slot.role == "temporary":
        shown["choices"] = size
        if is_bound != (size > 0):
            rule = "temporary-unneeded" if is_bound else "temporary-required"
    elif needed is None:
        shown["choices"] = size
        if not is_bound and size:
            rule = "persistent-required"
        elif is_bound and not size and slot.part == "Outputs":
            rule = "persistent-unneeded"
    elif bindings.phase == "initialize":
        if is_bound != needed.is_owned:
            rule, shown["reason"] = "owned-init", "not bound, but it is OWNED_BY_DML"
            if is_bound:
                shown["reason"] = "bound, but it is not OWNED_BY_DML"
    elif not is_bound:
        rule = "required" if needed.is_present and not needed.is_owned else ""
    elif needed.is_owned:
        rule = "owned"
    elif not needed.is_present and slot.target is not None and not slot.target.is_graph:
        rule = "unused"
    if rule:
        found.append(violation(rule, slot.path, **shown))


def _range(bindings: Bindings, slot: Slot, found: list[Violation]) -> None:
    """Checks a range by itself."""
    given, path = slot.given, f"{slot.path}.Buffer"
    if given.dimension not in (None, "BUFFER"):
        found.append(violation("buffer-dimension", path, value=given.dimension, choices="BUFFER"))
    is_owned = slot.requirement is not None and slot.requirement.is_owned
    is_initialized = is_owned and bindings.phase == "initialize"
    heaps = _FACTS["owned_heaps" if is_initialized else "bound_heaps"]
    if given.heap is not None and given.heap not in heaps:
        choices = " or ".join((", ".join(heaps[:-1]), heaps[-1]))
        found.append(violation("heap", path, value=given.heap, choices=choices))
    if not slot.is_within:
        shown = {"value": given.offset, "count": given.size, "choices": slot.end_of_buffer}
        found.append(violation("bounds", f"{slot.path}.Offset", **shown))
        return
    check_range(slot, found)
    first = bindings.initialized
    if slot.part != "Persistent" or slot.target is None or first is None:
        return
    if (given.buffer, given.offset) != (first.buffer, first.offset):
        found.append(violation("persistent-same", slot.path, operator=slot.target.name))


# Pairs of ranges.


def _hazard(bindings: Bindings, slot: Slot, other: Slot, found: list[Violation]) -> None:
    """Checks what is written to a slot against another one."""
    one, two = slot.given, other.given
    rule, reason = "", ""
    if bindings.phase == "initialize" and (slot.part, other.part) == ("Outputs", "Inputs"):
        rule = "hazard-init" if one.buffer == two.buffer else ""
    elif not slot.is_within or not other.is_within:
        return
    elif (slot.part, other.part) == ("Outputs", "Outputs"):
        if _intersect(one, slot.required_size, two, other.required_size):
            rule = "outputs-disjoint"
    elif _intersect(one, one.size, two, two.size):
        rule, reason = _shared(slot, other)
    if rule:
        shown = {"label": slot.label, "other": other.label, "reason": reason}
        found.append(violation(rule, slot.path, **shown))


def _shared(slot: Slot, other: Slot) -> tuple[str, str]:
    """The rule that is broken by ranges that have bytes in common, and why; "" for none."""
    if slot.part == "Temporary":
        return "hazard-temporary", ""
    if other.part == "Persistent":
        return "hazard-persistent", ""
    one, two, target, read = slot.given, other.given, slot.target, other.requirement
    assert target is not None and read is not None
    if (one.offset, one.size) != (two.offset, two.size):
        return "hazard-in-place", "but their ranges differ"
    if target.is_graph:
        return "hazard-graph", ""
    if not read.in_place:
        return "hazard-in-place", f"and {target.name} cannot write to it in place"
    return ("", "") if slot.index in read.alike else ("in-place-layout", "")


def _intersect(one: Range, one_size: int, other: Range, other_size: int) -> bool:
    """Whether the first bytes of two ranges have one in common."""
    if one.buffer != other.buffer or not one_size or not other_size:
        return False
    return one.offset < other.offset + other_size and other.offset < one.offset + one_size


def violation(rule: str, member: str, **shown: Any) -> Violation:
    """The violation of a rule without a condition, with the values that its message shows."""
    return filled(f"DML-BINDING-{rule}", {**shown, "member": member})
