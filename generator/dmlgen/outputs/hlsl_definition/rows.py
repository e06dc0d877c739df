"""The pass of rows in the shader of a definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor, only_halves
from dmlgen.plans.params import Declaration
from dmlgen.schedules.rows import Rows, RowValues, Total

_FUNCTIONS = {
    "min": ("Min",),
    "max": ("Max",),
    "argmin": ("TiedRank", "Opposite"),
    "argmax": ("TiedRank",),
    "squares": ("IsInfinity",),
    "exponentials": ("IsInfinity", "IsNan", "ExpShifted"),
}
"""The functions that totals of a kind need."""
_NUMBERS = {
    "peak": "PeakOf(totals)",
    "deviations": "SumOf(totals)",
    "squares": "About(totals, {center}).squares",
    "argmin": "(int)totals.place",
    "argmax": "(int)totals.place",
}
"""The value of a total, if it is not just a number of that name."""


def rows_pass(printer: ShaderPrinter, rows: Rows, number: int) -> FormPass:
    """The only pass of a shader that computes all outputs by rows.

    It shows the tensors that are read: totals need those that are `held`, outputs those that are `needed`,
    and `of_row` are read at the coordinate of the row; the type in which elements are computed: what is read,
    except of `source`, is read as floats; the tensors of which several elements may be loaded or stored at
    once; and the term of a sum of exponentials, if outputs need it and not the elements, in whose place it
    stays in registers.
    """
    terms = {total.fold.body for one in rows.cases.values() for total in one.totals}
    results = {statistic.value for one in rows.cases.values() for statistic in one.statistics}
    results |= {node for one in rows.cases.values() for node in (*one.each.values(), *one.of_rows.values())}

    def read(values: Iterable[ir.Expr], suffix: str) -> tuple[ShaderTensor, ...]:
        """The tensors of which values need elements, or those of a row."""
        parts = {part.name for one in values for part in ir.walk(one) if isinstance(part, ir.Local)}
        return tuple(tensor for name, tensor in printer.tensors.items() if f"{name}{suffix}" in parts)

    held, of_row, term, cases = read(terms, "Element"), read(terms | results, "OfRow"), "", dict(rows.cases)
    for value, one in rows.cases.items():
        for total in (total for total in one.totals if total.kind == "exponentials" and len(held) == 1):
            difference = ir.Binary("-", total.fold.body, _local(total.center), ir.FLOAT)
            power: ir.Expr = ir.Call("exp", (difference,), ir.FLOAT)
            each = {name: ir.substitute(node, {power: _local("term")}) for name, node in one.each.items()}
            if held[0] not in read(each.values(), "Element"):
                cases[value] = replace(one, each=each)
                term = f"ExpShifted({printer.value(_named(printer, one, difference), False)})"
    source = printer.tensors[rows.source]
    all_read = tuple(dict.fromkeys((*read(terms | results, "Element"), *of_row)))
    shown = [_case(printer, value, one) for value, one in cases.items()]
    case = shown[0]  # the only one, or the first of several with the same outputs, one entry per row
    large, small = ([tensor for tensor, _ in some] for some in (case["each"], case["of_rows"]))
    in_vectors = (*all_read, *large)
    is_float = source not in all_read or source.values == {"float"}
    given = {"rows.reduced": rows.reduced, "rows.function": rows.function}
    tensors = (*printer.inputs, *printer.outputs)
    return FormPass(
        number,
        field="rows",
        template="rows",
        params="RowsParams",
        records=[
            {
                "number": number,
                "source": rows.source,
                "read": [one.member for one in all_read],
                "single": sorted(rows.single),
                "each": [one.member for one in large],
                "of_rows": [one.member for one in small],
                "words": max(len(one["fields"]) for one in shown),
                "cases": len(shown),
                "choosing": sum(1 << one["number"] for one in shown if one["chooses"]),
            }
        ],
        given={name: node for name, node in given.items() if node is not None},
        declared={
            "steps": [Declaration("uint", f"{one.local}Step") for one in tensors],
            "strides": [Declaration("uint", f"{one.local}Stride") for one in tensors],
        },
        scratch="State" if held else "",
        halves=only_halves((*in_vectors, *small)) if "peak" in case["fields"] or not large else (),
        shown={
            "source": source,
            "read": all_read,
            "held": held,
            "needed": read((node for one in rows.cases.values() for node in one.each.values()), "Element"),
            "of_row": of_row,
            "in_vectors": in_vectors,
            "tensors": (*in_vectors, *small),
            "element": "float" if is_float else source.value,
            "cases": shown,
            "case": case,
            "term": term,
        },
    )


def _case(printer: ShaderPrinter, value: ir.EnumValue | None, values: RowValues) -> dict[str, Any]:
    """The totals if FUNCTION is `number`, statistics by name, and outputs as large as the rows' tensor
    (`each`) or with one entry per row; `fields` are the numbers that represent a row or a part of one.
    `chooses`: the total is the place of an element."""

    def stored(outputs: Mapping[str, ir.Expr]) -> list[tuple[ShaderTensor, str]]:
        return [
            (printer.tensors[name], printer.stored(name, _named(printer, values, node)))
            for name, node in outputs.items()
        ]

    totals = [_total(printer, values, place, one) for place, one in enumerate(values.totals)]
    more = {"squares": ["count", "center"], "argmin": ["place"], "argmax": ["place"]}
    return {
        "name": "" if value is None else value.name,
        "number": 0 if value is None else value.value,
        "totals": totals,
        "fields": [field for one in totals for field in (one["name"], *more.get(one["kind"], ()))],
        "chooses": any(one["kind"] in ("argmin", "argmax") for one in totals),
        "statistics": [
            (one.name, printer.value(_named(printer, values, one.value), one.decides))
            for one in values.statistics
        ],
        "each": stored(values.each),
        "of_rows": stored(values.of_rows),
    }


def _total(printer: ShaderPrinter, values: RowValues, place: int, total: Total) -> dict[str, Any]:
    """A total: its name, its type, its value for no elements, and the term of an element. The greatest or
    least element is chosen by rank, which orders NaN."""
    for function in _FUNCTIONS.get(total.kind, ()):
        printer.use(function, printer.values(total.fold.body))
    term = printer.value(_named(printer, values, total.fold.body), False)
    if total.kind in ("argmin", "argmax"):
        ranked = term if total.kind == "argmax" else f"Opposite({term})"
        type_, start, term = "SortKey", "0", f"TiedRank({ranked})"
    else:
        type_, start, _, _ = printer.running(total.fold, total.fold.body)
    named = {"name": _field(place, total), "kind": total.kind, "takes_last": total.takes_last}
    return {**named, "type": type_, "start": start, "term": term}


def _field(place: int, total: Total) -> str:
    """The name of a total: its kind, where it is one of a pair."""
    return f"total{place}" if total.kind == total.fold.kind else total.kind


def _named(printer: ShaderPrinter, values: RowValues, node: ir.Expr) -> ir.Expr:
    """A value with the names of the schedule's locals in the shader."""
    names: dict[str, str] = {}
    for place, total in enumerate(values.totals):
        number = _NUMBERS.get(total.kind, f"totals.{_field(place, total)}")
        names[f"total{place}"] = number.format(center=total.center)
    for member, tensor in printer.tensors.items():
        names |= {f"{member}Element": f"{tensor.local}Element", f"{member}OfRow": f"{tensor.local}OfRow[0]"}
    known = {part for part in ir.walk(node) if isinstance(part, ir.Local) and part.name in names}
    return ir.substitute(node, {part: replace(part, name=names[part.name]) for part in known})


def _local(name: str) -> ir.Local:
    return ir.Local(name, ir.FLOAT, varies=True)
