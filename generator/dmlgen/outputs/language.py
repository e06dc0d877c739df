"""The page of the language of rules and definitions, with the tables that its parsers use."""

from __future__ import annotations

from dmlgen.catalog import ALGORITHMS, KINDS
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, PRELUDE
from dmlgen.expr.functions import FUNCTIONS, SHORTHANDS
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry


def rule_functions() -> dict[str, str]:
    """The functions of rules with their parameters and meanings."""
    return {
        f"{name}({', '.join(' or '.join(map(str, types)) for types in one.arguments)})": one.meaning
        for name, one in FUNCTIONS.items()
    }


def shorthands() -> list[tuple[str, str, str]]:
    """The shorthands with their parameters, meanings and expansions."""
    return [
        (f"{name}({', '.join(one.parameters)})", one.meaning, one.text) for name, one in SHORTHANDS.items()
    ]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The page, by path below generated/."""
    page = templates.render(
        "docs/definitions.md.j2",
        count=sum(operator.defines is not None for operator in registry.operators),
        functions=rule_functions(),
        only_of_rules=[f"`{name}`" for name, one in FUNCTIONS.items() if one.only_of_rules],
        shorthands=shorthands(),
        folds=FOLDS,
        places={name: meaning for name, (_, _, meaning) in PLACES.items()},
        numbers=NUMBERS,
        prelude=PRELUDE,
        algorithms=ALGORITHMS,
        kinds=KINDS,
    )
    return {"definitions.md": page}
