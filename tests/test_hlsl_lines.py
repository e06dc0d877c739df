"""Lines of generated shaders: none is too long, and breaking them changes only where lines end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmlgen.outputs.hlsl_lines import WIDTH, broken

SHADERS = sorted((Path(__file__).parents[1] / "generated" / "hlsl").glob("*.hlsl"))


def lines_of(*lines: str) -> list[str]:
    return broken("\n".join(lines)).decode().split("\n")


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_no_line_is_too_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [line for line in text.split("\n") if len(line) > WIDTH and not line.startswith("#define ")] == []
    assert broken(text).decode() == text


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_breaking_changes_no_code(path: Path) -> None:
    """A shader on fewer lines, as many of its statements together as preprocessing lines allow."""
    text = re.sub(r" *//.*", "", path.read_text(encoding="utf-8"))
    joined = re.sub(r"(?m)(?<=[;{}])\n(?!#)(?=[^#\n]*$)", " ", text)
    assert broken(joined).decode().split() == text.split()


def test_code_is_broken_outside_of_parentheses_first() -> None:
    first = "    const float total = Multiplied(alpha, beta, gamma, rest) * Multiplied(delta, epsilon, zeta)"
    second = "        + Multiplied(eta, theta, iota, kappa) * lambda;"
    assert lines_of(f"{first} {second.strip()}") == [first, second]


def test_code_is_broken_at_what_binds_least() -> None:
    tests = ["isInside", "column + distance < columns - remainder", "row + distance < rows - remainder"]
    whole = f"    const bool counts = {' && '.join(tests)} || isEverything;"
    assert lines_of(whole) == [f"    const bool counts = {' && '.join(tests)}", "        || isEverything;"]


def test_a_comment_behind_code_goes_above_it() -> None:
    code = "    const uint pitch = TILE_COLUMNS / 4 + 1;"
    comment = "one more than there are, against conflicts of banks, " * 2
    assert lines_of(f"{code}  // {comment.strip()}") == [f"    // {comment.strip()}", code]


def test_a_comment_flows_into_the_next_line() -> None:
    words = ["word"] * 40
    text = [f"// {' '.join(words[:30])}", f"// {' '.join(words[30:])}"]
    found = lines_of(*text, "int x;")
    assert " ".join(line.removeprefix("// ") for line in found[:-1]).split() == words
    assert max(map(len, found)) <= WIDTH and len(found) == 3 and found[-1] == "int x;"


def test_what_is_said_of_a_macro_goes_on_below_it() -> None:
    said = " ".join(["word"] * 30)
    name, rest = lines_of(f"//   LANES      {said}")
    assert (
        rest.startswith("//              word") and f"{name} {rest[2:].strip()}" == f"//   LANES      {said}"
    )


def test_a_function_on_one_line_gets_braces_on_their_own() -> None:
    head = "int Wrapped(int64_t index, int size, int another, int further)"
    body = "return (int)clamp(index + further, (int64_t)0, (int64_t)size - 1);"
    assert lines_of(f"{head} {{ {body} }}") == [head, "{", f"    {body}", "}"]


def test_what_cannot_be_broken_stays() -> None:
    macro, name = f"#define LONG {'x' * WIDTH}", "x" * (WIDTH + 1)
    assert lines_of(macro, name, f"// {name}") == [macro, name, f"// {name}"]


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_parentheses_and_casts_say_something(path: Path) -> None:
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    assert not re.search(r"\((\w+)\)\(\1\)", text), "twice the same cast"
    values = re.findall(r"(?:\breturn|=) (\([^;{]*\));", text)
    values += re.findall(r"\bif \((\(.*\))\)$", text, re.MULTILINE)
    assert [value for value in values if _is_in_parentheses(value)] == []


def _is_in_parentheses(text: str) -> bool:
    """Whether the first parenthesis is closed by the last one."""
    depth = 0
    for character in text[:-1]:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return False
    return True
