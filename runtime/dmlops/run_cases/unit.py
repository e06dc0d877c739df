"""Processes a unit of work: compares this package's results for its cases with the expected ones."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import gpu, reference
from ..arrays import of_tensor
from ..description import Description
from ..dxdispatch.cases import inputs_of
from ..dxdispatch.index import Case, Output, element
from ..dxdispatch.models import output_files
from ..dxdispatch.verdicts import Run, Verdict, compared, settled
from ..enums import FeatureLevel
from ..json_form import from_json
from ..paths import member_of
from .results import VALIDATION, Result, Stopped, case_of
from .units import Json, Unit

REFERENCE = "reference"  # a kind of run; others are VALIDATION and device names


def judge(unit: Unit, worker: int) -> Result:
    """Validates every case, and computes those with data.

    `worker` is the number of this worker on its machine; workers take the GPUs in turn. Raises Stopped if the
    unit needs shaders and there is no device or no shader compiler.
    """
    start = time.monotonic()
    try:
        device = _device(worker) if unit.with_shaders else None
        name = "" if device is None else gpu.devices()[device]
        runs = tuple(run for one in unit.cases for run in settled(_runs(one, device, name)))
    except gpu.GpuUnavailable as error:
        raise Stopped(f"{platform.node()}: {error} Or leave the shaders out, with --no-shaders.") from None
    return Result(platform.node(), name, time.monotonic() - start, runs)


def _device(worker: int) -> int:
    """The index of the device for a worker: one of those with the same name as the fastest."""
    names = gpu.devices()
    alike = [index for index, name in enumerate(names) if name == names[0]]
    return alike[worker % len(alike)]


def _runs(one: Json, device: int | None, name: str) -> Iterator[Run]:
    case = case_of(one)
    yield _tried(case, VALIDATION, lambda: _validated(case, one))
    if "outputs" not in one:
        return
    yield _tried(case, REFERENCE, lambda: _computed(case, REFERENCE, one, reference.run))
    if device is not None:
        yield _tried(
            case, name, lambda: _computed(case, name, one, lambda desc, data: gpu.run(desc, data, device))
        )


def _tried(case: Case, kind: str, run: Callable[[], Run]) -> Run:
    """The verdict on a run; if the run fails in any way, the others continue."""
    try:
        return run()
    except gpu.GpuUnavailable:
        raise
    except gpu.Unsupported as error:
        return Run(case, kind, Verdict.NOT_RUN, str(error))
    except Exception as error:
        return Run(case, kind, Verdict.FAILED, f"{type(error).__name__}: {error}")


def _validated(case: Case, one: Json) -> Run:
    """Validates a case at every feature level, and checks rules and advice at the case's own.

    A case must be valid from the lowest level that it names, and invalid below it.
    """
    desc = from_json({"type": one["type"], "desc": one["desc"]})
    lowest = one["expect"]["min_feature_level"]
    for level in FeatureLevel:
        broken = _rules(desc.validate(level))
        is_valid = lowest is not None and level >= FeatureLevel(lowest)
        if is_valid and broken:
            return Run(case, VALIDATION, Verdict.REFUSED, f"at {level} it breaks {', '.join(broken)}")
        if not is_valid and not broken:
            return Run(case, VALIDATION, Verdict.ACCEPTED, f"at {level} it breaks nothing")
    at = FeatureLevel(case.level)
    needed = desc.min_feature_level()
    for what, found, expected in (
        ("rules broken", _rules(desc.validate(at)), case.rules),
        ("advice", _rules(desc.advice(at)), case.advice),
        ("lowest level", needed and str(needed), lowest),
    ):
        if found != expected:
            return Run(case, VALIDATION, Verdict.DIFFER, f"{what} at {at}: {found}, not {expected}")
    return Run(case, VALIDATION, Verdict.AGREE)


def _rules(violations: list[Any]) -> tuple[str, ...]:
    return tuple(sorted({one.rule for one in violations}))


def _computed(case: Case, kind: str, one: Json, run: Callable[[Description, Json], Json]) -> Run:
    desc = from_json({"type": one["type"], "desc": one["desc"]})
    found = run(desc, inputs_of(one, desc))
    return compared(case, kind, ((output, of_tensor(found, output.name)) for output in _outputs(one, desc)))


def _outputs(one: Json, desc: Description) -> Iterator[Output]:
    """The outputs that a case of a matrix expects, by the names of their buffers."""
    for name, (file, tensor) in output_files(desc).items():
        member = member_of(name)[0]
        tolerance = one.get("tolerance", {}).get(member, {"absolute": 0.0, "relative": 0.0})
        elements = tuple(element(value, tensor.DataType) for value in of_tensor(one["outputs"], name))
        yield Output(name, file, tensor, elements, **tolerance)
