"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest

from dmlgen.cli import ROOT, main
from dmlgen.registry import Registry
from dmlops.gpu import compiler
from sharing import Shared, shared_folders
from whole_registry import whole_registry

# Mesa's driver for CPUs would optimize every shader at length that a test runs once, on a few numbers.
os.environ.setdefault("GALLIVM_PERF", "nopt")
# Half as much code for the driver to generate as with 256 bits, which would be its choice.
os.environ.setdefault("LP_NATIVE_VECTOR_WIDTH", "128")

# No shader may draw a warning. Tests compile all of them alike, so that the cache serves whoever comes later.
compiler.ARGUMENTS = (*compiler.ARGUMENTS, "-WX")


# Collecting tests makes half a million objects that stay, and would spend a sixth of its time on looking for
# garbage among them.
GARBAGE_THRESHOLDS = gc.get_threshold()
gc.set_threshold(0)


def pytest_collection_finish() -> None:
    """What has been collected is not looked at again."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


@pytest.fixture(scope="session")
def registry() -> Registry:
    """The specs of this repository, resolved."""
    return whole_registry()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Folders that one of several test processes fills and all use."""
    return shared_folders(tmp_path_factory)


@pytest.fixture(scope="session")
def gather_specs(shared: Shared) -> Path:
    """Specs of only the gather family, so that a test of the generator need not generate everything."""

    def make(folder: Path) -> None:
        specs = folder / "specs"
        shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("counterparts"))
        for family in (specs / "operators").iterdir():
            if family.name != "gather":
                shutil.rmtree(family)
        identifiers = specs / "identifiers.yaml"
        identifiers.write_text("active: []\nretired: []\n", encoding="utf-8")
        assert main(["lint", "--specs", str(specs), "--fix"]) == 0

    return shared("gather", make) / "specs"


@pytest.fixture
def specs(gather_specs: Path, tmp_path: Path) -> Path:
    """A copy of these specs that a test may change."""
    shutil.copytree(gather_specs, tmp_path / "specs")
    return tmp_path / "specs"


@pytest.fixture(scope="session")
def site(shared: Shared) -> Path:
    """The whole reference site."""

    def make(out: Path) -> None:
        assert main(["docs", "--out", str(out)]) == 0

    return shared("site", make)
