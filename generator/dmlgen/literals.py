"""Text as literals of target languages, also for code that prints without templates."""

from __future__ import annotations

from dmlgen.text import Text


def plain(text: Text | str) -> str:
    return text.plain if isinstance(text, Text) else text


def c_string(text: Text | str) -> str:
    """A C11 and C++11 string literal: printable ASCII unchanged, other bytes of its UTF-8 in octal.

    An octal escape always ends after three digits, and escaping `?` prevents trigraphs.
    """
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    octets = plain(text).encode()
    return '"' + "".join(escapes.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in octets) + '"'
