"""The command line: arguments, exit codes, and nothing else.

Exit codes: 0 success, 1 findings or drift, 2 usage error.
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias, get_args

from dmlgen import __version__
from dmlgen.diagnostics import (
    Finding,
    Position,
    SpecError,
    UsageError,
    error_text,
    operator_name,
    unknown_operator,
)
from dmlgen.formats import ChangeFormat, Format, printable, render
from dmlgen.project import ROOT as ROOT
from dmlgen.project import default

if TYPE_CHECKING:
    from dmlgen.diff.change import Change

_Command: TypeAlias = Callable[[argparse.Namespace], int]  # arguments to exit code
_Add: TypeAlias = Callable[[str, _Command, str], argparse.ArgumentParser]  # a command: name, meaning, help

_FORMAT = "output format (default: %(default)s)"

# Stages are imported on first use, so that generate with nothing to do is hardly slower than starting Python.


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    command: _Command = options.command
    signal.signal(signal.SIGTERM, _stop)  # so that temporary files are removed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a finding may quote characters that the console cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        return command(options)
    except KeyboardInterrupt:
        return 130
    except SpecError as error:
        _report(error.findings, "text", sys.stderr)
    except UsageError as error:
        print(f"dmlgen: {printable(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"dmlgen: {error}", file=sys.stderr)
    except Exception as error:
        print(f"dmlgen: {error_text(error)}; this is a bug in dmlgen, please report it", file=sys.stderr)
    return 1


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dmlgen",
        description="Generate validators, bindings, shaders and test matrices from operator specs.",
    )
    parser.add_argument("--version", action="version", version=f"dmlgen {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: _Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        specs = default("specs")
        sub.add_argument(
            "--specs", type=Path, metavar="DIR", default=specs, help="folder of specs (default: %(default)s)"
        )
        return sub

    _add_outputs(add)
    _add_run_cases(add)
    _add_schema(commands)
    _add_specs(add)
    _add_comparisons(add)
    return parser


def _add_out(sub: argparse.ArgumentParser, name: str) -> None:
    text = "output folder (default: %(default)s)"
    sub.add_argument("--out", type=Path, metavar="DIR", default=default(name), help=text)


def _add_check(sub: argparse.ArgumentParser) -> None:
    text = "write nothing; print a diff and exit with 1 if out of date"
    sub.add_argument("--check", action="store_true", help=text)


def _add_outputs(add: _Add) -> None:
    """The commands that write outputs."""
    sub = add("generate", _generate, "Generate all outputs; only files that changed are written.")
    _add_out(sub, "generated")
    _add_check(sub)
    sub.add_argument(
        "--no-schedules",
        dest="schedules",
        action="store_false",
        help="follow the definitions directly, without the faster schedules",
    )
    sub = add("docs", _docs, "Build the reference site, whose static pages need no server.")
    _add_out(sub, "build/docs")
    text = "Export facts for other tools: cases as DxDispatch models, or tables of support and cases as CSV."
    sub = add("export", _export, text)
    sub.add_argument("form", choices=("dxdispatch", "csv"), help="models that run on Windows, or CSV tables")
    sub.add_argument("out", type=Path, metavar="DIR", help="output folder")
    text = "export only these operators (dxdispatch)"
    sub.add_argument("--operators", nargs="+", metavar="NAME", default=[], help=text)
    text = "export only models of DirectML's own operators; needs no shader compiler (dxdispatch)"
    sub.add_argument("--no-shaders", dest="shaders", action="store_false", help=text)
    text = "also write a table of all cases, which may have to be searched first (csv)"
    sub.add_argument("--cases", action="store_true", help=text)


def _add_schema(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command that needs no specs."""
    schema = "Write the JSON Schemas that let editors complete and check specs."
    sub = commands.add_parser("schema", help=schema, description=schema)
    sub.set_defaults(command=_schema)
    _add_out(sub, "specs/schema")
    _add_check(sub)


