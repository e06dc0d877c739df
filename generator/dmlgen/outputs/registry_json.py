"""The whole registry as one JSON file, for authors of bindings and for the Python package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import Any

from dmlgen import __version__
from dmlgen.banner import banner
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.expr.tree import LEAVES, OPERATIONS, loop_tree, tree
from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.outputs.c_types import c_type
from dmlgen.outputs.counterparts import takes_leading_ones
from dmlgen.outputs.python_rules import used_definitions
from dmlgen.outputs.registry_schema import KEYS, SCHEMA, Json, schema_of, sections
from dmlgen.outputs.render import Templates, json_lines
from dmlgen.outputs.requirements import requirements
from dmlgen.outputs.same_field import same_field_message
from dmlgen.registry import (
    AlgorithmUse,
    Check,
    Definition,
    Enum,
    Erratum,
    FeatureLevel,
    Inference,
    Operator,
    OutputDefinitions,
    Registry,
    Rule,
    Struct,
    Support,
)
from dmlgen.sentence import sentence
from dmlgen.show import condition_text
from dmlgen.text import Message, Text

# How deep a part has its own lines.
_DEPTHS = {"operators": 3, "counterparts": 3, "rules": 2, "tensor": 2, "graphs": 2, "bindings": 2}
_DEPTHS_OF_SCHEMA = {"$defs": 3}


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The file, its schema and a page on it, by path below generated/."""
    schema = schema_of(templates.text(KEYS))
    contents, *parts = sections(schema)
    page = templates.render(
        "registry/registry.md.j2",
        contents=contents.rows,
        sections=parts,
        leaves=LEAVES,
        operations=OPERATIONS,
    )
    return {
        "registry.json": f"{_text(registry_value(registry), _DEPTHS)}\n".encode(),
        SCHEMA: f"{_text(schema, _DEPTHS_OF_SCHEMA)}\n".encode(),
        "registry.md": page,
    }


def _text(value: Mapping[str, Any], depths: Mapping[str, int]) -> str:
    """JSON with one row of the registry, or one key of the schema, on a line."""
    parts = (f"{json.dumps(key)}: {json_lines(one, depths.get(key, 1))}" for key, one in value.items())
    return "{\n" + ",\n".join(parts) + "\n}"


def registry_value(registry: Registry) -> Json:
    """The registry as JSON values, with empty fields left out."""
    rows: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
    operators = [_operator(registry, one, rows) for one in registry.operators]
    tensor, graphs, bindings = registry.tensor, registry.graphs, registry.bindings
    return {
        "$comment": banner("specs/"),
        "$schema": SCHEMA,
        "version": __version__,
        "pages": registry.pages,
        "levels": [
            _facts(one, "name value directml", windows=_value(one.in_box), ntddi=one.ntddi)
            for one in registry.levels
        ],
        "types": [_facts(one, "name bits kind pointer_sized") for one in registry.types.values()],
        "constants": [_facts(one, "name value since summary") for one in registry.constants],
        "foreign": _value(registry.foreign),
        "enums": [_enum(one) for one in registry.declared_enums],
        "structs": [
            _facts(one, "name c_name union since summary page", **_layout(registry, one))
            for one in registry.structs.values()
        ],
        "supported": [{"ranks": list(ranks), "types": list(types)} for ranks, types in rows],
        "rules": [_rule(one) for one in registry.operator_rules],
        "same_field": same_field_message(),
        "hints": {name: _pieces(message) for name, message in registry.hints.items()},
        "tensor": {
            "let": _let(tensor.definitions),
            "rules": [_rule(one, tensor.definitions) for one in tensor.rules],
            "defaults": {name: tree(value) for name, value in tensor.defaults.items()},
        },
        "graphs": {
            **_facts(graphs, "page since constants_since"),
            "let": _let(graphs.definitions),
            "rules": [_rule(one, (), graphs.since) for one in graphs.checks],
            "edges": [
                _facts(one, "writer", rule=_rule(one, graphs.definitions, graphs.since))
                for one in graphs.edges
            ],
            "inputs": [_rule(one, graphs.definitions, graphs.since) for one in graphs.inputs],
        },
        "bindings": {
            **_facts(bindings, "heaps bound_heaps owned_heaps dimensions"),
            "rules": [_facts(one, "page phases roles", rule=_rule(one)) for one in bindings.rules],
        },
        "interfaces": [_facts(one, "name base since iid methods") for one in registry.interfaces.values()],
        "calls": [_facts(one, "page", rule=_rule(one)) for one in registry.calls],
        "operators": operators,
        "errata": list(map(_erratum, registry.errata)),
        "counterparts": _counterparts(registry),
        "retired": sorted(registry.retired),
    }


