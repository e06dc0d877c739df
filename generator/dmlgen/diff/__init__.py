"""Semantic changes between two registries: whom they break, and their positions on both sides.

Changes are found on the resolved registries, so comments, the order of keys, names in a `let` and sharing
between files do not matter, and a change in a shared file is a change of every operator that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlgen.diff.change import Change
from dmlgen.diff.counterparts import counterpart_changes
from dmlgen.diff.general import general_changes, renamed_values
from dmlgen.diff.meaning import Meaning
from dmlgen.diff.operators import operator_changes
from dmlgen.diff.places import Places, Sides
from dmlgen.diff.rules import Rules, identifier_changes, rule_changes
from dmlgen.inputs import spec_digest
from dmlgen.revisions import Specs


def differences(old: Specs, new: Specs) -> Iterator[Change]:
    """Every change, general ones first, then operators by value.

    Raises SpecError or RevisionError if a side has faults; if both sides have the same files, there are no
    changes.
    """
    if spec_digest(old.folder) == spec_digest(new.folder):
        return
    sides, was, now = Sides(Places(old), Places(new)), old.registry, new.registry
    values = renamed_values(was, now)
    yield from general_changes(sides, values)
    yield from identifier_changes(sides)
    for rules, new_rules in (
        (was.operator_rules, now.operator_rules),
        (was.tensor.rules, now.tensor.rules),
        (was.graphs.rules, now.graphs.rules),
        (was.bindings.rules, now.bindings.rules),
        (tuple(one.rule for one in was.calls), tuple(one.rule for one in now.calls)),
    ):
        yield from rule_changes(sides, Rules(rules, Meaning(values)), Rules(new_rules, Meaning({})))
    yield from operator_changes(sides, values)
    yield from counterpart_changes(sides)
