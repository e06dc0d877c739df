"""The text of a rule: what it requires, in a sentence that needs no broken description.

A spec can give it as `summary`. Otherwise it is generated from those conditions of the rule that are short;
for others, the spec's reason is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dmlgen.expr import ir
from dmlgen.expr.functions import PREDICATES
from dmlgen.expr.printer import SOURCE
from dmlgen.message import named_sizes
from dmlgen.registry import Check, Rule
from dmlgen.text import Text

_RELATION = {
    "==": "equals",
    "!=": "differs from",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}
_SAME = {"DimensionCount": "as many dimensions as", "DataType": "the data type of", "Sizes": "the sizes of"}
_LONGEST = 60  # longest formula in a sentence
_PROGRAM = re.compile(r"\bfor\b|\bif\b|//|\b[a-z_]+\(|\bnot\b|\band\b|\bor\b")


def sentence(rule: Rule) -> Text:
    """One or more sentences of plain English."""
    if rule.summary or not rule.checks:
        return rule.summary
    text, reason = _same(rule.checks) or _clauses(rule.checks), _without_values(rule.because.plain)
    match rule.checks:
        case [Check(member=member, condition=ir.Compare(op="==", left=ir.Field(name="Sizes")))] if not text:
            return Text(f"{member} follows from other members{f': {reason}' if reason else ''}.")
    return Text(_capital(f"{text} ({reason})." if text and reason else f"{text or reason}."))


def _clauses(checks: tuple[Check, ...]) -> str:
    """The requirement of the checks, in words, after the common case in which they apply; "" if there are no
    words."""
    demands = list(dict.fromkeys(map(_demand, checks)))
    cases = list(dict.fromkeys("" if check.guard is None else _clause(check.guard) for check in checks))
    if len(cases) > 1:
        demands = list(dict.fromkeys(map(_demand_in_case, checks)))
    elif checks[0].guard is not None and not cases[0]:
        return ""
    text = "; ".join(demands) if all(demands) else ""
    return f"where {cases[0]}, {text}" if text and len(cases) == 1 and cases[0] else text


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


def _demand_in_case(check: Check) -> str:
    demand, case = _demand(check), "" if check.guard is None else _clause(check.guard)
    if check.guard is None or not demand:
        return demand
    return f"{demand}, where {case}" if case else ""


def _demand(check: Check) -> str:
    """The requirement of a check, and for which entries; "" if there are no words."""
    demand = _clause(check.condition)
    if not demand:
        return ""
    for loop in check.loops:
        but = _clause(loop.condition) if loop.condition is not None else ""
        if loop.condition is not None and not but:
            return ""
        demand += f", for each {loop.variable.name}" + (f" where {but}" if but else "")
    return demand


def _clause(node: ir.Expr) -> str:
    """A condition as a clause; "" if there are no words."""
    match node:
        case ir.Compare(op="==", left=ir.Binary(op="%", left=left, right=right), right=ir.Number(value=0)):
            return _related(left, "is a multiple of", right)
        case ir.Compare(op=op, left=left, right=right):
            if sizes := named_sizes(right):
                return f"{_formula(left)} is {sizes}"
            verb = "is" if op == "==" and isinstance(right, ir.EnumValue | ir.Number) else _RELATION[op]
            return _related(left, verb, right)
        case ir.OneOf(item=item, choices=choices):
            return _related_to_any(item, "is", choices)
        case ir.Not(operand=ir.OneOf(item=item, choices=choices)):
            return _related_to_any(item, "is not", choices)
        case ir.Present(item=item):
            return f"{SOURCE.print(item)} is given"
        case ir.Not(operand=ir.Present(item=item)):
            return f"{SOURCE.print(item)} is absent"
        case ir.Member(name=name, type=ir.BOOL):
            return f"{name} is true"
        case ir.Not(operand=ir.Member(name=name)):
            return f"{name} is false"
        case ir.Not(operand=ir.Compare(op="==", left=left, right=right)):
            return _clause(ir.Compare("!=", left, right))
        case ir.Call(function=name, arguments=(item,)) if name in PREDICATES:
            return f"{SOURCE.print(item)} is {PREDICATES[name]}"
        case ir.Logic(op=op, operands=operands):
            clauses = [_clause(operand) for operand in operands]
            return f" {op} ".join(clauses) if all(clauses) else ""
        case _:
            return ""


def _related(left: ir.Expr, verb: str, right: ir.Expr) -> str:
    first, second = _formula(left), _formula(right)
    return f"{first} {verb} {second}" if first and second else ""


def _related_to_any(item: ir.Expr, verb: str, choices: tuple[ir.Expr, ...]) -> str:
    texts = [_formula(choice) for choice in choices]
    return f"{_formula(item)} {verb} {_listed(texts, 'or')}" if _formula(item) and all(texts) else ""


def _formula(node: ir.Expr) -> str:
    """A short formula over members; "" for a longer one, or a program."""
    text = SOURCE.print(_expanded(node)).replace(" * ", " x ")
    return "" if len(text) > _LONGEST or _PROGRAM.search(text) else text


def _expanded(node: ir.Expr) -> ir.Expr:
    for part in ir.walk(node):
        if isinstance(part, ir.Definition):
            return _expanded(ir.substitute(node, {part: part.value}))
    return node


def _without_values(reason: str) -> str:
    """A reason without the values that messages show in it."""
    return re.sub(r",? ?\{[^}]*\}", "", reason)


def _listed(names: Iterable[str], word: str = "and") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
