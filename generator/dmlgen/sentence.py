"""The text of a rule: what it requires, in a sentence that needs no broken description.

A spec can give it as `summary`. Otherwise it is generated from those conditions of the rule that are short;
for others, the spec's reason is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from dmlgen.expr import ir
from dmlgen.expr.functions import PREDICATES
from dmlgen.expr.printer import SOURCE
from dmlgen.message import named_sizes
from dmlgen.registry import Check, Rule
from dmlgen.text import Text

_RELATION = {
    "==": "equals",
    "!=": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}
_SAME = {"DimensionCount": "as many dimensions as", "DataType": "the data type of", "Sizes": "the sizes of"}
_PLURAL = {"is": "are", "equals": "equal"}
_LONGEST = 60  # longest formula in a sentence
_PROGRAM = re.compile(r"\bfor\b|\bif\b|//|\b[a-z_]+\(|\bnot\b|\band\b|\bor\b")


class _Clause(NamedTuple):
    """A subject, and a predicate that begins with a verb in the singular. A clause of other clauses has no
    subject."""

    subject: str
    predicate: str

    @property
    def text(self) -> str:
        return f"{self.subject} {self.predicate}".strip()


class _Demand(NamedTuple):
    """The requirement of a check, for which entries, and in which case; "" for all."""

    clause: _Clause
    entries: str
    case: str


def sentence(rule: Rule) -> Text:
    """One or more sentences of plain English."""
    if rule.summary or not rule.checks:
        return rule.summary
    text = _same(rule.checks) or _clauses(rule.checks)
    reason = re.sub(r",? ?\{[^}]*\}", "", rule.because.plain)  # without the values that messages show in it
    match rule.checks:
        case [Check(member=member, condition=ir.Compare(op="==", left=ir.Field(name="Sizes")))] if not text:
            return Text(f"{member} follows from other members{f': {reason}' if reason else ''}.")
    whole = f"{text} ({reason})." if text and reason else f"{text or reason}."
    return Text(whole[:1].upper() + whole[1:])


def _clauses(checks: tuple[Check, ...]) -> str:
    """The requirement of the checks, in words; "" if there are no words."""
    demands = [_demand(check) for check in checks]
    if not all(demands):
        return ""
    found = [demand for demand in demands if demand]
    cases = list(dict.fromkeys(demand.case for demand in found))
    if len(cases) == 1:
        return f"where {cases[0]}, {_merged(found)}" if cases[0] else _merged(found)
    guards = list(dict.fromkeys(check.guard for check in checks))
    if len(guards) == 2 and guards[0] and _text(ir.Not(guards[0])) == cases[1]:
        first, second = (_merged(one for one in found if one.case == case) for case in cases)
        return f"{first}, where {cases[0]}; otherwise {second}"
    groups = [list(group) for _, group in groupby(found, key=lambda demand: demand.case)]
    return "; ".join(
        _merged(group) + (f", where {group[0].case}" if group[0].case else "") for group in groups
    )


def _merged(demands: Iterable[_Demand]) -> str:
    """The demands of a case: those that differ only by their subjects have one clause."""
    groups: dict[tuple[str, str], list[str]] = {}
    for (subject, predicate), entries, _ in demands:
        groups.setdefault((predicate, entries), []).append(subject)
    return "; ".join(
        _joined(subjects, predicate, "and").text + entries
        for (predicate, entries), subjects in groups.items()
    )


def _joined(subjects: Iterable[str], predicate: str, word: str) -> _Clause:
    """The clause for several subjects, joined by "and" or "or"."""
    names = list(dict.fromkeys(subjects))
    verb, _, rest = predicate.partition(" ")
    if len(names) > 1 and word == "and":
        return _Clause(_listed(names), f"{_PLURAL.get(verb, verb)} {rest}")
    return _Clause(_listed(names, word), predicate)


def _same(checks: tuple[Check, ...]) -> str:
    """The clause for a field that is the same in some tensors; "" if a rule says anything else."""
    names, first = [], set[tuple[str, str]]()
    for check in checks:
        match check.condition:
            case ir.Compare(
                op="==", left=ir.Field(tensor=left, name=field), right=ir.Field(tensor=right, name=same)
            ):
                if field != same or field not in _SAME:
                    return ""
                first.add((field, right.entry))
                names.append(left.name)
            case _:
                return ""
    if len(first) != 1:
        return ""
    ((field, tensor),) = first
    others = list(dict.fromkeys(names))
    return f"{_listed(others)} {'has' if len(others) == 1 else 'have'} {_SAME[field]} {tensor}"


def _demand(check: Check) -> _Demand | None:
    """The requirement of a check; None if there are no words."""
    clause, entries = _clause(check.condition), ""
    case = "" if check.guard is None else _text(check.guard)
    if clause is None or (check.guard is not None and not case):
        return None
    for loop in check.loops:
        match loop.condition:
            case None:
                entries += f", for each {loop.variable.name}"
            case ir.Compare(op="!=", left=ir.Local() as left, right=right) if left == loop.variable and (
                but := _formula(right)
            ):
                entries += f", for each {loop.variable.name} except {but}"
            case condition:
                if not (where := _text(condition)):
                    return None
                entries += f", for each {loop.variable.name} where {where}"
    if case == f"{clause.subject.partition('.')[0]} is given":
        case = ""  # an absent tensor has nothing that could break the rule
    return _Demand(clause, entries, case)


def _text(node: ir.Expr) -> str:
    """A condition as a clause; "" if there are no words."""
    clause = _clause(node)
    return clause.text if clause is not None else ""


def _clause(node: ir.Expr) -> _Clause | None:
    """A condition as a clause; None if there are no words."""
    match node:
        case ir.Compare(op="==", left=ir.Binary(op="%", left=left, right=right), right=ir.Number(value=0)):
            return _related(left, "is a multiple of", right)
        case ir.Compare(op=op, left=left, right=right):
            if op == "==" and (sizes := named_sizes(right)):
                return _Clause(_formula(left), f"is {sizes}")
            verb = "is" if op == "==" and isinstance(right, ir.EnumValue | ir.Number) else _RELATION[op]
            return _related(left, verb, right)
        case ir.OneOf(item=item, choices=choices):
            return _related_to_any(item, "is", choices)
        case ir.Not(operand=ir.OneOf(item=item, choices=choices)):
            return _related_to_any(item, "is not", choices)
        case ir.Present(item=item):
            return _Clause(SOURCE.print(item), "is given")
        case ir.Not(operand=ir.Present(item=item)):
            return _Clause(SOURCE.print(item), "is absent")
        case ir.Member(name=name, type=ir.BOOL):
            return _Clause(name, "is true")
        case ir.Not(operand=ir.Member(name=name)):
            return _Clause(name, "is false")
        case ir.Not(operand=ir.Compare(op="==", left=left, right=right)):
            return _clause(ir.Compare("!=", left, right))
        case ir.Call(function=name, arguments=(item,)) if name in PREDICATES:
            return _Clause(SOURCE.print(item), f"is {PREDICATES[name]}")
        case ir.Logic(op=op, operands=operands):
            clauses = [_clause(operand) for operand in operands]
            found = [clause for clause in clauses if clause is not None]
            if len(found) < len(clauses):
                return None
            groups = groupby(found, key=lambda clause: clause.predicate)
            joined = [_joined((one.subject for one in group), predicate, op) for predicate, group in groups]
            return joined[0] if len(joined) == 1 else _Clause("", f" {op} ".join(one.text for one in joined))
    return None


def _related(left: ir.Expr, verb: str, right: ir.Expr) -> _Clause | None:
    first, second = _formula(left), _formula(right)
    return _Clause(first, f"{verb} {second}") if first and second else None


def _related_to_any(item: ir.Expr, verb: str, choices: tuple[ir.Expr, ...]) -> _Clause | None:
    subject, texts = _formula(item), [_formula(choice) for choice in choices]
    return _Clause(subject, f"{verb} {_listed(texts, 'or')}") if subject and all(texts) else None


def _formula(node: ir.Expr) -> str:
    """A short formula over members; "" for a longer one, or a program."""
    text = SOURCE.print(_expanded(node)).replace(" * ", " x ")
    return "" if len(text) > _LONGEST or _PROGRAM.search(text) else text


def _expanded(node: ir.Expr) -> ir.Expr:
    """An expression without names from a `let`, and with products of numbers as numbers."""
    for part in ir.walk(node):
        match part:
            case ir.Definition(value=value):
                return _expanded(ir.substitute(node, {part: value}))
            case ir.Binary(op="*", left=ir.Number(value=left), right=ir.Number(value=right), type=type_):
                return _expanded(ir.substitute(node, {part: ir.Number(left * right, type_)}))
    return node


def _listed(names: Iterable[str], word: str = "and") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
