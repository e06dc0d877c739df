"""What the shader of a definition has for a faster form: a pass of its own, and what its planner is told.

`forms` has the table of forms. What is written here of one form, records and constants, is all that the
shader, its plan in C, and the module that tells the planner in Python need of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dmlgen.expr import ir
from dmlgen.outputs.hlsl import Tensor
from dmlgen.plans.params import Constant


@dataclass(frozen=True)
class FormPass:
    """Pass `number` of the shader, and those after it: a faster way to the outputs, or to intermediate
    tensors.

    Of each kind: `field` is that of the planners' `DefinitionShader` which tells of the pass; `planner` their
    function, less `plan_`, where that is not the definition's own; `params` their record of constants;
    `template` the file with its macros, below templates/hlsl: `passes`, `head`, `buffers`, `buffer_of`,
    `kernel`, `main` and, before the entry point, `attributes`; of those in place of one of the definition's
    also `scratch`, `word`, and `eight` of what they read where it is kept as halves. `scratch` here is the
    type that the file gives to the entries of that buffer, "" for words; `access` its macro for what stands
    before the buffer's type; `word` is the text of a word at a place where these may be vectors in any pass;
    `in_halves` is the condition on which all that is loaded and stored are halves, "" where none tells.
    """

    number: int
    field: ClassVar[str]
    template: ClassVar[str]
    planner: ClassVar[str] = "definition"
    params: ClassVar[str] = "DefinitionParams"
    scratch: ClassVar[str] = ""
    access: ClassVar[str] = ""
    word: ClassVar[str] = ""
    in_halves: ClassVar[str] = ""

    @property
    def places(self) -> Mapping[str, str | Sequence[str]]:
        """What `field` has beside the number: tensors, one or several, by name; "" for one that is not."""
        return {}

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        """The entries of `field`: one, or as many as there are passes where it is a list."""
        return ({"number": self.number, **self.places},)

    @property
    def told(self) -> Mapping[str, ir.Expr]:
        """What the planner is told of a description, by the path below its `Definition`."""
        return {}

    def constants(self, tensors: Sequence[Tensor]) -> Mapping[str, Sequence[Constant]]:
        """The constants of `params` that are its own, by field; `tensors` are those of the shader."""
        return {}

    @property
    def lists(self) -> tuple[str, ...]:
        """Lists that all passes of the definition have among their constants, though they are its own."""
        return ()

    @property
    def whole(self) -> tuple[FormPass, ...]:
        """The pass with others that its planner chooses from, in the order of their numbers."""
        return (self,)

    @property
    def apart(self) -> tuple[FormPass, ...]:
        """Those of them that have constants of their own, not the definition's."""
        return tuple(one for one in self.whole if one.params != FormPass.params)

    @property
    def here(self) -> str:
        """The condition of what is for the pass alone."""
        return f"PASS == {self.number}"

    @property
    def elsewhere(self) -> str:
        """The condition of what is for the definition's own passes."""
        return f"PASS < {self.whole[0].number}"


def lists_of(*names: str) -> list[Constant]:
    """Constants that are lists, which fill two vectors each."""
    return [Constant("int4", name, "2", 8) for name in names]
