"""Speed of the shaders on a GPU, compared with torch if that is installed.

    python bench/gpu.py [FOLDER] --compile-only
    python bench/gpu.py [FOLDER] [--only TEXT ...] [--json FILE] [--plot FILE]
    python bench/gpu.py [FOLDER] --without FORM ... [--only TEXT ...] [--json FILE]

The first form fills FOLDER with SPIR-V, on a machine with a shader compiler, for one without. The second
needs dmlops, numpy, a Vulkan driver and the packages vulkan and cffi. A software driver only gets the small
cases, once each, which shows that everything works but says nothing about speed.

The third measures what fast forms earn: the speed of some of the cases that use a form, if planners leave it
out and take the next one that applies, relative to their speed with it. With --compile-only it fills FOLDER.

GB/s counts the least traffic possible: every tensor once, and only the selected part of one that is subject
to indices or strides of 0. The ceilings are a copy of a tensor by a shader, and for products only arithmetic,
measured in the same run. Times are medians of 5 runs of 20 calls, between timestamps on the GPU; torch runs
as a CUDA graph. Calls rotate through copies of the tensors, outputs included, that exceed any cache; they
share constants, as the calls of a session do. The first output of a case is checked against torch, or against
the reference without it, before it is timed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import compiled
import gpu_peak
import numpy as np
from fallbacks import FORMS, Fallback, fallback
from gpu_cases import LARGE, SMALL, Case, cases, squares
from provenance import provenance
from torch_gpu import torch_on_gpu

from dmlops import gpu, reference
from dmlops.gpu.memory import array_of, buffer_size
from dmlops.gpu.plans.capabilities import FASTER
from dmlops.gpu.work import Dispatch, Work, tensor_names

ROTATED_BYTES = 600 << 20
RUNS, CALLS = 5, 20
WARM_UP = 0.25  # seconds: an idle GPU's clocks are down
SMALL_BYTES = 4 << 20
AHEAD = 4  # cases whose tensors are generated while others are timed
MOST_CASES = 12  # timed without a form
FEW_RUNS, FEW_CALLS = 3, 6  # of a case without a form, which may be very slow

Shader = Callable[[str], str]
"""The text of an operator's shader."""


def code_of(folder: Path, operator: str, dispatch: Dispatch, shader: Shader = gpu.shader) -> bytes:
    """The SPIR-V of a dispatch, from the folder or compiled into it."""
    return compiled.code_of(folder, shader(dispatch.shader or operator), dispatch.defines)


class VulkanTimer:
    """Times dispatches on a device: the median of the last `runs` runs of `calls` calls each, of as many as
    take `warm_up` seconds, and one more."""

    def __init__(self, device: Any, runs: int, calls: int, warm_up: float = 0) -> None:
        from dmlops.gpu.vulkan_api import vk

        self._vk, self._device, self._runs, self._calls = vk, device, runs, calls
        self._warm_up = warm_up
        self._pool = vk.vkCreateQueryPool(
            device.handle, vk.VkQueryPoolCreateInfo(queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2), None
        )

    @classmethod
    def of(cls, device: Any, runs: int = RUNS, calls: int = CALLS) -> VulkanTimer:
        """A software driver runs everything once. A GPU is warmed up, unless torch keeps its clocks up, as
        any CUDA context does."""
        if is_software(device):
            return cls(device, 1, 1)
        return cls(device, runs, calls, 0 if torch_on_gpu() else WARM_UP)

    def seconds(self, calls: Sequence[Callable[[Any], None]]) -> float:
        """Seconds per call."""
        from dmlops.gpu.commands import barrier

        vk = self._vk

        def record(commands: Any) -> None:
            vk.vkCmdResetQueryPool(commands, self._pool, 0, 2)
            vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, self._pool, 0)
            for number in range(self._calls):
                calls[number % len(calls)](commands)
                barrier(commands)
            vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, self._pool, 1)

        times: list[float] = []
        end = time.monotonic() + self._warm_up
        while len(times) < 1 + self._runs or time.monotonic() < end:
            self._device.submit(record)
            ticks = vk.ffi.new("uint64_t[2]")
            flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
            vk.vkGetQueryPoolResults(self._device.handle, self._pool, 0, 2, 16, ticks, 8, flags)
            times.append((ticks[1] - ticks[0]) * self._device.limits.timestampPeriod * 1e-9 / self._calls)
        return statistics.median(times[-self._runs :])


