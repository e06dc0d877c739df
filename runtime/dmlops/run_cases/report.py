"""The report of a run: where everything ran, followed by the report on the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..dxdispatch.verdicts import Verdict
from ..enums import FeatureLevel
from .results import VALIDATION, Result


def facts_of(results: Sequence[Result], kept: int, seconds: float) -> Iterator[tuple[str, str]]:
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
