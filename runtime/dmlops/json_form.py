"""The JSON form of descriptions, which is the one that DxDispatch reads.

`{"type": "DML_OPERATOR_GATHER", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}, ...}}`

As in DxDispatch, "Type" and "Desc" can be capitalised, members can stand next to the type, and a dispatchable
of a model can have bindings and flags. Values are only read here, not validated: a number may be out of
range, which `validate` reports.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import isfinite
from typing import Any

from .description import Description
from .enums import ENUMS, PREFIXES
from .errors import JsonError
from .forms import WrongType, boolean, enumerator, floating, integer, members_of, number
from .member import Member
from .registry import ALIASES, INTEGERS, NUMBERS, OPERATORS, STRUCTS, operator
from .safe_text import cut, nearest, shown
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc
from .value import plain

OPERATOR_PREFIX = "DML_OPERATOR_"

_FIELDS = {field.name: field for field in STRUCTS["DML_BUFFER_TENSOR_DESC"]}
_OF_DISPATCHABLES = ("bindings", "dmlCompileType", "executionFlags")  # how DxDispatch runs it
_OTHER_DISPATCHABLES = ("hlsl", "onnx", "dmlserializedgraph", "dml_graph_desc", "fb")
_NOT_FINITE = {"nan", "inf", "-inf"}
_MOST_UNKNOWN = 10  # unknown members that one message lists
_DIGITS = re.compile("-?[0-9]{16,20}")


def from_json(value: Any) -> Description:
    """The description in a parsed JSON value. Raises JsonError for anything else."""
    try:
        return _description(value, "", _OF_DISPATCHABLES)
    except WrongType as error:
        raise _unexpected(error) from None
    except RecursionError:
        raise JsonError("", "nested too deep") from None


def is_model(value: Any) -> bool:
    """Whether a parsed JSON value is a DxDispatch model, which contains descriptions."""
    return isinstance(value, dict) and isinstance(value.get("dispatchables"), dict)


def dispatchables(model: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The operators among a model's dispatchables, by name, without shaders and graphs in other files."""
    for name, value in model["dispatchables"].items():
        kind = value.get("type") if isinstance(value, dict) else None
        if not (isinstance(kind, str) and kind.lower() in _OTHER_DISPATCHABLES):
            yield name, value


def _description(value: Any, path: str, also: Iterable[str] = ()) -> Description:
    """A description, at the top level or as a fused activation; other keys may be allowed, too."""
    value = _mapping(value, path)
    type_name = "Type" if "Type" in value and "type" not in value else "type"
    desc_name = "Desc" if "Desc" in value and "desc" not in value else "desc"
    type_path, desc_path = _below(path, type_name), _below(path, desc_name)
    name = plain(value.get(type_name))
    if type(name) is not str:
        raise WrongType(type_path, name, "the name of an operator, such as DML_OPERATOR_GATHER")
    known_as = name.removeprefix(OPERATOR_PREFIX)
    if known_as not in OPERATORS and known_as not in ALIASES:
        prefix = OPERATOR_PREFIX if name.startswith(OPERATOR_PREFIX) else ""
        names = [prefix + known for known in OPERATORS]
        raise JsonError(type_path, f"there is no operator {shown(name)}{nearest(name, names)}")
    described = operator(known_as)
    names = [member.name for member in described.MEMBERS]
    outside = [type_name, *also]
    if desc_name in value:  # what else stands beside it, DxDispatch ignores
        members = _object(value[desc_name], desc_path, names)
    elif value.keys() <= set(outside) and not path:
        raise WrongType(desc_path, None, "an object")
    else:
        desc_path = path
        members = _object(value, path, [*outside, *names, "desc"])
    counts = {member.count for member in described.MEMBERS}
    return described(
        **{
            member.name: _member(member, members, _below(desc_path, member.name))
            for member in described.MEMBERS
            if member.name in members or member.name not in counts
        }
    )


def to_json(desc: Description) -> dict[str, Any]:
    """The JSON form of a description; members with their default value are left out."""
    members: dict[str, Any] = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if value is not None:
            members[member.name] = _value_to_json(member, value)
    return {"type": OPERATOR_PREFIX + desc.OPERATOR, "desc": members}


def _value_to_json(member: Member, value: Any) -> Any:
    if type(value) is tuple:
        return [_value_to_json(member, one) for one in value]
    if type(value) is TensorDesc:
        return _tensor_to_json(value)
    if isinstance(value, Description):
        return to_json(value)
    if isinstance(value, tuple(STRUCT_CLASSES.values())):
        return {
            field.name: _value_to_json(field, getattr(value, field.name)) for field in members_of(type(value))
        }
    value = plain(value)
    if member.type == "BOOL" and type(value) is int and value in (0, 1):
        return bool(value)
    if member.type in ENUMS and type(value) is int:
        names = [name for name, entry in ENUMS[member.type].__members__.items() if entry == value]
        return names[0] if names else value
    if type(value) is float and not isfinite(value):
        return str(value)  # JSON has no NaN and infinities
    return value if value is None or type(value) in (bool, int, float, str) else shown(value)


def _tensor_to_json(tensor: TensorDesc) -> dict[str, Any]:
    plain = TensorDesc("UNKNOWN", ())
    fields: dict[str, Any] = {}
    for field in members_of(TensorDesc):
        value = getattr(tensor, field.name)
        default = getattr(plain, field.name)
        if field.name in ("DataType", "Sizes") or type(value) is not type(default) or value != default:
            fields[field.name] = _value_to_json(field, value)
    return fields


