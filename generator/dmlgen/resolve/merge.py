"""`like`: what a file takes over from a shared part, said once for operators and counterparts.

A file adds to what the shared part states one by one, and replaces what that describes as a whole:

- lists of statements, `rules`, `infers`, `data`, `examples` and `errata`: the shared ones, then its own
- names, `let`: those of both, its own first, as shared ones are written in terms of them; its own replace
  shared ones of the same name
- `compute`: its keys, each in the same way
- every other key replaces the shared one

What would replace something by the same is a fault: it would stay behind when the shared part changes.
"""

from __future__ import annotations

from dmlgen.resolve.faults import fault
from dmlgen.source import Entry, Mapping, Sequence

_STATED = ("rules", "infers", "data", "examples", "errata")


def merged(shared: Mapping, own: Mapping) -> Mapping:
    """The file's own mapping with what the shared one says besides. SpecError where it repeats that."""
    entries = {entry.name: entry for entry in shared.entries}
    for entry in own.entries:
        match shared.get(entry.name), entry.value:
            case Sequence() as first, Sequence() as second if entry.name in _STATED:
                value = Sequence(second.position, (*first.items, *second.items))
                entries[entry.name] = Entry(entry.key, value)
            case Mapping() as first, Mapping() as second if entry.name == "let":
                both = {one.name: one for one in second.entries}
                both |= {one.name: one for one in first.entries if one.name not in both}
                for one in second.entries:
                    _differs(first, one)
                entries[entry.name] = Entry(entry.key, Mapping(second.position, tuple(both.values())))
            case Mapping() as first, Mapping() as second if entry.name == "compute":
                entries[entry.name] = Entry(entry.key, merged(first, second))
            case _:
                _differs(shared, entry)
                entries[entry.name] = entry
    return Mapping(own.position, tuple(entries.values()))


def _differs(shared: Mapping, entry: Entry) -> None:
    """Raises SpecError where an entry is what the shared mapping has anyway."""
    first = shared.get(entry.name)
    if first is not None and first.plain() == entry.value.plain():
        message = f"{entry.name} is the same at {first.position}, which `like` takes over; leave it out"
        raise fault(entry.key.position, "repeated", message)
