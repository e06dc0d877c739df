"""Fits the cost model that chooses the tiles of products (`plans/tile_cost.py`) to the GPU at hand.

    python bench/tune.py [FOLDER] [--only TEXT ...] --compile-only
    python bench/tune.py [FOLDER] [--only TEXT ...]

For each case of `gpu_cases` for which the model chooses a tile, all candidates are timed. Then each number of
the model is changed as long as the tiles that it chooses become faster; those that changed are printed, for
the tables in the planners. Rates of arithmetic are known of a device, and stay. The first form fills FOLDER
with SPIR-V, for a machine without a shader compiler.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

from compiled import CAPABILITIES
from gpu import SMALL_BYTES, VulkanTimer, code_of, computed, is_software, on_vulkan, with_arrays
from gpu_cases import Case, cases

from dmlops import gpu
from dmlops.gpu.plans import tile_cost
from dmlops.gpu.plans.gemm_view import Matrices
from dmlops.gpu.plans.tile_cost import Choice, Rates, Split, Tile
from dmlops.gpu.work import Work

Chooser = Callable[[Matrices, Sequence[Tile], Rates, bool], Choice]
SHARED = ("CACHE_RATE", "MEMORY_RATE", "PARTS_START", "LINES")
"""The numbers of the model that all tables share."""
FIELDS = ("load", "latency", "alone")
"""Those of a table."""
FACTORS = (0.5, 0.8, 0.9, 1.1, 1.25, 2)
LEAST_GAIN = 1e-3  # of the mean time; less is noise


class Candidate(NamedTuple):
    """A tile of the table with these rates, and its parts of k, for a product that takes so many seconds."""

    found: Matrices
    rates: Rates
    tile: Tile
    split: Split
    seconds: float


Sample = Sequence[Candidate]
"""All candidates of a table for a product."""


class Number(NamedTuple):
    """A number of the model: a field of the rates of a table; or, without these, a shared one."""

    name: str
    owner: Rates | None = None


@contextmanager
def choosing(chooser: Chooser) -> Iterator[None]:
    """Makes planners choose tiles so within the context."""
    own = tile_cost.choose_tile
    modules = [module for module in sys.modules.values() if getattr(module, "choose_tile", None) is own]
    for module in modules:
        vars(module)["choose_tile"] = chooser
    try:
        yield
    finally:
        for module in modules:
            vars(module)["choose_tile"] = own


def planned(case: Case, capabilities: gpu.Capability) -> list[tuple[Candidate, Work]]:
    """The candidates of all tables that the planner of a case looks into, each with its work."""
    own, asked = tile_cost.choose_tile, list[tuple[Matrices, Sequence[Tile], Rates, bool]]()

    def note(*table: Any) -> Choice:
        asked.append(table)
        return own(*table)

    def force(*table: Any) -> Choice:
        return chosen._replace(time=-1) if table[1] == tiles else own(*table)

    with choosing(note):
        gpu.plan(case.describe(), capabilities)
    works = []
    for found, tiles, rates, may_split in asked:
        for tile in tiles:
            chosen = own(found, [tile], rates, may_split)
            with choosing(force):
                work = gpu.plan(case.describe(), capabilities)
            works.append((Candidate(found, rates, tile, chosen.split, 0), work))
    return works


def timed(known: Sequence[Case], folder: Path, device: Any, timer: VulkanTimer) -> Iterator[Sample]:
    """The samples of cases for which the model chooses a tile."""
    wanted = [case for case in known if planned(case, device.capabilities)]
    for case, arrays in with_arrays(wanted):
        found = planned(case, device.capabilities)
        works = {str(number): work for number, (_, work) in enumerate(found)}
        speeds = on_vulkan(case, works, folder, device, timer, arrays, computed(case, arrays)[0])
        samples: dict[Rates, list[Candidate]] = {}
        for (one, _), speed in zip(found, speeds.values(), strict=True):
            seconds = case.bytes_moved / speed / 1e9
            samples.setdefault(one.rates, []).append(one._replace(seconds=seconds))
        yield from samples.values()


def numbers_of(samples: Sequence[Sample]) -> dict[Number, int]:
    """The numbers that these samples depend on."""
    numbers = {Number(name): int(getattr(tile_cost, name)) for name in SHARED}
    for sample in samples:
        rates = sample[0].rates
        numbers |= {Number(name, rates): getattr(rates, name) for name in FIELDS}
    return numbers


def loss(samples: Sequence[Sample], numbers: Mapping[Number, int]) -> float:
    """The mean logarithm of the time of what the model chooses, relative to the best candidate."""

    def time(one: Candidate) -> int:
        rates = one.rates._replace(**{name: numbers[Number(name, one.rates)] for name in FIELDS})
        return tile_cost.tile_time(one.found, one.tile, rates, one.split)

    for name in SHARED:
        setattr(tile_cost, name, numbers[Number(name)])
    lost = (log(min(one, key=time).seconds / min(each.seconds for each in one)) for one in samples)
    return sum(lost) / len(samples)


def fitted(samples: Sequence[Sample]) -> dict[Number, int]:
    """The numbers with which the model chooses best: each is changed in turn until none helps."""
    numbers = numbers_of(samples)
    before = dict(numbers)
    least, last = loss(samples, numbers), float("inf")
    while least < last - LEAST_GAIN:
        last = least
        for number in numbers:
            for factor in FACTORS:
                most = 100 if number.name == "alone" else 1 << 20
                value = min(max(round(numbers[number] * factor), 1), most)
                found = loss(samples, numbers | {number: value})
                if found < least:
                    least, numbers[number] = found, value
    loss(samples, before)  # sets the shared ones
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bench"), help="compiled shaders")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder and stop")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="cases whose names contain it"
    )
    parser.add_argument("--device", help="part of the Vulkan device's name")
    arguments = parser.parse_args()
    known = [case for case in cases() if any(text in case.name for text in arguments.only)]
    if arguments.compile_only:
        for case, capabilities in itertools.product(known, CAPABILITIES):
            for _, work in planned(case, capabilities):
                for dispatch in work.dispatches:
                    code_of(arguments.folder, case.operator, dispatch)
        return

    from dmlops.gpu.device import Device

    device = Device.open(arguments.device)
    if is_software(device):
        known = [case for case in known if case.bytes_moved <= SMALL_BYTES]
    samples = list(timed(known, arguments.folder, device, VulkanTimer.of(device)))
    before, after = numbers_of(samples), fitted(samples)
    for number, value in after.items():
        if value != before[number]:
            print(number.owner or "", number.name, before[number], "->", value)
    ratios = (exp(loss(samples, numbers)) for numbers in (after, before))
    text = "{} products take {:.3f} of the times of their best candidates, {:.3f} before"
    print(text.format(len(samples), *ratios))


if __name__ == "__main__":
    main()
