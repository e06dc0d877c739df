"""Collects the kernels of ONNX Runtime's DirectML provider: tests/data/facts/onnxruntime.tsv.

    python scripts/collect_onnxruntime.py OperatorKernels.md > tests/data/facts/onnxruntime.tsv

Columns: an operator, with its domain if that is not ONNX's own; the versions at which a registration begins;
for each type parameter of the newest one the data types, as ONNX names them, as in `T=float,float16`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_DOMAIN = re.compile(r"\|\*\*Operator Domain:\*\* \*(.*)\*\|")
_ROW = re.compile(r"\|(\w*)\|.*\|(\d+)\+\|(.*)\|")
_PARAMETER = re.compile(r"\*\*(\w+)\*\* = (.*)")


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8").partition("Operators implemented by Dml")[2]
    domain, operator, found = "", "", dict[str, tuple[list[int], list[str]]]()
    for line in text.splitlines():
        if named := _DOMAIN.match(line):
            domain = "" if named[1] == "ai.onnx" else f"{named[1]}."
        elif row := _ROW.match(line):
            operator = row[1] or operator
            types = [_PARAMETER.match(one) for one in row[3].split("<br/> ")]
            newest = [f"{one[1]}={','.join(_types(one[2]))}" for one in types if one]
            found.setdefault(domain + operator, ([], newest))[0].append(int(row[2]))
    for name, (versions, types) in found.items():
        if not name.startswith(("com.microsoft.dml.", "Memcpy")):  # the provider's own, which no model has
            print(name, ",".join(map(str, sorted(versions))), *types, sep="\t")


def _types(text: str) -> list[str]:
    """The types of elements, also of sequences and optional tensors."""
    return sorted(set(re.findall(r"tensor\((\w+)\)", text)))


if __name__ == "__main__":
    main()
