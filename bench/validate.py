"""Microseconds to validate one GATHER_ELEMENTS description in Python, compared with other ways to do it.

`python bench/validate.py`: three tensors with sizes and strides, valid at feature level 6.4. The hand-written
checks are those of the rules, over slotted objects, and stop at the first error; the others check what a
schema can express. Times with construction are compared with hand-written code that constructs the same.
"Again" is the same description once more: tensors remember that they were found valid.
"""

from __future__ import annotations

import dataclasses
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import fastjsonschema
import jsonschema
import msgspec
import pydantic

import dmlops

TYPES = [
    "FLOAT64",
    "FLOAT32",
    "FLOAT16",
    "INT64",
    "INT32",
    "INT16",
    "INT8",
    "UINT64",
    "UINT32",
    "UINT16",
    "UINT8",
]
INDICES = ["INT64", "INT32", "UINT64", "UINT32"]
Array = tuple[list[int], list[int]]  # sizes, strides
CASES: dict[str, tuple[Array, Array, int]] = {
    "rank 2": (([3, 3], [3, 1]), ([2, 3], [3, 1]), 0),
    "rank 4": (([2, 3, 4, 5], [60, 20, 5, 1]), ([2, 3, 4, 2], [24, 8, 2, 1]), 3),
}


# Hand-written.


@dataclass(slots=True)
class Tensor:
    type: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    flags: int = 0
    total: int | None = None
    alignment: int = 0


@dataclass(slots=True)
class ByHand:
    input: Tensor
    indices: Tensor
    output: Tensor
    axis: int


NUMBERS = {name: dmlops.TensorDataType[name].value for name in TYPES}
BITS = {NUMBERS[name]: dmlops.TensorDataType[name].bits for name in TYPES}
TYPE_NUMBERS, INDEX_NUMBERS = frozenset(BITS), frozenset(NUMBERS[name] for name in INDICES)


def fault_of_tensor(tensor: Tensor, is_input: bool) -> str | None:
    sizes, strides = tensor.sizes, tensor.strides
    rank = len(sizes)
    if rank < 1 or rank > 8:
        return "rank"
    count = span = 1
    if strides is None:
        for size in sizes:
            if size < 1 or size > 4294967295:
                return "sizes"
            count *= size
        span = count
    else:
        if len(strides) != rank:
            return "strides"
        for d, size in enumerate(sizes):
            stride = strides[d]
            if size < 1 or size > 4294967295:
                return "sizes"
            if stride < 0 or stride > 4294967295:
                return "strides"
            count *= size
            span += (size - 1) * stride
    if count > 4294967295:
        return "element count"
    bits = BITS.get(tensor.type, 0)
    needed = (span * bits + 31) // 32 * 4
    total = needed if tensor.total is None else tensor.total
    if total < needed or total > 18446744073709551615:
        return "total size"
    if bits != 0 and total > (4294967295 * bits + 31) // 32 * 4:
        return "total size"
    alignment = tensor.alignment
    if alignment != 0 and (
        alignment < bits // 8 or alignment & (alignment - 1) or alignment < 0 or alignment > 4294967295
    ):
        return "alignment"
    if tensor.flags not in (0, 1) or (tensor.flags == 1 and not is_input):
        return "flags"
    return None


def fault_by_hand(desc: ByHand) -> str | None:
    input, indices, output, axis = desc.input, desc.indices, desc.output, desc.axis
    if input is None or indices is None or output is None:
        return "absent"
    fault = fault_of_tensor(input, True) or fault_of_tensor(indices, True) or fault_of_tensor(output, False)
    if fault is not None:
        return fault
    if axis < 0 or axis > 4294967295:
        return "axis"
    sizes, index_sizes = input.sizes, indices.sizes
    rank = len(sizes)
    if len(index_sizes) != rank or len(output.sizes) != rank:
        return "ranks"
    if axis >= rank:
        return "axis"
    if input.type not in TYPE_NUMBERS or indices.type not in INDEX_NUMBERS or output.type not in TYPE_NUMBERS:
        return "types"
    if output.type != input.type:
        return "types"
    for d in range(rank):
        if d != axis and index_sizes[d] != sizes[d]:
            return "indices"
    if output.sizes != index_sizes:
        return "output"
    return None


# Schemas.

UInt = Annotated[int, msgspec.Meta(ge=0, le=4294967295), pydantic.Field(ge=0, le=4294967295)]
Size = Annotated[int, msgspec.Meta(ge=1, le=4294967295), pydantic.Field(ge=1, le=4294967295)]
RANKS = msgspec.Meta(min_length=1, max_length=8), pydantic.Field(min_length=1, max_length=8)


class MsgspecTensor(msgspec.Struct, frozen=True):
    DataType: str
    Sizes: Annotated[list[Size], RANKS[0]]
    Strides: Annotated[list[UInt], RANKS[0]]


