"""Runs random descriptions on the GPU, between guard zones, and compares with the reference.

    python tests/gpu_sweep.py [SECONDS [PROCESSES [SEED]]]

Of what differs it prints family and seed, from which `drawn` makes the description and its data again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from dmlops import reference
from dmlops.judgement import tensors
from gpu_device import opened, run_in_guard_zones
from random_shapes import FAMILIES, Drawn, drawn


def differences(one: Drawn, device: Any) -> list[str]:
    """What the device computes otherwise than the reference."""
    found = run_in_guard_zones(device, one.desc, one.arrays)
    with np.errstate(all="ignore"):
        wanted = dict(by_tensor(reference.run(one.desc, one.arrays)))
    halves = any(tensor.DataType.name == "FLOAT16" for _, _, tensor in tensors(one.desc))
    texts = []
    for name, array in wanted.items():
        equal = near(one.desc.OPERATOR, found[name], array, halves)
        if not equal.all():
            place = tuple(np.argwhere(~equal)[0].tolist())
            texts.append(
                f"{np.count_nonzero(~equal)} of {equal.size} elements of {name}, "
                f"{place}: {found[name][place]} for {array[place]}"
            )
    return texts


def by_tensor(results: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Results by the names that tensors have as buffers."""
    for name, found in results.items():
        if isinstance(found, np.ndarray):
            yield name, found
        else:
            yield from ((f"{name}[{number}]", one) for number, one in enumerate(found))


def near(operator: str, found: np.ndarray, wanted: np.ndarray, halves: bool) -> np.ndarray:
    """Which elements are right: floats as near as thousands of products are in another order; integers equal,
    but for quantised ones, which such a sum may round to the neighbour."""
    if wanted.dtype.kind == "f":
        finite = np.abs(wanted[np.isfinite(wanted)].astype(np.float64))
        part = 1e-2 if halves else 2e-4
        a, b = found.astype(np.float64), wanted.astype(np.float64)
        return np.isclose(a, b, part, part * finite.max(initial=0), equal_nan=True)
    if operator.startswith("QUANTIZED"):
        return np.abs(found.astype(int) - wanted.astype(int)) <= 1
    return np.equal(found, wanted)


class Swept(NamedTuple):
    """How many descriptions of each family have been run, and what was found of them."""

    counts: Counter[str]
    findings: list[str]


def sweep(process: int, processes: int, seed: int, seconds: float) -> Swept:
    """What one of the processes gets done in so many seconds, of all families in turn."""
    end, swept = time.monotonic() + seconds, Swept(Counter(), [])
    device = opened()
    for turn, number in enumerate(count(seed + process, processes)):
        family = list(FAMILIES)[turn % len(FAMILIES)]
        if time.monotonic() > end:
            break
        try:
            found = differences(drawn(family, number), device)
        except Exception as error:  # is a finding, too, and others follow
            found = [repr(error)]
        swept.findings.extend(f"{family} {number}: {one}" for one in found)
        swept.counts[family] += 1
    return swept


def main() -> None:
    seconds, processes, seed = (int(text) for text in (*sys.argv[1:], *("60", "2", "1")[len(sys.argv) - 1 :]))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        runs = [pool.submit(sweep, process, processes, seed, seconds) for process in range(processes)]
        found = [run.result() for run in runs]
    for one in found:
        print(*one.findings, sep="\n", end="\n" if one.findings else "")
    print(
        *(f"{number} {family}" for family, number in sum((one.counts for one in found), Counter()).items()),
        sep=", ",
    )
    sys.exit(any(one.findings for one in found))


if __name__ == "__main__":
    main()
