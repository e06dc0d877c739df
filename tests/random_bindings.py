"""Bindings at random: for operators, graphs and initializers, mostly with a mistake or two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import dmlops
from dmlops import Description, Graph, TensorDesc
from dmlops.bindings import Binding, Bindings, Range, Target
from dmlops.bindings.json_form import DIMENSIONS, HEAPS
from graph_cases import graph, node, relu, tensor

_NUMBERS = (0, 1, 2, 4, 8, 16, 60, 64, 66, 68, 128, 256, 272, 512, (1 << 32) - 16, 1 << 32)
_HUGE = ((1 << 63) - 16, (1 << 63) - 1, 1 << 63, (1 << 64) - 256, (1 << 64) - 16, (1 << 64) - 1)

_SQUARE = TensorDesc("FLOAT32", (1, 1, 4, 4))
_OWNED = replace(_SQUARE, Flags="OWNED_BY_DML")
_ALIGNED = replace(_SQUARE, GuaranteedBaseOffsetAlignment=64)
_ROW = TensorDesc("FLOAT32", (1, 1, 4, 4), Strides=(0, 0, 0, 1))
_COLUMNS = TensorDesc("FLOAT32", (1, 1, 4, 4), Strides=(9, 9, 1, 4))
_ONE = TensorDesc("UINT32", (1, 1, 1, 1))


def operators() -> list[Description]:
    """With optional, owned, aligned and absent tensors, arrays of them, and layouts for running in place."""
    halves = [TensorDesc("FLOAT32", (1, 1, 2, 4))] * 2
    gemm = dmlops.make.gemm(_SQUARE, _SQUARE)
    found: list[Any] = [
        gemm,
        replace(gemm, BTensor=_OWNED),
        replace(gemm, ATensor=_OWNED, BTensor=_OWNED, CTensor=_SQUARE),
        *(dmlops.make.element_wise_add(one, _SQUARE) for one in (_SQUARE, _ROW, _ALIGNED, _COLUMNS)),
        dmlops.make.activation_relu(_OWNED),
        dmlops.make.join(halves, Axis=2),
        dmlops.Split(InputTensor=_SQUARE, OutputTensors=halves, Axis=2),
        dmlops.make.adam_optimizer(
            *[_SQUARE] * 4, _ONE, LearningRate=0.1, Beta1=0.9, Beta2=0.99, Epsilon=1e-8
        ),
        dmlops.make.fill_value_constant(OutputTensor=_SQUARE, ValueDataType="FLOAT32", Value=1.0),
    ]
    return found


def graphs() -> list[Graph]:
    """With an input that nothing reads, one that several read, an owned one, and without names."""
    owned = node(
        "fc",
        "GEMM",
        {"ATensor": "x", "BTensor": "w", "OutputTensor": "y"},
        ATensor=tensor(1, 1, 4, 4, GuaranteedBaseOffsetAlignment=32),
        BTensor=tensor(1, 1, 4, 4, Flags="OWNED_BY_DML"),
        TransA="NONE",
        TransB="NONE",
        Alpha=1.0,
        Beta=0.0,
    )
    twice = [relu("first", "x", "t", 1, 1, 4, 4), relu("second", "x", "y", 1, 1, 2, 2)]
    whole = graph([owned, relu("act", "x", "z", 1, 1, 2, 2)], ("x", "w", "unread"), ("y", "z", "unfed"))
    bare = graph(twice, ("x",), ("t", "y"))
    return [whole, bare, replace(whole, inputs=("",) * 3, outputs=("",) * 3)]


def random_bindings(seed: int) -> Iterator[Bindings]:
    """An endless sequence."""
    choice = Random(seed)
    every: Sequence[Description | Graph] = [*operators(), *graphs()]
    while True:
        yield _bindings(choice, every)


def _bindings(choice: Random, every: Sequence[Description | Graph]) -> Bindings:
    initializes = choice.random() < 0.4
    count = choice.choice((0, 1, 2, 3)) if initializes else 1
    targets = [Target(choice.choice(every), choice.choice((0, 0, 64, 256))) for _ in range(count)]
    inputs: list[Binding]
    outputs: list[Binding]
    if initializes:
        inputs = [_array(choice, target) for target in targets]
        outputs = [
            _range(choice, one.persistent_size, 256) if one.persistent_size else None for one in targets
        ]
    else:
        needed = targets[0].requirements
        inputs = [
            _range(choice, one.size, 16) if one.is_present and not one.is_owned else None
            for one in needed.inputs
        ]
        outputs = [_range(choice, one.size, 16) if one.is_present else None for one in needed.outputs]
        if inputs and outputs and choice.random() < 0.3:
            outputs[0] = choice.choice(inputs)
    temporary_size = choice.choice((0, 0, 64, 256))
    persistent_size = 0 if initializes else targets[0].persistent_size
    persistent = _range(choice, persistent_size, 256) if persistent_size else None
    bindings = {
        "inputs": inputs,
        "outputs": outputs,
        "persistent": persistent,
        "temporary": _range(choice, temporary_size, 256) if temporary_size else None,
        "initialized": choice.choice((None, None, persistent, _range(choice, 256, 256))),
        "temporary_size": temporary_size,
    }
    for _ in range(choice.choice((0, 0, 1, 1, 2))):
        _spoil(choice, bindings)
    return Bindings("initialize" if initializes else "execute", targets, **bindings)


def _array(choice: Random, target: Target) -> Binding:
    needed = target.requirements.inputs
    if not any(one.is_owned for one in needed) and choice.random() < 0.7:
        return choice.choice((None, ()))
    return tuple(_range(choice, one.size, 16) if one.is_owned else None for one in needed)


def _range(choice: Random, size: int, unit: int) -> Range:
    """A range that is large enough, at a place where it hardly meets others."""
    offset = unit * choice.randrange(1 << choice.choice((2, 8)))
    buffer = choice.choice("abcdef")
    size += choice.choice((0, 0, 0, 4, 64))
    end = -(-(offset + size) // 4) * 4
    heap = choice.choice((None, "DEFAULT", "CUSTOM"))
    return Range(
        buffer, offset, size, choice.choice((0, end, 1 << 20)), heap, choice.choice((None, "BUFFER"))
    )


def _spoil(choice: Random, bindings: dict[str, Any]) -> None:
    """Another number of bindings, another type, or another value of a range."""
    part = choice.choice(("inputs", "outputs", "persistent", "temporary", "temporary_size"))
    if part == "temporary_size":
        bindings[part] = choice.choice((*_NUMBERS, *_HUGE))
    elif part in ("persistent", "temporary"):
        bindings[part] = _spoiled(choice, bindings[part])
    elif choice.random() < 0.2 or not bindings[part]:
        bindings[part] = choice.choice(([], [*bindings[part], None], bindings[part][:-1]))
    else:
        at = choice.randrange(len(bindings[part]))
        bindings[part] = [*bindings[part]]
        bindings[part][at] = _spoiled(choice, bindings[part][at])


def _spoiled(choice: Random, binding: Binding) -> Binding:
    if isinstance(binding, Range):
        field = choice.choice(("offset", "size", "width", "heap", "dimension", "buffer", "", ""))
        if not field:
            return choice.choice((None, (binding,), (binding, None)))
        values: Sequence[Any] = (*_NUMBERS, *_HUGE)
        known = {"heap": [*HEAPS], "dimension": [*DIMENSIONS], "buffer": ["a"]}
        return replace(binding, **{field: choice.choice(known.get(field, values))})
    if not binding:
        return choice.choice((_range(choice, 64, 16), (_range(choice, 64, 16),)))
    entries = [*binding]
    at = choice.randrange(len(entries))
    entries[at] = choice.choice((None, _range(choice, 64, 16)))
    return tuple(choice.choice((entries, [*entries, None], entries[1:])))
