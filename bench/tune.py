"""Finds the numbers of `dmlops.gpu.plans.tuning` that suit the GPU at hand.

    python bench/tune.py [FOLDER] --compile-only
    python bench/tune.py [FOLDER] [--only NAME ...] [--write]

For each number in turn, the cases of `gpu_cases` that depend on it are timed with each candidate. A candidate
replaces the number if it is faster by MARGIN in the geometric mean, and later numbers are tried with it. With
--write, results are written to the table of the runtime, from where `make generate` takes them to the package
and the header. The first form fills FOLDER with SPIR-V, for a machine without a shader compiler.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from gpu import CALLS, RUNS, VulkanTimer, code_of, is_software, on_vulkan
from gpu_cases import Case, cases

from dmlops import gpu, reference
from dmlops.gpu.plans import tuning
from dmlops.gpu.work import Work

TABLE = Path(__file__).parents[1] / "runtime/dmlops/gpu/plans/tuning.py"
MARGIN = 1.02  # smaller differences are noise

POWERS = tuple(2**power for power in range(19))
TRIALS: dict[str, tuple[Sequence[int], Sequence[str]]] = {
    "ELEMENTWISE_THREADS": (POWERS[6:10], ("add float32", "exp float16")),
    "ELEMENTWISE_BITS": (POWERS[7:10], ("add float32", "exp float16")),
    "ELEMENTWISE_UNROLL": (POWERS[0:4], ("add float32", "exp float16")),
    "ELEMENTWISE_BUSY": ((1, *POWERS[14:19:2]), ("gelu 64 float32", "add 64 float16")),
    "PATCH_HEIGHT": (POWERS[2:6], ("transposed float32", "transposed float16")),
    "PATCH_WIDTH": (POWERS[2:6], ("transposed float32", "transposed float16")),
    "GATHER_THREADS": (POWERS[7:11], ("4k2_ax1 e4 i4 random", "4k2_ax0 e2 i4 sorted")),
    "GATHER_BITS": (POWERS[7:10], ("4k2_ax1 e4 i4 random", "4k2_ax0 e2 i4 sorted")),
    "GATHER_UNROLL": (POWERS[0:4], ("4k2_ax1 e4 i4 random", "4k2_ax0 e2 i4 sorted")),
    "TUPLE_VECTOR": (POWERS[0:3], ("points e4 i8 random", "points e2 i8 random")),
    "STRIP_BYTES": (POWERS[5:9], ("4k2_ax0 e4 i4 random", "4k2_ax0 e2 i4 sorted")),
    "REDUCTION_LEAST_THREADS": (POWERS[5:9], ("softmax 256 float32", "softmax 256 float16")),
    "REDUCTION_MOST_THREADS": (POWERS[8:11], ("sum (1,) float32", "sum (0,) float16")),
    "REDUCTION_UNROLL": (POWERS[1:4], ("sum (0,) float32", "sum (0, 1) float16")),
    "REDUCTION_WHOLE_UNROLL": (POWERS[2:5], ("sum (1,) float32", "softmax 256 float16")),
    "REDUCTION_NEIGHBOURS": (POWERS[4:7], ("sum (0,) float32", "sum (0,) float16")),
    "REDUCTION_REREAD_NEIGHBOURS": (
        POWERS[3:6],
        ("softmax of channels 32x64x56x56 float32", "lp norm 32x64x56x56 float16"),
    ),
    "REDUCTION_BUSY": (POWERS[16:20], ("max of planes 32x64x112x112 float32", "sum (0,) float16")),
    "REDUCTION_REREAD_GROUPS": (
        POWERS[8:12],
        ("batch norm gradient 32x64x56x56 float32", "softmax 1x128256 float16"),
    ),
    "REDUCTION_THREADS": ((1, *POWERS[12:20:2]), ("softmax 256 64 float32", "softmax 64 64 float16")),
    "REDUCTION_GROUPS": (POWERS[8:11], ("sum (0, 1) float32", "sum (0,) float16")),
    "ROWS_PART": (POWERS[1:5], ("batch norm 32x64x112x112 float32", "batch norm 32x512x14x14 float16")),
    "DEFINITION_THREADS": (POWERS[5:9], ("local response norm 32x64x56x56 float32", "gru 512 32x64 float32")),
    "TILE_DEPTH": (POWERS[3:6], ("gemm 2048 float32", "convolution 1x1 256-64 56x56 float32")),
    "TILE_WALK": (POWERS[1:6], ("gemm 4096 float32", "gemm 4096 float16")),
    "TILE_FEW_ROWS": (POWERS[4:8], ("gemm 32x4096x4096 float32", "gemm 32x4096x11008 turned float16")),
    "TILE_MANY": (POWERS[6:11], ("gemm 1024 float32", "gemm 2048 float32")),
    "MULTIPROCESSORS": (
        (33, 66, 132, 264),
        ("gemm 512x768x768 float16", "gemm 128x4096x4096 float32", "convolution 3x3 512-512 7x7 float32"),
    ),
    "TILE_PART": ((384, 512, 640, 1024), ("gemm 128x4096x4096 float32", "gemm 512x3072x768 float32")),
    "TILE_SMALL_PART": ((64, 96, 128, 192), ("gemm 32x4096x4096 float32", "gemm 512x768x768 float32")),
    "SINGLE_THREADS": (POWERS[6:10], ("gemm 32x4096x4096 float32", "convolution 3x3 512-512 7x7 float16")),
    "UNITS_GROUPS": (POWERS[5:9], ("gemm 1024 float16", "convolution 3x3 256-256 14x14 float16")),
    "UNITS_PART": ((256, 384, 512, 640), ("gemm 32x4096x4096 float16", "gemm 512x3072x768 float16")),
    "UNITS_MOST_PARTS": (POWERS[1:6], ("gemm 32x4096x4096 float16", "convolution 3x3 512-512 7x7 float16")),
    "ATTENTION_GROUPS": (
        POWERS[6:10],
        ("attention 1x512 12 heads float32", "attention 8x512 12 heads float32"),
    ),
    "ATTENTION_WAVES": (
        POWERS[1:4],
        ("attention 1x2048 12 heads float16", "attention 8x512 12 heads float16"),
    ),
    "BLOCK_ROWS": (
        POWERS[0:4],
        ("convolution depthwise 3x3 128 56x56 float32", "max 3x3/2 64 112x112 float16"),
    ),
    "BLOCK_COLUMNS": (
        POWERS[1:4],
        ("convolution depthwise 3x3 128 56x56 float32", "max 3x3/2 64 112x112 float16"),
    ),
    "BLOCK_THREADS": (
        POWERS[6:9],
        ("convolution depthwise 3x3 128 56x56 float32", "max 3x3/2 64 112x112 float16"),
    ),
    "BLOCK_BUSY": (
        POWERS[15:19],
        ("convolution depthwise 3x3 960 7x7 float32", "max 3x3/2 64 112x112 1 float32"),
    ),
    "SHARING_THREADS": (
        POWERS[6:10],
        ("average 7x7/7 2048 7x7 float32", "average 28x28/28 480 28x28 float16"),
    ),
    "SHARING_BUSY": (
        POWERS[16:19],
        ("average 7x7/7 2048 7x7 1 float32", "average 28x28/28 480 28x28 float16"),
    ),
    "SHARING_LANES": (POWERS[1:5], ("average 7x7/7 2048 7x7 float32", "average 7x7/7 2048 7x7 float16")),
    "THIN_LEAST_THREADS": (POWERS[6:10], ("gemm 1x4096x4096 float32", "gemm 1x4096x11008 turned float16")),
    "THIN_MOST_THREADS": (POWERS[7:11], ("gemm 1x4096x4096 float32", "gemm 1x4096x4096 float16")),
    "THIN_ALL_THREADS": (POWERS[15:19], ("gemm 1x4096x4096 float32", "gemm 1x4096x11008 turned float16")),
    "THIN_NEIGHBOURS": (POWERS[1:5], ("gemm 1x4096x4096 float32", "gemm 1x4096x4096 float16")),
    "THIN_VECTORS": (POWERS[1:4], ("gemm 1x4096x4096 float16", "gemm 1x4096x11008 turned float16")),
    "SCAN_THREADS": (POWERS[6:10], ("cumsum float32", "cumsum float16")),
    "SCAN_ITEMS": (POWERS[1:5], ("cumsum float32", "cumsum float16")),
    "TOP_K_ITEMS": (POWERS[3:7], ("top 16 of 4096 float32", "top 16 of 4096 float16")),
    "TOP_K_LEAST_THREADS": (POWERS[5:9], ("top 16 of 4096 float32", "top 16 of 4096 float16")),
    "TOP_K_PART_THREADS": (POWERS[6:10], ("top 50 of 1x50257 float32", "top 100 of 1x16777216 float32")),
    "TOP_K_SORTED_ITEMS": (
        POWERS[2:5],
        ("top 4096 of 4096x4096 float32", "top 1048576 of 1x1048576 float16"),
    ),
}


@contextmanager
def set_to(name: str, value: int) -> Iterator[None]:
    """Makes planners use this number within the context; each module that imports it has its own name for
    it."""
    modules = [
        module
        for key, module in sys.modules.items()
        if key.startswith("dmlops.gpu.plans.") and hasattr(module, name)
    ]
    before = getattr(tuning, name)
    for module in modules:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, before)


def planned(
    case: Case, name: str, candidates: Sequence[int], capabilities: gpu.Capability
) -> dict[str, Work]:
    """The work of a case for each candidate."""
    found = {}
    for value in candidates:
        with set_to(name, value):
            found[str(value)] = gpu.planned(case.describe(), capabilities)
    return found


@lru_cache(4)
def computed(case: Case) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The inputs and the expected output of a case, cached for the next numbers."""
    arrays = case.arrays()
    return arrays, next(iter(reference.run(case.describe(), arrays).values()))


