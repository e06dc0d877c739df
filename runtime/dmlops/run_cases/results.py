"""The results of units, and the folder that stores them: one file per finished unit, written atomically."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ..dxdispatch.comparison import Difference
from ..dxdispatch.index import Case
from ..dxdispatch.verdicts import Run, Verdict
from .units import Json, Unit

VALIDATION = "validation"  # the kind of run that every case has


class Stopped(Exception):
    """A worker cannot process any unit; the message says where and why."""


@dataclass(frozen=True)
class Result:
    """The host on which a unit ran, the GPU, if any, the duration in seconds, and the verdicts."""

    host: str
    device: str
    seconds: float
    runs: tuple[Run, ...]


def case_of(one: Json) -> Case:
    """A case of a matrix without its data."""
    expect = one["expect"]
    return Case(
        id=one["id"],
        operator=one["id"].partition("/")[0],
        accepted=expect["ok"],
        rules=tuple(expect["rules"]),
        advice=tuple(expect["advice"]),
        level=one["feature_level"],
        runs={},
        choices=tuple(one.get("choices", ())),
        outputs=(),
    )


def keep(folder: Path, unit: Unit, result: Result) -> None:
    """Stores the result of a unit."""
    content = {
        "unit": unit.identifier,
        "host": result.host,
        "device": result.device,
        "seconds": result.seconds,
        "runs": [_run_as_json(run) for run in result.runs],
    }
    path = _path(folder, unit)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content) + "\n", encoding="ascii")
    os.replace(part, path)


def kept(folder: Path, unit: Unit) -> Result | None:
    """The stored result of a unit; None if there is none, or the file was not written by `keep`."""
    cases = {one["id"]: case_of(one) for one in unit.cases}
    try:
        content = json.loads(_path(folder, unit).read_bytes())
        runs = tuple(_run(cases, run) for run in content["runs"])
        if content["unit"] != unit.identifier or {run.case.id for run in runs} != set(cases):
            return None
        return Result(str(content["host"]), str(content["device"]), float(content["seconds"]), runs)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _path(folder: Path, unit: Unit) -> Path:
    return folder / f"{unit.identifier}.json"


def _run_as_json(run: Run) -> Json:
    found = None if run.difference is None else asdict(run.difference)
    return {
        "id": run.case.id,
        "kind": run.kind,
        "verdict": run.verdict.value,
        "why": run.why,
        "difference": found,
    }


def _run(cases: dict[str, Case], one: Json) -> Run:
    found = one["difference"]
    difference = None if found is None else Difference(**{**found, "coordinate": tuple(found["coordinate"])})
    return Run(cases[one["id"]], str(one["kind"]), Verdict(one["verdict"]), str(one["why"]), difference)
