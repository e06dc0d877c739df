"""Random definitions: what lint accepts, every output prints, and all outputs agree on its meaning.

An evaluator that shares nothing with what is tested computes the data from the specs, element by element. It
is compared with the NumPy reference and with the shaders on software Vulkan, and plans in C with those in
Python. DMLGEN_DEFINITIONS is the number of operators, DMLGEN_SEED the first seed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.lint import lint, list_identifiers
from dmlgen.resolve import load_registry
from random_definitions import RandomOperator
from sharing import Shared

ROOT = Path(__file__).parents[1]
COUNT = int(os.environ.get("DMLGEN_DEFINITIONS", "16"))
SEED = int(os.environ.get("DMLGEN_SEED", "1"))


def dmlgen(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dmlgen", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def differences(folder: Path, by: str) -> str:
    """What `by` computes otherwise than the matrices of a folder with specs and their outputs have it."""
    slugs = sorted(path.stem for path in (folder / "specs/operators").glob("*/*.yaml"))
    command = [sys.executable, str(ROOT / "tests/plain_cases.py"), by, *slugs]
    environment = {**os.environ, "PYTHONPATH": str(folder / "out/python")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def accepted(shared: Shared) -> Path:
    """A folder with specs of the operators that lint accepts, nearly all, and with their outputs."""

    def make(folder: Path) -> None:
        specs, operators = folder / "specs", folder / "specs/operators/random"
        shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("operators", "counterparts"))
        operators.mkdir(parents=True)
        (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
        for seed in range(SEED, SEED + COUNT):
            made = RandomOperator(f"RANDOM_{seed}", seed, Random(seed))
            (operators / f"random_{seed}.yaml").write_text(made.spec, encoding="utf-8")
        refused: set[str] = set()
        try:
            registry = load_registry(specs)
        except SpecError as error:
            refused = {finding.position.file for finding in error.findings}
            for path in refused:
                Path(path).unlink()
            registry = load_registry(specs)
        assert len(refused) <= COUNT / 5, refused
        list_identifiers(registry, specs / "identifiers.yaml")
        assert lint(load_registry(specs)) == []
        dmlgen("generate", "--specs", str(specs), "--out", str(folder / "out"))

    return shared("random-definitions", make)


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_accepted_definitions_mean_the_same_everywhere(by: str, accepted: Path) -> None:
    assert differences(accepted, by) == ""
