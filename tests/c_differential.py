"""Compares the C validator with the Python package on random descriptions.

    python tests/c_differential.py [COUNT]

Prints the descriptions of which the two do not say the same, in JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from c_runner import build
from dmlops import Description, FeatureLevel, from_json
from dmlops.enums import feature_level
from random_descriptions import Form, level_and_form, matrix_cases, random_forms

ROOT = Path(__file__).parents[1]

Violations = list[tuple[str, str, str]]  # rule, member, message


class CValidator:
    """dmlops_validate, compiled into a library in a folder."""

    def __init__(self, folder: Path) -> None:
        header = ROOT / "generated/include/dmlops.h"
        path = build(header, "judge.c", folder / "judge.so", "gcc", "-O2", "-fPIC", "-shared")
        self._judge = ctypes.CDLL(str(path)).judge
        self._judge.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
        self._judge.restype = ctypes.c_char_p

    def __call__(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        lines = self._judge(ctypes.addressof(desc), level).decode().splitlines()
        return [(rule, member, message) for rule, member, message in (line.split("\t") for line in lines)]


@dataclass(frozen=True)
class Comparison:
    """What the two say of a description."""

    level: str
    form: Form
    python: Violations
    c: Violations


def compare(forms: Iterable[tuple[str, Form]], validate: CValidator) -> Iterator[Comparison]:
    """What the two say of those descriptions that C structs can hold."""
    not_in_c = {case["breaks"] for case in matrix_cases() if case.get("form") == "json"}
    for level, form in forms:
        try:
            desc = from_json(form)
            violations = [(one.rule, one.member, one.message) for one in desc.validate(level)]
            if not _lacks_counted(desc) and not_in_c.isdisjoint(rule for rule, _, _ in violations):
                found = validate(desc.to_ctypes(), feature_level(level))
                yield Comparison(level, form, violations, found)
        except ValueError:  # no description, or one with a number that its C type has not
            continue


def _lacks_counted(desc: Description) -> bool:
    """Whether an array is absent although its count is 0; in C, that is an empty array."""
    arrays = [member for member in desc.MEMBERS if member.count]
    return any(getattr(desc, one.name) is None and getattr(desc, one.count or "") == 0 for one in arrays)


def compare_many(count: int, validate: CValidator) -> Iterator[Comparison]:
    """The same of so many descriptions: the cases of the matrices, then random ones."""
    return islice(compare(chain(map(level_and_form, matrix_cases()), random_forms(seed=20)), validate), count)


def main(count: int) -> int:
    """Compares; 1 when something differs."""
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in compare_many(count, CValidator(Path(folder))):
            if one.python != one.c:
                differing += 1
                print(json.dumps(vars(one)))
    print(f"{count} descriptions compared, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