def speeds(
    wanted: Sequence[Case],
    name: str,
    candidates: Sequence[int],
    folder: Path,
    device: Any,
    timer: VulkanTimer,
) -> dict[int, float]:
    """The speed of each candidate, as the geometric mean of ratios to the current number."""
    measured = []
    for case in wanted:
        arrays, expected = computed(case)
        works = planned(case, name, candidates, device.capabilities)
        turned = dict(reversed(works.items()))  # a GPU may be slow at first, or while others use it
        runs = [on_vulkan(case, one, folder, device, timer, arrays, expected) for one in (works, turned)]
        measured.append({value: max(one[value] for one in runs) for value in works})
    stands = str(getattr(tuning, name))
    return {value: geometric_mean(one[str(value)] / one[stands] for one in measured) for value in candidates}


def line(name: str, value: int, found: dict[int, float], device: str) -> str:
    """A line of the table."""
    others = ", ".join(
        f"{other} at {speed / found[value]:.2f}" for other, speed in found.items() if other != value
    )
    return f"{name} = {value}  # {device}: {others}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bench"), help="compiled shaders")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument("--only", nargs="+", default=list(TRIALS), choices=TRIALS, metavar="NAME")
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--write", action="store_true", help=f"write what was found into {TABLE.name}")
    arguments = parser.parse_args()
    known = {case.name: case for case in cases()}

    if arguments.compile_only:
        for name in arguments.only:
            candidates, wanted = TRIALS[name]
            for case in wanted:
                for one in (gpu.Capability(0), *gpu.Capability, ~gpu.Capability(0)):
                    for work in planned(known[case], name, candidates, one).values():
                        for dispatch in work.dispatches:
                            code_of(arguments.folder, known[case].operator, dispatch)
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    timer = VulkanTimer(device, *((1, 1) if is_software(device) else (RUNS, CALLS)))
    text = TABLE.read_text(encoding="utf-8")
    with ExitStack() as found_before:
        for name in arguments.only:
            candidates, wanted = TRIALS[name]
            found = speeds(
                [known[case] for case in wanted], name, candidates, arguments.folder, device, timer
            )
            best = max(found, key=lambda value: found[value])
            chosen = best if found[best] >= MARGIN else getattr(tuning, name)
            written = line(name, chosen, found, device.name)
            print(written, flush=True)
            text = re.sub(rf"^{name} = .*$", written, text, flags=re.MULTILINE)
            found_before.enter_context(set_to(name, chosen))
            if arguments.write:
                TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
