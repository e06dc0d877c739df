"""From files to the registry: binds names, lowers sugar, completes tables, reports errors with positions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from dmlgen import source, written
from dmlgen.decode import decode
from dmlgen.diagnostics import Finding, Position, SpecError, fault
from dmlgen.expr.define import signature
from dmlgen.memory import Memory
from dmlgen.registry import FeatureLevel, Operator, Registry, Rule
from dmlgen.resolve.counterparts import FILES as INTERFACE_FILES
from dmlgen.resolve.counterparts import resolve_counterparts
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.resolve.general import General, levels_of
from dmlgen.resolve.merge import merged
from dmlgen.resolve.operators import erratum, resolve_operator
from dmlgen.resolve.rules import tensor_rules
from dmlgen.resolve.stated_rules import (
    resolve_bindings,
    resolve_graphs,
    resolve_interfaces,
    resolve_operator_rules,
)
from dmlgen.source import Mapping as MappingNode
from dmlgen.source import Node, Scalar
from dmlgen.written import FILES

T = TypeVar("T")
Read: TypeAlias = Callable[[Path], bytes]
Levels: TypeAlias = Mapping[str, FeatureLevel]


def load_registry(specs: Path, memory: Memory | None = None) -> Registry:
    """The whole registry below `specs`, checked and resolved; SpecError with all errors of all files.

    Operators are taken from `memory` if neither their files nor the shared ones have changed.
    """
    if not specs.is_dir():
        raise fault(Position(specs.as_posix()), "missing", "there is no such folder of specs")
    faults = Faults()
    read = cache(lambda path: source.read(path, specs))
    general_names = [one.name for one in fields(written.General)]
    files: dict[str, Any] = {}
    levels: Levels | None = None
    for name in general_names:
        with faults:
            files[name] = _document(FILES[name], read, specs / f"{name}.yaml", levels)
            if name == "feature_levels":
                levels = levels_of(files[name])
    others: dict[str, written.Counterparts] = {}
    for name in INTERFACE_FILES if (specs / "counterparts").exists() else ():
        with faults:
            others[name] = _document(written.Counterparts, read, specs / "counterparts" / f"{name}.yaml")
    sources = _Operators(specs, read, memory or Memory(), levels)
    for path in sorted((specs / "operators").rglob("*")):
        if path.suffix == ".yaml" or path.is_symlink():
            with faults:
                sources.read(path)
    if len(files) < len(general_names) or 0 < len(others) < len(INTERFACE_FILES):
        faults.stop()
    general, tensor, graphs, bindings, interfaces = None, None, None, None, None
    operator_rules: tuple[Rule, ...] = ()
    with faults:
        whole = written.General(**files)
        general = General(whole, levels or {})
        operator_rules = resolve_operator_rules(general, whole.rules.operator, whole.rules.place("operator"))
        tensor = tensor_rules(general, whole.rules.tensor)
        graphs = resolve_graphs(general, whole.graphs)
        bindings = resolve_bindings(general, whole.bindings)
        interfaces = resolve_interfaces(general, whole.interfaces)
    if not (general and tensor and graphs and bindings and interfaces):
        raise SpecError(faults)
    operators = sources.resolved(general, faults)
    faults += _clashes(operators)
    faults.stop()
    by_name = {operator.name: operator for operator in sorted(operators, key=lambda one: one.value)}
    counterparts = resolve_counterparts(general, by_name, others)
    identifiers = whole.identifiers
    return Registry(
        levels=general.levels,
        levels_declared=general.levels_declared,
        types=general.types,
        pages=general.pages,
        foreign=general.foreign,
        enums=general.enums,
        constants=general.constants,
        structs=general.structs,
        hints=general.hints,
        operator_rules=operator_rules,
        tensor=tensor,
        graphs=graphs,
        bindings=bindings,
        interfaces=interfaces[0],
        calls=interfaces[1],
        operators=tuple(by_name.values()),
        errata=tuple(erratum(item) for file in files.values() for item in getattr(file, "errata", ())),
        counterparts=counterparts,
        identifiers=frozenset(item.value for item in identifiers.active),
        retired=frozenset(item.value for item in identifiers.retired),
        identifiers_position=identifiers.node.position,
        declared=general.declared,
    )


def _document(type_: type[T], read: Read, path: Path, levels: Levels | None = None) -> T:
    """A file that every registry has."""
    if not path.exists():
        raise fault(Position(path.as_posix()), "missing", "this part of the registry is missing")
    return decode(type_, source.parse(read(path), path.as_posix()), levels)


class _Operators:
    """The operators' files, read and then resolved, or recalled.

    An operator depends on its file and that file's path, the shared files, and the general files except the
    list of identifiers, interfaces, and the rules of graphs and of bindings.
    """

    def __init__(self, specs: Path, read: Read, memory: Memory, levels: Levels | None) -> None:
        self._file, self._memory = read, memory
        self._shared = _Shared(specs, read, levels)
        self._known: Mapping[str, Operator] = memory.recall("operators")
        self._digests: dict[Path, str] = {}
        self._written: dict[Path, written.Operator] = {}
        others = ("identifiers", "graphs", "bindings", "interfaces")
        names = [one.name for one in fields(written.General) if one.name not in others]
        general = [specs / f"{name}.yaml" for name in names]
        self._common = ""
        for path in (*general, *sorted((specs / "shared").rglob("*.yaml"))):
            with suppress(SpecError):  # it is reported where the file is used
                self._common += f"{path.as_posix()} {_digest(read(path))} "

    def read(self, path: Path) -> None:
        """Reads a file, unless its operator can be recalled. Raises SpecError."""
        data = self._file(path)
        digest = _digest(f"{self._common}{path.as_posix()} {_digest(data)}".encode(errors="surrogateescape"))
        if digest not in self._known:
            self._written[path] = self._shared.completed(source.parse(data, path.as_posix()))
        self._digests[path] = digest

    def resolved(self, general: General, faults: Faults) -> list[Operator]:
        """The operators of all these files, which are stored for the next run; adds to `faults`."""
        found: dict[str, Operator] = {}
        for path, digest in self._digests.items():
            with faults:
                known = self._known.get(digest)
                found[digest] = known or resolve_operator(general, self._written[path], path)
        self._memory.keep("operators", found)
        return list(found.values())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Shared:
    """The files that operators share, each read once."""

    def __init__(self, specs: Path, read: Read, levels: Levels | None) -> None:
        self.specs = specs
        self._read = read
        self._levels = levels
        self.file = cache(self._node)
        self.definitions = cache(lambda name: decode(written.Definitions, self.file(name)))

    def _node(self, name: str) -> Node:
        path = self.specs / "shared" / f"{name}.yaml"
        return source.parse(self._read(path), path.as_posix())

    def completed(self, node: Node) -> written.Operator:
        """The contents of an operator's file, merged with the files that its `extends` and `uses` name."""
        base = node.get("extends") if isinstance(node, MappingNode) else None
        if isinstance(node, MappingNode) and isinstance(base, Scalar):
            shared = self.file(self.known(base))
            node = merged(shared, node) if isinstance(shared, MappingNode) else shared
        operator = decode(written.Operator, node, self._levels)
        if not isinstance(operator.compute, written.Definition):
            return operator
        used = [self.definitions(self.known(name, "definitions/")) for name in operator.compute.uses]
        return replace(operator, compute=_with_shared(operator.compute, used))

    def known(self, name: Scalar[Any], folder: str = "") -> str:
        """The name of a shared file in a scalar."""
        names = sorted(file.stem for file in (self.specs / "shared" / folder).glob("*.yaml"))
        check_known(name, names, f"there is no shared/{folder}{name.value}.yaml")
        return f"{folder}{name.value}"


def _with_shared(own: written.Definition, used: Sequence[written.Definitions]) -> written.Definition:
    """A definition with shared names and tensors before its own, which replace those of the same name."""
    let = {signature(key.value)[0]: (key, one) for part in (*used, own) for key, one in part.let.items()}
    tensors = {key.value: (key, one) for part in (*used, own) for key, one in part.tensors.items()}
    return replace(own, let=dict(let.values()), tensors=dict(tensors.values()))


def _clashes(operators: list[Operator]) -> Iterator[Finding]:
    keys: dict[str, Callable[[Operator], tuple[object, ...]]] = {
        "name": lambda o: (o.name, o.alias) if o.alias else (o.name,),
        "value": lambda o: (o.value,),
    }
    for what, key in keys.items():
        first: dict[object, Operator] = {}
        for operator in operators:
            for value in key(operator):
                other = first.setdefault(value, operator)
                if other is not operator:
                    message = f"{other.name} at {other.position} has the same {what}, {value}"
                    yield Finding(operator.position, f"duplicate-{what}", message)
