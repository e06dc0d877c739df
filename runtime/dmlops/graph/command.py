"""`dmlops graph`: checks, shows, converts and computes graphs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from ..arguments import add_level, print_json, print_texts
from ..errors import InvalidDescription
from ..json_results import judged
from ..terminal import style_for
from .drawing import dot, mermaid
from .explaining import explain, level_text, node_level
from .files import graphs
from .listing import listed
from .model import Graph

FORMS: dict[str, Callable[[Graph], str]] = {
    "text": lambda graph: "\n".join(listed(graph)),
    "json": lambda graph: json.dumps(graph.to_json()),
    "mermaid": mermaid,
    "dot": dot,
}


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    parser = added("graph", lambda options: options.act(options), "Check, show, convert or compute graphs")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    def action(name: str, act: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=f"{summary}.")
        one.add_argument(
            "file",
            metavar="FILE",
            help="graphs in JSON, a DxDispatch, ONNX (.onnx) or serialized (.bin) model; - is standard input",
        )
        one.set_defaults(act=act)
        return one

    one = action("validate", _validate, "Check graphs and print one JSON result per line")
    add_level(one)
    one.add_argument("--json", action="store_true", help="what it prints anyway")
    add_level(action("explain", _explain, "Explain what is wrong with graphs, and how to fix them"))
    action("infer", _infer, "Fill in the tensors that follow from others")
    one = action("level", _level, "Show which feature level graphs need, and for which nodes")
    one.add_argument("--json", action="store_true", help="print JSON, one line per graph")
    for name, default, summary in (
        ("show", "text", "Show graphs"),
        ("convert", "json", "Print graphs in another form"),
    ):
        one = action(name, _show, summary)
        one.add_argument("--to", choices=FORMS, default=default, help=f"the form (default: {default})")
    one = action("run", _run, "Compute a graph in NumPy, or on Vulkan")
    one.add_argument(
        "--inputs", metavar="NPZ", required=True, help="the inputs by name, as numpy.savez writes them"
    )
    one.add_argument("--outputs", metavar="NPZ", help="where to write the outputs by name")
    one.add_argument("--gpu", action="store_true", help="run the shaders instead of the reference")


def _validate(options: argparse.Namespace) -> int:
    return print_json(judged(*one, options.level) for one in graphs(options.file))


def _texts(options: argparse.Namespace, text_of: Callable[[Graph], tuple[str, bool]]) -> int:
    return print_texts(graphs(options.file), "a valid graph", text_of)


def _explain(options: argparse.Namespace) -> int:
    return _texts(options, lambda graph: explain(graph, options.level, style_for(sys.stdout)))


def _infer(options: argparse.Namespace) -> int:
    def text(graph: Graph) -> tuple[str, bool]:
        try:
            return json.dumps(graph.infer().to_json()), True
        except InvalidDescription as error:
            return f"Its tensors cannot be inferred: {error}", False

    return _texts(options, text)


def _level(options: argparse.Namespace) -> int:
    def text(graph: Graph) -> tuple[str, bool]:
        needed = graph.min_feature_level()
        if not options.json:
            return level_text(graph), needed is not None
        levels = [node_level(graph, at) for at in range(len(graph.nodes))]
        nodes = [None if one is None else str(one) for one in levels]
        answer = {"min_feature_level": None if needed is None else str(needed), "nodes": nodes}
        return json.dumps(answer), needed is not None

    return _texts(options, text)


def _show(options: argparse.Namespace) -> int:
    return _texts(options, lambda graph: (FORMS[options.to](graph), True))


def _run(options: argparse.Namespace) -> int:
    import numpy as np

    from .. import gpu, reference
    from .running import run

    with np.load(options.inputs, allow_pickle=False) as file:
        inputs = dict(file)

    def text(graph: Graph) -> tuple[str, bool]:
        try:
            outputs = run(graph, inputs, gpu.run) if options.gpu else reference.run(graph, inputs)
        except (ValueError, NotImplementedError) as error:
            return f"It cannot be computed: {error}", False
        if options.outputs:
            np.savez(options.outputs, **outputs)
        return "\n".join(f"{name}: {one.dtype} {one.shape}\n{one}" for name, one in outputs.items()), True

    return _texts(options, text)
