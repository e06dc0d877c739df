"""Breaks long lines of generated Python like a formatter would.

The content of brackets, which are added if necessary, is split at what binds least: at commas, with as many
pieces on a line as fit, otherwise before `for`, `if` and `else`, `or`, `and`, a comparison, a sign. Each
piece is then treated in the same way, one level deeper at every bracket, until it fits or is a single word.
This terminates because every piece is shorter than the whole. Strings are split after spaces.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise

WIDTH = 110

_QUOTES = '"""'
_STRING = re.compile(r"""[rbf]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_STATEMENT = re.compile(r"return |(?P<colon>(?:if|elif|for [\w, ]+ in) )|[\w.]+(?:: [^=]+)? [-+*]?= ")
_LEAD = re.compile(  # what precedes a piece: an operator, a keyword, a parameter's or an entry's name
    r"(?:and|or|not|if|else|for [\w, ]+ in|in|not in|is|is not|==|!=|<=|>=|<|>|[-+*/%]|//) (?! )"
    r"""|\w+=(?!=)|"[^"]*": |lambda[\w, ]*: |\*\*?(?=\w)"""
)
_PARAMETERS = re.compile(r"(?<=lambda )[\w, ]+(?=:)")
_LOOP = re.compile(r" (?=for [\w, ]+ in )")
_COMMA = re.compile(r"(?<=,) ")
_OPERATORS = tuple(  # that can start a line, lowest precedence first
    re.compile(f" (?=(?:{words}) )")
    for words in ("if|else", "or", "and", "==|!=|<=|>=|<|>|in|not in|is|is not", "[-+]", r"\*|//|/|%")
)
_WORD = re.compile(r"(?:\{\{|\}\}|\{[^{}]*\}|\\.|[^ {}\\])+ *| +")  # keeps fields of an f-string whole


def wrapped(text: str) -> str:
    """A module with its long lines broken."""
    lines: list[str] = []
    inside = False  # a docstring
    for line in text.split("\n"):
        is_text = inside or _QUOTES in line
        inside ^= line.count(_QUOTES) % 2 == 1
        if len(line) <= WIDTH:
            lines.append(line)
        elif is_text or line.lstrip().startswith("#"):
            lines += _prose(line, "" if is_text else "# ")
        else:
            lines += _statement(line)
    return "\n".join(lines)


def _prose(line: str, mark: str) -> list[str]:
    """A line of a docstring, or a comment; the description of a name is indented further than the name."""
    text = line.strip()
    indent = line[: len(line) - len(text)]
    deeper = "    " if re.match(r"\w+ \([^)]*\): ", text) else ""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + deeper + mark,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _statement(line: str) -> Iterator[str]:
    """A statement, or a piece that has its own line inside brackets."""
    code = line.strip()
    indent = line[: len(line) - len(code)]
    head = _STATEMENT.match(code)
    if head is None or code.endswith(","):
        end = "," if code.endswith(",") else ""
        yield from _laid(code.removesuffix(end), indent, end)
        return
    end = ":" if head["colon"] else ""
    yield from _opened(code[head.end() :].removesuffix(end), indent, end, head[0])


def _laid(code: str, indent: str, end: str = "", lead: str = "") -> Iterator[str]:
    """The content of brackets: an expression, or several with commas; `lead` and `end` surround it."""
    if len(indent) + len(lead) + len(code) + len(end) <= WIDTH:
        yield f"{indent}{lead}{code}{end}"
    elif not lead and len(pieces := _pieces(code)) > 1:
        if pieces[0].endswith(","):
            pieces = list(_filled(pieces, WIDTH - len(indent) - 1))
        for piece in pieces[:-1]:
            comma = "," if piece.endswith(",") else ""
            yield from _laid(piece.removesuffix(","), indent, comma)
        yield from _laid(pieces[-1].removesuffix(","), indent, "," if pieces[0].endswith(",") else end)
    elif not lead and (found := _LEAD.match(code)):
        yield from _laid(code[found.end() :], indent, end, found[0])
    elif not lead and _STRING.fullmatch(code):
        lines = list(_texts(code, indent))
        yield from lines[:-1]
        yield lines[-1] + end
    else:
        yield from _opened(code, indent, end, lead)


def _filled(pieces: list[str], room: int) -> Iterator[str]:
    """Pieces with commas, several in one as long as that is no wider than `room`."""
    line = pieces[0]
    for piece in pieces[1:]:
        if len(line) + 1 + len(piece) <= room:
            line = f"{line} {piece}"
        else:
            yield line
            line = piece
    yield line


def _opened(code: str, indent: str, end: str, lead: str) -> Iterator[str]:
    """An expression after `lead`: its longest bracket gets its own lines, or a new pair around everything."""
    room = WIDTH - len(indent) - len(lead)
    start, stop = _longest_bracket(code, room)
    if lead and (start == stop or start > room or len(_pieces(code)) > 1):
        yield f"{indent}{lead}("
        yield from _laid(code, f"{indent}    ")
        yield f"{indent}){end}"
        return
    inner, comma = code[start:stop], ""
    if inner.endswith(",") or (len(inner) > room and "," in _pieces(inner)[0][-1:]):
        inner, comma = inner.removesuffix(","), ","
    if inner:
        yield f"{indent}{lead}{code[:start]}"
        yield from _laid(inner, f"{indent}    ", comma)
        yield f"{indent}{code[stop:]}{end}"
    else:
        yield f"{indent}{lead}{code}{end}"


def _texts(code: str, indent: str) -> Iterator[str]:
    """A string split into several, one per line; those without values need no f prefix."""
    kind, _, rest = code.partition('"')
    parts = [""]
    for word in _WORD.findall(rest[:-1]):
        if parts[-1] and len(indent) + len(kind) + len(parts[-1]) + len(word) + 3 > WIDTH:
            parts.append("")
        parts[-1] += word
    for part in parts:
        yield f'{indent}{kind if "{" in part or "}" in part else kind.replace("f", "")}"{part}"'


def _pieces(code: str) -> list[str]:
    """The pieces of an expression, each with the comma after it or the operator before it."""
    flat = _flat(code)
    for split in (_LOOP if _LOOP.search(f" {flat}") else _COMMA, *_OPERATORS):
        places = [one.start() for one in split.finditer(flat)]
        if places:
            return [code[start + 1 : stop] for start, stop in pairwise([-1, *places, len(code)])]
    return [code]


def _flat(code: str) -> str:
    """Code with the characters of strings, parameters and bracket contents replaced by underscores."""
    flat = _STRING.sub(lambda found: "_" * len(found[0]), code)
    flat = _PARAMETERS.sub(lambda found: "_" * len(found[0]), flat)
    depth = 0
    characters = []
    for character in flat:
        depth -= character in ")]}"
        characters.append("_" if depth else character)
        depth += character in "([{"
    return "".join(characters)


def _longest_bracket(code: str, room: int) -> tuple[int, int]:
    """The start and end of the content of the longest outermost bracket.

    It should open within so many columns, if possible.
    """
    inside = [found.span(1) for found in re.finditer(r"[(\[{](_*)(?=[)\]}])", _flat(code))]
    return max(inside, key=lambda one: (one[0] <= room, one[1] - one[0]), default=(0, 0))
