"""The outputs, each a module with `render(registry, templates)` giving file contents by path."""

from __future__ import annotations

from pathlib import Path

from dmlgen.outputs import c, hlsl, matrix, python
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry


def render_all(registry: Registry, templates: Path) -> dict[str, bytes]:
    """Every generated file: its path below the output folder, and its bytes."""
    environment = Templates(templates)
    outputs: dict[str, bytes] = {}
    for output in (python, c, hlsl, matrix):
        outputs.update(output.render(registry, environment))
    return outputs
