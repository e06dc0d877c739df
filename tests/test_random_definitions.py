"""Random definitions: what lint accepts, every output prints, and all outputs agree on its meaning.

An evaluator that shares nothing with what is tested computes the data from the specs, element by element. It
is compared with the NumPy reference and with the shaders on software Vulkan, and plans in C with those in
Python. DMLGEN_DEFINITIONS is the number of operators, DMLGEN_SEED the first seed.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.resolve import load_registry
from other_specs import differences, generate, write
from random_definitions import RandomOperator
from sharing import Shared

COUNT = int(os.environ.get("DMLGEN_DEFINITIONS", "16"))
SEED = int(os.environ.get("DMLGEN_SEED", "1"))


@pytest.fixture(scope="module")
def accepted(shared: Shared) -> Path:
    """A folder with specs of the operators that lint accepts, nearly all, and with their outputs."""

    def make(folder: Path) -> None:
        specs = folder / "specs"
        made = [RandomOperator(f"RANDOM_{n}", n, Random(n)) for n in range(SEED, SEED + COUNT)]
        write(specs, {one.name.lower(): one.spec for one in made})
        refused: set[str] = set()
        try:
            load_registry(specs)
        except SpecError as error:
            refused = {finding.position.file for finding in error.findings}
            for path in refused:
                Path(path).unlink()
        assert len(refused) <= COUNT / 5, refused
        generate(folder)

    return shared("random-definitions", make)


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_accepted_definitions_mean_the_same_everywhere(by: str, accepted: Path) -> None:
    assert differences(accepted, by) == ""
