"""Reads DxDispatch models as its parser does, going by its source and DirectML.h and not by the exporter.

What the parser rejects (src/model/JsonParsers.cpp and Model.cpp of DxDispatch), or fails or crashes when it
binds (HlslDispatchable.cpp, DmlDispatchable.cpp), raises Refused here.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMATS = {
    "FLOAT16": "e",
    "FLOAT32": "f",
    "FLOAT64": "d",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
}
SCALARS = {f"{'UInt16' if name == 'FLOAT16' else name.title().replace('Uint', 'UInt')}" for name in FORMATS}
_FIELD = re.compile(
    r"\s*(_Maybenull_\s+)?(?:_Field_size_(opt_)?\((\w+)\)\s+)?"
    r"(?:const\s+)?(\w+)\s*\*?\s*(\w+)(?:\[\d+\])?\s*"
)


class Refused(Exception):
    """The parser throws, or a binding is wrong."""


@dataclass(frozen=True)
class Field:
    """A member of a struct of DirectML.h."""

    name: str
    type: str
    optional: bool
    count: str | None


def structs(header: str) -> dict[str, list[Field]]:
    """The structs of DirectML.h by name."""
    header = re.sub(r"//.*", "", header)
    found: dict[str, list[Field]] = {}
    for name, body in re.findall(r"struct (DML_\w+)\s*\{([^}]*)\};", header):
        found[name] = []
        for line in body.split(";"):
            match = _FIELD.fullmatch(line)
            if match:
                maybe, opt, count, kind, field = match.groups()
                found[name].append(Field(field, kind, bool(maybe or opt), count))
    for new, old in re.findall(r"typedef (?:struct )?(DML_\w+) (DML_\w+);", header):
        if new in found:
            found[old] = found[new]
    return found


def enumerators(header: str) -> dict[str, set[str]]:
    """The names in each enumeration of DirectML.h, with their prefix."""
    return {
        name: set(re.findall(r"^\s*(DML_\w+)", body, re.M))
        for name, body in re.findall(r"enum (DML_\w+)\s*\{([^}]*)\}", header)
    }


class Reader:
    """A parser of models. `resources` have their bytes once a model has been read."""

    def __init__(self, header: str) -> None:
        self.structs, self.enums = structs(header), enumerators(header)

    def read(self, path: Path) -> dict[str, Any]:
        """The model, which is returned as it is; Refused where DxDispatch would not run it."""
        model: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=self._no_number)
        for key, kind in (("resources", dict), ("dispatchables", dict), ("commands", list)):
            need(isinstance(model.get(key), kind), f"{key} is missing")
        self.resources = {name: self._resource(one) for name, one in model["resources"].items()}
        for one in model["dispatchables"].values():
            need(isinstance(one.get("type"), str), "a type is a string")
            if one["type"].lower() == "hlsl":
                need((path.parent / one["sourcePath"]).is_file(), f"{one['sourcePath']} is missing")
                need(one.get("compiler", "dxc").lower() == "dxc", "the compiler is dxc")
                need(all(isinstance(text, str) for text in one["compilerArgs"]), "arguments are strings")
            else:
                self._operator(one, is_fused=False)
        for command in model["commands"]:
            self._command(command, model)
        return model

    @staticmethod
    def _no_number(text: str) -> Any:
        raise Refused(f"{text} is no JSON")

    def _resource(self, one: dict[str, Any]) -> bytes:
        kind, values = one.get("initialValuesDataType"), one["initialValues"]
        need(kind in FORMATS, f"no values of type {kind}")
        if isinstance(values, dict):
            uint32(values["valueCount"])
            data = number(kind, values["value"]) * values["valueCount"]
        else:
            data = b"".join(number(kind, value) for value in values)
        need(len(data) > 0, "a buffer is not empty")
        size = one.get("sizeInBytes", -(-len(data) // 4) * 4)
        need(len(data) <= size, "the buffer is too small for its values")
        return data.ljust(size, b"\0")

    def _operator(self, one: dict[str, Any], is_fused: bool) -> None:
        name = one["type"].removeprefix("DML_OPERATOR_")
        need(f"DML_OPERATOR_{name}" in self.enums["DML_OPERATOR_TYPE"], f"no operator {name}")
        desc = one["desc"]
        fields = self.structs[f"DML_{name}_OPERATOR_DESC"]
        need(set(desc) <= {field.name for field in fields}, f"{set(desc)} has unknown members")
        for field in fields:
            if field.type == "DML_TENSOR_DESC" and is_fused:
                continue
            if field.name not in desc:
                need(field.optional, f"{name}.{field.name} is required")
                continue
            value = desc[field.name]
            if field.type == "DML_SCALAR_UNION":
                kind = next(desc[other.name] for other in fields if other.type == "DML_TENSOR_DATA_TYPE")
                self._scalar(value, kind)
            elif field.count:
                need(isinstance(value, list), f"{field.name} is an array")
                need(len(value) == desc[field.count], f"{field.count} counts {field.name}")
                for entry in value:
                    self._value(field.type, entry)
            else:
                self._value(field.type, value)

    def _value(self, kind: str, value: Any) -> None:
        if kind == "DML_TENSOR_DESC":
            self._tensor(value)
        elif kind == "DML_OPERATOR_DESC":
            self._operator(value, is_fused=True)
        elif kind == "UINT":
            uint32(value)
        elif kind == "INT":
            number("INT32", value)
        elif kind == "UINT64":
            number("UINT64", value)
        elif kind == "BOOL":
            need(isinstance(value, bool), f"{value} is no bool")
        elif kind.lower() == "float":
            number("FLOAT32", value)
        elif kind in self.enums:
            need(isinstance(value, str), f"{value} is no name")
            names = {value, f"{kind}_{value}"}
            if kind == "DML_TENSOR_FLAGS":
                names = {value, f"DML_TENSOR_FLAG_{value}"}
            need(bool(names & self.enums[kind]), f"{value} is no {kind}")
        else:
            for field in self.structs[kind]:
                self._value(field.type, value[field.name])

    def _tensor(self, tensor: dict[str, Any]) -> None:
        for field in self.structs["DML_BUFFER_TENSOR_DESC"]:
            value = tensor.get(field.name)
            if value is None:
                need(field.name not in ("Sizes", "DataType"), f"{field.name} is required")
            elif field.count:
                need(len(value) == len(tensor["Sizes"]), f"{field.name} has too few entries")
                for entry in value:
                    self._value(field.type, entry)
            else:
                self._value(field.type, value)

    def _scalar(self, value: Any, kind: str) -> None:
        if isinstance(value, dict):
            ((name, inner),) = value.items()
            need(name in SCALARS, f"{name} is no field of a scalar")
            number("UINT16" if kind == "FLOAT16" else kind, inner)
        else:
            need(isinstance(value, int | float) and not isinstance(value, bool), f"{value} is no number")
            number(kind, value)

    def _command(self, command: dict[str, Any], model: dict[str, Any]) -> None:
        if command["type"] == "writeFile":
            need(command["resource"] in self.resources, f"no resource {command['resource']}")
            need(Path(command["targetPath"]).suffix == ".npy", "a file of NumPy's")
            return
        need(command["type"] == "dispatch", f"no command {command['type']}")
        target = model["dispatchables"][command["dispatchable"]]
        for groups in command.get("threadGroupCount", [1, 1, 1]):
            need(type(groups) is int and 1 <= groups <= 65535, f"{groups} thread groups")
        need(len(command.get("threadGroupCount", [1, 1, 1])) == 3, "three numbers of groups")
        for name, binding in command["bindings"].items():
            for source in binding if isinstance(binding, list) else [binding]:
                resource = source["name"] if isinstance(source, dict) else source
                need(resource in self.resources, f"no resource {resource}")
            if target["type"] == "hlsl":
                self._bound_to_shader(name, binding)
            else:
                self._bound_to_operator(target["desc"][name], binding)
        if target["type"] != "hlsl":
            tensors = {name for name, value in target["desc"].items() if is_tensor(value)}
            need(tensors == set(command["bindings"]), "every tensor has its buffer")

    def _bound_to_shader(self, name: str, binding: Any) -> None:
        """Structured buffers, and the one constant buffer, the only one that is bound by its name."""
        if isinstance(binding, str):
            need(name == "Params" and len(self.resources[binding]) % 256 == 0, "constants come in 256 bytes")
            return
        size = len(self.resources[binding["name"]])
        need(size % 4 == 0, "a buffer is a whole number of words")
        need(binding["elementCount"] * binding["elementSizeInBytes"] == size, "the view fits the buffer")

    def _bound_to_operator(self, tensors: Any, binding: Any) -> None:
        tensors = tensors if isinstance(tensors, list) else [tensors]
        names = binding if isinstance(binding, list) else [binding]
        need(len(tensors) == len(names), "one buffer for each tensor")
        for tensor, name in zip(tensors, names, strict=True):
            need(len(self.resources[name]) >= tensor["TotalTensorSizeInBytes"], f"{name} is too small")


def is_tensor(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "DataType" in first


def need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


def uint32(value: Any) -> None:
    need(type(value) is int and 0 <= value < 1 << 32, f"{value} is no unsigned integer of 32 bits")


def number(kind: str, value: Any) -> bytes:
    """The bytes of a number, or of the name of one that JSON does not have."""
    if "FLOAT" in kind:
        if isinstance(value, str):
            need(value.lower() in ("nan", "inf", "-inf"), f"{value} is no number")
        else:
            need(type(value) in (int, float) and int(float(value)) == int(value), f"{value} is no float")
        value = float(value)
    else:
        need(type(value) is int, f"{value} is no integer")
    try:
        return struct.pack("<" + FORMATS[kind], value)
    except (struct.error, OverflowError) as error:
        raise Refused(f"{value} is no {kind}: {error}") from None
