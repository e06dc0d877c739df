"""The cases of graphs in the matrices, and graphs made of operators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dmlops

CASES = Path(__file__).parents[1] / "generated/matrix/graphs.jsonl"

Json = dict[str, Any]


def graph_cases() -> list[Json]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def tensor(*sizes: int, **fields: Any) -> Json:
    return {"DataType": "FLOAT32", "Sizes": list(sizes), **fields}


def node(name: str, type_: str, bindings: Json, **desc: Any) -> Json:
    return {"name": name, "type": f"DML_OPERATOR_{type_}", "desc": desc, "bindings": bindings}


def relu(name: str, read: str | None, written: str, *sizes: int, **fields: Any) -> Json:
    bindings = {"OutputTensor": written} | ({"InputTensor": read} if read is not None else {})
    return node(name, "ACTIVATION_RELU", bindings, InputTensor=tensor(*(sizes or (1, 1, 2, 3)), **fields))


def graph(
    nodes: list[Json], inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)
) -> dmlops.Graph:
    return dmlops.Graph.from_json({"inputs": list(inputs), "outputs": list(outputs), "nodes": nodes})
