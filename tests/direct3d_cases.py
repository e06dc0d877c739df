"""Cases for a Direct3D 12 device: packs them, and checks what the device made of them.

    python tests/direct3d_cases.py pack PACK [OPERATOR...] [--random COUNT] [--dot-products]
    direct3d_cases PACK RESULTS        # tests/c/direct3d_cases.cpp, on the machine with the device
    python tests/direct3d_cases.py check PACK RESULTS

A pack has the cases with data of the matrices, and COUNT random descriptions of every family: their plans
(tests/test_c_dispatch.py shows that dmlops.h has the same), DXIL, and the contents of buffers. PACK.json says
which they are, and the options of Direct3D 12 that each needs. `check` prints a line for each case that is
not right, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dmlops
import matrix_cases
from dmlops import gpu, reference
from dmlops.arrays import of_tensor
from dmlops.gpu import compiler
from dmlops.gpu.memory import buffer_size
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.work import Dispatch, Work, tensor_names
from gpu_device import ABOVE_FLUSHED, array_in, fill_of
from gpu_fuzz import by_tensor, near
from random_shapes import FAMILIES, Drawn, drawn


class Case(NamedTuple):
    """A description with data. Its name is that of a matrix's case, or "random/" with a family and a seed."""

    name: str
    desc: dmlops.Description
    arrays: Mapping[str, Any]


class Record(NamedTuple):
    """The result of a case: a message, empty if nothing went wrong, and the bytes of its outputs."""

    message: str
    outputs: list[bytes]


@cache
def of_matrix(slug: str) -> dict[str, matrix_cases.Case]:
    return {case["id"]: case for case in matrix_cases.cases(slug)}


def matrix_case(name: str) -> matrix_cases.Case:
    return of_matrix(name.partition("/")[0].lower())[name]


def named(name: str) -> Case:
    source, *rest = name.split("/")
    if source == "random":
        return Case(name, *drawn(rest[0], int(rest[1])))
    case = matrix_case(name)
    return Case(name, matrix_cases.described(case), matrix_cases.arrays(case, "inputs"))


def names(operators: Iterable[str], seeds: int) -> Iterator[str]:
    for operator in operators:
        yield from of_matrix(operator.lower())
    for family in FAMILIES:
        yield from (f"random/{family}/{seed}" for seed in range(seeds))


# The pack.


