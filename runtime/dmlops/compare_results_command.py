"""`python -m dmlops compare-results RESULTS`: compares DxDispatch's results with the expected ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

SUMMARY = "Compare DxDispatch's results for exported cases with what the cases expect"


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("compare-results", run, SUMMARY)
    command.add_argument("results", metavar="RESULTS", type=Path, help="the folder that Run-Cases.ps1 filled")
    help_ = "the folder with cases.json (default: the parent of RESULTS)"
    command.add_argument("--cases", metavar="DIR", type=Path, help=help_)
    help_ = "output format (default: text)"
    command.add_argument("--format", choices=("text", "json"), default="text", help=help_)


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if all runs agree, 1 if one does not or nothing was run, 2 for unreadable files."""
    from .dxdispatch.environment import read_environment
    from .dxdispatch.index import Unreadable, read_index
    from .dxdispatch.report import FORMS
    from .dxdispatch.verdicts import Verdict, verdicts

    index = (options.cases or options.results.absolute().parent) / "cases.json"
    try:
        environment = read_environment(options.results, index)
        runs = list(verdicts(read_index(index), options.results))
    except Unreadable as error:
        print(f"dmlops: {error}", file=sys.stderr)
        return 2
    print(FORMS[options.format](list(environment.facts()), runs), end="")
    sys.stdout.flush()
    was_run = any(one.verdict is not Verdict.NOT_RUN for one in runs)
    return 0 if was_run and not any(one.verdict.is_finding for one in runs) else 1
