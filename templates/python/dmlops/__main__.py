"""`python -m dmlops`: validates descriptions, explains what is wrong with them, and shows what is known."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any, BinaryIO, NoReturn

from . import __version__, onnx_command, overview, registry
from .description import Description
from .enums import NEWEST, FeatureLevel, feature_level
from .errors import JsonError
from .explain import explain, explain_rule
from .json_form import dispatchables, from_json, is_model
from .quoting import printable, shown
from .violation import Violation

UNREADABLE = "DML-JSON"
LONGEST_LINE = 1 << 24  # bytes; a description needs a few hundred


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when all descriptions are valid, 1 when some are not, 2 for wrong use."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the console may not have every character of a name
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help(sys.stderr)
        return 2
    if options.command == "onnx":
        return int(options.run(options))
    if options.command not in ("validate", "explain"):
        return _tell(options)
    try:
        if options.file == "-":
            return int(options.run(sys.stdin.buffer, options.feature_level))
        with open(options.file, "rb") as file:
            return int(options.run(file, options.feature_level))
    except BrokenPipeError:  # the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"dmlops: {printable(options.file)}: {error.strerror}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dmlops",
        description="Checks DirectML operator descriptions: which rules they break, what they need to run.",
        epilog="A file holds one description, one description on each line, or a model of DxDispatch.",
    )
    parser.add_argument("--version", action="version", version=f"dmlops {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for name, run, summary in (
        (
            "validate",
            _validate,
            "check the descriptions in a JSON file, and print a JSON result for each on a line of its own",
        ),
        ("explain", _explain, "say what is wrong with the descriptions in a JSON file, and what they need"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("file", metavar="FILE", help="the file; - for standard input")
        command.add_argument(
            "--feature-level", type=_level, default=NEWEST, help=f"such as {NEWEST}, the default"
        )
        command.set_defaults(run=run)
    summary = "say what a rule demands, and where that is from"
    command = commands.add_parser("rule", help=summary, description=summary)
    command.add_argument("identifier", metavar="ID", help="such as DML-GEMM-inner-size")
    command.set_defaults(run=lambda options: explain_rule(registry.rule(options.identifier)))
    _add_overviews(commands)
    onnx_command.add(commands)
    return parser


def _add_overviews(commands: Any) -> None:
    """The commands that show what the registry knows, as text or as JSON."""
    for name, run, summary in (
        ("show", _show, "show an operator: its members, its rules, and what its tensors may be"),
        (
            "support",
            _support,
            "show which dimension counts and data types an operator takes at a feature level",
        ),
        ("levels", _levels, "show the feature levels, with the DirectML version and Windows release of each"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        if name != "levels":
            command.add_argument("operator", metavar="OPERATOR", help="such as GATHER, in any spelling")
        if name == "support":
            command.add_argument(
                "--level", type=_level, default=NEWEST, help=f"such as {NEWEST}, the default"
            )
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(run=run)


def _show(options: argparse.Namespace) -> str:
    name = options.operator
    return json.dumps(overview.operator(name)) if options.json else overview.operator_text(name)


def _support(options: argparse.Namespace) -> str:
    name, level = options.operator, options.level
    return json.dumps(overview.support(name, level)) if options.json else overview.support_text(name, level)


def _levels(options: argparse.Namespace) -> str:
    return json.dumps(overview.levels()) if options.json else overview.levels_text()


def _tell(options: argparse.Namespace) -> int:
    """Prints what a command that reads no file has to say."""
    try:
        print(options.run(options))
    except KeyError as error:
        print(f"dmlops: {error.args[0]}", file=sys.stderr)
        return 2
    return 0


def _level(text: str) -> FeatureLevel:
    try:
        return feature_level(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _validate(file: BinaryIO, level: FeatureLevel) -> int:
    clean = True
    for entry in _entries(file):
        result = _judge(entry, level)
        clean &= result["ok"]
        print(json.dumps(result))
    sys.stdout.flush()
    return 0 if clean else 1


def _explain(file: BinaryIO, level: FeatureLevel) -> int:
    clean = True
    entries = _entries(file)
    first = list(islice(entries, 2))
    for number, entry in enumerate(chain(first, entries)):
        if number:
            print()
        if len(first) > 1:
            name = f"line {number + 1}" if entry.identity is None else shown(entry.identity).strip('"')
            print(f"[{name}]")
        try:
            text, valid = explain(entry.description(), level)
        except JsonError as error:
            text, valid = f"Not a valid description: {error}", False
        print(text)
        clean &= valid
    if not first:
        print("There is no description in this file.")
    return 0 if clean else 1


@dataclass(frozen=True)
class _Entry:
    """What stands for one description: its id, and its JSON value or the reason why there is none."""

    identity: Any
    value: Any
    error: JsonError | None = None

    def description(self) -> Description:
        """The description; JsonError if it cannot be read."""
        if self.error is not None:
            raise self.error
        return from_json(self.value)


def _judge(entry: _Entry, level: FeatureLevel) -> dict[str, Any]:
    """The result for one entry."""
    violations: list[Violation] = []
    advice: list[Violation] = []
    needed: FeatureLevel | None = None
    try:
        desc = entry.description()
        violations = desc.validate(level)
        advice = desc.advice(level)
        needed = desc.min_feature_level()
    except JsonError as error:
        violations = [Violation(UNREADABLE, error.path, error.reason)]
    return {
        "id": entry.identity,
        "ok": not violations,
        "violations": [asdict(violation) for violation in violations],
        "advice": [asdict(one) for one in advice],
        "min_feature_level": None if needed is None else str(needed),
    }


def _entries(file: BinaryIO) -> Iterator[_Entry]:
    """The descriptions of a file, in order; those of a model have their names for ids."""
    for text in _texts(file):
        try:
            if text is None:
                raise JsonError("", f"the line is longer than {LONGEST_LINE} bytes")
            value = _parse(text)
        except JsonError as error:
            yield _Entry(None, None, error)
            continue
        if is_model(value):
            yield from (_Entry(name, one) for name, one in dispatchables(value))
        else:
            identity = value.pop("id", None) if isinstance(value, dict) else None
            yield _Entry(identity, value)


def _texts(file: BinaryIO) -> Iterator[bytes | None]:
    """The JSON texts of a file: its lines, or the whole of it where the first line only begins a text.

    None stands for a line that is too long.
    """
    lines = _lines(file)
    start: list[bytes] = []
    size, begun = 0, False
    for line in lines:
        if line is None or size > LONGEST_LINE or not (begun or line.isspace() or _begins(line)):
            yield from start
            yield line
            break
        start.append(line)
        size += len(line)
        begun = begun or not line.isspace()
    else:
        whole = b"".join(start)
        one_text = begun and (_is_json(whole) or not any(line.startswith(b"{") for line in start[1:]))
        yield from [whole] if one_text else start
    yield from lines


def _begins(line: bytes) -> bool:
    """Whether a line begins a text that it does not end."""
    return line.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[") and not _is_json(line)


def _is_json(text: bytes) -> bool:
    try:
        _parse(text)
    except JsonError:
        return False
    return True


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
        raise JsonError(
            "", f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError:  # Python refuses integers of thousands of digits
        raise JsonError("", "an integer has too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, one in pairs:
        if name in value:
            raise JsonError("", f"duplicate key {shown(name)}")
        value[name] = one
    return value


def _no_constant(name: str) -> NoReturn:
    raise JsonError("", f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError("", f"{text:.60} is too large for a number")
    return value


if __name__ == "__main__":
    sys.exit(main())
