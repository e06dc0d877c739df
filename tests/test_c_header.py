"""The C header, compiled by several compilers and run under sanitizers."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_runner import (
    SANITIZERS,
    SOURCES,
    WARNINGS,
    Bare,
    Member,
    Tensor,
    build,
    case,
    compiler,
    described,
    run,
)
from dmlgen.outputs.c_layout import layout
from dmlgen.registry import Operator, Registry
from random_descriptions import level_and_form, matrix_cases

ROOT = Path(__file__).parents[1]
C_COMPILERS = ("gcc", "clang", "x86_64-w64-mingw32-gcc")
CPP_COMPILERS = ("g++", "clang++", "x86_64-w64-mingw32-g++")
WINDOWS_32 = ("--target=i686-w64-mingw32", "-isystem", "/usr/x86_64-w64-mingw32/include")

ALONE = '#include "dmlops.h"\n#include "use.h"\n'


@pytest.fixture(scope="session")
def header() -> Path:
    return ROOT / "generated/include/dmlops.h"


@pytest.fixture(scope="session")
def runner(header: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(header, "runner.c", tmp_path_factory.mktemp("runner") / "runner", "clang", *SANITIZERS)


def compiles(name: str, header: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    language = "c++" if name.endswith("++") else "c"
    command = [compiler(name), *WARNINGS, *options, f"-I{header.parent}", f"-I{SOURCES}", "-x", language, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


# One unit with the bodies of functions, and others without them.

UNITS = {
    "one.c": """
#include "dmlops.h"
size_t from_c(const DML_OPERATOR_DESC* desc);
size_t from_c(const DML_OPERATOR_DESC* desc) { return dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, NULL, 0); }
""",
    "two.cpp": """
