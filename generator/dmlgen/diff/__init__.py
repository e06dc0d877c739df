"""Semantic changes between two registries: whom they break, and their positions on both sides.

Changes are found on the resolved registries, so comments, the order of keys, names in a `let` and sharing
between files do not matter, and a change in a shared file is a change of every operator that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dmlgen.diff.change import Change
from dmlgen.diff.walk import Walk
from dmlgen.inputs import spec_digest
from dmlgen.revisions import Specs


def differences(old: Specs, new: Specs) -> Iterator[Change]:
    """Every change, general ones first, then operators by value.

    Raises SpecError or RevisionError if a side has errors; if both sides have the same files, there are no
    changes.
    """
    if spec_digest(old.folder) == spec_digest(new.folder):
        return
    folders = old.folder.as_posix(), new.folder.as_posix()
    for change in Walk(old.registry, new.registry, folders).changes():
        yield replace(change, at=(change.old and old.place(change.old), change.new and new.place(change.new)))
