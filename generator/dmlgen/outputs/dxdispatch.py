"""Cases for DxDispatch on Windows: its models, their expected results, and a script that runs them.

Each case becomes a model with DirectML's operator and, if there are data and a plan, one with the shaders of
this registry. `cases.json` has the expected results, `runs.csv` the list of runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dmlgen.banner import banner
from dmlgen.outputs.render import Templates
from dmlgen.outputs.tables import csv_text

CASES = 1  # format version of cases.json
RESULTS = 1  # format version of results
LATER = "that a later feature level accepts, so the result would depend on the version of DirectML"
UNREAD = "that no DxDispatch model can express"
_UNUSUAL = re.compile(r"[^A-Za-z0-9_.-]")

Case = Mapping[str, Any]
Answer = Mapping[str, Any]


def wanted(matrix: Mapping[str, Any]) -> list[Case]:
    """The cases of a matrix whose expectation holds for any DirectML that supports their feature level."""
    return [case for case in matrix["cases"] if not _is_accepted_later(case)]


def left_out(matrix: Mapping[str, Any]) -> int:
    """The number of cases of a matrix that `wanted` leaves out."""
    return sum(map(_is_accepted_later, matrix["cases"]))


def _is_accepted_later(case: Case) -> bool:
    return not case["expect"]["ok"] and case["expect"]["min_feature_level"] is not None


def render(templates: Templates, answered: Iterable[tuple[Case, Answer]], later: int) -> dict[str, bytes]:
    """Every file. `answered` are cases with the answers of the generated package.

    `later` cases were not requested, since a later feature level accepts them.
    """
    files: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    runs: list[tuple[str, str]] = []
    places: set[str] = set()
    unread = 0
    for case, answer in answered:
        operator, _, name = case["id"].partition("/")
        place = f"{operator.lower()}/{_UNUSUAL.sub('-', name.replace('/', '.', 1))}"
        if place in places:
            raise ValueError(f"{case['id']} and another case are both called {place}")
        places.add(place)
        names = {kind: f"{place}.{kind}" for kind in answer["models"]}
        for kind, run in names.items():
            files[f"models/{run}.json"] = (json.dumps(answer["models"][kind], indent=1) + "\n").encode()
            runs.append((run, _level(case)))
        for shader, text in answer["sources"].items():
            files[f"shaders/{shader.lower()}.hlsl"] = text.encode()
        if names:
            entries.append(_entry(operator, case, answer, names))
        else:
            unread += 1
    lines = ",\n".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) for entry in entries)
    head = json.dumps(banner("specs/"))
    text = f'{{\n"$comment": {head},\n"version": {CASES},\n"cases": [\n{lines}\n]\n}}\n'
    files["cases.json"] = text.encode()
    files["runs.csv"] = csv_text(("run", "level"), runs)
    files["Run-Cases.ps1"] = templates.render("dxdispatch/Run-Cases.ps1.j2", version_of_results=RESULTS)
    counts = Counter(run.rpartition(".")[2] for run, _ in runs)
    omitted = {reason: count for reason, count in ((LATER, later), (UNREAD, unread)) if count}
    files["README.md"] = templates.render("dxdispatch/README.md.j2", counts=counts, omitted=omitted)
    return files


def _entry(operator: str, case: Case, answer: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    expect = case["expect"]
    entry = {
        "id": case["id"],
        "operator": operator,
        "accepted": expect["ok"],
        "rules": expect["rules"],
        "advice": expect["advice"],
        "level": _level(case),
        "runs": names,
    }
    if "outputs" in case:
        entry["choices"] = case.get("choices", [])
        entry["outputs"] = _outputs(case, answer["files"])
    return entry


def _outputs(case: Case, files: Mapping[str, Any]) -> dict[str, Any]:
    """By buffer: the file, the tensor in it, the expected elements, and their tolerances."""
    outputs: dict[str, Any] = {}
    for name, file in files.items():
        member, bracket, place = name.partition("[")
        elements = case["outputs"][member]
        tolerance = case.get("tolerance", {}).get(member, {"absolute": 0.0, "relative": 0.0})
        right = elements[int(place.rstrip("]"))] if bracket else elements
        outputs[name] = {**file, "elements": right, "tolerance": tolerance}
    return outputs


def _level(case: Case) -> str:
    """The feature level to request from DirectML: the lowest one that accepts a valid description."""
    expect = case["expect"]
    return str(expect["min_feature_level"] if expect["ok"] else case["feature_level"])
