"""Lowers rules from the forms in specs to checks, with what they say about output tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from dmlgen import sugar, written
from dmlgen.diagnostics import Position, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope, parse
from dmlgen.message import SHOWN, Part, below, joined
from dmlgen.registry import (
    Check,
    Definition,
    Hint,
    Inference,
    Member,
    Rule,
    Stage,
    TensorRules,
)
from dmlgen.resolve.faults import Faults, check_each, check_known
from dmlgen.resolve.general import General, message
from dmlgen.source import Scalar, Value
from dmlgen.sugar import Wording
from dmlgen.text import NO_TEXT, Text, folded

_STAGES = {stage.name.lower(): stage for stage in Stage}
_SAME = {"DimensionCount": "same-rank", "DataType": "same-type", "Sizes": "same-sizes"}


def expression(node: Scalar[Value], scope: Scope, expected: ir.Type | None = None) -> ir.Expr:
    """The expression in a scalar; a bare enumerator if an enumeration is expected."""
    values = scope.enums.get(expected.name or "", {}) if expected is not None else {}
    if expected is not None and node.value in values:
        return ir.EnumValue(str(node.value), values[str(node.value)], expected)
    return parse(str(node.value), scope, node.at, expected)


def define(let: written.Let, scope: Scope) -> tuple[Scope, tuple[Definition, ...]]:
    """The scope with the names of a `let` block, each of which can use those before it."""
    definitions: list[Definition] = []
    faults = Faults()
    for name, node in let.items():
        with faults:
            if name.value in scope.names:
                raise fault(name.position, "name-clash", f"the name {name.value} is already taken")
            value = expression(node, scope)
            definitions.append(Definition(name.value, value, name.position))
            scope = scope.with_names({name.value: ir.Definition(name.value, value)})
    faults.stop()
    return scope, tuple(definitions)


def wording(
    general: General,
    node: written.AnyRule,
    position: Position,
    scope: Scope,
    tensors: Mapping[str, Member] = MappingProxyType({}),
) -> Wording:
    """The `message`, `because` and `hint` of a rule, with expressions in braces."""
    hint = node.hint if isinstance(node, written.Rule) else None
    until = node.until

    def inner(loops: sugar.Loops) -> Scope:
        return scope.with_names({loop.variable.name: loop.variable for loop in loops})

    def hint_of(loops: sugar.Loops) -> Hint | None:
        if hint is None:
            return None
        when = expression(hint.when, inner(loops), ir.BOOL)
        return Hint(when, ("; ", *template(hint.message, inner(loops))))

    return Wording(
        position=position,
        message=lambda loops: template(node.message, inner(loops), paths=not tensors),
        because=lambda loops: template(node.because, inner(loops)),
        hint=hint_of,
        general=general.hints,
        inputs=frozenset(name for name, member in tensors.items() if member.role == "input"),
        case=() if until is None else below(until.name),
        verb="should" if node.advice else "must",
    )


def template(node: Scalar[str] | None, scope: Scope, paths: bool = False) -> tuple[Part, ...]:
    """A text in which expressions in braces are replaced by their values; () if there is no text.

    With `paths`, a tensor is replaced by its path.
    """
    if node is None:
        return ()
    text, parts, start = node.value.rstrip(), list[Part](), 0
    for match in re.finditer(r"\{([^{}]*)\}|[{}]", text):
        if match[1] is None:
            raise fault(node.at(match.start()), "message", "unmatched brace")
        offset = match.start(1)
        value = parse(match[1], scope, lambda i, offset=offset: node.at(offset + i))  # type: ignore[misc]
        if value.type.kind not in SHOWN and not (paths and isinstance(value, ir.Tensor)):
            raise fault(node.at(offset), "message", f"a {value.type} cannot be shown in a message")
        parts += [folded(text[start : match.start()]), value]
        start = match.end()
    return joined([*parts, folded(text[start:])])


def known_tensor(node: Scalar[str], tensors: Mapping[str, Member]) -> Member:
    """The tensor member named by a scalar."""
    check_known(node, tensors, f"{node.value!r} is not a tensor member")
    return tensors[node.value]


def known_tensors(names: Sequence[Scalar[str]], tensors: Mapping[str, Member]) -> list[Member]:
    """The tensor members named by a list; every unknown name is an error."""
    check_each(names, tensors, "'{}' is not a tensor member")
    return [tensors[name.value] for name in names]


def tensor_rules(general: General, node: written.TensorRules) -> TensorRules:
    """The rules on every buffer tensor: names are its fields, `is_input` whether an operator reads it, and in
    messages `Tensor` its path."""
    names: dict[str, ir.Expr] = {
        name: ir.Field(ir.Tensor(""), name, type_) for name, type_ in general.fields.items()
    }
    names["is_input"] = ir.Member("is_input", ir.BOOL)
    names["Tensor"] = ir.Tensor("")
    scope, definitions = define(node.let, general.scope(names))
    rules: list[Rule] = []
    faults = Faults()
    for rule in node.rules:
        with faults:
            checks: tuple[Check, ...] = ()  # if every output has its own way to check it
            if rule.require is not None:
                condition = expression(rule.require, scope, ir.BOOL)
                words = wording(general, rule, rule.id.position, scope)
                checks = sugar.require(condition, _guard(rule, scope), words)
            rules.append(_rule(general, rule, rule.id.value, "TENSOR", checks))
    defaults: dict[str, ir.Expr] = {}
    for name, value in node.defaults.items():
        with faults:
            check_known(name, general.fields, f"a tensor has no field {name.value!r}")
            defaults[name.value] = expression(value, scope, general.fields[name.value])
    faults.stop()
    return TensorRules(definitions, tuple(rules), defaults)


def named(node: written.Rule) -> list[tuple[Scalar[str], written.Rule]]:
    """The rules that an entry states, each with its name: one, or one per field of `same`."""
    fields = (node.same,) if isinstance(node.same, str) else node.same or ()
    if node.id is not None:
        if len(fields) > 1:
            names = ", ".join(_SAME[field] for field in fields)
            message_ = (
                f"several fields are a rule each, {names}; leave out `id`, or write a rule for each field"
            )
            raise fault(node.id.position, "rule-form", message_)
        return [(node.id, replace(node, same=fields[0] if fields else None))]
    if not fields:
        raise fault(
            node.position,
            "missing-key",
            "key 'id' is missing; only a rule with `same` has a name without",
        )
    for key in ("message", "summary"):
        if len(fields) > 1 and node.node.get(key) is not None:
            raise fault(
                node.place(key), "rule-form", f"`{key}` is of one rule, and several fields are a rule each"
            )
    place = node.place("same")
    return [(Scalar(place, _SAME[field], _SAME[field]), replace(node, same=field)) for field in fields]


def operator_rule(
    general: General,
    name: Scalar[str],
    node: written.Rule,
    operator: str,
    scope: Scope,
    tensors: Mapping[str, Member],
) -> tuple[Rule, tuple[Inference, ...]]:
    """A rule of one operator, from `named`, and what it says about outputs."""
    forms = [form for form in FORMS if getattr(node, form) is not None]
    if len(forms) != 1:
        found, *known, last = " and ".join(forms) or "no condition", *FORMS
        message_ = f"rule {name.value} has {found}; one of {', '.join(known)} or {last} is expected"
        raise fault(node.position, "rule-form", message_)
    words = wording(general, node, name.position, scope, tensors)
    context = _Context(general, scope, tensors, _guard(node, scope), words)
    checks, inferences = FORMS[forms[0]](getattr(node, forms[0]), node, context)
    return _rule(general, node, name.value, operator, checks), inferences


def _rule(
    general: General,
    node: written.Rule | written.TensorRule,
    slug: str,
    owner: str,
    checks: tuple[Check, ...],
) -> Rule:
    if node.advice and node.stage is not None:
        raise fault(node.place("stage"), "rule-form", "advice is judged last; it takes no stage")
    if node.advice and node.node.get("source") is None:
        raise fault(node.place("advice"), "missing-key", "key 'source' is missing; advice says whose it is")
    if not node.advice and node.broken_by:
        message_ = "a rule that shipping callers break is advice: add `advice: true`"
        raise fault(node.place("broken_by"), "rule-form", message_)
    automatic = sugar.stage_of(checks) if checks else Stage.STRUCTURE
    stage = automatic if node.stage is None else _STAGES[node.stage]
    if stage is Stage.COUNTS and automatic is Stage.VALUES:
        message_ = "a rule that reads an array is judged where counts are right: with arrays or values"
        raise fault(node.place("stage"), "stage", message_)
    of_outputs = isinstance(node, written.TensorRule) and node.require is None
    return Rule(
        id=f"DML-{owner}-{slug}",
        slug=slug,
        stage=Stage.ADVICE if node.advice else stage,
        summary=node.summary,
        checks=checks,
        since=node.since or general.levels[0],
        until=node.until,
        applies_to=node.applies_to or "any",
        source=node.source,
        position=node.position,
        message=message(node.message if of_outputs else None, ("member", "value")),
        because=NO_TEXT if node.because is None else Text(folded(node.because.value).strip()),
        broken_by=node.broken_by,
    )


def _guard(node: written.AnyRule, scope: Scope) -> ir.Expr | None:
    return None if node.when is None else expression(node.when, scope, ir.BOOL)


@dataclass(frozen=True)
class _Context:
    """The context in which a form of rules is lowered: the meanings of names, the condition in `when`, and
    the texts."""

    general: General
    scope: Scope
    tensors: Mapping[str, Member]
    guard: ir.Expr | None
    words: Wording


Lowered: TypeAlias = tuple[tuple[Check, ...], tuple[Inference, ...]]


def _require(condition: Scalar[Value], node: written.Rule, context: _Context) -> Lowered:
    """`require: condition`: it must hold."""
    del node
    return sugar.require(expression(condition, context.scope, ir.BOOL), context.guard, context.words), ()


def _same(field: str, node: written.Rule, context: _Context) -> Lowered:
    """`same: FIELD, of: [...]`: an output gets the field of the first input that is present."""
    guard = context.guard
    members = known_tensors(node.of, context.tensors)
    if len(members) < 2 and not any(member.count for member in members):
        place = node.place("of") if members else node.position
        message_ = "`same` compares tensors; `of` lists several, or an array of them"
        raise fault(place, "rule-form", message_)
    type_ = context.general.fields[field]
    references: list[ir.Tensor | ir.Tensors] = [
        ir.Tensors(member.name) if member.count else ir.Tensor(member.name) for member in members
    ]
    optional = {member.name for member in members if member.optional}
    checks = sugar.same(field, type_, references, optional, guard, context.words)
    if field == "DimensionCount":
        return checks, ()
    sources = [one for one in zip(members, references, strict=True) if one[0].role == "input"]
    certain = [one for one in sources if not one[0].optional]
    inferences: list[Inference] = []
    for _, reference in certain[:1] or sources:
        given = sugar.presence(reference, optional)
        when = sugar.conjunction([*given, *([] if guard is None else [guard])])
        source = sugar.representative(reference)
        inferences += (
            Inference(output.name, field, ir.Field(source, field, type_), when)
            for output in members
            if output.role == "output" and not output.count
        )
    return checks, tuple(inferences)


def name_dimensions(
    shape: Scalar[str], sizes: Sequence[Scalar[int | str]], scope: Scope, tensors: Mapping[str, Member]
) -> tuple[Scope, tuple[Definition, ...]]:
    """The scope with the names that a `shape` rule introduces, each of which denotes that size."""
    tensor = known_tensor(shape, tensors)
    field = ir.Field(ir.Tensor(tensor.name), "Sizes", scope.fields["Sizes"])
    named: list[Definition] = []
    for axis, item in enumerate(sizes):
        name = str(item.value)
        if name.isidentifier() and name not in scope.names:
            value = ir.Index(field, ir.Number(axis, ir.INT))
            named.append(Definition(name, value, item.position))
            scope = scope.with_names({name: ir.Definition(name, value)})
    return scope, tuple(named)


def _shape(name: Scalar[str], node: written.Rule, context: _Context) -> Lowered:
    """`shape: Tensor, sizes: [...]`: every size equals that number, expression or known dimension."""
    member = known_tensor(name, context.tensors)
    tensor = ir.Tensor(member.name)
    sizes = ir.Field(tensor, "Sizes", context.general.fields["Sizes"])
    given = [ir.Present(tensor)] if member.optional else []
    guard = sugar.conjunction(part for part in (*given, context.guard) if part is not None)
    expected = tuple(expression(item, context.scope, ir.INT) for item in node.sizes)
    checks = sugar.require(ir.Compare("==", sizes, ir.ListOf(expected)), guard, context.words)
    inferences: tuple[Inference, ...] = ()
    if member.role == "output" and not any(
        isinstance(part, ir.Tensor) and part.name == member.name
        for value in expected
        for part in ir.walk(value)
    ):
        inferences = (Inference(member.name, "Sizes", ir.ListOf(expected)),)
    return checks, inferences


def _infer(statement: Scalar[str], node: written.Rule, context: _Context) -> Lowered:
    """`infer: Tensor.Field = value`: the field must have that value, and can be filled in."""
    del node
    inference = infers(context.general, statement, context.scope, context.tensors, context.guard)
    tensor, field = inference.tensor, inference.field
    given = [ir.Present(ir.Tensor(tensor))] if context.tensors[tensor].optional else []
    guard = sugar.conjunction(part for part in (*given, context.guard) if part is not None)
    found = ir.Field(ir.Tensor(tensor), field, context.general.fields[field])
    condition = ir.Compare("==", found, inference.value)
    return sugar.require(condition, guard, context.words), (inference,)


FORMS: Mapping[str, Callable[[Any, written.Rule, _Context], Lowered]] = {
    "require": _require,
    "same": _same,
    "shape": _shape,
    "infer": _infer,
}
"""The forms of rules, by their key in `written.Rule`: each lowers the value of the key to checks, and to what
they say about outputs."""


def infers(
    general: General,
    statement: Scalar[str],
    scope: Scope,
    tensors: Mapping[str, Member],
    when: ir.Expr | None = None,
) -> Inference:
    """`Tensor.Field = value` for an output, which can be filled in; no rule requires it."""
    text = statement.value
    match = re.match(r"([A-Za-z0-9]+)\.(\w+)\s*=\s*", text)
    assert match is not None, "the decoder has checked the form"
    tensor, field, start = match[1], match[2], match.end()
    outputs = {name: member for name, member in tensors.items() if member.role == "output"}
    if tensor not in outputs:
        message_ = f"{tensor} is not an output tensor; only outputs are inferred"
        raise fault(statement.at(0), "unknown-name", message_, nearest(tensor, outputs))
    type_ = general.fields[field]
    value = parse(text[start:], scope, lambda offset: statement.at(start + offset), type_)
    inference = Inference(tensor, field, value, when)
    parts = [part for one in inference.expressions for part in ir.walk(one)]
    if any(isinstance(part, ir.Tensor) and part.name == tensor for part in parts):
        raise fault(statement.at(start), "circular", f"{tensor} cannot be inferred from itself")
    return inference
