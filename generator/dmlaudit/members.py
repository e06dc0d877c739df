"""Finds what a page says about the members of a struct: lists, type lines, C declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from dmlaudit.page import Code, Heading, Page, Paragraph
from dmlaudit.read import plain

_NAME = re.compile(r"[A-Za-z]\w*")
_TYPE_LINE = re.compile(r"Type:[ \t]*(.*)")
_STRUCT = re.compile(r"\s*(?:typedef\s+)?struct\s+(\w+)\s*(\{?)\s*")
_COUNT = re.compile(r"_Field_size_(?:opt_)? ?\( ?(\w+) ?\)")
_PARENTHESES = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class StatedType:
    """The type of a member: `base` is like DML_TENSOR_DESC, `count` is the member stated as its length."""

    line: int
    base: str
    pointer: bool
    optional: bool
    count: str | None


@dataclass(frozen=True)
class StatedMember:
    line: int
    name: str
    type: StatedType | None


@dataclass(frozen=True)
class MemberList:
    """The members of a struct, in page order. `struct` is its name if the page gives it there."""

    line: int
    struct: str
    members: tuple[StatedMember, ...]


def declarations(page: Page) -> Iterator[MemberList]:
    """The structs that the page declares in C."""
    lines: list[tuple[int, str]] = []
    for block in page.blocks:
        if isinstance(block, Code):
            yield from _structs([(block.line + i, text) for i, text in enumerate(block.lines)])
        elif isinstance(block, Paragraph) and page.form == "plain text":
            lines += [(block.line + i, text) for i, text in enumerate(block.source.split("\n"))]
    yield from _structs(lines)


def described(page: Page) -> MemberList | None:
    """The members that the page describes one by one, each below its name."""
    found: list[StatedMember] = []
    below = {
        id(section.path[-1])
        for section in page.sections
        if any(heading.text == "Members" for heading in section.path[:-1])
    }
    for block, following in zip_longest(page.blocks, page.blocks[1:]):
        named = (isinstance(block, Heading) and id(block) in below) or (
            isinstance(block, Paragraph) and _is_type(following)
        )
        if isinstance(block, Heading | Paragraph) and named and _NAME.fullmatch(block.text):
            found.append(StatedMember(block.line, block.text, None))
        elif found and isinstance(block, Paragraph) and _is_type(block) and found[-1].type is None:
            found[-1] = StatedMember(
                found[-1].line, found[-1].name, _type_line(block, page.form == "plain text")
            )
    return MemberList(found[0].line, "", tuple(found)) if found else None


def _is_type(block: object) -> bool:
    return isinstance(block, Paragraph) and _TYPE_LINE.match(block.text) is not None


def _type_line(block: Paragraph, is_plain: bool) -> StatedType:
    """Parses what follows "Type:": annotations, then the type, mostly in bold, with or without a final star.

    In Markdown, two of the stars at the end belong to the bold type and one, escaped or not, to the pointer.
    """
    found = _TYPE_LINE.match(block.source)
    text = (found[1] if found else "").strip()
    unescaped = text.replace("\\", "")
    pointer = (len(unescaped) - len(unescaped.rstrip("*"))) % 2 == 1
    return _stated_type(block.line, text if is_plain else plain(text), pointer)


def _stated_type(line: int, text: str, pointer: bool) -> StatedType:
    count = _COUNT.search(text)
    rest = _PARENTHESES.sub(" ", _PARENTHESES.sub(" ", text))  # arguments of annotations, nested once
    words = [word for word in _WORD.findall(rest) if word != "const" and not word.startswith("_")]
    base = " ".join(words)
    return StatedType(
        line, base, pointer, "_Maybenull_" in text or "_size_opt_" in text, count[1] if count else None
    )


def _structs(lines: Sequence[tuple[int, str]]) -> Iterator[MemberList]:
    at = 0
    while at < len(lines):
        line, text = lines[at]
        at += 1
        opening = _STRUCT.fullmatch(text)
        if not opening or not (opening[2] or (at < len(lines) and lines[at][1].strip() == "{")):
            continue
        at += not opening[2]
        members: list[StatedMember] = []
        while at < len(lines) and not lines[at][1].lstrip().startswith("}"):
            number, declaration = lines[at]
            declared, semicolon, _ = " ".join(declaration.split()).partition(";")
            if semicolon and (words := _WORD.findall(declared)):
                before = declared[: declared.rindex(words[-1])]
                members.append(StatedMember(number, words[-1], _stated_type(number, before, "*" in before)))
            at += 1
        yield MemberList(line, opening[1], tuple(members))
