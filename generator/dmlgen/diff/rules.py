"""Changes of rules, and of the list of their identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlgen.diff.change import At, Change
from dmlgen.diff.meaning import Claim, Meaning, Strength, strength
from dmlgen.diff.places import Sides
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Check, Rule
from dmlgen.show import condition_text

_TOLD = {
    "rule-stricter": "refuses more",
    "rule-looser": "refuses less",
    "rule-changed": "has another condition, and its form does not show whether it refuses more",
    "advice-changed": "has another condition",
}


def identifier_changes(sides: Sides) -> Iterator[Change]:
    """Changes of identifiers that are used again, or in no list. Others are reported with their rules."""
    was, now = sides.old.registry, sides.new.registry
    at = sides.general("identifiers", "retired")
    for name in sorted(was.retired & now.identifiers):
        yield Change("identifier-reused", name, f"the retired identifier {name} is in use again", at)
    for name in sorted((was.identifiers | was.retired) - (now.identifiers | now.retired)):
        text = f"{name} is neither active nor retired any more"
        yield Change("identifier-forgotten", name, text, at)


def rule_changes(sides: Sides, before: Rules, after: Rules, same_types: bool = True) -> Iterator[Change]:
    """Changes of the rules of one owner. `same_types`: whether all its members have kept their types."""
    moved = _moved(before, after)
    for name, rule in before.rules.items():
        if name in moved:
            text, new = f"{name} is called {moved[name]}", after.rules[moved[name]]
            yield Change("rule-renamed", name, text, sides.shown(rule.position, new.position))
        elif name not in after.rules:
            kind = "advice-removed" if rule.advice else "rule-removed"
            retired = "; its identifier is retired" if name in sides.new.registry.retired else ""
            at, texts = sides.shown(rule.position, None), (_condition(rule), "")
            yield Change(kind, name, f"{name} is gone{retired}", at, texts)
    origin = {moved.get(name, name): name for name in before.rules}
    with_hints = same_types and sides.old.registry.hints == sides.new.registry.hints  # hints depend on both
    for name, rule in after.rules.items():
        if name not in origin:
            kind = "advice-added" if rule.advice else "rule-added"
            at, texts = sides.shown(None, rule.position), ("", _condition(rule))
            yield Change(kind, name, f"{name} is new", at, texts)
            continue
        first = before.rules[origin[name]]
        at = sides.shown(first.position, rule.position)
        relation = strength(before.claims[first.id], after.claims[name])
        yield from _judged(first, rule, relation, at)
        as_before = relation == "same" and first.advice == rule.advice  # messages change with the rest
        messages = (
            side.texts(id_, as_before, with_hints) for side, id_ in ((before, first.id), (after, name))
        )
        if next(messages) != next(messages):
            text, texts = f"the message of {name} reads otherwise", (_said(first), _said(rule))
            yield Change("rule-message", name, text, at, texts)
    yield from _order(sides, before, after, origin)


class Rules:
    """The rules of one side by identifier, with their claims."""

    def __init__(self, rules: tuple[Rule, ...], meaning: Meaning) -> None:
        self.rules = {rule.id: rule for rule in rules}
        self.claims = {rule.id: meaning.rule(rule.checks) for rule in rules}
        self._meaning = meaning

    def texts(self, name: str, messages: bool, hints: bool) -> tuple[object, ...]:
        """The texts of a rule, with new names; its `messages` and their `hints` only on request."""
        rule, words = self.rules[name], self._meaning.words
        own = words(rule.because.plain), words(rule.summary.plain), rule.message, rule.hint
        return *own, *(self._message(check, hints) for check in rule.checks if messages)

    def _message(self, check: Check, hints: bool) -> tuple[str, ...]:
        parts = [*check.message]
        if hints and check.hint is not None:
            parts += [check.hint.when, *check.hint.message]
        with self._meaning.bound(check.loops):
            return tuple(
                self._meaning.words(part) if isinstance(part, str) else self._meaning.print(part)
                for part in parts
            )


def _moved(before: Rules, after: Rules) -> dict[str, str]:
    """New identifiers of rules: rules that require the same under an identifier that did not exist before."""
    fresh: dict[Claim, str] = {}
    for name, rule in after.rules.items():
        if name not in before.rules and rule.checks:
            fresh.setdefault(after.claims[name], name)
    return {
        name: fresh[before.claims[name]]
        for name, rule in before.rules.items()
        if name not in after.rules and rule.checks and before.claims[name] in fresh
    }


def _judged(was: Rule, now: Rule, relation: Strength, at: At) -> Iterator[Change]:
    """How a change affects descriptions; `relation` is that of the conditions."""
    name = now.id
    if now.advice and not was.advice:
        yield Change("rule-advice", name, f"{name} is advice", at)
    if was.advice and not now.advice:
        yield Change("rule-violation", name, f"{name} is demanded", at)
    if relation != "same":
        kind = _kind(now, relation)
        yield Change(kind, name, f"{name} {_TOLD[kind]}", at, (_condition(was), _condition(now)))
    spans = _span(was, now)
    if spans != "same":
        text, levels = f"{name} holds at other levels", (_levels(was), _levels(now))
        yield Change(_kind(now, spans), name, text, at, levels)
    if was.applies_to != now.applies_to:
        forms: Strength = (
            "looser" if was.applies_to == "any" else "stricter" if now.applies_to == "any" else "other"
        )
        text = f"{name} is about other forms of descriptions"
        yield Change(_kind(now, forms), name, text, at, (was.applies_to, now.applies_to))
    if was.stage != now.stage and was.advice == now.advice and relation == "same":
        stages = was.stage.name.lower(), now.stage.name.lower()
        yield Change("rule-stage", name, f"{name} is judged in another stage", at, stages)
    if was.source != now.source:
        yield Change("rule-source", name, f"{name} has another source", at, (was.source, now.source))
    if was.broken_by != now.broken_by:
        text, callers = f"other callers are known to break {name}", (was.broken_by.plain, now.broken_by.plain)
        yield Change("rule-source", name, text, at, callers)


def _kind(rule: Rule, relation: Strength) -> str:
    return "advice-changed" if rule.advice else f"rule-{'changed' if relation == 'other' else relation}"


def _span(was: Rule, now: Rule) -> Strength:
    """How the levels at which a rule applies have changed."""
    (since, until), (later, sooner) = (
        (rule.since.value, rule.until.value if rule.until else float("inf")) for rule in (was, now)
    )
    if (since, until) == (later, sooner):
        return "same"
    if later <= since and until <= sooner:
        return "stricter"
    return "looser" if since <= later and sooner <= until else "other"


def _order(sides: Sides, before: Rules, after: Rules, origin: Mapping[str, str]) -> Iterator[Change]:
    """`origin`: the old identifiers of new ones."""
    kept = [name for name in origin if name in after.rules]
    now = [name for name in after.rules if name in origin]
    if kept != now:
        name = next(name for name, other in zip(kept, now, strict=True) if name != other)
        at = sides.shown(before.rules[origin[name]].position, after.rules[name].position)
        yield Change("rule-order", name, f"rules are judged in another order, from {name} on", at)


def _levels(rule: Rule) -> str:
    return f"from {rule.since.name} on" + (f", until {rule.until.name}" if rule.until else "")


def _condition(rule: Rule) -> str:
    return "; ".join(dict.fromkeys(map(condition_text, rule.checks)))


def _said(rule: Rule) -> str:
    """The message of the first check; for a general rule, its only message."""
    if rule.checks:
        parts = rule.checks[0].message
        return "".join(part if isinstance(part, str) else f"{{{SOURCE.print(part)}}}" for part in parts)
    return "".join(piece.text.plain + (f"{{{piece.name}}}" if piece.name else "") for piece in rule.message)
