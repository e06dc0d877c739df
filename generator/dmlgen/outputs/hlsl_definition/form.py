"""A faster form of a definition's shader: its own passes, and the operands of its planner.

The table of forms is in `shader`. The records and constants of a form in this module are all that the shader,
its plan in C, and the module that calls the planner in Python need of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_tensors import ShaderTensor, in_float16
from dmlgen.plans.params import Declaration

NONE = -1
"""In records of planners, in place of the number of a tensor or a pass."""

Fields: TypeAlias = Mapping[str, int | str | Sequence[str]]
"""Those of such a record: numbers; tensors, one or several, by name; "" for an absent one."""


@dataclass(frozen=True)
class FormPass:
    """Pass `number` of the shader, and those before or after it if the `comparison` is not with it alone: a
    faster way to compute the outputs, or intermediate tensors.

    `field` is the field of the planners' `DefinitionShader` that has the `records` of the pass, one, or one
    per pass if it is a list; `views` are those of the field of that name. `given` are the planner's operands,
    by the path below its `Definition`; it chooses from the passes `before` this one, too. `params` is the
    record of the pass's constants, which are its own if they are `declared`, by field; `lists` and `scalars`
    are those, of integers, that all passes of the definition have among their constants.

    `template` is the file of its macros, below templates/hlsl: `passes`, `head`, `buffers`, `buffer_of`,
    `kernel`, `main` and, before the entry point, `attributes`. They print what is `shown`. `scratch` is the
    type that they give the entries of that buffer, if these are not words, and `word` the text of a word at a
    place, if entries may be vectors in any pass. `zeros` are the macros that are 0 in passes whose planner
    does not define them; everything loaded and stored is float16 if all of the
    tensors `halves` are.
    """

    number: int
    _: KW_ONLY
    field: str
    template: str
    records: Sequence[Fields] = ()
    given: Mapping[str, ir.Expr]
    shown: Mapping[str, Any]
    declared: Mapping[str, Sequence[Declaration]] | None = None
    params: str = "DefinitionParams"
    views: Sequence[Fields] = ()
    lists: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    word: str = ""
    zeros: tuple[str, ...] = ()
    scratch: str = ""
    halves: Sequence[ShaderTensor] = ()
    before: tuple[FormPass, ...] = ()
    comparison: str = "=="

    def __getitem__(self, name: str) -> Any:
        return self.shown[name]

    @property
    def whole(self) -> tuple[FormPass, ...]:
        """The pass and others that its planner chooses from, in the order of their numbers."""
        return (*self.before, self)

    @property
    def apart(self) -> tuple[FormPass, ...]:
        """Those of them that have their own constants rather than the definition's."""
        return tuple(one for one in self.whole if one.params != FormPass.params)

    @property
    def in_float16(self) -> str:
        """The preprocessor condition for float16."""
        return in_float16(self.halves)

    @property
    def here(self) -> str:
        """The preprocessor condition for what is only in this pass."""
        return f"PASS {self.comparison} {self.number}"

    @property
    def elsewhere(self) -> str:
        """The preprocessor condition for what is only in the definition's own passes."""
        return f"PASS < {self.whole[0].number}"


def record(
    number: int, tensors: Mapping[str, ShaderTensor | Kept | None], **more: int | Sequence[str]
) -> Fields:
    """The record of a pass for its planner, with tensors by role."""
    members = {role: "" if one is None else one.member for role, one in tensors.items()}
    return {"number": number, **members, **more}


def ones_where(tests: Iterable[ir.Expr]) -> ir.ListOf:
    """A list that has 1 for each test that holds, else 0."""
    return ir.ListOf(tuple(ir.Conditional(test, ir.ONE, ir.ZERO) for test in tests))


def lists_of(*names: str) -> list[Declaration]:
    """Constants that are lists, which fill two vectors each."""
    return [Declaration("int4", name, "2") for name in names]
