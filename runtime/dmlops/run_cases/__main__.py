"""`python -m dmlops.run_cases MATRICES`: checks every case, and writes one report.

`dmlgen run-cases` runs this with the package and the matrices that it has generated from the specs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..dxdispatch.report import FORMS
from ..safe_text import printable
from .report import facts_of
from .results import Result, Stopped, keep, kept
from .units import Unit, units_of
from .workers import done_here


def main() -> int:
    """Exit status: 0 if everything agrees, 1 if something does not or the run cannot continue."""
    options = _parser().parse_args()
    units = list(units_of(options.matrices, options.shaders))
    start = time.monotonic()
    before = {unit.identifier: result for unit in units if (result := kept(options.out, unit)) is not None}
    missing = [unit for unit in units if unit.identifier not in before]
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        done = _done(missing, options.out)
    except (Stopped, OSError) as error:
        print(f"dmlgen: {printable(str(error))}", file=sys.stderr)
        return 1
    results = [(before | done)[unit.identifier] for unit in units]
    runs = [run for result in results for run in result.runs]
    facts = list(facts_of(results, len(before), time.monotonic() - start))
    print(FORMS[options.format](facts, runs), end="")
    return 1 if any(run.verdict.is_finding for run in runs) else 0


def _done(units: Sequence[Unit], out: Path) -> dict[str, Result]:
    """The results of units by identifier, each stored as soon as it arrives. Raises Stopped."""
    results: dict[str, Result] = {}
    if not units:
        return results
    for unit, result in done_here(units):
        keep(out, unit, result)
        results[unit.identifier] = result
        if sys.stderr.isatty():
            print(f"\r{len(results)} of {len(units)} units", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dmlgen run-cases")
    parser.add_argument("matrices", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--no-shaders", dest="shaders", action="store_false")
    parser.add_argument("--format", choices=FORMS, default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
