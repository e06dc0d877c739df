"""dmlops_checked.h beside the official DirectML.h: a device of our own, checked, on Linux and under Wine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import dmlops
from c_runner import OWN_ALLOCATOR, SANITIZERS, build, compiler
from directx_headers import PLATFORMS, compiles, directx
from dmlgen.registry import Registry
from wine import Wine, wine

__all__ = ["directx", "wine"]

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "generated/include/dmlops.h"
SOURCES = Path(__file__).parent / "c/checked"
MINGW = "x86_64-w64-mingw32-g++"

Run = Callable[..., list[str]]

SAME_SIZES = "BTensor.Sizes is [1, 1, 4, 3]; it must equal ATensor.Sizes, [1, 1, 4, 4]"
IDENTITY = (
    "one identity",
    "debug device is DirectML's",
    "unknown interfaces stay unknown",
    "reference counts",
    "children give the checked device",
    "children have one identity each",
    "private data stay",
    "objects can be evicted",
    "tables can be reset",
    "initializers can be reset",
    "DirectML sees its own objects",
    "without a sink, it is the device itself",
)
# What is wrong, the call in which it shows, the rule, and what it is called.
BINDINGS = {
    "descriptors": ("CreateBindingTable", "DML-CALL-table-size", "the initializer"),
    "upload": ("BindInputs", "DML-BINDING-size", "the initializer"),
    "array": ("BindInputs", "DML-BINDING-init-array", "the initializer"),
    "uninitialized": ("RecordDispatch", "DML-CALL-initialized", "layer 1"),
    "offset": ("BindInputs", "DML-BINDING-offset", "layer 1"),
    "size": ("BindInputs", "DML-BINDING-size", "layer 1"),
    "owned": ("BindInputs", "DML-BINDING-owned", "layer 1"),
    "count": ("BindInputs", "DML-BINDING-count", "layer 1"),
    "bounds": ("BindOutputs", "DML-BINDING-bounds", "layer 1"),
    "overlap": ("BindOutputs", "DML-BINDING-hazard-in-place", "layer 1"),
    "null": ("BindOutputs", "DML-BINDING-required", "layer 1"),
    "temporary": ("BindTemporaryResource", "DML-BINDING-temporary-size", "layer 1"),
    "moved": ("BindPersistentResource", "DML-BINDING-persistent-same", "layer 1"),
    "unbound": ("RecordDispatch", "DML-CALL-dispatch-bound", "layer 1"),
    "other": ("RecordDispatch", "DML-CALL-dispatch-table", "the initializer"),
}


def program(directx: Path, folder: Path, name: str, *options: str) -> Path:
    """tests/c/checked/app.cpp with the implementation of the header."""
    platform = PLATFORMS["mingw" if name == MINGW else "linux"]
    folders = [f"-isystem{directx / one}" for one in platform.folders]
    whole = ("-DDMLOPS_CHECKED_IMPLEMENTATION", "-DDML_TARGET_VERSION=0x6400", f"-I{SOURCES}")
    made = folder / ("app.exe" if name == MINGW else "app")
    return build(HEADER, "checked/app.cpp", made, name, *whole, *platform.options, *folders, *options)


@pytest.fixture(scope="session")
def sanitized(directx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("-O0", "-pthread", *SANITIZERS, "-fno-sanitize=enum")  # it passes flags that are none
    return program(directx, tmp_path_factory.mktemp("checked"), "g++", *options)


@pytest.fixture(scope="session")
def windows(directx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(directx, tmp_path_factory.mktemp("windows"), MINGW, "-O0", "-static")


@pytest.fixture(params=["Linux", "Windows"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs the program; its lines, without the last, which says that no object is left."""
    windows = request.param == "Windows"
    path: Path = request.getfixturevalue("windows" if windows else "sanitized")

    def lines(*arguments: str, cwd: Path | None = None) -> list[str]:
        if windows:
            printed = request.getfixturevalue("wine").started(path, *arguments, cwd=cwd).stdout
        else:
            command = [str(path), *arguments]
            result = subprocess.run(
                command, env=OWN_ALLOCATOR, capture_output=True, text=True, check=False, cwd=cwd
            )
            assert result.returncode == 0, result.stderr
            printed = result.stdout
        *found, last = printed.splitlines()
        assert last == "objects left: 0"
        return found

    return lines


def test_nothing_of_it_is_seen(run: Run) -> None:
    """Interfaces, identities, reference counts, owners, names and private data are as without it."""
    assert run("identity") == [f"{fact}: yes" for fact in IDENTITY]


def reports(lines: list[str]) -> list[tuple[str, str, str]]:
    """The call, the rule and the object of each report."""
    parts = [line.split("\t") for line in lines if "\t" in line]
    return [(call, rule, name) for call, rule, _, _, name, _ in parts]


