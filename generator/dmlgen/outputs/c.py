"""The C header: the view of the registry for its template."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from dmlgen.expr.bounds import MAX_RANK
from dmlgen.message import SHOWN
from dmlgen.outputs import c_checked, c_dispatch, c_graphs
from dmlgen.outputs.c_json import json_view
from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.outputs.c_program import (
    ENTRY,
    ITSELF,
    OF_VALUES,
    OPERATIONS,
    REDUCTIONS,
    SLOT,
    SLOTS,
    SMALL,
    TENSOR,
    WORD,
    Code,
)
from dmlgen.outputs.c_rules import (
    OperatorView,
    Tables,
    longest_list,
    operator_view,
    positions,
    tensor_rules_view,
)
from dmlgen.outputs.c_types import STANDARD, enums_in_order, interfaces, names, number_type, struct_view
from dmlgen.outputs.parts import parts
from dmlgen.outputs.render import Templates
from dmlgen.outputs.same_field import same_field_message
from dmlgen.plans.model import package_plans
from dmlgen.registry import Operator, Registry, Rule
from dmlgen.sentence import sentence
from dmlgen.text import Text

_COORDINATES = 3 * MAX_RANK
"""The entries of lists that planners' inputs are made from, at most: coordinates, three of them joined."""


@dataclass(frozen=True)
class Part:
    """The parts of the header for one operator: its rules, its shader, and the texts of its rules."""

    rules: OperatorView
    shader: c_dispatch.OperatorPart
    texts: tuple[tuple[str, Text], ...]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The three headers."""
    plans = package_plans()

    def part(near: Registry, operator: Operator) -> Part:
        shader = c_dispatch.operator_part(near, operator, plans)
        return Part(operator_view(near, operator), shader, texts(operator.rules))

    found = parts("c", registry, templates.memory, part)
    operators = [one.rules for one in found.values()]
    tables = Tables(operators)
    tensor_code = Code(registry, None)
    tensor = tensor_rules_view(registry, tensor_code)
    dispatch = c_dispatch.dispatches(registry, plans, {name: one.shader for name, one in found.items()})
    lists = [longest_list(registry.tensor.rules), *(one.longest_list for one in operators)]
    pairs = c_graphs.pairs_views(registry)
    general = (*registry.operator_rules, *(rule for rule in registry.tensor.rules if not rule.checks))
    of_others = (*registry.graphs.rules, *registry.bindings.rules, *registry.calls)
    of_all = texts((*registry.operator_rules, *registry.tensor.rules, *of_others))
    context = dict(
        number_types=[
            (name, number_type(number.bits, number.kind))
            for name, number in registry.types.items()
            if name not in STANDARD
        ],
        constants=registry.constants,
        enums=enums_in_order(registry),
        names=names(registry),
        enum_names=list(registry.enums),
        json=json_view(registry),
        data_types=registry.data_types,
        signed_types=sum(1 << value for value in registry.signed),
        interfaces=interfaces(registry),
        structs=[struct_view(registry, struct) for struct in registry.structs.values()],
        operators=operators,
        specs=registry.operator,
        tensor=tensor,
        list_capacity=max(*lists, _COORDINATES),
        rule_texts=[*of_all, *(text for one in found.values() for text in one.texts)],
        general={rule.id: rule for rule in general},
        buffer=next(e.value for e in registry.enums["TENSOR_TYPE"].entries if e.name == "BUFFER"),
        tables=tables,
        type_lists=tables.type_lists(registry),
        positions=positions(registry),
        first_outputs=list(accumulate((len(view.outputs) for view in operators), initial=0)),
        **_encoding(),
        lists=max(
            1,  # C has no empty arrays
            tensor_code.lists,
            dispatch.lists,
            *(one.lists for one in operators),
            *(one.lists for one in pairs.values()),
        ),
        flags=[enum.name for enum in registry.enums.values() if enum.flags],
        tensor_fields=[member.name for member in registry.structs[TENSOR].members],
        most_members=max(len(operator.members) for operator in registry.operators),
        most_outputs=max(len(operator.outputs) for operator in registry.operators),
        longest_desc=max(layout(registry, one, POINTER_SIZES[0]).size for one in registry.operators),
        graph_rules={rule.slug: rule for rule in registry.graphs.checks},
        graph_pairs=pairs,
        graph_values=c_graphs.values(registry),
        graph_since=registry.graphs.since,
        graph_constants_since=registry.graphs.constants_since,
        graph_cycle=c_graphs.SHOWN_OF_CYCLE,
        bindings=registry.bindings,
        binding_rules={rule.slug: rule for rule in registry.bindings.checks},
        binding_ranges=c_graphs.ranges_view(registry),
        hints=registry.hints,
        same_field=same_field_message(),
        newest=registry.levels[-1].value,
        dispatch=dispatch,
        planners=templates.memory.of_code("planners", lambda: c_dispatch.planners(plans)),
    )
    return {
        "include/dmlops.h": templates.render("c/dmlops.h.j2", **context),
        "include/dmlops_plan.h": templates.render("c/dmlops_plan.h.j2", **context),
        "include/dmlops_checked.h": templates.render("c/dmlops_checked.h.j2", **c_checked.context(registry)),
    }


def texts(rules: Iterable[Rule]) -> tuple[tuple[str, Text], ...]:
    """The texts of rules, by identifier."""
    return tuple((rule.id, sentence(rule)) for rule in rules)


def _encoding() -> dict[str, object]:
    """The encoding of programs."""
    return {
        "operations": OPERATIONS,
        "of_values": OF_VALUES,
        "small": SMALL,
        "slot": SLOT,
        "slots": SLOTS,
        "reductions": REDUCTIONS,
        "values_shown": SHOWN,
        "itself": ITSELF,
        "entry": ENTRY,
        "word": WORD,
    }
