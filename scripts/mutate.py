"""Changes facts in the specs, one at a time, and says who notices: `make mutate`.

    python scripts/mutate.py [--count N] [--seed S] [--tests FILE ...]

Works on a clone of HEAD in a temporary folder, without pages and headers that may lie beside the checkout.
Each mutation is first linted and held against the tables in tests/data/facts, alone. Those that pass both are
applied in batches of different operators: the clone is generated again and the tests run once for a batch. A
failing test whose id has the operator's name notices the mutation; one without a name is counted for none.

What is printed is a lower bound of what tests notice: only the test files given are run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FACTS = ["tests/test_facts_header.py", "tests/test_facts_pages.py", "tests/test_facts_directmlx.py"]
TESTS = [
    "tests/test_examples.py",
    "tests/test_matrix_data.py",
    "tests/test_callers.py",
    "tests/test_reference.py",
]
BATCH = 12

Edit = Callable[[re.Match[str], random.Random], str]


class Kind(NamedTuple):
    """A kind of fact: where a line states one, and another value in its place."""

    name: str
    pattern: re.Pattern[str]
    edit: Edit


class Mutation(NamedTuple):
    kind: str
    path: Path  # of the spec, relative to the root
    line: int
    old: str
    new: str

    @property
    def operator(self) -> str:
        return self.path.stem

    def __str__(self) -> str:
        return f"{self.kind:15} {self.path}:{self.line}: {self.old.strip()} -> {self.new.strip() or 'gone'}"


def _without_one(found: re.Match[str], choice: random.Random) -> str:
    types = found[1].split(", ")
    types.remove(choice.choice(types))
    return f"types: [{', '.join(types)}]"


def _with_one(found: re.Match[str], choice: random.Random) -> str:
    types = ("FLOAT32", "FLOAT16", "INT64", "INT32", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
    left = [one for one in types if one not in found[1].split(", ")]
    return f"types: [{found[1]}, {choice.choice(left)}]" if left else found[0]


def _swapped(pairs: dict[str, str]) -> Edit:
    return lambda found, choice: pairs[found[0]]


KINDS = [
    Kind("number", re.compile(r"^value: (\d+)"), lambda found, _: f"value: {int(found[1]) + 300}"),
    Kind("level", re.compile(r'^  "(\d\.\d)":'), _swapped({'  "4.0":': '  "4.1":', '  "3.0":': '  "3.1":'})),
    Kind("type removed", re.compile(r"types: \[(\w+(?:, \w+)+)\]"), _without_one),
    Kind("type added", re.compile(r"types: \[([\w, ]+)\]"), _with_one),
    Kind(
        "ranks",
        re.compile(r"ranks: 1\.\.8"),
        lambda found, choice: choice.choice(("ranks: 1..7", "ranks: 2..8")),
    ),
    Kind("in place", re.compile(r"^in_place: .*$"), lambda found, _: ""),
    Kind("optional", re.compile(r", optional: true"), lambda found, _: ""),
    Kind(
        "default", re.compile(r"(?<=[a-z]: )(?:0\.5|1\.0)(?=[,}])"), _swapped({"0.5": "0.75", "1.0": "2.0"})
    ),
    Kind("rule", re.compile(r"(?<=require: ).*? (<|<=|>=) "), lambda found, _: _other_bound(found)),
    Kind("rule deleted", re.compile(r"^  - \{same: .*\}$"), lambda found, _: ""),
    Kind("inference", re.compile(r"(?<= )[+*](?= )"), _swapped({"+": "-", "*": "+"})),
]


def _other_bound(found: re.Match[str]) -> str:
    other = {"<": "<=", "<=": "<", ">=": ">"}[found[1]]
    return f"{found[0][: -len(found[1]) - 1]}{other} "


def mutations(specs: Path, choice: random.Random) -> Iterator[Mutation]:
    """All kinds in turn, each at a place drawn from all of its places, on operators not drawn before."""
    lines = [
        (path, number, line)
        for path in sorted(specs.glob("operators/*/*.yaml"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    drawn: set[Path] = set()
    while True:
        for kind in KINDS:
            places = [
                (path, number, line, found)
                for path, number, line in lines
                if path not in drawn and (found := kind.pattern.search(line))
            ]
            choice.shuffle(places)
            for path, number, line, found in places:
                try:
                    new = line[: found.start()] + kind.edit(found, choice) + line[found.end() :]
                except KeyError:
                    continue
                if new != line:
                    drawn.add(path)
                    yield Mutation(kind.name, path.relative_to(specs.parent), number, line, new)
                    break


class Clone:
    """A checkout of HEAD of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        subprocess.run(["git", "clone", "-q", "--local", str(ROOT), str(self.root)], check=True)
        paths = os.pathsep.join(map(str, (self.root / "generator", self.root / "generated/python")))
        self._environment = {**os.environ, "PYTHONPATH": paths}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=self._environment, capture_output=True, text=True, check=False
        )

    def apply(self, mutation: Mutation) -> None:
        path = self.root / mutation.path
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[mutation.line - 1] == mutation.old
        lines[mutation.line - 1] = mutation.new
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def restore(self) -> None:
        subprocess.run(["git", "checkout", "-q", "--", "."], cwd=self.root, check=True)

    def failures(self, tests: list[str]) -> list[str]:
        """The ids of tests that fail, or the last line if they could not run."""
        result = self.run("pytest", "-q", "-rfE", "--no-header", "-p", "no:cacheprovider", *tests)
        found = re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE)
        return found or ([result.stdout.strip().splitlines()[-1]] if result.returncode else [])


def main() -> None:
    parser = argparse.ArgumentParser(description="Change facts in the specs and say who notices.")
    parser.add_argument("--count", type=int, default=36)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        draw = mutations(clone.root / "specs", random.Random(options.seed))
        noticed: dict[Mutation, str] = {}
        left: list[Mutation] = []
        for mutation, _ in zip(draw, range(options.count), strict=False):
            clone.apply(mutation)
            if clone.run("dmlgen", "lint").returncode:
                noticed[mutation] = "lint"
            elif failing := clone.failures(FACTS):
                noticed[mutation] = f"facts: {failing[0].rpartition('::')[2]}"
            else:
                left.append(mutation)
            clone.restore()
        for start in range(0, len(left) if options.tests else 0, BATCH):
            batch = left[start : start + BATCH]
            for mutation in batch:
                clone.apply(mutation)
            clone.run("dmlgen", "generate")
            failing = clone.failures(options.tests)
            clone.restore()
            for mutation in batch:
                name = re.compile(rf"(?<![a-z0-9]){mutation.operator}(?![a-z0-9]|_\w*\d)", re.IGNORECASE)
                if named := [one for one in failing if name.search(one)]:
                    noticed[mutation] = f"tests: {named[0]}"
        for mutation in [*noticed, *(one for one in left if one not in noticed)]:
            print(f"{noticed.get(mutation, 'UNNOTICED')[:60]:60}  {mutation}")
        count = Counter(one.partition(":")[0] for one in noticed.values())
        count["UNNOTICED"] = options.count - len(noticed)
        print(", ".join(f"{number} {who}" for who, number in count.items()))


if __name__ == "__main__":
    main()
