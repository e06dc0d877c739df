"""The tables of measured results in README.md and docs, from the files in bench/results and docs/results.

    python bench/summary.py [--write]

Without `--write`, exits with 1 if a page is out of date. A table stands between `<!-- bench: NAME -->` and
`<!-- end -->`. Speeds are relative to torch in the same run; means of them are geometric.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("PERFORMANCE", "SHADERS", "VERIFICATION")),
)
PLOT = ROOT / "docs" / "results" / "speed.svg"
LOW = 0.9  # cases slower than this are counted

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "matrix multiplication": ("gemm", "product", "quantized product"),
    "attention": ("attention",),
    "convolution": ("convolution", "spread", "quantized convolution"),
    "attention, decoding": ("decoding",),
    "LSTM, GRU, RNN": ("lstm", "gru", "rnn"),
}
"""Rows of README's table: how the names of their cases begin. All other cases are in its last row."""

KINDS: Mapping[str, str] = {"spread": "transposed convolution", "product": "gemm"}
"""The name of a kind on the pages, where that differs from its cases in the results."""


def results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def ratios(measured: Mapping[str, Any]) -> dict[str, float]:
    """Speed relative to torch by case, without cases that torch lacks."""
    return {
        name: one["shader"] / one["torch"]
        for name, one in measured["GB/s"].items()
        if one["shader"] and one["torch"]
    }


def family(case: str) -> str:
    return next((row for row, starts in FAMILIES.items() if case.startswith(starts)), "everything else")


def kind(case: str) -> str:
    """The subject of a case, without its sizes and types."""
    found = re.match(r"([a-z]+( [a-z]+)*?)( (of|by|to|float|e))?(?= ?\d| \(|$)", case)
    name = found[1] if found else "gather elements"
    first, _, rest = name.partition(" ")
    return f"{KINDS.get(first, first)} {rest}".strip()


def is_float16(case: str) -> bool:
    return case.endswith("float16")


def cell(speeds: Sequence[float]) -> str:
    """The mean and the slowest."""
    return f"{geometric_mean(speeds):.2f} ({min(speeds):.2f})" if speeds else ""


def grouped(speeds: Mapping[str, float], group: Callable[[str], str]) -> dict[str, list[str]]:
    """Cases by group: those with the lowest mean first, of float16 where there are such cases."""
    groups: dict[str, list[str]] = {}
    for case in speeds:
        groups.setdefault(group(case), []).append(case)

    def slowness(cases: list[str]) -> float:
        halves = [speeds[case] for case in cases if is_float16(case)]
        return geometric_mean(halves or [speeds[case] for case in cases])

    return dict(sorted(groups.items(), key=lambda item: slowness(item[1])))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    first, *others = (f"| {' | '.join(map(str, line))} |" for line in (head, *rows))
    return "\n".join([first, "|-" * len(head) + "|", *others])


def row(name: str, cases: Sequence[str], speeds: Mapping[str, float]) -> tuple[object, ...]:
    float16 = [speeds[case] for case in cases if is_float16(case)]
    other = [speeds[case] for case in cases if not is_float16(case)]
    low = sum(speeds[case] < LOW for case in cases)
    return name, len(cases), cell(float16), cell(other), low


_HEAD = ("", "cases", "float16: mean (slowest)", "float32, 8-bit: mean (slowest)", f"below {LOW}")


def families() -> str:
    """A row for each family, the slowest in float16 first."""
    speeds = ratios(results("nvidia-h200"))
    groups = grouped(speeds, family)
    last = groups.pop("everything else")
    rows = [row(name, cases, speeds) for name, cases in groups.items()]
    every = row("**all**", list(speeds), speeds)
    return table(_HEAD, [*rows, row("everything else", last, speeds), every])


def kinds() -> str:
    """A row for each kind of case, the slowest first."""
    speeds = ratios(results("nvidia-h200"))
    return table(_HEAD, [row(name, cases, speeds) for name, cases in grouped(speeds, kind).items()])


def slowest() -> str:
    """The slowest cases, one by one."""
    speeds = ratios(results("nvidia-h200"))
    cases = sorted(speeds, key=speeds.__getitem__)[:20]
    return table(("case", "speed"), [(case, f"{speeds[case]:.2f}") for case in cases])


def overall() -> str:
    """One sentence on the whole run."""
    speeds = ratios(results("nvidia-h200"))
    ahead, low = (sum(test(one) for one in speeds.values()) for test in (lambda x: x > 1, lambda x: x < LOW))
    mean = geometric_mean(list(speeds.values()))
    return f"{len(speeds)} cases: {mean:.2f} on average, {ahead} faster than torch, {low} slower than {LOW}."


