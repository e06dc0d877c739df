"""`python -m dmlops`: validates descriptions, and explains what is wrong with one."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO, NoReturn

from .enums import FeatureLevel, feature_level
from .errors import JsonError
from .explain import explain
from .json_form import from_json
from .violation import Violation

UNREADABLE = "DML-JSON"
LONGEST_LINE = 1 << 24  # bytes; a description needs a few hundred


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when all descriptions are valid, 1 when some are not, 2 for wrong use."""
    options = _parser().parse_args(arguments)
    try:
        if options.file == "-":
            return int(options.run(sys.stdin.buffer, options.feature_level))
        with open(options.file, "rb") as file:
            return int(options.run(file, options.feature_level))
    except BrokenPipeError:  # the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"dmlops: {options.file}: {error.strerror}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dmlops", description="Checks DirectML operator descriptions."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, summary in (
        (
            "validate",
            _validate,
            "check a file of descriptions, one JSON object a line; one JSON result a line",
        ),
        ("explain", _explain, "say what is wrong with the description in a JSON file, and what it needs"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("file", metavar="FILE", help="the file; - for standard input")
        command.add_argument(
            "--feature-level", type=_level, default=max(FeatureLevel), help="such as 6.4, the default"
        )
        command.set_defaults(run=run)
    return parser


def _level(text: str) -> FeatureLevel:
    try:
        return feature_level(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _validate(file: BinaryIO, level: FeatureLevel) -> int:
    clean = True
    for line in _lines(file):
        result = _judge(line, level)
        clean &= result["ok"]
        print(json.dumps(result))
    sys.stdout.flush()
    return 0 if clean else 1


def _explain(file: BinaryIO, level: FeatureLevel) -> int:
    try:
        desc = from_json(_parse(file.read(LONGEST_LINE)))
    except JsonError as error:
        print(f"This is no description: {error}")
        return 1
    text, valid = explain(desc, level)
    print(text)
    return 0 if valid else 1


def _judge(line: bytes | None, level: FeatureLevel) -> dict[str, Any]:
    """The result for one line; None stands for one that is too long."""
    identity: Any = None
    violations: list[Violation] = []
    advice: list[Violation] = []
    needed: FeatureLevel | None = None
    try:
        if line is None:
            raise JsonError("", f"the line is longer than {LONGEST_LINE} bytes")
        value = _parse(line)
        if isinstance(value, dict):
            identity = value.pop("id", None)
        desc = from_json(value)
        violations = desc.validate(level)
        advice = desc.advice(level)
        needed = desc.min_feature_level()
    except JsonError as error:
        violations = [Violation(UNREADABLE, error.path, error.reason)]
    return {
        "id": identity,
        "ok": not violations,
        "violations": [asdict(violation) for violation in violations],
        "advice": [asdict(one) for one in advice],
        "min_feature_level": None if needed is None else str(needed),
    }


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines, None in place of one that is too long."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _parse(text: bytes) -> Any:
    """A JSON value; JsonError for anything that is not strictly JSON."""
    try:
        return json.loads(
            text.decode("utf-8-sig"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("", "nested too deep") from None
    except UnicodeDecodeError as error:
        raise JsonError("", f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonError("", f"no JSON: {error.msg} at column {error.colno}") from None
    except ValueError:  # Python refuses integers of thousands of digits
        raise JsonError("", "an integer has too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise JsonError(
            "", f"the name {next(n for n in names if names.count(n) > 1)!a:.60} stands twice in one object"
        )
    return value


def _no_constant(name: str) -> NoReturn:
    raise JsonError("", f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError("", f"{text:.60} is too large for a number")
    return value


if __name__ == "__main__":
    sys.exit(main())
