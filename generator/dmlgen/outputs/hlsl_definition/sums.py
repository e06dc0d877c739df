"""The passes of sums in the shader of a recurrent network."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of
from dmlgen.outputs.hlsl_definition.form import FormPass, ones_where
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_names import local
from dmlgen.schedules.sums import SharedSums, Sums


@dataclass(frozen=True)
class SumsPass:
    """The pass that computes intermediate tensors, `values`, from sums of products; see `SharedSums`. Each
    comes with the local that has its value; `before` are static variables. The pass reads the intermediate
    tensors in `reads`. With cooperative matrices, the tensors in `copied`, factors of other passes or steps,
    are also written as float16."""

    form: SharedSums
    values: tuple[tuple[Kept, str, str], ...]
    before: tuple[tuple[str, str], ...]
    reads: tuple[str, ...]
    copied: tuple[Kept, ...]


def sums_passes(printer: ShaderPrinter, sums: Sums) -> FormPass:
    """The passes of sums, the first ones, of which planners take those that apply to a description. `statics`
    are the variables that hold the sums of an element, and what else it needs; `factors` the tensors of the
    description that products read."""
    printer.statics = sums.names
    passes = [_pass(printer, sums, one) for one in sums.passes]
    return FormPass(
        len(passes) - 1,
        comparison="<=",
        field="sums",
        template="sums",
        scratch="Scratch",
        scalars=("stepsFirst",),  # where groups count steps in scratch
        word="ScratchWord(%s)",
        zeros=("COOPERATIVE_MATRIX", "SUM_VECTOR"),
        records=[
            {
                "factors": one.form.factors,
                "copied": [kept.member for kept in one.copied],
                "sums": len(one.form.gates),
            }
            for one in passes
        ],
        given={"sums": ones_where(one.when for one in sums.passes)},
        shown={
            "passes": passes,
            "statics": sums.names,
            "factors": {name for one in sums.passes for name in one.factors},
        },
    )


def _pass(printer: ShaderPrinter, sums: Sums, form: SharedSums) -> SumsPass:
    def value_of(name: str, value: ir.Expr) -> str:
        printer.subject = name
        return printer.value(value, False)

    # With cooperative matrices or without: the passes of a recurrence read the same weights, and go together.
    factors = {one.factor for one in sums.passes if one.along and one.when == form.when}
    read = {one.tensor for _, value in (*form.before, *form.values) for one in entries_of(value)}
    return SumsPass(
        form=form,
        values=tuple((printer.kept[name], local(name), value_of(name, one)) for name, one in form.values),
        before=tuple((name, printer.value(value, False)) for name, value in form.before),
        reads=tuple(sorted(read | {form.factor} & printer.kept.keys())),
        copied=tuple(printer.kept[name] for name, _ in form.values if name in factors),
    )
