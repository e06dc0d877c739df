"""The statements of a page on an operator, in the forms that are compared with the spec."""

from __future__ import annotations

from dataclasses import dataclass

from dmlaudit import sentences
from dmlaudit.members import MemberList, declarations, described
from dmlaudit.page import Page
from dmlaudit.sentences import Constraint, InPlace, Introduced, NegativeIndices
from dmlaudit.tables import SupportTable, support_tables


@dataclass(frozen=True)
class Stated:
    """The statements of one page, each with its line.

    `declared` are structs in C, `described` the members with their own section; `packages` have versions
    of the redistributable, `builds` what Windows the build is of, and its number. `date` is that of the page.
    """

    declared: tuple[MemberList, ...]
    described: MemberList | None
    tables: tuple[SupportTable, ...]
    constraints: tuple[Constraint, ...]
    introduced: tuple[Introduced, ...]
    packages: tuple[tuple[int, str], ...]
    builds: tuple[tuple[int, str, int], ...]
    in_place: tuple[InPlace, ...]
    negative_indices: tuple[NegativeIndices, ...]
    date: str


def stated(page: Page) -> Stated:
    """The facts read from the page."""
    return Stated(
        declared=tuple(declarations(page)),
        described=described(page),
        tables=tuple(one for one in support_tables(page) if isinstance(one, SupportTable)),
        constraints=tuple(sentences.constraints(page)),
        introduced=tuple(sentences.introduced(page)),
        packages=tuple(sentences.packages(page)),
        builds=tuple(sentences.builds(page)),
        in_place=tuple(sentences.in_place(page)),
        negative_indices=tuple(sentences.negative_indices(page)),
        date=page.front.get("ms.date", ("", 0))[0].strip(),
    )
