"""Renders templates: one Jinja environment, with a quoting filter for every target language.

A text begins with its head, except for JSON, whose templates print `banner` in a "$comment".
"""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from collections.abc import Collection
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from dmlgen import __version__
from dmlgen.banner import banner, head
from dmlgen.cache import Cache
from dmlgen.literals import c_string, plain
from dmlgen.memory import Memory
from dmlgen.names import ARITHMETIC, pascal
from dmlgen.outputs.python_imports import with_used_imports
from dmlgen.outputs.python_lines import wrapped
from dmlgen.text import Text


class Templates:
    """The templates below a directory. Names use forward slashes: "c/dmlops.h.j2".

    `memory` has what outputs made of operators in earlier runs, with these templates.
    """

    def __init__(self, directory: Path, memory: Memory | None = None) -> None:
        self.directory = directory
        self.memory = memory or Memory()
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(directory),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # every language has its own filter; HTML is escaped additionally, below
            finalize=_quoted,
            bytecode_cache=_Compiled(self.memory.cache, "plain"),
        )
        self._environment.globals.update(version=__version__, arithmetic=ARITHMETIC)
        self._environment.filters.update(
            string=python_string, cell=cell, comment=comment, docstring=docstring, pascal=pascal
        )
        self._for_c = self._environment.overlay()
        self._for_c.filters = {**self._environment.filters, "string": c_string, "conversions": conversions}
        self._for_html = self._environment.overlay(
            autoescape=True, bytecode_cache=_Compiled(self.memory.cache, "html")
        )
        self._for_html.filters = {**self._environment.filters, "html": html, "prose": prose}

    def render(self, name: str, **context: Any) -> bytes:
        """The rendered template, after its head."""
        sources = ("specs/", f"templates/{name}")
        environment = self._environment
        if name.startswith("c/"):
            environment = self._for_c
        elif name.endswith(".html.j2"):
            environment = self._for_html
        text = environment.get_template(name).render(**context, banner=banner(*sources))
        text = head(name.removesuffix(".j2"), *sources) + text
        return (wrapped(with_used_imports(text)) if name.endswith(".py.j2") else text).encode()

    def text(self, name: str, **context: Any) -> str:
        """The rendered template, for a file that will be edited by hand."""
        return self._environment.get_template(name).render(**context)

    def plain_files(self, folder: str) -> dict[str, bytes]:
        """The files below a folder that are not templates, by path within it; they are copied unchanged."""
        return plain_files(self.directory / folder)


def plain_files(root: Path) -> dict[str, bytes]:
    """The files below a folder that are not templates, by path within it."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".j2")
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in files
        if "__pycache__" not in path.parts
    }


class _Compiled(jinja2.BytecodeCache):
    """Caches templates compiled by Jinja, by their text. The environment is defined in this module."""

    def __init__(self, cache: Cache, environment: str) -> None:
        self._cache = cache
        self._key = "template", hashlib.sha256(Path(__file__).read_bytes()).hexdigest(), environment

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        data = self._cache.get(*self._key, bucket.key)
        if data is not None:
            bucket.bytecode_from_string(data)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self._cache.put(bucket.bytecode_to_string(), *self._key, bucket.key)


def _quoted(value: object) -> object:
    """The text of a template; rejects free text that no filter has quoted."""
    if isinstance(value, Text):
        raise TypeError(f"a template prints {value.plain!r} as it stands")
    return value


def python_string(text: Text | str) -> str:
    """A string literal of Python: ASCII in double quotes."""
    return "".join(_python_character(char) for char in json.dumps(plain(text), ensure_ascii=False))


def _python_character(char: str) -> str:
    if " " <= char <= "~":
        return char
    return f"\\U{ord(char):08x}" if ord(char) > 0xFFFF else f"\\u{ord(char):04x}"


def docstring(text: Text, width: int = 0) -> str:
    """Text for a docstring, which it cannot end; wrapped to a width, if one is given."""
    lines = textwrap.wrap(text.plain, width, break_on_hyphens=False) if width else [text.plain]
    return "\n".join(line.replace("\\", "\\\\").replace('"', "'") for line in lines)


def cell(text: Text | str) -> str:
    """Text for a cell of a Markdown table, which can neither end the cell nor start HTML."""
    line = " ".join(plain(text).split())
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*")):
        line = line.replace(char, entity)
    return line


def conversions(text: Text) -> str:
    """Text for a format string, in which % starts a conversion; it must still be quoted."""
    return text.plain.replace("%", "%%")


def html(text: Text | str) -> Markup:
    """Text for HTML, between tags and in quoted attributes."""
    return escape(plain(text))


def prose(text: Text | str, names: Collection[str]) -> Markup:
    """Text for HTML; paths that begin with one of the names, and text in backticks, are set as code."""
    pieces: list[Markup] = []
    end, given = 0, plain(text)
    for found in _PATH.finditer(given):
        if found[1] or found[2] in names:
            code = Markup("<code>{}</code>").format(found[1] or found[0])
            pieces += [escape(given[end : found.start()]), code]
            end = found.end()
    return Markup("").join([*pieces, escape(given[end:])])


_PATH = re.compile(r"`([^`]+)`|\b([A-Z]\w+)(?:\[\w+\])?(?:\.[A-Z]\w+(?:\[\w+\])?)*")


def comment(text: Text | str) -> str:
    """Text that cannot end a comment of C or HLSL: one line, no end of comment, no line splices.

    A backslash at the end of a line splices it, and so does the trigraph for it.
    """
    line = " ".join(plain(text).split()).replace("*/", "* /").replace("/*", "/ *")
    line = re.sub(r"\?(?=\?)", "? ", line)
    return line + "." if line.endswith("\\") else line


def json_lines(value: Any, depth: int) -> str:
    """JSON in which entries down to a depth have their own lines, but those of lists of plain values."""
    if depth and value and isinstance(value, dict):
        parts = (f"{json.dumps(key)}: {json_lines(one, depth - 1)}" for key, one in value.items())
        return "{\n" + ",\n".join(parts) + "\n}"
    if depth and value and isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        return "[\n" + ",\n".join(json_lines(one, depth - 1) for one in value) + "\n]"
    return json.dumps(value, allow_nan=False)
