"""Changes facts in the specs, one at a time, and says who notices: `make mutate`.

    python scripts/mutate.py [--count N] [--seed S] [--kinds PATTERN] [--cheap]

Works on a clone of HEAD in a temporary folder, without pages and headers that may be beside the checkout.
Each mutation is first linted and compared with the tables in tests/data/facts. If both pass, and the fact is
one that results follow from, the clone is generated again and the tests that can see facts of that kind run;
`--cheap` leaves that out. So what is printed is a lower bound of what all tests notice.
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
TYPES = ("FLOAT32", "FLOAT16", "INT64", "INT32", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
LEVELS = re.findall(r'^  "(\d\.\d)":', (ROOT / "specs/feature_levels.yaml").read_text("utf-8"), re.M)

OPERATORS = "operators/*/*.yaml"
SHARED = "[os][ph][ea]r*/**/*.yaml"  # operators, and what several share
ONNX = "counterparts/onnx.yaml"
WEBNN = "counterparts/webnn.yaml"

# The tests that can see a fact which descriptions or results follow from.
DESCRIBED = ["test_examples", "test_callers", "test_reference", "test_dmlops_make", "test_edges"]
COMPUTED = [
    "test_examples",
    "test_ties",
    "test_definition_pages",
    "test_compute_*",
    "test_observed",
    "test_onnx_models",
]
OF_ONNX = ["test_counterparts", "test_onnx_models", "test_onnx_runtime", "test_onnx_running"]
OF_WEBNN = ["test_counterparts", "test_webnn"]

Edit = Callable[[re.Match[str], random.Random], str]


class Kind:
    """A kind of fact: the files and the pattern that state one, what it becomes, the tests that see it."""

    def __init__(
        self, name: str, files: str, pattern: str, edit: Edit, tests: list[str] | None = None
    ) -> None:
        self.name, self.files, self.edit, self.tests = name, files, edit, tests or []
        self.pattern = re.compile(pattern, re.M)


class Mutation(NamedTuple):
    kind: Kind
    path: Path  # of the spec, relative to the root
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" / ".join(text[-70:].split("\n")).strip() for text in (self.old, self.new))
        return f"{self.kind.name:15} {self.path.relative_to('specs')}: {old} -> {new or 'gone'}"


def _without_one(found: re.Match[str], choice: random.Random) -> str:
    types = found[1].split(", ")
    types.remove(choice.choice(types))
    return f"types: [{', '.join(types)}]"


def _with_one(found: re.Match[str], choice: random.Random) -> str:
    left = [one for one in TYPES if one not in found[1].split(", ")]
    return f"types: [{found[1]}, {choice.choice(left)}]" if left else found[0]


def _next_level(found: re.Match[str], _: random.Random) -> str:
    """A level that exists, next to the one found."""
    at = LEVELS.index(found[1])
    return found[0].replace(found[1], LEVELS[at + 1 if at + 1 < len(LEVELS) else at - 1])


def _greater(found: re.Match[str], _: random.Random) -> str:
    return f"{found[0].removesuffix(found[1])}{int(found[1]) + 1}"


def _to(new: str) -> Edit:
    """Replaces the whole, with groups of it as \\1."""
    return lambda found, _: found.expand(new)


def _last(pairs: list[str]) -> Edit:
    """Replaces what the text found ends with: each text is followed by the one for it."""
    near = dict(zip(pairs[::2], pairs[1::2], strict=True))

    def edit(found: re.Match[str], _: random.Random) -> str:
        old = max((one for one in near if found[0].endswith(one)), key=len)
        return found[0].removesuffix(old) + near[old]

    return edit


# What the end of a text that is found becomes, in pairs.
ARITHMETIC = ["+", "-", "-", "+", "*", "+", "/", "*", "<", "<=", ">", ">=", "<=", "<", ">=", ">", "==", "!="]
FUNCTIONS = ["max(", "min(", "min(", "max(", "round_even(", "round_away(", "floor(", "ceil("]
VALUES = ["true", "false", "false", "true", "1.0", "2.0", "0.0", "1.0", "TRANSPOSE", "NONE"]
DEFAULTS = [
    "UINT8",
    "UINT32",
    "1.0",
    "2.0",
    "0.5",
    "0.75",
    "1",
    "2",
    "CROSS_CORRELATION",
    "CONVOLUTION",
    "EITHER",
    "POSITIVE",
]
NUMBERS = ["0", "7", "1", "7"]
RANKS = ["1..8", "2..8", "4..5", "4", "2..4", "2..5", "1..4", "1..5", "3..8", "4..8", "1..5", "1..6"]

OPERATION = r" [+*/<>-](?= )|\b(?:max|min|round_even|floor)\("
QUOTED = r'(?<=").* (?:[+*<>-]|==)(?= .*")'
DEFAULT = r"\battributes: \{.*?\w: [01](?=[,}])"

KINDS = [
    Kind("number", OPERATORS, r"^value: (\d+)", _greater),
    Kind("enumerator", "enums.yaml", r"\bvalue: (\d+)", _greater),
    Kind("constant", "constants.yaml", r"\bvalue: (\d+)", _greater),
    Kind("struct order", OPERATORS, r"^(  \w+: \{type: \w+, .*\n)(  \w+: \{type: .*\n)", _to(r"\2\1")),
    Kind("member type", OPERATORS, r"\btype: U(?=INT,)", _to("type: ")),
    Kind("optional", OPERATORS, r", optional: true", _to("")),
    Kind("type removed", SHARED, r"types: \[(\w+(?:, \w+)+)\]", _without_one),
    Kind("type added", SHARED, r"types: \[([\w, ]+)\]", _with_one),
    Kind("ranks", SHARED, r"ranks: (?:1\.\.8|4\.\.5|2\.\.4|1\.\.4|3\.\.8|1\.\.5)", _last(RANKS)),
    Kind("level of a row", SHARED, r'^  "(\d\.\d)":', _next_level),
    Kind("in place", SHARED, r"^in_place: .*\n", _to("")),
    Kind(
        "in place added", OPERATORS, r"^members:(?=\n  InputTensor)", _to(r"in_place: [InputTensor]\n\g<0>")
    ),
    Kind("fused", OPERATORS, r'^fusible_into: \{\w+: "(\d\.\d)"', _next_level),
    Kind("data", OPERATORS, r'^    since: "(\d\.\d)"', _next_level),
    Kind("default", OPERATORS, rf"^defaults: .*?: (?:{'|'.join(DEFAULTS[::2])})(?=[,}}])", _last(DEFAULTS)),
    Kind("rule", SHARED, r"(?<=require: )\w.*? (?:<|<=|>=)(?= )", _last(ARITHMETIC), DESCRIBED),
    Kind("rule deleted", SHARED, r"^  - \{.*same: .*\}\n", _to(""), DESCRIBED),
    Kind(
        "inference",
        SHARED,
        r"^ +(?:infer: |(?!message)\w+: |\[).*\bSizes\b.* [+*](?= )",
        _last(ARITHMETIC),
        DESCRIBED,
    ),
    Kind(
        "definition",
        OPERATORS,
        rf"^    OutputTensor: .*?(?:{OPERATION})",
        _last(ARITHMETIC + FUNCTIONS),
        COMPUTED,
    ),
    Kind(
        "definition",
        "shared/definitions/*.yaml",
        rf"^    \w.*: .*?(?:{OPERATION})",
        _last(ARITHMETIC + FUNCTIONS),
        COMPUTED,
    ),
    Kind("onnx default", ONNX, DEFAULT, _last(NUMBERS), OF_ONNX),
    Kind("onnx mapping", ONNX, QUOTED, _last(ARITHMETIC), OF_ONNX),
    Kind(
        "onnx member", ONNX, r"desc: \{.*: (?:true|false|1\.0|0\.0|TRANSPOSE)(?=[,}])", _last(VALUES), OF_ONNX
    ),
    Kind("onnx versions", ONNX, r"opsets: (\d+)(?=-)", _greater, OF_ONNX),
    Kind("onnx activation", ONNX, r"\{(?:alpha|beta): \d\.", _to(r"\g<0>9"), OF_ONNX),
    Kind("webnn default", WEBNN, DEFAULT, _last(NUMBERS), OF_WEBNN),
    Kind("webnn mapping", WEBNN, QUOTED, _last(ARITHMETIC), OF_WEBNN),
    Kind("directmlx", "counterparts/directmlx.yaml", r"^  [A-Z]\w+: \w+$", _to(r"\g<0>s")),
    Kind("onnx runtime", "counterparts/onnxruntime.yaml", r"types: float(?=\})", _to("types: any_float")),
    Kind("feature level", "feature_levels.yaml", r"\b(?:build|directml): \d", _to(r"\g<0>7")),
]


def mutations(specs: Path, choice: random.Random, kinds: list[Kind]) -> Iterator[Mutation]:
    """All kinds in turn, each at a place drawn from all of its places that were not drawn before."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(specs.rglob("*.yaml"))}
    places = {
        kind: [
            (path, found)
            for path in sorted(specs.glob(kind.files))
            for found in kind.pattern.finditer(texts[path])
        ]
        for kind in kinds
    }
    while any(places.values()):
        for kind in kinds:
            if left := places[kind]:
                path, found = left.pop(choice.randrange(len(left)))
                new = kind.edit(found, choice)
                yield Mutation(kind, path.relative_to(specs.parent), found.start(), found[0], new)


