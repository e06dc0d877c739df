"""The pass of rows in the shader of a definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.names import pascal
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor, in_float16
from dmlgen.plans.params import Declaration
from dmlgen.schedules.rows import Reduction, Rows, Statistic


@dataclass(frozen=True)
class Total:
    """A fold over a row, of a `kind` (`schedules.rows`): its name, and an element's term. That of a reduction
    has the kind "state"."""

    name: str
    kind: str
    term: str


@dataclass(frozen=True)
class Around:
    """A stage whose only total is about the statistic `center` of the stage before it.

    It is one of two. A sum of exponentials of elements less the center: that of other exponentials, by the
    factor `weight`. Or a sum of the squares of elements less their mean, with `sum`, that of the elements.
    Over n elements, it is the sum of the squares of their `differences` from another number m, plus n times
    the square of m's own difference from the center, plus twice the product of that and the sum of the
    elements' differences from m. Both hold for any m, so sums over parts of a row need not wait for the
    center: they are around that of the part, to be small. (Chan, Golub and LeVeque, "Updating Formulae and a
    Pairwise Algorithm for Computing Sample Variances", 1979; there, differences from the mean add up to 0,
    as they would here if it were not rounded.)
    """

    center: str
    weight: str = ""
    sum: str = ""
    differences: tuple[Total, ...] = ()


@dataclass(frozen=True)
class Stage:
    """Totals of a row that are computed together, from elements of `spread` (`RowsPass`), too, and numbers
    computed from them, by name. If rows are split, dispatch `turn` computes the totals of parts.
    `keeps_terms`: outputs need the terms of its only total, and not the elements, in place of which they stay
    in registers."""

    totals: tuple[Total, ...] = ()
    statistics: tuple[tuple[str, str], ...] = ()
    spread: tuple[ShaderTensor, ...] = ()
    turn: int = 1
    around: Around | None = None
    keeps_terms: bool = False

    @property
    def counted(self) -> tuple[Total, ...]:
        """All totals of parts."""
        return (*self.totals, *(self.around.differences if self.around else ()))

    @property
    def kept(self) -> Sequence[str]:
        """The names of all that is kept of a part of a row."""
        return [*(one.name for one in self.counted), *(("center",) if self.around else ())]


@dataclass(frozen=True)
class Function:
    """A function of a reduction, which the value `number` of an enumeration selects: the value of an element
    x (`map`), that of two together (`merge`), the `neutral` one, and the result from the total (`finish`).
    `ranks`: the values are ranks. `chooses`: the result is the index of the greatest.
    """

    case: str
    number: int
    map: str
    merge: str = ""
    neutral: str = "0"
    finish: str = ""
    ranks: bool = False
    chooses: bool = False


@dataclass(frozen=True)
class RowsPass(FormPass):
    """The only pass of a shader that computes all outputs by rows of `source`.

    `elements` are the tensors read at the element itself, of which totals need those that are `held`;
    `spread` are others, and `of_row` those read at the coordinate of the row, of which `single` only at 0.
    If there are `functions`, it is a reduction, with one total, the state of a row. `inputs` are the
    planner's operands.
    """

    source: ShaderTensor
    elements: tuple[ShaderTensor, ...]
    held: tuple[ShaderTensor, ...]
    stages: tuple[Stage, ...]
    each: tuple[tuple[ShaderTensor, str], ...]
    of_rows: tuple[tuple[ShaderTensor, str], ...]
    inputs: Mapping[str, ir.Expr]
    spread: tuple[ShaderTensor, ...] = ()
    of_row: tuple[ShaderTensor, ...] = ()
    single: tuple[ShaderTensor, ...] = ()
    functions: tuple[Function, ...] = ()
    field = "rows"
    template = "rows"
    params = "RowsParams"

    @property
    def places(self) -> Mapping[str, str | Sequence[str]]:
        each, of_rows = ([one.member for one, _ in written] for written in (self.each, self.of_rows))
        return {
            "source": self.source.member,
            "read": [one.member for one in self.read],
            "spread": [one.member for one in self.spread],
            "single": [one.member for one in self.single],
            "each": each,
            "of_rows": of_rows,
            "output": [*each, *of_rows][0],
        }

    @property
    def records(self) -> Sequence[Mapping[str, int | str | Sequence[str]]]:
        (record,) = super().records
        choosing = sum(1 << one.number for one in self.functions if one.chooses)
        totals = len(self.totals) + (choosing > 0)  # with an index
        numbers = {"turns": len(self.turns), "totals": totals, "functions": len(self.functions)}
        return ({**record, **numbers, "choosing": choosing},)

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
    def totals(self) -> Sequence[str]:
        """The names of all that is kept of a part of a row."""
        return [name for stage in self.stages for name in stage.kept]

    @property
    def term(self) -> str:
        """The term that outputs are functions of, if it is kept."""
        kept = self.stages and self.stages[-1].keeps_terms
        return self.stages[-1].totals[0].term if kept else ""

    @property
    def in_float16(self) -> str:
        if self.functions or any(one.around and one.around.weight for one in self.stages):
            return in_float16(self.tensors)
        return ""

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        return self.inputs

    def constants(self, tensors: Sequence[ShaderTensor]) -> Mapping[str, Sequence[Declaration]]:
        return {
            "steps": [Declaration("uint", f"{tensor.local}Step") for tensor in tensors],
            "strides": [Declaration("uint", f"{tensor.local}Stride") for tensor in tensors],
        }

    @property
    def scratch(self) -> str:
        return self.number_type if self.turns else ""

    @property
    def number_type(self) -> str:
        """The type of a row's totals and statistics."""
        return "State" if self.functions else "float"

    @property
    def element(self) -> str:
        """The type in which elements are computed."""
        return f"{self.source.macro}_VALUE" if self.functions else "float"

    @property
    def read(self) -> tuple[ShaderTensor, ...]:
        return tuple(dict.fromkeys((*self.elements, *self.spread, *self.of_row)))

    @property
    def in_vectors(self) -> tuple[ShaderTensor, ...]:
        """The tensors of which several elements may be loaded or stored at once."""
        return (*self.read, *(tensor for tensor, _ in self.each))

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        return (*self.in_vectors, *(tensor for tensor, _ in self.of_rows))


