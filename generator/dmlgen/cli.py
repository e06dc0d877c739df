"""The command line: arguments, exit codes, and nothing else.

Exit codes: 0 all is well, 1 findings or drift, 2 wrong use.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, get_args

from dmlgen import writer
from dmlgen.diagnostics import Finding, SpecError, nearest
from dmlgen.formats import Format, render
from dmlgen.inputs import case_digests, digests

if TYPE_CHECKING:
    from dmlgen.registry import Registry

# Stages are imported when first needed: with nothing to do, generate is hardly more than the start of Python.

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except SpecError as error:
        _report(error.findings, "text", sys.stderr)
    except OSError as error:
        print(f"dmlgen: {error}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dmlgen", description="Validators, bindings, shaders and test matrices from the operator specs."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        specs = _near(ROOT / "specs")
        sub.add_argument("--specs", type=Path, metavar="DIR", default=specs, help="the specs (%(default)s)")
        return sub

    sub = add("generate", _generate, "Write every output that changed.")
    out = _near(ROOT / "generated")
    sub.add_argument("--out", type=Path, metavar="DIR", default=out, help="where to write (%(default)s)")
    sub.add_argument(
        "--check", action="store_true", help="write nothing; print a diff and exit 1 on any drift"
    )
    sub = add("lint", _lint, "Check the specs.")
    sub.add_argument("--format", choices=get_args(Format), default="text", help="of findings (%(default)s)")
    sub.add_argument("--fix", action="store_true", help="bring the list of rule identifiers up to date first")
    sub = add("show", _show, "Print an operator as it is resolved: members, rules, tables, errata.")
    sub.add_argument("operator", metavar="OPERATOR", help="a name, with or without DML_OPERATOR_")
    diff = "Print what changed in meaning from one folder of specs to another; exit 1 if anything did."
    sub = commands.add_parser("diff", help=diff, description=diff)
    sub.set_defaults(command=_diff)
    sub.add_argument("old", type=Path, metavar="OLD")
    sub.add_argument("new", type=Path, metavar="NEW")
    return parser


def _near(path: Path) -> Path:
    """The path as seen from the current folder, where it lies below it, so that findings show short names."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _report(findings: Iterable[Finding], format: Format, stream: TextIO) -> None:
    stream.write(render(findings, format))


def _generate(options: argparse.Namespace) -> int:
    start = time.perf_counter()
    inputs = digests(options.specs, ROOT)
    memory = writer.recall(options.out)
    if not options.check and memory.holds(inputs):
        print(f"nothing to do ({time.perf_counter() - start:.2f} s)")
        return 0
    registry, findings = _checked(options.specs)
    if any(finding.severity == "error" for finding in findings):
        _report(findings, "text", sys.stderr)
        return 1
    from dmlgen.outputs import render_all

    cases = case_digests(registry)
    if options.check:
        outputs = render_all(registry, ROOT / "templates", {})
        difference = writer.check(outputs, options.out, inputs | cases)
        sys.stdout.write(difference)
        return 1 if difference else 0
    known = _same_cases(memory, inputs, cases)
    outputs = render_all(registry, ROOT / "templates", known)
    result = writer.write(outputs, options.out, inputs | cases)
    lines = sum(data.count(b"\n") for data in outputs.values())
    seconds = time.perf_counter() - start
    changes = (
        f"{len(result.written)} written, {len(result.unchanged)} unchanged, {len(result.removed)} removed"
    )
    print(f"{len(outputs)} files, {lines} lines: {changes} ({seconds:.2f} s)")
    return 0


def _same_cases(memory: writer.Memory, inputs: dict[str, str], cases: dict[str, str]) -> dict[str, bytes]:
    """Matrices of the last run that would come out the same, by path."""
    if memory.inputs.get("generator") != inputs["generator"]:
        return {}
    same = (path for path in cases if memory.inputs.get(path) == cases[path])
    return {path: memory.files[path] for path in same if path in memory.files}


def _lint(options: argparse.Namespace) -> int:
    if options.fix:
        from dmlgen.lint import list_identifiers
        from dmlgen.resolve import load_registry

        list_identifiers(load_registry(options.specs), options.specs / "identifiers.yaml")
    findings: list[Finding] = []
    try:
        _, findings = _checked(options.specs)
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
        close = nearest(name, registry.operator)
        print(
            f"dmlgen: there is no operator {name}" + (f"; did you mean {close}?" if close else ""),
            file=sys.stderr,
        )
        return 2
    print(describe(registry, registry.operator[name]), end="")
    return 0


def _diff(options: argparse.Namespace) -> int:
    from dmlgen.diff import differences
    from dmlgen.resolve import load_registry

    lines = list(differences(load_registry(options.old), load_registry(options.new)))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


def _checked(specs: Path) -> tuple[Registry, list[Finding]]:
    """The registry and what lint finds in it."""
    from dmlgen.lint import lint
    from dmlgen.resolve import load_registry

    registry = load_registry(specs)
    return registry, lint(registry)
