"""Arguments that commands have in common, and how commands print their answers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .enums import NEWEST, FeatureLevel, feature_level
from .errors import JsonError
from .safe_text import shown

Made = TypeVar("Made")


def known_level(text: str) -> FeatureLevel:
    """The feature level with this name; ArgumentTypeError, with the closest levels, if there is none."""
    try:
        return feature_level(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_level(parser: Any) -> None:
    help_ = f"a feature level (default: {NEWEST})"
    parser.add_argument("--level", "--feature-level", type=known_level, default=NEWEST, help=help_)


def print_json(answers: Iterable[Mapping[str, Any]]) -> int:
    """Prints answers, one per line; the exit status, 1 if one is not "ok"."""
    clean = True
    for answer in answers:
        clean &= answer["ok"]
        print(json.dumps(answer))
    sys.stdout.flush()
    return 0 if clean else 1


def print_texts(
    read: Iterable[tuple[Any, Made | JsonError]], what: str, text_of: Callable[[Made], tuple[str, bool]]
) -> int:
    """Prints a text for each thing that is read, `what` it must be, below its id, unless that is None.

    `text_of` gives the text, and whether the thing is good. The exit status: 1 if one is not.
    """
    clean = True
    for number, (name, one) in enumerate(read):
        text, good = (f"Not {what}: {one}", False) if isinstance(one, JsonError) else text_of(one)
        if number:
            print()
        if name is not None:
            print(f"[{shown(name).strip(chr(34))}]")
        print(text)
        clean &= good
    sys.stdout.flush()
    return 0 if clean else 1
