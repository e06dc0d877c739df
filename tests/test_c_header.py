"""The C header: compiled by real compilers, alone and beside the other header, and run under sanitizers."""

from __future__ import annotations

import dataclasses
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_runner import SANITIZERS, SOURCES, WARNINGS, Bare, Member, Tensor, build, case, compiler, run
from dmlgen.outputs import c
from dmlgen.outputs.c_layout import layout
from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry
from dmlgen.resolve import load_registry

ROOT = Path(__file__).parents[1]
C_COMPILERS = ("gcc", "clang", "x86_64-w64-mingw32-gcc")
CPP_COMPILERS = ("g++", "clang++", "x86_64-w64-mingw32-g++")
TARGET_VERSIONS = ("0x1000", "0x2000", "0x2100", "0x3000", "0x4100", "0x6200", "0x6300", "0x6400")
WINDOWS_32 = ("--target=i686-w64-mingw32", "-isystem", "/usr/x86_64-w64-mingw32/include")

ALONE = '#include "dmlops.h"\n#include "use.h"\n'
BESIDE = '#include "DirectML.h"\n#include "dmlops.h"\n'


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry(ROOT / "specs")


@pytest.fixture(scope="session")
def header(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("include") / "dmlops.h"
    path.write_bytes(c.render(registry, Templates(ROOT / "templates"))["include/dmlops.h"])
    return path


@pytest.fixture(scope="session")
def runner(header: Path) -> Path:
    return build(header, "runner.c", header.parent / "runner", "clang", "-O1", *SANITIZERS)


def compiles(name: str, header: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    language = "c++" if name.endswith("++") else "c"
    command = [compiler(name), *WARNINGS, *options, f"-I{header.parent}", f"-I{SOURCES}", "-x", language, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


# Compilers.


@pytest.mark.parametrize("optimization", ["-O0", "-O2"])
@pytest.mark.parametrize("name", C_COMPILERS + CPP_COMPILERS)
def test_compiles_alone_without_a_warning(name: str, optimization: str, header: Path, tmp_path: Path) -> None:
    for standard in ("c++17", "c++20") if name.endswith("++") else ("c11", "c17", "gnu17"):
        output = ("-c", "-o", str(tmp_path / "out.o"))
        result = compiles(name, header, ALONE, f"-std={standard}", optimization, *output)
        assert result.returncode == 0, f"{standard}: {result.stderr}"


@pytest.mark.parametrize("name", ["gcc", "clang", "g++", "clang++"])
def test_accepts_and_rejects_in_each_language(name: str, header: Path, tmp_path: Path) -> None:
    standard = "-std=c++17" if name.endswith("++") else "-std=c11"
    result = compiles(name, header, ALONE, standard, "-o", str(tmp_path / "use"))
    assert result.returncode == 0, result.stderr
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


@pytest.mark.parametrize("name", CPP_COMPILERS)
def test_fits_beside_the_other_header_at_each_target_version(name: str, header: Path) -> None:
    for target in TARGET_VERSIONS:
        options = ("-std=c++17", f"-DDML_TARGET_VERSION={target}", "-fsyntax-only")
        use = '#include "use.h"\n' if int(target, 16) >= 0x2100 else "int main() {}\n"
        result = compiles(name, header, BESIDE + use, *options)
        assert result.returncode == 0, f"{target}: {result.stderr}"


def test_validates_operators_that_the_other_header_leaves_out(header: Path, tmp_path: Path) -> None:
    text = """
    int main() {
        const DML_GATHER_ND1_OPERATOR_DESC gather = {};
        const UINT type = 140;
        DML_OPERATOR_DESC desc = {DML_OPERATOR_INVALID, &gather};
        std::memcpy(&desc.Type, &type, sizeof type);
        return dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, nullptr, 0) == 3 ? 0 : 1;
    }
    """
    options = ("-std=c++17", "-DDML_TARGET_VERSION=0x1000", "-o", str(tmp_path / "use"))
    result = compiles("g++", header, f"#include <cstring>\n{BESIDE}{text}", *options)
    assert result.returncode == 0, result.stderr
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("UINT IndexDimensions;", "UINT64 IndexDimensions;"),
        ("DML_OPERATOR_GATHER = 67", "DML_OPERATOR_GATHER = 68"),
        ("DML_FEATURE_LEVEL_5_2 = 0x5200", "DML_FEATURE_LEVEL_5_2 = 0x5300"),
        ("DML_TENSOR_DIMENSION_COUNT_MAX1 = 8", "DML_TENSOR_DIMENSION_COUNT_MAX1 = 5"),
        ("    const UINT* Strides;\n", ""),
    ],
)
def test_refuses_to_compile_beside_a_header_that_differs(right: str, wrong: str, header: Path) -> None:
    other = (SOURCES / "DirectML.h").read_text().replace("#pragma once", "")
    assert right in other
    text = f'{other.replace(right, wrong)}\n#include "dmlops.h"\n'
    result = compiles("g++", header, text, "-std=c++17", "-fsyntax-only")
    assert result.returncode != 0
    assert "static assertion failed" in result.stderr or "DMLOPS_ASSERT" in result.stderr


@pytest.mark.parametrize("name", ["x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-g++"])
@pytest.mark.parametrize("first", ["windows.h", "dmlops.h"])
def test_goes_with_windows_headers_before_and_after(name: str, first: str, header: Path) -> None:
    second = ({"windows.h", "dmlops.h"} - {first}).pop()
    text = f'#include <{first}>\n#include <{second}>\n#include <d3d12.h>\n#include "use.h"\n'
    result = compiles(name, header, text, "-fsyntax-only")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["clang", "clang++"])
