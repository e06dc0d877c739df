"""What planners are told of a computation. The header has the same in C, generated from the same
expressions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from .. import compute
from ..computations.map import Map as MapComputation
from ..computations.map import Uniforms
from ..computations.reduce import Reduce as ReduceComputation
from ..computations.scatter import Scatter as ScatterComputation
from ..coordinates import Coordinates
from ..definition import Defined, Evaluation, Shader
from ..description import Description
from ..elements import stored
from ..enums import OperatorType, TensorDataType
from ..fused import activation_parameter
from ..registry import operator as described
from ..tensor import TensorDesc
from . import movement
from .memory import buffer_size
from .plans.definition import (
    Activation,
    Definition,
    DefinitionShader,
    Kept,
    Listed,
    Pass,
    needed,
    plan_definition,
)
from .plans.elementwise import Map, plan_map
from .plans.gather import Gather, plan_gather
from .plans.nearby import plan_nearby
from .plans.nonzero import Nonzero, plan_nonzero
from .plans.philox import Philox, plan_philox
from .plans.planning import Planning, Refused
from .plans.products import plan_products
from .plans.reasons import Reason
from .plans.reduce import Reduce, plan_reduce
from .plans.rows import plan_rows
from .plans.scan import Scan, plan_scan
from .plans.scatter import Scatter, plan_scatter
from .plans.separable import plan_separable
from .plans.sliding import plan_sliding
from .plans.told import MAX_RANK, NO_MEMBER, NONE, Buffer, Movement, Number, Switch, Tensor
from .plans.top_k import TopK, plan_top_k

KINDS: Mapping[str, tuple[Callable[..., Any], Callable[[Planning, Any], None]]] = {
    "reduce": (Reduce, plan_reduce),
    "scan": (Scan, plan_scan),
    "scatter": (Scatter, plan_scatter),
    "top_k": (TopK, plan_top_k),
    "nonzero": (Nonzero, plan_nonzero),
    "philox": (Philox, plan_philox),
}
"""By the form: what its planner is told, roles by name, and the planner."""

PLANNERS: Mapping[str, Callable[[Planning, Definition, DefinitionShader], None]] = {
    "definition": plan_definition,
    "products": plan_products,
    "sliding": plan_sliding,
    "rows": plan_rows,
    "separable": plan_separable,
    "nearby": plan_nearby,
}
"""Of definitions, by the name that shaders have for them."""


def plan(out: Planning, computation: Any) -> None:
    """Plans a computation. Raises Refused for what the shaders cannot do."""
    if isinstance(computation, Defined):
        _plan_definitions(out, computation)
    elif isinstance(computation, MapComputation):
        if computation.form == "gather":
            plan_gather(out, gather(computation))
        else:
            _plan_maps(out, computation)
    else:
        told, planner = KINDS[type(computation).__module__.rpartition(".")[2]]
        values = {name: _role(computation, name, type_) for name, type_ in get_hints(told).items()}
        planner(out, told(**values))


get_hints = cache(get_type_hints)

_Record = TypeVar("_Record", bound=tuple[Any, ...])


@cache
def _places(operator: str) -> dict[str, int]:
    members = described(operator).MEMBERS
    return {member.name: place for place, member in enumerate(members)}


@cache
def _type(data_type: TensorDataType) -> tuple[int, bool, bool]:
    return data_type.bits, data_type.kind == "float", data_type.kind == "signed"


@cache
def _absent(
    operator: str,
    name: str,
    macro: str,
    entry: int = 0,
    as_bits: bool = False,
    is_limited: bool = False,
    is_held: bool = False,
) -> Tensor:
    """A tensor of a member that is not there: of whole words, without dimensions."""
    place = _places(operator)[name]
    buffer, is_output = Buffer(place, entry), described(operator).MEMBERS[place].role == "output"
    return Tensor(macro, buffer, False, 32, False, False, as_bits, is_limited, is_output, is_held, (), ())


def _tensor(absent: Tensor, tensor: TensorDesc | None) -> Tensor:
    """What is told of a tensor, in place of what is told where it is absent."""
    if tensor is None:
        return absent
    return Tensor(
        absent.macro,
        absent.buffer,
        True,
        *_type(tensor.DataType),
        absent.as_bits,
        absent.is_limited,
        absent.is_output,
        absent.is_held,
        tensor.Sizes,
        tensor.element_strides,
    )


def _role(computation: Any, name: str, type_: Any) -> Any:
    """What a planner is told under a name: a tensor, where a movement leads, or a number."""
    if type_ is Movement:
        return _updates(computation)
    if isinstance(computation, ReduceComputation):
        value = _reduction(computation, name)
    else:
        value = getattr(computation, name)
    if type_ is Tensor:
        desc = computation.desc
        return _tensor(_absent(desc.OPERATOR, value, _macros(desc.OPERATOR)[value]), getattr(desc, value))
    return value


@cache
def _macros(operator: str) -> Mapping[str, str]:
    """What the macros of tensors begin with, in the shader of an operator, by member."""
    macros: Mapping[str, str] = _module(operator).MACROS
    return macros


def _module(operator: str) -> Any:
    """What an operator computes."""
    return import_module(f"{__package__.rpartition('.')[0]}.compute.{operator.lower()}")


def _reduction(computation: ReduceComputation, name: str) -> Any:
    case = computation.case
    match name:
        case "is_each":
            return case.is_each
        case "chooses":
            return case.better is not None
        case "shifts":
            return case.shift is not None
        case "switches":
            decreasing = [] if case.better is None else [Switch("DECREASING", int(computation.direction))]
            function = computation.function
            return [*decreasing, *([] if function is None else [Switch("FUNCTION", int(function))])]
    return getattr(computation, name)


def gather(computation: MapComputation) -> Gather:
    """What the planner of gathers is told. Raises Refused for what is no movement of elements."""
    desc: Any = computation.desc

    def load(name: str, at: Coordinates) -> movement.Read:
        return movement.reads(desc, at, name)

    output = desc.OutputTensor
    try:
        result = computation.element(desc, movement.coordinates(len(output.Sizes)), load)
    except (AttributeError, TypeError):  # from an operation that the symbols do not have
        raise Refused(Reason.INDICES, NO_MEMBER, 0) from None
    if not isinstance(result, movement.Read):
        raise Refused(Reason.INDICES, NO_MEMBER, 0)
    moved = movement.movement(result.offset, len(output.Sizes))
    indices = next(iter(result.offset.lookups)).index.tensor if moved.is_followed else result.tensor
    names = (result.tensor, indices, computation.output)
    macros = (*computation.shader.inputs.values(), computation.shader.output)
    tensors = [getattr(desc, name) for name in names]
    source, looked, target = (
        _tensor(_absent(desc.OPERATOR, name, macro), tensor)
        for name, macro, tensor in zip(names, macros, tensors, strict=True)
    )
    read, index, written = (tensor.size_in_bytes for tensor in tensors)
    return Gather(source, looked, target, read, index, written, moved)


def _updates(computation: ScatterComputation) -> Movement:
    """Where updates go: the operator's own `place`, called with symbols."""
    desc: Any = computation.desc

    def load(name: str, at: Coordinates) -> movement.Read:
        return movement.reads(desc, at, name)

    rank = len(getattr(desc, computation.updates).Sizes)
    try:
        place = computation.place(desc, movement.coordinates(rank), load)
        offset = movement.offset_of(place, getattr(desc, computation.output).element_strides)
    except (AttributeError, TypeError):
        return movement.NO_MOVEMENT
    return movement.movement(offset, rank)


