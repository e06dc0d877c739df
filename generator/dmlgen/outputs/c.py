"""The C header: what its template prints of the registry."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from dmlgen.lint import all_rules
from dmlgen.outputs.c_dispatch import dispatches
from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.outputs.c_program import (
    ENTRY,
    ITSELF,
    OPERATIONS,
    REDUCTIONS,
    SLOT,
    SMALL,
    TENSOR,
    VALUES,
    WORD,
    Slots,
)
from dmlgen.outputs.c_rules import (
    Code,
    OperatorCode,
    Tables,
    longest_list,
    operator_view,
    positions,
    tensor_rules_view,
)
from dmlgen.outputs.c_types import STANDARD, enums_in_order, interfaces, names, number_type, struct_view
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import plans_of
from dmlgen.registry import Registry
from dmlgen.sentence import sentence

_ALWAYS = (  # helpers that programs call, whatever the quick test of tensors calls
    *("add", "subtract", "multiply", "divide", "modulo", "min", "max", "abs"),
    *("bits", "signed", "power_of_two", "unsigned"),
)


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The header."""
    tables = Tables(registry)
    functions = set(_ALWAYS)
    code = [OperatorCode(registry, operator) for operator in registry.operators]
    operators = [
        operator_view(registry, tables, programs, struct_view(registry, programs.operator))
        for programs in code
    ]
    tensor_code = Code(registry, None)
    tensor = tensor_rules_view(registry, tensor_code, functions)
    dispatch_functions: set[str] = set()
    dispatch = dispatches(registry, plans_of(templates.directory), dispatch_functions)
    general = (*registry.operator_rules, *(rule for rule in registry.tensor.rules if not rule.checks))
    header = templates.render(
        "c/dmlops.h.j2",
        number_types=[
            (name, number_type(number.bits, number.kind))
            for name, number in registry.types.items()
            if name not in STANDARD
        ],
        constants=registry.constants,
        enums=enums_in_order(registry),
        names=names(registry),
        enum_names=list(registry.enums),
        data_types=registry.data_types,
        signed_types=sum(1 << value for value in registry.signed),
        interfaces=interfaces(registry),
        structs=[struct_view(registry, struct) for struct in registry.structs.values()],
        operators=operators,
        tensor=tensor,
        list_capacity=max(longest_list(registry), dispatch.longest_list),
        rule_texts=[(rule.id, sentence(rule)) for rule in all_rules(registry)],
        general={rule.id: rule for rule in general},
        buffer=next(e.value for e in registry.enums["TENSOR_TYPE"].entries if e.name == "BUFFER"),
        type_lists=tables.type_lists(),
        support=tables.support,
        activations=list(tables.activations),
        positions=positions(registry),
        first_outputs=list(accumulate((len(view.outputs) for view in operators), initial=0)),
        functions=functions,
        dispatch_functions=dispatch_functions - functions,
        **_encoding([programs.slots for programs in (*code, tensor_code)]),
        flags=[enum.name for enum in registry.enums.values() if enum.flags],
        tensor_fields=[member.name for member in registry.structs[TENSOR].members],
        most_members=max(len(operator.members) for operator in registry.operators),
        most_outputs=max(len(operator.outputs) for operator in registry.operators),
        longest_desc=max(layout(registry, one, POINTER_SIZES[0]).size for one in registry.operators),
        hints=registry.hints,
        newest=registry.levels[-1].value,
        dispatch=dispatch,
    )
    return {"include/dmlops.h": header}


def _encoding(slots: Sequence[Slots]) -> dict[str, object]:
    """How programs are encoded, with room for the slots of all."""
    return {
        "operations": OPERATIONS,
        "small": SMALL,
        "slot": SLOT,
        "reductions": REDUCTIONS,
        "values_shown": VALUES,
        "itself": ITSELF,
        "entry": ENTRY,
        "word": WORD,
        "slots": Slots(max(one.integers for one in slots), max(one.lists for one in slots)),
    }
