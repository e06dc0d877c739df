"""What operators compute, in NumPy: slow, plain, exact in data types.

Arrays are logical: shaped as the tensor's Sizes, typed as its DataType, 4-bit types unpacked to 8 bits; a
member that is an array of tensors has a list of them, an absent optional tensor none.
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
from .plain import is_a
from .quoting import shown


def run(desc: Description, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The output tensors of an operator, as new arrays; inputs are only read.

    Raises InvalidDescription, ValueError for arrays that do not fit the description, NotImplementedError for
    operators whose computation the registry does not hold, and TypeError for what is no description.
    """
    if not is_a(desc, Description):
        raise TypeError(f"{shown(desc)} is not an operator description")
    violations = desc.validate(max(FeatureLevel))
    if violations:
        raise InvalidDescription(desc, violations)
    work = computation(desc)
    arrays = checked(desc, inputs)
    with np.errstate(all="ignore"):
        outputs: dict[str, Any] = work.run(arrays)
    return outputs
