"""Programs as files, for applications without a planner: shaders, weights, and a JSON of steps.

docs/PLANS.md describes the format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...graph import Graph
from ...tensor import TensorDesc
from .. import compiler
from ..direct3d import writable
from ..plans.capabilities import NO_CAPABILITIES, Capability
from .program import End, Program, Region, Step, program
from .shaders import Shader
from .traced import Later, OnnxModel, WebnnModel, trace_whole

FORMAT = 1
ALIGNMENT = 256  # bytes: the largest that Vulkan lets a device require, and that of constants in Direct3D 12
EXTENSIONS: Mapping[compiler.Target, str] = {"spirv": "spv", "dxil": "dxil"}

Progress = Callable[[int, int], None]


def program_of_graph(graph: Graph, capabilities: Capability = NO_CAPABILITIES) -> Program:
    """A program for any device with these capabilities. Raises what `program` raises."""
    return program(graph, ALIGNMENT, capabilities, compiled=_spirv)


def program_of_model(
    model: OnnxModel | WebnnModel,
    inputs: Mapping[str, TensorDesc],
    capabilities: Capability = NO_CAPABILITIES,
) -> Program:
    """The program of a model for inputs of these data types and sizes.

    Raises ValueError if an output is an input or a constant, HostNeedsData if what it computes depends on
    what is in the inputs, and what `program` raises.
    """
    arrays = {name: np.broadcast_to(one.DataType.numpy.type(0), one.Sizes) for name, one in inputs.items()}
    whole = trace_whole(model, arrays)
    found = program(whole.graph, ALIGNMENT, capabilities, packed=True, compiled=_spirv)
    written = {one.name: one for one in found.outputs}

    def output(name: str, own: str, later: Any) -> End:
        if not isinstance(later, Later) or own not in written:
            raise ValueError(f"the output {name} is written by no operator")
        tensor = written[own].tensor
        assert tensor is not None, "outputs have layouts"
        kept = tensor.Strides is not None or tensor.DataType.bits < 8
        return End(name, tensor if kept else TensorDesc(tensor.DataType, later.shape), written[own].region)

    ends = [End(whole.inputs[one.name], inputs[whole.inputs[one.name]], one.region) for one in found.inputs]
    outputs = [output(name, own, later) for name, (own, later) in whole.outputs.items()]
    return replace(found, inputs=tuple(ends), outputs=tuple(outputs))


def write(
    found: Program, folder: Path, target: compiler.Target = "spirv", progress: Progress | None = None
) -> None:
    """Writes plan.json, weights.bin, constants.bin and the compiled shaders into a folder, which is created.

    Raises OSError, and GpuUnavailable without a compiler.
    """
    (folder / "shaders").mkdir(parents=True, exist_ok=True)

    with ThreadPoolExecutor() as pool:
        for number, code in enumerate(pool.map(partial(_compiled, target=target), found.shaders)):
            (folder / _file(number, target)).write_bytes(code)
            if progress is not None:
                progress(number + 1, len(found.shaders))
    (folder / "weights.bin").write_bytes(found.weights.read(0, found.weights.size))
    (folder / "constants.bin").write_bytes(found.constants)
    (folder / "plan.json").write_text(json.dumps(as_json(found, target), indent=1) + "\n", encoding="utf-8")


def _spirv(shaders: Sequence[Shader]) -> list[bytes]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(partial(_compiled, target="spirv"), shaders))


def _compiled(one: Shader, target: compiler.Target) -> bytes:
    text = writable(one.source) if target == "dxil" else one.source
    return compiler.compile(text, dict(one.defines), target)


def as_json(found: Program, target: compiler.Target) -> dict[str, Any]:
    """The contents of plan.json."""
    regions: dict[Region, int] = {}

    def place(region: Region) -> int:
        return regions.setdefault(region, len(regions))

    def step(one: Step) -> dict[str, Any]:
        entry: dict[str, Any] = {"node": one.node, "barrier": one.waits}
        if one.shader is None or one.constants is None:
            return {**entry, "clear": place(one.regions[0])}
        bound = [place(region) for region in one.regions]
        read, written = bound[: one.reads], bound[one.reads :]
        return {
            **entry,
            "shader": one.shader,
            "groups": [*one.groups, 1],
            "reads": read,
            "writes": written,
            "constants": place(one.constants),
        }

    def end(one: End) -> dict[str, Any]:
        tensor = one.tensor
        form = {} if tensor is None else {"type": tensor.DataType.name, "sizes": list(tensor.Sizes)}
        strides = {} if tensor is None or tensor.Strides is None else {"strides": list(tensor.Strides)}
        size = (
            one.region.size if tensor is None or strides else prod(tensor.Sizes) * tensor.DataType.bits // 8
        )
        return {"name": one.name, **form, **strides, "bytes": size, "region": place(one.region)}

    inputs, outputs = [end(one) for one in found.inputs], [end(one) for one in found.outputs]
    once, steps = ([step(one) for one in each] for each in (found.once, found.steps))
    return {
        "format": FORMAT,
        "target": target,
        "arena": found.arena.size,
        "weights": found.weights.size,
        "constants": len(found.constants),
        "inputs": inputs,
        "outputs": outputs,
        "nodes": [{"name": one.name, "operator": " + ".join(one.operators)} for one in found.nodes],
        "shaders": [
            {"file": _file(number, target), "operator": one.operator, "buffers": one.buffers}
            for number, one in enumerate(found.shaders)
        ],
        "regions": [{"memory": one.memory, "offset": one.offset, "size": one.size} for one in regions],
        "once": once,
        "steps": steps,
    }


def _file(number: int, target: compiler.Target) -> str:
    return f"shaders/{number}.{EXTENSIONS[target]}"
