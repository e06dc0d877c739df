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
    newest = registry.levels[-1].name
    yield {"id": "valid", "feature_level": newest, "form": "any", **empty, "graph": example}
    for one in registry.graphs.broken:
        found = {"advice" if one.rule.advice else "violations": [one.rule.id]}
        known = {"id": one.rule.slug, "feature_level": one.level.name, "form": one.rule.applies_to}
        yield {**known, **empty, **found, "graph": _changed(example, one.changes, removes=True)}


def _bindings(registry: Registry) -> Iterator[dict[str, Any]]:
    examples = registry.bindings.examples
    empty: dict[str, Any] = {"violations": [], "advice": []}
    for phase, example in examples.items():
        yield {"id": f"valid-{phase}", **empty, "bindings": example}
    for one in registry.bindings.all:
        found = {"advice" if one.rule.advice else "violations": [one.rule.id]}
        bindings = _changed(examples[one.phases[0]], one.broken, removes=False)
        yield {"id": one.rule.slug, **empty, **found, "bindings": bindings}


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
