"""Compares the buffers that were written with the expected elements."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass

import numpy as np

from ..elements import computed
from ..gpu.memory import array_of
from ..safe_text import shown
from .buffers import buffer_length, buffer_type
from .index import Output, Unreadable

_HEADER = 1 << 16  # largest header of a NumPy file, in bytes


@dataclass(frozen=True)
class Difference:
    """The first element that differs, and how many do. `ulp`: units in the last place; None for integers."""

    tensor: str
    coordinate: tuple[int, ...]
    expected: float
    found: float
    ulp: int | None
    count: int

    def __str__(self) -> str:
        ulp = "" if self.ulp is None else f", {self.ulp} ulp"
        others = f"; {self.count} elements differ" if self.count > 1 else ""
        return f"{self.tensor}{list(self.coordinate)} is {self.found}, not {self.expected}{ulp}{others}"


def largest_file(output: Output) -> int:
    """The largest size of an output's file, in bytes."""
    return _HEADER + buffer_length(output.tensor.size_in_bytes)


def elements_of(output: Output, data: bytes) -> np.ndarray:
    """The elements in an output's file. Raises Unreadable for any other file; nothing is unpickled."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, data_type = read(file)
    except Exception:  # the header is a Python literal, which can fail in many ways
        raise Unreadable(f"{output.file} is not a NumPy file") from None
    wanted = buffer_type(output.tensor.DataType).numpy
    length = buffer_length(output.tensor.size_in_bytes)
    if data_type != wanted or fortran:
        raise Unreadable(f"{output.file} has elements of {shown(str(data_type))}, not {wanted}")
    if math.prod(shape) * wanted.itemsize != length:
        raise Unreadable(f"{output.file} is of shape {shown(str(shape))}, not {(length // wanted.itemsize,)}")
    content = file.read(length)
    if len(content) != length:
        raise Unreadable(f"{output.file} ends after {len(content)} of {length} bytes")
    return array_of(output.tensor, bytearray(content))


def difference(output: Output, found: np.ndarray) -> Difference | None:
    """The difference of elements from the expected ones by more than the tolerance; None if there is none."""
    values = computed(found, output.tensor.DataType)
    wrong = [
        (at, expected, value)
        for at, (expected, value) in enumerate(zip(output.elements, values.ravel().tolist(), strict=True))
        if expected is not None and not _is_close(output, expected, value)
    ]
    if not wrong:
        return None
    at, expected, value = wrong[0]
    coordinate = tuple(map(int, np.unravel_index(at, output.tensor.Sizes))) if output.tensor.Sizes else ()
    return Difference(
        output.name, coordinate, expected, value, _ulp(found.dtype, expected, value), len(wrong)
    )


def _is_close(output: Output, expected: float, found: float) -> bool:
    """Whether two elements agree within the tolerance; NaN equals NaN, and an infinity only itself."""
    if expected == found or (expected != expected and found != found):
        return True
    if not (output.absolute or output.relative) or not (math.isfinite(expected) and math.isfinite(found)):
        return False
    return abs(found - expected) <= output.absolute + output.relative * abs(expected)


def _ulp(data_type: np.dtype, expected: float, found: float) -> int | None:
    """The distance between two floats in ULPs; None for integers, and if one is not a number."""
    if data_type.kind != "f" or math.isnan(expected) or math.isnan(found):
        return None
    return abs(_place(data_type, expected) - _place(data_type, found))


def _place(data_type: np.dtype, value: float) -> int:
    """The rank of a float among all floats of its type; 0 and -0 have the same."""
    bits = int(np.array(value, data_type).view(f"i{data_type.itemsize}"))
    return bits if bits >= 0 else -(bits & ~(-1 << 8 * data_type.itemsize - 1))
