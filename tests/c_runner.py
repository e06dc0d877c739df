"""Descriptions to the C validator and back: builds tests/c/runner.c and speaks its language."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlgen.outputs.c_layout import layout
from dmlgen.registry import Operator, Registry

SOURCES = Path(__file__).parent / "c"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

Violation = tuple[str, str, str]  # rule, member, message


def compiler(name: str) -> str:
    """The path of a compiler."""
    found = shutil.which(name)
    assert found, f"{name} is missing: scripts/install-debian-packages installs it"
    return found


def build(header: Path, source: str, program: Path, name: str, *options: str) -> Path:
    """Compile and link a file of tests/c against the header; its warnings are errors."""
    language = ("-x", "c++", "-std=c++17") if name.endswith("++") else ("-std=c11",)
    command = [compiler(name), *language, *WARNINGS, *options, f"-I{header.parent}", str(SOURCES / source)]
    result = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return program


@dataclass(frozen=True)
class Tensor:
    """A DML_TENSOR_DESC with its DML_BUFFER_TENSOR_DESC; `Sizes` and `Strides` None is a null address."""

    DataType: int
    Sizes: Sequence[int] | None
    Strides: Sequence[int] | None
    TotalTensorSizeInBytes: int
    Type: int = 1
    Flags: int = 0
    DimensionCount: int | None = None
    GuaranteedBaseOffsetAlignment: int = 0


@dataclass(frozen=True)
class Bare:
    """A DML_TENSOR_DESC without Desc."""

    Type: int = 1


Member = Tensor | Bare | int | None


def case(
    registry: Registry,
    operator: Operator,
    level: int,
    members: Mapping[str, Member],
    capacity: int = 32,
    type_: int | None = None,
) -> str:
    """The runner's text of a description; members that are left out are 0 or null."""
    places = layout(registry, operator.members, 8)
    lines = [f"case {level} {operator.value if type_ is None else type_} {places.size} {capacity}"]
    for member, offset in zip(operator.members, places.offsets, strict=True):
        match members.get(member.name):
            case Tensor() as tensor:
                rank = len(tensor.Sizes or ()) if tensor.DimensionCount is None else tensor.DimensionCount
                scalars = (tensor.Type, tensor.DataType, tensor.Flags, rank, tensor.TotalTensorSizeInBytes)
                numbers: list[Any] = [offset, *scalars, tensor.GuaranteedBaseOffsetAlignment]
                for array in (tensor.Sizes, tensor.Strides):
                    numbers += [-1] if array is None else [len(array), *array]
                lines.append(f"tensor {' '.join(map(str, numbers))}")
            case Bare(Type=kind):
                lines.append(f"bare {offset} {kind}")
            case int(value):
                lines.append(f"uint {offset} {value}")
    return "\n".join([*lines, "go\n"])


def run(program: Path, cases: Iterable[str]) -> list[tuple[int, list[Violation]]]:
    """For each case the number of violations and those that were written out."""
    texts = list(cases)
    result = subprocess.run([program], input="".join(texts), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    lines = iter(result.stdout.splitlines())
    results: list[tuple[int, list[Violation]]] = []
    for text in texts:
        count = int(next(lines))
        written = min(count, int(text.split()[4]))
        violations = [next(lines).split("\t") for _ in range(written)]
        results.append((count, [(rule, member, message) for rule, member, message in violations]))
    return results
