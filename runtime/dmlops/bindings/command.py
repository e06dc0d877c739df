"""`dmlops bindings`: checks what is bound to operators, graphs and initializers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..answers import unreadable
from ..errors import JsonError
from ..quoting import shown
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
    clean = True
    for identity, bindings in _read(options.file):
        violations: list[Violation] = []
        advice: list[Violation] = []
        if isinstance(bindings, JsonError):
            violations = [unreadable(bindings)]
        else:
            violations, advice = bindings.validate(), bindings.advice()
        clean &= not violations
        answer = {
            "id": identity,
            "ok": not violations,
            "violations": [one.to_json() for one in violations],
            "advice": [one.to_json() for one in advice],
        }
        print(json.dumps(answer))
    return 0 if clean else 1


def _explain(options: argparse.Namespace) -> int:
    clean = True
    for number, (identity, bindings) in enumerate(_read(options.file)):
        if number:
            print()
        if identity is not None:
            print(f"[{shown(identity).strip(chr(34))}]")
        if isinstance(bindings, JsonError):
            text, good = f"Not valid bindings: {bindings}", False
        else:
            text, good = explain(bindings, style_for(sys.stdout))
        print(text)
        clean &= good
    return 0 if clean else 1
