"""`python -m dmlops plan MODEL --out DIR`: a model as compiled shaders and a plan of what to dispatch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import known_level
from .onnx_command import add_sizes
from .safe_text import printable
from .terminal import progress_for

if TYPE_CHECKING:
    from .gpu.graphs.program import Program
    from .tensor import TensorDesc

SUMMARY = "Write a model or graph as compiled shaders and a plan that an application runs without a planner"


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("plan", run, SUMMARY)
    command.add_argument("file", metavar="MODEL", help="an ONNX file, or a graph as for dmlops graph")
    command.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write")
    command.add_argument("--target", choices=["spirv", "dxil"], default="spirv", help="default: spirv")
    command.add_argument("--level", type=known_level, help="the feature level whose forms to use")
    add_sizes(command)


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if the plan is written, 1 if there is none, 2 if a file cannot be read or written."""
    from .errors import JsonError
    from .gpu.graphs import exporting
    from .gpu.graphs.traced import HostNeedsData
    from .graph.files import ONNX, graphs
    from .onnx.model import Unreadable
    from .onnx.package import OnnxMissing

    status = 1
    try:
        if options.file.endswith(ONNX):
            program = _of_model(options)
        else:
            ((_, graph),) = graphs(options.file)
            if isinstance(graph, JsonError):
                raise graph
            program = exporting.program_of_graph(graph.infer())
        exporting.write(program, options.out, options.target, progress_for(sys.stderr, "shaders"))
    except HostNeedsData:
        reason = "what it computes depends on what is in its inputs, so it has no plan"
    except OSError as error:
        status, reason = 2, f"{error.filename or options.out}: {error.strerror}"
    except (JsonError, OnnxMissing, Unreadable) as error:
        status, reason = 2, str(error)
    except (ValueError, RuntimeError) as error:
        reason = str(error)
    else:
        arena = program.arena
        print(
            f"{len(program.steps)} steps, {len(program.shaders)} shaders; {arena.size} bytes for tensors "
            f"(at least {arena.bound}), {program.weights.size} for constants"
        )
        return 0
    print(f"dmlops: {printable(options.file)}: {printable(reason)}", file=sys.stderr)
    return status


def _of_model(options: argparse.Namespace) -> Program:
    from .gpu.graphs.exporting import program_of_model
    from .gpu.graphs.traced import OnnxModel
    from .onnx.model import inputs

    dims, shapes = dict(options.dim), dict(options.shape)
    tensors: Mapping[str, TensorDesc] = inputs(options.file, dims, shapes)
    return program_of_model(OnnxModel(options.file, options.level, dims), tensors)
