"""The pass of rows in the shader of a definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.names import pascal
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.plans.params import Constant
from dmlgen.schedules.rows import Rows


@dataclass(frozen=True)
class Around:
    """A stage whose only total is the sum of the squares of `difference`, an element less the statistic
    `center`; `total` is the sum of the elements.

    Over n elements, it is the sum of the squares of their differences from another number m, plus n times the
    square of m's own difference from the center, plus twice the product of that and the sum of the elements'
    differences from m. This holds for any m, so sums over parts of a row need not wait for the center: they
    are around the mean of the part, to be small. (Chan, Golub and LeVeque, "Updating Formulae and a Pairwise
    Algorithm for Computing Sample Variances", 1979; there, differences from the mean add up to 0, as they
    would here if it were not rounded.)
    """

    center: str
    total: str
    difference: str


@dataclass(frozen=True)
class Total:
    """A sum, minimum or maximum (`kind`) over a row: its name, and the text of an element's term."""

    name: str
    kind: str
    term: str


@dataclass(frozen=True)
class Stage:
    """Totals of a row that are computed together, and numbers computed from them, by name, as texts. If rows
    are split, dispatch `turn` computes the totals of parts."""

    totals: tuple[Total, ...]
    statistics: tuple[tuple[str, str], ...]
    turn: int
    around: Around | None = None


@dataclass(frozen=True)
class Part:
    """A number that is the same for a whole row if its `tensors` are: its name and its text."""

    name: str
    text: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True)
