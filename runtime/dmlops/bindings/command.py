"""`dmlops bindings`: checks what is bound to operators, graphs and initializers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..arguments import print_json, print_texts
from ..errors import JsonError
from ..json_results import judged
from ..reading import tried, values
from ..terminal import style_for
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
    return ((identity, tried(from_json, value)) for identity, value in values(path))


def _validate(options: argparse.Namespace) -> int:
    return print_json(judged(*one, None) for one in _read(options.file))


def _explain(options: argparse.Namespace) -> int:
    style = style_for(sys.stdout)
    return print_texts(_read(options.file), "valid bindings", lambda bindings: explain(bindings, style))
