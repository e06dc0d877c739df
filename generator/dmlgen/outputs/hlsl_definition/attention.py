"""The pass of attention in the shader of a definition, which lacks what only that pass would need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, free_locals
from dmlgen.outputs.hlsl_definition.form import FormPass, record
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_tensors import ShaderTensor
from dmlgen.registry import Operator, OutputDefinitions
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.views import Views, views_in, views_of
from dmlgen.sugar import conjunction, conjuncts


def attention_pass(printer: ShaderPrinter, operator: Operator, attention: Attention, number: int) -> FormPass:
    """The pass of the intermediate tensor that is attention, with its number.

    It shows its sources, and as texts: a score as a function of the local `total`, the limits from which on a
    head's keys are masked (`ends`), whether a key below them counts, and by name, what these read that
    depends only on the batch. Views are tensors in place of `query`, `key`, `value` and, as "output",
    `target`, which the pass writes; with "before", the first rows, where others follow, which are past; with
    "stored", outputs that contain nothing else. Those in which some of them, or all, may be are `accessed`,
    by the value of their macros.
    """
    tests = conjuncts(attention.counts)
    limits = ((test, match("at[3] < end", test)) for test in tests)
    ends = {test: found.end for test, found in limits if found and _is_of_batch(found.end)}
    counts = conjunction(test for test in tests if test not in ends) or ir.Number(True, ir.BOOL)
    parts = (part for whole in (attention.score, *tests) for part in ir.walk(whole))
    loads = dict.fromkeys(part for part in parts if isinstance(part, ir.Load))
    scored_by = {load.tensor.entry for load in loads}
    of_batch = [load for load in loads if load.type == ir.INT and _is_of_batch(load)]
    named: dict[ir.Expr, ir.Expr] = {
        load: ir.Local(f"ofBatch{number}", ir.INT) for number, load in enumerate(of_batch)
    }
    defines = operator.defines
    assert defines is not None
    tensors = {one.name: one for one in defines.tensors}
    query, key, value = (views_of(tensors[one]) for one in (attention.query, attention.key, attention.value))
    if key.past != value.past:
        key = value = Views()
    stored = {
        role: [view for output in defines.outputs.items() for view in views_in(*output, tensors[name])][:1]
        for role, name in attention.roles.items()
    }
    values = (*defines.outputs.values(), *(one.value for one in defines.tensors))
    users = [one for one in values if attention.target in {part.tensor for part in entries_of(one)}]
    is_only = len(users) == 1 and not operator.in_place
    views = {  # in the order of the roles in `plans/attention_sources.py`
        "query": query.rows, "output": stored["target"] if is_only else (),
        "key": key.rows, "key_before": key.before,
        "value": value.rows, "value_before": value.before,
        "key_stored": stored["key"], "value_stored": stored["value"],
    }  # fmt: skip
    views = {role: () if {one.tensor for one in some} & scored_by else some for role, some in views.items()}
    shown = {role: printer.kept[name] for role, name in attention.roles.items()}

    def accessed(*roles: str) -> Mapping[int, ShaderTensor]:
        names = {one.tensor for role in roles or views for one in views[role]}
        tensors = enumerate((*printer.inputs, *printer.outputs), 1)
        return {place: one for place, one in tensors if one.member in names}

    return FormPass(
        number,
        field="attention",
        template="attention",
        scratch="Scratch",
        lists=("queryLayouts", "keyLayouts", "valueLayouts", "storedLayouts"),
        scalars=("pastRows", "firstPart"),
        word="ScratchWord(%s)",
        zeros=("COOPERATIVE_MATRIX", "FEW_QUERIES", "COMBINE"),
        records=[record(number, shown)],
        views=[{"role": role, **vars(one)} for role, some in enumerate(views.values()) for one in some],
        given={"past": key.past},
        shown={
            **shown,
            "accessed": accessed,
            "score": printer.value(ir.substitute(attention.score, named), False),
            "ends": list(map(printer.deciding, ends.values())),
            "counts": printer.deciding(ir.substitute(counts, named)),
            "of_batch": {printer.deciding(name): printer.deciding(load) for load, name in named.items()},
        },
    )


def _is_of_batch(node: ir.Expr) -> bool:
    return not free_locals(ir.substitute(node, {ir.at(0): ir.ZERO}))


def lowered(operator: Operator, attention: Attention) -> Operator:
    """The operator with only those intermediate tensors that lead to outputs: what only a pass that attention
    replaces would need is dropped."""
    defines = operator.defines
    assert defines is not None
    reads = {one.name: {part.tensor for part in entries_of(one.value)} for one in defines.tensors}
    reads |= {name: set(read) for name, read in attention.reads.items()}
    wanted: set[str] = set()
    new = {part.tensor for value in defines.outputs.values() for part in entries_of(value)}
    while new:  # ends: a tensor is new only once
        wanted |= new
        new = set().union(*map(reads.__getitem__, new)) - wanted
    kept = tuple(one for one in defines.tensors if one.name in wanted)
    return replace(operator, defines=OutputDefinitions(kept, defines.outputs, defines.classes))
