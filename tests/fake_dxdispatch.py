"""Stands in for dxdispatch.exe: reads a model, computes with NumPy, and writes the same files.

This registry's validator decides whether DirectML would accept a description. What the fake cannot compute is
reported as by a device that lacks a data type. It shares no code with the exporter, nor with what reads its
results.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dmlops
from dxdispatch_reader import FORMATS, Reader, Refused

Tensor = Mapping[str, Any]

ADAPTERS = (
    "Fake Adapter 9000\n-Version: 1.2.3.4\n-Hardware: true\n\nMicrosoft Basic Render Driver\n-Version: 10.0\n"
)
DEPENDENCIES = (
    "DirectML:\n- Configured Version : nuget\n- Loaded Path        : C:\\x.dll\n"
    "- Loaded Version     : 1.15.4\0\n\nD3D12:\n- Configured Version : nuget\n"
)
E_UNEXPECTED, UNHANDLED = 0x8000FFFF, 0x8007023E


def main(arguments: list[str]) -> int:
    """The exit status, as an int of 32 bits with a sign."""
    parser = argparse.ArgumentParser()
    for name in ("--model", "--dml_feature_level", "--adapter"):
        parser.add_argument(name, default="")
    for name in ("--show_adapters", "--show_dependencies"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args(arguments)
    if options.show_adapters or options.show_dependencies:
        print(ADAPTERS if options.show_adapters else DEPENDENCIES)
        return 1
    print("Running on 'Fake Adapter 9000'")
    reader = Reader(Path(os.environ["FAKE_DIRECTML_H"]).read_text(encoding="utf-8"))
    try:
        model = reader.read(Path(options.model))
    except (Refused, ValueError, KeyError) as error:
        print(f"Failed to parse the model: {error}\nRunAll called before initialize", file=sys.stderr)
        return E_UNEXPECTED - (1 << 32)
    for name, one in model["dispatchables"].items():
        if one["type"] == "hlsl":
            other = Path(options.model.replace(".shader.json", ".directml.json"))
            one = json.loads(other.read_text(encoding="utf-8"))["dispatchables"]["operator"]
        code = created(one, options.dml_feature_level)
        if code:
            what = f"DmlDispatchable.cpp(28)\\dxdispatch.dll!00007FFB12345678: tid(1a2c) {code} Why."
            error = f"Failed to execute the model: ERROR creating dispatchable '{name}': {what}"
            print(error, file=sys.stderr)
            return UNHANDLED - (1 << 32)
        if model["commands"]:
            run(one, reader.resources)
    for command in model["commands"]:
        if command["type"] == "writeFile":
            resource = model["resources"][command["resource"]]
            data = reader.resources[command["resource"]]
            file = Path(command["targetPath"])  # in the current folder by default
            file.write_bytes(npy(resource["initialValuesDataType"], data))
            print(f"Resource '{command['resource']}' written to '{file}'")
    return 0


def created(one: Any, level: str) -> str:
    """The HRESULT with which creation fails; nothing if it does not."""
    if dmlops.from_json(one).validate(level):
        return "80070057"
    return "" if one["type"] in COMPUTED else "887A0004"


def run(one: Any, buffers: dict[str, bytes]) -> None:
    """Computes an operator over the buffers of its tensors' names."""
    desc = one["desc"]
    output = desc["OutputTensor"]
    given = [read(desc[name], buffers[name]) for name in ("InputTensor", "IndicesTensor")]
    buffers["OutputTensor"] = written(output, COMPUTED[one["type"]](desc, *given), buffers["OutputTensor"])


def gather_elements(desc: Any, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    size = values.shape[desc["Axis"]]
    places = np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
    return np.take_along_axis(values, places, desc["Axis"])


COMPUTED: dict[str, Callable[..., np.ndarray]] = {"DML_OPERATOR_GATHER_ELEMENTS": gather_elements}


def places(tensor: Tensor) -> list[int]:
    """The offsets of the elements, in row-major order of their coordinates."""
    sizes = tensor["Sizes"]
    strides = tensor.get("Strides") or [int(np.prod(sizes[d + 1 :])) for d in range(len(sizes))]
    coordinates = itertools.product(*map(range, sizes))
    return [sum(at * stride for at, stride in zip(one, strides, strict=True)) for one in coordinates]


def stored(tensor: Tensor) -> np.dtype:
    code = FORMATS[tensor["DataType"]]
    return np.dtype("<" + {"b": "i1", "B": "u1"}.get(code, code))


def read(tensor: Tensor, data: bytes) -> np.ndarray:
    found = np.frombuffer(data, stored(tensor))[places(tensor)].reshape(tensor["Sizes"])
    return found.astype(np.int64) if found.dtype == np.uint32 else found


def written(tensor: Tensor, values: np.ndarray, before: bytes) -> bytes:
    after = np.frombuffer(bytearray(before), stored(tensor))
    after[places(tensor)] = values.astype(stored(tensor)).ravel()
    return after.tobytes()


def npy(kind: str, data: bytes) -> bytes:
    """A file of NumPy's as DxDispatch writes it: one dimension, a heading of whole blocks of 64 bytes."""
    code = FORMATS[kind]
    sizes = {"e": "f2", "f": "f4", "d": "f8", "B": "u1", "H": "u2", "I": "u4", "Q": "u8"}
    sizes |= {"b": "i1", "h": "i2", "i": "i4", "q": "i8"}
    count = len(data) // int(sizes[code][1])
    head = f"{{'descr':'<{sizes[code]}', 'fortran_order':False, 'shape':({count},), }}".encode()
    length = (10 + len(head) + 1 + 63) // 64 * 64
    start = b"\x93NUMPY\x01\x00" + (length - 10).to_bytes(2, "little")
    return (start + head).ljust(length - 1) + b"\n" + data


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
