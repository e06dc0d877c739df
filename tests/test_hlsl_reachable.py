"""Generated shaders define no function or struct, and describe no macro, that they do not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.outputs.hlsl_lines import without_unnamed
from dmlgen.outputs.hlsl_reachable import reached

SHADERS = sorted((Path(__file__).parents[1] / "generated" / "hlsl").glob("*.hlsl"))

MAIN = (
    "[numthreads(1, 1, 1)]\nvoid CSMain(uint thread : SV_GroupIndex)\n{\n    output[0] = Twice(thread);\n}\n"
)
TWICE = "// 2 x\nuint Twice(uint x) { return 2 * x; }\n"


@pytest.mark.parametrize("path", SHADERS, ids=lambda path: path.stem)
def test_everything_in_a_shader_is_reached(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert without_unnamed(reached(text)) == text


def test_functions_that_only_call_each_other_are_left_out() -> None:
    others = "// Down\nuint Down(uint x)\n{\n\n    return Up(x);\n}\n\nuint Up(uint x) { return Down(x); }\n"
    assert reached(f"{TWICE}\n{others}\n{MAIN}") == f"{TWICE}\n{MAIN}"


def test_what_a_macro_names_is_kept() -> None:
    text = f"#define Twice(x) Doubled(x)\n\n{TWICE.replace('Twice', 'Doubled')}\n{MAIN}"
    assert reached(text) == text


def test_a_name_in_a_comment_is_no_use() -> None:
    assert reached(f"uint Thrice(uint x) {{ return 3 * x; }}\n\n{TWICE}// like Thrice\n\n{MAIN}") == (
        f"{TWICE}// like Thrice\n\n{MAIN}"
    )


def test_a_comment_on_several_functions_stays_with_those_that_stay() -> None:
    assert reached(f"// Products\nuint Thrice(uint x) {{ return 3 * x; }}\n{TWICE[7:]}\n{MAIN}") == (
        f"// Products\n{TWICE[7:]}\n{MAIN}"
    )


def test_overloads_for_a_struct_that_is_never_made_are_left_out() -> None:
    struct = "struct Pair\n{\n    uint x;\n};\n"
    made = "Pair Made(uint x)\n{\n    Pair pair = { x };\n    return pair;\n}\n"
    overload = "uint Twice(Pair pair) { return 2 * pair.x; }\n"
    assert reached(f"{struct}\n{made}\n{TWICE}\n{overload}\n{MAIN}") == f"{TWICE}\n{MAIN}"
    main = MAIN.replace("Twice(thread)", "Twice(Made(thread))")
    assert (
        reached(f"{struct}\n{made}\n{TWICE}\n{overload}\n{main}")
        == f"{struct}\n{made}\n{TWICE}\n{overload}\n{main}"
    )


def test_conditions_around_nothing_are_left_out() -> None:
    unused = "uint Thrice(uint x) { return 3 * x; }\n"
    assert reached(f"#if A\n{unused}#endif\n\n{TWICE}\n{MAIN}") == f"{TWICE}\n{MAIN}"
    assert reached(f"#if A\n{TWICE}#else\n{unused}#endif\n\n{MAIN}") == f"#if A\n{TWICE}#endif\n\n{MAIN}"


def test_macros_that_are_not_named_are_not_described() -> None:
    head = [
        "// Computes",
        "//",
        "//   PASS       one",
        "//              of two",
        "//   X_BITS     bits",
        "//   LANES      few",
    ]
    text = "\n".join([*head, "", "#if LANES && INPUT_BITS", TWICE, "#endif", MAIN])
    assert without_unnamed(text) == text.replace("//   PASS       one\n//              of two\n", "")