class Codes:
    """Compiled shaders, each once. Compiles in two threads."""

    def __init__(self) -> None:
        self._places: dict[tuple[Any, ...], int] = {}
        self._codes: list[Future[bytes]] = []
        self._pool = ThreadPoolExecutor(2)

    def place(self, operator: str, dispatch: Dispatch) -> int:
        """The number of a dispatch's shader."""
        name = dispatch.shader or operator
        key = (name, *dispatch.defines.items())
        if key not in self._places:
            self._places[key] = len(self._codes)
            code = self._pool.submit(compiler.compile, gpu.shader(name), dispatch.defines, "dxil")
            self._codes.append(code)
        return self._places[key]

    def all(self) -> list[bytes]:
        return [code.result() for code in self._codes]


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def packed_case(case: Case, work: Work, codes: Codes) -> bytes:
    contents = {name: bytes(data) for name, data in gpu.input_bytes(case.desc, case.arrays)}
    outputs = {name: buffer_size(tensor) for name, tensor in tensor_names(case.desc, "output")}
    places = {name: place for place, name in enumerate((*contents, *outputs, *work.scratch))}
    buffers = [
        *(words(False, False, len(data)) + padded(data) for data in contents.values()),
        *(words(True, True, size, fill_of(name, work)) for name, size in outputs.items()),
        *(words(False, True, size, fill_of(name, work)) for name, size in work.scratch.items()),
    ]
    dispatches = [
        words(codes.place(case.desc.OPERATOR, one), one.reads, one.needs_barrier, *one.groups)
        + words(len(one.buffers), *(places[name] for name in one.buffers))
        + words(len(one.constants) // 4)
        + one.constants
        for one in work.dispatches
    ]
    return b"".join([words(len(buffers)), *buffers, words(len(dispatches)), *dispatches])


def pack(path: Path, chosen: Iterable[str], capabilities: Capability) -> None:
    """Writes the cases that have a plan; with capabilities, those whose plan makes use of them."""
    codes, parts = Codes(), []
    used: dict[str, set[int]] = {}
    for name in chosen:
        case = named(name)
        try:
            work = gpu.plan(case.desc, capabilities)
        except gpu.Unsupported as error:
            print(f"{name} is left out: {error}")
            continue
        if not capabilities or any(one.defines.get("DOT_PRODUCTS") for one in work.dispatches):
            parts.append(packed_case(case, work, codes))
            used[name] = {codes.place(case.desc.OPERATOR, one) for one in work.dispatches}
    compiled = codes.all()
    options = {
        name: sorted({option for place in places for option in gpu.required_options(compiled[place])})
        for name, places in used.items()
    }
    shaders = (words(len(code)) + padded(code) for code in compiled)
    path.write_bytes(b"".join([words(len(compiled)), *shaders, words(len(options)), *parts]))
    index = {"capabilities": capabilities, "cases": options}
    Path(f"{path}.json").write_text(json.dumps(index, indent=1))
    print(f"{len(options)} cases, {len(compiled)} shaders, {path.stat().st_size >> 10} KiB")


# The results.


def records(data: bytes) -> Iterator[Record]:
    """The complete records of a file of results."""
    at = 0

    def word() -> int:
        nonlocal at
        at += 4
        return int(struct.unpack_from("<I", data, at - 4)[0])

    def content() -> bytes:
        nonlocal at
        size = word()
        start, at = at, at + size + -size % 4
        if at > len(data):
            raise EOFError
        return data[start : start + size]

    try:
        while at < len(data):
            message = content().decode()
            yield Record(message, [content() for _ in range(word())])
    except (EOFError, struct.error):  # the case at which the process ended
        return


def wrong(name: str, record: Record, capabilities: Capability) -> str:
    """The errors of a record, none if it is right."""
    if record.message:
        return record.message
    case = named(name)
    work = gpu.plan(case.desc, capabilities)
    tensors = dict(tensor_names(case.desc, "output"))
    try:
        found = {
            output: array_in(output, tensor, np.frombuffer(data, np.uint8), fill_of(output, work))
            for (output, tensor), data in zip(tensors.items(), record.outputs, strict=True)
        }
        if name.startswith("random/"):
            compare_with_reference(case, found)
        else:
            compare_with_matrix(matrix_case(name), found)
    except (AssertionError, ValueError) as error:
        return str(error)
    return ""


def compare_with_matrix(case: matrix_cases.Case, found: Mapping[str, np.ndarray]) -> None:
    for output, array in found.items():
        member = output.partition("[")[0]
        matrix_cases.check(case, member, of_tensor(case["outputs"], output), array, "Direct3D 12")


def compare_with_reference(case: Case, found: Mapping[str, np.ndarray]) -> None:
    one = Drawn(case.desc, dict(case.arrays))
    for output, wanted in by_tensor(reference.run(case.desc, case.arrays)):
        with np.errstate(all="ignore"):
            equal = near(one, found[output], wanted, ABOVE_FLUSHED)
        at = tuple(np.argwhere(~equal)[0].tolist()) if not equal.all() else ()
        text = f"{np.count_nonzero(~equal)} of {equal.size} elements of {output}, {at}:"
        assert equal.all(), f"{text} {found[output][at]!r} for {wanted[at]!r}"


def check(path: Path, results: Path) -> int:
    """Prints what is wrong; returns how many cases are."""
    packed = json.loads(Path(f"{path}.json").read_text())
    found = list(records(results.read_bytes()))
    findings = [
        (name, wrong(name, record, Capability(packed["capabilities"])))
        for name, record in zip(packed["cases"], found, strict=False)
    ]
    findings += [(name, "was not run") for name in list(packed["cases"])[len(found) :]]
    bad = [(name, text) for name, text in findings if text]
    for name, text in bad:
        print(f"{name}: {text} (needs {', '.join(packed['cases'][name]) or 'no option'})")
    print(f"{len(findings) - len(bad)} of {len(findings)} cases agree")
    return len(bad)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("pack", type=Path)
    packing.add_argument("operators", nargs="*", metavar="OPERATOR", help="all of them by default")
    packing.add_argument("--random", type=int, default=0, metavar="COUNT", help="descriptions of each family")
    packing.add_argument("--dot-products", action="store_true", help="plans for shader model 6.4")
    checking = commands.add_parser("check")
    checking.add_argument("pack", type=Path)
    checking.add_argument("results", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "check":
        return min(check(given.pack, given.results), 1)
    slugs = sorted(path.stem for path in (matrix_cases.MATRICES.parent / "hlsl").glob("*.hlsl"))
    capabilities = Capability.DOT_PRODUCTS if given.dot_products else NO_CAPABILITIES
    pack(given.pack, names(given.operators or slugs, given.random), capabilities)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
