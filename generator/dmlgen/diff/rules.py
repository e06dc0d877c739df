"""Changes of rules: of their conditions, whom they concern, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dmlgen.diff.change import Change
from dmlgen.diff.meaning import Meaning
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Rule
from dmlgen.show import condition_text


def rule_changes(
    was: tuple[Rule, ...], now: tuple[Rule, ...], old: Meaning, with_hints: bool, retired: Collection[str]
) -> Iterator[Change]:
    """Changes of the rules of one owner. `with_hints`: whether hints depend on nothing that has changed."""
    new = Meaning({}, old.given)
    before, after = {rule.id: rule for rule in was}, {rule.id: rule for rule in now}
    moved = _moved(before, after, old, new)
    for name, rule in before.items():
        if name not in after and name not in moved:
            text = f"{name} is gone{'; its identifier is retired' if name in retired else ''}"
            kind = "advice-removed" if rule.advice else "rule-removed"
            yield Change(kind, name, text, (rule.position, None), (_condition(rule), ""))
    origin = {moved.get(name, name): rule for name, rule in before.items()}
    for name, rule in after.items():
        if name not in origin:
            kind = "advice-added" if rule.advice else "rule-added"
            yield Change(kind, name, f"{name} is new", (None, rule.position), ("", _condition(rule)))
            continue
        first = origin[name]
        if first.id != name:
            text = f"{first.id} is called {name}"
            yield Change("rule-renamed", name, text, (first.position, rule.position), (first.id, name))
        yield from _rule(first, rule, old, new, with_hints)
    kept, order = [name for name in origin if name in after], [name for name in after if name in origin]
    if kept != order:
        name = next(one for one, other in zip(kept, order, strict=True) if one != other)
        text, at = (
            f"rules are judged in another order, from {name} on",
            (origin[name].position, after[name].position),
        )
        yield Change("rule-order", name, text, at)


def _moved(before: dict[str, Rule], after: dict[str, Rule], old: Meaning, new: Meaning) -> dict[str, str]:
    """New identifiers of rules: rules that require the same under an identifier that did not exist before."""
    fresh = {
        new.text(rule.checks): name for name, rule in after.items() if name not in before and rule.checks
    }
    gone = {name: old.text(rule.checks) for name, rule in before.items() if name not in after}
    return {name: fresh[text] for name, text in gone.items() if text in fresh}


def _rule(was: Rule, now: Rule, old: Meaning, new: Meaning, with_hints: bool) -> Iterator[Change]:
    name, at = now.id, (was.position, now.position)
    same = old.text(was.checks) == new.text(now.checks)

    def judged(kind: str, text: str, texts: tuple[str, str]) -> Change:
        return Change("advice-changed" if now.advice else kind, name, f"{name} {text}", at, texts)

    if was.advice != now.advice:
        kind, text = ("rule-advice", "advice") if now.advice else ("rule-violation", "demanded")
        yield Change(kind, name, f"{name} is {text}", at)
    elif was.stage != now.stage and same:
        stages = was.stage.name.lower(), now.stage.name.lower()
        yield Change("rule-stage", name, f"{name} is judged in another stage", at, stages)
    if not same:
        yield judged("rule-changed", "has another condition", (_condition(was), _condition(now)))
    if _span(was) != _span(now):
        yield judged(_strength(_span(was), _span(now)), "holds at other levels", (_levels(was), _levels(now)))
    was_of, now_of = was.applies_to, now.applies_to
    if was_of != now_of:
        kind = "rule-looser" if was_of == "any" else "rule-stricter" if now_of == "any" else "rule-changed"
        yield judged(kind, "is about other forms of descriptions", (was_of, now_of))
    for one, other in ((was.source, now.source), (was.broken_by.plain, now.broken_by.plain)):
        if one != other:
            yield Change("rule-source", name, f"{name} has another source", at, (one, other))
    as_before = same and was.advice == now.advice  # messages change with the rest
    messages: list[list[object]] = [
        [
            *(side.text((rule.because, rule.summary)), rule.message, rule.hint),
            *(side.message(check, with_hints) for check in rule.checks if as_before),
        ]
        for side, rule in ((old, was), (new, now))
    ]
    if messages[0] != messages[1]:
        texts = _said(was), _said(now)
        yield Change("rule-message", name, f"the message of {name} reads otherwise", at, texts)


def _span(rule: Rule) -> tuple[float, float]:
    """The levels at which a rule applies: from the first one up to, but not including, the second one."""
    return rule.since.value, rule.until.value if rule.until else float("inf")


def _strength(was: tuple[float, float], now: tuple[float, float]) -> str:
    if now[0] <= was[0] and was[1] <= now[1]:
        return "rule-stricter"
    return "rule-looser" if was[0] <= now[0] and now[1] <= was[1] else "rule-changed"


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
