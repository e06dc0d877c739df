"""Implications between conditions: whatever the forms are said to prove holds for every value."""

from __future__ import annotations

import random
from itertools import product

import pytest

from dmlgen.diagnostics import Position
from dmlgen.diff.meaning import Meaning, strength
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope, parse

NAMES = ("X", "Y")
VALUES = range(-1, 5)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def relation(old: str, new: str) -> str:
    scope = Scope({name: ir.Member(name, ir.INT, signed=True) for name in NAMES}, {}, {}, {})
    claims = (
        Meaning({}).claim(parse(text, scope, lambda _: Position("test"), ir.BOOL)) for text in (old, new)
    )
    return strength(*claims)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("X < 5", "X <= 4", "same"),
        ("X < Y", "Y > X", "same"),
        ("not (X < 3 or Y < 3)", "X >= 3 and Y >= 3", "same"),
        ("X < Y", "X <= Y", "looser"),
        ("X <= 65535", "X <= 1000", "stricter"),
        ("X >= 2", "X >= 2 and Y == 1", "stricter"),
        ("X >= 2", "X >= 2 or Y == 1", "looser"),
        ("X in (1, 2)", "X in (1, 2, 3)", "looser"),
        ("X not in (1, 2)", "X not in (1, 2, 3)", "stricter"),
        ("X == 1", "X <= 1", "looser"),
        ("X < 3", "X != 3", "looser"),
        ("X < 3", "Y < 3", "other"),
        ("X < 3", "X > 3", "other"),
        ("all(X < i for i in range(4))", "all(X < i for i in range(4) if i != Y)", "looser"),
        ("any(X < i for i in range(4))", "any(X < k for k in range(4) if k != Y)", "stricter"),
        ("all(X < i for i in range(4))", "all(X <= j for j in range(4))", "looser"),
    ],
)
def test_the_form_shows_what_is_stricter(old: str, new: str, expected: str) -> None:
    assert relation(old, new) == expected
    assert relation(new, old) == {"stricter": "looser", "looser": "stricter"}.get(expected, expected)


def condition(chance: random.Random, depth: int) -> str:
    """A condition on X and Y, in the words that the language shares with Python."""
    form = chance.randrange(7 if depth else 3)
    if form == 0:
        return f"X {chance.choice(COMPARISONS)} {chance.choice(['Y', '0', '1', '2', '3'])}"
    if form == 1:
        return f"{chance.randrange(4)} {chance.choice(COMPARISONS)} Y"
    if form == 2:
        listed = ", ".join(map(str, sorted(chance.sample(range(4), chance.randint(2, 3)))))
        return f"X {chance.choice(['in', 'not in'])} ({listed})"
    parts = [condition(chance, depth - 1) for _ in range(chance.randint(2, 3))]
    if form == 3:
        return f"not ({parts[0]})"
    if form == 4:
        kind, i = chance.choice(["all", "any"]), f"i{depth}"
        return f"{kind}({parts[0].replace('Y', i)} for {i} in range(3) if {parts[1].replace('X', i)})"
    return "(" + (" and " if form == 5 else " or ").join(dict.fromkeys(parts)) + ")"  # twice is a finding


def test_nothing_is_said_to_follow_that_does_not() -> None:
    chance, told = random.Random(11), 0
    for _ in range(1000):
        old, new = condition(chance, 2), condition(chance, 2)
        if old != new and chance.random() < 0.5:
            new = f"({old}) {chance.choice(['and', 'or'])} ({new})"
        found = relation(old, new)
        if found == "other":
            continue
        told += 1
        grid = [dict(zip(NAMES, values, strict=True)) for values in product(VALUES, VALUES)]
        codes = (compile(text, "test", "eval") for text in (old, new))
        holds = [[eval(code, {**values}) for values in grid] for code in codes]
        if found in ("stricter", "same"):
            assert all(one for one, other in zip(*holds, strict=True) if other), (old, new)
        if found in ("looser", "same"):
            assert all(other for one, other in zip(*holds, strict=True) if one), (old, new)
    assert told > 250
