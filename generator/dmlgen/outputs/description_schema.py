"""The JSON Schemas of descriptions and of graphs, for editors: members, and what each can contain.

It accepts what the Python package reads as a single description with its members in "desc". Constraints
between several members are rules, which a schema does not check, and neither does it check the range of an
integer written as a string.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dmlgen.banner import banner
from dmlgen.outputs.render import Templates, json_lines
from dmlgen.registry import Enum, Member, NumberType, Operator, Registry
from dmlgen.text import Text

Schema: TypeAlias = dict[str, Any]

TENSOR, WRAPPED, ACTIVATION = "BUFFER_TENSOR_DESC", "TENSOR_DESC", "OPERATOR_DESC"
MOST_DIMENSIONS = "DML_TENSOR_DIMENSION_COUNT_MAX1"
NOT_FINITE = "^([nN][aA][nN]|-?[iI][nN][fF])$"
DIGITS = "^-?[0-9]{16,20}$"  # an integer beyond 2**53, which many JSON readers would round
OF_DISPATCHABLES = ("bindings", "dmlCompileType", "executionFlags")


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The schemas, as data of the Python package."""
    del templates  # they are values, not texts
    schemas = {"schema": schema(registry), "graph_schema": graph_schema(registry)}
    return {f"python/dmlops/{name}.json": f"{json_lines(one, 2)}\n".encode() for name, one in schemas.items()}


def schema(registry: Registry) -> Schema:
    """The schema of a description of any operator."""
    used = {member.type for operator in registry.operators for member in operator.members}
    fields = {field.type for field in registry.structs[TENSOR].members}
    enums = [enum for name, enum in registry.enums.items() if name in used | fields | {"TENSOR_TYPE"}]
    structs = [name for name in registry.structs if name in used and name != ACTIVATION]
    definitions = {
        **{f"enum.{enum.name}": _enum(enum) for enum in enums},
        **{
            f"number.{one.name}": _number(one) for one in registry.types.values() if one.name in used | fields
        },
        **{f"struct.{name}": _struct(registry, name) for name in structs if not registry.structs[name].union},
        "number.any": _any_number(registry),
        "tensor": _tensor(registry),
        "activation": _activation(registry),
        **{operator.name: _operator(registry, operator) for operator in registry.operators},
    }
    return {
        "$comment": banner("specs/"),
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The description of a DirectML operator",
        "type": "object",
        "properties": {
            "$schema": {"type": "string"},
            "id": {"description": "A name for results to repeat."},
            "type": {
                "description": "The operator.",
                "enum": [name for operator in registry.operators for name in _names(operator)],
            },
            "desc": {"description": "The operator's members.", "type": "object"},
            **{name: {"description": "How DxDispatch runs it."} for name in OF_DISPATCHABLES},
        },
        "required": ["type", "desc"],
        "additionalProperties": False,
        "allOf": [
            _case("type", operator, {"desc": _definition(operator.name)}) for operator in registry.operators
        ],
        "$defs": definitions,
    }


