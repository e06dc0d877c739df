"""The matrices' cases with data, for the `dmlops` that Python finds first, with expected results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import dmlops

MATRICES = Path(dmlops.__file__).parents[2] / "matrix"
OPERATORS = sorted(path.stem for path in (MATRICES.parent / "hlsl").glob("*.hlsl"))  # that have shaders

Case = dict[str, Any]
T = TypeVar("T")


def cases(slug: str) -> list[Case]:
    """The cases with data of an operator."""
    content = json.loads((MATRICES / f"{slug}.json").read_bytes())
    return [case for case in content["cases"] if "outputs" in case]


def supported(matrix: dict[str, Any]) -> dict[str, Any]:
    """The support tables of all levels, of which a matrix lists those that differ from the one before."""
    found: dict[str, Any] = {}
    for level in map(str, dmlops.FeatureLevel):
        table = matrix["support"].get(level, [*found.values()][-1] if found else None)
        if table is not None:
            found[level] = table
    return found


def covering(shown: Collection[tuple[T, set[Any]]], is_preferred: Callable[[T], bool]) -> list[T]:
    """Few things that show all that any of them does: of the preferred ones, as far as these show it, then of
    all, whatever shows most of the rest."""
    left = set().union(*(found for _, found in shown))
    chosen = []
    for some in ([one for one in shown if is_preferred(one[0])], shown):
        while wanted := left & set().union(*(found for _, found in some)):
            thing, found = max(some, key=lambda one: len(one[1] & wanted))
            left -= found
            chosen.append(thing)
    return chosen


def described(case: Case) -> Any:
    return dmlops.from_json({"type": case["type"], "desc": case["desc"]})


def numbered(elements: list[Any], data_type: np.dtype[Any]) -> np.ndarray:
    """The elements as numbers: strings are some too, null stands as 0."""
    number = float if data_type.kind == "f" else int
    return np.array([number(element or 0) for element in elements], data_type)


def array(tensor: Any, elements: list[Any]) -> np.ndarray:
    return numbered(elements, tensor.DataType.numpy).reshape(tensor.Sizes)


def arrays(case: Case, key: str) -> dict[str, Any]:
    """The data as arrays by member: a list of them for an array of tensors."""
    desc, found = described(case), {}
    for name, elements in case[key].items():
        tensor = getattr(desc, name)
        found[name] = (
            [array(*pair) for pair in zip(tensor, elements, strict=True)]
            if isinstance(tensor, tuple)
            else array(tensor, elements)
        )
    return found


def entries(case: Case, key: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """Each tensor with data: its member, its description and its elements."""
    desc = described(case)
    for name, elements in case[key].items():
        tensor = getattr(desc, name)
        for one, part in (
            zip(tensor, elements, strict=True) if isinstance(tensor, tuple) else ((tensor, elements),)
        ):
            yield name, one, part


def check(case: Case, name: str, elements: list[Any], found: np.ndarray, by: str) -> None:
    """What was found is what the case expects, within its tolerance where it has one."""
    given = np.array([element is not None for element in elements])
    expected, values = numbered(elements, found.dtype), found.ravel()
    wrong = given & (values != expected)
    if found.dtype.kind == "f":
        wrong &= ~(np.isnan(values) & np.isnan(expected))
    if name in case.get("tolerance", {}):
        allowed, double = case["tolerance"][name], expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            away = np.abs(values - double) > allowed["absolute"] + allowed["relative"] * np.abs(double)
        wrong &= ~np.isfinite(double) | away | ~np.isfinite(values)
    shown = f"{values[wrong][:4]} where {expected[wrong][:4]} is expected"
    assert not wrong.any(), f"{case['id']}, {name}, by {by}: {shown}"