def _add_specs(add: _Add) -> None:
    """The commands for writing specs."""
    sub = add("lint", _lint, "Check the specs.")
    sub.add_argument("--format", choices=get_args(Format), default="text", help=_FORMAT)
    sub.add_argument("--fix", action="store_true", help="first add new rules to the list of identifiers")
    sub.add_argument(
        "--retire",
        metavar="ID",
        action="append",
        default=[],
        help="first retire the identifier of a rule that is gone; can be repeated",
    )
    sub = add("new", _new, "Start the spec of a new operator, with placeholders.")
    sub.add_argument("operator", metavar="OPERATOR", help="a name, with or without DML_OPERATOR_")
    sub.add_argument(
        "--family",
        help="subfolder of specs/operators (default: that of the operator with the most similar name)",
    )
    text = "copy the members, rules and tables of this operator"
    sub.add_argument("--like", metavar="OPERATOR", help=text)
    sub = add("show", _show, "Print an operator as resolved: members, rules, tables, errata.")
    sub.add_argument("operator", metavar="OPERATOR", help="a name, with or without DML_OPERATOR_")
    sub = add(
        "audit",
        _audit,
        "Compare documentation pages with the specs; exit with 1 if any is new or unread.",
    )
    sub.add_argument(
        "pages", type=Path, metavar="PAGE", nargs="+", help="a documentation page, as Markdown or plain text"
    )
    sub.add_argument("--format", choices=("text", "json"), default="text", help=_FORMAT)


def _add_run_cases(add: _Add) -> None:
    """The command that runs the generated package."""
    text = (
        "Check every case of the test matrices against the validators, the reference and the shaders;"
        " exit with 1 on any disagreement. An interrupted run resumes where it stopped."
    )
    sub = add("run-cases", _run_cases, text)
    _add_out(sub, "build/run-cases")
    text = "check only these operators"
    sub.add_argument("--operators", nargs="+", metavar="NAME", default=[], help=text)
    text = "skip the shaders, which need a Vulkan device and a shader compiler"
    sub.add_argument("--no-shaders", dest="shaders", action="store_false", help=text)
    sub.add_argument("--format", choices=("text", "json"), default="text", help=_FORMAT)


def _add_comparisons(add: _Add) -> None:
    """The commands that compare specs with another revision."""
    sub = add("diff", _diff, "Print semantic changes and whom they break; exit with 1 if there are any.")
    side = "%s: a git revision or a folder of specs (default: %s)"
    sub.add_argument("old", nargs="?", metavar="OLD", default="HEAD", help=side % ("before", "HEAD"))
    sub.add_argument("new", nargs="?", metavar="NEW", help=side % ("after", "the files in --specs"))
    formats = get_args(ChangeFormat)
    sub.add_argument("--format", choices=formats, default="text", help=_FORMAT)
    sub = add("breaking", _breaking, "Print breaking changes since a revision; exit with 1 if there are any.")
    against = "a git revision or a folder of specs to compare --specs with"
    sub.add_argument("--against", metavar="REV", required=True, help=against)
    sub.add_argument("--format", choices=formats, default="text", help=_FORMAT)
    listed = "a YAML file of intended changes, allowed: [{kind: ..., subject: ..., reason: ...}]"
    sub.add_argument("--allow", type=Path, metavar="FILE", help=listed)


def _report(findings: Iterable[Finding], format: Format, stream: TextIO) -> None:
    stream.write(render(findings, format))


def _generate(options: argparse.Namespace) -> int:
    from dmlgen.generate import generate

    _check_out(options)
    return generate(options.specs, options.out, options.check, options.schedules)


def _docs(options: argparse.Namespace) -> int:
    from dmlgen.generate import document

    _check_out(options)
    return document(options.specs, options.out)


