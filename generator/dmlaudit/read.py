"""Parses pages: two generations of Markdown, machine translations of them, and plain text.

A page is untrusted. Its size and the length of its lines are bounded, and each regular expression takes time
linear in the line: what it repeats cannot match what follows. What cannot be read is an error of the page.

Lines are read one by one rather than with a Markdown library: there is none for plain text, translations need
their spans taken apart first, and every cell has to know its line.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from dmlaudit.page import Block, Code, Fault, Form, Heading, Page, Paragraph, Row, Table, Translation

MAX_BYTES = 1 << 18  # the largest documentation page is a sixth of this
MAX_LINE = 10_000  # characters
MAX_CELLS = 64  # in a row
MAX_SPANS = 4  # nesting depth

_FRONT = re.compile(r"([A-Za-z][\w.-]*):[ \t]*(.*)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"([ \t]*)[*+-][ \t]+(.*)")
_RULE_CELL = re.compile(r":?-+:?")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SPAN = re.compile(r"(<span[^<>]*>|</span>)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ESCAPE = re.compile(r"\\([^\w\s])|\\_")
_NAME = re.compile(r"[A-Z]\w*")
_BROKEN_OFF = re.compile(r"[,;)]|\.(?!\.)")


def read(path: Path) -> Page:
    """The page in a file. OSError if it cannot be read."""
    name = path.as_posix()
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return _unread(name, f"the page has more than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _unread(name, f"the page is not UTF-8: byte {error.start} is {data[error.start]:#04x}")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            return _unread(name, f"the line has more than {MAX_LINE} characters", number)
    return _Reader(name, lines).page()


def _unread(name: str, message: str, line: int = 1) -> Page:
    return Page(name, "Markdown", {}, (), faults=(Fault(line, message),))


def plain(text: str) -> str:
    """Inline Markdown and HTML as the text that a reader sees."""
    text = _TAG.sub("", _LINK.sub(r"\1", text).replace("<sup>", "^"))
    text = text.replace("\\*", "\0").replace("*", "").replace("`", "").replace("\0", "*")
    return " ".join(html.unescape(_ESCAPE.sub(lambda found: found[1] or "_", text)).split())


class _Reader:
    def __init__(self, name: str, lines: list[str]) -> None:
        self._name = name
        self._lines = lines
        self._at = 0
        self._blocks: list[Block] = []
        self._faults: list[Fault] = []
        self._translations: list[Translation] = []

    def page(self) -> Page:
        front = self._front_matter()
        form: Form = "Markdown with front matter" if front else "Markdown"
        if any("sxs-lookup" in line for line in self._lines):
            form = "machine translation"
            self._lines = [self._english(number, line) for number, line in enumerate(self._lines, 1)]
        elif not front and not any(line.startswith(("#", "```")) for line in self._lines):
            form = "plain text"
        while self._at < len(self._lines):
            self._block(form)
        return Page(
            self._name, form, front, tuple(self._blocks), tuple(self._translations), tuple(self._faults)
        )

    def _front_matter(self) -> dict[str, tuple[str, int]]:
        if self._lines[0].strip() != "---":
            return {}
        front: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(self._lines[1:], 2):
            if line.strip() == "---":
                self._at = number
                return front
            if found := _FRONT.fullmatch(line.rstrip()):
                front[found[1]] = found[2], number
        self._faults.append(Fault(1, "the front matter has no end"))
        self._at = len(self._lines)
        return front

    def _english(self, number: int, line: str) -> str:
        """A line with each translated text replaced by the English original that follows it."""
        parts, texts = [""], [""]
        marks: list[str] = []
        for piece in _SPAN.split(line):
            if len(marks) > MAX_SPANS:
                self._faults.append(Fault(number, f"more than {MAX_SPANS} spans within each other"))
                return line
            if piece.startswith("<span"):
                marks.append("sxs-lookup" if "sxs-lookup" in piece else "text")
                if marks == ["text"]:
                    texts.append("")
            elif piece == "</span>":
                if marks and marks.pop() == "sxs-lookup" and not marks:
                    english = parts[-1]
                    self._translations.append(Translation(number, plain(texts[-1]), plain(english)))
                    parts.append("")
            elif "sxs-lookup" in marks:
                parts[-1] += piece
            elif marks:
                texts[-1] += piece
            else:
                parts += [piece, ""]
        if marks:
            self._faults.append(Fault(number, "a span of the translation has no end"))
        return "".join(parts)

    def _block(self, form: Form) -> None:
        number, line = self._at + 1, self._lines[self._at]
        if line.lstrip().startswith("```"):
            self._code()
        elif found := _HEADING.fullmatch(line.rstrip()):
            self._blocks.append(Heading(number, len(found[1]), plain(found[2])))
            self._at += 1
        elif self._is_header():
            self._table()
        elif not line.strip():
            self._at += 1
        else:
            if "<table" in line.lower():
                self._faults.append(Fault(number, "a table in HTML"))
            if line.lstrip().startswith("|") and form != "plain text":
                self._faults.append(Fault(number, "a row of a table without a header and a line below it"))
            self._paragraph(form)

    def _code(self) -> None:
        first = self._at + 1
        end = first
        while end < len(self._lines) and not self._lines[end].lstrip().startswith("```"):
            end += 1
        if end == len(self._lines):
            self._faults.append(Fault(first, "the listing has no end"))
        self._blocks.append(Code(first + 1, tuple(self._lines[first:end])))
        self._at = end + 1

    def _table(self) -> None:
        first = self._at + 1
        header = _cells(self._lines[self._at])
        if len(header) > MAX_CELLS:
            self._faults.append(Fault(first, f"the table has more than {MAX_CELLS} columns"))
        if self._lines[self._at + 1].strip().strip("|").count("|") != len(header) - 1:
            self._faults.append(Fault(first + 1, "the line below the header has another number of cells"))
        self._at += 2
        rows: list[Row] = []
        while (
            self._at < len(self._lines) and "|" in (line := self._lines[self._at]) and not self._is_header()
        ):
            self._at += 1
            cells = _cells(line)
            if len(cells) == len(header) <= MAX_CELLS:
                rows.append(Row(self._at, cells))
            else:
                message = f"the row has {len(cells)} cells, the table's header has {len(header)}"
                self._faults.append(Fault(self._at, message))
        self._blocks.append(Table(first, header, tuple(rows)))

    def _is_header(self) -> bool:
        """Whether the line is the header of a table, judging by the one below."""
        at = self._at
        return at + 1 < len(self._lines) and "|" in self._lines[at] and _is_rule(self._lines[at + 1])

    def _paragraph(self, form: Form) -> None:
        """A list item, or lines up to the start of something else; in plain text mostly one line each."""
        first, line = self._at + 1, self._lines[self._at]
        item = _ITEM.fullmatch(line)
        taken = [item[2] if item else line.removeprefix(">").lstrip()]
        self._at += 1
        while self._at < len(self._lines) and self._continues(self._lines[self._at], form):
            taken.append(self._lines[self._at])
            self._at += 1
        if form != "plain text" and len(taken) > 1 and _NAME.fullmatch(plain(taken[0])):
            self._at -= len(taken) - 1  # a member's name above its type, without an empty line
            del taken[1:]
        depth = len(item[1].expandtabs(4)) if item else None
        text = (
            "\n".join(map(plain, taken))
            if form != "plain text"
            else "\n".join(" ".join(one.split()) for one in taken)
        )
        self._blocks.append(Paragraph(first, text, "\n".join(taken), depth))

    def _continues(self, line: str, form: Form) -> bool:
        if form == "plain text":  # it breaks lines where there used to be markup
            return _BROKEN_OFF.match(line) is not None
        rest = line.strip()
        starts = rest.startswith(("#", "```", "|", ">", "<table")) or _ITEM.fullmatch(line) is not None
        return bool(rest) and not starts and not self._is_header()


def _is_rule(line: str) -> bool:
    """Whether it is the separator line below the header of a table."""
    text = line.strip()
    if "|" not in text or "-" not in text or not set(text) <= set("|:- \t"):
        return False
    return all(
        _RULE_CELL.fullmatch(cell.strip()) for cell in text.removeprefix("|").removesuffix("|").split("|")
    )


def _cells(line: str) -> tuple[str, ...]:
    text = line.strip().replace("\\|", "\0")
    text = text.removeprefix("|").removesuffix("|")
    if text.count("|") >= MAX_CELLS:
        return ("",) * (MAX_CELLS + 1)
    return tuple(plain(cell.replace("\0", "|")) for cell in text.split("|"))
