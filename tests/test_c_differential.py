"""C and Python say the same of any description, word for word; `make sweep` tries many more."""

from __future__ import annotations

from typing import Any

import pytest

from c_differential import CValidator, compare, compare_many
from dmlops.registry import OPERATORS, operator

TENSOR = {"DataType": "FLOAT32", "Sizes": [1, 2, 3, 4]}
TENSORS = {"InputTensor": TENSOR, "OutputTensor": TENSOR}


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> CValidator:
    return CValidator(tmp_path_factory.mktemp("judge"))


def test_c_and_python_say_the_same_of_random_descriptions(validator: CValidator) -> None:
    compared = list(compare_many(30_000, validator))
    assert [one for one in compared if one.python != one.c] == []
    own = {rule.id for name in OPERATORS for rule in operator(name).RULES}
    broken = {rule for one in compared for rule, _, _ in one.python}
    assert own <= broken
    accepted = {one.form["type"] for one in compared if not one.python}
    assert len(accepted) == len(OPERATORS)


@pytest.mark.parametrize(
    ("name", "members", "rules"),
    [
        ("REDUCE", {"Function": "SUM", "AxisCount": 0}, []),
        ("ACTIVATION_SOFTPLUS", {"Steepness": 1 - 1e-9}, []),
        ("ACTIVATION_SOFTPLUS", {"Steepness": 1e39}, []),
        ("ACTIVATION_SOFTPLUS", {"Steepness": 0.9}, ["DML-ACTIVATION_SOFTPLUS-steepness-range"]),
        ("ACTIVATION_SOFTPLUS", {"Steepness": float("nan")}, ["DML-ACTIVATION_SOFTPLUS-steepness-range"]),
    ],
)
def test_what_c_cannot_tell_apart_python_takes_for_the_same(
    name: str, members: dict[str, Any], rules: list[str], validator: CValidator
) -> None:
    """An array of no entries is no array, and a FLOAT has 32 bits."""
    form = {"type": f"DML_OPERATOR_{name}", "desc": {**TENSORS, **members}}
    (one,) = compare([("6.2", form)], validator)
    assert one.python == one.c
    assert [rule for rule, _, _ in one.c] == rules
