"""`extends`: what a file takes from a shared part; the same for operators and counterparts.

A file extends what the shared part lists item by item, and replaces everything else:

- the lists `rules`, `default_outputs`, `data_constraints`, `examples` and `errata`: the shared items first
- names, `let`: those of both, its own first, since shared ones are written in terms of them; its own replace
shared ones of the same name
- `compute`: its keys, each in the same way
- every other key replaces the shared one

Replacing something by an equal value is an error: it would be left behind when the shared part changes.
"""

from __future__ import annotations

from dmlgen.diagnostics import fault
from dmlgen.source import Entry, Mapping, Sequence

_LISTS = ("rules", "default_outputs", "data_constraints", "examples", "errata")


def merged(shared: Mapping, own: Mapping) -> Mapping:
    """The file's own mapping merged with the shared one. SpecError if it repeats something."""
    entries = {entry.name: entry for entry in shared.entries}
    for entry in own.entries:
        match shared.get(entry.name), entry.value:
            case Sequence() as first, Sequence() as second if entry.name in _LISTS:
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
    """Raises SpecError if an entry repeats what the shared mapping has."""
    first = shared.get(entry.name)
    if first is not None and first.plain() == entry.value.plain():
        message = f"{entry.name} is the same at {first.position}, which `extends` takes over; leave it out"
        raise fault(entry.key.position, "repeated", message)
