"""Why there is no plan, in Python and C alike."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Why shaders cannot compute what is described; NONE where they can."""

    NONE = 0
    INVALID = 1
    NO_SHADER = 2
    TOO_LARGE = 3
    MANY_THREADS = 4
    MANY_DISPATCHES = 5
    REDUCTION_TOO_LARGE = 6
    LARGE_SCRATCH = 7
    LARGE_NUMBER = 8
    ARRAY_TOO_LONG = 9
    RANK_MISMATCH = 10
    ACTIVATION = 11
    PLAN_TOO_LARGE = 12
    MANY_ELEMENTS = 13
    DEVICE = 14
    LACKS_16_BIT = 15
    LACKS_64_BIT = 16
    LACKS_DOUBLES = 17


TEXTS = {
    Reason.NONE: "there is a plan",
    Reason.INVALID: "{operator} is not valid at the newest feature level",
    Reason.NO_SHADER: "{operator} has no shader yet",
    Reason.TOO_LARGE: "{member} spans {number} elements; shaders address fewer than 2**32, and fewer than "
    "2**31 along a dimension",
    Reason.MANY_THREADS: "a dispatch of {operator} would count to {number}; shaders count in 32 bits",
    Reason.MANY_DISPATCHES: "{operator} needs {number} dispatches; plans have no more than 2**18",
    Reason.REDUCTION_TOO_LARGE: "rows of {number} elements are reduced; shaders count below 2**31",
    Reason.LARGE_SCRATCH: "{operator} needs {number} bytes of scratch, more than its shader can address",
    Reason.LARGE_NUMBER: "{number} is beyond the 31 bits in which shaders count",
    Reason.ARRAY_TOO_LONG: "a list of {number} numbers; shaders take 8",
    Reason.RANK_MISMATCH: "{operator} has tensors of different dimension counts",
    Reason.ACTIVATION: "{operator} with {activation} fused has no shader yet",
    Reason.PLAN_TOO_LARGE: "{operator} needs a larger plan than there is room for",
    Reason.MANY_ELEMENTS: "{operator} computes a tensor of {number} elements; shaders count to 2**31",
    Reason.DEVICE: "the device cannot run it",
    Reason.LACKS_16_BIT: "{operator} needs 16-bit types for these data types; the device lacks them",
    Reason.LACKS_64_BIT: "{operator} needs 64-bit integers in shaders; the device lacks them",
    Reason.LACKS_DOUBLES: "{operator} needs doubles for these data types; the device lacks them",
}
"""Texts of reasons: `member` is the member concerned, `activation` the operator type `number`."""
