"""The page of the definition language, with the tables that its parser uses."""

from __future__ import annotations

from dmlgen.catalogue import ALGORITHMS, KINDS
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, PRELUDE
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The page, by path below generated/."""
    page = templates.render(
        "docs/definitions.md.j2",
        count=sum(operator.defines is not None for operator in registry.operators),
        folds=FOLDS,
        places={name: meaning for name, (_, _, meaning) in PLACES.items()},
        numbers=NUMBERS,
        prelude=PRELUDE,
        algorithms=ALGORITHMS,
        kinds=KINDS,
    )
    return {"definitions.md": page}