def _plan_maps(out: Planning, computation: MapComputation) -> None:
    """A dispatch; one for each tensor where there is an array of them."""
    over = getattr(computation.desc, computation.over)
    if isinstance(over, tuple):
        for number in range(len(over)):
            plan_map(out, _map(computation, number, computation.uniforms(computation.desc, number)))
    else:
        plan_map(out, _map(computation, 0, computation.uniforms(computation.desc)))


def _map(computation: MapComputation, number: int, uniforms: Uniforms) -> Map:
    desc, shader = computation.desc, computation.shader
    as_bits = (*computation.moves, *computation.bits)

    def bound(name: str, macro: str) -> Tensor:
        """A tensor, one of an array by its place there or as the one under way."""
        member, _, place = name.partition("[")
        tensor, entry = getattr(desc, member), 0
        if isinstance(tensor, tuple):
            entry = int(place.rstrip("]")) if place else number
            tensor = tensor[entry] if entry < len(tensor) else None
        flags = member in as_bits, name in shader.limited
        return _tensor(_absent(desc.OPERATOR, member, macro, entry, *flags), tensor)

    output = bound(computation.output, shader.output)
    tensors = [bound(name, macro) for name, macro in shader.inputs.items()]
    for place, tensor in enumerate(tensors):
        if not tensor.is_present:  # nothing reads it; a resource stands in for it
            tensors[place] = output._replace(
                macro=tensor.macro,
                as_bits=computation.output in as_bits,
                is_limited=False,
                is_output=False,
            )
    over = next((place for place, name in enumerate(shader.inputs) if name == computation.over), len(tensors))
    tensors.append(output)
    elements: list[int] = []
    if uniforms.elements:
        target = getattr(desc, computation.output)
        data_type = (target[0] if isinstance(target, tuple) else target).DataType
        for value in uniforms.elements.values():
            elements += _pair(stored(value, data_type) if computation.moves else np.asarray(value))
    return Map(
        shader.aligned,
        over,
        tensors,
        [Switch(name, int(value)) for name, value in uniforms.switches.items()],
        elements,
        [_number(value) for value in uniforms.scalars.values()],
        list(uniforms.arrays.values()),
    )