def rows_pass(printer: ShaderPrinter, rows: Rows, number: int) -> RowsPass:
    """The pass of rows, with its number."""
    printed = _RowsPrinter(printer, rows)
    return printed.rows(number) if rows.reduction is None else printed.reduction(rows.reduction, number)


class _RowsPrinter:
    """Prints values made of elements, statistics and totals."""

    def __init__(self, printer: ShaderPrinter, rows: Rows) -> None:
        self._printer, self._rows = printer, rows
        self._terms = [total.term for one in rows.statistics for total in one.totals]
        # Locals of the schedule, renamed for the shader
        self._named: dict[ir.Expr, ir.Expr] = {_local(one.name): _of_row(one.name) for one in rows.statistics}
        self._read: dict[str, list[str]] = {"Element": [], "OfRow": []}
        values = (*self._terms, *(one.value for one in rows.statistics), *rows.each.values())
        parts = {part for one in (*values, *rows.of_rows.values()) for part in ir.walk(one)}
        for name, tensor in printer.tensors.items():
            own = {"Element": _local(f"{tensor.local}Element"), "OfRow": _of_row(f"{tensor.local}OfRow")}
            for suffix, names in self._read.items():
                if _local(name + suffix) in parts:
                    names.append(name)
                    self._named[_local(name + suffix)] = own[suffix]

    def reduction(self, reduction: Reduction, number: int) -> RowsPass:
        """The pass of a reduction: one stage, whose only total is that of elements of any type."""
        tensors, source = self._printer.tensors, self._printer.tensors[self._rows.source]
        place = "(item + u * REDUCTION_THREADS) * ALONG"
        term = f"StateOf(Map({source.local}Element), {place} + k)"
        chosen = f"{place} + k % ALONG == total0s.of[s].index"
        inputs = {"rows.reduced": self._rows.reduced, "rows.decreasing": reduction.decreasing}
        if reduction.function is not None:
            inputs["rows.function"] = reduction.function
        return RowsPass(
            number=number,
            source=source,
            elements=(source,),
            held=(source,),
            stages=(Stage((Total("total0", "state", term),)),),
            each=tuple(
                (tensors[name], f"({tensors[name].macro}_VALUE)({chosen})") for name in self._rows.each
            ),
            of_rows=tuple((tensors[name], "ResultOf(total0s.of[s])") for name in self._rows.of_rows),
            inputs=inputs,
            functions=tuple(self._function(value, one) for value, one in reduction.results.items()),
        )

    def _function(self, selected_by: ir.EnumValue | None, result: Statistic) -> Function:
        """A function of a reduction. The greatest or least element is found by rank, which orders NaN."""
        case, number = ("", 0) if selected_by is None else (selected_by.name, selected_by.value)
        (total,) = result.totals
        source, call = self._printer.tensors[self._rows.source], self._printer.call_of

        def turned(text: str) -> str:
            return call("Opposite", source.values, text) if total.kind in ("min", "argmin") else text

        def printed(node: ir.Expr, name: str) -> str:
            """A function of one local, which gets another name."""
            varying = (part for part in ir.walk(node) if isinstance(part, ir.Local) and part.varies)
            new: dict[ir.Expr, ir.Expr] = {part: replace(part, name=name) for part in varying}
            return self._printer.print(ir.substitute(node, new))

        value = printed(total.term, "x")
        match total.kind:
            case "argmax" | "argmin":
                rank = call("TiedRank", source.values, turned(value))
                return Function(case, number, rank, ranks=True, chooses=True)
            case "max" | "min":
                rank = call("Rank", source.values, turned(value))
                greatest = turned(call("OfRank", {"uint", "uint64_t"}, "total", f"({source.macro}_VALUE)0"))
                finish = printed(result.value, greatest)
                return Function(case, number, rank, "max(x, y)", "0", finish, ranks=True)
        merge, neutral = ("x + y", "-0.0") if total.kind == "sum" else ("x * y", "1")
        return Function(case, number, value, merge, neutral, printed(result.value, "total"))

    def rows(self, number: int) -> RowsPass:
        rows, stages, each = self._rows, self._stages(), self._from_terms()
        if each != rows.each:
            stages = (*stages[:-1], replace(stages[-1], keeps_terms=True))
        elements = [name for name in self._read["Element"] if name in rows.elements]
        return RowsPass(
            number=number,
            source=self._printer.tensors[rows.source],
            elements=self._tensors(elements),
            held=self._tensors(name for name in elements if self._is_in(name, *self._terms)),
            spread=self._spread(*self._terms, *each.values()),
            of_row=self._tensors(self._read["OfRow"]),
            single=self._tensors(name for name in self._read["OfRow"] if name in rows.single),
            stages=stages,
            each=self._stored(each),
            of_rows=self._stored(rows.of_rows),
            inputs={"rows.reduced": rows.reduced},
        )

    def _from_terms(self) -> Mapping[str, ir.Expr]:
        """The outputs, as functions of the terms of the last stage's only total if that suffices."""
        last = [one for one in self._rows.statistics if one.totals][-1:]
        held = [name for name in self._rows.elements if self._is_in(name, *self._terms)]
        if last and len(last[0].totals) == len(held) == 1:
            term = last[0].totals[0].term
            each = {name: ir.substitute(value, {term: _TERM}) for name, value in self._rows.each.items()}
            if term != _local(f"{held[0]}Element") and not self._is_in(held[0], *each.values()):
                return each
        return self._rows.each

    def _stages(self) -> tuple[Stage, ...]:
        """The statistics in stages: those whose totals do not depend on others of the same stage."""
        stages: list[Stage] = []
        known: set[ir.Expr] = set()  # statistics of the current stage
        terms: dict[str, ir.Expr] = {}  # of totals, by name
        for one in self._rows.statistics:
            needed = {part for total in one.totals for part in ir.walk(total.term)}
            if not stages or needed & known:
                stages.append(Stage())
                known = set()
            totals = [
                Total(f"total{len(terms) + place}", total.kind, self._value(total.term, one.decides))
                for place, total in enumerate(one.totals)
            ]
            terms |= {total.name: given.term for total, given in zip(totals, one.totals, strict=True)}
            for total in totals:
                if total.kind in ("min", "max"):
                    self._printer.use(pascal(total.kind), self._printer.reals)
            named: dict[ir.Expr, ir.Expr] = {
                _local(f"total{place}"): _of_row(total.name) for place, total in enumerate(totals)
            }
            value = self._value(ir.substitute(one.value, named), one.decides)
            spread = self._spread(*(total.term for total in one.totals))
            stages[-1] = Stage(
                (*stages[-1].totals, *totals),
                (*stages[-1].statistics, (one.name, value)),
                tuple(dict.fromkeys((*stages[-1].spread, *spread))),
            )
            known.add(_local(one.name))
        return tuple(self._in_turns(stages, terms))

    def _in_turns(self, stages: Iterable[Stage], terms: Mapping[str, ir.Expr]) -> Iterator[Stage]:
        """The stages with their turns: a later one than that of the stage before, unless it is around one of
        its statistics."""
        before = Stage()
        for stage in stages:
            found = None if before.around else self._around(before, stage, terms)
            turn = before.turn if found or not before.totals else before.turn + 1
            before = replace(found or stage, turn=turn)
            yield before

    def _around(self, before: Stage, stage: Stage, terms: Mapping[str, ir.Expr]) -> Stage | None:
        """A stage whose only total is about a statistic of the stage before."""
        sums = {terms[one.name]: one.name for one in before.totals if one.kind == "sum"}
        match [(one, terms[one.name]) for one in stage.totals]:
            case [(total, ir.Binary("*", ir.Binary("-", element, ir.Local(name=center)) as left, right))]:
                if left == right and element in sums and center in dict(before.statistics):
                    difference = replace(left, right=_CENTER)
                    square = ir.Binary("*", difference, difference, ir.FLOAT)
                    differences = Total("differences", "sum", self._value(difference))
                    around = Around(center, "", sums[element], (differences,))
                    return replace(stage, totals=(replace(total, term=self._value(square)),), around=around)
            case [(_, ir.Call("exp_shifted", (ir.Binary("-", element, ir.Local(name=center)),)) as power)]:
                if center in dict(before.statistics):
                    weight = ir.substitute(power, {element: _PART_CENTER})
                    return replace(stage, around=Around(center, self._value(weight)))
        return None

    def _spread(self, *values: ir.Expr) -> tuple[ShaderTensor, ...]:
        """The tensors that values need an element of, which may be one for a whole row."""
        others = (name for name in self._read["Element"] if name not in self._rows.elements)
        return self._tensors(name for name in others if self._is_in(name, *values))

    def _is_in(self, name: str, *values: ir.Expr) -> bool:
        """Whether values need the elements of a tensor."""
        return any(_local(f"{name}Element") in ir.walk(value) for value in values)

    def _value(self, node: ir.Expr, decides: bool = False) -> str:
        return self._printer.value(ir.substitute(node, self._named), decides)

    def _tensors(self, names: Iterable[str]) -> tuple[ShaderTensor, ...]:
        return tuple(self._printer.tensors[name] for name in names)

    def _stored(self, values: Mapping[str, ir.Expr]) -> tuple[tuple[ShaderTensor, str], ...]:
        return tuple(
            (self._printer.tensors[name], self._printer.stored(name, ir.substitute(value, self._named)))
            for name, value in values.items()
        )


def _local(name: str) -> ir.Local:
    return ir.Local(name, ir.FLOAT, varies=True)


def _of_row(name: str) -> ir.Local:
    """A number of the current one of the rows that a thread works on."""
    return _local(f"{name}s.of[s]")


_TERM = _local("term")
_CENTER = _of_row("center")
_PART_CENTER = _local("partCenter")
