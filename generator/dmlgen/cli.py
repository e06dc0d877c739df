"""The command line: arguments, exit codes, and nothing else.

Exit codes: 0 all is well, 1 findings or drift, 2 wrong use.
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO, get_args

from dmlgen import __version__
from dmlgen.diagnostics import Finding, Position, SpecError, told, unknown_operator
from dmlgen.formats import ChangeFormat, Format, render
from dmlgen.project import ROOT as ROOT
from dmlgen.project import default

# Stages are imported when first needed: with nothing to do, generate is hardly more than the start of Python.


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    signal.signal(signal.SIGTERM, _stop)  # so that what has begun is undone
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a finding may quote what the console cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        return command(options)
    except KeyboardInterrupt:
        return 130
    except SpecError as error:
        _report(error.findings, "text", sys.stderr)
    except OSError as error:
        print(f"dmlgen: {error}", file=sys.stderr)
    except Exception as error:
        print(f"dmlgen: {told(error)}; this is a fault of dmlgen, please report it", file=sys.stderr)
    return 1


def _stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dmlgen", description="Validators, bindings, shaders and test matrices from the operator specs."
    )
    parser.add_argument("--version", action="version", version=f"dmlgen {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        specs = default("specs")
        sub.add_argument("--specs", type=Path, metavar="DIR", default=specs, help="the specs (%(default)s)")
        return sub

    sub = add("generate", _generate, "Write every output that changed.")
    out = default("generated")
    sub.add_argument("--out", type=Path, metavar="DIR", default=out, help="where to write (%(default)s)")
    sub.add_argument(
        "--check", action="store_true", help="write nothing; print a diff and exit 1 on any drift"
    )
    sub.add_argument(
        "--no-schedules",
        dest="schedules",
        action="store_false",
        help="compute what has a definition as that says, and in no faster way",
    )
    sub = add("docs", _docs, "Write the reference site: static pages with a search, to be opened as files.")
    site = default("build/docs")
    sub.add_argument("--out", type=Path, metavar="DIR", default=site, help="where to write (%(default)s)")
    text = "Write the test matrices for other tools: cases as models of DxDispatch, or tables in CSV."
    sub = add("export", _export, text)
    sub.add_argument("form", choices=("dxdispatch", "csv"), help="models that run on Windows, or tables")
    sub.add_argument("out", type=Path, metavar="DIR", help="where to write")
    text = "models of these operators only"
    sub.add_argument("--operators", nargs="+", metavar="NAME", default=[], help=text)
    text = "models of DirectML's operators only, which need no shader compiler"
    sub.add_argument("--no-shaders", dest="shaders", action="store_false", help=text)
    schema = "Write the JSON Schemas with which editors complete and check specs."
    sub = commands.add_parser("schema", help=schema, description=schema)
    sub.set_defaults(command=_schema)
    out = default("specs/schema")
    sub.add_argument("--out", type=Path, metavar="DIR", default=out, help="where to write (%(default)s)")
    sub.add_argument(
        "--check", action="store_true", help="write nothing; print a diff and exit 1 on any drift"
    )
    sub = add("lint", _lint, "Check the specs.")
    sub.add_argument("--format", choices=get_args(Format), default="text", help="of findings (%(default)s)")
    sub.add_argument("--fix", action="store_true", help="bring the list of rule identifiers up to date first")
    sub = add("show", _show, "Print an operator as it is resolved: members, rules, tables, errata.")
    sub.add_argument("operator", metavar="OPERATOR", help="a name, with or without DML_OPERATOR_")
    sub = add(
        "audit", _audit, "Hold public pages against the specs; exit 1 if anything is new, or cannot be read."
    )
    sub.add_argument(
        "pages", type=Path, metavar="PAGE", nargs="+", help="a documentation page, Markdown or text"
    )
    formats = ("text", "json", "markdown")
    sub.add_argument("--format", choices=formats, default="text", help="of the report (%(default)s)")
    sub = add("diff", _diff, "Print what changed in meaning and whom it breaks; exit 1 if anything did.")
    side = "%s: a git revision, or a folder of specs; %s without it"
    sub.add_argument("old", nargs="?", metavar="OLD", default="HEAD", help=side % ("before", "HEAD"))
    sub.add_argument("new", nargs="?", metavar="NEW", help=side % ("after", "--specs as they lie"))
    formats = get_args(ChangeFormat)
    sub.add_argument("--format", choices=formats, default="text", help="of changes (%(default)s)")
    return parser


def _report(findings: Iterable[Finding], format: Format, stream: TextIO) -> None:
    stream.write(render(findings, format))


def _generate(options: argparse.Namespace) -> int:
    from dmlgen.generate import generate

    if _is_in_specs(options):
        return 2
    return generate(options.specs, options.out, options.check, options.schedules)


def _docs(options: argparse.Namespace) -> int:
    from dmlgen.generate import document

    return 2 if _is_in_specs(options) else document(options.specs, options.out)


def _export(options: argparse.Namespace) -> int:
    from dmlgen.generate import export_models, export_tables

    if _is_in_specs(options):
        return 2
    if options.form == "csv":
        if options.operators or not options.shaders:
            print("dmlgen: --operators and --no-shaders are for models", file=sys.stderr)
            return 2
        return export_tables(options.specs, options.out)
    names = [name.upper().removeprefix("DML_OPERATOR_") for name in options.operators]
    return export_models(options.specs, options.out, names, options.shaders)


def _is_in_specs(options: argparse.Namespace) -> bool:
    """Whether outputs would lie among the specs, which is then said."""
    if not options.out.resolve().is_relative_to(options.specs.resolve()):
        return False
    print(f"dmlgen: {options.out} lies in the specs; outputs go elsewhere", file=sys.stderr)
    return True


def _schema(options: argparse.Namespace) -> int:
    from dmlgen.generate import write_schemas

    return write_schemas(options.out, options.check)


def _lint(options: argparse.Namespace) -> int:
    from dmlgen.lint import lint, list_identifiers
    from dmlgen.resolve import load_registry

    if options.fix:
        list_identifiers(load_registry(options.specs), options.specs / "identifiers.yaml")
    findings: list[Finding] = []
    try:
        findings = lint(load_registry(options.specs))
    except SpecError as error:
        findings = list(error.findings)
    _report(findings, options.format, sys.stdout)
    return 1 if findings else 0


def _show(options: argparse.Namespace) -> int:
    from dmlgen.resolve import load_registry
    from dmlgen.show import describe

    registry = load_registry(options.specs)
    name = options.operator.upper().removeprefix("DML_OPERATOR_")
    if name not in registry.operator:
        print(f"dmlgen: {unknown_operator(name, registry.operator)}", file=sys.stderr)
        return 2
    print(describe(registry, registry.operator[name]), end="")
    return 0


def _audit(options: argparse.Namespace) -> int:
    from dmlgen.audit import audit, is_clean
    from dmlgen.audit.report import render as report
    from dmlgen.resolve import load_registry

    if missing := [page for page in options.pages if not page.is_file()]:
        _report(
            [Finding(Position(missing[0].as_posix()), "missing", "there is no such page")], "text", sys.stderr
        )
        return 2
    results = audit(load_registry(options.specs), options.pages)
    sys.stdout.write(report(results, options.format))
    return 0 if is_clean(results) else 1


def _diff(options: argparse.Namespace) -> int:
    from dmlgen.diff import differences
    from dmlgen.diff.formats import render
    from dmlgen.revisions import RevisionError, specs_of

    try:
        with specs_of(options.old, options.specs) as old, specs_of(options.new, options.specs) as new:
            changes = list(differences(old, new))
    except RevisionError as error:
        print(f"dmlgen: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(render(changes, {}, options.format))
    return 1 if changes else 0
