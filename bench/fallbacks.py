"""Plans without one fast form, which show what that form earns.

The planner then takes the next form that applies, in the end the passes of the definition. Forms that the
shader has in place of these fall back to the shader of a package generated without schedules.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from gpu_cases import Case

from dmlops import gpu
from dmlops.gpu.planner_inputs import planner_of
from dmlops.gpu.plans import (
    attention,
    contraction,
    definition,
    implicit_gemm,
    pass_selection,
    tile_cost,
)
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.operands import NONE
from dmlops.gpu.work import Work

ROOT = Path(__file__).resolve().parents[1]

SHADERS = ("map", "scan", "rows")
"""Forms that are shaders of their own."""

IN_PLACE = (*SHADERS, "attention", "sums")
"""Forms that shaders have in place of passes of the definition."""


class Choice(NamedTuple):
    """A name of a planner's module, and what it stands for if that planner never chooses a form."""

    module: Any
    name: str
    never: Any


def _never(*_: object) -> bool:
    return False


CHOICES: Mapping[str, tuple[Choice, ...]] = {
    "product": (
        Choice(contraction, "plan_tiles", _never),
        Choice(implicit_gemm, "plan_window_tiles", _never),
    ),
    "skinny": (Choice(contraction, "plan_skinny", _never),),
    "sliding": (
        Choice(implicit_gemm, "suits_sliding", _never),
        Choice(definition, "plan_pooling", _never),
    ),
    "separable": (Choice(pass_selection, "separable_place", lambda *_: NONE),),
    "split k": (Choice(tile_cost, "TILE_MOST_PARTS", 1),),
    "attention": (Choice(definition, "dispatch_attention", _never),),
    "few queries": (Choice(attention, "suits_few_queries", _never),),
    "sums": (Choice(definition, "define_sums", _never),),
    "sparse_sum": (Choice(definition, "table_of_terms", lambda *_: [0, 0]),),
}

CAPABILITIES: Mapping[str, Capability] = {
    "cooperative matrix": Capability.COOPERATIVE_MATRIX | Capability.COOPERATIVE_MATRIX_INT8,
    "wave operations": Capability.WAVE_OPERATIONS,
}
"""Capabilities without which a device gets other forms."""

FORMS = tuple(dict.fromkeys((*SHADERS, *CHOICES, *CAPABILITIES)))


class Fallback(NamedTuple):
    """The work of a case without a form, and the function that returns the shader of an operator."""

    work: Work
    shader: Callable[[str], str]


def fallback(form: str, case: Case, capabilities: Capability, folder: Path) -> Fallback | None:
    """The plan of a case without a form; None if it does not use that form."""
    desc = case.describe()
    with _switched_off(form):
        work = gpu.plan(desc, capabilities & ~CAPABILITIES.get(form, NO_CAPABILITIES))
    if _shader_form(desc) != form and work == gpu.plan(desc, capabilities):
        return None
    if form in IN_PLACE:
        plain = by_definition(folder)
        work = plain.gpu.plan(case.describe(plain), plain.gpu.Capability(capabilities))
        return Fallback(work, plain.gpu.shader)
    return Fallback(work, gpu.shader)


def _shader_form(desc: Any) -> str:
    planner = planner_of(desc.OPERATOR)
    if planner.shader is None:
        return planner.plan.__name__.removeprefix("plan_")
    if planner.is_map:
        return "map"
    return "definition" if planner.shader.rows.number == NONE else "rows"


@contextmanager
def _switched_off(form: str) -> Iterator[None]:
    """Makes planners never choose a form within the context."""
    with ExitStack() as patches:
        for choice in CHOICES.get(form, ()):
            patches.enter_context(mock.patch.object(*choice))
        yield


@cache
def by_definition(folder: Path) -> Any:
    """A package generated without schedules, which the folder has or gets."""
    generated = folder / "definitions"
    if not generated.exists():
        command = [sys.executable, "-m", "dmlgen", "generate", "--no-schedules", "--out", str(generated)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    path = generated / "python" / "dmlops" / "__init__.py"
    spec = importlib.util.spec_from_file_location("dmlops_by_definition", path)
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    import_module(f"{spec.name}.gpu")
    return package
