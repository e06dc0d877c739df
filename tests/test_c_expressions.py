"""Expressions of rules in C: messages show the values that the generator computes."""

from __future__ import annotations

import math
import os
import random
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from c_runner import SANITIZERS, Tensor, build, case, run, write_headers
from dmlgen.diagnostics import Position, SpecError
from dmlgen.expr import ir
from dmlgen.expr.cost import cost
from dmlgen.expr.evaluate import Evaluator
from dmlgen.expr.parse import Scope, parse
from dmlgen.expr.printer import SOURCE
from dmlgen.names import field_local, python_variable
from dmlgen.outputs import c
from dmlgen.outputs.python_printer import PythonPrinter
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry, Rule, Stage
from dmlgen.resolve import load_registry
from dmlops import arithmetic, coordinates
from random_expressions import Expressions

ROOT = Path(__file__).parents[1]
NEVER = -987654321  # the value of no expression below, so that each rule is broken and shows its value

INTEGERS = (
    "Axis - 3",
    "-Axis",
    "Axis + Sum",
    "(Axis - 5) * (Axis - 4)",
    "Big * Big * Big",
    "-Big * Big * Big",
    "-Big * Big * Big - 7",
    "Big * Big * Big + Axis",
    "(Axis - 9) // 4",
    "(Axis - 9) % 4",
    "9 // (Axis - 2)",
    "9 % (Axis - 2)",
    "Axis // 0",
    "Axis % 0",
    "min(Axis, 2) - max(Axis, 3)",
    "InputTensor.Sizes[Axis]",
    "InputTensor.Sizes[Axis - 2]",
    "len(InputTensor.Sizes[Axis - 3:Axis])",
    "product(InputTensor.Sizes)",
    "product(InputTensor.Sizes[1:] + [Axis])",
    "sum(InputTensor.Sizes[d] * OutputTensor.Sizes[d] for d in axes(InputTensor))",
    "product(InputTensor.Sizes[d] for d in axes(InputTensor) if d != Axis)",
    "bits(InputTensor.DataType)",
    "InputTensor.Sizes[0] if Axis < 2 else -OutputTensor.Sizes[0]",
    "sum(InputTensor.Sizes[d] for d in axes(InputTensor)) if Axis < 2 else Sum",
    "align(InputTensor.Sizes, 6, 5)[Axis]",
    "align(InputTensor.Sizes, 2, 5)[Axis]",
    "align(InputTensor.Sizes, min(Axis - 2, 8), 5)[0]",
    "Long[Axis + 3]",
    "abs(Axis - 4)",
    "sum(InputTensor.Sizes)",
    "sum(InputTensor.Sizes[1:] + [Axis])",
    "replace(InputTensor.Sizes, Axis, 9)[Axis]",
    "max(InputTensor.Sizes[d] - 5 for d in axes(InputTensor))",
    "min(InputTensor.Sizes[d] - 5 for d in axes(InputTensor))",
    "max(InputTensor.Sizes[d] - 5 for d in axes(InputTensor) if d > Axis)",
    "min(InputTensor.Sizes[d] for d in axes(InputTensor) if d > Axis)",
    "Offsets[Axis]",
    "Offsets[0] // 2",
    "sum(Offsets)",
    "product(Offsets)",
    "len(Offsets)",
    "Window.First + Window.Second",
    "len(PartTensors)",
    "PartTensors[Axis].DimensionCount",
    "PartTensors[Axis - 1].Sizes[1]",
    "sum(PartTensors[i].Sizes[0] for i in range(len(PartTensors)))",
    "ExtraTensor.DimensionCount",
    "ExtraTensor.Sizes[0]",
    "product(ExtraTensor.Sizes)",
    "sum(ExtraTensor.Sizes[d] for d in axes(ExtraTensor)) if present(ExtraTensor) else Axis",
    "bits(ExtraTensor.DataType)",
)
BOOLEANS = (
    "power_of_two(Axis)",
    "not power_of_two(Axis)",
    "Axis in (1, 2, 4)",
    "Axis not in (1, 2, 4)",
    "InputTensor.DataType in (FLOAT32, FLOAT16)",
    "Axis == 1 or Axis == 2 and InputTensor.Sizes[0] == 2",
    "any(InputTensor.Sizes[d] == 1 for d in axes(InputTensor))",
    "not all(InputTensor.Sizes[d] == 1 for d in axes(InputTensor))",
    "InputTensor.Sizes == OutputTensor.Sizes",
    "InputTensor.Sizes != OutputTensor.Sizes",
    "InputTensor.Sizes[1:] == OutputTensor.Sizes[1:]",
    "InputTensor.Sizes + [1] == align(OutputTensor.Sizes, 5, 1)",
    "Long[:2] == [Axis, 2]",
    "present(InputTensor.Strides)",
    "not present(InputTensor.Strides)",
    "present(ExtraTensor)",
    "signed(InputTensor.DataType) or signed(IndicesTensor.DataType)",
    "signed(ExtraTensor.DataType)",
    "Factor >= 0.5",
    "not Factor > 0.5",
    "Factors[Axis] < 1.5 and Factors[9] == 0",
    "Switch",
    "Switch == present(ExtraTensor)",
    "ExtraTensor.Sizes == InputTensor.Sizes",
    "PartTensors[Axis].Sizes == PartTensors[0].Sizes",
)
FRACTIONS = ("Factor", "Factors[Axis]", "Factors[0] if Axis < 2 else Factor")
LISTS = (
    "InputTensor.Sizes[:Axis] + OutputTensor.Sizes[Axis:]",
    "[InputTensor.Sizes[d] * 2 for d in axes(InputTensor) if d < Axis]",
    "align(InputTensor.Sizes[Axis - 1:], 3, 7)",
    "align(InputTensor.Sizes, min(Axis, 9), 7)",
    "InputTensor.Sizes if Axis < 2 else [Axis] + Long",
    "align(Long, 12, Axis) + [Axis - 9]",
    "InputTensor.Sizes",
    "replace(InputTensor.Sizes, Axis - 1, 9)",
    "ExtraTensor.Sizes if present(ExtraTensor) else [Axis]",
    "PartTensors[Axis].Sizes + [1]",
    "[Offsets[i] - 1 for i in range(len(Offsets))]",
    "Offsets[1:]",
)
MEMBERS = """
  ExtraTensor: {role: input, optional: true, summary: A tensor that may be absent.}
  PartCount: {type: UINT, summary: Number of tensors.}
  PartTensors: {role: input, count: PartCount, summary: An array of tensors.}
  OffsetCount: {type: UINT, summary: Number of integers.}
  Offsets: {type: INT, count: OffsetCount, summary: An array of integers.}
  FactorCount: {type: UINT, summary: Number of fractions.}
  Factors: {type: FLOAT, count: FactorCount, summary: An array of fractions.}
  Factor: {type: FLOAT, summary: A fraction.}
  Window: {type: PAIR, summary: A struct.}
  Switch: {type: BOOL, summary: A truth value.}
"""
INPUTS = "[IndicesTensor, ExtraTensor, PartTensors]"
PAIR = """
  PAIR:
    since: "1.0"
    summary: Two integers.
    members: {First: {type: UINT}, Second: {type: INT}}
"""
NESTED = (
    "all(all(InputTensor.Sizes[d] <= OutputTensor.Sizes[e] for e in range(d, 4)) for d in axes(InputTensor))"
)
LEVELS = ('since: "5.0"', 'since: "4.1"', 'until: "4.1"', 'until: "5.0"')  # of further rules


