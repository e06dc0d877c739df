"""docs/CONCEPTS.md as chapters of the site.

It uses this much of Markdown: headings, paragraphs, fenced code, `code`, *emphasis* and links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

_INLINE = re.compile(r"`([^`]+)`|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)|([A-Z][A-Z0-9_]+(?:-[A-Za-z0-9_-]+)?)")
_LINKS = {"FEATURE_LEVELS.md": "levels/index.html"}
"""Pages of the site in place of those beside the file."""


@dataclass(frozen=True)
class Chapter:
    """A chapter, whose `words` the search finds. `id` is its anchor, as on GitHub."""

    id: str
    title: str
    words: str
    text: Markup


def chapters(text: str, links: Mapping[str, str]) -> tuple[str, tuple[Chapter, ...]]:
    """The introduction and the chapters of a Markdown file; words that are keys of `links` lead there."""
    head, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    found = []
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        words = " ".join(dict.fromkeys(re.findall(r"\w+", body)))
        found.append(Chapter(anchor, title, words, Markup("\n").join(_blocks(body, links))))
    return head.partition("\n")[2].strip(), tuple(found)


def _blocks(body: str, links: Mapping[str, str]) -> list[Markup]:
    pieces = re.split(r"```\w+\n(.*?)```", body, flags=re.DOTALL)
    blocks = []
    for number, piece in enumerate(pieces):
        if number % 2:
            blocks.append(Markup("<pre><code>{}</code></pre>").format(piece))
        else:
            paragraphs = (one for one in piece.split("\n\n") if one.strip())
            blocks += [Markup("<p>{}</p>").format(_inline(one.strip(), links)) for one in paragraphs]
    return blocks


def _inline(text: str, links: Mapping[str, str]) -> Markup:
    pieces, end = [], 0
    for found in _INLINE.finditer(text):
        code, emphasis, label, target, word = found.groups()
        pieces.append(escape(text[end : found.start()]))
        end = found.end()
        if code:
            pieces.append(Markup("<code>{}</code>").format(code))
        elif emphasis:
            pieces.append(Markup("<em>{}</em>").format(emphasis))
        elif label:
            pieces.append(Markup('<a href="{}">{}</a>').format(_LINKS[target], label))
        elif word in links:
            pieces.append(Markup('<a href="{}">{}</a>').format(links[word], word))
        else:
            pieces.append(escape(word))
    return Markup("").join([*pieces, escape(text[end:])])
