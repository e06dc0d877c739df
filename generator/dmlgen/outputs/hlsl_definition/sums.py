"""The passes of sums in the shader of a definition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of
from dmlgen.outputs.hlsl_definition.form import NONE, Fields, FormPasses, ones_where
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_names import local
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.schedules.sums import SharedSums, Sums


@dataclass(frozen=True)
class SumsPass:
    """The pass that computes intermediate tensors, `values`, from sums of products; see `SharedSums`. Each
    comes with the local that has its value; `before` are static variables. The pass reads the intermediate
    tensors in `reads`. `starts` has, for each sum, where its weights start; the factor is read from a tensor
    of the description, or from an intermediate one, and starts at `start`. With cooperative matrices, the
    tensors in `copied`, factors of other passes or steps, are also written as float16."""

    number: int
    form: SharedSums
    values: tuple[tuple[Kept, str, str], ...]
    before: tuple[tuple[str, str], ...]
    reads: frozenset[str]
    weights: ShaderTensor
    starts: tuple[str, ...]
    factor: ShaderTensor | Kept
    start: str
    copied: tuple[Kept, ...]

    @property
    def kept(self) -> Kept | None:
        """The intermediate tensor that products read."""
        return self.factor if isinstance(self.factor, Kept) else None

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        """The tensors of the description that products read."""
        return (self.weights, self.factor) if isinstance(self.factor, ShaderTensor) else (self.weights,)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(kept.member for kept, _, _ in self.values)

    @property
    def record(self) -> Mapping[str, int | str | Sequence[str]]:
        """The facts that planners have about its sums."""
        return {
            "number": self.number,
            "weights": self.weights.member,
            "tensor": self.factor.member if isinstance(self.factor, ShaderTensor) else "",
            "copied": [kept.member for kept in self.copied],
            "sums": len(self.starts),
            "rows": self.form.dimensions[0],
            "columns": self.form.dimensions[1],
        }


@dataclass(frozen=True)
class SumsPasses(FormPasses):
    """The passes of sums, of which planners take those that apply to a description. `statics` are the
    variables that hold the sums of an element, and what else it needs."""

    passes: tuple[SumsPass, ...]
    statics: Collection[str]
    field = "sums"
    template = "sums"
    scratch = "Scratch"
    scalars = ("stepsFirst",)  # where groups count steps in scratch
    word = "ScratchWord(%s)"

    @property
    def records(self) -> Sequence[Fields]:
        return [one.record for one in self.passes]

    @property
    def intermediate(self) -> Sequence[Fields]:
        return [
            {
                "number": one.number,
                "writes_kept": True,
                "target": one.targets[0],
                "writes": one.targets,
                "outputs": (),
                "reads": sorted(one.reads),
                "is_along": one.form.along,
                "box": "",
                "axis": NONE,
            }
            for one in self.passes
        ]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """For each of the passes whether it applies, as 1 or 0."""
        return {"sums": ones_where(one.form.when for one in self.passes)}

    @property
    def zeros(self) -> tuple[str, ...]:
        return ("COOPERATIVE_MATRIX", "SINGLE_GROUP", "SUM_VECTOR")

    @property
    def factors(self) -> Collection[Kept]:
        """The intermediate tensors that products read."""
        return dict.fromkeys(one.kept for one in self.passes if one.kept is not None)

    @property
    def tensors(self) -> Mapping[ShaderTensor, Sequence[SumsPass]]:
        """The tensors of the description that products read, each with the passes that do."""
        found = dict.fromkeys(tensor for one in self.passes for tensor in one.tensors)
        return {tensor: [one for one in self.passes if tensor in one.tensors] for tensor in found}


def sums_passes(printer: ShaderPrinter, sums: Sums, number: int) -> SumsPasses:
    """The passes of sums that intermediate tensors consist of, from `number` on."""
    printer.statics = sums.names
    passes = (_pass(printer, sums, one, place) for place, one in enumerate(sums.passes, number))
    return SumsPasses(number, tuple(passes), sums.names)


def _pass(printer: ShaderPrinter, sums: Sums, form: SharedSums, number: int) -> SumsPass:
    def start(one: ir.Load | ir.Entry) -> str:
        """The coordinate of the first product's element."""
        assert isinstance(one.coordinate, ir.ListOf)
        return printer.deciding(ir.ListOf((*one.coordinate.items[:-1], ir.ZERO)))

    def value_of(name: str, value: ir.Expr) -> str:
        printer.subject = name
        return printer.value(value, False)

    factor, values = form.factor, [value for _, value in (*form.before, *form.values)]
    together = [one for one in sums.passes if one.along and one.when == form.when]
    # Then all of them, or none, have cooperative matrices.
    assert len({(one.weights[0].tensor, one.dimensions) for one in together}) <= 1
    return SumsPass(
        number=number,
        form=form,
        values=tuple((printer.kept[name], local(name), value_of(name, one)) for name, one in form.values),
        before=tuple((name, printer.value(value, False)) for name, value in form.before),
        reads=frozenset(one.tensor for read in (factor, *values) for one in entries_of(read)),
        weights=printer.tensors[form.weights[0].tensor.name],
        starts=tuple(map(start, form.weights)),
        factor=(
            printer.kept[factor.tensor]
            if isinstance(factor, ir.Entry)
            else printer.tensors[factor.tensor.name]
        ),
        start=start(factor),
        copied=tuple(
            printer.kept[name]
            for name, _ in form.values
            if any(isinstance(one.factor, ir.Entry) and one.factor.tensor == name for one in together)
        ),
    )
