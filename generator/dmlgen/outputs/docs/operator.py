"""The page of one operator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from dmlgen.cases.validators import Validators
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.names import pascal
from dmlgen.outputs.c_types import c_type
from dmlgen.outputs.counterparts import named
from dmlgen.outputs.docs import computes, example, support
from dmlgen.outputs.docs.formula import code
from dmlgen.outputs.requirements import Requirement, requirements
from dmlgen.registry import Definition, Member, Operator, Registry, Rule
from dmlgen.sentence import sentence
from dmlgen.show import condition_text
from dmlgen.text import NO_TEXT, Text

INTERFACES = {"onnx": "ONNX", "webnn": "WebNN", "directmlx": "DirectMLX"}


@dataclass(frozen=True)
class MemberView:
    """A member with its types; of a tensor, the ranks at the last level and the sizes that rules require."""

    spec: Member
    type: str
    python: str
    anchor: str  # of its enumeration or struct on the page of types; "" for others
    default: str
    ranks: str
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class RuleView:
    """A rule as shown on a page; `because` is the reason if the text does not give it."""

    spec: Rule
    text: Text
    formula: Markup
    because: Text
    example: example.Broken | None


@dataclass(frozen=True)
class Elsewhere:
    """The counterpart of an operator in another interface, with its place there; or why there is none."""

    title: str
    name: str
    anchor: str
    note: Text


@dataclass(frozen=True)
class Shader:
    """A shader's file, its own description, and what it requires of a device."""

    path: str
    text: str
    requires: tuple[Requirement, ...]


class Operators:
    """Makes the views of all operators, from their matrices and shaders by path.

    `families` are in the order of the overview, and so is `order`, their operators.
    """

    def __init__(
        self, validators: Validators, matrices: Mapping[str, bytes], shaders: Mapping[str, bytes]
    ) -> None:
        self._registry = registry = validators.registry
        self._shaders = shaders
        self.cases = {
            operator.name: json.loads(matrices[f"matrix/{operator.slug}.json"])["cases"]
            for operator in registry.operators
        }
        self.examples = example.Examples(validators)
        self.changes = {one.name: support.changes(registry, one) for one in registry.operators}
        self.families = _families(registry)
        self.order = [operator for operators in self.families.values() for operator in operators]

    def view(self, operator: Operator) -> dict[str, object]:
        """The content of an operator's page."""
        registry, cases = self._registry, self.cases[operator.name]
        examples = self.examples.broken(operator, cases, operator.rules)
        rules = [rule_view(rule, operator.definitions, examples) for rule in operator.rules]
        minimal = example.minimal(cases)
        place = self.order.index(operator)
        versions = _versions(registry, operator)
        family = self.families[operator.family]
        fuses = any(member.type == "OPERATOR_DESC" for member in operator.members)
        return {
            "spec": operator,
            "python": pascal(operator.name),
            "page": registry.pages + operator.page,
            "members": tuple(_member(registry, operator, member) for member in operator.members),
            "rules": tuple(view for view in rules if not view.spec.advice),
            "advice": tuple(view for view in rules if view.spec.advice),
            "lets": lets_of(operator.definitions),
            "pictures": support.pictures(registry, operator),
            "changes": self.changes[operator.name],
            "formula": lambda node: code(SOURCE.print(node)),
            "parts": computes.parts(operator),
            "algorithm": "" if operator.algorithm is None else operator.algorithm.name,
            "shader": self._shader(registry, operator),
            "snippets": () if minimal is None else self.examples.snippets(operator, minimal),
            "level": "" if minimal is None else minimal["feature_level"],  # for which the snippets are valid
            "fusable": tuple(registry.fusable(operator).items()) if fuses else (),
            "previous": self.order[place - 1] if place else None,
            "next": self.order[place + 1] if place + 1 < len(self.order) else None,
            "versions": versions,
            "integers": tuple(registry.operator[name] for name in operator.integer_operators),
            "elsewhere": tuple(_elsewhere(registry, operator)),
            "related": tuple(one for one in family if one is not operator and one not in versions),
        }

    def _shader(self, registry: Registry, operator: Operator) -> Shader:
        """The shader's own description: the comment above its first line of code, without the macros."""
        path = f"hlsl/{operator.slug}.hlsl"
        head = self._shaders[path].decode().partition("\n\n")[0].partition("\n//\n// Macros, ")[0]
        comment = [line.removeprefix("//").removeprefix(" ") for line in head.splitlines()]
        start = comment.index("") + 1
        return Shader(path, "\n".join(comment[start:]), requirements(registry, operator))