def conditions() -> list[tuple[str, str]]:
    """What the rules show, and the conditions, which nothing fulfils."""
    found = [(text, f"({text}) == {NEVER}") for text in INTEGERS]
    found += [(f"1 if {text} else 0", f"(1 if {text} else 0) == {NEVER}") for text in BOOLEANS]
    found += [(text, f"({text}) == [{NEVER}]") for text in LISTS]
    found += [(text, f"({text}) == -7.25") for text in FRACTIONS]
    return [*found, ("d * 10 + e", NESTED)]


def spec(conditions: list[tuple[str, str]]) -> str:
    """A spec of GATHER_ELEMENTS with these conditions as its rules, each broken by every description."""
    original = (ROOT / "specs/operators/gather/gather_elements.yaml").read_text()
    head, rest = original.split("\nrules:\n")
    support = rest[rest.index("\nsupport:\n") :].partition("\ncompute:\n")[0]
    rules = "".join(
        f"  - {{id: rule-{number}, stage: values, source: docs, "
        f'require: "{text}", message: "found {{{shown}}}"}}\n'
        for number, (shown, text) in enumerate(conditions)
    )
    rules += "".join(
        f"  - {{id: level-{number}, stage: values, source: docs, require: Axis + 1 == {NEVER}, {levels}}}\n"
        for number, levels in enumerate(LEVELS)
    )
    let = (
        "\nlet:\n  Big: Axis * 2000000000 + 3\n"
        '  Sum: "sum(InputTensor.Sizes[d] for d in axes(InputTensor))"\n'
        "  Long: InputTensor.Sizes + OutputTensor.Sizes\n"
    )
    head, support = head.rstrip() + MEMBERS, support.replace("[IndicesTensor]", INPUTS)
    compute = '\ncompute:\n  outputs: {OutputTensor: "convert(InputTensor[at], OutputTensor)"}\n'
    return f"{head}\n{let}\nrules:\n{rules}{support}{compute}"


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return loaded(tmp_path_factory, spec(conditions()))