def _member(member: Member, members: Mapping[str, Any], path: str) -> Any:
    value = members.get(member.name)
    if value is None and member.pointer:
        return None
    if member.typed_by and isinstance(value, dict):
        return _union(value, members.get(member.typed_by), path)
    reader = _scalar if member.typed_by else _READERS[member.type]
    return _array(value, path, reader) if member.count else reader(value, path)


def _tensor(value: Any, path: str) -> TensorDesc:
    value = _mapping(value, path)
    if "Desc" in value:
        given = _object(value, path, ("Type", "Desc"))
        enumerator("TENSOR_TYPE", given.get("Type", "BUFFER"), f"{path}.Type")
        value, path = value["Desc"], f"{path}.Desc"
    given = _object(value, path, _FIELDS)
    fields: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        if name in given and not (field.optional and given[name] is None):
            reader = _READERS[field.type]
            read = (
                _array(given[name], f"{path}.{name}", reader)
                if field.count
                else reader(given[name], f"{path}.{name}")
            )
            fields[name] = read
    for name in ("DataType", "Sizes"):
        if name not in fields:
            raise JsonError(f"{path}.{name}", "missing; every tensor needs it")
    count = fields.pop("DimensionCount", len(fields["Sizes"]))
    if count != len(fields["Sizes"]):
        raise JsonError(
            f"{path}.DimensionCount", f"{shown(count)}, but Sizes has {len(fields['Sizes'])} entries"
        )
    return TensorDesc(**fields)


def _array(value: Any, path: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise WrongType(path, value, "a list")
    return tuple(read(item, f"{path}[{position}]") for position, item in enumerate(value))


def _number(value: Any) -> Any:
    """Integers beyond 2**53 can be written as strings, since many JSON readers would round them."""
    text = plain(value)
    if type(text) is str and _DIGITS.fullmatch(text) and abs(int(text)) > 1 << 53:
        return int(text)
    return text


def _integer(value: Any, path: str) -> int:
    return integer(_number(value), path)


def _float(value: Any, path: str) -> float:
    text = plain(value)
    if type(text) is str and text.lower() in _NOT_FINITE:
        return float(text)
    return floating(value, path)


def _scalar(value: Any, path: str) -> float:
    value = _number(value)
    return _float(value, path) if type(value) is str else number(value, path)


def _union(value: dict[str, Any], typed_by: Any, path: str) -> float:
    """A scalar union in DxDispatch's form: the field for its type, which for FLOAT16 holds the bits."""
    for inner in ("Desc", "DataType"):
        if isinstance(typed_by, dict):  # a tensor, perhaps in a DML_TENSOR_DESC
            typed_by = typed_by.get(inner, typed_by)
    name_of_type: str = plain(typed_by) if isinstance(typed_by, str) else ""
    fields = {field.name.upper(): field.name for field in STRUCTS["DML_SCALAR_UNION"]}
    type_ = name_of_type.removeprefix(PREFIXES["TENSOR_DATA_TYPE"])
    name = "UInt16" if type_ == "FLOAT16" else fields.get(type_)
    if name is None:
        raise WrongType(path, value, "a number")
    read = _scalar(_object(value, path, [name]).get(name), f"{path}.{name}")
    if type_ != "FLOAT16":
        return read
    least, most = INTEGERS["UINT16"]
    if type(read) is not int or not least <= read <= most:
        raise WrongType(f"{path}.{name}", read, "the bits of a FLOAT16, an integer of 16 bits")
    return float(struct.unpack("<e", struct.pack("<H", read))[0])


def _struct(name: str) -> Callable[[Any, str], Any]:
    """A reader of an object with a number for each field."""
    fields = {field.name: field for field in STRUCTS[f"DML_{name}"]}

    def read(value: Any, path: str) -> Any:
        given = _object(value, path, fields)
        return STRUCT_CLASSES[name](
            **{
                field.name: _READERS[field.type](given.get(field.name), f"{path}.{field.name}")
                for field in fields.values()
            }
        )

    return read


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "tensor": _tensor,
    "OPERATOR_DESC": _description,
    **dict.fromkeys(NUMBERS, _float),
    **dict.fromkeys(INTEGERS, _integer),
    "BOOL": boolean,
    **{name: _struct(name) for name in STRUCT_CLASSES},
    **{name: partial(enumerator, name) for name in ENUMS},
}


def _object(value: Any, path: str, names: Iterable[str]) -> Mapping[str, Any]:
    """A JSON object with no names but these."""
    given = _mapping(value, path)
    known = list(names)
    unknown = [name for name in given if name not in known]
    if unknown:
        first, *others = unknown[:_MOST_UNKNOWN]
        also = (f"; {cut(name)} is unknown, too{nearest(name, known)}" for name in others)
        raise JsonError(_below(path, cut(first)), f"unknown member{nearest(first, known)}{''.join(also)}")
    return given


def _mapping(value: Any, path: str) -> dict[str, Any]:
    """The names and values of a JSON object."""
    if not isinstance(value, dict):
        raise WrongType(path, value, "an object")
    if not all(isinstance(name, str) for name in value):
        raise WrongType(path, value, "an object whose names are strings")
    return value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _unexpected(error: WrongType) -> JsonError:
    found = "is missing" if error.value == shown(None) else f"found {error.value}"
    return JsonError(error.path, f"{found}; expected {error.expected}{error.hint}")
