"""Speed of the gather shaders on a GPU, beside torch where that is installed.

    python bench/gpu.py FOLDER --compile-only     # where there is a shader compiler: fills FOLDER with SPIR-V
    python bench/gpu.py FOLDER [--only TEXT ...] [--sweep] [--json FILE]

The second needs dmlops, numpy, a Vulkan driver and the packages vulkan and cffi; FOLDER replaces the
compiler.

GB/s counts what must move at least: each output element read and written once, each index read once. Times
are medians of 5 runs of 20 calls, between timestamps on the GPU; torch runs as a CUDA graph. Calls take turns
over several copies of the tensors, more than a cache holds. Results are compared with NumPy's before they are
timed.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dmlops
from dmlops.gpu import compiler, shader
from dmlops.gpu import plan as plans
from dmlops.gpu import variant as variants

ROTATED_BYTES = 600 << 20
RUNS, CALLS = 5, 20
SWEEP = list(
    itertools.product((256, 512, 1024), (16, 32, 64), (64, 128, 256, 1 << 30))
)  # the last: no strips


@dataclass(frozen=True)
class Case:
    name: str
    operator: str
    input_sizes: tuple[int, ...]
    index_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    members: dict[str, int]
    element_size: int
    index_size: int
    limit: int  # indices are below it
    sort_axis: int | None = None

    @property
    def element_type(self) -> np.dtype[Any]:
        return np.dtype({1: "uint8", 2: "float16", 4: "float32", 8: "float64"}[self.element_size])

    @property
    def index_type(self) -> np.dtype[Any]:
        return np.dtype({4: "int32", 8: "int64"}[self.index_size])

    @property
    def bytes_moved(self) -> int:
        elements, indices = np.prod(self.output_sizes), np.prod(self.index_sizes)
        return int(elements * 2 * self.element_size + indices * self.index_size)

    def describe(self) -> Any:
        def tensor(sizes: tuple[int, ...], data_type: np.dtype[Any]) -> dict[str, Any]:
            return {"DataType": data_type.name.upper(), "Sizes": list(sizes)}

        tensors = {
            "InputTensor": tensor(self.input_sizes, self.element_type),
            "IndicesTensor": tensor(self.index_sizes, self.index_type),
            "OutputTensor": tensor(self.output_sizes, self.element_type),
        }
        return dmlops.from_json(
            {"type": f"DML_OPERATOR_{self.operator}", "desc": {**tensors, **self.members}}
        )

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        count = int(np.prod(self.input_sizes)) * self.element_size
        values = rng.integers(0, 120, count, np.uint8)  # no byte pattern that is not a number
        indices = rng.integers(0, self.limit, self.index_sizes, self.index_type)
        if self.sort_axis is not None:
            indices.sort(axis=self.sort_axis)
        return values.view(self.element_type).reshape(self.input_sizes), indices

    def expected(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        if self.operator == "GATHER_ELEMENTS":
            return np.asarray(np.take_along_axis(values, indices, self.members["Axis"]))
        if self.operator == "GATHER":
            return np.asarray(np.take(values, indices[0], axis=0))
        return np.asarray(values[tuple(np.moveaxis(indices, -1, 0))])

    def in_torch(self, values: Any, indices: Any) -> Any:
        torch: Any = importlib.import_module("torch")
        if self.operator == "GATHER_ELEMENTS":
            return torch.gather(values, self.members["Axis"], indices)
        if self.operator == "GATHER":
            return torch.index_select(values, 0, indices[0])
        return values[indices[..., 0], indices[..., 1]]


def cases() -> Iterator[Case]:
    def elements(
        name: str, sizes: tuple[int, ...], axis: int, element_size: int, index_size: int, pattern: str
    ) -> Case:
        label = f"{name} e{element_size} i{index_size} {pattern}"
        sort_axis = axis if pattern == "sorted" else None
        return Case(
            label,
            "GATHER_ELEMENTS",
            sizes,
            sizes,
            sizes,
            {"Axis": axis},
            element_size,
            index_size,
            sizes[axis],
            sort_axis,
        )

    for name, sizes, axis in (
        ("4k2_ax1", (4096, 4096), 1),
        ("4k2_ax0", (4096, 4096), 0),
        ("4d_ax2", (64, 128, 64, 64), 2),
        ("1d_64M", (1 << 26,), 0),
    ):
        for element_size in (2, 4):
            for index_size in (4, 8):
                for pattern in ("random", "sorted"):
                    yield elements(name, sizes, axis, element_size, index_size, pattern)
    for name, axis in (("4k2_ax1", 1), ("4k2_ax0", 0)):
        yield elements(name, (4096, 4096), axis, 1, 4, "random")
        yield elements(name, (4096, 4096), axis, 8, 8, "random")
    yield elements("rows_ax1", (262144, 256), 1, 4, 8, "random")
    yield elements("8k2_ax0", (8192, 8192), 0, 4, 4, "random")
    for size in (2, 4):
        table, picked = (50257, 768), 65536
        yield Case(
            f"embedding e{size} i8 random", "GATHER", table, (1, picked), (picked, 768),
            {"Axis": 0, "IndexDimensions": 1}, size, 8, table[0],
        )  # fmt: skip
        yield Case(
            f"points e{size} i8 random", "GATHER_ND", (4096, 4096), (1 << 24, 2), (1, 1 << 24),
            {"InputDimensionCount": 2, "IndicesDimensionCount": 2}, size, 8, 4096,
        )  # fmt: skip


def code_of(folder: Path, operator: str, variant: variants.Variant) -> bytes:
    """The shader from the folder; compiled into it first if it is not there."""
    file = folder / f"{'-'.join([operator, *map(str, variant.defines.values())])}.spv"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(compiler.compile(shader(operator), variant.defines))
    return file.read_bytes()


def settings(case: Case, sweep: bool) -> dict[str, variants.Variant]:
    """The variant that the runtime would choose, or all variants of the sweep, by name."""
    plan = plans.plan_of(case.describe())
    if not sweep:
        return {"shader": variants.choose(plan, case.index_size, True)}
    chosen: dict[str, variants.Variant] = {}
    usual = variants.NUM_THREADS, variants.BYTES_IN_FLIGHT, plans.STRIP_BYTES
    for threads, flight, strip in SWEEP:
        variants.NUM_THREADS, variants.BYTES_IN_FLIGHT, plans.STRIP_BYTES = threads, flight, strip
        variant = variants.choose(plan, case.index_size, True)
        if variant not in chosen.values():
            chosen[f"{threads}x{variant.defines['UNROLL']}/{strip}"] = variant
    variants.NUM_THREADS, variants.BYTES_IN_FLIGHT, plans.STRIP_BYTES = usual
    return chosen


class VulkanTimer:
    """Times dispatches on a device."""

    def __init__(self, device: Any) -> None:
        from dmlops.gpu.vulkan_api import vk

        self._vk, self._device = vk, device
        self._pool = vk.vkCreateQueryPool(
            device.handle, vk.VkQueryPoolCreateInfo(queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2), None
        )

    def seconds(self, calls: Sequence[Callable[[Any], None]]) -> float:
        """Of one call."""
        from dmlops.gpu.device import barrier

        vk = self._vk

        def record(commands: Any) -> None:
            vk.vkCmdResetQueryPool(commands, self._pool, 0, 2)
            vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, self._pool, 0)
            for number in range(CALLS):
                calls[number % len(calls)](commands)
                barrier(commands)
            vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, self._pool, 1)

        times = []
        for _ in range(1 + RUNS):
            self._device.submit(record)
            ticks = vk.ffi.new("uint64_t[2]")
            flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
            vk.vkGetQueryPoolResults(self._device.handle, self._pool, 0, 2, 16, ticks, 8, flags)
            times.append((ticks[1] - ticks[0]) * self._device.limits.timestampPeriod * 1e-9 / CALLS)
        return float(statistics.median(times[1:]))


def copies(case: Case) -> int:
    return max(1, min(6, ROTATED_BYTES // case.bytes_moved))


def on_vulkan(
    case: Case,
    chosen: dict[str, variants.Variant],
    folder: Path,
    device: Any,
    arrays: tuple[np.ndarray, np.ndarray],
) -> dict[str, float]:
    """GB/s of each variant. Exits when a result is wrong."""
    from dmlops.gpu.device import copy
    from dmlops.gpu.resources import Binding

    expected = case.expected(*arrays).tobytes()
    timer, speeds = VulkanTimer(device), {}
    with ExitStack() as cleanup:

        def buffer(size: int) -> Any:
            made = device.buffer(size)
            cleanup.callback(made.close)
            return made

        sets: list[list[Any]] = []
        for number in range(copies(case)):
            tensors = [buffer(array.nbytes) for array in arrays]
            for position, array in enumerate(arrays):
                if number == 0:
                    device.upload(tensors[position], array.reshape(-1).view(np.uint8).data)
                else:
                    source, target = sets[0][position], tensors[position]
                    device.submit(partial(copy, source=source, target=target, size=source.size))
            sets.append([*tensors, buffer(len(expected))])
        for name, variant in chosen.items():
            parameters = buffer(len(variant.constants))
            device.upload(parameters, variant.constants)
            kernel = device.kernel(code_of(folder, case.operator, variant), 3)
            bound = [
                cleanup.enter_context(kernel.bind([Binding(b, 0, b.size) for b in (*tensors, parameters)]))
                for tensors in sets
            ]
            calls = [partial(k.record, groups=variant.groups) for k in bound]
            device.upload(sets[0][2], bytes(len(expected)))
            device.submit(calls[0])
            if device.download(sets[0][2]) != expected:
                sys.exit(f"{case.name}: {name} computes wrong results")
            speeds[name] = case.bytes_moved / timer.seconds(calls) / 1e9
    return speeds


def on_torch(case: Case, arrays: tuple[np.ndarray, np.ndarray]) -> float | None:
    """GB/s, or None without torch, without its GPU or where it has no such gather."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    sets = [[torch.from_numpy(array).cuda() for array in arrays] for _ in range(copies(case))]
    try:
        case.in_torch(*sets[0])
    except (RuntimeError, IndexError):
        return None
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for tensors in sets:
            case.in_torch(*tensors)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(CALLS):
            case.in_torch(*sets[number % len(sets)])
    times = []
    for _ in range(1 + RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3 / CALLS)
    return float(case.bytes_moved / statistics.median(times[1:]) / 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="compiled shaders")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="cases whose names contain a TEXT"
    )
    parser.add_argument(
        "--sweep", action="store_true", help="try other group sizes and vectors in flight too"
    )
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    arguments = parser.parse_args()
    wanted = [case for case in cases() if any(text in case.name for text in arguments.only)]

    if arguments.compile_only:
        for case in wanted:
            for variant in settings(case, arguments.sweep).values():
                code_of(arguments.folder, case.operator, variant)
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    print(device.name)
    results = {}
    for case in wanted:
        arrays = case.arrays()
        speeds = on_vulkan(case, settings(case, arguments.sweep), arguments.folder, device, arrays)
        torch_speed = on_torch(case, arrays)
        results[case.name] = {**speeds, "torch": torch_speed}
        beside = (
            f"torch {torch_speed:6.0f}  ratio {max(speeds.values()) / torch_speed:4.2f}"
            if torch_speed
            else ""
        )
        print(
            f"{case.name:28}", *(f"{name} {speed:6.0f}" for name, speed in speeds.items()), beside, flush=True
        )
        if arguments.json:
            arguments.json.write_text(json.dumps({"device": device.name, "GB/s": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