def is_software(device: Any) -> bool:
    """Whether the device is a software driver."""
    from dmlops.gpu.vulkan_api import vk

    return bool(device.type == vk.VK_PHYSICAL_DEVICE_TYPE_CPU)


def copies(case: Case) -> int:
    return max(1, min(6, ROTATED_BYTES // case.bytes_moved))


def agree(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether results agree, relative to each element or to the largest one. torch compares in a tenth of the
    time."""
    tolerance = 1e-2 if found.dtype == np.float16 else 1e-4
    torch = torch_on_gpu()
    if torch is None:
        most = float(np.abs(expected).max())
        return bool(np.allclose(found, expected, rtol=tolerance, atol=tolerance * most))
    own, wanted = (torch.from_numpy(one.astype(expected.dtype)).cuda().double() for one in (found, expected))
    near = (own - wanted).abs() <= tolerance * (wanted.abs() + wanted.abs().max())
    return bool((near | (own == wanted)).all())


def on_vulkan(
    case: Case,
    chosen: dict[str, Work],
    folder: Path,
    device: Any,
    timer: VulkanTimer,
    arrays: dict[str, np.ndarray],
    expected: np.ndarray,
    shader: Shader = gpu.shader,
) -> dict[str, float]:
    """GB/s of each variant. Exits if a result is wrong."""
    from dmlops.gpu.commands import barrier, clear, copy
    from dmlops.gpu.resources import Binding

    desc = case.describe()
    contents = dict(gpu.input_bytes(desc, arrays))
    outputs = dict(tensor_names(desc, "output"))
    first = next(iter(outputs))
    speeds: dict[str, float] = {}
    with ExitStack() as cleanup:

        def buffer(size: int) -> Any:
            made = device.buffer(size)
            cleanup.callback(made.close)
            return made

        sets: list[dict[str, Any]] = []
        for number in range(copies(case)):
            buffers = {name: buffer(len(data)) for name, data in contents.items()}
            for name, data in contents.items():
                if number == 0:
                    device.upload(buffers[name], data)
                else:
                    source, target = sets[0][name], buffers[name]
                    device.submit(partial(copy, source=source, target=target, size=source.size))
            sets.append(buffers | {name: buffer(buffer_size(one)) for name, one in outputs.items()})
        for name, work in chosen.items():
            scratch = {key: buffer(size) for key, size in work.scratch.items()}
            recorded = []
            constants = {one.constants: buffer(len(one.constants)) for one in work.dispatches}
            for data, place in constants.items():
                device.upload(place, data)
            for tensors in sets:
                places = {key: Binding(one, 0, one.size) for key, one in {**tensors, **scratch}.items()}
                steps: list[tuple[bool, Callable[[Any], None]]] = [
                    (True, partial(clear, place=places[key])) for key in work.zero_initialize
                ]
                for dispatch in work.dispatches:
                    parameters = constants[dispatch.constants]
                    code = code_of(folder, case.operator, dispatch, shader)
                    pipeline = device.pipeline(code, len(dispatch.buffers))
                    bindings = [
                        *(places[key] for key in dispatch.buffers),
                        Binding(parameters, 0, parameters.size),
                    ]
                    bound = cleanup.enter_context(pipeline.bind(bindings))
                    waits = dispatch.needs_barrier or bool(work.zero_initialize)
                    steps.append((waits, partial(bound.record, groups=(*dispatch.groups, 1))))
                recorded.append(steps)

            def call(commands: Any, steps: list[tuple[bool, Callable[[Any], None]]]) -> None:
                for number, (waits, step) in enumerate(steps):
                    if number and waits:
                        barrier(commands)
                    step(commands)

            calls = [partial(call, steps=steps) for steps in recorded]
            device.submit(calls[0])
            found = array_of(outputs[first], device.download(sets[0][first]))
            if not agree(found, expected):
                sys.exit(f"{case.name}: {name} computes wrong results")
            speeds[name] = case.bytes_moved / timer.seconds(calls) / 1e9
    return speeds


def on_torch(case: Case, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, float] | None:
    """The result and GB/s, or None without torch or without a GPU for it."""
    torch = torch_on_gpu()
    if torch is None:
        return None

    def on_device(name: str) -> Any:
        moved, given = torch.from_numpy(arrays[name].copy()).cuda(), case.desc[name]
        strides = given.get("Strides") if isinstance(given, dict) else None  # tensors of an array are packed
        if not strides or 0 in strides:
            return moved
        return copied(moved, strides)  # the same layout as the shader's

    def copied(tensor: Any, strides: Sequence[int]) -> Any:
        return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device="cuda").copy_(tensor)

    first = [on_device(name) for name in arrays]
    sets = [first, *([copied(one, one.stride()) for one in first] for _ in range(copies(case) - 1))]
    result = case.torch(torch, *sets[0]).cpu().numpy()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for tensors in sets:
            case.torch(torch, *tensors)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # As many outputs are kept as there are sets, so that each call writes to other memory than the last one,
    # as the shader's calls do. An output freed at once would be overwritten while still in the cache.
    outputs: deque[Any] = deque(maxlen=len(sets))
    with torch.cuda.graph(graph):
        for number in range(CALLS):
            outputs.append(case.torch(torch, *sets[number % len(sets)]))
    times = []
    for _ in range(1 + RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3 / CALLS)
    return result, float(case.bytes_moved / statistics.median(times[1:]) / 1e9)


def computed(case: Case, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, float | None]:
    """The expected result and torch's GB/s, or None for these where the reference computes it."""
    return on_torch(case, arrays) or (next(iter(reference.run(case.describe(), arrays).values())), None)


def with_arrays(wanted: Sequence[Case]) -> Iterator[tuple[Case, dict[str, np.ndarray]]]:
    """Cases and their tensors; threads generate those of the next cases meanwhile."""
    with ThreadPoolExecutor(AHEAD) as pool:
        following = iter(wanted)
        waiting = deque((case, pool.submit(case.arrays)) for case in itertools.islice(following, AHEAD))
        while waiting:
            case, made = waiting.popleft()
            waiting.extend((one, pool.submit(one.arrays)) for one in itertools.islice(following, 1))
            yield case, made.result()


def measured(
    case: Case,
    arrays: dict[str, np.ndarray],
    arguments: argparse.Namespace,
    device: Any,
    timer: VulkanTimer,
    peak: float = 0,
) -> dict[str, Any]:
    """GB/s of the shader and of torch, or None without it; for products also the fraction of the `peak`
    arithmetic."""
    expected, torch_speed = computed(case, arrays)
    work = gpu.plan(case.describe(), device.capabilities)
    speed = on_vulkan(case, {"shader": work}, arguments.folder, device, timer, arrays, expected)["shader"]
    beside = f"torch {torch_speed:6.0f}  ratio {speed / torch_speed:4.2f}" if torch_speed else ""
    found = {"shader": speed, "torch": torch_speed}
    if case.operations and peak:
        found["of the arithmetic"] = speed * 1e9 / case.bytes_moved * case.operations / peak
        beside += f"  of the arithmetic {found['of the arithmetic']:4.2f}"
    print(f"{case.name:32} {speed:6.0f}", beside, flush=True)
    return found


def depending(
    known: Sequence[Case], form: str, capabilities: gpu.Capability, folder: Path
) -> list[tuple[Case, Fallback]]:
    """Cases that use a form, with their plans without it: at most MOST_CASES, from all families."""
    planned = ((case, fallback(form, case, capabilities, folder)) for case in known)
    found = [(case, other) for case, other in planned if other is not None]
    return found[:: -(-len(found) // MOST_CASES)] if found else []


def earned(form: str, known: Sequence[Case], folder: Path, device: Any) -> dict[str, float]:
    """The speed of cases without a form, relative to their speed with it; without those whose intermediate
    tensors then exceed what a shader can address."""
    timer = VulkanTimer.of(device, FEW_RUNS, FEW_CALLS)
    reach = device.limits.maxStorageBufferRange
    without = {
        case: other
        for case, other in depending(known, form, device.capabilities, folder)
        if max(other.work.scratch.values(), default=0) <= reach
    }
    found: dict[str, float] = {}
    for case, arrays in with_arrays(list(without)):
        expected, _ = computed(case, arrays)
        timed = (folder, device, timer, arrays, expected)
        work = gpu.plan(case.describe(), device.capabilities)
        own = on_vulkan(case, {form: work}, *timed)
        other = on_vulkan(case, {f"without {form}": without[case].work}, *timed, without[case].shader)
        found[case.name] = other[f"without {form}"] / own[form]
        print(f"without {form:20} {case.name:32} {found[case.name]:6.3f}", flush=True)
    return found


def plotted(device: str, ceiling: float, results: dict[str, dict[str, Any]]) -> str:
    """An SVG with a bar per case: its speed relative to torch, or to the copy's ceiling without torch."""
    unit, left, line = 160, 290, 16  # pixels: a ratio of 1, the names, a bar
    rows, widest = [], left + 4 * unit
    for number, (name, speeds) in enumerate(results.items()):
        ratio = speeds["shader"] / (speeds["torch"] or ceiling)
        top = 40 + number * line
        length = min(ratio, 3.5) * unit
        fill = "#2a7" if ratio >= 0.9 else "#d80"
        rows.append(
            f'<text x="{left - 8}" y="{top + 11}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{line - 4}" fill="{fill}"/>'
            f'<text x="{left + length + 6:.1f}" y="{top + 11}">{ratio:.2f}</text>'
        )
    height = 48 + line * len(results)
    beside = "torch" if any(one["torch"] for one in results.values()) else "a copy"
    title = escape(f"{device}: speed beside {beside}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest} {height}" '
        f'font-family="sans-serif" font-size="11">\n<title>{title}</title>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n<text x="8" y="20" font-size="14">{title}</text>\n'
        f'<line x1="{left + unit}" x2="{left + unit}" y1="32" y2="{height}" stroke="#888"/>\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = Path("build/bench")
    parser.add_argument("folder", type=Path, nargs="?", default=folder, help="compiled shaders (%(default)s)")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="cases whose names contain a TEXT"
    )
    parser.add_argument(
        "--without",
        nargs="+",
        choices=FORMS,
        default=[],
        metavar="FORM",
        help="measure what these forms earn",
    )
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them here, as SVG")
    arguments = parser.parse_args()
    wanted = [case for case in cases() if any(text in case.name for text in arguments.only)]

    if arguments.compile_only and arguments.without:
        for form in arguments.without:
            for case, other in depending(wanted, form, FASTER, arguments.folder):
                own = gpu.plan(case.describe(), FASTER)
                for work, shader in ((own, gpu.shader), (other.work, other.shader)):
                    for dispatch in work.dispatches:
                        code_of(arguments.folder, case.operator, dispatch, shader)
        return
    if arguments.compile_only:
        copied = next(squares())
        for case, capabilities in itertools.product((copied, *wanted), compiled.CAPABILITIES):
            for dispatch in gpu.plan(case.describe(), capabilities).dispatches:
                code_of(arguments.folder, case.operator, dispatch)
        for kind in gpu_peak.KINDS:
            gpu_peak.code_of(arguments.folder, kind)
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    if is_software(device):
        print(
            f"{device.name} runs on the CPU: the small cases alone, once each; no figure here means anything"
        )
        wanted = [case for case in wanted if case.bytes_moved <= SMALL_BYTES]
    run = provenance()
    if arguments.without:
        forms: dict[str, dict[str, float]] = {}
        for form in arguments.without:
            forms[form] = earned(form, wanted, arguments.folder, device)
            if arguments.json:
                report = {"device": device.name, "run": run, "without": forms}
                arguments.json.write_text(json.dumps(report, indent=1) + "\n")
        return
    timer = VulkanTimer.of(device)
    side, groups = (SMALL, 16) if is_software(device) else (LARGE, gpu_peak.GROUPS)
    print(f"{device.name}: GB/s")
    copied = next(squares(side))
    ceiling: float = measured(copied, copied.arrays(), arguments, device, timer)["shader"]
    peaks = gpu_peak.operations_per_second(device, timer.seconds, arguments.folder, groups)
    print("arithmetic:", *(f"{peak / 1e12:.1f} T/s of {kind}" for kind, peak in peaks.items()))
    results: dict[str, dict[str, Any]] = {}
    for case, arrays in with_arrays(wanted):
        # Without cooperative matrices, float16 is accumulated in single precision.
        is_half = case.name.endswith("float16")
        peak = peaks.get("float16 by cooperative matrices" if is_half else "float32", peaks["float32"])
        results[case.name] = measured(case, arrays, arguments, device, timer, peak)
        if arguments.json:
            measures = {"copy GB/s": ceiling, "operations/s": peaks, "GB/s": results}
            report = {"device": device.name, "run": run, **measures}
            arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.plot:
        arguments.plot.write_text(plotted(device.name, ceiling, results), encoding="utf-8")


if __name__ == "__main__":
    main()
