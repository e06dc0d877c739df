"""Specs of other operators than this repository's, with what all operators share, and their outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from spoiled import with_operators

ROOT = Path(__file__).parents[1]


def write(specs: Path, operators: Mapping[str, str]) -> None:
    """The specs with only these operators, whose texts are given by the names of their files."""
    with_operators(specs)
    (specs / "operators/others").mkdir(parents=True)
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    for slug, text in operators.items():
        (specs / f"operators/others/{slug}.yaml").write_text(text, encoding="utf-8")


def generate(folder: Path) -> None:
    """The outputs of `folder/specs`, which lint accepts, in `folder/out`."""
    specs = str(folder / "specs")
    for arguments in (
        ("lint", "--fix", "--specs", specs),
        ("generate", "--specs", specs, "--out", str(folder / "out")),
    ):
        command = [sys.executable, "-m", "dmlgen", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def differences(folder: Path, by: str) -> str:
    """What `by` computes otherwise than the matrices of a folder with specs and their outputs have it."""
    slugs = sorted(path.stem for path in (folder / "specs/operators").glob("*/*.yaml"))
    command = [sys.executable, str(ROOT / "tests/plain_cases.py"), by, *slugs]
    environment = {**os.environ, "PYTHONPATH": str(folder / "out/python")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
