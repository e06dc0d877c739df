"""Runs the data of matrices through the `dmlops` that Python finds first.

plain_cases.py reference|shaders|plans SLUG... runs in a separate process, for a package other than this
project's. It prints differences from the expected data or, for plans, between C and Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dmlops
from dmlops import gpu
from matrix_cases import Case, arrays, cases, check, described


def elements(case: Case) -> int:
    """The number of elements of its inputs."""
    desc = described(case)
    tensors = [getattr(desc, name) for name in case["inputs"]]
    return sum(
        prod(one.Sizes) for tensor in tensors for one in (tensor if isinstance(tensor, tuple) else [tensor])
    )


def differences(case: Case, run: Callable[[Any, Any], Mapping[str, Any]]) -> str:
    """Differences from what the case expects."""
    try:
        found = run(described(case), arrays(case, "inputs"))
        for name, expected in case["outputs"].items():
            pairs = zip(found[name], expected, strict=True)
            for part, one in pairs if isinstance(found[name], list) else [(found[name], expected)]:
                check(case, name, one, part, dmlops.__file__)
    except Exception as error:  # of any kind: the others are to be seen, too
        return f"{case['id']}: {error!r}"
    return ""


def differing_plans(slugs: list[str]) -> Iterator[str]:
    """The cases with data that C plans otherwise than Python, or not at all where there is a plan."""
    from c_plans import Library, expected

    with TemporaryDirectory() as folder:
        library = Library(Path(folder))
        for case in (case for slug in slugs for case in cases(slug)):
            found, wanted = library.plan(described(case)), expected(described(case))
            if found != wanted or len(wanted) == 1:
                yield f"{case['id']}: {found} where {wanted} is expected"


def main(by: str, slugs: list[str]) -> None:
    if by == "plans":
        print(*differing_plans(slugs), sep="\n", end="")
        return
    run: Callable[[Any, Any], Mapping[str, Any]] = dmlops.reference.run
    if by == "shaders":
        from dmlops.gpu.device import Device

        device = Device.open(None)

        def run(desc: Any, inputs: Any) -> Mapping[str, Any]:
            return gpu.run(desc, inputs, device)

    for slug in slugs:
        # A shader takes long to compile: of its cases the one with the most elements.
        chosen = sorted(cases(slug), key=elements)[-1:] if by == "shaders" else cases(slug)
        for case in chosen:
            if found := differences(case, run):
                print(found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