#include "dmlops_plan.h"
#include <iostream>
extern "C" size_t from_c(const DML_OPERATOR_DESC* desc);
int main() {
    dmlops::tensor input(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3}), output(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 4});
    DML_ACTIVATION_RELU_OPERATOR_DESC wrong = {input, output}, right = {input, input};
    const DML_OPERATOR_DESC desc = dmlops::describe(wrong), valid = dmlops::describe(right);
    std::cout << from_c(&desc) << dmlops_plan(&valid, nullptr, 0) << dmlops::to_string(desc.Type)
              << dmlops::validate(wrong)[0].rule;
}
""",
}


@pytest.mark.parametrize("language", ["c", "c++"])
def test_bodies_are_compiled_once(language: str, header: Path, tmp_path: Path) -> None:
    objects = []
    bodies = '#include "dmlops_plan.h"\n'
    for name, text in {**UNITS, f"bodies.{language.replace('++', 'pp')}": bodies}.items():
        (tmp_path / name).write_text(text)
        macro = "IMPLEMENTATION" if text == bodies else "DECLARATIONS"
        by = ("gcc", "-std=c11") if name.endswith(".c") else ("g++", "-std=c++17")
        objects.append(tmp_path / f"{name}.o")
        options = [*WARNINGS, f"-DDMLOPS_{macro}", f"-I{header.parent}", "-c", name, "-o", objects[-1]]
        subprocess.run([compiler(by[0]), by[1], *options], cwd=tmp_path, check=True)
    subprocess.run([compiler("g++"), *objects, "-o", tmp_path / "program"], check=True)
    printed = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout
    assert printed == "11ACTIVATION_RELUDML-ACTIVATION_RELU-same-sizes"


# Compilers.


OLDER_NAME = """#include "dmlops.h"
DML_SCATTER_OPERATOR_DESC scatter;
DML_SCATTER_ELEMENTS_OPERATOR_DESC* same = &scatter;
DMLOPS_ASSERT(DML_OPERATOR_SCATTER == DML_OPERATOR_SCATTER_ELEMENTS);
"""
STYLE = ("-Wold-style-cast", "-Wzero-as-null-pointer-constant")
FORMS = {  # compilers, texts and options of each
    "no warning of C++ style": (
        CPP_COMPILERS,
        ['#include "dmlops.h"\n', '#define DMLOPS_DISPATCH\n#include "dmlops.h"\n'],
        [("-std=c++11", *STYLE), ("-std=c++20", *STYLE)],
    ),
    "without exceptions": (("g++", "clang++"), [ALONE], [("-std=c++17", "-fno-exceptions")]),
    "C++ before 17": (("g++", "clang++"), [ALONE], [("-std=c++11",)]),
    "an older name": (("gcc", "g++"), [OLDER_NAME], [()]),
    "Windows headers, before and after": (
        (C_COMPILERS[2], CPP_COMPILERS[2]),
        [
            f'#include <{first}>\n#include <{second}>\n#include <d3d12.h>\n#include "use.h"\n'
            for first, second in (("windows.h", "dmlops.h"), ("dmlops.h", "windows.h"))
        ],
        [()],
    ),
    "layouts of 32-bit Windows, in C": (("clang",), [ALONE], [(*WINDOWS_32, "-std=c11")]),
    # There is no newer library of C++ for it here.
    "layouts of 32-bit Windows, in C++": (("clang++",), [ALONE], [(*WINDOWS_32, "-std=c++11")]),
}


@pytest.mark.parametrize("what", FORMS)
def test_compiles(what: str, header: Path) -> None:
    for name, text, options in product(*FORMS[what]):
        result = compiles(name, header, text, *options, "-fsyntax-only")
        assert result.returncode == 0, f"{name} {options}: {result.stderr}"


@pytest.mark.parametrize("dispatch", [(), ("-DDMLOPS_DISPATCH",)], ids=["", "dispatch"])
@pytest.mark.parametrize("standard", ["/std:c11", "/std:c17", "/std:c++14"])
def test_compiles_with_clang_cl_without_a_warning(
    standard: str, dispatch: tuple[str, ...], header: Path, tmp_path: Path
) -> None:
    """As for MSVC, whose own headers are not here: what dmlops.h takes of them is declared below."""
    declared = {
        "stdio.h": "int snprintf(char*, size_t, const char*, ...);",
        "string.h": """
            void* memcpy(void*, const void*, size_t);
            int memcmp(const void*, const void*, size_t);
            void* memset(void*, int, size_t);
            size_t strlen(const char*);
            size_t strcspn(const char*, const char*);
            int strcmp(const char*, const char*);
            int strncmp(const char*, const char*, size_t);
            const char* strchr(const char*, int);
            char* strpbrk(const char*, const char*);""",
    }
    for name, text in declared.items():
        linkage = '#ifdef __cplusplus\nextern "C" {{\n#endif\n{}\n#ifdef __cplusplus\n}}\n#endif\n'
        (tmp_path / name).write_text("#pragma once\n#include <stddef.h>\n" + linkage.format(text))
    source = tmp_path / ("use.cpp" if "++" in standard else "use.c")
    source.write_text(ALONE)
    command = [
        compiler("clang"),
        "--driver-mode=cl",
        "--target=x86_64-pc-windows-msvc",
        "/W4",
        "/WX",
        standard,
    ]
    command += [
        "-fsyntax-only",
        f"/imsvc{tmp_path}",
        f"/I{header.parent}",
        f"/I{SOURCES}",
        *dispatch,
        str(source),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout


def test_the_first_lines_tell_licence_origin_and_version(header: Path, tmp_path: Path) -> None:
    first = "".join(header.read_text().splitlines(keepends=True)[:3])
    assert "SPDX-License-Identifier: MIT" in first and "templates/c/" in first and "specs/" in first
    program = tmp_path / "version"
    text = '#include "dmlops.h"\nint main(void) { puts(DMLOPS_VERSION); return 0; }\n'
    result = compiles("gcc", header, text, "-std=c11", "-o", str(program))
    assert result.returncode == 0, result.stderr
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == importlib.metadata.version("dmlops")


@pytest.mark.parametrize("name", C_COMPILERS + CPP_COMPILERS)
def test_compiles_alone_without_a_warning(name: str, header: Path, tmp_path: Path) -> None:
    """In all standards, and with what compilers notice only as they optimize. Not optimized, it accepts and
    rejects."""
    first, *others = ("c++17", "c++20") if name.endswith("++") else ("c11", "c17", "gnu17")
    for options in (
        *((f"-std={standard}", "-fsyntax-only") for standard in others),
        (f"-std={first}", "-O2", "-c", "-o", str(tmp_path / "out.o")),
        (f"-std={first}", "-O0", "-o", str(tmp_path / "use")),
    ):
        result = compiles(name, header, ALONE, *options)
        assert result.returncode == 0, f"{options}: {result.stderr}"
    if "mingw" not in name:
        assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("name", CPP_COMPILERS)
def test_conveniences_of_cpp(name: str, standard: str, header: Path, tmp_path: Path) -> None:
    program = tmp_path / "use"
    text = (SOURCES / "use.cpp").read_text()
    result = compiles(name, header, text, f"-std={standard}", "-o", str(program))
    assert result.returncode == 0, result.stderr
    if "mingw" not in name:
        assert subprocess.run([program], check=False).returncode == 0


def test_names_are_those_of_the_constants(registry: Registry, header: Path, tmp_path: Path) -> None:
    """Each constant, by its identifier in C, has its name; each member is where its number says."""
    lines = [f'expect(dmlops_operator_name({o.c_constant}), "{o.name}");' for o in registry.operators]
    for enum in registry.enums.values():
        function = f"dmlops_{enum.name.lower()}_name"
        lines += [f'expect({function}({enum.prefix}{e.name}), "{e.name}");' for e in enum.entries]
    for operator in registry.operators:
        fields = f"const {operator.c_name} desc = {{}}; (void)desc;"
        names = [f"dmlops_member_name({operator.c_constant}, {i})" for i in range(len(operator.members) + 1)]
        uses = [f'expect({name}, "{m.name}");' for name, m in zip(names, operator.members, strict=False)]
        lines += ["{", fields, *uses, f"missing += {names[-1]} != nullptr;", "}"]
    text = f"""
    int missing = 0;
    void expect(const char* found, const char* name) {{
        missing += found == nullptr || strcmp(found, name) != 0;
    }}
    int main() {{ {chr(10).join(lines)} return missing != 0; }}
    """
    program = tmp_path / "names"
    result = compiles("g++", header, f'#include "dmlops.h"\n{text}', "-std=c++17", "-o", str(program))
    assert result.returncode == 0, result.stderr
    assert subprocess.run([program], check=False).returncode == 0


def test_layout_is_that_of_ctypes(registry: Registry) -> None:
    for operator in registry.operators:
        module = importlib.import_module(f"dmlops.operators.{operator.slug}")
        (described,) = (one for one in vars(module).values() if getattr(one, "OPERATOR", "") == operator.name)
        structure = dmlops.abi.desc_struct(described)
        offsets = tuple(getattr(structure, member.name).offset for member in operator.members)
        assert layout(registry, operator, 8).offsets == offsets
        assert layout(registry, operator, 8).size == ctypes.sizeof(structure)


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
        ("DML-OPERATOR-required", member, f"{member} is missing; GATHER_ELEMENTS requires it")
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
        (
            "DML-OPERATOR-required",
            "InputTensor.Desc",
            "InputTensor.Desc is missing; GATHER_ELEMENTS requires it",
        ),
        ("DML-TENSOR-type", "OutputTensor.Type", "OutputTensor.Type is 9; it must be BUFFER"),
    ]


def test_no_description(runner: Path, registry: Registry, gather: Operator) -> None:
    without_desc, nothing = case(registry, gather, LEVEL, None), f"judge {LEVEL} -1 32\n"
    (one, first), (other, second) = run(runner, [without_desc, nothing])
    assert (one, other) == (1, 1)
    assert first == [("DML-OPERATOR-required", "Desc", "Desc is missing; GATHER_ELEMENTS requires it")]
    assert second == [("DML-OPERATOR-required", "desc", "desc is missing; dmlops_validate requires it")]


def test_unknown_types_and_levels(runner: Path, registry: Registry, gather: Operator) -> None:
    cases = [case(registry, gather, 0x4200, VALID, type_=type_) for type_ in (0, 9999, 107, 4294967295)]
    for (_, violations), type_ in zip(run(runner, cases), (0, 9999, 107, 4294967295), strict=True):
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


def test_a_message_that_is_too_long_ends_in_dots(header: Path, registry: Registry, tmp_path: Path) -> None:
    changed = shutil.copytree(header.parent, tmp_path / "include") / "dmlops.h"
    changed.write_text(header.read_text().replace("DMLOPS_MESSAGE_SIZE 512", "DMLOPS_MESSAGE_SIZE 40"))
    short = build(changed, "runner.c", tmp_path / "runner", "clang", *SANITIZERS)
    violations = found(short, registry, registry.operator["GATHER_ELEMENTS"], Axis=2)
    assert violations[0][2] == "Axis is 2; it must be less than Inpu..."


# Against the Python package.


def test_c_says_of_the_matrices_what_python_says(runner: Path, registry: Registry) -> None:
    """Under sanitizers, with arrays of exactly their size; tests/test_c_differential.py tries many more."""
    texts: list[str] = []
    expected: list[list[tuple[str, str, str]]] = []
    for one in matrix_cases():
        if one.get("form") == "json":
            continue
        level, form = level_and_form(one)
        desc = dmlops.from_json(form)
        value = registry.level[level].value
        texts.append(case(registry, registry.operator[desc.OPERATOR], value, described(registry, desc)))
        expected.append([(v.rule, v.member, v.message) for v in desc.validate(level)])
    assert len(texts) > 10_000
    for text, violations, (count, from_c) in zip(texts, expected, run(runner, texts), strict=True):
        assert (count, from_c) == (len(violations), violations[:32]), text


def test_members_and_reasons_carry_what_they_mean(header: Path, registry: Registry) -> None:
    text = header.read_text(encoding="utf-8")
    for operator in registry.operators:
        struct = text[text.index(f"typedef struct {operator.c_alias or operator.c_name} {{") :]
        struct = struct[: struct.index("}")]
        for member in operator.members:
            if "/*" not in member.summary.plain and "{" not in member.summary.plain:
                assert f"{member.name}; /* {member.summary.plain} */" in struct
    text = header.with_name("dmlops_plan.h").read_text(encoding="utf-8")
    reasons = text[text.index("typedef enum dmlops_reason {") : text.index("} dmlops_reason;")]
    lines = [line for line in reasons.splitlines() if "DMLOPS_REASON_" in line]
    assert lines and all(line.endswith(" */") for line in lines)
