"""The page of the language of rules and definitions, with the tables that its parsers use."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.catalog import ALGORITHMS, KINDS
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES
from dmlgen.expr.functions import FUNCTIONS, PRELUDE, SHORTHANDS, Shorthand
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry


def tables() -> dict[str, object]:
    """The functions of the language with their parameters and meanings, and what shorthands stand for."""
    return {
        "functions": {
            f"{name}({', '.join(' or '.join(map(str, types)) for types in one.arguments)})": one.meaning
            for name, one in FUNCTIONS.items()
        },
        "shorthands": _written(SHORTHANDS),
        "folds": FOLDS,
        "places": {name: meaning for name, (_, _, meaning) in PLACES.items()},
        "numbers": {f"{name}({parameters})": meaning for name, (parameters, meaning) in NUMBERS.items()},
        "prelude": _written(PRELUDE),
    }


def _written(shorthands: Mapping[str, Shorthand]) -> list[tuple[str, str, str]]:
    return [
        (f"{name}({', '.join(one.parameters)})", one.meaning, one.text) for name, one in shorthands.items()
    ]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The page, by path below generated/."""
    page = templates.render(
        "docs/definitions.md.j2",
        count=sum(operator.defines is not None for operator in registry.operators),
        only_of_rules=[f"`{name}`" for name, one in FUNCTIONS.items() if one.only_of_rules],
        algorithms=ALGORITHMS,
        kinds=KINDS,
        **tables(),
    )
    return {"definitions.md": page}
