"""Junk at every place of valid descriptions and inputs gives an answer or a documented error."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import Description, FeatureLevel, TensorDesc, gpu, reference
from dmlops.errors import InvalidDescription, JsonError
from dmlops.explain import explain
from random_descriptions import level_and_form, matrix_cases

SELF: list[Any] = []
SELF.append(SELF)
LOOP: dict[str, Any] = {}
LOOP |= dict.fromkeys(("a", "type", "desc", "Desc", "DataType", "Sizes"), LOOP)

JUNK: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "truth": lambda: True,
    "text": lambda: "x",
    "number as text": lambda: "4",
    "bytes": lambda: b"x",
    "fraction": lambda: 4.5,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "huge": lambda: 10**5000,
    "huge negative": lambda: -(10**5000),
    "negative": lambda: -1,
    "2**64": lambda: 1 << 64,
    "empty": list,
    "list": lambda: [1],
    "object": dict,
    "names that are no texts": lambda: {1: 2},
    "set": lambda: {1},
    "float32": lambda: np.float32(3),
    "longdouble": lambda: np.longdouble(3),
    "bool_": lambda: np.bool_(True),
    "str_": lambda: np.str_("FLOAT32"),
    "no time": lambda: np.datetime64("NaT"),
    "record": lambda: np.zeros(1, "i4,i4")[0],
    "array": lambda: np.zeros((2, 2)),
    "array without dimensions": lambda: np.array(3),
    "array of objects": lambda: np.array([object(), None], dtype=object),
    "generator": lambda: (i for i in range(3)),
    "endless": itertools.count,
    "endless texts": lambda: itertools.repeat("x"),
    "endless range": lambda: range(10**12),
    "itself": lambda: SELF,
    "itself by name": lambda: LOOP,
    "class": lambda: TensorDesc,
    "function": lambda: len,
    "decimal": lambda: Decimal("NaN"),
    "surrogate": lambda: "\ud800",
    "lines": lambda: "a\nb\x1b[2J\u202e",
    "long": lambda: "F" * 10**6,
    "tensor": lambda: TensorDesc("FLOAT32", (2,)),
    "enumerator": lambda: dmlops.TensorDataType.FLOAT32,
}

# One operator for each kind of member, and one with everything.
OPERATORS = ["GATHER_ELEMENTS", "GEMM", "JOIN", "SLICE1", "ELEMENT_WISE_CLIP1", "UPSAMPLE_2D", "LSTM", "CAST"]


@pytest.fixture(scope="module")
def valid() -> dict[str, Any]:
    """For each operator the JSON form of a valid description with all that a description can have."""
    found: dict[str, Any] = {}
    for case in matrix_cases():
        _, form = level_and_form(case)
        name = form["type"].removeprefix("DML_OPERATOR_")
        if name in OPERATORS and case["expect"]["ok"]:
            found[name] = max(found.get(name, form), form, key=lambda one: len(json.dumps(one)))
    assert sorted(found) == sorted(OPERATORS)
    return found


def judged(desc: Description) -> None:
    """Everything that can be asked of a description gives an answer or a documented error."""
    violations = desc.validate("6.4")
    for violation in violations:
        assert (
            violation.message.isascii() and violation.message.isprintable() and len(violation.message) < 1000
        )
    assert desc.min_feature_level() is None or isinstance(desc.min_feature_level(), FeatureLevel)
    assert not (violations and desc.advice("6.4"))
    text, is_valid = explain(desc, FeatureLevel("6.4"))
    assert is_valid == (not violations)
    assert all(line.isprintable() for line in text.splitlines())
    assert isinstance(desc.to_json(), dict)
    for act, errors in (
        (desc.infer, (ValueError,)),
        (desc.to_ctypes, (ValueError,)),
        (lambda: reference.run(desc, {}), (InvalidDescription, ValueError)),
        (lambda: gpu.run(desc, {}), (InvalidDescription, ValueError, gpu.Unsupported)),
    ):
        with suppress(*errors):
            act()


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        yield from places(value, (*path, key))


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = put(copy[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("name", OPERATORS)
def test_junk_in_json(name: str, valid: dict[str, Any]) -> None:
    for path in places(valid[name]):
        for what, junk in JUNK.items():
            try:
                desc = dmlops.from_json(put(valid[name], path, junk()))
            except JsonError as error:
                assert str(error).isascii() and str(error).isprintable(), (what, path)
            else:
                judged(desc)


@pytest.mark.parametrize("name", OPERATORS)
def test_junk_in_constructors(name: str, valid: dict[str, Any]) -> None:
    right = dmlops.from_json(valid[name])
    members = {member.name: getattr(right, member.name) for member in right.MEMBERS}
    fields = (
        "DataType",
        "Sizes",
        "Flags",
        "Strides",
        "TotalTensorSizeInBytes",
        "GuaranteedBaseOffsetAlignment",
    )
    for member, value in members.items():
        for junk in JUNK.values():
            wrong = [junk()]
            if isinstance(value, tuple):
                wrong += [[junk()], (*value[1:], junk()), iter([junk()])]
            if isinstance(value, TensorDesc) and name == "GATHER_ELEMENTS":
                tensor = {field: getattr(value, field) for field in fields}
                wrong += [TensorDesc(**{**tensor, field: junk()}) for field in fields]
                wrong += [TensorDesc(**{**tensor, "Sizes": [junk(), *value.Sizes[1:]]})]
            for one in wrong:
                judged(type(right)(**{**members, member: one}))


def numbers(value: Any, number: int) -> Iterator[Any]:
    """The value with this number in place of each integer in it."""
    match value:
        case bool() | str() | None:
            return
        case int():
            yield number
        case tuple():
            for place, entry in enumerate(value):
                yield from ((*value[:place], one, *value[place + 1 :]) for one in numbers(entry, number))
        case TensorDesc():
            for field in ("Sizes", "Strides", "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment"):
                given = value.Sizes if field == "Strides" else getattr(value, field)
                yield from (replace(value, **{field: one}) for one in numbers(given, number))
        case float():
            yield number


def test_integers_of_thousands_of_digits() -> None:
    """At every place of a description of every operator, where Python refuses to print such a number."""
    examples: dict[type[Description], Description] = {}
    for case in matrix_cases():
        if case["expect"]["ok"]:
            desc = dmlops.from_json(level_and_form(case)[1])
            examples.setdefault(type(desc), desc)
    assert len(examples) > 170
    for desc in examples.values():
        for member in desc.MEMBERS:
            for number in (10**5000, -(10**5000)):
                for wrong in numbers(getattr(desc, member.name), number):
                    other = replace(desc, **{member.name: wrong})
                    assert all(len(one.message) < 1000 for one in other.validate("6.4"))
                    for act in (other.min_feature_level, other.infer, other.to_ctypes):
                        with suppress(ValueError):
                            act()
                    with suppress(ValueError):
                        reference.run(other, {})


def test_an_array_that_is_wrong_once_stays_so() -> None:
    """What was wrong is not forgotten when a second look at it finds something else."""
    for sizes, flags in ((iter(["x"]), ["NONE"]), ((2, 3), ["NO SUCH FLAG"])):
        tensor = TensorDesc("FLOAT32", sizes, Flags=flags)  # type: ignore[arg-type]
        flags[0] = "NONE"
        desc = dmlops.ElementWiseIdentity(InputTensor=tensor, OutputTensor=TensorDesc("FLOAT32", (2, 3)))
        assert [one.rule for one in desc.validate()] == ["DML-OPERATOR-type-of-member"]


@pytest.mark.parametrize("what", JUNK)
def test_junk_in_inputs_levels_and_devices(what: str) -> None:
    junk = JUNK[what]
    sizes = {"InputTensor": (4, 3), "IndicesTensor": (2, 3)}
    arrays = {name: np.zeros(size, np.uint32) for name, size in sizes.items()}
    desc = dmlops.GatherElements(**{n: TensorDesc.of(a) for n, a in arrays.items()}, Axis=0).infer()  # type: ignore[arg-type]
    for act in (desc.validate, desc.advice):
        with pytest.raises(ValueError, match="there is no feature level"):
            act(junk())
    for run in (reference.run, gpu.run):
        with pytest.raises(ValueError, match=r"InputTensor|inputs"):
            run(desc, junk())
        for name in sizes:
            with pytest.raises(ValueError, match=name):
                run(desc, {**arrays, name: junk()})
        with pytest.raises(TypeError, match="is not an operator description"):
            run(junk(), arrays)
    with pytest.raises(TypeError, match="is not an operator description"):
        gpu.plan(junk())
    if junk() is not None:
        with pytest.raises((TypeError, gpu.GpuUnavailable), match="device"):
            gpu.run(desc, arrays, device=junk() if what != "negative" else 99)


@pytest.mark.parametrize("depth", [2, 20, 20_000])
def test_activations_in_activations(depth: int) -> None:
    tensor = TensorDesc("FLOAT32", (1, 1, 2, 2))
    for alpha in (1.0, "x"):
        desc: Description = dmlops.ActivationElu(InputTensor=None, OutputTensor=None, Alpha=alpha)  # type: ignore[arg-type]
        for _ in range(depth):
            desc = dmlops.Gemm(
                ATensor=tensor, BTensor=tensor, OutputTensor=tensor, FusedActivation=desc,
                TransA="NONE", TransB="NONE", Alpha=1.0, Beta=1.0,
            )  # fmt: skip
        assert len(desc.validate()) == 1
        for form in (desc.to_json, desc.to_ctypes):
            try:
                form()
            except ValueError:
                assert depth > 20 or alpha == "x"


@pytest.mark.parametrize("command", ["explain", "validate", "levels"])
def test_a_command_without_a_standard_output(command: str, tmp_path: Path) -> None:
    """No place to print to is no reason for a traceback."""
    file = tmp_path / "bad\x1b[2J.json"
    arguments = [] if command == "levels" else [str(file)]
    line = shlex.join([sys.executable, "-m", "dmlops", command, *arguments])
    result = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, check=False)
    assert (b"Traceback" in result.stderr, b"\x1b" in result.stderr) == (False, False)
    assert result.returncode == (2 if arguments else 0)
    if arguments:
        file.write_text("{}", encoding="utf-8")
        result = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, check=False)
        assert (result.returncode, result.stderr) == (1, b"")
