"""Models for DxDispatch: DirectML's operator, or this registry's shaders, on buffers with the same bytes.

DxDispatch's parser (DxDispatch/src/model in the DirectML repository) requires more than the JSON form of
descriptions does: every count, every required member, enumerators by name. If one is missing, DxDispatch
fails before it calls DirectML, so descriptions that a model cannot express raise Inexpressible here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from ..description import Description
from ..elements import bits_of, stored
from ..enums import ENUMS, TensorDataType, TensorFlags, name_of
from ..gpu import input_bytes, plan
from ..gpu.direct3d import CONSTANTS, Resource, compiled
from ..gpu.work import Dispatch, tensor_names
from ..json_form import to_json
from ..member import Member
from ..paths import member_of
from ..registry import ALIASES
from ..tensor import TensorDesc
from .buffers import buffer_length, buffer_type

Json = dict[str, Any]

UNWRITTEN = 0xC3  # every byte of an output before the operator runs
SHADERS = "../../shaders"  # relative to a model
_CONSTANTS = 256  # Direct3D 12 requires constant buffer sizes to be multiples of this, in bytes
_FIRST_NAMES = {name: alias for alias, name in ALIASES.items()}


class Inexpressible(Exception):
    """A DxDispatch model cannot express the description; the message says why."""


def operator_model(desc: Description, inputs: Mapping[str, Any] | None = None) -> Json:
    """A model in which DirectML creates the operator and, if inputs are given, runs it and writes its
    outputs.

    `inputs` are as for `dmlops.reference.run`. The files are named as in `output_files`.
    """
    model: Json = {"resources": {}, "dispatchables": {"operator": operator_json(desc)}, "commands": []}
    if inputs is not None:
        model["resources"] = _tensor_buffers(desc, inputs, ())
        bindings = {"type": "dispatch", "dispatchable": "operator", "bindings": _bindings(desc)}
        model["commands"] = [bindings, *_writes(desc)]
    return model


def shader_model(desc: Description, inputs: Mapping[str, Any]) -> Json:
    """A model that runs the plan of a valid description, using the shaders in SHADERS.

    Raises Unsupported if there is no plan, GpuUnavailable if there is no compiler, CompileError.
    """
    work = plan(desc)
    resources = _tensor_buffers(desc, inputs, work.zero_initialize)
    for name, size in work.scratch.items():
        words = buffer_length(size) // 4
        value = 0 if name in work.zero_initialize else int.from_bytes(bytes([UNWRITTEN] * 4))
        resources[name] = _constant("UINT32", value, words)
    dispatchables: dict[str, Json] = {}
    commands = []
    for number, dispatch in enumerate(work.dispatches):
        shader = compiled(desc.OPERATOR, dispatch)
        made = _shader(dispatch.shader or desc.OPERATOR, shader.arguments)
        known = next((key for key, one in dispatchables.items() if one == made), f"shader{number}")
        dispatchables[known] = made
        bindings: Json = {one.name: _view(one, resources[one.buffer]) for one in shader.resources}
        if shader.has_constants:
            resources[f"constants{number}"] = _constants(dispatch)
            bindings[CONSTANTS] = f"constants{number}"
        groups = [*dispatch.groups, 1]
        commands.append(
            {"type": "dispatch", "dispatchable": known, "threadGroupCount": groups, "bindings": bindings}
        )
    commands += _writes(desc)
    return {"resources": resources, "dispatchables": dispatchables, "commands": commands}


def shaders_of(model: Json) -> Iterator[str]:
    """The operators whose shaders a model runs."""
    for one in model["dispatchables"].values():
        if one["type"] == "hlsl":
            yield one["sourcePath"].rpartition("/")[2].removesuffix(".hlsl").upper()


def output_files(desc: Description) -> dict[str, tuple[str, TensorDesc]]:
    """For each output tensor, by the name of its buffer, the file to which models write the buffer."""
    return {
        name: (name.replace("[", ".").rstrip("]") + ".npy", tensor)
        for name, tensor in tensor_names(desc, "output")
    }


def operator_json(desc: Description) -> Json:
    """A description in the form that DxDispatch's parser requires. Raises Inexpressible."""
    try:
        desc.to_ctypes()
    except ValueError as error:
        raise Inexpressible(str(error)) from None
    return _operator(desc, is_fused=False)


def _operator(desc: Description, is_fused: bool) -> Json:
    plain = to_json(desc)["desc"]
    members: Json = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if is_fused and member.type == "tensor":
            if value is not None:
                raise Inexpressible(f"{member.name} of a fused activation is not read")
        elif value is None:
            if not member.optional:
                raise Inexpressible(f"{member.name} is absent")
        elif member.count and getattr(desc, member.count) != len(value):
            raise Inexpressible(f"{member.count} is not the number of entries of {member.name}")
        elif member.typed_by:
            members[member.name] = _scalar(value, getattr(desc, member.typed_by))
        elif isinstance(value, tuple):
            given = plain[member.name]
            members[member.name] = [_member(member, *pair) for pair in zip(value, given, strict=True)]
        else:
            members[member.name] = _member(member, value, plain[member.name])
    name = _FIRST_NAMES.get(desc.OPERATOR, desc.OPERATOR)
    return {"type": f"DML_OPERATOR_{name}", "desc": members}


