"""A package generated without schedules gives the same data as the matrices, slowly.

The matrices' data is computed element by element from the definitions, and what the reference gives; here
shaders follow the definitions, as the reference always does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dmlgen.schedules import follows_definition
from sharing import Shared
from whole_registry import whole_registry

ROOT = Path(__file__).parents[1]
REGISTRY = whole_registry()
SLUGS = [
    one.slug
    for one in REGISTRY.operators
    if one.defines is not None and not follows_definition(REGISTRY, one)
]


@pytest.fixture(scope="module")
def plain(shared: Shared) -> Path:
    """A tree of outputs without schedules."""
    command = [sys.executable, "-m", "dmlgen", "generate", "--no-schedules", "--out"]

    def make(out: Path) -> None:
        subprocess.run([*command, str(out)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    return shared("without-schedules", make)


def differences(plain: Path, by: str, slugs: list[str]) -> str:
    """The errors that the cases of the matrices show."""
    environment = {**os.environ, "PYTHONPATH": str(plain / "python")}
    command = [sys.executable, str(ROOT / "tests/plain_cases.py"), by, *slugs]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_shader_follows_the_definition(plain: Path) -> None:
    assert len(SLUGS) > 90
    for slug in SLUGS:
        assert "PLANNER = " in (plain / f"python/dmlops/planners/{slug}.py").read_text("utf-8"), slug
        assert "#if PASS == 0" in (plain / f"hlsl/{slug}.hlsl").read_text("utf-8"), slug


def test_matrices_are_the_same(plain: Path) -> None:
    for path in sorted((ROOT / "generated/matrix").glob("*.json")):
        assert (plain / "matrix" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("half", [0, 1])
def test_shaders_give_the_expected_data(plain: Path, half: int) -> None:
    assert differences(plain, "shaders", SLUGS[half::2]) == ""


def test_a_wrong_shader_is_seen(plain: Path) -> None:
    """The package that is looked at is the one without schedules."""
    file = plain / "hlsl/element_wise_negate.hlsl"
    text = file.read_text("utf-8")
    assert "-ReadInput(at)" in text
    file.write_text(text.replace("-ReadInput(at)", "ReadInput(at)"), "utf-8")
    try:
        assert "ELEMENT_WISE_NEGATE" in differences(plain, "shaders", ["element_wise_negate"])
    finally:
        file.write_text(text, "utf-8")
