"""The README's table of speeds beside torch, from the results of `bench/gpu.py`.

python bench/summary.py [RESULTS]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean

RESULTS = Path(__file__).parent / "results" / "nvidia-h200.json"

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "matrix products": ("gemm",),
    "attention": ("attention",),
    "convolutions, transposed ones too": ("convolution", "spread"),
    "decoding with past keys": ("decoding",),
    "LSTM, GRU, RNN": ("lstm", "gru", "rnn"),
}
"""By what a row is called: how the names of its cases begin. All others are in the last row but one."""


def ratios(results: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """Speed relative to torch by case, without cases that torch lacks."""
    return {
        name: one["shader"] / one["torch"] for name, one in results.items() if one["shader"] and one["torch"]
    }


def family(name: str) -> str:
    """The row of a case."""
    if name.endswith("int8"):
        return "8-bit products, convolutions"
    for row, starts in FAMILIES.items():
        if name.startswith(starts):
            return row
    return "everything else"


def cell(found: list[float]) -> str:
    """The geometric mean and the slowest."""
    return f"{geometric_mean(found):.2f} ({min(found):.2f})" if found else ""


def table(file: Path = RESULTS) -> str:
    """A Markdown table with a row a family, the slowest in float16 first."""
    found = ratios(json.loads(file.read_text(encoding="utf-8"))["GB/s"])
    rows: dict[str, dict[str, list[float]]] = {}
    for name, ratio in found.items():
        of_type = "float16" if name.endswith("float16") else "other"
        rows.setdefault(family(name), {}).setdefault(of_type, []).append(ratio)

    def order(row: str) -> tuple[bool, float]:
        return row == "everything else", geometric_mean(rows[row].get("float16") or rows[row]["other"])

    lines = [
        "| | cases | float32, bytes: mean (slowest) | float16: mean (slowest) | below 0.9 |",
        "|-|-|-|-|-|",
    ]
    for row in sorted(rows, key=order):
        other, float16 = rows[row].get("other", []), rows[row].get("float16", [])
        below = sum(ratio < 0.9 for ratio in (*other, *float16))
        lines.append(f"| {row} | {len(other) + len(float16)} | {cell(other)} | {cell(float16)} | {below} |")
    every = list(found.values())
    below = sum(ratio < 0.9 for ratio in every)
    lines.append(f"| **all** | {len(every)} | {geometric_mean(every):.2f} in all | | {below} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS))
