"""Random valid descriptions of all operators, with data, at sizes around those that decide the schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dmlops import Description, InvalidDescription, TensorDesc
from random_shapes.data import data
from random_shapes.draw import Draw
from random_shapes.elements import activations, elements
from random_shapes.images import regions, resampling, rescaled, windows
from random_shapes.indices import generators, selections, tuples
from random_shapes.moves import moves, spread
from random_shapes.networks import attention, recurrent
from random_shapes.products import convolutions, integer_convolutions, integer_products, products
from random_shapes.quantizing import quantizing
from random_shapes.rows import normalizations, reductions

FAMILIES: dict[str, Callable[[Draw], Description]] = {
    one.__name__: one
    for one in (
        products, convolutions, integer_convolutions, integer_products, attention, recurrent, windows,
        resampling, regions, normalizations, reductions, moves, spread, tuples, selections, generators,
        quantizing, elements, activations, rescaled,
    )
}  # fmt: skip


class Drawn(NamedTuple):
    """A valid description, and arrays for its inputs."""

    desc: Description
    arrays: dict[str, Any]


def drawn(family: str, seed: int) -> Drawn:
    """The same for the same seed."""
    desc = described(family, seed)
    return Drawn(desc, data(desc, np.random.default_rng(seed)))


def described(family: str, seed: int) -> Description:
    """The same for the same seed. Ends, as one draw in a few is valid for every family."""
    draw = Draw(f"{family} {seed}")
    while True:
        try:
            desc = FAMILIES[family](draw)
        except (InvalidDescription, ValueError):  # sizes that do not fit one another
            continue
        return relaid(draw, desc) if draw.maybe(0.3) else desc


def relaid(draw: Draw, desc: Description) -> Description:
    """The description with packed tensors in other layouts, if it may have them; inputs may be broadcast."""
    others: Any = {}
    for member in desc.MEMBERS:
        tensor = getattr(desc, member.name)
        if type(tensor) is TensorDesc and tensor.Strides is None:
            rank = len(tensor.Sizes)
            is_shared = member.role == "input" and draw.maybe(0.3)
            shared = [axis for axis in range(rank) if is_shared and draw.maybe(0.4)]
            others[member.name] = draw.tensor(tensor.DataType.name, tensor.Sizes, shared)
    changed = replace(desc, **others)
    return desc if changed.validate() else changed
