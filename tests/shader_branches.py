"""The branches of shaders (`#if` and the like) that plans take, and random descriptions that take many.

    python tests/shader_branches.py [SEEDS]

prints, by family, the smallest of the first random descriptions that together take all branches that any of
them and the matrices take, for `covering_seeds.json`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import c_runner
from dmlops import gpu
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from dmlops.validation import tensors
from matrix_cases import OPERATORS, cases, described
from random_shapes import FAMILIES
from random_shapes import described as drawn_description

COVERING = Path(__file__).with_name("data") / "covering_seeds.json"
FEW_BYTES, MOST_BYTES = 1 << 18, 1 << 22  # of a description's tensors: where possible, and at all

Defines = Mapping[str, int | str]
Branch = tuple[str, str]  # the shader, the condition
_DIRECTIVE = re.compile(r"\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*?)\s*(?://.*)?$")
_MACRO = re.compile(r"^\s*#define (\w+)", re.MULTILINE)
_FOUND = re.compile(r"^(VARIANT|BRANCH) (\d+)", re.MULTILINE)


class Marked(NamedTuple):
    """A shader's text with a line `BRANCH n` at the start of each branch, and the conditions of these."""

    text: str
    conditions: list[str]


def marked(text: str) -> Marked:
    lines, conditions = [], []
    outer: list[list[str]] = []  # the conditions so far of each directive that is open
    for line in text.split("\n"):
        lines.append(line)
        match = _DIRECTIVE.match(line)
        if not match:
            continue
        verb, condition = match.groups()
        if verb == "endif":
            outer.pop()
            continue
        if verb == "else":
            condition = f"none of {', '.join(outer[-1])}"
        elif verb == "elif":
            outer[-1].append(condition)
        else:
            outer.append([condition])
        lines.append(f"BRANCH {len(conditions)}")
        conditions.append(condition)
    return Marked("\n".join(lines), conditions)


def conditions(shader: str) -> set[Branch]:
    """All branches of a shader."""
    return {(shader, condition) for condition in marked(gpu.shader(shader)).conditions}


def taken(shader: str, variants: Iterable[Defines]) -> list[set[Branch]]:
    """The branches that each set of macros takes, as the C preprocessor sees them."""
    text, names = marked(gpu.shader(shader))
    inner = _MACRO.findall(text)
    parts: list[str] = []
    count = 0
    for count, defines in enumerate(variants, 1):
        parts += [f"VARIANT {count - 1}", *(f"#define {name} {value}" for name, value in defines.items())]
        parts += [text, *(f"#undef {name}" for name in (*defines, *inner))]
    call = [c_runner.compiler("gcc"), "-E", "-P", "-undef", "-nostdinc", "-w", "-xc", "-"]
    done = subprocess.run(call, input="\n".join(parts), capture_output=True, text=True, check=True)
    found: list[set[Branch]] = [set() for _ in range(count)]
    current = 0
    for kind, number in _FOUND.findall(done.stdout):
        if kind == "VARIANT":
            current = int(number)
        else:
            found[current].add((shader, names[int(number)]))
    return found


def branches_of(descs: Iterable[Any]) -> list[set[Branch]]:
    """The branches that the plan of each description takes; none where it has no plan."""
    users: dict[str, dict[tuple[tuple[str, int | str], ...], list[int]]] = {}
    count = 0
    for count, desc in enumerate(descs, 1):
        try:
            work = gpu.plan(desc, NO_CAPABILITIES)
        except gpu.Unsupported:
            continue
        for one in work.dispatches:
            variants = users.setdefault(one.shader or desc.OPERATOR, {})
            variants.setdefault(tuple(one.defines.items()), []).append(count - 1)
    found: list[set[Branch]] = [set() for _ in range(count)]
    for shader, variants in users.items():
        for branches, numbers in zip(taken(shader, map(dict, variants)), variants.values(), strict=True):
            for number in numbers:
                found[number] |= branches
    return found


def of_matrices() -> set[Branch]:
    """The branches that the matrices' cases with data take."""
    return set().union(*branches_of(described(case) for name in OPERATORS for case in cases(name)))


def covering() -> Iterator[tuple[str, int]]:
    """The random descriptions that are kept, by family and seed."""
    for family, seeds in json.loads(COVERING.read_bytes()).items():
        yield from ((family, seed) for seed in seeds)


def bytes_of(desc: Any) -> int:
    return sum(int(tensor.size_in_bytes) for _, _, tensor in tensors(desc))


def main() -> None:
    """Chooses descriptions in sequence: each takes most branches that none before it takes."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    numbers = [(family, seed) for family in FAMILIES for seed in range(seeds)]
    descs = {number: drawn_description(*number) for number in numbers}
    sizes = {number: bytes_of(desc) for number, desc in descs.items()}
    small = {number: desc for number, desc in descs.items() if sizes[number] <= MOST_BYTES}
    left = dict(zip(small, branches_of(small.values()), strict=True))
    seen = of_matrices()
    chosen: dict[str, list[int]] = {}
    while True:  # ends: each turn has fewer branches left
        left = {number: more for number, branches in left.items() if (more := branches - seen)}
        if not left:
            break
        number = max(left, key=lambda one: (sizes[one] <= FEW_BYTES, len(left[one]), -sizes[one]))
        seen |= left[number]
        chosen.setdefault(number[0], []).append(number[1])
    print(json.dumps({family: sorted(chosen.get(family, [])) for family in FAMILIES}))


if __name__ == "__main__":
    main()
