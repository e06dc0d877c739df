"""Planners as data: what the translator to C accepts, and what it rejects with a position."""

from __future__ import annotations

import shutil
import subprocess
from collections import namedtuple
from pathlib import Path
from typing import Any

import jinja2
import pytest

from c_runner import OWN_ALLOCATOR, WARNINGS, compiler
from dmlgen.cli import ROOT
from dmlgen.diagnostics import SpecError
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.plans.functions import c_name, c_type, definition, head, types
from dmlgen.plans.model import Plans
from dmlgen.plans.params import params_of
from dmlgen.project import PLANNERS

HEAD = '''"""A planner."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Loop, Loops, gcd
from .planning import Planning
from .operands import NO_MEMBER, Buffer

Few = Annotated[list[int], 3]


class Pair(NamedTuple):
    """Two lists."""

    first: Few
    second: Few


'''
LINES = HEAD.count("\n")


FEW = "def f(a: Few) -> None:\n    "
NUMBER = "def f(a: int) -> None:\n    "
WHOLE = "def f(a: int) -> int:\n    "


def planners(tmp_path: Path, text: str) -> Plans:
    """The planners, with one more."""
    folder = tmp_path / "plans"
    if not folder.exists():
        shutil.copytree(PLANNERS, folder)
    (folder / "mine.py").write_text(HEAD + text, encoding="utf-8")
    return Plans(folder)


def translated(plans: Plans) -> None:
    """Translates the one planner that is more than the runtime's."""
    types(plans)
    for function in plans.functions:
        if function.module.name == "mine":
            definition(plans, function)


