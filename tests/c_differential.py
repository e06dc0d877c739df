"""Compares the C header with the Python package on random descriptions.

    python tests/c_differential.py [COUNT]

Prints the descriptions for which the two differ, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path

from c_library import NEEDS_INPUT, Library, Output, Violations, as_c
from dmlops import Description, FeatureLevel, TensorDataType, TensorDesc, Violation, from_json
from dmlops.enums import feature_level
from dmlops.registry import NUMBERS
from random_descriptions import Form, level_and_form, matrix_cases, random_forms

NEWEST = max(FeatureLevel)
MOST_DIMENSIONS = 8  # more than C infers from


@dataclass(frozen=True)
class Answers:
    """Results for a description: violations, advice, the lowest level, outputs as far as they follow."""

    violations: Violations
    advice: Violations
    lowest: int
    outputs: list[Output | None]


@dataclass(frozen=True)
class Comparison:
    """Results of both for a description."""

    level: str
    form: Form
    python: Answers
    c: Answers


def compare(forms: Iterable[tuple[str, Form]], library: Library) -> Iterator[Comparison]:
    """Results of both for those descriptions that C structs can hold."""
    not_in_c = {case["breaks"] for case in matrix_cases() if case.get("form") == "json"}
    for level, form in forms:
        try:
            desc = from_json(form)
            violations = _as_tuples(desc.validate(level))
            broken = {rule for rule, _, _ in violations} | {one.rule for one in desc.validate(NEWEST)}
            if not _lacks_counted(desc) and not_in_c.isdisjoint(broken):
                described = desc.to_ctypes()
                found = library.validate(described, feature_level(level))
                advice = library.advise(described, feature_level(level))
                lowest = desc.min_feature_level()
                expected, inferred = outputs(desc, described, library)
                c = Answers(found, advice, library.lowest(described), inferred)
                python = Answers(
                    violations,
                    _as_tuples(desc.advice(level)),
                    0 if lowest is None else lowest.value,
                    expected,
                )
                yield Comparison(level, form, _as_far_as_read(python, c) if _is_unread(desc) else python, c)
        except ValueError:  # no description, or one with a number that its C type has not
            continue


def _as_tuples(violations: Iterable[Violation]) -> Violations:
    return [(one.rule, one.member, one.message) for one in violations]


def outputs(
    desc: Description, described: ctypes.Structure, library: Library
) -> tuple[list[Output | None], list[Output | None]]:
    """The outputs that the Python package infers, and what C says of these."""
    names = [member.name for member in desc.MEMBERS if member.role == "output"]
    answers = [library.infer(described, number) for number in range(len(names))]
    if any(tensor.DimensionCount > MOST_DIMENSIONS for tensor in _tensors(desc)):
        return [], []
    if NEEDS_INPUT in answers and _miscounts(desc):
        return [], []
    found = [answer if isinstance(answer, Output) else None for answer in answers]
    pairs = [(_output(desc, name), other) for name, other in zip(names, found, strict=True)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _output(desc: Description, name: str) -> Output | None:
    """An output as the Python package infers it, which must be asked for one that may be absent."""
    given = getattr(desc, name)
    asked = desc if given is not None else replace(desc, **{name: TensorDesc(TensorDataType.UNKNOWN, ())})
    try:
        tensor = getattr(asked.infer(), name)
    except ValueError:
        return None
    return as_c(tensor, is_given=tensor == given) if isinstance(tensor, TensorDesc) else None


def _tensors(desc: Description) -> Iterator[TensorDesc]:
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        entries = value if isinstance(value, tuple) else (value,)
        yield from (entry for entry in entries if isinstance(entry, TensorDesc))


def _miscounts(desc: Description) -> bool:
    """Whether a rule rejects the count of an array (C then does not read it), or general rules hide that."""
    counts = {member.count for member in desc.MEMBERS if member.count}
    found = desc.validate(NEWEST)
    general = any(one.rule.startswith(("DML-TENSOR-", "DML-OPERATOR-")) for one in found)
    return bool(counts) and (general or any(counts & set(re.findall(r"\w+", one.message)) for one in found))


def _is_unread(desc: Description) -> bool:
    """Whether C does not read an array, as it has more entries than a tensor has dimensions."""
    arrays = [getattr(desc, one.name) for one in desc.MEMBERS if one.count and one.type in NUMBERS]
    return any(array is not None and len(array) > MOST_DIMENSIONS for array in arrays)


def _as_far_as_read(python: Answers, c: Answers) -> Answers:
    """What Python says without what C need not find then; what C says beyond that is a difference."""
    return replace(c, violations=[one for one in python.violations if one in c.violations])


def _lacks_counted(desc: Description) -> bool:
    """Whether an array is absent although its count is 0; in C, that is an empty array."""
    arrays = [member for member in desc.MEMBERS if member.count]
    return any(getattr(desc, one.name) is None and getattr(desc, one.count or "") == 0 for one in arrays)


def compare_many(count: int, library: Library) -> Iterator[Comparison]:
    """Results for so many descriptions: the cases of the matrices, then random ones."""
    return islice(compare(chain(map(level_and_form, matrix_cases()), random_forms(seed=20)), library), count)


def main(count: int) -> int:
    """Compares; 1 when something differs."""
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in compare_many(count, Library(Path(folder))):
            if one.python != one.c:
                differing += 1
                print(json.dumps(asdict(one)))
    print(f"{count} descriptions compared, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