class MsgspecDesc(msgspec.Struct, frozen=True):
    InputTensor: MsgspecTensor
    IndicesTensor: MsgspecTensor
    OutputTensor: MsgspecTensor
    Axis: UInt


class PydanticTensor(pydantic.BaseModel):
    DataType: str
    Sizes: Annotated[list[Size], RANKS[1]]
    Strides: Annotated[list[UInt], RANKS[1]]


class PydanticDesc(pydantic.BaseModel):
    InputTensor: PydanticTensor
    IndicesTensor: PydanticTensor
    OutputTensor: PydanticTensor
    Axis: UInt


def schema() -> dict[str, Any]:
    integer = {"type": "integer", "minimum": 0, "maximum": 4294967295}
    array = {"type": "array", "minItems": 1, "maxItems": 8, "items": integer}

    def tensor(names: list[str]) -> dict[str, Any]:
        fields = {
            "DataType": {"enum": names},
            "Sizes": {**array, "items": {**integer, "minimum": 1}},
            "Strides": array,
        }
        return {"type": "object", "properties": fields, "required": ["DataType", "Sizes"]}

    members = {"InputTensor": tensor(TYPES), "IndicesTensor": tensor(INDICES), "OutputTensor": tensor(TYPES)}
    return {"type": "object", "properties": {**members, "Axis": integer}, "required": [*members, "Axis"]}


def microseconds(action: Callable[[], object]) -> float:
    """The best of many batches of about a millisecond: longer ones would be interrupted on a busy machine."""
    timer = timeit.Timer(action)
    count = max(timer.autorange()[0] // 200, 1)
    return min(timer.repeat(600, count)) / count * 1e6


class Case:
    """One description in every form."""

    def __init__(self, sizes: Array, indices: Array, axis: int) -> None:
        fields = {
            "InputTensor": ("FLOAT32", *sizes),
            "IndicesTensor": ("UINT32", *indices),
            "OutputTensor": ("FLOAT32", *indices),
        }
        self.axis = axis
        self.tensors = [
            (dmlops.TensorDataType[name], NUMBERS[name], tuple(one), tuple(two))
            for name, one, two in fields.values()
        ]
        self.plain: dict[str, Any] = {
            name: {"DataType": type_, "Sizes": one, "Strides": two}
            for name, (type_, one, two) in fields.items()
        }
        self.plain["Axis"] = axis
        self.desc, self.by_hand = self.make_desc(), self.make_by_hand()

    def make_desc(self) -> dmlops.GatherElements:
        input, indices, output = (
            dmlops.TensorDesc(type_, one, Strides=two) for type_, _, one, two in self.tensors
        )
        return dmlops.GatherElements(
            InputTensor=input, IndicesTensor=indices, OutputTensor=output, Axis=self.axis
        )

    def make_by_hand(self) -> ByHand:
        input, indices, output = (Tensor(number, one, two) for _, number, one, two in self.tensors)
        return ByHand(input, indices, output, self.axis)

    def forget(self) -> None:
        """Resets what tensors remember of being sound, so that the next validation is a first one."""
        for tensor in (self.desc.InputTensor, self.desc.IndicesTensor, self.desc.OutputTensor):
            object.__setattr__(tensor, "_state", 0)

    def validate_again(self) -> object:
        self.forget()
        return self.desc.validate("6.4")


def measure(case: Case) -> dict[str, float]:
    by_schema, compiled = jsonschema.Draft7Validator(schema()), fastjsonschema.compile(schema())
    return {
        "by hand": microseconds(lambda: fault_by_hand(case.by_hand)),
        "dmlops, a new description": microseconds(case.validate_again) - microseconds(case.forget),
        "dmlops, again": microseconds(lambda: case.desc.validate("6.4")),
        "by hand, with construction": microseconds(lambda: fault_by_hand(case.make_by_hand())),
        "dmlops, with construction": microseconds(lambda: case.make_desc().validate("6.4")),
        "msgspec, with construction": microseconds(lambda: msgspec.convert(case.plain, MsgspecDesc)),
        "pydantic, with construction": microseconds(lambda: PydanticDesc.model_validate(case.plain)),
        "fastjsonschema": microseconds(lambda: compiled(case.plain)),
        "jsonschema": microseconds(lambda: by_schema.validate(case.plain)),
    }


def main() -> None:
    for title, arguments in CASES.items():
        case = Case(*arguments)
        assert case.desc.validate("6.4") == [] and fault_by_hand(case.by_hand) is None
        assert dataclasses.replace(case.desc, Axis=9).validate("6.4")
        assert fault_by_hand(dataclasses.replace(case.by_hand, axis=9))
        print(f"{title}: microseconds, and times as long as by hand")
        taken = measure(case)
        for name, time in taken.items():
            by_hand = taken["by hand, with construction" if "construction" in name else "by hand"]
            print(f"  {name:30} {time:9.2f} {time / by_hand:8.2f}")


if __name__ == "__main__":
    main()
