"""The Python package: the view of the registry for its templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmlgen.banner import head
from dmlgen.expr.printer import SOURCE
from dmlgen.outputs import dxdispatch
from dmlgen.outputs.parts import parts
from dmlgen.outputs.python_graphs import graphs_view
from dmlgen.outputs.python_operators import OPERATOR, operator_view
from dmlgen.outputs.python_rules import used_definitions
from dmlgen.outputs.python_tensor import TENSOR, tensor_view
from dmlgen.outputs.render import Templates, plain_files
from dmlgen.project import LICENSE, RUNTIME
from dmlgen.registry import Definition, Operator, Registry, Rule, Struct
from dmlgen.sentence import sentence
from dmlgen.show import condition_text
from dmlgen.text import Text

_PACKAGE = "python/dmlops"


@dataclass(frozen=True)
class Part:
    """The parts of the package for one operator: module, function in `make`, texts of its rules."""

    module: bytes
    make: str
    rule_texts: str


@dataclass(frozen=True)
class RuleText:
    """The text of a rule: a sentence, and the conditions in the spec language."""

    rule: Rule
    text: Text
    formulas: tuple[str, ...]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files of the package, by path below generated/."""
    files = {
        f"python/{path}": head(path, f"runtime/{path}").encode() + data
        for path, data in plain_files(RUNTIME).items()
    }
    files["python/LICENSE"] = LICENSE.read_bytes()

    def part(near: Registry, operator: Operator) -> Part:
        view = operator_view(near, operator)
        return Part(
            templates.render(f"{_PACKAGE}/operators/operator.py.j2", operator=view),
            templates.text(f"{_PACKAGE}/make_function.j2", operator=view),
            _rule_texts(near, operator, templates),
        )

    found = parts("python", registry, templates.memory, part)
    for name, one in found.items():
        files[f"{_PACKAGE}/operators/{name.lower()}.py"] = one.module
    contexts: dict[str, dict[str, object]] = {
        "__init__": {"structs": _values(registry)},
        "enums": {},
        "registry": {"structs": _structs(registry)},
        "make": {"functions": [one.make for one in found.values()]},
        "structs": {"structs": _values(registry)},
        "graph/rules": {"graphs": graphs_view(registry)},
        "rule_texts": {
            "rules": [
                _rule_texts(registry, None, templates),
                _graph_texts(registry, templates),
                *(one.rule_texts for one in found.values()),
            ]
        },
        "tensor": {"tensor": tensor_view(registry)},
        "tensor_rules": {"tensor": tensor_view(registry)},
        "dxdispatch/versions": {"cases": dxdispatch.CASES, "results": dxdispatch.RESULTS},
    }
    for module, context in contexts.items():
        path = f"{_PACKAGE}/{module}.py"
        files[path] = templates.render(f"{path}.j2", registry=registry, **context)
    return files


def _values(registry: Registry) -> list[tuple[str, Struct]]:
    """The structs that are values of members, by name; in Python, a union is a plain number."""
    members = [member for operator in registry.operators for member in operator.members]
    used = {m.type for m in members if m.type in registry.structs and m.type != OPERATOR and not m.typed_by}
    return [(name, registry.structs[name]) for name in sorted(used)]


def _structs(registry: Registry) -> list[Struct]:
    """The structs from which descriptions are built."""
    types = {member.type for operator in registry.operators for member in operator.members}
    used = {TENSOR, "TENSOR_DESC", OPERATOR, *types}
    return [struct for name, struct in registry.structs.items() if name in used]


def _rule_texts(registry: Registry, operator: Operator | None, templates: Templates) -> str:
    """The texts of an operator's rules, or of the rules on every operator."""
    general = (*registry.operator_rules, *registry.tensor.rules)
    return templates.text(
        f"{_PACKAGE}/rule_texts_of.j2",
        owner="" if operator is None else operator.name,
        page=(operator.page or "") if operator else "",
        start=registry.levels[0] if operator is None else operator.since,
        texts=[
            _rule_text(rule, operator.definitions if operator else registry.tensor.definitions)
            for rule in (operator.rules if operator else general)
        ],
    )


def _graph_texts(registry: Registry, templates: Templates) -> str:
    """The texts of the rules of graphs."""
    graphs = registry.graphs
    return templates.text(
        f"{_PACKAGE}/rule_texts_of.j2",
        owner="",
        page=graphs.page,
        start=graphs.since,
        texts=[_rule_text(rule, graphs.definitions) for rule in graphs.rules],
    )


def _rule_text(rule: Rule, definitions: Sequence[Definition]) -> RuleText:
    used = used_definitions(definitions, [part for check in rule.checks for part in check.read])
    named = [f"{definition.name} = {SOURCE.print(definition.value)}" for definition in used]
    return RuleText(rule, sentence(rule), (*map(condition_text, rule.checks), *named))
