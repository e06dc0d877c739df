"""An operator as text for a reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import AlgorithmUse, Check, Operator, Rule, Support


def describe(operator: Operator) -> str:
    """Everything the registry knows about an operator, except general rules."""
    return "".join(f"{line}\n" for line in _lines(operator))


def _lines(operator: Operator) -> Iterator[str]:
    since = operator.since
    version = f"feature level {since.name} (DirectML {since.directml})"
    yield f"{operator.c_constant} = {operator.value}, since {version}"
    yield f"    {operator.summary.plain}"
    yield "members"
    width = max(len(member.name) for member in operator.members)
    for member in operator.members:
        kind = f"{member.role} tensor" if member.is_tensor else member.type
        optional = ", optional" if member.optional else ""
        yield f"    {member.name:<{width}}  {kind}{optional}. {member.summary.plain}"
    yield "rules"
    for definition in operator.definitions:
        yield f"    {definition.name} = {SOURCE.print(definition.value)}"
    for rule in operator.rules:
        yield f"    {rule.id}{', advice' if rule.advice else ''}{_levels(rule)}"
        for check in rule.checks:
            yield f"        {condition_text(check)}"
    for inference in operator.inferences:
        when = f", when {SOURCE.print(inference.when)}" if inference.when is not None else ""
        yield f"    infers {inference.tensor}.{inference.field} = {SOURCE.print(inference.value)}{when}"
    for constraint in operator.data_constraints:
        later = f" since {constraint.since.name}" if constraint.since else ""
        yield f"    data of {constraint.tensor}{later}: {constraint.text.plain}"
    if operator.algorithm is not None:
        yield from _computes(operator.algorithm)
    if operator.defines is not None:
        yield "computes, at each coordinate `at` of an output or an intermediate tensor"
        yield from (f"    {line}" for line in operator.defines.lines)
    yield "support"
    for rows, levels in groupby(operator.support.items(), key=lambda item: item[1]):
        names = [name for name, _ in levels]
        yield f"    {names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "")
        for row in rows:
            yield f"        {_row(row)}"
    if operator.errata:
        yield "errata"
    for erratum in operator.errata:
        where, holds = erratum.where.plain, erratum.registry.plain
        sources = ", ".join((erratum.source, *erratum.seen))
        yield f"    {where}: {erratum.sentence}; here: {holds} ({sources})"


def _computes(algorithm: AlgorithmUse) -> Iterator[str]:
    """The inputs of an algorithm."""
    yield f"computes {algorithm.output} by the algorithm {algorithm.name}"
    for name, role in algorithm.roles.items():
        yield f"    {name}: {SOURCE.print(role)}"


def _levels(rule: Rule) -> str:
    until = f", until {rule.until.name}" if rule.until else ""
    since = f" since {rule.since.name}" if rule.since.ordinal else ""
    return f"{since}{until}"


def condition_text(check: Check) -> str:
    """The condition of a check in the spec language, with its loops and its case."""
    text = SOURCE.print(check.condition)
    for loop in check.loops:
        condition = f" if {SOURCE.print(loop.condition)}" if loop.condition is not None else ""
        text += f" for {loop.variable.name} in {SOURCE.range(loop)}{condition}"
    return text + (f", when {SOURCE.print(check.guard)}" if check.guard is not None else "")


def _row(row: Support) -> str:
    ranks = f"{row.ranks[0]}..{row.ranks[-1]}" if len(row.ranks) > 1 else str(row.ranks[0])
    if row.ranks != tuple(range(row.ranks[0], row.ranks[-1] + 1)):
        ranks = ", ".join(map(str, row.ranks))
    when = f", when {SOURCE.print(row.when)}" if isinstance(row.when, ir.Expr) else ""
    return f"{row.tensor}: {ranks} dimensions, {' '.join(row.types)}{when}"
