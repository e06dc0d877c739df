"""Rules: from the forms of a spec to checks, with what they tell of output tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from dataclasses import replace
from types import MappingProxyType
from typing import cast

from dmlgen import sugar
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope, parse
from dmlgen.message import Part, joined, softened
from dmlgen.registry import (
    Check,
    Definition,
    Form,
    Hint,
    Inference,
    Member,
    Provenance,
    Rule,
    Stage,
    TensorRules,
)
from dmlgen.resolve.general import General
from dmlgen.resolve.nodes import (
    Faults,
    fault,
    flag,
    folded,
    free_text,
    mapping,
    mappings,
    message,
    place,
    required,
    scalars,
    text,
)
from dmlgen.source import Mapping, Node, Scalar
from dmlgen.sugar import Wording

_SHOWN = ("int", "bool", "float", "ints", "enum")  # types of values that a message can show
_STAGES = {stage.name.lower(): stage for stage in Stage}


def expression(node: Node | None, scope: Scope, expected: ir.Type | None = None) -> ir.Expr:
    """The expression in a scalar; a bare value's name where an enumeration is expected."""
    assert isinstance(node, Scalar)
    values = scope.enums.get(expected.name or "", {}) if expected is not None else {}
    if expected is not None and node.value in values:
        return ir.EnumValue(str(node.value), values[str(node.value)], expected)
    return parse(str(node.value), scope, node.at, expected)


def define(node: Mapping, scope: Scope) -> tuple[Scope, tuple[Definition, ...]]:
    """The scope with the names of a `let` block, each of which may use those before it."""
    definitions: list[Definition] = []
    faults = Faults()
    for entry in node.entries:
        with faults:
            if entry.name in scope.names:
                raise fault(entry.key.position, "name-clash", f"the name {entry.name} is already taken")
            value = expression(entry.value, scope)
            definitions.append(Definition(entry.name, value, entry.key.position))
            scope = scope.with_names({entry.name: ir.Definition(entry.name, value)})
    faults.stop()
    return scope, tuple(definitions)


def wording(
    general: General, node: Mapping, scope: Scope, tensors: Map[str, Member] = MappingProxyType({})
) -> Wording:
    """What a rule's `says`, `because` and `hint` say, with expressions in braces."""
    hint = mapping(node, "hint")

    def inner(loops: sugar.Loops) -> Scope:
        return scope.with_names({loop.variable.name: loop.variable for loop in loops})

    def hint_of(loops: sugar.Loops) -> Hint | None:
        if not hint.entries:
            return None
        when = expression(required(hint, "when"), inner(loops), ir.BOOL)
        return Hint(when, ("; ", *template(hint.get("says"), inner(loops))))

    return Wording(
        position=place(node, "id"),
        says=lambda loops: template(node.get("says"), inner(loops)),
        because=lambda loops: template(node.get("because"), inner(loops)),
        hint=hint_of,
        general=general.hints,
        inputs=frozenset(name for name, member in tensors.items() if member.role == "input"),
    )


def template(node: Node | None, scope: Scope) -> tuple[Part, ...]:
    """A text in which expressions in braces stand for their values; () where there is no text."""
    if node is None:
        return ()
    assert isinstance(node, Scalar)
    text_, parts, start = str(node.value).rstrip(), list[Part](), 0
    for match in re.finditer(r"\{([^{}]*)\}|[{}]", text_):
        if match[1] is None:
            raise fault(node.at(match.start()), "message", "unmatched brace")
        offset = match.start(1)
        value = parse(match[1], scope, lambda i, offset=offset: node.at(offset + i))  # type: ignore[misc]
        if value.type.kind not in _SHOWN:
            raise fault(node.at(offset), "message", f"a {value.type} cannot be shown in a message")
        parts += [folded(text_[start : match.start()]), value]
        start = match.end()
    return joined([*parts, folded(text_[start:])])


def known_tensor(node: Scalar, tensors: Map[str, Member]) -> Member:
    """The tensor member that a scalar names."""
    name = str(node.value)
    if name not in tensors:
        raise fault(node.position, "unknown-name", f"{name!r} is not a tensor member", nearest(name, tensors))
    return tensors[name]


def known_tensors(node: Mapping, key: str, tensors: Map[str, Member]) -> list[Member]:
    """The tensor members that a list names; every unknown name is a fault."""
    members: list[Member] = []
    faults = Faults()
    for item in scalars(node, key):
        with faults:
            members.append(known_tensor(item, tensors))
    faults.stop()
    return members


