"""Reports of verdicts: as text, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from xml.etree import ElementTree

from ..quoting import printable
from .verdicts import Run, Verdict

VERSION = 1  # of the JSON form

Facts: TypeAlias = Sequence[tuple[str, str]]  # the top of a report: names and values


def as_text(facts: Facts, runs: Sequence[Run]) -> str:
    """What was run on what, every finding, why runs were skipped, and the totals."""
    lines = [f"{name}: {printable(value)}" for name, value in facts]
    lines += [""] * bool(lines)
    lines += [f"{run.verdict.value}: {_name(run)}: {printable(run.why)}" for run in runs if _is_told(run)]
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


def as_markdown(facts: Facts, runs: Sequence[Run]) -> str:
    """A table of operators, followed by tables of findings."""
    lines = ["# Cases run with DxDispatch", ""]
    lines += [f"- {name}: {_cell(value)}" for name, value in facts]
    lines += ["", *_row("operator", "kind", *(one.value for one in Verdict)), _rule(2 + len(Verdict))]
    for (operator, kind), sums in _by_operator(runs).items():
        lines += _row(operator, kind, *(sums[one] or "" for one in Verdict))
    told = [run for run in runs if _is_told(run)]
    if told:
        lines += ["", *_row("case", "kind", "verdict", "what was found"), _rule(4)]
        lines += [row for run in told for row in _row(run.case.id, run.kind, run.verdict.value, run.why)]
    left = _not_run(runs)
    if left:
        lines += ["", *_row("not run", "times"), _rule(2)]
        lines += [row for why, count in left for row in _row(why, count)]
    return "".join(f"{line}\n" for line in lines)


def as_junit(facts: Facts, runs: Sequence[Run]) -> str:
    """JUnit XML with a suite for each operator and kind; runs that did not take place are skipped tests."""
    root = ElementTree.Element("testsuites", _sums(runs))
    for (operator, kind), _ in _by_operator(runs).items():
        own = [run for run in runs if (run.case.operator, run.kind) == (operator, kind)]
        name = f"{printable(operator)}.{printable(kind)}"
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_sums(own)})
        properties = ElementTree.SubElement(suite, "properties")
        for fact, value in facts:
            ElementTree.SubElement(properties, "property", {"name": fact, "value": printable(value)})
        for run in own:
            attributes = {"classname": name, "name": printable(run.case.id)}
            test = ElementTree.SubElement(suite, "testcase", attributes)
            told = {"message": f"{run.verdict.value}: {printable(run.why)}"}
            if run.verdict.is_finding:
                ElementTree.SubElement(test, "failure", {"type": run.verdict.value, **told})
            elif run.verdict is not Verdict.AGREE:
                ElementTree.SubElement(test, "skipped", told)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


FORMS: Mapping[str, Callable[[Facts, Sequence[Run]], str]] = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
    "junit": as_junit,
}


def _sums(runs: Sequence[Run]) -> dict[str, str]:
    failures = sum(run.verdict.is_finding for run in runs)
    agree = sum(run.verdict is Verdict.AGREE for run in runs)
    skipped = len(runs) - failures - agree
    return {"tests": str(len(runs)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _run(run: Run) -> dict[str, Any]:
    told: dict[str, Any] = {"id": run.case.id, "kind": run.kind, "verdict": run.verdict.value}
    if run.why:
        told["why"] = printable(run.why)
    if run.difference is not None:
        found = run.difference
        told["difference"] = {
            "tensor": found.tensor,
            "coordinate": list(found.coordinate),
            "expected": str(found.expected),  # JSON has no NaN, and readers round large integers
            "found": str(found.found),
            "ulp": found.ulp,
            "count": found.count,
        }
    return told


def _by_operator(runs: Sequence[Run]) -> dict[tuple[str, str], Counter[Verdict]]:
    sums: dict[tuple[str, str], Counter[Verdict]] = {}
    for run in runs:
        sums.setdefault((run.case.operator, run.kind), Counter())[run.verdict] += 1
    return sums


def _is_told(run: Run) -> bool:
    """Whether a report mentions a run individually."""
    return run.verdict.is_finding or run.verdict is Verdict.CHOICE


def _not_run(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """The reasons why runs did not take place, most frequent first."""
    return Counter(run.why for run in runs if run.verdict is Verdict.NOT_RUN).most_common()


def _name(run: Run) -> str:
    return printable(f"{run.case.id} ({run.kind})")


def _row(*cells: Any) -> list[str]:
    return ["| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"]


def _rule(columns: int) -> str:
    return "|" + "-|" * columns


def _cell(text: str) -> str:
    """Text that cannot end a table cell or start markup."""
    line = printable(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "\\`"), ("*", "\\*")):
        line = line.replace(character, entity)
    return line.replace("[", "\\[")
