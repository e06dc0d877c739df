"""C string literals reproduce any text, including what the standard treats specially."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from c_runner import compiler
from dmlgen.literals import c_string
from dmlgen.outputs.render import Templates, comment
from dmlgen.text import Text

NASTY = [
    '??/"; int system(const char*); //',
    "??=??(??)??'??<??!??>??-",
    "\U0001f600 caf\u00e9 \u20ac1",
    'quote " back \\ slash \\" percent %s %n',
    "line\nfeed\r\ttab \x01 7\x007",
    "*/ /* // end \\",
    "",
]


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("gcc", "c11"),
        ("clang", "c11"),
        ("gcc", "gnu17"),
        ("g++", "c++11"),
        ("g++", "c++17"),
        ("clang++", "c++17"),
    ],
)
def test_texts_are_the_same_at_run_time(name: str, standard: str, tmp_path: Path) -> None:
    writes = "".join(f"fwrite({c_string(text)}, 1, sizeof {c_string(text)}, stdout);\n" for text in NASTY)
    source = tmp_path / ("text.cpp" if name.endswith("++") else "text.c")
    source.write_text(f"#include <stdio.h>\nint main(void) {{\n{writes}return 0;\n}}\n", encoding="ascii")
    program = tmp_path / "text"
    command = [compiler(name), f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    printed = subprocess.run([program], capture_output=True, check=True).stdout
    assert printed == b"".join(text.encode() + b"\0" for text in NASTY)


def test_templates_of_c_quote_for_c(tmp_path: Path) -> None:
    for folder in ("c", "python"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.j2").write_text("{{ text | string }}")
        (tmp_path / folder / "whole.txt.j2").write_text(f'{{% include "{folder}/part.j2" %}}')
    templates = Templates(tmp_path)
    assert templates.render("c/whole.txt.j2", text="??/\u20ac") == b'"\\?\\?/\\342\\202\\254"'
    assert templates.render("python/whole.txt.j2", text="??/\u20ac") == b'"??/\\u20ac"'


@pytest.mark.parametrize(
    "printed", ["{{ text }}", "{{ 'a' ~ text }}", "{{ '%s' | format(text) }}", "{{ text | upper }}"]
)
def test_no_template_prints_a_free_text_as_it_stands(printed: str, tmp_path: Path) -> None:
    (tmp_path / "raw.txt.j2").write_text(printed, encoding="utf-8")
    with pytest.raises(TypeError):
        Templates(tmp_path).render("raw.txt.j2", text=Text("#define min(a, b) (a)"))


@pytest.mark.parametrize("text", ["a ???/", "a ????/", "a \\", "a **//", "/*/*/", "x */ int y; /*"])
def test_a_comment_ends_where_its_line_ends(text: str, tmp_path: Path) -> None:
    line = comment(Text(text))
    source = f"// {line}\n/* {line} */\n#define SEEN 7\nint main(void) {{ return SEEN; }}\n"
    (tmp_path / "comment.c").write_text(source, encoding="utf-8")
    command = [
        compiler("gcc"),
        "-std=c11",
        "-Wall",
        "-Wno-trigraphs",
        "-Werror",
        "comment.c",
        "-o",
        "comment",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "comment"], check=False).returncode == 7
