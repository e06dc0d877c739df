"""Runs operators on a GPU through Vulkan, with the shaders that this package carries.

Needs the packages of the extra `gpu` (Vulkan bindings, a shader compiler) and a Vulkan driver; without them
`run` and `devices` raise GpuUnavailable, whose message says what to install.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..errors import InvalidDescription
from . import compiler
from .errors import GpuUnavailable, Unsupported
from .memory import array_of, buffer_size, tensor_bytes
from .plan import plan_of
from .variant import choose

if TYPE_CHECKING:
    import numpy as np

    from .device import Device

__all__ = ["GpuUnavailable", "Unsupported", "devices", "run", "shader"]

FEATURE_LEVEL = "6.4"


def devices() -> list[str]:
    """The names of the Vulkan devices here, the fastest kind first."""
    from .device import names

    return names()


def run(
    desc: Any, inputs: Mapping[str, np.ndarray], device: Device | str | int | None = None
) -> dict[str, np.ndarray]:
    """The output tensors of an operator.

    Arrays are logical: their shape is the tensor's Sizes, their type its DataType; strides of the
    description shape the buffers on the GPU. `device` is a Device, an index into `devices()`, a part of a
    name, or None for the fastest kind. Raises InvalidDescription, ValueError for inputs that do not fit the
    description, Unsupported for what the shaders cannot do, and GpuUnavailable.
    """
    violations = desc.validate(FEATURE_LEVEL)
    if violations:
        raise InvalidDescription(desc, violations)
    movement = plan_of(desc)
    names = (movement.input, movement.indices)
    unknown = sorted(set(inputs) - set(names))
    if unknown:
        raise ValueError(f"{desc.OPERATOR} has no input {unknown[0]}; its inputs are {' and '.join(names)}")
    buffers = [tensor_bytes(name, getattr(desc, name), inputs) for name in names]
    index_type = getattr(desc, movement.indices).DataType.numpy
    variant = choose(movement, index_type.itemsize, index_type.kind == "i")

    from .device import Device

    target = device if isinstance(device, Device) else Device.open(device)
    code = compiler.compile(shader(desc.OPERATOR), variant.defines)
    size = buffer_size(desc.OutputTensor)
    result = target.run(code, buffers, size, variant.constants, variant.groups)
    return {"OutputTensor": array_of(desc.OutputTensor, result)}


@cache
def shader(operator: str) -> str:
    """The HLSL of an operator, such as "GATHER". Raises Unsupported when it has none."""
    file = files("dmlops") / "hlsl" / f"{operator.lower()}.hlsl"
    if not file.is_file():
        raise Unsupported(f"{operator} has no shader yet")
    return file.read_text(encoding="utf-8")
