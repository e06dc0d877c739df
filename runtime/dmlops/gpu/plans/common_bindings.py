"""Inputs of definitions' shaders that depend only on the description: macros, resources, constants."""

from __future__ import annotations

from .definition_types import Definition, DefinitionShader
from .loops import Activations, CommonConstants, Lists, Words, padded, reciprocal_of
from .operands import NO_MEMBER, Eight, Sizes, Tensors
from .planning import Planning
from .reasons import Reason
from .tensors import bind, define_tensor


def counted(out: Planning, value: int) -> int:
    """An integer that shaders count with. A limit beyond 31 bits, such as the greatest UINT, is as good as
    none, since they count to less."""
    if not -(2**31) <= value < 2**32:
        out.refuse(Reason.LARGE_NUMBER, NO_MEMBER, value)
    return value % 2**32 if value < 2**31 else 2**31 - 1


def check_multiples(out: Planning, op: Definition) -> None:
    """Rejects numbers beyond 31 bits that may be multiples of a size, and so no mere limits."""
    largest = 0
    for tensor in op.tensors:
        for size in tensor.sizes:
            largest = max(largest, size)
    for listed in op.lists:
        for entry in listed:
            if entry >= 2**31 and largest >= 2**30:
                out.refuse(Reason.LARGE_NUMBER, NO_MEMBER, entry)


def eight(out: Planning, entries: Sizes) -> Eight:
    """A list of integers as words, zero-padded to eight."""
    return padded([counted(out, entry) for entry in entries])


def dimension_of_rows(sizes: Sizes) -> int:
    """The last dimension along which a box of these sizes has several coordinates, 0 if none has."""
    row = 0
    for d, size in enumerate(sizes):
        if size > 1:
            row = d
    return row


def define_tensors(out: Planning, tensors: Tensors, shader: DefinitionShader) -> Lists:
    """Defines the types of tensors that are present and binds their resources; returns the sizes and
    strides that are constants, as words."""
    lists: Lists = []
    for place, tensor in enumerate(tensors):
        if tensor.is_present and shader.typed >> place & 1 == 1:
            define_tensor(out, tensor)
        if tensor.is_present and tensor.is_held:
            out.read_write(tensor.buffer)
        if shader.sized >> place & 1 == 1:
            lists.extend(padded(tensor.sizes))
        if len(shader.passes) > 0:
            lists.extend(padded(tensor.strides))
        bind(out, tensor)
    return lists


def define_numbers(out: Planning, op: Definition, shader: DefinitionShader, are_shared: bool) -> None:
    """Defines the numbers of dimensions and of list entries, and bounds: those that a contraction shares with
    the definition's own passes, or the others."""
    shared = shader.contraction
    for place, tensor in enumerate(op.tensors):
        is_asked = len(shader.passes) > 0 or shader.optional >> place & 1 == 1
        if is_asked and tensor.is_present and (shared.ranks >> place & 1 == 1) == are_shared:
            out.define(f"{tensor.macro}_RANK", len(tensor.sizes))
    for place, bound in enumerate(op.bounds):
        if (shared.bounds >> place & 1 == 1) == are_shared:
            out.define(f"{shader.bounds[place]}_BOUND", bound)
    for place, listed in enumerate(op.lists):
        if (shared.lists >> place & 1 == 1) == are_shared:
            out.define(f"{shader.lists[place]}_LENGTH", len(listed))
            if shader.boxes >> place & 1 == 1:
                out.define(f"{shader.lists[place]}_ROW", dimension_of_rows(listed))


def define_activations(out: Planning, op: Definition, shader: DefinitionShader) -> Activations:
    """Defines how many fused activations there are, and their kinds; returns them as words."""
    words: Activations = []
    kinds = 0
    for activation in op.activations:
        is_known = False
        for number, kind in enumerate(shader.activations):
            if kind == activation.kind:
                kinds = kinds | 1 << number
                is_known = True
        if not is_known:
            out.refuse(Reason.ACTIVATION, NO_MEMBER, activation.kind)
        words.append(activation.kind)
        words.append(activation.parameter0)
        words.append(activation.parameter1)
        words.append(0)
    if len(words) > 0:
        out.define("ACTIVATION_COUNT", len(words) // 4)
        out.define("ACTIVATION_KINDS", kinds)
    while len(shader.activations) > 0 and len(words) < 4:
        words.append(0)
    return words


def bind_common(out: Planning, op: Definition, tensors: Tensors, shader: DefinitionShader) -> CommonConstants:
    """Defines the types and binds the resources of tensors, as shaders have them; returns what depends only
    on the description."""
    lists = define_tensors(out, tensors, shader)
    check_multiples(out, op)
    for listed in op.lists:
        lists.extend(eight(out, listed))
    for place in shader.divisors:
        lists.extend([reciprocal_of(divisor) for divisor in lists[8 * place : 8 * place + 8]])
    activations = define_activations(out, op, shader)
    scalars: Words = [counted(out, number) for number in op.numbers]
    elements: Words = list(op.elements)
    return CommonConstants(lists, activations, elements, scalars)