def _pair(element: Any) -> tuple[int, int]:
    """An element of a tensor's type as two words."""
    bits = int.from_bytes(element.tobytes(), "little")
    return bits % 2**32, bits >> 32


def _number(value: float) -> Number:
    if isinstance(value, float | np.floating):
        return Number(_bits(value), True)
    return Number(int(value), False)


def _bits(value: float) -> int:
    """The bits of a number in single precision."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def _plan_definitions(out: Planning, computation: Defined) -> None:
    """The passes of a definition; all of them for each tensor where there is an array of them."""
    static = _static(computation.desc.OPERATOR)
    fused = getattr(computation.desc, computation.shader.fused) if computation.shader.fused else None
    if isinstance(fused, Description) and OperatorType[fused.OPERATOR] not in static.activations:
        _plan_apart(out, computation, fused)
        return
    arrays = {one.each for one in computation.shader.passes if one.each}
    count = max((len(getattr(computation.desc, each)) for each in arrays), default=1)
    for number in range(count):
        PLANNERS[computation.shader.planner](out, _definition(computation, static, number), static)


def _plan_apart(out: Planning, computation: Defined, activation: Description) -> None:
    """The operator without a fused activation that its shader does not take, then the activation's shader.

    Between the two, results lie in scratch, in the type in which they were computed: they are rounded once.
    """
    desc: Any = computation.desc
    (output,) = (member.name for member in desc.MEMBERS if member.role == "output")
    target = getattr(desc, output)
    double = target.DataType == TensorDataType.FLOAT64
    between = TensorDesc(TensorDataType.FLOAT64 if double else TensorDataType.FLOAT32, target.Sizes)
    scratch = out.scratch(buffer_size(between))
    place = _places(desc.OPERATOR)[output]
    out.places = {Buffer(place, 0): scratch}
    without = replace(desc, **{computation.shader.fused: None, output: between})
    _plan_definitions(out, replace(computation, desc=without))
    own = _places(activation.OPERATOR)
    places = {Buffer(own["InputTensor"], 0): scratch, Buffer(own["OutputTensor"], 0): Buffer(place, 0)}
    out.follow(activation.OPERATOR, places, place)
    alone: Any = activation
    plan(out, compute.computation(replace(alone, InputTensor=between, OutputTensor=target)))


def _definition(computation: Defined, static: DefinitionShader, number: int) -> Definition:
    """What the shader is told, of an array of tensors for the one with that number."""
    desc, shader = computation.desc, computation.shader
    evaluation = Evaluation(desc, {})
    evaluation.index = number
    computation.define(evaluation)
    known = evaluation.known()
    fused = getattr(desc, shader.fused) if shader.fused else None
    elements: list[int] = []
    for name in shader.elements:
        elements += _pair(np.asarray(known[name]))

    def bound(name: str, macro: str) -> Tensor:
        member, _, place = name.partition("[")
        tensor = getattr(desc, member)
        entry = int(place.rstrip("]")) if place else number if isinstance(tensor, tuple) else 0
        if isinstance(tensor, tuple):
            tensor = tensor[entry] if entry < len(tensor) else None
        flags = name in shader.bits, name in shader.limited, name in shader.held
        return _tensor(_absent(desc.OPERATOR, member, macro, entry, *flags), tensor)

    told: Definition = _record(Definition, known, "told")._replace(
        is_double=evaluation.real is np.float64,
        tensors=[bound(name, macro) for name, macro in shader.tensors.items()],
        lists=[Listed(*_entries(kind, known[name])) for kind, name, _ in shader.lists],
        elements=elements,
        numbers=[
            Number(_bits(known[name]), True) if kind == "float" else Number(int(known[name]), False)
            for kind, name in shader.scalars
        ],
        bounds=[int(known[name]) for name, _ in shader.bounds],
        activations=[
            _activation(one, shader.activations)
            for one in (() if fused is None else fused if isinstance(fused, tuple) else (fused,))
        ],
    )
    wanted = needed(told, static)  # the sizes of others may make no sense
    sizes = [
        _limited(tuple(map(int, evaluation.tensors[name].sizes()))) if wanted >> place & 1 else ()
        for place, name in enumerate(shader.kept)
    ]
    return told._replace(kept_sizes=sizes)


def _record(record: Any, known: Mapping[str, Any], path: str) -> Any:
    """What the evaluation knows of a record's fields, by the path to it; nothing where it does not."""
    return record(
        *(
            _record(inner, known, name) if inner is not None and first in known else known.get(name, nothing)
            for name, inner, first, nothing in _fields(record, path)
        )
    )