def _member(member: Member, value: Any, plain: Any) -> Any:
    """A member or one entry of it; `plain` is its JSON form."""
    if isinstance(value, TensorDesc):
        return _tensor(member.name, value)
    if isinstance(value, Description):
        return _operator(value, is_fused=True)
    if member.type in ENUMS and not isinstance(plain, str):
        raise Inexpressible(f"{member.name} is {plain}, which has no name")
    return bool(plain) if member.type == "BOOL" else plain


def _tensor(name: str, tensor: TensorDesc) -> Json:
    fields = to_json_tensor(tensor)
    for field, enum in (("DataType", TensorDataType), ("Flags", TensorFlags)):
        if not isinstance(getattr(tensor, field), enum):
            raise Inexpressible(f"{name}.{field} is {fields[field]}, which has no name")
    if tensor.TotalTensorSizeInBytes == 0:
        raise Inexpressible(f"{name}.TotalTensorSizeInBytes is 0, which stands for the size that is implied")
    return fields


def to_json_tensor(tensor: TensorDesc) -> Json:
    """All fields of a tensor, except that strides can be missing."""
    fields = {
        "DataType": name_of(TensorDataType, tensor.DataType),
        "Sizes": list(tensor.Sizes),
        "Flags": name_of(TensorFlags, tensor.Flags),
        "TotalTensorSizeInBytes": tensor.size_in_bytes,
        "GuaranteedBaseOffsetAlignment": tensor.GuaranteedBaseOffsetAlignment,
    }
    return fields if tensor.Strides is None else {**fields, "Strides": list(tensor.Strides)}


def _scalar(value: float, typed_by: Any) -> Any:
    """A scalar union: the number itself, or the field of its type if a number cannot express it."""
    data_type = typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by
    if not isinstance(data_type, TensorDataType) or data_type.bits < 8:
        raise Inexpressible(f"a scalar of the data type {data_type} is not read")
    if data_type.kind != "float":
        if value != int(value):
            raise Inexpressible(f"{value} is no {data_type.name}")
        return int(value)
    if isfinite(value):
        return float(value)
    if data_type.bits < 32:
        return {f"UInt{data_type.bits}": int(bits_of(stored(value, data_type)))}
    return {f"Float{data_type.bits}": str(value)}


def _shader(operator: str, arguments: list[str]) -> Json:
    path = f"{SHADERS}/{operator.lower()}.hlsl"
    return {"type": "hlsl", "sourcePath": path, "compiler": "dxc", "compilerArgs": arguments}


def _view(resource: Resource, buffer: Json) -> Json:
    """The whole buffer, viewed as the structures of a shader's resource."""
    count = _bytes_of(buffer) // resource.stride
    return {"name": resource.buffer, "elementCount": count, "elementSizeInBytes": resource.stride}


def _bindings(desc: Description) -> Json:
    """The buffers of each tensor member, those of an array in order."""
    bound: dict[str, Any] = {}
    for role in ("input", "output"):
        for name, _ in tensor_names(desc, role):
            member, index = member_of(name)
            if index is not None:
                bound.setdefault(member, []).append(name)
            else:
                bound[member] = name
    return bound


def _writes(desc: Description) -> list[Json]:
    return [
        {"type": "writeFile", "resource": name, "targetPath": file}
        for name, (file, _) in output_files(desc).items()
    ]


def _tensor_buffers(desc: Description, inputs: Mapping[str, Any], cleared: Iterable[str]) -> Json:
    """The buffers of all tensors by name: inputs with their bytes, outputs filled with UNWRITTEN, or 0 if
    cleared.
    """
    tensors = dict(tensor_names(desc, "input"))
    buffers: Json = {}
    for name, data in input_bytes(desc, inputs):
        kind = buffer_type(tensors[name].DataType)
        content = bytes(data).ljust(buffer_length(len(data)), b"\0")
        buffers[name] = {
            "initialValuesDataType": kind.name,
            "initialValues": [_number(one) for one in np.frombuffer(content, kind.numpy).tolist()],
        }
    for name, tensor in tensor_names(desc, "output"):
        kind, byte = buffer_type(tensor.DataType), 0 if name in cleared else UNWRITTEN
        value = np.frombuffer(bytes([byte] * 8), kind.numpy)[0].item()
        buffers[name] = _constant(
            kind.name, value, buffer_length(tensor.size_in_bytes) // kind.numpy.itemsize
        )
    return buffers


def _constant(kind: str, value: float, count: int) -> Json:
    return {"initialValuesDataType": kind, "initialValues": {"value": value, "valueCount": count}}


def _constants(dispatch: Dispatch) -> Json:
    words = [one for (one,) in struct.iter_unpack("<I", dispatch.constants)]
    size = -(-len(dispatch.constants) // _CONSTANTS) * _CONSTANTS
    return {"initialValuesDataType": "UINT32", "initialValues": words, "sizeInBytes": size}


def _bytes_of(resource: Json) -> int:
    values = resource["initialValues"]
    count = values["valueCount"] if isinstance(values, dict) else len(values)
    return int(count) * TensorDataType[resource["initialValuesDataType"]].bits // 8


def _number(value: float) -> float | str:
    """A number in JSON; DxDispatch takes NaN and infinities by name."""
    return value if isfinite(value) else str(value)
