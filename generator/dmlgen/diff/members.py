"""Changes of the members of an operator or a struct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlgen.diff.change import Change
from dmlgen.diff.places import Sides
from dmlgen.registry import Member


def renamed_members(old: tuple[Member, ...], new: tuple[Member, ...]) -> dict[str, str]:
    """New names of members: at the position of one that is gone is a new one of the same kind."""
    before, after = ({member.name for member in members} for members in (old, new))
    return {
        was.name: now.name
        for was, now in zip(old, new, strict=False)
        if was.name not in after and now.name not in before and _kind(was) == _kind(now)
    }


def member_changes(
    sides: Sides, owner: str, was: tuple[Member, ...], now: tuple[Member, ...]
) -> Iterator[Change]:
    """Changes of the members of an operator or a struct that both sides have."""
    renamed = renamed_members(was, now)
    before = {renamed.get(member.name, member.name): member for member in was}
    after = {member.name: member for member in now}
    for name, member in before.items():
        if name not in after:
            at = sides.shown(member.position, None)
            yield Change("member-removed", f"{owner}.{name}", f"{owner} has no member {name} any more", at)
        elif member.name != name:
            at, names = sides.shown(member.position, after[name].position), (member.name, name)
            text = f"{owner}.{member.name} is called {name}"
            yield Change("member-renamed", f"{owner}.{name}", text, at, names)
    for name, member in after.items():
        if name in before:
            yield from _member(sides, f"{owner}.{name}", before[name], member, renamed)
        else:
            at = sides.shown(None, member.position)
            yield Change("member-added", f"{owner}.{name}", f"{owner} has a new member {name}", at)
    order, new_order = (
        [name for name in names if name in before and name in after] for names in (before, after)
    )
    if order != new_order:
        first = next(name for name, other in zip(order, new_order, strict=True) if name != other)
        text = f"members of {owner} have another order, from {first} on"
        at = sides.shown(before[first].position, after[first].position)
        yield Change("member-order", owner, text, at, (", ".join(order), ", ".join(new_order)))


def _member(
    sides: Sides, subject: str, was: Member, now: Member, renamed: Mapping[str, str]
) -> Iterator[Change]:
    at = sides.shown(was.position, now.position)
    count, typed_by = (renamed.get(name or "", name) for name in (was.count, was.typed_by))
    if was.type != now.type:
        yield Change("member-type", subject, f"{subject} has another type", at, (was.type, now.type))
    elif was.role != now.role:
        yield Change("member-role", subject, f"{subject} is an {now.role}", at, (was.role, now.role))
    elif (count, was.pointer, was.length) != (now.count, now.pointer, now.length):
        texts = _stored(was), _stored(now)
        yield Change("member-array", subject, f"{subject} is stored otherwise", at, texts)
    elif typed_by != now.typed_by:
        text, texts = f"another member types the union {subject}", (str(was.typed_by), str(now.typed_by))
        yield Change("member-type", subject, text, at, texts)
    if now.optional and not was.optional:
        yield Change("member-optional", subject, f"{subject} may be left out", at)
    if was.optional and not now.optional:
        yield Change("member-required", subject, f"{subject} is required", at)
    if was.summary != now.summary:
        text, texts = f"the summary of {subject} reads otherwise", (was.summary.plain, now.summary.plain)
        yield Change("summary-changed", subject, text, at, texts)


def _kind(member: Member) -> tuple[object, ...]:
    return member.type, member.role, member.pointer, member.length, member.count is None


def _stored(member: Member) -> str:
    if member.count is not None:
        return f"an array of {member.count} entries"
    if member.length is not None:
        return f"{member.length} entries in the struct itself"
    return "a pointer" if member.pointer else "in the struct itself"
