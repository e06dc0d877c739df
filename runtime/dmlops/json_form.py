"""The JSON form of descriptions, which is the one that DxDispatch reads.

`{"type": "DML_OPERATOR_GATHER", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}, ...}}`

As in DxDispatch, "Type" and "Desc" can be capitalised, members can stand next to the type, and a dispatchable
of a model can have bindings and flags. Values are only read here, not validated: a number may be out of
range, which `validate` reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, TypeVar

from .description import Description
from .enums import ENUMS, PREFIXES, TensorDataType
from .errors import JsonError
from .forms import ACTIVATION, WrongType, enumerator, faults, integer, members_of, number
from .json_values import an_object, below, unexpected, with_known_keys
from .member import Member
from .registry import ALIASES, INTEGERS, OPERATORS, STRUCTS, operator
from .safe_text import nearest, shown
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc
from .value import WRONG_TYPE, Value, plain

Made = TypeVar("Made", bound=Value)

OPERATOR_PREFIX = "DML_OPERATOR_"

_FIELDS = {field.name: field for field in STRUCTS["DML_BUFFER_TENSOR_DESC"]}
_OF_DISPATCHABLES = ("bindings", "dmlCompileType", "executionFlags")  # how DxDispatch runs it
_OTHER_DISPATCHABLES = ("hlsl", "onnx", "dmlserializedgraph", "dml_graph_desc", "fb")
_NOT_FINITE = {"nan", "inf", "-inf"}
_DIGITS = re.compile("-?[0-9]{16,20}")


def from_json(value: Any) -> Description:
    """The description in a parsed JSON value. Raises JsonError for anything else."""
    return _read(lambda: _description(value, "", _OF_DISPATCHABLES))


def tensor_from_json(value: Any, path: str) -> TensorDesc:
    """The tensor in a parsed JSON value. Raises JsonError for anything else."""
    return _read(lambda: _tensor(value, path))


def _read(read: Callable[[], Made]) -> Made:
    try:
        return read()
    except WrongType as error:
        found = "is missing" if error.value == shown(None) else f"found {error.value}"
        raise JsonError(error.path, f"{found}; expected {error.expected}{error.hint}") from None
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
    value = an_object(value, path)
    type_name = "Type" if "Type" in value and "type" not in value else "type"
    desc_name = "Desc" if "Desc" in value and "desc" not in value else "desc"
    type_path, desc_path = below(path, type_name), below(path, desc_name)
    name = plain(value.get(type_name))
    if type(name) is not str:
        raise unexpected(type_path, name, "the name of an operator, such as DML_OPERATOR_GATHER")
    known_as = name.removeprefix(OPERATOR_PREFIX)
    if known_as not in OPERATORS and known_as not in ALIASES:
        prefix = OPERATOR_PREFIX if name.startswith(OPERATOR_PREFIX) else ""
        names = [prefix + known for known in OPERATORS]
        raise JsonError(type_path, f"there is no operator {shown(name)}{nearest(name, names)}")
    described = operator(known_as)
    names = [member.name for member in described.MEMBERS]
    outside = [type_name, *also]
    if desc_name in value:  # what else stands beside it, DxDispatch ignores
        members = with_known_keys(an_object(value[desc_name], desc_path), desc_path, names)
    elif value.keys() <= set(outside) and not path:
        raise unexpected(desc_path, None, "an object")
    else:
        desc_path = path
        members = with_known_keys(value, path, [*outside, *names, "desc"])
    counts = {member.count for member in described.MEMBERS}
    values = {
        member.name: _member(member, members, below(desc_path, member.name))
        for member in described.MEMBERS
        if member.name in members or member.name not in counts
    }
    return _well_typed(described(**values), desc_path)


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
        return tensor_to_json(value)
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


def tensor_to_json(tensor: TensorDesc) -> dict[str, Any]:
    """The JSON form of a tensor; fields with their default value are left out."""
    plain = TensorDesc("UNKNOWN", ())
    fields: dict[str, Any] = {}
    for field in members_of(TensorDesc):
        value = getattr(tensor, field.name)
        default = getattr(plain, field.name)
        if field.name in ("DataType", "Sizes") or type(value) is not type(default) or value != default:
            fields[field.name] = _value_to_json(field, value)
    return fields


def _well_typed(value: Made, path: str) -> Made:
    """The value; raises WrongType for the first of its members that has another type than it must."""
    if value._state & WRONG_TYPE:
        raise next(faults(value, path))
    return value


def _member(member: Member, members: Mapping[str, Any], path: str) -> Any:
    value = members.get(member.name)
    if value is None and member.pointer:
        return None
    if member.typed_by and isinstance(value, dict):
        return _union(value, members.get(member.typed_by), path)
    return _values(member, value, path)


def _values(member: Member, value: Any, path: str) -> Any:
    """A value, or the entries of an array, as descriptions take them; those of another type as they are."""
    if member.count is None:
        return _value(member.type, value, path)
    if isinstance(value, list):
        return [_value(member.type, one, f"{path}[{position}]") for position, one in enumerate(value)]
    return value


def _value(type_: str, value: Any, path: str) -> Any:
    if type_ == "tensor":
        return _tensor(value, path)
    if type_ == ACTIVATION:
        return _description(value, path)
    if type_ in STRUCT_CLASSES:
        fields = {field.name: field for field in STRUCTS[f"DML_{type_}"]}
        given = with_known_keys(an_object(value, path), path, fields)
        values = {name: _values(field, given.get(name), f"{path}.{name}") for name, field in fields.items()}
        return _well_typed(STRUCT_CLASSES[type_](**values), path)
    return value if type_ in ENUMS else _number(type_, value)


def _tensor(value: Any, path: str) -> TensorDesc:
    value = an_object(value, path)
    if "Desc" in value:
        given = with_known_keys(value, path, ("Type", "Desc"))
        enumerator("TENSOR_TYPE", given.get("Type", "BUFFER"), f"{path}.Type")
        value, path = an_object(value["Desc"], f"{path}.Desc"), f"{path}.Desc"
    fields = {
        name: _values(_FIELDS[name], one, f"{path}.{name}")
        for name, one in with_known_keys(value, path, _FIELDS).items()
        if one is not None or not _FIELDS[name].optional
    }
    for name in ("DataType", "Sizes"):
        if name not in fields:
            raise JsonError(f"{path}.{name}", "missing; every tensor needs it")
    count = fields.pop("DimensionCount", None)
    tensor = _well_typed(TensorDesc(**fields), path)
    if count is not None and integer(count, f"{path}.DimensionCount") != tensor.DimensionCount:
        reason = f"{shown(count)}, but Sizes has {tensor.DimensionCount} entries"
        raise JsonError(f"{path}.DimensionCount", reason)
    return tensor


def _number(type_: str, value: Any) -> Any:
    """A number. Strings can be integers beyond 2**53, which many JSON readers would round, and NaN."""
    text = plain(value)
    if type(text) is not str:
        return value
    if type_ not in ("BOOL", "FLOAT") and _DIGITS.fullmatch(text) and abs(int(text)) > 1 << 53:
        return int(text)
    return float(text) if type_ not in INTEGERS and text.lower() in _NOT_FINITE else value


def _union(value: dict[str, Any], typed_by: Any, path: str) -> Any:
    """A scalar union in DxDispatch's form: the field for its type, or for the bits of a float without one."""
    for inner in ("Desc", "DataType"):
        if isinstance(typed_by, dict):  # a tensor, perhaps in a DML_TENSOR_DESC
            typed_by = typed_by.get(inner, typed_by)
    name_of_type: str = plain(typed_by) if isinstance(typed_by, str) else ""
    fields = {field.name.upper(): field.name for field in STRUCTS["DML_SCALAR_UNION"]}
    type_ = name_of_type.removeprefix(PREFIXES["TENSOR_DATA_TYPE"])
    data_type = TensorDataType.__members__.get(type_)
    as_bits = data_type if type_ not in fields and data_type and data_type.kind == "float" else None
    name = fields.get(f"UINT{as_bits.bits}" if as_bits else type_)
    if name is None:
        return value
    where = f"{path}.{name}"
    given = with_known_keys(an_object(value, path), path, [name])
    read = number(_number(type_, given.get(name)), where)
    if as_bits is None:
        return read
    least, most = INTEGERS[name.upper()]
    if type(read) is not int or not least <= read <= most:
        raise unexpected(where, read, f"the bits of a {type_}, an integer of {as_bits.bits} bits")
    from .elements import computed, from_bits  # loads NumPy

    return float(computed(from_bits(read, as_bits), as_bits))