def loaded(tmp_path_factory: pytest.TempPathFactory, gather_elements: str) -> Registry:
    specs = tmp_path_factory.mktemp("project") / "specs"
    shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("counterparts"))
    (specs / "operators/gather/gather_elements.yaml").write_text(gather_elements)
    structs = specs / "structs.yaml"
    structs.write_text(structs.read_text().replace("\nerrata:\n", f"{PAIR}\nerrata:\n"))
    return load_registry(specs)


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def by_array(violations: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Violations without the entries at which they are, which evaluation does not name."""
    return [(rule, re.sub(r"\[-?\d+\]", "", member), *rest) for rule, member, *rest in violations]


def expected(registry: Registry, environment: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Rule, member and message of each check that fails, by evaluation."""

    def value(node: ir.Expr, names: dict[str, Any]) -> Any:
        return Evaluator(registry.bits, registry.signed).function(node)(names)

    def turns(loops: tuple[ir.Loop, ...], names: dict[str, Any]) -> list[dict[str, Any]]:
        if not loops:
            return [names]
        loop, *inner = loops
        bounds = range(value(loop.lower, names), value(loop.upper, names))
        turned = [{**names, loop.variable.name: number} for number in bounds]
        kept = [one for one in turned if loop.condition is None or value(loop.condition, one)]
        return [last for one in kept for last in turns(tuple(inner), one)]

    found = []
    level = registry.level["4.1"].ordinal
    for rule in registry.operator["GATHER_ELEMENTS"].rules:
        in_force = rule.since.ordinal <= level < (99 if rule.until is None else rule.until.ordinal)
        for check in rule.checks if in_force else ():
            if check.guard is None or value(check.guard, environment):
                failing = [n for n in turns(check.loops, environment) if not value(check.condition, n)]
                if failing:
                    parts = (p if isinstance(p, str) else shown(value(p, failing[0])) for p in check.message)
                    found.append((rule.id, check.member, "".join(parts)))
    return found


FACTORS = (-1.5, 0.0, 0.5, 1.25, 2.0**40, 2.0**-20, 1234567.0, float("inf"), float("-inf"), float("nan"))
ARRAYS = (("Part", "Tensors"), ("Offset", "s"), ("Factor", "s"))


def tensor(choice: random.Random, type_: int) -> Tensor:
    sizes = tuple(choice.choice((1, 2, 3)) for _ in range(4))
    return Tensor(type_, sizes, choice.choice((None, (1, 1, 1, 1))), 4096)


def in_environment(value: Any) -> Any:
    """A member's value as evaluation takes it."""
    if isinstance(value, Tensor):
        return SimpleNamespace(**vars(replace(value, DimensionCount=4)))
    if isinstance(value, dict):
        return SimpleNamespace(**value)
    return tuple(in_environment(entry) for entry in value) if isinstance(value, list) else value


def runner_of(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that judges by the registry's header; each rule says its value, broken or not."""
    monkeypatch.setattr(Rule, "reads", frozenset())
    return build(write_headers(registry, tmp_path), "runner.c", tmp_path / "runner", "clang", *SANITIZERS)


def random_members(choice: random.Random, axis: int) -> dict[str, Any]:
    """The members of a description."""
    tensors = [tensor(choice, type_) for type_ in (2, 3, 2)]
    members: dict[str, Any] = dict(
        zip(("InputTensor", "IndicesTensor", "OutputTensor"), tensors, strict=True)
    )
    members["Axis"] = axis
    members["ExtraTensor"] = choice.choice((None, tensor(choice, 6)))
    members["PartTensors"] = [tensor(choice, 3) for _ in range(choice.randrange(4))]
    members["Offsets"] = [choice.choice((-(1 << 31), -3, 0, 2, 5)) for _ in range(choice.randrange(5))]
    members["Factors"] = [choice.choice(FACTORS) for _ in range(choice.randrange(4))]
    members["Factor"] = choice.choice(FACTORS)
    members["Window"] = {"First": choice.choice((0, (1 << 32) - 1)), "Second": choice.choice((-4, 4))}
    members["Switch"] = choice.choice((0, 1))
    return {**members, **{f"{name}Count": len(members[f"{name}{end}"]) for name, end in ARRAYS}}


AXES = (0, 1, 2, 3, 4, 5, 9, (1 << 32) - 1)


def test_values_of_expressions(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = runner_of(registry, tmp_path, monkeypatch)
    operator = registry.operator["GATHER_ELEMENTS"]
    choice = random.Random(7)
    described = [random_members(choice, axis) for axis in AXES * 12]
    texts = [case(registry, operator, 0x4100, members, capacity=128) for members in described]
    for members, (_, violations) in zip(described, run(runner, texts), strict=True):
        environment = {name: in_environment(value) for name, value in members.items()}
        assert by_array(violations) == by_array(expected(registry, environment))
        rules = {rule for rule, _, _ in violations if "-level-" in rule}
        assert rules == {"DML-GATHER_ELEMENTS-level-1", "DML-GATHER_ELEMENTS-level-3"}


SEED = int(os.environ.get("DMLGEN_SEED", "1"))
RANDOM, SHOWN = 90, 3  # rules, of which an operator has at most 100; expressions of each


def test_random_expressions_mean_the_same_everywhere(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the parser accepts is printed as C and as Python, and has the value that evaluation gives."""
    tensors = {
        f"{name}Tensor": ir.Tensor(f"{name}Tensor") for name in ("Input", "Indices", "Output", "Extra")
    }
    names: dict[str, ir.Expr] = {
        **tensors,
        "PartTensors": ir.Tensors("PartTensors"),
        "Axis": ir.Member("Axis", ir.INT),
        "Offsets": ir.Member("Offsets", ir.INTS, signed=True),
        "Factors": ir.Member("Factors", ir.FLOATS),
        "Factor": ir.Member("Factor", ir.FLOAT),
        "Window": ir.Member("Window", ir.Type("struct", "PAIR")),
        "Switch": ir.Member("Switch", ir.BOOL),
    }
    data_type = ir.Type("enum", "TENSOR_DATA_TYPE")
    types = {"FLOAT32": 1, "FLOAT16": 2, "UINT32": 3, "INT64": 10, "INT8": 8}
    fields = {"DataType": data_type, "DimensionCount": ir.INT, "Sizes": ir.INTS}
    pair = {"First": ir.INT, "Second": ir.INT}
    scope = Scope(names, fields, {"TENSOR_DATA_TYPE": types}, {"PAIR": pair})
    choice = random.Random(SEED)
    made = Expressions(scope, choice)
    texts: list[str] = []
    while len(texts) < RANDOM * SHOWN:
        text = made.text(ir.INT) if choice.random() < 0.6 else f"1 if {made.text(ir.BOOL)} else 0"
        try:
            node = parse(text, scope, lambda offset: Position("x.yaml", 1, 1 + offset), ir.INT)
        except SpecError:
            continue
        if len(text) < 120 and cost(node) < 2000:
            texts.append(text)
    rules = [texts[first : first + SHOWN] for first in range(0, len(texts), SHOWN)]
    conditions = [("} {".join(shown), f"({shown[0]}) == {NEVER}") for shown in rules]
    registry = loaded(tmp_path_factory, spec(conditions))
    runner = runner_of(registry, tmp_path, monkeypatch)
    operator = registry.operator["GATHER_ELEMENTS"]
    described = [random_members(choice, axis) for axis in AXES * 3]
    cases = [case(registry, operator, 0x4100, members, capacity=RANDOM + 8) for members in described]
    for members, (_, violations) in zip(described, run(runner, cases), strict=True):
        environment = {name: in_environment(value) for name, value in members.items()}
        wanted, violations = by_array(expected(registry, environment)), by_array(violations)
        different = [(a, b) for a, b in zip(violations, wanted, strict=False) if a != b]
        assert not different, [conditions[int(a[0].rpartition("-")[2])] for a, _ in different]
        assert violations == wanted
        for rule in operator.rules[:RANDOM]:
            for node in (part for part in rule.checks[0].message if not isinstance(part, str)):
                found = as_python(registry, node, environment)
                assert found == value_of(registry, node, environment), SOURCE.print(node)


def value_of(registry: Registry, node: ir.Expr, environment: dict[str, Any]) -> Any:
    return Evaluator(registry.bits, registry.signed).function(node)(environment)


def as_python(registry: Registry, node: ir.Expr, environment: dict[str, Any]) -> Any:
    """The value of an expression as validators work it out."""
    operator = registry.operator["GATHER_ELEMENTS"]
    text = PythonPrinter(registry, operator, Stage.COUNTS).print(node)
    absent = SimpleNamespace(DimensionCount=0, DataType=0, Sizes=())
    variables: dict[str, Any] = {**vars(coordinates), **vars(arithmetic)}
    variables |= {"BITS": registry.bits, "SIGNED": registry.signed, "prod": math.prod, "ABSENT": absent}
    variables["tensor_at"] = lambda tensors, index: tensors[index] if 0 <= index < len(tensors) else absent
    entries = registry.enums["TENSOR_DATA_TYPE"].entries
    variables |= {f"TENSOR_DATA_TYPE_{entry.name}": entry.value for entry in entries}
    for member in operator.members:
        given = environment[member.name]
        if member.is_tensor and not member.count:
            given = given or absent
            for field in vars(absent):
                variables[field_local(member.name, field)] = getattr(given, field)
        variables[python_variable(member.name)] = (
            SimpleNamespace(**given) if isinstance(given, dict) else given
        )
    return eval(text, variables)


def test_an_operator_has_no_rules_on_structure(registry: Registry) -> None:
    operator = registry.operator["GATHER_ELEMENTS"]
    rules = tuple(replace(rule, stage=Stage.STRUCTURE) for rule in operator.rules)
    other = replace(registry, operators=(replace(operator, rules=rules),))
    with pytest.raises(SpecError, match=r"gather_elements\.yaml:\d+:\d+: .*DML-GATHER_ELEMENTS-rule-0"):
        c.render(other, Templates(ROOT / "templates"))
