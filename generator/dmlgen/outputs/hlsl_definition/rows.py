"""The pass of rows in the shader of a definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.plans.params import Constant
from dmlgen.registry import Operator
from dmlgen.schedules.rows import Rows


@dataclass(frozen=True)
class Around:
    """That a stage has one sum, over the squares of `difference`, an element's from `center`, a statistic;
    `total` is the sum of the elements.

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
class Stage:
    """Sums over a row that are computed together, and numbers computed from them; all by name, as texts. If
    rows are split, dispatch `turn` computes the sums of parts."""

    sums: tuple[tuple[str, str], ...]
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

    `elements` are the tensors read at the element itself, of which sums need those that are `held`; `spread`
    are others, and `of_row` those read at the coordinate of the row, of which `single` only at 0. `parts` are
    computed from `spread`.
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
        return ({**record, "turns": len(self.turns), "sums": len(self.sums)},)

    @property
    def turns(self) -> Sequence[Sequence[str]]:
        """The statistics that each dispatch computes sums for, if rows are split."""
        summing = [stage for stage in self.stages if stage.sums]
        return [
            [name for stage in summing if stage.turn == turn for name, _ in stage.statistics]
            for turn in sorted({stage.turn for stage in summing})
        ]

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of all that is kept of a part of a row."""
        return tuple(name for stage in self.stages for name in self.sums_of(stage))

    def sums_of(self, stage: Stage) -> Sequence[str]:
        """The names of all that one stage keeps of a part of a row."""
        return [*(name for name, _ in stage.sums), *(("center", "differences") if stage.around else ())]

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
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.read, *(tensor for tensor, _ in (*self.each, *self.of_rows)))


def rows_pass(printer: ShaderPrinter, operator: Operator, number: int) -> RowsPass | None:
    """The pass of rows, with its number, if outputs follow from rows."""
    rows = printer.form(Rows)
    return None if rows is None else _RowsPrinter(printer, rows).rows(number)


class _RowsPrinter:
    """Prints values made of elements, statistics and sums."""

    def __init__(self, printer: ShaderPrinter, rows: Rows) -> None:
        self._printer, self._rows = printer, rows
        self._sums = [body for one in rows.statistics for body in one.sums]
        self._named: dict[ir.Expr, ir.Expr] = {}  # locals of the schedule, renamed for the shader
        self._read: dict[str, list[str]] = {"Element": [], "OfRow": []}
        whole = (*self._sums, *(one.value for one in rows.statistics), *rows.parts.values())
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
            held=self._tensors(name for name in elements if self._is_in(name, *self._sums)),
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
        """The statistics in stages: those whose sums do not depend on others of the same stage."""
        stages: list[Stage] = []
        known: set[ir.Expr] = set()  # statistics of the current stage
        terms: dict[str, ir.Expr] = {}  # of sums, by name
        for one in self._rows.statistics:
            needed = {part for body in one.sums for part in ir.walk(body)}
            if not stages or needed & known:
                stages.append(Stage((), (), 0))
                known = set()
            totals = [f"total{len(terms) + place}" for place in range(len(one.sums))]
            terms |= zip(totals, one.sums, strict=True)
            named: dict[ir.Expr, ir.Expr] = {
                _local(f"total{place}"): _local(name) for place, name in enumerate(totals)
            }
            sums = zip(totals, map(self._text, one.sums), strict=True)
            value = self._text(ir.substitute(one.value, named))
            stages[-1] = Stage((*stages[-1].sums, *sums), (*stages[-1].statistics, (one.name, value)), 0)
            known.add(_local(one.name))
        return tuple(self._in_turns(stages, terms))

    def _in_turns(self, stages: Iterable[Stage], terms: Mapping[str, ir.Expr]) -> Iterator[Stage]:
        """The stages with their turns: a later one than that of the stage before, unless it is around one of
        its statistics."""
        before = Stage((), (), 0)
        for stage in stages:
            around = None if before.around else self._around(before, stage, terms)
            turn = before.turn if around or not before.sums else before.turn + 1
            before = replace(stage, turn=turn, around=around)
            yield before

    def _around(self, before: Stage, stage: Stage, terms: Mapping[str, ir.Expr]) -> Around | None:
        """The center of a stage's only sum, if that is a statistic of the stage before."""
        match [terms[name] for name, _ in stage.sums]:
            case [ir.Binary("*", ir.Binary("-", element, ir.Local(name=center)) as left, right)] if (
                left == right
            ):
                total = next((name for name, _ in before.sums if terms[name] == element), None)
                if total is not None and center in dict(before.statistics):
                    return Around(
                        center, total, self._text(ir.substitute(left, {left.right: _local("center")}))
                    )
        return None

    def _is_in(self, name: str, *values: ir.Expr) -> bool:
        """Whether values need the elements of a tensor."""
        return any(_local(f"{name}Element") in ir.walk(value) for value in values)

    def _text(self, node: ir.Expr) -> str:
        return self._printer.value(ir.substitute(node, self._named), False)

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
