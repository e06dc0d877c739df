"""A faster form of a definition's shader: its own passes, and the operands of its planner.

`forms` has the table of forms. The records and constants of a form in this module are all that the shader,
its plan in C, and the module that calls the planner in Python need of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.plans.params import Declaration

NONE = -1
"""In records of planners, in place of the number of a tensor or a pass."""

Fields: TypeAlias = Mapping[str, int | str | Sequence[str]]
"""Those of such a record: numbers; tensors, one or several, by name; "" for an absent one."""


@dataclass(frozen=True)
class FormPass:
    """Pass `number` of the shader, and those after it: a faster way to compute the outputs, or intermediate
    tensors.

    For each kind: `field` is the field of the planners' `DefinitionShader` that describes the pass; `params`
    their record of constants; `lists` and `scalars` are those, of integers, that all passes of the definition
    have among their constants; `template` the file of its macros, below templates/hlsl: `passes`, `head`,
    `buffers`, `buffer_of`, `kernel`, `main` and, before the entry point, `attributes`. `word` here is the
    text of a word of scratch at a place, if entries may be vectors in any pass.
    """

    number: int
    field = ""
    template = ""
    params = "DefinitionParams"
    lists = tuple[str, ...]()
    scalars = tuple[str, ...]()
    word = ""

    @property
    def scratch(self) -> str:
        """The type that the template gives the entries of that buffer, "" for words."""
        return ""

    @property
    def in_float16(self) -> str:
        """The condition under which everything loaded and stored is float16, "" if there is none."""
        return ""

    @property
    def records(self) -> Sequence[Fields]:
        """The entries of `field`: one, or one per pass if it is a list."""
        raise NotImplementedError

    @property
    def views(self) -> Sequence[Fields]:
        """The entries of planners' `views`."""
        return ()

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """The planner's operands, by the path below its `Definition`."""
        return {}

    def constants(self, tensors: Sequence[ShaderTensor]) -> Mapping[str, Sequence[Declaration]]:
        """The constants of `params` that are its own, by field; `tensors` are those of the shader."""
        return {}

    @property
    def zeros(self) -> tuple[str, ...]:
        """The macros that are 0 in passes whose planner does not define them."""
        return ()

    @property
    def whole(self) -> tuple[FormPass, ...]:
        """The pass and others that its planner chooses from, in the order of their numbers."""
        return (self,)

    @property
    def apart(self) -> tuple[FormPass, ...]:
        """Those of them that have their own constants rather than the definition's."""
        return tuple(one for one in self.whole if one.params != FormPass.params)

    @property
    def here(self) -> str:
        """The preprocessor condition for what is only in this pass."""
        return f"PASS == {self.number}"

    @property
    def elsewhere(self) -> str:
        """The preprocessor condition for what is only in the definition's own passes."""
        return f"PASS < {self.whole[0].number}"


@dataclass(frozen=True)
class FormPasses(FormPass):
    """Several passes, from `number` on, to the end of the shader."""

    @property
    def here(self) -> str:
        return f"PASS >= {self.number}"


@dataclass(frozen=True, kw_only=True)
class DataPass(FormPass):
    """A pass, or several to the end of the shader if it `is_last`. Its template prints what is `shown`; its
    planner is `given` operands, and chooses from the passes `before` it, too."""

    field: str
    template: str
    records: Sequence[Fields] = ()
    given: Mapping[str, ir.Expr]
    shown: Mapping[str, Any]
    declared: Mapping[str, Sequence[Declaration]] | None = None
    params: str = FormPass.params
    views: Sequence[Fields] = ()
    lists: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    word: str = ""
    zeros: tuple[str, ...] = ()
    scratch: str = ""
    in_float16: str = ""
    before: tuple[FormPass, ...] = ()
    is_last: bool = False

    def __getitem__(self, name: str) -> Any:
        return self.shown[name]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return self.given

    def constants(self, tensors: Sequence[ShaderTensor]) -> Mapping[str, Sequence[Declaration]]:
        return self.declared or {}

    @property
    def whole(self) -> tuple[FormPass, ...]:
        return (*self.before, self)

    @property
    def here(self) -> str:
        return f"PASS {'>=' if self.is_last else '=='} {self.number}"


def record(number: int, tensors: Mapping[str, ShaderTensor | Kept | None], **more: int) -> Fields:
    """The record of a pass for its planner, with tensors by role."""
    members = {role: "" if one is None else one.member for role, one in tensors.items()}
    return {"number": number, **members, **more}


def ones_where(tests: Iterable[ir.Expr]) -> ir.ListOf:
    """A list that has 1 for each test that holds, else 0."""
    return ir.ListOf(tuple(ir.Conditional(test, ir.ONE, ir.ZERO) for test in tests))


def lists_of(*names: str) -> list[Declaration]:
    """Constants that are lists, which fill two vectors each."""
    return [Declaration("int4", name, "2") for name in names]
