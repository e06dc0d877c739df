"""The C header compiled into a library, and its functions called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_char, c_uint32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c_declarations import HEADER, declare, struct_of
from c_runner import build
from dmlops import FeatureLevel, TensorDataType, TensorDesc

Buffer, CViolation = struct_of("DML_BUFFER_TENSOR_DESC"), struct_of("dmlops_violation")
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


MOST = 256  # violations that are read
GUARD = b"\xa5" * 64


class Header:
    """The functions of the header, compiled into a library that stops at the first undefined act."""

    def __init__(self, folder: Path, header: Path = HEADER, *options: str) -> None:
        options = options or ("-O2",)
        options += ("-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
        self.call = ctypes.CDLL(str(build(header, "library.c", folder / "library.so", "gcc", *options)))
        declare(self.call)
        self._found = (CViolation * MOST)()

    def judged(self, function: Callable[..., int], *arguments: Any) -> Violations:
        """The violations that a function writes, which it also counts without room for them."""
        count = function(*arguments, self._found, MOST)
        assert function(*arguments, None, 0) == count
        found = self._found[: min(count, MOST)]
        for one in found:
            member = c_void_p.from_buffer(one, CViolation.member.offset).value
            assert member == ctypes.addressof(one) + CViolation.path.offset, "members point to paths"
        return [(one.rule.decode(), one.path.decode(), one.message.decode()) for one in found]


def guarded(size: int) -> Any:
    """Memory of so many bytes, with others behind it."""
    whole = size + len(GUARD)
    return (c_char * whole).from_buffer_copy((GUARD * whole)[:whole])


def is_untouched(memory: Any) -> bool:
    """Whether nothing was written behind it."""
    return bytes(memory.raw[-len(GUARD) :]) == GUARD


class Library(Header):
    """What the header says of descriptions."""

    def validate(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        """The violations at a feature level."""
        return self.judged(self.call.dmlops_validate, ctypes.addressof(desc), level)

    def advise(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        """The advice drawn at a feature level."""
        return self.judged(self.call.dmlops_advise, ctypes.addressof(desc), level)

    def lowest(self, desc: ctypes.Structure) -> int:
        """The lowest feature level that accepts a description; 0 for none."""
        return int(self.call.dmlops_min_feature_level(ctypes.addressof(desc)))

    def infer(self, desc: ctypes.Structure | None, number: int = 0) -> Output | int:
        """An output, or why it does not follow."""
        buffer, sizes = Buffer(), (c_uint32 * 8)()
        place = None if desc is None else ctypes.addressof(desc)
        ended = int(self.call.dmlops_infer_output(place, number, ctypes.byref(buffer), sizes))
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
        buffer, sizes, why = Buffer(), (c_uint32 * 8)(), CViolation()
        place = None if desc is None else ctypes.addressof(desc)
        arguments = (place, number, ctypes.byref(buffer), sizes, ctypes.byref(why))
        if self.call.dmlops_infer_output_or_reason(*arguments) == INFERRED:
            return [""]
        return [why.rule.decode(), why.path.decode(), why.message.decode()]

    def to_json(self, desc: ctypes.Structure) -> str:
        """The description as JSON, written into memory of just that size."""
        length = self.write_json(desc, None, 0)
        memory = ctypes.create_string_buffer(b"\xff" * (length + 2), length + 2)
        assert self.write_json(desc, memory, length + 1) == length
        assert memory.raw[length:] == b"\0\xff"
        return memory.value.decode()

    def write_json(self, desc: ctypes.Structure, memory: Any, size: int) -> int:
        """Writes as much of the JSON as fits, and returns its length."""
        return int(self.call.dmlops_to_json(ctypes.addressof(desc), memory, size))

    def tensor_size(self, data_type: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
        """The bytes of a tensor."""
        arrays = [None if one is None else (c_uint32 * len(one))(*one) for one in (sizes, strides)]
        return int(self.call.dmlops_tensor_size(data_type, len(sizes), *arrays))


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
