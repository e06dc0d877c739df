"""Finds the numbers of `dmlops.gpu.plans` that suit the GPU at hand.

    python bench/tune.py [FOLDER] --compile-only
    python bench/tune.py [FOLDER] [--only NAME ...] [--write]

For each number in turn, cases of `gpu_cases` that are planned otherwise with half or double of it are timed
with each of the three. A candidate replaces the number if it is faster by MARGIN in the geometric mean, and
later numbers are tried with it. With --write, results are written to the runtime's planners, from where
`make generate` takes them to the header. The first form fills FOLDER with SPIR-V, for a machine without a
shader compiler.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from compiled import CAPABILITIES
from gpu import SMALL_BYTES, VulkanTimer, code_of, computed, is_software, on_vulkan
from gpu_cases import Case, cases

from dmlops import gpu
from dmlops.gpu.work import Work

PLANNERS = Path(__file__).parents[1] / "runtime/dmlops/gpu/plans"
MARGIN = 1.02  # smaller differences are noise

MOST_CASES = 4  # timed for a number

# Numbers with other candidates than half and double
POWERS = tuple(2**power for power in range(19))
CANDIDATES: dict[str, Sequence[int]] = {
    "ELEMENTWISE_BUSY": (1, *POWERS[14:19:2]),
    "PATCH_HEIGHT": POWERS[2:6],
    "PATCH_WIDTH": POWERS[2:6],
    "COOPERATIVE_PART": (256, 384, 512, 640),
    "COOPERATIVE_TAPS": (1, 7),
    "COOPERATIVE_REACH": (2, 16),
    "ATTENTION_MANY_ROWS": (32, 64),  # what the shader has room for
    "ATTENTION_FEW_ROWS": (32, 64),
    "SEPARABLE_TABLE": (896, 7168),
    "SKINNY_LANES": (8, 64),
    "TILE_PRODUCTS": (64, 96, 512),
    "SCATTER_ALONE": (1024, 2048, 4096, 8192),  # what shared memory has room for
    "SCATTER_ALONE_THREADS": (128, 256, 512),  # what all devices have
}
# Thresholds that no case is near: an eighth and eight times of them are tried
FAR = (
    *("REDUCTION_LONG", "REDUCTION_REREAD_LONG", "SUMS_LEAST_PRODUCTS"),
    "SLIDING_PRODUCTS",
    *("SEPARABLE_GROUPS", "SCAN_FEW_LINES", "TOP_K_REDUCED", "TOP_K_SELECTED"),
)
# A number, followed by a line that says what it is
_NUMBER = re.compile(r'^([A-Z_0-9]+) = (?:\(\n.*\n\)|.*)\n"(?!"")', re.MULTILINE)
OWNERS = {
    name: path
    for path in sorted(PLANNERS.glob("*.py"))
    for name in _NUMBER.findall(path.read_text(encoding="utf-8"))
}
"""The planner's module that has a number."""
_FITTED = re.compile(r"^([A-Z_0-9]+) = \d+  # .*, fitted$", re.MULTILINE)
MODEL = tuple(
    name
    for name, path in OWNERS.items()
    if path.stem == "tile_cost" or name.endswith("_RATE") or name in _FITTED.findall(path.read_text("utf-8"))
)
"""The numbers of the cost model of tiles, which are fitted together."""
FIXED = ("ATTENTION_DEPTH", *MODEL)  # for no other depth does the shader have room
NUMBERS = tuple(name for name in OWNERS if name not in FIXED)


def current(name: str) -> int:
    """The number that planners use."""
    value: int = getattr(import_module(f"dmlops.gpu.plans.{OWNERS[name].stem}"), name)
    return value


@contextmanager
def set_to(name: str, value: int) -> Iterator[None]:
    """Makes planners use this number within the context; each module that imports it has its own name for
    it."""
    modules = [
        module
        for key, module in sys.modules.items()
        if key.startswith("dmlops.gpu.plans.") and hasattr(module, name)
    ]
    before = current(name)
    for module in modules:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, before)


