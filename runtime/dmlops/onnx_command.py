"""`python -m dmlops onnx [run] MODEL`: what a model needs, what keeps it from running, what it computes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from .arguments import known_level
from .quoting import printable
from .terminal import style_for

SUMMARY = (
    "Show which DirectML operators and feature level an ONNX model needs, and what prevents it from running; "
    "or run it"
)


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("onnx", run, f"{SUMMARY}; needs the onnx package")
    command.add_argument("action", nargs="?", choices=["run"], help="compute the model in NumPy")
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
    command.add_argument(
        "--shape",
        action="append",
        default=[],
        type=_shape,
        metavar="INPUT=SIZES",
        help="the shape of an input, as in x=1,3,48,160; may be repeated",
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        type=_file,
        metavar="INPUT=FILE",
        help="with run, an .npy file with the array of an input; may be repeated",
    )
    command.add_argument("--output", metavar="FILE", help="with run, the .npz file to write the outputs to")
    command.add_argument("--json", action="store_true", help="print JSON, including every description")
    command.add_argument("--html", metavar="FILE", help="also write an HTML report of every node")


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if the whole model runs, 1 if not, 2 if a file cannot be read."""
    from .onnx.model import Unreadable
    from .onnx.package import OnnxMissing

    try:
        return _compute(options) if options.action else _report(options)
    except OSError as error:
        print(f"dmlops: {printable(str(error.filename or options.html))}: {error.strerror}", file=sys.stderr)
    except OnnxMissing as error:
        print(f"dmlops: {error}", file=sys.stderr)
    except Unreadable as error:
        print(f"dmlops: {printable(options.file)}: {error}", file=sys.stderr)
    return 2


def _report(options: argparse.Namespace) -> int:
    from .onnx import report
    from .onnx.model import read

    model = read(options.file, options.level, dict(options.dim), dict(options.shape))
    if options.html:
        with open(options.html, "w", encoding="utf-8") as page:
            page.write(report.as_html(model, os.path.basename(options.file)))
    if options.json:
        print(json.dumps(report.as_json(model)))
    else:
        print(report.as_text(model, colour=style_for(sys.stdout).colour))
    return 0 if model.runs else 1


def _compute(options: argparse.Namespace) -> int:
    """Runs the model and prints a line for each output."""
    import numpy as np

    from .onnx import NotRunnable
    from .onnx import run as run_model

    arrays: dict[str, Any] = {}
    for name, path in options.input:
        try:
            arrays[name] = np.load(path, allow_pickle=False)
        except ValueError as error:
            print(f"dmlops: {printable(path)}: {error}", file=sys.stderr)
            return 2
    try:
        outputs = run_model(options.file, arrays, options.level, dict(options.dim))
    except (NotRunnable, ValueError) as error:
        print(f"dmlops: {printable(options.file)}: {error}", file=sys.stderr)
        return 1
    for name, array in outputs.items():
        numbers = array.astype(np.float64)
        spread = (
            f": {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}" if array.size else ""
        )
        print(f"{printable(name)}: {array.dtype} {list(array.shape)}{spread}")
    if options.output:
        np.savez(options.output, **outputs)  # type: ignore[arg-type]  # its options are not for us
    return 0


def _named(text: str, what: str) -> tuple[str, str]:
    name, separator, value = text.rpartition("=")
    if not separator or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!a} is not {what}")
    return name, value


def _size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!a} is not a size")
    return int(text)


def _dimension(text: str) -> tuple[str, int]:
    name, size = _named(text, "NAME=SIZE")
    return name, _size(size)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, sizes = _named(text, "INPUT=SIZES, as in x=1,3,224,224")
    return name, tuple(_size(size) for size in sizes.split(","))


def _file(text: str) -> tuple[str, str]:
    return _named(text, "INPUT=FILE")
