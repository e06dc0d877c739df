"""The passes of separable taps in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.printer import PRODUCT
from dmlgen.outputs.hlsl_definition.form import FormPasses, ones_where
from dmlgen.outputs.hlsl_definition.functions import type_name
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_names import local
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.separable import Mode, Separable


@dataclass(frozen=True)
class ModePass:
    """A pass for one mode: from taps to the output; see `schedules.separable`. All are texts.

    `totals` are what a tap adds to each total before it is multiplied by the weight, "" for 1. `is_sum`:
    there are totals. `precise`: totals are computed with `precise`. `combined`: see `Mode`, "" if None.
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
    combined: str

    @property
    def is_sum(self) -> bool:
        return bool(self.totals)


@dataclass(frozen=True)
class SeparablePass(FormPasses):
    """The passes of separable taps, of which planners take the one that applies. `of_result` and `of_tap` are
    the texts of values of locals, by name (`schedules.separable.Taps`)."""

    output: ShaderTensor
    tensor: ShaderTensor
    rank: ir.Expr
    modes: tuple[ModePass, ...]
    of_result: Mapping[str, str]
    of_tap: Mapping[str, str]
    field = "separable"
    template = "separable"
    params = "SeparableParams"

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        return [
            {
                "number": mode.number,
                "tensor": self.tensor.member,
                "output": self.output.member,
                "is_sum": int(mode.is_sum),
                "by_axis": int(bool(mode.combined)),
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
    modes = tuple(
        _mode(printer, separable.output, mode, place) for place, mode in enumerate(separable.modes, number)
    )
    of_result, of_tap = dict[str, str](), dict[str, str]()
    for mode in separable.modes:
        of_result |= _named(printer, mode.taps.of_result)
        of_tap |= _named(printer, mode.taps.of_tap)
    output, tensor = (printer.tensors[name] for name in (separable.output, separable.tensor))
    return SeparablePass(number, output, tensor, separable.rank, modes, of_result, of_tap)


def _mode(printer: ShaderPrinter, output: str, mode: Mode, number: int) -> ModePass:
    taps = mode.taps
    return ModePass(
        number=number,
        when=mode.when,
        first=printer.deciding(taps.first),
        last="" if taps.last is None else printer.deciding(taps.last),
        takes="" if taps.takes is None else printer.deciding(taps.takes),
        weight="" if taps.weight is None else printer.value(taps.weight, False),
        element=type_name(mode.element.type),
        totals={
            name: "" if term is None else printer.value(term, False, PRODUCT + 1)
            for name, term in mode.totals.items()
        },
        value=printer.made(output, mode.value),
        precise=mode.value.type != ir.FLOAT,
        combined="" if mode.combined is None else printer.value(mode.combined, False),
    )


def _named(printer: ShaderPrinter, values: Mapping[ir.Local, ir.Expr]) -> dict[str, str]:
    return {local(one.name): printer.value(value, True) for one, value in values.items()}
