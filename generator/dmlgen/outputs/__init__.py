"""The outputs: each is a module whose `render(registry, templates)` gives file contents by path."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.outputs import (
    c,
    counterparts,
    coverage,
    definition,
    description_schema,
    graphs,
    hlsl,
    language,
    matrix,
    python,
    python_planner,
    registry_json,
    spec_page,
)
from dmlgen.outputs.render import Templates
from dmlgen.progress import Progress
from dmlgen.registry import Registry


def render_all(
    registry: Registry, templates: Templates, known: Mapping[str, bytes], progress: Progress
) -> dict[str, bytes]:
    """Every generated file: its path below the output folder, and its bytes.

    `known` are matrices, by path, that need no new search for cases.
    """
    outputs: dict[str, bytes] = {}
    languages = (
        python, description_schema, registry_json, counterparts, python_planner, definition, c, hlsl,
        language, graphs, spec_page,
    )  # fmt: skip
    for output in languages:
        progress.say(f"rendering: {len(outputs)} files so far")
        outputs.update(output.render(registry, templates))
    outputs.update(matrix.render(registry, templates, {**outputs, **known}))
    outputs.update(coverage.render(registry, templates, outputs))
    return outputs
