"""The reference: what operators compute, in NumPy. It is slow, simple, and exact in its data types.

Arrays are logical: shaped as the tensor's Sizes, typed as its DataType, with 4-bit types unpacked to 8 bits.
For a member that is an array of tensors, pass a list; for an absent optional tensor, nothing. The inputs and
outputs of a graph are given by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arrays import checked
from .compute import computation
from .description import Description
from .enums import FeatureLevel
from .errors import InvalidDescription
from .graph import Graph
from .graph.running import run as run_graph
from .safe_text import shown


def run(desc: Description | Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The output tensors of an operator or a graph, as new arrays; inputs are only read.

    Raises InvalidDescription, ValueError for an invalid graph and for arrays that do not fit the description,
    NotImplementedError if the registry does not define the operator's computation, and TypeError if `desc` is
    not a description.
    """
    if isinstance(desc, Graph):
        return run_graph(desc, inputs, run)
    if not isinstance(desc, Description):
        raise TypeError(f"{shown(desc)} is not an operator description")
    violations = desc.validate(max(FeatureLevel))
    if violations:
        raise InvalidDescription(desc, violations)
    work = computation(desc)
    arrays = checked(desc, inputs)
    with np.errstate(all="ignore"):
        outputs: dict[str, Any] = work.run(arrays)
    return outputs
