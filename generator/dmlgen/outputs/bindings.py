"""The cases of bindings: for every rule, an example of the specs, and bindings that break only this rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dmlgen.outputs.graphs import changed
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """One case a line: bindings, and the rule that they break or the advice that they draw."""
    del templates  # it is a value, not a text
    examples = registry.bindings.examples
    cases = [_case(f"valid-{phase}", [], [], example) for phase, example in examples.items()]
    for one in registry.bindings.all:
        found, advice = ([], [one.rule.id]) if one.rule.advice else ([one.rule.id], [])
        bindings = changed(examples[one.phases[0]], one.broken, removes=False)
        cases.append(_case(one.rule.slug, found, advice, bindings))
    return {"matrix/bindings.jsonl": "".join(f"{json.dumps(case)}\n" for case in cases).encode()}


def _case(identity: str, found: list[str], advice: list[str], bindings: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": identity, "violations": found, "advice": advice, "bindings": bindings}
