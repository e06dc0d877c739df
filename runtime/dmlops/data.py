"""registry.json: what the registry knows that is not code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from .enums import FeatureLevel


@dataclass(frozen=True, slots=True)
class RuleText:
    """The text of a rule: `text` in English, `formulas` in the language of the registry's specs.

    `where` has the names from a `let` that formulas use, each as "NAME = EXPRESSION".
    `source` is "docs" (the documentation), "header" (DirectML.h), "observed" (DirectML's behavior) or "ours"
    (a decision of this registry); `page` is the address of the operator's page. `operator` is None for
    a rule on every operator, which has no page either, and for a rule of graphs or bindings. The rule applies
    from the level `since` up to, but not including, `until`.
    """

    id: str
    operator: str | None
    text: str
    formulas: tuple[str, ...]
    where: tuple[str, ...]
    source: str
    page: str | None
    since: FeatureLevel
    until: FeatureLevel | None


def data_file(name: str) -> Traversable:
    """A file that outputs in several languages share, which need not exist.

    An installed package contains it; in a checkout there is one copy, beside `python/`.
    """
    package = files(__package__)
    return package / name if (package / name).is_file() else package / "../.." / name


@cache
def registry_data() -> dict[str, Any]:
    """The content of registry.json, which registry.schema.json describes."""
    value: dict[str, Any] = json.loads(data_file("registry.json").read_text(encoding="utf-8"))
    return value


@cache
def operator_data() -> dict[str, dict[str, Any]]:
    """The entries of registry.json on each operator, by name."""
    return {one["name"]: one for one in registry_data()["operators"]}


@cache
def messages() -> dict[str, tuple[list[Any], list[Any]]]:
    """The message and the hint of each rule without a condition, as `parts` of registry.json."""
    data = registry_data()
    of_bindings = (one["rule"] for one in data["bindings"]["rules"])
    rules = (*data["rules"], *data["graphs"]["rules"], *of_bindings)
    return {one["id"]: (one["message"], one.get("hint", [])) for one in rules if "message" in one}


@cache
def rule_texts() -> dict[str, RuleText]:
    """The text of every rule, by identifier."""
    data = registry_data()
    graphs = data["graphs"]
    of_graphs = (*graphs["rules"], *(edge["rule"] for edge in graphs["edges"]), *graphs["inputs"])
    found = [
        *(_rule_text(one, {}) for one in data["rules"]),
        *(_rule_text(one, data["tensor"]) for one in data["tensor"]["rules"]),
        *(_rule_text(one, graphs, data["pages"] + graphs["page"]) for one in of_graphs),
        *(_rule_text(one["rule"], {}, one["page"]) for one in data["bindings"]["rules"]),
        *(
            _rule_text(one["rule"], {}, data["pages"] + one["page"] if "page" in one else None)
            for one in data["calls"]
        ),
        *(
            _rule_text(rule, operator, data["pages"] + operator["page"])
            for operator in data["operators"]
            for rule in operator.get("rules", ())
        ),
    ]
    return {one.id: one for one in found}


def _rule_text(rule: dict[str, Any], owner: dict[str, Any], page: str | None = None) -> RuleText:
    """The text of a rule; its owner has the `let` that formulas use, and a name if it is an operator."""
    let = {entry["name"]: entry["text"] for entry in owner.get("let", ())}
    until = rule.get("until")
    return RuleText(
        id=rule["id"],
        operator=owner.get("name"),
        text=rule["text"],
        formulas=tuple(rule.get("formulas", ())),
        where=tuple(f"{name} = {let[name]}" for name in rule.get("uses", ())),
        source=rule["source"],
        page=page,
        since=FeatureLevel(rule["since"]),
        until=None if until is None else FeatureLevel(until),
    )
