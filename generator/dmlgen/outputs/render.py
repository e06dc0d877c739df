"""Templates to text: one Jinja environment, with the quoting of every target language.

A text begins with its head, but for JSON, whose templates print `banner` in a "$comment".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from dmlgen import __version__
from dmlgen.banner import banner, head


class Templates:
    """The templates below a directory. Names use forward slashes: "c/dmlops.h.j2"."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(directory),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # no HTML here: every language has a filter of its own
        )
        self._environment.globals["version"] = __version__
        self._environment.filters.update(string=string, comment=comment)

    def render(self, name: str, **context: Any) -> bytes:
        """The template's text for this context, after its head."""
        sources = ("specs/", f"templates/{name}")
        text = self._environment.get_template(name).render(**context, banner=banner(*sources))
        return (head(name.removesuffix(".j2"), *sources) + text).encode()

    def plain_files(self, folder: str) -> dict[str, bytes]:
        """The files below a folder that are no templates, by path within it; they are copied as they are."""
        root = self.directory / folder
        files = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".j2")
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in files
            if "__pycache__" not in path.parts
        }


def string(text: str) -> str:
    """A string literal, the same in Python, C and HLSL: ASCII in double quotes."""
    return json.dumps(text)


def comment(text: str) -> str:
    """Text that cannot leave a comment: one line, no end of comment, no trailing backslash."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").rstrip("\\")
