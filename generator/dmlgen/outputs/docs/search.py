"""The search index of the site: names, members, rules, and the patterns of messages.

The index is a script, because a page opened as a file can load nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from dmlgen.banner import banner
from dmlgen.registry import Registry, Rule
from dmlgen.sentence import sentence

_VALUE = "\u0001"  # where a message shows a value


Entry = tuple[str, str, str]  # a title, its address, further words by which it is found


def index(registry: Registry, pages: Sequence[Entry], elsewhere: Sequence[Entry]) -> bytes:
    """The script. `elsewhere` are operations of other interfaces."""
    members: dict[str, list[int]] = {}
    rules: list[tuple[int, str, str]] = []
    messages: dict[str, list[int]] = {}
    data: list[list[int | str]] = []

    def add(number: int, found: Iterable[Rule]) -> None:
        for rule in found:
            for text in _patterns(rule):
                places = messages.setdefault(text, [])
                if len(rules) not in places:
                    places.append(len(rules))
            rules.append((number, rule.id, sentence(rule).plain))

    add(
        -1, (*registry.operator_rules, *registry.tensor.rules, *registry.calls)
    )  # rules of no operator are of a page
    add(-2, registry.graphs.rules)
    add(-3, registry.bindings.rules)
    for number, operator in enumerate(registry.operators):
        for member in operator.members:
            members.setdefault(member.name, []).append(number)
        add(number, operator.rules)
        data += [[number, one.id, one.text.plain] for one in operator.data_constraints]
    known = {
        "operators": [
            [one.name, one.since.name, one.summary.plain, *([one.alias] if one.alias else [])]
            for one in registry.operators
        ],
        "members": members,
        "rules": rules,
        "messages": messages,
        "data": data,
        "pages": pages,
        "elsewhere": elsewhere,
    }
    text = json.dumps(known, separators=(",", ":"))
    return f"// {banner('specs/')}\nconst searchIndex = {text};\n".encode()


def _patterns(rule: Rule) -> Iterable[str]:
    """The texts of a rule's messages, with a mark for each value; a general one for the other of a member."""
    if rule.message:
        yield "".join(piece.text.plain + _VALUE * (piece.name is not None) for piece in rule.message)
    for check in rule.checks:
        yield "".join(part if isinstance(part, str) else _VALUE for part in check.message)
