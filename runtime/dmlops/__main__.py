"""`dmlops`, or `python -m dmlops`: checks and fixes descriptions, and looks up facts about operators."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from . import (
    __version__,
    compare_results_command,
    container_command,
    onnx_command,
    overview,
    plan_command,
    registry,
)
from .annotate import printed
from .arguments import add_level, known_level, print_json, print_texts
from .bindings import command as bindings_command
from .description import Description
from .errors import JsonError
from .explain import explain, explain_rule
from .graph import command as graph_command
from .json_results import explained, inferred, judged
from .reading import descriptions
from .safe_text import nearest, printable, shown
from .terminal import Style, style_for

_EPILOG = """\
examples:
  dmlops explain bad.json                      what is wrong, how to fix it, what it needs
  dmlops explain capture/                      the same for all that a checked device captured
  dmlops validate --level 5.0 all.jsonl        one JSON result per description
  dmlops infer --json part.json                the description with its outputs filled in
  dmlops shader desc.json > desc.hlsl          HLSL that computes it, and how to dispatch it
  dmlops container gemm.cso                    whether Windows accepts compiled shaders, what they need
  dmlops show gather elements                  an operator; names work in any spelling
  dmlops support GEMM --build 22621            what a Windows build supports
  dmlops diff-levels 5.0 6.4                   what the levels above 5.0 added
  dmlops graph explain graph.json              the same for graphs; see dmlops graph --help
  dmlops bindings explain bound.json           what may not be bound like this to an operator or a graph
  dmlops rule DML-GEMM-inner-size              a rule and its source

A file holds one description, one description per line, or a DxDispatch model; - is standard input.

exit status:
  0  the descriptions are valid, or the query succeeded
  1  a description is invalid, or its outputs cannot be inferred
  2  usage error: an unknown name, level or command, or a file that cannot be read
