"""The packages work on their own: wheels and sdists in empty environments, and the C archive."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import dmlgen
from dmlgen.cli import main
from dmlgen.project import ROOT
from sharing import Shared

NOT_SHIPPED = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
VERSION = dmlgen.__version__
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """The output of a command; it must succeed. Nothing of this process' environment is on its path."""
    clean = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(cwd), **environment}
    result = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def make_dist(source: Path) -> dict[str, bytes]:
    subprocess.run([sys.executable, "scripts/dist.py"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in (source / "build/dist").iterdir()}


@dataclass(frozen=True)
class Environment:
    """A virtual environment with what is installed into it and nothing else, outside of the project."""

    folder: Path

    @staticmethod
    def of(folder: Path, package: str | Path) -> Environment:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        environment = Environment(folder)
        environment.install(package)
        return environment

    def program(self, name: str) -> Path:
        return self.folder / "venv/bin" / name

    def install(self, what: str | Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.program("python")]
        command = [*pip, "install", "--quiet", what]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr

    def python(self, code: str) -> str:
        return run(self.program("python"), "-c", code, cwd=self.folder)


@pytest.fixture(scope="module")
def source(shared: Shared) -> Path:
    """A copy of the project that nothing was ever built in."""
    return shared("source", lambda path: shutil.copytree(ROOT, path / "a", ignore=NOT_SHIPPED)) / "a"


@pytest.fixture(scope="module")
def dist(source: Path, shared: Shared) -> Path:
    """The folder that `make dist` fills."""

    def make(folder: Path) -> None:
        for name, data in make_dist(source).items():
            (folder / name).write_bytes(data)

    return shared("dist", make)


@pytest.fixture(scope="module", params=["-py3-none-any.whl", ".tar.gz"])
def dmlops_installed(request: pytest.FixtureRequest, dist: Path, shared: Shared) -> Environment:
    """Only the package, with what it needs and without extras."""
    package = dist / f"dmlops-{VERSION}{request.param}"
    return Environment(shared(f"with-{package.name}", lambda folder: Environment.of(folder, package)))


def test_the_same_tree_gives_the_same_bytes(source: Path, dist: Path) -> None:
    for path in (source, *source.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_file():
            path.touch()
    assert make_dist(source) == {path.name: path.read_bytes() for path in dist.iterdir()}
    assert {path.name for path in dist.iterdir()} == {
        f"dmlgen-{VERSION}-py3-none-any.whl",
        f"dmlgen-{VERSION}.tar.gz",
        f"dmlops-{VERSION}-py3-none-any.whl",
        f"dmlops-{VERSION}.tar.gz",
        f"dmlops-c-{VERSION}.tar.gz",
    }


def members(archive: Path) -> dict[str, bytes]:
    """The files of a wheel, or of an archive below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(archive) as tar:
        files = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar if member.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None}


def tree(folder: Path, prefix: str) -> dict[str, bytes]:
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def package_files() -> dict[str, bytes]:
    """The whole package, of which a checkout has parts in several folders."""
    generated = tree(ROOT / "generated/python/dmlops", "dmlops")
    written = tree(ROOT / "runtime/dmlops", "dmlops")
    assert not generated.keys() & written.keys()
    shaders = tree(ROOT / "generated/hlsl", "dmlops/hlsl")
    registry = {"dmlops/registry.json": (ROOT / "generated/registry.json").read_bytes()}
    return generated | written | shaders | registry


def test_the_wheel_holds_the_whole_package(dist: Path) -> None:
    wheel = members(dist / f"dmlops-{VERSION}-py3-none-any.whl")
    assert {name: data for name, data in wheel.items() if name.startswith("dmlops/")} == package_files()
    metadata = wheel[f"dmlops-{VERSION}.dist-info/METADATA"].decode()
    assert f"\nVersion: {VERSION}\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata
    licence = f"dmlops-{VERSION}.dist-info/licenses/LICENSE"
    assert wheel[licence] == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_holds_the_whole_package(dist: Path) -> None:
    sdist = members(dist / f"dmlops-{VERSION}.tar.gz")
    assert sdist.items() >= package_files().items()
    assert sdist["LICENSE"] == (ROOT / "LICENSE").read_bytes()


IMPORT_ALL = """
import importlib, pkgutil, sys
import dmlops
for module in pkgutil.walk_packages(dmlops.__path__, "dmlops."):
    if module.name != "dmlops.__main__":
        print(importlib.import_module(module.name).__name__)
"""


def test_every_module_can_be_imported(dmlops_installed: Environment, source: Path) -> None:
    """Without the extras, too: it is what runs on a GPU, or reads a model, that needs them."""
    some = {"dmlops.gpu.device", "dmlops.compute.gemm", "dmlops.onnx.model"}
    modules = set(dmlops_installed.python(IMPORT_ALL).split())
    assert some < modules
    checkout = {"PYTHONPATH": str(source / "generated/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = (dmlops_installed.program("python"), "-c", IMPORT_ALL)
    assert set(run(*command, cwd=dmlops_installed.folder, **checkout).split()) == modules
    code = "from dmlops import gpu\ntry: gpu.devices()\nexcept gpu.GpuUnavailable as error: print(error)"
    assert "pip install vulkan" in dmlops_installed.python(code)


def test_the_version_and_the_types_are_there(dmlops_installed: Environment) -> None:
    code = "import dmlops, importlib.metadata as m; print(dmlops.__version__, m.version('dmlops'))"
    assert dmlops_installed.python(code).split() == [VERSION, VERSION]
    where = "import dmlops, pathlib; print(pathlib.Path(dmlops.__file__).with_name('py.typed').is_file())"
    assert dmlops_installed.python(where).strip() == "True"


def test_the_examples_of_the_readme_run(dmlops_installed: Environment) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    # The one of the GPU needs the extra `gpu`, which is not installed here; test_pages.py runs it.
    dmlops_installed.python("\n".join(block for block in blocks if "dmlops.gpu" not in block))
    bad = re.findall(r"```json\n(.*?)```", README, re.DOTALL)[0]
    (dmlops_installed.folder / "bad.json").write_text(bad, encoding="utf-8")
    command = [dmlops_installed.program("python"), "-m", "dmlops", "explain", "bad.json"]
    result = subprocess.run(command, cwd=dmlops_installed.folder, capture_output=True, text=True, check=False)
    assert "Rule DML-GATHER_ELEMENTS-indices-sizes" in result.stdout, result.stderr


def test_the_extra_completes_the_package(dist: Path, tmp_path: Path) -> None:
    environment = Environment.of(tmp_path, f"{dist}/dmlops-{VERSION}-py3-none-any.whl[gpu]")
    assert environment.python("from dmlops.gpu.vulkan_api import vk; print(vk.VK_SUCCESS)").strip() == "0"


def test_shaders_are_found(dmlops_installed: Environment) -> None:
    shader = "import dmlops.gpu; print(dmlops.gpu.shader('GATHER'), end='')"
    text = (ROOT / "generated/hlsl/gather.hlsl").read_text(encoding="utf-8")
    assert dmlops_installed.python(shader) == text


@pytest.mark.parametrize("missing", ["runtime/dmlops", "generated/hlsl"])
def test_a_checkout_without_a_part_is_not_built(tmp_path: Path, missing: str) -> None:
    for folder in {"generated/python", "generated/hlsl", "runtime/dmlops"} - {missing}:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=NOT_SHIPPED)
    project = tmp_path / "generated/python"
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path / "out", project]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert f"dmlops: there is no {tmp_path / missing}" in result.stdout + result.stderr


@pytest.fixture(scope="module")
def dmlgen_installed(dist: Path, shared: Shared) -> Environment:
    """The generator and its three packages, nothing that it generates, and none of the tools."""
    package = dist / f"dmlgen-{VERSION}-py3-none-any.whl"
    return Environment(shared(f"with-{package.name}", lambda folder: Environment.of(folder, package)))


def test_both_forms_of_dmlgen_hold_the_same(dist: Path) -> None:
    wheel, sdist = (members(dist / f"dmlgen-{VERSION}{end}") for end in ("-py3-none-any.whl", ".tar.gz"))
    data = tree(ROOT / "templates", "templates") | tree(ROOT / "runtime", "runtime")
    code = tree(ROOT / "generator/dmlgen", "dmlgen")
    expected = code | {f"dmlgen/{name}": content for name, content in data.items()}
    for name in ("LICENSE", "docs/CONCEPTS.md"):
        expected[f"dmlgen/{name}"] = data[name] = (ROOT / name).read_bytes()
    assert {name: content for name, content in wheel.items() if name.startswith("dmlgen/")} == expected
    assert sdist.items() >= data.items()
    assert "\nLicense-Expression: MIT\n" in wheel[f"dmlgen-{VERSION}.dist-info/METADATA"].decode()


def test_an_installed_dmlgen_generates_from_any_folder(
    dmlgen_installed: Environment, gather_specs: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    shutil.copytree(gather_specs, here / "specs", ignore=shutil.ignore_patterns("schema"))
    assert main(["generate", "--specs", str(gather_specs), "--out", str(tmp_path / "expected")]) == 0
    expected = tree(tmp_path / "expected", "")
    program, cache = dmlgen_installed.program("dmlgen"), {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(program, "--version", cwd=here) == f"dmlgen {VERSION}\n"
    assert run(program, "lint", cwd=here) == ""
    run(program, "generate", cwd=here, **cache)
    assert tree(here / "generated", "") == expected
    arguments = ["--specs", "here/specs", "--out", "out"]
    run(program, "generate", *arguments, cwd=tmp_path, **cache)
    assert tree(tmp_path / "out", "") == expected
    assert "files match" in run(program, "generate", *arguments, "--check", cwd=tmp_path, **cache)
    assert {path.name for path in tmp_path.iterdir()} == {"here", "expected", "out", "cache"}


def test_the_archive_for_c_is_a_project_of_its_own(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(dist / f"dmlops-c-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    project, prefix = tmp_path / f"dmlops-c-{VERSION}", tmp_path / "prefix"
    run("cmake", "-S", project, "-B", tmp_path / "build", cwd=tmp_path)
    run("cmake", "--install", tmp_path / "build", "--prefix", prefix, cwd=tmp_path)
    installed = tree(prefix, "")
    assert installed["/include/dmlops.h"] == (ROOT / "generated/include/dmlops.h").read_bytes()
    assert installed.items() >= tree(ROOT / "generated/hlsl", "/share/dmlops/hlsl").items()
    assert installed["/share/dmlops/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert f"\nVersion: {VERSION}\n" in installed["/share/pkgconfig/dmlops.pc"].decode()
