"""Compares a page with the registry: its subject, every statement with its verdict, what was recognized."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from dmlaudit import sentences
from dmlaudit.members import described
from dmlaudit.operators import compare_operator
from dmlaudit.page import Fault, Page
from dmlaudit.sentences import Unread
from dmlaudit.stated import stated
from dmlaudit.structs import compare_enum, compare_struct
from dmlaudit.tables import support_tables
from dmlaudit.topics import compare_names, compare_topic, heading_names, is_compared
from dmlaudit.verdict import Verdict
from dmlgen.registry import Enum, Erratum, Operator, Registry, Struct

_TITLE = re.compile(r"DML_\w+")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Z][A-Za-z]*[A-Z0-9_]\w*")
Subject = Operator | Struct | Enum | None


@dataclass(frozen=True)
class Result:
    """The result for one page.

    `guessed` says how its subject was found if the page does not name it; `faults` are parts that could not
    be read, `unread` sentences among the constraints in an unknown form, `other_tables` tables without facts
    that specs state.
    """

    page: Page
    subject: str
    guessed: str
    verdicts: tuple[Verdict, ...]
    faults: tuple[Fault, ...]
    unread: tuple[Unread, ...]
    cells: int
    other_tables: tuple[int, ...]

    def count(self, kind: str) -> int:
        return sum(verdict.kind == kind for verdict in self.verdicts)


def compare(registry: Registry, page: Page) -> Result:
    """All statements of the page, without duplicates, in the order of its lines."""
    subject, guessed, faults = _subject(registry, page)
    faults = [*page.faults, *faults, *(one for one in support_tables(page) if isinstance(one, Fault))]
    found = [] if page.faults and not page.blocks else list(_verdicts(registry, subject, page))
    verdicts = sorted(with_errata(registry, subject, found), key=lambda one: (one.line, one.says))
    is_article = page.front.get("ms.topic", ("", 0))[0] in ("concept-article", "article", "conceptual")
    if not verdicts and not faults and not is_article:
        faults.append(Fault(1, "nothing that specs state was recognized on this page"))
    return Result(
        page=page,
        subject="" if subject is None else subject.c_name,
        guessed=guessed,
        verdicts=tuple(verdicts),
        faults=tuple(faults),
        unread=tuple(one for one in sentences.constraints(page) if isinstance(one, Unread)),
        cells=sum(len(row.cells) for table in page.tables for row in table.rows),
        other_tables=tuple(table.line for table in page.tables if not is_compared(table)),
    )


def _errata(registry: Registry, subject: Subject) -> Iterator[Erratum]:
    """The errata that pages on this subject may show; those of all operators if the page has no operator."""
    yield from registry.errata
    if isinstance(subject, Operator):
        yield from subject.errata
    elif subject is None:
        yield from (erratum for operator in registry.operators for erratum in operator.errata)


def with_errata(registry: Registry, subject: Subject, found: Iterable[Verdict]) -> set[Verdict]:
    """The verdicts on a page about the subject, differences with the erratum that overrules the page."""
    known = {text.plain: erratum for erratum in _errata(registry, subject) for text in erratum.overrules}
    return {replace(one, erratum=known.get(one.says)) if one.holds else one for one in found}


def _verdicts(registry: Registry, subject: Subject, page: Page) -> Iterator[Verdict]:
    match subject:
        case Operator():
            yield from compare_operator(registry, subject, stated(page))
        case Struct():
            yield from _about(subject, compare_struct(registry, subject, page))
        case Enum():
            yield from _about(subject, compare_enum(registry, subject, page))
        case None:
            yield from compare_topic(registry, page)
    yield from compare_names(registry, page)
    for one in page.translations:
        english, text = set(_untranslated(one.english)), set(_untranslated(one.text))
        place = subject.position if subject and subject.position else registry.identifiers_position
        lost, new = ", ".join(sorted(english - text)), ", ".join(sorted(text - english))
        if lost or new:
            says = f"{lost or 'nothing'} translated to {new or 'something else'}"
            yield Verdict(one.line, says, "names and numbers stay as they are", place)
        elif english:
            yield Verdict(one.line, f"{', '.join(sorted(english))} as in English", "", place)


def _about(subject: Struct | Enum, verdicts: Iterator[Verdict]) -> Iterator[Verdict]:
    """Verdicts with the subject's name in every statement, because errata of all subjects are in one list."""
    return (replace(one, says=f"{subject.c_name}, {one.says}") for one in verdicts)


def _untranslated(text: str) -> Iterator[str]:
    """The parts that a translation has to leave unchanged: numbers, and names with capitals or digits
    inside."""
    return (word for word in _WORD.findall(text) if word.isdecimal() or _NAME.fullmatch(word))


def _subject(registry: Registry, page: Page) -> tuple[Subject, str, list[Fault]]:
    """The subject of the page, and how it was found if the page does not state it."""
    subjects: dict[str, Operator | Struct | Enum] = {one.c_name: one for one in registry.declared_enums}
    subjects |= {one.c_name: one for one in registry.structs.values()}
    for operator in registry.operators:
        subjects |= {name: operator for name in (operator.c_name, operator.c_alias) if name}
    named = [*heading_names(page), *_TITLE.findall(page.front.get("title", ("", 0))[0])]
    if page.form == "plain text" and (first := next(page.paragraphs, None)):
        named += _TITLE.findall(first.text)
    for name in named:
        if name in subjects:
            return subjects[name], "", []
    if named and named[0].endswith("_DESC"):
        return None, "", [Fault(1, f"the specs have nothing called {named[0]}")]
    stem = PurePosixPath(page.path).stem
    pages: dict[str, Operator | Struct | Enum] = {one.page: one for one in registry.operators}
    pages |= {one.page: one for one in registry.structs.values() if one.page}
    pages |= {f"ne-directml-{enum.c_name.lower()}": enum for enum in registry.declared_enums}
    if stem in pages:
        return pages[stem], "by the name of its file", []
    return _by_members(registry, page)


def _by_members(registry: Registry, page: Page) -> tuple[Subject, str, list[Fault]]:
    """The operator whose members the page describes; the one with most of them, if it is unique."""
    listed = described(page)
    if listed is None:
        return None, "", []
    names = [one.name for one in listed.members]
    given = set(names)
    levels = {one.level for one in sentences.introduced(page)}

    def likeness(operator: Operator) -> tuple[int, int, int]:
        ours = [member.name for member in operator.members]
        common = sum(name in given for name in ours)
        apart = len(given) + len(ours) - 2 * common
        return common - apart, names == ours, operator.since.name in levels

    ranked = sorted(registry.operators, key=likeness, reverse=True)
    first, second = ranked[:2]
    if likeness(first) == likeness(second) or likeness(first)[0] <= 0:
        return None, "", [Fault(1, "the page does not say of which operator it is, nor do its members")]
    return first, "by its members", []