def _families(registry: Registry) -> dict[str, list[Operator]]:
    families: dict[str, list[Operator]] = {}
    for operator in sorted(registry.operators, key=lambda one: (one.family, _natural(one.name))):
        families.setdefault(operator.family, []).append(operator)
    return families


def _natural(name: str) -> tuple[str, int]:
    """A sort key: RESAMPLE, RESAMPLE1, ..."""
    base = name.rstrip("0123456789")
    return base, int(name[len(base) :] or 0)


def _versions(registry: Registry, operator: Operator) -> tuple[Operator, ...]:
    """The other operators whose name differs only by a number, including gradients."""

    def base(name: str) -> str:
        return name.rstrip("0123456789").removesuffix("_GRAD")

    found = [one for one in registry.operators if base(one.name) == base(operator.name)]
    return tuple(sorted((one for one in found if one is not operator), key=lambda one: _natural(one.name)))


def _elsewhere(registry: Registry, operator: Operator) -> Iterator[Elsewhere]:
    known = registry.counterparts
    for one in known.of(operator.name):
        name = named(one.domain, one.name)
        yield Elsewhere(INTERFACES[one.interface], name, f"{one.interface}-{name}", Text(one.note))
    for name in known.directmlx.get(operator.name, ()):
        anchor = f"directmlx-{operator.name}-{name}"
        yield Elsewhere(INTERFACES["directmlx"], f"dml::{name}", anchor, NO_TEXT)
    for interface, reasons in known.without.items():
        if operator.name in reasons:
            yield Elsewhere(INTERFACES[interface], "", "", reasons[operator.name])


def _member(registry: Registry, operator: Operator, member: Member) -> MemberView:
    type_, python_ = c_type(registry, member), "TensorDesc"
    if not member.is_tensor:
        number = registry.types.get(member.type)
        python_ = {"OPERATOR_DESC": "Description", "SCALAR_UNION": "int | float", "BOOL": "bool"}.get(
            member.type, "float" if number is not None and number.kind == "float" else pascal(member.type)
        )
        if number is not None and number.kind != "float" and member.type != "BOOL":
            python_ = "int"
    known = member.type in registry.enums or member.type in registry.structs
    anchor = "DML_TENSOR_DESC" if member.is_tensor else f"DML_{member.type}" if known else ""
    default = ""
    if member.optional:
        default = "absent"
    elif any(one.tensor == member.name for one in operator.inferences):
        default = "inferred"
    elif any(one.count == member.name for one in operator.members):
        default = "length of its array"
    python_ = f"list[{python_}]" if member.count is not None else python_
    tables = operator.support[registry.levels[-1].name]
    ranks = {rank for row in tables if row.tensor == member.name for rank in row.ranks}
    sizes = dict.fromkeys(_sizes(operator, member))
    return MemberView(member, type_, python_, anchor, default, support.ranks_text([*ranks]), tuple(sizes))


def _sizes(operator: Operator, member: Member) -> Iterator[str]:
    """The sizes that rules require of a tensor whenever it is given."""
    for check in (check for rule in operator.rules if not rule.advice for check in rule.checks):
        match check.condition:
            case ir.Compare("==", ir.Field(ir.Tensor(member.name), "Sizes"), sizes):
                if not check.loops and isinstance(check.guard, ir.Present | None):
                    yield _sizes_text(sizes)


def _sizes_text(sizes: ir.Expr) -> str:
    match sizes:
        case ir.Call(function="align", arguments=(ir.ListOf() as last, _, ir.Number(value=1))):
            return f"[..., {SOURCE.print(last)[1:]}"
    return SOURCE.print(sizes)


def rule_view(
    rule: Rule, definitions: Iterable[Definition], examples: Mapping[str, example.Broken]
) -> RuleView:
    """A rule of an operator, or of all operators, with its example if it has one."""
    named = frozenset(definition.name for definition in definitions)
    text = sentence(rule)
    given = rule.because.plain.partition(" {")[0].removesuffix(",").lower() in text.plain.lower()
    return RuleView(
        spec=rule,
        text=text,
        formula=code("\n".join(map(condition_text, rule.checks)), named),
        because=NO_TEXT if given else rule.because,
        example=examples.get(rule.id),
    )


def lets_of(definitions: Iterable[Definition]) -> tuple[tuple[str, Markup], ...]:
    """The names of a `let` block, each with its meaning."""
    links = frozenset(definition.name for definition in definitions)
    return tuple((definition.name, code(SOURCE.lines(definition.value), links)) for definition in definitions)
