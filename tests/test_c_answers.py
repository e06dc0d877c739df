"""The C header beyond validation: inferred outputs and tensor sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dmlops
from c_differential import outputs
from c_library import NEEDS_CHOICE, NEEDS_INPUT, NO_OUTPUT, NO_SIZES, Library, Output, as_c
from dmlgen.registry import Operator, Registry
from dmlops import TensorDataType, TensorDesc
from random_descriptions import matrix_cases

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("library"))


# Outputs.


def test_outputs_that_are_left_out_are_those_of_the_python_package(
    library: Library, registry: Registry
) -> None:
    inferred = set()
    for case in matrix_cases():
        operator = registry.operator[case["type"].removeprefix("DML_OPERATOR_")]
        left_out = {output.name for output in operator.outputs if not output.count}
        if case["expect"]["ok"]:
            members = {name: value for name, value in case["desc"].items() if name not in left_out}
            desc = dmlops.from_json({"type": case["type"], "desc": members})
            expected, found = outputs(desc, desc.to_ctypes(), library)
            assert found == expected, desc
            inferred |= {operator.name} if any(found) else set()
    assert inferred >= {operator.name for operator in registry.operators if follow_in_full(operator)}


def follow_in_full(operator: Operator) -> bool:
    """Whether the data type and the sizes of all outputs that must be there follow from the rest."""
    fields = {(one.tensor, one.field) for one in operator.inferences if one.when is None}
    names = [output.name for output in operator.outputs if not output.optional]
    return bool(names) and all({(name, "DataType"), (name, "Sizes")} <= fields for name in names)


def test_outputs_that_follow_in_full_are_those_of_valid_cases(library: Library, registry: Registry) -> None:
    """A valid description has the outputs that follow from the rest of it."""
    compared = 0
    for case in matrix_cases():
        operator = registry.operator[case["type"].removeprefix("DML_OPERATOR_")]
        if case["expect"]["ok"]:
            desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
            for number, output in enumerate(operator.outputs):
                tensor = getattr(desc, output.name)
                answer = library.infer(replace(desc, **{output.name: None}).to_ctypes(), number)
                if isinstance(answer, Output) and tensor is not None:
                    assert answer.data_type == tensor.DataType
                    if not operator.is_default(output.name, "Sizes"):
                        assert answer.sizes == tensor.Sizes
                    compared += 1
    assert compared > len(registry.operators)


def test_sizes_that_are_only_a_default_stay_where_they_are_given(library: Library) -> None:
    def pooling(output: TensorDesc | None) -> dmlops.Description:
        return dmlops.AveragePooling(
            InputTensor=TensorDesc(TensorDataType.FLOAT32, (1, 1, 4, 4)),
            OutputTensor=output,
            DimensionCount=2,
            Strides=(3, 1),
            WindowSize=(2, 2),
            StartPadding=(0, 0),
            EndPadding=(0, 0),
            IncludePadding=False,
        )

    rounded_up = TensorDesc(TensorDataType.FLOAT32, (1, 1, 2, 3))  # as ONNX's ceil_mode has it
    assert pooling(rounded_up).infer() == pooling(rounded_up)
    assert library.infer(pooling(rounded_up).to_ctypes()) == as_c(rounded_up, is_given=True)
    rounded_down = TensorDesc(TensorDataType.FLOAT32, (1, 1, 1, 3))
    assert pooling(None).infer() == pooling(rounded_down)
    assert library.infer(pooling(None).to_ctypes()) == as_c(rounded_down, is_given=False)


def test_reasons_why_an_output_does_not_follow(library: Library) -> None:
    tensor = TensorDesc(TensorDataType.FLOAT32, (2, 3))
    cast = dmlops.Cast(InputTensor=tensor)
    half = TensorDesc(TensorDataType.FLOAT16, ())
    assert library.infer(cast.to_ctypes()) == NEEDS_CHOICE
    assert library.infer(replace(cast, OutputTensor=half).to_ctypes()) == Output(
        TensorDataType.FLOAT16, (2, 3), False, 12
    )
    assert library.infer(cast.to_ctypes(), 1) == NO_OUTPUT
    assert library.infer(None) == NO_OUTPUT
    assert library.infer(replace(cast, InputTensor=None).to_ctypes()) == NEEDS_INPUT
    tile = dmlops.Tile(InputTensor=tensor, Repeats=((1 << 32) - 1, 2))
    assert library.infer(tile.to_ctypes()) == NO_SIZES


def test_the_reasons_in_words(library: Library) -> None:
    tensor = TensorDesc(TensorDataType.FLOAT32, (2, 3))
    cast = dmlops.Cast(InputTensor=tensor)

    def reason(desc: dmlops.Description, number: int = 0) -> list[str]:
        return library.reason(desc.to_ctypes(), number)

    assert reason(replace(cast, OutputTensor=tensor)) == [""]
    choice = "OutputTensor.DataType does not follow from the inputs and must be given"
    assert reason(cast) == ["", "OutputTensor.DataType", choice]
    assert reason(cast, 1) == ["", "", "CAST has no output 1"]
    absent = "InputTensor is absent; the outputs of CAST do not follow without it"
    assert reason(replace(cast, InputTensor=None)) == ["", "InputTensor", absent]
    relu = dmlops.ActivationRelu(InputTensor=TensorDesc(77, (2, 3)))
    unknown = "InputTensor.DataType is 77; the data type of OutputTensor does not follow from it"
    assert reason(relu) == ["", "InputTensor.DataType", unknown]
    long = replace(relu, InputTensor=TensorDesc(TensorDataType.FLOAT32, (1,) * 9))
    assert reason(long)[:2] == ["DML-TENSOR-rank", "InputTensor.DimensionCount"]
    gemm = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0}
    wrong = dmlops.Gemm(ATensor=TensorDesc(1, (1, 1, 2, 3)), BTensor=TensorDesc(1, (1, 1, 4, 5)), **gemm)
    assert reason(wrong)[:2] == ["DML-GEMM-inner-size", "BTensor.Sizes[2]"]
    tile = dmlops.Tile(InputTensor=tensor, Repeats=((1 << 32) - 1, 2))
    assert reason(tile) == ["", "OutputTensor.Sizes", "OutputTensor.Sizes would be [8589934590, 6]"]
    assert library.reason(None)[0] == "DML-OPERATOR-required"


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
        ("FLOAT32", (1, 1, 1, 1, 1, 1, 1, 1, 3), None, 12),  # more dimensions than a tensor has
        ("FLOAT32", (65536,) * 4, None, 0),
        ("FLOAT32", ((1 << 32) - 1,) * 8, ((1 << 32) - 1,) * 8, 0),
    ],
)
def test_sizes_of_tensors(
    library: Library, type_: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None, size: int
) -> None:
    assert library.tensor_size(TensorDataType[type_], sizes, strides) == size
