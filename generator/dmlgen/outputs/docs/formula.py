"""Marked-up text of the spec language on the site, in which names link to their definitions."""

from __future__ import annotations

import re
from collections.abc import Collection

from markupsafe import Markup, escape

_TOKEN = re.compile(r"([A-Za-z_]\w*)|(\d[\w.]*)")
_WORDS = frozenset(["if", "else", "for", "in", "and", "or", "not", "when", "range"])


def code(text: str, links: Collection[str] = ()) -> Markup:
    """Text of the spec language with its words and numbers marked, and links to the names in `links`."""
    parts: list[Markup] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(escape(text[end : found.start()]))
        end = found.end()
        name = found[1]
        if name is None:
            parts.append(Markup("<b class=n>{}</b>").format(found[0]))
        elif name in _WORDS:
            parts.append(Markup("<b class=k>{}</b>").format(name))
        elif name in links and text[found.start() - 1 : found.start()] != ".":
            parts.append(Markup('<a href="#let-{0}">{0}</a>').format(name))
        else:
            parts.append(escape(name))
    parts.append(escape(text[end:]))
    return Markup("").join(parts)
