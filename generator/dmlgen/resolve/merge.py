"""`like`: what a file takes over from a shared part, said once for operators and counterparts.

What the file says itself holds, key by key. Only these are taken together, where both say them:

- lists of statements, `rules`, `infers`, `data`, `examples` and `errata`: the shared ones come first
- `let`: the entries of both, the file's own first, as shared ones are written in terms of them
- `compute`: its keys in the same way
"""

from __future__ import annotations

from dmlgen.source import Entry, Mapping, Sequence

_CONTINUED = ("rules", "infers", "data", "examples", "errata")


def merged(shared: Mapping, own: Mapping) -> Mapping:
    """The file's own mapping with what the shared one says besides."""
    entries = {entry.name: entry for entry in (*shared.entries, *own.entries)}
    for name, entry in entries.items():
        match shared.get(name), own.get(name):
            case Sequence() as first, Sequence() as second if name in _CONTINUED:
                value = Sequence(second.position, (*first.items, *second.items))
                entries[name] = Entry(entry.key, value)
            case Mapping() as first, Mapping() as second if name == "let":
                both = {one.name: one for one in (*second.entries, *first.entries)}
                both |= {one.name: one for one in second.entries}
                entries[name] = Entry(entry.key, Mapping(second.position, tuple(both.values())))
            case Mapping() as first, Mapping() as second if name == "compute":
                entries[name] = Entry(entry.key, merged(first, second))
    return Mapping(own.position, tuple(entries.values()))
