"""The JSON Schema of registry.json, made from a table of its keys, and the tables of its page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

from dmlgen.banner import banner
from dmlgen.outputs.spec_page import Row, Section

Json: TypeAlias = dict[str, Any]

SCHEMA = "registry.schema.json"
KEYS = "registry/keys.yaml"
_WHOLE = "registry"  # the object that the file is
_SIMPLE = ("string", "integer", "number", "boolean", "object")


def schema_of(table: str) -> Json:
    """The schema of the whole file."""
    keys: Json = yaml.safe_load(table)
    return {
        "$comment": banner(f"templates/{KEYS}"),
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "The registry of DirectML's operators",
        **_schema(keys.pop(_WHOLE)),
        "$defs": {name: _schema(one) for name, one in keys.items()},
    }


def _schema(value: str | Json) -> Json:
    """The schema of a value, which the table states as "type | meaning" or as an object."""
    match value:
        case str():
            text, _, meaning = value.partition(" | ")
            schema = _of_type(text)
        case {"list of": item}:
            meaning, schema = value["is"], {"type": "array", "items": _schema(item)}
        case {"schema": schema}:
            meaning = value["is"]
        case _:
            meaning = value.pop("is", "")
            schema = {
                "type": "object",
                "properties": {key.removesuffix("?"): _schema(one) for key, one in value.items()},
                "required": [key for key in value if not key.endswith("?")],
                "additionalProperties": False,
            }
    return schema | ({"description": meaning} if meaning else {})


def _of_type(text: str) -> Json:
    quantity, of, item = text.partition(" of ")
    if of and quantity == "object":
        return {"type": "object", "additionalProperties": _of_type(item)}
    if of:
        count = {} if quantity == "list" else {"minItems": int(quantity), "maxItems": int(quantity)}
        return {"type": "array", "items": _of_type(item), **count}
    if ", " in text:
        return {"enum": text.split(", ")}
    if " or " in text:
        return {"type": text.split(" or ")}
    if text in _SIMPLE:
        return {"type": text}
    return {"true": {"const": True}, "any": {}}.get(text, {"$ref": f"#/$defs/{text}"})


def sections(schema: Json) -> list[Section]:
    """The tables of the page: that of the whole file, then those of its parts."""
    parts = {"": schema, **schema["$defs"]}
    return [Section(name, one["description"], "", list(_rows(one))) for name, one in parts.items()]


def _rows(schema: Json, prefix: str = "") -> Iterator[Row]:
    """The keys of an object, and those of unnamed objects in it."""
    for key, one in schema.get("properties", {}).items():
        yield Row(prefix + key, key in schema["required"], _type(one), one.get("description", ""))
        yield from _rows(one, f"{prefix}{key}.")
        yield from _rows(one.get("items", {}), f"{prefix}{key}[].")


def _type(schema: Json) -> str:
    match schema:
        case {"$ref": ref}:
            name = ref.rpartition("/")[2]
            return f"[{name}](#{name})"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"type": "array", "items": items, "maxItems": count}:
            return f"{count} of {_type(items)}"
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": "object", "additionalProperties": dict(values)} if values:
            return f"object of {_type(values)}"
        case {"type": list(types)}:
            return " or ".join(types)
    return str(schema.get("type", "any"))
