"""`python -m dmlops.run_cases MATRICES`: checks every case, and writes one report.

`dmlgen run-cases` runs this with the package and the matrices that it has generated from the specs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..dxdispatch.report import FORMS
from ..dxdispatch.verdicts import Verdict
from ..enums import FeatureLevel
from ..safe_text import printable
from ..terminal import progress_for
from .results import VALIDATION, Result, Stopped, keep, kept
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
    facts = list(_facts_of(results, len(before), time.monotonic() - start))
    print(FORMS[options.format](facts, runs), end="")
    return 1 if any(run.verdict.is_finding for run in runs) else 0


def _done(units: Sequence[Unit], out: Path) -> dict[str, Result]:
    """The results of units by identifier, each stored as soon as it arrives. Raises Stopped."""
    results: dict[str, Result] = {}
    if not units:
        return results
    progress = progress_for(sys.stderr, "units")
    for unit, result in done_here(units):
        keep(out, unit, result)
        results[unit.identifier] = result
        if progress is not None:
            progress(len(results), len(units))
    return results


def _facts_of(results: Sequence[Result], kept: int, seconds: float) -> Iterator[tuple[str, str]]:
    """The checks, by kind and machine, and their time; `kept` results are from earlier runs."""
    by_kind: dict[str, Counter[Verdict]] = {}
    for run in (run for result in results for run in result.runs):
        by_kind.setdefault(run.kind, Counter())[run.verdict] += 1
    cases = by_kind.get(VALIDATION, Counter()).total()
    yield "cases", str(cases)
    yield "feature levels of each", str(len(FeatureLevel))
    for kind, sums in by_kind.items():
        yield kind, ", ".join(f"{sums[one]} {one.value}" for one in Verdict if sums[one])
    places: dict[str, list[Result]] = {}
    for result in results:
        places.setdefault(" with ".join(filter(None, (result.host, result.device))), []).append(result)
    for place, done in places.items():
        yield f"done by {place}", f"{len(done)} units, {sum(one.seconds for one in done):.1f} s of work"
    yield "units", f"{len(results)}, {kept} of them kept from earlier"
    yield "time", f"{seconds:.1f} s"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dmlgen run-cases")
    parser.add_argument("matrices", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--no-shaders", dest="shaders", action="store_false")
    parser.add_argument("--format", choices=FORMS, default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
