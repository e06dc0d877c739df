"""The cases of graphs: for every rule, the example of the specs and a graph that breaks only this rule."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any

from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry

_STEP = re.compile(r"([A-Za-z]\w*)|\[([0-9]+)\]")


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """One case a line: a graph, a level, and the rule that it breaks or the advice that it draws.

    The form is "abi" if only C structs can break the rule.
    """
    del templates  # it is a value, not a text
    example = registry.graphs.example
    empty: dict[str, Any] = {"violations": [], "advice": []}
    newest = registry.levels[-1].name
    cases = [{"id": "valid", "feature_level": newest, "form": "any", **empty, "graph": example}]
    for one in registry.graphs.broken:
        found = {"advice" if one.rule.advice else "violations": [one.rule.id]}
        known = {"id": one.rule.slug, "feature_level": one.level.name, "form": one.rule.applies_to}
        cases.append({**known, **empty, **found, "graph": changed(example, one.changes, removes=True)})
    return {"matrix/graphs.jsonl": "".join(f"{json.dumps(case)}\n" for case in cases).encode()}


def changed(example: Mapping[str, Any], changes: Mapping[str, Any], removes: bool) -> dict[str, Any]:
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
