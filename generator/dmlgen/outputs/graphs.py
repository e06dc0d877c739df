"""The cases of graphs and of bindings: examples of the specs, and for every rule one that breaks only it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry

_STEP = re.compile(r"([A-Za-z]\w*)|\[([0-9]+)\]")


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """One case a line, with the rule that it breaks or the advice that it draws."""
    del templates  # they are values, not texts
    return {
        f"matrix/{name}.jsonl": "".join(f"{json.dumps(case)}\n" for case in cases).encode()
        for name, cases in (("graphs", _graphs(registry)), ("bindings", _bindings(registry)))
    }


def _graphs(registry: Registry) -> Iterator[dict[str, Any]]:
    """Graphs, each at a level. The form is "abi" if only C structs can break the rule."""
    example = registry.graphs.example
    empty: dict[str, Any] = {"violations": [], "advice": []}
    yield {"id": "valid", "feature_level": registry.levels[-1].name, "form": "any", **empty, "graph": example}
    for one in registry.graphs.rules:
        level = (one.broken_at or registry.levels[-1]).name
        found = {"advice" if one.advice else "violations": [one.id]}
        known = {"id": one.slug, "feature_level": level, "form": one.applies_to}
        yield {**known, **empty, **found, "graph": _changed(example, one.broken, removes=True)}


def _bindings(registry: Registry) -> Iterator[dict[str, Any]]:
    examples = registry.bindings.examples
    empty: dict[str, Any] = {"violations": [], "advice": []}
    for phase, example in examples.items():
        yield {"id": f"valid-{phase}", **empty, "bindings": example}
    for one in registry.bindings.rules:
        found = {"advice" if one.advice else "violations": [one.id]}
        bindings = _changed(examples[one.phases[0]], one.broken, removes=False)
        yield {"id": one.slug, **empty, **found, "bindings": bindings}


def _changed(example: Mapping[str, Any], changes: Mapping[str, Any], removes: bool) -> dict[str, Any]:
    """The example with its changes: what stands at each path instead.

    An index past the end of an array adds an entry. None removes one if `removes`; otherwise it is a value.
    """
    whole: dict[str, Any] = copy.deepcopy(dict(example))
    for path, value in changes.items():
        *steps, last = [name or int(index) for name, index in _STEP.findall(path)]
        at: Any = whole
        for step in steps:
            at = at[step]
        if isinstance(at, dict):
            at[last] = value
        elif value is None and removes:
            del at[last]
        else:
            at[last : last + 1] = [value]
    return whole