"""


Made = TypeVar("Made")


class _Failure(Exception):
    """A query that cannot be answered; the message says why."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the closest valid word."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if action.dest == "command" else action.dest
            hint = nearest(str(value), map(str, action.choices))
            raise argparse.ArgumentError(None, f"there is no {what} {shown(value)}{hint}")

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if all descriptions are valid, 1 if some are not, 2 for a usage error."""
    sys.stdout, sys.stderr = (one or open(os.devnull, "w") for one in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may have characters that the console lacks
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return int(options.run(options))
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"dmlops: {printable(str(error.filename))}: {error.strerror}", file=sys.stderr)
    except KeyError as error:
        print(f"dmlops: {error.args[0]}", file=sys.stderr)
    except _Failure as error:
        print(f"dmlops: {error}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dmlops",
        description="Check and fix DirectML operator descriptions, and look up facts about operators.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dmlops {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=f"{summary}.")
        added.set_defaults(run=run)
        return added

    one = command(
        "explain", _explain, "Explain what is wrong with descriptions, how to fix them, and what they need"
    )
    _file(one, ", or a folder that a checking device captured")
    add_level(one)
    _json(one, "per description")
    one = command("validate", _validate, "Check descriptions and print one JSON result per line")
    _file(one)
    add_level(one)
    one = command("infer", _infer, "Fill in the outputs of a description")
    _file(one)
    _json(one, "per description")
    one = command("shader", _shader, "Print HLSL that computes a description, and how to dispatch it")
    _file(one)
    one = command("show", _show, "Show an operator: its members, its rules and what its tensors support")
    _operator(one)
    _json(one)
    one = command("support", _support, "Show which dimension counts and data types an operator supports")
    _operator(one)
    either = one.add_mutually_exclusive_group()
    add_level(either)
    either.add_argument("--build", type=int, help="a Windows build, such as 22621, instead of a level")
    _json(one)
    one = command("levels", _levels, "List the feature levels with DirectML versions and Windows releases")
    _json(one)
    one = command(
        "diff-levels", _diff, "Show the operators, types, ranks and rules that a feature level adds"
    )
    one.add_argument("old", metavar="OLD", type=known_level, help="a feature level")
    one.add_argument("new", metavar="NEW", type=known_level, help="another one")
    _json(one)
    one = command("rule", _rule, "Show what a rule requires, and its source")
    one.add_argument("identifier", metavar="ID", help="such as DML-GEMM-inner-size")
    _json(one)
    graph_command.add(command)
    bindings_command.add(command)
    onnx_command.add(command)
    plan_command.add(command)
    compare_results_command.add(command)
    container_command.add(command)
    one = command("schema", _schema, "Print a JSON Schema of descriptions, or of graphs, for editors")
    one.add_argument("--graph", action="store_true", help="that of graphs")
    return parser


def _file(parser: Any, also: str = "") -> None:
    parser.add_argument("file", metavar="FILE", help=f"a file of descriptions{also}; - for standard input")


def _operator(parser: Any) -> None:
    help_ = "such as GATHER_ELEMENTS, in any spelling: gather elements, DML_OPERATOR_GATHER_ELEMENTS"
    parser.add_argument("operator", metavar="OPERATOR", nargs="+", help=help_)


def _json(parser: Any, what: str = "") -> None:
    help_ = f"print JSON{', one line ' if what else ''}{what}"
    parser.add_argument("--json", action="store_true", help=help_)


# Commands on descriptions.


def _validate(options: argparse.Namespace) -> int:
    return print_json(judged(*one, options.level) for one in descriptions(options.file))


def _explain(options: argparse.Namespace) -> int:
    style = style_for(sys.stdout)
    if os.path.isdir(options.file):
        from .captured import explain_captured

        if options.json:
            raise _Failure(f"{shown(options.file)} is a folder; --json takes a file")
        text, good = explain_captured(Path(options.file), options.level, style)
        print(text)
        return 0 if good else 1
    if options.json:
        return print_json(explained(*one, options.level) for one in descriptions(options.file))
    return _texts(options, lambda desc: explain(desc, options.level, style))


def _infer(options: argparse.Namespace) -> int:
    if options.json:
        return print_json(inferred(*one) for one in descriptions(options.file))

    def text_of(desc: Description) -> tuple[str, bool]:
        try:
            return printed(desc.infer()), True
        except ValueError as error:
            return f"Its outputs cannot be inferred: {error}", False

    return _texts(options, text_of)


def _shader(options: argparse.Namespace) -> int:
    from .gpu import Unsupported
    from .gpu.standalone import standalone

    found = list(islice(descriptions(options.file), 2))
    if len(found) != 1:
        raise _Failure(f"{shown(options.file)} has {'several descriptions' if found else 'no description'}")
    ((_, desc),) = found
    if isinstance(desc, JsonError):
        broken = [f"Not a valid description: {desc}"]
    else:
        broken = [f"{one.rule}: {one.message}" for one in desc.validate()]
        try:
            if not broken:
                print(standalone(desc), end="")
                return 0
        except Unsupported as error:
            broken = [f"There is no plan: {error}"]
    print(*broken, sep="\n", file=sys.stderr)
    return 1


def _texts(options: argparse.Namespace, text_of: Callable[[Description], tuple[str, bool]]) -> int:
    """Prints a text for each description of a file, with headings if there are several; the exit status."""
    return print_texts(_named(descriptions(options.file)), "a valid description", text_of)


def _named(read: Iterator[tuple[Any, Made]]) -> Iterator[tuple[Any, Made]]:
    """The descriptions of a file; if there are several, each with its id or line, else without."""
    first = list(islice(read, 2))
    if not first:
        print("There is no description in this file.")
    for number, (identity, one) in enumerate(chain(first, read), 1):
        name = f"line {number}" if identity is None else identity
        yield name if len(first) > 1 else None, one


# Queries of the registry.


def _show(options: argparse.Namespace) -> int:
    name, lines = overview.resolved(" ".join(options.operator))
    elsewhere = "".join(f"{line}\n" for line in (*lines, "")) if lines else ""
    return _tell(
        options, overview.operator(name), lambda style: elsewhere + overview.operator_text(name, style)
    )


def _support(options: argparse.Namespace) -> int:
    name, level = " ".join(options.operator), options.level
    if options.build is not None:
        level = registry.level_of_build(options.build)
        if level is None:
            raise _Failure(
                f"Windows build {options.build} has no DirectML; the first with it is {_first_build()}"
            )
    return _tell(options, overview.support(name, level), lambda _: overview.support_text(name, level))


def _first_build() -> int:
    return min(level.in_box.build for level in registry.LEVELS.values() if level.in_box is not None)


def _levels(options: argparse.Namespace) -> int:
    return _tell(options, overview.levels(), lambda _: overview.levels_text())


def _diff(options: argparse.Namespace) -> int:
    old, new = options.old, options.new
    return _tell(options, overview.changes(old, new), lambda style: overview.changes_text(old, new, style))


def _rule(options: argparse.Namespace) -> int:
    identifier = options.identifier
    required = overview.data_requirement(identifier)
    if required is not None:
        return _tell(options, required, lambda style: f"{required['tensor']}: {required['text']}")
    return _tell(
        options, overview.rule(identifier), lambda style: explain_rule(registry.rule(identifier), style)
    )


def _tell(options: argparse.Namespace, value: Any, text: Callable[[Style], str]) -> int:
    """Prints an answer: the JSON value if requested, otherwise the text."""
    print(json.dumps(value) if options.json else text(style_for(sys.stdout)))
    return 0


def _schema(options: argparse.Namespace) -> int:
    print(overview.schema_text("graph_schema" if options.graph else "schema"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