def test_operators(run: Run) -> None:
    add = "ELEMENT_WISE_ADD"
    wrong = ("CreateOperator", "DML-ELEMENT_WISE_ADD-same-sizes", add)
    refused, accepted = (("CreateOperator", f"DML-CALL-{what}", add) for what in ("refused", "accepted"))
    flags = ("CompileOperator", "DML-CALL-compile-flags", "the sum")
    query = ("CheckFeatureSupport", "DML-CALL-feature-query", "")
    lines = run("operators")
    assert lines[0].split("\t")[2:4] == ["BTensor.Sizes", SAME_SIZES]
    assert reports(lines) == [wrong, flags, query, refused, accepted]
    assert reports(run("operators", "all")) == [wrong, wrong, flags, query, refused, wrong, accepted]
    assert reports(run("operators", "mute")) == [query, refused, accepted]
    assert reports(run("operators", "refuse")) == [wrong, flags, query, refused]


def test_graphs(run: Run) -> None:
    lines = run("graphs")
    assert "the graph is compiled: yes" in lines
    assert [line.split("\t")[1:4] for line in lines if "\t" in line][:2] == [
        [
            "DML-GRAPH-input-connected",
            "Nodes[0].BTensor",
            "sum.BTensor has no edge; ELEMENT_WISE_ADD reads it",
        ],
        [
            "DML-GRAPH-edge-size",
            "Nodes[1].InputTensor.TotalTensorSizeInBytes",
            "copy.InputTensor.TotalTensorSizeInBytes is 128; it must equal that of sum.OutputTensor, 64",
        ],
    ]
    assert [rule for _, rule, _ in reports(lines)[2:]] == ["DML-CALL-accepted", "DML-CALL-untracked"]


def test_bindings(run: Run) -> None:
    """One thing is wrong at a time; with nothing wrong, or in place, there is no report. All in one process,
    since Wine takes seconds to start one."""
    removed = [("BindInputs", rule, "layer 1") for rule in ("DML-BINDING-count", "DML-CALL-removed")]
    wanted = {"": [], "in place": [], **{wrong: [one] for wrong, one in BINDINGS.items()}, "removed": removed}
    lines = run("bindings", *wanted)
    ends = [at for at, line in enumerate(lines) if line == "DirectML sees its own objects: yes"]
    assert len(ends) == len(wanted) and ends[-1] == len(lines) - 1
    for (what, expected), (before, end) in zip(wanted.items(), pairwise([-1, *ends]), strict=True):
        found = lines[before + 1 : end]
        assert reports(found) == expected if expected else found == [], what


def test_threads(sanitized: Path, directx: Path, tmp_path: Path) -> None:
    racing = program(directx, tmp_path, "clang++", "-O0", "-g", "-pthread", "-fsanitize=thread")
    for path in (sanitized, racing):
        result = subprocess.run(
            [path, "threads"], env=OWN_ALLOCATOR, capture_output=True, text=True, check=False
        )
        assert result.stdout.splitlines() == ["each mistake is reported once: yes", "objects left: 0"], (
            result.stderr
        )


def test_what_is_captured_is_what_the_package_reads(run: Run, tmp_path: Path) -> None:
    run("operators", "", "seen", cwd=tmp_path)
    captured = sorted((tmp_path / "seen").iterdir())
    assert [re.sub("[0-9a-f]{16}", "*", one.name) for one in captured] == ["ELEMENT_WISE_ADD-*.json"] * 2
    descs = [dmlops.from_json(json.loads(one.read_text())) for one in captured]
    assert sorted(len(desc.validate()) for desc in descs) == [0, 1]


# Facts.


def test_interfaces_are_those_of_the_genuine_header(directx: Path, registry: Registry) -> None:
    text = (directx / "directx/DirectML.h").read_text(encoding="utf-8")
    declared = r'DML_DECLARE_INTERFACE\("([0-9a-f-]+)"\) (\w+) : (\w+)\s*\{(.*?)\n\};'
    method = r"IFACEMETHOD(?:_)?\((?:\w+,\s*)?(\w+)\)"
    found = {
        name: (iid, None if base == "IUnknown" else base, tuple(re.findall(method, body)))
        for iid, name, base, body in re.findall(declared, text, re.DOTALL)
    }
    assert found == {one.name: (one.iid, one.base, one.methods) for one in registry.interfaces.values()}


def test_the_message_queue_is_that_of_the_genuine_header(directx: Path) -> None:
    text = (directx / "directx/d3d12sdklayers.h").read_text(encoding="utf-8")
    iid = re.search(r'MIDL_INTERFACE\("([0-9a-f-]+)"\)\s*ID3D12InfoQueue : ', text)
    ours = re.search(r"iid_ID3D12InfoQueue = \{(.*?)\}\}", (HEADER.parent / "dmlops_checked.h").read_text())
    assert iid and ours and re.sub(r"0x|\W", "", ours[1]) == iid[1].replace("-", "")


@pytest.mark.parametrize("name", ["g++", "clang++", MINGW])
def test_declarations_are_all_that_other_files_need(name: str, directx: Path) -> None:
    platform = PLATFORMS["mingw" if name == MINGW else "linux"]
    text = "\n".join(
        (
            platform.before + "#include <DirectML.h>",
            '#include "dmlops_checked.h"',
            "#ifdef DMLOPS_H\n#error the implementation is here\n#endif",
            "IDMLDevice* wrapped(IDMLDevice* device) { return dmlops::checked(device); }",
            "IDMLDevice* off(IDMLDevice* device) { return dmlops::checked(device, nullptr); }",
        )
    )
    options = ("-std=c++17", "-fsyntax-only", "-DDML_TARGET_VERSION=0x6400")
    assert compiles(name, platform, directx, HEADER, text, *options).returncode == 0
    late = compiles(name, platform, directx, HEADER, '#include "dmlops_checked.h"\n', *options[:2])
    assert "include DirectML.h first" in late.stderr


