"""What changed in meaning between two registries: operators, members, rules, tables, enumerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlgen.registry import Operator, Registry, Rule, Support


def differences(old: Registry, new: Registry) -> Iterator[str]:
    """One line a change, `+` for what is new, `-` for what is gone, `~` for what is different."""
    yield from _levels_and_enums(old, new)
    before, after = (_rules(registry.operator_rules + registry.tensor.rules) for registry in (old, new))
    yield from _named("rule", before, after)
    yield from _named("operator", dict.fromkeys(old.operator, 0), dict.fromkeys(new.operator, 0))
    for name, operator in new.operator.items():
        if name in old.operator:
            yield from (f"{line[0]} {name} {line[2:]}" for line in _operator(old.operator[name], operator))


def _levels_and_enums(old: Registry, new: Registry) -> Iterator[str]:
    yield from _named("feature level", old.level, new.level)
    before, after = (
        {f"{enum.name}.{entry.name}": entry for enum in registry.enums.values() for entry in enum.entries}
        for registry in (old, new)
    )
    yield from _named("value", before, after)


def _operator(old: Operator, new: Operator) -> Iterator[str]:
    names = ("value", "since", "struct_since", "alias")
    for fact in (*names, "in_place", "fused_into", "members", "compute", "defines"):
        if getattr(old, fact) != getattr(new, fact):
            yield f"~ {fact}"
    yield from _named("rule", _rules(old.rules), _rules(new.rules))
    for level in sorted(old.support.keys() | new.support.keys()):
        before, after = _cells(old.support.get(level, ())), _cells(new.support.get(level, ()))
        yield from (f"- at {level}: {cell}" for cell in sorted(before - after))
        yield from (f"+ at {level}: {cell}" for cell in sorted(after - before))


def _named(kind: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    yield from (f"- {kind} {name}" for name in old if name not in new)
    yield from (f"+ {kind} {name}" for name in new if name not in old)
    yield from (f"~ {kind} {name}" for name in new if name in old and old[name] != new[name])


def _rules(rules: tuple[Rule, ...]) -> dict[str, str]:
    return {rule.id: repr(rule) for rule in rules}


def _cells(rows: tuple[Support, ...]) -> set[str]:
    """Every fact of a table by itself: a tensor with a dimension count, a tensor with a data type."""
    cells = set()
    for row in rows:
        cells |= {f"{row.tensor} has {rank} dimensions" for rank in row.ranks}
        cells |= {f"{row.tensor} is {type_}" for type_ in row.types}
    return cells
