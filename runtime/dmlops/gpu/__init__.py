"""Runs operators on a GPU through Vulkan, with the shaders that this package includes.

Needs the packages of the extra `gpu` (Vulkan bindings, a shader compiler) and a Vulkan driver; without them
`run` and `devices` raise GpuUnavailable, whose message says what to install.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from ..arrays import checked, of_tensor
from ..data import data_file
from ..description import Description
from ..enums import LevelLike
from ..errors import InvalidDescription
from ..graph import Graph
from ..safe_text import shown
from ..value import WRONG_TYPE
from . import compiler
from .errors import GpuUnavailable, OutOfMemory, Unsupported
from .memory import array_of, buffer_size, overlaps, tensor_bytes
from .plans.capabilities import NO_CAPABILITIES, Capability
from .programs import Program
from .requirements import required_options
from .signing import is_signed, signed
from .work import Dispatch, Work, tensor_names, work_of

if TYPE_CHECKING:
    from .device import Device
    from .graphs.execute import Compiled
    from .graphs.traced import CompiledModel
    from .session import Session as Session

__all__ = [
    "Capability",
    "GpuUnavailable",
    "OutOfMemory",
    "Session",
    "Unsupported",
    "compile",
    "devices",
    "input_bytes",
    "is_signed",
    "plan",
    "required_options",
    "run",
    "shader",
    "signed",
]


def __getattr__(name: str) -> Any:
    """Session is imported on first use, since it needs what a device needs."""
    if name != "Session":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .session import Session

    return Session


def devices() -> list[str]:
    """The names of the Vulkan devices of this machine, the fastest kind first."""
    from .device import names

    return names()


def run(
    desc: Description,
    inputs: Mapping[str, Any],
    device: Device | str | int | None = None,
    in_place: str | Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Runs an operator, and returns its output tensors by name.

    Arrays are logical: their shape is the tensor's Sizes, their type its DataType; strides in the description
    only affect the layout of the buffers on the GPU. `device` is a Device, an index into `devices()`, part of
    a name, or None for the fastest kind. `in_place` names an input whose buffer the output shares, one of the
    operator's IN_PLACE, or maps outputs to such inputs; both then have the same layout. Raises
    InvalidDescription, ValueError for arrays that do not fit the description, Unsupported for what the
    shaders cannot do, GpuUnavailable, and TypeError if `desc` is not a description or `device` none of the
    above.
    """
    checked_description(desc)
    arrays = checked(desc, inputs)
    from .device import Device

    target = Device.open(device)
    program = program_of(desc, target)
    if not program.compiled:  # every output is absent
        return {}
    uploads = dict(input_bytes(desc, arrays))
    shared = {} if in_place is None else shared_buffers(desc, in_place)
    results = target.run(program, uploads, shared)
    found = {name: array_of(tensor, results[name]) for name, tensor in program.outputs.items()}
    return by_member(desc, found)


