"""Definitions of outputs on a GPU: a dispatch for each intermediate tensor and each output, in order.

All intermediate tensors lie in one scratch buffer. What the description alone gives is worked out here and
told to the shader by name. A recurrence takes one dispatch for each step of each of its tensors.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from ..definition import Defined, Evaluation, Pass
from ..enums import OperatorType, TensorDataType
from ..fused import activation_parameter
from .activation import activated_apart
from .errors import Unsupported
from .types import MAX_RANK, check_span, tensor_defines
from .work import Dispatch, Work, grid

NUM_THREADS = 64
SCRATCH = "scratch"
MAX_COUNT = 2**31
"""Elements of a tensor, and words of scratch: shaders count them as signed integers."""

Values = Mapping[str, Any]


def work(computation: Defined) -> Work:
    """The dispatches of a definition. Raises Unsupported for what its shader cannot do."""
    arrays = {one.each for one in computation.shader.passes if one.each}
    if not arrays:
        return _work(computation, 0)
    [each] = arrays
    parts = [_work(computation, number) for number in range(len(getattr(computation.desc, each)))]
    return Work(tuple(one for part in parts for one in part.dispatches), parts[0].scratch, parts[0].cleared)


def _work(computation: Defined, number: int) -> Work:
    """The same, of an array of tensors for the one with that number."""
    desc, shader = computation.desc, computation.shader
    fused = activations(desc, shader.fused) if shader.fused else []
    for one in fused:
        if OperatorType[one.OPERATOR] not in shader.activations:
            return activated_apart(computation, one)
    evaluation = Evaluation(desc, {})
    evaluation.index = number
    computation.define(evaluation)
    given = {name: evaluation.tensor(name) for name in shader.tensors}
    for name, tensor in given.items():
        if tensor is not None:
            check_span(name, tensor)
    present = [name for name in evaluation.outputs if given[name] is not None]
    if not present:
        return Work(())
    passes = needed(shader.passes, present)
    values: dict[str, Any] = {name: value() for name, value in evaluation.known.items()}
    for name, (_, local) in shader.tensors.items():
        tensor = given[name]
        values[f"{local}Sizes"] = () if tensor is None else tensor.Sizes
        values[f"{local}Strides"] = () if tensor is None else tensor.element_strides
    words = 0
    sizes: dict[str, Sequence[int]] = {n: tensor.Sizes for n, tensor in given.items() if tensor is not None}
    written = {name for one in passes for name in one.targets}
    real = TensorDataType.FLOAT64 if evaluation.real is np.float64 else TensorDataType.FLOAT32
    entry_words = {"REAL_VALUE": real.bits // 32, "int64_t": 2}
    for name, (_, local, type_) in shader.kept.items():
        # What no output needs is not computed; its sizes may make no sense.
        sizes[name] = tuple(map(int, evaluation.tensors[name].sizes())) if name in written else ()
        values[f"{local}Sizes"], values[f"{local}First"] = sizes[name], words
        words += prod(sizes[name]) * entry_words.get(type_, 1) if name in written else 0
    if words >= MAX_COUNT:
        raise Unsupported(f"{desc.OPERATOR} needs {4 * words} bytes of scratch; shaders reach 2**33")

    defines: dict[str, int | str] = {**tensor_defines("REAL", real), "NUM_THREADS": NUM_THREADS}
    for name, (macro, _) in shader.tensors.items():
        tensor = given[name]
        data_type = TensorDataType.UINT32 if tensor is None else tensor.DataType
        defines |= tensor_defines(macro, data_type, name in shader.bits)
        defines[f"{macro}_PRESENT"] = int(tensor is not None)
    for name in shader.limited:
        tensor = given[name]
        defines |= limits(
            shader.tensors[name][0], TensorDataType.UINT32 if tensor is None else tensor.DataType
        )
    defines |= {f"{macro}_BOUND": int(values[name]) for name, macro in shader.bounds}
    constants = b""
    for kind, name, macro in shader.lists:
        defines[f"{macro}_LENGTH"] = len(values[name])
        constants += listed(kind, values[name])
    if shader.activations:
        defines["ACTIVATION_COUNT"] = max(len(fused), 1)
        kinds = {OperatorType[one.OPERATOR] for one in fused}
        defines["ACTIVATION_KINDS"] = sum(
            1 << n for n, kind in enumerate(shader.activations) if kind in kinds
        )
        constants += b"".join(
            struct.pack(
                "<Iffi",
                OperatorType[one.OPERATOR],
                activation_parameter(one, 0),
                activation_parameter(one, 1),
                0,
            )
            for one in fused
        ) or bytes(16)
    scalars = b"".join(_scalar(kind, name, values[name]) for kind, name in shader.scalars)
    buffer = {
        name: f"{name}[{number}]" if isinstance(getattr(desc, name, None), tuple) else name for name in given
    }
    buffers = tuple(buffer[name if given[name] is not None else present[0]] for name in shader.tensors)
    buffers += (SCRATCH,) if shader.kept else ()
    numbers = {one.targets: number for number, one in enumerate(shader.passes)}

    def dispatch(one: Pass, step: int | None = None) -> Dispatch:
        shape = values[one.over] if one.over else sizes[one.targets[0]]
        count = prod(shape if step is None else shape[1:])
        if prod(shape) >= MAX_COUNT:
            raise Unsupported(f"{one.targets[0]} has {prod(shape)} elements; shaders count to 2**31")
        groups = grid(count, NUM_THREADS)
        first = 0 if step is None else step * count
        head = listed("ints", shape), struct.pack("<iIII", len(shape), count, first, groups[0])
        packed = head[0] + constants + head[1] + scalars
        packed = packed.ljust(-(-len(packed) // 16) * 16, b"\0")
        return Dispatch({**defines, "PASS": numbers[one.targets]}, buffers, packed, groups)

    dispatches: list[Dispatch] = []
    for along, group in groupby(passes, key=lambda one: one.along):
        together = list(group)
        steps = range(sizes[together[0].targets[0]][0]) if along else (None,)
        dispatches += [dispatch(one, step) for step in steps for one in together]
    scratch = {SCRATCH: max(4 * words, 8)} if shader.kept else {}
    cleared = [name for name in shader.held if given[name] is not None]
    cleared += [SCRATCH] if any(one.over for one in passes) else []
    return Work(tuple(dispatches), scratch, tuple(cleared))


def needed(passes: Sequence[Pass], present: Iterable[str]) -> list[Pass]:
    """The passes that lead to outputs that are present."""
    wanted = set(present)
    kept: list[Pass] = []
    before = -1
    while before != len(wanted):  # recurrences read in circles; names only ever join
        before = len(wanted)
        kept = [one for one in passes if not wanted.isdisjoint(one.targets)]
        wanted.update(name for one in kept for name in one.reads)
    return kept


def limits(macro: str, data_type: TensorDataType) -> dict[str, int | str]:
    """The macros of the least and greatest value of a data type, as HLSL."""
    bits, signed = data_type.bits, data_type.numpy.kind == "i"
    floats = data_type.numpy.kind == "f"
    if floats:
        low, high = "asfloat(0xff800000u)", "asfloat(0x7f800000u)"
    elif bits == 64:
        high = "(~((int64_t)1<<63))" if signed else "(~(uint64_t)0)"
        low = "((int64_t)1<<63)" if signed else "0"
    else:
        high = f"{(1 << bits - signed) - 1}{'' if signed else 'u' if bits == 32 else ''}"
        low = f"(-{(1 << bits - 1) - 1}-1)" if signed else "0"
    return {f"{macro}_LOWEST": low, f"{macro}_HIGHEST": high, f"{macro}_FLOATS": int(floats)}


def activations(desc: Any, member: str) -> list[Any]:
    """The fused activations of a description."""
    value = getattr(desc, member)
    return [] if value is None else list(value) if isinstance(value, tuple) else [value]


def listed(kind: str, entries: Sequence[Any]) -> bytes:
    """A list as two vectors of four words."""
    if len(entries) > MAX_RANK:
        raise Unsupported(f"a list of {len(entries)} numbers; shaders take {MAX_RANK}")
    packed = b"".join(_scalar(kind.removesuffix("s"), "an entry", entry) for entry in entries)
    return packed.ljust(4 * MAX_RANK, b"\0")


def _scalar(kind: str, name: str, value: Any) -> bytes:
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "element":
        return np.asarray(value).tobytes().ljust(8, b"\0")
    number = int(value)
    if not -(2**31) <= number < 2**32:
        raise Unsupported(f"{name} is {number}, beyond the 32 bits in which shaders count")
    # A limit of 2**31 or more, such as the greatest UINT, is none: shaders count to less.
    return struct.pack("<i", min(number, 2**31 - 1))