@pytest.mark.parametrize(
    ("line", "what", "text"),
    [
        (2, "expression Constant", WHOLE + "return 1.5\n"),
        (2, "the name b", WHOLE + "return b\n"),
        (2, "this operator", WHOLE + "return a / 2\n"),
        (2, "this call", WHOLE + "return round(a)\n"),
        (2, "a statement Try", NUMBER + "try:\n        f(a)\n    finally:\n        f(a)\n"),
        (2, "a statement Global", NUMBER + "global b\n"),
        (2, "a list without a stated type", NUMBER + "b = []\n"),
        (3, "of another type", NUMBER + "b = a\n    b = True\n"),
        (2, "the field size", "def f(a: Pair) -> int:\n    return a.size\n"),
        (2, "Pair with other fields", "def f(a: Few) -> Pair:\n    return Pair(a)\n"),
        (2, "Pair with other fields", "def f(a: Few) -> Pair:\n    return Pair(second=a, first=a)\n"),
        (2, "the field third", "def f(a: Pair) -> Pair:\n    return a._replace(third=a.first)\n"),
        (2, "of another type", "def f(a: Pair, b: Loops) -> Pair:\n    return a._replace(first=b)\n"),
        (2, "_replace() of this", "def f(a: Few) -> Few:\n    return a._replace(first=a)\n"),
        (2, "of another type", "def f(a: Few, b: Loops) -> Pair:\n    return Pair(a, b)\n"),
        (1, "this type", "def f(a: dict) -> int:\n    return 1\n"),
        (4, "changing a list", FEW + "b: Few = list(a)\n\n    for c in b:\n        b.append(c)\n"),
        (4, "changing b", NUMBER + "b: Few = [a]\n    c = Pair(b, b)\n    b.append(a)\n"),
        (4, "changing b", NUMBER + "b: Few = []\n    while a:\n        b.append(1)\n        Pair(b, b)\n"),
        (4, "changing b", "def f(a: Pair):\n    b: Few = []\n    a._replace(first=b)\n    b.append(1)\n"),
        (3, "a bound", NUMBER + "b = a\n    for c in range(b):\n        b += c\n"),
        (3, "a bound", FEW + "b = 2\n    for c in a[:b]:\n        b = c\n"),
        (3, "a bound", FEW + "b: Few = []\n    for c in range(len(b) + 1):\n        b.append(c)\n"),
        (2, "of another type", "def f(a: Few) -> int:\n    return len(a) if len(a) == 1 else True\n"),
        (2, "of another type", "def f(a: Few) -> int:\n    return f(len(a))\n"),
        (2, "of another type", FEW + "b: Few = [True]\n"),
        (4, "the name b", NUMBER + "if a == 1:\n        b = 1\n    f(b)\n"),
        (2, "assigning to a parameter", "def f(a: Pair) -> None:\n    a = a._replace(first=1)\n"),
        (2, "these targets", "def f(a: int, b: int) -> None:\n    a, b = b, a\n"),
        (2, "comparing", "def f(a: Few, b: Few) -> bool:\n    return a == b\n"),
        (2, "comparing", "def f(a: str) -> bool:\n    return a == 'b'\n"),
        (2, "this call", "def f(a: Few) -> bool:\n    return all(b > 1 for b in a if b > 0)\n"),
        (2, "ListComp", "def f(a: Few) -> Few:\n    return [b for b in a if b > 0 if b > 1]\n"),
        (3, "extending a list", FEW + "b: Few = []\n    b.extend(1)\n"),
        (3, "a list without a stated type", FEW + "b: Few = []\n    b.extend([b] * 2)\n"),
        (2, "compar", "def f(a: Few) -> bool:\n    return 1 in a\n"),
        (2, "where C wants", "def f(a: Few) -> bool:\n    return len(a) > 0 and all(b for b in a)\n"),
        (2, "a part that does not begin its list", FEW + "for b, c in enumerate(a[1:]):\n        f(a)\n"),
        (1, "continues, as in loops,", "def continues(a: int) -> int:\n    return a\n"),
        (1, "While", "while True:\n    pass\n"),
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_language_is_refused_with_its_place(
    line: int, what: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        translated(planners(tmp_path, text))
    (finding,) = caught.value.findings
    assert finding.position.file.endswith("mine.py")
    assert (finding.position.line - LINES, what in finding.message) == (line, True), finding


ARITHMETIC = """def f(a: int, b: int) -> int:
    return a * b + a // 3 - b % 7 + (a << 2) + max(a, b, 5) + gcd(12, 18) + abs(a - b)


def g(values: Few) -> int:
    kept: Few = [value * 2 for place, value in enumerate(values[:-1]) if place != 0]
    kept.append(7)
    found = 100 * len(kept) + kept[-1]
    for value in values[1:]:
        found += value
    number = 0
    while number < 3 and found < 1000:
        number += 1
        found += number
    if all(value > 0 for value in kept):
        found += 5
    return found if len(kept) == 2 and kept[0] == 4 else -found


def h(count: int) -> int:
    values: Few = []
    for number in range(count):
        values.append(number)
    return values[count - 1]


def k(values: Few, count: int) -> int:
    kept: Few = []
    kept.extend(values[1:])
    kept.extend([5 for _ in range(count)])
    return 100 * kept[0] + 10 * kept[1] + kept[2]


def m(values: Few) -> int:
    pair = Pair(values, [5])
    other = pair._replace(second=pair.first, first=[7, 8])
    return 1000 * other.first[0] + 100 * other.second[1] + 10 * pair.first[0] + pair.second[0]


def built(values: Few) -> Pair:
    first: Few = [values[1]]
    second: Few = []
    for value in values:
        second.append(value + len(first))
    first.append(second[2])
    return Pair(second, first)


def chosen(values: Few, is_first: bool) -> Few:
    one: Few = [4, 5]
    other: Few = [values[0], one[1]]
    if is_first:
        return one
    return other


def n(values: Few) -> int:
    pair = built(values)
    one, other = chosen(values, True), chosen(values, False)
    return 1000 * pair.first[2] + 100 * pair.second[1] + 10 * one[0] + other[0] + other[1]
"""

MAIN = """
#include "dmlops.h"
#include "mine.h"

int main(void) {
    static dmlops_planning planning;
    static dmlops_work work;
    dmlops_plan_int_3 values = {3, {1, 2, 3}};
    planning.work = &work;
    printf("%lld ", (long long)dmlops_plan_f(&planning, 5, -9));
    printf("%lld ", (long long)dmlops_plan_f(&planning, INT64_MAX, INT64_MAX));
    printf("%lld ", (long long)dmlops_plan_g(&planning, &values));
    printf("%lld %d ", (long long)dmlops_plan_h(&planning, 3), (int)planning.reason);
    printf("%lld %d ", (long long)dmlops_plan_k(&planning, &values, 1), (int)planning.reason);
    printf("%lld %d ", (long long)dmlops_plan_m(&planning, &values), (int)planning.reason);
    printf("%lld %d ", (long long)dmlops_plan_n(&planning, &values), (int)planning.reason);
    dmlops_plan_k(&planning, &values, 2);
    printf("%d ", (int)planning.reason);
    planning.reason = DMLOPS_REASON_NONE;
    dmlops_plan_h(&planning, 4);
    printf("%d", (int)planning.reason);
    return 0;
}
"""


def test_c_works_out_what_python_does(tmp_path: Path) -> None:
    """Beyond 64 bits results saturate; an entry too many refuses the plan, and is not written."""
    plans = planners(tmp_path, ARITHMETIC)
    mine = [one for one in plans.functions if one.module.name == "mine"]
    loader = jinja2.FileSystemLoader(ROOT / "templates")
    environment = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True)
    declare: Any = environment.get_template("c/plan_types.j2").module
    own = [one for one in types(plans) if c_type(one) in ("dmlops_plan_int_3", "dmlops_plan_Pair")]
    declared = [declare.declare(one, c_type, c_name) for one in own]
    text = "\n".join(
        [*declared, *(head(one) + ";" for one in mine), *(definition(plans, one) for one in mine)]
    )
    (tmp_path / "mine.h").write_text(text, encoding="utf-8")
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    program = tmp_path / "main"
    options = (
        "-std=c11",
        *WARNINGS,
        "-DDMLOPS_DISPATCH",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    )
    paths = (f"-I{ROOT / 'generated/include'}", f"-I{tmp_path}", str(tmp_path / "main.c"), "-o", str(program))
    subprocess.run([compiler("gcc"), *options, *paths], check=True)
    scope: dict[str, object] = {"Pair": namedtuple("Pair", "first second")}
    source = ARITHMETIC.replace("Few", "list")
    exec(f"from math import gcd\n{source}", scope)
    f, g, h, k, m, n = (scope[name] for name in "fghkmn")
    assert callable(f) and callable(g) and callable(h) and callable(k) and callable(m) and callable(n)
    room = plans.reasons.names["PLAN_TOO_LARGE"]
    few = [1, 2, 3]
    expected = [f(5, -9), 2**63 - 1, g(few), h(3), 0, k(few, 1), 0, m(few), 0, n(few), 0, room, room]
    result = subprocess.run([program], env=OWN_ALLOCATOR, capture_output=True, text=True, check=True)
    assert [int(number) for number in result.stdout.split()] == expected


def test_constants_of_a_shader_fill_whole_vectors() -> None:
    params = params_of(Plans(PLANNERS), "TopKParams")
    assert params.strides == ("input", "outputValue", "outputIndex")
    assert "    Dimension dimensions[RANK];  // outermost first" in params.constants
    assert "".join(params.structs).count("reserved") == 3


def test_the_greatest_rank_is_that_of_the_header() -> None:
    """Planners run without the generator, so they have it as a constant."""
    assert Plans(PLANNERS).modules["operands"].constants["MAX_RANK"] == MAX_RANK
