"""The passes of sums in the shader of a recurrent network."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of
from dmlgen.outputs.hlsl_definition.form import Fields, FormPass, ones_where
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


@dataclass(frozen=True)
class SumsPasses(FormPass):
    """The passes of sums, the first ones, of which planners take those that apply to a description. `statics`
    are the variables that hold the sums of an element, and what else it needs."""

    passes: tuple[SumsPass, ...]
    statics: Collection[str]
    field = "sums"
    template = "sums"
    scratch = "Scratch"
    scalars = ("stepsFirst",)  # where groups count steps in scratch
    word = "ScratchWord(%s)"

    @property
    def records(self) -> Sequence[Fields]:
        return [
            {
                "factors": one.form.factors,
                "copied": [kept.member for kept in one.copied],
                "sums": len(one.form.gates),
            }
            for one in self.passes
        ]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """For each of the passes whether it applies, as 1 or 0."""
        return {"sums": ones_where(one.form.when for one in self.passes)}

    @property
    def here(self) -> str:
        return f"PASS < {len(self.passes)}"

    @property
    def zeros(self) -> tuple[str, ...]:
        return ("COOPERATIVE_MATRIX", "SUM_VECTOR")

    @property
    def factors(self) -> Collection[str]:
        """The tensors of the description that products read."""
        return {name for one in self.passes for name in one.form.factors}


def sums_passes(printer: ShaderPrinter, sums: Sums) -> SumsPasses:
    """The passes of sums that intermediate tensors consist of."""
    printer.statics = sums.names
    return SumsPasses(0, tuple(_pass(printer, sums, one) for one in sums.passes), sums.names)


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
