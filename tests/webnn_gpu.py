"""W3C's conformance cases of WebNN through graphs on the GPU: all of them, or those whose file has a TEXT.

    python tests/webnn_gpu.py [TEXT ...]

Prints each case that differs; the exit status is 1 if there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from dmlops import gpu, webnn
from test_webnn import CASES, WRONG, agrees


def differing(cases: Iterable[dict[str, Any]], device: Any) -> Iterator[tuple[str, Any]]:
    """The cases that the suite has right and the GPU computes otherwise, or not at all, and what it did."""
    for case in cases:
        if case["name"] in WRONG:
            continue
        try:
            compiled = gpu.compile(case, device)
            found: Any = compiled()
            compiled.close()
            if all(agrees(found[name], value, case["tol"]) for name, value in case["out"].items()):
                continue
        except (webnn.NotRunnable, ValueError) as error:
            found = error
        yield case["name"], found


def main() -> int:
    texts = sys.argv[1:] or [""]
    wanted = [case for case in CASES if any(text in case["file"] for text in texts)]
    names = []
    for name, found in differing(wanted, None):
        names.append(name)
        print(f"{name}: {found}", flush=True)
    print(f"{len(wanted)} cases, {len(names)} differ")
    return int(names != [])


if __name__ == "__main__":
    sys.exit(main())
