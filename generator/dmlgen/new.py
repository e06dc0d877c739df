"""Starts the spec of a new operator: what is known of it, and placeholders for the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from dmlgen.decode import decode
from dmlgen.diagnostics import (
    Position,
    SpecError,
    UsageError,
    nearest,
    operator_name,
    shown,
    unknown_operator,
)
from dmlgen.names import clashes
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from dmlgen.registry import Operator, Registry
from dmlgen.shape import Record
from dmlgen.source import Entry, Mapping, Scalar
from dmlgen.text import NO_TEXT
from dmlgen.written import UpperName

# What is not copied from a similar operator: its own facts, and what its page says.
_OWN = {"operator", "value", "since", "struct_since", "alias", "summary", "page"}
_OWN |= {"data_constraints", "examples", "errata"}


@dataclass(frozen=True, kw_only=True)
class _Name(Record):
    operator: UpperName


def new_operator(
    registry: Registry, specs: Path, name: str, family: str | None, like: str | None
) -> tuple[Path, str]:
    """Writes the spec of a new operator; returns the path, and the reason for its folder.

    Members are taken from the operator that it is `like`. Raises UsageError, without writing anything, if the
    name or the family cannot be used.
    """
    name = _free_name(registry, name)
    model = None if like is None else _known(registry, like)
    family, why = _family(registry, specs, name, family, model)
    operator = _draft(registry, name, family, model)
    for finding in clashes(replace(registry, operators=(*registry.operators, operator))):
        if finding.position == operator.position:
            raise UsageError(finding.message)
    path = specs / "operators" / family / f"{operator.slug}.yaml"
    text = Templates(TEMPLATES).text(
        "spec/operator.yaml.j2",
        operator=operator,
        like=like,
        copied="" if model is None else _taken_over(Path(model.position.file)),
    )
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return path, why


def _free_name(registry: Registry, given: str) -> str:
    name = operator_name(given)
    position = Position("OPERATOR")
    entry = Entry(Scalar(position, "operator", "operator"), Scalar(position, name, name))
    try:
        decode(_Name, Mapping(position, (entry,)))
    except SpecError as error:
        message = f"{shown(given)} cannot name an operator: {error.findings[0].message}"
        raise UsageError(message) from None
    for operator in registry.operators:
        if name in (operator.name, operator.alias):
            raise UsageError(f"there is an operator {name}: {operator.position}")
    return name


def _known(registry: Registry, given: str) -> Operator:
    name = operator_name(given)
    if name not in registry.operator:
        raise UsageError(unknown_operator(name, registry.operator))
    return registry.operator[name]


def _family(
    registry: Registry, specs: Path, name: str, given: str | None, model: Operator | None
) -> tuple[str, str]:
    """The family, and the reason for it."""
    families = sorted(path.name for path in (specs / "operators").iterdir() if path.is_dir())
    if given is not None:
        if given not in families:
            close = nearest(given, families)
            which = f"did you mean {close}?" if close else f"there are {', '.join(families)}"
            raise UsageError(f"there is no family {shown(given)}; {which}")
        return given, "as requested"
    other = model or _relative(registry, name)
    if other is None:
        raise UsageError(f"no name resembles {name}; say its --family: {', '.join(families)}")
    return other.family, f"beside {other.name}; --family selects another folder"


def _taken_over(path: Path) -> str:
    """The entries of another spec, as written there with the comments above them, without its own facts."""
    chosen: list[str] = []
    above: list[str] = []
    keep = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if key := re.match(r"([a-z_]+):", line):
            keep = key[1] not in _OWN
            chosen += above if keep else []
            above = []
        if not line.strip() or line.startswith("#"):
            above.append(line)
        elif keep:
            chosen += [*above, line]
            above = []
        else:
            above = []
    return "\n".join(chosen).strip()


def _relative(registry: Registry, name: str) -> Operator | None:
    """The operator with the most leading words in common, otherwise the one with the nearest name."""

    def shared(other: str) -> int:
        both = zip(_words(name), _words(other), strict=False)
        return len(list(takewhile(lambda pair: pair[0] == pair[1], both)))

    best = max(registry.operator, key=lambda other: (shared(other), -len(other)), default=None)
    if best is not None and shared(best) == 0:
        best = nearest(name, registry.operator)
    return None if best is None else registry.operator[best]


def _words(name: str) -> list[str]:
    return [re.sub(r"\d+$", "", word) for word in name.split("_")]


def _draft(registry: Registry, name: str, family: str, model: Operator | None) -> Operator:
    """The operator, with all that is known of it."""
    since = model.since if model else registry.levels[-1]
    value = max((operator.value for operator in registry.operators), default=0) + 1
    position = Position(name)
    return Operator(
        name=name,
        alias="",
        family=family,
        value=value,
        since=since,
        struct_since=since,
        summary=NO_TEXT,
        page="",
        in_place=(),
        fusible_into={},
        integer_operators=(),
        members=tuple(replace(member, position=position) for member in (model.members if model else ())),
        defaults={},
        unconstrained=(),
        definitions=(),
        rules=(),
        inferences=(),
        support={},
        defines=None,
        algorithm=None,
        examples=(),
        data_constraints=(),
        errata=(),
        position=position,
        places={},
    )
