"""Finds statements in running text with a fixed form: equal fields, ranges, levels, shared buffers.

Only complete sentences of a known form are parsed. Other items in a list of constraints are returned unparsed
and reported; a sentence that is not understood is never treated as agreement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dmlaudit.page import Page, Paragraph
from dmlaudit.tables import level_in
from dmlgen.registry import Member

_LONGEST = 80  # longest text that names fields, in characters
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^\s].*?(?:\.(?=\s|-|$)|$)", re.MULTILINE)
_LIST = re.compile(r" ?, ?(?:and )?| and ")
_SAME = re.compile(r"(\w[\w, ]*) must have the same (\w[\w, ]*)\.?")
_FIELD_NAMES = re.compile(r"(\w+(?:,? and \w+)?)(?: of this tensor)?$")
_MATCHED = re.compile(r"(\w+)\.(\w+)(?:( for every dimension except )(\w+)|(,? except))?")
_AS_THE = re.compile(r"This tensor must have the same (\w+(?: \w+)*) as (?:the )?(\w+)(?: tensor)?\.?")
_RANGE = re.compile(r"(?:ranging|in the range) ([\[(]) ?(\w+), ?([\w.]+)( - 1)? ?([\])])")
_BOTH = re.compile(r"ranging within both")
_BELOW = re.compile(r"This value must be less than (or equal to )?the DimensionCount of (?:the )?(\w+)\.?")
_EQUALS = re.compile(r"This value must (?:match|equal) (?:the )?DimensionCount of (?:the )?(\w+)\.?")
_FIELDS = {
    "sizes": "Sizes",
    "dimensioncount": "DimensionCount",
    "dimension count": "DimensionCount",
    "datatype": "DataType",
    "data type": "DataType",
}
_INTRODUCED = re.compile(
    r"(?:^This (?:operator|API|enumeration)|^A newer version of this operator, (DML_\w+),) was introduced in "
    r"(?:DirectML version )?(\w+(?:\.\w+)*)"
)
_PACKAGE = re.compile(r"Microsoft\.AI\.DirectML version (\d+(?:\.\d+)*) and later")
_BUILD = re.compile(r"\bBuild (?:10\.0\.)?(\d{5})\b")
_NEGATIVE = re.compile(r"Starting with (\w+), this operator supports negative index values\b")
_EXCEPT = re.compile(r"with the exception of the (\w+), are eligible")


@dataclass(frozen=True)
class Same:
    """Tensors whose field is the same."""

    line: int
    field: str
    tensors: tuple[str, ...]

    def with_input(self, inputs: Sequence[Member]) -> Same:
        """The constraint with the only input by its name, if the page says "the input tensor"."""
        if len(inputs) != 1:
            return self
        names = (inputs[0].name if name == "input" else name for name in self.tensors)
        return replace(self, tensors=tuple(names))


@dataclass(frozen=True)
class SameButAxis:
    """Tensors whose sizes are the same except along a member's axis."""

    line: int
    axis: str
    tensors: tuple[str, str]


@dataclass(frozen=True)
class Crossed:
    """A field of a tensor that is said to match a field of another kind."""

    line: int
    tensor: str
    field: str
    other: str


@dataclass(frozen=True)
class Bound:
    """A bound on an integer: `Axis < InputTensor.DimensionCount`."""

    line: int
    member: str
    op: str
    bound: str

    @property
    def text(self) -> str:
        return f"{self.member} {self.op} {self.bound}"


@dataclass(frozen=True)
class Introduced:
    """The feature level, or DirectML version, that introduced something.

    `newer` names the struct of another operator; "" is the subject of the page.
    """

    line: int
    newer: str
    level: str | None
    version: str | None


@dataclass(frozen=True)
class NegativeIndices:
    """The feature level from which indices may be negative."""

    line: int
    level: str


@dataclass(frozen=True)
class InPlace:
    """Inputs whose buffer outputs may share; if none is named, all of them except the `exception`."""

    line: int
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    exception: str = ""


@dataclass(frozen=True)
class Unread:
    """A constraint in an unknown form."""

    line: int
    text: str


Constraint = Same | SameButAxis | Crossed | Bound | Unread


def sentences(paragraph: Paragraph) -> Iterator[tuple[int, str]]:
    """The sentences of a paragraph, each with its line."""
    for found in _SENTENCE.finditer(paragraph.text.replace("\n", " ")):
        text = " ".join(found[0].split()).removeprefix("- ").replace(" ,", ",").replace(" .", ".")
        if text.strip(".-"):
            yield paragraph.line_at(found.start() + (found[0].startswith("-"))), text


def constraints(page: Page) -> Iterator[Constraint]:
    """The whole list of constraints, and those in the descriptions of members that have a known form."""
    for section in page.sections:
        listed = section.title == "Tensor constraints"
        member = section.title if any(one.text == "Members" for one in section.path) else ""
        for block in section.blocks:
            if not isinstance(block, Paragraph):
                continue
            if re.fullmatch(r"[A-Z]\w*", block.text):
                member = block.text
            for line, text in sentences(block):
                found = list(_constraints(line, text, member))
                yield from found
                if listed and not found:
                    yield Unread(line, text)


