"""The outcome of each run, compared with what its case expects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..safe_text import printable
from .comparison import Difference, difference, elements_of, largest_file
from .index import Case, Output, Unreadable, read_bytes, read_json

DIRECTML = "directml"  # the kind of run that executes DirectML; other kinds run shaders


class Verdict(Enum):
    """The outcome of a run. `is_finding`: something is wrong with DirectML, its driver, or this registry."""

    AGREE = "agree"
    DIFFER = "differ"
    CHOICE = "differ by choice"
    REFUSED = "refused though valid"
    ACCEPTED = "accepted though invalid"
    FAILED = "failed"
    NOT_RUN = "not run"

    @property
    def is_finding(self) -> bool:
        return self in (Verdict.DIFFER, Verdict.REFUSED, Verdict.ACCEPTED, Verdict.FAILED)


@dataclass(frozen=True)
class Run:
    """The verdict on one run of a case, with the reason unless both agree."""

    case: Case
    kind: str
    verdict: Verdict
    why: str = ""
    difference: Difference | None = None


class _Outcome(NamedTuple):
    """The action of DxDispatch: "accepted", "refused", or the name of a Verdict; and its message."""

    state: Verdict | None  # None: it completed
    why: str = ""


_REFUSED = "80070057"  # E_INVALIDARG
_UNSUPPORTED = {"887A0004": "DXGI_ERROR_UNSUPPORTED", "80004001": "E_NOTIMPL"}
_RESULT = re.compile(r"\b(?:0x)?(8[0-9A-Fa-f]{7})\b")
_BEFORE = re.compile(  # DxDispatch's messages if it fails before reaching the operator
    "Failed to (?:parse command-line arguments|create adapter|create a device|parse the model).*"
)
_CREATING = re.compile("ERROR (?:creating dispatchable|while initializing).*")
_LONGEST_TEXT = 1 << 20  # bytes read of what a run printed
_LONGEST_RECORD = 1 << 16
_LONGEST_REASON = 200  # characters


def verdicts(cases: list[Case], results: Path) -> Iterator[Run]:
    """Yields a verdict for each run of each case, from the folder of results."""
    for case in cases:
        yield from settled(_verdict(case, kind, results / name) for kind, name in case.runs.items())


def settled(runs: Iterable[Run]) -> Iterator[Run]:
    """The verdicts on all runs of a case. DirectML may make another choice than this registry, but our own
    shaders follow its choices: one that differs is wrong, unless another run differs alike."""
    verdicts = list(runs)
    alike = Counter(str(run.difference) for run in verdicts if run.verdict is Verdict.CHOICE)
    for run in verdicts:
        is_alone = run.kind != DIRECTML and alike[str(run.difference)] < 2
        yield replace(run, verdict=Verdict.DIFFER) if run.verdict is Verdict.CHOICE and is_alone else run


def _verdict(case: Case, kind: str, folder: Path) -> Run:
    try:
        state, why = _outcome(kind, folder)
        if state is None and case.accepted:
            outputs = case.outputs
            return compared(case, kind, ((output, _read(output, folder)) for output in outputs))
    except Unreadable as error:
        return Run(case, kind, Verdict.FAILED, str(error))
    if state is None:
        return Run(case, kind, Verdict.ACCEPTED, f"it breaks {', '.join(case.rules)}")
    if state is Verdict.REFUSED and not case.accepted:
        return Run(case, kind, Verdict.AGREE)
    if state is Verdict.REFUSED and case.advice:
        why = f"{why} (advice: {', '.join(case.advice)})"
    return Run(case, kind, state, why)


def _outcome(kind: str, folder: Path) -> _Outcome:
    if not (folder / "result.json").exists():
        return _Outcome(Verdict.NOT_RUN, "there is no result")
    match read_json(folder / "result.json", _LONGEST_RECORD):
        case {"exit_code": int() as status, "timed_out": bool() as timed_out}:
            pass
        case _:
            raise Unreadable("result.json has no exit_code or timed_out")
    if timed_out:
        return _Outcome(Verdict.FAILED, "it was ended at the time limit")
    said = _text(folder / "stderr.txt")
    before = _BEFORE.search(said)
    if before:
        return _Outcome(Verdict.NOT_RUN, _start(before[0]))
    creating = _CREATING.search(said)
    if creating:
        return _not_created(kind, said[creating.start() :])
    if status:
        last = said.strip().rpartition("\n")[2]
        return _Outcome(Verdict.FAILED, f"exit status {status & 0xFFFFFFFF:#010x}: {_start(last)}")
    return _Outcome(None)


def _not_created(kind: str, said: str) -> _Outcome:
    """The meaning of a failure to create or compile an operator or a shader, judging by its HRESULT."""
    codes = [code.upper() for code in _RESULT.findall(said)]
    if _REFUSED in codes and kind == DIRECTML:
        return _Outcome(Verdict.REFUSED, f"{_REFUSED}, E_INVALIDARG")
    unsupported = next((code for code in codes if code in _UNSUPPORTED), None)
    if unsupported is not None:
        return _Outcome(Verdict.NOT_RUN, f"the device does not support it: {_UNSUPPORTED[unsupported]}")
    return _Outcome(Verdict.FAILED, _start(said))


def compared(case: Case, kind: str, outputs: Iterable[tuple[Output, np.ndarray]]) -> Run:
    """The verdict on a completed run, from the expected outputs, each with the actual elements."""
    for output, array in outputs:
        found = difference(output, array)
        if found is not None and case.choices:
            return Run(case, kind, Verdict.CHOICE, f"{found}; choice: {', '.join(case.choices)}", found)
        if found is not None:
            return Run(case, kind, Verdict.DIFFER, str(found), found)
    return Run(case, kind, Verdict.AGREE)


def _read(output: Output, folder: Path) -> np.ndarray:
    """The elements that a run has written. Raises Unreadable."""
    return elements_of(output, read_bytes(folder / output.file, largest_file(output)))


def _text(path: Path) -> str:
    """The beginning of what a run printed; empty if there is no such file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_LONGEST_TEXT).decode("utf-8", "replace")


def _start(text: str) -> str:
    """The beginning of what was printed, as one line."""
    return printable(text[:_LONGEST_REASON])
