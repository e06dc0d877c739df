"""The C validator under libFuzzer and sanitizers, briefly; `make fuzz` takes longer."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from c_fuzz import HEADER, LIBFUZZER, REPLAY, build_fuzzer, bytes_of, fuzz, write_corpus
from c_runner import OWN_ALLOCATOR
from dmlops import FeatureLevel, GatherElements, TensorDataType, TensorDesc

RUNS = 20_000  # all seeds, and some thousand changed ones
# What comparisons are of is what libFuzzer learns from for hours; telling it takes two thirds of the time.
FUZZER = (LIBFUZZER, "-fno-sanitize-coverage=trace-cmp")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "corpus"
    write_corpus(folder)
    return folder


@pytest.mark.parametrize("compiler", ["clang", "clang++"])
def test_no_bytes_cause_an_undefined_act(compiler: str, corpus: Path, tmp_path: Path) -> None:
    own = shutil.copytree(corpus, tmp_path / "corpus")
    result = fuzz(build_fuzzer(tmp_path, compiler, *FUZZER), own, "-seed=1", "-reload=0", f"-runs={RUNS}")
    assert result.returncode == 0, result.stderr[-4000:]
    (runs,) = re.findall("Done ([0-9]+) runs", result.stderr)
    assert int(runs) >= RUNS


def test_no_seed_causes_an_undefined_act_with_another_compiler(corpus: Path, tmp_path: Path) -> None:
    program = build_fuzzer(tmp_path, "gcc", REPLAY)
    names = sorted(path.name for path in corpus.iterdir())
    assert len(names) > 10_000
    result = subprocess.run(
        [program, *names], cwd=corpus, env=OWN_ALLOCATOR, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_bytes_of_a_description() -> None:
    """Structs and arrays are consecutive, and addresses are ones."""
    tensor = TensorDesc(TensorDataType.FLOAT32, (2, 3))
    desc = GatherElements(InputTensor=tensor, IndicesTensor=None, OutputTensor=None, Axis=7)  # type: ignore[arg-type]
    level = FeatureLevel.LEVEL_6_4
    made = bytes_of(desc.to_ctypes(), level)
    words = [int.from_bytes(made[2:][i : i + 4], "little") for i in range(0, len(made) - 2, 4)]
    assert made[:2] == level.to_bytes(2, "little")
    assert words == [
        *(107, 0, 1, 0),  # DML_OPERATOR_DESC
        *(1, 0, 0, 0, 0, 0, 7, 0),  # DML_GATHER_ELEMENTS_OPERATOR_DESC
        *(1, 0, 1, 0),  # DML_TENSOR_DESC
        *(1, 0, 2, 0, 1, 0, 0, 0, 24, 0, 0, 0),  # DML_BUFFER_TENSOR_DESC
        *(2, 3),
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("(uint64_t)index < tensor->", "(uint64_t)index <= tensor->", "heap-buffer-overflow"),
        ("return b == 0 ? 0 : a / b", "return a / b", "division by zero"),
    ],
)
def test_a_defect_is_found(right: str, wrong: str, found: str, corpus: Path, tmp_path: Path) -> None:
    text = HEADER.read_text(encoding="utf-8")
    assert right in text
    shutil.copytree(HEADER.parent, tmp_path, dirs_exist_ok=True)
    header = tmp_path / "dmlops.h"
    header.write_text(text.replace(right, wrong), encoding="utf-8")
    result = fuzz(build_fuzzer(tmp_path, "clang", *FUZZER, header=header), corpus, "-runs=0")
    assert result.returncode != 0
    assert found in result.stderr
