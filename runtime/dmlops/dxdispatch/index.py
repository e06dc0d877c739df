"""`cases.json`: what each exported case should do. Nothing in the file is trusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dxdispatch_versions import CASES
from ..elements import computed, stored
from ..enums import TensorDataType
from ..safe_text import shown
from ..tensor import TensorDesc

LARGEST_INDEX = 1 << 28  # bytes
LARGEST_BUFFER = 1 << 28

_ELEMENTS = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf, "-0": -0.0}
_RUN = re.compile(r"[a-z0-9_]+/[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.npy")


class Unreadable(Exception):
    """A file is not as expected; the message says what is wrong, in printable ASCII."""


@dataclass(frozen=True)
class Output:
    """A file that a run writes: its tensor and its expected elements, None where any value is right."""

    name: str
    file: str
    tensor: TensorDesc
    elements: tuple[float | None, ...]
    absolute: float
    relative: float


@dataclass(frozen=True)
class Case:
    """A case. `accepted`: the description is valid. `choices`: choices of this registry that its outputs
    depend on.
    """

    id: str
    operator: str
    accepted: bool
    rules: tuple[str, ...]
    advice: tuple[str, ...]
    level: str
    runs: Mapping[str, str]
    choices: tuple[str, ...]
    outputs: tuple[Output, ...]


def read_index(path: Path) -> list[Case]:
    """The cases of a `cases.json`. Raises Unreadable, and OSError."""
    content = read_json(path, LARGEST_INDEX)
    if not isinstance(content, dict) or not isinstance(content.get("cases"), list):
        raise Unreadable(f"{path.name} has no list of cases")
    if content.get("version") != CASES:
        raise Unreadable(f"{path.name} is of version {shown(content.get('version'))}; {CASES} is known")
    cases = []
    for number, one in enumerate(content["cases"]):
        try:
            cases.append(_case(one))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise Unreadable(f"{path.name}, case {number}: {shown(str(error))}") from None
    return cases


def read_json(path: Path, largest: int) -> Any:
    """Reads a JSON file of at most so many bytes, with or without a byte order mark."""
    try:
        return json.loads(read_bytes(path, largest).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unreadable(f"{path.name} is not JSON") from None


def read_bytes(path: Path, largest: int) -> bytes:
    """Reads a file of at most so many bytes."""
    if not path.is_file():
        raise Unreadable(f"there is no {path.name}")
    with path.open("rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise Unreadable(f"{path.name} is larger than {largest} bytes")
    return data


def _case(one: Any) -> Case:
    runs = {_text(kind): _matching(_RUN, run) for kind, run in one["runs"].items()}
    outputs = one.get("outputs", {}).items()
    if type(one["accepted"]) is not bool:
        raise ValueError("accepted is neither true nor false")
    return Case(
        id=_text(one["id"]),
        operator=_text(one["operator"]),
        accepted=one["accepted"],
        rules=_texts(one["rules"]),
        advice=_texts(one["advice"]),
        level=_text(one["level"]),
        runs=runs,
        choices=_texts(one.get("choices", [])),
        outputs=tuple(_output(_text(name), output) for name, output in outputs),
    )


def _output(name: str, one: Any) -> Output:
    strides = one.get("Strides")
    tensor = TensorDesc(
        TensorDataType[one["DataType"]],
        _sizes(one["Sizes"], 1),
        Strides=None if strides is None else _sizes(strides, 0),
        TotalTensorSizeInBytes=_size(one["TotalTensorSizeInBytes"], 1),
    )
    if len(tensor.element_strides) != len(tensor.Sizes):
        raise ValueError(f"{name} has not one stride for each size")
    if not tensor.implied_size <= tensor.size_in_bytes <= LARGEST_BUFFER:
        raise ValueError(f"{name} has a size of {tensor.size_in_bytes} bytes")
    elements = one["elements"]
    if not isinstance(elements, list) or len(elements) != math.prod(tensor.Sizes):
        raise ValueError(f"{name} has not one element for each coordinate")
    return Output(
        name=name,
        file=_matching(_FILE, one["file"]),
        tensor=tensor,
        elements=tuple(element(value, tensor.DataType) for value in elements),
        absolute=_amount(one["tolerance"]["absolute"]),
        relative=_amount(one["tolerance"]["relative"]),
    )


def element(value: Any, data_type: TensorDataType) -> float | None:
    """An element as in matrices: a number, the name of one, or a large integer as a string.

    A float has only as many digits as its type needs to identify it, so it is rounded to that type. Raises
    ValueError for anything else.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _ELEMENTS[value.lower()] if value.lower() in _ELEMENTS else int(value)
    is_float = data_type.kind == "float"
    if type(value) not in (int, float) or not (is_float or value == int(value)):
        raise ValueError(f"{shown(value)} is not an element")
    return float(computed(stored(value, data_type), data_type)) if is_float else int(value)


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError(f"{shown(value)} is not a tolerance")
    return float(value)


def _sizes(value: Any, least: int) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list of sizes")
    return tuple(_size(one, least) for one in value)


def _size(value: Any, least: int) -> int:
    if type(value) is not int or not least <= value < 1 << 32:
        raise ValueError(f"{shown(value)} is not a size")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list")
    return tuple(map(_text, value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a text")
    return value


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    """A name that cannot lead to another folder."""
    if not pattern.fullmatch(_text(value)):
        raise ValueError(f"{shown(value)} is not a file name")
    return str(value)