def _export(options: argparse.Namespace) -> int:
    from dmlgen.generate import export_models, export_tables

    _check_out(options)
    if options.form == "csv":
        if options.operators or not options.shaders:
            raise UsageError("--operators and --no-shaders are for models")
        return export_tables(options.specs, options.out, options.cases)
    if options.cases:
        raise UsageError("--cases is for tables")
    names = [*map(operator_name, options.operators)]
    return export_models(options.specs, options.out, names, options.shaders)


def _run_cases(options: argparse.Namespace) -> int:
    from dmlgen.generate import run_cases

    _check_out(options)
    names = [*map(operator_name, options.operators)]
    return run_cases(options.specs, options.out, names, options.shaders, options.format)


def _check_out(options: argparse.Namespace) -> None:
    """Raises UsageError if the output folder is inside the specs."""
    if options.out.resolve().is_relative_to(options.specs.resolve()):
        raise UsageError(f"{options.out} lies in the specs; choose another output folder")


def _schema(options: argparse.Namespace) -> int:
    from dmlgen.generate import write_schemas

    return write_schemas(options.out, options.check)


def _lint(options: argparse.Namespace) -> int:
    from dmlgen.generate import memory_of, registry_of
    from dmlgen.lint import lint, list_identifiers
    from dmlgen.schedules.table import misfits

    memory = memory_of(options.specs)
    if options.fix or options.retire:
        registry, path = registry_of(options.specs, memory), options.specs / "identifiers.yaml"
        list_identifiers(registry, path, options.retire)
    findings: list[Finding] = []
    try:
        registry = registry_of(options.specs, memory)
        findings = [*lint(registry), *misfits(registry, memory)]
    except SpecError as error:
        findings = list(error.findings)
    _report(findings, options.format, sys.stdout)
    return 1 if findings else 0


def _new(options: argparse.Namespace) -> int:
    from dmlgen.generate import registry_of
    from dmlgen.new import new_operator

    registry = registry_of(options.specs)
    given = options.operator, options.family, options.like
    path, why = new_operator(registry, options.specs, *given)
    print(f"{path} ({why}); `dmlgen lint` lists what is still missing")
    return 0


def _show(options: argparse.Namespace) -> int:
    from dmlgen.generate import registry_of
    from dmlgen.show import describe

    registry = registry_of(options.specs)
    name = operator_name(options.operator)
    if name not in registry.operator:
        raise UsageError(unknown_operator(name, registry.operator))
    print(describe(registry.operator[name]), end="")
    return 0


def _audit(options: argparse.Namespace) -> int:
    from dmlaudit import audit, is_clean
    from dmlaudit.report import render as report
    from dmlgen.generate import registry_of

    if missing := [page for page in options.pages if not page.is_file()]:
        _report(
            [Finding(Position(missing[0].as_posix()), "missing", "there is no such file")], "text", sys.stderr
        )
        return 2
    results = audit(registry_of(options.specs), options.pages)
    sys.stdout.write(report(results, options.format))
    return 0 if is_clean(results) else 1


def _diff(options: argparse.Namespace) -> int:
    from dmlgen.diff.formats import render

    changes = _changes(options.old, options.new, options.specs)
    sys.stdout.write(render(changes, {}, options.format))
    return 1 if changes else 0


def _breaking(options: argparse.Namespace) -> int:
    from dmlgen.diff.allowances import allowed, read_allowances
    from dmlgen.diff.formats import render

    allowances = {} if options.allow is None else read_allowances(options.allow)
    changes = [one for one in _changes(options.against, None, options.specs) if one.impact == "breaking"]
    meant = allowed(changes, allowances)
    sys.stdout.write(render(changes, meant, options.format))
    return 1 if len(meant) < len(changes) else 0


def _changes(old: str, new: str | None, specs: Path) -> list[Change]:
    from dmlgen.diff import differences
    from dmlgen.revisions import specs_of

    with specs_of(old, specs) as before, specs_of(new, specs) as after:
        return list(differences(before, after))
