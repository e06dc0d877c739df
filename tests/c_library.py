"""The C header compiled into a library, and its functions called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
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


class CViolation(ctypes.Structure):
    _fields_ = (("rule", c_char_p), ("member", c_void_p), ("message", c_char * 512), ("path", c_char * 96))


class CSlot(ctypes.Structure):
    _fields_ = (("member", c_char_p), ("entry", c_int64), ("tensor", c_void_p), ("optional", c_int))


OF_DESC = (c_size_t, c_void_p, c_uint32, c_void_p, c_size_t)
OF_GRAPH = (c_size_t, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t)
OF_BINDINGS = (c_size_t, c_void_p, c_void_p, c_size_t)
FUNCTIONS: dict[str, tuple[Any, ...]] = {  # the types of results and of arguments
    "validate": OF_DESC,
    "advise": OF_DESC,
    "min_feature_level": (c_uint32, c_void_p),
    "tensor_size": (c_uint64, c_uint32, c_uint32, c_void_p, c_void_p),
    "infer_output": (c_int, c_void_p, c_size_t, c_void_p, c_void_p),
    "infer_output_or_reason": (c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p),
    "to_json": (c_size_t, c_void_p, c_void_p, c_size_t),
    "copy": (c_size_t, c_void_p, c_void_p, c_size_t),
    "slots": (c_size_t, c_void_p, c_int, c_void_p, c_size_t),
    "graph_work": (c_size_t, c_void_p, c_void_p),
    "validate_graph": OF_GRAPH,
    "advise_on_graph": OF_GRAPH,
    "min_feature_level_of_graph": (c_uint32, c_void_p, c_void_p, c_void_p),
    "graph_to_json": (c_size_t, c_void_p, c_void_p, c_void_p, c_size_t),
    "requirements": (c_size_t, c_void_p, c_int, c_void_p, c_size_t),
    "graph_requirements": (c_size_t, c_void_p, c_void_p, c_int, c_void_p, c_size_t),
    "validate_bindings": OF_BINDINGS,
    "advise_on_bindings": OF_BINDINGS,
}
MOST = 256  # violations that are read
GUARD = b"\xa5" * 64


class Header:
    """The functions of the header, compiled into a library that stops at the first undefined act."""

    def __init__(
        self,
        folder: Path,
        header: Path = ROOT / "generated/include/dmlops.h",
        options: tuple[str, ...] = ("-O2",),
        functions: dict[str, tuple[Any, ...]] = FUNCTIONS,
    ) -> None:
        options += ("-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
        library = ctypes.CDLL(str(build(header, "library.c", folder / "library.so", "gcc", *options)))
        self.call = library
        for name, (result, *arguments) in functions.items():
            function = getattr(library, f"dmlops_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self.call, name, function)
        self._found = (CViolation * MOST)()

    def judged(self, function: Callable[..., int], *arguments: Any) -> Violations:
        """The violations that a function writes, which it also counts without room for them."""
        count = function(*arguments, self._found, MOST)
        assert function(*arguments, None, 0) == count
        found = self._found[: min(count, MOST)]
        places = [ctypes.addressof(one) + CViolation.path.offset for one in found]
        assert [one.member for one in found] == places, "members point to paths"
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
        return self.judged(self.call.validate, ctypes.addressof(desc), level)

    def advise(self, desc: ctypes.Structure, level: FeatureLevel) -> Violations:
        """The advice drawn at a feature level."""
        return self.judged(self.call.advise, ctypes.addressof(desc), level)

    def lowest(self, desc: ctypes.Structure) -> int:
        """The lowest feature level that accepts a description; 0 for none."""
        return int(self.call.min_feature_level(ctypes.addressof(desc)))

    def infer(self, desc: ctypes.Structure | None, number: int = 0) -> Output | int:
        """An output, or why it does not follow."""
        buffer, sizes = Buffer(), (c_uint32 * 8)()
        place = None if desc is None else ctypes.addressof(desc)
        ended = int(self.call.infer_output(place, number, ctypes.byref(buffer), sizes))
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
        if self.call.infer_output_or_reason(*arguments) == INFERRED:
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
        return int(self.call.to_json(ctypes.addressof(desc), memory, size))

    def tensor_size(self, data_type: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
        """The bytes of a tensor."""
        arrays = [None if one is None else (c_uint32 * len(one))(*one) for one in (sizes, strides)]
        return int(self.call.tensor_size(data_type, len(sizes), *arrays))


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