def tensor_rules(general: General, node: Mapping) -> TensorRules:
    """The rules of every buffer tensor: names are its fields, `is_input` says that an operator reads it."""
    names: dict[str, ir.Expr] = {
        name: ir.Field(ir.Tensor(""), name, type_) for name, type_ in general.fields.items()
    }
    names["is_input"] = ir.Member("is_input", ir.BOOL)
    scope, definitions = define(mapping(node, "let"), general.scope(names))
    rules: list[Rule] = []
    faults = Faults()
    for item in mappings(node, "rules"):
        with faults:
            checks: tuple[Check, ...] = ()  # where every output has its own way to judge it
            if item.get("require") is not None:
                condition = expression(item.get("require"), scope, ir.BOOL)
                checks = sugar.require(condition, _guard(item, scope), wording(general, item, scope))
            rules.append(_rule(general, item, "TENSOR", checks))
    defaults: dict[str, ir.Expr] = {}
    for entry in mapping(node, "defaults").entries:
        with faults:
            if entry.name not in general.fields:
                message_ = f"a tensor has no field {entry.name!r}"
                raise fault(entry.key.position, "unknown-name", message_, nearest(entry.name, general.fields))
            defaults[entry.name] = expression(entry.value, scope, general.fields[entry.name])
    faults.stop()
    return TensorRules(definitions, tuple(rules), defaults)


def operator_rule(
    general: General, node: Mapping, operator: str, scope: Scope, tensors: Map[str, Member]
) -> tuple[Rule, tuple[Inference, ...]]:
    """A rule of one operator, and what it says of its outputs."""
    forms = [name for name in ("require", "same", "shape", "infer") if node.get(name) is not None]
    if len(forms) != 1:
        found = " and ".join(forms) or "no condition"
        message_ = f"rule {text(node, 'id')} has {found}; one of require, same, shape or infer is expected"
        raise fault(node.position, "rule-form", message_)
    advice = flag(node, "advice")
    if advice and node.get("stage") is not None:
        raise fault(place(node, "stage"), "rule-form", "advice is judged last; it takes no stage")
    if not advice and node.get("broken_by") is not None:
        message_ = "a rule that shipping callers break is advice: add `advice: true`"
        raise fault(place(node, "broken_by"), "rule-form", message_)
    inferences: tuple[Inference, ...] = ()
    if forms == ["same"]:
        checks, inferences = _same(general, node, scope, tensors)
    elif forms == ["shape"]:
        checks, inferences = _shape(general, node, scope, tensors)
    elif forms == ["infer"]:
        checks, inferences = _infer(general, node, scope, tensors)
    else:
        condition = expression(node.get("require"), scope, ir.BOOL)
        checks = sugar.require(condition, _guard(node, scope), wording(general, node, scope, tensors))
    if advice:
        checks = tuple(replace(check, message=softened(check.message), worded=True) for check in checks)
    return _rule(general, node, operator, checks), inferences


def _rule(general: General, node: Mapping, owner: str, checks: tuple[Check, ...]) -> Rule:
    slug = text(node, "id")
    automatic = sugar.stage_of(checks) if checks else Stage.STRUCTURE
    stage = Stage.ADVICE if flag(node, "advice") else _STAGES.get(text(node, "stage"), automatic)
    if stage is Stage.COUNTS and automatic is Stage.VALUES:
        message_ = "a rule that reads an array is judged where counts are right: with arrays or values"
        raise fault(place(node, "stage"), "stage", message_)
    return Rule(
        id=f"DML-{owner}-{slug}",
        slug=slug,
        stage=stage,
        summary=free_text(node, "summary"),
        checks=checks,
        since=general.since(node),
        until=general.level_at(node, "until"),
        form=cast(Form, text(node, "form", "any")),
        source=cast(Provenance, text(node, "source", "header")),
        position=node.position,
        message=message(node, "message", ("member", "value")),
        because=free_text(node, "because"),
        broken_by=free_text(node, "broken_by"),
    )


def _guard(node: Mapping, scope: Scope) -> ir.Expr | None:
    return None if node.get("when") is None else expression(node.get("when"), scope, ir.BOOL)


def _same(
    general: General, node: Mapping, scope: Scope, tensors: Map[str, Member]
) -> tuple[tuple[Check, ...], tuple[Inference, ...]]:
    """`same: FIELD, of: [...]`: an output has the field of the first input, where that is there."""
    if node.get("when") is not None:
        raise fault(place(node, "when"), "rule-form", "`same` takes no `when`; write `require`")
    members = known_tensors(node, "of", tensors)
    if not members:
        raise fault(node.position, "rule-form", "`same` compares tensors; `of` lists them")
    field = text(node, "same")
    type_ = general.fields[field]
    references: list[ir.Tensor | ir.Tensors] = [
        ir.Tensors(member.name) if member.count else ir.Tensor(member.name) for member in members
    ]
    optional = {member.name for member in members if member.optional}
    checks = sugar.same(field, type_, references, optional, wording(general, node, scope, tensors))
    if field == "DimensionCount":
        return checks, ()
    sources = [member for member in members if member.role == "input" and not member.count]
    certain = [member for member in sources if not member.optional]
    inferences = [
        Inference(
            output.name,
            field,
            ir.Field(ir.Tensor(source.name), field, type_),
            ir.Present(ir.Tensor(source.name)) if source.optional else None,
        )
        for output in members
        if output.role == "output" and not output.count
        for source in (certain or sources)[:1]
    ]
    return checks, tuple(inferences)


