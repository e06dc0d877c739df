"""`dmlops bindings`: checks what is bound to operators, graphs and initializers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..arguments import print_json, print_texts
from ..errors import JsonError
from ..json_results import judgment, unreadable
from ..reading import Entry, values
from ..terminal import style_for
from ..violation import Violation
from .explaining import explain
from .json_form import from_json
from .model import Bindings


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    parser = added("bindings", lambda options: options.act(options), "Check what is bound to operators")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, act, summary in (
        ("validate", _validate, "Check bindings and print one JSON result per line"),
        ("explain", _explain, "Explain what is wrong with bindings"),
    ):
        one: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=f"{summary}.")
        one.add_argument("file", metavar="FILE", help="bindings in JSON; - is standard input")
        one.set_defaults(act=act)


def _read(path: str) -> Iterator[tuple[Any, Bindings | JsonError]]:
    """The bindings in a file, each with its id, or the reason why there are none."""

    def read(entry: Entry) -> tuple[Any, Bindings | JsonError]:
        try:
            return entry.identity, entry.error or from_json(entry.value)
        except JsonError as error:
            return entry.identity, error

    if path == "-":
        yield from map(read, values(sys.stdin.buffer))
        return
    with open(path, "rb") as file:
        yield from map(read, values(file))


def _validate(options: argparse.Namespace) -> int:
    return print_json(judgment(identity, *_judged(one)) for identity, one in _read(options.file))


def _judged(bindings: Bindings | JsonError) -> tuple[list[Violation], list[Violation]]:
    """The violations and the advice."""
    if isinstance(bindings, JsonError):
        return [unreadable(bindings)], []
    return bindings.validate(), bindings.advice()


def _explain(options: argparse.Namespace) -> int:
    return print_texts((identity, *_explained(one)) for identity, one in _read(options.file))


def _explained(bindings: Bindings | JsonError) -> tuple[str, bool]:
    if isinstance(bindings, JsonError):
        return f"Not valid bindings: {bindings}", False
    return explain(bindings, style_for(sys.stdout))
