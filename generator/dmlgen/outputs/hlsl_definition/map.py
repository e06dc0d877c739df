"""The pass of a map, which computes each element from a few others."""

from __future__ import annotations

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.form import FormPass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import only_halves
from dmlgen.outputs.reads import widened
from dmlgen.plans.params import Declaration
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.elementwise import Elementwise


def map_pass(printer: ShaderPrinter, form: Elementwise, number: int) -> FormPass:
    """The only pass of a shader that steps through all tensors together.

    It shows the text of an element, a function of those of other tensors, which have types; the constants
    that it reads; and whether elements are gathered, or stored from a constant offset on.
    """
    inputs, output = printer.inputs, printer.outputs[0]
    reads = [form.value] if isinstance(form.value, ir.Load) else loads_of(form.value)
    elements = {
        one: ir.Local(printer.tensors[one.tensor.entry].local, one.type, varies=True) for one in reads
    }
    if form.is_gathered:
        printer.use("NormalizeIndex", inputs[1].values)
    value = printer.of_elements(form.output.name, form.value, elements)
    loaded = {one.tensor.entry for one in loads_of(form.value)}
    types = {one.tensor.entry: printer.type_of(element) for one, element in elements.items()}
    numbers = [Declaration(one.kind, one.name) for one in printer.constants.known("int", "float")]
    packed = [Declaration("uint2", one.name) for one in printer.constants.known("element")]
    begin = [] if form.place is None else [Declaration("uint", "begin")]
    given = {"begin": form.place, "widened": widened(form.value, [one.member for one in inputs])}
    return FormPass(
        number,
        field="map",
        template="map",
        params="MapParams",
        records=[
            {
                "over": form.over.name,
                "single": [*form.single, *(one.member for one in inputs if one.member not in loaded)],
                "is_gathered": form.is_gathered,
                "is_placed": form.place is not None,
            }
        ],
        given={name: node for name, node in given.items() if node not in (None, ir.ZERO)},
        declared={
            "elements": packed,
            "steps": [Declaration("uint", f"{one.local}Step") for one in inputs],
            "scalars": [*numbers, *begin],
            "strides": [Declaration("uint", f"{one.local}Stride") for one in (*inputs, output)],
            **({} if form.is_gathered else {"lookups": ()}),
        },
        halves=only_halves((*inputs, output)),
        shown={
            "inputs": {one: types.get(one.member, one.value) for one in inputs},
            "output": output,
            "value": value,
            "read": [*packed, *numbers],
            "gathered": inputs[0] if form.is_gathered else None,
            "in_vectors": inputs[1:] if form.is_gathered else inputs,
            "is_placed": form.place is not None,
        },
    )
