"""Runs random descriptions on the GPU, between guard zones, and compares with the reference.

    python tests/gpu_fuzz.py [SECONDS [PROCESSES [SEED]]]

For each difference it prints the family and the seed, from which `drawn` recreates the description and its
data.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from dmlops import reference
from dmlops.gpu.planner_inputs import planner_of
from dmlops.gpu.plans.top_k import plan_top_k
from dmlops.validation import tensors
from gpu_device import opened, run_in_guard_zones, smallest_compared
from gpu_results import by_tensor
from random_shapes import FAMILIES, Drawn, drawn

# What functions of single elements may be off by, relative to the result, and what sums may be, relative to
# the largest number of the tensor: without and with halves, and the same for thousands of products.
ROUNDED = {"float64": 1e-15, "float32": 1e-6, "float16": 1e-3}
SUMMED, CONTRACTED = (2e-5, 1e-3), (2e-4, 1e-2)
CONTRACTIONS = re.compile("GEMM|CONVOLUTION|MATRIX|ATTENTION|RNN|GRU|LSTM")
ADDED = ("Beta", "Bias", "ValueStart")  # members that are added to a product
ROUNDED_SUMS = re.compile("QUANTIZED|RESAMPLE")  # in another order, a half may become the other neighbor
CHOOSES = re.compile(r"MAX_POOLING\d?|MAX_UNPOOLING|ROI_POOLING|SCATTER_.*")


def differences(one: Drawn, device: Any) -> list[str]:
    """Results of the device that differ from the reference."""
    found = run_in_guard_zones(device, one.desc, one.arrays)
    wanted = dict(by_tensor(reference.run(one.desc, one.arrays)))
    texts = []
    for name, array in wanted.items():
        with np.errstate(all="ignore"):
            equal = near(one, found[name], array, smallest_compared(device, np.float32))
        if not equal.all():
            place = tuple(np.argwhere(~equal)[0].tolist())
            texts.append(
                f"{np.count_nonzero(~equal)} of {equal.size} elements of {name}, "
                f"{place}: {found[name][place]!r} for {array[place]!r}"
            )
    return texts


def near(one: Drawn, found: np.ndarray, wanted: np.ndarray, smallest: float) -> np.ndarray:
    """A mask of the elements that are right; numbers below `smallest` may be flushed."""
    desc: Any = one.desc
    if is_chosen(desc):
        return (found == wanted) | ((found != found) & (wanted != wanted))
    if wanted.dtype.kind != "f":
        if ROUNDED_SUMS.search(desc.OPERATOR) and wanted.dtype.itemsize == 1:
            return np.abs(found.astype(int) - wanted.astype(int)) <= 1
        return np.equal(found, wanted)
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    if planner_of(desc.OPERATOR).is_map:
        subnormal = 4 * float(np.finfo(wanted.dtype).smallest_normal)
        least = max(subnormal, smallest, cancelled(one))
        return np.isclose(a, b, ROUNDED[wanted.dtype.name], least, equal_nan=True)
    halves = any(tensor.DataType.name == "FLOAT16" for _, _, tensor in tensors(desc))
    exact, half = CONTRACTED if CONTRACTIONS.search(desc.OPERATOR) else SUMMED
    part, finite = half if halves else exact, np.abs(b[np.isfinite(b)])
    # Where all numbers are equal, what their mean is off by is divided by the root of Epsilon.
    least = 5.0 if hasattr(desc, "Epsilon") else 0.0
    return np.isclose(a, b, part, part * max(finite.max(initial=0), least), equal_nan=True)


def cancelled(one: Drawn) -> float:
    """What may remain where a product and a member cancel: devices round the product, or only the sum."""
    desc: Any = one.desc
    described = [desc, getattr(desc, "FusedActivation", None)]
    added = [getattr(each, name, 0.0) for each in described for name in ADDED]
    largest = np.abs(np.hstack(added)).max()
    if "SWISH" in desc.OPERATOR:  # is multiplied by the element
        numbers = one.arrays["InputTensor"]
        largest *= np.abs(numbers[np.isfinite(numbers)]).max(initial=0)
    return float(largest) * 2.0**-23


def is_chosen(desc: Any) -> bool:
    """Whether all numbers of the outputs are numbers of the inputs: what is not computed has no error."""
    planner = planner_of(desc.OPERATOR)
    if planner.is_map:
        return bool(planner.inputs(desc, 0).tensors[-1].as_bits)
    if planner.plan == plan_top_k or CHOOSES.fullmatch(desc.OPERATOR):
        return True
    if desc.OPERATOR == "REDUCE":
        return desc.Function.name in ("MAX", "MIN")
    return (
        "SAMPLE" in desc.OPERATOR and "GRAD" not in desc.OPERATOR and desc.InterpolationMode.name != "LINEAR"
    )


class Fuzzed(NamedTuple):
    """The number of descriptions run of each family, and findings of them."""

    counts: Counter[str]
    findings: list[str]


def fuzz(process: int, processes: int, seed: int, seconds: float) -> Fuzzed:
    """The work of one of the processes in so many seconds, of all families in turn."""
    end, swept = time.monotonic() + seconds, Fuzzed(Counter(), [])
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
        runs = [pool.submit(fuzz, process, processes, seed, seconds) for process in range(processes)]
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
