"""Reads graphs from files of any form."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ..reading import Entry, values


def graphs(path: str) -> Iterator[Entry]:
    """The graphs in a file of JSON values, one a line or a single one; "-" is standard input.

    Raises OSError if it cannot be read.
    """
    if path == "-":
        yield from values(sys.stdin.buffer)
        return
    with open(path, "rb") as file:
        yield from values(file)