def name_dimensions(
    node: Mapping, scope: Scope, tensors: Map[str, Member]
) -> tuple[Scope, tuple[Definition, ...]]:
    """The scope with the names that a `shape` rule uses for the first time: each stands for that size."""
    tensor = known_tensor(required(node, "shape"), tensors)
    named: list[Definition] = []
    for axis, item in enumerate(scalars(node, "is")):
        name = str(item.value)
        if name.isidentifier() and name not in scope.names:
            sizes = ir.Field(ir.Tensor(tensor.name), "Sizes", scope.fields["Sizes"])
            value = ir.Index(sizes, ir.Number(axis, ir.INT))
            named.append(Definition(name, value, item.position))
            scope = scope.with_names({name: ir.Definition(name, value)})
    return scope, tuple(named)


def _shape(
    general: General, node: Mapping, scope: Scope, tensors: Map[str, Member]
) -> tuple[tuple[Check, ...], tuple[Inference, ...]]:
    """`shape: Tensor, is: [...]`: every size is that number, expression, or dimension named before."""
    member = known_tensor(required(node, "shape"), tensors)
    tensor = ir.Tensor(member.name)
    sizes = ir.Field(tensor, "Sizes", general.fields["Sizes"])
    given = [ir.Present(tensor)] if member.optional else []
    guard = sugar.conjunction(part for part in (*given, _guard(node, scope)) if part is not None)
    expected = [expression(item, scope, ir.INT) for item in scalars(node, "is")]
    words = wording(general, node, scope, tensors)
    checks: list[Check] = []
    for axis, value in enumerate(expected):
        size = ir.Index(sizes, ir.Number(axis, ir.INT))
        if not (isinstance(value, ir.Definition) and value.value == size):
            condition = ir.Compare("==", size, value)
            checks += sugar.require(condition, guard, words)
    inferences: tuple[Inference, ...] = ()
    if member.role == "output" and not any(
        isinstance(part, ir.Tensor) and part.name == member.name
        for value in expected
        for part in ir.walk(value)
    ):
        inferences = (Inference(member.name, "Sizes", ir.ListOf(tuple(expected))),)
    return tuple(checks), inferences


def _infer(
    general: General, node: Mapping, scope: Scope, tensors: Map[str, Member]
) -> tuple[tuple[Check, ...], tuple[Inference, ...]]:
    """`infer: Tensor.Field = value`: the field must be that, and can be filled in."""
    when = _guard(node, scope)
    inference = infers(general, required(node, "infer"), scope, tensors, when)
    tensor, field = inference.tensor, inference.field
    given = [ir.Present(ir.Tensor(tensor))] if tensors[tensor].optional else []
    guard = sugar.conjunction(part for part in (*given, when) if part is not None)
    found = ir.Field(ir.Tensor(tensor), field, general.fields[field])
    condition = ir.Compare("==", found, inference.value)
    checks = sugar.require(condition, guard, wording(general, node, scope, tensors))
    return checks, (inference,)


def infers(
    general: General, source: Scalar, scope: Scope, tensors: Map[str, Member], when: ir.Expr | None = None
) -> Inference:
    """`Tensor.Field = value` of an output, which can be filled in; nothing demands that it be so."""
    statement = str(source.value)
    match = re.match(r"([A-Za-z0-9]+)\.(\w+)\s*=\s*", statement)
    assert match is not None, "the schema has checked the form"
    tensor, field, start = match[1], match[2], match.end()
    outputs = {name: member for name, member in tensors.items() if member.role == "output"}
    if tensor not in outputs:
        message_ = f"{tensor} is not an output tensor; only outputs are inferred"
        raise fault(source.at(0), "unknown-name", message_, nearest(tensor, outputs))
    type_ = general.fields[field]
    value = parse(statement[start:], scope, lambda offset: source.at(start + offset), type_)
    inference = Inference(tensor, field, value, when)
    parts = [part for one in inference.expressions for part in ir.walk(one)]
    if any(isinstance(part, ir.Tensor) and part.name == tensor for part in parts):
        raise fault(source.at(start), "circular", f"{tensor} cannot be inferred from itself")
    return inference
