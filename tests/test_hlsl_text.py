"""The text of generated shaders: everything in it is used, and no line is too long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmlgen.outputs.hlsl_lines import WIDTH, broken, finished
from dmlgen.outputs.hlsl_reachable import reached

SHADERS = sorted((Path(__file__).parents[1] / "generated" / "hlsl").glob("*.hlsl"))


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_shaders_are_finished(path: Path) -> None:
    """Functions, structs and macros are used; parentheses and casts say something."""
    text = path.read_text(encoding="utf-8")
    assert [line for line in text.split("\n") if len(line) > WIDTH and not line.startswith("#define ")] == []
    assert finished(text.encode()).decode() == text
    code = re.sub(r"//.*", "", text)
    assert not re.search(r"\((\w+)\)\(\1\)", code), "twice the same cast"
    values = re.findall(r"(?:\breturn|=) (\([^;{]*\));", code)
    values += re.findall(r"\bif \((\(.*\))\)$", code, re.MULTILINE)
    assert [value for value in values if _is_in_parentheses(value)] == []


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_data_types_list_the_facts_that_vary_and_are_used(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lists = re.findall(r"^#define ([A-Z]+)\(([a-z, ]+)\) (?i:\1)(?=$|  //)", text, re.MULTILINE)
    facts = [fact.lower() for fact, _ in lists]
    assert [given.split(", ") for _, given in lists] == [facts] * len(facts)
    types = re.findall(r"^#define [A-Z]+\d+ (.*)$", text, re.MULTILINE)
    assert {len(one.split(", ")) for one in types} <= {max(1, len(facts))}
    columns = zip(*(one.split(", ") for one in types), strict=True)
    assert all(len(set(column)) > 1 for column in columns)


def _is_in_parentheses(text: str) -> bool:
    """Whether the first parenthesis is closed by the last one."""
    depth = 0
    for character in text[:-1]:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return False
    return True


# Lines.


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_breaking_changes_no_code(path: Path) -> None:
    """A shader on fewer lines, as many of its statements together as preprocessing lines allow."""
    text = re.sub(r" *//.*", "", path.read_text(encoding="utf-8"))
    joined = re.sub(r"(?m)(?<=[;{}])\n(?!#)(?=[^#\n]*$)", " ", text)
    assert broken(joined).decode().split() == text.split()


TOTAL = "    const float total = Multiplied(alpha, beta, gamma, rest) * Multiplied(delta, epsilon, zeta)"
TESTS = "isInside && column + distance < columns - remainder && row + distance < rows - remainder"
PITCH, BANKS = "    const uint pitch = TILE_COLUMNS / 4 + 1;", "against conflicts of banks, " * 3 + "one more"
HEAD = "int Wrapped(int64_t index, int size, int another, int further)"
BODY = "return (int)clamp(index + further, (int64_t)0, (int64_t)size - 1);"
LINE, REST = (" ".join(["words"] * count) for count in (19, 5))
LONG = "x" * (WIDTH + 1)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (f"{TOTAL} + Multiplied(eta, theta, iota, kappa) * mu;",
         [TOTAL, "        + Multiplied(eta, theta, iota, kappa) * mu;"]),  # outside of parentheses first
        (f"    const bool counts = {TESTS} || isEverything;",  # at what binds least
         [f"    const bool counts = {TESTS}", "        || isEverything;"]),
        (f"{PITCH}  // {BANKS}", [f"    // {BANKS}", PITCH]),
        (f"// {LINE} {REST}\n// more\nint x;", [f"// {LINE}", f"// {REST} more", "int x;"]),
        (f"{HEAD} {{ {BODY} }}", [HEAD, "{", f"    {BODY}", "}"]),
        (f"#define {LONG}", [f"#define {LONG}"]),  # these cannot be broken
        (LONG, [LONG]),
        (f"// {LONG}", [f"// {LONG}"]),
    ],
)  # fmt: skip
def test_long_lines_are_broken(line: str, lines: list[str]) -> None:
    assert broken(line).decode().split("\n") == lines


# What is reached.

MAIN = "[numthreads(1, 1, 1)]\nvoid CSMain(uint i : SV_GroupIndex)\n{\n    output[0] = Twice(i);\n}\n"
TWICE, THRICE = "uint Twice(uint x) { return 2 * x; }\n", "uint Thrice(uint x) { return 3 * x; }\n"
DOUBLED = "#define Twice(x) Doubled(x)\n\nuint Doubled(uint x) { return 2 * x; }\n"
PAIR = (
    "struct Pair\n{\n    uint x;\n};\n\nPair Made(uint x)\n{\n    Pair pair = { x };\n    return pair;\n}\n\n"
)
OF_PAIRS = "uint Twice(Pair pair) { return 2 * pair.x; }\n\n"
PAIRS = MAIN.replace("Twice(i)", "Twice(Made(i))")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// Down\nuint Down(uint x)\n{\n\n    return Up(x);\n}\n\nuint Up(uint x) { return Down(x); }\n\n"
         f"{TWICE}\n{MAIN}", f"{TWICE}\n{MAIN}"),  # these only call each other
        (f"{DOUBLED}\n{MAIN}", f"{DOUBLED}\n{MAIN}"),
        (f"{THRICE}\n// 2 x\n{TWICE}// like Thrice\n\n{MAIN}", f"// 2 x\n{TWICE}// like Thrice\n\n{MAIN}"),
        (f"// Products\n{THRICE}{TWICE}\n{MAIN}", f"// Products\n{TWICE}\n{MAIN}"),
        (f"{PAIR}{TWICE}\n{OF_PAIRS}{MAIN}", f"{TWICE}\n{MAIN}"),  # an overload for what is never made
        (f"{PAIR}{TWICE}\n{OF_PAIRS}{PAIRS}", f"{PAIR}{TWICE}\n{OF_PAIRS}{PAIRS}"),
        (f"#if A\n#define B float\n#else\n#define B double\n#endif\n\n{MAIN}", MAIN),
        (f"#define UINT32 uint\n\n{MAIN}", f"#define UINT32 uint\n\n{MAIN}"),  # which plans name
        (f"#if A\n{THRICE}#endif\n\n{TWICE}\n{MAIN}", f"{TWICE}\n{MAIN}"),
        (f"#if A\n{TWICE}#else\n{THRICE}#endif\n\n{MAIN}", f"#if A\n{TWICE}#endif\n\n{MAIN}"),
    ],
)  # fmt: skip
def test_what_nothing_reaches_is_left_out(text: str, expected: str) -> None:
    assert reached(text) == expected
