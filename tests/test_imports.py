"""Imports point one way and never form a cycle, in the generator and in the package it makes.

In the generator that includes imports for types and those inside functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from dmlgen.cli import ROOT

PACKAGES = {
    "dmlgen": (ROOT / "generator/dmlgen",),
    "dmlops": (ROOT / "generated/python/dmlops", ROOT / "runtime/dmlops"),
}

# Rooms of the generator, lowest first; a module imports from its own room and from those before it.
LAYERS = (
    "banner cache diagnostics literals mappings progress project text",
    "memory source",
    "shape decode",
    "expr registry",
    "written names sugar catalog message sentence",
    "analysis",
    "resolve",
    "schedules",
    "lint inputs show header formats",
    "cases",
    "plans",
    "outputs",
    "writer json_schema revisions diff packaged new generate",
    "cli __main__",
)


def modules(package: str) -> dict[str, Path]:
    """The files of a package, by the names of modules."""
    found = {}
    for folder in PACKAGES[package]:
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


def loaded(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is loaded: in no function, and not only for type checkers."""
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.If(test=ast.Name(id="TYPE_CHECKING" | "_TYPE_CHECKING")) | ast.FunctionDef():
                pass
            case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                yield from loaded([*inner, *other])


def imports(package: str) -> dict[str, set[str]]:
    """The modules that each module of a package imports from it."""
    trees = modules(package)
    found: dict[str, set[str]] = {}
    for name, path in trees.items():
        own = name if path.stem == "__init__" else name.rpartition(".")[0]
        found[name] = set()
        body = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(body) if package == "dmlgen" else loaded(body.body):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(own.split(".")[: len(own.split(".")) - node.level + 1]) if node.level else ""
                source = ".".join(filter(None, (base, node.module)))
                wanted = [f"{source}.{alias.name}" for alias in node.names]
                wanted = [one if one in trees else source for one in wanted]
            else:
                continue
            found[name] |= {one for one in wanted if one in trees and one != name}
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_runs_in_a_circle(package: str) -> None:
    order = tuple(TopologicalSorter(imports(package)).static_order())  # CycleError names the modules
    assert len(order) > 50


def test_no_import_of_the_generator_runs_back_up() -> None:
    layer = {room: number for number, rooms in enumerate(LAYERS) for room in rooms.split()}
    upwards = [
        f"{name} imports {other}"
        for name, others in imports("dmlgen").items()
        for other in others
        if "." in name and "." in other and layer[name.split(".")[1]] < layer[other.split(".")[1]]
    ]
    assert upwards == []


def test_the_planner_of_matrix_products_knows_no_other_form() -> None:
    graph, plans = imports("dmlops"), "dmlops.gpu.plans."
    needed, waiting = set(), [f"{plans}contraction"]
    while waiting:
        name = waiting.pop()
        if name.startswith(plans) and name not in needed:
            needed.add(name)
            waiting += graph[name]
    others = "backend capabilities gemm_view loops operands planning product reasons tile_cost"
    assert {name.removeprefix(plans) for name in needed} == {"contraction", *others.split()}
