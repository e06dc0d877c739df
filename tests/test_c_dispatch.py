"""Plans of the C header equal those of the Python package, or are refused for the same reason."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from c_plans import HEADER, NOTHING, Library, expected
from c_runner import SOURCES, WARNINGS, compiler
from dmlops import TensorDataType, TensorDesc, from_json, make
from dmlops.gpu import Unsupported, plan
from dmlops.gpu.plans.capabilities import FASTER, NO_CAPABILITIES
from dmlops.gpu.plans.reasons import Reason
from dmlops.registry import OPERATORS
from random_descriptions import level_and_form, matrix_cases
from random_shapes import FAMILIES, described

COMPILERS = ("gcc", "clang", "g++", "clang++", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-g++")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("dispatch"))


def compared(library: Library, descriptions: Iterable[dmlops.Description]) -> Counter[str]:
    """The number of descriptions of each operator with dispatches, which are the same in C and Python."""
    planned_of: Counter[str] = Counter()
    for desc in descriptions:
        wanted = expected(desc)
        try:
            found = library.plan(desc)
        except ValueError:  # a number that its C type has not
            assert desc.validate()
            continue
        assert found == wanted, desc
        planned_of[desc.OPERATOR] += len(wanted) > 1
    return planned_of


# Descriptions.


def test_plans_of_every_case_are_those_of_python(library: Library) -> None:
    """Those of invalid cases, too: there are none."""
    cases = (from_json(level_and_form(case)[1]) for case in matrix_cases() if case.get("form") != "json")
    found = compared(library, cases)
    assert set(OPERATORS) == set(+found)
    assert all((HEADER.parents[1] / f"hlsl/{name.lower()}.hlsl").is_file() for name in found)


def test_no_dispatch_binds_a_buffer_both_to_read_and_to_write(library: Library) -> None:
    """Not even as a placeholder for an absent tensor: a resource of Direct3D 12 is in one state at a time."""
    cases = (from_json(level_and_form(case)[1]) for case in matrix_cases() if case.get("form") != "json")
    random = (described(family, seed) for family in FAMILIES for seed in range(12))
    descs = [*(one for one in cases if not one.validate()), *random]
    for capabilities in (NO_CAPABILITIES, FASTER):
        placeholders = dispatches = 0
        for desc in descs:
            _, *lines = library.plan(desc, capabilities)
            for _, _, _, reads, _, bindings, _ in lines:
                bound = bindings.rstrip(",").split(",")
                read, written = bound[: int(reads)], bound[int(reads) :]
                assert not set(read) & set(written), (desc, capabilities)
                dispatches += 1
                placeholders += len(set(read)) < len(read) or len(set(written)) < len(written)
        assert dispatches > 5000
        assert placeholders > 500


def test_plans_of_random_descriptions(library: Library) -> None:
    """Of any layout: dimensions merge, vectors form and threads write several of them, or not, as in
    Python."""
    found = compared(library, (described(family, seed) for family in FAMILIES for seed in range(200)))
    assert sum(found.values()) > 3500


NUMBERS = (0, -0.0, 1, -1, 0.5, 0.1, -7.75, 2.9e-8, 5.9e-8, 1e-7, 6.1e-5, 2047.5, 65504, 65519.99, 65520)
EXTREMES = (2**31 - 1, 2**31, 2**32, -(2**31), -(2**33), 2**63, 2**64, -(2**63), -1e30, 3e38, 1e-45, 1e-40)


@pytest.mark.parametrize("value", [*NUMBERS, *EXTREMES, float("inf"), float("-inf"), float("nan")])
def test_numbers_in_the_type_of_elements(value: float, library: Library) -> None:
    """Of FLOAT members and of unions: as elements are computed; where they are moved, as they are stored."""
    value = float(value)

    def descriptions() -> Iterator[dmlops.Description]:
        for type_ in [*TensorDataType][1:]:
            one = TensorDesc(type_, (1, 2, 3, 4))
            both = {"InputTensor": one, "OutputTensor": one}
            square = replace(one, Sizes=(1, 1, 3, 3))
            if type_.numpy.kind == "f":
                own = float(type_.numpy.type(value))
            else:
                least = 0 if type_.numpy.kind == "u" else -8
                own = int(min(max(value, least), 7)) if value == value else 0
            yield dmlops.ElementWiseClip(**both, Min=value, Max=float("inf"))
            yield dmlops.ActivationLinear(**both, Alpha=value, Beta=-value)
            yield dmlops.DiagonalMatrix(OutputTensor=square, Offset=1, Value=value)
            yield dmlops.FillValueConstant(OutputTensor=one, ValueDataType=type_, Value=own)
            yield dmlops.ElementWiseClip1(**both, MinMaxDataType=type_, Min=own, Max=own)

    with np.errstate(over="ignore"):
        found = compared(library, descriptions())
    assert found["FILL_VALUE_CONSTANT"] == sum(type_.bits >= 8 for type_ in TensorDataType)


@pytest.mark.parametrize("value", [2049, 65536, 2**64, -(2**70)])
@pytest.mark.parametrize("type_", [TensorDataType.FLOAT16, TensorDataType.FLOAT32])
def test_an_integer_for_a_float_is_that_float(type_: TensorDataType, value: int, library: Library) -> None:
    integer, same = (
        dmlops.FillValueSequence(
            OutputTensor=TensorDesc(type_, (4,)), ValueDataType=type_, ValueStart=0, ValueDelta=number
        )
        for number in (value, float(value))
    )
    assert expected(integer) == expected(same) == library.plan(integer)


# Limits.


def broadcast(count: int) -> dmlops.Description:
    """Of one element."""
    return make.element_wise_identity(TensorDesc("UINT8", (count,), Strides=(0,)))


def gathered(count: int) -> dmlops.Description:
    row = TensorDesc("INT32", (1, count))
    return make.gather_elements(TensorDesc("UINT8", (1, 4)), row, Axis=1)


def summed(*sizes: int) -> dmlops.Description:
    """Of one element, many times."""
    one = TensorDesc("FLOAT32", sizes, Strides=(0,) * len(sizes))
    return make.reduce(one, Function="SUM", Axes=range(len(sizes)))


def product(rows: int, columns: int, activation: dmlops.Description | None = None) -> dmlops.Description:
    return make.gemm((1, 1, rows, 1), (1, 1, 1, columns), FusedActivation=activation)


def network(steps: int, sequences: int = 1, units: int = 1) -> dmlops.Description:
    return make.rnn(
        (1, steps, sequences, 1), (1, 1, units, 1), (1, 1, units, units), OutputSequenceTensor="FLOAT32",
        ActivationDescs=[make.activation_identity()], Direction="FORWARD",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "strides", "dispatches"),
    [
        ((2**31 - 1,), (1,), 1),
        ((2**31,), (1,), 0),
        ((2, 2), (2**32 - 3, 1), 1),
        ((2, 2), (2**32 - 2, 1), 0),
        ((65536, 65535), None, 1),
        ((65536, 65536), None, 0),
        ((2**32 - 1, 1, 2**32 - 1), (0, 0, 0), 0),
        ((3, 2**30 - 1), (2**30, 1), 1),
    ],
)
@pytest.mark.parametrize("data_type", [TensorDataType.UINT8, TensorDataType.FLOAT64])
def test_shaders_count_in_32_bits(
    data_type: TensorDataType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dispatches: int,
    library: Library,
) -> None:
    one = TensorDesc(data_type, sizes, Strides=strides)
    desc = dmlops.ElementWiseIdentity(InputTensor=one, OutputTensor=one)
    assert library.plan(desc) == expected(desc)
    assert len(library.plan(desc)) == 1 + dispatches


def test_nothing_is_planned_where_nothing_is_described(library: Library) -> None:
    assert library.count(None, 4) == 0


@pytest.mark.parametrize(
    ("reason", "member", "number", "desc"),
    [
        (Reason.TOO_LARGE, "InputTensor", 2**31, make.element_wise_identity((2**31,))),
        (Reason.TOO_LARGE, "InputTensor", 2**31, broadcast(2**31)),
        (Reason.MANY_THREADS, None, 2**32, gathered(2**32 - 1)),
        (Reason.REDUCTION_TOO_LARGE, None, 0, summed(3, 2**30)),
        (Reason.MANY_DISPATCHES, None, 0, network(2**18, units=256)),
        (Reason.LARGE_SCRATCH, None, 0, network(2**15, 2**15)),
        (Reason.MANY_ELEMENTS, None, 2**31, product(2**16, 2**15)),
    ],
)
def test_reasons_for_no_plan(
    reason: Reason, member: str | None, number: int, desc: dmlops.Description, library: Library
) -> None:
    """The text has a number that is beyond the limit."""
    assert desc.validate() == []
    with pytest.raises(Unsupported) as caught:
        plan(desc)
    assert (caught.value.reason, caught.value.member) == (reason, member)
    found = library.plan(desc)[0]
    place = next((i for i, one in enumerate(desc.MEMBERS) if one.name == member), NOTHING)
    assert (int(found[0]), int(found[1]), found[4]) == (reason, place, str(caught.value))
    assert max(map(int, re.findall(r"\b\d+\b", str(caught.value)))) >= number


def test_scratch_has_room_beyond_32_bits(library: Library) -> None:
    """Runs of a sort, whose entries have a key and a place of four bytes each."""
    lines = TensorDesc("UINT8", (2**17, 16384))
    desc = make.top_k1(lines, Axis=1, K=8000, AxisDirection="DECREASING", OutputIndexTensor="UINT32")
    assert library.plan(desc) == expected(desc)
    assert plan(desc).scratch["scratch0"] == 8 * 2**17 * 2 * 8000


@pytest.mark.parametrize("value", [2, -1])
def test_any_number_but_0_is_true(value: int, library: Library) -> None:
    """To the type BOOL of C, and to Python."""
    seen = set()
    for case in matrix_cases():
        desc = from_json(level_and_form(case)[1])
        choices = [one.name for one in desc.MEMBERS if one.type == "BOOL" and getattr(desc, one.name) is True]
        if not choices or desc.validate() or (desc.OPERATOR, *choices) in seen:
            continue
        seen.add((desc.OPERATOR, *choices))
        other = replace(desc, **dict.fromkeys(choices, value))
        assert expected(other) == expected(desc) == library.plan(other)
    assert len(seen) > 10


def with_axes(axes: tuple[int, ...]) -> Iterator[dmlops.Description]:
    """One of each operator whose axes may be repeated, and one with such an operator fused."""
    given: Any = (1, 1, 2, 3)
    yield make.reduce(given, Function="SUM", Axes=axes)
    for arg in (make.argmax, make.argmin):
        yield arg(given, Axes=axes, AxisDirection="INCREASING", OutputTensor="UINT32")
    for activation in (make.activation_softmax1, make.activation_log_softmax1, make.activation_hardmax1):
        yield activation(given, Axes=axes)
    yield make.mean_variance_normalization1(given, Axes=axes, NormalizeVariance=True, Epsilon=0.01)
    yield make.mean_variance_normalization2(given, Axes=axes, UseMean=True, UseVariance=True, Epsilon=0.01)
    yield product(2, 3, make.activation_softmax1(Axes=axes))


@pytest.mark.parametrize("count", [2, 8, 9, 64])
def test_there_is_no_plan_of_more_axes_than_c_reads(count: int, library: Library) -> None:
    for desc in with_axes((3,) * count):
        assert desc.validate() == []
        first, *dispatches = library.plan(desc)
        reason = Reason.NONE if count <= 8 else Reason.ARRAY_TOO_LONG
        assert (int(first[0]), bool(dispatches)) == (reason, count <= 8)
        compared(library, [desc])
        if count > 8:  # an activation's shader is planned for the output
            concerned = "OutputTensor" if desc.OPERATOR == "GEMM" else "Axes"
            assert desc.MEMBERS[int(first[1])].name == concerned


def test_fused_activations_that_need_whole_rows_run_in_their_own_shaders(library: Library) -> None:
    softmax = make.activation_softmax()
    activations = (softmax, make.activation_softmax1(Axes=(2, 3)), make.element_wise_clip(Min=-1, Max=1))
    for activation in activations:
        for sizes in ((2, 3), (2, 70_000)):
            desc = product(*sizes, activation)
            compared(library, [desc])
            shaders = [line[0] for line in library.plan(desc)[1:]]
            assert (shaders[0], shaders[-1]) == ("gemm.hlsl", f"{activation.OPERATOR.lower()}.hlsl")
    compared(library, [product(2**16, 2**15, softmax)])


def test_recurrent_networks_take_any_number_of_dispatches(library: Library) -> None:
    """One for what is fed, one for the state before each step and after the last, and one for the output."""
    for steps in (1, 700, 100_000):
        assert [library.count(network(steps, units=256), capacity) for capacity in (0, 3)] == [steps + 3] * 2


def test_capacity_limits_what_is_written_and_not_what_is_counted(library: Library) -> None:
    desc = make.join([(1, 1, 2, 3)] * 3, Axis=2)
    assert [library.count(desc, capacity) for capacity in range(5)] == [3] * 5


# Compilers.


@pytest.mark.parametrize("name", COMPILERS)
def test_compiles_without_a_warning(name: str, tmp_path: Path) -> None:
    # Some warnings follow what is computed, which g++ does in the same way as gcc.
    options = ("-O1", "-c") if name == "gcc" else ("-fsyntax-only",)
    language = ("-x", "c++", "-std=c++17") if name.endswith("++") else ("-std=c11",)
    command = [compiler(name), *language, *WARNINGS, *options, f"-I{HEADER.parent}"]
    result = subprocess.run(
        [*command, "-DDMLOPS_DISPATCH", str(SOURCES / "library.c"), "-o", str(tmp_path / "out.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_what_is_not_asked_for_is_not_there() -> None:
    command = [compiler("gcc"), "-E", "-x", "c", str(HEADER)]
    without, with_it = (
        subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
        for options in ((), ("-DDMLOPS_DISPATCH",))
    )
    assert "dmlops_dispatch" not in without
    assert "dmlops_dispatch" in with_it