class RowsPass(FormPass):
    """The pass that computes all outputs by rows of `source`.

    `elements` are the tensors read at the element itself, of which totals need those that are `held`;
    `spread` are others, and `of_row` those read at the coordinate of the row, of which `single` only at 0.
    `parts` are computed from `spread`.
    """

    source: Tensor
    elements: tuple[Tensor, ...]
    held: tuple[Tensor, ...]
    spread: tuple[Tensor, ...]
    of_row: tuple[Tensor, ...]
    single: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    parts: tuple[Part, ...]
    each: tuple[tuple[Tensor, str], ...]
    of_rows: tuple[tuple[Tensor, str], ...]
    reduced: ir.Expr
    field = "rows"
    template = "rows"
    planner = "rows"
    params = "RowsParams"

    @property
    def places(self) -> Mapping[str, str | Sequence[str]]:
        each, of_rows = ([one.member for one, _ in written] for written in (self.each, self.of_rows))
        return {
            "source": self.source.member,
            "read": [one.member for one in self.read],
            "single": [one.member for one in self.single],
            "each": each,
            "of_rows": of_rows,
            "output": each[0],
        }

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        (record,) = super().records
        return ({**record, "turns": len(self.turns), "totals": len(self.totals)},)

    @property
    def turns(self) -> Sequence[Sequence[str]]:
        """The statistics that each dispatch computes totals for, if rows are split."""
        stages = [stage for stage in self.stages if stage.totals]
        return [
            [name for stage in stages if stage.turn == turn for name, _ in stage.statistics]
            for turn in sorted({stage.turn for stage in stages})
        ]

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of totals."""
        return sorted({total.kind for stage in self.stages for total in stage.totals})

    @property
    def totals(self) -> tuple[str, ...]:
        """The names of all that is kept of a part of a row."""
        return tuple(name for stage in self.stages for name in self.totals_of(stage))

    def totals_of(self, stage: Stage) -> Sequence[str]:
        """The names of all that one stage keeps of a part of a row."""
        return [*(one.name for one in stage.totals), *(("center", "differences") if stage.around else ())]

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return {"reduced": self.reduced}

    def constants(self, tensors: Sequence[Tensor]) -> Mapping[str, Sequence[Constant]]:
        return {
            "steps": [Constant("uint", f"{tensor.local}Step") for tensor in tensors],
            "strides": [Constant("uint", f"{tensor.local}Stride") for tensor in tensors],
        }

    @property
    def elsewhere(self) -> str:
        return f"PASS != {self.number}"

    @property
    def read(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys((*self.elements, *self.spread, *self.of_row)))

    @property
    def in_vectors(self) -> tuple[Tensor, ...]:
        """The tensors of which several elements may be loaded or stored at once."""
        return (*self.read, *(tensor for tensor, _ in self.each))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.in_vectors, *(tensor for tensor, _ in self.of_rows))


def rows_pass(printer: ShaderPrinter, rows: Rows, number: int) -> RowsPass:
    """The pass of rows, with its number."""
    return _RowsPrinter(printer, rows).rows(number)


class _RowsPrinter:
    """Prints values made of elements, statistics and totals."""

    def __init__(self, printer: ShaderPrinter, rows: Rows) -> None:
        self._printer, self._rows = printer, rows
        self._terms = [total.term for one in rows.statistics for total in one.totals]
        self._named: dict[ir.Expr, ir.Expr] = {}  # locals of the schedule, renamed for the shader
        self._read: dict[str, list[str]] = {"Element": [], "OfRow": []}
        whole = (*self._terms, *(one.value for one in rows.statistics), *rows.parts.values())
        parts = {
            part for one in (*whole, *rows.each.values(), *rows.of_rows.values()) for part in ir.walk(one)
        }
        for name, tensor in printer.tensors.items():
            for suffix, names in self._read.items():
                if _local(name + suffix) in parts:
                    names.append(name)
                    self._named[_local(name + suffix)] = _local(tensor.local + suffix)

    def rows(self, number: int) -> RowsPass:
        rows = self._rows
        elements = [name for name in self._read["Element"] if name in rows.elements]
        spread = [name for name in self._read["Element"] if name not in rows.elements]
        return RowsPass(
            number=number,
            source=self._printer.tensors[rows.source],
            elements=self._tensors(elements),
            held=self._tensors(name for name in elements if self._is_in(name, *self._terms)),
            spread=self._tensors(spread),
            of_row=self._tensors(self._read["OfRow"]),
            single=self._tensors(name for name in self._read["OfRow"] if name in rows.single),
            stages=self._stages(),
            parts=tuple(
                Part(name, self._text(value), self._tensors(one for one in spread if self._is_in(one, value)))
                for name, value in rows.parts.items()
            ),
            each=self._stored(rows.each),
            of_rows=self._stored(rows.of_rows),
            reduced=rows.reduced,
        )

    def _stages(self) -> tuple[Stage, ...]:
        """The statistics in stages: those whose totals do not depend on others of the same stage."""
        stages: list[Stage] = []
        known: set[ir.Expr] = set()  # statistics of the current stage
        terms: dict[str, ir.Expr] = {}  # of totals, by name
        for one in self._rows.statistics:
            needed = {part for total in one.totals for part in ir.walk(total.term)}
            if not stages or needed & known:
                stages.append(Stage((), (), 0))
                known = set()
            totals = [
                Total(f"total{len(terms) + place}", total.kind, self._text(total.term, one.decides))
                for place, total in enumerate(one.totals)
            ]
            terms |= {total.name: given.term for total, given in zip(totals, one.totals, strict=True)}
            for total in totals:
                if total.kind != "sum":
                    self._printer.use(pascal(total.kind), self._printer.reals)
            named: dict[ir.Expr, ir.Expr] = {
                _local(f"total{place}"): _local(total.name) for place, total in enumerate(totals)
            }
            value = self._text(ir.substitute(one.value, named), one.decides)
            stages[-1] = Stage((*stages[-1].totals, *totals), (*stages[-1].statistics, (one.name, value)), 0)
            known.add(_local(one.name))
        return tuple(self._in_turns(stages, terms))

    def _in_turns(self, stages: Iterable[Stage], terms: Mapping[str, ir.Expr]) -> Iterator[Stage]:
        """The stages with their turns: a later one than that of the stage before, unless it is around one of
        its statistics."""
        before = Stage((), (), 1)
        for stage in stages:
            around = None if before.around else self._around(before, stage, terms)
            turn = before.turn if around or not before.totals else before.turn + 1
            before = replace(stage, turn=turn, around=around)
            yield before

    def _around(self, before: Stage, stage: Stage, terms: Mapping[str, ir.Expr]) -> Around | None:
        """The center of a stage's only total, if that is a statistic of the stage before."""
        sums = {terms[one.name]: one.name for one in before.totals if one.kind == "sum"}
        match [(one.kind, terms[one.name]) for one in stage.totals]:
            case [("sum", ir.Binary("*", ir.Binary("-", element, ir.Local(name=center)) as left, right))]:
                if left == right and element in sums and center in dict(before.statistics):
                    difference = self._text(ir.substitute(left, {left.right: _local("center")}))
                    return Around(center, sums[element], difference)
        return None

    def _is_in(self, name: str, *values: ir.Expr) -> bool:
        """Whether values need the elements of a tensor."""
        return any(_local(f"{name}Element") in ir.walk(value) for value in values)

    def _text(self, node: ir.Expr, decides: bool = False) -> str:
        return self._printer.value(ir.substitute(node, self._named), decides)

    def _tensors(self, names: Iterable[str]) -> tuple[Tensor, ...]:
        return tuple(self._printer.tensors[name] for name in names)

    def _stored(self, values: Mapping[str, ir.Expr]) -> tuple[tuple[Tensor, str], ...]:
        tensors = self._printer.tensors
        return tuple(
            (tensors[name], self._printer.stored(name, ir.substitute(value, self._named)))
            for name, value in values.items()
        )


def _local(name: str) -> ir.Local:
    return ir.Local(name, ir.FLOAT, varies=True)
