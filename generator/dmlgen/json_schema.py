"""JSON Schemas (draft-07) of dataclass shapes, with which editors complete and check files."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from dmlgen.banner import MARK
from dmlgen.shape import Anything, Either, Form, Leaf, List, Shape, Size, Table, form_of

Schema = dict[str, Any]


def json_schema(type_: type, name: str) -> bytes:
    """The file `name`, with the schema of files that contain what the dataclass describes."""
    definitions: Schema = {}
    whole = {
        "$comment": f"{MARK} from {type_.__module__}.{type_.__name__}. Do not edit: run `dmlgen schema`.",
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": name,
        **_form(form_of(type_), definitions),
    }
    if definitions:
        whole["definitions"] = dict(sorted(definitions.items()))
    return (json.dumps(whole, indent=2) + "\n").encode()


def _schema(shape: Shape, definitions: Schema) -> Schema:
    match shape:
        case Leaf():
            return _leaf(shape)
        case Anything():
            return {}
        case List(item=item, size=size):
            return {"type": "array", "items": _schema(item, definitions)} | _size(size, "Items")
        case Table(key=key, value=value, size=size):
            return {"type": "object", **_table(key, value, definitions)} | _size(size, "Properties")
        case Form(type=type_):
            name = type_.__name__
            if name not in definitions:
                definitions[name] = {}  # so that recursive forms terminate
                definitions[name] = _form(shape, definitions)
            return {"$ref": f"#/definitions/{name}"}
        case Either(shapes=(Form() as first, Form() as second)):
            test = {"required": [first.required[0]]}
            return {"if": test, "then": _schema(first, definitions), "else": _schema(second, definitions)}
        case Either(shapes=shapes):
            return {"anyOf": [_schema(one, definitions) for one in shapes]}


def _leaf(leaf: Leaf) -> Schema:
    if leaf.choices:
        return {"enum": list(leaf.choices)}
    schema: Schema = {"type": leaf.types[0] if len(leaf.types) == 1 else list(leaf.types)}
    if leaf.pattern is not None:
        schema |= {"pattern": leaf.pattern.anchored}
        schema |= {"title": leaf.pattern.words} if leaf.pattern.words else {}
    limits = {"minimum": leaf.range.least, "maximum": leaf.range.most}
    return schema | _size(leaf.size, "Length") | {name: n for name, n in limits.items() if n is not None}


def _table(key: Leaf, value: Shape, definitions: Schema) -> Schema:
    names = {name: what for name, what in _leaf(key).items() if name != "type"}
    return ({"propertyNames": names} if names else {}) | {"additionalProperties": _schema(value, definitions)}


def _form(form: Form, definitions: Schema) -> Schema:
    properties: Mapping[str, Schema] = {
        name: _schema(key.shape, definitions) | ({"description": key.meaning} if key.meaning else {})
        for name, key in form.keys.items()
    }
    schema: Schema = {"description": inspect.getdoc(form.type), "type": "object", "properties": properties}
    if form.others is None:
        schema["additionalProperties"] = False
    else:
        _, table = form.others
        schema |= _table(table.key, table.value, definitions)
        schema |= _size(table.size, "Properties", len(form.required))
        schema["propertyNames"] = {"anyOf": [{"enum": list(form.keys)}, schema["propertyNames"]]}
    return schema | ({"required": list(form.required)} if form.required else {})


def _size(size: Size, unit: str, besides: int = 0) -> Schema:
    schema: Schema = {f"min{unit}": size.least + besides} if size.least else {}
    if size.most is not None:
        schema[f"max{unit}"] = size.most
    return schema | ({"uniqueItems": True} if size.unique else {})
