"""The pass of rows in the shader of a definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor, in_float16
from dmlgen.plans.params import Declaration
from dmlgen.schedules.reduction import Reduction
from dmlgen.schedules.reduction import Total as ReductionTotal
from dmlgen.schedules.rows import Rows


@dataclass(frozen=True)
class Total:
    """A fold over a row (`schedules.rows`): its name, its kind, and the term of an element."""

    name: str
    kind: str
    term: str


@dataclass(frozen=True)
class Function:
    """A function of a reduction, which the value `number` of an enumeration selects: the value of a state for
    an `element` (`map`), that for the states a and b together (`merge`), the `neutral` one, the `total` that
    follows from a `state`, and the `result` from that. `ranks`: the values are ranks. `chooses`: the result
    is the index of the greatest instead.
    """

    case: str
    number: int
    map: str
    merge: str = ""
    neutral: str = "0"
    total: str = "state.value"
    result: str = ""
    ranks: bool = False
    chooses: bool = False


@dataclass(frozen=True)
class RowsPass(FormPass):
    """The only pass of a shader that computes all outputs by rows of `source`.

    `elements` are the tensors read at the element itself, `spread` others, of which there may be one element
    for a whole row; totals need those that are `held`. `of_row` are those read at the coordinate of the row,
    of which `single` only at 0. `statistics` are numbers of a row that follow from its `totals`, by name.
    `term` is that of a sum of exponentials, if outputs need it and not the elements, in whose place it stays
    in registers. If there are `functions`, it is a reduction, with a single total. `inputs` are the planner's
    operands.
    """

    source: ShaderTensor
    elements: tuple[ShaderTensor, ...]
    each: tuple[tuple[ShaderTensor, str], ...]
    of_rows: tuple[tuple[ShaderTensor, str], ...]
    inputs: Mapping[str, ir.Expr]
    held: tuple[ShaderTensor, ...] = ()
    totals: tuple[Total, ...] = ()
    statistics: tuple[tuple[str, str], ...] = ()
    term: str = ""
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
        numbers = {"words": len(self.fields), "functions": len(self.functions), "choosing": choosing}
        return ({**record, **numbers},)

    @property
    def fields(self) -> Sequence[str]:
        """The numbers that represent a row or a part of one."""
        if self.functions:
            return ["value", "index"]
        about = ["count", "center"] if "squares" in self.names else []
        return [*(one.name for one in self.totals), *about]

    def condition(self, name: Literal["ranks", "chooses"]) -> str:
        """The condition under which that holds of the function of a reduction."""
        found = [f"FUNCTION == {one.number}" for one in self.functions if getattr(one, name)]
        return "1" if len(found) == len(self.functions) else f"({' || '.join(found) or 0})"

    @property
    def names(self) -> Mapping[str, str]:
        """The names of totals by their kinds."""
        return {one.kind: one.name for one in self.totals}

    @property
    def in_float16(self) -> str:
        return in_float16(self.tensors) if self.functions or "exponentials" in self.names else ""

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
        return "State" if self.fields else ""

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


_FUNCTIONS = {
    "min": ("Min",),
    "max": ("Max",),
    "exponentials": ("IsInfinity", "IsNan", "ExpShifted"),
    "squares": ("IsInfinity",),
}
"""The functions that totals of a kind need."""


def reduction_pass(printer: ShaderPrinter, reduction: Reduction, number: int) -> RowsPass:
    """The pass of a reduction, whose only total is that of elements of any type."""
    source, output = printer.tensors[reduction.source], printer.tensors[reduction.output]
    place = "(item + u * REDUCTION_THREADS) * ALONG"
    marked = f"({output.macro}_VALUE)({place} + k % ALONG == totals[s].index)"
    inputs = {"rows.reduced": reduction.reduced, "rows.decreasing": reduction.decreasing}
    if reduction.function is not None:
        inputs["rows.function"] = reduction.function
    return RowsPass(
        number=number,
        source=source,
        elements=(source,),
        held=(source,),
        totals=(Total("total", "state", f"StateOf(Map({source.local}Element), {place} + k)"),),
        each=((output, marked),) if reduction.marks else (),
        of_rows=() if reduction.marks else ((output, "ResultOf(totals[s])"),),
        inputs=inputs,
        functions=tuple(_function(printer, source, value, one) for value, one in reduction.totals.items()),
    )


def _function(
    printer: ShaderPrinter, source: ShaderTensor, selected_by: ir.EnumValue | None, total: ReductionTotal
) -> Function:
    """A function of a reduction. The greatest or least element is found by rank, which orders NaN."""
    case, number = ("", 0) if selected_by is None else (selected_by.name, selected_by.value)

    def turned(text: str) -> str:
        is_least = total.kind in ("min", "argmin")
        return printer.call_of("Opposite", source.values, text) if is_least else text

    term, result = printer.print(total.term), printer.print(total.value)
    match total.kind:
        case "argmax" | "argmin":
            rank = printer.call_of("TiedRank", source.values, turned(term))
            return Function(case, number, rank, ranks=True, chooses=True)
        case "max" | "min":
            rank = printer.call_of("Rank", source.values, turned(term))
            found = turned(
                printer.call_of("OfRank", {"uint", "uint64_t"}, "state.value", f"({source.macro}_VALUE)0")
            )
            return Function(
                case, number, rank, "max(a.value, b.value)", total=found, result=result, ranks=True
            )
    merge, neutral = ("a.value + b.value", "-0.0") if total.kind == "sum" else ("a.value * b.value", "1")
    return Function(case, number, term, merge, neutral, result=result)


def rows_pass(printer: ShaderPrinter, rows: Rows, number: int) -> RowsPass:
    """The pass of rows, with its number."""
    terms = [one.term for one in rows.totals]
    values = (*terms, *(one.value for one in rows.statistics), *rows.each.values(), *rows.of_rows.values())
    parts = {part for value in values for part in ir.walk(value)}
    elements = [name for name in printer.tensors if _local(f"{name}Element") in parts]
    of_row = [name for name in printer.tensors if _local(f"{name}OfRow") in parts]
    named = _names(printer, rows)

    def tensors(names: Iterable[str]) -> tuple[ShaderTensor, ...]:
        return tuple(printer.tensors[name] for name in names)

    def needed(values: Iterable[ir.Expr]) -> list[str]:
        """The tensors whose elements values need."""
        parts = {part for value in values for part in ir.walk(value)}
        return [name for name in elements if _local(f"{name}Element") in parts]

    def printed(node: ir.Expr, decides: bool = False) -> str:
        return printer.value(ir.substitute(node, named), decides)

    def stored(values: Mapping[str, ir.Expr]) -> tuple[tuple[ShaderTensor, str], ...]:
        return tuple(
            (printer.tensors[name], printer.stored(name, ir.substitute(value, named)))
            for name, value in values.items()
        )

    for total in rows.totals:
        for function in _FUNCTIONS.get(total.kind, ()):
            printer.use(function, printer.reals)
    held, term, each = needed(terms), "", rows.each
    for total in (one for one in rows.totals if one.kind == "exponentials" and len(held) == 1):
        difference = ir.Binary("-", total.term, _local(total.center), ir.FLOAT)
        power = ir.Call("exp", (difference,), ir.FLOAT)
        by_term = {name: ir.substitute(value, {power: _local("term")}) for name, value in each.items()}
        if held[0] not in needed(by_term.values()):
            term, each = f"ExpShifted({printed(difference)})", by_term
    return RowsPass(
        number=number,
        source=printer.tensors[rows.source],
        elements=tensors(name for name in elements if name in rows.elements),
        spread=tensors(name for name in elements if name not in rows.elements),
        held=tensors(held),
        of_row=tensors(of_row),
        single=tensors(name for name in of_row if name in rows.single),
        totals=tuple(
            Total(f"total{place}", one.kind, printed(one.term)) for place, one in enumerate(rows.totals)
        ),
        statistics=tuple((one.name, printed(one.value, one.decides)) for one in rows.statistics),
        term=term,
        each=stored(each),
        of_rows=stored(rows.of_rows),
        inputs={"rows.reduced": rows.reduced},
    )


def _names(printer: ShaderPrinter, rows: Rows) -> dict[ir.Expr, ir.Expr]:
    """The names of the schedule's locals in the shader."""
    names = {one.name: f"{one.name}s[s]" for one in rows.statistics}
    for place, total in enumerate(rows.totals):
        number = f"totals[s].total{place}"
        if total.kind in ("peak", "deviations"):
            number = "PeakOf(totals[s])" if total.kind == "peak" else "SumOf(totals[s])"
        elif total.kind == "squares":
            number = f"About(totals[s], {total.center}s[s]).total{place}"
        names[f"total{place}"] = number
    for name, tensor in printer.tensors.items():
        names |= {f"{name}Element": f"{tensor.local}Element", f"{name}OfRow": f"{tensor.local}OfRow[s]"}
    return {_local(name): _local(new) for name, new in names.items()}


def _local(name: str) -> ir.Local:
    return ir.Local(name, ir.FLOAT, varies=True)