class Clone:
    """A separate checkout of HEAD."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        subprocess.run(["git", "clone", "-q", "--local", str(ROOT), str(self.root)], check=True)
        cache = ROOT / "build/cache"
        if cache.is_dir():  # of the generator, by content, so that only what is mutated is made again
            (self.root / "build").mkdir()
            (self.root / "build/cache").symlink_to(cache)
        paths = os.pathsep.join(map(str, (self.root / "generator", self.root / "generated/python")))
        self._environment = {**os.environ, "PYTHONPATH": paths}

    def noticed(self, mutation: Mutation, cheap: bool) -> str:
        """Who notices the mutation; "" if nobody does."""
        path = self.root / mutation.path
        text = path.read_text(encoding="utf-8")
        end = mutation.start + len(mutation.old)
        path.write_text(text[: mutation.start] + mutation.new + text[end:], encoding="utf-8")
        try:
            return self._noticed(mutation.kind, cheap)
        finally:
            self._command("git", "checkout", "-q", "--", ".")

    def _noticed(self, kind: Kind, cheap: bool) -> str:
        status, said = self._python("dmlgen", "lint")
        if gone := re.findall(r"identifier-gone.*?\b(DML-[A-Z0-9_]+-[a-z0-9-]+)", said):
            retire = [part for one in gone for part in ("--retire", one)]  # as if the author meant it
            status, said = self._python("dmlgen", "lint", "--fix", *retire)
        if status:
            return f"lint: {said.partition(': ')[2]}"
        if failing := self._failing(["test_facts_*"]):
            return f"facts: {failing}"
        if cheap or not kind.tests:
            return ""
        self._python("dmlgen", "generate")
        failing = self._failing(kind.tests)
        return f"tests: {failing}" if failing else ""

    def _failing(self, tests: list[str]) -> str:
        """A test that fails, or what pytest says if it could not run; "" if all pass."""
        files = [str(path) for one in tests for path in sorted(self.root.glob(f"tests/{one}.py"))]
        assert len(files) >= len(tests), tests  # without a file, pytest would run the whole suite
        options = ("-q", "-x", "-rfE", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")
        status, said = self._python("pytest", *options, *files)
        found = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py\S*)", said, re.M)
        return found[1] if found else said.splitlines()[-1] if status else ""

    def _python(self, *arguments: str) -> tuple[int, str]:
        return self._command(sys.executable, "-m", *arguments)

    def _command(self, *command: str) -> tuple[int, str]:
        """Its exit status, and what it says."""
        done = subprocess.run(
            command, cwd=self.root, env=self._environment, capture_output=True, text=True, check=False
        )
        return done.returncode, (done.stdout + done.stderr).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description="Change facts in the specs and say who notices.")
    parser.add_argument("--count", type=int, default=len(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help="a pattern that the names of the kinds match")
    parser.add_argument("--cheap", action="store_true", help="only lint and the tables of facts")
    options = parser.parse_args()
    count = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        kinds = [kind for kind in KINDS if re.search(options.kinds, kind.name)]
        draw = mutations(clone.root / "specs", random.Random(options.seed), kinds)
        for mutation, _ in zip(draw, range(options.count), strict=False):
            noticed = clone.noticed(mutation, options.cheap)
            print(f"{noticed[:70] or 'UNNOTICED':70}  {mutation}", flush=True)
            count[noticed.partition(":")[0] or "UNNOTICED"] += 1
    print(", ".join(f"{number} {who}" for who, number in count.items()))


if __name__ == "__main__":
    main()