def graph_schema(registry: Registry) -> Schema:
    """The schema of a graph by names, whose descriptions may lack outputs."""
    described = schema(registry)
    definitions = described.pop("$defs")
    for operator in registry.operators:
        outputs = {member.name for member in operator.outputs}
        one = definitions[operator.name]
        one["required"] = [name for name in one["required"] if name not in outputs]
    name = {"type": "string"}
    names = {"type": "array", "items": {"type": "string", "minLength": 1}}
    bindings = {"anyOf": [name, {"type": "null"}, {"type": "array", "items": {"type": ["string", "null"]}}]}
    constant = {
        "type": ["integer", "string", "array"],
        "minimum": 0,
        "description": "Its size in bytes, its contents in base64, or a list of elements.",
    }
    node = {
        **{key: described[key] for key in ("type", "additionalProperties", "required", "allOf")},
        "properties": {
            **{key: one for key, one in described["properties"].items() if key not in ("$schema", "id")},
            "name": name,
            "bindings": {
                "description": "The name of the value that each tensor is.",
                "type": "object",
                "additionalProperties": bindings,
            },
        },
    }
    data = {
        "type": "object",
        "properties": {"Data": {"type": ["string", "null"]}},
        "additionalProperties": False,
    }
    return {
        **{key: described[key] for key in ("$comment", "$schema")},
        "title": "A graph of DirectML operators",
        "type": "object",
        "properties": {
            **{key: described["properties"][key] for key in ("$schema", "id")},
            "inputs": {"description": "The names of the inputs.", **names},
            "outputs": {"description": "The names of the outputs.", **names},
            "nodes": {
                "type": "array",
                "items": {
                    "if": {"required": ["constant"]},
                    "then": {
                        "type": "object",
                        "properties": {"name": name, "constant": constant, "bindings": data},
                        "additionalProperties": False,
                    },
                    "else": node,
                },
            },
        },
        "required": ["nodes"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _names(operator: Operator) -> list[str]:
    """The spellings of an operator's name that the JSON form accepts."""
    names = [operator.name, *([operator.alias] if operator.alias else [])]
    return [prefix + name for prefix in ("DML_OPERATOR_", "") for name in names]


def _case(key: str, operator: Operator, properties: Schema) -> Schema:
    """The constraints for descriptions of one operator."""
    named = {"properties": {key: {"enum": _names(operator)}}, "required": [key]}
    return {"if": named, "then": {"properties": properties}}


def _operator(registry: Registry, operator: Operator) -> Schema:
    counts = {member.count for member in operator.members}
    required = [one.name for one in operator.members if not one.optional and one.name not in counts]
    return {
        **_described(operator.summary),
        "type": "object",
        "properties": {member.name: _member(registry, member) for member in operator.members},
        "required": required,
        "additionalProperties": False,
    }


def _member(registry: Registry, member: Member) -> Schema:
    value = _value(registry, member)
    if member.count:
        value = {"type": "array", "items": value}
    if member.optional:
        value = {"anyOf": [value, {"type": "null"}]}
    return {**_described(member.summary), **value}


def _value(registry: Registry, member: Member) -> Schema:
    """The possible values of one entry of a member."""
    if member.is_tensor:
        return _definition("tensor")
    if member.type == ACTIVATION:
        return _definition("activation")
    if member.typed_by:
        return _definition("number.any")
    if member.type in registry.enums:
        return _definition(f"enum.{member.type}")
    if member.type in registry.types:
        return _definition(f"number.{member.type}")
    return _definition(f"struct.{member.type}")


def _enum(enum: Enum) -> Schema:
    """By name, with or without prefix, or by number; flags also combined, as "A|B" or as a list."""
    names = [prefix + entry.name for prefix in ("", enum.prefix) for entry in enum.entries]
    numbers = [entry.value for entry in enum.entries]
    if not enum.flags:
        return {**_described(enum.summary), "enum": [*names, *numbers]}
    one = f"({enum.prefix})?({'|'.join(entry.name for entry in enum.entries)})"
    together = {"type": "string", "pattern": rf"^\s*{one}\s*(\|\s*{one}\s*)*$"}
    number = {"type": "integer", "minimum": 0, "maximum": sum(numbers)}
    either = [{"enum": names}, together, number]
    return {**_described(enum.summary), "anyOf": [*either, {"type": "array", "items": {"anyOf": either}}]}


def _number(one: NumberType) -> Schema:
    if one.kind == "float":
        return {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NOT_FINITE}]}
    if one.name == "BOOL":
        return {"type": ["boolean", "integer"]}
    least, most = one.range
    integer = {"type": "integer", "minimum": least, "maximum": most}
    return integer if one.bits < 64 else {"anyOf": [integer, {"type": "string", "pattern": DIGITS}]}


def _any_number(registry: Registry) -> Schema:
    """A number of the type that another member names; DxDispatch uses an object with the union's field."""
    fields = [member.name for member in registry.structs["SCALAR_UNION"].members]
    text = {"type": "string", "pattern": f"{NOT_FINITE}|{DIGITS}"}
    union = {"type": "object", "propertyNames": {"enum": fields}, "minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"type": "number"}, text, union]}


def _struct(registry: Registry, name: str) -> Schema:
    members = registry.structs[name].members
    return {
        **_described(registry.structs[name].summary),
        "type": "object",
        "properties": {member.name: _member(registry, member) for member in members},
        "required": [member.name for member in members],
        "additionalProperties": False,
    }


def _tensor(registry: Registry) -> Schema:
    """A buffer tensor, directly or in a DML_TENSOR_DESC."""
    fields = {field.name: _member(registry, field) for field in registry.structs[TENSOR].members}
    most = next(one.value for one in registry.constants if one.name == MOST_DIMENSIONS)
    size = {**_definition("number.UINT"), "minimum": 1}
    fields["Sizes"] = {"type": "array", "items": size, "minItems": 1, "maxItems": most}
    buffer = {
        "properties": fields,
        "required": ["DataType", "Sizes"],
        "additionalProperties": False,
    }
    wrapped = {
        "properties": {"Type": _definition("enum.TENSOR_TYPE"), "Desc": buffer},
        "required": ["Desc"],
        "additionalProperties": False,
    }
    return {"type": "object", "if": {"required": ["Desc"]}, "then": wrapped, "else": buffer}


def _activation(registry: Registry) -> Schema:
    """An operator without tensors, with its members in "desc" or, as in DxDispatch, next to the type."""
    fusable = [operator for operator in registry.operators if operator.fusible_into]
    names = [name for operator in fusable for name in _names(operator)]
    cases = []
    for operator in fusable:
        parameters = {member.name: _member(registry, member) for member in operator.attributes}
        tensors = {member.name: {"type": "null"} for member in operator.tensors}
        required = [member.name for member in operator.attributes if not member.optional]
        known = {**parameters, **tensors}
        inside = {"properties": known, "required": required, "additionalProperties": False}
        for type_, desc in (("type", "desc"), ("Type", "Desc")):
            case = _case(type_, operator, {})
            beside = {
                "properties": {type_: True, **known},
                "required": required,
                "additionalProperties": False,
            }
            nested = {"properties": {type_: True, desc: inside}, "additionalProperties": False}
            case["then"] = {"if": {"required": [desc]}, "then": nested, "else": beside}
            cases.append(case)
    return {
        "type": "object",
        "properties": {"type": {"enum": names}, "Type": {"enum": names}},
        "oneOf": [{"required": ["type"]}, {"required": ["Type"]}],
        "allOf": cases,
    }


def _described(summary: Text) -> Schema:
    return {"description": summary.plain} if summary else {}


def _definition(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
