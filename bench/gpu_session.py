"""Times of small work and small networks on a GPU, through `gpu.run` and in a session.

    python bench/gpu_session.py FOLDER --compile-only [--large]   # with a shader compiler
    python bench/gpu_session.py FOLDER [--large] [--json FILE]

The first form fills FOLDER with SPIR-V, in place of a compiler for the second, which needs dmlops, numpy, a
Vulkan driver and the packages vulkan and cffi.

Times are medians by the host's clock, until the host has waited for the device. Small work is compared with a
dispatch of an empty shader, recorded once and submitted again; the networks of `tests/gpu_networks.py` are
compared with the reference, or in results and speed with torch if that has a GPU: eager and as a CUDA graph.
`--large` uses networks of realistic sizes; without it they suit a software driver.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import compiled
import numpy as np
from provenance import provenance
from torch_gpu import torch_on_gpu

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu import compiler

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gpu_networks import ResNetBlock, TransformerLayer, draw

EMPTY = "[numthreads(1, 1, 1)] void CSMain() {}"
MANY = 100  # operators in one recording
SECONDS = 1.0  # for each figure

Network = ResNetBlock | TransformerLayer


def networks(large: bool) -> dict[str, Network]:
    found: dict[str, Network] = {}
    for kind in ("float32", "float16"):
        sizes = ((32, 64, 56), (512, 768, 12)) if large else ((1, 8, 8), (16, 32, 4))
        found[f"ResNet block {kind}"] = ResNetBlock(*sizes[0], kind)
        found[f"transformer layer {kind}"] = TransformerLayer(*sizes[1], kind)
    return found


def tiny() -> Any:
    """The sum of 64 pairs."""
    tensor = TensorDesc("FLOAT32", (64,))
    return dmlops.ElementWiseAdd1(ATensor=tensor, BTensor=tensor).infer()


def read_from(folder: Path) -> None:
    """Makes the compiler use the folder: shaders are compiled into it, and taken from it."""
    compiler.compile = partial(compiled.code_of, folder)  # type: ignore[assignment]


def compile_only(desc: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Stands in for what runs operators, and only compiles."""
    for capabilities in compiled.CAPABILITIES:
        for dispatch in gpu.plan(desc, capabilities).dispatches:
            compiler.compile(gpu.shader(dispatch.shader or desc.OPERATOR), dispatch.defines)
    return {member.name: None for member in desc.MEMBERS if member.role == "output"}


def seconds(call: Callable[[], Any]) -> float:
    """Seconds per call: the median of at least 5, after a warm-up."""
    call()
    times: list[float] = []
    while len(times) < 5 or sum(times) < SECONDS:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)


def small_work(device: Any) -> dict[str, float]:
    """Seconds for a tiny operator in each form, and for a bare dispatch; with many of them, seconds for
    each."""
    from dmlops.gpu.commands import barrier
    from dmlops.gpu.resources import Binding

    desc = tiny()
    arrays = {name: np.arange(64, dtype=np.float32) for name in ("ATensor", "BTensor")}
    constants = device.buffer(16)
    bare = device.pipeline(compiler.compile(EMPTY, {}), 0).bind([Binding(constants, 0, 16)])

    def dispatches(commands: Any, number: int) -> None:
        for _ in range(number):
            bare.record(commands, (1, 1, 1))
            barrier(commands)

    once = device.record(lambda commands: dispatches(commands, 1))
    often = device.record(lambda commands: dispatches(commands, MANY))
    with gpu.Session(device) as session:
        handles = {name: session.array(array) for name, array in arrays.items()}

        def recorded(number: int) -> tuple[Any, Any]:
            value = handles["ATensor"]
            for _ in range(number):
                value = session.run(desc, {**handles, "ATensor": value})["OutputTensor"]
            return session.submit(), value

        single, output = recorded(1)
        many, _ = recorded(MANY)

        def with_contents() -> None:
            handles["ATensor"].write(arrays["ATensor"])
            single.replay()
            output.numpy()

        return {
            "a bare dispatch": seconds(lambda: device.start(once)),
            "gpu.run": seconds(lambda: gpu.run(desc, arrays, device)),
            "recorded and submitted once": seconds(lambda: recorded(1)),
            "written, replayed, read": seconds(with_contents),
            "replayed": seconds(single.replay),
            f"one of {MANY} bare dispatches": seconds(lambda: device.start(often)) / MANY,
            f"one of {MANY} replayed": seconds(many.replay) / MANY,
            f"one of {MANY} recorded and submitted": seconds(lambda: recorded(MANY)) / MANY,
        }


def on_torch(network: Network, data: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, float]] | None:
    """The result and seconds; None without torch or without a GPU for it."""
    torch = torch_on_gpu()
    if torch is None:
        return None
    moved = {name: torch.from_numpy(array).cuda() for name, array in data.items()}

    def called() -> Any:
        found = network.torch(torch, moved)
        torch.cuda.synchronize()
        return found

    with torch.inference_mode():
        result = called().cpu().numpy()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                network.torch(torch, moved)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            network.torch(torch, moved)

        def replayed() -> None:
            graph.replay()
            torch.cuda.synchronize()

        return result, {"torch": seconds(called), "torch as a CUDA graph": seconds(replayed)}


def on_vulkan(network: Network, device: Any, large: bool) -> dict[str, float]:
    """Seconds for a network in each form. Exits if its result is wrong."""
    data = draw(network.shapes, network.data_type)
    beside = on_torch(network, data)
    expected = beside[0] if beside else None if large else network.run(reference.run, data)
    with gpu.Session(device) as session:
        handles = {name: session.array(array) for name, array in data.items()}
        output = network.run(session.run, handles)
        recording = session.submit()
        if expected is None:
            print("not compared: no torch with a GPU, and the reference takes too long")
        else:
            tolerance = 1e-2 if network.data_type == "float16" else 1e-4
            most = tolerance * float(np.abs(expected).max())
            if not np.allclose(output.numpy(), expected, rtol=tolerance, atol=most):
                sys.exit("a network computes wrong results")

        def again() -> None:
            network.run(session.run, handles)
            session.submit()

        found = {"replayed": seconds(recording.replay), "recorded and submitted once": seconds(again)}

    def run(desc: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return gpu.run(desc, inputs, device)

    return {**found, "gpu.run": seconds(lambda: network.run(run, data)), **(beside[1] if beside else {})}


def show(title: str, found: Mapping[str, float], unit: str) -> None:
    print(title)
    for name, time in found.items():
        print(f"  {name:32} {time / found[unit]:9.2f} times {unit} ({time * 1e6:.1f} us)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="compiled shaders")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument("--large", action="store_true", help="networks of the sizes that are in use")
    parser.add_argument("--device", help="part of the Vulkan device's name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the seconds here")
    arguments = parser.parse_args()
    read_from(arguments.folder)
    chosen = networks(arguments.large)

    if arguments.compile_only:
        compiler.compile(EMPTY, {})
        compile_only(tiny(), {})
        for network in chosen.values():
            network.run(compile_only, dict.fromkeys(network.shapes))
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    print(device.name)
    results = {"small work": small_work(device)}
    show("small work", results["small work"], "a bare dispatch")
    for name, network in chosen.items():
        results[name] = on_vulkan(network, device, arguments.large)
        unit = "torch as a CUDA graph" if "torch" in results[name] else "replayed"
        show(name, results[name], unit)
    if arguments.json:
        report = {"device": device.name, "run": provenance(), "seconds": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
