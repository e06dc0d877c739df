"""Operators with a replaced definition: the schedule it gets, and the results of definition and schedule."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.outputs import definition, hlsl, python_planner
from dmlgen.outputs.hlsl_definition.attention import lowered
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from dmlgen.registry import AlgorithmUse, Operator, Registry
from dmlgen.resolve import load_registry
from dmlgen.schedules import F, form_of, schedule_of
from dmlgen.schedules.attention import Attention
from dmlops.gpu import planner_inputs
from dmlops.gpu.programs import Programs
from operator_runs import description
from spoiled import SPECS, with_operators
from whole_registry import whole_registry

_TEMPLATES = Templates(TEMPLATES)
_COMPUTE = re.compile(r"(?m)^compute:\n(?:  .*\n)+")

Arrays = Mapping[str, np.ndarray]


class Variant:
    """An operator of the registry, on its own, with another `compute` section.

    `replaced` are texts of the rest of its spec with what stands in their place.
    """

    def __init__(
        self, folder: Path, operator: str, section: str, replaced: Mapping[str, str] | None = None
    ) -> None:
        specs = with_operators(folder / "specs")
        (path,) = (SPECS / "operators").rglob(f"{operator.lower()}.yaml")
        text = path.read_text(encoding="utf-8")
        for old, new in (replaced or {}).items():
            assert old in text, "the text to replace is no longer in the spec"
            text = text.replace(old, new)
        text, count = _COMPUTE.subn(lambda _: section, text)
        assert count == 1
        if base := re.search(r"(?m)^extends: (.+)", text):  # of whose section nothing is to be added
            shared = specs / f"shared/{base[1]}.yaml"
            shared.write_text(_COMPUTE.sub("", shared.read_text(encoding="utf-8")), encoding="utf-8")
        file = specs / path.relative_to(SPECS)
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        self.registry: Registry = load_registry(specs)
        (self.operator,) = self.registry.operators

    @property
    def schedule(self) -> AlgorithmUse | None:
        """The schedule that the definition gets."""
        return schedule_of(self.registry, self.operator)

    @property
    def form(self) -> str | None:
        """The form that the definition gets, None where there is no form that it has."""
        return None if self.schedule is None else self.schedule.name

    def form_of(self, kind: type[F]) -> F | None:
        """The faster form of a kind that passes of the definition get."""
        return form_of(self.registry, self.operator, kind)

    @property
    def lowered(self) -> Operator:
        """The operator as its shader computes it."""
        attention = self.form_of(Attention)
        return self.operator if attention is None else lowered(self.operator, attention)

    def by_definition(self, desc: Any, arrays: Arrays) -> Arrays:
        """The outputs of the reference."""
        with np.errstate(all="ignore"):
            found: Arrays = self._module("compute").computation(desc).run(arrays)
        return found

    def by_shader(self, desc: Any, arrays: Arrays, device: Any) -> Arrays:
        """The outputs of the shader, which follows the schedule if there is one."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner_inputs, "planner_of", lambda _: self._module("planners").PLANNER)
            patch.setattr(dmlops.gpu, "shader", lambda _: self._files["hlsl"].decode())
            patch.setattr(device, "programs", Programs())
            found: Arrays = dmlops.gpu.run(desc, arrays, device)
        return found

    @cached_property
    def _files(self) -> dict[str, bytes]:
        """The only file in each folder."""
        files = [one.render(self.registry, _TEMPLATES) for one in (python_planner, definition, hlsl)]
        return {path.rpartition("/")[0]: data for some in files for path, data in some.items()}

    def _module(self, folder: str) -> types.ModuleType:
        package = f"dmlops.{folder}"
        made = types.ModuleType(f"{package}.variant")
        made.__package__ = package
        exec(compile(self._files[f"python/dmlops/{folder}"], "variant", "exec"), made.__dict__)
        return made


def section(operator: str) -> str:
    """The `compute` section of an operator's spec."""
    (path,) = (SPECS / "operators").rglob(f"{operator.lower()}.yaml")
    (found,) = _COMPUTE.findall(path.read_text(encoding="utf-8"))
    return str(found)


def changed(folder: Path, operator: str, *texts: str) -> Variant:
    """The operator with texts of its section in place of others: an old one, a new one, and so on."""
    text = section(operator)
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in text, "the text to replace is no longer in the spec"
        text = text.replace(old, new)
    return Variant(folder, operator, text)


def operators_with(kind: type[F]) -> dict[str, F]:
    """The faster form of a kind of every operator that has one, by the operator's name."""
    registry = whole_registry()
    found = {one.name: form_of(registry, one, kind) for one in registry.operators}
    return {name: form for name, form in found.items() if form is not None}


def described(operator: str, output: Any, arrays: Arrays, **members: Any) -> Any:
    """A description whose output is OutputTensor: an array like it."""
    return description(operator, members, {**arrays, "OutputTensor": output})
