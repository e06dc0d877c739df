"""ctypes structures against a C compiler's layout of the same members."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

import dmlops
from dmlops import abi
from dmlops.registry import OPERATORS, STRUCTS, operator
from test_dmlops import OPERATORS as COVERED
from test_dmlops import gather_elements, tensor

INCLUDE = Path(__file__).parents[1] / "generated" / "include"

# Written from the documentation of DirectML, not from the registry.
HEADER = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef struct {
    int DataType; int Flags; uint32_t DimensionCount; const uint32_t* Sizes; const uint32_t* Strides;
    uint64_t TotalTensorSizeInBytes; uint32_t GuaranteedBaseOffsetAlignment;
} DML_BUFFER_TENSOR_DESC;
typedef struct { int Type; const void* Desc; } DML_TENSOR_DESC;
typedef struct { int Type; const void* Desc; } DML_OPERATOR_DESC;
#define TENSORS const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
typedef struct { TENSORS uint32_t Axis, IndexDimensions; } DML_GATHER_OPERATOR_DESC;
typedef struct { TENSORS uint32_t Axis; } DML_GATHER_ELEMENTS_OPERATOR_DESC;
typedef struct { TENSORS uint32_t InputDimensionCount, IndicesDimensionCount; } DML_GATHER_ND_OPERATOR_DESC;
typedef struct {
    TENSORS uint32_t InputDimensionCount, IndicesDimensionCount, BatchDimensionCount;
} DML_GATHER_ND1_OPERATOR_DESC;
"""


def structures() -> dict[str, type[ctypes.Structure]]:
    general = {name: abi.struct(name, members) for name, members in STRUCTS.items()}
    described = {f"DML_{name}_OPERATOR_DESC": abi.desc_struct(operator(name)) for name in COVERED}
    return {**general, **described}


def check_layouts(header: str, structs: dict[str, type[ctypes.Structure]], folder: Path) -> None:
    """Compares sizes and offsets with those that a C compiler prints."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.fail("no C compiler: install one, for instance with `apt-get install gcc`")
    prints = [
        f'printf("{name} size %zu\\n", sizeof({name}));'
        + "".join(
            f'printf("{name} {field[0]} %zu\\n", offsetof({name}, {field[0]}));' for field in struct._fields_
        )
        for name, struct in structs.items()
    ]
    source = folder / "layout.c"
    source.write_text(header + "int main(void) { " + "\n".join(prints) + " return 0; }\n")
    subprocess.run([compiler, "-I", INCLUDE, "-o", folder / "layout", source], check=True)
    printed = subprocess.run([folder / "layout"], capture_output=True, text=True, check=True).stdout
    for one in printed.splitlines():
        name, field, number = one.split()
        found = ctypes.sizeof(structs[name]) if field == "size" else getattr(structs[name], field).offset
        assert found == int(number), one


def test_layouts_equal_those_of_a_c_compiler(tmp_path: Path) -> None:
    wanted = {name: structure for name, structure in structures().items() if f"}} {name};" in HEADER}
    assert len(wanted) == 7
    check_layouts(HEADER, wanted, tmp_path)


def test_layouts_equal_those_of_the_c_header(tmp_path: Path) -> None:
    described = {f"DML_{name}_OPERATOR_DESC": abi.desc_struct(operator(name)) for name in OPERATORS}
    check_layouts('#include <stddef.h>\n#include <stdio.h>\n#include "dmlops.h"\n', described, tmp_path)


def at(kind: str, address: int) -> ctypes.Structure:
    return structures()[kind].from_address(address)


def test_values_are_where_c_reads_them() -> None:
    desc = gather_elements(
        InputTensor=tensor(4, 5, Strides=(8, 1), Flags=dmlops.TensorFlags.OWNED_BY_DML), Axis=1
    )
    made = desc.to_ctypes()
    assert made.Type == dmlops.OperatorType.GATHER_ELEMENTS
    inner = at("DML_GATHER_ELEMENTS_OPERATOR_DESC", made.Desc)
    assert inner.Axis == 1
    outer = at("DML_TENSOR_DESC", inner.InputTensor)
    buffer = at("DML_BUFFER_TENSOR_DESC", outer.Desc)
    assert (outer.Type, buffer.DataType, buffer.Flags, buffer.DimensionCount) == (1, 1, 1, 2)
    assert (buffer.TotalTensorSizeInBytes, buffer.GuaranteedBaseOffsetAlignment) == (116, 0)
    assert list((ctypes.c_uint32 * 2).from_address(buffer.Sizes)) == [4, 5]
    assert list((ctypes.c_uint32 * 2).from_address(buffer.Strides)) == [8, 1]
    packed = at("DML_BUFFER_TENSOR_DESC", at("DML_TENSOR_DESC", inner.OutputTensor).Desc)
    assert packed.Strides is None
    assert (
        at(
            "DML_GATHER_ELEMENTS_OPERATOR_DESC", gather_elements(InputTensor=None).to_ctypes().Desc
        ).InputTensor
        is None
    )


def test_what_c_cannot_hold_is_refused() -> None:
    for changes in ({"Axis": 1 << 32}, {"Axis": -1}, {"InputTensor": tensor(4, 1 << 32)}):
        with pytest.raises(ValueError, match="does not fit"):
            gather_elements(**changes).to_ctypes()
    with pytest.raises(ValueError, match="one count for both"):
        gather_elements(InputTensor=tensor(4, 5, Strides=(1,))).to_ctypes()
