"""JSON Schema (draft-07) over nodes: every fault once, at its place in the file, in words for its author."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT7

from dmlgen import source
from dmlgen.diagnostics import Finding, Position, SpecError, nearest, shown
from dmlgen.source import Node, Scalar

SUFFIX = ".schema.json"

_Error = Any  # ValidationError; its stubs allow for errors that no validator made

_LONGEST_CHOICE = 12  # names that a message lists; beyond, the nearest one is more useful


def load_schemas(directory: Path) -> dict[str, Validator]:
    """The schemas of a directory by name, `operator` for `operator.schema.json`, ready to use.

    A `$ref` may name another file of the directory and nothing else. Raises SpecError if a file is not a
    draft-07 schema.
    """
    documents = {path: _read(path) for path in sorted(directory.glob("*" + SUFFIX))}
    resources = [
        (document.get("$id", path.name), DRAFT7.create_resource(document))
        for path, document in documents.items()
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    return {
        path.name.removesuffix(SUFFIX): _Validator(document, registry=registry)
        for path, document in documents.items()
    }


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """One schema that refers to no other file, ready to use."""
    validator: Validator = _Validator(schema, registry=Registry())
    return validator


def check(node: Node, schema: Validator) -> list[Finding]:
    """The faults of the node, all up to source.MAX_FINDINGS, in the order of the file; none if it fits."""
    findings = (finding for error in schema.iter_errors(node.plain()) for finding in _explain(error, node))
    first = dict.fromkeys(islice(findings, source.MAX_FINDINGS))
    return sorted(first, key=lambda finding: finding.position)


def _read(path: Path) -> dict[str, Any]:
    position, message = Position(path.as_posix()), "not a JSON object"
    try:
        document = json.loads(path.read_bytes())
        if isinstance(document, dict):
            Draft7Validator.check_schema(document)
            return document
    except json.JSONDecodeError as error:
        position, message = Position(path.as_posix(), error.lineno, error.colno), f"not JSON: {error.msg}"
    except SchemaError as error:
        message = f"not a draft-07 schema: {error.json_path}: {error.message}"
    except (ValueError, RecursionError) as error:
        message = f"not JSON: {error}"
    raise SpecError([Finding(position, "bad-schema", message)])


def _matches(pattern: str, text: str) -> bool:
    # In JSON Schema a `$` at the end is the end of the text; Python's would let a line feed pass.
    if pattern.endswith("$") and not pattern.endswith(r"\$"):
        pattern = pattern[:-1] + r"\Z"
    return re.search(pattern, text, re.ASCII) is not None


def _pattern(_: Validator, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError("pattern")


def _unique(_: Validator, wanted: bool, instance: Any, __: Any) -> Iterator[ValidationError]:
    # The stock check compares all pairs where items have several types.
    if wanted and isinstance(instance, list) and len({_form(item) for item in instance}) < len(instance):
        yield ValidationError("uniqueItems")


def _form(item: object) -> str:
    """Text that is the same for two items exactly where they are the same value of the same type."""
    return json.dumps(item, sort_keys=True)


def _is_integer(_: Any, value: object) -> bool:
    # The stock checker takes 1.0 for an integer; in a spec that is a slip.
    return isinstance(value, int) and not isinstance(value, bool)


_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft7Validator,
    {"pattern": _pattern, "uniqueItems": _unique},
    type_checker=Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def _explain(error: _Error, root: Node) -> list[Finding]:
    """What an error of the validator says, placed and put into words; `root` is the node that was checked."""
    node = _target(error, root)
    return _EXPLAINERS.get(str(error.validator), _other)(error, node, root)


def _target(error: _Error, root: Node) -> Node:
    node = root
    for step in error.absolute_path:
        child = node.items[step] if isinstance(node, source.Sequence) else _mapping(node).get(step)
        assert child is not None
        node = child
    if isinstance(node, source.Mapping) and isinstance(error.instance, str):
        # The error is about a name, from `propertyNames`.
        entry = node.entry(error.instance)
        assert entry is not None
        return entry.key
    return node


def _mapping(node: Node) -> source.Mapping:
    assert isinstance(node, source.Mapping)
    return node


def _unknown(error: _Error, node: source.Mapping) -> list[tuple[source.Entry, str | None]]:
    """The keys that the schema of the mapping does not know, each with the name it may stand for."""
    known, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
    absent = [name for name in known if node.entry(name) is None]
    return [
        (entry, nearest(entry.name, absent))
        for entry in node.entries
        if entry.name not in known and not any(_matches(pattern, entry.name) for pattern in patterns)
    ]


def _unknown_keys(error: _Error, node: Node, root: Node) -> list[Finding]:
    known = sorted(error.schema.get("properties", {}))
    return [
        Finding(
            entry.key.position,
            "unknown-key",
            f"unknown key {shown(entry.name)}" + (f"; expected {_one_of(known)}" if known else ""),
            suggestion=suggestion,
        )
        for entry, suggestion in _unknown(error, _mapping(node))
    ]


def _missing_keys(error: _Error, node: Node, root: Node) -> list[Finding]:
    mapping = _mapping(node)
    misspelt: set[str | None] = set()
    if error.schema.get("additionalProperties") is False:
        misspelt = {suggestion for _, suggestion in _unknown(error, mapping)}
    return [
        Finding(node.position, "missing-key", f"key '{name}' is missing")
        for name in error.validator_value
        if mapping.entry(name) is None and name not in misspelt
    ]


def _dependent_keys(error: _Error, node: Node, root: Node) -> list[Finding]:
    mapping = _mapping(node)
    return [
        Finding(entry.key.position, "missing-key", f"key '{entry.name}' needs key '{name}' beside it")
        for entry in mapping.entries
        for name in error.validator_value.get(entry.name, [])
        if mapping.entry(name) is None
    ]


def _wrong_type(error: _Error, node: Node, root: Node) -> list[Finding]:
    return [_type_finding(_types(error), node)]


def _types(error: _Error) -> list[str]:
    value = error.validator_value
    return [value] if isinstance(value, str) else list(value)


def _type_finding(types: Iterable[str], node: Node) -> Finding:
    names = list(dict.fromkeys(types))
    message = f"expected {_either([_TYPES[name] for name in names])}, found {_describe(node)}"
    unquoted = isinstance(node, Scalar) and isinstance(node.value, int | float)
    suggestion = f'"{node.raw}"' if "string" in names and unquoted and isinstance(node, Scalar) else None
    return Finding(node.position, "wrong-type", message, suggestion=suggestion)


def _wrong_value(error: _Error, node: Node, root: Node) -> list[Finding]:
    return [_value_finding(_choices(error), node)]


def _choices(error: _Error) -> list[Any]:
    return [error.validator_value] if error.validator == "const" else list(error.validator_value)


def _value_finding(choices: Iterable[Any], node: Node) -> Finding:
    names = [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]
    suggestion = None
    if isinstance(node, Scalar) and isinstance(node.value, str):
        suggestion = nearest(node.value, names)
    message = f"expected {_one_of(names)}, found {_describe(node)}"
    return Finding(node.position, "wrong-value", message, suggestion=suggestion)


def _wrong_pattern(error: _Error, node: Node, root: Node) -> list[Finding]:
    what = f"is not {error.schema['title']}: it must match" if "title" in error.schema else "does not match"
    return [Finding(node.position, "wrong-value", f"{_describe(node)} {what} {error.validator_value}")]


def _wrong_size(error: _Error, node: Node, root: Node) -> list[Finding]:
    unit, bound = _SIZES[error.validator]
    message = f"number of {unit} is {len(error.instance)}; expected {bound} {error.validator_value}"
    return [Finding(node.position, "wrong-size", message)]


def _wrong_number(error: _Error, node: Node, root: Node) -> list[Finding]:
    bound = _BOUNDS[error.validator]
    message = f"expected {bound} {error.validator_value}, found {_describe(node)}"
    return [Finding(node.position, "wrong-value", message)]


def _repeated_items(error: _Error, node: Node, root: Node) -> list[Finding]:
    assert isinstance(node, source.Sequence)
    seen: set[str] = set()
    findings = []
    for item in node.items:
        form = _form(item.plain())
        if form in seen:
            findings.append(
                Finding(item.position, "repeated-item", f"{_describe(item)} is in the list already")
            )
        seen.add(form)
    return findings


def _alternatives(error: _Error, node: Node, root: Node) -> list[Finding]:
    """One form of a `oneOf` or `anyOf` is what the author meant; only its faults are of use."""
    forms: dict[Any, list[_Error]] = {}
    for inner in error.context or ():
        forms.setdefault(inner.schema_path[0], []).append(inner)
    if not forms:
        return [
            Finding(
                node.position, "wrong-value", f"{_describe(node)} fits more than one of the allowed forms"
            )
        ]

    def wrong_type(form: list[_Error]) -> _Error | None:
        return next((e for e in form if e.validator == "type" and e.instance is error.instance), None)

    mismatches = [wrong_type(form) for form in forms.values()]
    if all(mismatches):
        return [_type_finding((name for e in mismatches if e for name in _types(e)), node)]
    fitting = [form for form in forms.values() if wrong_type(form) is None]

    def selectors(form: list[_Error]) -> dict[tuple[Any, ...], _Error]:
        return {tuple(e.path): e for e in form if e.validator == "const"}

    shared = set.intersection(*(set(selectors(form)) for form in fitting))
    if shared:
        mistaken = [selectors(form)[min(shared)] for form in fitting]
        return [_value_finding((e.validator_value for e in mistaken), _target(mistaken[0], root))]
    candidates = [(len(selectors(form)), [f for e in form for f in _explain(e, root)]) for form in fitting]
    return min(candidates, key=lambda candidate: (candidate[0], len(candidate[1])))[1]


def _other(error: _Error, node: Node, root: Node) -> list[Finding]:
    message = f"{_describe(node)} is not allowed here (schema: {error.validator})"
    return [Finding(node.position, "wrong-value", message)]


def _describe(node: Node) -> str:
    if isinstance(node, source.Mapping):
        return "a mapping"
    if isinstance(node, source.Sequence):
        return "a list"
    return shown(node.value) if isinstance(node.value, str) else node.raw


def _one_of(names: list[str]) -> str:
    if len(names) > _LONGEST_CHOICE:
        return f"one of {len(names)} names"
    return _either([shown(name) for name in names])


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}

_SIZES = {
    "minItems": ("items", "at least"),
    "maxItems": ("items", "at most"),
    "minProperties": ("keys", "at least"),
    "maxProperties": ("keys", "at most"),
    "minLength": ("characters", "at least"),
    "maxLength": ("characters", "at most"),
}

_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}

_EXPLAINERS: dict[str, Callable[[_Error, Node, Node], list[Finding]]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "dependencies": _dependent_keys,
    "type": _wrong_type,
    "enum": _wrong_value,
    "const": _wrong_value,
    "pattern": _wrong_pattern,
    "uniqueItems": _repeated_items,
    "oneOf": _alternatives,
    "anyOf": _alternatives,
    **dict.fromkeys(_SIZES, _wrong_size),
    **dict.fromkeys(_BOUNDS, _wrong_number),
}
