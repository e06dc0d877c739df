"""The Python validators, imported from the files that the generator makes; they judge the test cases."""

from __future__ import annotations

import atexit
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from dmlgen.expr.evaluate import Environment, Evaluator
from dmlgen.registry import FeatureLevel, Operator, Registry

if TYPE_CHECKING:
    from dmlops import Description, TensorDesc, Violation

_PACKAGE = "python/dmlops/"


class Validators:
    """The package made for a registry: how it creates, reads and judges descriptions.

    `files` are those of the package, by path below generated/. `evaluator` gives the values of the registry's
    own expressions, for what the search does beside judging.
    """

    def __init__(self, registry: Registry, files: Mapping[str, bytes]) -> None:
        self.registry = registry
        self.evaluator = Evaluator(registry.bits, registry.signed)
        name = _imported(files)
        self.tensor: type[TensorDesc] = import_module(f"{name}.tensor").TensorDesc
        self.structs: Mapping[str, type[Any]] = import_module(f"{name}.structs").STRUCT_CLASSES
        self._registry = import_module(f"{name}.registry")
        self._json = import_module(f"{name}.json_form")
        self._name = name

    def described(self, operator: Operator, members: Mapping[str, Any]) -> Description:
        """The description of an operator with these members; those that are left out are absent."""
        described: type[Description] = self._registry.operator(operator.name)
        return described(**{**dict.fromkeys(operator.member), **members})

    def from_json(self, value: Any) -> Description:
        """The description in a JSON value. Raises ValueError for anything else."""
        description: Description = self._json.from_json(value)
        return description

    def listed(self, graph: Any) -> Iterator[str]:
        """A graph in a JSON value as lines of text."""
        read = import_module(f"{self._name}.graph.json_form").from_json
        lines: Iterator[str] = import_module(f"{self._name}.graph.listing").listed(read(graph))
        return lines

    def levels(self, operator: Operator) -> tuple[FeatureLevel, ...]:
        """The levels at which a description of the operator can become valid or invalid."""
        described: type[Description] = self._registry.operator(operator.name)
        return tuple(self.registry.level[str(level)] for level in described.LEVELS)


def violations_of(description: Description, level: FeatureLevel) -> list[Violation]:
    """The rules that a description breaks at a level; if it breaks none, the advice that it draws."""
    return description.validate(level.name) or description.advice(level.name)


def members_of(description: Description) -> Environment:
    """The members by name, as values of names in rules."""
    return {member.name: getattr(description, member.name) for member in description.MEMBERS}


def changed(description: Description, members: Mapping[str, Any]) -> Description:
    """The description with other values of some members."""
    return replace(description, **members)  # type: ignore[type-var]  # like all, it is a dataclass


def tensors_of(description: Description) -> list[tuple[str, TensorDesc]]:
    """The given tensors, including entries of arrays, by member."""
    values = ((member.name, getattr(description, member.name)) for member in description.TENSORS)
    return [(name, tensor) for name, value in values for _, tensor in entries_of(value)]


def entries_of(value: Any) -> Sequence[tuple[int | None, Any]]:
    """A member's value, or each entry of an array with its index; nothing if it is absent."""
    if value is None:
        return ()
    return tuple(enumerate(value)) if isinstance(value, tuple) else ((None, value),)


def _imported(files: Mapping[str, bytes]) -> str:
    """The name under which the package made of these files is imported, from a folder that exists as long as
    this process: the same for the same files, and another than that of an installed one."""
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{path} {len(data)} ".encode() + data)
    name = f"dmlops_{digest.hexdigest()[:16]}"
    if name not in sys.modules:
        folder = Path(mkdtemp(prefix="dmlgen-"))
        atexit.register(rmtree, folder, ignore_errors=True)
        for path, data in files.items():
            if path.startswith(_PACKAGE):
                file = folder / name / path.removeprefix(_PACKAGE)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        sys.path.append(str(folder))
        import_module(name)
    return name
