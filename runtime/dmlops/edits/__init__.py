"""The changes that a person would try on an invalid description, each with what it costs.

An edit keeps as much as possible of what was said. `COSTS` is the order of preference: first what only says
the same in another way or follows from the rest, then choices and numbers, last the sizes of tensors, whose
data exists already. Costs add up over several edits; smaller fractions in the code only order edits of one
kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .attributes import (
    arrange_lists,
    change_axes,
    change_choices,
    change_numbers,
    count_axes_from_front,
    match_counts,
    replace_zeros,
    solve_lists,
)
from .costs import COSTS
from .layout import broadcast, change_ranks, merge_heads, reorder_dimensions, restride, split_dimensions
from .members import add_members, change_lengths, drop_members, exchange_tensors
from .problem import Edit, Problem
from .tensors import change_types, drop_fields, infer_outputs, resize_tensors, store_exactly

Kind = Callable[[Problem], Iterator[Edit]]
KINDS: tuple[tuple[float, Kind], ...] = (
    (COSTS["output"], infer_outputs),
    (COSTS["count"], match_counts),
    (COSTS["axis"], count_axes_from_front),
    (COSTS["stored"], store_exactly),
    (COSTS["stored"], restride),
    (COSTS["broadcast"], broadcast),
    (COSTS["ones"] - 0.1, change_ranks),
    (COSTS["list"], replace_zeros),
    (COSTS["layout"], reorder_dimensions),
    (COSTS["split"], split_dimensions),
    (COSTS["heads"], merge_heads),
    (COSTS["output"], change_types),
    (COSTS["transform"], change_choices),
    (COSTS["strides"], drop_fields),
    (COSTS["list"], arrange_lists),
    (COSTS["unset"], change_numbers),
    (COSTS["unset"], solve_lists),
    (COSTS["axes"], change_axes),
    (COSTS["exchange"], exchange_tensors),
    (COSTS["output"], partial(resize_tensors, kind="output")),
    (COSTS["parameter"], partial(resize_tensors, kind="parameter")),
    (COSTS["addition"], add_members),
    (COSTS["data"], partial(resize_tensors, kind="data")),
    (COSTS["absence"], drop_members),
    (COSTS["addition"], change_lengths),
)
"""Each kind of edit, after the least that one of it costs."""
