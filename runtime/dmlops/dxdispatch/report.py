"""Reports of verdicts, as text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..safe_text import printable
from .verdicts import Run, Verdict

VERSION = 1  # of the JSON form

Facts: TypeAlias = Sequence[tuple[str, str]]  # the top of a report: names and values


def as_text(facts: Facts, runs: Sequence[Run]) -> str:
    """The runs and their machines, every finding, why runs were skipped, and the totals."""
    lines = [f"{name}: {printable(value)}" for name, value in facts]
    lines += [""] * bool(lines)
    lines += [f"{run.verdict.value}: {_name(run)}: {printable(run.why)}" for run in runs if _is_listed(run)]
    lines += [f"not run: {count} times: {printable(why)}" for why, count in _not_run(runs)]
    sums = Counter(run.verdict for run in runs)
    lines.append(
        f"{len(runs)} runs: " + ", ".join(f"{sums[one]} {one.value}" for one in Verdict if sums[one])
    )
    return "".join(f"{line}\n" for line in lines)


def as_json(facts: Facts, runs: Sequence[Run]) -> str:
    """Every run with its verdict."""
    content = {
        "version": VERSION,
        "environment": dict(facts),
        "operators": [
            {"operator": operator, "kind": kind, "verdicts": {one.value: sums[one] for one in Verdict}}
            for (operator, kind), sums in _by_operator(runs).items()
        ],
        "runs": [_run(run) for run in runs],
    }
    return json.dumps(content, indent=1) + "\n"


FORMS: Mapping[str, Callable[[Facts, Sequence[Run]], str]] = {"text": as_text, "json": as_json}


def _run(run: Run) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": run.case.id, "kind": run.kind, "verdict": run.verdict.value}
    if run.why:
        entry["why"] = printable(run.why)
    if run.difference is not None:
        found = run.difference
        entry["difference"] = {
            "tensor": found.tensor,
            "coordinate": list(found.coordinate),
            "expected": str(found.expected),  # JSON has no NaN, and readers round large integers
            "found": str(found.found),
            "ulp": found.ulp,
            "count": found.count,
        }
    return entry


def _by_operator(runs: Sequence[Run]) -> dict[tuple[str, str], Counter[Verdict]]:
    sums: dict[tuple[str, str], Counter[Verdict]] = {}
    for run in runs:
        sums.setdefault((run.case.operator, run.kind), Counter())[run.verdict] += 1
    return sums


def _is_listed(run: Run) -> bool:
    """Whether a report mentions a run individually."""
    return run.verdict.is_finding or run.verdict is Verdict.CHOICE


def _not_run(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """The reasons why runs did not take place, most frequent first."""
    return Counter(run.why for run in runs if run.verdict is Verdict.NOT_RUN).most_common()


def _name(run: Run) -> str:
    return printable(f"{run.case.id} ({run.kind})")
