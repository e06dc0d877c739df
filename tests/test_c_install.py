"""Other projects find the header and the shaders through CMake and pkg-config, installed or not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import dmlops
from c_runner import WARNINGS, compiler
from dmlops import TensorDataType, TensorDesc

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "tests/c/example"
SHADERS = ROOT / "generated/hlsl"


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command; it must succeed."""
    result = attempt(*command, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def attempt(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = compiler(str(command[0])) if isinstance(command[0], str) else command[0]
    return subprocess.run(
        [program, *command[1:]],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation that was moved after it was made."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "-S", ROOT, "-B", folder / "build")
    run("cmake", "--install", folder / "build", "--prefix", folder / "first")
    return (folder / "first").rename(folder / "moved")


def project(folder: Path, *lines: str, source: str = "int main(void) { return 0; }\n") -> Path:
    """A CMake project with one C program."""
    folder.mkdir()
    (folder / "main.c").write_text(source)
    text = "\n".join(["cmake_minimum_required(VERSION 3.19)", "project(user LANGUAGES C)", *lines])
    (folder / "CMakeLists.txt").write_text(text)
    return folder


def messages(**changes: object) -> list[str]:
    """Results of the Python package for the description in the examples, in the form that they print."""
    members: dict[str, object] = {
        "InputTensor": TensorDesc(TensorDataType.FLOAT32, (4, 3)),
        "IndicesTensor": TensorDesc(TensorDataType.INT64, (2, 3)),
        "OutputTensor": TensorDesc(TensorDataType.FLOAT32, (2, 3)),
        "Axis": 0,
    }
    violations = dmlops.GatherElements(**{**members, **changes}).validate("6.4")  # type: ignore[arg-type]
    return [line for one in violations for line in (one.rule, f"    {one.message}")]


WRONG_SIZES = {
    "IndicesTensor": TensorDesc(TensorDataType.INT64, (2, 5)),
    "OutputTensor": TensorDesc(TensorDataType.FLOAT32, (2, 5)),
}


def check_c_example(printed: str) -> None:
    assert messages(Axis=2) and messages(**WRONG_SIZES)
    assert printed.splitlines() == [*messages(**WRONG_SIZES, Axis=2), *messages(**WRONG_SIZES), "valid"]


def test_make_installs_the_same_below_destdir(prefix: Path, tmp_path: Path) -> None:
    run("make", "-C", ROOT, "install", "PREFIX=/opt/dmlops", f"DESTDIR={tmp_path}")
    assert files(tmp_path / "opt/dmlops") == files(prefix)
    assert files(tmp_path) == {f"opt/dmlops/{name}" for name in files(prefix)}


def test_everything_is_installed_and_names_no_folder(prefix: Path) -> None:
    installed = files(prefix)
    assert "include/dmlops.h" in installed
    assert files(SHADERS) == files(prefix / "share/dmlops/hlsl")
    for name in installed:
        assert str(prefix.parent) not in (prefix / name).read_text(encoding="utf-8")


def test_the_example_with_cmake(prefix: Path, tmp_path: Path) -> None:
    flags = " ".join(WARNINGS)
    languages = [f"-DCMAKE_{language}_FLAGS={flags}" for language in ("C", "CXX")]
    run("cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", *languages)
    run("cmake", "--build", tmp_path)
    check_c_example(run(tmp_path / "gather_c"))
    size = (SHADERS / "gather_elements.hlsl").stat().st_size
    expected = [*messages(Axis=2), f"valid; its shader has {size} bytes"]
    assert run(tmp_path / "gather_cpp").splitlines() == expected


def test_the_example_with_pkg_config(prefix: Path, tmp_path: Path) -> None:
    where = {"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
    flags = run("pkg-config", "--cflags", "dmlops", **where).split()
    run("gcc", "-std=c11", *WARNINGS, *flags, EXAMPLE / "gather.c", "-o", tmp_path / "gather")
    check_c_example(run(tmp_path / "gather"))
    shaders = Path(run("pkg-config", "--variable=shaders", "dmlops", **where).strip())
    assert files(shaders) == files(SHADERS)


PRINTER = """
#include <stdio.h>
#include "dmlops.h"
#include "dmlops_shaders/gather_nd.h"
int main(void) {
    return fwrite(dmlops_shader_gather_nd, sizeof dmlops_shader_gather_nd, 1, stdout) == 1 ? 0 : 1;
}
"""


@pytest.mark.parametrize("found", ["installed", "as a folder"])
def test_shaders_as_arrays_and_as_files(found: str, prefix: Path, tmp_path: Path) -> None:
    user = project(
        tmp_path / "user",
        "find_package(dmlops REQUIRED)" if found == "installed" else f'add_subdirectory("{ROOT}" dmlops)',
        "add_executable(main main.c)",
        "target_link_libraries(main PRIVATE dmlops::dmlops)",
        "dmlops_embed_shaders(main OPERATORS DML_OPERATOR_GATHER GATHER_ND)",
        "dmlops_shader_path(GATHER_ND1 path)",
        "file(WRITE ${CMAKE_BINARY_DIR}/path.txt ${path})",
        "install(TARGETS main)",
        source=PRINTER,
    )
    build = tmp_path / "build"
    run("cmake", "-S", user, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_STANDARD=11")
    run("cmake", "--build", build)
    assert run(build / "main") == (SHADERS / "gather_nd.hlsl").read_text(encoding="utf-8")
    path = Path((build / "path.txt").read_text())
    assert path.read_bytes() == (SHADERS / "gather_nd1.hlsl").read_bytes()
    assert path.is_relative_to(prefix if found == "installed" else ROOT)
    run("cmake", "--install", build, "--prefix", tmp_path / "installed")
    assert files(tmp_path / "installed") == {"bin/main"}


def test_bodies_in_a_library(prefix: Path, tmp_path: Path) -> None:
    user = project(
        tmp_path / "user",
        "find_package(dmlops REQUIRED)",
        "dmlops_add_library(bodies)",
        "add_executable(main main.c)",
        "target_link_libraries(main PRIVATE bodies)",
        source="""
#include <dmlops_plan.h>
#ifndef DMLOPS_DECLARATIONS
#error "the bodies are here"
#endif
int main(void) { return dmlops_validate(NULL, DML_FEATURE_LEVEL_6_4, NULL, 0) == 1 ? 0 : 1; }
""",
    )
    run("cmake", "-S", user, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    run(tmp_path / "build/main")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("dmlops_shader_path(GATHR path)", "dmlops has no shader of GATHR"),
        ("dmlops_embed_shaders(main GATHER)", "usage: dmlops_embed_shaders(TARGET OPERATORS OPERATOR...)"),
        ("find_package(dmlops 99 REQUIRED)", 'compatible with requested version "99"'),
    ],
)
def test_what_is_not_there_is_an_error_that_says_so(
    line: str, reason: str, prefix: Path, tmp_path: Path
) -> None:
    user = project(tmp_path / "user", "find_package(dmlops REQUIRED)", "add_executable(main main.c)", line)
    result = attempt("cmake", "-S", user, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert result.returncode != 0
    assert reason in re.sub(r"\s+", " ", result.stderr)
