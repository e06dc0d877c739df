"""The passes of separable taps in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.printer import PRODUCT
from dmlgen.outputs.hlsl_definition.form import Fields, FormPasses, ones_where
from dmlgen.outputs.hlsl_definition.functions import type_name
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.separable import RESULT, TAP, Mode, Separable


@dataclass(frozen=True)
class ModePass:
    """A pass for one mode: from taps to the output; see `schedules.separable`. All are texts.

    `totals` are what a tap adds to each total before it is multiplied by the weight, "" for 1. `is_sum`:
    there are totals. `precise`: totals are computed with `precise`.
    """

    number: int
    when: ir.Expr
    first: str
    last: str
    takes: str
    weight: str
    element: str
    totals: Mapping[str, str]
    value: str
    precise: bool

    @property
    def is_sum(self) -> bool:
        return bool(self.totals)


@dataclass(frozen=True)
class SeparablePass(FormPasses):
    """The passes of separable taps, of which planners take the one that applies. `of_result` and `of_tap` are
    the texts of entries of intermediate tensors, by the names of locals that hold them."""

    output: ShaderTensor
    tensor: ShaderTensor
    rank: ir.Expr
    modes: tuple[ModePass, ...]
    of_result: Mapping[str, str]
    of_tap: Mapping[str, str]
    field = "separable"
    template = "separable"

    @property
    def records(self) -> Sequence[Fields]:
        return [
            {
                "number": mode.number,
                "tensor": self.tensor.member,
                "output": self.output.member,
                "is_sum": int(mode.is_sum),
            }
            for mode in self.modes
        ]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """The rank, and for each of the passes whether it applies, as 1 or 0."""
        return {
            "separable.rank": self.rank,
            "separable.applies": ones_where(mode.when for mode in self.modes),
        }


def separable_pass(printer: ShaderPrinter, separable: Separable, number: int) -> SeparablePass:
    """The passes of an output that consists of separable taps, from `number` on."""
    of_result, of_tap = (
        {entry: f"{entry.tensor[0].lower()}{entry.tensor[1:]}{suffix}" for entry in separable.entries(index)}
        for index, suffix in ((RESULT, "OfResult"), (TAP, "OfTap"))
    )
    held: dict[ir.Expr, ir.Expr] = {
        entry: ir.Local(name, ir.FLOAT, varies=True) for entry, name in (of_result | of_tap).items()
    }
    modes = tuple(
        _mode(printer, separable.output, mode, held, place)
        for place, mode in enumerate(separable.modes, number)
    )
    output, tensor = (printer.tensors[name] for name in (separable.output, separable.tensor))
    texts = ({name: printer.value(entry, True) for entry, name in one.items()} for one in (of_result, of_tap))
    return SeparablePass(number, output, tensor, separable.rank, modes, *texts)


def _mode(
    printer: ShaderPrinter, output: str, mode: Mode, held: Mapping[ir.Expr, ir.Expr], number: int
) -> ModePass:
    def text(node: ir.Expr | None, decides: bool = True) -> str:
        return "" if node is None else printer.value(ir.substitute(node, held), decides)

    taps = mode.taps
    return ModePass(
        number=number,
        when=mode.when,
        first=text(taps.first),
        last=text(taps.last),
        takes=text(taps.takes),
        weight=text(taps.weight, False),
        element=type_name(mode.element.type),
        totals={
            name: "" if term is None else printer.value(term, False, PRODUCT + 1)
            for name, term in mode.totals.items()
        },
        value=printer.stored(output, mode.value),
        precise=mode.value.type != ir.FLOAT,
    )
