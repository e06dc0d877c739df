"""The peak arithmetic of a GPU, an upper bound for products."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import compiled

from dmlops.gpu import Capability

SOURCE = Path(__file__).with_suffix(".hlsl")
THREADS, TURNS, CHAINS = 256, 256, 8  # in a group; iterations of its loop; independent accumulators
GROUPS = 4096
RESULT_BYTES = GROUPS * THREADS * CHAINS * 32  # a matrix of 16 x 16 floats per wave of 32

KINDS = {"float32": 0, "float16 by cooperative matrices": 1}


def code_of(folder: Path, kind: str) -> bytes:
    """The SPIR-V of a kind, from the folder or compiled into it."""
    defines = {"COOPERATIVE_MATRIX": KINDS[kind], "TURNS": TURNS, "NUM_THREADS": THREADS}
    return compiled.code_of(folder, SOURCE.read_text(encoding="utf-8"), defines)


def operations_per_second(
    device: Any, seconds: Callable[[list[Callable[[Any], None]]], float], folder: Path, groups: int = GROUPS
) -> dict[str, float]:
    """Multiplications and additions per second, by kind; `seconds` times a call."""
    from dmlops.gpu.resources import Binding

    found = {}
    with closing(device.buffer(RESULT_BYTES)) as results, closing(device.buffer(16)) as nothing:
        bindings = [Binding(results, 0, results.size), Binding(nothing, 0, nothing.size)]
        for kind in KINDS:
            if KINDS[kind] and Capability.COOPERATIVE_MATRIX not in device.capabilities:
                continue
            pipeline = device.pipeline(code_of(folder, kind), 1)
            with pipeline.bind(bindings) as bound:
                time = seconds([partial(bound.record, groups=(groups, 1, 1))])
            # Per chain and iteration, a thread does four of each, and a wave of 32 a product of 16 x 16 x 16.
            each = 2 * 16**3 / 32 if KINDS[kind] else 2 * 4
            found[kind] = groups * THREADS * TURNS * CHAINS * each / time
    return found
