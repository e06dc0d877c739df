"""Texts as literals of target languages, for those who print without templates, too."""

from __future__ import annotations

from dmlgen.text import Text


def plain(text: Text | str) -> str:
    return text.plain if isinstance(text, Text) else text


def c_string(text: Text | str) -> str:
    """A string literal of C11 and C++11: printable ASCII as it is, other bytes of its UTF-8 in octal.

    An octal escape ends after three digits, whatever follows it, and `?` escaped is no trigraph.
    """
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    octets = plain(text).encode()
    return '"' + "".join(escapes.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in octets) + '"'
