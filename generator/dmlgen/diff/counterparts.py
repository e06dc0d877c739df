"""Changes of counterparts in other interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlgen.diff.change import Change
from dmlgen.diff.meaning import Meaning
from dmlgen.diff.members import renamed_members
from dmlgen.diff.places import Sides
from dmlgen.registry import Counterpart, Counterparts, Registry, Signature

# The tables beside the operations: their place in the specs, and whether they affect which operators a model
# maps to.
_TABLES = {
    "activations": ("onnx", "changed"),
    "data_types": ("onnx", "changed"),
    "domains": ("onnx", "note"),
    "directmlx": ("directmlx", "changed"),
    "registrations": ("onnxruntime", "note"),
    "without": ("onnx", "note"),
    "sources": ("onnx", "note"),
}


def counterpart_changes(sides: Sides) -> Iterator[Change]:
    """Changes of operations, signature by signature, then of the tables beside them."""
    renamed = _renamed(sides.old.registry, sides.new.registry)
    was, now = sides.old.registry.counterparts, sides.new.registry.counterparts
    before, after = _signatures(was), _signatures(now)
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        at = sides.shown(
            one.position if one is not None else None, other.position if other is not None else None
        )
        had, has = (side is not None and _is_covered(side) for side in (one, other))
        if had and not has:
            yield Change("counterpart-removed", name, f"{name} has no operators any more", at)
        elif has and not had:
            yield Change("counterpart-added", name, f"{name} has operators", at)
        elif one is None or other is None:
            yield Change("counterpart-note", name, f"why {name} has no operators", at)
        elif _in_new_names(one, renamed) != repr(other):
            kind = "changed" if has else "note"
            yield Change(f"counterpart-{kind}", name, f"{name} comes down to operators otherwise", at)
    for table, (file, kind) in _TABLES.items():
        if getattr(was, table) != getattr(now, table):
            text = f"the table of {table.replace('_', ' ')} is another one"
            yield Change(f"counterpart-{kind}", table, text, sides.general(f"counterparts/{file}"))
    old_notes, new_notes = ({_name(one): one for one in side.operations} for side in (was, now))
    for name, operation in new_notes.items():
        first = old_notes.get(name, operation)
        if first.note != operation.note:
            at = sides.shown(first.signatures[0].position, operation.signatures[0].position)
            texts = first.note.plain, operation.note.plain
            yield Change("counterpart-note", name, f"the note on {name} reads otherwise", at, texts)


def _renamed(old: Registry, new: Registry) -> dict[str, dict[str, str]]:
    """New names of members, by operator."""
    return {
        name: renamed_members(operator.members, new.operator[name].members)
        for name, operator in old.operator.items()
        if name in new.operator
    }


def _signatures(counterparts: Counterparts) -> dict[str, Signature]:
    """All signatures by name and versions."""
    return {
        f"{_name(one)}, {_versions(signature)}" if one.interface == "onnx" else _name(one): signature
        for one in counterparts.operations
        for signature in one.signatures
    }


def _name(one: Counterpart) -> str:
    return f"{one.interface}:{one.domain + '.' if one.domain else ''}{one.name}"


def _versions(signature: Signature) -> str:
    last = "on" if signature.last is None else f"to {signature.last}"
    return f"from version {signature.first} {last}"


def _is_covered(signature: Signature) -> bool:
    """Whether anything computes it."""
    return bool(signature.forms or signature.expands or signature.host)


def _in_new_names(signature: Signature, renamed: Mapping[str, Mapping[str, str]]) -> str:
    names = {old: new for one in signature.operators for old, new in renamed.get(one, {}).items()}
    return Meaning(names).words(repr(signature))
