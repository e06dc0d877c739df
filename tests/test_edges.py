"""What is just valid, and what is just not: cases worked out by hand from the pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from dmlops import Size2d, TensorDesc
from dmlops.description import Description
from dmlops.registry import OPERATORS, operator
from facts_data import FOLDER

KNOWN = {"-": None, "true": True, "false": False}
LEFT_OUT = {"FLOAT": 1.0, "BOOL": False}  # the value of a member that no case depends on, by type


class Edge(NamedTuple):
    """A valid description, what is changed of it, and the verdict."""

    name: str
    members: str
    verdict: str  # valid, refused or advised, and @ with a level
    changes: str


def edges() -> Iterator[Edge]:
    for line in (FOLDER / "edges.txt").read_text(encoding="utf-8").splitlines():
        first, _, rest = line.strip().partition(" ")
        if first in OPERATORS:
            name, members = first, rest
            yield Edge(name, members, "valid", "")
        elif line and not line.startswith("#"):
            for changes in rest.split(" | "):
                yield Edge(name, members, first, changes)


EDGES = [*edges()]


def read(text: str) -> Any:
    """A member's value, as the head of edges.txt says."""
    if text.startswith("("):
        return [read(one) for one in text[1:-1].split(",") if one]
    if text.startswith("["):
        items = text[1:-1].split(",")
        return [operator(f"ACTIVATION_{one}")() if one.isupper() else read(one) for one in items]
    sizes, _, type_ = text.partition(":")
    if "x" in text or type_:
        flags = 1 if type_ == "OWNED" else 0
        numbers = [int(one) for one in sizes.split("x")]
        return TensorDesc("FLOAT32" if flags or not type_ else type_, numbers, Flags=flags)
    if "/" in text:
        height, width = map(int, text.split("/"))
        return Size2d(Width=width, Height=height)
    if text in KNOWN or text[0].isupper():
        return KNOWN.get(text, text)
    return float(text) if "." in text else int(text)


def values(text: str) -> dict[str, Any]:
    return {name: read(value) for name, value in (one.split("=") for one in text.split())}


def described(edge: Edge) -> Description:
    """The description; what counts entries of arrays follows from them."""
    type_, members = operator(edge.name), values(f"{edge.members} {edge.changes}")
    for member in type_.MEMBERS:
        if member.count and members.get(member.name) is not None:
            members.setdefault(member.count, len(members[member.name]))
        elif member.name not in members and member.type in LEFT_OUT:
            members[member.name] = LEFT_OUT[member.type]
    return type_(**members)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: f"{edge.name}-{edge.verdict}-{edge.changes}")
def test_an_edge(edge: Edge) -> None:
    """What is valid is also what follows if its outputs are left out, where they follow."""
    desc = described(edge)
    verdict, _, level = edge.verdict.partition("@")
    broken = desc.validate(level or "6.4")
    assert bool(broken) == (verdict == "refused"), broken
    if not broken:
        assert bool(desc.advice(level or "6.4")) == (verdict == "advised")
    if edge.verdict == "valid":
        assert desc.infer() == desc