def _constraints(line: int, text: str, member: str) -> Iterator[Constraint]:
    if member and (found := _AS_THE.fullmatch(text)):
        for name in _LIST.split(found[1]):
            field = _FIELDS.get(name.casefold())
            yield Same(line, field, (member, found[2])) if field else Unread(line, text)
    elif (found := _SAME.fullmatch(text)) and all(map(_WORD.fullmatch, _LIST.split(found[1]))):
        for name in _LIST.split(found[2]):
            field = _FIELDS.get(name.casefold())
            yield Same(line, field, tuple(_LIST.split(found[1]))) if field else Unread(line, text)
    elif member:
        yield from _of_member(line, text, member)


def _of_member(line: int, text: str, member: str) -> Iterator[Constraint]:
    yield from _matches(line, text, member)
    if text.startswith("This value must") and member.endswith(("Tensor", "Tensors")):
        yield Unread(line, text)  # of some number that the text has just computed
    elif found := _BELOW.fullmatch(text):
        yield Bound(line, member, "<=" if found[1] else "<", f"{found[2]}.DimensionCount")
    elif found := _EQUALS.fullmatch(text):
        yield Bound(line, member, "==", f"{found[1]}.DimensionCount")
    yield from _ranges(line, text, member)


def _matches(line: int, text: str, member: str) -> Iterator[Constraint]:
    """Fields of a tensor that are said to match those of another."""
    before, verb, text = text.partition(" must match ")
    while verb:
        fields, match = _FIELD_NAMES.search(before[-_LONGEST:]), _MATCHED.match(text)
        if fields and match:
            names = _LIST.split(fields[1])
            other, field, but_axis, axis, excepts = match.groups()
            if but_axis and names == [field] == ["Sizes"]:
                yield SameButAxis(line, axis, (member, other))
            elif not but_axis and not excepts and {*names, field} <= set(_FIELDS.values()):
                for name in names:
                    same = Same(line, name, (member, other))
                    yield same if name == field else Crossed(line, member, name, f"{other}.{field}")
        before, verb, text = text[match.end() if match else 0 :].partition(" must match ")


def _ranges(line: int, text: str, member: str) -> Iterator[Bound]:
    """Ranges such as [0, InputTensor.DimensionCount)."""
    for found in _RANGE.finditer(text):
        least = int(found[2]) if found[2].isdecimal() else 0
        excluded = bool(found[4]) or found[5] == ")"
        if found[3].endswith(".DimensionCount") and not _BOTH.search(text):
            if least + (found[1] == "(") > 0:
                yield Bound(line, member, ">=", str(least + (found[1] == "(")))
            yield Bound(line, member, "<" if excluded else "<=", found[3])


def introduced(page: Page) -> Iterator[Introduced]:
    """When the subject of the page was introduced."""
    for paragraph in page.paragraphs:
        for line, text in sentences(paragraph):
            if found := _INTRODUCED.search(text):
                level = level_in(found[2])
                yield Introduced(line, found[1] or "", level, None if level else found[2])


def packages(page: Page) -> Iterator[tuple[int, str]]:
    """The first version of the redistributable package that has it."""
    for paragraph in page.paragraphs:
        for found in _PACKAGE.finditer(paragraph.text.replace("\n", " ")):
            yield paragraph.line_at(found.start()), found[1]


def builds(page: Page) -> Iterator[tuple[int, str, int]]:
    """The Windows builds in the table of requirements: line, what they are, number."""
    for table in page.tables:
        for row in table.rows:
            if len(row.cells) == 2 and row.cells[0].startswith("Minimum supported"):
                for found in _BUILD.finditer(row.cells[1]):
                    yield row.line, row.cells[0], int(found[1])


def negative_indices(page: Page) -> Iterator[NegativeIndices]:
    """From which level on the page allows negative indices."""
    for paragraph in page.paragraphs:
        for line, text in sentences(paragraph):
            if (found := _NEGATIVE.match(text)) and (level := level_in(found[1])):
                yield NegativeIndices(line, level)


def in_place(page: Page) -> Iterator[InPlace]:
    """The page's statements about outputs that share the buffers of inputs."""
    found: list[InPlace] = []
    for paragraph in page.paragraphs:
        for line, text in sentences(paragraph):
            if "supports in-place execution" in text:
                outputs, _, rest = text.partition(" permitted to alias ")
                inputs = rest.partition(" during binding")[0]
                found.append(InPlace(line, _tensors(outputs), _tensors(inputs)))
            elif found and (but := _EXCEPT.search(text)):
                found[-1] = replace(found[-1], exception=but[1])
    yield from found


def _tensors(text: str) -> tuple[str, ...]:
    return tuple(name for name in _WORD.findall(text) if name.endswith("Tensor"))
