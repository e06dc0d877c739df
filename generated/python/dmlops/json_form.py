"""The JSON form of descriptions, the one that DxDispatch reads.

`{"type": "DML_OPERATOR_GATHER", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}, ...}}`

Values are only read here, not judged: numbers may be out of range, which `validate` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import IntFlag
from typing import Any

from .description import Description
from .enums import ENUMS, PREFIXES
from .errors import JsonError
from .member import Member
from .registry import ALIASES, INTEGERS, NUMBERS, OPERATORS, STRUCTS, operator
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc

OPERATOR_PREFIX = "DML_OPERATOR_"

_FIELDS = {field.name: field for field in STRUCTS["DML_BUFFER_TENSOR_DESC"]}
_SHOWN = 60  # characters of a wrong value that a message repeats


def from_json(value: Any) -> Description:
    """The description in a parsed JSON value. Raises JsonError for anything that is none."""
    try:
        return _description(value, "")
    except RecursionError:
        raise JsonError("", "nested too deep") from None


def _description(value: Any, path: str) -> Description:
    """A description, at the top or as a fused activation."""
    given = _object(value, path, ("type", "desc"))
    type_path, desc_path = (f"{path}.{name}" if path else name for name in ("type", "desc"))
    name = given.get("type")
    if not isinstance(name, str):
        raise _unexpected(type_path, name, "the name of an operator, such as DML_OPERATOR_GATHER")
    plain = name.removeprefix(OPERATOR_PREFIX)
    if plain not in OPERATORS and plain not in ALIASES:
        prefix = OPERATOR_PREFIX if name.startswith(OPERATOR_PREFIX) else ""
        names = [prefix + known for known in OPERATORS]
        raise JsonError(type_path, f"there is no operator {_text(name)}{_nearest(name, names)}")
    described = operator(plain)
    members = _object(given.get("desc"), desc_path, [member.name for member in described.MEMBERS])
    counts = {member.count for member in described.MEMBERS}
    return described(
        **{
            member.name: _member(member, members.get(member.name), f"{desc_path}.{member.name}")
            for member in described.MEMBERS
            if member.name in members or member.name not in counts
        }
    )


def to_json(desc: Description) -> dict[str, Any]:
    """The JSON form of a description; what has its default is left out."""
    members: dict[str, Any] = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if value is not None:
            members[member.name] = _value_to_json(member, value)
    return {"type": OPERATOR_PREFIX + desc.OPERATOR, "desc": members}


def _value_to_json(member: Member, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value_to_json(member, one) for one in value]
    if isinstance(value, TensorDesc):
        return _tensor_to_json(value)
    if isinstance(value, Description):
        return to_json(value)
    if member.type in STRUCT_CLASSES:
        return {field.name: getattr(value, field.name) for field in STRUCTS[f"DML_{member.type}"]}
    if member.type in ENUMS:
        names = [name for name, entry in ENUMS[member.type].__members__.items() if entry == value]
        return names[0] if names else int(value)
    return value


def _tensor_to_json(tensor: TensorDesc) -> dict[str, Any]:
    plain = TensorDesc(tensor.DataType, tensor.Sizes)
    fields: dict[str, Any] = {}
    for field in _FIELDS.values():
        value = getattr(tensor, field.name)
        if field.name in ("DataType", "Sizes") or value != getattr(plain, field.name):
            fields[field.name] = _value_to_json(field, value)
    return fields


def _member(member: Member, value: Any, path: str) -> Any:
    if value is None and member.pointer:
        return None
    reader = _scalar if member.typed_by else _READERS[member.type]
    return _array(value, path, reader) if member.count else reader(value, path)


def _tensor(value: Any, path: str) -> TensorDesc:
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
            raise JsonError(f"{path}.{name}", "absent; every tensor has it")
    count = fields.pop("DimensionCount", len(fields["Sizes"]))
    if count != len(fields["Sizes"]):
        raise JsonError(
            f"{path}.DimensionCount", f"{_text(count)}, but Sizes has {len(fields['Sizes'])} entries"
        )
    return TensorDesc(**fields)


def _array(value: Any, path: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _unexpected(path, value, "a list")
    return tuple(read(item, f"{path}[{position}]") for position, item in enumerate(value))


def _integer(value: Any, path: str) -> int:
    if type(value) is not int:
        raise _unexpected(path, value, "an integer")
    return value


def _boolean(value: Any, path: str) -> int:
    if type(value) not in (bool, int):
        raise _unexpected(path, value, "true, false or an integer")
    truth: int = value
    return truth


def _float(value: Any, path: str) -> float:
    try:
        return float(_scalar(value, path))
    except OverflowError:
        raise JsonError(path, f"{_text(value)} is too large for a number") from None


def _scalar(value: Any, path: str) -> float:
    if type(value) not in (int, float):
        raise _unexpected(path, value, "a number")
    number: float = value
    return number


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


def _enumeration(name: str) -> Callable[[Any, str], int]:
    """A reader of full names, names without prefix and numbers; for flags also of "A|B" and lists of them."""
    enum, prefix = ENUMS[name], PREFIXES[name]

    def read(value: Any, path: str) -> int:
        if type(value) is int:
            return value
        if not isinstance(value, str):
            raise _unexpected(path, value, f"a value of DML_{name}, by name or number")
        if value.removeprefix(prefix) not in enum.__members__:
            names = [prefix + known if value.startswith(prefix) else known for known in enum.__members__]
            raise JsonError(path, f"{_text(value)} is no value of DML_{name}{_nearest(value, names)}")
        return enum[value.removeprefix(prefix)]

    def read_flags(value: Any, path: str) -> int:
        parts = value.split("|") if isinstance(value, str) else value if isinstance(value, list) else [value]
        flags = 0
        for part in parts:
            flags |= read(part.strip() if isinstance(part, str) else part, path)
        return flags

    return read_flags if issubclass(enum, IntFlag) else read


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "tensor": _tensor,
    "OPERATOR_DESC": _description,
    **dict.fromkeys(NUMBERS, _float),
    **dict.fromkeys(INTEGERS, _integer),
    "BOOL": _boolean,
    **{name: _struct(name) for name in STRUCT_CLASSES},
    **{name: _enumeration(name) for name in ENUMS},
}


def _object(value: Any, path: str, names: Iterable[str]) -> Mapping[str, Any]:
    """A JSON object with no names but these."""
    if not isinstance(value, dict):
        raise _unexpected(path, value, "an object")
    known = list(names)
    for name in value:
        if name not in known:
            where = f"{path}.{_cut(str(name))}" if path else _cut(str(name))
            raise JsonError(where, f"unknown name{_nearest(str(name), known)}")
    return value


def _unexpected(path: str, value: Any, expected: str) -> JsonError:
    return JsonError(path, f"found {_text(value)}; expected {expected}")


def _nearest(name: str, names: Iterable[str]) -> str:
    folded = {known.upper(): known for known in names}
    close = get_close_matches(name[:100].upper(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _text(value: Any) -> str:
    """A wrong value, as JSON calls it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() if abs(value) >> 200:
            return "a huge integer"
        case str():
            return f'"{_cut(value)}"'
        case _:
            return _cut(repr(value))


def _cut(text: str) -> str:
    printable = text.encode("ascii", "backslashreplace").decode()
    return printable if len(printable) <= _SHOWN else f"{printable[:_SHOWN]}..."
