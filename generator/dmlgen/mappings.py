"""Operations of ONNX and WebNN, and the DirectML operators that compute them.

Expressions are in the language of counterparts. The package gets a copy of this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limit:
    """A feature that cannot be mapped if `when` holds; "" if a node does not determine that."""

    when: str
    because: str


@dataclass(frozen=True, slots=True)
class Step:
    """One operator, with an expression for each member of its description.

    Tensors are included, counts of arrays are not: they follow from the arrays. With `over`, the name of an
    input with several tensors, the step is repeated for the second and each further one: `each` is that
    tensor, and `so_far` the first tensor or the result of the previous repetition. A step is left out if
    `when` does not hold.
    """

    operator: str
    desc: Mapping[str, str]
    over: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A sequence of operators that computes an operation if `when` holds ("": always).

    `tensors` are those that one step writes and a later one reads: expressions for data type and sizes.
    """

    when: str
    let: Mapping[str, str]
    tensors: Mapping[str, tuple[str, str]]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """An operation in versions `first` to `last` (None: up to the newest) of its operator set.

    Names of inputs and outputs end in "?" if they are optional and in "*" if there can be several.
    `attributes` have their defaults, or None; those that are `ignored` do not affect the result, or repeat
    what sizes and inputs say. Of the `forms` whose condition holds, the one with the lowest feature level is
    used. `none` says why there is none, `host` why none is needed. `expands`: the standard defines it in
    terms of other operations. `let` names expressions. `infers` has the data types and sizes of outputs that
    nothing else infers. `example` has sizes of inputs and values of attributes that are valid, as expressions
    of the `rank` of what can have any; inputs that it leaves out have that many sizes of 2.
    """

    first: int
    last: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    ignored: tuple[str, ...]
    let: Mapping[str, str]
    limits: tuple[Limit, ...]
    forms: tuple[Form, ...]
    infers: Mapping[str, tuple[str, str]]
    example: Mapping[str, str]
    none: str
    host: str
    expands: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """The DirectML operators of all forms, without duplicates."""
        return tuple(dict.fromkeys(step.operator for form in self.forms for step in form.steps))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of "onnx" or "webnn", newest signature first; `domain` is "" for ONNX's own operators."""

    interface: str
    domain: str
    name: str
    signatures: tuple[Signature, ...]
    note: str

    @property
    def operators(self) -> tuple[str, ...]:
        """The DirectML operators that compute it, without duplicates."""
        return tuple(dict.fromkeys(name for one in self.signatures for name in one.operators))

    def signature(self, version: int) -> Signature | None:
        """Its signature in a version of its operator set; None before the first known version."""
        return next((one for one in self.signatures if one.first <= version <= (one.last or version)), None)
