"""`python -m dmlops onnx [run] MODEL`: what a model needs, what keeps it from running, what it computes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from .arguments import known_level
from .safe_text import printable
from .terminal import progress_for, style_for

SUMMARY = (
    "Show which DirectML operators and feature level an ONNX model needs, and what prevents it from running; "
    "or run it"
)


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("onnx", run, f"{SUMMARY}; needs the onnx package")
    command.add_argument(
        "action", nargs="?", choices=["run"], help="compute the model, in NumPy or with --gpu"
    )
    command.add_argument("file", metavar="MODEL", help="an ONNX file")
    command.add_argument("--level", type=known_level, help="the feature level to check against, such as 5.0")
    add_sizes(command)
    command.add_argument(
        "--input",
        action="append",
        default=[],
        type=_file,
        metavar="[INPUT=]FILE",
        help="with run, an .npy file with the array of an input, or of the only one; may be repeated",
    )
    command.add_argument("--output", metavar="FILE", help="with run, the .npz file to write the outputs to")
    command.add_argument("--gpu", action="store_true", help="with run, run on a Vulkan device")
    command.add_argument("--device", metavar="TEXT", help="with --gpu, a part of the device's name")
    command.add_argument(
        "--check",
        nargs="?",
        const="nodes",
        choices=["nodes", "outputs"],
        help="with --gpu, compare with the reference, node by node or only the outputs",
    )
    command.add_argument(
        "--profile", action="store_true", help="with --gpu, print the time of each node; --html draws them"
    )
    command.add_argument("--json", action="store_true", help="print JSON, including every description")
    command.add_argument("--html", metavar="FILE", help="also write an HTML report of every node")


def add_sizes(command: argparse.ArgumentParser) -> None:
    """Adds the options that set the sizes of a model's inputs."""
    command.add_argument(
        "--dim",
        action="append",
        default=[],
        type=_dimension,
        metavar="NAME=SIZE",
        help="the size of a symbolic dimension; may be repeated",
    )
    command.add_argument(
        "--shape",
        action="append",
        default=[],
        type=_shape,
        metavar="INPUT=SIZES",
        help="the shape of an input, as in x=1,3,48,160; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if the whole model runs, 1 if not, 2 if a file cannot be read."""
    from .onnx.model import Unreadable
    from .onnx.package import OnnxMissing

    try:
        return _compute(options) if options.action else _report(options)
    except OSError as error:
        print(f"dmlops: {printable(str(error.filename or options.html))}: {error.strerror}", file=sys.stderr)
    except OnnxMissing as error:
        print(f"dmlops: {error}", file=sys.stderr)
    except Unreadable as error:
        print(f"dmlops: {printable(options.file)}: {error}", file=sys.stderr)
    return 2


def _report(options: argparse.Namespace) -> int:
    from .onnx import report
    from .onnx.model import read

    model = read(options.file, options.level, dict(options.dim), dict(options.shape))
    if options.html:
        with open(options.html, "w", encoding="utf-8") as page:
            page.write(report.as_html(model, os.path.basename(options.file)))
    if options.json:
        print(json.dumps(report.as_json(model)))
    else:
        print(report.as_text(model, color=style_for(sys.stdout).color))
    return 0 if model.runs else 1


def _compute(options: argparse.Namespace) -> int:
    """Runs the model and prints a line for each output."""
    import numpy as np

    from .onnx import NotRunnable
    from .onnx import run as run_model

    arrays: dict[str, Any] = {}
    for name, path in options.input:
        try:
            arrays[name or _only_input(options.file)] = np.load(path, allow_pickle=False)
        except ValueError as error:
            print(f"dmlops: {printable(path)}: {error}", file=sys.stderr)
            return 2
    status = 0
    try:
        if options.gpu:
            status, outputs = _on_gpu(options, arrays)
        else:
            outputs = run_model(options.file, arrays, options.level, dict(options.dim))
    except (NotRunnable, ValueError, RuntimeError) as error:
        print(f"dmlops: {printable(options.file)}: {error}", file=sys.stderr)
        return 1
    for name, array in outputs.items():
        numbers = array.astype(np.float64)
        spread = (
            f": {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}" if array.size else ""
        )
        print(f"{printable(name)}: {array.dtype} {list(array.shape)}{spread}")
    if options.output:
        np.savez(options.output, **outputs)
    return status


def _on_gpu(options: argparse.Namespace, arrays: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The exit status and the outputs; prints what was asked for, and a line about memory."""
    from functools import partial

    from . import gpu
    from .gpu.device import Device
    from .gpu.graphs import checking, profiling
    from .gpu.graphs.execute import compile_graph
    from .gpu.graphs.traced import CompiledModel, traceable
    from .onnx import run as run_model

    device, progress = Device.open(options.device), progress_for(sys.stderr, "shaders")
    dims, wrong = dict(options.dim), []
    with gpu.compile(options.file, device, options.level, dims, progress) as compiled:
        outputs = compiled(arrays)
        memory = compiled.memory
    print(
        f"memory: {memory.peak} bytes for tensors (at least {memory.lower_bound}), "
        f"{memory.weights} for constants"
    )
    model = traceable(options.file, options.level, dims)
    if options.check == "outputs":
        expected = run_model(options.file, arrays, options.level, dims)
        found = [checking.difference(name, outputs[name], right) for name, right in expected.items()]
        wrong = [one for one in found if one is not None]
    elif options.check:
        make = partial(compile_graph, device=device, progress=progress, packed=True, keep=True)
        with CompiledModel(model, make) as kept:
            apart = kept(arrays)  # nothing fused, and all memory kept
            wrong = [one for program in kept.programs for one in checking.node_differences(program)]
        found = [checking.difference(name, outputs[name], right) for name, right in apart.items()]
        wrong += [one for one in found if one is not None]
    if options.check:
        print(f"check: {wrong[0]}" if wrong else "check: no difference")
    if options.profile:
        make = partial(compile_graph, device=device, progress=progress, packed=True, kind=profiling.Profiled)
        with CompiledModel(model, make) as profiled:
            profiled(arrays)
            profiled(arrays)  # with everything in its place
            rows = [row for one in profiled.programs for row in cast(profiling.Profiled, one).rows()]
            most = profiling.ceiling(device)
        print(profiling.as_text(rows, most))
        if options.html:
            with open(options.html, "w", encoding="utf-8") as page:
                page.write(profiling.as_html(rows, most, os.path.basename(options.file)))
    return int(bool(wrong)), outputs


def _only_input(path: str) -> str:
    """The name of the input of a model that has one. Raises ValueError for any other."""
    from .onnx.graph import load

    graph = load(path).graph
    given = {one.name for one in graph.initializer}
    names: list[str] = [one.name for one in graph.input if one.name not in given]
    if len(names) != 1:
        raise ValueError(f"which input is it? --input INPUT=FILE; there are {', '.join(names)}")
    return names[0]


def _named(text: str, what: str) -> tuple[str, str]:
    name, separator, value = text.rpartition("=")
    if not separator or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!a} is not {what}")
    return name, value


def _size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!a} is not a size")
    return int(text)


def _dimension(text: str) -> tuple[str, int]:
    name, size = _named(text, "NAME=SIZE")
    return name, _size(size)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, sizes = _named(text, "INPUT=SIZES, as in x=1,3,224,224")
    return name, tuple(_size(size) for size in sizes.split(","))


def _file(text: str) -> tuple[str, str]:
    return _named(text, "INPUT=FILE") if "=" in text else ("", text)
