"""Times of a graph's nodes on a device, between timestamps, as a table and as a page with a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ...graph import Builder
from ...tensor import TensorDesc
from ..commands import barrier
from ..device import Device
from ..vulkan_api import vk
from .execute import Compiled, Progress, compile_graph
from .program import Program

COPIED = 64 << 20  # bytes, to measure the ceiling
RUNS = 5


class Row(NamedTuple):
    """A node: when it starts and how long it takes, in seconds, and the bytes of its tensors, each once."""

    name: str
    operator: str
    start: float
    seconds: float
    bytes: int
    dispatches: int


class Clock:
    """Timestamps of a device, of which commands write in sequence."""

    def __init__(self, device: Device, count: int) -> None:
        self._device, self._count = device, count
        kind = vk.VK_QUERY_TYPE_TIMESTAMP
        self._pool = vk.vkCreateQueryPool(
            device.handle, vk.VkQueryPoolCreateInfo(queryType=kind, queryCount=count), None
        )

    def start(self, commands: Any) -> None:
        """Records that all timestamps are void, and writes the first."""
        vk.vkCmdResetQueryPool(commands, self._pool, 0, self._count)
        self.write(commands, 0)

    def write(self, commands: Any, number: int) -> None:
        """Records a timestamp, once everything before is done."""
        vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, self._pool, number)

    def seconds(self) -> list[float]:
        """All timestamps of the last run, since the first."""
        ticks = vk.ffi.new("uint64_t[]", self._count)
        flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
        size = 8 * self._count
        vk.vkGetQueryPoolResults(self._device.handle, self._pool, 0, self._count, size, ticks, 8, flags)
        period = self._device.limits.timestampPeriod * 1e-9
        return [(ticks[number] - ticks[0]) * period for number in range(self._count)]

    def close(self) -> None:
        vk.vkDestroyQueryPool(self._device.handle, self._pool, None)


class Profiled(Compiled):
    """A graph that measures its steps. Each one waits for the one before, so that times add up."""

    def __init__(self, program: Program, device: Device, progress: Progress | None = None) -> None:
        self._clock = Clock(device, len(program.steps) + 1)

        def between(commands: Any, done: int) -> None:
            if done == 0:
                self._clock.start(commands)
            else:
                self._clock.write(commands, done)
                barrier(commands)

        super().__init__(program, device, progress, between)
        self._resources.callback(self._clock.close)

    def rows(self) -> list[Row]:
        """The nodes of the last run, in order."""
        found = self.program
        stamps = self._clock.seconds()
        rows: list[Row] = []
        for number, label in enumerate(found.nodes):
            steps = [at for at, step in enumerate(found.steps) if step.node == number]
            size = sum(region.size for region in label.tensors.values())
            taken = sum(stamps[at + 1] - stamps[at] for at in steps)
            start = stamps[steps[0]] if steps else 0.0
            operator = " + ".join(label.operators)
            rows.append(Row(label.name, operator, start, taken, size, len(steps)))
        return rows


def ceiling(device: Device) -> float:
    """The bytes per second that a shader reads and writes when it copies a tensor: the best of some runs.

    A driver's own copies can be slower by far: on an NVIDIA H200, 828 GB/s against 3976.
    """
    builder = Builder()
    source = builder.input("source", TensorDesc("FLOAT32", (1, 1, 1, COPIED // 4)))
    graph = builder.build(target=builder.element_wise_identity(source))
    arrays = {"source": np.zeros((1, 1, 1, COPIED // 4), np.float32)}
    times = []
    with compile_graph(graph, device, kind=Profiled) as compiled:
        assert isinstance(compiled, Profiled)
        for _ in range(RUNS):
            compiled(arrays)
            times += [row.seconds for row in compiled.rows()]
    return 2 * COPIED / min(times)


def as_text(rows: Sequence[Row], most: float) -> str:
    """A table, the slowest nodes first; `most` is the ceiling in bytes per second."""
    total = sum(row.seconds for row in rows) or 1.0
    lines = [f"{'node':32} {'operator':32} {'us':>9} {'share':>6} {'MB':>9} {'GB/s':>7} {'of a copy':>9}"]
    for row in sorted(rows, key=lambda row: -row.seconds):
        rate = row.bytes / row.seconds if row.seconds else 0.0
        lines.append(
            f"{row.name[:32]:32} {row.operator[:32]:32} {row.seconds * 1e6:9.1f} {row.seconds / total:6.1%} "
            f"{row.bytes / 1e6:9.3f} {rate / 1e9:7.1f} {rate / most:9.2f}"
        )
    lines.append(f"{len(rows)} nodes, {total * 1e6:.1f} us; a copy runs at {most / 1e9:.1f} GB/s")
    return "\n".join(lines)


def as_html(rows: Sequence[Row], most: float, title: str) -> str:
    """A self-contained page: a timeline, and the table in the order of execution."""
    end = max((row.start + row.seconds for row in rows), default=0.0) or 1.0
    bars = "".join(
        f'<rect x="{row.start / end * 1000:.2f}" width="{row.seconds / end * 1000:.2f}" height="40" '
        f'fill="hsl({crc32(row.operator.encode()) % 360} 60% 55%)">'
        f"<title>{escape(row.name)}: {row.operator}, {row.seconds * 1e6:.1f} us</title></rect>"
        for row in rows
    )
    cells = "\n".join(
        f"<tr><td>{escape(row.name)}</td><td>{row.operator}</td><td>{row.dispatches}</td>"
        f"<td>{row.start * 1e6:.1f}</td><td>{row.seconds * 1e6:.1f}</td><td>{row.bytes / 1e6:.3f}</td>"
        f"<td>{row.bytes / row.seconds / most if row.seconds else 0:.2f}</td></tr>"
        for row in rows
    )
    page = files(__package__).joinpath("profile.html").read_text("utf-8")
    return Template(page).substitute(title=escape(title), bars=bars, rows=cells, total=f"{end * 1e6:.1f}")