def test_layouts_hold_on_32_bit_windows(name: str, header: Path) -> None:
    standard = "-std=c++17" if name.endswith("++") else "-std=c11"
    result = compiles(name, header, ALONE, *WINDOWS_32, standard, "-fsyntax-only")
    assert result.returncode == 0, result.stderr


def test_layout_is_that_of_ctypes(registry: Registry) -> None:
    for operator in registry.operators:
        described = type(dmlops.from_json({"type": operator.c_constant, "desc": minimal(operator)}))
        structure = dmlops.abi.desc_struct(described)
        offsets = tuple(getattr(structure, member.name).offset for member in operator.members)
        assert layout(registry, operator.members, 8).offsets == offsets


def test_what_is_not_called_is_not_there(header: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.o"
    result = compiles("gcc", header, '#include "dmlops.h"\n', "-std=c11", "-O1", "-c", "-o", str(path))
    assert result.returncode == 0, result.stderr
    assert b"DML-GATHER" not in path.read_bytes()


# Descriptions.


def tensor(data_type: int = 1, sizes: tuple[int, ...] = (2, 3), **changes: Any) -> Tensor:
    elements = 1
    for size in sizes:
        elements *= size
    values = {"DataType": data_type, "Sizes": sizes, "Strides": None, "TotalTensorSizeInBytes": elements * 8}
    return Tensor(**{**values, **changes})


def minimal(operator: Operator) -> dict[str, Any]:
    """A description in JSON form, valid or not."""
    some = {"DataType": "FLOAT32", "Sizes": [1]}
    return {member.name: some if member.is_tensor else 1 for member in operator.members}


@pytest.fixture
def gather(registry: Registry) -> Operator:
    return registry.operator["GATHER_ELEMENTS"]


VALID: dict[str, Member] = {
    "InputTensor": tensor(),
    "IndicesTensor": tensor(6),
    "OutputTensor": tensor(),
    "Axis": 1,
}
LEVEL = 0x4100


def found(
    runner: Path, registry: Registry, gather: Operator, **changes: Member
) -> list[tuple[str, str, str]]:
    ((count, violations),) = run(runner, [case(registry, gather, LEVEL, {**VALID, **changes})])
    assert count == len(violations)
    return violations


def test_a_valid_description_has_no_violation(runner: Path, registry: Registry, gather: Operator) -> None:
    assert found(runner, registry, gather) == []


def test_null_addresses(runner: Path, registry: Registry, gather: Operator) -> None:
    changes: dict[str, Member] = {
        "InputTensor": None,
        "IndicesTensor": Bare(),
        "OutputTensor": tensor(Sizes=None, DimensionCount=2),
    }
    assert found(runner, registry, gather, **changes) == [
        ("DML-OPERATOR-required", member, f"{member} is absent; GATHER_ELEMENTS needs it")
        for member in ("InputTensor", "IndicesTensor.Desc", "OutputTensor.Sizes")
    ]


def test_no_sizes_for_no_dimensions(runner: Path, registry: Registry, gather: Operator) -> None:
    ((rule, member, message),) = found(runner, registry, gather, InputTensor=tensor(Sizes=None))
    assert (rule, member) == ("DML-TENSOR-rank", "InputTensor.DimensionCount")
    assert message == "InputTensor.DimensionCount is 0; it must be at least 1"


def test_an_unknown_tensor_type_is_not_looked_into(
    runner: Path, registry: Registry, gather: Operator
) -> None:
    violations = found(runner, registry, gather, InputTensor=Bare(7), OutputTensor=tensor(Type=9))
    assert violations == [
        ("DML-OPERATOR-required", "InputTensor.Desc", "InputTensor.Desc is absent; GATHER_ELEMENTS needs it"),
        ("DML-TENSOR-type", "OutputTensor.Type", "OutputTensor.Type is 9; it must be BUFFER"),
    ]


def test_no_description(runner: Path, registry: Registry, gather: Operator) -> None:
    text = case(registry, gather, LEVEL, {})
    without_desc, nothing = text.replace("go", "null go"), text.replace("go", "nothing go")
    (one, first), (other, second) = run(runner, [without_desc, nothing])
    assert (one, other) == (1, 1)
    assert first == [("DML-OPERATOR-required", "Desc", "Desc is absent; GATHER_ELEMENTS needs it")]
    assert second == [("DML-OPERATOR-required", "desc", "desc is absent; dmlops_validate needs it")]


def test_unknown_types_and_levels(runner: Path, registry: Registry, gather: Operator) -> None:
    cases = [case(registry, gather, 0x4200, VALID, type_=type_) for type_ in (0, 66, 107, 4294967295)]
    for (_, violations), type_ in zip(run(runner, cases), (0, 66, 107, 4294967295), strict=True):
        expected = [("DML-OPERATOR-feature-level", "level", "feature level 16896 does not exist")]
        if type_ != 107:
            message = f"Type is {type_}; it must be an operator of DML_OPERATOR_TYPE"
            expected.append(("DML-OPERATOR-type", "Type", message))
        assert violations == expected


def test_capacity_limits_what_is_written_and_not_what_is_counted(
    runner: Path, registry: Registry, gather: Operator
) -> None:
    broken: dict[str, Member] = {**VALID, "Axis": 9, "OutputTensor": tensor(sizes=(2, 3, 1))}
    cases = [case(registry, gather, LEVEL, broken, capacity) for capacity in (0, 1, 2, 3)]
    results = run(runner, cases)
    assert [count for count, _ in results] == [2, 2, 2, 2]
    assert [len(violations) for _, violations in results] == [0, 1, 2, 2]
    assert results[1][1] == results[3][1][:1]


def test_a_64_bit_total_beyond_the_signed_range(runner: Path, registry: Registry, gather: Operator) -> None:
    big = tensor(TotalTensorSizeInBytes=(1 << 64) - 1)
    ((rule, member, message),) = found(runner, registry, gather, InputTensor=big)
    assert (rule, member) == ("DML-TENSOR-total-size-limit", "InputTensor.TotalTensorSizeInBytes")
    assert str((1 << 63) - 1) in message


def test_a_message_that_is_too_long_ends_in_dots(registry: Registry, tmp_path: Path) -> None:
    header = tmp_path / "dmlops.h"
    text = c.render(registry, Templates(ROOT / "templates"))["include/dmlops.h"].decode()
    header.write_text(text.replace("DMLOPS_MESSAGE_SIZE 384", "DMLOPS_MESSAGE_SIZE 40"))
    short = build(header, "runner.c", tmp_path / "runner", "clang", "-O1", *SANITIZERS)
    violations = found(short, registry, registry.operator["GATHER_ELEMENTS"], Axis=2)
    assert violations[0][2] == "Axis is 2; it must be less than Inpu..."


# Against the Python package.


def random_tensor(choice: random.Random, role: str) -> Tensor:
    rank = choice.choice((1, 2, 2, 3, 4, 4, 4, 8)) if choice.random() < 0.9 else choice.choice((0, 5, 9))
    sizes = tuple(choice.choice((1, 1, 2, 3)) for _ in range(rank))
    data_type = 1 if role == "data" else choice.choice((3, 6, 10, 11))
    return tensor(data_type, sizes, TotalTensorSizeInBytes=choice.choice((4096, 4096, 24, 64)))


def spoil(choice: random.Random, one: Tensor) -> Tensor:
    """The tensor with one field changed."""
    sizes = list(one.Sizes or ())
    limits = (0, 1, 2, 3, 5, 1 << 16, (1 << 31) - 1, (1 << 32) - 1)
    field = choice.choice(
        ("DataType", "Flags", "Sizes", "Strides", "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment")
    )
    value: Any = choice.choice(limits)
    match field:
        case "DataType":
            value = choice.choice((*range(16), (1 << 32) - 1))
        case "Sizes":
            for _ in range(choice.choice((1, 1, 4))):
                if sizes:
                    sizes[choice.randrange(len(sizes))] = choice.choice(limits)
            value = tuple(sizes)
        case "Strides":
            value = tuple(choice.choice(limits) for _ in sizes)
        case "TotalTensorSizeInBytes":
            value = choice.choice((*limits, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 17179869180, 34359738360))
    return dataclasses.replace(one, **{field: value})


def random_members(choice: random.Random, operator: Operator) -> dict[str, Tensor | int]:
    base = random_tensor(choice, "data")
    members: dict[str, Tensor | int] = {}
    for member in operator.members:
        if member.is_tensor:
            one = base if choice.random() < 0.8 else random_tensor(choice, "data")
            if "Indices" in member.name:
                one = dataclasses.replace(one, DataType=choice.choice((3, 3, 6, 11)))
            members[member.name] = spoil(choice, one) if choice.random() < 0.2 else one
        else:
            members[member.name] = choice.choice((0, 1, 1, 2, 2, 3, 4, 8, (1 << 32) - 1))
    return members


def in_json(operator: Operator, members: dict[str, Tensor | int]) -> dict[str, Any]:
    fields = (
        "DataType",
        "Flags",
        "Sizes",
        "Strides",
        "TotalTensorSizeInBytes",
        "GuaranteedBaseOffsetAlignment",
    )
    desc: dict[str, Any] = {}
    for name, value in members.items():
        desc[name] = value if isinstance(value, int) else {field: getattr(value, field) for field in fields}
        if isinstance(value, Tensor):
            desc[name]["Sizes"] = list(value.Sizes or ())
            desc[name]["Strides"] = None if value.Strides is None else list(value.Strides)
    return {"type": operator.c_constant, "desc": desc}


def descriptions(registry: Registry, count: int) -> Iterator[tuple[Operator, str, dict[str, Tensor | int]]]:
    choice = random.Random(20)
    levels = [level.name for level in registry.levels]
    for _ in range(count):
        operator = choice.choice(registry.operators)
        yield operator, choice.choice((*levels, "6.4", "4.1", "4.1")), random_members(choice, operator)


def test_c_and_python_say_the_same(runner: Path, registry: Registry) -> None:
    drawn = list(descriptions(registry, 6000))
    texts = [case(registry, op, registry.level[level].value, members) for op, level, members in drawn]
    rules: set[str] = set()
    valid = 0
    for (operator, level, members), (count, from_c) in zip(drawn, run(runner, texts), strict=True):
        form = in_json(operator, members)
        expected = [(v.rule, v.member, v.message) for v in dmlops.from_json(form).validate(level)]
        assert (count, from_c) == (len(expected), expected), (level, form)
        rules |= {rule for rule, _, _ in expected}
        valid += not expected
    own = {
        rule.id
        for operator in registry.operators
        for rule in registry.rules_of(operator)
        if rule.form == "any" and rule.slug not in ("enum-value", "required")
    }
    assert own <= rules, own - rules
    assert valid > 100


@pytest.mark.parametrize("name", ["clang", "clang++", "gcc"])
def test_random_bytes_cause_no_undefined_act(name: str, header: Path, tmp_path: Path) -> None:
    fuzz = build(header, "fuzz.c", tmp_path / "fuzz", name, "-O1", *SANITIZERS)
    result = subprocess.run([fuzz, "100000"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 100_000