def candidates_for(name: str) -> Sequence[int]:
    """The number itself, and others to try."""
    value, factor = current(name), 8 if name in FAR else 2
    return CANDIDATES.get(name) or sorted({max(value // factor, 1), value, factor * value})


def planned(
    case: Case, name: str, candidates: Sequence[int], capabilities: gpu.Capability
) -> dict[str, Work]:
    """The work of a case for each candidate."""
    found = {}
    for value in candidates:
        with set_to(name, value):
            found[str(value)] = gpu.plan(case.describe(), capabilities)
    return found


def dependent(
    known: Sequence[Case], name: str, candidates: Sequence[int], capabilities: gpu.Capability
) -> list[Case]:
    """Cases whose work is not the same for all candidates: MOST_CASES of them, from all families."""
    found = []
    for case in known:
        first, *others = planned(case, name, candidates, capabilities).values()
        if any(other != first for other in others):
            found.append(case)
    return found[:: -(-len(found) // MOST_CASES)] if found else []


@lru_cache(4)
def expected_of(case: Case) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The inputs and the expected output of a case, cached for the next numbers."""
    arrays = case.arrays()
    return arrays, computed(case, arrays)[0]


def speeds(
    wanted: Sequence[Case],
    name: str,
    candidates: Sequence[int],
    folder: Path,
    device: Any,
    timer: VulkanTimer,
) -> dict[int, list[float]]:
    """The speeds of each candidate in these cases, as ratios to the current number's."""
    stands = str(current(name))
    found: dict[int, list[float]] = {value: [] for value in candidates}
    for case in wanted:
        arrays, expected = expected_of(case)
        works = planned(case, name, candidates, device.capabilities)
        turned = dict(reversed(works.items()))  # a GPU may be slow at first, or while others use it
        runs = [on_vulkan(case, one, folder, device, timer, arrays, expected) for one in (works, turned)]
        fastest = {value: max(one[value] for one in runs) for value in works}
        for value, ratios in found.items():
            ratios.append(fastest[str(value)] / fastest[stands])
    return found


def line(name: str, value: int, found: dict[int, list[float]], device: str) -> str:
    """A line of the table: the speeds of other values, from the least to the greatest of all cases if they
    differ."""
    texts = []
    for other, ratios in found.items():
        if other != value:
            relative = [one / chosen for one, chosen in zip(ratios, found[value], strict=True)]
            least, mean, most = min(relative), geometric_mean(relative), max(relative)
            differs = most - least >= 0.1
            texts.append(f"{other} at " + (f"{least:.2f} to {most:.2f}" if differs else f"{mean:.2f}"))
    return f"{name} = {value}  # {device}: {', '.join(texts)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bench"), help="compiled shaders")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument("--only", nargs="+", default=NUMBERS, choices=NUMBERS, metavar="NAME")
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--write", action="store_true", help="write what was found into the planners")
    arguments = parser.parse_args()
    known = list(cases())
    if arguments.compile_only:
        for name, capabilities in itertools.product(arguments.only, CAPABILITIES):
            candidates = candidates_for(name)
            for case in dependent(known, name, candidates, capabilities):
                for work in planned(case, name, candidates, capabilities).values():
                    for dispatch in work.dispatches:
                        code_of(arguments.folder, case.operator, dispatch)
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    timer = VulkanTimer.of(device)
    if is_software(device):
        known = [case for case in known if case.bytes_moved <= SMALL_BYTES]
    with ExitStack() as found_before:
        for name in arguments.only:
            candidates = candidates_for(name)
            wanted = dependent(known, name, candidates, device.capabilities)
            if not wanted:
                print(f"{name} = {current(name)}: no case depends on it")
                continue
            found = speeds(wanted, name, candidates, arguments.folder, device, timer)
            means = {value: geometric_mean(ratios) for value, ratios in found.items()}
            best = max(means, key=lambda value: means[value])
            chosen = best if means[best] >= MARGIN else current(name)
            written = line(name, chosen, found, device.name)
            print(written, flush=True)
            found_before.enter_context(set_to(name, chosen))
            if arguments.write:
                text = OWNERS[name].read_text(encoding="utf-8")
                text = re.sub(rf"^{name} = .*$", written, text, flags=re.MULTILINE)
                OWNERS[name].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
