"""The C header compiled into a library (tests/c/answers.c) and called through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c_runner import build
from dmlops import FeatureLevel, TensorDataType, TensorDesc
from dmlops.abi import struct
from dmlops.registry import STRUCTS

ROOT = Path(__file__).parents[1]
Buffer: Any = struct("DML_BUFFER_TENSOR_DESC", STRUCTS["DML_BUFFER_TENSOR_DESC"])
INFERRED, NO_OUTPUT, NEEDS_INPUT, NEEDS_CHOICE, NO_SIZES = range(5)
MOST_BYTES = 1 << 60

Violations = list[tuple[str, str, str]]  # rule, member, message


@dataclass(frozen=True)
class Output:
    """An output as C infers it."""

    data_type: int
    sizes: tuple[int, ...]
    has_strides: bool
    total: int


class Library:
    """The header, compiled into a library that stops at the first undefined act."""

    def __init__(self, folder: Path, header: Path = ROOT / "generated/include/dmlops.h") -> None:
        options = ("-O2", "-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
        library = ctypes.CDLL(str(build(header, "answers.c", folder / "answers.so", "gcc", *options)))
        self._judge, self._lowest, self._infer = library.judge, library.lowest, library.infer
        self._tensor_size = library.tensor_size
        self._judge.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int)
        self._judge.restype = ctypes.c_char_p
        self._lowest.argtypes = (ctypes.c_void_p,)
        self._infer.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
        self._tensor_size.restype = ctypes.c_uint64
        self._reason, self._to_json = library.reason, library.to_json
        self._reason.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._reason.restype = ctypes.c_char_p
        self._to_json.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
        self._to_json.restype = ctypes.c_size_t

    def validate(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        """The violations at a feature level."""
        return self._judged(desc, level, False)

    def advise(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        """The advice drawn at a feature level."""
        return self._judged(desc, level, True)

    def _judged(self, desc: ctypes.Structure, level: FeatureLevel, advice: bool) -> Violations:
        lines = self._judge(ctypes.addressof(desc), level, advice).decode().splitlines()
        return [(rule, member, message) for rule, member, message in (line.split("\t") for line in lines)]

    def lowest(self, desc: ctypes.Structure) -> int:
        """The lowest feature level that accepts a description; 0 for none."""
        return int(self._lowest(ctypes.addressof(desc)))

    def infer(self, desc: ctypes.Structure | None, number: int = 0) -> Output | int:
        """An output, or why it does not follow."""
        buffer, sizes = Buffer(), (ctypes.c_uint32 * 8)()
        place = None if desc is None else ctypes.addressof(desc)
        ended = int(self._infer(place, number, ctypes.addressof(buffer), ctypes.addressof(sizes)))
        if ended != INFERRED:
            assert bytes(buffer) == bytes(Buffer()) and not any(sizes), "written to all the same"
            return ended
        assert buffer.Sizes == ctypes.addressof(sizes)
        rank = buffer.DimensionCount
        return Output(
            buffer.DataType, tuple(sizes[:rank]), buffer.Strides is not None, buffer.TotalTensorSizeInBytes
        )

    def reason(self, desc: ctypes.Structure | None, number: int = 0) -> list[str]:
        """Why an output does not follow: rule, member, message."""
        place = None if desc is None else ctypes.addressof(desc)
        return str(self._reason(place, number).decode()).split("\t")

    def to_json(self, desc: ctypes.Structure) -> str:
        """The description as JSON, written into memory of just that size."""
        length = self.write_json(desc, None, 0)
        memory = ctypes.create_string_buffer(b"\xff" * (length + 2), length + 2)
        assert self.write_json(desc, memory, length + 1) == length
        assert memory.raw[length:] == b"\0\xff"
        return memory.value.decode()

    def write_json(self, desc: ctypes.Structure, memory: Any, size: int) -> int:
        """Writes as much of the JSON as fits, and returns its length."""
        return int(self._to_json(ctypes.addressof(desc), memory, size))

    def tensor_size(self, data_type: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
        """The bytes of a tensor."""
        arrays = [None if one is None else (ctypes.c_uint32 * len(one))(*one) for one in (sizes, strides)]
        places = [None if one is None else ctypes.addressof(one) for one in arrays]
        described = Buffer(data_type, 0, len(sizes), *places, 0, 0)
        return int(self._tensor_size(ctypes.byref(described)))


def as_c(tensor: TensorDesc, is_given: bool) -> Output | None:
    """C's result for an output that the Python package infers, or finds given; None if C cannot hold it."""
    fits = 1 <= len(tensor.Sizes) <= 8 and all(0 <= size < 1 << 32 for size in tensor.Sizes)
    if not fits or not isinstance(tensor.DataType, TensorDataType) or tensor.DataType == 0:
        return None
    total = (is_given and tensor.size_in_bytes) or tensor.TotalTensorSizeInBytes or _size_of(tensor)
    return Output(tensor.DataType, tensor.Sizes, tensor.Strides is not None, total)


def _size_of(tensor: TensorDesc) -> int:
    """The bytes of a tensor by the offset of its last element, without the registry's arithmetic."""
    strides = tensor.element_strides
    last = sum((size - 1) * stride for size, stride in zip(tensor.Sizes, strides, strict=True))
    bits = (last + 1) * tensor.DataType.bits
    total = -(-bits // 32) * 4
    return total if 0 not in tensor.Sizes and total < MOST_BYTES - 4 else 0
