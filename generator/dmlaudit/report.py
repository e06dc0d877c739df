"""Results of an audit as text for a person or JSON for a tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from dmlaudit.compare import Result
from dmlaudit.page import Heading
from dmlaudit.verdict import Verdict
from dmlgen.formats import Row, report

ReportFormat: TypeAlias = Literal["text", "json"]

_CLASSES = ("agreement", "erratum", "difference")


def render(results: Sequence[Result], format: ReportFormat) -> str:
    """The report, ended by LF."""
    return report((Row([*_page(one)], _value(one)) for one in results), format, _total(results))


def _page(result: Result) -> Iterator[str]:
    name = result.page.path
    guess = f", {result.guessed}" if result.guessed else ""
    about = (
        f"{result.subject}{guess}" if result.subject else "about no single operator, struct or enumeration"
    )
    yield f"{name}: {about}; {result.page.form}; {_recognized(result)}; {_counts(result)}"
    for fault in result.faults:
        yield f"  {name}:{fault.line}: NOT READ: {fault.message}"
    for verdict in result.verdicts:
        if verdict.kind == "difference":
            yield f"  {name}:{verdict.line}: NEW: {verdict.says}"
            yield f"      {verdict.position}: {verdict.holds}"
    for verdict in result.verdicts:
        if verdict.erratum is not None:
            yield f"  {name}:{verdict.line}: known: {verdict.says}"
            yield f"      {verdict.erratum.position}: erratum, {verdict.erratum.where.plain}; {verdict.holds}"
    for unread in result.unread:
        yield f"  {name}:{unread.line}: not compared: {unread.text}"
    for line in result.other_tables:
        yield f"  {name}:{line}: not compared: a table that is not about tensors"
    if not result.verdicts and not result.faults:
        yield f"  {name}: an article in which nothing was recognized that specs state"


def _recognized(result: Result) -> str:
    sections = sum(isinstance(block, Heading) for block in result.page.blocks)
    tables = len(list(result.page.tables))
    return f"sections: {sections}, tables: {tables}, cells: {result.cells}"


def _counts(result: Result) -> str:
    agreeing, known, new = map(result.count, _CLASSES)
    return f"statements: {agreeing} agree, {known} known errata, {new} new"


def _total(results: Sequence[Result]) -> str:
    agreeing, known, new = (sum(result.count(kind) for result in results) for kind in _CLASSES)
    cells = sum(result.cells for result in results)
    tables = sum(len(list(result.page.tables)) for result in results)
    faults = sum(len(result.faults) for result in results)
    unread = sum(len(result.unread) for result in results)
    return (
        f"pages: {len(results)}, tables: {tables}, cells: {cells}; "
        f"statements: {agreeing} agree, {known} known errata, {new} new; "
        f"parts that could not be read: {faults}; constraints not compared: {unread}"
    )


def _value(result: Result) -> dict[str, object]:
    return {
        "page": result.page.path,
        "form": result.page.form,
        "subject": result.subject,
        "guessed": result.guessed,
        "sections": sum(isinstance(block, Heading) for block in result.page.blocks),
        "tables": len(list(result.page.tables)),
        "cells": result.cells,
        "faults": [{"line": fault.line, "message": fault.message} for fault in result.faults],
        "not_compared": [
            *({"line": unread.line, "text": unread.text} for unread in result.unread),
            *({"line": line, "text": "a table that is not about tensors"} for line in result.other_tables),
        ],
        "statements": [_statement(verdict) for verdict in result.verdicts],
    }


def _statement(verdict: Verdict) -> dict[str, object]:
    erratum = verdict.erratum
    spec = {"file": verdict.position.file, "line": verdict.position.line}
    known = erratum and {
        "where": erratum.where.plain,
        "says": erratum.says.plain,
        "unspecified": erratum.unspecified.plain,
        "holds": erratum.registry.plain,
        "source": erratum.source,
        "file": erratum.position.file,
        "line": erratum.position.line,
    }
    return {
        "class": verdict.kind,
        "line": verdict.line,
        "says": verdict.says,
        "holds": verdict.holds or verdict.says,
        "spec": spec,
        "erratum": known,
    }
