"""The passes of separable taps in the shader of a definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlgen.expr import ir
from dmlgen.expr.printer import PRODUCT
from dmlgen.outputs.hlsl_definition.form import FormPass, ones_where, record
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.schedules.separable import RESULT, TAP, Mode, Separable


def separable_pass(printer: ShaderPrinter, separable: Separable, number: int) -> FormPass:
    """The passes of an output that consists of separable taps, from `number` on, of which the planner takes
    the one that applies. The texts of entries of intermediate tensors are shown by the names of locals that
    hold them."""
    of_result, of_tap = (
        {entry: f"{entry.tensor[0].lower()}{entry.tensor[1:]}{suffix}" for entry in separable.entries(index)}
        for index, suffix in ((RESULT, "OfResult"), (TAP, "OfTap"))
    )
    held: dict[ir.Expr, ir.Expr] = {
        entry: ir.Local(name, ir.FLOAT, varies=True) for entry, name in (of_result | of_tap).items()
    }
    modes = [
        _mode(printer, separable.output, mode, held, place)
        for place, mode in enumerate(separable.modes, number)
    ]
    tensors = {role: printer.tensors[name] for role, name in separable.roles.items()}
    texts = ({name: printer.value(entry, True) for entry, name in one.items()} for one in (of_result, of_tap))
    return FormPass(
        number,
        field="separable",
        template="separable",
        records=[record(one["number"], tensors, is_sum=int(bool(one["totals"]))) for one in modes],
        given={
            "separable.rank": separable.rank,
            "separable.applies": ones_where(mode.when for mode in separable.modes),
        },
        shown={**tensors, "modes": modes, **dict(zip(("of_result", "of_tap"), texts, strict=True))},
        comparison=">=",
    )


def _mode(
    printer: ShaderPrinter, output: str, mode: Mode, held: Mapping[ir.Expr, ir.Expr], number: int
) -> dict[str, Any]:
    """A pass for one mode: texts of its taps; what a tap adds to each total before it is multiplied by the
    weight, "" for 1; and the output. `precise`: totals are computed with `precise`."""
    taps = {
        name: printer.value(ir.substitute(node, held), name != "weight") for name, node in mode.taps.items()
    }
    return {
        "number": number,
        **taps,
        "element": printer.type_name(mode.element.type),
        "totals": {
            name: "" if term is None else printer.value(term, False, PRODUCT + 1)
            for name, term in mode.totals.items()
        },
        "value": printer.stored(output, mode.value),
        "precise": mode.value.type != ir.FLOAT,
    }
