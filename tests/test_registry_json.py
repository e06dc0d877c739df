"""registry.json is enough: for structs in another language, and for a validator that knows nothing else."""

from __future__ import annotations

import ctypes
import json
import math
import operator
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dmlops
from dmlgen.cli import ROOT
from dmlops import abi
from dmlops.registry import OPERATORS

GENERATED = ROOT / "generated"
DATA = json.loads((GENERATED / "registry.json").read_text(encoding="utf-8"))


def test_it_is_as_its_schema_says() -> None:
    schema = json.loads((GENERATED / "registry.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(DATA)


def test_rust_structs_have_the_sizes_of_the_abi(tmp_path: Path) -> None:
    rustc = shutil.which("rustc")
    if rustc is None:
        pytest.skip("rustc is not installed: no structs in Rust are compiled")
    command = [sys.executable, ROOT / "examples/rust_structs.py", GENERATED / "registry.json"]
    module = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [f"DML_{name}_OPERATOR_DESC" for name in OPERATORS]
    printed = "".join(f'println!("{name} {{}}", std::mem::size_of::<{name}>());' for name in names)
    (tmp_path / "sizes.rs").write_text(f"{module}fn main() {{ {printed} }}\n", encoding="utf-8")
    subprocess.run([rustc, "-Dwarnings", "--edition=2021", "sizes.rs"], cwd=tmp_path, check=True)
    lines = subprocess.run(
        [tmp_path / "sizes"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    classes = (dmlops.registry.operator(name) for name in OPERATORS)
    expected = [ctypes.sizeof(abi.desc_struct(one)) for one in classes]
    assert lines == [f"{name} {size}" for name, size in zip(names, expected, strict=True)]


Scope = dict[str, Any]

OPERATIONS: dict[str, Callable[..., Any]] = {
    "list": lambda *items: list(items),
    "concat": lambda a, b: [*a, *b],
    "at": lambda items, index: items[index] if 0 <= index < len(items) else 0,
    "slice": lambda items, low, high: list(items)[slice(low and max(low, 0), high and max(high, 0))],
    "+": operator.add, "-": lambda a, *b: a - b[0] if b else -a, "*": operator.mul,
    "//": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda item, *choices: item in choices, "not": operator.not_, "len": len,
    "abs": abs, "product": math.prod, "sum": sum, "min": min, "max": max, "all": all, "any": any,
    "each": list,
    "align": lambda items, count, fill: ([fill] * count + list(items))[-count:] if count else [],
    "replace": lambda items, index, new: [new if i == index else one for i, one in enumerate(items)],
}  # fmt: skip


def value(tree: Any, scope: Scope) -> Any:
    """The value of a tree for a description, by the page on registry.json; `scope` has its names."""
    if not isinstance(tree, list):
        return tree
    head, *rest = tree
    match head, rest:
        case "enum", [enum, name]:
            return next(
                entry["value"]
                for one in DATA["enums"] if one["name"] == enum
                for entry in one["entries"] if entry["name"] == name
            )  # fmt: skip
        case "constant", [name]:
            return next(one["value"] for one in DATA["constants"] if one["name"] == name)
        case "let", [name]:
            return value(scope["let"][name], scope)
        case "local", [name]:
            return scope[name]
        case "member" | "tensors", [name]:
            found = getattr(scope["desc"], name)
            return list(found) if isinstance(found, tuple) else found
        case "part", [name, field]:
            return getattr(getattr(scope["desc"], name), field)
        case "tensor", [name, *index]:
            found = getattr(scope["desc"], name)
            return found[value(index[0], scope)] if index else found
        case "field", [tensor, field]:
            found = getattr(value(tensor, scope), field)
            return list(found) if isinstance(found, tuple) else found
        case "present", [item]:
            return value(item, scope) is not None
        case "if", [test, then, otherwise]:
            return value(then if value(test, scope) else otherwise, scope)
        case "and", parts:
            return all(value(part, scope) for part in parts)
        case "or", parts:
            return any(value(part, scope) for part in parts)
        case "call", [function, *arguments]:
            return OPERATIONS[function](*(value(one, scope) for one in arguments))
        case _, [{"for": _} as loop, body]:
            return OPERATIONS[head](value(body, inner) for inner in turns([loop], scope))
    return OPERATIONS[head](*(value(one, scope) for one in rest))


def turns(loops: list[Any], scope: Scope) -> Iterator[Scope]:
    if not loops:
        yield scope
        return
    first, *others = loops
    for number in range(value(first["from"], scope), value(first["to"], scope)):
        inner = {**scope, first["for"]: number}
        if value(first.get("if", True), inner):
            yield from turns(others, inner)


def holds(rule: Any, scope: Scope) -> bool:
    return all(
        value(check["require"], inner)
        for check in rule["checks"]
        if value(check.get("when", True), scope)
        for inner in turns(check.get("loops", []), scope)
    )


@pytest.mark.parametrize("one", DATA["operators"], ids=lambda one: one["name"])
def test_trees_say_of_the_cases_what_the_matrix_says(one: Any) -> None:
    matrix = json.loads((GENERATED / f"matrix/{one['name'].lower()}.json").read_bytes())
    rules = {rule["id"]: rule for rule in one.get("rules", ())}
    let = {name["name"]: name["value"] for name in one.get("let", ())}
    level = {known["name"]: known["value"] for known in DATA["levels"]}
    broken = set()
    for case in matrix["cases"]:
        scope = {"desc": dmlops.from_json({"type": case["type"], "desc": case["desc"]}), "let": let}
        expected = {*case["expect"]["rules"], *case["expect"]["advice"]} & rules.keys()
        broken |= expected
        now = level[case["feature_level"]]
        if case["expect"]["ok"]:
            applicable = {
                name
                for name, rule in rules.items()
                if level[rule["since"]] <= now < level.get(rule.get("until"), now + 1)
            }
            assert {name for name in applicable if not holds(rules[name], scope)} == expected, case["id"]
        else:
            assert not any(holds(rules[name], scope) for name in expected), case["id"]
    assert len(broken) >= 0.7 * len(rules), rules.keys() - broken
