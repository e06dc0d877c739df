"""dmlops.h with the official DirectML.h: every target version, on Linux and with MinGW, in both orders."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest

from c_runner import SOURCES, compiler
from directx_headers import PLATFORMS, compiles, directx
from dmlgen.registry import FeatureLevel, Registry

__all__ = ["directx"]

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "generated/include/dmlops.h"
DIRECTML, DMLOPS = "#include <DirectML.h>\n", '#include "dmlops.h"\n'
BESIDE, DMLOPS_FIRST = DIRECTML + DMLOPS, DMLOPS + DIRECTML
STANDALONE = "#define DMLOPS_STANDALONE\n"
BOTH_ARE_THERE = """
IDMLDevice* device;
DML_ELEMENT_WISE_ADD1_OPERATOR_DESC add;
DML_SCATTER_OPERATOR_DESC scatter;
DML_SCATTER_ELEMENTS_OPERATOR_DESC* same = &scatter;
size_t found(const DML_OPERATOR_DESC* d) { return dmlops_validate(d, DML_FEATURE_LEVEL_6_4, nullptr, 0); }
"""
MINGW = "x86_64-w64-mingw32-g++"


def errors(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in result.stderr.splitlines() if "error:" in line]


# Facts.


def test_annotations_of_the_header_are_the_facts_of_members(directx: Path, registry: Registry) -> None:
    """Compilers compare names and offsets, but not which members are optional, or how long arrays are."""
    header = (directx / "directx/DirectML.h").read_text(encoding="utf-8")
    structs = dict(
        re.findall(r"^struct DML_(\w+)_OPERATOR_DESC\s*\{(.*?)^\};", header, re.DOTALL | re.MULTILINE)
    )
    structs |= {
        name: structs[other]
        for name, other in re.findall(
            r"^using DML_(\w+)_OPERATOR_DESC = DML_(\w+)_OPERATOR_DESC;", header, re.MULTILINE
        )
    }
    for operator in registry.operators:
        found = []
        lines = r"^ *((?:_\w+_(?:\(\w+\))? +)*)[^;\n]*?(\w+);"
        for notes, name in re.findall(lines, structs[operator.name], re.MULTILINE):
            count = re.search(r"_Field_size_(?:opt_)?\((\w+)\)", notes)
            optional = "_Maybenull_" in notes or "_opt_" in notes
            found.append((name, optional, count[1] if count else None))
        assert found == [(one.name, one.optional, one.count) for one in operator.members], operator.name


def declared(directx: Path, target: int) -> set[str]:
    """The types, enumerators and constants that the official header declares at a target version."""
    platform = PLATFORMS["linux"]
    folders = [f"-isystem{directx / folder}" for folder in platform.folders]
    command = [compiler("g++"), "-E", "-P", "-x", "c++", *folders, f"-DDML_TARGET_VERSION={target:#x}", "-"]
    source = platform.before + DIRECTML
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"(?:struct|union|enum) (DML_\w+)\s*\{", text))
    names |= set(re.findall(r"using (DML_\w+) =", text)) | set(
        re.findall(r"static const UINT (DML_\w+)", text)
    )
    for body in re.findall(r"enum DML_\w+\s*\{([^}]*)\}", text):
        names |= {entry.split("=")[0].strip() for entry in body.split(",") if entry.strip()}
    return names


def known(registry: Registry, level: FeatureLevel) -> set[str]:
    """The declarations as the registry has them."""
    names = [(constant.name, constant.since) for constant in registry.constants]
    names += [(struct.c_name, struct.since) for struct in registry.structs.values()]
    for enum in registry.enums.values():
        names += [(enum.c_name, enum.since), *((enum.prefix + e.name, e.since) for e in enum.entries)]
    for operator in registry.operators:
        names += [(operator.c_constant, operator.since), (operator.c_name, operator.struct_since)]
        if operator.alias:
            names += [(f"DML_OPERATOR_{operator.alias}", operator.since), (operator.c_alias, operator.since)]
    names += [(one.constant, registry.levels_declared) for one in registry.levels]
    names += [("DML_FEATURE_LEVEL", registry.levels_declared)]
    names += [(name, registry.levels[0]) for name in ("DML_OPERATOR_TYPE", "DML_OPERATOR_INVALID")]
    return {name for name, since in names if since.ordinal <= level.ordinal}


def test_the_registry_knows_what_each_target_version_declares(directx: Path, registry: Registry) -> None:
    for level in registry.levels:
        assert known(registry, level) == declared(directx, level.value), level.name


def test_members_have_the_types_of_the_genuine_header(directx: Path) -> None:
    """The header itself compares sizes and offsets; this tells INT from UINT, and where addresses lead."""
    lines = ["#include <type_traits>"]
    for name, body in re.findall(r"typedef (?:struct|union) (DML_\w+) \{([^}]*)\}", HEADER.read_text()):
        for type_, member, length in re.findall(
            r"^ +(.+) (\w+)(\[\d+\])?;(?: /\*.*\*/)?$", body, re.MULTILINE
        ):
            same = f"std::is_same<decltype({name}::{member}), {type_}{length}>::value"
            lines.append(f'static_assert({same}, "{name}.{member}");')
    assert len(lines) > 900
    text = BESIDE + "\n".join(lines)
    options = ("-std=c++11", "-fsyntax-only", "-DDML_TARGET_VERSION=0x6400")
    platform = PLATFORMS["mingw"]
    result = compiles(MINGW, platform, directx, HEADER, platform.before + text, *options)
    assert result.returncode == 0, result.stderr[:4000]


# Both orders, at every target version and at the one that DirectML.h chooses itself.


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("g++", ((BESIDE, "-std=c++17"), (DMLOPS_FIRST, "-std=c++11"))),
        ("clang++", ((DMLOPS_FIRST, "-std=c++17"), (BESIDE, "-std=c++20"))),
        (MINGW, ((BESIDE, "-std=c++17"),)),
    ],
    ids=["g++", "clang++", "MinGW"],
)
def test_fits_at_every_target_version(
    name: str, forms: tuple[tuple[str, str], ...], directx: Path, registry: Registry
) -> None:
    """With the forms by turns: where g++ sees one order clang++ sees the other. MinGW, of which the target
    version is the same macro, sees the oldest, every fourth and the newest."""
    platform = PLATFORMS["mingw" if name == MINGW else "linux"]

    def result(target: int | None, form: tuple[str, str]) -> subprocess.CompletedProcess[str]:
        order, standard = form
        before = platform.before if order == BESIDE else ""
        version = () if target is None else (f"-DDML_TARGET_VERSION={target:#x}",)
        whole = f'#include "{SOURCES}/use.h"\n' if target is None or target >= 0x3000 else ""
        text = before + order + BOTH_ARE_THERE + ("" if name == MINGW else whole)
        return compiles(name, platform, directx, HEADER, text, standard, "-fsyntax-only", *version)

    levels = [*registry.levels[::4], registry.levels[-1]] if name == MINGW else registry.levels
    versions = [None, *(level.value for level in levels)]
    with ThreadPoolExecutor(2) as threads:
        for target, found in zip(versions, threads.map(result, versions, cycle(forms)), strict=True):
            assert found.returncode == 0, f"{target}: {found.stderr[:4000]}"


@pytest.mark.parametrize("version", ["", "-DDML_TARGET_VERSION=0x3000"])
@pytest.mark.parametrize("name", ["g++", "clang++", MINGW])
def test_where_it_comes_too_late_is_one_clear_error(name: str, version: str, directx: Path) -> None:
    """Cases in which dmlops.h does not look for DirectML.h: with DMLOPS_STANDALONE, and with MinGW."""
    platform = PLATFORMS["mingw" if name == MINGW else "linux"]
    text = ("" if name == MINGW else STANDALONE) + DMLOPS + platform.before + DIRECTML + BOTH_ARE_THERE
    options = ("-std=c++17", "-fsyntax-only", *filter(None, [version]))
    result = compiles(name, platform, directx, HEADER, text, *options)
    assert len(errors(result)) == 1, result.stderr[:4000]
    assert "include_DirectML_h_before_dmlops_h" in result.stderr


@pytest.mark.parametrize("first", ["dmlops.h", "d3d12.h"])
@pytest.mark.parametrize("name", ["gcc", "clang", "g++", "x86_64-w64-mingw32-gcc", MINGW])
def test_all_types_from_here_go_with_direct3d(name: str, first: str, directx: Path) -> None:
    """In C, which DirectML.h is not written in, and with DMLOPS_STANDALONE; BOOL is unsigned on Linux."""
    platform = PLATFORMS["mingw" if "mingw" in name else "linux"]
    others = platform.before + "#include <d3d12.h>\nBOOL truth;\n"
    both = DMLOPS + others if first == "dmlops.h" else others + DMLOPS
    text = STANDALONE + both + f'#include "{SOURCES}/use.h"\n'
    standard = "-std=c++17" if name.endswith("++") else "-std=c11"
    result = compiles(name, platform, directx, HEADER, text, standard, "-fsyntax-only")
    assert result.returncode == 0, result.stderr[:4000]


# What each header does to the other.


@pytest.mark.parametrize("name", ["gcc", "g++", MINGW])
def test_a_target_version_of_the_user_stays(name: str, directx: Path) -> None:
    unchanged = "#if DML_TARGET_VERSION != 0x3000\n#error changed\n#endif\n"
    platform = PLATFORMS["mingw" if name == MINGW else "linux"]
    texts = [STANDALONE + DMLOPS + unchanged]
    if name != "gcc":
        texts.append(platform.before + BESIDE + unchanged)
    for text in texts:
        options = ("-DDML_TARGET_VERSION=0x3000", "-fsyntax-only")
        assert compiles(name, platform, directx, HEADER, text, *options).returncode == 0


def test_no_target_version_is_made_up() -> None:
    text = '#include "dmlops.h"\n#ifdef DML_TARGET_VERSION\n#error made up\n#endif\n'
    command = [compiler("g++"), "-fsyntax-only", f"-I{HEADER.parent}", "-x", "c++", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_validates_operators_that_the_other_header_leaves_out(directx: Path, tmp_path: Path) -> None:
    text = """
    #include <cstring>
    int main() {
        const DML_GATHER_ND1_OPERATOR_DESC gather = {};
        const UINT type = 140;
        DML_OPERATOR_DESC desc = {DML_OPERATOR_INVALID, &gather};
        std::memcpy(&desc.Type, &type, sizeof type);
        return dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, nullptr, 0) == 3 ? 0 : 1;
    }
    """
    platform = PLATFORMS["linux"]
    options = ("-std=c++17", "-DDML_TARGET_VERSION=0x1000", "-o", str(tmp_path / "use"))
    result = compiles("g++", platform, directx, HEADER, platform.before + BESIDE + text, *options)
    assert result.returncode == 0, result.stderr
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


def test_the_conveniences_of_cpp_work_on_the_genuine_structs(directx: Path, tmp_path: Path) -> None:
    text = f'#include "{SOURCES}/use.cpp"\n#ifndef DIRECTML_H\n#error not found\n#endif\n'
    options = ("-std=c++17", "-o", str(tmp_path / "use"))
    result = compiles("g++", PLATFORMS["linux"], directx, HEADER, text, *options)
    assert result.returncode == 0, result.stderr
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


def test_a_header_that_does_not_tell_its_version_is_one_clear_error(directx: Path) -> None:
    platform = PLATFORMS["linux"]
    text = f"{platform.before}{DIRECTML}#undef DML_TARGET_VERSION\n{DMLOPS}"
    result = compiles("g++", platform, directx, HEADER, text, "-fsyntax-only", "-Wfatal-errors")
    assert "define DML_TARGET_VERSION" in result.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("UINT IndexDimensions;", "UINT64 IndexDimensions;"),
        ("DML_OPERATOR_GATHER,", "DML_OPERATOR_GATHER = 66,"),
        ("DML_FEATURE_LEVEL_5_2 = 0x5200,", "DML_FEATURE_LEVEL_5_2 = 0x5300,"),
        ("DML_TENSOR_DIMENSION_COUNT_MAX1 = 8", "DML_TENSOR_DIMENSION_COUNT_MAX1 = 5"),
        ("    _Field_size_opt_(DimensionCount) const UINT* Strides;\n", ""),
    ],
)
def test_refuses_to_compile_beside_a_header_that_differs(
    right: str, wrong: str, directx: Path, tmp_path: Path
) -> None:
    genuine = (directx / "directx/DirectML.h").read_text(encoding="utf-8")
    assert right in genuine
    (tmp_path / "DirectML.h").write_text(genuine.replace(right, wrong), encoding="utf-8")
    platform = PLATFORMS["linux"]
    options = (f"-I{tmp_path}", "-std=c++17", "-fsyntax-only")
    result = compiles("g++", platform, directx, HEADER, platform.before + BESIDE, *options)
    assert result.returncode != 0
    assert "static assertion failed" in result.stderr
