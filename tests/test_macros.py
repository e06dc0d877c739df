"""Macros of shaders: what planners define, what docs/MACROS.md declares, and what the text uses are the same.

Compilers take an undefined name in a condition as 0; a macro that nothing uses only makes variants differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dmlgen.cli import ROOT
from dmlops import gpu
from dmlops.gpu.plans.capabilities import FASTER, NO_CAPABILITIES
from dmlops.gpu.preprocessing import uses
from dmlops.gpu.work import Work
from matrix_cases import OPERATORS, cases, described
from random_shapes import drawn
from shader_branches import covering

DECLARED = {
    section.partition("\n")[0]: set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", section, re.MULTILINE))
    for section in (ROOT / "docs/MACROS.md").read_text(encoding="utf-8").split("\n## ")[1:]
}
"""The macros in the sections of that page."""

# What is the same for all dispatches of a description, whichever of it they use: types of tensors, and lists
OF_DESCRIPTIONS = re.compile(r"(?!(KEPT|REDUCED|UPDATES)_RANK)\w+_(TYPE|RANK|LENGTH|BOUND|ROW|SINGLE)")


class Found(NamedTuple):
    """The macros of a pass of an operator's shader, in all its variants."""

    defined: set[str]
    shared: set[str]  # by all dispatches of a plan, of which others may use them
    used: set[str]
    undefined: set[str]


def sections(operator: str) -> list[str]:
    """The sections that the head of an operator's shader names."""
    found = re.search(r"^// Macros, .*: docs/MACROS\.md(.*)\.$", gpu.shader(operator), re.MULTILINE)
    assert found is not None
    return ["all", *found[1].split(", ")[1:]]


def works() -> Iterator[tuple[str, Work]]:
    """Plans that together take nearly all branches: see test_shader_branches.py."""
    descs = [described(case) for operator in OPERATORS for case in cases(operator)]
    descs += [drawn(family, seed).desc for family, seed in covering()]
    for desc in descs:
        for capabilities in (NO_CAPABILITIES, FASTER):
            yield desc.OPERATOR, gpu.plan(desc, capabilities)


@cache
def found() -> dict[tuple[str, object], Found]:
    passes: dict[tuple[str, object], Found] = defaultdict(lambda: Found(set(), set(), set(), set()))
    known = set()
    for owner, work in works():
        for one in work.dispatches:
            operator = one.shader or owner
            variant = (operator, tuple(one.defines.items()))
            if variant in known:
                continue
            known.add(variant)
            into = passes[operator, one.defines.get("PASS")]
            decided = uses(gpu.shader(operator), one.defines)
            into.defined.update(one.defines)
            into.used.update(decided.used)
            into.undefined.update(decided.undefined)
            others = [other for other in work.dispatches if other is not one and other.shader == one.shader]
            into.shared.update(
                name
                for name, value in one.defines.items()
                if any(other.defines.get(name) == value for other in others)
            )
    return dict(passes)


def test_no_condition_has_a_name_that_stands_for_nothing() -> None:
    assert {place: one.undefined for place, one in found().items() if one.undefined} == {}


def test_every_macro_is_used() -> None:
    """By the pass it is defined for; by one of its shader, if several dispatches share it."""
    by_operator: dict[str, set[str]] = defaultdict(set)
    for (operator, _), one in found().items():
        by_operator[operator] |= one.used
    unused = {
        (*place, name)
        for place, one in found().items()
        for name in one.defined - one.used
        if not OF_DESCRIPTIONS.fullmatch(name) and not (name in one.shared and name in by_operator[place[0]])
    }
    assert unused == set()


def test_every_macro_is_declared() -> None:
    """In a section that the shader's head names, by its name or, where X represents others, by its end."""
    missing = {}
    for place, one in found().items():
        declared = set().union(*(DECLARED[section] for section in sections(place[0])))
        ends = tuple(name[1:] for name in declared if name.startswith("X_"))
        missing[place] = {name for name in one.defined - declared if not name.endswith(ends)}
    assert {place: names for place, names in missing.items() if names} == {}


def test_every_declared_macro_is_used() -> None:
    """By a shader whose head names its section."""
    words: dict[str, set[str]] = {section: set() for section in DECLARED}
    for operator in map(str.upper, OPERATORS):
        for section in sections(operator):
            words[section].update(re.findall(r"\w+", gpu.shader(operator).partition("\n\n")[2]))
    for section, declared in DECLARED.items():
        for name in declared:
            used = words[section]
            is_used = any(word.endswith(name[1:]) for word in used) if name.startswith("X_") else name in used
            assert is_used, (section, name)