def provenance() -> str:
    """The provenance of each file of results."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        run = measured.get("run", {})
        known = ", ".join(f"{key} {value}" for key, value in run.items()) or "not recorded"
        rows.append((f"[{path.name}](../bench/results/{path.name})", measured["device"], known))
    return table(("results", "device", "date, commit, versions"), rows)


def sessions() -> str:
    """Whole networks and small work, in microseconds."""
    measured = results("nvidia-h200-session")["seconds"]
    rows = [
        (name, way, f"{seconds * 1e6:,.1f}")
        for name, ways in measured.items()
        for way, seconds in ways.items()
    ]
    return table(("work", "how", "microseconds"), rows)


def earned() -> str:
    """The speed without each form, relative to the speed with it; the most useful first."""
    forms = {name: [*one.values()] for name, one in results("nvidia-h200-without")["without"].items() if one}
    rows = [
        (name, len(one), f"{geometric_mean(one):.2g}", f"{min(one):.2g} to {max(one):.2g}")
        for name, one in sorted(forms.items(), key=lambda item: geometric_mean(item[1]))
    ]
    return table(("without", "cases", "speed: mean", "from, to"), rows)


def models() -> str:
    """Whole models: times in microseconds, memory in MB."""
    rows = []
    for name, one in results("nvidia-h200-models")["models"].items():
        times = [f"{one[column]:,.0f}" for column in ("us", "torch us")]
        memory = [f"{one[column] / 1e6:.1f}" for column in ("peak", "least peak", "torch peak")]
        rows.append((name, *times, f"{one['torch us'] / one['us']:.2f}", *memory))
    head = ("model", "us", "torch us", "speed", "peak MB", "least possible MB", "torch peak MB")
    return table(head, rows)


def models_overall() -> str:
    """One sentence on whole models."""
    speeds = {
        name: one["torch us"] / one["us"] for name, one in results("nvidia-h200-models")["models"].items()
    }
    float16 = [speed for name, speed in speeds.items() if is_float16(name)]
    float32 = [speed for name, speed in speeds.items() if not is_float16(name)]
    return (
        f"Whole models run at {geometric_mean(float32):.2f} of torch in float32 (the slowest of "
        f"{len(float32)} at {min(float32):.2f}) and {geometric_mean(float16):.2f} in float16 "
        f"({min(float16):.2f})."
    )


def checks() -> Any:
    """Runs that compared results, and mutations of facts."""
    return json.loads((ROOT / "docs" / "results" / "runs.json").read_text(encoding="utf-8"))


def runs() -> str:
    """The results of runs on a GPU that compared something."""
    rows = []
    for one in checks()["runs"]:
        others = [f"{count} by {how}" for how, count in one.get("differences", {}).items()]
        others += [
            f"{type_} within {error:.1e} of the largest element"
            for type_, error in one.get("largest_difference", {}).items()
        ]
        agree = f"{one['agree']:,} of {one['of']:,}" + (f": {', '.join(others)}" if others else "")
        made = f"{one['date']}, {one['commit']}"
        rows.append((one["what"], one["against"], one["on"], agree, made, f"`{one['command']}`"))
    return table(("what", "against", "on", "agree", "date, commit", "by"), rows)


def mutations() -> str:
    """Who noticed changed facts."""
    keys = ("facts", "changed", "lint", "tables", "tests", "unnoticed")
    rows = [
        (*(one[key] for key in keys), f"{one['date']}, {one['commit']}", f"`{one['command']}`")
        for one in checks()["mutations"]
    ]
    head = ("facts", "changed", "noticed by lint", "by the tables", "by other tests", "unnoticed")
    return table((*head, "date, commit", "by"), rows)


def plot() -> str:
    """Every case as a dot in the row of its family: an SVG, with speed on a logarithmic axis."""
    speeds = ratios(results("nvidia-h200"))
    rows = grouped(speeds, family)
    bottom = 24 + 40 * len(rows)

    def x(speed: float) -> float:
        return 170 + 80 * (math.log2(min(max(speed, 0.25), 32)) + 2)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {bottom + 24}" font-family="sans-serif"'
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<text x="170" y="14">speed relative to torch: <tspan fill="#06c">float16</tspan>,'
        ' <tspan fill="#c50">float32 and 8-bit</tspan></text>',
    ]
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
        color = "#000" if tick == 1 else "#ccc"
        lines.append(f'<path d="M{x(tick):.0f} 20V{bottom}" stroke="{color}"/>')
        lines.append(f'<text x="{x(tick):.0f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>')
    for number, (name, cases) in enumerate(rows.items()):
        top = 24 + 40 * number
        lines.append(f'<text x="160" y="{top + 24}" text-anchor="end">{name}</text>')
        for each, case in enumerate(cases):
            y, color = top + 6 + each * 5 % 29, "#06c" if is_float16(case) else "#c50"
            lines.append(f'<circle cx="{x(speeds[case]):.0f}" cy="{y}" r="2.5" fill="{color}" opacity=".5"/>')
    return "\n".join([*lines, "</svg>", ""])


TABLES: Mapping[str, Callable[[], str]] = {
    one.__name__: one
    for one in (
        *(families, kinds, slowest, overall, provenance, sessions, earned, models, models_overall),
        *(runs, mutations),
    )
}


def filled(page: str) -> str:
    """The page with its tables made again."""
    return re.sub(
        r"(<!-- bench: (\w+) -->\n).*?(?=<!-- end -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n",
        page,
        flags=re.DOTALL,
    )


def files() -> Iterator[tuple[Path, str, str]]:
    """Each page and the plot: its path, its text, and what that should be."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        yield path, text, filled(text)
    yield PLOT, PLOT.read_text(encoding="utf-8") if PLOT.exists() else "", plot()


def main() -> int:
    code = 0
    for path, text, new in files():
        if text != new and "--write" in sys.argv:
            path.write_text(new, encoding="utf-8")
        elif text != new:
            print(f"{path.relative_to(ROOT)} is out of date: run python bench/summary.py --write")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
