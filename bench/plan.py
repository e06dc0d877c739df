"""Microseconds to plan small work in Python and in C, with an operator of each form.

`python -m bench.plan`. "Again" is how long a device takes to look up the program of an equal description.
Both validate what they plan; the last column is how long that takes in C.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dmlops import TensorDesc, gpu, make
from dmlops.gpu.programs import Program, Programs

from .validate import microseconds
from .validate_c import HEADERS, HERE


def tensor(*sizes: int, data_type: str = "FLOAT32") -> TensorDesc:
    return TensorDesc(data_type, sizes)


def descriptions() -> Iterator[Any]:
    matrix, image, tokens = tensor(64, 64), tensor(1, 64, 56, 56), tensor(1, 64, 64)
    row, places = tensor(1, 64, data_type="INT32"), tensor(64, 64, data_type="INT32")
    two = {"Strides": [2, 2], "StartPadding": [1, 1], "EndPadding": [1, 1]}
    yield make.element_wise_add1(matrix, matrix)
    yield make.activation_relu(matrix)
    window = {"InputWindowOffsets": [1, 1], "InputWindowSizes": [62, 62], "InputWindowStrides": [1, 1]}
    yield make.slice1(matrix, OutputTensor=tensor(62, 62), **window)
    yield make.reduce(matrix, Function="SUM", Axes=[1])
    yield make.gather(matrix, row, Axis=0, IndexDimensions=1)
    yield make.scatter_elements(matrix, places, matrix, Axis=0)
    yield make.top_k1(matrix, Axis=1, K=4, AxisDirection="DECREASING", OutputIndexTensor="UINT32")
    yield make.gemm(tensor(1, 1, 64, 64), tensor(1, 1, 64, 64))
    yield make.convolution(image, tensor(64, 64, 3, 3), **two)
    yield make.max_pooling(image, WindowSize=[3, 3], **two)
    yield make.mean_variance_normalization1(image, Axes=[1, 2, 3], NormalizeVariance=True, Epsilon=1e-5)
    heads = {"HeadCount": 4, "Scale": 0.25, "MaskFilterValue": -1e9, "MaskType": "NONE"}
    yield make.multihead_attention(tokens, tokens, tokens, OutputTensor=tokens, **heads)


def library(folder: Path) -> Any:
    """The planner in C, optimized; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    command = [compiler, "-std=c11", "-O2", "-fPIC", "-shared", f"-I{HEADERS}", str(HERE / "plan.c")]
    subprocess.run([*command, "-o", folder / "plan.so"], check=True)
    found = ctypes.CDLL(str(folder / "plan.so"))
    for function in (found.planning, found.validation):
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p]
    return found


def main() -> None:
    """Prints microseconds, and how many times as long Python takes as C."""
    with tempfile.TemporaryDirectory() as folder:
        in_c = library(Path(folder))
    print(f"{'':32} {'Python':>8} {'again':>8} {'C':>8} {'Python / C':>11} {'validation':>11}")
    for desc in descriptions():
        programs = Programs()
        programs.keep(desc, Program(gpu.plan(desc), (), {}, {}, {}, {}))
        first = microseconds(lambda: gpu.plan(desc))  # noqa: B023 -- called in this turn
        again = microseconds(lambda: programs.get(desc))  # noqa: B023
        line = f"{desc.OPERATOR:32} {first:8.1f} {again:8.2f}"
        if in_c is not None:
            structure = desc.to_ctypes()
            address = ctypes.addressof(structure)
            c = in_c.planning(address)
            line += f" {c:8.2f} {first / c:11.1f} {in_c.validation(address):11.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
