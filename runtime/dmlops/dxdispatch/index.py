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
from ..json_form import tensor_from_json
from ..json_values import a_list, a_text
from ..safe_text import shown
from ..tensor import TensorDesc
from ..validation import tensor_violations

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
    if type(one["accepted"]) is not bool:
        raise ValueError("accepted is neither true nor false")
    return Case(
        id=a_text(one["id"], "id"),
        operator=a_text(one["operator"], "operator"),
        accepted=one["accepted"],
        rules=_texts(one["rules"], "rules"),
        advice=_texts(one["advice"], "advice"),
        level=a_text(one["level"], "level"),
        runs={kind: _matching(_RUN, run) for kind, run in one["runs"].items()},
        choices=_texts(one.get("choices", []), "choices"),
        outputs=tuple(_output(name, output) for name, output in one.get("outputs", {}).items()),
    )


def _output(name: str, one: Any) -> Output:
    beside = ("file", "elements", "tolerance")
    tensor = tensor_from_json({key: value for key, value in one.items() if key not in beside}, name)
    broken = tensor_violations(tensor, name, is_input=False)
    if broken:
        raise ValueError(broken[0].message)
    if tensor.size_in_bytes > LARGEST_BUFFER:
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


def _texts(value: Any, path: str) -> tuple[str, ...]:
    return tuple(a_text(one, path) for one in a_list(value, path))


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    """A name that cannot lead to another folder."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a file name")
    return str(value)
