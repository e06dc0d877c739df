"""C and Python give the same messages for random descriptions; `make fuzz-differential` tries many more."""

from __future__ import annotations

from typing import Any

import pytest

from c_differential import compare, compare_many
from c_library import NEEDS_INPUT, Library, Output
from dmlops import FeatureLevel, Reduce, TensorDesc
from dmlops.registry import OPERATORS, operator

TENSOR = {"DataType": "FLOAT32", "Sizes": [1, 2, 3, 4]}
TENSORS = {"InputTensor": TENSOR, "OutputTensor": TENSOR}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("library"))


def test_c_and_python_say_the_same_of_random_descriptions(library: Library) -> None:
    compared = list(compare_many(16_000, library))
    assert [one for one in compared if one.python != one.c] == []
    own = {rule.id for name in OPERATORS for rule in operator(name).RULES}
    found = {rule for one in compared for rule, _, _ in one.python.violations + one.python.advice}
    assert own <= found
    accepted = {one.form["type"] for one in compared if not one.python.violations}
    assert len(accepted) == len(OPERATORS)
    assert {one.python.lowest for one in compared} == {0, *FeatureLevel}
    inferred = {one.form["type"] for one in compared if any(one.python.outputs)}
    assert inferred == {
        f"DML_OPERATOR_{name}" for name in OPERATORS if name != "SPLIT"
    }  # an array of outputs


@pytest.mark.parametrize("axes", [(1, 2, 3) * 3, (3,) * 64, (1,) * 8])
def test_axes_that_are_repeated_are_no_violation_in_c(axes: tuple[int, ...], library: Library) -> None:
    """Nothing but advice limits their count; of more than 8 no output follows, as C does not read them."""
    sizes = tuple(1 if d in axes else size for d, size in enumerate((1, 2, 3, 4)))
    tensors = {
        "InputTensor": TensorDesc("FLOAT32", (1, 2, 3, 4)),
        "OutputTensor": TensorDesc("FLOAT32", sizes),
    }
    desc = Reduce(Function="SUM", **tensors, AxisCount=len(axes), Axes=axes)  # type: ignore[arg-type]
    described = desc.to_ctypes()
    assert desc.validate() == library.validate(described, FeatureLevel("6.4")) == []
    assert desc.infer() == desc and desc.min_feature_level() is not None
    assert library.lowest(described) == desc.min_feature_level()
    (advice,) = desc.advice()
    assert library.advise(described, FeatureLevel("6.4")) == [(advice.rule, advice.member, advice.message)]
    found = library.infer(described)
    assert found == NEEDS_INPUT if len(axes) > 8 else isinstance(found, Output)


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
    name: str, members: dict[str, Any], rules: list[str], library: Library
) -> None:
    """An array of no entries is no array, and a FLOAT has 32 bits."""
    form = {"type": f"DML_OPERATOR_{name}", "desc": {**TENSORS, **members}}
    (one,) = compare([("6.2", form)], library)
    assert one.python == one.c
    assert [rule for rule, _, _ in one.c.violations] == rules
