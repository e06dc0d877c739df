"""Models on a GPU, each one submission over one arena, beside torch as a CUDA graph and ONNX Runtime.

    python bench/models.py FOLDER --compile-only          # with a shader compiler
    python bench/models.py [FOLDER] [--only TEXT ...] [--types float32 float16] [--json FILE]
        [--onnxruntime]

The first form fills FOLDER with SPIR-V, in place of a compiler for the second, which needs dmlops, numpy, a
Vulkan driver and the packages vulkan and cffi. A software driver runs tiny models, whose times mean nothing.

Results are compared first: with torch on the same GPU, or on the CPU in single precision, or else with the
reference. Times are medians between timestamps on the GPU, around all that a model computes; inputs are on
the device, as torch has them. `host` is the whole call by the host's clock, with inputs copied to the device
and outputs back. Memory is that of tensors, without weights.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import compiled
import numpy as np
from gpu import is_software
from gpu_session import read_from
from model_cases import MODELS, Model, model
from provenance import provenance
from torch_gpu import torch_on_gpu

from dmlops import reference
from dmlops.gpu.device import Device
from dmlops.gpu.graphs.execute import Compiled, compile_graph
from dmlops.gpu.graphs.profiling import Clock, Profiled, as_text, ceiling
from dmlops.gpu.graphs.program import Program, program

TOLERANCE = {"float32": 1e-3, "float16": 3e-2}  # relative to the largest element, after many layers
RUNS, WARM_UP = 30, 0.5  # of the medians; seconds for clocks to rise
ALIGNMENTS = (16, 32, 64, 256)  # of offsets, of which one is a device's


class Timed(Compiled):
    """A graph between two timestamps."""

    def __init__(self, program: Program, device: Device, progress: Any = None) -> None:
        self._clock = Clock(device, 2)
        last = len(program.steps)

        def between(commands: Any, done: int) -> None:
            if done == 0:
                self._clock.start(commands)
            elif done == last:
                self._clock.write(commands, 1)

        super().__init__(program, device, progress, between)
        self._resources.callback(self._clock.close)

    def seconds(self) -> float:
        """The time of the last run on the device."""
        return self._clock.seconds()[1]


def measured(made: Model, device: Device, profile: bool) -> tuple[np.ndarray, dict[str, float]]:
    """The output, and microseconds and bytes."""
    start = perf_counter()
    graph = made.graph()
    with compile_graph(graph, device, kind=Timed) as timed:
        assert isinstance(timed, Timed)
        result = timed(made.inputs)["y"]
        first = perf_counter() - start
        times: list[tuple[float, float]] = []
        end = perf_counter() + WARM_UP
        while not times or (not is_software(device) and (len(times) < RUNS or perf_counter() < end)):
            begin = perf_counter()
            timed(made.inputs)
            times.append((timed.seconds(), perf_counter() - begin))
        on_device, on_host = (statistics.median(column[-RUNS:]) for column in zip(*times, strict=True))
        memory, steps = timed.memory, len(timed.program.steps)
    if profile:
        with compile_graph(graph, device, kind=Profiled) as profiled:
            assert isinstance(profiled, Profiled)
            for _ in range(2):
                profiled(made.inputs)
            print(as_text(profiled.rows(), ceiling(device)))
    return result, {
        "us": on_device * 1e6,
        "host us": on_host * 1e6,
        "first run s": first,
        "peak": memory.peak,
        "least peak": memory.lower_bound,
        "steps": steps,
    }


def on_torch(torch: Any, made: Model) -> tuple[np.ndarray, dict[str, float]]:
    """The output and the figures of torch on its GPU."""
    run, _ = made.torch(torch, "cuda")
    with torch.no_grad():
        result = run().cpu().numpy()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() - before
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        times: list[float] = []
        end = perf_counter() + WARM_UP
        while len(times) < RUNS or perf_counter() < end:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop) * 1e-3)
    return result, {"torch us": statistics.median(times[-RUNS:]) * 1e6, "torch peak": float(peak)}


def expected(made: Model) -> tuple[np.ndarray, dict[str, float]]:
    """The outputs of a model: by torch, on its GPU or on the CPU, or by the reference."""
    torch = torch_on_gpu()
    if torch is not None:
        return on_torch(torch, made)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return reference.run(made.graph(), made.inputs)["y"], {}
    run, _ = made.torch(torch, "cpu")
    with torch.no_grad():
        return run().numpy(), {}


def on_onnx_runtime(made: Model) -> tuple[np.ndarray | None, dict[str, float]]:
    """The output and the time of ONNX Runtime, through CUDA if it has that; torch exports the model.

    Inputs and outputs are on the device. Nothing in float16 on the CPU, which has no kernels for that.
    """
    import onnxruntime
    import torch

    cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if made.dtype == "float16" and not cuda:
        return None, {}
    session = onnxruntime.InferenceSession(
        made.onnx(torch, "cuda" if cuda else "cpu"),
        providers=["CUDAExecutionProvider" if cuda else "CPUExecutionProvider"],
    )
    device, binding = "cuda" if cuda else "cpu", session.io_binding()
    for one, array in zip(session.get_inputs(), made.inputs.values(), strict=True):
        binding.bind_ortvalue_input(one.name, onnxruntime.OrtValue.ortvalue_from_numpy(array, device))
    binding.bind_output(session.get_outputs()[0].name, device)
    times: list[float] = []
    end = perf_counter() + WARM_UP
    while len(times) < 3 or (len(times) < RUNS and cuda) or perf_counter() < end:
        start = perf_counter()
        session.run_with_iobinding(binding)
        times.append(perf_counter() - start)
    (result,) = binding.copy_outputs_to_cpu()
    return result, {f"onnxruntime {device} us": statistics.median(times[-RUNS:]) * 1e6}


def off(found: np.ndarray, right: np.ndarray) -> float:
    """The largest difference, relative to the largest element; infinity for NaN."""
    own, wanted = found.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    distance = float(np.abs(own - wanted).max() / np.abs(wanted).max())
    return distance if np.isfinite(distance) else float("inf")


def line(name: str, one: Mapping[str, float]) -> str:
    torch = one.get("torch us")
    beside = f"{torch:10.1f} {torch / one['us']:6.2f}" if torch else f"{'':17}"
    other = next((value for key, value in one.items() if key.startswith("onnxruntime")), None)
    runtime = f"{other:11.1f}" if other else f"{'':11}"
    return (
        f"{name:32} {one['us']:10.1f} {beside} {runtime} {one['host us']:10.1f} {one['peak'] / 1e6:9.2f} "
        f"{one.get('torch peak', 0) / 1e6:9.2f} {int(one['steps']):5} {one['off']:8.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="compiled shaders; without it, the user's cache")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="models with a TEXT in the name"
    )
    parser.add_argument("--types", nargs="+", choices=TOLERANCE, default=list(TOLERANCE))
    parser.add_argument("--tiny", action="store_true", help="tiny models, as a software driver gets")
    parser.add_argument(
        "--onnxruntime", action="store_true", help="also through ONNX Runtime, for which torch exports"
    )
    parser.add_argument("--profile", action="store_true", help="also print the time of each node")
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    arguments = parser.parse_args()
    wanted = [
        (name, dtype)
        for name in MODELS
        for dtype in arguments.types
        if any(text in name for text in arguments.only)
    ]
    if arguments.folder:
        read_from(arguments.folder)
    if arguments.compile_only:
        compile_all(wanted, arguments.folder or parser.error("--compile-only needs a folder"), arguments.tiny)
        return
    device = Device.open(arguments.device)
    tiny = arguments.tiny or is_software(device)
    print(f"{device.name}: microseconds, MB{'; tiny models, so no figure means anything' if tiny else ''}")
    print(
        f"{'model':32} {'here':>10} {'torch':>10} {'ratio':>6} {'onnxruntime':>11} {'host':>10} "
        f"{'peak':>9} {'torch':>9} {'steps':>5} {'off':>8}"
    )
    results: dict[str, Any] = {}
    for name, dtype in wanted:
        label = f"{name}, {dtype}"
        made = model(name, dtype, tiny)
        right, beside = expected(made)
        found, own = measured(made, device, arguments.profile)
        result, other = on_onnx_runtime(made) if arguments.onnxruntime else (None, {})
        one = {**own, **beside, **other, "off": off(found, right)}
        for who, distance in (
            ("here", one["off"]),
            ("in ONNX Runtime", 0 if result is None else off(result, right)),
        ):
            if not distance <= TOLERANCE[dtype]:
                sys.exit(
                    f"{label} computes wrong results {who}: off by {distance:.2g} of the largest element"
                )
        results[label] = one
        print(line(label, one), flush=True)
        if arguments.json:
            report = {"device": device.name, "tiny": tiny, "run": provenance(), "models": results}
            arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    for dtype in arguments.types:
        ratios = [
            one["torch us"] / one["us"]
            for label, one in results.items()
            if "torch us" in one and dtype in label
        ]
        if ratios:
            print(f"{dtype}: {statistics.geometric_mean(ratios):.2f} of torch, at least {min(ratios):.2f}")


def compile_all(wanted: list[tuple[str, str]], folder: Path, tiny: bool) -> None:
    """Compiles the shaders of models into a folder, for each set of capabilities."""
    for name, dtype in wanted:
        graph = model(name, dtype, tiny).graph()
        shaders = list(
            dict.fromkeys(
                shader
                for capabilities in compiled.CAPABILITIES
                for alignment in ALIGNMENTS
                for shader in program(graph, alignment, capabilities).shaders
            )
        )
        texts = [shader.source for shader in shaders]
        macros = [dict(shader.defines) for shader in shaders]
        with ThreadPoolExecutor() as pool:
            list(pool.map(partial(compiled.code_of, folder), texts, macros))
        print(f"{name}, {dtype}: {len(shaders)} shaders", flush=True)


if __name__ == "__main__":
    main()