@cache
def _fields(record: Any, path: str) -> tuple[tuple[str, Any, str, Any], ...]:
    """Of each field of a record: its path, the record that it is, the path to the first number of that, which
    the evaluation knows if it knows any, and what it is where nothing is known."""
    found = []
    for name, type_ in get_hints(record).items():
        own = f"{path}.{name}"
        if _is_record(type_):
            found.append((own, type_, _first(type_, own), _record(type_, {}, own)))
        else:
            found.append((own, None, "", 0 if type_ in (int, bool) else ()))
    return tuple(found)


def _first(record: Any, path: str) -> str:
    """The path to the first number in a record, which may be that of a record."""
    name, type_ = next(iter(get_hints(record).items()))
    return _first(type_, f"{path}.{name}") if _is_record(type_) else f"{path}.{name}"


def _is_record(type_: Any) -> bool:
    return hasattr(type_, "_fields")


def _activation(desc: Description, known: Sequence[int]) -> Activation:
    """A fused activation; of one that the shader does not know, the operator alone."""
    kind = OperatorType[desc.OPERATOR].value
    if kind not in known:
        return Activation(kind, 0, 0)
    return Activation(kind, *(_bits(activation_parameter(desc, place)) for place in range(2)))


@cache
def _static(operator: str) -> DefinitionShader:
    """What is the same for all descriptions of an operator."""
    shader: Shader = _module(operator).SHADER
    kept, tensors = list(shader.kept), list(shader.tensors)
    passes = [
        Pass(
            number,
            one.targets[0] in kept,
            (kept if one.targets[0] in kept else tensors).index(one.targets[0]),
            sum(1 << kept.index(name) for name in one.targets if name in kept),
            sum(1 << tensors.index(name) for name in one.targets if name in tensors),
            sum(1 << kept.index(name) for name in one.reads),
            one.along,
            one.over[1] if one.over and one.over[0] == "list" else NONE,
            one.over[1] if one.over and one.over[0] == "tensor" else NONE,
        )
        for number, one in enumerate(shader.passes)
    ]
    own: dict[str, Any] = {
        "kept": [
            Kept(macro, kind == "REAL_VALUE", kind == "int64_t") for macro, kind in shader.kept.values()
        ],
        "passes": passes,
        "lists": [macro for _, _, macro in shader.lists],
        "bounds": [macro for _, macro in shader.bounds],
        "is_fused": bool(shader.fused),
        "activations": shader.activations,
    }
    forms = {
        name: _form(type_, shader.forms.get(name, ()), kept, tensors)
        for name, type_ in get_hints(DefinitionShader).items()
        if name not in own
    }
    return DefinitionShader(**own, **forms)


def _form(
    type_: Any, records: Sequence[Mapping[str, Any]], kept: Sequence[str], tensors: Sequence[str]
) -> Any:
    """Passes of a faster form, one or a list: tensors by number, bits where there are several; all NONE where
    the one is not."""

    def place(name: str) -> int:
        return NONE if not name else kept.index(name) if name in kept else tensors.index(name)

    def number(known: int | str | Sequence[str]) -> int:
        if isinstance(known, str):
            return place(known)
        return known if isinstance(known, int) else sum(1 << place(name) for name in known)

    is_one = _is_record(type_)
    record = type_ if is_one else get_args(type_)[0]
    if is_one and not records:
        return record(*(NONE for _ in record._fields))
    found = [record(*(number(known[name]) for name in record._fields)) for known in records]
    return found[0] if is_one else found


def _entries(kind: str, entries: Sequence[Any]) -> tuple[Sequence[int], bool]:
    """A list as integers or the bits of floats, and whether it is of floats."""
    is_float = kind == "floats"
    return _limited([_bits(entry) if is_float else int(entry) for entry in entries]), is_float


def _limited(entries: Sequence[int]) -> Sequence[int]:
    """A list that is no longer than shaders take."""
    if len(entries) > MAX_RANK:
        raise Refused(Reason.LONG_LIST, NO_MEMBER, len(entries))
    return entries
