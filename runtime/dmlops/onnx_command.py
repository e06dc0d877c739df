"""`python -m dmlops onnx MODEL`: the model's operators, what they need, and what keeps it from running."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable

from .arguments import known_level
from .quoting import printable
from .terminal import style_for

SUMMARY = (
    "Show which DirectML operators and feature level an ONNX model needs, and what prevents it from running"
)


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("onnx", run, f"{SUMMARY}; needs the onnx package")
    command.add_argument("file", metavar="MODEL", help="an ONNX file")
    command.add_argument("--level", type=known_level, help="the feature level to check against, such as 5.0")
    command.add_argument(
        "--dim",
        action="append",
        default=[],
        type=_dimension,
        metavar="NAME=SIZE",
        help="the size of a symbolic dimension; may be repeated",
    )
    command.add_argument("--json", action="store_true", help="print JSON, including every description")
    command.add_argument("--html", metavar="FILE", help="also write an HTML report of every node")


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if the whole model runs, 1 if not, 2 if the file cannot be read."""
    from .onnx import report
    from .onnx.model import Unreadable, read
    from .onnx.package import OnnxMissing

    try:
        model = read(options.file, options.level, dict(options.dim))
        if options.html:
            with open(options.html, "w", encoding="utf-8") as page:
                page.write(report.as_html(model, os.path.basename(options.file)))
    except OSError as error:
        print(f"dmlops: {printable(error.filename or options.html)}: {error.strerror}", file=sys.stderr)
        return 2
    except OnnxMissing as error:
        print(f"dmlops: {error}", file=sys.stderr)
        return 2
    except Unreadable as error:
        print(f"dmlops: {printable(options.file)}: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(report.as_json(model)))
    else:
        print(report.as_text(model, colour=style_for(sys.stdout).colour))
    return 0 if model.runs else 1


def _dimension(text: str) -> tuple[str, int]:
    name, separator, size = text.rpartition("=")
    if not separator or not name or not size.isascii() or not size.isdigit() or not 0 < int(size) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!a} is not NAME=SIZE")
    return name, int(size)
