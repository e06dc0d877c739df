"""Expressions of rules in C: messages show the values that the generator's own evaluation gives."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from c_runner import SANITIZERS, Tensor, build, case, run
from dmlgen.diagnostics import SpecError
from dmlgen.expr import ir
from dmlgen.expr.evaluate import compile_expression
from dmlgen.outputs import c
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry, Stage
from dmlgen.resolve import load_registry

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


def spec() -> str:
    """A spec of GATHER_ELEMENTS with these expressions as its rules, each broken by every description."""
    original = (ROOT / "specs/operators/gather/gather_elements.yaml").read_text()
    head, rest = original.split("\nrules:\n")
    support = rest[rest.index("\nsupport:\n") :].partition("\ncompute:\n")[0]
    conditions = [(text, f"({text}) == {NEVER}") for text in INTEGERS]
    conditions += [(f"1 if {text} else 0", f"(1 if {text} else 0) == {NEVER}") for text in BOOLEANS]
    conditions += [(text, f"({text}) == [{NEVER}]") for text in LISTS]
    conditions += [(text, f"({text}) == -7.25") for text in FRACTIONS]
    conditions += [("d * 10 + e", NESTED)]
    rules = "".join(
        f"  - {{id: rule-{number}, stage: values, source: docs, "
        f'require: "{text}", says: "found {{{shown}}}"}}\n'
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
    return f"{head}\n{let}\nrules:\n{rules}{support}"


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    specs = tmp_path_factory.mktemp("project") / "specs"
    shutil.copytree(ROOT / "specs", specs, ignore=shutil.ignore_patterns("counterparts"))
    (specs / "operators/gather/gather_elements.yaml").write_text(spec())
    structs = specs / "structs.yaml"
    structs.write_text(structs.read_text() + PAIR.removeprefix("\n"))
    return load_registry(specs)


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def expected(registry: Registry, environment: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Rule, member and message of each check that fails, by evaluation."""

    def value(node: ir.Expr, names: dict[str, Any]) -> Any:
        return compile_expression(node, registry.bits, registry.signed)(names)

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
    return tuple(in_environment(entry) for entry in value) if isinstance(value, list) else value


def test_values_of_expressions(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c, "reads", lambda rule: frozenset())  # each rule says its value, whatever is broken
    header = tmp_path / "dmlops.h"
    header.write_bytes(c.render(registry, Templates(ROOT / "templates"))["include/dmlops.h"])
    runner = build(header, "runner.c", tmp_path / "runner", "clang", "-O1", *SANITIZERS)
    operator = registry.operator["GATHER_ELEMENTS"]
    choice = random.Random(7)
    texts, environments = [], []
    for axis in [0, 1, 2, 3, 4, 5, 9, (1 << 32) - 1] * 12:
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
        counts = {f"{name}Count": len(members[f"{name}{end}"]) for name, end in ARRAYS}
        texts.append(case(registry, operator, 0x4100, {**members, **counts}, capacity=128))
        environments.append({name: in_environment(value) for name, value in {**members, **counts}.items()})
    for environment, (_, violations) in zip(environments, run(runner, texts), strict=True):
        assert violations == expected(registry, environment)
        rules = {rule for rule, _, _ in violations if "-level-" in rule}
        assert rules == {"DML-GATHER_ELEMENTS-level-1", "DML-GATHER_ELEMENTS-level-3"}


def test_an_operator_has_no_rules_on_structure(registry: Registry) -> None:
    operator = registry.operator["GATHER_ELEMENTS"]
    rules = tuple(replace(rule, stage=Stage.STRUCTURE) for rule in operator.rules)
    other = replace(registry, operators=(replace(operator, rules=rules),))
    with pytest.raises(SpecError, match=r"gather_elements\.yaml:\d+:\d+: .*DML-GATHER_ELEMENTS-rule-0"):
        c.render(other, Templates(ROOT / "templates"))
