"""From files to the registry: names bound, sugar lowered, tables completed, every fault with its position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from jsonschema.protocols import Validator

from dmlgen import schema, source
from dmlgen.diagnostics import Finding, Position, SpecError, nearest
from dmlgen.expr.define import signature
from dmlgen.project import SCHEMAS
from dmlgen.registry import Operator, Registry
from dmlgen.resolve.counterparts import FILES as INTERFACES
from dmlgen.resolve.counterparts import resolve_counterparts
from dmlgen.resolve.general import FILES, General
from dmlgen.resolve.nodes import Faults, fault, mapping, scalars
from dmlgen.resolve.operators import resolve_operator
from dmlgen.resolve.rules import tensor_rules
from dmlgen.source import Entry, Mapping, Node, Scalar, Sequence


def load_registry(specs: Path) -> Registry:
    """Everything below `specs`, checked and resolved; SpecError with all faults of all files.

    The schemas are the project's own: who writes specs does not write the rules that they are checked by.
    """
    if not specs.is_dir():
        raise fault(Position(specs.as_posix()), "missing", "there is no such folder of specs")
    schemas = schema.load_schemas(SCHEMAS)
    faults = Faults()
    files: dict[str, Mapping] = {}
    for name in FILES:
        with faults:
            files[name] = _document(specs, specs / f"{name}.yaml", schemas, name)
    others: dict[str, Mapping] = {}
    for name in INTERFACES if (specs / "counterparts").exists() else ():
        with faults:
            others[name] = _document(specs, specs / "counterparts" / f"{name}.yaml", schemas, "counterparts")
    documents: dict[Path, Mapping] = {}
    for path in sorted((specs / "operators").rglob("*")):
        if path.suffix != ".yaml" and not path.is_symlink():
            continue
        with faults:
            rules = schemas["operator"]
            documents[path] = _with_shared_definitions(specs, _operator_document(specs, path, rules), rules)
    if len(files) < len(FILES) or 0 < len(others) < len(INTERFACES):
        faults.stop()
    general, tensor = None, None
    with faults:
        general = General(files)
        tensor = tensor_rules(general, mapping(files["rules"], "tensor"))
    if general is None or tensor is None:
        raise SpecError(faults)
    operators: list[Operator] = []
    for path, document in documents.items():
        with faults:
            operators.append(resolve_operator(general, document, path))
    faults += _clashes(operators)
    faults.stop()
    by_name = {operator.name: operator for operator in sorted(operators, key=lambda one: one.value)}
    counterparts = resolve_counterparts(general, by_name, others)
    identifiers = files["identifiers"]
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
        operator_rules=general.operator_rules,
        tensor=tensor,
        operators=tuple(by_name.values()),
        counterparts=counterparts,
        identifiers=frozenset(str(item.value) for item in scalars(identifiers, "active")),
        retired=frozenset(str(item.value) for item in scalars(identifiers, "retired")),
        identifiers_position=identifiers.position,
        declared=general.declared,
    )


def _document(specs: Path, path: Path, schemas: dict[str, Validator], name: str) -> Mapping:
    """A file that fits its schema."""
    if not path.exists():
        raise fault(Position(path.as_posix()), "missing", "this part of the registry is missing")
    return _checked(source.load(path, specs), schemas[name])


def _operator_document(specs: Path, path: Path, rules: Validator) -> Mapping:
    """An operator's file, together with the shared one that its `like` names.

    What the operator says itself holds; lists (rules, data, errata) begin with the shared entries, and
    `compute` has the shared parts that the operator does not give itself.
    """
    node = source.load(path, specs)
    like = node.get("like") if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping) or not isinstance(like, Scalar):
        return _checked(node, rules)
    shared_path = specs / "shared" / f"{like.value}.yaml"
    if not re.fullmatch(r"[a-z][a-z0-9-]*", str(like.value)) or not shared_path.exists():
        names = [file.stem for file in (specs / "shared").glob("*.yaml")]
        message = f"there is no shared/{like.value}.yaml"
        raise fault(like.position, "unknown-name", message, nearest(str(like.value), names))
    shared = source.load(shared_path, specs)
    if not isinstance(shared, Mapping):
        return _checked(shared, rules)
    entries = {entry.name: entry for entry in (*shared.entries, *node.entries)}
    for name, entry in entries.items():
        first, second = shared.get(name), node.get(name)
        if isinstance(first, Sequence) and isinstance(second, Sequence):
            both = Sequence(second.position, (*first.items, *second.items))
            entries[name] = Entry(entry.key, both)
        elif name == "compute" and isinstance(first, Mapping) and isinstance(second, Mapping):
            parts = {part.name: part for part in (*first.entries, *second.entries)}
            entries[name] = Entry(entry.key, Mapping(second.position, tuple(parts.values())))
    return _checked(Mapping(node.position, tuple(entries.values())), rules)


def _with_shared_definitions(specs: Path, node: Mapping, rules: Validator) -> Mapping:
    """A checked operator, its `compute` section together with the files that its `uses` names.

    Entries of `let` and `tensors` of the files come first, in the order of `uses`; the operator's own entry
    of the same name takes their place.
    """
    compute = node.get("compute")
    uses = compute.get("uses") if isinstance(compute, Mapping) else None
    if not isinstance(compute, Mapping) or not isinstance(uses, Sequence):
        return node
    folder = specs / "shared" / "definitions"
    shared: list[Mapping] = []
    for item in uses.items:
        assert isinstance(item, Scalar)
        path = folder / f"{item.value}.yaml"
        if not path.exists():
            message = f"there is no shared/definitions/{item.value}.yaml"
            raise fault(item.position, "unknown-name", message, nearest(str(item.value), _stems(folder)))
        loaded = source.load(path, specs)
        for entry in loaded.entries if isinstance(loaded, Mapping) else ():
            if entry.name not in ("let", "tensors"):
                message = f"shared definitions have let and tensors; {entry.name!r} is neither"
                raise fault(entry.key.position, "unknown-key", message)
        if isinstance(loaded, Mapping):
            shared.append(loaded)
    parts = {part.name: part for part in compute.entries if part.name != "uses"}
    for name in ("let", "tensors"):
        merged = {
            signature(entry.name)[0]: entry
            for one in (*shared, compute)
            for entry in mapping(one, name).entries
        }
        if merged:
            key = parts[name].key if name in parts else Scalar(compute.position, name, raw=name)
            parts[name] = Entry(key, Mapping(mapping(compute, name).position, tuple(merged.values())))
    whole = Mapping(compute.position, tuple(parts.values()))
    entries = (Entry(e.key, whole) if e.name == "compute" else e for e in node.entries)
    return _checked(Mapping(node.position, tuple(entries)), rules)


def _stems(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.yaml"))


def _checked(node: Node, rules: Validator) -> Mapping:
    findings = schema.check(node, rules)
    if findings or not isinstance(node, Mapping):
        raise SpecError(findings)
    return node


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