def compile(
    source: Any,
    device: Device | str | int | None = None,
    level: LevelLike | None = None,
    dims: Mapping[str, int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Compiled | CompiledModel:
    """A graph or a model, ready to run on a device: calling the result with arrays by name gives arrays.

    `source` is a dmlops.Graph, an ONNX model (a file's path or an `onnx.ModelProto`), or a WebNN graph in the
    form of W3C's cases. A graph is compiled at once, a model on the first call with inputs of new shapes.
    `level` and `dims` are as for `dmlops.onnx.run`; `device` is as for `run`. `progress` is called with the
    number of shaders that are compiled, and of all. `close` frees the device's memory.

    Raises ValueError for an invalid graph, Unsupported for what the shaders cannot do, OutOfMemory,
    GpuUnavailable, and what `dmlops.onnx.read` or `dmlops.webnn.read` raises.
    """
    from .device import Device
    from .graphs.execute import compile_graph
    from .graphs.traced import CompiledModel, traceable

    target = Device.open(device)
    if isinstance(source, Graph):
        return compile_graph(source, target, progress)
    make = partial(compile_graph, device=target, progress=progress, packed=True)
    return CompiledModel(traceable(source, level, dims), make)


def checked_description(desc: Description) -> None:
    """Raises TypeError if `desc` is not a description, InvalidDescription if it breaks rules."""
    if not isinstance(desc, Description):
        raise TypeError(f"{shown(desc)} is not an operator description")
    violations = desc.validate()  # at the newest level
    if violations:
        raise InvalidDescription(desc, violations)


def by_member(desc: Description, found: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs by member; a list if the member is an array of tensors."""
    return {
        member.name: [found[f"{member.name}[{i}]"] for i in range(len(getattr(desc, member.name)))]
        if member.count
        else found[member.name]
        for member in desc.MEMBERS
        if member.role == "output" and getattr(desc, member.name) is not None
    }


def shared_buffers(desc: Description, in_place: str | Mapping[str, str]) -> Mapping[str, str]:
    """The input whose buffer each output shares. Raises ValueError if it may not."""
    if not desc.IN_PLACE:
        raise ValueError(f"{desc.OPERATOR} does not run in place")
    outputs, inputs = dict(tensor_names(desc, "output")), dict(tensor_names(desc, "input"))
    if isinstance(in_place, str):
        if len(outputs) > 1:
            raise ValueError(f"{desc.OPERATOR} has several outputs; say which of them share whose buffer")
        in_place = dict.fromkeys(outputs, in_place)
    if not isinstance(in_place, Mapping):
        raise ValueError(f"{shown(in_place)} is neither an input's name nor a mapping of outputs to inputs")
    for output, source in in_place.items():
        for name, tensors, role in ((output, outputs, "output"), (source, inputs, "input")):
            if not isinstance(name, str) or name not in tensors:
                raise ValueError(f"{desc.OPERATOR} has no {role} {shown(name)}; it has {', '.join(tensors)}")
        if source not in desc.IN_PLACE:
            shared = " or ".join(desc.IN_PLACE)
            raise ValueError(f"{output} cannot share the buffer of {source}; {desc.OPERATOR} allows {shared}")
        first, second = outputs[output], inputs[source]
        if (first.DataType.bits, first.element_strides) != (second.DataType.bits, second.element_strides):
            raise ValueError(f"{source} and {output} have different layouts, so they cannot share a buffer")
        if list(in_place.values()).count(source) > 1:
            raise ValueError(f"several outputs cannot share the buffer of {source}")
    return in_place


def plan(desc: Description, capabilities: Capability = NO_CAPABILITIES) -> Work:
    """The dispatches of a description, on a device with these capabilities.

    Raises InvalidDescription, Unsupported for what the shaders cannot do, and TypeError if `desc` is not a
    description.
    """
    checked_description(desc)
    try:
        return work_of(desc, capabilities)
    except NotImplementedError as error:
        raise Unsupported(f"{desc.OPERATOR} has no shader yet") from error


def input_bytes(desc: Description, arrays: Mapping[str, Any]) -> Iterator[tuple[str, memoryview]]:
    """The contents of the input buffers, by name."""
    for name, tensor in tensor_names(desc, "input"):
        yield name, tensor_bytes(name, tensor, of_tensor(arrays, name))


def program_of(desc: Description, device: Device) -> Program:
    """The program of a description on a device, which caches it. Only valid descriptions have one.

    Raises Unsupported for what the shaders or the device cannot do, and the errors of `checked_description`.
    """
    # Members of the wrong type may have no hash.
    may_be_known = isinstance(desc, Description) and not desc._state & WRONG_TYPE
    found = device.programs.get(desc) if may_be_known else None
    if found is None:
        found = _new_program(desc, device)
        device.programs.keep(desc, found)
    return found


def _new_program(desc: Description, device: Device) -> Program:
    work = plan(desc, device.capabilities)
    inputs, outputs = dict(tensor_names(desc, "input")), dict(tensor_names(desc, "output"))
    tensors = inputs | outputs
    reaches = {name: tensor.size_in_bytes for name, tensor in tensors.items()}
    sizes = {name: buffer_size(tensor) for name, tensor in tensors.items()} | dict(work.scratch)
    if work.dispatches:
        device.check_sizes(sizes.values())
    for name, tensor in outputs.items():
        if overlaps(tensor):
            raise Unsupported(f"{name} has elements that share memory, but each of them is written")
    compiled: list[tuple[bytes, Dispatch]] = []
    for dispatch in work.dispatches:
        operator = dispatch.shader or desc.OPERATOR
        macros = tuple(dispatch.defines.items())
        code = byte_code(device, operator, shader(operator), macros, len(dispatch.buffers))
        compiled.append((code, dispatch))
    return Program(work, tuple(compiled), inputs, outputs, reaches, sizes)


def byte_code(
    device: Device,
    operator: str,
    source: str,
    macros: tuple[tuple[str, int | str], ...],
    storage_buffers: int,
) -> bytes:
    """The byte code of a shader's variant with that many storage buffers.

    Raises Unsupported for what the device lacks.
    """
    if device.loop_flags:
        source = compiler.with_loop_test(source, storage_buffers)
    code, features = _byte_code(source, macros)
    for feature in features:
        if feature not in device.optional_features:
            raise Unsupported(f"{device.name} lacks {feature}, which {operator} needs for these data types")
    return code


@lru_cache(maxsize=512)
def _byte_code(source: str, macros: tuple[tuple[str, int | str], ...]) -> tuple[bytes, list[str]]:
    """The byte code of a shader's variant, which many descriptions share, and the optional features it
    needs."""
    code = compiler.compile(source, dict(macros))
    return code, compiler.optional_features(code)


@cache
def shader(operator: str) -> str:
    """The HLSL of an operator, such as "GATHER". Raises Unsupported if it has none."""
    file = data_file(f"hlsl/{operator.lower()}.hlsl")
    if not file.is_file():
        raise Unsupported(f"{operator} has no shader yet")
    return file.read_text(encoding="utf-8")
