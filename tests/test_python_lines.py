"""Generated Python has no long lines, and breaking lines does not change its meaning."""

from __future__ import annotations

import ast

import pytest

from dmlgen.cli import ROOT
from dmlgen.outputs.python_lines import WIDTH, wrapped

NAME = "an_input_tensor_of_several_dimensions"
STATEMENTS = [
    f"value = {' + '.join([NAME] * 5)}",
    f"value: int = {' and '.join([NAME] * 5)}",
    f"total += {' * '.join([NAME] * 5)}",
    f"return {NAME} if {NAME} else {NAME} if {NAME} is not None else {NAME}",
    f"if {' or '.join([f'({NAME} and not {NAME})'] * 4)}: pass",
    f"for one in range({', '.join([NAME] * 5)}): pass",
    f"call({NAME}, *{NAME}, key={NAME}, **{NAME}, other={NAME}[{NAME}:])",
    f"call({', '.join(f'{name}={NAME}({NAME})' for name in 'abcd')})",
    f"value = tuple({NAME}[d] * {NAME}[d] for d, e in enumerate({NAME}) if d not in {NAME} and e < 3)",
    f"value = ({NAME} + {NAME} + {NAME},)",
    f"value = (*{NAME}[:2], call({NAME}, -{NAME} - 1) // {NAME}, {NAME}[{NAME}, {NAME}])",
    f"each = call(lambda one, two: {NAME} * one - {NAME} * two, {NAME}, {NAME}, {NAME})",
    f'value = "{"several words and commas, and (brackets " * 5}"',
    f'value = "{"without_a_space" * 10}"',
    f'value = f"{{{NAME}}} is {{{NAME}[1]}}; it must be {{{{1}}}}, \\" {{{NAME}}} {"words " * 9}"',
    f'value = {{"a key": "{"words " * 20}", "another": call({NAME}, "{"words " * 20}")}}',
    f"value = not ({NAME} == {NAME} != {NAME} and {NAME} >= {NAME} % {NAME})",
    f"value = {NAME}.attribute({NAME}).another({NAME}, {NAME})[-1]",
    f"AN_ENUMERATOR_WITH_A_VERY_LONG_NAME_{'X' * 40} = enums.AnEnumeration.{'X' * 50}",
]


@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_broken_line_means_the_same(statement: str, depth: int) -> None:
    before = "".join(f"{'    ' * level}if True:\n" for level in range(depth))
    text = f"{before}{'    ' * depth}{statement}\n".replace(": pass", f":\n{'    ' * (depth + 1)}pass")
    broken = wrapped(text)
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(text))
    assert max(map(len, broken.splitlines())) <= WIDTH or '"without_a_space' in statement


def test_short_lines_and_texts_stay_as_they_are() -> None:
    text = f'def one() -> None:\n    """A text.\n\n    {"word " * 10}\n    """\n    call(a, b)  # why\n'
    assert wrapped(text) == text


def test_what_is_said_of_a_name_goes_on_deeper() -> None:
    text = f'"""Words.\n\n    Axis (UINT): {"word " * 40}.\n    """'
    lines = wrapped(text).splitlines()
    assert lines[2].startswith("    Axis (UINT): word") and lines[3].startswith("        word")
    assert max(map(len, lines)) <= WIDTH


def test_generated_modules_have_no_long_lines() -> None:
    for path in (ROOT / "generated/python/dmlops").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "fmt: " not in text, path
        if path.parent.name in ("operators", "compute"):
            assert max(map(len, text.splitlines()), default=0) <= WIDTH, path
