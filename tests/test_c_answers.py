"""What the C header answers beside violations: feature levels, outputs that follow, sizes of tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_runner import build
from dmlgen.registry import Operator, Registry
from dmlgen.resolve import load_registry
from dmlops import TensorDataType, TensorDesc
from dmlops.abi import struct
from dmlops.registry import STRUCTS
from random_descriptions import matrix_cases, matrix_forms, random_forms

ROOT = Path(__file__).parents[1]
Buffer: Any = struct("DML_BUFFER_TENSOR_DESC", STRUCTS["DML_BUFFER_TENSOR_DESC"])
INFERRED, NO_OUTPUT, NEEDS_INPUT, NEEDS_CHOICE, NO_SIZES = range(5)
MOST_BYTES = 1 << 60
ONLY_IN_PYTHON = {"DML-OPERATOR-array-length", "DML-OPERATOR-scalar-range", "DML-TENSOR-strides-count"}


@dataclass(frozen=True)
class Output:
    """An output as C infers it."""

    data_type: int
    sizes: tuple[int, ...]
    has_strides: bool
    total: int


class Library:
    """The header, compiled into a library that stops at the first undefined act."""

    def __init__(self, folder: Path) -> None:
        options = ("-O1", "-fPIC", "-shared", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
        header = ROOT / "generated/include/dmlops.h"
        self._library = ctypes.CDLL(str(build(header, "answers.c", folder / "answers.so", "gcc", *options)))
        self._library.tensor_size.restype = ctypes.c_uint64
        self._library.infer.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)

    def lowest(self, desc: dmlops.Description) -> int:
        return int(self._library.lowest(ctypes.byref(desc.to_ctypes())))

    def infer(self, desc: dmlops.Description | None, number: int = 0) -> Output | int:
        """The output, or why it does not follow."""
        buffer, sizes = Buffer(), (ctypes.c_uint32 * 8)()
        described = None if desc is None else desc.to_ctypes()
        place = None if described is None else ctypes.addressof(described)
        ended = int(self._library.infer(place, number, ctypes.addressof(buffer), ctypes.addressof(sizes)))
        if ended != INFERRED:
            assert bytes(buffer) == bytes(Buffer()) and not any(sizes), "written to all the same"
            return ended
        assert buffer.Sizes == ctypes.addressof(sizes)
        rank = buffer.DimensionCount
        return Output(
            buffer.DataType, tuple(sizes[:rank]), buffer.Strides is not None, buffer.TotalTensorSizeInBytes
        )

    def tensor_size(self, data_type: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
        arrays = [None if one is None else (ctypes.c_uint32 * len(one))(*one) for one in (sizes, strides)]
        places = [None if one is None else ctypes.addressof(one) for one in arrays]
        described = Buffer(data_type, 0, len(sizes), *places, 0, 0)
        return int(self._library.tensor_size(ctypes.byref(described)))


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry(ROOT / "specs")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("library"))


def descriptions() -> Iterator[dmlops.Description]:
    """Those of the matrices, and random ones, that C structs can hold."""
    for _, form in chain(matrix_forms(), islice(random_forms(5), 6000)):
        if not exact(form):
            continue
        try:
            desc = dmlops.from_json(form)
            desc.to_ctypes()
            violations = desc.validate(str(dmlops.FeatureLevel.LEVEL_6_4))
        except ValueError:
            continue
        absent = (member.count and getattr(desc, member.name) is None for member in desc.MEMBERS)
        if not any(absent) and not ONLY_IN_PYTHON & {one.rule for one in violations}:
            yield desc


def exact(value: Any) -> bool:
    """Whether every fraction in a JSON form is the same in the 32 bits that C has for it."""
    if isinstance(value, dict | list):
        return all(map(exact, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or ctypes.c_float(value).value == value


# Feature levels.


def test_lowest_levels_are_those_of_the_python_package(library: Library) -> None:
    found = set()
    for desc in descriptions():
        level = desc.min_feature_level()
        assert library.lowest(desc) == (0 if level is None else level), desc
        found.add(level)
    assert found == {None, *dmlops.FeatureLevel}


# Outputs.


def test_outputs_are_those_of_the_python_package(library: Library, registry: Registry) -> None:
    inferred = set()
    for desc in chain(descriptions(), without_outputs(registry)):
        operator = registry.operator[desc.OPERATOR]
        if not all(len(tensor.Sizes) <= 8 for tensor in inputs(desc, operator)):
            continue
        answers = [library.infer(desc, number) for number in range(len(operator.outputs))]
        try:
            expected = desc.infer()
        except ValueError:
            assert any(isinstance(answer, int) for answer in answers), desc
            continue
        for output, answer in zip(operator.outputs, answers, strict=True):
            tensor = getattr(expected, output.name)
            if isinstance(tensor, TensorDesc):
                assert answer == as_c(tensor, answer), (desc, output.name)
                inferred |= {desc.OPERATOR} if isinstance(answer, Output) else set()
    following = {operator.name for operator in registry.operators if operator.inferences}
    assert inferred >= following


def without_outputs(registry: Registry) -> Iterator[dmlops.Description]:
    for case in matrix_cases():
        operator = registry.operator[case["type"].removeprefix("DML_OPERATOR_")]
        outputs = {output.name for output in operator.outputs if not output.count}
        desc = {name: value for name, value in case["desc"].items() if name not in outputs}
        if case["expect"]["ok"]:
            yield dmlops.from_json({"type": case["type"], "desc": desc})


def inputs(desc: dmlops.Description, operator: Operator) -> Iterator[TensorDesc]:
    for member in operator.inputs:
        value = getattr(desc, member.name)
        yield from value if isinstance(value, tuple) else () if value is None else (value,)


def as_c(tensor: TensorDesc, answer: Output | int) -> Output | int:
    """What C says of an output that Python infers, and that C may not be able to hold."""
    fits = 1 <= len(tensor.Sizes) <= 8 and all(0 <= size < 1 << 32 for size in tensor.Sizes)
    if not fits or not isinstance(tensor.DataType, TensorDataType) or tensor.DataType == 0:
        assert answer in (NEEDS_INPUT, NEEDS_CHOICE, NO_SIZES)
        return answer
    total = tensor.TotalTensorSizeInBytes or size_of(tensor)
    return Output(tensor.DataType, tensor.Sizes, tensor.Strides is not None, total)


def size_of(tensor: TensorDesc) -> int:
    """The bytes of a tensor by the offset of its last element, without the registry's arithmetic."""
    strides = tensor.element_strides
    last = sum((size - 1) * stride for size, stride in zip(tensor.Sizes, strides, strict=True))
    bits = (last + 1) * tensor.DataType.bits
    total = -(-bits // 32) * 4
    return total if 0 not in tensor.Sizes and total < MOST_BYTES - 4 else 0


def test_outputs_that_follow_in_full_are_those_of_valid_cases(library: Library, registry: Registry) -> None:
    """A valid description has the outputs that follow from the rest of it."""
    compared = 0
    for case in matrix_cases():
        operator = registry.operator[case["type"].removeprefix("DML_OPERATOR_")]
        if case["expect"]["ok"]:
            desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
            for number, output in enumerate(operator.outputs):
                tensor = getattr(desc, output.name)
                answer = library.infer(replace(desc, **{output.name: None}), number)
                if isinstance(answer, Output) and tensor is not None:
                    assert (answer.data_type, answer.sizes) == (tensor.DataType, tensor.Sizes)
                    compared += 1
    assert compared > len(registry.operators)


def test_reasons_why_an_output_does_not_follow(library: Library) -> None:
    tensor = TensorDesc(TensorDataType.FLOAT32, (2, 3))
    cast = dmlops.Cast(InputTensor=tensor)
    half = TensorDesc(TensorDataType.FLOAT16, ())
    assert library.infer(cast) == NEEDS_CHOICE
    assert library.infer(replace(cast, OutputTensor=half)) == Output(
        TensorDataType.FLOAT16, (2, 3), False, 12
    )
    assert library.infer(cast, 1) == NO_OUTPUT
    assert library.infer(None) == NO_OUTPUT
    assert library.infer(replace(cast, InputTensor=None)) == NEEDS_INPUT
    tile = dmlops.Tile(InputTensor=tensor, Repeats=((1 << 32) - 1, 2))
    assert library.infer(tile) == NO_SIZES


# Sizes.


@pytest.mark.parametrize(
    ("type_", "sizes", "strides", "size"),
    [
        ("FLOAT32", (2, 3), None, 24),
        ("FLOAT16", (3,), None, 8),
        ("UINT8", (1, 1, 1, 5), None, 8),
        ("INT4", (9,), None, 8),
        ("UINT4", (8,), None, 4),
        ("FLOAT32", (2, 3), (4, 1), 28),
        ("FLOAT32", (2, 3), (0, 0), 4),
        ("FLOAT64", (65536, 65536), None, 1 << 35),
        ("UINT8", (1, 65536, 65536), (0, 65536, 1), 1 << 32),
        ("FLOAT32", (2, 0), None, 0),
        ("UNKNOWN", (2, 3), None, 0),
        ("FLOAT32", (2, 2), ((1 << 32) - 1, 1), 4 * ((1 << 32) + 1)),
        ("FLOAT32", (65536,) * 4, None, 0),
        ("FLOAT32", ((1 << 32) - 1,) * 8, ((1 << 32) - 1,) * 8, 0),
    ],
)
def test_sizes_of_tensors(
    library: Library, type_: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None, size: int
) -> None:
    assert library.tensor_size(TensorDataType[type_], sizes, strides) == size