def _facts(record: object, names: str, **more: Any) -> Json:
    """These fields of a record, and more, as far as they say something."""
    return _filled(**{name: _value(getattr(record, name)) for name in names.split()}, **more)


def _filled(**fields: Any) -> Json:
    """The fields that say something: not None, False, or empty. 0 says something."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


def _value(value: Any) -> Any:
    """A fact as a JSON value: levels by name, expressions as specs write them, records by their fields,
    without positions."""
    match value:
        case Text():
            return value.plain
        case FeatureLevel():
            return value.name
        case ir.Type():
            return str(value)
        case tuple():
            return [_value(one) for one in value]
        case Mapping():
            return {key: _value(one) for key, one in value.items()}
        case _ if isinstance(value, ir.Expr):
            return SOURCE.print(value)
        case _ if is_dataclass(value):
            return {one.name: _value(getattr(value, one.name)) for one in fields(value) if one.repr}
    return value


def _enum(enum: Enum) -> Json:
    entries = [
        _facts(
            one,
            "name value since summary",
            bits=one.bits or None,
            kind=one.kind,
            significand=one.significand or None,
        )
        for one in enum.entries
    ]
    return _facts(enum, "name c_name prefix flags since summary", entries=entries)


def _layout(registry: Registry, struct: Struct | Operator) -> Json:
    """Size, alignment and members; each number for every size of a pointer."""
    layouts = [layout(registry, struct, size) for size in POINTER_SIZES]
    return {
        "size": [one.size for one in layouts],
        "alignment": [one.alignment for one in layouts],
        "members": [
            _facts(
                member,
                "name role type",
                c_type=c_type(registry, member),
                offset=[one.offsets[i] for one in layouts],
                **_facts(member, "pointer optional count length typed_by summary"),
            )
            for i, member in enumerate(struct.members)
        ],
    }


def _operator(
    registry: Registry, operator: Operator, rows: dict[tuple[tuple[int, ...], tuple[str, ...]], int]
) -> Json:
    return _facts(
        operator,
        "name alias c_name",
        constant=operator.c_constant,
        **_facts(operator, "value family since struct_since summary page"),
        **_layout(registry, operator),
        **_facts(operator, "defaults unconstrained in_place axes fusible_into integer_operators"),
        support=_support(operator, rows),
        let=_let(operator.definitions),
        rules=[_rule(one, operator.definitions, operator.since) for one in operator.rules],
        inferences=[_inference(one) for one in operator.inferences],
        data_constraints=[
            _facts(one, "id tensor", since=(one.since or operator.since).name, text=one.text.plain)
            for one in operator.data_constraints
        ],
        compute=_compute(operator.defines, operator.algorithm),
        requires=[_filled(**vars(one)) for one in requirements(registry, operator)],
        errata=list(map(_erratum, operator.errata)),
    )


def _support(operator: Operator, rows: dict[tuple[tuple[int, ...], tuple[str, ...]], int]) -> list[Json]:
    """The tables of all levels: those of neighbors are one if they are equal. Adds what is new to `rows`."""

    def row(one: Support) -> Json:
        number = rows.setdefault((one.ranks, one.types), len(rows))
        return _filled(tensor=one.tensor, row=number, **_condition("when", one.when))

    return [
        {"levels": [name for name, _ in levels], "tensors": [row(one) for one in table]}
        for table, levels in groupby(operator.support.items(), key=lambda item: item[1])
    ]


def _let(definitions: Iterable[Definition]) -> list[Json]:
    return [
        {"name": one.name, "value": tree(one.value), "text": SOURCE.lines(one.value)} for one in definitions
    ]


def _condition(name: str, node: ir.Expr | None) -> Json:
    return {} if node is None else {name: tree(node), f"{name}_text": SOURCE.print(node)}


def _rule(rule: Rule, definitions: Sequence[Definition] = (), start: FeatureLevel | None = None) -> Json:
    """A rule. It applies no earlier than what it is about exists, from the level `start` on."""
    since = rule.since if start is None else max(rule.since, start, key=lambda one: one.ordinal)
    used = used_definitions(definitions, [part for check in rule.checks for part in check.read])
    return _filled(
        id=rule.id,
        text=sentence(rule).plain,
        stage=rule.stage.name.lower(),
        source=rule.source,
        applies_to=rule.applies_to if rule.applies_to != "any" else None,
        since=since.name,
        until=rule.until and rule.until.name,
        because=rule.because.plain,
        broken_by=rule.broken_by.plain,
        message=_pieces(rule.message),
        hint=_pieces(rule.hint),
        formulas=list(map(condition_text, rule.checks)),
        uses=[one.name for one in used],
        reads=sorted(rule.reads),
        checks=[_check(one) for one in rule.checks],
    )


def _check(check: Check) -> Json:
    hint = check.hint
    return _filled(
        member=check.member,
        loops=[loop_tree(loop) for loop in check.loops],
        when=None if check.guard is None else tree(check.guard),
        require=tree(check.condition),
        message=_parts(check.message),
        hint=hint and {"when": tree(hint.when), "message": _parts(hint.message)},
    )


def _parts(message: Iterable[str | ir.Expr]) -> list[object]:
    return [part if isinstance(part, str) else tree(part) for part in message if part != ""]


def _pieces(message: Message) -> list[object]:
    """A message that no expression makes: the values in it have names."""
    parts = [(piece.text.plain, piece.name) for piece in message]
    return [one for text, name in parts for one in (text, name and ["value", name]) if one]


def _inference(inference: Inference) -> Json:
    return _filled(
        tensor=inference.tensor,
        field=inference.field,
        value=tree(inference.value),
        text=SOURCE.print(inference.value),
        **_condition("when", inference.when),
        default=not inference.demanded,
    )


def _compute(defines: OutputDefinitions | None, algorithm: AlgorithmUse | None) -> Json | None:
    """An operator's computation, in the language of definitions."""
    if algorithm is not None:
        return _filled(algorithm=algorithm.name, output=algorithm.output, **_facts(algorithm, "roles"))
    if defines is None:
        return None
    return _filled(
        functions=[
            {
                "name": one.name,
                "parameters": [each.name for each in one.parameters],
                "value": _value(one.body),
            }
            for one in defines.functions
        ],
        tensors=[
            _facts(one, "name type", recurrent=one.along, **_facts(one, "sizes value"))
            for one in defines.tensors
        ],
        outputs=_value(defines.outputs),
    )


def _erratum(erratum: Erratum) -> Json:
    return _facts(erratum, "where says unspecified registry source overrules seen")


def _counterparts(registry: Registry) -> Json:
    known = registry.counterparts
    return {
        "operations": _value(known.operations),
        "activations": {
            one.name: {name: _value(getattr(one, name)) for name in ("operator", "members", "fixed")}
            for one in known.activations
        },
        "data_types": {str(number): name for name, number in known.data_types.items()},
        "operand_types": _value(known.operand_types),
        "domains": _value(known.domains),
        "directmlx": _value(known.directmlx),
        "leading_ones": [operator.name for operator in registry.operators if takes_leading_ones(operator)],
    }