# Windows.


def test_an_object_for_the_abi_of_msvc(directx: Path, wine: Wine, tmp_path: Path) -> None:
    """What Visual Studio compiles calls a method that returns a struct in another way than MinGW."""
    clang = [compiler("clang++"), "-target", "x86_64-pc-windows-msvc", "-O1", "-c", str(SOURCES / "msvc.cpp")]
    subprocess.run([*clang, "-o", str(tmp_path / "msvc.obj")], check=True)
    platform = PLATFORMS["mingw"]
    folders = [f"-isystem{directx / one}" for one in platform.folders]
    path = tmp_path / "abi.exe"
    whole = ("-DDMLOPS_CHECKED_IMPLEMENTATION", "-DDML_TARGET_VERSION=0x6400", f"-I{SOURCES}")
    options = (*whole, *platform.options, *folders, "-static", "-Wl,--no-warn-mismatch")
    build(HEADER, "checked/abi.cpp", path, MINGW, *options, "-x", "none", str(tmp_path / "msvc.obj"))
    assert wine.started(path).stdout.splitlines() == [
        "an initializer, by MSVC: 2 descriptors",
        "objects left: 0",
    ]


@pytest.fixture(scope="session")
def installed(directx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, the proxy as DirectML.dll, and our strict device as DirectML.real.dll."""
    folder = tmp_path_factory.mktemp("installed")
    proxy = [
        "cmake",
        "-S",
        str(ROOT / "examples/proxy"),
        "-B",
        str(folder / "build"),
        "-DDMLOPS_PROXY_NAME=DirectML",
    ]
    cross = ("-DCMAKE_SYSTEM_NAME=Windows", f"-DCMAKE_CXX_COMPILER={MINGW}", f"-DDIRECTX_HEADERS={directx}")
    subprocess.run([*proxy, *cross, "-DCMAKE_CXX_FLAGS=-O0"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(folder / "build")], check=True, capture_output=True)
    shutil.copy(folder / "build/DirectML.dll", folder)
    platform = PLATFORMS["mingw"]
    folders = [f"-isystem{directx / one}" for one in platform.folders]
    options = ("-DDML_TARGET_VERSION=0x6400", "-static", f"-I{SOURCES}", *platform.options, *folders)
    build(HEADER, "checked/unaware.cpp", folder / "app.exe", MINGW, *options)
    library = ("-shared", "-x", "none", str(SOURCES / "real.def"))
    build(HEADER, "checked/real.cpp", folder / "DirectML.real.dll", MINGW, *options, *library)
    return folder


MESSAGE = (
    "dmlops: CreateOperator (GATHER_ELEMENTS): IndicesTensor.Sizes[3] is 5; "
    "it must equal InputTensor.Sizes[3], 3 (only the axis may differ) [DML-GATHER_ELEMENTS-indices-sizes]"
)


def test_a_program_that_knows_nothing_of_it(installed: Path, wine: Wine) -> None:
    """The library beside its exe is enough: docs/CHECKING.md, without a compiler on the user's side."""
    app = installed / "app.exe"
    result = wine.started(app, cwd=installed)
    assert result.stdout.splitlines() == ["device 00000000", "operator 80070057", "objects left: 0"]
    assert result.stderr.splitlines() == [MESSAGE]
    assert MESSAGE in (ROOT / "docs/CHECKING.md").read_text(encoding="utf-8")


def test_the_proxy_has_settings(installed: Path, wine: Wine, tmp_path: Path) -> None:
    app, rule = installed / "app.exe", "DML-GATHER_ELEMENTS-indices-sizes"
    muted = wine.started(app, cwd=installed, DMLOPS_MUTE=f"DML-GEMM-inner-size,{rule}")
    assert muted.stderr == "" and "operator 80070057" in muted.stdout
    wine.started(app, cwd=installed, DMLOPS_LOG="seen.log", DMLOPS_CAPTURE="captured", DMLOPS_LEVEL="2.0")
    assert "[DML-OPERATOR-since]" in (installed / "seen.log").read_text()
    moved = tmp_path / "elsewhere.dll"
    shutil.copy(installed / "DirectML.real.dll", moved)
    chosen = wine.started(app, cwd=installed, DMLOPS_DIRECTML=f"Z:{moved}")
    assert chosen.stderr.splitlines() == [MESSAGE] and "objects left" not in chosen.stdout
    explained = subprocess.run(
        [sys.executable, "-m", "dmlops", "explain", str(installed / "captured")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert explained.returncode == 1
    first = explained.stdout.splitlines()[0]
    assert first == "1 description of 1 operator: 1 is invalid at feature level 6.4."
    assert rule in explained.stdout and "The closest valid description" in explained.stdout
