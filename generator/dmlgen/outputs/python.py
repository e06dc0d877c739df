"""The Python package: the view of the registry for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dmlgen import mappings
from dmlgen.banner import head
from dmlgen.expr import arithmetic
from dmlgen.outputs import dxdispatch, hlsl_reachable, registry_json
from dmlgen.outputs.hlsl_types import hlsl_types
from dmlgen.outputs.parts import parts
from dmlgen.outputs.python_graphs import graphs_view, ranges_view
from dmlgen.outputs.python_operators import OPERATOR, operator_view
from dmlgen.outputs.python_tensor import tensor_view
from dmlgen.outputs.render import Templates, plain_files
from dmlgen.project import LICENSE, PACKAGE, RUNTIME
from dmlgen.registry import Operator, Registry, Struct

_PACKAGE = "python/dmlops"
_SHARED = {  # of which it gets a copy
    "arithmetic.py": arithmetic,
    "hlsl_reachable.py": hlsl_reachable,
    "mappings.py": mappings,
}


@dataclass(frozen=True)
class Part:
    """The parts of the package for one operator: module, and function in `make`."""

    module: bytes
    make: str


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """All files of the package, by path below generated/."""
    files = hand_written()
    for path, shared in _SHARED.items():
        source = Path(str(shared.__file__))
        name = f"generator/dmlgen/{source.relative_to(PACKAGE).as_posix()}"
        files[f"{_PACKAGE}/{path}"] = head(path, name).encode() + source.read_bytes()
    files["python/LICENSE"] = LICENSE.read_bytes()

    def part(near: Registry, operator: Operator) -> Part:
        view = operator_view(near, operator)
        return Part(
            templates.render(f"{_PACKAGE}/operators/operator.py.j2", operator=view),
            templates.text(f"{_PACKAGE}/make_function.j2", operator=view),
        )

    found = parts("python", registry, templates.memory, part)
    for name, one in found.items():
        files[f"{_PACKAGE}/operators/{name.lower()}.py"] = one.module
    contexts: dict[str, dict[str, object]] = {
        "pyproject.toml": {},
        "setup.py": {},
        "dmlops/py.typed": {},
        "dmlops/__init__.py": {"structs": _values(registry)},
        "dmlops/enums.py": {},
        "dmlops/make.py": {"functions": [one.make for one in found.values()]},
        "dmlops/structs.py": {"structs": _values(registry)},
        "dmlops/graph_rules.py": {"graphs": graphs_view(registry)},
        "dmlops/binding_rules.py": {"ranges": ranges_view(registry)},
        "dmlops/hlsl_types.py": {"types": hlsl_types(registry)},
        "dmlops/tensor.py": {"tensor": tensor_view(registry)},
        "dmlops/tensor_rules.py": {"tensor": tensor_view(registry)},
        "dmlops/dxdispatch_versions.py": {"cases": dxdispatch.CASES, "results": dxdispatch.RESULTS},
        "dmlops/operators/__init__.py": {},
        "dmlops/compute/__init__.py": {},
        "dmlops/planners/__init__.py": {},
    }
    for name, context in contexts.items():
        path = f"python/{name}"
        files[path] = templates.render(f"{path}.j2", registry=registry, **context)
    return files


def installed(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files of the package as they are where it is installed: with registry.json among them."""
    facts = registry_json.render(registry, templates)["registry.json"]
    return {**render(registry, templates), f"{_PACKAGE}/registry.json": facts}


def hand_written() -> dict[str, bytes]:
    """Copies of the hand-written modules, by path below generated/."""
    return {
        f"python/{path}": head(path, f"runtime/{path}").encode() + data
        for path, data in plain_files(RUNTIME).items()
    }


def _values(registry: Registry) -> list[tuple[str, Struct]]:
    """The structs that are values of members, by name; in Python, a union is a plain number."""
    members = [member for operator in registry.operators for member in operator.members]
    used = {m.type for m in members if m.type in registry.structs and m.type != OPERATOR and not m.typed_by}
    return [(name, registry.structs[name]) for name in sorted(used)]
