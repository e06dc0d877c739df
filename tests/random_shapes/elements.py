"""Operators that compute each element from those at the same place: all that the registry has."""

from __future__ import annotations

import re
from typing import Any

from dmlops import Description, make
from dmlops.enums import ENUMS, NEWEST
from dmlops.registry import OPERATORS, operator
from dmlops.structs import ScaleBias
from random_shapes.draw import Draw

_OTHERS = re.compile("SOFTMAX|HARDMAX|QUANTIZE")  # of rows and of scales
ELEMENT_WISE = [name for name in OPERATORS if name.startswith("ELEMENT_WISE_") and not _OTHERS.search(name)]
ACTIVATIONS = [name for name in OPERATORS if name.startswith("ACTIVATION_") and not _OTHERS.search(name)]
FACTORS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-3, 100.0)


def elements(draw: Draw) -> Description:
    return aligned(draw, draw.choice([*ELEMENT_WISE, "CAST"]))


def activations(draw: Draw) -> Description:
    return aligned(draw, draw.choice(ACTIVATIONS))


def aligned(draw: Draw, name: str) -> Description:
    """A description of an operator whose tensors all have the same sizes; inputs may be shared along axes."""
    described, rank = operator(name), draw.randint(1, 8)
    sizes = draw.sizes(rank, 513 if rank < 4 else 33)
    kinds, members = data_types(draw, described), {}
    for member in described.MEMBERS:
        if member.type == "tensor":
            is_shared = member.role == "input" and draw.maybe(0.3)
            shared = [axis for axis in range(rank) if is_shared and draw.maybe(0.4)]
            members[member.name] = draw.tensor(kinds[member.name], sizes, shared)
        else:
            members[member.name] = attribute(draw, member, next(iter(kinds.values())))
    made: Description = getattr(make, name.lower())(**members)
    return made


def data_types(draw: Draw, described: type[Description]) -> dict[str, str]:
    """A data type for each tensor: any that its table has, but the same where a rule says so."""
    groups = [
        [path.partition(".")[0] for path in reads]
        for rule, reads in described.READS.items()
        if "same-type" in rule
    ]
    kinds: dict[str, str] = {}
    for name, row in described.SUPPORT[NEWEST].items():
        alike = [kinds[one] for group in groups if name in group for one in group if one in kinds]
        kinds[name] = alike[0] if alike else draw.choice(row.types).name
    return kinds


def attribute(draw: Draw, member: Any, kind: str) -> Any:
    """A value of a member that is no tensor; `kind` is the data type of the tensors it concerns."""
    match member.type:
        case "SCALE_BIAS":
            scaled = ScaleBias(Scale=draw.choice(FACTORS), Bias=draw.choice(FACTORS))
            return scaled if draw.maybe(0.3) else None
        case "OPERATOR_DESC":
            return draw.activation()
        case "TENSOR_DATA_TYPE":
            return kind
        case "SCALAR_UNION":
            return draw.scalar(kind)
        case "FLOAT":
            return draw.choice((*FACTORS, draw.uniform(-2, 2)))
    return draw.choice(list(ENUMS[member.type]))
